//! State kept for a page as long as links of it wait: the terms around them, stored once for all links. The features of
//! each link would take many times the memory.

use std::collections::HashMap;
use std::ops::Range;

use porthole_page::{Link, Page};
use porthole_types::{TermId, UrlId};
use serde::{Deserialize, Serialize};

use super::feature::{LinkFeature, WeightedFeature};
use super::settings::{Encoding, TermEncoding};
use crate::state;

/// Relevance of fetched pages.
pub(super) type Outcomes = HashMap<UrlId, f32, foldhash::fast::FixedState>;

/// Relevance from which a neighbour counts as HIGH.
const HIGH: f32 = 0.5;

/// The part of a page that its links' features are computed from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct PageContext {
    pub(super) source: UrlId,
    /// Pr(c*|u).
    pub(super) relevance: f32,
    /// Terms of the leaves that are within reach of some link, in order.
    #[serde(with = "state::packed")]
    terms: Vec<TermId>,
    /// End of each leaf's terms in `terms`.
    ends: Vec<u32>,
    /// Depth of each leaf and of its lowest common ancestor with the previous leaf, if the encoding needs them.
    depths: Vec<(u16, u16)>,
    /// All links of the page, if cocitation is a feature: first and last leaf, target.
    neighbours: Vec<(u32, u32, UrlId)>,
    /// Features that all links of the page share.
    pub(super) page_features: Vec<WeightedFeature>,
    /// Links that wait, or waited.
    pub(super) links: Vec<LinkPosition>,
    /// Number of links that wait.
    pub(super) open: u32,
}

/// A link and its position on the page.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct LinkPosition {
    pub(super) target: UrlId,
    pub(super) first: u32,
    pub(super) last: u32,
    pub(super) depth: u16,
    /// Context number and link index of the previous link to the same target.
    pub(super) before: Option<(u32, u32)>,
}

impl PageContext {
    pub(super) fn new(page: &Page, relevance: f64, encoding: &Encoding) -> PageContext {
        let near = within_reach(page, encoding);
        let mut context = PageContext::empty(relevance as f32);
        context.ends.reserve_exact(page.leaf_count());
        for (leaf, is_near) in near.iter().enumerate() {
            if *is_near {
                context.terms.extend_from_slice(page.leaf_terms(leaf));
            }
            context.ends.push(context.terms.len() as u32);
        }
        context.terms.shrink_to_fit();
        if matches!(encoding.terms, TermEncoding::Way | TermEncoding::Ancestor) {
            let leaves = (0..page.leaf_count()).filter_map(|leaf| page.leaf(leaf));
            context.depths = leaves.map(|leaf| (leaf.depth, leaf.shared)).collect();
        }
        if encoding.cocitation {
            let links = page.links.iter();
            context.neighbours =
                links.map(|link| (link.first_leaf, link.last_leaf, link.target.id())).collect();
        }
        context
    }

    fn empty(relevance: f32) -> PageContext {
        PageContext {
            source: UrlId(0),
            relevance,
            terms: Vec::new(),
            ends: Vec::new(),
            depths: Vec::new(),
            neighbours: Vec::new(),
            page_features: Vec::new(),
            links: Vec::new(),
            open: 0,
        }
    }

    /// Drops everything that only waiting links need.
    pub(super) fn close(&mut self) {
        *self = PageContext { source: self.source, ..PageContext::empty(self.relevance) };
    }

    /// Position of a link on the page.
    pub(super) fn link(&self, link: &Link) -> LinkPosition {
        let (first, last, depth) = (link.first_leaf, link.last_leaf, link.depth);
        LinkPosition { target: link.target.id(), first, last, depth, before: None }
    }

    /// Terms of a leaf, empty if it is not within reach of any link.
    pub(super) fn leaf_terms(&self, leaf: usize) -> &[TermId] {
        &self.terms[self.terms_of(leaf)]
    }

    /// Range of a leaf's terms in `terms`.
    pub(super) fn terms_of(&self, leaf: usize) -> Range<usize> {
        let Some(end) = self.ends.get(leaf) else { return 0..0 };
        let start = if leaf == 0 { 0 } else { self.ends[leaf - 1] };
        start as usize..*end as usize
    }

    /// All terms, leaf by leaf.
    pub(super) fn terms(&self) -> &[TermId] {
        &self.terms
    }

    /// Features of a link, hashed.
    pub(super) fn features(
        &self,
        link: &LinkPosition,
        encoding: &Encoding,
        outcomes: &Outcomes,
    ) -> Vec<WeightedFeature> {
        let mut features = Vec::with_capacity(64);
        self.each_feature(link, encoding, outcomes, |feature| features.push(feature.with_weight(1)));
        if encoding.has_topics() {
            features.extend_from_slice(&self.page_features);
        }
        features
    }

    /// Calls `each` with every feature of a link that it does not share with the page's other links.
    pub(super) fn each_feature(
        &self,
        link: &LinkPosition,
        encoding: &Encoding,
        outcomes: &Outcomes,
        mut each: impl FnMut(LinkFeature),
    ) {
        self.each_placed(link, encoding, outcomes, |_, feature| each(feature));
    }

    /// As `each_feature`, with the distance of each feature from the link.
    pub(super) fn each_placed(
        &self,
        link: &LinkPosition,
        encoding: &Encoding,
        outcomes: &Outcomes,
        mut each: impl FnMut(u32, LinkFeature),
    ) {
        let (first, last) = self.reach(link, encoding.d_max);
        for leaf in first..last {
            let offset = offset(leaf as u32, link.first, link.last);
            let way = self.way(leaf, link, encoding.terms);
            let offset_told = if encoding.terms == TermEncoding::Window { 0 } else { offset };
            let terms = self.leaf_terms(leaf).iter();
            terms.for_each(|term| each(offset.unsigned_abs(), LinkFeature::term(*term, offset_told, way)));
        }
        if encoding.far {
            let beyond = (0..first).chain(last..self.ends.len());
            let terms = beyond.flat_map(|leaf| self.leaf_terms(leaf));
            terms.for_each(|term| each(u32::MAX, LinkFeature::far(*term)));
        }
        for (start, end, target) in self.neighbours.iter().filter(|_| encoding.cocitation) {
            // The nearer end of the neighbour, on either side.
            let apart = if *end < link.first {
                i64::from(*end) - i64::from(link.first)
            } else {
                i64::from((*start).max(link.last)) - i64::from(link.last)
            };
            if *target == link.target || apart.unsigned_abs() > u64::from(encoding.d_max) {
                continue;
            }
            if let Some(relevance) = outcomes.get(target) {
                each(apart.unsigned_abs() as u32, LinkFeature::neighbour(*relevance >= HIGH, apart as i32));
            }
        }
    }

    /// The leaves within `d_max` of a link.
    pub(super) fn reach(&self, link: &LinkPosition, d_max: u32) -> (usize, usize) {
        let end = (link.last as usize).saturating_add(d_max as usize + 1).min(self.ends.len());
        ((link.first.saturating_sub(d_max) as usize).min(end), end)
    }

    /// Whether a leaf is inside a link of the page. Links are in the order of their first leaves and hardly ever
    /// overlap.
    pub(super) fn is_in_link(&self, leaf: usize) -> bool {
        let leaf = leaf as u32;
        let begun = self.neighbours.partition_point(|(start, _, _)| *start <= leaf);
        self.neighbours[..begun].iter().rev().take(4).any(|(_, end, _)| *end >= leaf)
    }

    /// The l of <t,l,d>: length of the tree path, or depth of the lowest common ancestor.
    fn way(&self, leaf: usize, link: &LinkPosition, terms: TermEncoding) -> u16 {
        if !matches!(terms, TermEncoding::Way | TermEncoding::Ancestor) {
            return 0;
        }
        let (first, last, own) = (link.first as usize, link.last as usize, link.depth);
        let (between, most) = match leaf {
            _ if leaf < first => (leaf + 1..first + 1, own),
            _ if leaf > last => (last + 1..leaf + 1, own),
            // The leaf is inside the link, which is then their lowest common ancestor.
            _ => (0..0, own.saturating_add(1)),
        };
        let between = self.depths.get(between).unwrap_or(&[]);
        let common = between.iter().map(|(_, shared)| *shared).fold(most, u16::min);
        // Leaf and link are each one level below their parents.
        let up = |depth: u16| depth.saturating_add(1).saturating_sub(common);
        match (terms, self.depths.get(leaf)) {
            (TermEncoding::Way, Some((depth, _))) => up(*depth).saturating_add(up(own)),
            _ => common,
        }
    }

    /// Whether a restored context is consistent.
    pub(super) fn is_whole(&self) -> bool {
        let ends_fit = self.ends.last().is_none_or(|end| *end as usize <= self.terms.len());
        self.ends.is_sorted() && ends_fit && self.open as usize <= self.links.len()
    }
}

/// A leaf's DOM offset from a link (A 2.2.1).
pub(super) fn offset(leaf: u32, first: u32, last: u32) -> i32 {
    (i64::from(leaf) - i64::from(leaf.clamp(first, last.max(first)))) as i32
}

/// Marks the leaves that are within reach of some link.
fn within_reach(page: &Page, encoding: &Encoding) -> Vec<bool> {
    let mut near = vec![encoding.far; page.leaf_count()];
    if encoding.far {
        return near;
    }
    // Links are in the order of their first leaves, so hardly any leaf is visited twice.
    let mut done = 0;
    for link in &page.links {
        let first = (link.first_leaf.saturating_sub(encoding.d_max) as usize).max(done);
        let end = (link.last_leaf as usize + encoding.d_max as usize + 1).min(near.len());
        if first < end {
            near[first..end].fill(true);
            done = end;
        }
    }
    near
}
