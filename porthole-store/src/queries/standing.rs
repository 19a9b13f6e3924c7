//! Queries of the papers on the relations between topics (V 1, W 1).
//!
//! A page is about a topic if its best class is the topic or below it. A page that is queued for a revisit still
//! counts.
//!
//! SQLite joins in the order that `cross join` gives; PostgreSQL chooses the order itself.

use super::parts::{below, pages, paths, topic, whole};
use super::{NamedQuery, rows};

/// Links from one site to a page count once; otherwise the footer of a large site would dominate. The baseline is the
/// rest of the crawl: links between pages of different topics other than the given one. The lift is the number of links
/// divided by the expected number, both plus five, so that few links count little. The question is from V 1.
pub(super) const CITATION_SOCIOLOGY: NamedQuery = NamedQuery {
    name: "citation-sociology",
    description: "topics linked with a topic more often than in the rest of the crawl",
    sql: concat!(
        "with recursive ",
        below!("below", "topic"),
        ", ",
        paths!(),
        ", page(row, sid, kcid, own) as materialized (
             select row, sid, case when kcid in (select kcid from below) then :topic else kcid end,
                    case when kcid in (select kcid from below) then 1 else 0 end
             from tried
             where kcid is not null and state <= 1
         ), cited(kcid_src, own_src, kcid_dst, own_dst, sid_src, dst) as materialized (
             select distinct src.kcid, src.own, dst.kcid, dst.own, src.sid, edge.dst
             from edge
                  cross join page as src
                  cross join page as dst
             where src.row = edge.src and dst.row = edge.dst
               and src.sid <> dst.sid and src.kcid <> dst.kcid
         ), tie(kcid, near) as (
             select kcid_dst, own_src from cited where own_dst = 0
             union all
             select kcid_src, own_dst from cited where own_src = 0
         ), counted(kcid, near, large) as materialized (
             select kcid, sum(near), sum(1 - near) from tie group by kcid
         ), total(near, large, topics) as (
             select sum(near), sum(large), count(*) from counted
         ), share(kcid, links, of_links, large) as (
             select counted.kcid, counted.near, total.near, (counted.large + 1.0) / (total.large + total.topics)
             from counted cross join total
             where counted.kcid <> 0 and counted.near > 0 and counted.near >= :least
         )
         select paths.path as topic, share.links as links, share.links * 1.0 / share.of_links as share,
                share.large as at_large, (share.links + 5) / (share.of_links * share.large + 5) as lift
         from share join paths on paths.kcid = share.kcid
         order by lift desc, topic
         limit :rows"
    ),
    parameters: &[
        topic("topic", "whose neighbourhood"),
        whole("least", "minimum number of links of a topic", "5"),
        rows("20"),
    ],
    key: &["topic"],
};

// From V 1.
pub(super) const SPAM_FILTER: NamedQuery = NamedQuery {
    name: "spam-filter",
    description: "pages about one topic that several pages about another cite",
    sql: concat!(
        "with recursive ",
        below!("about", "topic"),
        ", ",
        below!("citing", "cited_by"),
        ", found(row, pages, sites) as materialized (
             select edge.dst, count(distinct edge.src), count(distinct citing_page.sid)
             from edge cross join crawl as citing_page
             where edge.dst in ",
        pages!("about"),
        " and edge.src in ",
        pages!("citing"),
        " and edge.src <> edge.dst and citing_page.rowid = edge.src
             group by edge.dst
             having count(distinct edge.src) >= :least
         )
         select crawl.url as url, found.pages as cited_by_pages, found.sites as of_sites, crawl.title as title
         from found cross join crawl
         where crawl.rowid = found.row
         order by cited_by_pages desc, of_sites desc, url
         limit :rows"
    ),
    parameters: &[
        topic("topic", "topic of the cited pages"),
        topic("cited_by", "topic of the citing pages"),
        whole("least", "minimum number of citing pages", "2"),
        rows("100"),
    ],
    key: &["url"],
};

// From V 1.
pub(super) const TYPED_LINK: NamedQuery = NamedQuery {
    name: "typed-link",
    description: "chains of two links over pages of three given topics",
    sql: concat!(
        "with recursive ",
        below!("first", "topic"),
        ", ",
        below!("second", "via"),
        ", ",
        below!("third", "to"),
        ", ahead(src, dst) as materialized (
             select distinct src, dst from edge
             where src in ",
        pages!("first"),
        " and dst in ",
        pages!("second"),
        " and src <> dst
         ), onward(src, dst) as materialized (
             select distinct src, dst from edge
             where src in ",
        pages!("second"),
        " and dst in ",
        pages!("third"),
        " and src <> dst
         )
         select one.url as url, two.url as via, three.url as leads_to
         from ahead
              cross join crawl as one
              cross join crawl as two
              cross join onward
              cross join crawl as three
         where one.rowid = ahead.src and two.rowid = ahead.dst
           and onward.src = ahead.dst and onward.dst <> ahead.src and three.rowid = onward.dst
         order by url, via, leads_to
         limit :rows"
    ),
    parameters: &[
        topic("topic", "topic of the first page"),
        topic("via", "topic of the second page"),
        topic("to", "topic of the third page"),
        rows("100"),
    ],
    key: &["url", "via", "leads_to"],
};

/// Times are relative to the crawl: the year before the last link was found. Periods begin at fixed times, so that
/// later runs have the same periods. The question is from V 1.
pub(super) const COMMUNITY_EVOLUTION: NamedQuery = NamedQuery {
    name: "community-evolution",
    description: "links from one topic to another, by time of discovery",
    sql: concat!(
        "with recursive ",
        below!("citing", "topic"),
        ", ",
        below!("cited", "to"),
        ", newest(at) as (
             select max(discovered) from edge
         ), found(period, src, sid_src) as (
             select (edge.discovered - edge.discovered % (cast(:step as bigint) * 86400000))
                    / (cast(:step as bigint) * 86400000), edge.src, crawl.sid
             from edge cross join newest cross join crawl
             where edge.discovered > newest.at - cast(:days as bigint) * 86400000
               and edge.src in ",
        pages!("citing"),
        " and edge.dst in ",
        pages!("cited"),
        " and crawl.rowid = edge.src
         )
         select period * cast(:step as bigint) * 86400000 as since_at, count(*) as links,
                count(distinct src) as pages, count(distinct sid_src) as sites
         from found
         group by period
         order by since_at"
    ),
    parameters: &[
        topic("topic", "topic of the linking pages"),
        topic("to", "topic of the linked pages"),
        whole("days", "days before the last link", "365"),
        whole("step", "days per period", "30"),
    ],
    key: &["since_at"],
};

// From W 1.
pub(super) const TOPIC_LINKS: NamedQuery = NamedQuery {
    name: "topic-links",
    description: "links between two topics, in both directions",
    sql: concat!(
        "with recursive ",
        below!("first", "topic"),
        ", ",
        below!("second", "other"),
        ", found(direction, src, dst, found_at) as materialized (
             select 'there', src, dst, min(discovered) from edge
             where src in ",
        pages!("first"),
        " and dst in ",
        pages!("second"),
        " and src <> dst
             group by src, dst
             union all
             select 'back', src, dst, min(discovered) from edge
             where src in ",
        pages!("second"),
        " and dst in ",
        pages!("first"),
        " and src <> dst
             group by src, dst
         )
         select found.direction as direction, src.url as url, dst.url as leads_to, found.found_at as found_at
         from found
              cross join crawl as src
              cross join crawl as dst
         where src.rowid = found.src and dst.rowid = found.dst
         order by direction desc, found_at, url, leads_to
         limit :rows"
    ),
    parameters: &[topic("topic", "first topic"), topic("other", "second topic"), rows("100")],
    key: &["direction", "url", "leads_to"],
};
