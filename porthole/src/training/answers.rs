//! Answers: pages that people marked, and the confirmations of good topics that are learned from them.

use porthole_topic::{
    AnsweredPages, ClassifierShape, ModelKind, Taxonomy, TopicDecision, confirmation, fingerprint,
};
use porthole_types::TopicId;

use super::TrainingPage;
use crate::settings::TrainSettings;

/// Source of examples that are marked pages.
pub(crate) const SOURCE: &str = "feedback";

/// What is learned from the answers.
#[derive(Clone, Default)]
pub(super) struct Answers {
    /// A decision for every good topic with enough answers.
    pub(super) confirmations: Vec<TopicDecision>,
    /// Pages that are about no good topic, if the confirmations say so. They are no examples of other topics then: a page
    /// is put into the topic that it resembles most, and would dilute it.
    pub(super) refused: Vec<TrainingPage>,
    /// The good topics, if there are confirmations.
    good: Vec<TopicId>,
}

impl Answers {
    /// Learns from the marked pages among the examples, and removes those that are used here alone. Other critics and
    /// shapes have no confirmations: they exist to be compared.
    pub(super) fn take_from(
        examples: &mut Vec<TrainingPage>,
        tree: &Taxonomy,
        settings: &TrainSettings,
    ) -> Answers {
        let is_usual =
            settings.critic == ModelKind::NaiveBayes && settings.options.shape == ClassifierShape::Tree;
        if !settings.options.confirm || !is_usual {
            return Answers::default();
        }
        let below: Vec<(TopicId, Vec<TopicId>)> = tree.good().map(|good| (good, tree.below(good))).collect();
        let is_wanted = |topic: TopicId| below.iter().any(|(_, below)| below.contains(&topic));
        let mut answers = Answers::default();
        let mut is_complete = true;
        for (good, below) in &below {
            let pages = answered(examples, below, is_wanted);
            let found = confirmation(*good, &pages);
            is_complete &= found.is_some() || (pages.yes.is_empty() && pages.examples.is_empty());
            answers.confirmations.extend(found);
        }
        // A good topic without a confirmation needs them as examples of others.
        if is_complete && !answers.confirmations.is_empty() {
            answers.refused =
                examples.extract_if(.., |page| page.is_answer && !is_wanted(page.topic)).collect();
        }
        if !answers.confirmations.is_empty() {
            answers.good = tree.good().collect();
        }
        answers
    }

    /// Identifies the refused pages and the good topics, independent of their order.
    pub(super) fn sum(&self) -> u64 {
        let pages = self.refused.iter().map(|page| fingerprint(&page.counts, 0));
        let topics = self.good.iter().map(|topic| fingerprint(&[], 1 + u64::from(topic.0)));
        pages.chain(topics).fold(0, u64::wrapping_add)
    }
}

/// The pages about a good topic, and those that are about none.
fn answered<'a>(
    examples: &'a [TrainingPage],
    below: &[TopicId],
    is_wanted: impl Fn(TopicId) -> bool,
) -> AnsweredPages<'a> {
    let mut pages = AnsweredPages::default();
    for example in examples.iter().filter(|example| !example.counts.is_empty()) {
        let counts = example.counts.as_slice();
        match (below.contains(&example.topic), example.is_answer) {
            (true, true) => pages.yes.push(counts),
            (true, false) => pages.examples.push(counts),
            (false, true) if !is_wanted(example.topic) => pages.no.push(counts),
            (false, _) => {}
        }
    }
    pages
}
