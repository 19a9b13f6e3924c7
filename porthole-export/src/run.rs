//! The loop of an export: ranges of rows in, bytes out.

use std::ops::RangeInclusive;

use crate::checkpoint::Checkpoint;
use crate::{ExportOutput, Result};

/// Rows of a table, in ranges of row numbers that never change.
pub trait ExportSource {
    /// A row.
    type Row;

    /// The last row there is; 0 if there is none.
    fn last_row(&self) -> Result<u64>;

    /// The wanted rows in a range, in their order.
    fn rows(&self, range: RangeInclusive<u64>) -> Result<Vec<Self::Row>>;

    /// What is read, in words that are equal only if the rows are: an export that was cut is resumed if they are.
    fn description(&self) -> String;
}

/// A format: turns rows into bytes.
pub trait RowWriter<Row> {
    /// Name of the format.
    fn name(&self) -> &'static str;

    /// Bytes at the start of each file.
    fn head(&mut self, file_name: &str, out: &mut Vec<u8>) -> Result<()> {
        let _ = (file_name, out);
        Ok(())
    }

    /// Bytes of a row. Returns a reason if it has to be left out.
    fn row(&mut self, row: &Row, out: &mut Vec<u8>) -> Result<Option<String>>;

    /// Writes the end of each file.
    fn tail(&mut self, write: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let _ = write;
        Ok(())
    }

    /// Whether an export that was cut can continue: not if rows are kept until the end of a file.
    fn is_resumable(&self) -> bool {
        true
    }
}

/// Result of an export.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Rows in the output.
    pub rows: u64,
    /// Rows that could not be exported.
    pub left_out: u64,
    /// Why the first of them was left out, if that was in this run.
    pub first_reason: Option<String>,
    /// Rows that were in the output already when this run began.
    pub resumed: u64,
    /// Whether the limit ended it.
    pub is_limited: bool,
}

/// Rows that are read in one transaction.
const STEP: u64 = 4_000;

/// Exports all rows of a source, at most `limit`. `progress` hears after each range how many of all rows were read.
pub fn export<S: ExportSource>(
    source: &S,
    writer: &mut dyn RowWriter<S::Row>,
    mut output: ExportOutput,
    limit: Option<u64>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Exported> {
    let limit = limit.unwrap_or(u64::MAX);
    let request = format!("{} {} limit {limit}", writer.name(), source.description());
    let is_resumable = writer.is_resumable();
    let mut at = match output.resume(&request)? {
        Some(at) if is_resumable => at,
        _ => {
            let until = source.last_row()?;
            Checkpoint { request, after: 0, until, rows: 0, left_out: 0, file: 0, bytes: 0 }
        }
    };
    let mut done = Exported { resumed: at.rows, ..Exported::default() };
    let mut bytes = Vec::new();
    while at.after < at.until && at.rows < limit {
        let end = at.until.min(at.after.saturating_add(STEP));
        for row in source.rows(at.after + 1..=end)? {
            if at.rows == limit {
                break;
            }
            bytes.clear();
            match writer.row(&row, &mut bytes)? {
                None => {
                    write_row(writer, &mut output, &bytes)?;
                    at.rows += 1;
                }
                Some(reason) => {
                    at.left_out += 1;
                    done.first_reason.get_or_insert(reason);
                }
            }
        }
        at.after = end;
        progress(at.after, at.until);
        if is_resumable {
            output.checkpoint(&mut at)?;
        }
    }
    if !output.has_file() {
        begin_file(writer, &mut output)?;
    }
    end_file(writer, &mut output)?;
    output.finish()?;
    done.is_limited = at.rows == limit;
    Ok(Exported { rows: at.rows, left_out: at.left_out, ..done })
}

fn write_row<R>(writer: &mut dyn RowWriter<R>, output: &mut ExportOutput, bytes: &[u8]) -> Result<()> {
    if output.is_full() {
        end_file(writer, output)?;
        output.end_file()?;
    }
    if !output.has_file() {
        begin_file(writer, output)?;
    }
    output.write(bytes)
}

fn begin_file<R>(writer: &mut dyn RowWriter<R>, output: &mut ExportOutput) -> Result<()> {
    let name = output.begin_file()?;
    let mut head = Vec::new();
    writer.head(&name, &mut head)?;
    output.write(&head)
}

fn end_file<R>(writer: &mut dyn RowWriter<R>, output: &mut ExportOutput) -> Result<()> {
    writer.tail(&mut |bytes| output.write(bytes))
}
