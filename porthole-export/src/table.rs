//! Rows of named values as CSV and JSON.

use std::fmt::Write as _;

use porthole_store::SqlValue;
use serde::ser::{Serialize, SerializeMap, Serializer};

/// A value for programs, as text.
pub fn value_text(value: &SqlValue) -> String {
    match value {
        SqlValue::Null => String::new(),
        SqlValue::Integer(number) => number.to_string(),
        SqlValue::Real(number) => number.to_string(),
        SqlValue::Text(text) => text.clone(),
        SqlValue::Blob(bytes) => bytes.iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        }),
    }
}

/// A row of values as a line of CSV, in which no text is a formula.
pub fn csv_row(row: &[SqlValue]) -> String {
    let harmless = |value: &SqlValue| match value {
        SqlValue::Text(text) => harmless_cell(text),
        number => value_text(number),
    };
    csv_line(row.iter().map(harmless))
}

/// Text as a cell that no spreadsheet takes for a formula: one that would be gets a `'` in front, which spreadsheets
/// hide. Line ends within a cell are those of this system.
pub fn harmless_cell(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if is_formula { format!("'{text}") } else { text }
}

/// A line of CSV (RFC 4180), without its line ending.
pub fn csv_line(cells: impl Iterator<Item = String>) -> String {
    let quoted = |cell: String| {
        let needs_quotes = cell.contains([',', '"', '\n', '\r']);
        if needs_quotes { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
    };
    cells.map(quoted).collect::<Vec<_>>().join(",")
}

/// A row as a JSON object, in column order.
#[derive(Debug)]
pub struct JsonObject<'a, C> {
    /// Column names.
    pub columns: &'a [C],
    /// One value per column.
    pub row: &'a [SqlValue],
}

impl<C: AsRef<str>> Serialize for JsonObject<'_, C> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.columns.len()))?;
        for (column, value) in self.columns.iter().zip(self.row) {
            let column = column.as_ref();
            match value {
                SqlValue::Null => map.serialize_entry(column, &())?,
                SqlValue::Integer(number) => map.serialize_entry(column, number)?,
                SqlValue::Real(number) => map.serialize_entry(column, number)?,
                other => map.serialize_entry(column, &value_text(other))?,
            }
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_survive_csv_and_json() {
        let row = [
            SqlValue::Text("a \"b\", c\nd".into()),
            SqlValue::Null,
            SqlValue::Blob(vec![0, 255]),
            SqlValue::Real(0.5),
        ];
        assert_eq!(csv_row(&row), "\"a \"\"b\"\", c\nd\",,00ff,0.5");
        let row_of = |text: &str| csv_row(&[SqlValue::Text(text.into()), SqlValue::Integer(-3)]);
        for formula in ["=1+1", "+1", "-1", "@sum", "\t=1", "\r=1"] {
            assert!(row_of(formula).trim_start_matches('"').starts_with('\''), "{formula:?}");
        }
        assert_eq!(row_of("a=b"), "a=b,-3", "numbers stay numbers");
        let json = serde_json::to_string(&JsonObject { columns: &["z", "a", "m", "b"], row: &row }).unwrap();
        assert_eq!(json, r#"{"z":"a \"b\", c\nd","a":null,"m":"00ff","b":0.5}"#);
    }
}
