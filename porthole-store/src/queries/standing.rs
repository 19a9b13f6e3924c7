//! The questions that the papers ask of a crawl (V 1, W 1): what topics have to do with each other.
//!
//! Pages about a topic are those whose best class is the topic or one below it. A page that is queued for another
//! visit is a page still.
//!
//! SQLite joins in the order that `cross join` gives; PostgreSQL chooses for itself.

use super::parts::{below, pages, paths, topic, whole};
use super::{NamedQuery, rows};

/// What the pages of a site say of a page counts once, or the footer of a large site would be a topic's culture.
/// At large is the rest of the crawl: links between pages about neither the topic nor the same. The lift is the
/// number of links over the number that was to be expected, both as if there were five more: few links say little.
pub(super) const CITATION_SOCIOLOGY: NamedQuery = NamedQuery {
    name: "citation-sociology",
    description: "topics within one link of a topic, by how much more often than at large (V 1)",
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
        whole("least", "topics with fewer links are left out", "5"),
        rows("20"),
    ],
    key: &["topic"],
};

pub(super) const SPAM_FILTER: NamedQuery = NamedQuery {
    name: "spam-filter",
    description: "pages about one topic that several pages about another cite (V 1)",
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
        topic("topic", "what the pages seem to be about"),
        topic("cited_by", "what those that cite them are about"),
        whole("least", "by how many pages at least", "2"),
        rows("100"),
    ],
    key: &["url"],
};

pub(super) const TYPED_LINK: NamedQuery = NamedQuery {
    name: "typed-link",
    description: "chains of links from a page about one topic over one about a second to one about a third (V 1)",
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
        topic("topic", "of the page that a chain begins with"),
        topic("via", "of the page between"),
        topic("to", "of the page that it ends with"),
        rows("100"),
    ],
    key: &["url", "via", "leads_to"],
};

/// The time is that of the crawl: the year that ended when the last link was found. Periods begin at fixed moments,
/// so that a later answer has the same ones.
pub(super) const COMMUNITY_EVOLUTION: NamedQuery = NamedQuery {
    name: "community-evolution",
    description: "links from pages about one topic to pages about another by when they were found (V 1)",
    sql: concat!(
        "with recursive ",
        below!("citing", "topic"),
        ", ",
        below!("cited", "to"),
        ", newest(at) as (
             select max(discovered) from edge
         ), found(period, src, sid_src) as (
             select edge.discovered / (cast(:step as bigint) * 86400000), edge.src, crawl.sid
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
        topic("topic", "of the pages that link"),
        topic("to", "of the pages that are linked to"),
        whole("days", "how far back, from the last link", "365"),
        whole("step", "days of a period", "30"),
    ],
    key: &["since_at"],
};

pub(super) const TOPIC_LINKS: NamedQuery = NamedQuery {
    name: "topic-links",
    description: "whether there is a link between two topics, and which (W 1)",
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
    parameters: &[topic("topic", "one topic"), topic("other", "the other"), rows("100")],
    key: &["direction", "url", "leads_to"],
};
