//! Checks that a critic judges its own examples as what they are, and changes the training where it loses a topic.

use std::collections::BTreeMap;

use porthole_topic::{Critic, CriticModel, ModelKind, Statistics, TopicExample};
use porthole_types::TopicId;
use serde::{Deserialize, Serialize};

use super::{TrainedScope, TrainingPage, TrainingPages, TrainingResult, basis};
use crate::output::misuse;
use crate::settings::TrainSettings;

/// What was changed so that the critic recognises the examples of the good topics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Remedy {
    #[default]
    None,
    /// The pages drawn from the crawl are not used.
    NoBackground,
    /// The examples of good topics count as often as this; pages drawn from the crawl are not used.
    CountedTimes(u32),
}

/// Remedies in the order in which they are tried.
const REMEDIES: [Remedy; 4] =
    [Remedy::NoBackground, Remedy::CountedTimes(4), Remedy::CountedTimes(16), Remedy::CountedTimes(64)];

/// Minimum number of examples of a topic that must be recognised.
const FEWEST: usize = 3;

/// Maximum number of checked examples of topics that are not good.
const MOST_OTHERS: usize = 10_000;

/// How the critic judges its examples.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct ExampleCheck {
    /// Number of checked examples.
    pub(crate) checked: usize,
    /// Examples that are judged as something else.
    pub(crate) misjudged: Vec<MisjudgedExample>,
    /// Good topics most of whose examples are misjudged.
    pub(crate) lost: Vec<LostTopic>,
    pub(crate) remedy: Remedy,
}

/// An example that is judged as something else.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct MisjudgedExample {
    pub(crate) name: String,
    pub(crate) topic: String,
    pub(crate) is_good: bool,
    pub(crate) judged_as: String,
    pub(crate) relevance: f64,
}

/// A good topic most of whose examples are misjudged.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct LostTopic {
    pub(crate) topic: String,
    pub(crate) examples: usize,
    pub(crate) misjudged: usize,
}

impl ExampleCheck {
    /// Judges the examples: one of a good topic is recognised if its R is that of a relevant page, any other if its topic is
    /// the best one, and a page that is only known to be about no good topic if its R is lower.
    fn of(material: &TrainingPages, model: &CriticModel) -> ExampleCheck {
        let (tree, refused) = (&material.tree, &material.answers.refused);
        let mut critic = Critic::new(model.clone(), tree);
        let mut check = ExampleCheck::default();
        let mut of_good: BTreeMap<TopicId, (usize, usize)> = BTreeMap::new();
        let good_of = |topic: TopicId| {
            std::iter::once(topic).chain(tree.ancestors(topic)).find(|&above| tree.is_good(above))
        };
        let (wanted, others): (Vec<&TrainingPage>, Vec<&TrainingPage>) = material
            .examples
            .iter()
            .filter(|example| !example.is_drawn && !example.counts.is_empty())
            .partition(|example| good_of(example.topic).is_some());
        let step = others.len().div_ceil(MOST_OTHERS).max(1);
        let others = others.into_iter().step_by(step).map(|example| (example, false));
        let refused = refused.iter().map(|example| (example, true));
        for (example, is_refused) in
            wanted.into_iter().map(|example| (example, false)).chain(others).chain(refused)
        {
            let judgment = critic.judge(&example.counts);
            let good = good_of(example.topic);
            let is_recognised = match good {
                Some(_) => judgment.is_relevant(),
                None if is_refused => !judgment.is_relevant(),
                None => judgment.best == example.topic || tree.below(example.topic).contains(&judgment.best),
            };
            check.checked += 1;
            if let Some(good) = good {
                let counts = of_good.entry(good).or_default();
                counts.0 += 1;
                counts.1 += usize::from(!is_recognised);
            }
            if !is_recognised {
                check.misjudged.push(MisjudgedExample {
                    name: example.name.clone(),
                    topic: tree.path(example.topic),
                    is_good: good.is_some(),
                    judged_as: tree.path(judgment.best),
                    relevance: judgment.relevance,
                });
            }
        }
        let lost = of_good.into_iter().filter(|(_, (all, misjudged))| 2 * misjudged > *all);
        check.lost.extend(lost.map(|(topic, (examples, misjudged))| LostTopic {
            topic: tree.path(topic),
            examples,
            misjudged,
        }));
        check
    }

    /// Refuses a critic that loses a good topic with enough examples.
    pub(super) fn refuse_lost(&self) -> anyhow::Result<()> {
        let Some(lost) = self.lost.iter().find(|lost| lost.examples >= FEWEST) else { return Ok(()) };
        let taken = self.misjudged.iter().find(|example| example.topic.starts_with(&lost.topic));
        let taken = taken.map_or("other topics", |example| &example.judged_as);
        Err(misuse(format!(
            "the critic would not recognise {0}: {1} of its {2} examples are judged as {taken} or others, so it was \
             not stored; the one before, if any, is kept. Check the examples with `porthole examples list {0}`: move \
             those that belong elsewhere with `porthole examples move`, or merge both topics with `porthole topics \
             remove PATH --move-examples {0}`",
            lost.topic, lost.misjudged, lost.examples
        )))
    }
}

/// Checks a critic. If it loses a good topic, trains others until one does not; the best is returned.
pub(super) fn remedied(
    material: &TrainingPages,
    made: TrainingResult,
    settings: &TrainSettings,
) -> anyhow::Result<(TrainingResult, ExampleCheck)> {
    let check = ExampleCheck::of(material, &made.model);
    let (mut best, mut best_check) = (made, check);
    if best.scope == TrainedScope::Nothing {
        return Ok((best, best_check));
    }
    for remedy in REMEDIES {
        if best_check.lost.is_empty() {
            break;
        }
        let has_drawn = material.examples.iter().any(|example| example.is_drawn);
        let is_useless = match remedy {
            Remedy::None => true,
            Remedy::NoBackground => !has_drawn,
            // A logistic critic does not count.
            Remedy::CountedTimes(_) => settings.critic != ModelKind::NaiveBayes,
        };
        if is_useless {
            continue;
        }
        let tried = material.with(remedy).train(settings)?;
        let check = ExampleCheck::of(material, &tried.model);
        if check.lost.len() < best_check.lost.len() {
            (best, best_check) = (tried, ExampleCheck { remedy, ..check });
        }
    }
    Ok((best, best_check))
}

impl TrainingPages {
    /// The training data with a remedy.
    fn with(&self, remedy: Remedy) -> TrainingPages {
        let mut changed = self.clone();
        for drawn in self.examples.iter().filter(|example| example.is_drawn) {
            changed.statistics.remove(drawn.example());
        }
        changed.examples.retain(|example| !example.is_drawn);
        if let Remedy::CountedTimes(times) = remedy {
            let good: Vec<TopicId> = self.tree.good().flat_map(|good| self.tree.below(good)).collect();
            let of_good = changed.examples.iter().filter(|example| good.contains(&example.topic));
            let of_good: Vec<TopicExample<'_>> = of_good.map(TrainingPage::example).collect();
            let once = Statistics::of(of_good);
            (1..times).for_each(|_| changed.statistics.merge(&once));
        }
        changed.basis = basis(&changed.tree, &changed.statistics, &changed.examples);
        changed.basis.retain(|&id, _| Some(TopicId(id)) != self.general_background);
        changed
    }
}

#[cfg(test)]
mod tests {
    use porthole_store::{ExampleState, NewExample, SqliteStore, WorkspaceWriter};
    use porthole_topic::Taxonomy;
    use porthole_types::TermId;

    use super::super::{BASIS, train_workspace};
    use super::*;
    use crate::settings::RawTrain;
    use crate::workspace::CRITIC;

    /// Examples of a topic: three different ones, over and over.
    fn add(store: &mut SqliteStore, topic: TopicId, name: &str, word: u32, number: u32) {
        let example = |number| NewExample {
            topic,
            url: format!("{name} {number}"),
            title: String::new(),
            source: "test".to_owned(),
            language: String::new(),
            state: ExampleState::Ok,
            terms: (0..6).map(|at| (TermId(word + at + number % 3), 1 + at % 3)).collect(),
        };
        store.add_examples(&(0..number).map(example).collect::<Vec<_>>()).unwrap();
    }

    #[test]
    fn a_critic_that_loses_its_topic_is_refused_and_the_one_before_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = SqliteStore::open(folder.path().join("porthole.db")).unwrap();
        let mut tree = Taxonomy::new();
        let [owls, birds, soup] = ["/Owls", "/Birds", "/Soup"].map(|path| tree.add_path(path).unwrap());
        tree.mark(owls).unwrap();
        store.set_topics(&tree.rows()).unwrap();
        // Without the general taxonomy as background: the topics compete with each other only.
        let raw = RawTrain { background: Some(0), ..RawTrain::default() };
        let settings = raw.ready().unwrap();
        add(&mut store, owls, "owl", 0, 3);
        add(&mut store, birds, "bird", 20, 8);
        add(&mut store, soup, "soup", 40, 8);
        let report = train_workspace(&mut store, &settings, false).unwrap();
        assert_eq!(report.check.lost, []);
        let kept = |store: &SqliteStore| {
            let reader = store.reader();
            [CRITIC, BASIS].map(|name| reader.model(name).unwrap().map(|model| model.bytes))
        };
        let before = kept(&store);
        assert!(before.iter().all(Option::is_some));
        // The same words, many more times, under another topic.
        add(&mut store, birds, "owl that is a bird", 0, 1_000);
        let refused = train_workspace(&mut store, &settings, false).unwrap_err().to_string();
        for words in [
            "would not recognise /Owls: 3 of its 3 examples are judged as /Birds",
            "the one before, if any, is kept",
            "`porthole examples list /Owls`",
        ] {
            assert!(refused.contains(words), "no {words:?} in {refused}");
        }
        assert!(kept(&store) == before, "another critic was stored");
    }
}
