//! The blocks of text of a page, and what the elements around them contain.

use crate::hints::Hints;
use crate::outline::{Outline, OutlineNode};
use crate::steps;
use crate::tag::TagName;

/// Words of a block that reads like a paragraph.
const PROSE: u32 = 12;

/// A block of text: the texts between two starts or ends of block elements.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ContentBlock {
    /// First and last of its texts among the nodes.
    pub(crate) first: u32,
    pub(crate) last: u32,
    /// The innermost block element around it.
    pub(crate) element: u32,
    pub(crate) words: u32,
    /// Number of its words in links.
    pub(crate) linked: u32,
    pub(crate) commas: u32,
    pub(crate) digits: u32,
    pub(crate) letters: u32,
    pub(crate) capitals: u32,
    /// Whether its last character ends a sentence.
    pub(crate) ends_sentence: bool,
    /// Elements and hints around it.
    pub(crate) around: Surroundings,
}

impl ContentBlock {
    pub(crate) fn is_prose(&self) -> bool {
        self.words >= PROSE && self.linked * 3 <= self.words
    }
}

/// The elements around a block, by name, and the hints of their attributes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Surroundings {
    /// Bits in the order of [`NAMED`].
    pub(crate) names: u32,
    /// Of all elements that hold at most half of the page's words.
    pub(crate) hints: Hints,
    /// Of all elements.
    pub(crate) all_hints: Hints,
}

/// Elements that tell something about the text in them.
pub(crate) const NAMED: [TagName; 24] = [
    TagName::NAV,
    TagName::FOOTER,
    TagName::ASIDE,
    TagName::HEADER,
    TagName::MAIN,
    TagName::ARTICLE,
    TagName::SECTION,
    TagName::FORM,
    TagName::UL,
    TagName::OL,
    TagName::TABLE,
    TagName::BUTTON,
    TagName::FIGURE,
    TagName::DIALOG,
    TagName::LABEL,
    TagName::BLOCKQUOTE,
    TagName::DETAILS,
    TagName::PRE,
    TagName::DL,
    TagName::P,
    TagName::LI,
    TagName::ADDRESS,
    TagName::A,
    TagName::SMALL,
];

/// What an element contains.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Contents {
    pub(crate) words: u32,
    pub(crate) linked: u32,
    /// Words in paragraphs.
    pub(crate) prose: u32,
    pub(crate) blocks: u32,
}

/// The blocks of a page in order, and the contents of each of its nodes.
pub(crate) struct PageBlocks {
    pub(crate) blocks: Vec<ContentBlock>,
    pub(crate) contents: Vec<Contents>,
}

impl PageBlocks {
    pub(crate) fn of(outline: &Outline) -> PageBlocks {
        let mut finder = BlockFinder {
            outline,
            blocks: Vec::new(),
            contents: vec![Contents::default(); outline.nodes.len()],
            open: Vec::new(),
            links: 0,
            at_boundary: true,
        };
        finder.run();
        let BlockFinder { mut blocks, mut contents, .. } = finder;
        for block in &blocks {
            if let Some(contents) = contents.get_mut(block.element as usize) {
                contents.words += block.words;
                contents.linked += block.linked;
                contents.prose += if block.is_prose() { block.words } else { 0 };
                contents.blocks += 1;
            }
        }
        for number in (0..contents.len()).rev() {
            let (inner, parent) = (contents[number], outline.nodes[number].parent);
            if let Some(outer) = contents.get_mut(parent as usize) {
                outer.words += inner.words;
                outer.linked += inner.linked;
                outer.prose += inner.prose;
                outer.blocks += inner.blocks;
            }
        }
        find_surroundings(&outline.nodes, &contents, &mut blocks);
        PageBlocks { blocks, contents }
    }
}

/// Whether the element starts and ends a block.
pub(crate) fn is_block(name: TagName) -> bool {
    name.is_boundary() && !matches!(name, TagName::BR | TagName::WBR | TagName::IMG | TagName::INPUT)
}

/// Whether the element's content is not shown, or is no text.
fn is_invisible(node: &OutlineNode, shows_noscript: bool) -> bool {
    let name = node.name.unwrap_or(TagName::BODY);
    name.is_raw() && name != TagName::XMP
        || name == TagName::NOSCRIPT && !shows_noscript
        || matches!(
            name,
            TagName::HEAD
                | TagName::SVG
                | TagName::SELECT
                | TagName::TEMPLATE
                | TagName::DATALIST
                | TagName::OBJECT
                | TagName::AUDIO
                | TagName::VIDEO
                | TagName::CANVAS
        )
}

/// Whether most of the text is for browsers without scripts: then it is the page, which scripts would replace.
fn is_mostly_noscript(outline: &Outline) -> bool {
    let (mut all, mut inside, mut end) = (0, 0, 0);
    for (number, node) in (0..).zip(&outline.nodes) {
        steps::add(1);
        if node.name == Some(TagName::NOSCRIPT) {
            end = end.max(node.end);
        } else if node.name.is_none() {
            let length = u64::from(node.stop - node.start);
            all += length;
            inside += if number < end { length } else { 0 };
        }
    }
    inside * 2 > all
}

struct BlockFinder<'o> {
    outline: &'o Outline,
    blocks: Vec<ContentBlock>,
    contents: Vec<Contents>,
    /// The elements around the next node.
    open: Vec<u32>,
    /// Number of them that are links.
    links: u32,
    at_boundary: bool,
}

impl BlockFinder<'_> {
    fn run(&mut self) {
        let nodes = &self.outline.nodes;
        let shows_noscript = is_mostly_noscript(self.outline);
        let mut number = 0;
        while let Some(node) = nodes.get(number) {
            steps::add(1);
            while let Some(&open) = self.open.last()
                && nodes[open as usize].end as usize <= number
            {
                self.open.pop();
                self.leave(&nodes[open as usize]);
            }
            match node.name {
                Some(_) if is_invisible(node, shows_noscript) => {
                    number = node.end as usize;
                    continue;
                }
                Some(name) => {
                    self.at_boundary |= is_block(name);
                    if node.end as usize > number + 1 {
                        self.open.push(number as u32);
                        self.links += u32::from(name == TagName::A);
                    }
                }
                None => self.text(number as u32, node),
            }
            number += 1;
        }
    }

    fn leave(&mut self, node: &OutlineNode) {
        let name = node.name.expect("a text is never open");
        self.links -= u32::from(name == TagName::A);
        self.at_boundary |= is_block(name);
    }

    fn text(&mut self, number: u32, node: &OutlineNode) {
        let text = &self.outline.text[node.start as usize..node.stop as usize];
        if text.trim_ascii().is_empty() {
            return;
        }
        if std::mem::take(&mut self.at_boundary) {
            let element = self.open.iter().rev().copied().find(|&open| {
                steps::add(1);
                self.outline.nodes[open as usize].name.is_some_and(is_block)
            });
            let element = element.or(self.open.first().copied()).unwrap_or(u32::MAX);
            self.blocks.push(ContentBlock { first: number, element, ..ContentBlock::default() });
        }
        let Some(block) = self.blocks.last_mut() else { return };
        block.last = number;
        let words = block.read(text);
        if self.links > 0 {
            block.linked += words;
        }
    }
}

impl ContentBlock {
    /// Counts what is in a text, and returns the number of its words.
    fn read(&mut self, text: &str) -> u32 {
        steps::add(text.len());
        let (mut words, mut in_word, mut ideographs) = (0, false, 0);
        for c in text.chars() {
            let is_word = c.is_alphanumeric();
            words += u32::from(is_word && !in_word);
            in_word = is_word || in_word && c == '\'' || in_word && c == '\u{2019}';
            ideographs += u32::from(matches!(c, '\u{3040}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'));
            self.letters += u32::from(is_word);
            self.capitals += u32::from(c.is_ascii_uppercase());
            self.digits += u32::from(c.is_ascii_digit());
            self.commas += u32::from(matches!(c, ',' | ';' | '\u{3001}' | '\u{ff0c}'));
        }
        // A word of Chinese or Japanese has about two characters.
        words += ideographs / 2;
        self.words += words;
        let last = text.trim_end_matches(|c: char| {
            c.is_whitespace() || matches!(c, '"' | ')' | '\u{201d}' | '\u{2019}')
        });
        self.ends_sentence = last.ends_with(['.', '?', '!', ':', '\u{3002}', '\u{2026}']);
        words
    }
}

/// Finds the elements and hints around each block, in one pass over the nodes.
fn find_surroundings(nodes: &[OutlineNode], contents: &[Contents], blocks: &mut [ContentBlock]) {
    let total = contents.first().map_or(0, |all| all.words);
    let mut around: Vec<Surroundings> = Vec::with_capacity(nodes.len());
    for (number, node) in nodes.iter().enumerate() {
        steps::add(1);
        let mut own = around.get(node.parent as usize).copied().unwrap_or_default();
        if let Some(name) = node.name {
            if let Some(bit) = NAMED.iter().position(|&named| named == name) {
                own.names |= 1 << bit;
            }
            if !matches!(name, TagName::HTML | TagName::BODY) {
                own.all_hints.0 |= node.hints.0;
                if contents[number].words * 2 <= total {
                    own.hints.0 |= node.hints.0;
                }
            }
        }
        around.push(own);
    }
    for block in blocks {
        block.around = around[block.first as usize];
    }
}
