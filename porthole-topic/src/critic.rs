//! The critic: classifies a page's terms by the model, from the root down.

use std::sync::Arc;

use porthole_types::{Judgment, Mark, TermId, TopicId};

use crate::model::{CriticModel, MatchedTerms, NO_DECISION};
use crate::statistics::TermFrequencies;
use crate::taxonomy::Taxonomy;

/// Judges pages by a model and the marks of a tree.
///
/// Evaluates only the nodes that it needs: those on the paths to good topics, for R(d), and those on the way to the
/// best leaf. Reuses its buffers from page to page.
#[derive(Clone, Debug)]
pub struct Critic {
    /// Shared with the critics of other threads, because it is most of the memory.
    model: Arc<CriticModel>,
    marks: Vec<Mark>,
    /// Other marks that decide which links are followed, if they differ.
    toward: Option<Vec<Mark>>,
    tempered: bool,
    reading: MatchedTerms,
    /// Classes that were reached but not expanded, with their log probabilities.
    pool: Vec<(f64, u32)>,
    scores: Vec<f64>,
    decided: usize,
    /// Best leaf of the last page.
    best: TopicId,
}

impl Critic {
    /// A critic for the good topics of a tree.
    pub fn new(model: CriticModel, tree: &Taxonomy) -> Critic {
        Critic {
            model: Arc::new(model),
            marks: tree.marks(),
            toward: None,
            tempered: true,
            reading: MatchedTerms::default(),
            pool: Vec::new(),
            scores: Vec::new(),
            decided: 0,
            best: TopicId::ROOT,
        }
    }

    /// Disables calibration: the unmodified formulas of the papers.
    pub fn uncalibrated(mut self) -> Critic {
        self.tempered = false;
        self
    }

    /// Sets other marks by which pages are rated for the links on them ([`steering`](Critic::steering)).
    pub fn toward(mut self, marks: Vec<Mark>) -> Critic {
        self.toward = Some(marks);
        self
    }

    /// Whether other marks were set.
    pub fn has_steering_marks(&self) -> bool {
        self.toward.is_some()
    }

    /// Judgment of the last page by the other marks, if there are any. The page is not classified again: R is another
    /// sum over the same decisions.
    pub fn steering(&mut self) -> Option<Judgment> {
        let wide = self.toward.take()?;
        let narrow = std::mem::replace(&mut self.marks, wide);
        let relevance = self.relevance_of_reading();
        self.toward = Some(std::mem::replace(&mut self.marks, narrow));
        Some(Judgment { relevance, best: self.best })
    }

    /// Updates the marks from the tree.
    pub fn update_marks(&mut self, tree: &Taxonomy) {
        self.marks = tree.marks();
    }

    /// A faster critic for R(d) only: it has only the decisions on the paths to good topics, so its best leaf is
    /// meaningless. For large numbers of short texts.
    pub fn relevance_only(&self) -> Critic {
        let mut decisions = self.model.decisions();
        decisions.retain(|decision| self.mark(decision.node) == Mark::Path);
        decisions.extend(self.model.confirmations());
        let model = CriticModel::assemble(
            self.model.kind(),
            self.model.shape(),
            self.model.term_version(),
            &decisions,
        );
        Critic { model: Arc::new(model), ..self.clone() }
    }

    /// The model.
    pub fn model(&self) -> &CriticModel {
        &self.model
    }

    /// Number of decisions evaluated for the last page.
    pub fn decided(&self) -> usize {
        self.decided
    }

    /// R(d) (V eq. 3) and the most probable leaf.
    pub fn judge(&mut self, counts: &TermFrequencies) -> Judgment {
        self.model.read(counts, &mut self.reading);
        self.judge_reading()
    }

    /// As `judge`, for a page's terms with repetitions, in any order: no counting or sorting is needed.
    pub fn judge_terms(&mut self, terms: &[TermId]) -> Judgment {
        self.model.read_terms(terms, &mut self.reading);
        self.judge_reading()
    }

    fn judge_reading(&mut self) -> Judgment {
        let relevance = self.relevance_of_reading();
        // R needed the decisions on the paths; the best leaf continues from the remaining pool.
        self.best = self.best_in_pool();
        Judgment { relevance, best: self.best }
    }

    /// R(d) only: evaluates only the nodes on the paths to good topics (V 2.1.3).
    pub fn relevance(&mut self, counts: &TermFrequencies) -> f64 {
        self.model.read(counts, &mut self.reading);
        self.relevance_of_reading()
    }

    /// R(d) only, for terms with repetitions, in any order.
    pub fn relevance_of_terms(&mut self, terms: &[TermId]) -> f64 {
        self.model.read_terms(terms, &mut self.reading);
        self.relevance_of_reading()
    }

    /// R(d) if it exceeds `least`; otherwise some number up to `least`, as soon as that bound is certain.
    pub fn relevance_beyond(&mut self, terms: &[TermId], least: f64) -> f64 {
        self.model.read_terms(terms, &mut self.reading);
        self.relevance_of_reading_beyond(least)
    }

    fn relevance_of_reading(&mut self) -> f64 {
        self.relevance_of_reading_beyond(f64::NEG_INFINITY)
    }

    fn relevance_of_reading_beyond(&mut self, least: f64) -> f64 {
        self.start();
        if self.mark(TopicId::ROOT) == Mark::Good {
            return 1.0;
        }
        let mut relevance = 0.0;
        let mut at = 0;
        // Classes on a path are replaced by their children, which are appended: one pass visits all.
        while at < self.pool.len() {
            let (probability, class) = self.pool[at];
            match self.class_mark(class) {
                Mark::Good | Mark::Subsumed => relevance += probability.exp(),
                Mark::Path if self.model.next[class as usize] != NO_DECISION => {
                    if least >= 0.0 && relevance + self.at_most(at) <= least {
                        return relevance;
                    }
                    self.expand(at);
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
        relevance.min(1.0)
    }

    /// Upper bound of what the classes from `at` on can add to R: a descendant is never more probable than its
    /// ancestor.
    fn at_most(&self, at: usize) -> f64 {
        let counts = |class: u32| !matches!(self.class_mark(class), Mark::Null);
        let rest = self.pool[at..].iter().filter(|(_, class)| counts(*class));
        rest.map(|(probability, _)| probability.exp()).sum()
    }

    /// The most probable leaf and its probability, by best-first search: the most probable class is expanded until it
    /// is a leaf (V 2.1.1). No remaining class can be more probable.
    pub fn best(&mut self, counts: &TermFrequencies) -> (TopicId, f64) {
        self.model.read(counts, &mut self.reading);
        self.start();
        let best = self.best_in_pool();
        let probability =
            self.pool.iter().map(|(probability, _)| probability).copied().fold(f64::MIN, f64::max);
        (best, if self.pool.is_empty() { 1.0 } else { probability.exp() })
    }

    /// Pr\[c|d\] of every topic in the model, by evaluating all nodes; ordered by topic.
    pub fn all(&mut self, counts: &TermFrequencies) -> Vec<(TopicId, f64)> {
        self.model.read(counts, &mut self.reading);
        self.start();
        let mut all = Vec::with_capacity(self.model.classes.len());
        while let Some((probability, class)) = self.pool.pop() {
            all.push((self.model.classes[class as usize].topic, probability.exp()));
            if self.model.next[class as usize] != NO_DECISION {
                self.decide(self.model.next[class as usize], probability);
            }
        }
        all.sort_unstable_by_key(|(topic, _)| *topic);
        all
    }

    /// ln Pr\[ci|c0,d\] of the classes of one node; empty if the model has no decision there.
    pub fn children(&mut self, node: TopicId, counts: &TermFrequencies) -> Vec<(TopicId, f64)> {
        let heads = &self.model.heads[..self.model.tree_heads];
        let Some(number) = heads.iter().position(|head| head.node == node) else {
            return Vec::new();
        };
        self.model.read(counts, &mut self.reading);
        self.model.decide(number as u32, &self.reading, self.tempered, &mut self.scores);
        let classes = self.model.classes_of(&self.model.heads[number]);
        classes.iter().map(|class| class.topic).zip(self.scores.iter().copied()).collect()
    }

    /// Evaluates the root's decision.
    fn start(&mut self) {
        self.pool.clear();
        self.decided = 0;
        if !self.model.heads.is_empty() {
            self.decide(0, 0.0);
        }
    }

    fn best_in_pool(&mut self) -> TopicId {
        loop {
            let most = (0..self.pool.len()).max_by(|&a, &b| {
                // On ties the first in the model, independent of the order of expansion: a class comes before its
                // descendants, so expanding one of the tied classes does not change which is first.
                self.pool[a].0.total_cmp(&self.pool[b].0).then(self.pool[b].1.cmp(&self.pool[a].1))
            });
            let Some(most) = most else { return TopicId::ROOT };
            let class = self.pool[most].1;
            if self.model.next[class as usize] == NO_DECISION {
                return self.model.classes[class as usize].topic;
            }
            self.expand(most);
        }
    }

    /// Replaces a class by its children.
    fn expand(&mut self, at: usize) {
        let (probability, class) = self.pool.swap_remove(at);
        self.decide(self.model.next[class as usize], probability);
    }

    fn decide(&mut self, number: u32, probability: f64) {
        self.decided += 1;
        self.model.decide(number, &self.reading, self.tempered, &mut self.scores);
        let first = self.model.heads[number as usize].first_class;
        self.pool.extend(self.scores.iter().zip(first..).map(|(score, class)| (probability + score, class)));
    }

    fn class_mark(&self, class: u32) -> Mark {
        self.mark(self.model.classes[class as usize].topic)
    }

    fn mark(&self, topic: TopicId) -> Mark {
        self.marks.get(usize::from(topic.0)).copied().unwrap_or_default()
    }
}
