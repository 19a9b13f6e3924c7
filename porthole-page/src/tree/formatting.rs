//! The list of active formatting elements: `b`, `i`, `font`, `a` … which continue across the ends of the elements
//! around them.

use super::{Namespace, OpenElement, ScopeKind, TreeState};
use crate::gather::NONE;
use crate::steps;
use crate::tag::TagName;

/// Maximum number of formatting elements, exceeded only in attacks; the oldest is dropped.
const MOST: usize = 64;

/// One entry of the list.
#[derive(Clone, Copy)]
pub(super) enum Formatting<'a> {
    /// The start of a cell, caption or object: formatting does not continue across it.
    Marker,
    /// An element, open or to be reopened.
    Element { name: TagName, attributes: &'a str, serial: u32, link: u32, open: bool },
}

impl<'a> TreeState<'a> {
    pub(super) fn push_marker(&mut self) {
        self.formatting.push(Formatting::Marker);
    }

    pub(super) fn clear_to_marker(&mut self) {
        while let Some(entry) = self.formatting.pop() {
            steps::add(1);
            if matches!(entry, Formatting::Marker) {
                break;
            }
        }
    }

    /// Opens a formatting element for the current start tag.
    pub(super) fn push_formatting(&mut self, name: TagName) {
        let attributes = self.tokens.attributes_text();
        self.push(name);
        self.forget_fourth(name, attributes);
        if self.formatting.len() >= MOST {
            steps::add(MOST);
            self.formatting.remove(0);
        }
        let open = self.stack.last().expect("just pushed");
        let (serial, link) = (open.serial, open.link);
        self.formatting.push(Formatting::Element { name, attributes, serial, link, open: true });
    }

    /// Keeps at most three entries of one name with the same attributes (the "Noah's Ark clause"). Here the attributes
    /// must also be written the same way.
    fn forget_fourth(&mut self, name: TagName, attributes: &str) {
        let mut alike = 0;
        for index in (0..self.formatting.len()).rev() {
            steps::add(1);
            match self.formatting[index] {
                Formatting::Marker => return,
                Formatting::Element { name: n, attributes: a, .. } if n == name && a == attributes => {
                    alike += 1;
                    if alike == 3 {
                        self.formatting.remove(index);
                        return;
                    }
                }
                Formatting::Element { .. } => {}
            }
        }
    }

    /// Records that a formatting element is no longer open.
    pub(super) fn formatting_closed(&mut self, closed: u32) {
        for entry in self.formatting.iter_mut().rev() {
            steps::add(1);
            if let Formatting::Element { serial, open, .. } = entry
                && *serial == closed
            {
                *open = false;
                return;
            }
        }
    }

    /// Reopens formatting that was closed by the end of an element around it.
    pub(super) fn reconstruct(&mut self) {
        let waiting = self
            .formatting
            .iter()
            .rev()
            .take_while(|e| matches!(e, Formatting::Element { open: false, .. }))
            .count();
        steps::add(1 + waiting);
        for index in self.formatting.len() - waiting..self.formatting.len() {
            let Formatting::Element { name, link, .. } = self.formatting[index] else { continue };
            if self.stack.len() >= super::DEEPEST {
                return;
            }
            let new_link = self.gather.copy_link(link, self.gather.next_leaf());
            self.push_linked(name, Namespace::Html, new_link);
            let new_serial = self.stack.last().expect("just pushed").serial;
            if let Formatting::Element { serial, link, open, .. } = &mut self.formatting[index] {
                (*serial, *open) = (new_serial, true);
                if new_link != NONE {
                    *link = new_link;
                }
            }
        }
    }

    /// The entry of a name after the last marker, with its element's number and whether it is open.
    pub(super) fn formatting_entry(&self, wanted: TagName) -> Option<(usize, u32, bool)> {
        for (index, entry) in self.formatting.iter().enumerate().rev() {
            steps::add(1);
            match entry {
                Formatting::Marker => return None,
                Formatting::Element { name, serial, open, .. } if *name == wanted => {
                    return Some((index, *serial, *open));
                }
                Formatting::Element { .. } => {}
            }
        }
        None
    }

    fn formatting_index(&self, wanted: u32) -> Option<usize> {
        steps::add(self.formatting.len());
        self.formatting
            .iter()
            .rposition(|e| matches!(e, Formatting::Element { serial, .. } if *serial == wanted))
    }

    pub(super) fn position(&self, serial: u32) -> Option<usize> {
        let found = self.stack.iter().rposition(|open| open.serial == serial);
        steps::add(self.stack.len() - found.unwrap_or(0));
        found
    }

    /// The end tag of a formatting element, with the standard's adoption agency algorithm.
    pub(super) fn end_formatting(&mut self, name: TagName) {
        if self.current_is(&[name])
            && self.current().is_some_and(|open| self.formatting_index(open.serial).is_none())
        {
            return self.pop();
        }
        for _ in 0..8 {
            let Some((entry, serial, open)) = self.formatting_entry(name) else {
                return self.end_other(name);
            };
            if !open {
                self.formatting.remove(entry);
                return;
            }
            if !self.in_scope_where(ScopeKind::Default, |open| open.serial == serial) {
                return;
            }
            let Some(at) = self.position(serial) else { return };
            let block = (at + 1..self.stack.len()).find(|&i| self.stack[i].is_special());
            let Some(block) = block else {
                while self.stack.len() > at {
                    self.pop();
                }
                self.formatting.remove(entry);
                return;
            };
            self.adopt(entry, at, block);
        }
    }

    /// Ends the formatting element at `at` while the block at `block` inside it continues: the block moves out, and a
    /// copy of the formatting moves into it around its contents.
    fn adopt(&mut self, entry: usize, at: usize, block: usize) {
        steps::add(self.stack.len() - at);
        let first_leaf = self.stack[block].first_leaf;
        let is_bare = first_leaf == self.gather.next_leaf();
        self.take_out(block, first_leaf);
        // First leaf of the copies, without the leaf that stands for an emptied element.
        let inside = if is_bare { self.gather.next_leaf() } else { first_leaf };
        let formatting_serial = self.stack[at].serial;
        let mut bookmark = entry;

        // Between the two: formatting is copied around the block, everything else ends here.
        let mut kept = Vec::new();
        for (steps, index) in (at + 1..block).rev().enumerate() {
            let inner = self.stack[index];
            self.end_early(inner, first_leaf);
            match self.formatting_index(inner.serial) {
                Some(listed) if steps >= 3 => {
                    self.formatting.remove(listed);
                    bookmark -= usize::from(listed < bookmark);
                    self.count(inner.name, -1);
                }
                Some(listed) => {
                    let copy = self.copy_of(inner, listed, inside, 1);
                    if kept.is_empty() {
                        bookmark = listed + 1;
                    }
                    kept.push(copy);
                }
                None => self.count(inner.name, -1),
            }
        }
        let formatting = self.stack[at];
        self.end_early(formatting, first_leaf);
        if at > 0 {
            self.stack[at - 1].children += 1;
        }

        // The copy contains everything in the block.
        let Some(listed) = self.formatting_index(formatting_serial) else { return };
        let children = std::mem::replace(&mut self.stack[block].children, 1);
        let copy = self.copy_of(formatting, listed, inside, children);
        let moved = self.formatting.remove(listed);
        bookmark -= usize::from(listed < bookmark);
        self.formatting.insert(bookmark.min(self.formatting.len()), moved);

        kept.reverse();
        let block_open = self.stack[block];
        let rest = self.stack.split_off(block + 1);
        self.stack.truncate(at);
        self.stack.extend(kept);
        self.stack.push(block_open);
        let node = self.outline_element(copy.name, copy.link);
        self.stack.push(OpenElement { before: block_open.before, node, ..copy });
        self.stack.extend(rest);
    }

    /// Moves the block out of its parent; a parent without other content becomes a leaf before it.
    fn take_out(&mut self, block: usize, first_leaf: u32) {
        let parent = &mut self.stack[block - 1];
        parent.children = parent.children.saturating_sub(1);
        if parent.children == 0 {
            let (link, name, leaf) = (parent.link, parent.name, self.gather.next_leaf());
            parent.link = NONE;
            // An open text leaf belongs to the block, and is ended by the move.
            self.gather.emptied_leaf(name, block - 1, first_leaf);
            if link != NONE {
                self.gather.links[link as usize].first = leaf;
                self.gather.end_link(link, leaf);
            }
        }
    }

    /// Ends an element's link before the block that moved out of it.
    fn end_early(&mut self, open: OpenElement, first_leaf: u32) {
        if open.link != NONE {
            self.gather.end_link(open.link, first_leaf.saturating_sub(1));
        }
    }

    /// Copies an element with a new number and link; the list has the copy in the original's place.
    fn copy_of(
        &mut self,
        original: OpenElement,
        listed: usize,
        first_leaf: u32,
        children: u32,
    ) -> OpenElement {
        let serial = self.next_serial;
        self.next_serial += 1;
        let Formatting::Element { link: source, .. } = self.formatting[listed] else { return original };
        let link = self.gather.copy_link(source, first_leaf);
        if let Formatting::Element { serial: s, link: l, open, .. } = &mut self.formatting[listed] {
            (*s, *open) = (serial, true);
            if link != NONE {
                *l = link;
            }
        }
        OpenElement { serial, link, first_leaf, children, ..original }
    }
}

impl OpenElement {
    pub(super) fn is_special(&self) -> bool {
        if self.space == Namespace::Html { self.name.is_special() } else { self.is_integration_point() }
    }
}
