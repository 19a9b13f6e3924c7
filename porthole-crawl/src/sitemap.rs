//! Reads sitemaps and sitemap indexes (sitemaps.org), as XML or as text with a URL per line, and RSS and Atom feeds,
//! which sites also name as sitemaps. Input is a stream, and memory is bounded whatever the input.

mod document;

use std::io::{self, BufRead, BufReader, Read, Write};

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use porthole_types::{CanonicalUrl, NewUrl, SiteId, Timestamp};

use self::document::Document;
use crate::Response;
use quick_xml::Reader;
use quick_xml::events::{BytesRef, BytesStart, Event};

/// An entry of a sitemap.
#[derive(Clone, Debug, PartialEq)]
pub struct SitemapEntry {
    /// The URL.
    pub url: CanonicalUrl,
    /// Whether it is a page or another sitemap.
    pub kind: SitemapKind,
    /// When it last changed, if the site says so.
    pub lastmod: Option<Timestamp>,
}

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SitemapKind {
    /// A page.
    Page,
    /// Another sitemap: this one is an index. An index lists no further index, so it is followed one level deep.
    Sitemap,
}

/// How reading a sitemap ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SitemapEnd {
    /// Number of entries returned.
    pub entries: usize,
    /// Number of entries that were not URLs.
    pub refused: usize,
    /// Why it was not read to its end. The entries before that are valid.
    pub stopped: Option<String>,
}

/// Maximum number of sitemaps read per site, or per index.
const SITEMAPS_PER_SITE: usize = 5;

/// Maximum number of URLs taken from a site's sitemaps. A focused crawl wants an entry point, not the whole site.
pub(crate) const LISTED_PER_SITE: usize = 1_000;

/// The priority of URLs from sitemaps, below that of any link that a strategy has scored.
const LISTED_PRIORITY: f64 = porthole_strategy::UNSCORED_PRIORITY;

/// A sitemap to read.
pub(crate) struct Sitemap {
    pub(crate) url: CanonicalUrl,
    /// Whether the sitemaps that an index lists are read.
    pub(crate) is_index_followed: bool,
}

impl Sitemap {
    /// The site's pages that it lists, at most `room`, and further sitemaps.
    pub(crate) fn read(
        &self,
        response: &Response,
        site: SiteId,
        room: usize,
    ) -> (Vec<NewUrl>, Vec<CanonicalUrl>) {
        let (mut pages, mut more) = (Vec::new(), Vec::new());
        if response.status != 200 {
            return (pages, more);
        }
        let mut take = |entry: SitemapEntry| match entry.kind {
            _ if entry.url.site() != site => {}
            SitemapKind::Page if pages.len() < room => {
                pages.push(NewUrl { url: entry.url, relevance: 0.0, priority: LISTED_PRIORITY, depth: 1 });
            }
            SitemapKind::Sitemap if self.is_index_followed && more.len() < SITEMAPS_PER_SITE => {
                more.push(entry.url);
            }
            _ => {}
        };
        if response.body.starts_with(&[0x1f, 0x8b]) {
            let unpacked = flate2::read::MultiGzDecoder::new(&response.body[..]).take(MAX_BYTES);
            read_sitemap(BufReader::new(unpacked), &self.url, &mut take);
        } else {
            read_sitemap(&response.body[..], &self.url, &mut take);
        }
        (pages, more)
    }
}

/// Chooses among the sitemaps that a site names. If there are too many they are taken evenly spaced, because the
/// first ones are often of one kind or one year.
pub(crate) fn chosen_sitemaps(mut named: Vec<CanonicalUrl>) -> Vec<CanonicalUrl> {
    let all = named.len();
    let mut number = 0;
    named.retain(|_| {
        number += 1;
        all <= SITEMAPS_PER_SITE || number * SITEMAPS_PER_SITE / all > (number - 1) * SITEMAPS_PER_SITE / all
    });
    named
}

/// Maximum number of entries per sitemap, from the protocol.
const MAX_ENTRIES: usize = 50_000;
/// Maximum size of a sitemap after decompression, from the protocol.
const MAX_BYTES: u64 = 50 << 20;
/// Maximum size of a tag, text, comment or line. A document type with an entity bomb is one of these.
const MAX_TOKEN: usize = 64 << 10;

/// Reads the sitemap at `at`, already decompressed, and passes on its entries. Entries on other hosts are included;
/// the scope decides about them.
pub fn read_sitemap(
    input: impl BufRead,
    at: &CanonicalUrl,
    each: &mut dyn FnMut(SitemapEntry),
) -> SitemapEnd {
    let mut input = Metered { inner: input, left: MAX_BYTES, token: MAX_TOKEN };
    let mut entries = Entries { at, each, end: SitemapEnd::default() };
    let outcome = match first_byte(&mut input) {
        Ok(None) => Ok(()),
        Ok(Some(b'<')) => read_xml(Escaped::new(input), &mut entries),
        Ok(Some(_)) => read_text(Escaped::new(input), &mut entries),
        Err(error) => Err(error.to_string()),
    };
    entries.end.stopped = outcome.err();
    entries.end
}

/// Receives entries and counts them.
struct Entries<'a> {
    at: &'a CanonicalUrl,
    each: &'a mut dyn FnMut(SitemapEntry),
    end: SitemapEnd,
}

impl Entries<'_> {
    fn push(&mut self, kind: SitemapKind, loc: &str, lastmod: &str) -> Result<(), String> {
        if self.end.entries + self.end.refused >= MAX_ENTRIES {
            return Err(format!("more than {MAX_ENTRIES} entries"));
        }
        let loc = trim_wide_spaces(loc);
        match self.at.join(loc) {
            Ok(url) if !loc.is_empty() && !loc.contains(char::REPLACEMENT_CHARACTER) => {
                self.end.entries += 1;
                (self.each)(SitemapEntry { url, kind, lastmod: time(lastmod.trim()) });
            }
            _ => self.end.refused += 1,
        }
        Ok(())
    }

    fn push_entry(&mut self, document: &mut Document) -> Result<(), String> {
        let entry = document.take_entry();
        if entry.0.is_empty() { Ok(()) } else { self.push(document.kind(), &entry.0, &entry.1) }
    }
}

/// Whitespace outside ASCII, as [`Escaped`] writes it: no-break, zero-width and ideographic space, byte order mark.
const WIDE_SPACES: [&str; 5] = ["%C2%A0", "%E2%80%8B", "%E2%80%AF", "%E3%80%80", "%EF%BB%BF"];

/// Removes whitespace around a URL.
fn trim_wide_spaces(mut text: &str) -> &str {
    loop {
        text = text.trim();
        let strip = |space: &str| text.strip_prefix(space).or_else(|| text.strip_suffix(space));
        match WIDE_SPACES.iter().find_map(|space| strip(space)) {
            Some(rest) => text = rest,
            None => return text,
        }
    }
}

fn read_text<R: BufRead>(mut input: Escaped<Metered<R>>, entries: &mut Entries<'_>) -> Result<(), String> {
    let mut line = Vec::new();
    loop {
        input.inner.token = MAX_TOKEN;
        line.clear();
        if input.read_until(b'\n', &mut line).map_err(|error| error.to_string())? == 0 {
            return Ok(());
        }
        let line = String::from_utf8_lossy(&line);
        if !line.trim().is_empty() {
            // A text sitemap has absolute URLs. Any other text is not a sitemap.
            let loc = if line.contains("://") { line.trim() } else { "" };
            entries.push(SitemapKind::Page, loc, "")?;
        }
    }
}

fn read_xml<R: BufRead>(input: Escaped<Metered<R>>, entries: &mut Entries<'_>) -> Result<(), String> {
    let mut reader = Reader::from_reader(input);
    let config = reader.config_mut();
    // Accept common mistakes: bare ampersands in URLs, mismatched end tags.
    config.allow_dangling_amp = true;
    config.allow_unmatched_ends = true;
    config.check_end_names = false;
    let mut document = Document::default();
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        reader.get_mut().inner.token = MAX_TOKEN;
        let event = match reader.read_event_into(&mut buffer) {
            Ok(event) => event,
            Err(error) => {
                // The text before it ended with a tag, whatever the tag is.
                entries.push_entry(&mut document)?;
                return Err(error.to_string());
            }
        };
        match event {
            Event::Start(tag) => {
                if document.open(tag.local_name().as_ref())? {
                    entries.push_entry(&mut document)?;
                }
                link(&tag, &mut document);
            }
            Event::Empty(tag) => {
                if document.open(tag.local_name().as_ref())? {
                    entries.push_entry(&mut document)?;
                }
                link(&tag, &mut document);
                if document.close() {
                    entries.push_entry(&mut document)?;
                }
            }
            Event::End(_) => {
                if document.close() {
                    entries.push_entry(&mut document)?;
                }
            }
            Event::Text(text) => document.text(&text),
            Event::CData(text) => document.text(&text),
            Event::GeneralRef(reference) => document.text(character(&reference).encode_utf8(&mut [0; 4])),
            Event::Eof => {
                // A file that was cut off inside a URL does not have all of it.
                return if document.is_in_url() { Ok(()) } else { entries.push_entry(&mut document) };
            }
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
    }
}

/// Takes the URL of an Atom link to the page itself.
fn link(tag: &BytesStart<'_>, document: &mut Document) {
    if !document.expects_link() {
        return;
    }
    let value = |name: &str| {
        let attribute = tag.attributes().with_checks(false).flatten().find(|one| one.key.as_ref() == name);
        attribute.map(|attribute| attribute.value.replace("&amp;", "&"))
    };
    if value("rel").is_none_or(|rel| rel == "alternate") {
        document.text(&value("href").unwrap_or_default());
    }
}

/// The character that a reference denotes. Entities that the document defines are not expanded, so there is no entity
/// bomb. They become a character that no URL contains.
fn character(reference: &BytesRef<'_>) -> char {
    match &**reference {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => '\u{a0}',
        _ => reference.resolve_char_ref().ok().flatten().unwrap_or(char::REPLACEMENT_CHARACTER),
    }
}

/// Parses a W3C date (year, month, day or time, without a zone in UTC) or the date of an RSS item.
fn time(text: &str) -> Option<Timestamp> {
    if let Ok(moment) = jiff::fmt::rfc2822::parse(text) {
        return Some(Timestamp(moment.timestamp().as_millisecond()));
    }
    if let Ok(moment) = text.parse::<jiff::Timestamp>() {
        return Some(Timestamp(moment.as_millisecond()));
    }
    let moment = if text.contains('T') {
        text.parse::<DateTime>().ok()?
    } else {
        let mut parts = text.split('-');
        let year = parts.next()?.parse().ok()?;
        let month = parts.next().map_or(Some(1), |month| month.parse().ok())?;
        let day = parts.next().map_or(Some(1), |day| day.parse().ok())?;
        Date::new(year, month, day).ok().filter(|_| parts.next().is_none())?.at(0, 0, 0, 0)
    };
    Some(Timestamp(moment.to_zoned(TimeZone::UTC).ok()?.timestamp().as_millisecond()))
}

/// Skips a byte order mark and whitespace. The byte after them stays in the input.
fn first_byte(input: &mut impl BufRead) -> io::Result<Option<u8>> {
    loop {
        let Some(&byte) = input.fill_buf()?.first() else { return Ok(None) };
        if !byte.is_ascii_whitespace() && !matches!(byte, 0xef | 0xbb | 0xbf) {
            return Ok(Some(byte));
        }
        input.consume(1);
    }
}

/// A reader with limits on the total size and on the size of a token.
struct Metered<R> {
    inner: R,
    left: u64,
    /// Reset before each token.
    token: usize,
}

impl<R: BufRead> BufRead for Metered<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let bytes = self.inner.fill_buf()?;
        let most = self.token.min(usize::try_from(self.left).unwrap_or(usize::MAX));
        if most == 0 && !bytes.is_empty() {
            let what = if self.left == 0 { "the sitemap" } else { "one of its parts" };
            return Err(io::Error::other(format!("{what} is longer than allowed")));
        }
        Ok(&bytes[..bytes.len().min(most)])
    }

    fn consume(&mut self, amount: usize) {
        self.inner.consume(amount);
        self.left = self.left.saturating_sub(amount as u64);
        self.token = self.token.saturating_sub(amount);
    }
}

impl<R: BufRead> Read for Metered<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(out)?;
        self.consume(count);
        Ok(count)
    }
}

/// A reader that percent-encodes bytes beyond ASCII. This makes the charset irrelevant, because only URLs and dates
/// are needed.
struct Escaped<R> {
    inner: R,
    buffer: Vec<u8>,
    read: usize,
}

/// Number of bytes escaped at once.
const CHUNK: usize = 4 << 10;

impl<R> Escaped<R> {
    fn new(inner: R) -> Self {
        Escaped { inner, buffer: Vec::new(), read: 0 }
    }
}

impl<R: BufRead> BufRead for Escaped<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.read == self.buffer.len() {
            self.buffer.clear();
            self.read = 0;
            let bytes = self.inner.fill_buf()?;
            let bytes = &bytes[..bytes.len().min(CHUNK)];
            for &byte in bytes {
                if byte.is_ascii() {
                    self.buffer.push(byte);
                } else {
                    write!(self.buffer, "%{byte:02X}")?;
                }
            }
            let count = bytes.len();
            self.inner.consume(count);
        }
        Ok(&self.buffer[self.read..])
    }

    fn consume(&mut self, amount: usize) {
        self.read += amount;
    }
}

impl<R: BufRead> Read for Escaped<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(out)?;
        self.consume(count);
        Ok(count)
    }
}

#[cfg(test)]
mod tests;
