//! The trained model: a decision at every internal node, each linear in the page's terms, in flat arrays.
//!
//! A term is looked up once for all nodes. Its entries say at which decisions it is a feature, and an entry's
//! postings what it says for which class; classes that it says nothing about have none (V 2.1.1).

mod format;

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

/// A document's terms as a model knows them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reading {
    /// How often a term occurs, and its entries from where to where.
    found: Vec<(u32, u32, u32)>,
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
        for &(term, count) in counts {
            if let Some((first, end)) = self.find(term) {
                reading.found.push((count, first, end));
            }
        }
    }

    /// A term's entries, from where to where.
    #[inline]
    fn find(&self, term: TermId) -> Option<(u32, u32)> {
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = term.0 as usize & mask;
        loop {
            let &(known, number) = self.slots.get(at)?;
            if number == 0 {
                return None;
            }
            if known == term {
                let number = number as usize;
                return Some((self.entry_starts[number - 1], self.entry_starts[number]));
            }
            at = (at + 1) & mask;
        }
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
        for &(count, first, end) in &reading.found {
            let Some(at) = self.entry_at(first, end, number) else { continue };
            let weight = weight(count) * f64::from(self.entries[at].scale);
            length += weight;
            squares += weight * weight;
            self.add_postings(at, weight, scores);
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

    #[inline]
    fn add_postings(&self, entry: usize, weight: f64, scores: &mut [f64]) {
        let postings = self.postings(entry);
        let gains = &self.posting_gains[postings.clone()];
        for (&class, &gain) in self.posting_classes[postings].iter().zip(gains) {
            scores[usize::from(class)] += weight * f64::from(gain);
        }
    }

    #[inline]
    fn postings(&self, entry: usize) -> std::ops::Range<usize> {
        self.entries[entry].first_posting as usize..self.entries[entry + 1].first_posting as usize
    }

    /// The entry of a term at a decision: they are in order, and the root's, asked for most, comes first.
    #[inline]
    fn entry_at(&self, first: u32, end: u32, number: u32) -> Option<usize> {
        let first = first as usize;
        if self.entries[first].decision == number {
            return Some(first);
        }
        let entries = &self.entries[first..end as usize];
        entries.binary_search_by_key(&number, |entry| entry.decision).ok().map(|at| first + at)
    }

    /// What a term says for every class of a decision, if it is a feature there.
    pub(crate) fn says(&self, number: u32, term: TermId) -> Option<(f32, Vec<f64>)> {
        let (first, end) = self.find(term)?;
        let at = self.entry_at(first, end, number)?;
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

/// A hash table at most half full, from terms to one more than their numbers.
pub(crate) fn slots(terms: &[TermId]) -> Vec<(TermId, u32)> {
    let mut slots = vec![(TermId(0), 0); (terms.len() * 2).next_power_of_two()];
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
