//! Lists of `url<TAB>topic`: the plainest way to write examples down, and the labels of a WARC file's pages.

use std::io::{BufRead, Read};

use porthole_page::steps;

use super::{Entry, Found, ImportError, Problem, names, shown, url};

/// Examples from lines of `url<TAB>topic`.
///
/// Further columns are not read; nor are blank lines, lines that start with `#`, and a byte order mark. A page may
/// come several times with several topics. Memory is bounded by a line.
///
/// A line without a tab, or one longer than 64 KiB, breaks the file: it is something else. Left out one by one:
/// what is no http or https URL, a line that is not UTF-8, a topic without a name or with one that no topic can have.
pub fn tsv<R: BufRead>(reader: R) -> Tsv<R> {
    Tsv { reader, bytes: Vec::new(), line: 0, is_over: false }
}

/// What [`tsv`] reads.
#[derive(Debug)]
pub struct Tsv<R> {
    reader: R,
    bytes: Vec<u8>,
    line: u64,
    is_over: bool,
}

/// Bytes of a line.
const LONGEST_LINE: usize = 1 << 16;

impl<R: BufRead> Iterator for Tsv<R> {
    type Item = Result<Entry<Found>, ImportError>;

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
    /// Reads a line; false at the end.
    fn read_line(&mut self) -> Result<bool, ImportError> {
        self.line += 1;
        self.bytes.clear();
        let mut some = self.reader.by_ref().take(LONGEST_LINE as u64 + 1);
        match some.read_until(b'\n', &mut self.bytes) {
            Ok(0) => Ok(false),
            Ok(size) if size > LONGEST_LINE => {
                Err(self.broken(format!("longer than {LONGEST_LINE} bytes: this is no list of URLs")))
            }
            Ok(_) => Ok(true),
            Err(source) => Err(ImportError::Read { line: self.line, source }),
        }
    }

    /// What the line says; nothing if it is blank or a comment.
    fn entry(&self) -> Option<Result<Entry<Found>, ImportError>> {
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
            Err(_) => Err(Problem::new(self.line, "not UTF-8")),
        };
        Some(Ok(found.map_or_else(Entry::Problem, Entry::Found)))
    }

    fn broken(&self, what: String) -> ImportError {
        ImportError::broken(self.line, what)
    }
}

fn found(line: &str, number: u64) -> Result<Found, Problem> {
    let mut columns = line.split('\t').map(str::trim);
    let (page, written) = (columns.next().unwrap_or(""), columns.next().unwrap_or(""));
    let url = url(page, number)?;
    if written.is_empty() {
        return Err(Problem::new(number, format!("no topic for {}", shown(page))));
    }
    let names = written.split('/').map(str::trim).filter(|name| !name.is_empty());
    // Not mended: a name that is so wrong is probably another column.
    if let Some(bad) = names.clone().find(|name| !names::is_legal(name)) {
        return Err(Problem::new(number, format!("{} is no name for a topic", shown(bad))));
    }
    let path = names::TopicPath::of(names).ok_or_else(|| Problem::new(number, names::too_deep(written)))?;
    Ok(Found { url, topic: path.topic(), title: String::new() })
}
