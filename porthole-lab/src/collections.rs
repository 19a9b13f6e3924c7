//! The text collections that critics are measured on: topics and term counts of every document. They are not part of
//! the project; a folder holds them.

mod labels;
mod tar;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use porthole_page::{Extractor, Page};
use porthole_types::{CanonicalUrl, Headers, TermId};
use porthole_warc::{BLOCK_LIMIT, WarcError, WarcReader, WarcRecord};

use labels::Labels;
use tar::TarReader;

/// A labelled collection of documents.
#[derive(Clone, Debug)]
pub struct Collection {
    /// Name of the collection.
    pub name: &'static str,
    /// The paths of its topics, such as `/comp/graphics`, in the order of their names.
    pub topics: Vec<String>,
    /// Documents, always in the same order.
    pub documents: Vec<LabelledDocument>,
}

/// A labelled document.
#[derive(Clone, Debug)]
pub struct LabelledDocument {
    /// Its name in the collection: a path, or a URL.
    pub name: String,
    /// Indices of its topics in the collection; at least one.
    pub topics: Vec<u32>,
    /// Part of the collection that it belongs to, if the collection has parts: `train` or `test`, or the university.
    pub group: String,
    /// Number of occurrences of each term, ordered by term.
    pub counts: Vec<(TermId, u32)>,
    /// The text, if requested.
    pub text: Option<Vec<u8>>,
}

/// Whether to keep the text of documents besides the counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepText {
    /// Counts only.
    Counts,
    /// Counts and text.
    Text,
}

/// Errors of reading a collection.
#[derive(Debug, thiserror::Error)]
pub enum CollectionError {
    /// The folder does not have the collection.
    #[error("there is no {}; `--corpora` names the folder of the collections", path.display())]
    Missing {
        /// The missing file.
        path: PathBuf,
    },
    /// A file could not be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The I/O error, or the problem with the archive.
        source: io::Error,
    },
    /// A file of pages is damaged.
    #[error("{}: {source}", path.display())]
    Warc {
        /// The file.
        path: PathBuf,
        /// The problem.
        source: WarcError,
    },
    /// A label line is invalid.
    #[error("{}, line {line}: {what}", path.display())]
    Label {
        /// The file of labels.
        path: PathBuf,
        /// Line number from 1.
        line: usize,
        /// The problem.
        what: &'static str,
    },
}

type Result<T> = std::result::Result<T, CollectionError>;

/// The classes of WebKB that experiments use; the other three are too small, or a remainder.
pub const WEBKB_CLASSES: [&str; 4] = ["/course", "/faculty", "/project", "/student"];

/// The universities of WebKB that are held out in turn. All other pages are always trained on.
pub const WEBKB_UNIVERSITIES: [&str; 4] = ["cornell", "texas", "washington", "wisconsin"];

impl Collection {
    /// 20 Newsgroups in its `bydate` split: articles with their headers, in the groups `train` and `test`.
    pub fn newsgroups20(corpora: &Path, keep: KeepText) -> Result<Self> {
        let path = corpora.join("newsgroups20.tar.zst");
        let unreadable = |source| CollectionError::Read { path: path.clone(), source };
        let archive = zstd::Decoder::new(open(&path)?).map_err(unreadable)?;
        let articles = TarReader::new(archive).filter_map(|file| match file {
            Ok((name, bytes)) => Article::of(&name).map(|article| Ok((article, bytes))),
            Err(source) => Some(Err(unreadable(source))),
        });
        let found = in_parallel(articles, |extractor, (article, bytes)| {
            let page = extractor.extract(&no_url(), &plain_text(), &bytes);
            (vec![article.topic], document(article.name, article.group, &page, bytes, keep))
        })?;
        Ok(collection("20 Newsgroups", found))
    }

    /// WebKB: pages of computer science departments; the group is the university. All seven classes; see
    /// [`WEBKB_CLASSES`] and [`Collection::only`].
    pub fn webkb(corpora: &Path, keep: KeepText) -> Result<Self> {
        Collection::labelled("WebKB", corpora, "webkb", keep)
    }

    /// The 2007 Wikipedia selection for schools: pages with one or more topics each, a tree of two and three
    /// levels. The group is empty.
    pub fn schools(corpora: &Path, keep: KeepText) -> Result<Self> {
        Collection::labelled("Schools", corpora, "schools", keep)
    }

    /// The collection restricted to these topics: documents about others are dropped, and other topics of the remaining
    /// documents are removed.
    pub fn only(self, topics: &[&str]) -> Self {
        let is_left = |topic: &String| topics.contains(&topic.as_str());
        self.renamed(|topic| is_left(topic).then(|| topic.clone()))
    }

    /// The collection with every topic replaced by its top level: `/Science/Biology` becomes `/Science`.
    pub fn top(self) -> Self {
        self.renamed(|topic| {
            let end = topic[1..].find('/').map_or(topic.len(), |slash| slash + 1);
            Some(topic[..end].to_owned())
        })
    }

    fn labelled(name: &'static str, corpora: &Path, file: &str, keep: KeepText) -> Result<Self> {
        let labels = Labels::read(&corpora.join(format!("{file}.labels.tsv")))?;
        let path = corpora.join(format!("{file}.warc.gz"));
        let damaged = |source| CollectionError::Warc { path: path.clone(), source };
        let records = WarcReader::new(open(&path)?).filter_map(|record| match record {
            Ok(record) => labels.get(record_url(&record)).map(|label| Ok((label, record))),
            Err(source) => Some(Err(damaged(source))),
        });
        let found = in_parallel(records, |extractor, (label, record)| {
            let http = record.http(BLOCK_LIMIT).map_err(damaged)?;
            let url = CanonicalUrl::parse(record_url(&record)).unwrap_or_else(|_| no_url());
            let page = extractor.extract(&url, &http.headers, &http.body);
            let name = record_url(&record).to_owned();
            Ok((label.topics.clone(), document(name, label.group.clone(), &page, http.body, keep)))
        })?;
        Ok(collection(name, found.into_iter().collect::<Result<_>>()?))
    }

    /// Renames topics; several may get the same path. A topic without a new path is dropped, and so are documents
    /// without a topic.
    fn renamed(self, rename: impl Fn(&String) -> Option<String>) -> Self {
        let paths: Vec<_> = self.topics.iter().map(rename).collect();
        let found = self.documents.into_iter().filter_map(|document| {
            let topics: Vec<_> =
                document.topics.iter().filter_map(|&topic| paths[topic as usize].clone()).collect();
            (!topics.is_empty()).then_some((topics, document))
        });
        collection(self.name, found.collect())
    }
}

/// A file of 20 Newsgroups: `newsgroups20/20news-bydate-train/comp.graphics/37261`.
struct Article {
    name: String,
    group: String,
    topic: String,
}

impl Article {
    fn of(path: &str) -> Option<Self> {
        let mut parts = path.rsplit('/');
        let (number, newsgroup, split) = (parts.next()?, parts.next()?, parts.next()?);
        let group = split.strip_prefix("20news-bydate-")?.to_owned();
        let topic = format!("/{}", newsgroup.replace('.', "/"));
        Some(Article { name: format!("{newsgroup}/{number}"), group, topic })
    }
}

fn document(name: String, group: String, page: &Page, bytes: Vec<u8>, keep: KeepText) -> LabelledDocument {
    let text = (keep == KeepText::Text).then_some(bytes);
    LabelledDocument { name, topics: Vec::new(), group, counts: page.term_counts(), text }
}

/// Numbers the topics in the order of their paths.
fn collection(name: &'static str, found: Vec<(Vec<String>, LabelledDocument)>) -> Collection {
    let mut topics: Vec<_> = found.iter().flat_map(|(paths, _)| paths).cloned().collect();
    topics.sort_unstable();
    topics.dedup();
    let numbers: HashMap<&str, u32> = topics.iter().map(String::as_str).zip(0..).collect();
    let numbered = found.into_iter().map(|(paths, mut document)| {
        document.topics = paths.iter().map(|path| numbers[path.as_str()]).collect();
        document.topics.sort_unstable();
        document.topics.dedup();
        document
    });
    let documents = numbered.collect();
    Collection { name, topics, documents }
}

/// Processes all items on all cores, and returns the results in the order of the items.
fn in_parallel<T, U: Send>(
    items: impl Iterator<Item = Result<T>> + Send,
    work: impl Fn(&mut Extractor, T) -> U + Sync,
) -> Result<Vec<U>> {
    let items = Mutex::new(items.enumerate());
    // A closure, so that the lock is released while the item is processed.
    let next = || items.lock().expect("no reader has panicked").next();
    let worker = || {
        let mut extractor = Extractor::default();
        let mut done = Vec::new();
        while let Some((at, item)) = next() {
            done.push((at, item.map(|item| work(&mut extractor, item))));
        }
        done
    };
    let mut done: Vec<_> = thread::scope(|scope| {
        let count = thread::available_parallelism().map_or(1, usize::from);
        let threads: Vec<_> = (0..count).map(|_| scope.spawn(worker)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no worker has panicked")).collect()
    });
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, answer)| answer).collect()
}

fn open(path: &Path) -> Result<File> {
    File::open(path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => CollectionError::Missing { path: path.into() },
        _ => CollectionError::Read { path: path.into(), source },
    })
}

fn record_url(record: &WarcRecord) -> &str {
    if record.is_http_response() { record.target().unwrap_or_default() } else { "" }
}

/// Text has no links, so its URL does not matter.
fn no_url() -> CanonicalUrl {
    CanonicalUrl::parse("http://localhost/").expect("a URL")
}

fn plain_text() -> Headers {
    [("Content-Type", "text/plain")].into_iter().collect()
}
