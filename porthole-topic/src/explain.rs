//! Why the critic says what it says, and what it proposes for examples: in topics and words, not in numbers alone.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use porthole_types::{TermId, TopicId};

use crate::critic::Critic;
use crate::model::Kind;
use crate::statistics::Counts;
use crate::taxonomy::Taxonomy;

/// One step on the way from the root to a topic.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The topic that the step leads to.
    pub topic: TopicId,
    /// Pr\[c|d\].
    pub probability: f64,
    /// Pr\[c|parent(c),d\].
    pub given_parent: f64,
    /// The page's terms that speak most for it against its siblings, the strongest first: what each adds to the
    /// log odds.
    pub words_for: Vec<(TermId, f64)>,
    /// Those that speak most against it.
    pub words_against: Vec<(TermId, f64)>,
}

/// A topic that examples may belong to.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// The topic.
    pub topic: TopicId,
    /// Mean of Pr\[c|d\] over the examples.
    pub probability: f64,
    /// Examples whose best leaf it is, or is below it.
    pub examples: usize,
    /// How much more is known when it is known that they are about it: p ln(p / Pr\[c\]). High for topics that
    /// are probable for the examples and not for any page; 0 for the root.
    pub score: f64,
    /// The words that decide for it, the strongest first, over all examples.
    pub words: Vec<(TermId, f64)>,
}

/// What each term adds to the log odds of a class.
type Telling = HashMap<TermId, f64, FixedState>;

impl Critic {
    /// The way from the root to the best leaf, with the most telling words of each step.
    pub fn explain(&mut self, counts: &Counts, most: usize) -> Vec<Step> {
        let (best, _) = self.best(counts);
        self.explain_topic(best, counts, most)
    }

    /// The way from the root to a topic; empty if the model does not know it.
    pub fn explain_topic(&mut self, topic: TopicId, counts: &Counts, most: usize) -> Vec<Step> {
        let mut probability = 1.0;
        let mut steps = Vec::new();
        for (decision, class) in self.way_to(topic) {
            let head = self.model().heads[decision as usize];
            let step = self.model().classes[class as usize].topic;
            let children = self.children(head.node, counts);
            let given_parent = children[(class - head.first_class) as usize].1.exp();
            probability *= given_parent;
            let mut telling = Telling::default();
            self.add_telling(decision, class, &children, counts, &mut telling);
            let (words_for, words_against) =
                (strongest(&telling, most, 1.0), strongest(&telling, most, -1.0));
            steps.push(Step { topic: step, probability, given_parent, words_for, words_against });
        }
        steps
    }

    /// The topics that examples fit best, the best first, each with the words that decide (W 2.1).
    pub fn propose(&mut self, tree: &Taxonomy, examples: &[&Counts], most: usize) -> Vec<Proposal> {
        let mut found: HashMap<TopicId, Proposal, FixedState> = HashMap::default();
        let share = 1.0 / examples.len().max(1) as f64;
        for counts in examples {
            for (topic, probability) in self.all(counts) {
                found.entry(topic).or_insert_with(|| Proposal::of(topic)).probability += probability * share;
            }
            let (best, _) = self.best(counts);
            for topic in std::iter::once(best).chain(tree.ancestors(best)) {
                found.entry(topic).or_insert_with(|| Proposal::of(topic)).examples += 1;
            }
        }
        let priors = self.priors();
        let mut proposals: Vec<_> =
            found.into_values().filter(|proposal| proposal.topic != TopicId::ROOT).collect();
        for proposal in &mut proposals {
            let prior = priors.get(&proposal.topic).copied().unwrap_or(1.0);
            let p = proposal.probability;
            proposal.score = if p > 0.0 { p * (p / prior).ln() } else { 0.0 };
        }
        proposals.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.topic.cmp(&b.topic)));
        proposals.truncate(most);
        for proposal in &mut proposals {
            proposal.words = self.deciding(proposal.topic, examples);
        }
        proposals
    }

    /// The words that decide for a topic at the decision right above it, summed over examples.
    fn deciding(&mut self, topic: TopicId, examples: &[&Counts]) -> Vec<(TermId, f64)> {
        let mut telling = Telling::default();
        if let Some((decision, class)) = self.way_to(topic).last().copied() {
            let node = self.model().heads[decision as usize].node;
            for counts in examples {
                let children = self.children(node, counts);
                self.add_telling(decision, class, &children, counts, &mut telling);
            }
        }
        strongest(&telling, WORDS, 1.0)
    }

    /// The decisions from the root to a topic, each with the class that leads on.
    fn way_to(&self, topic: TopicId) -> Vec<(u32, u32)> {
        let model = self.model();
        let mut way = Vec::new();
        let mut wanted = topic;
        while let Some(class) = model.classes.iter().position(|class| class.topic == wanted) {
            let decision = model.heads.partition_point(|head| head.first_class as usize <= class) - 1;
            way.push((decision as u32, class as u32));
            wanted = model.heads[decision].node;
            if decision == 0 {
                break;
            }
        }
        way.reverse();
        way
    }

    /// What each term adds to the log odds of a class against its siblings, these weighed by how probable they
    /// are if it is not that class.
    fn add_telling(
        &self,
        decision: u32,
        class: u32,
        children: &[(TopicId, f64)],
        counts: &Counts,
        telling: &mut Telling,
    ) {
        let model = self.model();
        let head = &model.heads[decision as usize];
        let at = (class - head.first_class) as usize;
        let others: Vec<f64> = children.iter().map(|(_, log)| log.exp()).collect();
        let rest: f64 = others.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, p)| p).sum();
        let said = counts.iter().filter_map(|&(term, count)| {
            let (scale, gains) = model.says(decision, term)?;
            let weight = match model.kind() {
                Kind::NaiveBayes => head.counting.weight(count),
                Kind::Logistic => f64::from(count).ln_1p() * f64::from(scale),
            };
            let against = gains.iter().zip(&others).enumerate().filter(|(other, _)| *other != at);
            let against: f64 = against.map(|(_, (gain, p))| gain * p / rest.max(f64::MIN_POSITIVE)).sum();
            Some((term, weight, gains[at] - against))
        });
        let said: Vec<(TermId, f64, f64)> = said.collect();
        let length: f64 = said.iter().map(|(_, weight, _)| weight).sum();
        let squares: f64 = said.iter().map(|(_, weight, _)| weight * weight).sum();
        let factor = match model.kind() {
            Kind::NaiveBayes => head.calibration.factor(length),
            Kind::Logistic => 1.0 / squares.sqrt().max(f64::MIN_POSITIVE),
        };
        for (term, weight, difference) in said {
            *telling.entry(term).or_default() += weight * difference * factor;
        }
    }

    /// Pr\[c\] of every topic, before any page is seen.
    fn priors(&self) -> HashMap<TopicId, f64, FixedState> {
        let model = self.model();
        let mut priors: HashMap<TopicId, f64, FixedState> = HashMap::default();
        for (number, head) in model.heads.iter().enumerate() {
            let above = if number == 0 { 1.0 } else { priors.get(&head.node).copied().unwrap_or(1.0) };
            let classes = model.classes_of(head);
            let all: f64 = classes.iter().map(|class| f64::from(class.documents)).sum();
            for class in classes {
                priors.insert(class.topic, above * f64::from(class.documents) / all.max(1.0));
            }
        }
        priors
    }
}

impl Proposal {
    fn of(topic: TopicId) -> Proposal {
        Proposal { topic, probability: 0.0, examples: 0, score: 0.0, words: Vec::new() }
    }
}

/// Words that are kept of a proposal.
const WORDS: usize = 12;

/// The terms with the largest values of one sign.
fn strongest(telling: &Telling, most: usize, sign: f64) -> Vec<(TermId, f64)> {
    let mut words: Vec<_> = telling.iter().map(|(&term, &value)| (term, value)).collect();
    words.retain(|(_, value)| value * sign > 0.0);
    words.sort_by(|a, b| (b.1 * sign).total_cmp(&(a.1 * sign)).then(a.0.cmp(&b.0)));
    words.truncate(most);
    words
}
