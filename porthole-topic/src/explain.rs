//! Explanations of judgments, and proposals of topics for examples, with the decisive words.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use porthole_types::{TermId, TopicId};

use crate::critic::Critic;
use crate::model::ModelKind;
use crate::statistics::TermFrequencies;
use crate::taxonomy::Taxonomy;

/// One step on the path from the root to a topic.
#[derive(Clone, Debug, PartialEq)]
pub struct DescentStep {
    /// Topic that the step leads to.
    pub topic: TopicId,
    /// Pr\[c|d\].
    pub probability: f64,
    /// Pr\[c|parent(c),d\].
    pub given_parent: f64,
    /// The page's terms that support it most against its siblings, strongest first, with their contributions to the log
    /// odds.
    pub words_for: Vec<(TermId, f64)>,
    /// The page's terms that count most against it.
    pub words_against: Vec<(TermId, f64)>,
}

/// A topic that examples may belong to.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// The topic.
    pub topic: TopicId,
    /// Mean of Pr\[c|d\] over the examples.
    pub probability: f64,
    /// Number of examples whose best leaf is the topic or below it.
    pub examples: usize,
    /// Information that the topic gives about the examples: p ln(p / Pr\[c\]). High for topics that are probable for
    /// the examples but not for an average page; 0 for the root.
    pub score: f64,
    /// The decisive words over all examples, strongest first.
    pub words: Vec<(TermId, f64)>,
}

/// Contribution of each term to the log odds of a class.
type TermContributions = HashMap<TermId, f64, FixedState>;

impl Critic {
    /// The path from the root to the best leaf, with the decisive words of each step.
    pub fn explain(&mut self, counts: &TermFrequencies, most: usize) -> Vec<DescentStep> {
        let (best, _) = self.best(counts);
        self.explain_topic(best, counts, most)
    }

    /// The path from the root to a topic; empty if it is not in the model.
    pub fn explain_topic(
        &mut self,
        topic: TopicId,
        counts: &TermFrequencies,
        most: usize,
    ) -> Vec<DescentStep> {
        let mut probability = 1.0;
        let mut steps = Vec::new();
        for (decision, class) in self.path_to(topic) {
            let head = self.model().heads[decision as usize];
            let step = self.model().classes[class as usize].topic;
            let children = self.children(head.node, counts);
            let given_parent = children[(class - head.first_class) as usize].1.exp();
            probability *= given_parent;
            let mut contributions = TermContributions::default();
            self.add_contributions(decision, class, &children, counts, &mut contributions);
            let (words_for, words_against) =
                (strongest(&contributions, most, 1.0), strongest(&contributions, most, -1.0));
            steps.push(DescentStep { topic: step, probability, given_parent, words_for, words_against });
        }
        steps
    }

    /// The topics that fit the examples best, best first, with the decisive words (W 2.1).
    pub fn propose(&mut self, tree: &Taxonomy, examples: &[&TermFrequencies], most: usize) -> Vec<Proposal> {
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

    /// The decisive words for a topic at its parent's decision, summed over the examples.
    fn deciding(&mut self, topic: TopicId, examples: &[&TermFrequencies]) -> Vec<(TermId, f64)> {
        let mut contributions = TermContributions::default();
        if let Some((decision, class)) = self.path_to(topic).last().copied() {
            let node = self.model().heads[decision as usize].node;
            for counts in examples {
                let children = self.children(node, counts);
                self.add_contributions(decision, class, &children, counts, &mut contributions);
            }
        }
        strongest(&contributions, WORDS, 1.0)
    }

    /// The decisions from the root to a topic, each with the class on the path.
    fn path_to(&self, topic: TopicId) -> Vec<(u32, u32)> {
        let model = self.model();
        let mut way = Vec::new();
        let mut wanted = topic;
        while let Some(class) = model.topics().position(|topic| topic == wanted) {
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

    /// Adds each term's contribution to the log odds of a class against its siblings, which are weighted by their
    /// probabilities given that it is not that class; and to those of its confirmation.
    fn add_contributions(
        &self,
        decision: u32,
        class: u32,
        children: &[(TopicId, f64)],
        counts: &TermFrequencies,
        contributions: &mut TermContributions,
    ) {
        let at = (class - self.model().heads[decision as usize].first_class) as usize;
        let probabilities: Vec<f64> = children.iter().map(|(_, log)| log.exp()).collect();
        self.add_of_decision(decision, at, &probabilities, counts, contributions);
        if let Some(confirmation) = self.model().confirmation_of(decision, at) {
            self.add_of_decision(confirmation, 0, &[0.5, 0.5], counts, contributions);
        }
    }

    fn add_of_decision(
        &self,
        decision: u32,
        at: usize,
        others: &[f64],
        counts: &TermFrequencies,
        contributions: &mut TermContributions,
    ) {
        let model = self.model();
        let head = &model.heads[decision as usize];
        let rest: f64 = others.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, p)| p).sum();
        let weighted = counts.iter().filter_map(|&(term, count)| {
            let (scale, gains) = model.contributions(decision, term)?;
            let weight = match model.kind() {
                ModelKind::NaiveBayes => head.counting.weight(count),
                ModelKind::Logistic => f64::from(count).ln_1p() * f64::from(scale),
            };
            let against = gains.iter().zip(others).enumerate().filter(|(other, _)| *other != at);
            let against: f64 = against.map(|(_, (gain, p))| gain * p / rest.max(f64::MIN_POSITIVE)).sum();
            Some((term, weight, gains[at] - against))
        });
        let weighted: Vec<(TermId, f64, f64)> = weighted.collect();
        let length: f64 = weighted.iter().map(|(_, weight, _)| weight).sum();
        let squares: f64 = weighted.iter().map(|(_, weight, _)| weight * weight).sum();
        let factor = match model.kind() {
            ModelKind::NaiveBayes => head.calibration.factor(length),
            ModelKind::Logistic => 1.0 / squares.sqrt().max(f64::MIN_POSITIVE),
        };
        for (term, weight, difference) in weighted {
            *contributions.entry(term).or_default() += weight * difference * factor;
        }
    }

    /// Prior probability of every topic.
    fn priors(&self) -> HashMap<TopicId, f64, FixedState> {
        let model = self.model();
        let mut priors: HashMap<TopicId, f64, FixedState> = HashMap::default();
        for (number, head) in model.heads[..model.tree_heads].iter().enumerate() {
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

/// Number of words listed for a proposal.
const WORDS: usize = 12;

/// The terms with the largest values of one sign.
fn strongest(contributions: &TermContributions, most: usize, sign: f64) -> Vec<(TermId, f64)> {
    let mut words: Vec<_> = contributions.iter().map(|(&term, &value)| (term, value)).collect();
    words.retain(|(_, value)| value * sign > 0.0);
    words.sort_by(|a, b| (b.1 * sign).total_cmp(&(a.1 * sign)).then(a.0.cmp(&b.0)));
    words.truncate(most);
    words
}
