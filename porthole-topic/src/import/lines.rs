//! Lists with one example per line: a URL, or `url<TAB>topic`, the simplest format for examples and for the labels of a WARC
//! file's pages; and JSON objects, as `porthole export jsonl` writes them.

use std::io::{BufRead, Read};

use porthole_page::steps;

use super::{ImportEntry, ImportError, ImportProblem, ImportedExample, names, shown, tidy, url};

/// Examples from lines of `url<TAB>topic`. A URL alone has the root topic.
///
/// Ignored: further columns, blank lines, lines that start with `#`, and a byte order mark. A page may occur several
/// times with different topics. Memory is bounded by a line.
///
/// A line without a tab that is no URL, or one longer than 64 KiB, is an error for the whole file. Skipped with a problem:
/// lines without an http or https URL, lines that are not UTF-8, and topics without a name or with an invalid name.
pub fn tsv<R: BufRead>(reader: R) -> ExampleLines<R> {
    ExampleLines { reader, format: LineFormat::Tsv, bytes: Vec::new(), line: 0, is_over: false }
}

/// Examples from lines of JSON: objects with a `url`, a `topic` such as `/Recreation/Cycling`, and a `title` if there is
/// one; other names are ignored. Otherwise like [`tsv`]: a line that is not a JSON object is an error for the whole file.
pub fn jsonl<R: BufRead>(reader: R) -> ExampleLines<R> {
    ExampleLines { format: LineFormat::Json, ..tsv(reader) }
}

/// Iterator of [`tsv`] and [`jsonl`].
#[derive(Debug)]
pub struct ExampleLines<R> {
    reader: R,
    format: LineFormat,
    bytes: Vec<u8>,
    line: u64,
    is_over: bool,
}

#[derive(Clone, Copy, Debug)]
enum LineFormat {
    Tsv,
    Json,
}

/// An example as JSON.
#[derive(serde::Deserialize)]
struct JsonExample {
    url: String,
    topic: Option<String>,
    title: Option<String>,
}

/// Maximum length of a line in bytes.
const LONGEST_LINE: usize = 1 << 16;

impl<R: BufRead> Iterator for ExampleLines<R> {
    type Item = Result<ImportEntry<ImportedExample>, ImportError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.is_over {
            let entry = match self.read_line() {
                Ok(true) => self.entry(),
                Ok(false) => break,
                Err(error) => Some(Err(error)),
            };
            self.is_over = matches!(entry, Some(Err(_)));
            if entry.is_some() {
                return entry;
            }
        }
        self.is_over = true;
        None
    }
}

impl<R: BufRead> ExampleLines<R> {
    /// Reads a line; returns false at the end.
    fn read_line(&mut self) -> Result<bool, ImportError> {
        self.line += 1;
        self.bytes.clear();
        let mut some = self.reader.by_ref().take(LONGEST_LINE as u64 + 1);
        match some.read_until(b'\n', &mut self.bytes) {
            Ok(0) => Ok(false),
            Ok(size) if size > LONGEST_LINE => {
                Err(self.broken(format!("longer than {LONGEST_LINE} bytes: this is not a list of URLs")))
            }
            Ok(_) => Ok(true),
            Err(source) => Err(ImportError::Read { line: self.line, source }),
        }
    }

    /// Entry of the line; `None` if it is blank or a comment.
    fn entry(&self) -> Option<Result<ImportEntry<ImportedExample>, ImportError>> {
        let mut bytes = self.bytes.as_slice();
        steps::add(bytes.len());
        if self.line == 1 {
            bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        }
        let bytes = bytes.trim_ascii_end();
        if bytes.is_empty() || bytes.trim_ascii_start().starts_with(b"#") {
            return None;
        }
        let found = match self.format {
            LineFormat::Tsv => self.columns_entry(bytes),
            LineFormat::Json => self.json_entry(bytes),
        };
        Some(found.map(|found| found.map_or_else(ImportEntry::Problem, ImportEntry::Found)))
    }

    fn columns_entry(&self, line: &[u8]) -> Result<Result<ImportedExample, ImportProblem>, ImportError> {
        if !self.bytes.contains(&b'\t') {
            let text = String::from_utf8_lossy(line);
            if is_url_alone(&text) {
                return Ok(found(text.trim(), "/", String::new(), self.line));
            }
            let line = shown(&text);
            return Err(self.broken(format!("no tab in {line}: each line has to be a URL or url<TAB>topic")));
        }
        let Ok(text) = str::from_utf8(line) else {
            return Ok(Err(ImportProblem::new(self.line, "not UTF-8")));
        };
        let mut columns = text.split('\t').map(str::trim);
        let (page, topic) = (columns.next().unwrap_or(""), columns.next().unwrap_or(""));
        Ok(found(page, topic, String::new(), self.line))
    }

    fn json_entry(&self, line: &[u8]) -> Result<Result<ImportedExample, ImportProblem>, ImportError> {
        let example: JsonExample = serde_json::from_slice(line).map_err(|error| {
            self.broken(format!("{error}: each line has to be a JSON object with a url and a topic"))
        })?;
        let (topic, title) = (example.topic.unwrap_or_default(), example.title.unwrap_or_default());
        Ok(found(&example.url, &topic, tidy(&title), self.line))
    }

    fn broken(&self, what: String) -> ImportError {
        ImportError::broken(self.line, what)
    }
}

/// Whether a line is a URL and nothing else.
pub fn is_url_alone(line: &str) -> bool {
    let line = line.trim();
    let scheme = line.split_once("://").map_or("", |(scheme, _)| scheme);
    (scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https"))
        && !line.contains(char::is_whitespace)
}

fn found(page: &str, written: &str, title: String, number: u64) -> Result<ImportedExample, ImportProblem> {
    let url = url(page, number)?;
    if written.is_empty() {
        return Err(ImportProblem::new(number, format!("no topic for {}", shown(page))));
    }
    let names = written.split('/').map(str::trim).filter(|name| !name.is_empty());
    // Not repaired: an invalid name is probably another column.
    if let Some(bad) = names.clone().find(|name| !names::is_valid(name)) {
        return Err(ImportProblem::new(number, format!("{} is not a valid topic name", shown(bad))));
    }
    let path = names::TopicPath::of(names)
        .ok_or_else(|| ImportProblem::new(number, names::too_deep_message(written)))?;
    Ok(ImportedExample { url, topic: path.topic(), title })
}
