//! Hub and authority scores by joins inside the database: UpdateAuth and UpdateHubs of V Fig. 4.
//!
//! Everything is done in temporary tables, so that a running crawl is not blocked and the database does not change. The
//! SQL is limited to what SQLite and PostgreSQL share; only the types of the temporary tables differ.

mod walk;

use porthole_types::{SiteId, UrlId};

use super::TableReader;
use super::statistics::analyze;
use crate::Result;
use crate::sql::{Connection, params};

/// Parameters of a distillation.
#[derive(Clone, Copy, Debug)]
pub struct SqlDistillation<'a> {
    /// Minimum relevance of authorities (exclusive).
    pub rho: f64,
    /// Whether k pages of a site that link to one page weigh 1/k each, and l pages of a site that one page links to 1/l
    /// each (V 2.2.2).
    pub correct_inflation: bool,
    /// Factors for the relevance of pages with feedback. They do not change which pages may be authorities.
    pub factors: &'a [(UrlId, f64)],
    /// Factors for pages with feedback on their links, used in the hub step only.
    pub hub_factors: &'a [(UrlId, f64)],
    /// Sites that count as another one, such as all hosts of a domain.
    pub sites: &'a [(SiteId, SiteId)],
}

/// A distillation inside the database, iteration by iteration.
#[derive(Debug)]
pub struct SqlDistiller {
    db: Connection,
}

/// Scores of the pages that have one; hubs and authorities each sum to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct SqlScores {
    /// Hub scores.
    pub hubs: Vec<(UrlId, f64)>,
    /// Authority scores.
    pub authorities: Vec<(UrlId, f64)>,
    /// Number of iterations.
    pub iterations: usize,
    /// The larger change of hubs or authorities in the last iteration, as a sum of absolute differences.
    pub change: f64,
    /// Whether that is within the tolerance.
    pub converged: bool,
}

impl TableReader {
    /// Computes the link weights for a distillation inside the database, from one consistent state of the tables.
    pub fn distiller(&self, how: &SqlDistillation<'_>) -> Result<SqlDistiller> {
        let db = self.location().calculator()?;
        let tables = match db {
            Connection::Sqlite(_) => format!("pragma temp.cache_size = -65536; {TABLES}"),
            Connection::Postgres(_) => in_postgres(TABLES),
        };
        db.execute_batch(&tables)?;
        let tx = db.calculation()?;
        hand_in(&tx, how)?;
        tx.execute(PAGES, [how.rho])?;
        analyze(&tx, "factor, hub_factor, alias, judged")?;
        tx.execute(LINKS, ())?;
        analyze(&tx, "counting")?;
        if how.correct_inflation {
            tx.execute(FROM_SITE, ())?;
            tx.execute(TO_SITE, ())?;
        }
        analyze(&tx, "from_site, to_site")?;
        tx.execute(WEIGH, ())?;
        if db.sqlite().is_some() {
            tx.execute_batch(INDEXES)?;
        }
        analyze(&tx, "weighed")?;
        tx.execute(START, ())?;
        analyze(&tx, "hub")?;
        tx.commit()?;
        Ok(SqlDistiller { db })
    }
}

impl SqlDistiller {
    /// UpdateAuth, then UpdateHubs. Returns the larger change.
    pub fn iterate(&mut self) -> Result<f64> {
        let tx = self.db.calculation()?;
        let authorities = update(&tx, "authority", UPDATE_AUTH)?;
        let hubs = update(&tx, "hub", UPDATE_HUBS)?;
        tx.commit()?;
        Ok(hubs.max(authorities))
    }

    /// Iterates until neither side changes by more than `tolerance`, or up to `max_iterations`.
    pub fn run(self, tolerance: f64, max_iterations: usize) -> Result<SqlScores> {
        self.run_by(SqlDistiller::iterate, tolerance, max_iterations)
    }

    fn run_by(
        mut self,
        iterate: fn(&mut SqlDistiller) -> Result<f64>,
        tolerance: f64,
        max_iterations: usize,
    ) -> Result<SqlScores> {
        let is_empty = !self.db.prepare("select 1 from hub limit 1")?.exists(())?;
        let (mut iterations, mut change) = (0, if is_empty { 0.0 } else { f64::INFINITY });
        while change > tolerance && iterations < max_iterations {
            change = iterate(&mut self)?;
            iterations += 1;
        }
        let (hubs, authorities) = (self.scores("hub")?, self.scores("authority")?);
        Ok(SqlScores { hubs, authorities, iterations, change, converged: change <= tolerance })
    }

    fn scores(&self, table: &str) -> Result<Vec<(UrlId, f64)>> {
        let mut read = self.db.prepare(&format!("select oid, score from {table}"))?;
        read.query_map((), |row| Ok((UrlId(row.get::<i64>(0)?.cast_unsigned()), row.get(1)?)))
    }
}

/// With the types of SQLite, in which an `integer primary key` is the row number.
const TABLES: &str = "
    create temporary table factor(oid integer primary key, value real not null);
    create temporary table hub_factor(oid integer primary key, value real not null);
    create temporary table alias(sid integer primary key, other integer not null);
    create temporary table judged(oid integer primary key, row integer not null unique, sid integer not null,
                                  relevance real not null, linking real not null, candidate integer not null);
    create temporary table counting(oid_src integer not null, sid_src integer not null,
                                    oid_dst integer not null, sid_dst integer not null);
    create temporary table from_site(sid integer, oid integer, links integer not null, primary key (sid, oid));
    create temporary table to_site(oid integer, sid integer, links integer not null, primary key (oid, sid));
    create temporary table weighed(oid_src integer not null, oid_dst integer not null,
                                   wgt_fwd real not null, wgt_rev real not null);
    create temporary table hub(oid integer primary key, score real not null);
    create temporary table authority(oid integer primary key, score real not null);
    create temporary table next(oid integer primary key, score real not null);";

/// Pages that were only estimated are neither hubs nor authorities. Here and in the steps, tiny values are set to 0:
/// PostgreSQL raises an error on underflow.
const PAGES: &str = "
    insert into judged(oid, row, sid, relevance, linking, candidate)
    select page.oid, page.row, page.sid, page.relevance * coalesce(factor.value, 1),
           page.relevance * coalesce(factor.value, 1) * coalesce(hub_factor.value, 1),
           case when page.relevance > ?1 then 1 else 0 end
    from (select oid, rowid as row, sid, case when relevance > 1 then 1.0 else relevance end as relevance
          from crawl
          where relevance > 1e-30 and (state = 1 or (state = 0 and kcid is not null))) as page
         left join factor on factor.oid = page.oid
         left join hub_factor on hub_factor.oid = page.oid
    where coalesce(factor.value, 1) > 0";

/// The links that count: between sites, to pages that may be authorities (rho of V Fig. 4), each once.
const LINKS: &str = "
    insert into counting(oid_src, sid_src, oid_dst, sid_dst)
    select distinct src.oid, coalesce(src_alias.other, src.sid), dst.oid, coalesce(dst_alias.other, dst.sid)
    from edge
         join judged as dst on dst.row = edge.dst
         join judged as src on src.row = edge.src
         left join alias as src_alias on src_alias.sid = src.sid
         left join alias as dst_alias on dst_alias.sid = dst.sid
    where dst.candidate = 1 and src.linking > 0
      and coalesce(src_alias.other, src.sid) <> coalesce(dst_alias.other, dst.sid)";

/// Number of pages of a site that link to a page, judged or not.
const FROM_SITE: &str = "
    insert into from_site(sid, oid, links)
    select coalesce(alias.other, src.sid), dst.oid, count(distinct edge.src)
    from edge
         join judged as dst on dst.row = edge.dst
         join crawl as src on src.rowid = edge.src
         left join alias on alias.sid = src.sid
    where dst.candidate = 1
    group by coalesce(alias.other, src.sid), dst.oid";

/// Number of pages of a site that a page links to, judged or not.
const TO_SITE: &str = "
    insert into to_site(oid, sid, links)
    select src.oid, coalesce(alias.other, dst.sid), count(distinct edge.dst)
    from edge
         join judged as src on src.row = edge.src
         join crawl as dst on dst.rowid = edge.dst
         left join alias on alias.sid = dst.sid
    where (src.oid, coalesce(alias.other, dst.sid)) in (select oid_src, sid_dst from counting)
    group by src.oid, coalesce(alias.other, dst.sid)";

/// E_F and E_B of the links (W 3.2), divided by these numbers if they were counted.
const WEIGH: &str = "
    insert into weighed(oid_src, oid_dst, wgt_fwd, wgt_rev)
    select counting.oid_src, counting.oid_dst,
           dst.relevance / coalesce(from_site.links, 1), src.linking / coalesce(to_site.links, 1)
    from counting
         join judged as src on src.oid = counting.oid_src
         join judged as dst on dst.oid = counting.oid_dst
         left join from_site on from_site.sid = counting.sid_src and from_site.oid = counting.oid_dst
         left join to_site on to_site.oid = counting.oid_src and to_site.sid = counting.sid_dst";

/// Sorted by the side that each step sums over. PostgreSQL reads the whole table and joins by hashing.
const INDEXES: &str = "
    create index temp.weighed_dst on weighed(oid_dst, oid_src, wgt_fwd);
    create index temp.weighed_src on weighed(oid_src, oid_dst, wgt_rev);";

/// Initially all hubs with a counted link are equal.
const START: &str = "
    insert into hub(oid, score)
    select oid_src, 1.0 / (select count(distinct oid_src) from weighed) from weighed group by oid_src";

/// V Fig. 4. Links within a site and to pages below rho are not in the table.
const UPDATE_AUTH: &str = "
    insert into next(oid, score)
    select weighed.oid_dst, sum(hub.score * weighed.wgt_fwd)
    from hub, weighed
    where hub.oid = weighed.oid_src and hub.score > 1e-100
    group by weighed.oid_dst";

/// V Fig. 4.
const UPDATE_HUBS: &str = "
    insert into next(oid, score)
    select weighed.oid_src, sum(authority.score * weighed.wgt_rev)
    from authority, weighed
    where authority.oid = weighed.oid_dst and authority.score > 1e-100
    group by weighed.oid_src";

/// The statements in the order in which they run, by the names of what they compute.
pub(super) fn statements() -> Vec<(&'static str, String)> {
    let statements = [
        ("judged", PAGES),
        ("counting", LINKS),
        ("from_site", FROM_SITE),
        ("to_site", TO_SITE),
        ("weighed", WEIGH),
        ("hub", START),
        ("update_auth", UPDATE_AUTH),
        ("update_hubs", UPDATE_HUBS),
    ];
    statements.map(|(name, sql)| (name, sql.to_owned())).to_vec()
}

fn hand_in(db: &Connection, how: &SqlDistillation<'_>) -> Result<()> {
    for (table, factors) in [("factor", how.factors), ("hub_factor", how.hub_factors)] {
        let mut insert = db.prepare(&format!("insert into {table}(oid, value) values (?1, ?2)"))?;
        for &(oid, factor) in factors {
            // Invalid factors become 0, as in the in-memory distiller.
            let harmless = if factor > 0.0 && factor.is_finite() { factor } else { 0.0 };
            insert.send(params![oid.0.cast_signed(), harmless])?;
        }
    }
    let mut insert = db.prepare("insert into alias(sid, other) values (?1, ?2)")?;
    for &(sid, other) in how.sites {
        insert.send(params![sid.0.cast_signed(), other.0.cast_signed()])?;
    }
    Ok(())
}

/// Updates one side by a join, and returns the change.
fn update(db: &Connection, table: &str, step: &str) -> Result<f64> {
    clear(db, "next")?;
    db.execute(step, ())?;
    settle(db, table)
}

/// Replaces the scores of one side by the new ones, normalised to a sum of 1, and returns the change.
fn settle(db: &Connection, table: &str) -> Result<f64> {
    let sum: Option<f64> = db.query_row("select sum(score) from next", (), |row| row.get(0))?;
    let Some(sum) = sum.filter(|sum| sum.is_normal()) else {
        // The weights differ so much that their products underflow: no better scores can be computed.
        return Ok(0.0);
    };
    let moved = format!(
        "select sum(abs(next.score / ?1 - coalesce({table}.score, 0)))
         from next left join {table} on {table}.oid = next.oid"
    );
    let change = db.query_row(&moved, [sum], |row| row.get(0))?;
    clear(db, table)?;
    db.execute(&format!("insert into {table}(oid, score) select oid, score / ?1 from next"), [sum])?;
    Ok(change)
}

/// Empties a temporary table. PostgreSQL would keep deleted rows.
fn clear(db: &Connection, table: &str) -> Result<()> {
    match db {
        Connection::Sqlite(_) => db.execute(&format!("delete from {table}"), ()).map(drop),
        Connection::Postgres(_) => db.execute_batch(&format!("truncate {table}")),
    }
}

/// The same tables with the types of PostgreSQL.
fn in_postgres(tables: &str) -> String {
    tables.replace(" integer", " bigint").replace(" real", " double precision")
}
