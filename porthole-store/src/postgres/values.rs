//! Values of PostgreSQL: to parameters and from columns.

use std::error::Error as StdError;

use tokio_postgres::Row;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, WasNull, to_sql_checked};

use crate::sql::Value;
use crate::{Error, Result};

/// A parameter. It takes the type that PostgreSQL found for it.
#[derive(Debug)]
pub(super) struct PgValue<'v>(pub(super) &'v Value<'v>);

impl ToSql for PgValue<'_> {
    #[allow(clippy::cast_precision_loss)]
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match (self.0, ty) {
            (Value::Null, _) => Ok(IsNull::Yes),
            (Value::Integer(number), &Type::INT4) => i32::try_from(*number)?.to_sql(ty, out),
            (Value::Integer(number), &Type::INT2) => i16::try_from(*number)?.to_sql(ty, out),
            (Value::Integer(number), &Type::FLOAT8) => (*number as f64).to_sql(ty, out),
            (Value::Integer(number), &Type::BOOL) => (*number != 0).to_sql(ty, out),
            (Value::Integer(number), _) => number.to_sql_checked(ty, out),
            (Value::Real(number), _) => number.to_sql_checked(ty, out),
            // PostgreSQL has no NUL in texts.
            (Value::Text(text), _) if text.contains('\0') => {
                text.replace('\0', "\u{fffd}").to_sql_checked(ty, out)
            }
            (Value::Text(text), _) => text.as_ref().to_sql_checked(ty, out),
            (Value::Blob(bytes), _) => bytes.as_ref().to_sql_checked(ty, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// A value of any type, as PostgreSQL sends it.
pub(super) struct RawValue<'r>(pub(super) Option<&'r [u8]>, pub(super) Type);

impl<'r> FromSql<'r> for RawValue<'r> {
    fn from_sql(ty: &Type, raw: &'r [u8]) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(RawValue(Some(raw), ty.clone()))
    }

    fn from_sql_null(ty: &Type) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(RawValue(None, ty.clone()))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// Whether a column is null.
pub(crate) fn is_null(row: &Row, column: usize) -> bool {
    row.try_get::<_, RawValue<'_>>(column).is_ok_and(|value| value.0.is_none())
}

/// A whole number or a truth value.
pub(crate) fn integer(row: &Row, column: usize) -> Result<Option<i64>> {
    Ok(match *row.columns()[column].type_() {
        Type::INT4 => row.try_get::<_, Option<i32>>(column)?.map(i64::from),
        Type::INT2 => row.try_get::<_, Option<i16>>(column)?.map(i64::from),
        Type::BOOL => row.try_get::<_, Option<bool>>(column)?.map(i64::from),
        _ => row.try_get(column)?,
    })
}

/// A number.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn real(row: &Row, column: usize) -> Result<Option<f64>> {
    match *row.columns()[column].type_() {
        Type::FLOAT8 => Ok(row.try_get(column)?),
        _ => Ok(integer(row, column)?.map(|number| number as f64)),
    }
}

/// A text.
pub(crate) fn text(row: &Row, column: usize) -> Result<Option<&str>> {
    Ok(row.try_get(column)?)
}

/// Bytes.
pub(crate) fn blob(row: &Row, column: usize) -> Result<Option<&[u8]>> {
    Ok(row.try_get(column)?)
}

/// The message of an error, which says more than its `Display`.
pub(super) fn words(error: &tokio_postgres::Error) -> String {
    if let Some(error) = error.as_db_error() {
        return error.message().to_owned();
    }
    match StdError::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        if error.as_db_error().is_none() && error.source().and_then(|s| s.downcast_ref::<WasNull>()).is_some()
        {
            return Error::Damaged(words(&error));
        }
        if error.code().is_some_and(|code| code.code() == FENCED) {
            return Error::Fenced;
        }
        Error::Database(Box::new(PgError { message: words(&error), error }))
    }
}

/// An error of PostgreSQL with its message.
#[derive(Debug, thiserror::Error)]
#[error("PostgreSQL: {message}")]
pub(crate) struct PgError {
    message: String,
    #[source]
    error: tokio_postgres::Error,
}

/// The code of the error that a transaction of a worker gets whose shards belong to others.
const FENCED: &str = "PH001";

impl PgError {
    /// Whether the connection has ended: the server, the network or another worker ended it.
    pub(crate) fn is_connection_lost(&self) -> bool {
        // Connection exceptions, shutdown, crash, still starting, and the timeouts of silent sessions.
        const ENDED: [&str; 5] = ["57P01", "57P02", "57P03", "57P05", "25P03"];
        match self.error.code() {
            Some(code) => code.code().starts_with("08") || ENDED.contains(&code.code()),
            None => {
                self.error.is_closed()
                    || matches!(self.error.source(), Some(source) if source.is::<std::io::Error>())
            }
        }
    }

    /// Whether the server's disk is full.
    pub(crate) fn is_disk_full(&self) -> bool {
        self.error.code() == Some(&tokio_postgres::error::SqlState::DISK_FULL)
    }
}
