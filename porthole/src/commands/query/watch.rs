//! `--watch`: repeats a query and prints new rows (V 1). The rows printed before are kept in memory; the database of
//! the crawl is not written to.

use std::collections::HashSet;
use std::time::Duration;

use porthole_store::{QueryAnswer, SqlValue, SqliteReader};

use super::form::OutputFormat;
use super::{QueryRequest, limits};
use crate::cli;

/// Minimum interval, to limit the load on the database.
const MIN_INTERVAL: Duration = Duration::from_millis(100);

/// Prints the current rows, then new ones until Ctrl-C, `--times` runs, or standard output is closed.
pub(super) async fn run(
    reader: &SqliteReader,
    question: &QueryRequest<'_>,
    arguments: &cli::Query,
) -> anyhow::Result<()> {
    let (form, limits) = (OutputFormat::of(arguments), limits(arguments));
    let first = question.ask(reader, &limits)?;
    let mut known = SeenRows::new(question.key(), &first);
    if form == OutputFormat::Json {
        if first.rows.iter().any(|row| form.print_row(&first.columns, row).is_err()) {
            return Ok(());
        }
    } else {
        form.print(&first)?;
    }
    question.report_truncation(&first);
    // One listener for all runs, so that a signal during a query is not lost.
    let mut interrupted = std::pin::pin!(tokio::signal::ctrl_c());
    let mut runs = 1;
    while arguments.times.is_none_or(|times| runs < times) {
        tokio::select! {
            () = tokio::time::sleep(pause(arguments.every)) => {}
            _ = &mut interrupted => break,
        }
        let answer = question.ask(reader, &limits)?;
        runs += 1;
        let mut new = answer.rows.iter().filter(|row| known.is_new(row));
        let is_closed = new.any(|row| form.print_row(&answer.columns, row).is_err());
        if is_closed {
            break;
        }
    }
    Ok(())
}

/// The time between two runs of the query.
fn pause(every: Duration) -> Duration {
    every.max(MIN_INTERVAL)
}

/// The rows seen so far, by key.
struct SeenRows {
    /// Numbers of the key columns; empty means all.
    key: Vec<usize>,
    rows: HashSet<String>,
}

impl SeenRows {
    fn new(key: &[&str], first: &QueryAnswer) -> SeenRows {
        let place = |name: &&str| first.columns.iter().position(|column| column == name);
        let mut known = SeenRows { key: key.iter().filter_map(place).collect(), rows: HashSet::new() };
        for row in &first.rows {
            known.is_new(row);
        }
        known
    }

    /// Adds a row. Returns whether it is new.
    fn is_new(&mut self, row: &[SqlValue]) -> bool {
        let key: Vec<&SqlValue> = match self.key.as_slice() {
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
    fn rows_are_identified_by_their_key() {
        let row = |host: &str, pages| vec![SqlValue::Text(host.into()), SqlValue::Integer(pages)];
        let columns = vec!["host".to_owned(), "pages".to_owned()];
        let first = QueryAnswer { columns, rows: vec![row("a.test", 1)], is_cut: false };
        let mut by_host = SeenRows::new(&["host"], &first);
        let mut by_all = SeenRows::new(&[], &first);
        let seen = [row("a.test", 1), row("a.test", 2), row("b.test", 1), row("b.test", 1)];
        assert_eq!(seen.each_ref().map(|row| by_host.is_new(row)), [false, false, true, false]);
        assert_eq!(seen.each_ref().map(|row| by_all.is_new(row)), [false, true, true, false]);
    }
}
