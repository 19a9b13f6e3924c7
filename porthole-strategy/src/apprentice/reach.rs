//! How far around a link to look, chosen by cross-validation (A 3.4).
//!
//! The first instances are kept with all that stands around their links. Whenever there is a training they decide how far
//! it pays to look, and the apprentice learns them anew so; when they are enough, the choice stays and they are forgotten.

use serde::{Deserialize, Serialize};

use super::context::{Outcomes, PageContext, Place};
use super::feature::Weighed;
use super::learner::Learner;
use super::settings::Encoding;
use super::validation::{Instance, cross_validated};

/// The farthest that is tried.
pub(super) const FARTHEST: u32 = 8;
/// So many instances decide.
const ENOUGH: usize = 2_000;
/// Parts of the cross-validation.
const PARTS: u64 = 5;

/// The instances that decide.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Reach {
    kept: Vec<Placed>,
}

/// An instance whose features know how far from the link they are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Placed {
    target: u64,
    features: Vec<(u8, Weighed)>,
    relevance: f64,
}

impl Placed {
    /// A link, with all that can be seen from it.
    pub(super) fn new(
        context: &PageContext,
        link: &Place,
        encoding: &Encoding,
        outcomes: &Outcomes,
    ) -> Placed {
        let mut features = Vec::with_capacity(64);
        context.each_placed(link, &encoding.reaching(FARTHEST), outcomes, |apart, feature| {
            features.push((apart as u8, feature.weighed(1)));
        });
        if encoding.has_topics() {
            features.extend(context.page_features.iter().map(|feature| (0, *feature)));
        }
        Placed { target: link.target.0, features, relevance: 0.0 }
    }

    /// What can be seen of it within `d_max`.
    pub(super) fn within(&self, d_max: u32) -> Vec<Weighed> {
        let near = self.features.iter().filter(|(apart, _)| u32::from(*apart) <= d_max);
        near.map(|(_, feature)| *feature).collect()
    }
}

impl Reach {
    /// Keeps what a link led to.
    pub(super) fn keep(&mut self, link: Placed, relevance: f64) {
        self.kept.push(Placed { relevance, ..link });
    }

    /// Whether there is enough to decide for good.
    pub(super) fn is_enough(&self) -> bool {
        self.kept.len() >= ENOUGH
    }

    /// The reach at which most links of both kinds are foretold rightly, the nearest of equals; `None` if there is too little
    /// to try.
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

    /// Teaches a learner all of them.
    pub(super) fn teach(&self, learner: &mut Learner, d_max: u32) {
        self.kept.iter().for_each(|link| learner.learn(&link.within(d_max), link.relevance));
    }

    fn instances(&self, d_max: u32) -> Vec<Instance> {
        let of_link = |link: &Placed| Instance {
            target: link.target,
            features: link.within(d_max),
            relevance: link.relevance,
        };
        self.kept.iter().map(of_link).collect()
    }
}
