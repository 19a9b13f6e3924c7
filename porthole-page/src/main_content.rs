//! The main content of a page: its text without navigation, footers and menus, plain and as Markdown.
//!
//! The page is read with all of its elements recorded (`outline`). Each block of text is judged by a linear model of what
//! the block, its neighbours and the elements around it contain and are called, fitted to pages whose main text is known.

mod blocks;
mod features;
mod inline;
mod markdown;
mod weights;

use crate::outline::Outline;
use crate::tag::TagName;
use blocks::{ContentBlock, PageBlocks};
use features::FeatureReader;
use inline::is_control;
use markdown::MarkdownWriter;

/// With fewer words of main content, a page has none that stands out, and everything on it is taken.
const ENOUGH: u32 = 15;

/// The main content of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MainContent {
    /// The page's title.
    pub title: String,
    /// Its main text: a line for each heading, paragraph, list item or cell of a table.
    pub text: String,
    /// The same as Markdown: headings, lists, quotes, code, tables, emphasis and links.
    pub markdown: String,
}

/// The main content of an HTML page; `targets` are the URLs of its links.
pub(crate) fn of_outline(outline: &Outline, targets: &[Option<String>]) -> MainContent {
    let blocks = PageBlocks::of(outline);
    let reader = FeatureReader::new(outline, &blocks);
    let is_main = |number: &usize| {
        let features = reader.of(*number);
        let score: f32 =
            features.iter().zip(&weights::WEIGHTS).map(|(feature, weight)| feature * weight).sum();
        score > weights::THRESHOLD
    };
    let mut chosen: Vec<&ContentBlock> =
        (0..blocks.blocks.len()).filter(is_main).map(|number| &blocks.blocks[number]).collect();
    if chosen.iter().map(|block| block.words).sum::<u32>() < ENOUGH {
        chosen = blocks.blocks.iter().collect();
    }
    let lines: Vec<String> = chosen.iter().map(|block| block_text(outline, block)).collect();
    let markdown = MarkdownWriter::new(outline, targets).write(&chosen);
    MainContent { title: String::new(), text: lines.join("\n"), markdown }
}

/// The main content of a page without elements: all of its text.
pub(crate) fn of_plain_text(title: String, text: String) -> MainContent {
    let markdown = markdown::of_lines(&text);
    MainContent { title: without_controls(title), text: without_controls(text), markdown }
}

/// Texts and features of the blocks of a page, to fit the model to.
pub(crate) fn blocks_to_fit(outline: &Outline) -> Vec<(String, Vec<f32>)> {
    let blocks = PageBlocks::of(outline);
    let reader = FeatureReader::new(outline, &blocks);
    let each = (0..blocks.blocks.len())
        .map(|number| (block_text(outline, &blocks.blocks[number]), reader.of(number).to_vec()));
    each.collect()
}

/// The text of a block, white space folded.
fn block_text(outline: &Outline, block: &ContentBlock) -> String {
    let mut text = String::new();
    for node in &outline.nodes[block.first as usize..=block.last as usize] {
        match node.name {
            None => text.push_str(&outline.text[node.start as usize..node.stop as usize]),
            Some(TagName::BR) => text.push(' '),
            Some(_) => {}
        }
    }
    without_controls(text.split_ascii_whitespace().collect::<Vec<_>>().join(" "))
}

/// A text without characters that control a terminal.
pub(crate) fn without_controls(mut text: String) -> String {
    text.retain(|c| !is_control(c) || c == '\n');
    text
}
