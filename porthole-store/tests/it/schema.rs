//! Checks that docs/schema.md describes exactly the tables of the database.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rusqlite::Connection;

use crate::web::Place;

type Tables = BTreeMap<String, BTreeSet<String>>;

/// The tables and views of a new database with their columns.
fn in_the_database() -> Tables {
    let place = Place::new();
    drop(place.open());
    let db = Connection::open(place.path()).unwrap();
    let sql =
        "select schema.name, field.name from sqlite_schema as schema, pragma_table_info(schema.name) as field
               where schema.type in ('table', 'view') and schema.name not like 'sqlite_%'";
    let mut read = db.prepare(sql).unwrap();
    let columns = read.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let mut tables = Tables::new();
    for (table, column) in columns.map(Result::unwrap) {
        tables.entry(table).or_default().insert(column);
    }
    tables
}

/// Headings name tables, and the first cells below them columns.
fn on_the_page(page: &str) -> Tables {
    let mut tables = Tables::new();
    let mut table = None;
    for line in page.lines() {
        let name = |prefix: &str| line.strip_prefix(prefix)?.split('`').next().map(str::to_owned);
        if let Some(name) = name("### `") {
            tables.entry(name.clone()).or_default();
            table = Some(name);
        } else if line.starts_with('#') {
            table = None;
        } else if let (Some(table), Some(column)) = (&table, name("| `")) {
            let is_new = tables.get_mut(table).unwrap().insert(column);
            assert!(is_new, "twice: {line}");
        }
    }
    tables
}

#[test]
fn the_page_about_the_tables_is_complete_and_true() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/schema.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (written, real) = (on_the_page(&page), in_the_database());
    for (table, columns) in &real {
        assert_eq!(written.get(table), Some(columns), "the page is wrong about `{table}`");
    }
    let none: Vec<&String> = written.keys().filter(|table| !real.contains_key(*table)).collect();
    assert_eq!(none, [""; 0], "there are no such tables");
    assert!(page.lines().filter(|line| line.starts_with("| `")).all(|line| line.matches('|').count() == 3));
}
