//! Which terms of a page are its own text, as opposed to navigation, footers and menus.
//!
//! A block of text is judged by the number of its terms and the share of them in links, and by those of the blocks before
//! and after it: the decision tree of Kohlschütter, Fankhauser and Nejdl, "Boilerplate Detection using Shallow Text
//! Features" (WSDM 2010), for terms instead of words. What stands in `nav`, `footer` and the like is never the page's
//! own. Everything needed is known when the page has been read: nothing is parsed again.

use porthole_types::TermId;

use crate::gather::{ASIDE, FoundLink, NONE, NOSCRIPT, STARTS_BLOCK};
use crate::page::{LinkKind, Page};
use crate::{steps, tag};

/// With fewer terms of its own, a page is judged by all its terms: it may be a list of links.
const ENOUGH: usize = 25;

/// A block of more terms is a paragraph: about 16 words, of which half are stop words.
const PARAGRAPH: u32 = 8;

/// The same behind a block of links.
const LONG_PARAGRAPH: u32 = 20;

/// A block of no more terms is a line of a menu, if the blocks around it are short as well.
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

    /// Whether it belongs to the page's own text, given the blocks before and after it.
    fn is_own(self, before: TextBlock, after: TextBlock) -> bool {
        // More than a third in links.
        if self.is_aside || self.linked * 3 > self.len() {
            return false;
        }
        if self.is_heading {
            return true;
        }
        // More than five ninths in links.
        if before.linked * 9 > before.len() * 5 {
            self.len() > LONG_PARAGRAPH || after.len() > PARAGRAPH
        } else {
            self.len() > PARAGRAPH || after.len() > PARAGRAPH || before.len() > MENU_LINE
        }
    }
}

/// The terms of the title and of the page's own text, in order; empty if these are all terms, or too few to tell.
pub(crate) fn own_terms(page: &Page, links: &[FoundLink<'_>]) -> Vec<TermId> {
    let title_end = page.term_ends[0] as usize;
    let mut own = OwnTerms { page, terms: page.terms[..title_end].to_vec(), last: [TextBlock::default(); 2] };
    let mut anchors = links.iter().filter(|link| link.kind == LinkKind::Anchor).peekable();
    let mut linked_until = 0;
    let mut block = TextBlock::default();
    steps::add(links.len() + page.leaves.len());
    for (number, leaf) in page.leaves.iter().enumerate() {
        // Links may overlap where they were repaired, so only the end of all of them is kept.
        while let Some(link) = anchors.next_if(|link| link.first as usize <= number) {
            let last = if link.last == NONE { link.first } else { link.last };
            linked_until = linked_until.max(last as usize + 1);
        }
        if leaf.place & STARTS_BLOCK != 0 && !block.is_empty() {
            own.add(std::mem::take(&mut block));
        }
        let (start, end) = (page.term_ends[number], page.term_ends[number + 1]);
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
    own.add(block);
    own.add(TextBlock::default());
    let is_part = own.terms.len() < page.terms.len() && own.terms.len() >= title_end + ENOUGH;
    if is_part { own.terms } else { Vec::new() }
}

struct OwnTerms<'a> {
    page: &'a Page,
    terms: Vec<TermId>,
    /// The last two blocks; the second is decided when the next is known.
    last: [TextBlock; 2],
}

impl OwnTerms<'_> {
    fn add(&mut self, next: TextBlock) {
        let [before, block] = self.last;
        if block.is_own(before, next) {
            self.terms.extend_from_slice(&self.page.terms[block.start as usize..block.end as usize]);
        }
        self.last = [block, next];
    }
}
