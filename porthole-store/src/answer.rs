//! Results of queries, and their limits.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

/// A value of a result.
#[derive(Clone, Debug, PartialEq)]
pub enum SqlValue {
    /// SQL null.
    Null,
    /// An integer. Ids are the bit patterns of unsigned numbers.
    Integer(i64),
    /// A floating-point number.
    Real(f64),
    /// Text; invalid UTF-8 was replaced.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

impl SqlValue {
    /// Parses user input: a number if possible, otherwise text.
    pub fn parse(text: &str) -> SqlValue {
        let real = || text.parse().ok().filter(|number: &f64| number.is_finite()).map(SqlValue::Real);
        let integer = text.parse().map(SqlValue::Integer).ok();
        integer.or_else(real).unwrap_or_else(|| SqlValue::Text(text.to_owned()))
    }

    /// The integer, if it is one.
    pub fn integer(&self) -> Option<i64> {
        if let SqlValue::Integer(number) = *self { Some(number) } else { None }
    }

    /// The number, if it is one.
    #[allow(clippy::cast_precision_loss)]
    pub fn real(&self) -> Option<f64> {
        match *self {
            SqlValue::Integer(number) => Some(number as f64),
            SqlValue::Real(number) => Some(number),
            _ => None,
        }
    }

    /// The text; empty if it is another type.
    pub fn text(&self) -> &str {
        if let SqlValue::Text(text) = self { text } else { "" }
    }

    /// Size of the value in bytes, as counted by the limits.
    pub(crate) fn size(&self) -> usize {
        match self {
            SqlValue::Null => 1,
            SqlValue::Integer(_) | SqlValue::Real(_) => 8,
            SqlValue::Text(text) => text.len(),
            SqlValue::Blob(bytes) => bytes.len(),
        }
    }
}

/// Rows with named columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryAnswer {
    /// Column names.
    pub columns: Vec<String>,
    /// Rows, with one value per column.
    pub rows: Vec<Vec<SqlValue>>,
    /// Whether rows were cut off; only with [`QueryLimits::shorten`].
    pub is_cut: bool,
}

/// A query that is kept with a workspace and answered as pages arrive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptQuery {
    /// Its name.
    pub name: String,
    /// A named query, or one SQL statement that only reads.
    pub question: String,
    /// Parameters of a named query.
    pub parameters: Vec<(String, String)>,
    /// Paths of the topics that it is about.
    pub topics: Vec<String>,
    /// Since when it is kept.
    pub at: porthole_types::Timestamp,
}

/// The rows of a repeated query that were seen so far, by key: 64 bits each.
#[derive(Debug)]
pub struct SeenRows {
    /// Numbers of the key columns; empty means all.
    key: Vec<usize>,
    rows: HashSet<u64>,
}

impl SeenRows {
    /// The rows of a first answer; `key` names the columns that identify a row, all if it is empty.
    pub fn new(key: &[&str], first: &QueryAnswer) -> SeenRows {
        let place = |name: &&str| first.columns.iter().position(|column| column == name);
        let mut seen = SeenRows { key: key.iter().filter_map(place).collect(), rows: HashSet::new() };
        for row in &first.rows {
            seen.is_new(row);
        }
        seen
    }

    /// Forgets the rows that are not in an answer, if more than `most` are known.
    pub fn shrink_to(&mut self, answer: &QueryAnswer, most: usize) {
        if self.rows.len() > most {
            self.rows = HashSet::new();
            for row in &answer.rows {
                self.is_new(row);
            }
        }
    }

    /// Adds a row. Returns whether it is new.
    pub fn is_new(&mut self, row: &[SqlValue]) -> bool {
        let mut hasher = DefaultHasher::new();
        let mut add = |value: &SqlValue| format!("{value:?}").hash(&mut hasher);
        match self.key.as_slice() {
            [] => row.iter().for_each(&mut add),
            key => key.iter().filter_map(|&column| row.get(column)).for_each(&mut add),
        }
        self.rows.insert(hasher.finish())
    }
}

/// Limits of a query. Exceeding one is an error, unless `shorten` is set for the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryLimits {
    /// Maximum number of rows.
    pub rows: usize,
    /// Maximum size of the result in bytes. A value computed on the way has at most a megabyte.
    pub bytes: usize,
    /// Time limit, from the start to the last row. It is checked between two steps of the query; a single call of a
    /// function may take longer.
    pub time: Duration,
    /// Maximum size of the temporary files that sorting and joining may need, in bytes. Checked on Linux only.
    pub temporary: u64,
    /// Whether to return the first rows if there are more than allowed.
    pub shorten: bool,
}

impl Default for QueryLimits {
    fn default() -> Self {
        QueryLimits {
            rows: 100_000,
            bytes: 32 << 20,
            time: Duration::from_secs(30),
            temporary: 1 << 30,
            shorten: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_identified_by_their_key() {
        let row = |host: &str, pages| vec![SqlValue::Text(host.into()), SqlValue::Integer(pages)];
        let columns = vec!["host".to_owned(), "pages".to_owned()];
        let first = QueryAnswer { columns, rows: vec![row("a.test", 1)], is_cut: false };
        let mut by_host = SeenRows::new(&["host"], &first);
        let mut by_all = SeenRows::new(&[], &first);
        let seen = [row("a.test", 1), row("a.test", 2), row("b.test", 1), row("b.test", 1)];
        assert_eq!(seen.each_ref().map(|row| by_host.is_new(row)), [false, false, true, false]);
        assert_eq!(seen.each_ref().map(|row| by_all.is_new(row)), [false, true, true, false]);
        by_all.shrink_to(&first, 3);
        assert!(!by_all.is_new(&seen[1]), "there are no more than three");
        by_all.shrink_to(&first, 2);
        assert_eq!([0, 1].map(|at: usize| by_all.is_new(&seen[at])), [false, true]);
    }

    #[test]
    fn input_is_parsed_as_numbers_or_text() {
        for (text, value) in [
            ("12", SqlValue::Integer(12)),
            ("-3", SqlValue::Integer(-3)),
            ("0.5", SqlValue::Real(0.5)),
            ("1e3", SqlValue::Real(1000.0)),
            ("dns", SqlValue::Text("dns".into())),
            ("inf", SqlValue::Text("inf".into())),
            ("", SqlValue::Text(String::new())),
        ] {
            assert_eq!(SqlValue::parse(text), value, "for {text:?}");
        }
    }
}
