//! A small naive Bayes classifier over bags of terms, rebuilt at each training.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use porthole_types::TermId;
use serde::{Deserialize, Serialize};

use crate::{StateError, state};

/// Multinomial naive Bayes with add-one smoothing; classes by number.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Bayes {
    /// Number of bags, and of terms in all of them, by class.
    classes: Vec<(u32, u32)>,
    /// Number of occurrences of each term in the bags of each class.
    #[serde(serialize_with = "state::sorted")]
    terms: HashMap<TermId, Vec<u32>, FixedState>,
}

impl Bayes {
    /// An untrained classifier.
    pub(crate) fn new(classes: usize) -> Bayes {
        Bayes { classes: vec![(0, 0); classes], terms: HashMap::default() }
    }

    /// Whether any bag was added.
    pub(crate) fn is_trained(&self) -> bool {
        self.classes.iter().any(|(bags, _)| *bags > 0)
    }

    /// Adds a bag to a class.
    pub(crate) fn add(&mut self, class: usize, bag: &[TermId]) {
        self.classes[class].0 += 1;
        self.classes[class].1 += bag.len() as u32;
        let classes = self.classes.len();
        for term in bag {
            self.terms.entry(*term).or_insert_with(|| vec![0; classes])[class] += 1;
        }
    }

    /// Probability of each class for a bag. The prior is the frequency of each class, or uniform over all classes seen.
    pub(crate) fn classes_of(&self, bag: &[TermId], by_frequency: bool) -> Vec<f64> {
        let vocabulary = self.terms.len() as f64;
        let log = |(class, &(bags, length)): (usize, &(u32, u32))| {
            if bags == 0 {
                return f64::NEG_INFINITY;
            }
            let prior = if by_frequency { f64::from(bags).ln() } else { 0.0 };
            let all = (f64::from(length) + vocabulary).ln();
            // A term that no class has seen is no evidence for any class.
            let seen = bag.iter().filter_map(|term| self.terms.get(term));
            prior + seen.map(|counts| (f64::from(counts[class]) + 1.0).ln() - all).sum::<f64>()
        };
        let mut logs: Vec<f64> = self.classes.iter().enumerate().map(log).collect();
        let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        logs.iter_mut().for_each(|log| *log = (*log - largest).exp());
        let sum: f64 = logs.iter().sum();
        logs.iter().map(|share| if sum > 0.0 { share / sum } else { 0.0 }).collect()
    }

    /// Restores a saved classifier. It is an error if the number of classes differs.
    pub(crate) fn restore(&mut self, saved: Bayes) -> Result<(), StateError> {
        let classes = self.classes.len();
        state::check(saved.classes.len() == classes)?;
        state::check(saved.terms.values().all(|counts| counts.len() == classes))?;
        *self = saved;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hand_computed_class_probabilities() {
        let mut bayes = Bayes::new(3);
        let [owl, milk] = [TermId(1), TermId(2)];
        bayes.add(0, &[owl, owl, milk]);
        bayes.add(2, &[milk]);
        bayes.add(2, &[milk]);
        assert!(bayes.is_trained() && !Bayes::new(3).is_trained());
        // Owl: 3/5 in class 0, 1/4 in class 2. Class 1 was never seen.
        let near = |got: Vec<f64>, wanted: [f64; 3]| {
            assert!(got.iter().zip(wanted).all(|(got, wanted)| (got - wanted).abs() < 1e-12), "{got:?}");
        };
        near(bayes.classes_of(&[owl], false), [0.6 / 0.85, 0.0, 0.25 / 0.85]);
        near(bayes.classes_of(&[owl], true), [0.6 / 1.1, 0.0, 0.5 / 1.1]);
        near(bayes.classes_of(&[TermId(9)], false), [0.5, 0.0, 0.5]);
    }
}
