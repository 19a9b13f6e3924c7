//! Collects the text of a document: words separated by single spaces, in leaves, some of them in links.

use super::glyphs;
use super::place::TextGap;
use crate::page::LeafSpan;
use crate::steps;
use crate::tag::NO_TAG;

/// A link with its position among the leaves.
#[derive(Debug)]
pub(crate) struct PlacedLink {
    pub(crate) uri: String,
    pub(crate) first: u32,
    pub(crate) last: u32,
}

/// Collects text.
pub(super) struct TextWriter {
    pub(super) text: String,
    pub(super) leaves: Vec<LeafSpan>,
    pub(super) links: Vec<PlacedLink>,
    /// Whether there was text with unknown characters.
    pub(super) has_unknown: bool,
    most_text: usize,
    /// Index of the page's first link among all links.
    page_links: usize,
    /// The link that the next word is in, and the one that the last leaf is in.
    link: Option<usize>,
    leaf_link: Option<usize>,
    is_leaf_open: bool,
    /// Gap between the last character and the next.
    waiting: TextGap,
    is_page_new: bool,
}

const NO_LEAF: u32 = u32::MAX;

impl TextWriter {
    pub(super) fn new(most_text: usize) -> Self {
        TextWriter {
            text: String::new(),
            leaves: Vec::new(),
            links: Vec::new(),
            has_unknown: false,
            most_text,
            page_links: 0,
            link: None,
            leaf_link: None,
            is_leaf_open: false,
            waiting: TextGap::Inside,
            is_page_new: true,
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.text.len() >= self.most_text
    }

    /// Starts a page with links to these targets.
    pub(super) fn start_page(&mut self, uris: impl Iterator<Item = String>) {
        self.page_links = self.links.len();
        self.links.extend(uris.map(|uri| PlacedLink { uri, first: NO_LEAF, last: NO_LEAF }));
        self.is_page_new = true;
        (self.link, self.leaf_link) = (None, None);
    }

    /// Ends a page: links without text get an empty leaf each, as an empty element does.
    pub(super) fn end_page(&mut self) {
        self.close_leaf();
        for index in self.page_links..self.links.len() {
            if self.links[index].first == NO_LEAF {
                self.link = Some(index - self.page_links);
                self.open_leaf();
                self.close_leaf();
            }
        }
        self.link = None;
    }

    /// Whether the next character starts a word.
    pub(super) fn is_at_word(&self) -> bool {
        !matches!(self.waiting, TextGap::Inside | TextGap::Over) || !self.is_leaf_open
    }

    /// Sets the page's link that the next word is in.
    pub(super) fn set_link(&mut self, link: Option<usize>) {
        if link != self.link {
            self.close_leaf();
            self.link = link;
        }
    }

    pub(super) fn step(&mut self, step: TextGap) {
        match (step, self.waiting) {
            (TextGap::Leaf, _) => self.close_leaf(),
            (TextGap::Inside, _) => {}
            (TextGap::Over, TextGap::Inside) => self.waiting = TextGap::Over,
            (TextGap::Over, _) | (_, TextGap::Line) => {}
            (step, _) => self.waiting = step,
        }
    }

    pub(super) fn character(&mut self, character: char) {
        steps::add(1);
        match character {
            '\0' | '\u{fffd}' | '\u{e000}'..='\u{f8ff}' => self.has_unknown = true,
            '\u{fb00}' => self.word("ff"),
            '\u{fb01}' => self.word("fi"),
            '\u{fb02}' => self.word("fl"),
            '\u{fb03}' => self.word("ffi"),
            '\u{fb04}' => self.word("ffl"),
            '\u{fb05}' | '\u{fb06}' => self.word("st"),
            // Normalises hyphens, so that words can be joined at line ends.
            '\u{ad}' | '\u{2010}' | '\u{2011}' => self.word("-"),
            '\u{200b}'..='\u{200f}' | '\u{feff}' => {}
            space if space.is_whitespace() => self.step(TextGap::Space),
            control if control.is_control() => {}
            character => self.word(character.encode_utf8(&mut [0; 4])),
        }
    }

    fn word(&mut self, part: &str) {
        if self.is_full() {
            return;
        }
        if !self.is_leaf_open {
            self.open_leaf();
        } else if self.waiting == TextGap::Line && self.ends_in_hyphen() {
            // A word divided at a line end; if it continues with a capital, it keeps its hyphen.
            if part.chars().all(char::is_lowercase) {
                self.text.pop();
            }
        } else if self.waiting == TextGap::Over {
            if let Some(letter) = self.accented(part) {
                self.text.pop();
                self.text.push(letter);
                self.waiting = TextGap::Inside;
                return;
            }
        } else if self.waiting != TextGap::Inside {
            self.text.push(' ');
        }
        self.waiting = TextGap::Inside;
        self.text.push_str(part);
    }

    /// Combines the last character with this letter, if it is an accent.
    fn accented(&self, letter: &str) -> Option<char> {
        let start = self.leaves.last()?.start as usize;
        let accent = match self.text[start..].chars().next_back()? {
            '`' => "grave",
            '\u{b4}' => "acute",
            '^' | '\u{2c6}' => "circumflex",
            '~' | '\u{2dc}' => "tilde",
            '\u{a8}' => "dieresis",
            '\u{2c7}' => "caron",
            '\u{2d8}' => "breve",
            '\u{af}' => "macron",
            '\u{2d9}' => "dotaccent",
            '\u{2da}' => "ring",
            '\u{2dd}' => "hungarumlaut",
            _ => return None,
        };
        let letter = if letter == "\u{131}" { "i" } else { letter };
        glyphs::character(&[letter.as_bytes(), accent.as_bytes()].concat())
    }

    fn ends_in_hyphen(&self) -> bool {
        let start = self.leaves.last().map_or(0, |leaf| leaf.start as usize);
        let mut back = self.text[start..].chars().rev();
        back.next() == Some('-') && back.next().is_some_and(char::is_alphabetic)
    }

    fn open_leaf(&mut self) {
        let number = self.leaves.len() as u32;
        let is_empty_link = self.link.is_some_and(|link| self.links[self.page_links + link].first == NO_LEAF);
        let goes_on = self.link.is_some() && self.link == self.leaf_link && !self.is_page_new;
        if let Some(link) = self.link.map(|link| &mut self.links[self.page_links + link]) {
            match () {
                () if is_empty_link => (link.first, link.last) = (number, number),
                () if link.last + 1 == number => link.last = number,
                () => {}
            }
        }
        // The page is an element, and a link is one in it.
        let depth = 1 + u16::from(self.link.is_some());
        let shared = if self.is_page_new { 0 } else { 1 + u16::from(goes_on) };
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        let start = self.text.len() as u32;
        self.leaves.push(LeafSpan { start, end: start, depth, shared, tag: NO_TAG, place: 0 });
        self.is_leaf_open = true;
        self.is_page_new = false;
        self.leaf_link = self.link;
        self.waiting = TextGap::Inside;
    }

    /// Ends the open leaf; a leaf without text removes its space.
    fn close_leaf(&mut self) {
        self.waiting = TextGap::Inside;
        if !self.is_leaf_open {
            return;
        }
        self.is_leaf_open = false;
        let Some(leaf) = self.leaves.last_mut() else { return };
        if self.text.len() == leaf.start as usize && self.text.ends_with(' ') {
            self.text.pop();
            leaf.start -= 1;
        }
        leaf.end = self.text.len() as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(parts: &[(&str, TextGap)]) -> TextWriter {
        let mut writer = TextWriter::new(1000);
        writer.start_page(std::iter::empty());
        for (text, step) in parts {
            text.chars().for_each(|character| writer.character(character));
            writer.step(*step);
        }
        writer.end_page();
        writer
    }

    #[test]
    fn words_are_put_together() {
        for (parts, expected) in [
            (vec![("  a \u{a0} b", TextGap::Space), (" c ", TextGap::Leaf)], "a b c"),
            (vec![("infor-", TextGap::Line), ("mation", TextGap::Leaf)], "information"),
            (vec![("Jean-", TextGap::Line), ("Pierre", TextGap::Leaf)], "Jean-Pierre"),
            (vec![("a -", TextGap::Line), ("b", TextGap::Leaf)], "a - b"),
            (vec![("1990-", TextGap::Line), ("2000", TextGap::Leaf)], "1990- 2000"),
            (vec![("soft\u{ad}", TextGap::Line), (" ly", TextGap::Leaf)], "softly"),
            (vec![("\u{fb01}nd o\u{fb03}ce\u{1}", TextGap::Inside)], "find office"),
            (
                vec![
                    ("d\u{b4}", TextGap::Over),
                    ("ej`", TextGap::Over),
                    ("a", TextGap::Over),
                    ("b", TextGap::Leaf),
                ],
                "d\u{e9}j\u{e0}b",
            ),
            (vec![("a", TextGap::Leaf), ("", TextGap::Leaf), ("b", TextGap::Leaf)], "a b"),
        ] {
            assert_eq!(written(&parts).text, expected, "for {parts:?}");
        }
    }

    #[test]
    fn links_have_their_leaves() {
        let mut writer = TextWriter::new(1000);
        writer.start_page(["one", "two", "three"].map(String::from).into_iter());
        let mut say = |link, text: &str| {
            writer.set_link(link);
            text.chars().for_each(|character| writer.character(character));
        };
        say(None, "see ");
        say(Some(1), "the owl ");
        say(None, "and");
        say(Some(0), "more");
        writer.end_page();
        let places: Vec<_> =
            writer.links.iter().map(|link| (link.uri.as_str(), link.first, link.last)).collect();
        assert_eq!(places, [("one", 3, 3), ("two", 1, 1), ("three", 4, 4)]);
        assert_eq!(writer.text, "see the owl and more");
        let depths: Vec<_> = writer.leaves.iter().map(|leaf| (leaf.depth, leaf.shared)).collect();
        assert_eq!(depths, [(1, 0), (2, 1), (1, 1), (2, 1), (2, 1)]);
        assert_eq!(writer.leaves[4].start, writer.leaves[4].end);
    }
}
