//! Queries on the state of a crawl. `harvest`, `missed`, `census` and `census-up` are from V 3.7.

use super::ParameterKind::{Number, Whole};
use super::parts::relevant;
use super::{NamedQuery, Parameter, TOPIC, rows};

pub(super) const HARVEST_BY_MINUTE: NamedQuery = NamedQuery {
    name: "harvest",
    description: "pages and mean relevance per minute; duplicates count as 0",
    sql: "select (lastvisited - lastvisited % 60000) / 60000 as minute, count(*) as pages, avg(credit) as harvest
          from tried
          where state = 1
            and lastvisited > (select max(lastvisited) from tried where state = 1) - :hours * 3600000
          group by (lastvisited - lastvisited % 60000) / 60000
          order by minute",
    parameters: &[Parameter {
        name: "hours",
        description: "hours before the last page",
        kind: Number,
        default: Some("1"),
    }],
    key: &["minute"],
};

pub(super) const MISSED: NamedQuery = NamedQuery {
    name: "missed",
    description: "URLs on other sites that top hubs link to and that were never tried",
    sql: "with great(row, sid) as materialized (
              select row, sid from tried
              where oid in (select oid from hubs order by score desc
                            limit (select (count(*) * (100 - :percentile) + 99) / 100 from hubs))
          )
          select distinct target.url as url, target.relevance as relevance
          from edge
               cross join great
               cross join crawl as target
          where great.row = edge.src and target.rowid = edge.dst
            and target.sid <> great.sid and target.numtries = 0
          order by relevance desc, url
          limit :rows",
    parameters: &[
        Parameter {
            name: "percentile",
            description: "percentile of the hub score from which a hub is a top hub",
            kind: Whole,
            default: Some("90"),
        },
        rows("100"),
    ],
    key: &["url"],
};

pub(super) const CENSUS: NamedQuery = NamedQuery {
    name: "census",
    description: "fetched pages by best topic",
    sql: "select best.kcid, taxonomy.name, best.pages, best.relevance
          from (select kcid, count(*) as pages, avg(relevance) as relevance
                from tried where state = 1 and copy_of is null and kcid is not null group by kcid) as best
               join taxonomy on taxonomy.kcid = best.kcid
          order by best.pages desc, best.kcid
          limit :rows",
    parameters: &[rows("100")],
    key: &["kcid"],
};

pub(super) const FAILURES: NamedQuery = NamedQuery {
    name: "failures",
    description: "URLs whose last try failed, by kind of failure, with the number of permanent ones",
    sql: "select failure, count(*) as urls, sum(case when state = 3 then 1 else 0 end) as dead,
                 max(detail) as example, min(url) as url
          from tried
          where failure is not null and state <> 4
          group by failure
          order by urls desc, failure",
    parameters: &[],
    key: &["failure"],
};

pub(super) const SKIPPED: NamedQuery = NamedQuery {
    name: "skipped",
    description: "URLs skipped on purpose, by reason, with the number of those that were never requested",
    sql: "select failure as reason, count(*) as urls, sum(case when status = 0 then 1 else 0 end) as refused,
                 max(detail) as example, min(url) as url
          from tried
          where state = 4
          group by failure
          order by urls desc, reason",
    parameters: &[],
    key: &["reason"],
};

pub(super) const SITES: NamedQuery = NamedQuery {
    name: "sites",
    description: "sites by fetched pages",
    sql: "select host, serverload
          from site
          where serverload > 0
          order by serverload desc, host
          limit :rows",
    parameters: &[rows("100")],
    key: &["host"],
};

pub(super) const FRONTIER: NamedQuery = NamedQuery {
    name: "frontier",
    description: "URLs by state and number of tries",
    sql: "select case state when 0 then 'queued' when 1 then 'fetched' when 2 then 'redirected'
                            when 3 then 'dead' when 4 then 'skipped' when 5 then 'evicted'
                            else 'rejected' end as state,
                 numtries, count(*) as urls
          from crawl
          group by crawl.state, numtries
          order by crawl.state, numtries",
    parameters: &[],
    key: &["state", "numtries"],
};

pub(super) const PROGRESS: NamedQuery = NamedQuery {
    name: "progress",
    description: "pages, relevant pages, mean relevance of all and of the last, time of the last page",
    sql: concat!(
        "select count(*) as pages, count(case when ",
        relevant!(),
        " then 1 end) as relevant, avg(credit) as harvest,
                 (select avg(credit)
                  from (select credit from tried where state = 1 order by lastvisited desc, seq desc
                        limit :last)
                       as latest) as recent,
                 max(lastvisited) as lastvisited
          from tried
          where state = 1"
    ),
    parameters: &[Parameter {
        name: "last",
        description: "number of last pages",
        kind: Whole,
        default: Some("100"),
    }],
    key: &[],
};

pub(super) const TOP_PAGES: NamedQuery = NamedQuery {
    name: "top-pages",
    description: "most relevant pages, without duplicates and pages marked useless",
    sql: "with recursive below(kcid) as (
              select kcid from taxonomy where kcid = :topic
              union
              select taxonomy.kcid from taxonomy join below on taxonomy.pcid = below.kcid
          )
          select relevance, kcid, title, url
          from tried
          where state = 1 and copy_of is null
            and (:topic = 0 or kcid in (select kcid from below))
            and url not in (select url from feedback
                            where useful = 0
                              and id in (select max(id) from feedback where kind = 'page' group by url))
          order by relevance desc, seq
          limit :rows",
    parameters: &[TOPIC, rows("20")],
    key: &["url"],
};

pub(super) const TOP_SITES: NamedQuery = NamedQuery {
    name: "top-sites",
    description: "sites by relevant pages, with their mean relevance (duplicates count as 0), without those \
                  disabled or marked useless",
    sql: concat!(
        "with recursive below(kcid) as (
              select kcid from taxonomy where kcid = :topic
              union
              select taxonomy.kcid from taxonomy join below on taxonomy.pcid = below.kcid
          )
          select site.host, found.relevant, found.pages, found.relevance, site.serverload
          from (select sid, count(*) as pages, avg(credit) as relevance,
                       count(case when ",
        relevant!(),
        " then 1 end) as relevant
                from tried
                where state = 1 and (:topic = 0 or kcid in (select kcid from below))
                group by sid) as found
               join site on site.sid = found.sid
          where site.disabled = 0
            and site.host not in (select url from feedback
                                  where useful = 0
                                    and id in (select max(id) from feedback
                                               where kind = 'site' group by url))
          order by found.relevant desc, found.relevance desc, site.host
          limit :rows"
    ),
    parameters: &[TOPIC, rows("20")],
    key: &["host"],
};

pub(super) const SITE_LIST: NamedQuery = NamedQuery {
    name: "site-list",
    description: "sites with numbers of pages, queued URLs and failures",
    sql: "select site.host, coalesce(found.pages, 0) as pages, found.relevance,
                 coalesce(found.queued, 0) as queued, coalesce(found.failures, 0) as failures,
                 site.serverload, site.disabled, host.not_before, coalesce(host.trouble, 0) as trouble
          from site
               left join host on host.sid = site.sid
               left join (select sid, sum(case when is_page then 1 else 0 end) as pages,
                                 avg(case when is_page and copy_of is null then relevance
                                          when is_page then 0.0 end) as relevance,
                                 sum(case when state = 0 then 1 else 0 end) as queued,
                                 sum(case when failure is null or state = 4 then 0 else 1 end) as failures
                          from (select sid, relevance, state, failure, copy_of,
                                       state = 1 or (state = 0 and numtries > 0 and exists (
                                           select 1 from revisit where revisit.row = crawl.rowid
                                           and coalesce(revisit.state, revisit.came) = 1)) as is_page
                                from crawl) as known
                          group by sid) as found on found.sid = site.sid
          where site.disabled >= :disabled
          order by pages desc, site.serverload desc, site.host
          limit :rows",
    parameters: &[
        Parameter {
            name: "disabled",
            description: "1: only disabled sites",
            kind: Whole,
            default: Some("0"),
        },
        rows("100"),
    ],
    key: &["host"],
};

pub(super) const CENSUS_UP: NamedQuery = NamedQuery {
    name: "census-up",
    description: "fetched pages by topic, including subtopics, without the root",
    sql: "with recursive above(kcid, at) as (
              select kcid, kcid from taxonomy
              union
              select above.kcid, taxonomy.pcid
              from above join taxonomy on taxonomy.kcid = above.at
              where taxonomy.pcid > 0
          )
          select above.at as kcid, taxonomy.name, sum(best.pages) as pages,
                 sum(best.relevance) / sum(best.pages) as relevance
          from (select kcid, count(*) as pages, sum(relevance) as relevance
                from tried where state = 1 and copy_of is null and kcid is not null group by kcid) as best
               join above on above.kcid = best.kcid
               join taxonomy on taxonomy.kcid = above.at
          where above.at <> 0
          group by above.at, taxonomy.name
          order by pages desc, above.at
          limit :rows",
    parameters: &[rows("100")],
    key: &["kcid"],
};
