//! The Open Directory (DMOZ): `content.rdf.u8` with its pages, `structure.rdf.u8` with its topics. The files have
//! gigabytes of XML, so they are read record by record.

use std::io::{self, BufRead};

use porthole_page::steps;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::scrub::{LONGEST_RECORD, Scrub};
use super::{ImportEntry, ImportError, ImportProblem, ImportedExample, names, shown, tidy, url};
use crate::DEEPEST;

/// Examples from the directory's pages: `content.rdf.u8`, uncompressed.
///
/// The leading `Top` of all topics is removed. There may be more topics than a taxonomy can hold: collect them in a
/// [`super::Directory`] and prune that.
///
/// An error is returned for a file that is not well-formed XML, that ends too early, whose root is not `RDF`, or with a
/// record longer than 16 MiB. Skipped with a problem: pages without an http or https URL, or without a topic. Bytes
/// that are not UTF-8 and control characters, which the historic files contain, are replaced, and a problem is
/// reported; unescaped ampersands are accepted silently. Memory is bounded by a record.
pub fn dmoz_content<R: BufRead>(reader: R) -> DmozContent<R> {
    DmozContent { records: Records::new(reader), topic: None }
}

/// Topics from the directory's tree: `structure.rdf.u8`, uncompressed. Links to other places in the tree (symbolic,
/// related, in other languages) are ignored. For errors see [`dmoz_content`].
pub fn dmoz_structure<R: BufRead>(reader: R) -> DmozStructure<R> {
    DmozStructure { records: Records::new(reader) }
}

/// Iterator of [`dmoz_content`].
pub struct DmozContent<R> {
    records: Records<R>,
    /// The topic whose pages follow, as written.
    topic: Option<String>,
}

/// Iterator of [`dmoz_structure`].
pub struct DmozStructure<R> {
    records: Records<R>,
}

/// A topic of the directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DmozTopic {
    /// A path that a [`crate::Taxonomy`] accepts, without the `Top`.
    pub topic: String,
    /// Id of the topic in the directory.
    pub catid: Option<u64>,
    /// Paths of its child topics: `narrow`, `narrow1`, `narrow2`.
    pub narrow: Vec<String>,
}

impl<R: BufRead> Iterator for DmozContent<R> {
    type Item = Result<ImportEntry<ImportedExample>, ImportError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let record = match self.records.next()? {
                Ok(ImportEntry::Found(record)) => record,
                Ok(ImportEntry::Problem(problem)) => return Some(Ok(problem.into())),
                Err(error) => return Some(Err(error)),
            };
            match record.kind {
                RdfElement::Topic => self.topic = record.key,
                RdfElement::Page => {
                    let found = page(record, self.topic.as_deref());
                    return Some(Ok(found.map_or_else(ImportEntry::Problem, ImportEntry::Found)));
                }
            }
        }
    }
}

impl<R: BufRead> Iterator for DmozStructure<R> {
    type Item = Result<ImportEntry<DmozTopic>, ImportError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            return match self.records.next()? {
                Ok(ImportEntry::Found(RdfRecord { kind: RdfElement::Page, .. })) => continue,
                Ok(ImportEntry::Found(record)) => {
                    Some(Ok(topic(record).map_or_else(ImportEntry::Problem, ImportEntry::Found)))
                }
                Ok(ImportEntry::Problem(problem)) => Some(Ok(problem.into())),
                Err(error) => Some(Err(error)),
            };
        }
    }
}

fn page(record: RdfRecord, above: Option<&str>) -> Result<ImportedExample, ImportProblem> {
    let RdfRecord { key, line, fields, .. } = record;
    let address = key.ok_or_else(|| ImportProblem::new(line, "a page without an address"))?;
    let url = url(&address, line)?;
    let (mut title, mut topic) = (String::new(), None);
    for (field, value) in fields {
        match field {
            RdfField::Title => title = tidy(&value),
            RdfField::Topic => topic = Some(value),
            RdfField::Catid | RdfField::Narrow => {}
        }
    }
    // Older files name the topic only once, before its pages.
    let Some(topic) = topic.as_deref().or(above) else {
        return Err(ImportProblem::new(line, format!("no topic for {}", shown(&address))));
    };
    Ok(ImportedExample { url, topic: topic_path(topic, line)?, title })
}

fn topic(record: RdfRecord) -> Result<DmozTopic, ImportProblem> {
    let RdfRecord { key, line, fields, .. } = record;
    let id = key.ok_or_else(|| ImportProblem::new(line, "a topic without an id"))?;
    let (mut catid, mut narrow) = (None, Vec::new());
    for (field, value) in fields {
        match field {
            RdfField::Catid => catid = value.trim().parse().ok(),
            RdfField::Narrow => narrow.push(topic_path(&value, line)?),
            RdfField::Title | RdfField::Topic => {}
        }
    }
    Ok(DmozTopic { topic: topic_path(&id, line)?, catid, narrow })
}

/// Converts `Top/Arts/Movies` to `/Arts/Movies`.
fn topic_path(written: &str, line: u64) -> Result<String, ImportProblem> {
    let mut parts = written.trim().split('/').filter(|name| !name.is_empty()).peekable();
    parts.next_if_eq(&"Top");
    let path = names::TopicPath::of(parts)
        .ok_or_else(|| ImportProblem::new(line, names::too_deep_message(written)))?;
    Ok(path.topic())
}

/// A child element of the root.
struct RdfRecord {
    kind: RdfElement,
    /// A page's address or a topic's id.
    key: Option<String>,
    fields: Vec<(RdfField, String)>,
    line: u64,
}

#[derive(Clone, Copy)]
enum RdfElement {
    Page,
    Topic,
}

#[derive(Clone, Copy)]
enum RdfField {
    Title,
    Topic,
    Catid,
    Narrow,
}

/// Splits a file into records.
struct Records<R> {
    xml: Reader<Scrub<R>>,
    buffer: Vec<u8>,
    /// Number of open elements: the root, a record, a field.
    depth: usize,
    has_root: bool,
    record: Option<RdfRecord>,
    /// The open field, and its text so far.
    field: Option<(RdfField, String)>,
    is_over: bool,
}

impl<R: BufRead> Iterator for Records<R> {
    type Item = Result<ImportEntry<RdfRecord>, ImportError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let entry = self.read().transpose();
        self.is_over = !matches!(entry, Some(Ok(_)));
        entry
    }
}

impl<R: BufRead> Records<R> {
    fn new(reader: R) -> Self {
        let mut xml = Reader::from_reader(Scrub::new(reader));
        xml.config_mut().allow_dangling_amp = true;
        Records {
            xml,
            buffer: Vec::new(),
            depth: 0,
            has_root: false,
            record: None,
            field: None,
            is_over: false,
        }
    }

    fn read(&mut self) -> Result<Option<ImportEntry<RdfRecord>>, ImportError> {
        // Taken out of `self` because the event borrows it.
        let mut buffer = std::mem::take(&mut self.buffer);
        let entry = loop {
            if let Some(change) = self.xml.get_mut().next_change() {
                break Some(change.into());
            }
            buffer.clear();
            let done = match self.xml.read_event_into(&mut buffer) {
                Ok(Event::Eof) => {
                    self.check_end()?;
                    break self.xml.get_mut().next_change().map(ImportEntry::Problem);
                }
                Ok(event) => self.event(&event)?,
                Err(error) => return Err(self.xml_error(error)),
            };
            if let Some(record) = done {
                break Some(ImportEntry::Found(record));
            }
        };
        self.buffer = buffer;
        Ok(entry)
    }

    /// Handles an event; returns the record that it completes.
    fn event(&mut self, event: &Event<'_>) -> Result<Option<RdfRecord>, ImportError> {
        steps::add(1 + event.len());
        match event {
            Event::Start(tag) => self.start(tag)?,
            Event::End(_) => return Ok(self.end()),
            Event::Empty(tag) => {
                self.start(tag)?;
                return Ok(self.end());
            }
            Event::Text(text) => self.text(|value| value.push_str(text)),
            Event::CData(text) => self.text(|value| value.push_str(&text.replace('&', "&amp;"))),
            Event::GeneralRef(name) => self.text(|value| {
                value.push('&');
                value.push_str(name);
                value.push(';');
            }),
            _ => {}
        }
        Ok(None)
    }

    fn start(&mut self, tag: &BytesStart<'_>) -> Result<(), ImportError> {
        let name = tag.local_name();
        match self.depth {
            0 => self.root(name.as_ref())?,
            1 => self.start_record(name.as_ref(), tag),
            2 => self.start_field(name.as_ref(), tag),
            DEEPEST => return Err(self.broken(format!("more than {DEEPEST} elements inside each other"))),
            _ => {}
        }
        self.depth += 1;
        Ok(())
    }

    fn root(&mut self, name: &str) -> Result<(), ImportError> {
        if self.has_root {
            return Err(self.broken("unexpected content after the end of the document"));
        }
        if name != "RDF" {
            let root = shown(name);
            return Err(self.broken(format!("not an Open Directory file: its root is {root}, not RDF")));
        }
        self.has_root = true;
        Ok(())
    }

    fn start_record(&mut self, name: &str, tag: &BytesStart<'_>) {
        self.xml.get_mut().start_record();
        let (kind, key) = match name {
            "ExternalPage" => (RdfElement::Page, attribute(tag, "about")),
            "Topic" => (RdfElement::Topic, attribute(tag, "id")),
            _ => return,
        };
        self.record = Some(RdfRecord { kind, key, fields: Vec::new(), line: self.line() });
    }

    fn start_field(&mut self, name: &str, tag: &BytesStart<'_>) {
        let Some(record) = &self.record else { return };
        self.field = match (record.kind, name) {
            (RdfElement::Page, "Title") => Some((RdfField::Title, String::new())),
            (RdfElement::Page, "topic") => Some((RdfField::Topic, String::new())),
            (RdfElement::Topic, "catid") => Some((RdfField::Catid, String::new())),
            (RdfElement::Topic, "narrow" | "narrow1" | "narrow2") => {
                attribute(tag, "resource").map(|value| (RdfField::Narrow, value))
            }
            _ => None,
        };
    }

    fn text(&mut self, push: impl FnOnce(&mut String)) {
        if let Some((RdfField::Title | RdfField::Topic | RdfField::Catid, value)) = &mut self.field {
            push(value);
        }
    }

    fn end(&mut self) -> Option<RdfRecord> {
        self.depth -= 1;
        match (self.depth, &mut self.record) {
            (2, Some(record)) => {
                let (field, value) = self.field.take()?;
                let value = if matches!(field, RdfField::Narrow) {
                    value
                } else {
                    htmlize::unescape(value).into_owned()
                };
                record.fields.push((field, value));
                None
            }
            (1, _) => {
                self.xml.get_mut().start_record();
                self.record.take()
            }
            _ => None,
        }
    }

    fn check_end(&self) -> Result<(), ImportError> {
        if !self.has_root {
            return Err(self.broken("not an Open Directory file: it has no RDF element"));
        }
        if self.depth > 0 {
            return Err(self.broken("the file ends in the middle: it was cut; get it again"));
        }
        Ok(())
    }

    fn xml_error(&self, error: quick_xml::Error) -> ImportError {
        match error {
            _ if self.xml.get_ref().is_too_long() => {
                let most = LONGEST_RECORD >> 20;
                self.broken(format!("no record ends within {most} MiB: this is not an Open Directory file"))
            }
            quick_xml::Error::Io(error) => {
                let source = io::Error::new(error.kind(), error.to_string());
                ImportError::Read { line: self.line(), source }
            }
            error => self.broken(format!("not well-formed XML: {error}")),
        }
    }

    fn broken(&self, what: impl Into<String>) -> ImportError {
        ImportError::broken(self.line(), what)
    }

    fn line(&self) -> u64 {
        self.xml.get_ref().line()
    }
}

/// Value of an attribute with any prefix: files differ in `about` and `r:about`.
fn attribute(tag: &BytesStart<'_>, wanted: &str) -> Option<String> {
    let mut attributes = tag.attributes();
    let found = attributes
        .with_checks(false)
        .flatten()
        .find(|attribute| attribute.key.local_name().as_ref() == wanted)?;
    Some(htmlize::unescape_attribute(found.value).into_owned())
}
