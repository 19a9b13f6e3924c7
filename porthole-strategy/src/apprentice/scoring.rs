//! Scoring of links.
//!
//! A term at an offset is a feature, and looking up its weight takes most of the time. Adjacent links have the same
//! terms at different offsets. Therefore the weights of a term at all offsets are computed once, and the terms of a
//! page are looked up once for all of its links. The scores are bit-identical to those of the direct computation.

use std::collections::HashMap;

use porthole_types::TermId;

use super::context::{LinkPosition, Outcomes, PageContext, offset};
use super::feature::LinkFeature;
use super::learner::ApprenticeLearner;
use super::naive_bayes::{NaiveBayes, priority};
use super::settings::{Encoding, TermEncoding};

/// Maximum number of cached weights.
const MOST_ODDS: usize = 4_000_000;

/// Scores links by the model of the last training.
#[derive(Debug, Default)]
pub(super) struct LinkScorer {
    rows: Option<OffsetWeights>,
}

impl LinkScorer {
    /// A scorer for the learner's current model.
    pub(super) fn new(learner: &ApprenticeLearner, encoding: &Encoding) -> LinkScorer {
        LinkScorer { rows: learner.bayes().and_then(|_| OffsetWeights::new(encoding)) }
    }

    /// Score of a link of a context with this number.
    pub(super) fn score(
        &mut self,
        learner: &ApprenticeLearner,
        encoding: &Encoding,
        (number, context): (u32, &PageContext),
        link: &LinkPosition,
        outcomes: &Outcomes,
    ) -> f64 {
        match (&mut self.rows, learner.bayes()) {
            (Some(rows), Some(bayes)) => {
                rows.open(number, context, bayes);
                let (sum, features) = rows.sum(context, link);
                priority(bayes.log_odds_of(sum, features))
            }
            _ => super::score(learner, context, &context.features(link, encoding, outcomes)),
        }
    }
}

/// Weights of terms at each offset.
#[derive(Debug)]
struct OffsetWeights {
    d_max: u32,
    /// Whether the encoding distinguishes offsets.
    has_offsets: bool,
    /// Row of each term.
    rows: HashMap<TermId, u32, foldhash::fast::FixedState>,
    /// Weights, row by row.
    odds: Vec<f32>,
    /// Number of the open context, and the start of the row of each of its terms.
    context: Option<u32>,
    begins: Vec<usize>,
}

impl OffsetWeights {
    /// `None` if the encoding has features other than terms near the link.
    fn new(encoding: &Encoding) -> Option<OffsetWeights> {
        let is_plain = !(encoding.far || encoding.cocitation || encoding.has_topics());
        let has_offsets = encoding.terms == TermEncoding::Offset;
        (is_plain && (has_offsets || encoding.terms == TermEncoding::Window)).then(|| OffsetWeights {
            d_max: encoding.d_max,
            has_offsets,
            rows: HashMap::default(),
            odds: Vec::new(),
            context: None,
            begins: Vec::new(),
        })
    }

    fn open(&mut self, number: u32, context: &PageContext, bayes: &NaiveBayes) {
        if self.context.replace(number) == Some(number) {
            return;
        }
        if self.odds.len() > MOST_ODDS {
            self.rows.clear();
            self.odds.clear();
        }
        let reach = if self.has_offsets { self.d_max.cast_signed() } else { 0 };
        let width = 2 * reach as usize + 1;
        self.begins.clear();
        for term in context.terms() {
            let next = self.rows.len() as u32;
            let row = *self.rows.entry(*term).or_insert_with(|| {
                let of_offset = |offset| bayes.odds(LinkFeature::term(*term, offset, 0).hash()) as f32;
                self.odds.extend((-reach..=reach).map(of_offset));
                next
            });
            self.begins.push(row as usize * width);
        }
    }

    /// Sum of the weights of a link's features, and their number.
    fn sum(&self, context: &PageContext, link: &LinkPosition) -> (f64, usize) {
        let (first, last) = context.reach(link, self.d_max);
        let (mut sum, mut features) = (0.0, 0);
        for leaf in first..last {
            let offset = if self.has_offsets {
                (offset(leaf as u32, link.first, link.last) + self.d_max.cast_signed()) as usize
            } else {
                0
            };
            let begins = &self.begins[context.terms_of(leaf)];
            features += begins.len();
            for begin in begins {
                sum += f64::from(self.odds[begin + offset]);
            }
        }
        (sum, features)
    }
}

#[cfg(test)]
mod tests {
    use porthole_page::Extractor;
    use porthole_types::{CanonicalUrl, Headers, UrlId};

    use super::super::settings::LearnerKind;
    use super::*;
    use crate::harness::{TestWeb, goal, tell};
    use crate::{Strategy, named};

    #[test]
    fn scores_equal_the_direct_computation_bit_by_bit() {
        let words = ["owl", "hawk", "milk", "rail", "feather"];
        let item =
            |n: usize| format!("<li>{} <b>{}</b> <a href=/{n}>{n} x</a>", words[n * 7 % 5], words[n * n % 5]);
        let html: String = (0..40).map(item).collect();
        let url = CanonicalUrl::parse("http://a.test/").unwrap();
        let page = Extractor::default().extract(&url, &Headers::new(), html.as_bytes());
        let outcomes = Outcomes::default();
        for (terms, d_max, length) in
            [(TermEncoding::Offset, 3, 0), (TermEncoding::Offset, 0, 1), (TermEncoding::Window, 5, 10)]
        {
            let encoding = Encoding::of_terms(terms, d_max);
            let context = PageContext::new(&page, 0.5, &encoding);
            let mut learner = ApprenticeLearner::new(LearnerKind::Bayes, length);
            for (n, link) in page.links.iter().enumerate() {
                let features = context.features(&context.link(link), &encoding, &outcomes);
                learner.learn(&features, [0.9, 0.1, 0.2][n % 3]);
            }
            assert!(learner.train());
            let mut scorer = LinkScorer::new(&learner, &encoding);
            assert!(scorer.rows.is_some());
            for link in page.links.iter().map(|link| context.link(link)) {
                let quick = scorer.score(&learner, &encoding, (0, &context), &link, &outcomes);
                let plain = learner.score(&context.features(&link, &encoding, &outcomes)).unwrap();
                assert_eq!(quick.to_bits(), plain.to_bits(), "{terms:?} {d_max}");
            }
        }
    }

    /// The queued priorities and the strategy after all pages were fetched, with `piece` URLs rescored at a time.
    fn queue(name: &str, web: &TestWeb, piece: usize) -> (HashMap<UrlId, f64>, Box<dyn Strategy>) {
        let mut strategy = named(name, &goal("owl", 1)).unwrap();
        strategy.set_rescore_chunk(piece);
        let mut queue = HashMap::new();
        let is_last = strategy.discipline().merge == crate::PriorityMerge::Latest;
        for url in web.first(60) {
            for (link, worth) in tell(&mut *strategy, web, &url, 0) {
                let held = queue.entry(link.id()).or_insert(worth);
                *held = if is_last { worth } else { held.max(worth) };
            }
            queue.extend(strategy.rescored());
        }
        loop {
            let rescored = strategy.rescored();
            if rescored.is_empty() {
                return (queue, strategy);
            }
            assert!(rescored.len() < piece + 10, "{} at once", rescored.len());
            queue.extend(rescored);
        }
    }

    #[test]
    fn pages_that_arrive_while_rescoring_do_not_change_the_final_scores() {
        // Dropped links keep their priority in the queue, unless the latest priority counts.
        for (parents, remember) in [("highest", 10_000), ("first", 10_000), ("last", 10_000), ("last", 60)] {
            let name = format!("apprentice:d=1,train=30,again=1000,parents={parents},remember={remember}");
            let (queue, mut strategy) = queue(&name, &TestWeb::drawn(4, 90), 4);
            strategy.set_rescore_chunk(usize::MAX);
            strategy.rescore_all();
            let rescored = strategy.rescored();
            assert!(rescored.len() > 20, "{name}: {}", rescored.len());
            for (url, worth) in rescored {
                assert_eq!(queue[&url], worth, "{name}");
            }
        }
    }
}
