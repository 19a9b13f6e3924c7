//! The most distinctive words of a topic: frequent in its examples and rare in those of other topics.

use std::collections::HashMap;

use porthole_store::{ExampleState, StoreReader};
use porthole_topic::TopicExample;
use porthole_types::{TermId, TopicId};

use crate::document_counts::DocumentCounts;
use crate::output::misuse;
use crate::workspace::{self, Workspace};

/// Maximum number of distinctive words.
const MAX_WORDS: usize = 100;

/// Minimum log odds ratio of a distinctive word, in standard errors.
const MIN_SCORE: f64 = 1.5;

/// The most distinctive words of a topic with their weights.
pub(super) struct Distinctive {
    weights: HashMap<TermId, f64>,
    /// The strongest first.
    pub(super) ordered: Vec<(TermId, f64)>,
}

impl Distinctive {
    /// The distinctive words of some topics together, against all other topics that the workspace knows.
    pub(super) fn of(workspace: &Workspace, topics: &[TopicId], path: &str) -> anyhow::Result<Distinctive> {
        let store = workspace.writer()?;
        let mut statistics =
            workspace::pretrained(&store)?.map(|pretrained| pretrained.statistics).unwrap_or_default();
        workspace.reader()?.visit_examples(&mut |example, counts| {
            if example.state == ExampleState::Ok && example.topic != TopicId::ROOT {
                statistics.add(TopicExample { topic: example.topic, counts });
            }
        })?;
        let (own, mut others) = DocumentCounts::split(&statistics, topics);
        if own.documents == 0 {
            return Err(misuse(format!(
                "{path} has no example with words; fetch missing pages with `porthole examples fetch`"
            )));
        }
        if others.documents == 0 {
            // Without other topics, compare with the general taxonomy.
            others = DocumentCounts::general()?;
        }
        Ok(Distinctive::between(&own, &others))
    }

    fn between(own: &DocumentCounts, others: &DocumentCounts) -> Distinctive {
        // A word of a single example among several may be accidental.
        let fewest = if own.documents > 2 { 2 } else { 1 };
        let mut ordered: Vec<(TermId, f64)> = own
            .with
            .iter()
            .filter(|&(_, &with)| with >= fewest)
            .map(|(&term, &with)| {
                (term, log_odds_ratio(with, own.documents, others.of(term), others.documents))
            })
            .filter(|&(_, weight)| weight > MIN_SCORE)
            .collect();
        ordered.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        ordered.truncate(MAX_WORDS);
        Distinctive { weights: ordered.iter().copied().collect(), ordered }
    }

    /// The distinctive words among the given ones, the strongest first, and the sum of their weights.
    pub(super) fn matched(&self, words: Vec<(TermId, String)>) -> (f64, Vec<String>) {
        let weight = |term: &TermId| self.weights.get(term).copied();
        let mut found: Vec<(f64, String)> =
            words.into_iter().filter_map(|(term, word)| Some((weight(&term)?, word))).collect();
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        (found.iter().map(|(weight, _)| weight).sum(), found.into_iter().map(|(_, word)| word).collect())
    }
}

/// Log odds ratio of a term between the topic and the others, in standard errors: a term of a few examples that occurs
/// nowhere else is no more distinctive than a term of many examples that is rare elsewhere.
fn log_odds_ratio(own: u32, own_all: u32, others: u32, others_all: u32) -> f64 {
    let half = |count: u32| f64::from(count) + 0.5;
    let [a, b] = [half(own), half(own_all - own)];
    let [c, d] = [half(others), half(others_all - others)];
    ((a / b).ln() - (c / d).ln()) / (1.0 / a + 1.0 / b + 1.0 / c + 1.0 / d).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn documents(documents: u32, with: &[(u32, u32)]) -> DocumentCounts {
        DocumentCounts { documents, with: with.iter().map(|&(term, count)| (TermId(term), count)).collect() }
    }

    #[test]
    fn words_of_the_topic_come_before_words_of_all_topics() {
        // 1: of most examples and hardly elsewhere; 2: everywhere; 3: of one example only; 4: of some.
        let own = documents(10, &[(1, 9), (2, 10), (3, 1), (4, 4)]);
        let others = documents(1_000, &[(1, 5), (2, 950), (4, 5)]);
        let distinctive = Distinctive::between(&own, &others);
        let terms: Vec<u32> = distinctive.ordered.iter().map(|(term, _)| term.0).collect();
        assert_eq!(terms, [1, 4]);
        let title = [(2, "the"), (4, "nest"), (1, "owl")].map(|(term, word)| (TermId(term), word.to_owned()));
        let (score, words) = distinctive.matched(title.to_vec());
        assert_eq!(words, ["owl", "nest"]);
        assert!(score > distinctive.ordered[0].1);
    }
}
