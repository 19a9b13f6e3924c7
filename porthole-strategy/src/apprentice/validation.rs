//! How well links' targets are foretold, by cross-validation (A 3.4).

use super::counts::{self, Counts};
use super::feature::Weighed;
use super::naive_bayes::{NaiveBayes, probability};

/// An instance <(u,v), Pr(c*|v)> that is kept to be tried.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Instance {
    /// Tells targets apart: all links to one page are in the same part, so that it is always about pages that were not seen.
    pub(super) target: u64,
    pub(super) features: Vec<Weighed>,
    pub(super) relevance: f64,
}

/// How often the apprentice is right about links whose targets it has not seen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Accuracy {
    /// Share of the links to relevant pages that it calls so.
    pub positive: f64,
    /// Share of the others that it calls irrelevant.
    pub negative: f64,
    /// Share of all that it is right about.
    pub average: f64,
}

impl Accuracy {
    /// Of links, each with whether its target is relevant and whether it was called so.
    pub(super) fn of(links: impl Iterator<Item = (bool, bool)>) -> Accuracy {
        let (mut right, mut all) = ([0_u64; 2], [0_u64; 2]);
        for (is_high, said) in links {
            all[usize::from(is_high)] += 1;
            right[usize::from(is_high)] += u64::from(said == is_high);
        }
        let share = |right: u64, all: u64| right as f64 / all.max(1) as f64;
        Accuracy {
            positive: share(right[1], all[1]),
            negative: share(right[0], all[0]),
            average: share(right[0] + right[1], all[0] + all[1]),
        }
    }

    /// The mean of both kinds. Where they are equally frequent it is the average; where relevant pages are rare, the average
    /// is best when all is called irrelevant.
    pub fn balanced(&self) -> f64 {
        (self.positive + self.negative) / 2.0
    }
}

/// Every one of `parts` is foretold from the others; `None` if there is too little of one kind to learn from.
pub(super) fn cross_validated(instances: &[Instance], parts: u64) -> Option<Accuracy> {
    let mut counts = Counts::default();
    instances.iter().for_each(|instance| counts.add(&[], instance.relevance));
    let cut = counts.cut();
    let mut said = Vec::with_capacity(instances.len());
    for part in 0..parts {
        let is_in = |instance: &&Instance| instance.target % parts == part;
        let mut counts = Counts::default();
        let learnt = instances.iter().filter(|instance| !is_in(instance));
        learnt.for_each(|instance| counts.add(&instance.features, instance.relevance));
        let bayes = NaiveBayes::train(&counts, 0)?;
        said.extend(instances.iter().filter(is_in).map(|Instance { features, relevance, .. }| {
            (counts::bin(*relevance) >= cut, probability(bayes.log_odds(features)) >= 0.5)
        }));
    }
    Some(Accuracy::of(said.into_iter()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        // Twenty low ones with the word 1 and twenty high ones with the word 2; of the high ones, four are called 1.
        let instance = |target: u64, word: u32, relevance: f64| Instance {
            target,
            features: vec![(word, 1)],
            relevance,
        };
        let low = (0..20).map(|n| instance(n, 1, 0.05));
        let high = (20..40).map(|n| instance(n, if n < 24 { 1 } else { 2 }, 0.95));
        let all: Vec<Instance> = low.chain(high).collect();
        let said = cross_validated(&all, 5).unwrap();
        // In every part, a word is of the class that it occurs in more often: 1 is low.
        assert_eq!(said, Accuracy { positive: 16.0 / 20.0, negative: 1.0, average: 36.0 / 40.0 });
        assert!((said.balanced() - 0.9).abs() < 1e-12);
        // All of one kind: nothing to tell apart.
        assert_eq!(cross_validated(&all[..20], 5), None);
    }
}
