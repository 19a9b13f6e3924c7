//! The same scores, one link at a time, as before the use of joins (V 3.8): scans the table of links, looks up the
//! score of one end, and updates the score of the other.

use super::{SqlDistiller, SqlScores, clear, settle};
use crate::Result;
use crate::sql::{Connection, Optional, params};

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
        if self.db.sqlite().is_none() {
            // Inside the server, and not in one transaction: it could not remove the old versions of a row that is updated
            // for every link.
            let authorities = step_in_server(&self.db, &AUTHORITIES)?;
            return Ok(step_in_server(&self.db, &HUBS)?.max(authorities));
        }
        let tx = self.db.calculation()?;
        let authorities = step(&tx, &AUTHORITIES)?;
        let hubs = step(&tx, &HUBS)?;
        tx.commit()?;
        Ok(hubs.max(authorities))
    }
}

/// Adds to the score of a page.
const ADD: &str = "insert into next(oid, score) values (?1, ?2)
                   on conflict(oid) do update set score = next.score + excluded.score";

fn step(db: &Connection, step: &WalkStep) -> Result<f64> {
    clear(db, "next")?;
    let mut links = db.prepare(step.links)?;
    let mut look_up = db.prepare(&look_up(step))?;
    let mut update = db.prepare(ADD)?;
    let mut rows = links.query(())?;
    while let Some(row) = rows.next()? {
        let (from, to, weight): (i64, i64, f64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let score: Option<f64> = look_up.query_row([from], |row| row.get(0)).optional()?;
        if let Some(score) = score {
            update.execute(params![to, score * weight])?;
        }
    }
    settle(db, step.to)
}

fn look_up(step: &WalkStep) -> String {
    format!("select score from {} where oid = ?1", step.from)
}

/// The same statements as a procedure of PostgreSQL, which spares two round trips a link.
fn step_in_server(db: &Connection, step: &WalkStep) -> Result<f64> {
    clear(db, "next")?;
    let look_up =
        look_up(step).replace("select score", "select score into known").replace("?1", "link.from_oid");
    let add = ADD.replace("?1", "link.to_oid").replace("?2", "known * link.weight");
    db.execute_batch(&format!(
        "do $$
         declare
             link record;
             known double precision;
             done bigint := 0;
         begin
             for link in select * from ({links}) as links(from_oid, to_oid, weight) loop
                 {look_up};
                 if found then
                     {add};
                 end if;
                 done := done + 1;
                 if done % {PORTION} = 0 then
                     commit;
                 end if;
             end loop;
         end $$",
        links = step.links,
    ))?;
    settle(db, step.to)
}

/// Links after which a transaction is committed.
const PORTION: u32 = 1_000;
