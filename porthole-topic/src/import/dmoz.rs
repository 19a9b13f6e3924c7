//! The Open Directory (DMOZ): `content.rdf.u8`, its pages, and `structure.rdf.u8`, its topics. Gigabytes of XML, so
//! they are read record by record.

use std::io::{self, BufRead};

use porthole_page::steps;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::scrub::{LONGEST_RECORD, Scrub};
use super::{Entry, Found, ImportError, Problem, names, shown, tidy, url};
use crate::DEEPEST;

/// Examples from the directory's pages: `content.rdf.u8`, not compressed.
///
/// The `Top` in front of all topics is taken away. There may be more topics than a taxonomy can hold: gather them in a
/// [`super::Directory`] and prune that.
///
/// A file that is not well-formed XML, that ends too early, whose root is not `RDF`, or with a record longer than
/// 16 MiB is broken. Left out one by one: pages that have no http or https URL, or no topic. Bytes that are not UTF-8 and
/// control characters, of which the historic files have some, are replaced, and that is told; so are ampersands that
/// stand for themselves, in silence. Memory is bounded by a record.
pub fn dmoz_content<R: BufRead>(reader: R) -> DmozContent<R> {
    DmozContent { records: Records::new(reader), topic: None }
}

/// Topics from the directory's tree: `structure.rdf.u8`, not compressed. Links to other places in the tree (symbolic,
/// related, in other languages) are not read. For what is broken see [`dmoz_content`].
pub fn dmoz_structure<R: BufRead>(reader: R) -> DmozStructure<R> {
    DmozStructure { records: Records::new(reader) }
}

/// What [`dmoz_content`] reads.
pub struct DmozContent<R> {
    records: Records<R>,
    /// The topic whose pages follow, as written.
    topic: Option<String>,
}

/// What [`dmoz_structure`] reads.
pub struct DmozStructure<R> {
    records: Records<R>,
}

/// A topic of the directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DmozTopic {
    /// A path that a [`crate::Taxonomy`] accepts, without the `Top`.
    pub topic: String,
    /// The directory's number for it.
    pub catid: Option<u64>,
    /// The paths of the topics right below it: `narrow`, `narrow1`, `narrow2`.
    pub narrow: Vec<String>,
}

impl<R: BufRead> Iterator for DmozContent<R> {
    type Item = Result<Entry<Found>, ImportError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let record = match self.records.next()? {
                Ok(Entry::Found(record)) => record,
                Ok(Entry::Problem(problem)) => return Some(Ok(problem.into())),
                Err(error) => return Some(Err(error)),
            };
            match record.kind {
                Kind::Topic => self.topic = record.key,
                Kind::Page => {
                    let found = page(record, self.topic.as_deref());
                    return Some(Ok(found.map_or_else(Entry::Problem, Entry::Found)));
                }
            }
        }
    }
}

impl<R: BufRead> Iterator for DmozStructure<R> {
    type Item = Result<Entry<DmozTopic>, ImportError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            return match self.records.next()? {
                Ok(Entry::Found(Record { kind: Kind::Page, .. })) => continue,
                Ok(Entry::Found(record)) => Some(Ok(topic(record).map_or_else(Entry::Problem, Entry::Found))),
                Ok(Entry::Problem(problem)) => Some(Ok(problem.into())),
                Err(error) => Some(Err(error)),
            };
        }
    }
}

fn page(record: Record, above: Option<&str>) -> Result<Found, Problem> {
    let Record { key, line, fields, .. } = record;
    let address = key.ok_or_else(|| Problem::new(line, "a page without an address"))?;
    let url = url(&address, line)?;
    let (mut title, mut topic) = (String::new(), None);
    for (field, value) in fields {
        match field {
            Field::Title => title = tidy(&value),
            Field::Topic => topic = Some(value),
            Field::Catid | Field::Narrow => {}
        }
    }
    // Older files name the topic only before its pages.
    let Some(topic) = topic.as_deref().or(above) else {
        return Err(Problem::new(line, format!("no topic for {}", shown(&address))));
    };
    Ok(Found { url, topic: topic_path(topic, line)?, title })
}

fn topic(record: Record) -> Result<DmozTopic, Problem> {
    let Record { key, line, fields, .. } = record;
    let id = key.ok_or_else(|| Problem::new(line, "a topic without an id"))?;
    let (mut catid, mut narrow) = (None, Vec::new());
    for (field, value) in fields {
        match field {
            Field::Catid => catid = value.trim().parse().ok(),
            Field::Narrow => narrow.push(topic_path(&value, line)?),
            Field::Title | Field::Topic => {}
        }
    }
    Ok(DmozTopic { topic: topic_path(&id, line)?, catid, narrow })
}

/// `Top/Arts/Movies` as `/Arts/Movies`.
fn topic_path(written: &str, line: u64) -> Result<String, Problem> {
    let mut parts = written.trim().split('/').filter(|name| !name.is_empty()).peekable();
    parts.next_if_eq(&"Top");
    let path = names::TopicPath::of(parts).ok_or_else(|| Problem::new(line, names::too_deep(written)))?;
    Ok(path.topic())
}

/// An element right below the root.
struct Record {
    kind: Kind,
    /// A page's address or a topic's id.
    key: Option<String>,
    fields: Vec<(Field, String)>,
    line: u64,
}

#[derive(Clone, Copy)]
enum Kind {
    Page,
    Topic,
}

#[derive(Clone, Copy)]
enum Field {
    Title,
    Topic,
    Catid,
    Narrow,
}

/// Cuts a file into records.
struct Records<R> {
    xml: Reader<Scrub<R>>,
    buffer: Vec<u8>,
    /// Elements that are open: the root, a record, a field.
    depth: usize,
    has_root: bool,
    record: Option<Record>,
    /// The field that is open, and its value as far as it was read.
    field: Option<(Field, String)>,
    is_over: bool,
}

impl<R: BufRead> Iterator for Records<R> {
    type Item = Result<Entry<Record>, ImportError>;

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

    fn read(&mut self) -> Result<Option<Entry<Record>>, ImportError> {
        // Apart from `self` while an event borrows it.
        let mut buffer = std::mem::take(&mut self.buffer);
        let entry = loop {
            if let Some(change) = self.xml.get_mut().next_change() {
                break Some(change.into());
            }
            buffer.clear();
            let done = match self.xml.read_event_into(&mut buffer) {
                Ok(Event::Eof) => {
                    self.check_end()?;
                    break self.xml.get_mut().next_change().map(Entry::Problem);
                }
                Ok(event) => self.event(&event)?,
                Err(error) => return Err(self.broken_by(error)),
            };
            if let Some(record) = done {
                break Some(Entry::Found(record));
            }
        };
        self.buffer = buffer;
        Ok(entry)
    }

    /// Takes an event in; gives the record that it ends.
    fn event(&mut self, event: &Event<'_>) -> Result<Option<Record>, ImportError> {
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
            return Err(self.broken("something follows the end of the document"));
        }
        if name != "RDF" {
            let root = shown(name);
            return Err(self.broken(format!("no file of the Open Directory: its root is {root}, not RDF")));
        }
        self.has_root = true;
        Ok(())
    }

    fn start_record(&mut self, name: &str, tag: &BytesStart<'_>) {
        self.xml.get_mut().start_record();
        let (kind, key) = match name {
            "ExternalPage" => (Kind::Page, attribute(tag, "about")),
            "Topic" => (Kind::Topic, attribute(tag, "id")),
            _ => return,
        };
        self.record = Some(Record { kind, key, fields: Vec::new(), line: self.line() });
    }

    fn start_field(&mut self, name: &str, tag: &BytesStart<'_>) {
        let Some(record) = &self.record else { return };
        self.field = match (record.kind, name) {
            (Kind::Page, "Title") => Some((Field::Title, String::new())),
            (Kind::Page, "topic") => Some((Field::Topic, String::new())),
            (Kind::Topic, "catid") => Some((Field::Catid, String::new())),
            (Kind::Topic, "narrow" | "narrow1" | "narrow2") => {
                attribute(tag, "resource").map(|value| (Field::Narrow, value))
            }
            _ => None,
        };
    }

    fn text(&mut self, push: impl FnOnce(&mut String)) {
        if let Some((Field::Title | Field::Topic | Field::Catid, value)) = &mut self.field {
            push(value);
        }
    }

    fn end(&mut self) -> Option<Record> {
        self.depth -= 1;
        match (self.depth, &mut self.record) {
            (2, Some(record)) => {
                let (field, value) = self.field.take()?;
                let value = if matches!(field, Field::Narrow) {
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
            return Err(self.broken("no file of the Open Directory: it has no RDF element"));
        }
        if self.depth > 0 {
            return Err(self.broken("the file ends in the middle: it was cut; get it again"));
        }
        Ok(())
    }

    fn broken_by(&self, error: quick_xml::Error) -> ImportError {
        match error {
            _ if self.xml.get_ref().is_too_long() => {
                let most = LONGEST_RECORD >> 20;
                self.broken(format!(
                    "no record ends within {most} MiB: this is no file of the Open Directory"
                ))
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

/// The value of an attribute, whatever its prefix: files differ in `about` and `r:about`.
fn attribute(tag: &BytesStart<'_>, wanted: &str) -> Option<String> {
    let mut attributes = tag.attributes();
    let found = attributes
        .with_checks(false)
        .flatten()
        .find(|attribute| attribute.key.local_name().as_ref() == wanted)?;
    Some(htmlize::unescape_attribute(found.value).into_owned())
}
