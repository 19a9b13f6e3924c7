//! Additional examples from specialty sites: if most pages of a site are about a topic, those that the critic is sure
//! of can serve as examples (W 1). They are kept only if the user's own examples are classified no worse with them.

use std::collections::HashMap;
use std::hash::Hash;

use foldhash::fast::FixedState;
use porthole_types::TopicId;

use crate::naive_bayes::Tuning;
use crate::problem::{ClassTermTable, ClassifierShape, DecisionProblem, problems};
use crate::statistics::{Statistics, TopicExample};
use crate::taxonomy::Taxonomy;
use crate::train::{TrainingOptions, Tunings, labelled};
use crate::tune::{Choice, tune};

/// A site with mostly pages about a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Specialty<S> {
    /// The site.
    pub site: S,
    /// Number of its fetched pages.
    pub pages: u32,
    /// Number of its pages about the topic.
    pub on_topic: u32,
}

/// Minimum number of pages of a specialty site.
const FEWEST_PAGES: u32 = 5;

/// Minimum share of a site's pages about the topic.
const DENSE: f64 = 0.6;

impl<S> Specialty<S> {
    /// Smoothed share of its pages about the topic.
    pub fn density(&self) -> f64 {
        f64::from(self.on_topic + 1) / f64::from(self.pages + 2)
    }
}

/// Specialty sites, densest first, from pairs of a page's site and whether the page is about the topic.
pub fn specialty_sites<S: Clone + Eq + Hash + Ord>(
    pages: impl IntoIterator<Item = (S, bool)>,
) -> Vec<Specialty<S>> {
    let mut sites: HashMap<S, (u32, u32), FixedState> = HashMap::default();
    for (site, is_on_topic) in pages {
        let seen = sites.entry(site).or_default();
        seen.0 += 1;
        seen.1 += u32::from(is_on_topic);
    }
    let sites = sites.into_iter().map(|(site, (pages, on_topic))| Specialty { site, pages, on_topic });
    let is_dense = |site: &Specialty<S>| f64::from(site.on_topic) >= DENSE * f64::from(site.pages);
    let mut sites: Vec<_> = sites.filter(|site| site.pages >= FEWEST_PAGES && is_dense(site)).collect();
    sites.sort_by(|a, b| b.density().total_cmp(&a.density()).then_with(|| a.site.cmp(&b.site)));
    sites
}

/// Accuracy of a critic on examples that it was not trained on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeldOut {
    /// Number of examples at the topic's ancestors, counted once for each ancestor.
    pub examples: usize,
    /// Share of them that were assigned to the right child.
    pub accuracy: f64,
    /// Mean of -ln Pr\[right child\].
    pub log_loss: f64,
}

/// Relative and absolute increase of the log loss that is ignored as noise.
const SLACK: (f64, f64) = (0.02, 0.005);

impl HeldOut {
    /// Whether this is at least as good as `before`. The accuracy must not fall; because it hardly changes with a few
    /// more pages, the log loss must not rise either.
    pub fn is_no_worse_than(&self, before: &HeldOut) -> bool {
        self.accuracy >= before.accuracy && self.log_loss <= before.log_loss * (1.0 + SLACK.0) + SLACK.1
    }
}

/// Tests pages as additional examples of a topic.
pub struct Grower<'a> {
    problems: Vec<(DecisionProblem, Tuning)>,
    statistics: Statistics,
    /// The user's examples; only these are held out.
    originals: Vec<TopicExample<'a>>,
    folds: usize,
    held_out: HeldOut,
}

impl<'a> Grower<'a> {
    /// Starts with the counts of all examples, and the user's own examples. `None` if the latter are too few to measure
    /// accuracy. Uses naive Bayes with the tunings chosen at each node.
    pub fn new(
        tree: &Taxonomy,
        topic: TopicId,
        statistics: Statistics,
        originals: Vec<TopicExample<'a>>,
        tunings: &Tunings,
        options: &TrainingOptions,
    ) -> Option<Self> {
        let way: Vec<TopicId> = match options.shape {
            ClassifierShape::Tree => std::iter::once(topic).chain(tree.ancestors(topic)).collect(),
            ClassifierShape::Flat | ClassifierShape::TwoClass => vec![TopicId::ROOT],
        };
        let problems = problems(tree, &statistics, options.shape).into_iter();
        let problems = problems.filter(|problem| problem.classes.len() > 1 && way.contains(&problem.node));
        let folds = options.folds.max(2);
        let problems: Vec<(DecisionProblem, Tuning)> = problems
            .filter(|problem| can_be_measured(problem, &statistics, &originals, folds))
            .map(|problem| {
                let tuning = tunings.get(&problem.node).copied().unwrap_or_default();
                (problem, tuning)
            })
            .collect();
        let held_out = measure(&problems, &statistics, &originals, folds)?;
        Some(Grower { problems, statistics, originals, folds, held_out })
    }

    /// Current accuracy on the user's examples.
    pub fn held_out(&self) -> HeldOut {
        self.held_out
    }

    /// Adds pages as examples, unless the user's examples are classified worse with them: then nothing changes, and
    /// `Err` has the accuracy that would result.
    pub fn try_add(&mut self, pages: &[TopicExample<'_>]) -> Result<HeldOut, HeldOut> {
        let mut statistics = self.statistics.clone();
        pages.iter().for_each(|page| statistics.add(*page));
        let held_out = measure(&self.problems, &statistics, &self.originals, self.folds);
        let held_out = held_out.expect("it could be measured before");
        if !held_out.is_no_worse_than(&self.held_out) {
            return Err(held_out);
        }
        (self.statistics, self.held_out) = (statistics, held_out);
        Ok(held_out)
    }
}

/// Whether every class has examples left, whichever fold is held out.
fn can_be_measured(
    problem: &DecisionProblem,
    statistics: &Statistics,
    originals: &[TopicExample<'_>],
    folds: usize,
) -> bool {
    let mut held = vec![0; problem.classes.len()];
    let labelled = labelled(problem, originals);
    labelled.iter().flat_map(|example| &example.classes).for_each(|&class| held[usize::from(class)] += 1);
    let all = |class: usize| -> u32 {
        let members = problem.classes[class].members.iter();
        members.filter_map(|&topic| statistics.topic(topic)).map(|topic| topic.documents).sum()
    };
    let is_left = |(class, &held): (usize, &usize)| all(class) as usize > held.div_ceil(folds);
    labelled.len() >= folds && held.iter().enumerate().all(is_left)
}

fn measure(
    problems: &[(DecisionProblem, Tuning)],
    statistics: &Statistics,
    originals: &[TopicExample<'_>],
    folds: usize,
) -> Option<HeldOut> {
    let (mut examples, mut right, mut loss) = (0, 0.0, 0.0);
    for (problem, tuning) in problems {
        let labelled = labelled(problem, originals);
        let choice = Choice {
            counting: Some(tuning.counting),
            smoothings: vec![tuning.smoothing],
            features: Some(tuning.features),
            calibrate: true,
            folds,
        };
        let found = tune(&ClassTermTable::new(problem, statistics), &labelled, &choice);
        examples += labelled.len();
        right += found.chosen.accuracy * labelled.len() as f64;
        loss += found.calibrated_log_loss * labelled.len() as f64;
    }
    let all = examples as f64;
    (examples > 0).then(|| HeldOut { examples, accuracy: right / all, log_loss: loss / all })
}

#[cfg(test)]
mod tests {
    use porthole_types::TermId;

    use super::*;

    #[test]
    fn specialty_sites_are_ordered_by_density() {
        let site = |name: &'static str, pages: usize, on_topic: usize| {
            (0..pages).map(move |page| (name, page < on_topic))
        };
        let pages = site("mixed", 20, 11).chain(site("large", 40, 36)).chain(site("tiny", 4, 4));
        let pages = pages.chain(site("pure", 30, 30)).chain(site("small", 5, 5));
        let found: Vec<_> = specialty_sites(pages).into_iter().map(|site| site.site).collect();
        assert_eq!(found, ["pure", "large", "small"]);
    }

    /// A page of words drawn from `words`, determined by `number`.
    fn page(words: &[u32], number: u64) -> Vec<(TermId, u32)> {
        let mut counts = std::collections::BTreeMap::new();
        for draw in 0..12u64 {
            let at = xxhash_rust::xxh3::xxh3_64_with_seed(&draw.to_le_bytes(), number);
            *counts.entry(TermId(words[at as usize % words.len()])).or_insert(0) += 1;
        }
        counts.into_iter().collect()
    }

    #[test]
    fn good_pages_are_added_and_a_bad_site_is_rejected() {
        let mut tree = Taxonomy::new();
        let [birds, food] = ["/Birds", "/Food"].map(|path| tree.add_path(path).unwrap());
        // Half of the words are common to both.
        let of_birds: Vec<u32> = (0..60).collect();
        let of_food: Vec<u32> = (30..90).collect();
        let shown: Vec<(TopicId, Vec<(TermId, u32)>)> = (0..12)
            .flat_map(|number| [(birds, page(&of_birds, number)), (food, page(&of_food, 100 + number))])
            .collect();
        let originals =
            || shown.iter().map(|(topic, counts)| TopicExample { topic: *topic, counts }).collect();
        let statistics = Statistics::of(Vec::into_iter(originals()));
        let options = TrainingOptions::default();
        let mut grower =
            Grower::new(&tree, birds, statistics, originals(), &Tunings::new(), &options).unwrap();
        let before = grower.held_out();
        let try_pages = |grower: &mut Grower<'_>, words: &[u32], first: u64| {
            let pages: Vec<_> = (first..first + 12).map(|number| page(words, number)).collect();
            let pages: Vec<_> = pages.iter().map(|counts| TopicExample { topic: birds, counts }).collect();
            grower.try_add(&pages)
        };
        let bad = try_pages(&mut grower, &of_food, 200).unwrap_err();
        assert!(bad.accuracy < before.accuracy, "{bad:?}, before {before:?}");
        assert_eq!(grower.held_out(), before);
        let good = try_pages(&mut grower, &of_birds, 300).unwrap();
        assert!(good.accuracy >= before.accuracy && good.log_loss < before.log_loss, "{good:?}");
        assert_eq!(grower.held_out(), good);
    }

    #[test]
    fn without_held_out_examples_there_is_no_grower() {
        let mut tree = Taxonomy::new();
        let [birds, food] = ["/Birds", "/Food"].map(|path| tree.add_path(path).unwrap());
        let counts = [(TermId(1), 1)];
        let originals = vec![
            TopicExample { topic: birds, counts: &counts },
            TopicExample { topic: food, counts: &counts },
        ];
        let statistics = Statistics::of(originals.iter().copied());
        let grower =
            Grower::new(&tree, birds, statistics, originals, &Tunings::new(), &TrainingOptions::default());
        assert!(grower.is_none());
    }
}
