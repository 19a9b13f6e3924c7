//! The trained model: a decision at every internal node, each linear in the page's terms, stored in flat arrays.
//!
//! A term is looked up once for all nodes. Its entries list the decisions where it is a feature, and an entry's
//! postings list its gains by class; classes that it has no gain for have no posting (V 2.1.1).

mod format;

use std::collections::HashMap;
use std::hint::black_box;

use foldhash::fast::FixedState;
use porthole_types::{TermId, TopicId};

use crate::calibration::{Calibration, normalise};
use crate::naive_bayes::TermCounting;
use crate::problem::ClassifierShape;
use crate::statistics::TermFrequencies;

/// Kind of model, which determines how a document's terms are weighted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ModelKind {
    /// Multinomial naive Bayes (W 3.1, V 2.1.1): a term's weight is its number of occurrences.
    #[default]
    NaiveBayes,
    /// Logistic regression: the weight is ln(1+n) times the term's scale; the document is normalised to unit length.
    Logistic,
}

impl ModelKind {
    /// All kinds.
    pub const ALL: [ModelKind; 2] = [ModelKind::NaiveBayes, ModelKind::Logistic];

    /// Name in commands and tables.
    pub fn name(self) -> &'static str {
        match self {
            ModelKind::NaiveBayes => "naive-bayes",
            ModelKind::Logistic => "logistic",
        }
    }
}

/// A trained decision between the classes at a node, independent of the other decisions. The classes are children of the
/// node, unless it is a confirmation: then they are the node itself and everything else, which has the root's id.
#[derive(Clone, Debug, PartialEq)]
pub struct TopicDecision {
    /// The node.
    pub node: TopicId,
    /// Its classes.
    pub classes: Vec<ClassModel>,
    /// The terms that are features, in order.
    pub features: Vec<DecisionTerm>,
    /// Postings of the features, contiguous: class and gain, classes in order.
    pub postings: Vec<(u16, f32)>,
    /// Calibration of the scores.
    pub calibration: Calibration,
    /// How terms were counted.
    pub counting: TermCounting,
    /// Smoothing added to every count; 1 is V eq. 1.
    pub smoothing: f64,
}

/// Parameters of a class that do not depend on terms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassModel {
    /// Topic of the class.
    pub topic: TopicId,
    /// ln Pr\[ci|c0\], or the intercept of a regression.
    pub logprior: f64,
    /// Cost of a missing term (V 2.1.1); 0 in a regression.
    pub logdenom: f64,
    /// Number of training examples.
    pub documents: u32,
}

/// A term that is a feature of a decision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecisionTerm {
    /// The term.
    pub term: TermId,
    /// Factor of its weight in a document; 1 in naive Bayes.
    pub scale: f32,
    /// Number of postings.
    pub postings: u32,
}

/// All decisions of a tree.
///
/// In naive Bayes a posting's gain is logtheta + logdenom, so that the score of a class for a document is the sum of
/// the gains minus its length times logdenom: the rearrangement of V 2.1.3, which visits only terms that occur.
#[derive(Clone, Debug, PartialEq)]
pub struct CriticModel {
    pub(crate) kind: ModelKind,
    pub(crate) shape: ClassifierShape,
    /// Version of the rules that made the terms.
    pub(crate) term_version: u32,
    pub(crate) heads: Vec<DecisionHead>,
    pub(crate) classes: Vec<ClassModel>,
    /// The decision below each class; `NO_DECISION` for a leaf.
    pub(crate) next: Vec<u32>,
    /// The terms of all decisions, in order.
    pub(crate) terms: Vec<TermId>,
    /// Start of each term's entries; one more at the end.
    pub(crate) entry_starts: Vec<u32>,
    /// By term, then by decision; one more at the end.
    pub(crate) entries: Vec<TermEntry>,
    pub(crate) posting_classes: Vec<u16>,
    pub(crate) posting_gains: Vec<f32>,
    /// Hash table by the low bits of a term: the term, and its number plus 1. Derived from `terms`.
    pub(crate) slots: Vec<(TermId, u32)>,
    /// Places of all terms. Derived from `entry_starts` and `entries`; stored together, because they are read together.
    pub(crate) places: Vec<TermPlace>,
    /// Number of decisions of the tree; the confirmations come after them. Derived from `heads` and `classes`.
    pub(crate) tree_heads: usize,
    /// The classes that have a confirmation. Derived from `heads` and `classes`.
    pub(crate) confirmed: Vec<ConfirmedClass>,
}

/// A class of the tree whose probability is multiplied with that of a confirmation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ConfirmedClass {
    /// Number of the decision.
    decision: u32,
    /// Index of the class in it.
    class: usize,
    /// Number of the confirmation.
    pub(crate) confirmation: u32,
}

/// The decisions where a term is a feature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TermPlace {
    /// Bit set of decisions; the last bit stands for all decisions beyond.
    decided: u64,
    /// Range of its entries.
    first: u32,
    end: u32,
}

/// A decision without its terms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DecisionHead {
    pub(crate) node: TopicId,
    pub(crate) first_class: u32,
    pub(crate) class_count: u32,
    pub(crate) features: u32,
    pub(crate) calibration: Calibration,
    pub(crate) counting: TermCounting,
    pub(crate) smoothing: f64,
}

impl DecisionHead {
    /// Whether the decision confirms its node, given all classes of the model. One at the root never does: of two classes
    /// without examples of the first, the other has the root's id.
    pub(crate) fn is_confirmation(&self, classes: &[ClassModel]) -> bool {
        let first = classes.get(self.first_class as usize);
        self.node != TopicId::ROOT && first.is_some_and(|class| class.topic == self.node)
    }
}

/// A term as a feature of a decision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TermEntry {
    /// The number of the decision.
    pub(crate) decision: u32,
    pub(crate) scale: f32,
    pub(crate) first_posting: u32,
}

pub(crate) const NO_DECISION: u32 = u32::MAX;

/// Number of terms that are looked up together, so that memory accesses overlap.
const STRETCH: usize = 64;

/// Maximum number of terms of a short document.
const FEW: usize = 64;

/// The terms of a document that are in the model.
#[derive(Clone, Debug, Default)]
pub(crate) struct MatchedTerms {
    /// In term order.
    found: Vec<MatchedTerm>,
    /// Counts by term number plus 1; all 0 between documents. Index 0 counts the terms that are not in the model.
    counts: Vec<u32>,
    /// Bit set of the terms that occur.
    occurring: Vec<u64>,
    /// Terms of a short document.
    few: Vec<u32>,
}

/// A term of a document that is in the model.
#[derive(Clone, Copy, Debug)]
struct MatchedTerm {
    count: u32,
    place: TermPlace,
}

impl CriticModel {
    /// Assembles a model from decisions, parents before children, confirmations last.
    pub fn assemble(
        kind: ModelKind,
        shape: ClassifierShape,
        term_version: u32,
        decisions: &[TopicDecision],
    ) -> CriticModel {
        let mut model = CriticModel {
            kind,
            shape,
            term_version,
            heads: Vec::with_capacity(decisions.len()),
            classes: Vec::new(),
            next: Vec::new(),
            terms: Vec::new(),
            entry_starts: Vec::new(),
            entries: Vec::new(),
            posting_classes: Vec::new(),
            posting_gains: Vec::new(),
            slots: Vec::new(),
            places: Vec::new(),
            tree_heads: 0,
            confirmed: Vec::new(),
        };
        for decision in decisions {
            model.heads.push(DecisionHead {
                node: decision.node,
                first_class: model.classes.len() as u32,
                class_count: decision.classes.len() as u32,
                features: decision.features.len() as u32,
                calibration: decision.calibration,
                counting: decision.counting,
                smoothing: decision.smoothing,
            });
            model.classes.extend(&decision.classes);
        }
        model.link_decisions();
        model.add_terms(decisions);
        model
    }

    /// The same tree with these confirmations instead of its own.
    pub fn with_confirmations(&self, confirmations: &[TopicDecision]) -> CriticModel {
        let mut decisions = self.decisions();
        decisions.extend_from_slice(confirmations);
        CriticModel::assemble(self.kind, self.shape, self.term_version, &decisions)
    }

    /// Sets the fields that are derived from heads and classes.
    pub(crate) fn link_decisions(&mut self) {
        let is_confirmation = |head: &DecisionHead| head.is_confirmation(&self.classes);
        self.tree_heads = self.heads.iter().position(is_confirmation).unwrap_or(self.heads.len());
        let (tree, confirmations) = self.heads.split_at(self.tree_heads);
        let of_tree = &self.classes[..self.tree_classes()];
        let places: HashMap<TopicId, usize, FixedState> =
            of_tree.iter().map(|class| class.topic).zip(0..).collect();
        let confirmed =
            confirmations.iter().zip(self.tree_heads as u32..).filter_map(|(head, confirmation)| {
                let class = *places.get(&head.node)?;
                // The bytes of a model may be damaged.
                let decision =
                    tree.partition_point(|head| head.first_class as usize <= class).checked_sub(1)?;
                let class = class - tree[decision].first_class as usize;
                Some(ConfirmedClass { decision: decision as u32, class, confirmation })
            });
        self.confirmed = confirmed.collect();
        self.next = next_decisions(tree, of_tree);
        self.next.resize(self.classes.len(), NO_DECISION);
    }

    /// Number of classes of the tree's decisions, which come before those of confirmations.
    pub(crate) fn tree_classes(&self) -> usize {
        let first = self.heads.get(self.tree_heads).map(|head| head.first_class as usize);
        first.unwrap_or(usize::MAX).min(self.classes.len())
    }

    /// The confirmation of a class of a decision.
    pub(crate) fn confirmation_of(&self, decision: u32, class: usize) -> Option<u32> {
        let is_it = |confirmed: &&ConfirmedClass| (confirmed.decision, confirmed.class) == (decision, class);
        self.confirmed.iter().find(is_it).map(|confirmed| confirmed.confirmation)
    }

    fn add_terms(&mut self, decisions: &[TopicDecision]) {
        let mut all: Vec<(TermId, u32, u32, usize)> = Vec::new();
        for (number, decision) in decisions.iter().enumerate() {
            let mut at = 0;
            for (index, feature) in decision.features.iter().enumerate() {
                all.push((feature.term, number as u32, index as u32, at));
                at += feature.postings as usize;
            }
        }
        all.sort_unstable_by_key(|&(term, number, ..)| (term, number));
        for &(term, number, index, at) in &all {
            if self.terms.last() != Some(&term) {
                self.terms.push(term);
                self.entry_starts.push(self.entries.len() as u32);
            }
            let decision = &decisions[number as usize];
            let feature = decision.features[index as usize];
            let first_posting = self.posting_classes.len() as u32;
            self.entries.push(TermEntry { decision: number, scale: feature.scale, first_posting });
            for &(class, gain) in &decision.postings[at..at + feature.postings as usize] {
                self.posting_classes.push(class);
                self.posting_gains.push(gain);
            }
        }
        self.entry_starts.push(self.entries.len() as u32);
        let first_posting = self.posting_classes.len() as u32;
        self.entries.push(TermEntry { decision: NO_DECISION, scale: 0.0, first_posting });
        self.slots = slots(&self.terms);
        self.places = places(&self.entry_starts, &self.entries);
    }

    /// Whether pages can be assigned to a topic.
    pub fn knows(&self, topic: TopicId) -> bool {
        self.topics().any(|known| known == topic)
    }

    /// The decisions of the tree.
    pub fn decisions(&self) -> Vec<TopicDecision> {
        let mut decisions = self.all_decisions();
        decisions.truncate(self.tree_heads);
        decisions
    }

    /// The decisions that confirm good topics.
    pub fn confirmations(&self) -> Vec<TopicDecision> {
        if self.tree_heads == self.heads.len() {
            Vec::new()
        } else {
            self.all_decisions().split_off(self.tree_heads)
        }
    }

    fn all_decisions(&self) -> Vec<TopicDecision> {
        let mut decisions: Vec<TopicDecision> =
            self.heads.iter().map(|head| self.without_terms(head)).collect();
        for (&term, range) in self.terms.iter().zip(self.entry_starts.windows(2)) {
            for at in range[0] as usize..range[1] as usize {
                let entry = self.entries[at];
                let postings = self.postings(at);
                let decision = &mut decisions[entry.decision as usize];
                decision.features.push(DecisionTerm {
                    term,
                    scale: entry.scale,
                    postings: postings.len() as u32,
                });
                let classes = self.posting_classes[postings.clone()].iter().copied();
                decision.postings.extend(classes.zip(self.posting_gains[postings].iter().copied()));
            }
        }
        decisions
    }

    fn without_terms(&self, head: &DecisionHead) -> TopicDecision {
        TopicDecision {
            node: head.node,
            classes: self.classes_of(head).to_vec(),
            features: Vec::with_capacity(head.features as usize),
            postings: Vec::new(),
            calibration: head.calibration,
            counting: head.counting,
            smoothing: head.smoothing,
        }
    }

    /// Kind of the model.
    pub fn kind(&self) -> ModelKind {
        self.kind
    }

    /// Shape of the classifier.
    pub fn shape(&self) -> ClassifierShape {
        self.shape
    }

    /// Version of the rules that made its terms.
    pub fn term_version(&self) -> u32 {
        self.term_version
    }

    /// Number of decisions of the tree.
    pub fn decision_count(&self) -> usize {
        self.tree_heads
    }

    /// Number of postings: the rows of STAT.
    pub fn posting_count(&self) -> usize {
        self.posting_classes.len()
    }

    /// The topics that are classes of some decision of the tree.
    pub fn topics(&self) -> impl Iterator<Item = TopicId> + '_ {
        self.classes[..self.tree_classes()].iter().map(|class| class.topic)
    }

    pub(crate) fn classes_of(&self, head: &DecisionHead) -> &[ClassModel] {
        &self.classes[head.first_class as usize..(head.first_class + head.class_count) as usize]
    }

    /// Looks up every term of a document.
    pub(crate) fn read(&self, counts: &TermFrequencies, reading: &mut MatchedTerms) {
        reading.found.clear();
        for counts in counts.chunks(STRETCH) {
            let mut known = [(0, 0); STRETCH];
            let mut found = 0;
            for &(term, count) in counts {
                let number = self.number(term);
                known[found] = (number, count);
                // No branch: whether a term is in the model cannot be predicted.
                found += usize::from(number != 0);
            }
            reading.found.extend(known[..found].iter().map(|&known| self.found(known)));
        }
    }

    /// As `read`, for a document's terms with repetitions. Counting by term number yields term order without sorting,
    /// and terms that are not in the model cost only their lookup.
    pub(crate) fn read_terms(&self, terms: &[TermId], reading: &mut MatchedTerms) {
        if terms.len() <= FEW {
            return self.read_few(terms, reading);
        }
        let MatchedTerms { found, counts, occurring, .. } = reading;
        counts.resize(self.terms.len() + 1, 0);
        occurring.resize(counts.len().div_ceil(64), 0);
        for &term in terms {
            let number = self.number(term) as usize;
            counts[number] += 1;
            occurring[number / 64] |= 1 << (number % 64);
        }
        occurring[0] &= !1;
        counts[0] = 0;
        found.clear();
        for (word, bits) in occurring.iter_mut().enumerate() {
            while *bits != 0 {
                let number = word * 64 + bits.trailing_zeros() as usize;
                found.push(self.found((number as u32, std::mem::take(&mut counts[number]))));
                *bits &= *bits - 1;
            }
        }
    }

    /// As `read_terms`, for so few terms that sorting them is faster than scanning the counts.
    fn read_few(&self, terms: &[TermId], reading: &mut MatchedTerms) {
        let MatchedTerms { found, few, .. } = reading;
        few.clear();
        few.extend(terms.iter().map(|term| self.number(*term)).filter(|number| *number != 0));
        few.sort_unstable();
        found.clear();
        for same in few.chunk_by(|a, b| a == b) {
            found.push(self.found((same[0], same.len() as u32)));
        }
    }

    /// Number of a term plus 1; 0 if it is not in the model.
    #[inline]
    fn number(&self, term: TermId) -> u32 {
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = term.0 as usize & mask;
        loop {
            let Some(&(known, number)) = self.slots.get(at) else { return 0 };
            // One branch for both cases, which is almost always taken.
            if (known == term) | (number == 0) {
                return number;
            }
            at = (at + 1) & mask;
        }
    }

    /// The term with a number as returned by `number`, and its count.
    #[inline]
    fn found(&self, (number, count): (u32, u32)) -> MatchedTerm {
        MatchedTerm { count, place: self.places[number as usize - 1] }
    }

    /// ln Pr\[ci|c0,d\] of every class of a decision.
    pub(crate) fn decide(&self, number: u32, reading: &MatchedTerms, tempered: bool, scores: &mut Vec<f64>) {
        scores.clear();
        scores.resize(self.heads[number as usize].class_count as usize, 0.0);
        self.score(number, reading, tempered, scores);
        if self.confirmed.iter().any(|confirmed| confirmed.decision == number) {
            self.confirm(number, reading, scores);
        }
    }

    /// Sets `scores`, which are 0, to ln Pr of the classes, without confirmations.
    fn score(&self, number: u32, reading: &MatchedTerms, tempered: bool, scores: &mut [f64]) {
        let length = self.evidence(number, reading, scores);
        let head = &self.heads[number as usize];
        let logpriors = self.classes_of(head).iter().map(|class| class.logprior);
        normalise(scores, logpriors, if tempered { head.calibration.factor(length) } else { 1.0 });
    }

    /// Multiplies the probabilities of confirmed classes with those of their confirmations. What they lose goes to the
    /// other classes, in proportion to their probabilities.
    fn confirm(&self, number: u32, reading: &MatchedTerms, scores: &mut [f64]) {
        let here = || self.confirmed.iter().filter(|confirmed| confirmed.decision == number);
        let is_confirmed = |class: usize| here().any(|confirmed| confirmed.class == class);
        let mut lost = 0.0;
        for confirmed in here() {
            let mut pair = [0.0; 2];
            // The factor is part of what it was trained on, so it is always applied.
            self.score(confirmed.confirmation, reading, true, &mut pair);
            let score = &mut scores[confirmed.class];
            lost += (*score + pair[1]).exp();
            *score += pair[0];
        }
        let others = || scores.iter().enumerate().filter(|(class, _)| !is_confirmed(*class));
        let top = others().map(|(_, score)| *score).fold(f64::NEG_INFINITY, f64::max);
        let sum = top + others().map(|(_, score)| (score - top).exp()).sum::<f64>().ln();
        let more = (sum.exp() + lost).ln() - sum;
        if more.is_finite() {
            let others = scores.iter_mut().enumerate().filter(|(class, _)| !is_confirmed(*class));
            others.for_each(|(_, score)| *score += more);
        }
    }

    /// Adds the evidence of a document's words for each class; returns the number of words that are features.
    fn evidence(&self, number: u32, reading: &MatchedTerms, scores: &mut [f64]) -> f64 {
        let head = &self.heads[number as usize];
        let (mut length, mut squares) = (0.0_f64, 0.0_f64);
        let weight = |count: u32| match self.kind {
            ModelKind::NaiveBayes => head.counting.weight(count),
            ModelKind::Logistic => f64::from(count).ln_1p(),
        };
        for found in reading.found.chunks(STRETCH) {
            let mut here = [(0, 0); STRETCH];
            let count = self.entries_at(found, number, &mut here);
            self.touch(&here[..count]);
            for &(at, count) in &here[..count] {
                let at = at as usize;
                let weight = weight(count) * f64::from(self.entries[at].scale);
                length += weight;
                squares += weight * weight;
                self.add_postings(at, weight, scores);
            }
        }
        let by = match self.kind {
            ModelKind::NaiveBayes => 1.0,
            ModelKind::Logistic => 1.0 / squares.sqrt().max(f64::MIN_POSITIVE),
        };
        for (score, class) in scores.iter_mut().zip(self.classes_of(head)) {
            *score = *score * by - length * class.logdenom;
        }
        length
    }

    /// Reads the postings' first cache lines before they are summed, so that the memory accesses overlap.
    #[inline(never)]
    fn touch(&self, entries: &[(u32, u32)]) {
        let mut touched = 0;
        for &(at, _) in entries {
            let first = self.entries[at as usize].first_posting as usize;
            touched ^= self.posting_gains.get(first).map_or(0, |gain| gain.to_bits());
        }
        black_box(touched);
    }

    #[inline]
    fn add_postings(&self, entry: usize, weight: f64, scores: &mut [f64]) {
        let postings = self.postings(entry);
        let gains = &self.posting_gains[postings.clone()];
        if gains.len() == scores.len() {
            // The term has a posting for every class, in order: the additions can be vectorised.
            scores.iter_mut().zip(gains).for_each(|(score, &gain)| *score += weight * f64::from(gain));
            return;
        }
        for (&class, &gain) in self.posting_classes[postings].iter().zip(gains) {
            scores[usize::from(class)] += weight * f64::from(gain);
        }
    }

    #[inline]
    fn postings(&self, entry: usize) -> std::ops::Range<usize> {
        self.entries[entry].first_posting as usize..self.entries[entry + 1].first_posting as usize
    }

    /// Collects the entries of terms at a decision with the terms' counts. Returns their number.
    #[inline(always)]
    fn entries_at(&self, found: &[MatchedTerm], number: u32, here: &mut [(u32, u32); STRETCH]) -> usize {
        let mut count = 0;
        if number >= BEYOND {
            for found in found {
                if let Some(at) = self.entry_at(found.place, number) {
                    here[count] = (at as u32, found.count);
                    count += 1;
                }
            }
            return count;
        }
        for MatchedTerm { place, count: occurrences } in found {
            let before = (place.decided & ((1 << number) - 1)).count_ones();
            here[count] = (place.first + before, *occurrences);
            // No branch: whether a term is a feature of a decision cannot be predicted.
            count += (place.decided >> number & 1) as usize;
        }
        count
    }

    /// Index of a term's entry at a decision. Entries are in order, so it is the number of decisions before it.
    #[inline]
    fn entry_at(&self, place: TermPlace, number: u32) -> Option<usize> {
        let bit = number.min(BEYOND);
        if place.decided >> bit & 1 == 0 {
            return None;
        }
        let before = (place.decided & ((1 << bit) - 1)).count_ones();
        let first = (place.first + before) as usize;
        if bit < BEYOND {
            return Some(first);
        }
        let entries = &self.entries[first..place.end as usize];
        entries.binary_search_by_key(&number, |entry| entry.decision).ok().map(|at| first + at)
    }

    /// Contributions of a term to every class of a decision, if it is a feature there.
    pub(crate) fn contributions(&self, number: u32, term: TermId) -> Option<(f32, Vec<f64>)> {
        let known = Some(self.number(term)).filter(|known| *known != 0)?;
        let at = self.entry_at(self.places[known as usize - 1], number)?;
        let head = &self.heads[number as usize];
        let mut gains = vec![0.0; head.class_count as usize];
        self.add_postings(at, 1.0, &mut gains);
        for (gain, class) in gains.iter_mut().zip(self.classes_of(head)) {
            *gain -= class.logdenom;
        }
        Some((self.entries[at].scale, gains))
    }
}

/// The decision below each class, which is the one of the tree at its topic. A flat model has none.
fn next_decisions(heads: &[DecisionHead], classes: &[ClassModel]) -> Vec<u32> {
    let mut by_topic = vec![NO_DECISION; 1 << 16];
    for (number, head) in heads.iter().enumerate().skip(1) {
        by_topic[usize::from(head.node.0)] = number as u32;
    }
    classes.iter().map(|class| by_topic[usize::from(class.topic.0)]).collect()
}

/// The bit of all decisions without their own bit.
const BEYOND: u32 = u64::BITS - 1;

/// Computes the places of all terms.
pub(crate) fn places(entry_starts: &[u32], entries: &[TermEntry]) -> Vec<TermPlace> {
    let bit = |entry: &TermEntry| 1 << entry.decision.min(BEYOND);
    let of = |range: &[u32]| {
        let entries = entries.get(range[0] as usize..range[1] as usize).unwrap_or_default();
        let decided = entries.iter().fold(0, |bits, entry| bits | bit(entry));
        TermPlace { decided, first: range[0], end: range[1] }
    };
    entry_starts.windows(2).map(of).collect()
}

/// Builds a hash table with a load factor of at most 1/2 from terms to their numbers plus 1.
pub(crate) fn slots(terms: &[TermId]) -> Vec<(TermId, u32)> {
    let mut slots = vec![(TermId(0), 0); (terms.len() * 4).next_power_of_two()];
    let mask = slots.len() - 1;
    for (term, number) in terms.iter().zip(1..) {
        let mut at = term.0 as usize & mask;
        while slots[at].1 != 0 {
            at = (at + 1) & mask;
        }
        slots[at] = (*term, number);
    }
    slots
}
