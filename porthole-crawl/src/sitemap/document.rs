//! Parser state for a sitemap or feed, and the fields of the current entry.

use super::SitemapKind;

/// Maximum depth of open elements. A sitemap needs three, a feed four, extensions a few more.
const MAX_DEPTH: usize = 32;
/// Maximum length of a URL before canonicalisation.
const MAX_TEXT: usize = 8 << 10;

/// A document being read: `urlset/url/loc`, `rss/channel/item/link`, `feed/entry/link` and the like.
#[derive(Default)]
pub(super) struct Document {
    format: SitemapFormat,
    depth: usize,
    /// Whether an entry is open.
    in_entry: bool,
    within: SitemapField,
    url: String,
    lastmod: String,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum SitemapFormat {
    #[default]
    Pages,
    Index,
    /// RSS 0.9 and 2: `rss/channel/item`.
    Rss,
    /// RSS 1: `RDF/item`.
    Rdf,
    Atom,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum SitemapField {
    Url,
    /// In Atom the URL is an attribute.
    Link,
    Lastmod,
    #[default]
    Other,
}

impl SitemapFormat {
    fn of_root(name: &str) -> Option<SitemapFormat> {
        Some(match name {
            "urlset" => SitemapFormat::Pages,
            "sitemapindex" => SitemapFormat::Index,
            "rss" => SitemapFormat::Rss,
            "RDF" => SitemapFormat::Rdf,
            "feed" => SitemapFormat::Atom,
            _ => return None,
        })
    }

    /// Depth of its entries.
    fn entry_depth(self) -> usize {
        if self == SitemapFormat::Rss { 3 } else { 2 }
    }

    fn is_entry(self, name: &str) -> bool {
        match self {
            SitemapFormat::Pages | SitemapFormat::Index => true,
            SitemapFormat::Rss | SitemapFormat::Rdf => name == "item",
            SitemapFormat::Atom => name == "entry",
        }
    }

    fn field(self, name: &str) -> SitemapField {
        match (self, name) {
            (SitemapFormat::Pages | SitemapFormat::Index, "loc") => SitemapField::Url,
            (SitemapFormat::Pages | SitemapFormat::Index, "lastmod") => SitemapField::Lastmod,
            (SitemapFormat::Rss | SitemapFormat::Rdf, "link") => SitemapField::Url,
            (SitemapFormat::Rss, "pubDate") | (SitemapFormat::Rdf, "date") => SitemapField::Lastmod,
            (SitemapFormat::Atom, "link") => SitemapField::Link,
            (SitemapFormat::Atom, "updated") => SitemapField::Lastmod,
            _ => SitemapField::Other,
        }
    }
}

impl Document {
    /// The kind of its entries.
    pub(super) fn kind(&self) -> SitemapKind {
        if self.format == SitemapFormat::Index { SitemapKind::Sitemap } else { SitemapKind::Page }
    }

    /// Opens an element. Returns whether it starts a second URL in an entry, so that the first has to be taken.
    pub(super) fn open(&mut self, name: &str) -> Result<bool, String> {
        self.depth += 1;
        if self.depth == 1 {
            self.format =
                SitemapFormat::of_root(name).ok_or_else(|| format!("<{name}> is not a sitemap or feed"))?;
        } else if self.depth == self.format.entry_depth() {
            self.in_entry = self.format.is_entry(name);
            self.take_entry();
        } else if self.depth == self.format.entry_depth() + 1 && self.in_entry {
            self.within = self.format.field(name);
            return Ok(self.within == SitemapField::Url && !self.url.trim().is_empty());
        } else if self.depth >= MAX_DEPTH {
            return Err(format!("more than {MAX_DEPTH} elements deep"));
        }
        Ok(false)
    }

    /// Closes an element. Returns whether it was an entry.
    pub(super) fn close(&mut self) -> bool {
        let closed = self.depth;
        self.depth = closed.saturating_sub(1);
        if closed == self.format.entry_depth() + 1 {
            self.within = SitemapField::Other;
        }
        closed == self.format.entry_depth() && std::mem::take(&mut self.in_entry)
    }

    /// Adds text to the open element.
    pub(super) fn text(&mut self, text: &str) {
        let target = match self.within {
            _ if self.depth != self.format.entry_depth() + 1 => return,
            SitemapField::Url | SitemapField::Link => &mut self.url,
            SitemapField::Lastmod => &mut self.lastmod,
            SitemapField::Other => return,
        };
        if target.len() + text.len() <= MAX_TEXT {
            target.push_str(text);
        }
    }

    /// Whether the element just opened has its URL in an attribute, and the entry has none yet.
    pub(super) fn expects_link(&self) -> bool {
        self.within == SitemapField::Link && self.url.is_empty()
    }

    /// Whether a URL is incomplete.
    pub(super) fn is_in_url(&self) -> bool {
        self.within == SitemapField::Url
    }

    /// Takes the URL of the current entry, empty if it has none, and its date.
    pub(super) fn take_entry(&mut self) -> (String, String) {
        (std::mem::take(&mut self.url), std::mem::take(&mut self.lastmod))
    }
}
