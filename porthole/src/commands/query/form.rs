//! Output formats of query results.

use std::fmt::Write as _;
use std::io;

use comfy_table::{CellAlignment, Table, presets};
use porthole_store::{QueryAnswer, SqlValue};
use porthole_types::Timestamp;
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::cli;
use crate::commands::units::moment;
use crate::{output, terminal};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputFormat {
    Table,
    Csv,
    Json,
}

impl OutputFormat {
    pub(super) fn of(arguments: &cli::Query) -> OutputFormat {
        match (arguments.csv, arguments.json) {
            (true, _) => OutputFormat::Csv,
            (_, true) => OutputFormat::Json,
            _ => OutputFormat::Table,
        }
    }

    pub(super) fn print(self, answer: &QueryAnswer) -> anyhow::Result<()> {
        match self {
            OutputFormat::Table if answer.rows.is_empty() => output::say("no rows"),
            OutputFormat::Table => output::print(&table(answer, terminal::stdout_width())),
            OutputFormat::Csv => print_csv(answer)?,
            OutputFormat::Json => output::print_json(&objects(answer))?,
        }
        Ok(())
    }

    /// Whether the output is for programs, which need all rows.
    pub(super) fn is_for_programs(self) -> bool {
        self != OutputFormat::Table
    }

    /// Prints one row of a watched query; fails if standard output is closed.
    pub(super) fn print_row(self, columns: &[String], row: &[SqlValue]) -> io::Result<()> {
        match self {
            OutputFormat::Table => output::print_line(&in_words(columns, row)),
            OutputFormat::Csv => output::print_line(&csv_row(row)),
            OutputFormat::Json => {
                let json = serde_json::to_string(&JsonRow { columns, row })?;
                output::print_line(&terminal::escaped_json(&json))
            }
        }
    }
}

/// Prints all rows as CSV. A reader that closes the pipe has enough of them; any other failure is an error.
fn print_csv(answer: &QueryAnswer) -> io::Result<()> {
    let head = csv_line(answer.columns.iter().map(|column| harmless_cell(column)));
    let lines = std::iter::once(head).chain(answer.rows.iter().map(|row| csv_row(row)));
    for line in lines {
        match output::print_line(&line) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => break,
            written => written?,
        }
    }
    Ok(())
}

/// A row as one line of names and values.
pub(super) fn in_words(columns: &[String], row: &[SqlValue]) -> String {
    let cells = columns.iter().zip(row).map(|(column, value)| format!("{column} {}", cell(column, value)));
    cells.collect::<Vec<_>>().join(", ")
}

fn table(answer: &QueryAnswer, width: Option<usize>) -> String {
    let cells = |row: &Vec<SqlValue>| {
        answer.columns.iter().zip(row).map(|(column, value)| cell(column, value)).collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> = answer.rows.iter().map(cells).collect();
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(&answer.columns);
    for row in &rows {
        table.add_row(row);
    }
    for (number, column) in table.column_iter_mut().enumerate() {
        let is_number = |row: &Vec<SqlValue>| row[number].real().is_some() || row[number] == SqlValue::Null;
        if answer.rows.iter().all(is_number) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    terminal::table_or_lists(table.to_string(), &answer.columns, &rows, width)
}

/// Formats a value for people: times readable, few digits.
fn cell(column: &str, value: &SqlValue) -> String {
    match value {
        SqlValue::Integer(at) if is_moment(column) => moment(Timestamp(*at)),
        SqlValue::Integer(minute) if column == "minute" => moment(Timestamp(minute.saturating_mul(60_000))),
        SqlValue::Real(number) if *number != 0.0 && number.abs() < 0.001 => format!("{number:.2e}"),
        SqlValue::Real(number) => format!("{number:.3}"),
        SqlValue::Null => "–".to_owned(),
        other => output::plain(&text(other)),
    }
}

/// Whether a column holds milliseconds since 1970.
fn is_moment(column: &str) -> bool {
    column.ends_with("_at") || ["at", "lastvisited", "discovered", "not_before"].contains(&column)
}

/// Formats a value for programs.
fn text(value: &SqlValue) -> String {
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

fn csv_row(row: &[SqlValue]) -> String {
    let harmless = |value: &SqlValue| match value {
        SqlValue::Text(text) => harmless_cell(text),
        number => text(number),
    };
    csv_line(row.iter().map(harmless))
}

/// Text as a cell that no spreadsheet takes for a formula: one that would be gets a `'` in front, which spreadsheets
/// hide. Line ends within a cell are those of this system.
fn harmless_cell(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if is_formula { format!("'{text}") } else { text }
}

/// A line of CSV (RFC 4180), with the line ending of this system.
fn csv_line(cells: impl Iterator<Item = String>) -> String {
    let quoted = |cell: String| {
        let needs_quotes = cell.contains([',', '"', '\n', '\r']);
        if needs_quotes { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
    };
    cells.map(quoted).collect::<Vec<_>>().join(",")
}

fn objects(answer: &QueryAnswer) -> Vec<JsonRow<'_>> {
    answer.rows.iter().map(|row| JsonRow { columns: &answer.columns, row }).collect()
}

/// A row as a JSON object, in column order.
struct JsonRow<'a> {
    columns: &'a [String],
    row: &'a [SqlValue],
}

impl Serialize for JsonRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.columns.len()))?;
        for (column, value) in self.columns.iter().zip(self.row) {
            match value {
                SqlValue::Null => map.serialize_entry(column, &())?,
                SqlValue::Integer(number) => map.serialize_entry(column, number)?,
                SqlValue::Real(number) => map.serialize_entry(column, number)?,
                other => map.serialize_entry(column, &text(other))?,
            }
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_read_well_and_survive_csv() {
        for (column, value, shown) in [
            ("pages", SqlValue::Integer(12_345), "12345"),
            ("found_at", SqlValue::Integer(0), "1970-01-01 00:00:00 UTC"),
            ("minute", SqlValue::Integer(1), "1970-01-01 00:01:00 UTC"),
            ("lift", SqlValue::Real(2.0), "2.000"),
            ("share", SqlValue::Real(0.000_12), "1.20e-4"),
            ("title", SqlValue::Text("a\x1b[2Jb".into()), "a\u{fffd}[2Jb"),
            ("none", SqlValue::Null, "–"),
        ] {
            assert_eq!(cell(column, &value), shown);
        }
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
        let columns: Vec<String> = ["z", "a", "m", "b"].map(String::from).into();
        let json = serde_json::to_string(&JsonRow { columns: &columns, row: &row }).unwrap();
        assert_eq!(json, r#"{"z":"a \"b\", c\nd","a":null,"m":"00ff","b":0.5}"#);
    }
}
