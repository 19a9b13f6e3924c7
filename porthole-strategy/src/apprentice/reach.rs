//! Choice of the maximum DOM offset by cross-validation (A 3.4).
//!
//! The first instances are kept with all features around their links. At each training they decide the best offset, and
//! the learner is rebuilt with it; when there are enough instances, the choice is final and they are dropped.

use serde::{Deserialize, Serialize};

use super::context::{LinkPosition, Outcomes, PageContext};
use super::feature::WeightedFeature;
use super::learner::ApprenticeLearner;
use super::settings::Encoding;
use super::validation::{Instance, cross_validated};

/// Largest offset that is tried.
pub(super) const FARTHEST: u32 = 8;
/// Number of instances that make the choice final.
const ENOUGH: usize = 2_000;
/// Number of folds.
const PARTS: u64 = 5;

/// Instances that decide the offset.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Reach {
    kept: Vec<PositionedInstance>,
}

/// An instance whose features have their distances from the link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct PositionedInstance {
    target: u64,
    features: Vec<(u8, WeightedFeature)>,
    relevance: f64,
}

impl PositionedInstance {
    /// A link with all features around it.
    pub(super) fn new(
        context: &PageContext,
        link: &LinkPosition,
        encoding: &Encoding,
        outcomes: &Outcomes,
    ) -> PositionedInstance {
        let mut features = Vec::with_capacity(64);
        context.each_placed(link, &encoding.with_d_max(FARTHEST), outcomes, |apart, feature| {
            features.push((apart as u8, feature.with_weight(1)));
        });
        if encoding.has_topics() {
            features.extend(context.page_features.iter().map(|feature| (0, *feature)));
        }
        PositionedInstance { target: link.target.0, features, relevance: 0.0 }
    }

    /// Features within `d_max`.
    pub(super) fn within(&self, d_max: u32) -> Vec<WeightedFeature> {
        let near = self.features.iter().filter(|(apart, _)| u32::from(*apart) <= d_max);
        near.map(|(_, feature)| *feature).collect()
    }
}

impl Reach {
    /// Adds the outcome of a link.
    pub(super) fn keep(&mut self, link: PositionedInstance, relevance: f64) {
        self.kept.push(PositionedInstance { relevance, ..link });
    }

    /// Whether there are enough instances for a final choice.
    pub(super) fn is_enough(&self) -> bool {
        self.kept.len() >= ENOUGH
    }

    /// Offset with the best balanced accuracy, the smallest on ties; `None` if there are too few instances.
    pub(super) fn best(&self) -> Option<u32> {
        let mut best: Option<(u32, f64)> = None;
        for d_max in 0..=FARTHEST {
            let right = cross_validated(&self.instances(d_max), PARTS)?.balanced();
            if best.is_none_or(|(_, most)| right > most) {
                best = Some((d_max, right));
            }
        }
        best.map(|(d_max, _)| d_max)
    }

    /// Trains a learner with all instances.
    pub(super) fn teach(&self, learner: &mut ApprenticeLearner, d_max: u32) {
        self.kept.iter().for_each(|link| learner.learn(&link.within(d_max), link.relevance));
    }

    fn instances(&self, d_max: u32) -> Vec<Instance> {
        let of_link = |link: &PositionedInstance| Instance {
            target: link.target,
            features: link.within(d_max),
            relevance: link.relevance,
        };
        self.kept.iter().map(of_link).collect()
    }
}
