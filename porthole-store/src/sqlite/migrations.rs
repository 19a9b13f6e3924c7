//! The schema, step by step. A released step never changes; later changes are new steps.

use rusqlite::{Connection, TransactionBehavior};

use crate::Result;

/// The steps. The number of a step is its position in the list, from 1, and the `user_version` after it.
///
/// Names and columns are those of V Fig. 1 where they exist there. Times are milliseconds since 1970; ids are the
/// signed bit patterns of unsigned numbers.
const MIGRATIONS: &[&str] = &[
    // The crawl, its links and sites, scores, events and settings.
    r#"
        -- Rows are appended in the order in which URLs became known, and never deleted. No index: which
        -- oid has which rowid is kept in memory. What every row has comes first, so that rebuilding that
        -- memory reads little.
        create table crawl(
            oid integer not null,
            url text not null,
            sid integer not null,
            relevance real not null,      -- R(d) once judged, until then the best R among the parents
            priority real not null,       -- what the strategy says; larger is sooner
            numtries integer not null,
            lastvisited integer,
            kcid integer,                 -- best leaf class
            state integer not null,       -- 0 queued, 1 fetched, 2 redirected, 3 dead, 4 skipped
            not_before integer,           -- queued: not to be tried earlier
            seq integer,                  -- the fetch's number in the crawl
            status integer,               -- of HTTP; 0 when there was no answer
            failure text,                 -- kind of the last failure
            detail text,
            title text,
            language text,
            bytes integer,
            simhash integer,
            segment integer,              -- where the page is kept: file, offset, length
            "offset" integer,
            length integer
        );
        create table link(
            oid_src integer not null,
            sid_src integer not null,
            oid_dst integer not null,
            sid_dst integer not null,
            wgt_fwd real not null,
            wgt_rev real not null,
            discovered integer not null
        );
        -- What is believed of queued URLs from now on, appended when it changes: rewriting rows all over
        -- crawl in every batch would cost most of the time. The last row for a URL counts; `row` is the
        -- rowid in crawl, which takes the values over in one sweep now and then.
        create table raised(row integer not null, relevance real not null, priority real not null);
        create table hubs(oid integer primary key, score real not null);
        create table auth(oid integer primary key, score real not null);
        -- serverload: distinct URLs fetched from the site (V 3.2).
        create table site(sid integer not null, host text not null, serverload integer not null);
        create table event(id integer primary key, at integer not null, kind text not null, detail text not null);
        create table setting(name text primary key, value text not null);
        -- The papers' CRAWL, in which serverload is a column, with states in words.
        create view page as
            select crawl.oid, crawl.url, crawl.sid, site.host, crawl.relevance, crawl.priority,
                   crawl.numtries, site.serverload, crawl.lastvisited, crawl.kcid,
                   case crawl.state when 0 then 'queued' when 1 then 'fetched' when 2 then 'redirected'
                                    when 3 then 'dead' else 'skipped' end as state,
                   crawl.status, crawl.failure, crawl.detail, crawl.title, crawl.language, crawl.bytes
            from crawl left join site on site.sid = crawl.sid;
    "#,
    // Topics, their examples, and what was trained on them.
    r#"
        -- The root is 0 and has no pcid, so that `pcid = 0` means its children and nothing else.
        create table taxonomy(
            kcid integer primary key,
            pcid integer,
            name text not null,
            mark text not null,           -- good, path, subsumed or null
            logprior real,                -- log Pr[kcid | pcid]; null until trained
            logdenom real
        );
        create index taxonomy_pcid on taxonomy(pcid);
        insert into taxonomy(kcid, pcid, name, mark) values (0, null, '', 'null');
        -- Clustered so that a probe with (pcid, tid) finds all kcid in one place, and a walk over one pcid
        -- meets its terms in order.
        create table stat(
            pcid integer not null,
            kcid integer not null,
            tid integer not null,
            logtheta real not null,
            primary key (pcid, tid, kcid)
        ) without rowid;
        -- The same, a row a probe: records are (kcid as u16, logtheta as f64), little-endian.
        create table blob(
            pcid integer not null,
            tid integer not null,
            records blob not null,
            primary key (pcid, tid)
        ) without rowid;
        create table document(
            did integer not null,
            tid integer not null,
            freq integer not null,
            primary key (did, tid)
        ) without rowid;
        -- The order in which documents meet stat.
        create index document_tid on document(tid, did, freq);
        create table example(
            id integer primary key,
            kcid integer not null,
            url text not null,            -- or the name of a file
            title text not null,
            source text not null,         -- what it was imported from
            language text not null,
            state text not null,          -- ok, missing or empty
            detail text not null,         -- why it is missing or empty
            terms blob not null,          -- packed (tid, freq)
            unique (kcid, url)
        );
        -- Readable words for terms. Two rows of one tid are a collision of the hash.
        create table term(
            tid integer not null,
            stem text not null,
            word text not null,
            primary key (tid, stem)
        ) without rowid;
        create table model(name text primary key, bytes blob not null, made integer not null);
    "#,
    // Feedback of users.
    r#"
        -- A site that is disabled (W 4.2) keeps its rows, and nothing is fetched from it.
        alter table site add column disabled integer not null default 0;
        -- Which are disabled is asked often; this index has no rows but theirs.
        create index site_disabled on site(sid) where disabled <> 0;
        -- How many links a URL is away from a start.
        alter table crawl add column depth integer not null default 0;
        -- URLs that were done and queued again: how often they were tried before that, and whether they
        -- ever came, 1 as a page, 2 as a redirect. `row` is the rowid in crawl.
        create table revisit(row integer primary key, numtries integer not null, came integer not null);
        -- A state more: 5 evicted, which had to go from a bounded queue.
        drop view page;
        create view page as
            select crawl.oid, crawl.url, crawl.sid, site.host, crawl.relevance, crawl.priority,
                   crawl.numtries, site.serverload, crawl.lastvisited, crawl.kcid,
                   case crawl.state when 0 then 'queued' when 1 then 'fetched' when 2 then 'redirected'
                                    when 3 then 'dead' when 4 then 'skipped' else 'evicted' end as state,
                   crawl.status, crawl.failure, crawl.detail, crawl.title, crawl.language, crawl.bytes
            from crawl left join site on site.sid = crawl.sid;
        -- Useful or not (W 2.1). The last word on a URL of a kind counts.
        create table feedback(
            id integer primary key,
            oid integer,
            url text not null,
            kind text not null,           -- page, site or hub
            useful integer not null,
            at integer not null
        );
        create index feedback_url on feedback(url, kind);
    "#,
    // Relevance by neighbours.
    r#"
        -- Of pages that were judged and have neighbours that were, as of the last distillation at which the
        -- neighbourhood had changed much; R(d) stays in crawl.
        create table neighbourhood(
            oid integer primary key,
            relevance real not null,      -- by the page's text and its neighbours
            own real not null,            -- R(d) that it was found with
            sites integer not null,       -- how many sites had judged neighbours
            evidence real not null        -- their mean R, each site once
        );
    "#,
    // Addresses of sites.
    r#"
        -- The address that a polite crawl found the host at last: sites that share one may be one.
        alter table site add column address text;
    "#,
    // Tables for readers, maintained by the writer, so that readers never write.
    r#"
        -- One row for every fetch, in the order in which they were made. `row` is the rowid in crawl, where
        -- `seq` is that of the URL's last fetch.
        create table fetch(seq integer primary key, row integer not null);
        insert or ignore into fetch(seq, row) select seq, rowid from crawl where seq is not null order by seq;
        -- URLs that were tried, in the order of their last tries. Reads nothing of the others.
        create view tried as
            select fetch.row, fetch.seq, crawl.oid, crawl.url, crawl.sid, crawl.relevance, crawl.kcid,
                   crawl.numtries, crawl.lastvisited, crawl.state, crawl.status, crawl.failure, crawl.detail,
                   crawl.title, crawl.language, crawl.bytes, crawl.depth
            from fetch join crawl on crawl.rowid = fetch.row
            -- The plus keeps SQLite from reading crawl first and looking for its fetches.
            where crawl.seq = +fetch.seq;
        -- The current counts, in one row, written with every change of the tables.
        create table counts(
            known integer not null,       -- URLs in any state
            queued integer not null,
            fetched integer not null,
            redirected integer not null,
            dead integer not null,
            skipped integer not null,
            evicted integer not null,
            parked integer not null,      -- queued, on disabled sites
            links integer not null,
            sites integer not null
        );
        insert into counts
            select count(*), coalesce(sum(state = 0), 0), coalesce(sum(state = 1), 0),
                   coalesce(sum(state = 2), 0), coalesce(sum(state = 3), 0), coalesce(sum(state = 4), 0),
                   coalesce(sum(state = 5), 0),
                   coalesce(sum(state = 0 and sid in (select sid from site where disabled <> 0)), 0),
                   (select count(*) from link), (select count(*) from site)
            from crawl;
        -- Readers made these, and the writer paid for them.
        drop index if exists crawl_seq;
        drop index if exists crawl_redirected;
        drop index if exists crawl_harvest;
        drop index if exists crawl_failure;
        drop index if exists crawl_topic;
        drop index if exists crawl_oid;
        drop index if exists link_src;
        drop index if exists link_dst;
    "#,
    // All links, with their anchor texts, and weights that never get out of date.
    r#"
        -- Every link of every fetched page, appended; the ends are rowids in crawl.
        create table edge(
            src integer not null,
            dst integer not null,
            discovered integer not null,
            anchor text                   -- at most 100 bytes; null if there is none
        );
        insert into edge(src, dst, discovered)
            select src.rowid, dst.rowid, link.discovered
            from link cross join crawl as src cross join crawl as dst
            where src.oid = link.oid_src and dst.oid = link.oid_dst
            order by link.rowid;
        drop table link;
        -- The papers' LINK (V Fig. 1). Weights are R of the page at one end (W 3.2), 0 until that is judged.
        create view link as
            select src.oid as oid_src, src.sid as sid_src, dst.oid as oid_dst, dst.sid as sid_dst,
                   case when dst.kcid is not null and dst.state <= 1 then dst.relevance else 0.0 end as wgt_fwd,
                   case when src.kcid is not null and src.state <= 1 then src.relevance else 0.0 end as wgt_rev,
                   edge.discovered, edge.anchor, src.sid <> dst.sid as crosses_sites
            from edge join crawl as src on src.rowid = edge.src join crawl as dst on dst.rowid = edge.dst;
        -- A state more: 6 rejected, of which only links are known that the strategy does not want followed.
        drop view page;
        create view page as
            select crawl.oid, crawl.url, crawl.sid, site.host, crawl.relevance, crawl.priority,
                   crawl.numtries, site.serverload, crawl.lastvisited, crawl.kcid,
                   case crawl.state when 0 then 'queued' when 1 then 'fetched' when 2 then 'redirected'
                                    when 3 then 'dead' when 4 then 'skipped' when 5 then 'evicted'
                                    else 'rejected' end as state,
                   crawl.status, crawl.failure, crawl.detail, crawl.title, crawl.language, crawl.bytes
            from crawl left join site on site.sid = crawl.sid;
        alter table counts add column rejected integer not null default 0;
        -- The names from the root down, /Recreation/Cycling; that of the root is /.
        alter table taxonomy add column path text not null default '/';
        with recursive paths(kcid, path) as (
            select kcid, '' from taxonomy where pcid is null
            union all
            select taxonomy.kcid, paths.path || '/' || taxonomy.name
            from taxonomy join paths on taxonomy.pcid = paths.kcid
        )
        update taxonomy set path = paths.path from paths where paths.kcid = taxonomy.kcid and paths.path <> '';
    "#,
    // Commands to a running crawl.
    r#"
        -- Appended by any process; the crawl carries commands out in the order of their ids and answers in the
        -- same row.
        create table command(
            id integer primary key,
            at integer not null,
            what text not null,           -- pause, resume, stop, policy, strategy, refocus, ...
            parameters text not null,
            answered integer,             -- when the crawl answered; null until then
            failed integer,               -- whether it refused
            outcome text                  -- what it said
        );
        -- Which wait for an answer is asked often; this index has no rows but theirs.
        create index command_open on command(id) where answered is null;
    "#,
    // The terms of every page, and duplicates.
    r#"
        -- Appended by fetches that brought a page with words.
        create table page_terms(
            seq integer primary key,      -- number of the fetch
            terms blob not null           -- term ids and frequencies, packed
        );
        alter table crawl add column terms integer;    -- the row of page_terms; null if there is none
        alter table crawl add column copy_of integer;  -- oid of the page with nearly the same text
        alter table counts add column copies integer not null default 0;
        alter table raised rename to estimate_log;
        drop view tried;
        create view tried as
            select fetch.row, fetch.seq, crawl.oid, crawl.url, crawl.sid, crawl.relevance, crawl.kcid,
                   crawl.numtries, crawl.lastvisited, crawl.state, crawl.status, crawl.failure, crawl.detail,
                   crawl.title, crawl.language, crawl.bytes, crawl.depth, crawl.copy_of,
                   case when crawl.copy_of is null then crawl.relevance else 0.0 end as credit
            from fetch join crawl on crawl.rowid = fetch.row
            -- The plus keeps SQLite from reading crawl first and looking for its fetches.
            where crawl.seq = +fetch.seq;
        drop view page;
        create view page as
            select crawl.oid, crawl.url, crawl.sid, site.host, crawl.relevance, crawl.priority,
                   crawl.numtries, site.serverload, crawl.lastvisited, crawl.kcid,
                   case crawl.state when 0 then 'queued' when 1 then 'fetched' when 2 then 'redirected'
                                    when 3 then 'dead' when 4 then 'skipped' when 5 then 'evicted'
                                    else 'rejected' end as state,
                   crawl.status, crawl.failure, crawl.detail, crawl.title, crawl.language, crawl.bytes,
                   crawl.copy_of
            from crawl left join site on site.sid = crawl.sid;
    "#,
    // What is known of hosts and their robots.txt, for the next run.
    r#"
        -- The slot follows from the id: a newer row takes the place of an older one there, so that both tables are
        -- bounded.
        create table robots(
            slot integer primary key,
            oid integer not null,         -- id of the URL of the robots.txt
            sid integer not null,
            until integer not null,       -- it is not asked for again before
            since integer,                -- out of reach since then; null if it is not
            detail text,                  -- why it is out of reach
            rules text                    -- the lines that apply to the crawl; null if there are none
        );
        create table host(
            slot integer primary key,
            sid integer not null,
            at integer not null,          -- when this was written
            is_quick integer not null,    -- whether its last answer came quickly
            trouble integer not null,     -- failures in a row
            not_before integer not null   -- not asked earlier
        );
    "#,
    // Pages that are visited again.
    r#"
        -- What the server gave out to recognise the version of the page: sent back when it is visited again.
        alter table page_terms add column etag text;
        alter table page_terms add column modified text;
        -- The pages that a maintained crawl visits again.
        create table upkeep(
            row integer primary key,      -- row of the URL
            due integer,                  -- next visit; null if there is none
            visits integer not null,      -- visits after the first one that found the page
            changes integer not null,     -- those of them that found it changed
            watched integer not null,     -- time from the first to the last of them
            seen integer not null,        -- when the page was last found there
            changed integer,              -- when it was last found changed
            gone integer                  -- since when it is gone; null if it is not
        );
        create index upkeep_due on upkeep(due) where due is not null;
        alter table revisit add column state integer;  -- state before it was queued again
    "#,
    // Queries that are kept with the workspace.
    r#"
        create table kept_query(
            name text primary key,
            question text not null,       -- a named query, or SQL
            parameters text not null,     -- of a named query: lines of name=value
            topics text not null,         -- paths of topics that it is about, one a line
            at integer not null           -- since when it is kept
        );
    "#,
    // A page that is queued for a visit is a page.
    r#"
        drop view tried;
        create view tried as
            select fetch.row, fetch.seq, crawl.oid, crawl.url, crawl.sid, crawl.relevance, crawl.kcid,
                   crawl.numtries, crawl.lastvisited,
                   case when crawl.state = 0
                             and exists (select 1 from revisit where revisit.row = fetch.row
                                         and coalesce(revisit.state, revisit.came) = 1)
                        then 1 else crawl.state end as state,
                   crawl.status, crawl.failure, crawl.detail,
                   crawl.title, crawl.language, crawl.bytes, crawl.depth, crawl.copy_of,
                   case when crawl.copy_of is null then crawl.relevance else 0.0 end as credit
            from fetch join crawl on crawl.rowid = fetch.row
            -- The plus keeps SQLite from reading crawl first and looking for its fetches.
            where crawl.seq = +fetch.seq;
    "#,
    // Places in the line of a bounded queue.
    r#"
        -- URLs that were evicted and found again: they stand behind another row, in the order of `serial`.
        create table requeued(
            row integer primary key,      -- row of the URL
            behind integer not null,      -- the last row when it was found again
            serial integer not null
        );
    "#,
];

/// The schema version that this program writes.
pub(crate) const VERSION: i64 = MIGRATIONS.len() as i64;

/// Migrates the tables from a version. Each step and its number are written in one transaction, so that a kill in
/// between leaves a database that the next open continues to migrate.
pub(crate) fn migrate(db: &mut Connection, from: i64) -> Result<()> {
    for (step, number) in MIGRATIONS.iter().zip(1..) {
        if number > from {
            let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            tx.execute_batch(step)?;
            tx.pragma_update(None, "user_version", number)?;
            tx.commit()?;
        }
    }
    Ok(())
}
