//! PDF extraction: pages in order, their text in drawing order, links at their positions, the title.
//!
//! Any bytes give the text that can be found in them. Work is limited by counts, not by time: bytes read and
//! decompressed, objects, text ([`crate::ExtractLimits`]).

mod cipher;
mod cmap;
mod content;
mod embedded;
mod file;
mod filter;
mod font;
mod glyphs;
mod names;
mod object;
mod place;
mod security;
mod text;
mod tree;

use content::{Resources, TextRenderer};
use file::File;
use object::{Dictionary, PdfObject};
use place::Rectangle;
pub(crate) use text::PlacedLink;
use text::TextWriter;

use crate::ExtractLimits;
use crate::page::LeafSpan;

/// Contents of a PDF.
#[derive(Default)]
pub(crate) struct PdfDocument {
    pub(crate) title: String,
    /// Declared language.
    pub(crate) language: Option<String>,
    /// Declared base URL of references.
    pub(crate) base: Option<String>,
    pub(crate) text: String,
    pub(crate) leaves: Vec<LeafSpan>,
    pub(crate) links: Vec<PlacedLink>,
    pub(crate) links_cut: u32,
    /// Whether some text has unknown characters.
    pub(crate) has_unknown: bool,
    /// Whether it needs a password.
    pub(crate) is_encrypted: bool,
    /// Whether a part was dropped because of limits.
    pub(crate) is_cut: bool,
}

/// Reads a PDF from any bytes.
pub(crate) fn read(bytes: &[u8], limits: &ExtractLimits) -> PdfDocument {
    let file = File::open(bytes, limits);
    if file.is_locked {
        return PdfDocument { is_encrypted: true, ..PdfDocument::default() };
    }
    let catalog = tree::catalog(&file);
    let (title, language, base) = (title(&file, &catalog), language(&file, &catalog), base(&file, &catalog));
    let mut links_cut = 0;
    let mut drawing = TextRenderer::new(&file, TextWriter::new(limits.pdf_text));
    for page in tree::pages(&file, &catalog) {
        if drawing.is_over() {
            break;
        }
        let links = page_links(&file, &page.dictionary);
        let left = limits.links - drawing.writer.links.len().min(limits.links);
        links_cut += links.uris.len().saturating_sub(left) as u32;
        drawing.writer.start_page(links.uris.into_iter().take(left));
        let places = links.places.into_iter().filter(|(_, link)| *link < left).collect();
        let resources = Resources::read(&file, &page.resources);
        let content = page_content(&file, &page.dictionary);
        drawing.page(&content, &resources, places);
        drawing.writer.end_page();
    }
    let is_cut = drawing.is_over();
    let TextWriter { text, leaves, mut links, has_unknown, .. } = drawing.writer;
    links.sort_by_key(|link| link.first);
    PdfDocument {
        title,
        language,
        base,
        text,
        leaves,
        links,
        links_cut,
        has_unknown,
        is_encrypted: false,
        is_cut,
    }
}

/// The content streams of a page, concatenated.
fn page_content(file: &File<'_>, page: &Dictionary<'_>) -> Vec<u8> {
    let contents = page.get(b"Contents");
    if let Some(stream) = file.stream(contents) {
        return file.unpack(&stream);
    }
    let mut content = Vec::new();
    for part in file.resolve(contents).elements() {
        if let Some(stream) = file.stream(part) {
            content.extend(file.unpack(&stream));
            content.push(b'\n');
        }
        if file.budget.is_spent() {
            break;
        }
    }
    content
}

/// Links of a page, with their rectangles.
#[derive(Default)]
struct PageLinks {
    uris: Vec<String>,
    /// Rectangles with the link's index in `uris`.
    places: Vec<(Rectangle, usize)>,
}

/// Maximum length of a reference; longer ones are not URLs.
const LONGEST_URI: usize = 8 << 10;

fn page_links(file: &File<'_>, page: &Dictionary<'_>) -> PageLinks {
    let mut links = PageLinks::default();
    for annotation in file.resolve(page.get(b"Annots")).elements() {
        let annotation = file.dictionary(annotation);
        let action = file.dictionary(annotation.get(b"A"));
        let uri = file.resolve(action.get(b"URI"));
        let Some(uri) = uri.text().filter(|uri| uri.len() <= LONGEST_URI) else { continue };
        let uri = glyphs::document_text(uri);
        // A link over several lines is often split into one for each line.
        if links.uris.last() != Some(&uri) {
            links.uris.push(uri);
        }
        let corners = file.resolve(annotation.get(b"Rect"));
        let mut numbers = corners.elements().iter().filter_map(PdfObject::number);
        if let (Some(a), Some(b), Some(c), Some(d)) =
            (numbers.next(), numbers.next(), numbers.next(), numbers.next())
        {
            links.places.push((Rectangle::between([a, b, c, d]), links.uris.len() - 1));
        }
        if file.budget.is_spent() {
            break;
        }
    }
    links
}

/// Title of the document, from its information dictionary or metadata.
fn title(file: &File<'_>, catalog: &Dictionary<'_>) -> String {
    let info = file.info.map(|number| file.dictionary(&PdfObject::Reference(number))).unwrap_or_default();
    let title = file.resolve(info.get(b"Title")).text().map(glyphs::document_text).unwrap_or_default();
    if !title.trim().is_empty() {
        return title;
    }
    let metadata = file.stream(catalog.get(b"Metadata")).map(|stream| file.unpack(&stream));
    metadata.and_then(|metadata| metadata_title(&String::from_utf8_lossy(&metadata))).unwrap_or_default()
}

/// `<dc:title><rdf:Alt><rdf:li xml:lang="x-default">Owls</rdf:li>`.
fn metadata_title(metadata: &str) -> Option<String> {
    let (_, title) = metadata.split_once("<dc:title>")?;
    let (title, _) = title.split_once("</dc:title>")?;
    let (_, item) = title.split_once("<rdf:li")?;
    let (_, item) = item.split_once('>')?;
    let (item, _) = item.split_once('<')?;
    Some(crate::references::resolved(item))
}

fn language(file: &File<'_>, catalog: &Dictionary<'_>) -> Option<String> {
    file.resolve(catalog.get(b"Lang")).text().map(glyphs::document_text)
}

fn base(file: &File<'_>, catalog: &Dictionary<'_>) -> Option<String> {
    file.resolve(file.dictionary(catalog.get(b"URI")).get(b"Base")).text().map(glyphs::document_text)
}
