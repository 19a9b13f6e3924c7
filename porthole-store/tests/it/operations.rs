//! Operations on PostgreSQL: a role that only reads, and encrypted connections.

use std::path::Path;

use porthole_store::{DatabaseLocation, Error, QueryLimits, Store, StoreReader, TableReader, TableStore};

use crate::postgres::{EncryptedServer, PgPlace};
use crate::web::{commit, new_url, page};

/// The SQL on the page about PostgreSQL that creates a role, for a database and its owner.
fn documented_role(database: &str, owner: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/postgres.md");
    let text = std::fs::read_to_string(path).unwrap();
    let start =
        text.find("```sql\ncreate role reader").expect("the SQL that creates a role") + "```sql\n".len();
    let end = start + text[start..].find("```").unwrap();
    text[start..end].replace("owls", database).replace(" me ", &format!(" {owner} "))
}

#[test]
fn a_role_for_questions_reads_the_tables_and_does_nothing_else() {
    let Some(place) = PgPlace::new() else { return };
    let mut store = place.open();
    store.add(&[new_url(1, 0.5, 0.5)]).unwrap();
    commit(&mut store, &[page(1, 0.5, Vec::new())]);
    let database = place.url().rsplit('/').next().unwrap().to_owned();
    if place.admin_sql(&documented_role(&database, "porthole")).is_none() {
        eprintln!("skipped: roles are created on a private cluster only");
        return;
    }
    let url = place.url_as("reader");
    let reader = place.reader().asking_by(Some(DatabaseLocation::Postgres(url.clone())));
    let ask = |sql: &str| reader.sql(sql, &QueryLimits::default());
    let who = ask("select current_user::text").unwrap().rows;
    assert_eq!(who[0][0].text(), "reader");
    assert_eq!(ask("select url from crawl").unwrap().rows.len(), 1);
    assert_eq!(ask("select * from tried join page using (oid)").unwrap().rows.len(), 1);
    assert!(matches!(ask("delete from crawl"), Err(Error::Sql(_) | Error::Refused(_))));
    for sql in [
        "delete from crawl",
        "begin read write; update setting set value = 'x'; commit",
        "begin read write; create table mine(a integer); commit",
        "begin read write; create temporary table mine(a integer); commit",
    ] {
        let error = place.refused_sql(&url, sql);
        assert!(error.contains("permission denied") || error.contains("read-only"), "{sql}: {error}");
    }
    // A workspace of somebody who has no other role.
    let whole = TableReader::open_at(&DatabaseLocation::Postgres(url.clone())).unwrap();
    assert_eq!(whole.counts().unwrap().fetched, 1);
    assert!(TableStore::open_at(&DatabaseLocation::Postgres(url)).is_err());
    // Tables that come later can be read as well.
    place.sql("create table later(a integer)");
    assert_eq!(ask("select count(*) from later").unwrap().rows.len(), 1);
}

#[test]
fn connections_are_encrypted_and_servers_checked() {
    let Some(server) = EncryptedServer::start() else { return };
    let file = server.certificate.display();
    let open = |host: &str, parameters: &str| {
        TableStore::open_at(&DatabaseLocation::Postgres(server.url(host, parameters)))
    };
    drop(open("127.0.0.1", "sslmode=require").unwrap());
    for (host, parameters, expected) in [
        ("127.0.0.1", "sslmode=disable".to_owned(), Some(false)),
        ("127.0.0.1", String::new(), Some(true)),
        ("127.0.0.1", "sslmode=require".to_owned(), Some(true)),
        ("127.0.0.1", "sslmode=verify-full".to_owned(), None),
        ("127.0.0.1", "sslmode=verify-ca".to_owned(), None),
        ("127.0.0.1", format!("sslmode=verify-full&sslrootcert={file}"), Some(true)),
        ("127.0.0.1", format!("sslmode=verify-ca&sslrootcert={file}"), Some(true)),
        // The certificate has no such name.
        ("localhost", format!("sslmode=verify-full&sslrootcert={file}"), None),
        ("localhost", format!("sslmode=verify-ca&sslrootcert={file}"), Some(true)),
    ] {
        let location = DatabaseLocation::Postgres(server.url(host, &parameters));
        let reader = TableReader::open_at(&location);
        match expected {
            None => assert!(matches!(reader, Err(Error::Connect { .. })), "{host} {parameters}: {reader:?}"),
            Some(is_encrypted) => {
                let reader = reader.unwrap_or_else(|error| panic!("{host} {parameters}: {error}"));
                assert_eq!(reader.is_encrypted().unwrap(), is_encrypted, "{host} {parameters}");
            }
        }
    }
}

#[test]
fn a_server_without_tls_is_refused_where_it_is_required() {
    let Some(place) = PgPlace::new() else { return };
    drop(place.open());
    let location = DatabaseLocation::Postgres(format!("{}?sslmode=require", place.url()));
    let error = TableReader::open_at(&location).unwrap_err().to_string();
    assert!(error.contains("TLS"), "{error}");
}
