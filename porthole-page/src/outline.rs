//! The elements and texts of a page in document order, with their parents, recorded while its tags are processed.
//!
//! Needed only where the shape of the main content matters (`main_content`); a crawl does not record it. A node's
//! parent comes before it and its contents directly after it, so that everything about the tree is found in passes over
//! the list.

use crate::gather::NONE;
use crate::hints::{self, Hints};
use crate::tag::TagName;
use crate::token::Tokenizer;

/// Maximum number of nodes; what comes after them is dropped. Only attacks have as many.
const MOST_NODES: usize = 1 << 20;

/// An element or a text.
#[derive(Clone, Copy)]
pub(crate) struct OutlineNode {
    pub(crate) parent: u32,
    /// Number of the first node after its contents.
    pub(crate) end: u32,
    /// `None` for a text.
    pub(crate) name: Option<TagName>,
    /// What the element's attributes say of it.
    pub(crate) hints: Hints,
    /// Of a text, its range in [`Outline::text`]; of a link, its number in `PageCollector::links`.
    pub(crate) start: u32,
    pub(crate) stop: u32,
}

/// Records the nodes of a page.
#[derive(Default)]
pub(crate) struct Outline {
    pub(crate) nodes: Vec<OutlineNode>,
    /// All texts as written, with references resolved.
    pub(crate) text: String,
    /// The elements around the next node.
    open: Vec<u32>,
}

impl Outline {
    /// Adds an element, and returns its number.
    pub(crate) fn element(&mut self, parent: u32, name: TagName, link: u32) -> u32 {
        let number = self.add(parent, Some(name), (link, NONE));
        if number == self.nodes.len() as u32 - 1 && !name.is_void() {
            self.nodes[number as usize].end = NONE;
            self.open.push(number);
        }
        number
    }

    /// Adds what the attributes of the current tag say of an element.
    pub(crate) fn describe(&mut self, number: u32, tokens: &Tokenizer<'_>) {
        if let Some(node) = self.nodes.get_mut(number as usize) {
            node.hints = hints::of_attributes(tokens);
        }
    }

    /// Adds a text.
    pub(crate) fn text(&mut self, parent: u32, text: &str) {
        let start = self.text.len() as u32;
        if let Some(last) = self.nodes.last_mut()
            && last.name.is_none()
            && last.parent == parent
            && self.open.last() == Some(&parent)
        {
            self.text.push_str(text);
            last.stop = self.text.len() as u32;
        } else if self.nodes.len() < MOST_NODES {
            self.text.push_str(text);
            self.add(parent, None, (start, self.text.len() as u32));
        }
    }

    /// Ends all elements.
    pub(crate) fn finish(&mut self) {
        let end = self.nodes.len() as u32;
        self.open.drain(..).for_each(|open| self.nodes[open as usize].end = end);
    }

    fn add(&mut self, parent: u32, name: Option<TagName>, (start, stop): (u32, u32)) -> u32 {
        let number = self.nodes.len() as u32;
        if self.nodes.len() >= MOST_NODES {
            return parent;
        }
        // Elements that a repair has taken out of order stay where they were, and may have ended here: then the innermost
        // of its ancestors that is open is the parent.
        let mut parent = parent;
        while let Some(node) = self.nodes.get(parent as usize)
            && node.end != NONE
        {
            parent = node.parent;
        }
        if self.nodes.get(parent as usize).is_some_and(|node| node.end == NONE) {
            while let Some(&open) = self.open.last()
                && open != parent
            {
                self.nodes[open as usize].end = number;
                self.open.pop();
            }
        }
        let parent = self.open.last().copied().unwrap_or(NONE);
        self.nodes.push(OutlineNode { parent, end: number + 1, name, hints: Hints::default(), start, stop });
        number
    }
}
