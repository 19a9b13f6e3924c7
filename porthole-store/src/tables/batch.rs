//! The tables for batch work on another engine: read in portions, with the statements that run on them.

use super::TableReader;
use super::{distill, prober};
use crate::sql::{Connection, Row};
use crate::{Result, SqlValue, postgres};

/// A table that is exported for batch work.
#[derive(Clone, Copy, Debug)]
pub struct BatchTable {
    /// Its name.
    pub name: &'static str,
    /// Its columns with their types.
    pub columns: &'static [(&'static str, ColumnType)],
    /// Whole number by which it is read.
    key: BatchKey,
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// Whole numbers of 64 bits.
    Whole,
    /// Floating-point numbers.
    Real,
    /// Texts.
    Text,
}

#[derive(Clone, Copy, Debug)]
enum BatchKey {
    /// Of one row.
    One(&'static str),
    /// Of several rows, which are read together.
    Several(&'static str),
}

/// Rows that are read at a time, and keys of several rows.
const ROWS: usize = 20_000;
const KEYS: usize = 100;

use self::BatchKey::{One, Several};
use self::ColumnType::{Real, Text, Whole};

/// The tables that the distiller, the classifier and the named queries read.
pub const BATCH_TABLES: &[BatchTable] = &[
    BatchTable {
        name: "crawl",
        columns: &[
            ("rowid", Whole),
            ("oid", Whole),
            ("url", Text),
            ("sid", Whole),
            ("relevance", Real),
            ("priority", Real),
            ("numtries", Whole),
            ("lastvisited", Whole),
            ("kcid", Whole),
            ("state", Whole),
            ("seq", Whole),
            ("status", Whole),
            ("failure", Text),
            ("detail", Text),
            ("title", Text),
            ("language", Text),
            ("bytes", Whole),
            ("depth", Whole),
            ("copy_of", Whole),
        ],
        key: One("rowid"),
    },
    BatchTable {
        name: "edge",
        columns: &[("rowid", Whole), ("src", Whole), ("dst", Whole), ("discovered", Whole), ("anchor", Text)],
        key: One("rowid"),
    },
    BatchTable {
        name: "site",
        columns: &[
            ("rowid", Whole),
            ("sid", Whole),
            ("host", Text),
            ("serverload", Whole),
            ("disabled", Whole),
            ("address", Text),
        ],
        key: One("rowid"),
    },
    BatchTable { name: "fetch", columns: &[("seq", Whole), ("row", Whole)], key: One("seq") },
    BatchTable {
        name: "revisit",
        columns: &[("row", Whole), ("numtries", Whole), ("came", Whole), ("state", Whole)],
        key: One("row"),
    },
    BatchTable {
        name: "upkeep",
        columns: &[("row", Whole), ("visits", Whole), ("changes", Whole), ("watched", Whole)],
        key: One("row"),
    },
    BatchTable {
        name: "host",
        columns: &[("slot", Whole), ("sid", Whole), ("trouble", Whole), ("not_before", Whole)],
        key: One("slot"),
    },
    BatchTable {
        name: "feedback",
        columns: &[("id", Whole), ("url", Text), ("kind", Text), ("useful", Whole)],
        key: One("id"),
    },
    BatchTable { name: "hubs", columns: &[("oid", Whole), ("score", Real)], key: One("oid") },
    BatchTable { name: "auth", columns: &[("oid", Whole), ("score", Real)], key: One("oid") },
    BatchTable {
        name: "taxonomy",
        columns: &[
            ("kcid", Whole),
            ("pcid", Whole),
            ("name", Text),
            ("mark", Text),
            ("logprior", Real),
            ("logdenom", Real),
            ("path", Text),
        ],
        key: One("kcid"),
    },
    BatchTable {
        name: "stat",
        columns: &[("pcid", Whole), ("kcid", Whole), ("tid", Whole), ("logtheta", Real)],
        key: Several("pcid"),
    },
    BatchTable {
        name: "document",
        columns: &[("did", Whole), ("tid", Whole), ("freq", Whole)],
        key: Several("did"),
    },
];

/// A portion of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct TablePortion {
    /// Rows, with the values of all columns.
    pub rows: Vec<Vec<SqlValue>>,
    /// Where the next portion begins.
    pub until: i64,
}

impl TableReader {
    /// The rows of a table behind `after`, which is the end of the last portion; `None` at the end.
    pub fn table_portion(&self, table: &BatchTable, after: Option<i64>) -> Result<Option<TablePortion>> {
        read(&*self.connection()?, table, after.unwrap_or(i64::MIN))
    }
}

fn read(db: &Connection, table: &BatchTable, after: i64) -> Result<Option<TablePortion>> {
    let columns: Vec<String> = table.columns.iter().map(|(name, _)| (*name).to_owned()).collect();
    let (name, columns) = (format!("\"{}\"", table.name), columns.join(", "));
    let (key, sql) = match table.key {
        One(key) => {
            (key, format!("select {columns} from {name} where {key} > ?1 order by {key} limit {ROWS}"))
        }
        Several(key) => (
            key,
            format!(
                "select {columns} from {name} where {key} > ?1 and {key} <= (select max({key}) from
                     (select distinct {key} from {name} where {key} > ?1 order by {key} limit {KEYS}) as next)
                 order by {key}"
            ),
        ),
    };
    let value = |row: &Row<'_>, column: usize| -> Result<SqlValue> {
        let value = match table.columns[column].1 {
            Whole => row.get::<Option<i64>>(column)?.map(SqlValue::Integer),
            Real => row.get::<Option<f64>>(column)?.map(SqlValue::Real),
            Text => row.get::<Option<String>>(column)?.map(SqlValue::Text),
        };
        Ok(value.unwrap_or(SqlValue::Null))
    };
    let rows = db.prepare(&sql)?.query_map([after], |row| {
        (0..table.columns.len()).map(|column| value(row, column)).collect::<Result<Vec<_>>>()
    })?;
    let place = table.columns.iter().position(|(name, _)| *name == key).unwrap_or(0);
    let last = rows.last().and_then(|row| match row.get(place) {
        Some(SqlValue::Integer(key)) => Some(*key),
        _ => None,
    });
    Ok(last.map(|until| TablePortion { rows, until }))
}

/// The statements of the batch work by name, as they run inside the database. Parameters are written `?1`.
///
/// Those of the distiller (V Fig. 4) fill temporary tables: `judged` (the parameter is rho), `counting`, `from_site`,
/// `to_site`, `weighed`, `hub`, then `next` by `update_auth` and `update_hubs` in turn. `bulk_probe` (V Fig. 3) has a node
/// and a range of documents. `link`, `page` and `tried` are views.
pub fn batch_statements() -> Vec<(&'static str, String)> {
    let mut statements = distill::statements();
    statements.push(("bulk_probe", prober::bulk_statement()));
    statements.extend(postgres::views());
    statements
}
