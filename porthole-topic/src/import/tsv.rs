//! Lists of `url<TAB>topic`: the simplest format for examples, and for the labels of a WARC file's pages.

use std::io::{BufRead, Read};

use porthole_page::steps;

use super::{ImportEntry, ImportError, ImportProblem, ImportedExample, names, shown, url};

/// Examples from lines of `url<TAB>topic`.
///
/// Ignored: further columns, blank lines, lines that start with `#`, and a byte order mark. A page may occur several
/// times with different topics. Memory is bounded by a line.
///
/// A line without a tab or longer than 64 KiB is an error for the whole file. Skipped with a problem: lines without an
/// http or https URL, lines that are not UTF-8, and topics without a name or with an invalid name.
pub fn tsv<R: BufRead>(reader: R) -> Tsv<R> {
    Tsv { reader, bytes: Vec::new(), line: 0, is_over: false }
}

/// Iterator of [`tsv`].
#[derive(Debug)]
pub struct Tsv<R> {
    reader: R,
    bytes: Vec<u8>,
    line: u64,
    is_over: bool,
}

/// Maximum length of a line in bytes.
const LONGEST_LINE: usize = 1 << 16;

impl<R: BufRead> Iterator for Tsv<R> {
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

impl<R: BufRead> Tsv<R> {
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
        if !self.bytes.contains(&b'\t') {
            let line = shown(&String::from_utf8_lossy(bytes));
            return Some(Err(self.broken(format!("no tab in {line}: each line has to be url<TAB>topic"))));
        }
        let found = match str::from_utf8(bytes) {
            Ok(text) => found(text, self.line),
            Err(_) => Err(ImportProblem::new(self.line, "not UTF-8")),
        };
        Some(Ok(found.map_or_else(ImportEntry::Problem, ImportEntry::Found)))
    }

    fn broken(&self, what: String) -> ImportError {
        ImportError::broken(self.line, what)
    }
}

fn found(line: &str, number: u64) -> Result<ImportedExample, ImportProblem> {
    let mut columns = line.split('\t').map(str::trim);
    let (page, written) = (columns.next().unwrap_or(""), columns.next().unwrap_or(""));
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
    Ok(ImportedExample { url, topic: path.topic(), title: String::new() })
}
