//! Pages as Parquet files: the columns of Common Crawl's index of pages, and what the crawl knows beyond them.

use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use parquet::basic::Compression;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use porthole_page::Extractor;
use porthole_store::StoredPage;
use porthole_topic::Taxonomy;
use porthole_types::CanonicalUrl;

use crate::archive::ArchivedPages;
use crate::page_row::topic_path;
use crate::surt::surt;
use crate::{Error, Result, RowWriter};

const SCHEMA: &str = "message page {
    optional binary url_surtkey (UTF8);
    optional binary url (UTF8);
    optional binary url_host_name (UTF8);
    optional binary url_host_tld (UTF8);
    optional binary url_protocol (UTF8);
    optional int32 url_port;
    optional binary url_path (UTF8);
    optional binary url_query (UTF8);
    optional int64 fetch_time (TIMESTAMP(MILLIS,true));
    optional int32 fetch_status;
    optional binary content_digest (UTF8);
    optional binary content_mime_type (UTF8);
    optional binary warc_filename (UTF8);
    optional int64 warc_record_offset;
    optional int64 warc_record_length;
    optional binary title (UTF8);
    optional binary language (UTF8);
    optional double relevance;
    optional binary topic (UTF8);
    optional double hub;
    optional double authority;
    optional int32 distance;
    optional int64 bytes;
    optional int64 oid;
    optional int64 copy_of;
";

/// The column that is there on demand.
const TEXT_COLUMN: &str = "    optional binary text (UTF8);\n";

/// A value of a column.
pub(crate) enum ParquetValue {
    Text(Option<String>),
    Int(Option<i64>),
    Real(Option<f64>),
}

/// Rows of a row group, which is the unit that readers load.
const GROUP_ROWS: usize = 20_000;
/// With texts, which take memory until they are written.
const GROUP_ROWS_WITH_TEXTS: usize = 1_000;

/// Pages as Parquet files. Rows are kept until a row group is full, so that an export cannot be resumed.
pub struct ParquetPages<'a> {
    tree: &'a Taxonomy,
    archive: ArchivedPages,
    /// Reads main texts, if they are wanted.
    extractor: Option<Extractor>,
    file: Option<ParquetFile>,
    rows: Vec<Vec<ParquetValue>>,
}

/// A file that is being written, and what of it was not handed on yet.
struct ParquetFile {
    writer: SerializedFileWriter<SharedBytes>,
    bytes: SharedBytes,
}

#[derive(Clone, Default)]
struct SharedBytes(Arc<Mutex<Vec<u8>>>);

impl SharedBytes {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for SharedBytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> ParquetPages<'a> {
    /// Topics are named after a tree; media types and digests come from the archive.
    pub fn new(tree: &'a Taxonomy, archive: &Path) -> Self {
        ParquetPages {
            tree,
            archive: ArchivedPages::new(archive),
            extractor: None,
            file: None,
            rows: Vec::new(),
        }
    }

    /// Adds a column `text` with the main text of each page in the archive.
    pub fn with_texts(self) -> Self {
        ParquetPages { extractor: Some(Extractor::default()), ..self }
    }

    fn values(&mut self, page: &StoredPage) -> Vec<ParquetValue> {
        use ParquetValue::{Int, Real, Text};
        let facts = page.span.and_then(|span| self.archive.facts(&page.url, span)).unwrap_or_default();
        let url = CanonicalUrl::parse(&page.url).ok();
        let host = url.as_ref().map(|url| url.host().to_owned());
        let tld = host.as_ref().and_then(|host| host.rsplit('.').next()).map(str::to_owned);
        let (protocol, rest) = page.url.split_once("://").unwrap_or_default();
        let (authority, rest) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let (path, query) = rest.split_once('?').map_or((rest, None), |(path, query)| (path, Some(query)));
        let port = authority.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let digest = facts.digest.map(|digest| digest.trim_start_matches("sha1:").to_owned());
        let mut values = vec![
            Text(url.as_ref().map(surt)),
            Text(Some(page.url.clone())),
            Text(host),
            Text(tld),
            Text(some(protocol)),
            Int(port),
            Text(some(path)),
            Text(query.map(str::to_owned)),
            Int(Some(page.at.0)),
            Int(Some(page.status.into())),
            Text(digest),
            Text(facts.mime),
            Text(page.span.map(|span| self.archive.file_name(span))),
            Int(page.span.map(|span| span.offset.cast_signed())),
            Int(page.span.map(|span| span.length.into())),
            Text(some(&page.title)),
            Text(some(&page.language)),
            Real(page.relevance),
            Text(page.best.and_then(|best| topic_path(self.tree, best))),
            Real(page.hub),
            Real(page.authority),
            Int(Some(page.depth.into())),
            Int(Some(page.bytes.cast_signed())),
            Int(Some(page.oid.0.cast_signed())),
            Int(page.copy_of.map(|original| original.0.cast_signed())),
        ];
        if let Some(extractor) = &mut self.extractor {
            let content = self.archive.main_content(page, extractor).ok();
            values.push(Text(content.map(|content| content.text)));
        }
        values
    }

    /// Writes the rows so far as a row group.
    fn write_group(&mut self) -> Result<(), ParquetError> {
        let rows = std::mem::take(&mut self.rows);
        let Some(file) = self.file.as_mut().filter(|_| !rows.is_empty()) else { return Ok(()) };
        write_rows(&mut file.writer, &rows)
    }
}

/// Writes rows as a row group.
pub(crate) fn write_rows<W: Write + Send>(
    writer: &mut SerializedFileWriter<W>,
    rows: &[Vec<ParquetValue>],
) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    let mut number = 0;
    while let Some(mut column) = group.next_column()? {
        write_column(column.untyped(), rows, number)?;
        column.close()?;
        number += 1;
    }
    group.close()?;
    Ok(())
}

fn write_column(
    column: &mut ColumnWriter<'_>,
    rows: &[Vec<ParquetValue>],
    number: usize,
) -> Result<(), ParquetError> {
    let values = || rows.iter().map(|row| &row[number]);
    let is_there = |value: &ParquetValue| match value {
        ParquetValue::Text(text) => text.is_some(),
        ParquetValue::Int(number) => number.is_some(),
        ParquetValue::Real(number) => number.is_some(),
    };
    let levels: Vec<i16> = values().map(|value| i16::from(is_there(value))).collect();
    let whole =
        || values().filter_map(|value| if let ParquetValue::Int(number) = value { *number } else { None });
    match column {
        ColumnWriter::ByteArrayColumnWriter(writer) => {
            let texts = values().filter_map(|value| {
                if let ParquetValue::Text(text) = value { text.as_deref() } else { None }
            });
            let texts: Vec<ByteArray> = texts.map(ByteArray::from).collect();
            writer.write_batch(&texts, Some(&levels), None)?;
        }
        ColumnWriter::Int32ColumnWriter(writer) => {
            let numbers: Vec<i32> = whole().map(|number| i32::try_from(number).unwrap_or(i32::MAX)).collect();
            writer.write_batch(&numbers, Some(&levels), None)?;
        }
        ColumnWriter::Int64ColumnWriter(writer) => {
            writer.write_batch(&whole().collect::<Vec<i64>>(), Some(&levels), None)?;
        }
        ColumnWriter::DoubleColumnWriter(writer) => {
            let numbers = values()
                .filter_map(|value| if let ParquetValue::Real(number) = value { *number } else { None });
            writer.write_batch(&numbers.collect::<Vec<f64>>(), Some(&levels), None)?;
        }
        _ => return Err(ParquetError::General("a column of an unexpected type".to_owned())),
    }
    Ok(())
}

impl RowWriter<StoredPage> for ParquetPages<'_> {
    fn name(&self) -> &'static str {
        "parquet"
    }

    fn head(&mut self, _: &str, out: &mut Vec<u8>) -> Result<()> {
        let bytes = SharedBytes::default();
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("porthole ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let text = if self.extractor.is_some() { TEXT_COLUMN } else { "" };
        let schema = parse_message_type(&format!("{SCHEMA}{text}}}")).map_err(failed)?;
        let writer = SerializedFileWriter::new(bytes.clone(), Arc::new(schema), Arc::new(properties));
        self.file = Some(ParquetFile { writer: writer.map_err(failed)?, bytes: bytes.clone() });
        out.append(&mut bytes.take());
        Ok(())
    }

    fn row(&mut self, page: &StoredPage, out: &mut Vec<u8>) -> Result<Option<String>> {
        let values = self.values(page);
        self.rows.push(values);
        let most = if self.extractor.is_some() { GROUP_ROWS_WITH_TEXTS } else { GROUP_ROWS };
        if self.rows.len() >= most && self.file.is_some() {
            self.write_group().map_err(failed)?;
            out.extend(self.file.iter().flat_map(|file| file.bytes.take()));
        }
        Ok(None)
    }

    fn tail(&mut self, write: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.write_group().map_err(failed)?;
        let Some(ParquetFile { writer, bytes }) = self.file.take() else { return Ok(()) };
        writer.close().map_err(failed)?;
        write(&bytes.take())
    }

    fn is_resumable(&self) -> bool {
        false
    }
}

fn failed(error: ParquetError) -> Error {
    Error::Stream(io::Error::other(error))
}
