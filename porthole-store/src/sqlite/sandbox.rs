//! Runs SQL from users: it can read the tables, within limits, and do nothing else.
//!
//! The layers of protection, from the outside in: the file is opened read-only; the connection refuses writes; when a
//! statement is compiled, each of its actions must be in the list of [`allowed`] ones; values, statements, rows, bytes,
//! temporary files and time are limited.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, Statement, ToSql};

use crate::{Error, QueryAnswer, QueryLimits, Result, SqlValue};

/// Instructions of SQLite's virtual machine between two checks of the time: well under a millisecond.
const STEPS_PER_CHECK: i32 = 2_000;
/// Maximum length of a statement.
const LONGEST_SQL: i32 = 100_000;
/// Maximum length of a value in bytes. The time limit does not interrupt a function, and some take the square of this.
const LARGEST_VALUE: usize = 1_000_000;

/// Runs one statement. Consumes the connection, which is of no use with these limits.
pub(crate) fn answer(
    mut db: Connection,
    sql: &str,
    values: &[(String, SqlValue)],
    limits: &QueryLimits,
) -> Result<QueryAnswer> {
    let hits = restrict(&mut db, limits)?;
    let explain = |error: rusqlite::Error| explained(error, limits, &hits);
    if sql.len() > LONGEST_SQL as usize {
        return Err(Error::Sql(format!("the statement is longer than {LONGEST_SQL} bytes")));
    }
    // SQLite would end the statement at the NUL.
    if sql.contains('\0') {
        return Err(Error::Sql("the statement contains a NUL character".into()));
    }
    let mut statements = rusqlite::Batch::new(&db, sql);
    let mut statement = statements.next().map_err(explain)?.ok_or(Error::NotOneStatement("none"))?;
    if !matches!(statements.next(), Ok(None)) {
        return Err(Error::NotOneStatement("several"));
    }
    if !statement.readonly() {
        return Err(Error::Refused("the statement writes".into()));
    }
    for (name, value) in values {
        statement.raw_bind_parameter(name.as_str(), value).map_err(explain)?;
    }
    collect(&mut statement, limits)?.map_err(explain)
}

/// The limits that a statement hit; SQLite's messages do not always tell.
#[derive(Debug, Default)]
struct Hits {
    late: AtomicBool,
    temporary: AtomicBool,
    refused: AtomicBool,
}

/// Sets the limits of a connection.
fn restrict(db: &mut Connection, limits: &QueryLimits) -> Result<Arc<Hits>> {
    db.pragma_update(None, "query_only", true)?;
    db.pragma_update(None, "trusted_schema", false)?;
    db.pragma_update(None, "cache_size", -8_000)?;
    let largest = i32::try_from(limits.bytes.min(LARGEST_VALUE)).unwrap_or(i32::MAX);
    for (limit, most) in [
        (Limit::SQLITE_LIMIT_LENGTH, largest),
        (Limit::SQLITE_LIMIT_SQL_LENGTH, LONGEST_SQL),
        (Limit::SQLITE_LIMIT_ATTACHED, 0),
        (Limit::SQLITE_LIMIT_EXPR_DEPTH, 200),
        (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1_000),
        (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
    ] {
        db.set_limit(limit, most)?;
    }
    let hits = Arc::new(Hits::default());
    let (seen, end) = (Arc::clone(&hits), Instant::now() + limits.time);
    let mut files = TemporaryFiles::new(limits.temporary);
    let look = move || {
        let now = Instant::now();
        let (late, full) = (now >= end, files.are_too_large(now));
        seen.late.fetch_or(late, Ordering::Relaxed);
        seen.temporary.fetch_or(full, Ordering::Relaxed);
        late || full
    };
    db.progress_handler(STEPS_PER_CHECK, Some(look))?;
    let seen = Arc::clone(&hits);
    let judge = move |context: AuthContext<'_>| {
        if allowed(&context.action) {
            return Authorization::Allow;
        }
        seen.refused.store(true, Ordering::Relaxed);
        Authorization::Deny
    };
    db.authorizer(Some(judge))?;
    Ok(hits)
}

/// Measures the temporary files of SQLite in this process. They are deleted as soon as they are open, or never had a name,
/// so that only the process itself sees them.
struct TemporaryFiles {
    /// More than this is too much, with what was there before.
    most: u64,
    next_look: Option<Instant>,
}

impl TemporaryFiles {
    /// A look costs some microseconds for each open file.
    const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

    fn new(most: u64) -> Self {
        TemporaryFiles { most: most.saturating_add(Self::bytes()), next_look: None }
    }

    fn are_too_large(&mut self, now: Instant) -> bool {
        if self.next_look.is_some_and(|next| now < next) {
            return false;
        }
        self.next_look = Some(now + Self::BETWEEN_LOOKS);
        Self::bytes() > self.most
    }

    /// 0 on systems that do not list a process's files.
    fn bytes() -> u64 {
        let files = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
        let is_temporary = |path: &std::path::PathBuf| {
            let target = std::fs::read_link(path).unwrap_or_default();
            let name = target.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
            // Linux writes the number of a file that never had a name.
            name.ends_with(" (deleted)") && (name.starts_with("etilqs_") || name.starts_with('#'))
        };
        let paths = files.map(|file| file.path()).filter(is_temporary);
        paths.map(|path| std::fs::metadata(path).map_or(0, |file| file.len())).sum()
    }
}

/// The actions that a query may use. All others are rejected, including those of later SQLite versions.
fn allowed(action: &AuthAction<'_>) -> bool {
    match action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => true,
        AuthAction::Function { function_name } => !function_name.eq_ignore_ascii_case("load_extension"),
        AuthAction::Pragma { pragma_name, .. } => {
            // `data_version` is what the full-text index asks for itself.
            ["table_info", "table_xinfo", "table_list", "index_list", "index_info", "data_version"]
                .iter()
                .any(|harmless| harmless.eq_ignore_ascii_case(pragma_name))
        }
        _ => false,
    }
}

/// Collects the rows; the outer result is about limits, the inner one about SQLite.
fn collect(statement: &mut Statement<'_>, limits: &QueryLimits) -> Result<rusqlite::Result<QueryAnswer>> {
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let (mut answer, mut bytes) = (QueryAnswer { columns, ..QueryAnswer::default() }, 0);
    let mut rows = statement.raw_query();
    loop {
        let row = match rows.next() {
            Ok(Some(row)) => row,
            Ok(None) => return Ok(Ok(answer)),
            Err(error) => return Ok(Err(error)),
        };
        if answer.rows.len() == limits.rows {
            if limits.shorten {
                return Ok(Ok(QueryAnswer { is_cut: true, ..answer }));
            }
            return Err(Error::TooManyRows(limits.rows));
        }
        let mut values = Vec::with_capacity(answer.columns.len());
        for column in 0..answer.columns.len() {
            let value = value(row.get_ref(column)?);
            bytes += value.size();
            values.push(value);
        }
        if bytes > limits.bytes {
            return Err(Error::TooLarge(limits.bytes));
        }
        answer.rows.push(values);
    }
}

fn value(value: ValueRef<'_>) -> SqlValue {
    match value {
        ValueRef::Null => SqlValue::Null,
        ValueRef::Integer(number) => SqlValue::Integer(number),
        ValueRef::Real(number) => SqlValue::Real(number),
        ValueRef::Text(text) => SqlValue::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => SqlValue::Blob(bytes.to_vec()),
    }
}

impl ToSql for SqlValue {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            SqlValue::Null => ValueRef::Null,
            SqlValue::Integer(number) => ValueRef::Integer(*number),
            SqlValue::Real(number) => ValueRef::Real(*number),
            SqlValue::Text(text) => ValueRef::Text(text.as_bytes()),
            SqlValue::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// Translates an error of SQLite for the user.
fn explained(error: rusqlite::Error, limits: &QueryLimits, hits: &Hits) -> Error {
    if hits.refused.load(Ordering::Relaxed) {
        return Error::Refused(words(&error));
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) if hits.temporary.load(Ordering::Relaxed) => {
            Error::TooMuchTemporary(limits.temporary)
        }
        Some(ErrorCode::OperationInterrupted) if hits.late.load(Ordering::Relaxed) => {
            Error::TooSlow(limits.time)
        }
        Some(ErrorCode::ReadOnly) => Error::Refused(words(&error)),
        Some(ErrorCode::TooBig) => Error::LargeValue(limits.bytes.min(LARGEST_VALUE)),
        Some(ErrorCode::DatabaseCorrupt) => Error::Damaged(words(&error)),
        // The codes of errors in the statement itself; a limit without a value is a type mismatch.
        Some(ErrorCode::Unknown | ErrorCode::TypeMismatch) | None => Error::Sql(words(&error)),
        Some(_) => error.into(),
    }
}

/// SQLite's message, without the statement.
fn words(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqliteFailure(_, Some(message)) => message.clone(),
        rusqlite::Error::SqlInputError { msg, offset, .. } => format!("{msg} (at byte {offset})"),
        other => other.to_string(),
    }
}
