//! The trained model: a decision at every internal node, each linear in the page's terms, in flat arrays.
//!
//! A term is looked up once for all nodes. Its entries say at which decisions it is a feature, and an entry's
//! postings what it says for which class; classes that it says nothing about have none (V 2.1.1).

mod format;

use std::hint::black_box;

use porthole_types::{TermId, TopicId};

use crate::calibration::{Calibration, normalise};
use crate::naive_bayes::Counting;
use crate::problem::Shape;
use crate::statistics::Counts;

/// How a document's terms are weighed, and where a model's weights come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Multinomial naive Bayes (W 3.1, V 2.1.1): a term counts as often as it occurs.
    #[default]
    NaiveBayes,
    /// Logistic regression: ln(1+n) times the term's scale, the whole document brought to length 1.
    Logistic,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 2] = [Kind::NaiveBayes, Kind::Logistic];

    /// The word for it in commands and tables.
    pub fn name(self) -> &'static str {
        match self {
            Kind::NaiveBayes => "naive-bayes",
            Kind::Logistic => "logistic",
        }
    }
}

/// A trained decision between the classes at a node, apart from all others.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The node.
    pub node: TopicId,
    /// Its classes.
    pub classes: Vec<ClassModel>,
    /// The terms that take part, in order.
    pub features: Vec<Feature>,
    /// What they say: class and gain, the features' one after the other, classes in order.
    pub postings: Vec<(u16, f32)>,
    /// How far it is believed.
    pub calibration: Calibration,
    /// What was counted.
    pub counting: Counting,
    /// What was added to every count; 1 is V eq. 1.
    pub smoothing: f64,
}

/// What is known of a class before any term is seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassModel {
    /// The topic that it stands for.
    pub topic: TopicId,
    /// ln Pr\[ci|c0\], or the intercept of a regression.
    pub logprior: f64,
    /// What a missing term costs (V 2.1.1); 0 in a regression.
    pub logdenom: f64,
    /// Examples that it was learnt from.
    pub documents: u32,
}

/// A term that takes part in a decision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Feature {
    /// The term.
    pub term: TermId,
    /// What its weight in a document is multiplied with; 1 in naive Bayes.
    pub scale: f32,
    /// Its number of postings.
    pub postings: u32,
}

/// All decisions of a tree.
///
/// In naive Bayes a posting's gain is logtheta + logdenom, so that what a class gets from a document is the sum
/// of the gains minus its length times logdenom: the rearrangement of V 2.1.3, which touches only what is there.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    pub(crate) kind: Kind,
    pub(crate) shape: Shape,
    /// Of the rules that made the terms.
    pub(crate) term_version: u32,
    pub(crate) heads: Vec<Head>,
    pub(crate) classes: Vec<ClassModel>,
    /// The decision below each class; `NO_DECISION` for a leaf.
    pub(crate) next: Vec<u32>,
    /// The terms of all decisions, in order.
    pub(crate) terms: Vec<TermId>,
    /// Where each term's entries start; one more at the end.
    pub(crate) entry_starts: Vec<u32>,
    /// By term, then by decision; one more at the end.
    pub(crate) entries: Vec<Entry>,
    pub(crate) posting_classes: Vec<u16>,
    pub(crate) posting_gains: Vec<f32>,
    /// A hash table by the low bits of a term: the term, and one more than its number. Follows from `terms`.
    pub(crate) slots: Vec<(TermId, u32)>,
    /// Where each term takes part. Follows from `entry_starts` and `entries`; side by side, because they are asked for
    /// together.
    pub(crate) places: Vec<Place>,
}

/// Where a term takes part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Place {
    /// The decisions, a bit each; the last bit is for all that are beyond.
    decided: u64,
    /// Its entries, from where to where.
    first: u32,
    end: u32,
}

/// A decision without its terms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Head {
    pub(crate) node: TopicId,
    pub(crate) first_class: u32,
    pub(crate) class_count: u32,
    pub(crate) features: u32,
    pub(crate) calibration: Calibration,
    pub(crate) counting: Counting,
    pub(crate) smoothing: f64,
}

/// A term at a decision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Entry {
    /// The number of the decision.
    pub(crate) decision: u32,
    pub(crate) scale: f32,
    pub(crate) first_posting: u32,
}

pub(crate) const NO_DECISION: u32 = u32::MAX;

/// Terms of a document that are looked at together.
const STRETCH: usize = 64;

/// A document of so many terms is short.
const FEW: usize = 64;

/// A document's terms as a model knows them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reading {
    /// In the order of the terms.
    found: Vec<Found>,
    /// How often each of the model's terms occurs, by one more than its number: 0 between documents. At 0 are the
    /// terms that the model does not know.
    counts: Vec<u32>,
    /// Those that occur, a bit each.
    occurring: Vec<u64>,
    /// Those that a short document has, one after the other.
    few: Vec<u32>,
}

/// A term of a document that the model knows.
#[derive(Clone, Copy, Debug)]
struct Found {
    count: u32,
    place: Place,
}

impl Model {
    /// Puts decisions together, each before those below it.
    pub fn assemble(kind: Kind, shape: Shape, term_version: u32, decisions: &[Decision]) -> Model {
        let mut model = Model {
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
        };
        for decision in decisions {
            model.heads.push(Head {
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
        model.next = next_decisions(&model.heads, &model.classes);
        model.add_terms(decisions);
        model
    }

    fn add_terms(&mut self, decisions: &[Decision]) {
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
            self.entries.push(Entry { decision: number, scale: feature.scale, first_posting });
            for &(class, gain) in &decision.postings[at..at + feature.postings as usize] {
                self.posting_classes.push(class);
                self.posting_gains.push(gain);
            }
        }
        self.entry_starts.push(self.entries.len() as u32);
        let first_posting = self.posting_classes.len() as u32;
        self.entries.push(Entry { decision: NO_DECISION, scale: 0.0, first_posting });
        self.slots = slots(&self.terms);
        self.places = places(&self.entry_starts, &self.entries);
    }

    /// Takes the model apart again.
    pub fn decisions(&self) -> Vec<Decision> {
        let mut decisions: Vec<Decision> = self.heads.iter().map(|head| self.without_terms(head)).collect();
        for (&term, range) in self.terms.iter().zip(self.entry_starts.windows(2)) {
            for at in range[0] as usize..range[1] as usize {
                let entry = self.entries[at];
                let postings = self.postings(at);
                let decision = &mut decisions[entry.decision as usize];
                decision.features.push(Feature { term, scale: entry.scale, postings: postings.len() as u32 });
                let classes = self.posting_classes[postings.clone()].iter().copied();
                decision.postings.extend(classes.zip(self.posting_gains[postings].iter().copied()));
            }
        }
        decisions
    }

    fn without_terms(&self, head: &Head) -> Decision {
        Decision {
            node: head.node,
            classes: self.classes_of(head).to_vec(),
            features: Vec::with_capacity(head.features as usize),
            postings: Vec::new(),
            calibration: head.calibration,
            counting: head.counting,
            smoothing: head.smoothing,
        }
    }

    /// How documents are weighed.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// How topics are told apart.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Version of the rules that made its terms.
    pub fn term_version(&self) -> u32 {
        self.term_version
    }

    /// Number of decisions.
    pub fn decision_count(&self) -> usize {
        self.heads.len()
    }

    /// Number of postings: the rows of STAT.
    pub fn posting_count(&self) -> usize {
        self.posting_classes.len()
    }

    /// The topics that it can tell from others.
    pub fn topics(&self) -> impl Iterator<Item = TopicId> + '_ {
        self.classes.iter().map(|class| class.topic)
    }

    pub(crate) fn classes_of(&self, head: &Head) -> &[ClassModel] {
        &self.classes[head.first_class as usize..(head.first_class + head.class_count) as usize]
    }

    /// Looks every term of a document up, once.
    pub(crate) fn read(&self, counts: &Counts, reading: &mut Reading) {
        reading.found.clear();
        let known = counts.iter().map(|&(term, count)| (self.number(term), count));
        reading.found.extend(known.filter(|(number, _)| *number != 0).map(|known| self.found(known)));
    }

    /// The same for a document's terms as they stand, any number of times. Counted by their numbers, they are in the
    /// order of the terms without sorting, and those that the model does not know cost no more than looking them up.
    pub(crate) fn read_terms(&self, terms: &[TermId], reading: &mut Reading) {
        if terms.len() <= FEW {
            return self.read_few(terms, reading);
        }
        let Reading { found, counts, occurring, .. } = reading;
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

    /// The same for so few terms that it would take longer to look where the model's terms were counted than to sort them.
    fn read_few(&self, terms: &[TermId], reading: &mut Reading) {
        let Reading { found, few, .. } = reading;
        few.clear();
        few.extend(terms.iter().map(|term| self.number(*term)).filter(|number| *number != 0));
        few.sort_unstable();
        found.clear();
        for same in few.chunk_by(|a, b| a == b) {
            found.push(self.found((same[0], same.len() as u32)));
        }
    }

    /// One more than a term's number; 0 if the model does not know it.
    #[inline]
    fn number(&self, term: TermId) -> u32 {
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = term.0 as usize & mask;
        loop {
            let Some(&(known, number)) = self.slots.get(at) else { return 0 };
            // One branch for both, which is almost always taken.
            if (known == term) | (number == 0) {
                return number;
            }
            at = (at + 1) & mask;
        }
    }

    /// What is known of the term with a number, as `number` gives it, that occurs so often.
    #[inline]
    fn found(&self, (number, count): (u32, u32)) -> Found {
        Found { count, place: self.places[number as usize - 1] }
    }

    /// ln Pr\[ci|c0,d\] of every class of a decision.
    pub(crate) fn decide(&self, number: u32, reading: &Reading, tempered: bool, scores: &mut Vec<f64>) {
        let length = self.evidence(number, reading, scores);
        let head = &self.heads[number as usize];
        let logpriors = self.classes_of(head).iter().map(|class| class.logprior);
        normalise(scores, logpriors, if tempered { head.calibration.factor(length) } else { 1.0 });
    }

    /// What a document's words say for each class; returns how many of them took part.
    fn evidence(&self, number: u32, reading: &Reading, scores: &mut Vec<f64>) -> f64 {
        let head = &self.heads[number as usize];
        scores.clear();
        scores.resize(head.class_count as usize, 0.0);
        let (mut length, mut squares) = (0.0_f64, 0.0_f64);
        let weight = |count: u32| match self.kind {
            Kind::NaiveBayes => head.counting.weight(count),
            Kind::Logistic => f64::from(count).ln_1p(),
        };
        for found in reading.found.chunks(STRETCH) {
            let mut here = [(0, 0); STRETCH];
            let mut count = 0;
            for found in found {
                if let Some(at) = self.entry_at(found.place, number) {
                    here[count] = (at as u32, found.count);
                    count += 1;
                }
            }
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
            Kind::NaiveBayes => 1.0,
            Kind::Logistic => 1.0 / squares.sqrt().max(f64::MIN_POSITIVE),
        };
        for (score, class) in scores.iter_mut().zip(self.classes_of(head)) {
            *score = *score * by - length * class.logdenom;
        }
        length
    }

    /// Looks at what entries say before it is added up: with so little else to do, much of it is on its way from memory at
    /// once.
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
            // It says something of every class, in order: several can be added at once.
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

    /// The entry of a term at a decision. They are in order, so its place among them is the number of decisions
    /// before it.
    #[inline]
    fn entry_at(&self, place: Place, number: u32) -> Option<usize> {
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

    /// What a term says for every class of a decision, if it is a feature there.
    pub(crate) fn says(&self, number: u32, term: TermId) -> Option<(f32, Vec<f64>)> {
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

/// The decision below each class: the one at its topic. In a flat model there is none.
pub(crate) fn next_decisions(heads: &[Head], classes: &[ClassModel]) -> Vec<u32> {
    let mut by_topic = vec![NO_DECISION; 1 << 16];
    for (number, head) in heads.iter().enumerate().skip(1) {
        by_topic[usize::from(head.node.0)] = number as u32;
    }
    classes.iter().map(|class| by_topic[usize::from(class.topic.0)]).collect()
}

/// The bit of all decisions that have none of their own.
const BEYOND: u32 = u64::BITS - 1;

/// Where each term takes part.
pub(crate) fn places(entry_starts: &[u32], entries: &[Entry]) -> Vec<Place> {
    let bit = |entry: &Entry| 1 << entry.decision.min(BEYOND);
    let of = |range: &[u32]| {
        let entries = entries.get(range[0] as usize..range[1] as usize).unwrap_or_default();
        let decided = entries.iter().fold(0, |bits, entry| bits | bit(entry));
        Place { decided, first: range[0], end: range[1] }
    };
    entry_starts.windows(2).map(of).collect()
}

/// A hash table at most half full, from terms to one more than their numbers.
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
