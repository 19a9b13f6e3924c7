//! The tables in PostgreSQL: those of SQLite, with the same columns.
//!
//! Whole numbers are `bigint`, real ones `double precision`. Texts are ordered by their bytes. Where SQLite has a hidden
//! `rowid`, there is a column of this name; the store gives out the numbers of `crawl`, `edge` and `site`, since they have
//! no gaps. Rows of `crawl` are updated once or twice in their lives: the space that is left in its pages keeps the new
//! version of a row in the page of the old one, so that no index changes.

/// The first version on PostgreSQL.
pub(super) const FIRST: i64 = 14;

/// The version of the tables after all steps.
pub(super) const VERSION: i64 = FIRST + MIGRATIONS.len() as i64;

/// The steps from the first version on. A released step never changes; later changes are new steps.
pub(super) const MIGRATIONS: &[&str] = &[
    // The full-text index. `words` is the number of words of a text. No statistics of the columns that are long: they
    // would take minutes, and rows are found by the index or by their numbers.
    r#"
    create table page_text(
        rowid bigint primary key,
        title text collate "C" not null,
        body text collate "C" not null,
        words bigint not null,
        terms tsvector not null
    );
    create index page_text_terms on page_text using gin (terms);
    alter table page_text alter terms set statistics 0, alter body set statistics 0;
    create table page_anchor(rowid bigint primary key, words bigint not null, terms tsvector not null);
    create index page_anchor_terms on page_anchor using gin (terms);
    alter table page_anchor alter terms set statistics 0;
    create table text_page(row bigint primary key, seq bigint not null, has_text bigint not null);
    create table anchor(row bigint, text text collate "C", links bigint not null, primary key (row, text));
    create table text_cursor(name text collate "C" primary key, position bigint not null, mark bigint not null);
    create table text_count(name text collate "C" primary key, number bigint not null);
    create table common_word(word text collate "C" primary key);
    "#,
    // Workers tell each other the best URLs that they have, and the pages that they have fetched. The tables are created
    // with the first crawl.
    r#"
    alter table if exists worker add column if not exists best bytea;
    alter table if exists worker add column if not exists published timestamptz;
    alter table if exists inbox_0 add column if not exists page bytea;
    alter table if exists inbox_1 add column if not exists page bytea;
    "#,
    // Workers share the number of pages that they may fetch.
    r#"
    alter table if exists worker add column if not exists session bigint;
    alter table if exists worker add column if not exists pages bigint not null default 0;
    alter table if exists worker add column if not exists reserved bigint not null default 0;
    "#,
    // The best URLs of shards that change hands, whether a worker fetches yet, and whether it wants to know what others have
    // learnt.
    r#"
    alter table if exists shard add column if not exists best bytea;
    alter table if exists worker add column if not exists ready bigint not null default 0;
    alter table if exists worker add column if not exists asks bigint not null default 0;
    "#,
    // The last letter that a worker has read, as far as others wait for that. `cursor` is what it goes on from.
    r#"
    alter table if exists worker add column if not exists has_read bigint not null default 0;
    "#,
];

/// The definitions of the views by name.
pub(crate) fn views() -> Vec<(&'static str, String)> {
    ["link", "page", "tried"]
        .into_iter()
        .filter_map(|name| {
            let (_, rest) = TABLES.split_once(&format!("create view {name} as"))?;
            Some((name, rest.split(';').next()?.trim().to_owned()))
        })
        .collect()
}

/// Creates the tables of the first version.
pub(super) const TABLES: &str = r#"
    create table crawl(
        rowid bigint primary key,
        oid bigint not null,
        url text collate "C" not null,
        sid bigint not null,
        relevance double precision not null,
        priority double precision not null,
        numtries bigint not null,
        lastvisited bigint,
        kcid bigint,
        state bigint not null,
        not_before bigint,
        seq bigint,
        status bigint,
        failure text collate "C",
        detail text collate "C",
        title text collate "C",
        language text collate "C",
        bytes bigint,
        simhash bigint,
        segment bigint,
        "offset" bigint,
        length bigint,
        depth bigint not null default 0,
        terms bigint,
        copy_of bigint
    ) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
    create table edge(
        rowid bigint primary key,
        src bigint not null,
        dst bigint not null,
        discovered bigint not null,
        anchor text collate "C"
    );
    create table estimate_log(
        rowid bigint generated by default as identity primary key,
        row bigint not null,
        relevance double precision not null,
        priority double precision not null
    );
    create table hubs(oid bigint primary key, score double precision not null);
    create table auth(oid bigint primary key, score double precision not null);
    create table site(
        rowid bigint primary key,
        sid bigint not null,
        host text collate "C" not null,
        serverload bigint not null,
        disabled bigint not null default 0,
        address text collate "C"
    ) with (fillfactor = 80);
    create index site_disabled on site(sid) where disabled <> 0;
    create table event(
        id bigint generated by default as identity primary key,
        at bigint not null,
        kind text collate "C" not null,
        detail text collate "C" not null
    );
    create table setting(name text collate "C" primary key, value text collate "C" not null) with (fillfactor = 50);
    create table taxonomy(
        kcid bigint primary key,
        pcid bigint,
        name text collate "C" not null,
        mark text collate "C" not null,
        logprior double precision,
        logdenom double precision,
        path text collate "C" not null default '/'
    );
    create index taxonomy_pcid on taxonomy(pcid);
    insert into taxonomy(kcid, pcid, name, mark) values (0, null, '', 'null');
    create table stat(
        pcid bigint not null,
        kcid bigint not null,
        tid bigint not null,
        logtheta double precision not null,
        primary key (pcid, tid, kcid)
    );
    create table blob(
        pcid bigint not null,
        tid bigint not null,
        records bytea not null,
        primary key (pcid, tid)
    );
    create table document(
        did bigint not null,
        tid bigint not null,
        freq bigint not null,
        primary key (did, tid)
    );
    create index document_tid on document(tid, did, freq);
    create table example(
        id bigint generated by default as identity primary key,
        kcid bigint not null,
        url text collate "C" not null,
        title text collate "C" not null,
        source text collate "C" not null,
        language text collate "C" not null,
        state text collate "C" not null,
        detail text collate "C" not null,
        terms bytea not null,
        unique (kcid, url)
    );
    create table term(
        tid bigint not null,
        stem text collate "C" not null,
        word text collate "C" not null,
        primary key (tid, stem)
    );
    create table model(name text collate "C" primary key, bytes bytea not null, made bigint not null);
    create table revisit(
        row bigint primary key,
        numtries bigint not null,
        came bigint not null,
        state bigint
    );
    create table feedback(
        id bigint generated by default as identity primary key,
        oid bigint,
        url text collate "C" not null,
        kind text collate "C" not null,
        useful bigint not null,
        at bigint not null
    );
    create index feedback_url on feedback(url, kind);
    create table neighbourhood(
        oid bigint primary key,
        relevance double precision not null,
        own double precision not null,
        sites bigint not null,
        evidence double precision not null
    );
    create table "fetch"(seq bigint primary key, row bigint not null);
    create table counts(
        known bigint not null,
        queued bigint not null,
        fetched bigint not null,
        redirected bigint not null,
        dead bigint not null,
        skipped bigint not null,
        evicted bigint not null,
        parked bigint not null,
        links bigint not null,
        sites bigint not null,
        rejected bigint not null default 0,
        copies bigint not null default 0
    ) with (fillfactor = 10);
    create table command(
        id bigint generated by default as identity primary key,
        at bigint not null,
        what text collate "C" not null,
        parameters text collate "C" not null,
        answered bigint,
        failed bigint,
        outcome text collate "C"
    );
    create index command_open on command(id) where answered is null;
    create table page_terms(
        seq bigint primary key,
        terms bytea not null,
        etag text collate "C",
        modified text collate "C"
    );
    create table robots(
        slot bigint primary key,
        oid bigint not null,
        sid bigint not null,
        until bigint not null,
        since bigint,
        detail text collate "C",
        rules text collate "C"
    );
    create table host(
        slot bigint primary key,
        sid bigint not null,
        at bigint not null,
        is_quick bigint not null,
        trouble bigint not null,
        not_before bigint not null
    );
    create table upkeep(
        row bigint primary key,
        due bigint,
        visits bigint not null,
        changes bigint not null,
        watched bigint not null,
        seen bigint not null,
        changed bigint,
        gone bigint
    );
    create index upkeep_due on upkeep(due) where due is not null;
    create table requeued(
        row bigint primary key,
        behind bigint not null,
        serial bigint not null
    );
    create table kept_query(
        name text collate "C" primary key,
        question text collate "C" not null,
        parameters text collate "C" not null,
        topics text collate "C" not null,
        at bigint not null
    );

    create view link as
        select src.oid as oid_src, src.sid as sid_src, dst.oid as oid_dst, dst.sid as sid_dst,
               case when dst.kcid is not null and dst.state <= 1 then dst.relevance else 0.0 end as wgt_fwd,
               case when src.kcid is not null and src.state <= 1 then src.relevance else 0.0 end as wgt_rev,
               edge.discovered, edge.anchor, case when src.sid <> dst.sid then 1 else 0 end as crosses_sites
        from edge join crawl as src on src.rowid = edge.src join crawl as dst on dst.rowid = edge.dst;
    create view page as
        select crawl.oid, crawl.url, crawl.sid, site.host, crawl.relevance, crawl.priority,
               crawl.numtries, site.serverload, crawl.lastvisited, crawl.kcid,
               case crawl.state when 0 then 'queued' when 1 then 'fetched' when 2 then 'redirected'
                                when 3 then 'dead' when 4 then 'skipped' when 5 then 'evicted'
                                else 'rejected' end as state,
               crawl.status, crawl.failure, crawl.detail, crawl.title, crawl.language, crawl.bytes,
               crawl.copy_of
        from crawl left join site on site.sid = crawl.sid;
    create view tried as
        select done.row, done.seq, crawl.oid, crawl.url, crawl.sid, crawl.relevance, crawl.kcid,
               crawl.numtries, crawl.lastvisited,
               case when crawl.state = 0
                         and exists (select 1 from revisit where revisit.row = done.row
                                     and coalesce(revisit.state, revisit.came) = 1)
                    then 1 else crawl.state end as state,
               crawl.status, crawl.failure, crawl.detail,
               crawl.title, crawl.language, crawl.bytes, crawl.depth, crawl.copy_of,
               case when crawl.copy_of is null then crawl.relevance else 0.0 end as credit
        from "fetch" as done join crawl on crawl.rowid = done.row
        where crawl.seq = done.seq;

    -- A store is told of the changes that are not its own.
    create function porthole_changed() returns trigger language plpgsql as $$
        begin
            if current_setting('porthole.store', true) is distinct from 'on' then
                perform pg_notify('porthole', '');
            end if;
            return null;
        end
    $$;
    do $$
        declare changed text;
        begin
            foreach changed in array array['site', 'setting', 'taxonomy', 'example', 'model', 'feedback', 'hubs', 'auth',
                                           'neighbourhood', 'command', 'kept_query', 'event']
            loop
                execute format('create trigger porthole_changed after insert or update or delete or truncate on %I '
                               || 'for each statement execute function porthole_changed()', changed);
            end loop;
        end
    $$;
"#;
