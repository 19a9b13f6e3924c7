//! The questions that the papers ask of a crawl (V 1, W 1): what topics have to do with each other.
//!
//! Pages about a topic are those whose best class is the topic or one below it. A page that is queued for another
//! visit is a page still.
//!
//! SQLite joins in the order that `cross join` gives, from few rows to the tables; PostgreSQL chooses for itself.

use super::Kind::{Number, Topic, Whole};
use super::{Index, NamedQuery, Parameter, TOPIC, rows};

/// The topic of a parameter and all below it, as a part of `with recursive`.
macro_rules! below {
    ($name:literal, $parameter:literal) => {
        concat!(
            $name,
            "(kcid) as (
                 select kcid from taxonomy where kcid = :",
            $parameter,
            "
                 union
                 select taxonomy.kcid from taxonomy join ",
            $name,
            " on taxonomy.pcid = ",
            $name,
            ".kcid
             )"
        )
    };
}

/// The paths of all topics; that of the root is empty.
macro_rules! paths {
    () => {
        "paths(kcid, path) as (
             select kcid, cast('' as text) from taxonomy where pcid is null
             union all
             select taxonomy.kcid, paths.path || '/' || taxonomy.name
             from taxonomy join paths on taxonomy.pcid = paths.kcid
         )"
    };
}

/// The pages about the topics that [`below`] names.
macro_rules! pages {
    ($below:literal) => {
        concat!(
            "(select oid from crawl where kcid is not null and state <= 1 and kcid in (select kcid from ",
            $below,
            "))"
        )
    };
}

/// One row a judged page.
const PAGES: Index = Index {
    name: "crawl_topic",
    sql: "create index if not exists crawl_topic on crawl(oid, kcid, sid, relevance, state) \
          where kcid is not null and state <= 1",
};

/// A topic that has to be named.
const fn topic(name: &'static str, description: &'static str) -> Parameter {
    Parameter { name, description, kind: Topic, default: None }
}

const fn whole(name: &'static str, description: &'static str, default: &'static str) -> Parameter {
    Parameter { name, description, kind: Whole, default: Some(default) }
}

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
        ", page(oid, kcid, own) as materialized (
             select oid, case when kcid in (select kcid from below) then :topic else kcid end,
                    case when kcid in (select kcid from below) then 1 else 0 end
             from crawl
             where kcid is not null and state <= 1
         ), cited(kcid_src, own_src, kcid_dst, own_dst, sid_src, oid_dst) as materialized (
             select distinct src.kcid, src.own, dst.kcid, dst.own, link.sid_src, link.oid_dst
             from link
                  cross join page as src
                  cross join page as dst
             where src.oid = link.oid_src and dst.oid = link.oid_dst
               and link.sid_src <> link.sid_dst and src.kcid <> dst.kcid
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
    indexes: &[PAGES],
    follows_links: false,
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
        ", found(oid, pages, sites) as materialized (
             select oid_dst, count(distinct oid_src), count(distinct sid_src)
             from link
             where oid_dst in ",
        pages!("about"),
        " and oid_src in ",
        pages!("citing"),
        " and oid_src <> oid_dst
             group by oid_dst
             having count(distinct oid_src) >= :least
         )
         select crawl.url as url, found.pages as cited_by_pages, found.sites as of_sites, crawl.title as title
         from found cross join crawl
         where crawl.oid = found.oid and crawl.kcid is not null and crawl.state <= 1
         order by cited_by_pages desc, of_sites desc, url
         limit :rows"
    ),
    parameters: &[
        topic("topic", "what the pages seem to be about"),
        topic("cited_by", "what those that cite them are about"),
        whole("least", "by how many pages at least", "2"),
        rows("100"),
    ],
    indexes: &[PAGES],
    follows_links: true,
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
        ", ahead(oid_src, oid_dst) as materialized (
             select distinct oid_src, oid_dst from link
             where oid_src in ",
        pages!("first"),
        " and oid_dst in ",
        pages!("second"),
        " and oid_src <> oid_dst
         ), onward(oid_src, oid_dst) as materialized (
             select distinct oid_src, oid_dst from link
             where oid_src in ",
        pages!("second"),
        " and oid_dst in ",
        pages!("third"),
        " and oid_src <> oid_dst
         )
         select one.url as url, two.url as via, three.url as leads_to
         from ahead
              cross join crawl as one
              cross join crawl as two
              cross join onward
              cross join crawl as three
         where one.oid = ahead.oid_src and one.kcid is not null and one.state <= 1
           and two.oid = ahead.oid_dst and two.kcid is not null and two.state <= 1
           and onward.oid_src = ahead.oid_dst and onward.oid_dst <> ahead.oid_src
           and three.oid = onward.oid_dst and three.kcid is not null and three.state <= 1
         order by url, via, leads_to
         limit :rows"
    ),
    parameters: &[
        topic("topic", "of the page that a chain begins with"),
        topic("via", "of the page between"),
        topic("to", "of the page that it ends with"),
        rows("100"),
    ],
    indexes: &[PAGES],
    follows_links: true,
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
             select max(discovered) from link
         ), found(period, oid_src, sid_src, oid_dst) as (
             select link.discovered / (cast(:step as bigint) * 86400000), oid_src, sid_src, oid_dst
             from link cross join newest
             where link.discovered > newest.at - cast(:days as bigint) * 86400000
               and link.oid_src in ",
        pages!("citing"),
        " and link.oid_dst in ",
        pages!("cited"),
        "
         )
         select period * cast(:step as bigint) * 86400000 as since_at, count(*) as links,
                count(distinct oid_src) as pages, count(distinct sid_src) as sites
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
    indexes: &[PAGES],
    follows_links: true,
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
        ", found(direction, oid_src, oid_dst, found_at) as materialized (
             select 'there', oid_src, oid_dst, min(discovered) from link
             where oid_src in ",
        pages!("first"),
        " and oid_dst in ",
        pages!("second"),
        " and oid_src <> oid_dst
             group by oid_src, oid_dst
             union all
             select 'back', oid_src, oid_dst, min(discovered) from link
             where oid_src in ",
        pages!("second"),
        " and oid_dst in ",
        pages!("first"),
        " and oid_src <> oid_dst
             group by oid_src, oid_dst
         )
         select found.direction as direction, src.url as url, dst.url as leads_to, found.found_at as found_at
         from found
              cross join crawl as src
              cross join crawl as dst
         where src.oid = found.oid_src and src.kcid is not null and src.state <= 1
           and dst.oid = found.oid_dst and dst.kcid is not null and dst.state <= 1
         order by direction desc, found_at, url, leads_to
         limit :rows"
    ),
    parameters: &[topic("topic", "one topic"), topic("other", "the other"), rows("100")],
    indexes: &[PAGES],
    follows_links: true,
    key: &["direction", "url", "leads_to"],
};

/// A site of a single page says little about the site: the order is by (relevant + 1) / (pages + 2).
pub(super) const SPECIALTY_SITES: NamedQuery = NamedQuery {
    name: "specialty-sites",
    description: "sites by the share of their pages that are about a topic, or relevant if none is named (W 1)",
    sql: concat!(
        "with recursive ",
        below!("below", "topic"),
        ", counted(sid, pages, relevant) as materialized (
             select sid, count(*),
                    sum(case when :topic = 0 and relevance >= :relevant then 1
                             when :topic <> 0 and kcid in (select kcid from below) then 1 else 0 end)
             from crawl
             where kcid is not null and state <= 1
             group by sid
         )
         select site.host as host, counted.relevant as relevant, counted.pages as pages,
                counted.relevant * 1.0 / counted.pages as density
         from counted join site on site.sid = counted.sid
         where counted.relevant > 0 and counted.pages >= :least and site.disabled = 0
         order by (counted.relevant + 1.0) / (counted.pages + 2) desc, relevant desc, host
         limit :rows"
    ),
    parameters: &[
        TOPIC,
        Parameter {
            name: "relevant",
            description: "without a topic: from which R(d) on a page is relevant",
            kind: Number,
            default: Some("0.5"),
        },
        whole("least", "sites with fewer pages are left out", "3"),
        rows("20"),
    ],
    indexes: &[PAGES],
    follows_links: false,
    key: &["host"],
};

/// Sites of a co-operative community cite each other, those of a competitive one do not (W 1, 4.5).
pub(super) const COMMUNITY_CULTURE: NamedQuery = NamedQuery {
    name: "community-culture",
    description: "whether the sites of a topic cite each other, and how long a page takes to become popular (W 1)",
    sql: concat!(
        "with recursive ",
        below!("below", "topic"),
        ", page(oid, sid) as materialized (
             select oid, sid from crawl
             where kcid is not null and state <= 1 and kcid in (select kcid from below)
         ), cited(sid_src, oid_dst, sid_dst, found) as materialized (
             select sid_src, oid_dst, sid_dst, min(discovered) from link
             where oid_src in (select oid from page) and oid_dst in (select oid from page)
               and sid_src <> sid_dst
             group by sid_src, oid_dst, sid_dst
         ), pair(one, other) as materialized (
             select distinct sid_src, sid_dst from cited
         ), ranked(oid, found, at_first, place) as (
             select oid_dst, found, min(found) over (partition by oid_dst),
                    row_number() over (partition by oid_dst order by found)
             from cited
         ), popular(days) as materialized (
             select (found - at_first) / 86400000.0 from ranked where place = :sites
         ), size(sites) as (
             select count(distinct sid) from page
         ), measured(place, measure, value) as (
             select 1, 'pages about it', count(*) * 1.0 from page
             union all
             select 2, 'sites of these pages', sites * 1.0 from size
             union all
             select 3, 'share of the sites that cite another one',
                    (select count(distinct one) from pair) * 1.0 / nullif(sites, 0) from size
             union all
             select 4, 'share of the sites that another one cites',
                    (select count(distinct other) from pair) * 1.0 / nullif(sites, 0) from size
             union all
             select 5, 'share of the citing pairs that cite each other',
                    (select count(*) from pair join pair as back
                                       on back.one = pair.other and back.other = pair.one) * 1.0
                    / nullif((select count(*) from pair), 0) from size
             union all
             select 6, 'popular pages, cited by so many sites', count(*) * 1.0 from popular
             union all
             select 7, 'days from the first of the sites to the last, on average', avg(days) from popular
         )
         select measure, value from measured order by place"
    ),
    parameters: &[
        topic("topic", "of the community"),
        whole("sites", "a page that so many other sites of the topic cite is popular", "3"),
    ],
    indexes: &[PAGES],
    follows_links: true,
    key: &["measure"],
};

/// What is kept of a change is when each link of a page was first seen: a page has changed when a later visit found
/// a new one.
pub(super) const TIMESCALES: NamedQuery = NamedQuery {
    name: "timescales",
    description: "topics whose pages change fast, and stable ones, by the pages that were visited again (W 1)",
    sql: concat!(
        "with recursive ",
        below!("below", "topic"),
        ", ",
        paths!(),
        ", page(oid, kcid, lastvisited) as materialized (
             select oid, kcid, lastvisited from crawl
             where kcid is not null and state <= 1 and kcid in (select kcid from below)
         ), seen(oid, at_first, changes) as materialized (
             select oid_src, min(discovered), count(distinct discovered) - 1 from link
             where oid_src in (select oid from page)
             group by oid_src
         ), watched(kcid, pages, changed, changes, days) as (
             select page.kcid, count(*), sum(case when seen.changes > 0 then 1 else 0 end), sum(seen.changes),
                    sum((page.lastvisited - seen.at_first) / 86400000.0)
             from page join seen on seen.oid = page.oid
             where page.lastvisited > seen.at_first
             group by page.kcid
         )
         select coalesce(nullif(paths.path, ''), '/') as topic, watched.pages as pages, watched.changed as changed_pages,
                watched.days / watched.pages as watched_days,
                watched.days / nullif(watched.changes, 0) as days_a_change
         from watched join paths on paths.kcid = watched.kcid
         where watched.pages >= :least
         order by watched.changes / watched.days desc, watched.days desc, topic
         limit :rows"
    ),
    parameters: &[
        TOPIC,
        whole("least", "topics with fewer pages that were visited again are left out", "3"),
        rows("100"),
    ],
    indexes: &[PAGES],
    follows_links: true,
    key: &["topic"],
};
