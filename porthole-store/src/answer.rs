//! What a question in SQL is answered with, and how large the answer may be.

use std::time::Duration;

/// One value of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing.
    Null,
    /// A whole number. Ids are the bit patterns of unsigned ones.
    Integer(i64),
    /// A real number.
    Real(f64),
    /// Text; bytes outside UTF-8 were replaced.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

impl Value {
    /// A value from what a person typed: a number if it reads as one, else text.
    pub fn parse(text: &str) -> Value {
        let real = || text.parse().ok().filter(|number: &f64| number.is_finite()).map(Value::Real);
        let integer = text.parse().map(Value::Integer).ok();
        integer.or_else(real).unwrap_or_else(|| Value::Text(text.to_owned()))
    }

    /// The whole number, if it is one.
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

    /// The text; empty if it is something else.
    pub fn text(&self) -> &str {
        if let Value::Text(text) = self { text } else { "" }
    }

    /// Bytes that the value adds to an answer.
    pub(crate) fn size(&self) -> usize {
        match self {
            Value::Null => 1,
            Value::Integer(_) | Value::Real(_) => 8,
            Value::Text(text) => text.len(),
            Value::Blob(bytes) => bytes.len(),
        }
    }
}

/// Rows under named columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// The columns' names.
    pub columns: Vec<String>,
    /// The rows, each with one value a column.
    pub rows: Vec<Vec<Value>>,
    /// Whether there would be more rows than were allowed; never so unless that was asked for.
    pub is_cut: bool,
}

/// How much a question may cost. Going beyond is an error, and a shortened answer only where one is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Rows of the answer.
    pub rows: usize,
    /// Bytes of the answer, and of any single value that is computed on the way.
    pub bytes: usize,
    /// Time from the start of the question to the last row.
    pub time: Duration,
    /// Whether the first rows will do if there are more than allowed.
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
    fn what_was_typed_becomes_the_value_it_reads_as() {
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
