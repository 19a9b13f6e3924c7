//! The extracted page.

use std::fmt;

use porthole_types::{CanonicalUrl, TermId};

use crate::tag;
use crate::term_counts::count_terms;

/// A page: its text as numbered leaves, its links with their positions among them, its terms.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// Format of the page.
    pub format: PageFormat,
    /// Charset of the page, by its WHATWG name.
    pub charset: &'static str,
    /// Whether some bytes were invalid in that charset.
    pub bad_bytes: bool,
    /// The title, white space collapsed.
    pub title: String,
    /// The visible text: the leaves' texts, separated by spaces.
    pub text: String,
    /// ISO 639-1 code of the language, empty if unknown.
    pub language: &'static str,
    /// 64-bit simhash of the terms in order; 0 if there are none.
    pub simhash: u64,
    /// The links, in document order.
    pub links: Vec<Link>,
    /// Number of references that are not crawlable URLs (`mailto:`, syntax errors).
    pub links_refused: u32,
    /// Directives of `meta` and `X-Robots-Tag`.
    pub robots: RobotsMeta,
    /// Seconds and target of a `meta` refresh.
    pub refresh: Option<(u32, CanonicalUrl)>,
    /// Whether the page shows next to nothing without scripts.
    pub needs_scripts: bool,
    /// Whether the page is a PDF that needs a password (one that is encrypted with an empty password is read).
    pub encrypted: bool,
    /// What was dropped because of limits.
    pub cuts: Cuts,
    pub(crate) leaves: Vec<LeafSpan>,
    /// Terms of the title, then of each leaf in order.
    pub(crate) terms: Vec<TermId>,
    /// End of each leaf's terms; the first entry is the end of the title's.
    pub(crate) term_ends: Vec<u32>,
    pub(crate) paths: Vec<u8>,
    /// Terms of the title and of the page's own text; empty if these are all terms.
    pub(crate) own_terms: Vec<TermId>,
}

/// Format of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PageFormat {
    /// HTML or XHTML.
    Html,
    /// Plain text: one leaf, no links.
    Text,
    /// PDF: a leaf for each block of text or link.
    Pdf,
    /// Any other format, which is not read.
    #[default]
    Other,
}

/// A link with its position among the leaves.
#[derive(Clone, Debug)]
pub struct Link {
    /// Target URL.
    pub target: CanonicalUrl,
    /// Kind of element.
    pub kind: LinkKind,
    /// First leaf inside the element: l(a) in A 2.2.1.
    pub first_leaf: u32,
    /// Last leaf inside the element: r(a) in A 2.2.1.
    pub last_leaf: u32,
    /// Number of elements around it.
    pub depth: u16,
    /// The `title` attribute.
    pub title: Option<Box<str>>,
    /// The `rel` attribute.
    pub rel: Option<Box<str>>,
    pub(crate) path: (u32, u8),
}

/// Kind of a link's element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LinkKind {
    /// `a href`.
    Anchor,
    /// `area href`.
    Area,
    /// `frame src`.
    Frame,
    /// `iframe src`.
    Iframe,
    /// `link rel=next`.
    Next,
    /// `link rel=prev`.
    Prev,
    /// `link rel=canonical`.
    Canonical,
}

/// Robots directives of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RobotsMeta {
    /// Do not index this page.
    pub noindex: bool,
    /// Do not follow its links.
    pub nofollow: bool,
    /// Do not show a stored copy.
    pub noarchive: bool,
}

/// What was dropped from a page because of limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cuts {
    /// Number of bytes beyond the maximum.
    pub bytes: u64,
    /// Number of links beyond the maximum.
    pub links: u32,
    /// Number of attributes beyond the maximum of a tag.
    pub attributes: u32,
    /// Number of start tags that were nested too deep.
    pub depth: u32,
    /// Whether a part of a PDF was dropped because of too much work or text.
    pub pdf: bool,
}

/// A leaf's text range and position in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LeafSpan {
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// Number of elements around it.
    pub(crate) depth: u16,
    /// Number of them that are also around the previous leaf.
    pub(crate) shared: u16,
    /// The element that it is, or that its text is in, as a byte of a tag path.
    pub(crate) tag: u8,
    /// Its surroundings: bits of [`gather`](crate::gather).
    pub(crate) place: u8,
}

/// A leaf of the DOM, numbered as in A 2.2.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf<'a> {
    /// Its text, white space collapsed; empty for an element without content.
    pub text: &'a str,
    /// Number of elements around it.
    pub depth: u16,
    /// Number of them that are also around the previous leaf: the depth of their lowest common ancestor. For a leaf
    /// moved by a repair, both numbers are those of its original position.
    pub shared: u16,
    /// The element that it is, or that its text is in; `?` if it is unknown to HTML or missing.
    pub tag: &'static str,
}

impl Page {
    /// Number of leaves.
    pub fn leaf_count(&self) -> usize {
        self.leaves.len()
    }

    /// A leaf by its number.
    pub fn leaf(&self, number: usize) -> Option<Leaf<'_>> {
        let span = self.leaves.get(number)?;
        let text = &self.text[span.start as usize..span.end as usize];
        Some(Leaf { text, depth: span.depth, shared: span.shared, tag: tag::spelling(span.tag) })
    }

    /// [`Leaf::tag`] of a leaf by its number. Cheaper than [`leaf`](Self::leaf), which reads the text.
    pub fn leaf_tag(&self, number: usize) -> Option<&'static str> {
        self.leaves.get(number).map(|span| tag::spelling(span.tag))
    }

    /// The terms of a leaf, in order, without stop words.
    pub fn leaf_terms(&self, number: usize) -> &[TermId] {
        let ends = self.term_ends.get(number..number + 2);
        ends.map_or(&[], |ends| &self.terms[ends[0] as usize..ends[1] as usize])
    }

    /// All terms in order, the title's first, without stop words.
    pub fn terms(&self) -> &[TermId] {
        &self.terms
    }

    /// The terms by which the page is judged, in order: those of its title and its own text, without navigation,
    /// footers and menus. All terms if there is too little text.
    pub fn judged_terms(&self) -> &[TermId] {
        if self.own_terms.is_empty() { &self.terms } else { &self.own_terms }
    }

    /// Number of occurrences of each of the judged terms, ordered by term.
    pub fn term_counts(&self) -> Vec<(TermId, u32)> {
        count_terms(self.judged_terms())
    }

    /// Text of a link's leaves.
    pub fn anchor_text(&self, link: &Link) -> &str {
        // Leaves are joined in order, so everything between the first and the last belongs to the link.
        match (self.leaves.get(link.first_leaf as usize), self.leaves.get(link.last_leaf as usize)) {
            (Some(first), Some(last)) if last.end >= first.start => {
                self.text[first.start as usize..last.end as usize].trim_matches(' ')
            }
            _ => "",
        }
    }

    /// The leaves within `reach` of a link with their DOM offsets: 0 inside it, negative before it, positive after it
    /// (A 2.2.1).
    pub fn around(&self, link: &Link, reach: u32) -> impl Iterator<Item = (i32, usize)> + use<> {
        let (first, last) = (link.first_leaf, link.last_leaf);
        let end = last.saturating_add(reach).min((self.leaves.len() as u32).saturating_sub(1));
        (first.saturating_sub(reach)..=end).map(move |leaf| {
            let offset = i64::from(leaf) - i64::from(leaf.clamp(first, last));
            (offset as i32, leaf as usize)
        })
    }

    /// Names of the elements around a link and of its own, outermost first, at most the innermost 24.
    pub fn tag_path(&self, link: &Link) -> TagPath<'_> {
        let (start, length) = link.path;
        TagPath(self.paths.get(start as usize..start as usize + length as usize).unwrap_or(&[]))
    }
}

/// Names of the elements around a link and of its own. Displayed as `body>ul>li>a`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TagPath<'a>(&'a [u8]);

impl<'a> TagPath<'a> {
    /// The names, outermost first; `?` if unknown to HTML.
    pub fn names(self) -> impl Iterator<Item = &'static str> + 'a {
        self.0.iter().map(|&byte| tag::spelling(byte))
    }
}

impl fmt::Display for TagPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, name) in self.names().enumerate() {
            write!(f, "{}{name}", if index > 0 { ">" } else { "" })?;
        }
        Ok(())
    }
}

impl fmt::Debug for TagPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl LinkKind {
    /// Name in tables and output.
    pub fn name(self) -> &'static str {
        match self {
            LinkKind::Anchor => "anchor",
            LinkKind::Area => "area",
            LinkKind::Frame => "frame",
            LinkKind::Iframe => "iframe",
            LinkKind::Next => "next",
            LinkKind::Prev => "prev",
            LinkKind::Canonical => "canonical",
        }
    }

    /// Kind of a `link` element with this `rel`, if it is a link to another page.
    pub(crate) fn of_rel(rel: &str) -> Option<LinkKind> {
        rel.split_ascii_whitespace().find_map(|word| match word.to_ascii_lowercase().as_str() {
            "next" => Some(LinkKind::Next),
            "prev" | "previous" => Some(LinkKind::Prev),
            "canonical" => Some(LinkKind::Canonical),
            _ => None,
        })
    }
}

impl RobotsMeta {
    /// Adds the directives of an `X-Robots-Tag`, which may be addressed to one robot: `name: directives`.
    pub(crate) fn add_header(&mut self, value: &str, name: Option<&str>) {
        match value.split_once(':') {
            Some((robot, directives))
                if !robot.contains(',') && !robot.trim().eq_ignore_ascii_case("unavailable_after") =>
            {
                if name.is_some_and(|name| robot.trim().eq_ignore_ascii_case(name)) {
                    self.add(directives);
                }
            }
            _ => self.add(value),
        }
    }

    /// Adds a list of directives.
    pub(crate) fn add(&mut self, directives: &str) {
        for word in directives.split([',', ';']).map(|word| word.trim().to_ascii_lowercase()) {
            match word.as_str() {
                "noindex" => self.noindex = true,
                "nofollow" => self.nofollow = true,
                "noarchive" => self.noarchive = true,
                "none" => (self.noindex, self.nofollow) = (true, true),
                _ => {}
            }
        }
    }
}
