//! Markdown of the main content: CommonMark with tables.
//!
//! Whatever a page says stays text: characters with a meaning in Markdown are escaped, no HTML passes through, and links
//! lead to web pages only.

use super::blocks::{ContentBlock, is_block};
use super::inline::{InlineWriter, escape, is_control};
use crate::outline::Outline;
use crate::steps;
use crate::tag::TagName;

/// Deeper lists and quotes are written at this depth.
const DEEPEST: usize = 6;

/// Writes blocks as Markdown.
pub(crate) struct MarkdownWriter<'p> {
    outline: &'p Outline,
    /// The target of each link of the page; `None` if it is not to a web page.
    targets: &'p [Option<String>],
    out: String,
    /// The list item of the last block.
    last_item: u32,
    /// Open ordered lists with the number of their last item.
    numbers: Vec<(u32, u32)>,
}

/// The elements around a block that Markdown can express.
#[derive(Clone, Copy, Default, PartialEq)]
struct BlockPlace {
    quotes: usize,
    lists: usize,
    /// Its list item and the list around that, or 0.
    item: u32,
    list: u32,
    is_ordered: bool,
    heading: usize,
    is_code: bool,
    /// Its table, row and cell, or 0.
    table: u32,
    row: u32,
    cell: u32,
}

impl<'p> MarkdownWriter<'p> {
    pub(crate) fn new(outline: &'p Outline, targets: &'p [Option<String>]) -> Self {
        MarkdownWriter { outline, targets, out: String::new(), last_item: 0, numbers: Vec::new() }
    }

    /// The Markdown of these blocks.
    pub(crate) fn write(mut self, blocks: &[&ContentBlock]) -> String {
        let places: Vec<BlockPlace> = blocks.iter().map(|block| self.place(block)).collect();
        let mut number = 0;
        while number < blocks.len() {
            let table = places[number].table;
            let length = places[number..].iter().take_while(|place| place.table == table).count();
            let range = number..number + length;
            if table == 0 || !self.table(&blocks[range.clone()], &places[range.clone()]) {
                range.clone().for_each(|each| self.block(blocks[each], places[each]));
            }
            number = range.end;
        }
        self.out
    }

    fn place(&self, block: &ContentBlock) -> BlockPlace {
        let mut place = BlockPlace::default();
        let mut number = block.element;
        while let Some(node) = self.outline.nodes.get(number as usize) {
            steps::add(1);
            match node.name.unwrap_or(TagName::BODY) {
                TagName::BLOCKQUOTE => place.quotes += 1,
                TagName::LI if place.item == 0 => place.item = number,
                name @ (TagName::UL | TagName::OL) if place.item > 0 => {
                    if place.list == 0 {
                        (place.list, place.is_ordered) = (number, name == TagName::OL);
                    }
                    place.lists += 1;
                }
                TagName::PRE | TagName::XMP | TagName::LISTING => place.is_code = true,
                TagName::TD | TagName::TH if place.cell == 0 => place.cell = number,
                TagName::TR if place.row == 0 => place.row = number,
                TagName::TABLE if place.table == 0 => place.table = number,
                name if place.heading == 0 => place.heading = heading_level(name),
                _ => {}
            }
            number = node.parent;
        }
        if place.row == 0 || place.cell == 0 {
            (place.table, place.row, place.cell) = (0, 0, 0);
        }
        place
    }

    fn block(&mut self, block: &ContentBlock, place: BlockPlace) {
        let text = if place.is_code { self.code(block) } else { self.inline(block, place.heading > 0) };
        if text.is_empty() {
            return;
        }
        let starts_item = place.list > 0 && place.item != self.last_item;
        let follows_item = self.last_item > 0;
        self.last_item = if place.list > 0 { place.item } else { 0 };
        if !self.out.is_empty() {
            self.out.push_str(if starts_item && follows_item { "\n" } else { "\n\n" });
        }
        let quotes = "> ".repeat(place.quotes.min(DEEPEST));
        let depth = place.lists.min(DEEPEST);
        let (mut first, mut rest) = (quotes.clone(), quotes);
        if depth > 0 {
            first.push_str(&"    ".repeat(depth - 1));
            rest.push_str(&"    ".repeat(depth));
            match starts_item {
                true if place.is_ordered => first.push_str(&format!("{}. ", self.next_number(place.list))),
                true => first.push_str("- "),
                false => first.push_str("    "),
            }
        }
        if place.heading > 0 && !place.is_code {
            first.push_str(&"#".repeat(place.heading));
            first.push(' ');
        }
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                self.out.push('\n');
            }
            self.out.push_str(if index == 0 { &first } else { &rest });
            self.out.push_str(line);
        }
        let written = self.out.trim_end_matches(' ').len();
        self.out.truncate(written);
    }

    /// The number of the next item of an ordered list.
    fn next_number(&mut self, list: u32) -> u32 {
        while self.numbers.last().is_some_and(|&(open, _)| open > list) {
            self.numbers.pop();
        }
        match self.numbers.last_mut() {
            Some((open, number)) if *open == list => {
                *number += 1;
                *number
            }
            _ => {
                self.numbers.push((list, 1));
                1
            }
        }
    }

    /// Writes a table; returns whether it is one, rather than a way to lay out a page.
    fn table(&mut self, blocks: &[&ContentBlock], places: &[BlockPlace]) -> bool {
        let has_one_block_a_cell = places.windows(2).all(|pair| pair[0].cell != pair[1].cell);
        let mut rows: Vec<Vec<String>> = Vec::new();
        for (index, (block, place)) in blocks.iter().zip(places).enumerate() {
            if place.is_code || place.item > 0 || place.heading > 0 {
                return false;
            }
            if index == 0 || places[index - 1].row != place.row {
                rows.push(Vec::new());
            }
            let cell = escape_pipes(&self.inline(block, true));
            rows.last_mut().expect("a row was just added").push(cell);
        }
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        if !has_one_block_a_cell || rows.len() < 2 || columns < 2 {
            return false;
        }
        if !self.out.is_empty() {
            self.out.push_str("\n\n");
        }
        self.last_item = 0;
        let lines: Vec<String> = rows.iter().map(|row| format!("| {} |", row.join(" | "))).collect();
        self.out.push_str(&lines[0]);
        self.out.push_str(&"| ".repeat(columns - rows[0].len()));
        self.out.push_str(&format!("\n|{}", " --- |".repeat(columns)));
        for line in &lines[1..] {
            self.out.push('\n');
            self.out.push_str(line);
        }
        true
    }

    /// The text of a block with its emphasis, code and links; in one line if that is asked for.
    fn inline(&self, block: &ContentBlock, in_one_line: bool) -> String {
        let nodes = &self.outline.nodes;
        let mut writer = InlineWriter::new(in_one_line);
        let mut open: Vec<u32> = Vec::new();
        self.open_around(block, &mut open, &mut writer);
        for number in block.first..=block.last {
            let node = nodes[number as usize];
            steps::add(1);
            while let Some(&inner) = open.last()
                && nodes[inner as usize].end <= number
            {
                open.pop();
                writer.close(inner);
            }
            match node.name {
                None => writer.text(&self.outline.text[node.start as usize..node.stop as usize]),
                Some(TagName::BR) => writer.line_break(),
                Some(name) if node.end > number + 1 => {
                    open.push(number);
                    writer.open(number, name, self.target(node.start));
                }
                Some(_) => {}
            }
        }
        while let Some(inner) = open.pop() {
            writer.close(inner);
        }
        writer.finish()
    }

    /// Opens the inline elements between the block's element and its first text.
    fn open_around(&self, block: &ContentBlock, open: &mut Vec<u32>, writer: &mut InlineWriter) {
        let mut number = self.outline.nodes[block.first as usize].parent;
        while let Some(node) = self.outline.nodes.get(number as usize)
            && number != block.element
            && node.name.is_some_and(|name| !is_block(name))
        {
            steps::add(1);
            open.push(number);
            number = node.parent;
        }
        open.reverse();
        for &number in open.iter() {
            let node = self.outline.nodes[number as usize];
            writer.open(number, node.name.unwrap_or(TagName::SPAN), self.target(node.start));
        }
    }

    fn target(&self, link: u32) -> Option<&str> {
        self.targets.get(link as usize).and_then(Option::as_deref)
    }

    /// A fenced block of code.
    fn code(&self, block: &ContentBlock) -> String {
        let mut code = String::new();
        for node in &self.outline.nodes[block.first as usize..=block.last as usize] {
            match node.name {
                None => code.push_str(&self.outline.text[node.start as usize..node.stop as usize]),
                Some(TagName::BR) => code.push('\n'),
                Some(_) => {}
            }
        }
        code.retain(|c| !is_control(c) || matches!(c, '\n' | '\t'));
        let fence = "`".repeat(longest_run(&code, '`').max(2) + 1);
        format!("{fence}\n{}\n{fence}", code.trim_end().trim_start_matches('\n'))
    }
}

/// Writes plain paragraphs, one for each line, as Markdown.
pub(crate) fn of_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for line in text.lines().filter(|line| !line.is_empty()) {
        if !out.is_empty() {
            out.push_str("\n\n");
        }
        escape(line, true, &mut out);
    }
    out
}

/// Escapes the separators of cells that are not escaped: those in code.
fn escape_pipes(cell: &str) -> String {
    let mut out = String::with_capacity(cell.len());
    for c in cell.chars() {
        if c == '|' && !out.ends_with('\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Length of the longest run of a character.
pub(crate) fn longest_run(text: &str, of: char) -> usize {
    text.split(|c| c != of).map(str::len).max().unwrap_or(0)
}

fn heading_level(name: TagName) -> usize {
    match name {
        TagName::H1 => 1,
        TagName::H2 => 2,
        TagName::H3 => 3,
        TagName::H4 => 4,
        TagName::H5 => 5,
        TagName::H6 => 6,
        _ => 0,
    }
}
