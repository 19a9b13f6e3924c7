//! Files that are invalid, old or in use.

use std::fs;

use porthole_store::{
    Batch, Error, QueryLimits, Rejudged, SqlDistillation, SqliteReader, SqliteStore, SqliteWorkspaceWriter,
    Store, StoreReader, WorkspaceWriter,
};
use porthole_types::{CANON_VERSION, Judgment, Mark, TopicId, TopicRow};
use rusqlite::Connection;

use crate::web::{Place, commit, link, new_url, oid, oids_of, page, retry, take};

/// A closed store with some content.
fn filled() -> Place {
    let place = Place::new();
    let mut store = place.open();
    store.add(&[new_url(1, 0.5, 0.5)]).unwrap();
    let links = (2..400).map(|number| link(number, 0.5, 0.5)).collect();
    commit(&mut store, &[page(1, 0.5, links)]);
    place
}

fn refusal(place: &Place) -> Error {
    SqliteStore::open(place.path()).expect_err("the file is not in order")
}

#[test]
fn a_changed_database_is_refused_and_the_message_says_what_to_do() {
    for (change, word) in [
        ("pragma user_version = 99", "use a newer porthole"),
        ("update setting set value = '0' where name = 'canon_version'", "rules for canonical URLs"),
        ("pragma application_id = 1", "another program"),
        ("delete from crawl where rowid = 7", "rows must not be deleted"),
        ("insert into crawl select * from crawl where rowid = 7", "twice"),
        ("update crawl set state = 77 where rowid = 7", "unknown state 77"),
        ("insert into estimate_log values (9999, 0.5, 0.5)", "unknown row 9999"),
    ] {
        let place = filled();
        Connection::open(place.path()).unwrap().execute_batch(change).unwrap();
        let error = refusal(&place).to_string();
        assert!(error.contains(word), "{change}: {error}");
    }
}

#[test]
fn a_database_with_older_rules_for_urls_that_still_hold_is_used() {
    let place = filled();
    let version = || {
        let sql = "select value from setting where name = 'canon_version'";
        let db = Connection::open(place.path()).unwrap();
        db.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap()
    };
    let known = SqliteStore::open(place.path()).unwrap().counts().known;
    Connection::open(place.path())
        .unwrap()
        .execute("update setting set value = '1' where name = 'canon_version'", [])
        .unwrap();
    assert_eq!(SqliteStore::open(place.path()).unwrap().counts().known, known);
    assert_eq!(version(), CANON_VERSION.to_string());
}

#[test]
fn what_is_no_database_of_ours_is_left_alone() {
    let place = Place::new();
    let text = "this is a text file, and quite a long one. ".repeat(100);
    fs::write(place.path(), &text).unwrap();
    assert!(matches!(refusal(&place), Error::NotADatabase(_)));
    assert_eq!(fs::read_to_string(place.path()).unwrap(), text);

    let place = Place::new();
    Connection::open(place.path()).unwrap().execute_batch("create table theirs(a)").unwrap();
    assert!(matches!(refusal(&place), Error::Foreign(_)));
    assert!(matches!(SqliteReader::open(place.path()), Err(Error::Foreign(_))));

    let place = Place::new();
    fs::create_dir(place.path()).unwrap();
    assert!(matches!(refusal(&place), Error::Open { .. }));
    assert!(matches!(SqliteStore::open("/nowhere/at/all.db"), Err(Error::Open { .. })));
    assert!(matches!(SqliteReader::open("/nowhere/at/all.db"), Err(Error::Open { .. })));
}

#[test]
fn a_damaged_file_is_an_error_and_no_panic() {
    let whole = fs::read(filled().path()).unwrap();
    assert!(whole.len() > 40_000);
    for (from, to) in [(16, 100), (100, 2_000), (4_096, 20_000), (20_000, whole.len())] {
        let place = Place::new();
        let mut bytes = whole.clone();
        bytes[from..to].fill(0xa5);
        fs::write(place.path(), &bytes).unwrap();
        let _ =
            SqliteStore::open(place.path()).map(|mut store| store.take(1000, porthole_types::Timestamp(0)));
    }
    for length in [0, 50, 1_000, 4_096, whole.len() / 2] {
        let place = Place::new();
        fs::write(place.path(), &whole[..length]).unwrap();
        let opened = SqliteStore::open(place.path());
        assert_eq!(opened.is_ok(), length == 0, "{length}: {:?}", opened.err());
    }
}

#[test]
fn a_store_cannot_be_written_twice_at_once() {
    let place = filled();
    let store = place.open();
    assert!(matches!(refusal(&place), Error::InUse(_)));
    assert!(SqliteReader::open(place.path()).is_ok());
    drop(store);
    drop(place.open());
}

#[test]
fn a_database_that_was_made_half_way_is_brought_on() {
    let place = Place::new();
    let db = Connection::open(place.path()).unwrap();
    db.execute_batch("pragma application_id = 1886351988").unwrap();
    drop(db);
    assert!(matches!(SqliteReader::open(place.path()), Err(Error::Open { .. })));
    assert_eq!(place.open().counts().known, 0);
    let db = Connection::open(place.path()).unwrap();
    let version: i64 = db.query_row("pragma user_version", [], |row| row.get(0)).unwrap();
    assert_eq!(version, 14);
}

/// Reverts a database to version 6 of the schema.
fn back_to_version_6(place: &Place) {
    let sql =
        "create table old_link(oid_src integer not null, sid_src integer not null, oid_dst integer not null,
                                     sid_dst integer not null, wgt_fwd real not null, wgt_rev real not null,
                                     discovered integer not null);
               insert into old_link select oid_src, sid_src, oid_dst, sid_dst, 0, 0, discovered from link;
               drop view tried; drop view page; alter table revisit drop column state; drop table requeued; drop table kept_query; drop table upkeep; drop table robots; drop table host;
               drop table page_terms; alter table estimate_log rename to raised;
               alter table crawl drop column terms; alter table crawl drop column copy_of;
               alter table counts drop column copies;
               -- The migration creates them again.
               create view tried as select 1; create view page as select 1;
               drop table command; drop view link; drop table edge; alter table old_link rename to link;
               alter table counts drop column rejected; alter table taxonomy drop column path;
               pragma user_version = 6";
    Connection::open(place.path()).unwrap().execute_batch(sql).unwrap();
}

/// Reverts a database to version 10 of the schema.
fn back_to_version_10(place: &Place) {
    let sql = "drop table requeued; drop table kept_query; drop table upkeep; alter table page_terms drop column etag;
               alter table page_terms drop column modified;
               drop view tried; alter table revisit drop column state; create view tried as select 1;
               pragma user_version = 10";
    Connection::open(place.path()).unwrap().execute_batch(sql).unwrap();
}

/// Reverts a database to version 5 of the schema, with an index that a reader created.
fn back_to_version_5(place: &Place) {
    back_to_version_6(place);
    let sql = "drop view tried; drop table fetch; drop table counts;
               create index crawl_seq on crawl(seq) where seq is not null; pragma user_version = 5";
    Connection::open(place.path()).unwrap().execute_batch(sql).unwrap();
}

/// Reverts a database to version 1 of the schema.
fn back_to_version_1(place: &Place) {
    back_to_version_5(place);
    let db = Connection::open(place.path()).unwrap();
    for table in ["taxonomy", "stat", "blob", "document", "example", "term", "model", "feedback"] {
        db.execute_batch(&format!("drop table {table}")).unwrap();
    }
    let sql = "drop table neighbourhood; drop table revisit; drop index site_disabled; alter table site drop column address; alter table site drop column disabled; alter table crawl drop column depth; pragma user_version = 1";
    db.execute_batch(sql).unwrap();
}

#[test]
fn a_database_of_version_1_gets_the_tables_of_topics_and_keeps_its_crawl() {
    let place = filled();
    let before = place.open().counts();
    back_to_version_1(&place);
    let refusal = SqliteReader::open(place.path()).expect_err("a reader does not write").to_string();
    assert!(refusal.contains("its schema version is 1; any command that writes"), "{refusal}");
    let store = place.open();
    assert_eq!(store.counts(), before);
    assert_eq!(store.topics().unwrap().len(), 1);
    assert!(SqliteReader::open(place.path()).is_ok());
}

#[test]
fn a_database_of_version_5_gets_what_readers_need() {
    let place = filled();
    let (counts, tried) = {
        let mut store = place.open();
        commit(&mut store, &[page(20, 0.25, Vec::new()), retry(30, 9)]);
        store.queue_again(&[oid(1)]).unwrap();
        store.switch_sites(&[("site5.test", true)]).unwrap();
        (store.counts(), store.reader().tried(None, 9).unwrap())
    };
    assert_eq!((counts.parked, tried.len()), (10, 3));
    back_to_version_5(&place);
    // A writer migrates the tables, too, and keeps no counts in memory.
    drop(SqliteWorkspaceWriter::open(place.path()).unwrap());
    let reader = SqliteReader::open(place.path()).unwrap();
    assert_eq!((reader.counts().unwrap(), reader.tried(None, 9).unwrap()), (counts, tried));
    let indexes = "select 1 from sqlite_schema where name = 'crawl_seq'";
    assert!(reader.sql(indexes, &QueryLimits::default()).unwrap().rows.is_empty());
    // Lost counts are computed again.
    Connection::open(place.path()).unwrap().execute_batch("delete from counts").unwrap();
    drop(place.open());
    assert_eq!(reader.counts().unwrap(), counts);
}

#[test]
fn the_pages_of_a_database_of_version_10_can_be_maintained() {
    let place = filled();
    back_to_version_10(&place);
    assert!(SqliteReader::open(place.path()).is_err(), "a reader does not change it");
    let mut store = place.open();
    assert_eq!(store.maintain_pages(std::time::Duration::from_secs(60)).unwrap(), 1);
    let works = store.take(1, porthole_types::Timestamp(0)).unwrap();
    assert!(works[0].copy.is_none());
}

#[test]
fn a_database_of_version_6_keeps_its_links_and_its_topics_get_paths() {
    let place = filled();
    let graph = {
        let mut store = place.open();
        let row = |id, parent, name: &str| TopicRow {
            id: TopicId(id),
            parent: TopicId(parent),
            name: name.into(),
            mark: Mark::Null,
        };
        store.set_topics(&[row(0, 0, ""), row(1, 0, "Sport"), row(2, 1, "Cycling")]).unwrap();
        commit(&mut store, &[page(20, 0.25, vec![link(1, 0.25, 0.25), link(900, 0.25, 0.25)])]);
        store.reader().graph().unwrap()
    };
    let paths = |place: &Place| {
        let answer = SqliteReader::open(place.path()).unwrap();
        let answer = answer.sql("select path from taxonomy order by kcid", &QueryLimits::default()).unwrap();
        answer.rows.iter().map(|row| row[0].text().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(paths(&place), ["/", "/Sport", "/Sport/Cycling"]);
    back_to_version_6(&place);
    let store = place.open();
    assert_eq!(store.reader().graph().unwrap(), graph);
    assert_eq!(paths(&place), ["/", "/Sport", "/Sport/Cycling"]);
}

#[test]
fn the_papers_queries_run_as_they_stand() {
    let place = filled();
    let mut store = place.open();
    // 20 and 30 are hubs on their sites, 2 and 3 authorities on another; 30 is less relevant; 40 is not judged.
    let links = |numbers: &[u64]| numbers.iter().map(|&number| link(number, 0.5, 0.5)).collect();
    let pages = [
        page(20, 0.75, links(&[2, 3, 21, 40])),
        page(30, 0.25, links(&[3, 40])),
        page(2, 0.5, links(&[20])),
        page(3, 0.875, links(&[4])),
    ];
    commit(&mut store, &pages);
    // Judged again: the weights are current, although no link is written.
    let judgments = [Rejudged { oid: oid(3), judgment: Judgment { relevance: 1.0, best: TopicId(7) } }];
    store.commit(&Batch { judgments: &judgments, ..Batch::default() }).unwrap();
    drop(store);
    let how =
        SqlDistillation { rho: 0.1, correct_inflation: false, factors: &[], hub_factors: &[], sites: &[] };
    let reader = SqliteReader::open(place.path()).unwrap();
    let scores = reader.distiller(&how).unwrap().run(1e-12, 1000).unwrap();
    let db = Connection::open(place.path()).unwrap();
    // V Fig. 4, UpdateHubs and UpdateAuth.
    db.execute_batch("insert into AUTH(oid, score) select distinct oid_dst, 1.0 from LINK").unwrap();
    for _ in 0..100 {
        db.execute_batch(
            "delete from HUBS;
             insert into HUBS(oid, score)
               select oid_src, sum(score * wgt_rev) from AUTH, LINK
               where sid_src <> sid_dst and oid = oid_dst group by oid_src;
             update HUBS set score = score / (select sum(score) from HUBS);
             delete from AUTH;
             insert into AUTH(oid, score)
               select oid_dst, sum(score * wgt_fwd) from HUBS, LINK, CRAWL
               where sid_src <> sid_dst and HUBS.oid = oid_src and oid_dst = CRAWL.oid and relevance > 0.1
               group by oid_dst;
             update AUTH set score = score / (select sum(score) from AUTH);",
        )
        .unwrap();
    }
    for (table, scores) in [("HUBS", scores.hubs), ("AUTH", scores.authorities)] {
        assert!(scores.len() >= 3, "{table}: {scores:?}");
        let sql = format!("select oid, score from {table} where score > 0 order by oid");
        let mut read = db.prepare(&sql).unwrap();
        let found = read.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, f64>(1)?))).unwrap();
        let found: Vec<(i64, f64)> = found.map(Result::unwrap).filter(|&(_, score)| score > 1e-9).collect();
        let mut wanted: Vec<(i64, f64)> =
            scores.iter().map(|&(oid, score)| (oid.0.cast_signed(), score)).collect();
        wanted.retain(|&(_, score)| score > 1e-9);
        wanted.sort_by_key(|&(oid, _)| oid);
        assert_eq!(found.len(), wanted.len(), "{table}");
        for (found, wanted) in found.iter().zip(&wanted) {
            assert!(
                found.0 == wanted.0 && (found.1 - wanted.1).abs() < 1e-6,
                "{table}: {found:?} {wanted:?}"
            );
        }
    }
    db.execute_batch(
        "create index theirs on CRAWL(numtries asc, relevance desc);
         select url from page order by numtries asc, relevance desc, serverload asc;",
    )
    .unwrap();
}

#[test]
fn questions_about_links_and_tries_read_the_large_tables_once() {
    let place = filled();
    let db = Connection::open(place.path()).unwrap();
    let scans = |sql: &str| -> Vec<String> {
        let mut plan = db.prepare(&format!("explain query plan {sql}")).unwrap();
        let steps = plan.query_map([], |row| row.get::<_, String>(3)).unwrap().map(Result::unwrap);
        steps.filter(|step| step.starts_with("SCAN")).collect()
    };
    for (sql, scanned) in [
        (
            "select oid_src, sum(score * wgt_rev) from AUTH, LINK
             where sid_src <> sid_dst and oid = oid_dst group by oid_src",
            "SCAN edge",
        ),
        (
            "select oid_dst, sum(score * wgt_fwd) from HUBS, LINK, CRAWL
             where sid_src <> sid_dst and HUBS.oid = oid_src and oid_dst = CRAWL.oid and relevance > 0.1
             group by oid_dst",
            "SCAN edge",
        ),
        ("select avg(relevance) from tried where state = 1", "SCAN fetch"),
        ("select url, score from hubs join tried on tried.oid = hubs.oid", "SCAN fetch"),
    ] {
        assert_eq!(scans(sql), [scanned], "{sql}");
    }
}

#[test]
fn a_write_that_fails_leaves_the_store_as_it_was() {
    let place = Place::new();
    let mut store = place.open();
    store.add(&[new_url(1, 0.9, 0.9), new_url(2, 0.5, 0.5), new_url(3, 0.1, 0.1)]).unwrap();
    assert_eq!(take(&mut store, 1, 0), oids_of(&[1]));
    let before = store.counts();
    let db = Connection::open(place.path()).unwrap();
    db.execute_batch(
        "create trigger full before insert on edge begin select raise(abort, 'the disk is full'); end",
    )
    .unwrap();
    // It would have added 9, raised 3 above 2, and fetched 1.
    let results = [page(1, 0.5, vec![link(9, 0.5, 0.5), link(3, 0.8, 0.8)])];
    let batch = Batch { results: &results, ..Batch::default() };
    let error = store.commit(&batch).unwrap_err().to_string();
    assert!(error.contains("the disk is full"), "{error}");
    assert_eq!(store.counts(), before);
    assert_eq!(take(&mut store, 9, 0), oids_of(&[2, 3]));
    store.give_back(&oids_of(&[2, 3])).unwrap();
    db.execute_batch("drop trigger full").unwrap();
    assert_eq!(store.commit(&batch).unwrap().new_urls, 1);
    assert_eq!(take(&mut store, 9, 0), oids_of(&[3, 2, 9]));
    assert_eq!(store.take(1, porthole_types::Timestamp(0)).unwrap(), []);
    assert!(store.give_back(&[oid(77)]).is_err());
}

#[test]
fn a_revisit_that_cannot_be_written_is_none() {
    let place = filled();
    let mut store = place.open();
    let before = store.counts();
    let db = Connection::open(place.path()).unwrap();
    db.execute_batch("create trigger full before insert on revisit begin select raise(abort, 'full'); end")
        .unwrap();
    assert!(store.queue_again(&[oid(1)]).is_err());
    assert_eq!(store.counts(), before);
    db.execute_batch("drop trigger full").unwrap();
    assert_eq!(store.queue_again(&[oid(1)]).unwrap(), 1);
    assert_eq!(store.counts().queued, before.queued + 1);
}

#[test]
fn what_others_write_is_followed_when_one_looks() {
    let place = filled();
    let mut store = place.open();
    assert!(!store.follow_changes().unwrap());
    store.add(&[new_url(1001, 0.1, 0.1)]).unwrap();
    assert!(!store.follow_changes().unwrap(), "what the store writes itself is no news");
    let db = Connection::open(place.path()).unwrap();
    db.execute_batch(
        "update site set disabled = 1 where host <> 'site2.test' and host <> 'site100.test';
         insert into setting values ('policy', 'discovered desc');",
    )
    .unwrap();
    assert!(store.follow_changes().unwrap());
    assert!(!store.follow_changes().unwrap());
    assert_eq!(store.policy().to_string(), "discovered desc");
    assert_eq!(take(&mut store, 2, 0), oids_of(&[1001, 29]));
    db.execute_batch("update setting set value = 'sideways' where name = 'policy'").unwrap();
    assert!(store.follow_changes().unwrap_err().to_string().contains("unknown policy key `sideways`"));
    db.execute_batch("update setting set value = 'hard' where name = 'policy'; update site set disabled = 0")
        .unwrap();
    store.follow_changes().unwrap();
    assert_eq!((store.policy().name(), store.counts().parked), (Some("hard"), 0));
}

#[test]
fn sites_that_others_add_do_not_mix_up_those_that_the_store_adds() {
    let place = filled();
    let mut store = place.open();
    let sites = store.counts().sites;
    let sid = porthole_types::SiteId::of("site77.test").0.cast_signed();
    let db = Connection::open(place.path()).unwrap();
    let sql = "insert into site(sid, host, serverload, disabled) values (?1, 'site77.test', 0, 1)";
    db.execute(sql, [sid]).unwrap();
    commit(&mut store, &[page(2, 0.5, vec![link(770, 0.5, 0.5), link(880, 0.5, 0.5)])]);
    commit(&mut store, &[page(880, 0.5, Vec::new())]);
    assert_eq!(store.counts().sites, sites + 2);
    let load = |host: &str| {
        let sql = "select serverload from site where host = ?1";
        db.query_row(sql, [host], |row| row.get::<_, i64>(0)).unwrap()
    };
    assert_eq!((load("site77.test"), load("site88.test")), (0, 1));
    store.follow_changes().unwrap();
    assert_eq!(store.counts().parked, 1);
    drop(store);
    assert_eq!(place.open().counts().parked, 1);
}
