//! Results of queries, and their limits.

use std::time::Duration;

/// A value of a result.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
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

impl Value {
    /// Parses user input: a number if possible, otherwise text.
    pub fn parse(text: &str) -> Value {
        let real = || text.parse().ok().filter(|number: &f64| number.is_finite()).map(Value::Real);
        let integer = text.parse().map(Value::Integer).ok();
        integer.or_else(real).unwrap_or_else(|| Value::Text(text.to_owned()))
    }

    /// The integer, if it is one.
    pub fn integer(&self) -> Option<i64> {
        if let Value::Integer(number) = *self { Some(number) } else { None }
    }

    /// The number, if it is one.
    #[allow(clippy::cast_precision_loss)]
    pub fn real(&self) -> Option<f64> {
        match *self {
            Value::Integer(number) => Some(number as f64),
            Value::Real(number) => Some(number),
            _ => None,
        }
    }

    /// The text; empty if it is another type.
    pub fn text(&self) -> &str {
        if let Value::Text(text) = self { text } else { "" }
    }

    /// Size of the value in bytes, as counted by the limits.
    pub(crate) fn size(&self) -> usize {
        match self {
            Value::Null => 1,
            Value::Integer(_) | Value::Real(_) => 8,
            Value::Text(text) => text.len(),
            Value::Blob(bytes) => bytes.len(),
        }
    }
}

/// Rows with named columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Column names.
    pub columns: Vec<String>,
    /// Rows, with one value per column.
    pub rows: Vec<Vec<Value>>,
    /// Whether rows were cut off; only with [`Limits::shorten`].
    pub is_cut: bool,
}

/// Limits of a query. Exceeding one is an error, unless `shorten` is set for the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of rows.
    pub rows: usize,
    /// Maximum size of the result, and of any value computed on the way, in bytes.
    pub bytes: usize,
    /// Time limit, from the start to the last row.
    pub time: Duration,
    /// Whether to return the first rows if there are more than allowed.
    pub shorten: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { rows: 100_000, bytes: 32 << 20, time: Duration::from_secs(30), shorten: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_is_parsed_as_numbers_or_text() {
        for (text, value) in [
            ("12", Value::Integer(12)),
            ("-3", Value::Integer(-3)),
            ("0.5", Value::Real(0.5)),
            ("1e3", Value::Real(1000.0)),
            ("dns", Value::Text("dns".into())),
            ("inf", Value::Text("inf".into())),
            ("", Value::Text(String::new())),
        ] {
            assert_eq!(Value::parse(text), value, "for {text:?}");
        }
    }
}
