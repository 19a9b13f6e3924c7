//! The critic: a page's terms against the model, from the root down.

use std::sync::Arc;

use porthole_types::{Judgment, Mark, TermId, TopicId};

use crate::model::{Model, NO_DECISION, Reading};
use crate::statistics::Counts;
use crate::taxonomy::Taxonomy;

/// Judges pages by a model and the marks of a tree.
///
/// Only the nodes that matter are looked at: those on the way to good topics, for R(d), and those that the best
/// leaf is found through. Keeps its working space from page to page.
#[derive(Clone, Debug)]
pub struct Critic {
    /// Shared with the critics of other threads: it is most of the memory.
    model: Arc<Model>,
    marks: Vec<Mark>,
    /// Other marks, by which links are followed, if they are not the same.
    toward: Option<Vec<Mark>>,
    tempered: bool,
    reading: Reading,
    /// Classes that were reached and not gone into, with their log probabilities.
    pool: Vec<(f64, u32)>,
    scores: Vec<f64>,
    decided: usize,
    /// Of the last page.
    best: TopicId,
}

impl Critic {
    /// A critic for the good topics of a tree.
    pub fn new(model: Model, tree: &Taxonomy) -> Critic {
        Critic {
            model: Arc::new(model),
            marks: tree.marks(),
            toward: None,
            tempered: true,
            reading: Reading::default(),
            pool: Vec::new(),
            scores: Vec::new(),
            decided: 0,
            best: TopicId::ROOT,
        }
    }

    /// The same without calibration: the formulas of the papers as they stand.
    pub fn uncalibrated(mut self) -> Critic {
        self.tempered = false;
        self
    }

    /// The same, which says by these marks what pages are worth to the links on them ([`steering`](Critic::steering)).
    pub fn toward(mut self, marks: Vec<Mark>) -> Critic {
        self.toward = Some(marks);
        self
    }

    /// Whether there are other marks to steer by.
    pub fn is_toward_more(&self) -> bool {
        self.toward.is_some()
    }

    /// What the last page that was judged is worth by the other marks, if there are any. The page is not read again: R is
    /// another sum over the same decisions.
    pub fn steering(&mut self) -> Option<Judgment> {
        let wide = self.toward.take()?;
        let narrow = std::mem::replace(&mut self.marks, wide);
        let relevance = self.relevance_of_reading();
        self.toward = Some(std::mem::replace(&mut self.marks, narrow));
        Some(Judgment { relevance, best: self.best })
    }

    /// Takes the marks of the tree as it is now.
    pub fn remark(&mut self, tree: &Taxonomy) {
        self.marks = tree.marks();
    }

    /// The same for R(d) alone, quicker: it knows only the decisions on the way to good topics, so that its best leaf is
    /// of no use. For questions about very many short texts.
    pub fn narrowed(&self) -> Critic {
        let mut decisions = self.model.decisions();
        decisions.retain(|decision| self.mark(decision.node) == Mark::Path);
        let model =
            Model::assemble(self.model.kind(), self.model.shape(), self.model.term_version(), &decisions);
        Critic { model: Arc::new(model), ..self.clone() }
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Decisions that were made for the last page.
    pub fn decided(&self) -> usize {
        self.decided
    }

    /// R(d) (V eq. 3) and the most probable leaf.
    pub fn judge(&mut self, counts: &Counts) -> Judgment {
        self.model.read(counts, &mut self.reading);
        self.judge_reading()
    }

    /// The same of a page's terms as they stand, any number of times: nobody has to count and sort them.
    pub fn judge_terms(&mut self, terms: &[TermId]) -> Judgment {
        self.model.read_terms(terms, &mut self.reading);
        self.judge_reading()
    }

    fn judge_reading(&mut self) -> Judgment {
        let relevance = self.relevance_of_reading();
        // R needed the decisions on the path; the best leaf goes on from what they left.
        self.best = self.best_in_pool();
        Judgment { relevance, best: self.best }
    }

    /// R(d) alone: only the nodes on the way to good topics are evaluated (V 2.1.3).
    pub fn relevance(&mut self, counts: &Counts) -> f64 {
        self.model.read(counts, &mut self.reading);
        self.relevance_of_reading()
    }

    /// R(d) alone of terms as they stand.
    pub fn relevance_of_terms(&mut self, terms: &[TermId]) -> f64 {
        self.model.read_terms(terms, &mut self.reading);
        self.relevance_of_reading()
    }

    /// The same if it is more than `least`; otherwise any number up to `least`, as soon as that is certain.
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
        // Classes on the path leave the pool and their children come into it, behind: one pass sees all.
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

    /// What the classes from a place of the pool on can add to R at most: what is below a class is not more probable.
    fn at_most(&self, at: usize) -> f64 {
        let counts = |class: u32| !matches!(self.class_mark(class), Mark::Null);
        let rest = self.pool[at..].iter().filter(|(_, class)| counts(*class));
        rest.map(|(probability, _)| probability.exp()).sum()
    }

    /// The most probable leaf and its probability, best first: the most probable class is gone into until it
    /// is a leaf (V 2.1.1). What is left cannot be more probable, so it is the best of all.
    pub fn best(&mut self, counts: &Counts) -> (TopicId, f64) {
        self.model.read(counts, &mut self.reading);
        self.start();
        let best = self.best_in_pool();
        let probability =
            self.pool.iter().map(|(probability, _)| probability).copied().fold(f64::MIN, f64::max);
        (best, if self.pool.is_empty() { 1.0 } else { probability.exp() })
    }

    /// Pr\[c|d\] of every topic that the model knows, by going everywhere; ordered by topic.
    pub fn all(&mut self, counts: &Counts) -> Vec<(TopicId, f64)> {
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

    /// ln Pr\[ci|c0,d\] of the classes of one node; nothing if nothing is decided there.
    pub fn children(&mut self, node: TopicId, counts: &Counts) -> Vec<(TopicId, f64)> {
        let Some(number) = self.model.heads.iter().position(|head| head.node == node) else {
            return Vec::new();
        };
        self.model.read(counts, &mut self.reading);
        self.model.decide(number as u32, &self.reading, self.tempered, &mut self.scores);
        let classes = self.model.classes_of(&self.model.heads[number]);
        classes.iter().map(|class| class.topic).zip(self.scores.iter().copied()).collect()
    }

    /// Decides at the root about what was read.
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
                // Of equals the first in the model, in whatever order they were reached: a class comes before all
                // that is below it, so going into one of them or not does not change who is first.
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

    /// Puts a class's children in its place.
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
