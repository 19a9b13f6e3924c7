//! A page as bytes: what strategies read of it, for the workers that did not fetch it. The text itself is not among it.

use porthole_types::{CanonicalUrl, TermId, UrlId};

use crate::language::language_name;
use crate::page::{LeafSpan, Link, LinkKind, Page, RobotsMeta};

/// Version of the form. Pages travel between workers of one version only.
const FORM: u8 = 1;

const KINDS: [LinkKind; 7] = [
    LinkKind::Anchor,
    LinkKind::Area,
    LinkKind::Frame,
    LinkKind::Iframe,
    LinkKind::Next,
    LinkKind::Prev,
    LinkKind::Canonical,
];

impl Page {
    /// The page as bytes, without its text: title, language, links, leaves without their texts, terms.
    pub fn pack(&self) -> Vec<u8> {
        let mut out = PackedWriter(vec![FORM]);
        out.text(&self.title);
        out.text(self.language);
        out.0.extend(self.simhash.to_le_bytes());
        out.0.push(u8::from(self.robots.noindex) | u8::from(self.robots.nofollow) << 1);
        out.number(self.leaves.len());
        for leaf in &self.leaves {
            out.number(leaf.depth.into());
            out.number(leaf.shared.into());
            out.0.extend([leaf.tag, leaf.place]);
        }
        out.terms(&self.terms);
        out.number(self.term_ends.len());
        let mut before = 0;
        for &end in &self.term_ends {
            out.number(end.saturating_sub(before) as usize);
            before = end;
        }
        out.terms(&self.own_terms);
        out.bytes(&self.paths);
        out.number(self.links.len());
        for link in &self.links {
            out.0.extend(link.target.id().0.to_le_bytes());
            out.text(link.target.as_str());
            out.0.push(KINDS.iter().position(|kind| *kind == link.kind).unwrap_or(0) as u8);
            out.number(link.first_leaf as usize);
            out.number(link.last_leaf as usize);
            out.number(link.depth.into());
            out.number(link.path.0 as usize);
            out.0.push(link.path.1);
            for text in [&link.title, &link.rel] {
                // Longer by one, so that there is a number for none.
                out.number(text.as_ref().map_or(0, |text| text.len() + 1));
                out.0.extend(text.iter().flat_map(|text| text.bytes()));
            }
        }
        out.0
    }

    /// The page of such bytes; `None` if they are damaged or of another version.
    pub fn unpack(bytes: &[u8]) -> Option<Page> {
        let mut rest = PackedReader(bytes);
        if rest.byte()? != FORM {
            return None;
        }
        let title = rest.text()?.to_owned();
        let language = language_name(rest.text()?).map_or("", |(code, _)| code);
        let simhash = u64::from_le_bytes(rest.array()?);
        let robots = rest.byte()?;
        let robots = RobotsMeta { noindex: robots & 1 != 0, nofollow: robots & 2 != 0, noarchive: false };
        let leaves = rest.list(|rest| {
            let (depth, shared) = (rest.small()?, rest.small()?);
            Some(LeafSpan { start: 0, end: 0, depth, shared, tag: rest.byte()?, place: rest.byte()? })
        })?;
        let terms = rest.terms()?;
        let mut end = 0u32;
        let term_ends = rest.list(|rest| {
            end = end.checked_add(rest.small()?)?;
            (end as usize <= terms.len()).then_some(end)
        })?;
        let own_terms = rest.terms()?;
        let paths = rest.bytes()?.to_vec();
        let links = rest.list(PackedReader::link)?;
        rest.0.is_empty().then(|| Page {
            title,
            language,
            simhash,
            robots,
            leaves,
            terms,
            term_ends,
            own_terms,
            paths,
            links,
            ..Page::default()
        })
    }
}

struct PackedWriter(Vec<u8>);

impl PackedWriter {
    /// A number in as few bytes as it needs, seven bits each.
    fn number(&mut self, mut number: usize) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len());
        self.0.extend(bytes);
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn terms(&mut self, terms: &[TermId]) {
        self.number(terms.len());
        self.0.extend(terms.iter().flat_map(|term| term.0.to_le_bytes()));
    }
}

struct PackedReader<'b>(&'b [u8]);

impl<'b> PackedReader<'b> {
    fn byte(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*array)
    }

    fn number(&mut self) -> Option<usize> {
        let mut number = 0usize;
        for shift in (0..usize::BITS).step_by(7) {
            let byte = self.byte()?;
            number |= usize::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn small<N: TryFrom<usize>>(&mut self) -> Option<N> {
        N::try_from(self.number()?).ok()
    }

    fn take(&mut self, length: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn bytes(&mut self) -> Option<&'b [u8]> {
        let length = self.number()?;
        self.take(length)
    }

    fn text(&mut self) -> Option<&'b str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    fn optional_text(&mut self) -> Option<Option<Box<str>>> {
        let Some(length) = self.number()?.checked_sub(1) else { return Some(None) };
        Some(Some(std::str::from_utf8(self.take(length)?).ok()?.into()))
    }

    fn terms(&mut self) -> Option<Vec<TermId>> {
        let length = self.number()?.checked_mul(4)?;
        let (terms, _) = self.take(length)?.as_chunks();
        Some(terms.iter().map(|term| TermId(u32::from_le_bytes(*term))).collect())
    }

    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let length = self.number()?;
        // Every item takes a byte at least: a wrong length costs no memory.
        if length > self.0.len() {
            return None;
        }
        (0..length).map(|_| item(self)).collect()
    }

    fn link(&mut self) -> Option<Link> {
        let id = UrlId(u64::from_le_bytes(self.array()?));
        Some(Link {
            target: CanonicalUrl::with_id(self.text()?, id)?,
            kind: *KINDS.get(usize::from(self.byte()?))?,
            first_leaf: self.small()?,
            last_leaf: self.small()?,
            depth: self.small()?,
            path: (self.small()?, self.byte()?),
            title: self.optional_text()?,
            rel: self.optional_text()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use porthole_types::Headers;

    use super::*;
    use crate::Extractor;

    const HTML: &str = "<html lang=en><title>Owls of the north</title><meta name=robots content=nofollow>\
        <h1>Owls</h1><p>The snowy owl lives in the north, and the owls hunt there by night.\
        <ul><li><a href=/snowy title='snowy owl' rel=nofollow>the snowy owl</a><li><a href=http://b.test/>eagles</a></ul>";

    fn page() -> Page {
        let url = CanonicalUrl::parse("http://a.test/x").unwrap();
        Extractor::default().extract(&url, &Headers::new(), HTML.as_bytes())
    }

    #[test]
    fn what_strategies_read_is_the_same_after_packing() {
        let page = page();
        let other = Page::unpack(&page.pack()).unwrap();
        assert_eq!((&other.title, other.language, other.simhash), (&page.title, page.language, page.simhash));
        assert_eq!((other.terms(), other.term_counts()), (page.terms(), page.term_counts()));
        assert!(page.robots.nofollow && other.robots.nofollow && page.leaf_count() > 4);
        for leaf in 0..=page.leaf_count() {
            assert_eq!(other.leaf_terms(leaf), page.leaf_terms(leaf));
            let tree = |page: &Page| page.leaf(leaf).map(|leaf| (leaf.depth, leaf.shared, leaf.tag));
            assert_eq!(tree(&other), tree(&page));
        }
        assert_eq!((other.links.len(), page.links.len()), (2, 2));
        for (ours, link) in other.links.iter().zip(&page.links) {
            let all =
                |link: &Link| (link.target.clone(), link.kind, link.first_leaf, link.last_leaf, link.depth);
            assert_eq!(all(ours), all(link));
            assert_eq!((&ours.title, &ours.rel), (&link.title, &link.rel));
            assert_eq!(other.tag_path(ours), page.tag_path(link));
        }
    }

    #[test]
    fn damaged_bytes_are_no_page() {
        let bytes = page().pack();
        for length in 0..bytes.len() {
            assert!(Page::unpack(&bytes[..length]).is_none(), "{length} of {} bytes", bytes.len());
        }
        assert!(Page::unpack(&[&bytes[..], &[0]].concat()).is_none());
        assert!(Page::unpack(&[&[FORM + 1], &bytes[1..]].concat()).is_none());
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0xFF;
            // It may be another page; it must not panic.
            let _ = Page::unpack(&changed);
        }
    }
}
