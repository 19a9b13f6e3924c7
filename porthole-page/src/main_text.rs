//! Selects the terms of a page's own text, as opposed to navigation, footers and menus.
//!
//! Text in `nav`, `footer` and similar elements is never the page's own. Other blocks of text are classified by the
//! number of their terms, the share of them in links, and the same numbers of the blocks before and after them: the
//! decision tree of Kohlschütter, Fankhauser and Nejdl, "Boilerplate Detection using Shallow Text Features" (WSDM
//! 2010), for terms instead of words. A menu by this rule still counts unless menus have far more terms than the
//! text, because a page may be about its lists. No second pass over the page is needed.

use porthole_types::TermId;

use crate::gather::{ASIDE, FoundLink, NONE, NOSCRIPT, STARTS_BLOCK};
use crate::page::{LinkKind, Page};
use crate::{steps, tag};

/// With fewer terms of its own text, menus count as well: the page may be a list of links.
const ENOUGH: u32 = 25;

/// Menus count unless they have over this many terms more than the text: about fifty links.
const SITE_MENU: u32 = 100;

/// A block with more terms is a paragraph: about 16 words, half of which are stop words.
const PARAGRAPH: u32 = 8;

/// The same limit after a block of links.
const LONG_PARAGRAPH: u32 = 20;

/// A block with at most this many terms is a menu line if the adjacent blocks are short as well.
const MENU_LINE: u32 = 2;

/// A block of text, by its terms.
#[derive(Clone, Copy, Default)]
struct TextBlock {
    /// Range of its terms among those of the page.
    start: u32,
    end: u32,
    /// Number of its terms in links.
    linked: u32,
    is_aside: bool,
    is_heading: bool,
}

impl TextBlock {
    fn len(self) -> u32 {
        self.end - self.start
    }

    fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Whether it looks like a menu, given the blocks before and after it.
    fn is_menu(self, before: TextBlock, after: TextBlock) -> bool {
        // More than a third in links.
        if self.linked * 3 > self.len() {
            return true;
        }
        if self.is_heading {
            return false;
        }
        // More than five ninths in links.
        if before.linked * 9 > before.len() * 5 {
            self.len() <= LONG_PARAGRAPH && after.len() <= PARAGRAPH
        } else {
            self.len() <= PARAGRAPH && after.len() <= PARAGRAPH && before.len() <= MENU_LINE
        }
    }
}

/// The terms of the title and of the page's own text, in order; empty if these are all terms, or too few to tell.
pub(crate) fn own_terms(page: &Page, links: &[FoundLink<'_>]) -> Vec<TermId> {
    let mut text = TextParts::default();
    let mut anchors = links.iter().filter(|link| link.kind == LinkKind::Anchor);
    let mut next_anchor = anchors.next();
    let mut linked_until = 0;
    let mut block = TextBlock::default();
    steps::add(links.len() + page.leaves.len());
    for (number, (leaf, ends)) in (0..).zip(page.leaves.iter().zip(page.term_ends.windows(2))) {
        // Links may overlap where they were repaired, so only the end of all of them is kept.
        while let Some(link) = next_anchor
            && link.first <= number
        {
            let last = if link.last == NONE { link.first } else { link.last };
            linked_until = linked_until.max(last + 1);
            next_anchor = anchors.next();
        }
        if leaf.place & STARTS_BLOCK != 0 && !block.is_empty() {
            text.add(std::mem::take(&mut block));
        }
        let (start, end) = (ends[0], ends[1]);
        if start == end {
            continue;
        }
        if block.is_empty() {
            let is_aside = leaf.place & (ASIDE | NOSCRIPT) != 0;
            block = TextBlock { start, end, linked: 0, is_aside, is_heading: tag::is_heading(leaf.tag) };
        }
        block.end = end;
        if number < linked_until {
            block.linked += end - start;
        }
    }
    text.add(block);
    text.add(TextBlock::default());
    text.own_terms(page)
}

/// The parts of a page's text, without text in `nav` and similar elements.
#[derive(Default)]
struct TextParts {
    /// Ranges of terms, and whether they are a menu; adjacent ranges of the same kind are merged.
    parts: Vec<(u32, u32, bool)>,
    /// The last two blocks; the second is classified when the next one is known.
    last: [TextBlock; 2],
}

impl TextParts {
    fn add(&mut self, next: TextBlock) {
        let [before, block] = self.last;
        self.last = [block, next];
        if block.is_aside || block.is_empty() {
            return;
        }
        let is_menu = block.is_menu(before, next);
        match self.parts.last_mut() {
            Some((_, end, kind)) if *end == block.start && *kind == is_menu => *end = block.end,
            _ => self.parts.push((block.start, block.end, is_menu)),
        }
    }

    fn own_terms(&self, page: &Page) -> Vec<TermId> {
        let count = |of_menus: bool| -> u32 {
            let parts = self.parts.iter().filter(|(.., is_menu)| *is_menu == of_menus);
            parts.map(|(start, end, _)| end - start).sum()
        };
        let title_end = page.term_ends[0];
        let (text, menus) = (count(false), count(true));
        let counts_menus = text < ENOUGH || menus <= text + SITE_MENU;
        let own = title_end + text + if counts_menus { menus } else { 0 };
        if own < title_end + ENOUGH || own as usize == page.terms.len() {
            return Vec::new();
        }
        let mut terms = Vec::with_capacity(own as usize);
        terms.extend_from_slice(&page.terms[..title_end as usize]);
        for &(start, end, is_menu) in &self.parts {
            if counts_menus || !is_menu {
                terms.extend_from_slice(&page.terms[start as usize..end as usize]);
            }
        }
        terms
    }
}
