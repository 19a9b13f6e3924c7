//! Writes HTML in the style of a site, often sloppily, as on the real web.

use super::draw::{Draw, For};
use super::plan::WebPlan;

/// Writes tags in the style of one site.
pub(crate) struct TagWriter {
    pub(crate) out: Vec<u8>,
    pub(crate) style: Style,
}

/// HTML style of a site.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    /// `<P>` instead of `<p>`.
    upper: bool,
    /// Whether `p`, `li`, `tr` and `td` are closed.
    closes: bool,
    /// Quote around attribute values; `None` for unquoted.
    quote: Option<u8>,
    /// Element of the navigation bar.
    pub(crate) bar: NavigationBar,
    /// Latin-1 instead of UTF-8.
    pub(crate) latin1: bool,
    pub(crate) doctype: bool,
    /// Whether pages have comments, styles and scripts.
    pub(crate) clutter: bool,
}

/// Element of a navigation bar.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum NavigationBar {
    List,
    Table,
    Plain,
}

impl Style {
    /// Draws the style of a site.
    pub(crate) fn of(plan: &WebPlan, site: u32) -> Self {
        let mut draw: Draw = plan.draw_site(For::Style, site);
        Style {
            upper: draw.below(8) == 0,
            closes: draw.below(10) < 7,
            quote: [Some(b'"'), Some(b'"'), Some(b'"'), Some(b'\''), None][draw.below(5) as usize],
            bar: [NavigationBar::List, NavigationBar::Table, NavigationBar::Plain][draw.below(3) as usize],
            latin1: draw.below(8) == 0,
            doctype: draw.below(10) < 8,
            clutter: draw.below(3) == 0,
        }
    }

    /// The value of the Content-Type header.
    pub(crate) fn content_type(self) -> &'static str {
        if self.latin1 { "text/html; charset=iso-8859-1" } else { "text/html; charset=utf-8" }
    }
}

impl TagWriter {
    pub(crate) fn new(style: Style, capacity: usize) -> Self {
        TagWriter { out: Vec::with_capacity(capacity), style }
    }

    /// Writes text that needs no escapes.
    #[inline]
    pub(crate) fn raw(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// Writes a start tag without attributes.
    #[inline]
    pub(crate) fn open(&mut self, name: &str) {
        self.out.push(b'<');
        self.name(name);
        self.out.push(b'>');
    }

    /// Writes an end tag.
    #[inline]
    pub(crate) fn close(&mut self, name: &str) {
        self.out.extend_from_slice(b"</");
        self.name(name);
        self.out.push(b'>');
    }

    /// Writes an optional end tag, and a line end.
    pub(crate) fn end(&mut self, name: &str) {
        if self.style.closes {
            self.close(name);
        }
        self.out.push(b'\n');
    }

    /// Writes a start tag with one attribute whose value is written by `value`.
    #[inline]
    pub(crate) fn open_with(&mut self, name: &str, attribute: &str, value: impl FnOnce(&mut Vec<u8>)) {
        self.out.push(b'<');
        self.name(name);
        self.out.push(b' ');
        self.out.extend_from_slice(attribute.as_bytes());
        self.out.push(b'=');
        self.out.extend(self.style.quote);
        value(&mut self.out);
        self.out.extend(self.style.quote);
        self.out.push(b'>');
    }

    /// Writes a character outside ASCII, in the charset of the site.
    pub(crate) fn accent(&mut self, c: char) {
        match u8::try_from(u32::from(c)) {
            Ok(byte) if self.style.latin1 => self.out.push(byte),
            _ => self.out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }

    #[inline]
    fn name(&mut self, name: &str) {
        let start = self.out.len();
        self.out.extend_from_slice(name.as_bytes());
        if self.style.upper {
            self.out[start..].make_ascii_uppercase();
        }
    }
}
