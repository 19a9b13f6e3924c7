//! Queries of the papers on the sites and pages of a topic (W 1): specialised sites, citations between sites, and
//! changes.

use super::parts::{below, paths, relevant, topic, whole};
use super::{NamedQuery, TOPIC, rows};

/// Sites with few pages are ranked lower: the order is by (relevant + 1) / (pages + 2). The question is from W 1.
pub(super) const SPECIALTY_SITES: NamedQuery = NamedQuery {
    name: "specialty-sites",
    description: "sites by the share of their pages about a topic (default: relevant pages)",
    sql: concat!(
        "with recursive ",
        below!("below", "topic"),
        ", counted(sid, pages, relevant) as materialized (
             select sid, count(*),
                    count(case when :topic = 0 and ",
        relevant!(),
        " then 1
                               when :topic <> 0 and kcid in (select kcid from below) then 1 end)
             from tried
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
    parameters: &[TOPIC, whole("least", "minimum number of pages of a site", "3"), rows("20")],
    key: &["host"],
};

/// Sites of a cooperative community cite each other, those of a competitive one do not (W 1, 4.5).
pub(super) const COMMUNITY_CULTURE: NamedQuery = NamedQuery {
    name: "community-culture",
    description: "whether sites of a topic cite each other, and how fast pages become popular",
    sql: concat!(
        "with recursive ",
        below!("below", "topic"),
        ", page(row, sid) as materialized (
             select row, sid from tried
             where kcid is not null and state <= 1 and kcid in (select kcid from below)
         ), cited(sid_src, dst, sid_dst, found) as materialized (
             select src.sid, edge.dst, dst.sid, min(edge.discovered)
             from edge
                  cross join page as src
                  cross join page as dst
             where src.row = edge.src and dst.row = edge.dst and src.sid <> dst.sid
             group by src.sid, edge.dst, dst.sid
         ), pair(one, other) as materialized (
             select distinct sid_src, sid_dst from cited
         ), ranked(row, found, at_first, place) as (
             select dst, found, min(found) over (partition by dst),
                    row_number() over (partition by dst order by found)
             from cited
         ), popular(days) as materialized (
             select (found - at_first) / 86400000.0 from ranked where place = :sites
         ), size(sites) as (
             select count(distinct sid) from page
         ), measured(place, measure, value) as (
             select 1, 'pages about the topic', count(*) * 1.0 from page
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
             select 6, 'popular pages', count(*) * 1.0 from popular
             union all
             select 7, 'mean days from the first citing site to the last', avg(days) from popular
         )
         select measure, value from measured order by place"
    ),
    parameters: &[
        topic("topic", "topic of the community"),
        whole("sites", "number of citing sites from which a page is popular", "3"),
    ],
    key: &["measure"],
};

/// A page has changed if a visit found other words (`upkeep`) or a new link: each link has the time at which it was
/// first seen. The question is from W 1.
pub(super) const TIMESCALES: NamedQuery = NamedQuery {
    name: "timescales",
    description: "how fast pages change, by topic, from revisited pages",
    sql: concat!(
        "with recursive ",
        below!("below", "topic"),
        ", ",
        paths!(),
        ", page(row, kcid, lastvisited) as materialized (
             select row, kcid, lastvisited from tried
             where kcid is not null and state <= 1 and kcid in (select kcid from below)
         ), seen(row, at_first, changes) as materialized (
             select src, min(discovered), count(distinct discovered) - 1 from edge
             where src in (select row from page)
             group by src
         ), visited(kcid, changes, time) as (
             select kcid, case when by_links > by_words then by_links else by_words end,
                    case when linked > watched then linked else watched end
             from (select page.kcid, coalesce(seen.changes, 0) as by_links, coalesce(upkeep.changes, 0) as by_words,
                          coalesce(page.lastvisited - seen.at_first, 0) as linked,
                          coalesce(upkeep.watched, 0) as watched
                   from page left join seen on seen.row = page.row left join upkeep on upkeep.row = page.row) as both_ways
         ), watched(kcid, pages, changed, changes, days) as (
             select kcid, count(*), sum(case when changes > 0 then 1 else 0 end), sum(changes), sum(time / 86400000.0)
             from visited where time > 0 group by kcid
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
        whole("least", "minimum number of revisited pages of a topic", "3"),
        rows("100"),
    ],
    key: &["topic"],
};
