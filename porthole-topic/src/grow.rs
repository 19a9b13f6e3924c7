//! More examples from specialty sites: where most pages are about a topic, those that the critic is sure of can teach it
//! (W 1). They stay only if what a person has shown is told apart no worse with them.

use std::collections::HashMap;
use std::hash::Hash;

use foldhash::fast::FixedState;
use porthole_types::TopicId;

use crate::naive_bayes::Tuning;
use crate::problem::{Problem, Shape, Table, problems};
use crate::statistics::{Example, Statistics};
use crate::taxonomy::Taxonomy;
use crate::train::{Options, Tunings, labelled};
use crate::tune::{Choice, tune};

/// A site most of whose pages are about a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Specialty<S> {
    /// The site.
    pub site: S,
    /// Its pages that were fetched.
    pub pages: u32,
    /// Those that are about the topic.
    pub on_topic: u32,
}

/// Fewer pages do not make a specialty.
const FEWEST_PAGES: u32 = 5;

/// The part of a site's pages that has to be about the topic.
const DENSE: f64 = 0.6;

impl<S> Specialty<S> {
    /// The part of its pages that are about the topic, as far as so few can tell.
    pub fn density(&self) -> f64 {
        f64::from(self.on_topic + 1) / f64::from(self.pages + 2)
    }
}

/// The specialty sites among those of these pages, of which it is said whether they are about the topic: the densest
/// first.
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

/// How well examples are told apart by a critic that has not learnt from them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeldOut {
    /// Examples at the nodes above the topic, each counted at each of them.
    pub examples: usize,
    /// The part of them that went the right way.
    pub accuracy: f64,
    /// Mean of -ln Pr\[the right way\].
    pub log_loss: f64,
}

/// By this part of it, and by this, a log loss may rise: less is chance.
const SLACK: (f64, f64) = (0.02, 0.005);

impl HeldOut {
    /// Whether this is as good as that. The accuracy must not fall; and it hardly moves with a few pages more, so
    /// neither may the probabilities get worse.
    pub fn is_no_worse_than(&self, before: &HeldOut) -> bool {
        self.accuracy >= before.accuracy && self.log_loss <= before.log_loss * (1.0 + SLACK.0) + SLACK.1
    }
}

/// Tries pages as examples of a topic.
pub struct Grower<'a> {
    problems: Vec<(Problem, Tuning)>,
    statistics: Statistics,
    /// What a person has shown: these alone are held out.
    originals: Vec<Example<'a>>,
    folds: usize,
    held_out: HeldOut,
}

impl<'a> Grower<'a> {
    /// Starts with what there is: the counts of all examples, and of them those that a person has shown. `None` if
    /// those are too few to measure anything by. Measured by naive Bayes, with what was chosen at each node.
    pub fn new(
        tree: &Taxonomy,
        topic: TopicId,
        statistics: Statistics,
        originals: Vec<Example<'a>>,
        tunings: &Tunings,
        options: &Options,
    ) -> Option<Self> {
        let way: Vec<TopicId> = match options.shape {
            Shape::Tree => std::iter::once(topic).chain(tree.ancestors(topic)).collect(),
            Shape::Flat | Shape::TwoClass => vec![TopicId::ROOT],
        };
        let problems = problems(tree, &statistics, options.shape).into_iter();
        let problems = problems.filter(|problem| problem.classes.len() > 1 && way.contains(&problem.node));
        let folds = options.folds.max(2);
        let problems: Vec<(Problem, Tuning)> = problems
            .filter(|problem| can_be_measured(problem, &statistics, &originals, folds))
            .map(|problem| {
                let tuning = tunings.get(&problem.node).copied().unwrap_or_default();
                (problem, tuning)
            })
            .collect();
        let held_out = measure(&problems, &statistics, &originals, folds)?;
        Some(Grower { problems, statistics, originals, folds, held_out })
    }

    /// How well the examples that a person has shown are told apart now.
    pub fn held_out(&self) -> HeldOut {
        self.held_out
    }

    /// Learns from pages, unless what a person has shown is told apart worse with them: then nothing is learnt, and
    /// `Err` says how it would be.
    pub fn try_add(&mut self, pages: &[Example<'_>]) -> Result<HeldOut, HeldOut> {
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

/// Whether every class has examples left, whichever part is held out.
fn can_be_measured(
    problem: &Problem,
    statistics: &Statistics,
    originals: &[Example<'_>],
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
    problems: &[(Problem, Tuning)],
    statistics: &Statistics,
    originals: &[Example<'_>],
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
        let found = tune(&Table::new(problem, statistics), &labelled, &choice);
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
    fn sites_are_ordered_by_density_and_small_or_mixed_ones_are_none() {
        let site = |name: &'static str, pages: usize, on_topic: usize| {
            (0..pages).map(move |page| (name, page < on_topic))
        };
        let pages = site("mixed", 20, 11).chain(site("large", 40, 36)).chain(site("tiny", 4, 4));
        let pages = pages.chain(site("pure", 30, 30)).chain(site("small", 5, 5));
        let found: Vec<_> = specialty_sites(pages).into_iter().map(|site| site.site).collect();
        assert_eq!(found, ["pure", "large", "small"]);
    }

    /// A page of words drawn from `words`, the same for the same number.
    fn page(words: &[u32], number: u64) -> Vec<(TermId, u32)> {
        let mut counts = std::collections::BTreeMap::new();
        for draw in 0..12u64 {
            let at = xxhash_rust::xxh3::xxh3_64_with_seed(&draw.to_le_bytes(), number);
            *counts.entry(TermId(words[at as usize % words.len()])).or_insert(0) += 1;
        }
        counts.into_iter().collect()
    }

    #[test]
    fn good_pages_are_learnt_from_and_a_bad_site_is_refused() {
        let mut tree = Taxonomy::new();
        let [birds, food] = ["/Birds", "/Food"].map(|path| tree.add_path(path).unwrap());
        // Half of the words are common to both.
        let of_birds: Vec<u32> = (0..60).collect();
        let of_food: Vec<u32> = (30..90).collect();
        let shown: Vec<(TopicId, Vec<(TermId, u32)>)> = (0..12)
            .flat_map(|number| [(birds, page(&of_birds, number)), (food, page(&of_food, 100 + number))])
            .collect();
        let originals = || shown.iter().map(|(topic, counts)| Example { topic: *topic, counts }).collect();
        let statistics = Statistics::of(Vec::into_iter(originals()));
        let options = Options::default();
        let mut grower =
            Grower::new(&tree, birds, statistics, originals(), &Tunings::new(), &options).unwrap();
        let before = grower.held_out();
        let try_pages = |grower: &mut Grower<'_>, words: &[u32], first: u64| {
            let pages: Vec<_> = (first..first + 12).map(|number| page(words, number)).collect();
            let pages: Vec<_> = pages.iter().map(|counts| Example { topic: birds, counts }).collect();
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
    fn where_nothing_can_be_held_out_nothing_is_tried() {
        let mut tree = Taxonomy::new();
        let [birds, food] = ["/Birds", "/Food"].map(|path| tree.add_path(path).unwrap());
        let counts = [(TermId(1), 1)];
        let originals =
            vec![Example { topic: birds, counts: &counts }, Example { topic: food, counts: &counts }];
        let statistics = Statistics::of(originals.iter().copied());
        let grower = Grower::new(&tree, birds, statistics, originals, &Tunings::new(), &Options::default());
        assert!(grower.is_none());
    }
}
