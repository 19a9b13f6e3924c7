//! The same scores, one link at a time, as before the use of joins (V 3.8): scans the table of links, looks up the
//! score of one end, and updates the score of the other.

use rusqlite::{Connection, OptionalExtension, params};

use super::{SqlDistiller, SqlScores, settle};
use crate::Result;

/// A step: which links count, whose scores are read, and whose are updated.
struct WalkStep {
    links: &'static str,
    from: &'static str,
    to: &'static str,
}

/// UpdateAuth of V Fig. 4, without the join.
const AUTHORITIES: WalkStep = WalkStep {
    links: "select weighed.oid_src, weighed.oid_dst, weighed.wgt_fwd
            from weighed join judged on judged.oid = weighed.oid_dst
            where judged.candidate = 1",
    from: "hub",
    to: "authority",
};

/// UpdateHubs of V Fig. 4, without the join.
const HUBS: WalkStep =
    WalkStep { links: "select oid_dst, oid_src, wgt_rev from weighed", from: "authority", to: "hub" };

impl SqlDistiller {
    /// As [`run`](SqlDistiller::run), one link at a time; slower, for comparison.
    pub fn walk(self, tolerance: f64, max_iterations: usize) -> Result<SqlScores> {
        self.run_by(SqlDistiller::iterate_by_walking, tolerance, max_iterations)
    }

    fn iterate_by_walking(&mut self) -> Result<f64> {
        let tx = self.db.transaction()?;
        let authorities = step(&tx, &AUTHORITIES)?;
        let hubs = step(&tx, &HUBS)?;
        tx.commit()?;
        Ok(hubs.max(authorities))
    }
}

fn step(db: &Connection, step: &WalkStep) -> Result<f64> {
    db.prepare_cached("delete from next")?.execute([])?;
    let mut links = db.prepare_cached(step.links)?;
    let mut look_up = db.prepare_cached(&format!("select score from {} where oid = ?1", step.from))?;
    let mut update = db.prepare_cached(
        "insert into next(oid, score) values (?1, ?2) on conflict(oid) do update set score = score + excluded.score",
    )?;
    let mut rows = links.query([])?;
    while let Some(row) = rows.next()? {
        let (from, to, weight): (i64, i64, f64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let score: Option<f64> = look_up.query_row([from], |row| row.get(0)).optional()?;
        if let Some(score) = score {
            update.execute(params![to, score * weight])?;
        }
    }
    settle(db, step.to)
}
