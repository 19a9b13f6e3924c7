//! Where examples are imported from: what a file is, and a stream of what it holds. A source can be read any
//! number of times, so that it is known to be whole before anything is made of it.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use flate2::bufread::MultiGzDecoder;
use porthole_topic::import::{self, DmozTopic, FoundFile, ImportEntry, ImportError, ImportedExample};
use porthole_types::CanonicalUrl;

use crate::cli::FormatWord;
use crate::documents::read_file;
use crate::output::misuse;

/// A file or folder with examples.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) format: Format,
}

/// What a file or folder holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Bookmarks,
    Tsv,
    Folder,
    DmozContent,
    /// Topics only.
    DmozStructure,
    /// Topics and what was learnt about them elsewhere.
    Taxonomy,
}

/// An example, before its page was read.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) page: PagePlace,
    /// A path that a taxonomy accepts.
    pub(crate) topic: String,
    pub(crate) title: String,
}

/// Where an example's page is.
#[derive(Clone, Debug)]
pub(crate) enum PagePlace {
    Url(CanonicalUrl),
    File(PathBuf),
}

/// What a source holds, one after the other.
pub(crate) type Items = Box<dyn Iterator<Item = Result<ImportEntry<Item>, ImportError>>>;

impl Source {
    /// A source of a format, or of the one that its content shows.
    pub(crate) fn open(path: &Path, format: Option<FormatWord>) -> anyhow::Result<Source> {
        let format = match format {
            Some(word) => Format::of(word),
            None => guess(path)?,
        };
        if path.is_dir() != (format == Format::Folder) {
            let is = if path.is_dir() { "a folder" } else { "no folder" };
            return Err(misuse(format!("{} is {is}, so it is no {}", path.display(), format.name())));
        }
        Ok(Source { path: path.to_owned(), format })
    }

    /// Its examples; none if it holds topics only.
    pub(crate) fn items(&self) -> anyhow::Result<Items> {
        Ok(match self.format {
            Format::Bookmarks => {
                let all = import::bookmarks(&read_file(&self.path)?)?;
                let problems = all.problems.into_iter().map(|problem| Ok(ImportEntry::Problem(problem)));
                Box::new(
                    problems.chain(all.found.into_iter().map(|found| Ok(ImportEntry::Found(item(found))))),
                )
            }
            Format::Tsv => Box::new(import::tsv(self.reader()?).map(|entry| entry.map(item_entry))),
            Format::DmozContent => {
                Box::new(import::dmoz_content(self.reader()?).map(|entry| entry.map(item_entry)))
            }
            Format::Folder => Box::new(self.files()?),
            Format::DmozStructure | Format::Taxonomy => Box::new(std::iter::empty()),
        })
    }

    /// The topics of the Open Directory's structure.
    pub(crate) fn topics(
        &self,
    ) -> anyhow::Result<impl Iterator<Item = Result<ImportEntry<DmozTopic>, ImportError>> + use<>> {
        Ok(import::dmoz_structure(self.reader()?))
    }

    fn reader(&self) -> anyhow::Result<Box<dyn BufRead>> {
        open(&self.path)
    }

    fn files(&self) -> anyhow::Result<impl Iterator<Item = Result<ImportEntry<Item>, ImportError>> + use<>> {
        let mut paths = Vec::new();
        list(&self.path, "", &mut paths).with_context(|| format!("cannot read {}", self.path.display()))?;
        let all = import::folder(&paths);
        let root = self.path.clone();
        let file = move |found: FoundFile| {
            let page = PagePlace::File(root.join(&found.path));
            Ok(ImportEntry::Found(Item { page, topic: found.topic, title: String::new() }))
        };
        let problems = all.problems.into_iter().map(|problem| Ok(ImportEntry::Problem(problem)));
        Ok(problems.chain(all.found.into_iter().map(file)))
    }
}

impl Format {
    fn of(word: FormatWord) -> Format {
        match word {
            FormatWord::Bookmarks => Format::Bookmarks,
            FormatWord::Tsv => Format::Tsv,
            FormatWord::Folder => Format::Folder,
            FormatWord::Dmoz => Format::DmozContent,
            FormatWord::DmozStructure => Format::DmozStructure,
        }
    }

    /// What it is, in words.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Format::Bookmarks => "bookmarks",
            Format::Tsv => "list of url<TAB>topic",
            Format::Folder => "folder of files",
            Format::DmozContent => "content of the Open Directory",
            Format::DmozStructure => "structure of the Open Directory",
            Format::Taxonomy => "taxonomy",
        }
    }
}

impl PagePlace {
    /// The name that the example gets.
    pub(crate) fn name(&self) -> String {
        match self {
            PagePlace::Url(url) => url.as_str().to_owned(),
            PagePlace::File(path) => path.to_string_lossy().into_owned(),
        }
    }
}

fn item(found: ImportedExample) -> Item {
    Item { page: PagePlace::Url(found.url), topic: found.topic, title: found.title }
}

fn item_entry(entry: ImportEntry<ImportedExample>) -> ImportEntry<Item> {
    match entry {
        ImportEntry::Found(found) => ImportEntry::Found(item(found)),
        ImportEntry::Problem(problem) => ImportEntry::Problem(problem),
    }
}

/// A file's text, unpacked if it is gzip.
fn open(path: &Path) -> anyhow::Result<Box<dyn BufRead>> {
    let cannot_open = || format!("cannot open {}", path.display());
    // Looked at before it is opened: to open a pipe may wait for ever.
    if !fs::metadata(path).with_context(cannot_open)?.is_file() {
        bail!("{} has to be a file: it is read more than once", path.display());
    }
    let file = File::open(path).with_context(cannot_open)?;
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let start = reader.fill_buf().with_context(|| format!("cannot read {}", path.display()))?;
    Ok(if start.starts_with(b"\x1f\x8b") {
        Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(reader)))
    } else {
        Box::new(reader)
    })
}

/// Bytes that tell what a file is.
const TELLING: u64 = 1 << 18;

fn guess(path: &Path) -> anyhow::Result<Format> {
    if path.is_dir() {
        return Ok(Format::Folder);
    }
    let mut start = Vec::new();
    let read = open(path)?.take(TELLING).read_to_end(&mut start);
    read.with_context(|| format!("cannot read {}", path.display()))?;
    if start.starts_with(b"WARC/") {
        return Err(misuse(format!(
            "{0} holds pages, but not what they are about: import a list of url<TAB>topic, with `--web {0}`",
            path.display()
        )));
    }
    format_of(&start).ok_or_else(|| {
        misuse(format!(
            "cannot tell what {} is: neither bookmarks, nor lines of url<TAB>topic, nor the Open Directory; \
             say it with --format",
            path.display()
        ))
    })
}

fn format_of(start: &[u8]) -> Option<Format> {
    if start.starts_with(b"PHTAXON\n") {
        return Some(Format::Taxonomy);
    }
    if start.contains(&0) {
        return None;
    }
    let text = String::from_utf8_lossy(start).to_ascii_lowercase();
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let has = |word: &str| text.contains(word);
    let is_markup = text.starts_with('<');
    if is_markup && has("<rdf") {
        let is_structure = !has("<externalpage")
            && ["<narrow", "<symbolic", "<related", "<lastupdate"].map(has).contains(&true);
        return Some(if is_structure { Format::DmozStructure } else { Format::DmozContent });
    }
    if is_markup && (has("netscape-bookmark-file") || has("<dl")) {
        return Some(Format::Bookmarks);
    }
    let mut lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    lines.next().filter(|line| !is_markup && line.contains('\t')).map(|_| Format::Tsv)
}

/// Folders one below the other that are gone into.
const DEEPEST: usize = 64;

/// The files below a folder, with `/` between the names, in the order of their names. Links to folders are not
/// followed: they may lead round. Pipes and devices are no files.
fn list(folder: &Path, prefix: &str, paths: &mut Vec<String>) -> std::io::Result<()> {
    if prefix.matches('/').count() > DEEPEST {
        return Ok(());
    }
    let mut entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() {
            list(&entry.path(), &format!("{prefix}{name}/"), paths)?;
        } else if fs::metadata(entry.path()).map_or(true, |found| found.is_file()) {
            paths.push(format!("{prefix}{name}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_known_by_its_first_bytes() {
        let check = |start: &str, format| assert_eq!(format_of(start.as_bytes()), format, "{start}");
        check("<!DOCTYPE NETSCAPE-Bookmark-file-1>\n", Some(Format::Bookmarks));
        check("\u{feff}<DL><p>", Some(Format::Bookmarks));
        check("# my links\n\nhttp://a.test/\t/Birds\n", Some(Format::Tsv));
        check("<?xml version='1.0'?><RDF><ExternalPage about=''>", Some(Format::DmozContent));
        check("<RDF><Topic r:id='Top'><narrow r:resource='Top/Arts'/>", Some(Format::DmozStructure));
        check("PHTAXON\nxyz", Some(Format::Taxonomy));
        check("http://a.test/ /Birds\n", None);
        check("<html><p>a\tb", None);
        check("a\0b\tc\n", None);
        check("", None);
    }
}
