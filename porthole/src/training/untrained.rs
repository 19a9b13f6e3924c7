//! Topics that the critic was not trained on, and the commands that lead to training.

use porthole_store::{ExampleState, StoreReader, StoredExample};
use porthole_topic::{ClassifierShape, CriticModel, Taxonomy};
use porthole_types::{CanonicalUrl, TopicId};

use crate::output::{misuse, quoted};

/// Refuses good topics that the critic was not trained on, with the commands that train it: no page would be assigned to
/// them.
pub(crate) fn refuse_untrained(
    reader: &dyn StoreReader,
    tree: &Taxonomy,
    model: &CriticModel,
) -> anyhow::Result<()> {
    let is_trained = |good: TopicId| tree.below(good).into_iter().any(|topic| model.knows(topic));
    // Of two classes, one has the id of any good topic.
    let shape = model.shape();
    let is_untrained = |good: &TopicId| shape != ClassifierShape::TwoClass && !is_trained(*good);
    let Some(topic) = tree.good().find(is_untrained) else { return Ok(()) };
    let why = match ExampleStates::of(reader, &tree.below(topic))?.next_step(&tree.path(topic)) {
        Some(step) => step,
        None => "run `porthole train`".to_owned(),
    };
    Err(misuse(format!("{} was never trained, so no page would be assigned to it: {why}", tree.path(topic))))
}

/// Number of examples of some topics by what can be done with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ExampleStates {
    all: usize,
    /// With words.
    read: usize,
    /// With a URL that was not fetched yet.
    to_fetch: usize,
}

impl ExampleStates {
    fn of(reader: &dyn StoreReader, topics: &[TopicId]) -> anyhow::Result<ExampleStates> {
        let mut states = ExampleStates::default();
        for example in reader.examples(None)?.iter().filter(|example| topics.contains(&example.topic)) {
            states.all += 1;
            states.read += usize::from(example.state == ExampleState::Ok);
            states.to_fetch += usize::from(can_be_fetched(example));
        }
        Ok(states)
    }

    /// What has to be done before the topic can be trained; `None` if nothing.
    fn next_step(&self, path: &str) -> Option<String> {
        let path = quoted(path);
        match self {
            ExampleStates { read: 1.., .. } => None,
            ExampleStates { to_fetch: 1.., .. } => Some(format!(
                "its examples have no pages yet: run `porthole examples fetch {path}`, then `porthole train`"
            )),
            ExampleStates { all: 1.., .. } => Some(format!(
                "no example has a page with words (`porthole examples list {path}` shows the reasons): add others with \
                 `porthole examples add {path} URL…`, then run `porthole train`"
            )),
            _ => Some(format!(
                "it has no examples: add some with `porthole examples add {path} URL…`, then run `porthole train`"
            )),
        }
    }
}

/// Whether an example has a URL whose page was not fetched yet.
pub(crate) fn can_be_fetched(example: &StoredExample) -> bool {
    matches!(example.state, ExampleState::Missing(_)) && CanonicalUrl::parse(&example.url).is_ok()
}
