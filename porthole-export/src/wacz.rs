//! WACZ 1.1.1: WARC files, their index and a list of pages in one ZIP file that replay tools open as it is.
//!
//! The WARC files are written to a folder first, which can be resumed, and then stored in the ZIP file uncompressed:
//! replay tools read single records of it.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use porthole_types::Timestamp;
use porthole_warc::{RecordKind, WarcReader, WarcRecord};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::archive::facts;
use crate::cdxj::cdx_line;
use crate::output::lock;
use crate::page_row::rfc3339;
use crate::sorted_lines::SortedLines;
use crate::{Error, ExportOutput, ExportPages, ExportSource, Exported, Result, WarcPages, export};

/// What a WACZ file says of itself.
#[derive(Clone, Debug, Default)]
pub struct WaczDescription {
    /// Title of the collection.
    pub title: String,
    /// What was selected, in words.
    pub description: String,
    /// Name and version of the program.
    pub software: String,
    /// When the export was made.
    pub made: Timestamp,
}

/// Exports pages as a WACZ file. `size` is that of the WARC files in it.
pub fn export_wacz(
    source: &ExportPages<'_>,
    writer: &mut WarcPages<'_>,
    to: &Path,
    (size, limit): (u64, Option<u64>),
    about: &WaczDescription,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Exported> {
    // A path such as `.` has no name to add an extension to.
    if to.file_name().is_none() || to.is_dir() {
        return Err(Error::Exists(to.to_owned()));
    }
    let stage = to.with_added_extension("part");
    let request = format!("{} size {size} limit {limit:?}", source.description());
    let _lock = prepare(&stage, &request)?;
    let warcs = stage.join("data");
    let exported = match warcs.exists() {
        true => None,
        false => {
            Some(export(source, writer, ExportOutput::folder(&warcs, "warc.gz", size), limit, progress)?)
        }
    };
    let new = stage.join("new.wacz");
    let pages = WaczFile::create(&new)?.write(&warcs, about)?;
    fs::rename(&new, to).map_err(Error::io(to))?;
    fs::remove_dir_all(&stage).map_err(Error::io(&stage))?;
    Ok(exported.unwrap_or(Exported { rows: pages, resumed: pages, ..Exported::default() }))
}

/// Makes the folder for the parts; one of an earlier export with another request is emptied. Returns its request file,
/// which is locked while the export runs.
fn prepare(stage: &Path, request: &str) -> Result<File> {
    let note = stage.join("request");
    if stage.exists() {
        // Only an earlier export has this file: any other folder is left alone.
        let Ok(earlier) = File::open(&note) else { return Err(Error::Exists(stage.to_owned())) };
        lock(&earlier, stage)?;
        if fs::read_to_string(&note).is_ok_and(|found| found == request) {
            return Ok(earlier);
        }
        fs::remove_dir_all(stage).map_err(Error::io(stage))?;
    }
    fs::create_dir_all(stage).map_err(Error::io(stage))?;
    fs::write(&note, request).map_err(Error::io(&note))?;
    let note = File::open(&note).map_err(Error::io(&note))?;
    lock(&note, stage)?;
    Ok(note)
}

/// A WACZ file that is being written.
struct WaczFile {
    path: PathBuf,
    zip: ZipWriter<BufWriter<File>>,
    /// The `resources` of the data package.
    resources: Vec<Value>,
}

/// Lines in a block of the compressed index.
const INDEX_BLOCK: usize = 3_000;

impl WaczFile {
    fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).map_err(Error::io(path))?;
        Ok(WaczFile {
            path: path.to_owned(),
            zip: ZipWriter::new(BufWriter::new(file)),
            resources: Vec::new(),
        })
    }

    /// Writes everything, and returns the number of pages.
    fn write(mut self, warcs: &Path, about: &WaczDescription) -> Result<u64> {
        let files = files(warcs)?;
        let mut index = WaczIndex::new().map_err(Error::Stream)?;
        for path in &files {
            index.read(path)?;
        }
        for path in &files {
            let file = File::open(path).map_err(Error::io(path))?;
            self.add(&format!("archive/{}", name(path)), BufReader::new(file))?;
        }
        let pages = index.pages;
        let (cdx, blocks, list) = index.finish().map_err(Error::Stream)?;
        self.add("indexes/index.cdx.gz", BufReader::new(cdx))?;
        self.add("indexes/index.idx", blocks.as_bytes())?;
        self.add("pages/pages.jsonl", BufReader::new(list))?;
        self.describe(about)?;
        let file =
            self.zip.finish().map_err(|error| Error::Io { path: self.path.clone(), source: error.into() })?;
        let file = file
            .into_inner()
            .map_err(|error| Error::Io { path: self.path.clone(), source: error.into_error() })?;
        file.sync_all().map_err(Error::io(&self.path))?;
        Ok(pages)
    }

    /// Stores a file, and adds it to the data package.
    fn add(&mut self, path: &str, from: impl Read) -> Result<()> {
        let (hash, bytes) = self.store(path, from)?;
        let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
        self.resources.push(json!({ "name": name, "path": path, "hash": hash, "bytes": bytes }));
        Ok(())
    }

    /// Stores a file. Returns its hash and size.
    fn store(&mut self, path: &str, mut from: impl Read) -> Result<(String, u64)> {
        let options =
            SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
        let mut stored = || -> io::Result<(String, u64)> {
            self.zip.start_file(path, options)?;
            let (mut hash, mut bytes) = (Sha256::new(), 0);
            let mut piece = vec![0; 1 << 16];
            loop {
                let read = from.read(&mut piece)?;
                if read == 0 {
                    return Ok((format!("sha256:{}", hex(&hash.finalize())), bytes));
                }
                hash.update(&piece[..read]);
                self.zip.write_all(&piece[..read])?;
                bytes += read as u64;
            }
        };
        stored().map_err(|source| Error::Io { path: self.path.clone(), source })
    }

    fn describe(&mut self, about: &WaczDescription) -> Result<()> {
        let package = json!({
            "profile": "data-package",
            "wacz_version": "1.1.1",
            "title": about.title,
            "description": about.description,
            "software": about.software,
            "created": seconds(about.made),
            "resources": self.resources,
        });
        let package = serde_json::to_string_pretty(&package).expect("plain data");
        let (hash, _) = self.store("datapackage.json", package.as_bytes())?;
        let digest = json!({ "path": "datapackage.json", "hash": hash });
        self.store("datapackage-digest.json", digest.to_string().as_bytes())?;
        Ok(())
    }
}

/// Index and page list, from the WARC files.
struct WaczIndex {
    lines: SortedLines,
    list: BufWriter<File>,
    pages: u64,
}

impl WaczIndex {
    fn new() -> io::Result<Self> {
        let mut list = BufWriter::new(tempfile::tempfile()?);
        writeln!(list, "{}", json!({ "format": "json-pages-1.0", "id": "pages", "title": "All Pages" }))?;
        Ok(WaczIndex { lines: SortedLines::new(), list, pages: 0 })
    }

    fn read(&mut self, path: &Path) -> Result<()> {
        let file = File::open(path).map_err(Error::io(path))?;
        let mut reader = WarcReader::new(BufReader::new(file));
        let mut record = WarcRecord::default();
        let file_name = name(path);
        let warc = |source| Error::Warc { path: path.to_owned(), source };
        while reader.read_into(&mut record).map_err(warc)? {
            let Some(url) = record.target() else { continue };
            if record.kind == RecordKind::Metadata {
                let page = page_line(url, &record);
                writeln!(self.list, "{page}").map_err(Error::Stream)?;
                self.pages += 1;
            } else if record.is_http_response() {
                let line =
                    cdx_line(url, &facts(&record), &file_name, record.place.offset, record.place.length);
                line.map_or(Ok(()), |line| self.lines.push(line)).map_err(Error::Stream)?;
            }
        }
        Ok(())
    }

    /// The compressed index, the list of its blocks, and the page list.
    fn finish(self) -> io::Result<(File, String, File)> {
        let mut index = BlockIndex::new()?;
        self.lines.finish(&mut |line| index.push(line))?;
        let (cdx, blocks) = index.finish()?;
        Ok((cdx, blocks, rewound(self.list)?))
    }
}

/// A sorted index in compressed blocks, each of which can be read alone, and the first key of each.
struct BlockIndex {
    file: BufWriter<File>,
    offset: u64,
    block: Vec<String>,
    list: String,
}

impl BlockIndex {
    fn new() -> io::Result<Self> {
        let head = json!({ "format": "cdxj-gzip-1.0", "filename": "index.cdx.gz" });
        let file = BufWriter::new(tempfile::tempfile()?);
        Ok(BlockIndex { file, offset: 0, block: Vec::new(), list: format!("!meta 0 {head}\n") })
    }

    fn push(&mut self, line: &str) -> io::Result<()> {
        self.block.push(line.to_owned());
        if self.block.len() == INDEX_BLOCK { self.end_block() } else { Ok(()) }
    }

    fn end_block(&mut self) -> io::Result<()> {
        let Some(first) = self.block.first() else { return Ok(()) };
        let key: Vec<&str> = first.splitn(3, ' ').take(2).collect();
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        for line in &self.block {
            writeln!(gzip, "{line}")?;
        }
        let packed = gzip.finish()?;
        let digest = format!("sha256:{}", hex(&Sha256::digest(&packed)));
        let place = json!({
            "offset": self.offset, "length": packed.len(), "digest": digest, "filename": "index.cdx.gz",
        });
        self.list.push_str(&format!("{} {place}\n", key.join(" ")));
        self.file.write_all(&packed)?;
        self.offset += packed.len() as u64;
        self.block.clear();
        Ok(())
    }

    fn finish(mut self) -> io::Result<(File, String)> {
        self.end_block()?;
        Ok((rewound(self.file)?, self.list))
    }
}

/// An entry of the page list, from the metadata record of a page.
fn page_line(url: &str, record: &WarcRecord) -> Value {
    let id = record.id().unwrap_or_default().trim_start_matches("urn:uuid:");
    let mut page = Map::new();
    page.insert("id".to_owned(), json!(id));
    page.insert("url".to_owned(), json!(url));
    page.insert("ts".to_owned(), json!(rfc3339(record.date().unwrap_or(Timestamp(0)))));
    for line in String::from_utf8_lossy(&record.block).lines() {
        let Some((name, value)) = line.split_once(": ") else { continue };
        let value = match value.parse::<f64>() {
            Ok(number) if name != "title" && name != "topic" => json!(number),
            _ => json!(value),
        };
        page.insert(name.to_owned(), value);
    }
    Value::Object(page)
}

/// The WARC files of a folder, by name.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(Error::io(folder))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "gz"));
    files.sort();
    Ok(files)
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn rewound(file: BufWriter<File>) -> io::Result<File> {
    let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file)
}

/// A time to the second, as RFC 3339.
fn seconds(at: Timestamp) -> String {
    rfc3339(Timestamp(at.0 - at.0.rem_euclid(1_000)))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
