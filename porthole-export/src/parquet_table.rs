//! Tables of the database as Parquet files, for batch work on another engine.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use porthole_store::{BatchTable, ColumnType, SqlValue, TableReader};

use crate::parquet::{ParquetValue, write_rows};
use crate::{Error, Result};

/// Rows of a file, after which another one begins.
const FILE_ROWS: usize = 2_000_000;
/// Rows of a row group.
const GROUP_ROWS: usize = 100_000;

/// Writes a table into a new folder. Returns the number of its rows. Each portion is read in a short transaction: rows that
/// a crawl appends meanwhile may be in it, those that it changes are in their old or their new form.
pub fn export_table(reader: &TableReader, table: &BatchTable, folder: &Path) -> Result<u64> {
    let mut file = TableFile::new(table.columns, folder)?;
    let mut after = None;
    while let Some(portion) = reader.table_portion(table, after)? {
        after = Some(portion.until);
        file.append(portion.rows)?;
    }
    file.finish()
}

/// Writes rows that are in memory into a new folder, as a table with these columns.
pub fn export_rows(
    columns: &[(&'static str, ColumnType)],
    rows: Vec<Vec<SqlValue>>,
    folder: &Path,
) -> Result<u64> {
    let mut file = TableFile::new(columns, folder)?;
    file.append(rows)?;
    file.finish()
}

/// The files of a table.
struct TableFile<'a> {
    folder: &'a Path,
    schema: String,
    properties: Arc<WriterProperties>,
    writer: Option<SerializedFileWriter<File>>,
    waiting: Vec<Vec<ParquetValue>>,
    files: usize,
    /// Rows of the current file, and of those before it.
    rows: usize,
    before: u64,
}

impl<'a> TableFile<'a> {
    fn new(columns: &[(&'static str, ColumnType)], folder: &'a Path) -> Result<Self> {
        fs::create_dir(folder).map_err(Error::io(folder))?;
        let column = |(name, kind): &(&str, ColumnType)| match kind {
            ColumnType::Whole => format!("optional int64 {name};"),
            ColumnType::Real => format!("optional double {name};"),
            ColumnType::Text => format!("optional binary {name} (UTF8);"),
        };
        let columns: Vec<String> = columns.iter().map(column).collect();
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("porthole ", env!("CARGO_PKG_VERSION")).to_owned());
        Ok(TableFile {
            folder,
            schema: format!("message row {{ {} }}", columns.join(" ")),
            properties: Arc::new(properties.build()),
            writer: None,
            waiting: Vec::new(),
            files: 0,
            rows: 0,
            before: 0,
        })
    }

    fn append(&mut self, rows: Vec<Vec<SqlValue>>) -> Result<()> {
        self.waiting.extend(rows.into_iter().map(|row| row.into_iter().map(value).collect::<Vec<_>>()));
        if self.waiting.len() >= GROUP_ROWS { self.write() } else { Ok(()) }
    }

    /// Writes the rows that wait as a row group.
    fn write(&mut self) -> Result<()> {
        let path = self.folder.join(format!("part-{:05}.parquet", self.files));
        let failed = |error: ParquetError| Error::Io { path: path.clone(), source: io::Error::other(error) };
        if self.writer.is_none() {
            let file = File::create(&path).map_err(Error::io(&path))?;
            let schema = parse_message_type(&self.schema).map_err(failed)?;
            let writer = SerializedFileWriter::new(file, Arc::new(schema), self.properties.clone());
            self.writer = Some(writer.map_err(failed)?);
        }
        let rows = std::mem::take(&mut self.waiting);
        self.rows += rows.len();
        if let Some(writer) = self.writer.as_mut().filter(|_| !rows.is_empty()) {
            write_rows(writer, &rows).map_err(failed)?;
        }
        if self.rows >= FILE_ROWS {
            self.close().map_err(failed)?;
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), ParquetError> {
        if let Some(writer) = self.writer.take() {
            writer.close()?;
            self.files += 1;
            self.before += std::mem::take(&mut self.rows) as u64;
        }
        Ok(())
    }

    /// Ends the last file; a table without rows has one, too.
    fn finish(mut self) -> Result<u64> {
        if !self.waiting.is_empty() || self.files == 0 {
            self.write()?;
        }
        let folder = self.folder;
        self.close()
            .map_err(|error| Error::Io { path: folder.to_owned(), source: io::Error::other(error) })?;
        Ok(self.before)
    }
}

fn value(value: SqlValue) -> ParquetValue {
    match value {
        SqlValue::Integer(number) => ParquetValue::Int(Some(number)),
        SqlValue::Real(number) => ParquetValue::Real(Some(number)),
        SqlValue::Text(text) => ParquetValue::Text(Some(text)),
        SqlValue::Null | SqlValue::Blob(_) => ParquetValue::Int(None),
    }
}
