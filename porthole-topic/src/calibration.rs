//! Calibration of decisions.
//!
//! Naive Bayes treats every word of a page as independent evidence, so that on a long page one class is almost certain,
//! right or wrong. With calibration, a page of n words counts as n/(1+n/saturation)^power words: short pages keep their
//! evidence, that of long pages is reduced. Only the evidence of words is scaled, not the prior, which does not depend
//! on the page's length. The probabilities of a node's children still sum to that of the node.

use std::sync::Arc;

use rayon::prelude::*;

/// Calibration parameters of one decision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// Number of words from which further words count less; infinite for no calibration.
    pub saturation: f64,
    /// Strength of the reduction: 1 means that no page counts as more than `saturation` words.
    pub power: f64,
}

/// Scores of a decision for a document of known class.
#[derive(Clone, Debug)]
pub(crate) struct ScoredDocument {
    /// Evidence of its words for each class, before calibration and normalisation.
    pub(crate) evidence: Vec<f64>,
    /// ln of the classes' prior probabilities.
    pub(crate) logpriors: Arc<[f64]>,
    /// Number of words that are features.
    pub(crate) length: f64,
    /// True classes; at least one.
    pub(crate) classes: Vec<u16>,
}

impl Calibration {
    /// No calibration.
    pub const NONE: Calibration = Calibration { saturation: f64::INFINITY, power: 1.0 };

    /// Factor for the evidence of a document of `length` words.
    #[inline]
    pub fn factor(&self, length: f64) -> f64 {
        if self.saturation.is_finite() { (1.0 + length / self.saturation).powf(-self.power) } else { 1.0 }
    }

    /// The calibration that maximises the likelihood of these documents' classes.
    pub(crate) fn fitted(documents: &[ScoredDocument]) -> Calibration {
        Calibration::fitted_with(documents, &[], 0.0)
    }

    /// As `fitted`, with documents of other decisions, which together count as `strength` documents of this one.
    pub(crate) fn fitted_with(
        documents: &[ScoredDocument],
        others: &[ScoredDocument],
        strength: f64,
    ) -> Calibration {
        let own = documents.len() as f64;
        let loss = |calibration: &Calibration| {
            own * mean_log_loss(documents, calibration) + strength * mean_log_loss(others, calibration)
        };
        let mut best = (loss(&Calibration::NONE), Calibration::NONE);
        for power in [0.5, 1.0] {
            let at = |log: f64| Calibration { saturation: log.exp(), power };
            // For a fixed power the loss is unimodal in the saturation: search from a tenth of a word to a million.
            let found = lowest(|log| loss(&at(log)), 0.1_f64.ln(), 1e6_f64.ln());
            let candidate = (loss(&at(found)), at(found));
            if candidate.0 < best.0 {
                best = candidate;
            }
        }
        best.1
    }
}

/// Mean of -ln Pr[true class].
pub(crate) fn mean_log_loss(documents: &[ScoredDocument], calibration: &Calibration) -> f64 {
    let loss = |document: &ScoredDocument| -log_sum(&document.probabilities(calibration), &document.classes);
    // Chunks of a fixed size, so that the sum does not depend on the number of cores.
    let sums: Vec<f64> = documents.par_chunks(1_000).map(|piece| piece.iter().map(loss).sum()).collect();
    sums.iter().sum::<f64>() / documents.len().max(1) as f64
}

/// ln of the total probability of these classes.
pub(crate) fn log_sum(probabilities: &[f64], classes: &[u16]) -> f64 {
    let of = |class: &u16| probabilities[usize::from(*class)];
    let top = classes.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
    top + classes.iter().map(|class| (of(class) - top).exp()).sum::<f64>().ln()
}

/// Minimum of a unimodal function, by golden section search.
fn lowest(f: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    const RATIO: f64 = 0.618_033_988_749_895;
    let (mut a, mut b) = (high - RATIO * (high - low), low + RATIO * (high - low));
    let (mut at_a, mut at_b) = (f(a), f(b));
    while high - low > 0.01 {
        if at_a < at_b {
            (high, b, at_b) = (b, a, at_a);
            a = high - RATIO * (high - low);
            at_a = f(a);
        } else {
            (low, a, at_a) = (a, b, at_b);
            b = low + RATIO * (high - low);
            at_b = f(b);
        }
    }
    f64::midpoint(low, high)
}

impl ScoredDocument {
    /// ln Pr of each class.
    pub(crate) fn probabilities(&self, calibration: &Calibration) -> Vec<f64> {
        let mut scores = self.evidence.clone();
        let factor = calibration.factor(self.length);
        normalise(&mut scores, self.logpriors.iter().copied(), factor);
        scores
    }
}

/// Turns evidence into log probabilities of sum 1 (V eq. 2, with the prior inside the normalisation).
pub(crate) fn normalise(scores: &mut [f64], logpriors: impl Iterator<Item = f64>, factor: f64) {
    scores.iter_mut().zip(logpriors).for_each(|(score, logprior)| *score = logprior + *score * factor);
    let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum = top + scores.iter().map(|score| (score - top).exp()).sum::<f64>().ln();
    scores.iter_mut().for_each(|score| *score -= sum);
}
