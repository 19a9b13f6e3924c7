//! Runs SQL from users: it can read the tables, within limits, and do nothing else.
//!
//! The transaction is read-only, the server stops the statement when its time is over, and rows are read in portions
//! until a limit is hit. Functions of the server itself (`pg_…` and some others) are refused by name, since many act on
//! other sessions or on files. A superuser's session is not used for SQL of users: it could read any file.

use std::time::Instant;

use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use tokio_postgres::{Column, Row};

use super::PgConnection;
use super::values::{RawValue, words};
use crate::sql::{Connection, Optional};
use crate::{Error, QueryAnswer, QueryLimits, Result, SqlValue};

/// Maximum length of a statement.
const LONGEST_SQL: usize = 100_000;
/// Rows that are read at a time.
const PORTION: &str = "fetch forward 500 from answer";

/// Names that a statement must not contain, besides those that begin with `pg_` and `lo_`.
const REFUSED: &[&str] = &[
    "current_setting",
    "cursor_to_xml",
    "cursor_to_xmlschema",
    "database_to_xml",
    "database_to_xml_and_xmlschema",
    "dblink",
    "dblink_connect",
    "dblink_exec",
    "loread",
    "lowrite",
    "nextval",
    "query_to_xml",
    "query_to_xml_and_xmlschema",
    "query_to_xmlschema",
    "schema_to_xml",
    "schema_to_xml_and_xmlschema",
    "set_config",
    "setval",
    "table_to_xml",
    "table_to_xml_and_xmlschema",
    "ts_stat",
    "txid_current",
];

/// Runs one statement of a user.
pub(crate) fn answer(db: &Connection, sql: &str, limits: &QueryLimits) -> Result<QueryAnswer> {
    if let Some(name) = refused_name(sql) {
        return Err(Error::Refused(format!("{name} acts on more than the tables")));
    }
    if db.query_row("show is_superuser", (), |row| Ok(row.text(0)? == Some("on"))).optional()? == Some(true) {
        return Err(Error::Refused(
            "SQL is not run by a superuser of PostgreSQL; connect as the owner of the tables".into(),
        ));
    }
    run(db, sql, limits, "")
}

/// Runs one of our statements, with the values of its parameters.
pub(crate) fn answer_named(
    db: &Connection,
    sql: &str,
    values: &[(String, SqlValue)],
    limits: &QueryLimits,
) -> Result<QueryAnswer> {
    // They join whole tables, but PostgreSQL does not know how many rows their parts have, and takes them for few.
    run(db, &with_values(sql, values), limits, "set local enable_nestloop = off")
}

/// The first name in a statement that is refused, wherever it stands.
fn refused_name(sql: &str) -> Option<String> {
    let lower = sql.to_ascii_lowercase();
    if lower.contains("u&") {
        return Some("an escaped name".to_owned());
    }
    let is_refused =
        |word: &&str| word.starts_with("pg_") || word.starts_with("lo_") || REFUSED.contains(word);
    let mut names = lower.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'));
    names.find(is_refused).map(str::to_owned)
}

/// Puts values, which are numbers, in the place of `:name`.
fn with_values(sql: &str, values: &[(String, SqlValue)]) -> String {
    let (mut whole, mut rest) = (String::new(), sql);
    while let Some(at) = rest.find(':') {
        let (before, name) = rest.split_at(at);
        let end =
            name[1..].find(|c: char| !(c.is_alphanumeric() || c == '_')).map_or(name.len(), |end| end + 1);
        whole += before;
        match values.iter().find(|(known, _)| *known == name[..end]) {
            Some((_, SqlValue::Integer(number))) => whole += &format!("({number})"),
            Some((_, SqlValue::Real(number))) => whole += &format!("({number:?}::float8)"),
            _ => whole += &name[..end],
        }
        rest = &name[end..];
    }
    whole + rest
}

fn run(db: &Connection, sql: &str, limits: &QueryLimits, settings: &str) -> Result<QueryAnswer> {
    let Connection::Postgres(pg) = db else { return Err(Error::Unsupported("this question")) };
    if sql.len() > LONGEST_SQL {
        return Err(Error::Sql(format!("the statement is longer than {LONGEST_SQL} bytes")));
    }
    let sql = sql.trim().trim_end_matches(';').trim_end();
    if sql.is_empty() {
        return Err(Error::NotOneStatement("none"));
    }
    let began = Instant::now();
    let _transaction = db.read_transaction()?;
    let timeout = format!("set local statement_timeout = {}", limits.time.as_millis().max(1));
    db.execute_batch(&format!("{timeout}; {settings}"))?;
    // A cursor is for a statement that reads, and for nothing else.
    let explain = |error: &tokio_postgres::Error| explained(error, limits);
    pg.ask(&format!("declare answer no scroll cursor for {sql}"), explain)?;
    collect(pg, limits, began, explain)
}

fn collect(
    pg: &PgConnection,
    limits: &QueryLimits,
    began: Instant,
    explain: impl Fn(&tokio_postgres::Error) -> Error + Copy,
) -> Result<QueryAnswer> {
    let (mut answer, mut bytes) = (QueryAnswer::default(), 0);
    loop {
        let (statement, rows) = pg.ask(PORTION, explain)?;
        let columns = statement.columns();
        if answer.columns.is_empty() {
            answer.columns = columns.iter().map(|column| column.name().to_owned()).collect();
        }
        if rows.is_empty() {
            return Ok(answer);
        }
        for row in &rows {
            if answer.rows.len() == limits.rows {
                if limits.shorten {
                    return Ok(QueryAnswer { is_cut: true, ..answer });
                }
                return Err(Error::TooManyRows(limits.rows));
            }
            let values = (0..columns.len()).map(|column| value(row, column)).collect::<Result<Vec<_>>>()?;
            bytes += values.iter().map(SqlValue::size).sum::<usize>();
            if bytes > limits.bytes {
                return Err(Error::TooLarge(limits.bytes));
            }
            answer.rows.push(values);
        }
        if began.elapsed() >= limits.time {
            return Err(Error::TooSlow(limits.time));
        }
    }
}

/// A value of a result. Truth values are 0 and 1, as in SQLite.
fn value(row: &Row, column: usize) -> Result<SqlValue> {
    let RawValue(raw, ty) = row.try_get(column)?;
    let Some(raw) = raw else { return Ok(SqlValue::Null) };
    let strange = |column: &Column| {
        Error::Sql(format!("{} has the type {ty}, which is not supported; cast it to text", column.name()))
    };
    Ok(match ty {
        Type::INT8 | Type::INT4 | Type::INT2 | Type::BOOL => {
            SqlValue::Integer(super::integer(row, column)?.unwrap_or_default())
        }
        Type::FLOAT8 => SqlValue::Real(row.try_get(column)?),
        Type::FLOAT4 => SqlValue::Real(row.try_get::<_, f32>(column)?.into()),
        Type::NUMERIC => numeric(raw).ok_or_else(|| strange(&row.columns()[column]))?,
        Type::BYTEA => SqlValue::Blob(raw.to_owned()),
        Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME | Type::UNKNOWN => {
            SqlValue::Text(String::from_utf8_lossy(raw).into_owned())
        }
        _ => return Err(strange(&row.columns()[column])),
    })
}

/// A decimal number: a header of four numbers, then its digits to the base 10000. A sum of whole numbers is whole.
fn numeric(raw: &[u8]) -> Option<SqlValue> {
    let mut words = raw.chunks_exact(2).map(|pair| i16::from_be_bytes([pair[0], pair[1]]));
    let (count, weight, sign, scale) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let (is_negative, is_number) = (sign == 0x4000, sign == 0 || sign == 0x4000);
    if !is_number {
        return Some(SqlValue::Real(f64::NAN));
    }
    let digits: Vec<i16> = words.take(usize::try_from(count).ok()?).collect();
    let group =
        |place: i16| usize::try_from(place).ok().and_then(|place| digits.get(place)).copied().unwrap_or(0);
    let mut text = if is_negative { "-".to_owned() } else { String::new() };
    text.push('0');
    for place in 0..=weight {
        text += &format!("{:04}", group(place));
    }
    if scale == 0 {
        return text.parse().ok().map(SqlValue::Integer).or_else(|| text.parse().ok().map(SqlValue::Real));
    }
    text.push('.');
    // The group of the first four decimals stands behind those of the whole part.
    for place in 0..(scale + 3) / 4 {
        text += &format!("{:04}", group(weight.saturating_add(1).saturating_add(place)));
    }
    text.parse().ok().map(SqlValue::Real)
}

/// Translates an error of PostgreSQL for the user.
fn explained(error: &tokio_postgres::Error, limits: &QueryLimits) -> Error {
    let Some(code) = error.code() else { return Error::Database(words(error).into()) };
    match *code {
        SqlState::QUERY_CANCELED => Error::TooSlow(limits.time),
        SqlState::READ_ONLY_SQL_TRANSACTION | SqlState::INSUFFICIENT_PRIVILEGE => {
            Error::Refused(words(error))
        }
        SqlState::SYNTAX_ERROR if words(error).contains("multiple commands") => {
            Error::NotOneStatement("several")
        }
        _ => Error::Sql(words(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_take_the_place_of_names_and_of_nothing_else() {
        let values = [(":to".to_owned(), SqlValue::Integer(-3)), (":topic".to_owned(), SqlValue::Real(0.5))];
        let sql = with_values("select :to, :topic, a::text, ':other'", &values);
        assert_eq!(sql, "select (-3), (0.5::float8), a::text, ':other'");
    }

    #[test]
    fn functions_of_the_server_are_refused_wherever_they_stand() {
        for sql in ["select pg_sleep(9)", "select PG_READ_FILE('a')", "select \"pg_cancel_backend\"(1)"] {
            assert!(refused_name(sql).is_some(), "{sql}");
        }
        assert_eq!(refused_name("select url from crawl where title like '%lo%'"), None);
    }

    #[test]
    fn decimal_numbers_are_read() {
        let number = |words: &[i16]| {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
            numeric(&bytes).unwrap()
        };
        assert_eq!(number(&[0, 0, 0, 0]), SqlValue::Integer(0));
        assert_eq!(number(&[2, 1, 0x4000, 0, 1, 2345]), SqlValue::Integer(-12345));
        assert_eq!(number(&[1, 1, 0, 0, 3]), SqlValue::Integer(30_000));
        assert_eq!(number(&[2, 0, 0, 2, 1, 5000]), SqlValue::Real(1.5));
        assert_eq!(number(&[1, -1, 0, 4, 625]), SqlValue::Real(0.0625));
        assert_eq!(number(&[1, -2, 0, 8, 625]), SqlValue::Real(0.000_006_25));
        assert_eq!(number(&[0, 0, 0, 3]), SqlValue::Real(0.0));
        // 10 to the power of 131,068, and a half.
        let largest = [[2, i16::MAX, 0, 1].as_slice(), &[1]].concat();
        assert_eq!(number(&largest), SqlValue::Real(f64::INFINITY));
    }
}
