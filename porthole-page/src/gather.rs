//! Collects the contents of a page while its tags are processed: leaves with their text, links, and head elements.
//!
//! Leaves are numbered as in A 2.2.1: every text node and every element without content, from left to right. White
//! space alone is not a leaf, comments are ignored, and `html`, `head` and `body` are never leaves. Where the
//! standard's repairs put something before earlier content (text inside a table, misnested formatting), the leaf is
//! recorded as moved, and reordered at the end.

use std::sync::Arc;

use wide::i8x16;

use crate::page::{LeafSpan, LinkKind};
use crate::steps;
use crate::tag::TagName;
use crate::token::is_space;
use crate::words::vector;

/// Stands for no leaf, link or position.
pub(crate) const NONE: u32 = u32::MAX;

/// Bits of a leaf in a `noscript`. The second is for the text that implicitly ended a `noscript` in the head.
pub(crate) const IN_NOSCRIPT: u8 = 1;
pub(crate) const ENDED_NOSCRIPT: u8 = 1 << 3;
pub(crate) const NOSCRIPT: u8 = IN_NOSCRIPT | ENDED_NOSCRIPT;
/// Bit of a leaf in an element beside the page's own text: navigation, footer, form options.
pub(crate) const ASIDE: u8 = 1 << 1;
/// Bit of a leaf that starts a block: the start or end of a block element lies between it and the leaf before it.
pub(crate) const STARTS_BLOCK: u8 = 1 << 2;

/// A link of the page.
#[derive(Clone, Copy)]
pub(crate) struct FoundLink<'a> {
    pub(crate) kind: LinkKind,
    pub(crate) href: &'a str,
    pub(crate) title: Option<&'a str>,
    pub(crate) rel: Option<&'a str>,
    /// First and last leaf inside the element; `NONE` while it is open.
    pub(crate) first: u32,
    pub(crate) last: u32,
    /// Range of its tag path in `PageCollector::paths`.
    pub(crate) path: (u32, u8),
    pub(crate) depth: u16,
}

/// Collects leaves, text and links.
pub(crate) struct PageCollector<'a> {
    pub(crate) text: String,
    pub(crate) leaves: Vec<LeafSpan>,
    /// Leaves that precede another: (leaf, the leaf that it precedes).
    pub(crate) moved: Vec<(u32, u32)>,
    /// Moved leaves that stand for an element emptied by a repair; open elements do not contain them.
    emptied: Vec<u32>,
    pub(crate) links: Vec<FoundLink<'a>>,
    pub(crate) paths: Vec<u8>,
    pub(crate) title: Option<&'a str>,
    pub(crate) base: Option<&'a str>,
    pub(crate) language: Option<&'a str>,
    pub(crate) robots: Vec<&'a str>,
    /// Name of the robot, to which directives may be addressed.
    pub(crate) robot: Option<Arc<str>>,
    pub(crate) refresh: Option<&'a str>,
    /// Bytes of inline scripts, and number of external ones.
    pub(crate) script_bytes: usize,
    pub(crate) scripts: u32,
    pub(crate) links_cut: u32,
    most_links: usize,
    /// Whether the last leaf is a text node that more text would extend.
    text_open: bool,
    /// Whether there was white space since the last word of the open text node.
    space_waits: bool,
    /// Lowest depth since the last leaf.
    lowest: u16,
    /// The bits of the next leaf.
    pub(crate) place: u8,
}

impl<'a> PageCollector<'a> {
    pub(crate) fn new(most_links: usize, text: String, leaves: Vec<LeafSpan>) -> Self {
        PageCollector {
            text,
            leaves,
            moved: Vec::new(),
            emptied: Vec::new(),
            links: Vec::with_capacity(64),
            paths: Vec::with_capacity(512),
            title: None,
            base: None,
            language: None,
            robots: Vec::new(),
            robot: None,
            refresh: None,
            script_bytes: 0,
            scripts: 0,
            links_cut: 0,
            most_links,
            text_open: false,
            space_waits: false,
            lowest: 0,
            place: 0,
        }
    }

    /// Number of the next leaf.
    pub(crate) fn next_leaf(&self) -> u32 {
        self.leaves.len() as u32
    }

    pub(crate) fn text_is_open(&self) -> bool {
        self.text_open
    }

    /// Starts a text leaf in `name`, the last of `depth` open elements, before leaf `before` unless that is `NONE`.
    pub(crate) fn open_text(&mut self, name: TagName, depth: usize, before: u32) {
        self.leaf(name, depth, before);
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        let start = self.text.len() as u32;
        let leaf = self.leaves.last_mut().expect("just pushed");
        (leaf.start, leaf.end) = (start, start);
        self.text_open = true;
        self.space_waits = false;
    }

    /// Ends the open text leaf, because an element starts or ends after it.
    pub(crate) fn close_text(&mut self) {
        if self.text_open {
            self.text_open = false;
            self.leaves.last_mut().expect("a text leaf is open").end = self.text.len() as u32;
        }
    }

    /// Adds a leaf without text: an element without content.
    pub(crate) fn empty_leaf(&mut self, name: TagName, depth: usize, before: u32) {
        self.close_text();
        self.leaf(name, depth, before);
    }

    /// Adds a leaf for an element emptied by a repair, before leaf `before`.
    pub(crate) fn emptied_leaf(&mut self, name: TagName, depth: usize, before: u32) {
        self.emptied.push(self.next_leaf());
        self.empty_leaf(name, depth, before);
    }

    /// Called when an element ends; `depth` elements are open now.
    pub(crate) fn rise(&mut self, depth: usize) {
        self.lowest = self.lowest.min(depth as u16);
    }

    fn leaf(&mut self, name: TagName, depth: usize, before: u32) {
        let depth = depth as u16;
        let end = self.text.len() as u32;
        let (shared, tag) = (self.lowest.min(depth), name.path_byte());
        self.leaves.push(LeafSpan { start: end, end, depth, shared, tag, place: self.place });
        self.lowest = depth;
        self.place &= !(STARTS_BLOCK | ENDED_NOSCRIPT);
        if before != NONE {
            self.moved.push((self.leaves.len() as u32 - 1, before));
        }
    }

    /// Appends text to the open leaf; runs of white space become one space, and are removed at the ends. NUL characters
    /// are dropped.
    pub(crate) fn push_text(&mut self, text: &str) {
        steps::add(1 + text.len());
        let bytes = text.as_bytes();
        let mut at = 0;
        loop {
            let word = at + bytes[at..].iter().take_while(|&&b| is_space(b)).count();
            self.space_waits |= word > at;
            if word == bytes.len() {
                return;
            }
            if bytes[word] == 0 {
                at = word + 1;
                continue;
            }
            if self.space_waits && !self.ends_at_start() {
                self.text.push(' ');
            }
            self.space_waits = false;
            at = word + regular_prefix(&bytes[word..]);
            self.text.push_str(&text[word..at]);
        }
    }

    fn ends_at_start(&self) -> bool {
        self.leaves.last().is_some_and(|leaf| leaf.start as usize == self.text.len())
    }

    /// Adds a link below these tags; returns its number, or `NONE` if there are too many.
    pub(crate) fn link(&mut self, mut link: FoundLink<'a>, path: impl Iterator<Item = u8>) -> u32 {
        if self.links.len() >= self.most_links {
            self.links_cut += 1;
            return NONE;
        }
        let start = self.paths.len();
        self.paths.extend(path);
        link.path = (start as u32, (self.paths.len() - start) as u8);
        self.links.push(link);
        self.links.len() as u32 - 1
    }

    /// Copies a link, for the copy of its element made by a repair.
    pub(crate) fn copy_link(&mut self, link: u32, first: u32) -> u32 {
        if link == NONE {
            return NONE;
        }
        if self.links.len() >= self.most_links {
            self.links_cut += 1;
            return NONE;
        }
        self.links.push(FoundLink { first, last: NONE, ..self.links[link as usize] });
        self.links.len() as u32 - 1
    }

    /// Ends the element of a link after leaf `last`.
    pub(crate) fn end_link(&mut self, link: u32, mut last: u32) {
        let Some(link) = self.links.get_mut(link as usize) else { return };
        for &emptied in self.emptied.iter().rev() {
            steps::add(1);
            if emptied != last || last <= link.first {
                break;
            }
            last -= 1;
        }
        link.last = last.max(link.first);
    }

    /// Ends the element of a link here.
    pub(crate) fn end_link_here(&mut self, link: u32) {
        self.end_link(link, self.next_leaf().wrapping_sub(1));
    }

    /// Removes everything from a leaf on: a frameset replaced the body.
    pub(crate) fn forget_from(&mut self, leaf: u32) {
        self.close_text();
        if let Some(first) = self.leaves.get(leaf as usize) {
            self.text.truncate(first.start as usize);
        }
        self.leaves.truncate(leaf as usize);
        steps::add(self.links.len());
        self.moved.clear();
        self.emptied.clear();
        self.links.retain(|link| link.first < leaf && link.last != NONE);
    }
}

/// Length of the prefix of words separated by single spaces, which can be copied unchanged. Ends before irregular or
/// trailing white space, and before NUL; at least 1 if the first byte is neither.
fn regular_prefix(bytes: &[u8]) -> usize {
    let mut at = 0;
    loop {
        while let Some(window) = bytes[at..].first_chunk::<65>() {
            let regular = irregular_of_64(window);
            at += regular;
            if regular < 64 {
                break;
            }
        }
        let regular = match bytes[at..].first_chunk::<17>() {
            Some(window) => irregular(*window.first_chunk().expect("16 of 17 bytes"), window[16]),
            None => irregular(filled(&bytes[at..]), 0),
        };
        at += regular;
        if regular == 16 {
            continue;
        }
        match bytes.get(at) {
            // A control character that is not white space: continue after it.
            Some(byte) if !is_space(*byte) && *byte != 0 => at += usize::from(*byte < b' '),
            Some(b' ') if bytes.get(at + 1).is_some_and(|&next| !is_space(next) && next != 0) => at += 1,
            _ => return at,
        }
    }
}

/// `irregular` of 64 bytes and the byte after them: a quarter of the steps in long texts.
#[inline(always)]
fn irregular_of_64(window: &[u8; 65]) -> usize {
    let (mut spaces, mut controls) = (0u64, 0u64);
    for (index, sixteen) in window.as_chunks::<16>().0.iter().enumerate() {
        let (bytes, space) = (vector(sixteen), i8x16::splat(b' '.cast_signed()));
        spaces |= u64::from(bytes.simd_eq(space).to_bitmask()) << (16 * index);
        let below = space.simd_gt(bytes) & bytes.simd_gt(i8x16::splat(-1));
        controls |= u64::from(below.to_bitmask()) << (16 * index);
    }
    let blanks_behind = (spaces | controls) >> 1 | u64::from(window[64] <= b' ') << 63;
    (controls | spaces & blanks_behind).trailing_zeros() as usize
}

/// Position of the first of sixteen bytes that is a control character, or a space before a space or a control
/// character; 16 if there is none. `next` is the byte after them.
#[inline(always)]
fn irregular(window: [u8; 16], next: u8) -> usize {
    let (bytes, space) = (vector(&window), i8x16::splat(b' '.cast_signed()));
    let spaces = bytes.simd_eq(space).to_bitmask();
    let controls = (space.simd_gt(bytes) & bytes.simd_gt(i8x16::splat(-1))).to_bitmask();
    let blanks = spaces | controls | u32::from(next <= b' ') << 16;
    (controls | spaces & blanks >> 1 | 1 << 16).trailing_zeros() as usize
}

/// Up to sixteen bytes, zero-padded. Assembled in registers: a short write followed by a wide read would stall on store
/// forwarding.
#[inline(always)]
fn filled(bytes: &[u8]) -> [u8; 16] {
    // The first and the last bytes, which may overlap.
    let whole = if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let rest = u128::from(u64::from_le_bytes(*last)) << (8 * (bytes.len() - 8));
        u128::from(u64::from_le_bytes(*first)) | rest
    } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let rest = u64::from(u32::from_le_bytes(*last)) << (8 * (bytes.len() - 4));
        u128::from(u64::from(u32::from_le_bytes(*first)) | rest)
    } else {
        bytes.iter().rev().fold(0, |all, &byte| all << 8 | u128::from(byte))
    };
    whole.to_le_bytes()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn white_space_is_folded() {
        for (pieces, expected) in [
            (vec!["  a  b\n\tc "], "a b c"),
            (vec!["a", "b"], "ab"),
            (vec!["a ", "b"], "a b"),
            (vec!["a", " ", "\n", "b "], "a b"),
            (vec!["\0a\0", "\0b \0 c\0 \0"], "ab c"),
            (
                vec!["a text that is longer than sixteen bytes\0 and goes on"],
                "a text that is longer than sixteen bytes and goes on",
            ),
            (
                vec!["a word that goes on and on past any stride of bytes  ", "x"],
                "a word that goes on and on past any stride of bytes x",
            ),
            (
                vec![
                    "one line of text that is long enough\nfor the stride to meet a newline in the middle of it",
                ],
                "one line of text that is long enough for the stride to meet a newline in the middle of it",
            ),
        ] {
            assert_eq!(pushed(&pieces), expected, "for {pieces:?}");
        }
    }

    fn pushed(pieces: &[&str]) -> String {
        let mut gather = PageCollector::new(8, String::new(), Vec::new());
        gather.open_text(TagName::P, 1, NONE);
        pieces.iter().for_each(|piece| gather.push_text(piece));
        gather.close_text();
        gather.text
    }

    proptest! {
        #[test]
        fn folding_is_what_splitting_and_joining_is(text in "[ab\\xe9\\x00\\x01\\x0b \\n\\t\\x0c]{0,200}") {
            let without_nul = text.replace('\0', "");
            let folded = without_nul.split(|c: char| c.is_ascii() && is_space(c as u8)).filter(|word| !word.is_empty());
            prop_assert_eq!(pushed(&[&text]), folded.collect::<Vec<_>>().join(" "));
        }
    }
}
