//! Extraction of a [`Page`] from bytes.

use std::collections::BTreeMap;
use std::sync::Arc;

use porthole_types::{CanonicalUrl, Headers, TermId};

use crate::charset;
use crate::gather::{ASIDE, FoundLink, NONE, NOSCRIPT, PageCollector};
use crate::language::Language;
use crate::main_content::{self, MainContent};
use crate::main_text::own_terms;
use crate::outline::Outline;
use crate::page::{Cuts, LeafSpan, Link, LinkKind, Page, PageFormat, RobotsMeta};
use crate::pdf;
use crate::references::{resolved, resolved_attribute};
use crate::scripts::needs_scripts;
use crate::simhash::simhash;
use crate::steps::{self, memchr};
use crate::tag::{NO_TAG, TagName};
use crate::terms::{TermReader, Text};
use crate::token::Tokenizer;
use crate::tree::TreeState;
use crate::words::Words;

/// Limits of extraction a page.
#[derive(Clone, Copy, Debug)]
pub struct ExtractLimits {
    /// Maximum bytes of the body; the rest is ignored.
    pub bytes: usize,
    /// Maximum number of links.
    pub links: usize,
    /// Maximum number of attributes of a tag.
    pub attributes: usize,
    /// Maximum number of steps for a PDF: about one for each byte read or decompressed.
    pub pdf_steps: usize,
    /// Maximum number of objects of a PDF.
    pub pdf_objects: usize,
    /// Maximum bytes of text of a PDF.
    pub pdf_text: usize,
}

impl Default for ExtractLimits {
    fn default() -> Self {
        ExtractLimits {
            bytes: 8 << 20,
            links: 10_000,
            attributes: 128,
            pdf_steps: 64 << 20,
            pdf_objects: 200_000,
            pdf_text: 4 << 20,
        }
    }
}

/// Extracts pages. Its state only affects speed: the same bytes always give the same [`Page`].
pub struct Extractor {
    limits: ExtractLimits,
    terms: TermReader,
    words: Words,
    title_words: Words,
    robot: Option<Arc<str>>,
}

impl Extractor {
    /// An extractor with these limits.
    pub fn new(limits: ExtractLimits) -> Self {
        let (words, title_words) = (Words::default(), Words::default());
        Extractor { limits, terms: TermReader::new(), words, title_words, robot: None }
    }

    /// Sets the name of the robot, in any case: directives of pages that are addressed to it (`<meta name="owlbot" …>`,
    /// `X-Robots-Tag: owlbot: …`) count as well as those to all robots.
    pub fn for_robot(mut self, name: &str) -> Self {
        self.robot = Some(name.into());
        self
    }

    /// Extracts the page at `url` from its headers and body. Never fails.
    pub fn extract(&mut self, url: &CanonicalUrl, headers: &Headers, body: &[u8]) -> Page {
        let read = &body[..body.len().min(self.limits.bytes)];
        let content_type = headers.get("content-type");
        let format = format_of(content_type, read);
        let mut page = match format {
            PageFormat::Html => self.html(url, content_type, read),
            PageFormat::Text => self.plain_text(content_type, read),
            PageFormat::Pdf => self.pdf(url, read),
            PageFormat::Other => Page::default(),
        };
        page.format = format;
        page.cuts.bytes = (body.len() - read.len()) as u64;
        let robot = self.robot.as_deref();
        headers.all("x-robots-tag").for_each(|value| page.robots.add_header(value, robot));
        page
    }

    fn html(&mut self, url: &CanonicalUrl, content_type: Option<&str>, body: &[u8]) -> Page {
        let decoded = charset::decode(body, content_type, true);
        let tokens = Tokenizer::new(&decoded.text, self.limits.attributes);
        let text = String::with_capacity(decoded.text.len() / 2);
        let mut tree =
            TreeState::new(tokens, PageCollector::new(self.limits.links, text, Vec::with_capacity(256)));
        tree.gather.robot = self.robot.clone();
        tree.run();
        let cuts = Cuts {
            bytes: 0,
            links: tree.gather.links_cut,
            attributes: tree.tokens.attributes_cut,
            depth: tree.depth_cut,
            pdf: false,
        };
        let mut gather = tree.gather;
        if !gather.moved.is_empty() {
            put_in_order(&mut gather);
        }
        // Copies made by repairs come last; a stable sort puts them in document order.
        gather.links.sort_by_key(|link| (link.first, link.depth));
        let base = gather.base.and_then(|base| url.join(&resolved_attribute(base)).ok());
        let mut page = Page {
            charset: decoded.charset,
            bad_bytes: decoded.bad_bytes,
            title: folded(&resolved(gather.title.unwrap_or(""))),
            robots: robots(&gather.robots),
            refresh: gather.refresh.and_then(|refresh| refresh_target(base.as_ref().unwrap_or(url), refresh)),
            cuts,
            ..Page::default()
        };
        resolve_links(base.as_ref().unwrap_or(url), &gather.links, &mut page);
        (page.text, page.leaves, page.paths) = (gather.text, gather.leaves, gather.paths);
        self.find_terms(&mut page, gather.language);
        page.own_terms = own_terms(&page, &gather.links);
        page.needs_scripts = needs_scripts(&page, &decoded.text, gather.scripts, gather.script_bytes);
        page
    }

    /// The main content of the page at `url`: its text without navigation, footers and menus. Never fails.
    pub fn main_content(&mut self, url: &CanonicalUrl, headers: &Headers, body: &[u8]) -> MainContent {
        let read = &body[..body.len().min(self.limits.bytes)];
        let content_type = headers.get("content-type");
        if format_of(content_type, read) != PageFormat::Html {
            let page = self.extract(url, headers, body);
            return main_content::of_plain_text(page.title, page.text);
        }
        let decoded = charset::decode(read, content_type, true);
        let (gather, outline) = self.outlined(&decoded.text);
        let base = gather.base.and_then(|base| url.join(&resolved_attribute(base)).ok());
        let targets: Vec<Option<String>> = gather
            .links
            .iter()
            .map(|link| web_target(base.as_ref().unwrap_or(url), url, link.href))
            .collect();
        let title = main_content::without_controls(folded(&resolved(gather.title.unwrap_or(""))));
        MainContent { title, ..main_content::of_outline(&outline, &targets) }
    }

    /// Texts and features of a page's blocks, to fit the model of main content to.
    #[doc(hidden)]
    pub fn blocks_to_fit(&mut self, headers: &Headers, body: &[u8]) -> Vec<(String, Vec<f32>)> {
        let decoded = charset::decode(body, headers.get("content-type"), true);
        main_content::blocks_to_fit(&self.outlined(&decoded.text).1)
    }

    /// Reads an HTML page with all of its elements recorded.
    fn outlined<'a>(&self, html: &'a str) -> (PageCollector<'a>, Outline) {
        let tokens = Tokenizer::new(html, self.limits.attributes);
        let mut tree =
            TreeState::new(tokens, PageCollector::new(self.limits.links, String::new(), Vec::new()));
        tree.outline = Some(Outline::default());
        tree.run();
        let mut outline = tree.outline.take().unwrap_or_default();
        outline.finish();
        (tree.gather, outline)
    }

    fn plain_text(&mut self, content_type: Option<&str>, body: &[u8]) -> Page {
        let decoded = charset::decode(body, content_type, false);
        let text = folded(&decoded.text);
        let leaf = LeafSpan { start: 0, end: text.len() as u32, depth: 0, shared: 0, tag: NO_TAG, place: 0 };
        let mut page = Page {
            charset: decoded.charset,
            bad_bytes: decoded.bad_bytes,
            leaves: vec![leaf],
            text,
            ..Page::default()
        };
        self.find_terms(&mut page, None);
        page
    }

    fn pdf(&mut self, url: &CanonicalUrl, body: &[u8]) -> Page {
        let document = pdf::read(body, &self.limits);
        let base = document.base.and_then(|base| url.join(&base).ok());
        let mut page = Page {
            bad_bytes: document.has_unknown,
            title: folded(&document.title),
            text: document.text,
            leaves: document.leaves,
            paths: vec![TagName::A.path_byte()],
            encrypted: document.is_encrypted,
            cuts: Cuts { links: document.links_cut, pdf: document.is_cut, ..Cuts::default() },
            ..Page::default()
        };
        for link in document.links {
            let Ok(target) = base.as_ref().unwrap_or(url).join(&link.uri) else {
                page.links_refused += 1;
                continue;
            };
            page.links.push(Link {
                target,
                kind: LinkKind::Anchor,
                first_leaf: link.first,
                last_leaf: link.last,
                depth: 1,
                title: None,
                rel: None,
                path: (0, 1),
            });
        }
        self.find_terms(&mut page, document.language.as_deref());
        page
    }

    fn find_terms(&mut self, page: &mut Page, declared: Option<&str>) {
        steps::add(page.title.len() + page.text.len() + page.leaves.len());
        self.words.find(&page.text);
        let from = first_paragraph(page);
        let (language, code) = self.terms.language(&self.words, &page.text, from, declared);
        page.language = code;
        self.title_words.find(&page.title);
        let mut terms = Vec::with_capacity(self.title_words.len() + self.words.len());
        let mut ends = Vec::with_capacity(page.leaves.len() + 1);
        // Leaves are separated by spaces, so a word that starts in a leaf ends in it.
        let leaves = page.leaves.iter().map(|leaf| leaf.end as usize);
        let title = Text { text: &page.title, words: &self.title_words, language };
        self.terms.append(title, [page.title.len()].into_iter(), &mut terms, &mut ends);
        self.terms.append(
            Text { text: &page.text, words: &self.words, language },
            leaves,
            &mut terms,
            &mut ends,
        );
        page.terms = terms;
        page.simhash = simhash(&page.terms[ends[0] as usize..]);
        page.term_ends = ends;
        self.words.shrink();
    }
}

/// Position of the first text that is long enough for a sentence and not in navigation: menus, which often come
/// first, have no stop words. 0 if there is none.
fn first_paragraph(page: &Page) -> usize {
    const SENTENCE: u32 = 80;
    let is_sentence =
        |leaf: &&LeafSpan| leaf.end - leaf.start >= SENTENCE && leaf.place & (ASIDE | NOSCRIPT) == 0;
    page.leaves.iter().find(is_sentence).map_or(0, |leaf| leaf.start as usize)
}

/// A term with a readable word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TermSpelling {
    /// The term.
    pub term: TermId,
    /// The most frequent word of the term on the page, in lower case.
    pub word: String,
    /// Stem of the term: two terms with different stems and the same id are a collision.
    pub stem: String,
}

impl Extractor {
    /// The terms of a page that this extractor read, once for every stem, with a readable word. For explanations;
    /// slower than extraction.
    pub fn vocabulary(&mut self, page: &Page) -> Vec<TermSpelling> {
        let mut seen: BTreeMap<(TermId, String), BTreeMap<String, usize>> = BTreeMap::new();
        for text in [&page.title, &page.text] {
            self.words.find(text);
            for (term, word, stem) in self.terms.spelled(text, &self.words, page.language) {
                *seen.entry((term, stem)).or_default().entry(word).or_default() += 1;
            }
        }
        self.words.shrink();
        let spelled = seen.into_iter().map(|((term, stem), words)| {
            // The most frequent; on ties the first in alphabetical order.
            let word = words.into_iter().max_by(|a, b| a.1.cmp(&b.1).then(b.0.cmp(&a.0)));
            TermSpelling { term, word: word.map_or_else(String::new, |(word, _)| word), stem }
        });
        spelled.collect()
    }
}

/// Splits texts outside of pages into terms: URLs, topic names, keywords.
#[derive(Default)]
pub struct TermSplitter {
    words: Words,
    terms: TermReader,
    ends: Vec<u32>,
}

impl TermSplitter {
    /// Appends the terms of a text in a language (ISO 639-1), in order, without stop words, as a page of that language
    /// would have them.
    pub fn append(&mut self, text: &str, language: &str, terms: &mut Vec<TermId>) {
        self.words.find(text);
        self.ends.clear();
        let text = Text { text, words: &self.words, language: Language::of_code(language) };
        self.terms.append(text, std::iter::once(usize::MAX), terms, &mut self.ends);
        self.words.shrink();
    }
}

impl Default for Extractor {
    fn default() -> Self {
        Extractor::new(ExtractLimits::default())
    }
}

/// By the content type; if that is not conclusive, by the first bytes.
fn format_of(content_type: Option<&str>, body: &[u8]) -> PageFormat {
    let kind = content_type.unwrap_or("").split(';').next().unwrap_or("").trim().to_ascii_lowercase();
    match kind.as_str() {
        // Servers that do not know the type send various values.
        "application/pdf" | "application/x-pdf" => PageFormat::Pdf,
        _ if body.starts_with(b"%PDF-") => PageFormat::Pdf,
        "text/html" | "application/xhtml+xml" => PageFormat::Html,
        "text/plain" => PageFormat::Text,
        "" | "unknown/unknown" | "application/unknown" | "*/*" => sniffed(body),
        _ => PageFormat::Other,
    }
}

fn sniffed(body: &[u8]) -> PageFormat {
    let start = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    match start.trim_ascii_start() {
        [b'<', ..] => PageFormat::Html,
        text if !text[..text.len().min(512)].iter().any(|&b| b < 9) => PageFormat::Text,
        _ => PageFormat::Other,
    }
}

fn robots(directives: &[&str]) -> RobotsMeta {
    let mut robots = RobotsMeta::default();
    directives.iter().for_each(|directives| robots.add(&resolved_attribute(directives)));
    robots
}

/// `5; url=next.html`, in the spellings that browsers accept.
fn refresh_target(base: &CanonicalUrl, content: &str) -> Option<(u32, CanonicalUrl)> {
    let content = resolved_attribute(content);
    let content = content.trim();
    let digits = content.find(|c: char| !c.is_ascii_digit()).unwrap_or(content.len());
    if digits == 0 {
        return None;
    }
    let seconds = content[..digits].parse().unwrap_or(u32::MAX);
    let rest = content[digits..].trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let rest = rest.trim_start().trim_start_matches([';', ',']).trim_start();
    let is_url = rest.get(..3).is_some_and(|word| word.eq_ignore_ascii_case("url"));
    let target = if is_url { rest[3..].trim_start().strip_prefix('=')?.trim_start() } else { rest };
    let target = match target.chars().next() {
        Some(quote @ ('"' | '\'')) => target[1..].split(quote).next().unwrap_or(""),
        _ => target,
    };
    let target = target.trim();
    if target.is_empty() { None } else { Some((seconds, base.join(target).ok()?)) }
}

/// Repairs may copy a link any number of times, so the cost of a copy must be bounded: a longer reference is not a URL,
/// and longer titles and `rel`s are truncated.
const LONGEST_HREF: usize = 8 << 10;
const LONGEST_TEXT: usize = 1 << 10;
const NO_URL: &str = "http://[";

fn resolve_links(base: &CanonicalUrl, found: &[FoundLink<'_>], page: &mut Page) {
    page.links.reserve_exact(found.len());
    for link in found {
        let href = if link.href.len() <= LONGEST_HREF { link.href } else { NO_URL };
        steps::add(1 + href.len());
        let Ok(target) = base.join(&resolved_attribute(href)) else {
            page.links_refused += 1;
            continue;
        };
        let text = |value: Option<&str>| {
            value.map(|value| resolved_attribute(&value[..value.floor_char_boundary(LONGEST_TEXT)]).into())
        };
        page.links.push(Link {
            target,
            kind: link.kind,
            first_leaf: link.first,
            last_leaf: if link.last == NONE { link.first } else { link.last },
            depth: link.depth,
            title: text(link.title),
            rel: text(link.rel),
            path: link.path,
        });
    }
}

/// The URL of a link to another web page, such that nothing in it has a meaning in Markdown.
fn web_target(base: &CanonicalUrl, page: &CanonicalUrl, href: &str) -> Option<String> {
    let target = base.join(&resolved_attribute(href.get(..LONGEST_HREF).map_or(href, |_| NO_URL))).ok()?;
    let escaped = target.as_str().replace('(', "%28").replace(')', "%29").replace('\\', "%5C");
    (target != *page).then_some(escaped)
}

/// A text without NUL characters and with single spaces between words.
fn folded(text: &str) -> String {
    steps::add(text.len());
    if memchr(0, text.as_bytes()).is_some() {
        return folded(&text.replace('\0', ""));
    }
    let mut out = String::with_capacity(text.len());
    for word in text.split_ascii_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// Moves leaves before those that they precede.
fn put_in_order(gather: &mut PageCollector<'_>) {
    // A moved leaf sorts just before the leaf that it precedes, after leaves moved there earlier.
    let mut keys: Vec<(u32, bool, u32)> = (0..gather.next_leaf()).map(|leaf| (leaf, true, leaf)).collect();
    for &(leaf, before) in &gather.moved {
        keys[leaf as usize] = (before, false, leaf);
    }
    keys.sort_unstable();
    steps::add(keys.len() + gather.links.len());
    let mut place = vec![0u32; keys.len()];
    let mut text = String::with_capacity(gather.text.len());
    let mut leaves = Vec::with_capacity(keys.len());
    for (new, (_, _, old)) in keys.into_iter().enumerate() {
        place[old as usize] = new as u32;
        let span = gather.leaves[old as usize];
        let words = &gather.text[span.start as usize..span.end as usize];
        if !text.is_empty() && !words.is_empty() {
            text.push(' ');
        }
        let start = text.len() as u32;
        text.push_str(words);
        leaves.push(LeafSpan { start, end: text.len() as u32, ..span });
    }
    for link in &mut gather.links {
        let last = if link.last == NONE { link.first } else { link.last };
        if let (Some(&a), Some(&b)) = (place.get(link.first as usize), place.get(last as usize)) {
            (link.first, link.last) = (a.min(b), a.max(b));
        }
    }
    (gather.text, gather.leaves) = (text, leaves);
}
