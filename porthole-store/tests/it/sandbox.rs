//! Questions in SQL may read, within limits, and nothing else.

use std::time::Duration;

use porthole_store::{Error, QueryLimits, SqlValue, Store, StoreReader, StoredModel, WorkspaceWriter};
use porthole_types::Timestamp;

use crate::web::{Place, new_url};

fn with_reader(test: impl FnOnce(&dyn StoreReader)) {
    let place = Place::new();
    let mut store = place.open();
    store.add(&(0..50).map(|number| new_url(number, 0.5, 0.5)).collect::<Vec<_>>()).unwrap();
    test(&*store.reader());
    assert_eq!(store.counts().known, 50);
}

#[test]
fn reading_is_answered() {
    with_reader(|reader| {
        for (sql, value) in [
            ("select count(*) from crawl", SqlValue::Integer(50)),
            ("select 1.5", SqlValue::Real(1.5)),
            ("select null;  -- done", SqlValue::Null),
            ("select 'a' || 'b' ;", SqlValue::Text("ab".into())),
            ("select x'00ff'", SqlValue::Blob(vec![0, 255])),
            (
                "with recursive n(i) as (values(1) union all select i+1 from n where i<9) select sum(i) from n",
                SqlValue::Integer(45),
            ),
            ("select name from pragma_table_info('hubs') limit 1", SqlValue::Text("oid".into())),
            ("select count(distinct host) from page", SqlValue::Integer(5)),
            ("select max(offset) from crawl", SqlValue::Null),
        ] {
            let answer = reader.sql(sql, &QueryLimits::default()).unwrap_or_else(|e| panic!("{sql}: {e}"));
            assert_eq!(answer.rows, [[value]], "{sql}");
        }
        let answer = reader.sql("select oid, score as s from hubs", &QueryLimits::default()).unwrap();
        assert_eq!((answer.columns, answer.rows.len()), (vec!["oid".to_owned(), "s".to_owned()], 0));
    });
}

#[test]
fn everything_else_is_refused() {
    with_reader(|reader| {
        for sql in [
            "delete from crawl",
            "update crawl set relevance = 1",
            "insert into setting values ('a', 'b')",
            "replace into setting values ('a', 'b')",
            "insert into hubs values (1, 1) returning oid",
            "with gone as (select 1) delete from edge",
            "drop table crawl",
            "alter table crawl add column evil",
            "create table evil(a)",
            "create temp table evil(a)",
            "create temp view evil as select 1",
            "create virtual table temp.evil using fts5(a)",
            "create index evil on crawl(oid)",
            "reindex",
            "analyze",
            "vacuum",
            "vacuum into 'evil.db'",
            "attach 'evil.db' as evil",
            "attach ':memory:' as evil",
            "detach main",
            "begin",
            "begin immediate",
            "savepoint evil",
            "commit",
            "pragma query_only = 0",
            "pragma writable_schema = 1",
            "pragma journal_mode = delete",
            "pragma user_version = 9",
            "pragma wal_checkpoint",
            "pragma mmap_size = 1000000",
            "select * from pragma_journal_mode",
            "select load_extension('evil')",
        ] {
            let error = reader.sql(sql, &QueryLimits::default()).expect_err(sql);
            assert!(matches!(error, Error::Refused(_)), "{sql}: {error:?}");
        }
        assert!(!std::path::Path::new("evil.db").exists());
    });
}

#[test]
fn it_takes_one_statement_that_makes_sense() {
    with_reader(|reader| {
        for (sql, word) in [
            ("", "not none"),
            ("  -- nothing", "not none"),
            ("select 1; select 2", "not several"),
            ("select 1; drop table crawl", "not several"),
            ("select 1; nonsense", "not several"),
            ("selec 1", "syntax error"),
            ("select * from nowhere", "no such table"),
            ("select colour from crawl", "no such column"),
            ("select 1 \0 2", "SQL:"),
        ] {
            let error = reader.sql(sql, &QueryLimits::default()).expect_err(sql).to_string();
            assert!(error.contains(word), "{sql:?}: {error}");
        }
        let many = "select 1;".repeat(10_000);
        assert!(matches!(reader.sql(&many, &QueryLimits::default()), Err(Error::NotOneStatement(_))));
        let long = format!("select {}1", "1 + ".repeat(50_000));
        assert!(matches!(reader.sql(&long, &QueryLimits::default()), Err(Error::Sql(_))));
        // A limit that has no value is an error in the statement, not in the database.
        let without_value = reader.sql("select 1 limit :rows", &QueryLimits::default());
        assert!(matches!(without_value, Err(Error::Sql(_))), "{without_value:?}");
    });
}

#[test]
fn rows_bytes_and_time_are_bounded() {
    const ENDLESS: &str = "with recursive n(i) as (values(1) union all select i+1 from n)";
    with_reader(|reader| {
        let limits =
            QueryLimits { rows: 10, bytes: 100_000, time: Duration::from_secs(60), ..QueryLimits::default() };
        let ask = |sql: &str| reader.sql(sql, &limits);
        assert_eq!(ask("select oid from crawl limit 10").unwrap().rows.len(), 10);
        assert!(matches!(ask("select oid from crawl"), Err(Error::TooManyRows(10))));
        let shortened = QueryLimits { shorten: true, ..limits };
        let cut =
            |sql: &str| reader.sql(sql, &shortened).map(|answer| (answer.rows.len(), answer.is_cut)).unwrap();
        assert_eq!(cut("select oid from crawl"), (10, true));
        assert_eq!(cut("select oid from crawl limit 10"), (10, false));
        assert!(matches!(ask("select zeroblob(20000) from crawl limit 10"), Err(Error::TooLarge(100_000))));
        assert!(matches!(ask("select zeroblob(2000000000)"), Err(Error::LargeValue(100_000))));
        assert!(matches!(ask("select length(printf('%.*c', 2000000, 'a'))"), Err(Error::LargeValue(_))));
        // Over at the first look at the clock; without a look, none of these ends.
        let hurried = QueryLimits { time: Duration::ZERO, ..limits };
        for sql in [
            format!("{ENDLESS} select i from n where i < 0"),
            format!("{ENDLESS} select count(*) from n"),
            format!("{ENDLESS} select i from n order by i"),
            "select count(*) from crawl a, crawl b, crawl c, crawl d, crawl e, crawl f".to_owned(),
        ] {
            let error = reader.sql(&sql, &hurried).expect_err(&sql);
            assert!(matches!(error, Error::TooSlow(_)), "{sql}: {error}");
        }
    });
}

#[test]
fn values_have_at_most_a_megabyte_whatever_the_result_may_have() {
    with_reader(|reader| {
        let ask = |sql: &str| reader.sql(sql, &QueryLimits::default());
        // Looking for a long text in a long text takes the product of their lengths, in one step of the query.
        let slow = "select instr(hex(zeroblob(8000000)), hex(zeroblob(4000000)) || '1')";
        assert!(matches!(ask(slow), Err(Error::LargeValue(1_000_000))));
        assert!(ask("select hex(zeroblob(400000))").is_ok());
    });
}

#[test]
fn large_rows_of_the_tables_can_be_counted() {
    let place = Place::new();
    let mut store = place.open();
    let model = StoredModel { bytes: vec![7; 4 << 20], made: Timestamp(1) };
    store.set_model("large", &model).unwrap();
    // Each of its rows is larger than what a value of a query may have.
    let sql = "select count(*), min(length(bytes)) > 1000000, sum(length(bytes)) from model";
    let answer = store.reader().sql(sql, &QueryLimits::default()).unwrap();
    assert_eq!(answer.rows, [[4, 1, 4 << 20].map(SqlValue::Integer)]);
}

#[cfg(target_os = "linux")]
#[test]
fn temporary_files_are_bounded() {
    with_reader(|reader| {
        let limits = QueryLimits {
            temporary: 20_000_000,
            time: Duration::from_secs(600),
            shorten: true,
            ..QueryLimits::default()
        };
        // 50 to the fourth power: 6 million rows to sort, of 220 bytes.
        let sql =
            "select a.oid, b.oid, hex(zeroblob(100)) from crawl a, crawl b, crawl c, crawl d order by 2, 1";
        let error = reader.sql(sql, &limits).expect_err(sql);
        assert!(matches!(error, Error::TooMuchTemporary(20_000_000)), "{error}");
    });
}
