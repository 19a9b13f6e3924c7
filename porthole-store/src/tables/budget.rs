//! The pages that all workers together may fetch in a run. `worker.pages` is how many a worker has fetched, written with the
//! pages themselves, and `worker.reserved` how many more it may fetch. What a worker that is gone had reserved counts no more.

use porthole_types::{Outcome, PageResult};

use super::load::SharedPart;
use crate::postgres::ALIVE;
use crate::sql::{Row, Transaction, params};
use crate::{Error, Result};

/// Counts the pages of a batch.
pub(super) fn count(tx: &Transaction<'_>, shared: &SharedPart, results: &[PageResult]) -> Result<()> {
    let is_page = |result: &&PageResult| matches!(result.outcome, Outcome::Fetched | Outcome::NotModified);
    let pages = results.iter().filter(is_page).count();
    if pages > 0 {
        let sql = "update worker set pages = pages + ?2, reserved = greatest(reserved - ?2, 0) where id = ?1";
        tx.prepare(sql)?.send(params![shared.worker, number(pages)])?;
    }
    Ok(())
}

/// Reserves up to `most` of `whole` pages for a worker, fewer when few are left for all. Returns how many.
pub(super) fn reserve(tx: &Transaction<'_>, worker: u32, whole: u64, most: u64) -> Result<u64> {
    let sql = format!(
        "select coalesce(sum(pages + case when alive then reserved else 0 end), 0)::bigint, count(*) filter (where alive) \
         from (select pages, reserved, id in ({ALIVE}) as alive from worker) as workers"
    );
    let read = |row: &Row<'_>| Ok((row.get::<i64>(0)?.cast_unsigned(), row.get::<i64>(1)?.cast_unsigned()));
    let (used, alive) = tx.query_row(&sql, (), read)?;
    let reserved = share(whole.saturating_sub(used), alive, most);
    if reserved > 0 {
        let more = i64::try_from(reserved).map_err(|error| Error::Database(Box::new(error)))?;
        tx.execute("update worker set reserved = reserved + ?2 where id = ?1", params![worker, more])?;
    }
    Ok(reserved)
}

/// How many of the pages that are left one of the workers gets: smaller parts towards the end, so that all end together.
fn share(left: u64, workers: u64, most: u64) -> u64 {
    (left / (2 * workers.max(1))).max(1).min(most).min(left)
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_become_smaller_and_end_with_the_last_page() {
        assert_eq!([1_000, 100, 10, 1, 0].map(|left| share(left, 4, 64)), [64, 12, 1, 1, 0]);
        assert_eq!(share(10, 0, 64), 5);
        let (mut left, mut parts) = (1_000, 0);
        while left > 0 {
            left -= share(left, 2, 64);
            parts += 1;
        }
        assert!((16..60).contains(&parts), "{parts}");
    }
}
