//! One interface to the engines below the tables: a [`Connection`] is one to SQLite or to PostgreSQL, and the statements
//! are those that both understand. Parameters are written `?1`, rows of `crawl`, `edge` and `site` have a column `rowid`.
//!
//! The names are those of `rusqlite`. A statement that is [sent](Statement::send) is executed at once by SQLite;
//! PostgreSQL executes it in its order, and its error is that of a later call, at the latest of the commit.

use std::borrow::Cow;

use crate::postgres::{PgConnection, PgStatement, PgStream};
use crate::{Error, Result};

/// A connection to a database.
#[derive(Debug)]
pub(crate) enum Connection {
    Sqlite(rusqlite::Connection),
    Postgres(PgConnection),
}

impl From<rusqlite::Connection> for Connection {
    fn from(db: rusqlite::Connection) -> Self {
        Connection::Sqlite(db)
    }
}

impl Connection {
    /// Prepares a statement, or finds it in the cache.
    pub(crate) fn prepare(&self, sql: &str) -> Result<Statement<'_>> {
        match self {
            Connection::Sqlite(db) => Ok(Statement::Sqlite(db.prepare_cached(sql)?)),
            Connection::Postgres(db) => Ok(Statement::Postgres(db, db.prepare(sql)?)),
        }
    }

    /// Executes a statement. Returns the number of changed rows.
    pub(crate) fn execute(&self, sql: &str, params: impl Params) -> Result<usize> {
        self.prepare(sql)?.execute(params)
    }

    /// Reads the first row of an answer.
    pub(crate) fn query_row<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<T> {
        self.prepare(sql)?.query_row(params, read)
    }

    /// Executes several statements without parameters.
    pub(crate) fn execute_batch(&self, sql: &str) -> Result<()> {
        match self {
            Connection::Sqlite(db) => Ok(db.execute_batch(sql)?),
            Connection::Postgres(db) => db.execute_batch(sql),
        }
    }

    /// Begins a transaction that reads one state of the tables.
    pub(crate) fn read_transaction(&self) -> Result<Transaction<'_>> {
        self.begin("begin", "begin isolation level repeatable read read only")
    }

    /// Begins a transaction that reads one state of the tables and writes temporary ones.
    pub(crate) fn calculation(&self) -> Result<Transaction<'_>> {
        self.begin("begin", "begin isolation level repeatable read")
    }

    /// Begins a transaction that writes. Writers wait for each other.
    pub(crate) fn write_transaction(&self) -> Result<Transaction<'_>> {
        const POSTGRES: &str = "begin; select pg_advisory_xact_lock(1886351988, 2)";
        match self {
            Connection::Sqlite(_) => return self.begin("begin immediate", ""),
            Connection::Postgres(db) => db.begin_writing(POSTGRES)?,
        }
        Ok(Transaction { db: self, is_open: true })
    }

    /// Begins a transaction that writes the full-text index. In PostgreSQL the crawl does not wait for it.
    pub(crate) fn index_transaction(&self) -> Result<Transaction<'_>> {
        self.begin("begin immediate", "begin; select pg_advisory_xact_lock(1886351989, 1)")
    }

    fn begin(&self, sqlite: &str, postgres: &str) -> Result<Transaction<'_>> {
        match self {
            Connection::Sqlite(db) => db.prepare_cached(sqlite)?.execute([]).map(drop)?,
            Connection::Postgres(db) => db.execute_batch(postgres)?,
        }
        Ok(Transaction { db: self, is_open: true })
    }

    /// Appends rows to a table: a few statements in SQLite, COPY in PostgreSQL. The rows get the numbers from `first` on,
    /// if the table has such numbers; SQLite gives them out itself.
    pub(crate) fn append<'r, const N: usize>(
        &self,
        table: &str,
        columns: [&str; N],
        first: Option<i64>,
        rows: impl ExactSizeIterator<Item = [Value<'r>; N]>,
    ) -> Result<()> {
        match self {
            Connection::Sqlite(db) => crate::sqlite::insert_many(db, table, columns, rows),
            Connection::Postgres(db) => db.copy(table, &columns, first, rows),
        }
    }

    /// Whether nothing is under way on it, so that others can use it.
    pub(crate) fn is_idle(&self) -> bool {
        match self {
            Connection::Sqlite(db) => db.is_autocommit(),
            Connection::Postgres(db) => db.is_idle(),
        }
    }

    /// The connection to SQLite, for what there is only there.
    pub(crate) fn sqlite(&self) -> Option<&rusqlite::Connection> {
        match self {
            Connection::Sqlite(db) => Some(db),
            Connection::Postgres(_) => None,
        }
    }

    /// Changes if and only if another connection has written.
    pub(crate) fn data_version(&self) -> Result<i64> {
        match self {
            Connection::Sqlite(db) => {
                Ok(db.prepare_cached("pragma data_version")?.query_row([], |row| row.get(0))?)
            }
            Connection::Postgres(db) => db.data_version(),
        }
    }
}

/// A transaction; it is rolled back unless it is committed.
#[derive(Debug)]
pub(crate) struct Transaction<'c> {
    db: &'c Connection,
    is_open: bool,
}

impl Transaction<'_> {
    pub(crate) fn commit(mut self) -> Result<()> {
        self.end("commit")?;
        self.is_open = false;
        Ok(())
    }

    fn end(&self, how: &str) -> Result<()> {
        match self.db {
            Connection::Sqlite(db) => Ok(db.prepare_cached(how)?.execute([]).map(drop)?),
            Connection::Postgres(db) => db.end(how),
        }
    }
}

impl std::ops::Deref for Transaction<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.db
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        let is_over = self.db.sqlite().is_some_and(rusqlite::Connection::is_autocommit);
        if self.is_open && !is_over {
            let _ = self.end("rollback");
        }
    }
}

/// A prepared statement.
pub(crate) enum Statement<'c> {
    Sqlite(rusqlite::CachedStatement<'c>),
    Postgres(&'c PgConnection, PgStatement),
}

impl Statement<'_> {
    /// Executes it. Returns the number of changed rows.
    pub(crate) fn execute(&mut self, params: impl Params) -> Result<usize> {
        match self {
            Statement::Sqlite(statement) => {
                params.with(|values| Ok(statement.execute(rusqlite::params_from_iter(values))?))
            }
            Statement::Postgres(db, statement) => params.with(|values| db.execute(statement, values)),
        }
    }

    /// Executes it without waiting for the result.
    pub(crate) fn send(&mut self, params: impl Params) -> Result<()> {
        match self {
            Statement::Sqlite(_) => self.execute(params).map(drop),
            Statement::Postgres(db, statement) => params.with(|values| db.send(statement, values)),
        }
    }

    /// The rows of the answer.
    pub(crate) fn query(&mut self, params: impl Params) -> Result<Rows<'_>> {
        match self {
            Statement::Sqlite(statement) => {
                params.with(|values| Ok(Rows::Sqlite(statement.query(rusqlite::params_from_iter(values))?)))
            }
            Statement::Postgres(db, statement) => {
                params.with(|values| Ok(Rows::Postgres(db.query(statement, values)?.into_iter(), None)))
            }
        }
    }

    /// The rows of a large answer, read as they come. Until the last one was read the connection must not be asked
    /// anything else.
    pub(crate) fn stream(&mut self, params: impl Params) -> Result<Rows<'_>> {
        match self {
            Statement::Sqlite(_) => self.query(params),
            Statement::Postgres(db, statement) => {
                params.with(|values| Ok(Rows::Stream(db.stream(statement, values)?, None)))
            }
        }
    }

    /// Reads every row of the answer.
    pub(crate) fn query_map<T>(
        &mut self,
        params: impl Params,
        mut read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut rows = self.query(params)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(read(&row)?);
        }
        Ok(found)
    }

    /// Reads the first row of the answer; an error if there is none, see [`Optional`].
    pub(crate) fn query_row<T>(
        &mut self,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<T> {
        match self.query(params)?.next()? {
            Some(row) => read(&row),
            None => Err(Error::Database(Box::new(rusqlite::Error::QueryReturnedNoRows))),
        }
    }

    /// Whether the answer has a row.
    pub(crate) fn exists(&mut self, params: impl Params) -> Result<bool> {
        Ok(self.query(params)?.next()?.is_some())
    }
}

/// The rows of an answer.
pub(crate) enum Rows<'s> {
    Sqlite(rusqlite::Rows<'s>),
    Postgres(std::vec::IntoIter<tokio_postgres::Row>, Option<tokio_postgres::Row>),
    Stream(PgStream, Option<tokio_postgres::Row>),
}

impl Rows<'_> {
    pub(crate) fn next(&mut self) -> Result<Option<Row<'_>>> {
        match self {
            Rows::Sqlite(rows) => Ok(rows.next()?.map(Row::Sqlite)),
            Rows::Postgres(rows, current) => {
                *current = rows.next();
                Ok(current.as_ref().map(Row::Postgres))
            }
            Rows::Stream(rows, current) => {
                *current = rows.next()?;
                Ok(current.as_ref().map(Row::Postgres))
            }
        }
    }
}

/// A row of an answer.
pub(crate) enum Row<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
    Postgres(&'r tokio_postgres::Row),
}

impl Row<'_> {
    /// The value of a column.
    pub(crate) fn get<T: FromColumn>(&self, column: usize) -> Result<T> {
        T::from_column(self, column)
    }

    fn integer(&self, column: usize) -> Result<Option<i64>> {
        match self {
            Row::Sqlite(row) => Ok(row.get(column)?),
            Row::Postgres(row) => crate::postgres::integer(row, column),
        }
    }

    fn real(&self, column: usize) -> Result<Option<f64>> {
        match self {
            Row::Sqlite(row) => Ok(row.get(column)?),
            Row::Postgres(row) => crate::postgres::real(row, column),
        }
    }

    /// The text of a column.
    pub(crate) fn text(&self, column: usize) -> Result<Option<&str>> {
        match self {
            Row::Sqlite(row) => Ok(row.get_ref(column)?.as_str_or_null().map_err(rusqlite::Error::from)?),
            Row::Postgres(row) => crate::postgres::text(row, column),
        }
    }

    /// The bytes of a column.
    pub(crate) fn blob(&self, column: usize) -> Result<Option<&[u8]>> {
        match self {
            Row::Sqlite(row) => Ok(row.get_ref(column)?.as_blob_or_null().map_err(rusqlite::Error::from)?),
            Row::Postgres(row) => crate::postgres::blob(row, column),
        }
    }
}

/// A type that a column can have.
pub(crate) trait FromColumn: Sized {
    fn from_column(row: &Row<'_>, column: usize) -> Result<Self>;
}

fn wanted<T>(value: Option<T>, column: usize) -> Result<T> {
    value.ok_or_else(|| Error::Damaged(format!("column {column} of an answer is null")))
}

macro_rules! whole_number {
    ($($type:ty)*) => {
        $(
            impl FromColumn for $type {
                fn from_column(row: &Row<'_>, column: usize) -> Result<Self> {
                    let value = wanted(row.integer(column)?, column)?;
                    <$type>::try_from(value)
                        .map_err(|_| Error::Damaged(format!("column {column} of an answer is {value}")))
                }
            }

            impl ToValue for $type {
                fn to_value(&self) -> Value<'_> {
                    Value::Integer((*self).into())
                }
            }
        )*
    };
}

whole_number!(i64 u32 u16 u8);

impl FromColumn for bool {
    fn from_column(row: &Row<'_>, column: usize) -> Result<Self> {
        Ok(wanted(row.integer(column)?, column)? != 0)
    }
}

impl FromColumn for f64 {
    fn from_column(row: &Row<'_>, column: usize) -> Result<Self> {
        wanted(row.real(column)?, column)
    }
}

impl FromColumn for String {
    fn from_column(row: &Row<'_>, column: usize) -> Result<Self> {
        Ok(wanted(row.text(column)?, column)?.to_owned())
    }
}

impl FromColumn for Vec<u8> {
    fn from_column(row: &Row<'_>, column: usize) -> Result<Self> {
        Ok(wanted(row.blob(column)?, column)?.to_owned())
    }
}

impl<T: FromColumn> FromColumn for Option<T> {
    fn from_column(row: &Row<'_>, column: usize) -> Result<Self> {
        let is_null = match row {
            Row::Sqlite(row) => row.get_ref(column)? == rusqlite::types::ValueRef::Null,
            Row::Postgres(row) => crate::postgres::is_null(row, column),
        };
        if is_null { Ok(None) } else { T::from_column(row, column).map(Some) }
    }
}

/// A value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value<'v> {
    Null,
    Integer(i64),
    Real(f64),
    Text(Cow<'v, str>),
    Blob(Cow<'v, [u8]>),
}

impl rusqlite::ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        use rusqlite::types::{ToSqlOutput, ValueRef};
        Ok(ToSqlOutput::Borrowed(match self {
            Value::Null => ValueRef::Null,
            Value::Integer(number) => ValueRef::Integer(*number),
            Value::Real(number) => ValueRef::Real(*number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// What can be a parameter.
pub(crate) trait ToValue {
    fn to_value(&self) -> Value<'_>;
}

impl ToValue for Value<'_> {
    fn to_value(&self) -> Value<'_> {
        match self {
            Value::Text(text) => Value::Text(Cow::Borrowed(text)),
            Value::Blob(bytes) => Value::Blob(Cow::Borrowed(bytes)),
            plain => plain.clone(),
        }
    }
}

impl ToValue for bool {
    fn to_value(&self) -> Value<'_> {
        Value::Integer((*self).into())
    }
}

impl ToValue for f64 {
    fn to_value(&self) -> Value<'_> {
        Value::Real(*self)
    }
}

impl ToValue for str {
    fn to_value(&self) -> Value<'_> {
        Value::Text(Cow::Borrowed(self))
    }
}

impl ToValue for String {
    fn to_value(&self) -> Value<'_> {
        Value::Text(Cow::Borrowed(self))
    }
}

impl ToValue for Cow<'_, str> {
    fn to_value(&self) -> Value<'_> {
        Value::Text(Cow::Borrowed(self))
    }
}

impl ToValue for [u8] {
    fn to_value(&self) -> Value<'_> {
        Value::Blob(Cow::Borrowed(self))
    }
}

impl ToValue for Vec<u8> {
    fn to_value(&self) -> Value<'_> {
        Value::Blob(Cow::Borrowed(self))
    }
}

impl<T: ToValue> ToValue for Option<T> {
    fn to_value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Null, ToValue::to_value)
    }
}

impl<T: ToValue + ?Sized> ToValue for &T {
    fn to_value(&self) -> Value<'_> {
        (**self).to_value()
    }
}

/// The parameters of a statement: values of one type, or of several with [`params`].
pub(crate) trait Params {
    fn with<R>(self, use_values: impl FnOnce(&[Value<'_>]) -> R) -> R;
}

impl Params for () {
    fn with<R>(self, use_values: impl FnOnce(&[Value<'_>]) -> R) -> R {
        use_values(&[])
    }
}

impl<T: ToValue, const N: usize> Params for [T; N] {
    fn with<R>(self, use_values: impl FnOnce(&[Value<'_>]) -> R) -> R {
        use_values(&self.each_ref().map(ToValue::to_value))
    }
}

impl Params for &[Value<'_>] {
    fn with<R>(self, use_values: impl FnOnce(&[Value<'_>]) -> R) -> R {
        use_values(self)
    }
}

/// Values of several types as parameters.
macro_rules! params {
    ($($value:expr),* $(,)?) => {
        [$($crate::sql::ToValue::to_value(&$value)),*]
    };
}
pub(crate) use params;

/// An answer that may have no row.
pub(crate) trait Optional<T> {
    /// `None` if the answer had no row.
    fn optional(self) -> Result<Option<T>>;
}

impl<T> Optional<T> for Result<T> {
    fn optional(self) -> Result<Option<T>> {
        match self {
            Ok(value) => Ok(Some(value)),
            Err(Error::Database(error)) if is_no_row(&*error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn is_no_row(error: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    matches!(error.downcast_ref(), Some(rusqlite::Error::QueryReturnedNoRows))
}
