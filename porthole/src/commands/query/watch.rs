//! `--watch`: repeats a query and prints new rows (V 1). The rows printed before are kept in memory; the database of
//! the crawl is not written to.

use std::time::Duration;

use porthole_store::{SeenRows, SqliteReader};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_database_is_not_asked_without_a_pause() {
        let pauses = [0, 99, 5_000].map(|millis| pause(Duration::from_millis(millis)).as_millis());
        assert_eq!(pauses, [100, 100, 5_000]);
    }
}
