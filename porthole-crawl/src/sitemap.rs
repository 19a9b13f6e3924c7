//! Sitemaps and sitemap indexes (sitemaps.org), as XML or as text with a URL a line, and RSS and Atom feeds, which sites
//! name as sitemaps too: a stream in, entries out, in bounded memory whatever the stream is.

mod document;

use std::io::{self, BufRead, BufReader, Read, Write};

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use porthole_types::{CanonicalUrl, NewUrl, SiteId, Timestamp};

use self::document::Document;
use crate::Response;
use quick_xml::Reader;
use quick_xml::events::{BytesRef, BytesStart, Event};

/// One line of a sitemap.
#[derive(Clone, Debug, PartialEq)]
pub struct SitemapEntry {
    /// What it is about.
    pub url: CanonicalUrl,
    /// Whether that is a page or a further sitemap.
    pub kind: SitemapKind,
    /// When it last changed, if the site says so.
    pub lastmod: Option<Timestamp>,
}

/// What a sitemap lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SitemapKind {
    /// A page of the site.
    Page,
    /// Another sitemap: this one is an index. An index lists no further index, so following it goes one
    /// step deep.
    Sitemap,
}

/// How the reading of a sitemap ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SitemapEnd {
    /// Entries handed out.
    pub entries: usize,
    /// Entries that were no URL.
    pub refused: usize,
    /// Why it was not read to its end, in words. What came before holds.
    pub stopped: Option<String>,
}

/// Sitemaps that are read of one site, or of one index.
const SITEMAPS_PER_SITE: usize = 5;

/// URLs that are taken from the sitemaps of one site: a focused crawl wants a foot in the door, not all of it.
pub(crate) const LISTED_PER_SITE: usize = 1_000;

/// The priority of URLs from sitemaps, below whatever a strategy says of a link that was seen.
const LISTED_PRIORITY: f64 = -1.0;

/// A sitemap to read.
pub(crate) struct Sitemap {
    pub(crate) url: CanonicalUrl,
    /// Whether the sitemaps that an index lists are read.
    pub(crate) leads_on: bool,
}

impl Sitemap {
    /// The pages of the site that it lists, at most `room`, and further sitemaps.
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
            SitemapKind::Sitemap if self.leads_on && more.len() < SITEMAPS_PER_SITE => more.push(entry.url),
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

/// The sitemaps to read of those that a site names. If it names more than are read, they are taken evenly spaced: the
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

/// Entries of one sitemap, by the protocol.
const MAX_ENTRIES: usize = 50_000;
/// Bytes of one sitemap, unpacked, by the protocol.
const MAX_BYTES: u64 = 50 << 20;
/// Bytes of one tag, text, comment or line. An internal document type with a bomb in it is one of these.
const MAX_TOKEN: usize = 64 << 10;

/// Reads a sitemap found at `at`, already unpacked, and hands out its entries. Entries on other hosts are
/// handed out too: what may be crawled is a question of scope.
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

/// Where the entries go, and the count of them.
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
        let loc = without_spaces(loc);
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

/// Spaces that are not ASCII, as [`Escaped`] writes them: no-break, zero-width and ideographic space, byte order mark.
const WIDE_SPACES: [&str; 5] = ["%C2%A0", "%E2%80%8B", "%E2%80%AF", "%E3%80%80", "%EF%BB%BF"];

/// A URL without the white space around it.
fn without_spaces(mut text: &str) -> &str {
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
            // A text sitemap has whole URLs; everything else on the web is text too.
            let loc = if line.contains("://") { line.trim() } else { "" };
            entries.push(SitemapKind::Page, loc, "")?;
        }
    }
}

fn read_xml<R: BufRead>(input: Escaped<Metered<R>>, entries: &mut Entries<'_>) -> Result<(), String> {
    let mut reader = Reader::from_reader(input);
    let config = reader.config_mut();
    // What people write: bare ampersands in URLs, end tags that do not fit.
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
                // The text before was ended by a tag, whatever became of the tag.
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
                // A file that was cut off inside a URL has not the whole of it.
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

/// The one character that a reference stands for. Entities of the document's own are not looked up, so
/// there is nothing to explode; they leave a sign that no URL has.
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

/// A W3C date: a year, a month, a day, or a moment, without a zone taken for UTC; or the date of an RSS item.
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

/// Passes over a byte order mark and white space. The byte behind them stays in the input.
fn first_byte(input: &mut impl BufRead) -> io::Result<Option<u8>> {
    loop {
        let Some(&byte) = input.fill_buf()?.first() else { return Ok(None) };
        if !byte.is_ascii_whitespace() && !matches!(byte, 0xef | 0xbb | 0xbf) {
            return Ok(Some(byte));
        }
        input.consume(1);
    }
}

/// A reader that refuses to go on beyond a number of bytes, for everything and for one token.
struct Metered<R> {
    inner: R,
    left: u64,
    /// Set anew by whoever asks for the next token.
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

/// A reader that writes bytes beyond ASCII as the escapes that they are in a URL. So no charset is wrong:
/// all that counts in a sitemap are URLs and dates.
struct Escaped<R> {
    inner: R,
    buffer: Vec<u8>,
    read: usize,
}

/// Bytes that are escaped at once.
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
