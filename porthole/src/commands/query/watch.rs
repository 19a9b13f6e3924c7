//! A question that is asked again and again: rows that were not there before are printed (V 1). Which rows were there
//! is kept in memory: nothing is written to the database of a crawl by watching it.

use std::collections::HashSet;
use std::time::Duration;

use porthole_store::{Answer, SqliteReader, Value};

use super::form::Form;
use super::{Question, limits};
use crate::cli;

/// However often one wants to ask: the database has others to serve.
const SHORTEST: Duration = Duration::from_millis(100);

/// Watches until Ctrl-C, until nobody reads the rows, or until it was asked often enough. What is there at first is
/// printed, too.
pub(super) async fn run(
    reader: &SqliteReader,
    question: &Question<'_>,
    arguments: &cli::Query,
) -> anyhow::Result<()> {
    let (form, limits) = (Form::of(arguments), limits(arguments));
    let first = question.ask(reader, &limits)?;
    let mut known = Known::new(question.key(), &first);
    if form == Form::Json {
        if first.rows.iter().any(|row| form.print_row(&first.columns, row).is_err()) {
            return Ok(());
        }
    } else {
        form.print(&first)?;
    }
    question.note(&first, arguments.rows);
    // One listener for all rounds: it also hears what comes while the database is asked.
    let mut interrupted = std::pin::pin!(tokio::signal::ctrl_c());
    let mut asked = 1;
    while arguments.times.is_none_or(|times| asked < times) {
        tokio::select! {
            () = tokio::time::sleep(pause(arguments.every)) => {}
            _ = &mut interrupted => break,
        }
        let answer = question.ask(reader, &limits)?;
        asked += 1;
        let mut new = answer.rows.iter().filter(|row| known.is_new(row));
        let nobody_reads = new.any(|row| form.print_row(&answer.columns, row).is_err());
        if nobody_reads {
            break;
        }
    }
    Ok(())
}

/// The time between two questions.
fn pause(every: Duration) -> Duration {
    every.max(SHORTEST)
}

/// The rows that were there, by their keys.
struct Known {
    /// Numbers of the columns that are the key; all if there are none.
    key: Vec<usize>,
    rows: HashSet<String>,
}

impl Known {
    fn new(key: &[&str], first: &Answer) -> Known {
        let place = |name: &&str| first.columns.iter().position(|column| column == name);
        let mut known = Known { key: key.iter().filter_map(place).collect(), rows: HashSet::new() };
        for row in &first.rows {
            known.is_new(row);
        }
        known
    }

    /// Whether the row was never there, which it is from now on.
    fn is_new(&mut self, row: &[Value]) -> bool {
        let key: Vec<&Value> = match self.key.as_slice() {
            [] => row.iter().collect(),
            key => key.iter().map(|&column| &row[column]).collect(),
        };
        self.rows.insert(format!("{key:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_database_is_not_asked_without_a_pause() {
        let pauses = [0, 99, 5_000].map(|millis| pause(Duration::from_millis(millis)).as_millis());
        assert_eq!(pauses, [100, 100, 5_000]);
    }

    #[test]
    fn a_row_is_known_again_by_its_key() {
        let row = |host: &str, pages| vec![Value::Text(host.into()), Value::Integer(pages)];
        let columns = vec!["host".to_owned(), "pages".to_owned()];
        let first = Answer { columns, rows: vec![row("a.test", 1)], is_cut: false };
        let mut by_host = Known::new(&["host"], &first);
        let mut by_all = Known::new(&[], &first);
        let seen = [row("a.test", 1), row("a.test", 2), row("b.test", 1), row("b.test", 1)];
        assert_eq!(seen.each_ref().map(|row| by_host.is_new(row)), [false, false, true, false]);
        assert_eq!(seen.each_ref().map(|row| by_all.is_new(row)), [false, true, true, false]);
    }
}
