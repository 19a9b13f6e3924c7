//! Queries on the scores of the last distillation.

use super::{NamedQuery, TOPIC, rows};

pub(super) const TOP_HUBS: NamedQuery = NamedQuery {
    name: "top-hubs",
    description: "best hubs, without those marked useless",
    sql: "with recursive below(kcid) as (
              select kcid from taxonomy where kcid = :topic
              union
              select taxonomy.kcid from taxonomy join below on taxonomy.pcid = below.kcid
          )
          select hubs.score, crawl.kcid, crawl.title, crawl.url, crawl.relevance
          from crawl join hubs on hubs.oid = crawl.oid
          where (:topic = 0 or crawl.kcid in (select kcid from below))
            and crawl.url not in (select url from feedback
                                  where useful = 0
                                    and id in (select max(id) from feedback where kind = 'hub' group by url))
          order by hubs.score desc, crawl.url
          limit :rows",
    parameters: &[TOPIC, rows("20")],
    key: &["url"],
};

pub(super) const TOP_AUTHORITIES: NamedQuery = NamedQuery {
    name: "top-authorities",
    description: "best authorities, without those marked useless",
    sql: "with recursive below(kcid) as (
              select kcid from taxonomy where kcid = :topic
              union
              select taxonomy.kcid from taxonomy join below on taxonomy.pcid = below.kcid
          )
          select auth.score, crawl.kcid, crawl.title, crawl.url, crawl.relevance
          from crawl join auth on auth.oid = crawl.oid
          where (:topic = 0 or crawl.kcid in (select kcid from below))
            and crawl.url not in (select url from feedback
                                  where useful = 0
                                    and id in (select max(id) from feedback where kind = 'page' group by url))
          order by auth.score desc, crawl.url
          limit :rows",
    parameters: &[TOPIC, rows("20")],
    key: &["url"],
};
