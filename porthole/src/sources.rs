//! Sources of examples: detects the format of a file, and iterates over its entries. A source can be read several
//! times, so that it is checked before anything is imported.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use flate2::bufread::MultiGzDecoder;
use porthole_topic::import::{self, DmozTopic, FoundFile, ImportEntry, ImportError, ImportedExample};
use porthole_types::{CanonicalUrl, UrlError};

use crate::cli::FormatWord;
use crate::documents::read_file;
use crate::output::{misuse, plain};

/// A file or folder with examples.
#[derive(Clone, Debug)]
pub(crate) struct ExampleSource {
    pub(crate) path: PathBuf,
    pub(crate) format: SourceFormat,
}

/// Format of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SourceFormat {
    Bookmarks,
    Tsv,
    Jsonl,
    Folder,
    DmozContent,
    /// Topics without examples.
    DmozStructure,
    /// Topics with trained statistics.
    Taxonomy,
}

/// An example before its page is read.
#[derive(Clone, Debug)]
pub(crate) struct SourceExample {
    pub(crate) page: PagePlace,
    /// A valid topic path.
    pub(crate) topic: String,
    pub(crate) title: String,
}

/// Location of an example's page.
#[derive(Clone, Debug)]
pub(crate) enum PagePlace {
    Url(CanonicalUrl),
    File(PathBuf),
}

/// Iterator over the entries of a source.
pub(crate) type Items = Box<dyn Iterator<Item = Result<ImportEntry<SourceExample>, ImportError>>>;

impl ExampleSource {
    /// Opens a source; the format is detected if not given.
    pub(crate) fn open(path: &Path, format: Option<FormatWord>) -> anyhow::Result<ExampleSource> {
        let format = match format {
            Some(word) => SourceFormat::of(word),
            None => guess(path)?,
        };
        if path.is_dir() != (format == SourceFormat::Folder) {
            let is = if path.is_dir() { "a folder" } else { "not a folder" };
            return Err(misuse(format!("{} is {is}, so it cannot be a {}", path.display(), format.name())));
        }
        Ok(ExampleSource { path: path.to_owned(), format })
    }

    /// The examples; none if the source has topics only.
    pub(crate) fn items(&self) -> anyhow::Result<Items> {
        Ok(match self.format {
            SourceFormat::Bookmarks => {
                let all = import::bookmarks(&read_file(&self.path)?)?;
                let problems = all.problems.into_iter().map(|problem| Ok(ImportEntry::Problem(problem)));
                Box::new(
                    problems.chain(all.found.into_iter().map(|found| Ok(ImportEntry::Found(item(found))))),
                )
            }
            SourceFormat::Tsv => Box::new(import::tsv(self.reader()?).map(|entry| entry.map(item_entry))),
            SourceFormat::Jsonl => Box::new(import::jsonl(self.reader()?).map(|entry| entry.map(item_entry))),
            SourceFormat::DmozContent => {
                Box::new(import::dmoz_content(self.reader()?).map(|entry| entry.map(item_entry)))
            }
            SourceFormat::Folder => Box::new(self.files()?),
            SourceFormat::DmozStructure | SourceFormat::Taxonomy => Box::new(std::iter::empty()),
        })
    }

    /// The topics of an Open Directory structure file.
    pub(crate) fn topics(
        &self,
    ) -> anyhow::Result<impl Iterator<Item = Result<ImportEntry<DmozTopic>, ImportError>> + use<>> {
        Ok(import::dmoz_structure(self.reader()?))
    }

    fn reader(&self) -> anyhow::Result<Box<dyn BufRead>> {
        open(&self.path)
    }

    fn files(
        &self,
    ) -> anyhow::Result<impl Iterator<Item = Result<ImportEntry<SourceExample>, ImportError>> + use<>> {
        let mut paths = Vec::new();
        list(&self.path, "", &mut paths).with_context(|| format!("cannot read {}", self.path.display()))?;
        let all = import::folder(&paths);
        let root = self.path.clone();
        let file = move |found: FoundFile| {
            let page = PagePlace::File(root.join(&found.path));
            Ok(ImportEntry::Found(SourceExample { page, topic: found.topic, title: String::new() }))
        };
        let problems = all.problems.into_iter().map(|problem| Ok(ImportEntry::Problem(problem)));
        Ok(problems.chain(all.found.into_iter().map(file)))
    }
}

impl SourceFormat {
    fn of(word: FormatWord) -> SourceFormat {
        match word {
            FormatWord::Bookmarks => SourceFormat::Bookmarks,
            FormatWord::Tsv => SourceFormat::Tsv,
            FormatWord::Jsonl => SourceFormat::Jsonl,
            FormatWord::Folder => SourceFormat::Folder,
            FormatWord::Dmoz => SourceFormat::DmozContent,
            FormatWord::DmozStructure => SourceFormat::DmozStructure,
        }
    }

    /// Name of the format.
    pub(crate) fn name(self) -> &'static str {
        match self {
            SourceFormat::Bookmarks => "bookmarks",
            SourceFormat::Tsv => "list of URLs",
            SourceFormat::Jsonl => "list of JSON objects",
            SourceFormat::Folder => "folder of files",
            SourceFormat::DmozContent => "content of the Open Directory",
            SourceFormat::DmozStructure => "structure of the Open Directory",
            SourceFormat::Taxonomy => "taxonomy",
        }
    }
}

impl PagePlace {
    /// The name of the example.
    pub(crate) fn name(&self) -> String {
        match self {
            PagePlace::Url(url) => url.as_str().to_owned(),
            PagePlace::File(path) => path.to_string_lossy().into_owned(),
        }
    }
}

/// Endings of names that exist in local networks only.
const LOCAL: [&str; 8] = ["localhost", "local", "lan", "home", "internal", "intranet", "corp", "home.arpa"];

/// Why a URL cannot be a page of the open web: it names this machine or a local network.
pub(crate) fn not_on_the_web(url: &CanonicalUrl) -> Option<&'static str> {
    let host = url.host().trim_start_matches('[').trim_end_matches([']', '.']);
    if let Ok(address) = host.parse::<IpAddr>() {
        let v4 = match address {
            IpAddr::V4(v4) => Some(v4),
            IpAddr::V6(v6) => v6.to_ipv4_mapped(),
        };
        let is_local = v4.map_or_else(
            || matches!(address, IpAddr::V6(v6) if v6.is_unique_local() || v6.is_unicast_link_local()),
            |v4| v4.is_private() || v4.is_link_local() || v4.is_loopback() || v4.is_unspecified(),
        );
        return match address {
            _ if address.is_loopback() || address.is_unspecified() => Some("an address of this machine"),
            _ if is_local => Some("an address of a private network"),
            _ => None,
        };
    }
    let is_below =
        |end: &str| host.strip_suffix(end).is_some_and(|name| name.is_empty() || name.ends_with('.'));
    match LOCAL.into_iter().find(|end| is_below(end)) {
        Some("localhost") => Some("an address of this machine"),
        Some(_) => Some("a name of a local network"),
        None if !host.contains('.') => Some("a name of a local network"),
        None => None,
    }
}

fn item(found: ImportedExample) -> SourceExample {
    SourceExample { page: PagePlace::Url(found.url), topic: found.topic, title: found.title }
}

fn item_entry(entry: ImportEntry<ImportedExample>) -> ImportEntry<SourceExample> {
    match entry {
        ImportEntry::Found(found) => ImportEntry::Found(item(found)),
        ImportEntry::Problem(problem) => ImportEntry::Problem(problem),
    }
}

/// The URLs in a file for `crawl --start`: lines of JSON with a `url`, or lines that begin with a URL.
pub(crate) fn start_urls(path: &Path) -> anyhow::Result<Vec<CanonicalUrl>> {
    /// Only the URL counts; the rest of an exported page is ignored.
    #[derive(serde::Deserialize)]
    struct StartLine {
        url: String,
    }
    let mut urls = Vec::new();
    for (number, line) in open(path)?.lines().enumerate() {
        let at = || format!("{}: line {}", path.display(), number + 1);
        let line = line.with_context(at)?;
        let line = line.trim_start_matches('\u{feff}').trim();
        let url = match line {
            _ if line.starts_with('#') || line.is_empty() => continue,
            _ if line.starts_with('{') => serde_json::from_str::<StartLine>(line).with_context(at)?.url,
            _ => line.split_whitespace().next().unwrap_or_default().to_owned(),
        };
        let url = CanonicalUrl::parse(&url).map_err(|error| misuse(format!("{}: {url}: {error}", at())))?;
        urls.push(url);
    }
    if urls.is_empty() {
        return Err(misuse(format!("{}: no URL in this file; write one per line", path.display())));
    }
    Ok(urls)
}

/// Whether a file is a list of URLs rather than a page. A pipe is not, since it can be read only once.
pub(crate) fn is_list_of_urls(path: &Path) -> anyhow::Result<bool> {
    if !path.is_file() {
        return Ok(false);
    }
    let mut start = Vec::new();
    let read = open(path)?.take(TELLING).read_to_end(&mut start);
    read.with_context(|| format!("cannot read {}", path.display()))?;
    let text = String::from_utf8_lossy(&start);
    let text = text.trim_start_matches('\u{feff}');
    let mut lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')).peekable();
    Ok(lines.peek().is_some()
        && lines.all(|line| import::is_url_alone(line.split('\t').next().unwrap_or(""))))
}

/// Parses a URL that the user gave. A URL without a scheme is refused with the one that may be meant.
pub(crate) fn parse_url(text: &str) -> anyhow::Result<CanonicalUrl> {
    let shown = plain(text);
    CanonicalUrl::parse(text).map_err(|error| {
        let with_scheme = CanonicalUrl::parse(&format!("https://{text}"));
        let has_host = with_scheme.is_ok_and(|url| url.host().contains('.'));
        misuse(match error {
            UrlError::Syntax(_) if has_host => {
                format!("{shown} is not a URL, because it has no scheme; write https://{shown}")
            }
            UrlError::Syntax(_) if !text.contains("://") => {
                format!("{shown} is not a URL, which begins with https:// or http://")
            }
            UrlError::Syntax(why) => format!("{shown} is not a URL: {why}"),
            error => format!("{shown}: {error}"),
        })
    })
}

/// Opens a file, decompressing gzip.
fn open(path: &Path) -> anyhow::Result<Box<dyn BufRead>> {
    let cannot_open = || format!("cannot open {}", path.display());
    // Checked before opening: opening a pipe may block forever.
    if !fs::metadata(path).with_context(cannot_open)?.is_file() {
        bail!("{} must be a regular file, since it is read twice", path.display());
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

/// Number of bytes that are inspected to detect the format.
const TELLING: u64 = 1 << 18;

fn guess(path: &Path) -> anyhow::Result<SourceFormat> {
    if path.is_dir() {
        return Ok(SourceFormat::Folder);
    }
    let mut start = Vec::new();
    let read = open(path)?.take(TELLING).read_to_end(&mut start);
    read.with_context(|| format!("cannot read {}", path.display()))?;
    if start.starts_with(b"WARC/") {
        return Err(misuse(format!(
            "{0} is a recorded web without topics: import a list of url<TAB>topic with `--web {0}`",
            path.display()
        )));
    }
    if start.trim_ascii().is_empty() {
        return Err(misuse(format!(
            "{} is empty; give a file with bookmarks, or with lines of URLs",
            path.display()
        )));
    }
    format_of(&start).ok_or_else(|| {
        misuse(format!(
            "unknown format: {} is neither bookmarks, nor lines of URLs, url<TAB>topic or JSON, nor Open Directory RDF; \
             `porthole examples import --format FORMAT` reads it as one of these",
            path.display()
        ))
    })
}

fn format_of(start: &[u8]) -> Option<SourceFormat> {
    if start.starts_with(b"PHTAXON\n") {
        return Some(SourceFormat::Taxonomy);
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
        return Some(if is_structure { SourceFormat::DmozStructure } else { SourceFormat::DmozContent });
    }
    if is_markup && (has("netscape-bookmark-file") || has("<dl")) {
        return Some(SourceFormat::Bookmarks);
    }
    if text.starts_with('{') && text.lines().next().is_some_and(|line| line.contains("\"url\"")) {
        return Some(SourceFormat::Jsonl);
    }
    let mut lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let is_list = |line: &&str| !is_markup && (line.contains('\t') || import::is_url_alone(line));
    lines.next().filter(is_list).map(|_| SourceFormat::Tsv)
}

/// Maximum depth of nested folders.
const DEEPEST: usize = 64;

/// The files below a folder, as paths with `/`, sorted by name. Links to folders are not followed, since they may form
/// a loop; pipes and devices are skipped.
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
    fn local_addresses_are_not_on_the_web() {
        let check = |text: &str, is_local: bool| {
            let url = CanonicalUrl::parse(text).unwrap();
            assert_eq!(not_on_the_web(&url).is_some(), is_local, "{text}");
        };
        for local in [
            "http://localhost:8080/",
            "http://app.localhost/",
            "http://127.0.0.1/",
            "http://[::1]/",
            "http://0.0.0.0/",
            "http://192.168.1.1/admin",
            "http://10.0.0.7/",
            "http://169.254.1.1/",
            "http://[fd00::1]/",
            "http://router/",
            "http://nas.local/",
            "http://wiki.corp/",
        ] {
            check(local, true);
        }
        for open in ["http://owls.org/", "http://a.test/", "http://8.8.8.8/", "http://localhost.org/"] {
            check(open, false);
        }
    }

    #[test]
    fn a_format_is_known_by_its_first_bytes() {
        let check = |start: &str, format| assert_eq!(format_of(start.as_bytes()), format, "{start}");
        check("<!DOCTYPE NETSCAPE-Bookmark-file-1>\n", Some(SourceFormat::Bookmarks));
        check("\u{feff}<DL><p>", Some(SourceFormat::Bookmarks));
        check("# my links\n\nhttp://a.test/\t/Birds\n", Some(SourceFormat::Tsv));
        check("https://a.test/\r\nhttps://b.test/\r\n", Some(SourceFormat::Tsv));
        check("ftp://a.test/\n", None);
        check("<?xml version='1.0'?><RDF><ExternalPage about=''>", Some(SourceFormat::DmozContent));
        check("<RDF><Topic r:id='Top'><narrow r:resource='Top/Arts'/>", Some(SourceFormat::DmozStructure));
        check("{\"url\":\"http://a.test/\",\"topic\":\"/Birds\"}\n", Some(SourceFormat::Jsonl));
        check("{\"a\": 1}\n", None);
        check("PHTAXON\nxyz", Some(SourceFormat::Taxonomy));
        check("http://a.test/ /Birds\n", None);
        check("<html><p>a\tb", None);
        check("a\0b\tc\n", None);
        check("", None);
    }
}
