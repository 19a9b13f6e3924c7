//! Single documents: files, standard input and fetched pages, read into the terms that the critic classifies.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, bail};
use porthole_page::{Extractor, Page, PageFormat};
use porthole_store::{ExampleState, StoreReader, TermWord, UrlState};
use porthole_types::{CanonicalUrl, Headers, PageResult, TermId, shortened};

use crate::sources::parse_url;
use crate::workspace::Workspace;

/// Maximum size of a document in bytes.
const LARGEST: u64 = 64 << 20;

/// A document as the critic sees it.
#[derive(Clone, Debug)]
pub(crate) struct TermDocument {
    pub(crate) title: String,
    pub(crate) language: String,
    /// Term counts, ordered by term.
    pub(crate) terms: Vec<(TermId, u32)>,
    pub(crate) state: ExampleState,
}

impl TermDocument {
    /// A document that could not be fetched or read.
    pub(crate) fn missing(why: String) -> TermDocument {
        let state = ExampleState::Missing(why);
        TermDocument { title: String::new(), language: String::new(), terms: Vec::new(), state }
    }

    /// A document that has not been fetched yet.
    pub(crate) fn unread() -> TermDocument {
        TermDocument::missing("not fetched yet".to_owned())
    }
}

/// Reads documents, and collects a readable word for every term.
pub(crate) struct DocumentReader {
    extractor: Extractor,
    /// Readable words by stem.
    words: HashMap<String, String>,
}

impl DocumentReader {
    pub(crate) fn new() -> Self {
        DocumentReader { extractor: Extractor::default(), words: HashMap::new() }
    }

    /// Reads a file of text or HTML.
    pub(crate) fn file(&mut self, path: &Path) -> anyhow::Result<TermDocument> {
        let bytes = read_file(path)?;
        Ok(self.bytes(None, &headers(path), &bytes))
    }

    /// Reads standard input.
    pub(crate) fn standard_input(&mut self) -> anyhow::Result<TermDocument> {
        let bytes = read_some(std::io::stdin().lock()).context("cannot read standard input")?;
        Ok(self.bytes(None, &Headers::new(), &bytes))
    }

    /// Reads a fetched page.
    pub(crate) fn bytes(
        &mut self,
        url: Option<&CanonicalUrl>,
        headers: &Headers,
        bytes: &[u8],
    ) -> TermDocument {
        self.page(url, headers, bytes).0
    }

    /// Reads a fetched page and also returns the parsed page, for its links.
    pub(crate) fn page(
        &mut self,
        url: Option<&CanonicalUrl>,
        headers: &Headers,
        bytes: &[u8],
    ) -> (TermDocument, Page) {
        let placeholder;
        let url = match url {
            Some(url) => url,
            None => {
                placeholder = CanonicalUrl::parse("http://localhost/").expect("a URL");
                &placeholder
            }
        };
        let page = self.extractor.extract(url, headers, bytes);
        self.note_words(&page);
        let terms = page.term_counts();
        let state = state(&page, &terms);
        let language = page.language.to_owned();
        (
            TermDocument {
                title: shortened(page.title.clone(), PageResult::MAX_TITLE),
                language,
                terms,
                state,
            },
            page,
        )
    }

    /// The distinct terms of a short text in a known language, each with its spelling.
    pub(crate) fn words_of(&mut self, text: &str, language: &str) -> Vec<(TermId, String)> {
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        // The text is too short to detect its language.
        let html = format!("<html lang=\"{language}\"><p>{text}");
        let headers = [("content-type", "text/html; charset=utf-8")].into_iter().collect();
        let placeholder = CanonicalUrl::parse("http://localhost/").expect("a URL");
        let page = self.extractor.extract(&placeholder, &headers, html.as_bytes());
        let spelled = self.extractor.vocabulary(&page).into_iter();
        spelled.map(|spelled| (spelled.term, spelled.word)).collect()
    }

    /// The words collected since the last call.
    pub(crate) fn take_words(&mut self) -> Vec<TermWord> {
        let words = std::mem::take(&mut self.words).into_iter();
        words.map(|(stem, word)| TermWord { stem, word }).collect()
    }

    fn note_words(&mut self, page: &Page) {
        let spelled = self.extractor.vocabulary(page).into_iter();
        self.words.extend(spelled.map(|spelled| (spelled.stem, spelled.word)));
    }
}

/// A document that the user named.
pub(crate) enum NamedDocument {
    Read(TermDocument),
    /// A page that is neither an example nor crawled.
    Unknown(CanonicalUrl),
}

/// Finds a document by the name that the user gave: `-`, the URL of an example or of a crawled page, or a file.
pub(crate) fn find_document(
    documents: &mut DocumentReader,
    workspace: &Workspace,
    store: &dyn StoreReader,
    name: &str,
) -> anyhow::Result<NamedDocument> {
    if name == "-" {
        return documents.standard_input().map(NamedDocument::Read);
    }
    if !name.contains("://") {
        return documents.file(Path::new(name)).map(NamedDocument::Read);
    }
    let url = parse_url(name)?;
    if let Some(example) = stored(store, url.as_str())?.filter(|example| !example.terms.is_empty()) {
        return Ok(NamedDocument::Read(example));
    }
    let crawled = crawled(documents, workspace, store, &url)?;
    Ok(crawled.map_or(NamedDocument::Unknown(url), NamedDocument::Read))
}

/// A page of the crawl: from the archive, or its terms from the tables.
fn crawled(
    documents: &mut DocumentReader,
    workspace: &Workspace,
    store: &dyn StoreReader,
    url: &CanonicalUrl,
) -> anyhow::Result<Option<TermDocument>> {
    let Some(about) = store.about_briefly(url)?.filter(|about| about.state == UrlState::Fetched) else {
        return Ok(None);
    };
    if let Some(page) = about.span.and_then(|span| workspace.read_page(url, span).ok()) {
        return Ok(Some(documents.bytes(Some(url), &page.headers, &page.body)));
    }
    let Some(before) = about.seq.map(|seq| seq.checked_sub(1)) else { return Ok(None) };
    let fetch = store.tried(before, 1)?.pop().filter(|tried| tried.url == url.as_str());
    let Some(number) = fetch.and_then(|tried| tried.terms) else { return Ok(None) };
    let terms = store.page_terms(&[number])?.pop().unwrap_or_default();
    let (title, language) = (about.title, about.language);
    Ok((!terms.is_empty()).then_some(TermDocument { title, language, terms, state: ExampleState::Ok }))
}

/// The example with this URL.
fn stored(store: &dyn StoreReader, url: &str) -> anyhow::Result<Option<TermDocument>> {
    let mut found = None;
    store.visit_examples(&mut |example, terms| {
        if example.url == url && !(found.is_some() && terms.is_empty()) {
            found = Some(TermDocument {
                title: example.title.clone(),
                language: example.language.clone(),
                terms: terms.to_vec(),
                state: example.state.clone(),
            });
        }
    })?;
    Ok(found)
}

/// Reads a file; folders and large files are errors.
pub(crate) fn read_file(path: &Path) -> anyhow::Result<Vec<u8>> {
    if path.is_dir() {
        bail!("{} is a folder; name the files in it", path.display());
    }
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    read_some(file).with_context(|| format!("cannot read {}", path.display()))
}

fn read_some(reader: impl Read) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        bail!("larger than {} MB, too large for one document", LARGEST >> 20);
    }
    Ok(bytes)
}

/// The content type by file extension; empty if the content has to decide.
fn headers(path: &Path) -> Headers {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or("");
    let kind = match extension.to_ascii_lowercase().as_str() {
        "html" | "htm" | "xhtml" => "text/html",
        "txt" | "md" => "text/plain",
        _ => return Headers::new(),
    };
    [("content-type", kind)].into_iter().collect()
}

fn state(page: &Page, terms: &[(TermId, u32)]) -> ExampleState {
    let empty = |why: &str| ExampleState::Empty(why.to_owned());
    match page.format {
        PageFormat::Other => empty("not text, HTML or PDF"),
        _ if !terms.is_empty() => ExampleState::Ok,
        _ if page.encrypted => empty("encrypted"),
        _ if page.needs_scripts => empty("no words without JavaScript"),
        _ => empty("no words"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, bytes: &[u8], title: &str, state: &str) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let document = DocumentReader::new().file(&path).unwrap();
        assert_eq!((document.title.as_str(), document.state.name()), (title, state), "{name}");
    }

    #[test]
    fn files_are_read_by_their_names_and_by_their_bytes() {
        check("owl.html", b"<title>Owl</title><p>feathers", "Owl", "ok");
        check("owl", b"<title>Owl</title><p>feathers", "Owl", "ok");
        check("owl.txt", b"<title>Owl</title><p>feathers", "", "ok");
        check("nothing.txt", b"", "", "empty");
        check("picture", b"\x89PNG\x00\x01\x02", "", "empty");
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = DocumentReader::new().file(folder.path()).unwrap_err();
        assert!(format!("{error:#}").contains("is a folder"));
        let error = DocumentReader::new().file(&folder.path().join("none.txt")).unwrap_err();
        assert!(format!("{error:#}").contains("none.txt"));
        let endless = DocumentReader::new().file(Path::new("/dev/zero")).unwrap_err();
        assert!(format!("{endless:#}").contains("too large"), "{endless:#}");
    }
}
