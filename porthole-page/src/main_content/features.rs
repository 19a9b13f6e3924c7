//! What the model sees of a block of text.

use super::blocks::{ContentBlock, Contents, NAMED, PageBlocks};
use crate::outline::Outline;
use crate::steps;
use crate::tag::TagName;

/// Number of hints.
const HINTS: usize = 19;
/// Kinds of innermost block elements that are told apart.
const KINDS: usize = 10;
/// Blocks before and after that are looked at.
const NEIGHBOURS: usize = 2;
/// Elements around a block whose contents are looked at.
const LEVELS: usize = 4;

/// Number of features.
pub(crate) const FEATURES: usize =
    9 + KINDS + NAMED.len() + 2 * HINTS + 4 * 2 * NEIGHBOURS + 5 * LEVELS + 8 + 6;

/// The features of a block.
pub(crate) type Features = [f32; FEATURES];

/// Finds the features of the blocks of one page.
pub(crate) struct FeatureReader<'p> {
    outline: &'p Outline,
    blocks: &'p PageBlocks,
    all: Contents,
    /// The innermost elements with three quarters and with half of the page's prose.
    cores: [u32; 2],
    /// Number of the first `h1`'s block.
    first_h1: usize,
    first_prose: usize,
    last_prose: usize,
}

impl<'p> FeatureReader<'p> {
    pub(crate) fn new(outline: &'p Outline, blocks: &'p PageBlocks) -> Self {
        let all = blocks.contents.first().copied().unwrap_or_default();
        let h1 = |block: &ContentBlock| name_of(outline, block) == Some(TagName::H1);
        let count = blocks.blocks.len();
        FeatureReader {
            outline,
            blocks,
            all,
            cores: [core(outline, blocks, 3, 4), core(outline, blocks, 1, 2)],
            first_h1: blocks.blocks.iter().position(h1).unwrap_or(count),
            first_prose: blocks.blocks.iter().position(ContentBlock::is_prose).unwrap_or(count),
            last_prose: blocks.blocks.iter().rposition(ContentBlock::is_prose).unwrap_or(0),
        }
    }

    pub(crate) fn of(&self, number: usize) -> Features {
        let block = &self.blocks.blocks[number];
        let mut out = FeatureWriter { features: [0.0; FEATURES], at: 0 };
        self.text(block, &mut out);
        let kind = kind_of(name_of(self.outline, block));
        (0..KINDS).for_each(|each| out.flag(each == kind));
        (0..NAMED.len()).for_each(|bit| out.flag(block.around.names >> bit & 1 == 1));
        for hints in [block.around.hints, block.around.all_hints] {
            (0..HINTS).for_each(|bit| out.flag(hints.0 >> bit & 1 == 1));
        }
        for distance in 1..=NEIGHBOURS {
            self.neighbour(number.checked_sub(distance), &mut out);
            self.neighbour(number.checked_add(distance), &mut out);
        }
        self.containers(block, &mut out);
        self.place(number, &mut out);
        self.page(&mut out);
        debug_assert_eq!(out.at, FEATURES);
        out.features
    }

    fn text(&self, block: &ContentBlock, out: &mut FeatureWriter) {
        out.number(logarithm(block.words));
        out.share(block.linked, block.words);
        out.flag(block.is_prose());
        out.flag(block.ends_sentence);
        out.share(block.commas, block.words);
        out.share(block.digits, block.letters);
        out.share(block.capitals, block.letters);
        out.share(block.letters, block.words);
        let depth = self.outline.nodes.get(block.element as usize).map_or(0, |node| node.end - block.element);
        out.number(logarithm(depth));
    }

    fn neighbour(&self, number: Option<usize>, out: &mut FeatureWriter) {
        let block = number.and_then(|number| self.blocks.blocks.get(number)).copied().unwrap_or_default();
        out.number(logarithm(block.words));
        out.share(block.linked, block.words);
        out.flag(block.ends_sentence);
        out.flag(name_of(self.outline, &block).is_some_and(TagName::is_heading));
    }

    /// The contents of the elements around a block that have more blocks than the one inside them.
    fn containers(&self, block: &ContentBlock, out: &mut FeatureWriter) {
        let (mut element, mut blocks) = (block.element, 0);
        for _ in 0..LEVELS {
            let mut contents = self.all;
            while let Some(node) = self.outline.nodes.get(element as usize) {
                steps::add(1);
                contents = self.blocks.contents[element as usize];
                element = node.parent;
                if contents.blocks > blocks.max(1) {
                    break;
                }
            }
            blocks = contents.blocks;
            out.number(logarithm(contents.words));
            out.share(contents.linked, contents.words);
            out.share(contents.words, self.all.words);
            out.share(contents.prose, self.all.prose);
            out.share(contents.words, contents.blocks);
        }
    }

    fn place(&self, number: usize, out: &mut FeatureWriter) {
        let block = &self.blocks.blocks[number];
        for core in self.cores {
            let end = self.outline.nodes.get(core as usize).map_or(0, |node| node.end);
            out.flag((core..end).contains(&block.first));
        }
        let count = self.blocks.blocks.len();
        out.share(number as u32, count as u32);
        out.number((number as f32 - self.first_h1 as f32).clamp(-50.0, 50.0));
        out.flag(number < self.first_h1 && self.first_h1 < count);
        out.number((number as f32 - self.first_prose as f32).clamp(-50.0, 50.0));
        out.number((number as f32 - self.last_prose as f32).clamp(-50.0, 50.0));
        out.flag(self.first_h1 < count);
    }

    fn page(&self, out: &mut FeatureWriter) {
        out.number(logarithm(self.all.words));
        out.share(self.all.linked, self.all.words);
        out.share(self.all.prose, self.all.words);
        out.number(logarithm(self.all.blocks));
        for core in self.cores {
            let contents = self.blocks.contents.get(core as usize).copied().unwrap_or_default();
            out.share(contents.words, self.all.words);
        }
    }
}

struct FeatureWriter {
    features: Features,
    at: usize,
}

impl FeatureWriter {
    fn number(&mut self, value: f32) {
        self.features[self.at] = value;
        self.at += 1;
    }

    fn flag(&mut self, value: bool) {
        self.number(f32::from(u8::from(value)));
    }

    fn share(&mut self, part: u32, whole: u32) {
        self.number(part as f32 / whole.max(1) as f32);
    }
}

fn logarithm(value: u32) -> f32 {
    (value as f32 + 1.0).log2()
}

fn name_of(outline: &Outline, block: &ContentBlock) -> Option<TagName> {
    outline.nodes.get(block.element as usize).and_then(|node| node.name)
}

fn kind_of(name: Option<TagName>) -> usize {
    match name {
        Some(TagName::P) => 0,
        Some(TagName::H1) => 1,
        Some(TagName::H2) => 2,
        Some(name) if name.is_heading() => 3,
        Some(TagName::LI) => 4,
        Some(TagName::TD | TagName::TH) => 5,
        Some(TagName::DD | TagName::DT) => 6,
        Some(TagName::PRE | TagName::BLOCKQUOTE) => 7,
        Some(TagName::FIGCAPTION | TagName::CAPTION) => 8,
        _ => 9,
    }
}

/// The innermost element with at least this share of the page's prose.
fn core(outline: &Outline, blocks: &PageBlocks, part: u32, whole: u32) -> u32 {
    let total = blocks.contents.first().map_or(0, |all| all.prose);
    if total == 0 {
        return u32::MAX;
    }
    let has_share = |number: &usize| {
        u64::from(blocks.contents[*number].prose) * u64::from(whole) >= u64::from(total) * u64::from(part)
    };
    // With more than half, one of two such elements is inside the other; the later one is the inner one.
    (0..outline.nodes.len()).rev().find(has_share).map_or(u32::MAX, |number| number as u32)
}
