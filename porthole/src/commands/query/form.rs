//! Output formats of query results.

use std::io;

use comfy_table::{CellAlignment, Table, presets};
use porthole_export::{JsonObject, csv_line, csv_row, harmless_cell, value_text};
use porthole_store::{QueryAnswer, SqlValue};
use porthole_types::Timestamp;

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
                let json = serde_json::to_string(&JsonObject { columns, row })?;
                output::print_line(&terminal::escaped_json(&json))
            }
        }
    }
}

/// Prints all rows as CSV.
fn print_csv(answer: &QueryAnswer) -> io::Result<()> {
    let head = csv_line(answer.columns.iter().map(|column| harmless_cell(column)));
    output::print_lines(std::iter::once(head).chain(answer.rows.iter().map(|row| csv_row(row))))
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
        other => output::plain(&value_text(other)),
    }
}

/// Whether a column holds milliseconds since 1970.
fn is_moment(column: &str) -> bool {
    column.ends_with("_at") || ["at", "lastvisited", "discovered", "not_before"].contains(&column)
}

fn objects(answer: &QueryAnswer) -> Vec<JsonObject<'_, String>> {
    answer.rows.iter().map(|row| JsonObject { columns: &answer.columns, row }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_read_well() {
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
    }
}
