//! What there is only on PostgreSQL: other sessions, dead rows, and SQL of users on a server.

use std::collections::{BTreeMap, BTreeSet};

use porthole_store::{
    Batch, DatabaseLocation, Error, Estimate, QUERIES, QueryLimits, SqlDistillation, SqlValue, Store,
    StoreReader, TableReader, TableStore, TableWriter, TextIndex, WorkspaceWriter,
};
use porthole_types::{Event, PageResult, SiteId, Timestamp, UrlId};

use crate::postgres::PgPlace;
use crate::web::{Place, commit, link, new_url, oid, page, take};

#[test]
fn a_second_crawl_is_refused_and_seen() {
    let Some(place) = PgPlace::new() else { return };
    let store = place.open();
    let reader = place.reader();
    assert!(reader.is_crawled().unwrap());
    let second = TableStore::open_at(&place.location());
    assert!(matches!(second, Err(Error::InUse(_))), "{second:?}");
    drop(store);
    assert!(!reader.is_crawled().unwrap());
    drop(place.open());
}

#[test]
fn what_other_sessions_write_is_followed() {
    let Some(place) = PgPlace::new() else { return };
    let mut store = place.open();
    store.add(&[new_url(1, 0.5, 0.5), new_url(11, 0.4, 0.4)]).unwrap();
    assert!(!store.follow_changes().unwrap(), "its own writes are no news");
    let mut writer = TableWriter::open_at(&place.location()).unwrap();
    writer.set_disabled(&["site0.test"], true).unwrap();
    assert!(store.follow_changes().unwrap());
    assert_eq!(take(&mut store, 9, 0), [oid(11)]);
    // Any program can do so.
    place.sql("update site set disabled = 0");
    assert!(store.follow_changes().unwrap());
    assert!(!store.follow_changes().unwrap());
    assert_eq!(take(&mut store, 9, 0), [oid(1)]);
}

#[test]
fn what_is_no_database_of_ours_is_left_alone() {
    let Some(place) = PgPlace::new() else { return };
    place.sql("create table page(number integer)");
    assert!(matches!(TableStore::open_at(&place.location()), Err(Error::Foreign(_))));
    place.sql("drop table page");
    drop(place.open());
    place.sql("update setting set value = '999' where name = 'schema_version'");
    let newer = TableStore::open_at(&place.location());
    assert!(matches!(newer, Err(Error::Newer { found: 999, .. })), "{newer:?}");
    for older in [
        TableReader::open_at(&place.location()).err(),
        TableWriter::open_at(&place.location()).err(),
        TextIndex::open_at(&place.location()).err(),
    ] {
        assert!(matches!(older, Some(Error::Newer { found: 999, .. })), "{older:?}");
    }
    place.sql("update setting set value = '13' where name = 'schema_version'");
    let older = TableStore::open_at(&place.location()).unwrap_err().to_string();
    assert!(older.contains("its schema version is 13"), "{older}");
    let nowhere = DatabaseLocation::Postgres("postgres://me:secret@127.0.0.1:1/nothing".into());
    let error = TableStore::open_at(&nowhere).unwrap_err().to_string();
    assert!(error.contains("postgres://me@127.0.0.1:1/nothing") && !error.contains("secret"), "{error}");
}

/// Makes the tables those of version 14, the first on PostgreSQL.
fn back_to_version_14(place: &PgPlace) {
    place.sql(
        "drop table page_text, page_anchor, text_page, anchor, text_cursor, text_count, common_word; \
         update setting set value = '14' where name = 'schema_version'",
    );
}

#[test]
fn tables_of_an_older_version_are_migrated_while_no_crawl_runs() {
    let Some(place) = PgPlace::new() else { return };
    let mut store = place.open();
    store.add(&[new_url(1, 0.5, 0.5), new_url(2, 0.4, 0.4)]).unwrap();
    commit(&mut store, &[page(1, 0.5, vec![link(2, 0.5, 0.5)])]);
    let version = "select value from setting where name = 'schema_version'";
    let newest = place.sql(version);
    back_to_version_14(&place);
    // The crawl of an older program: it goes on, and nobody changes its tables.
    let refused = TableReader::open_at(&place.location()).unwrap_err().to_string();
    assert!(refused.contains("its schema version is 14; any command that writes migrates it"), "{refused}");
    let refused = TableWriter::open_at(&place.location());
    assert!(matches!(refused, Err(Error::InUse(_))), "{refused:?}");
    assert_eq!(place.sql(version), "14");
    commit(&mut store, &[page(2, 0.5, Vec::new())]);
    drop(store);

    drop(TableWriter::open_at(&place.location()).unwrap());
    assert_eq!(place.sql(version), newest);
    assert_eq!(place.reader().counts().unwrap().fetched, 2);
    back_to_version_14(&place);
    let mut store = place.open();
    assert_eq!(place.sql(version), newest, "a crawl migrates, too");
    assert_eq!(take(&mut store, 9, 0), []);
    drop(TextIndex::open_at(&place.location()).unwrap());
}

#[test]
fn the_tables_are_those_of_sqlite() {
    let Some(server) = PgPlace::new() else { return };
    drop(server.open());
    let file = Place::new();
    drop(file.open());
    let db = rusqlite::Connection::open(file.path()).unwrap();
    let sql = "select schema.name || '.' || field.name from sqlite_schema as schema, pragma_table_info(schema.name) as field
               where schema.type in ('table', 'view') and schema.name not like 'sqlite_%'";
    let mut read = db.prepare(sql).unwrap();
    let columns = read.query_map([], |row| row.get(0)).unwrap();
    let in_file: BTreeSet<String> = columns.map(Result::unwrap).collect();
    let columns = server.sql(
        "select table_name || '.' || column_name from information_schema.columns where table_schema = 'public'",
    );
    let on_server: BTreeSet<String> = columns.lines().map(str::to_owned).collect();
    let missing: Vec<_> = in_file.difference(&on_server).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn sql_of_users_reads_and_does_nothing_else() {
    let Some(place) = PgPlace::new() else { return };
    let mut store = place.open();
    store.add(&[new_url(1, 0.5, 0.5)]).unwrap();
    let reader = place.reader();
    let ask = |sql: &str, limits: &QueryLimits| reader.sql(sql, limits);
    let all = QueryLimits::default();
    for refused in [
        "delete from crawl",
        "with gone as (delete from crawl returning 1) select * from gone",
        "select pg_terminate_backend(1)",
        "select pg_sleep(100)",
        "copy crawl to '/tmp/crawl'",
        "create table mine(a integer)",
        "select nextval('event_id_seq')",
        "set role admin",
    ] {
        assert!(ask(refused, &all).is_err(), "{refused}");
    }
    let several = ask("select 1; select 2", &all);
    assert!(matches!(several, Err(Error::NotOneStatement("several"))), "{several:?}");
    assert!(matches!(ask("select 1 +", &all), Err(Error::Sql(_))));
    let few = QueryLimits { rows: 10, ..all };
    let many = "select generate_series(1, 1000000000) as number";
    assert!(matches!(ask(many, &few), Err(Error::TooManyRows(10))));
    let cut = ask(many, &QueryLimits { shorten: true, ..few }).unwrap();
    assert_eq!((cut.rows.len(), cut.is_cut), (10, true));
    let short = QueryLimits { time: std::time::Duration::from_millis(50), ..all };
    let slow = ask("select count(*) from generate_series(1, 2000000000)", &short);
    assert!(matches!(slow, Err(Error::TooSlow(_))), "{slow:?}");
    let answer = ask(
        "select 1 as a, 2.5::float8, 'x', true, null, '\\x00ff'::bytea, sum(numtries), avg(numtries), 1.25 from crawl;",
        &all,
    )
    .unwrap();
    let text = |text: &str| SqlValue::Text(text.into());
    use SqlValue::{Blob, Integer, Null, Real};
    let values = vec![
        Integer(1),
        Real(2.5),
        text("x"),
        Integer(1),
        Null,
        Blob(vec![0, 255]),
        Integer(0),
        Real(0.0),
        Real(1.25),
    ];
    assert_eq!((answer.columns[0].as_str(), &answer.rows[0]), ("a", &values));
    let empty = ask("select url from crawl where false", &all).unwrap();
    assert_eq!((empty.columns, empty.rows.len()), (vec!["url".to_owned()], 0));
}

/// Some pages, links, scores and topics.
fn filled(store: &mut dyn Store) {
    store.add(&[new_url(0, 0.5, 0.5)]).unwrap();
    for number in 0..30 {
        let links = (1..=4).map(|at| link(number * 3 + at, 0.5, 0.4)).collect();
        let at = Timestamp(1_000 + i64::try_from(number).unwrap() * 40_000);
        commit(store, &[PageResult { at, ..page(number, (number % 7) as f64 / 7.0, links) }]);
    }
    store.queue_again(&[oid(3)]).unwrap();
    commit(
        store,
        &[PageResult { seq: 40, at: Timestamp(9_000_000), ..page(3, 0.5, vec![link(99, 0.1, 0.1)]) }],
    );
    let hubs: Vec<_> = (0..9).map(|number| (oid(number), 0.1 * number as f64)).collect();
    let scores = porthole_store::DistilledScores { hubs: &hubs, auth: &hubs, ..Default::default() };
    store.set_scores(&scores).unwrap();
    let mut topics = store.topics().unwrap();
    topics.push(crate::topics::topic(
        porthole_types::TopicId(7),
        topics[0].id,
        "Birds",
        porthole_types::Mark::Good,
    ));
    store.set_topics(&topics).unwrap();
    store.append(&[Event { at: Timestamp(1), kind: "started".into(), detail: "a\0b".into() }]).unwrap();
}

#[test]
fn every_named_query_answers_as_on_sqlite() {
    let Some(server) = PgPlace::new() else { return };
    let file = Place::new();
    let (mut on_server, mut in_file) = (server.open(), file.open());
    filled(&mut on_server);
    filled(&mut in_file);
    let (on_server, in_file) = (on_server.reader(), in_file.reader());
    let mut with_rows = 0;
    for query in QUERIES {
        let needed = query.parameters.iter().filter(|parameter| parameter.default.is_none());
        let given: Vec<(&str, &str)> = needed.map(|parameter| (parameter.name, "/Birds")).collect();
        let ask = |reader: &dyn StoreReader| {
            reader
                .query(query.name, &given, &QueryLimits::default())
                .unwrap_or_else(|error| panic!("{}: {error}", query.name))
        };
        let (one, other) = (ask(&*on_server), ask(&*in_file));
        assert_eq!(one.columns, other.columns, "{}", query.name);
        assert_eq!(one.rows.len(), other.rows.len(), "{}", query.name);
        with_rows += usize::from(!one.rows.is_empty());
        for (one, other) in one.rows.iter().flatten().zip(other.rows.iter().flatten()) {
            let is_same = match (one.real(), other.real()) {
                (Some(one), Some(other)) => (one - other).abs() < 1e-9,
                _ => one == other,
            };
            assert!(is_same, "{}: {one:?} {other:?}", query.name);
        }
    }
    assert!(with_rows > 12, "only {with_rows} queries have rows");
    assert_eq!(on_server.events(0, 9).unwrap()[0].1.detail, "a\u{fffd}b", "PostgreSQL has no NUL in texts");
}

#[test]
fn the_distiller_inside_the_database_finds_the_same_scores_as_on_sqlite() {
    let Some(server) = PgPlace::new() else { return };
    let file = Place::new();
    for store in [&mut server.open(), &mut file.open()] {
        store.add(&(0..60).map(|number| new_url(number, 0.5, 0.5)).collect::<Vec<_>>()).unwrap();
        for number in 0..50 {
            let links = (1..=6).map(|at| link((number * at * 7 + at * at) % 60, 0.5, 0.4)).collect();
            commit(store, &[page(number, ((number * 5) % 11) as f64 / 11.0, links)]);
        }
    }
    let readers = [server.reader(), TableReader::open(file.path()).unwrap()];
    let how = SqlDistillation {
        rho: 0.2,
        correct_inflation: true,
        factors: &[(oid(4), 2.0), (oid(9), 0.0)],
        hub_factors: &[(oid(5), 0.5)],
        sites: &[(oid_site(2), oid_site(12))],
    };
    let mut found = Vec::new();
    for reader in &readers {
        let joined = reader.distiller(&how).unwrap().run(1e-12, 500).unwrap();
        let walked = reader.distiller(&how).unwrap().walk(1e-12, 500).unwrap();
        assert!(joined.converged && joined.hubs.len() > 5 && joined.authorities.len() > 3, "{joined:?}");
        found.extend([joined, walked]);
    }
    let by_id = |scores: &[(UrlId, f64)]| scores.iter().copied().collect::<BTreeMap<UrlId, f64>>();
    for other in &found[1..] {
        for (one, other) in [(&found[0].hubs, &other.hubs), (&found[0].authorities, &other.authorities)] {
            let (one, other) = (by_id(one), by_id(other));
            // The walk also lists pages whose score is 0.
            for oid in one.keys().chain(other.keys()) {
                let [one, other] = [&one, &other].map(|scores| scores.get(oid).copied().unwrap_or(0.0));
                assert!((one - other).abs() < 1e-9, "{oid:?}: {one} {other}");
            }
        }
    }
}

fn oid_site(number: u64) -> SiteId {
    crate::web::url(number).site()
}

/// Finished URLs cost nothing: a page's rows are read and written by their numbers, new versions of rows stay in their
/// pages, and the log of estimates is emptied.
#[test]
fn finished_urls_leave_no_dead_rows_behind() {
    let Some(place) = PgPlace::new() else { return };
    let mut store = place.open();
    const ROUNDS: u64 = 60;
    store.add(&(0..50).map(|number| new_url(number, 0.5, 0.5)).collect::<Vec<_>>()).unwrap();
    let number = |sql: &str| -> f64 { place.sql(sql).parse().unwrap() };
    let mut blocks_of_a_take = Vec::new();
    for round in 0..ROUNDS {
        let pages: Vec<PageResult> = (round * 50..(round + 1) * 50)
            .map(|number| page(number, 0.5, vec![link(number + 1, 0.5, 0.5), link(number + 50, 0.5, 0.5)]))
            .collect();
        commit(&mut store, &pages);
        let queued = store.counts().queued as u64;
        let known = store.counts().known as u64;
        let estimates: Vec<Estimate> = (known - queued..known)
            .map(|number| Estimate { oid: oid(number), relevance: 0.5, priority: round as f64 })
            .collect();
        store.commit(&Batch { estimates: &estimates, ..Batch::default() }).unwrap();
        if round == 5 || round == ROUNDS - 1 {
            store.tidy().unwrap();
            place.sql("vacuum analyze");
            let plan = place.sql(&format!(
                "explain (analyze, buffers, format json) select url from crawl where rowid = {known}"
            ));
            let hit = plan.split("\"Shared Hit Blocks\": ").nth(1).unwrap().split(',').next().unwrap();
            blocks_of_a_take.push(hit.parse::<u64>().unwrap());
            assert_eq!(number("select count(*) from estimate_log"), 0.0);
            assert_eq!(number("select n_dead_tup from pg_stat_user_tables where relname = 'crawl'"), 0.0);
        }
    }
    assert!(blocks_of_a_take[1] <= blocks_of_a_take[0] + 1, "{blocks_of_a_take:?}");
    let known = store.counts().known as f64;
    // A row takes its place, with a fifth of it left free.
    let bytes = number("select pg_relation_size('crawl') / count(*) from crawl");
    assert!(bytes < 450.0, "{bytes} bytes a URL, {known} URLs");
}
