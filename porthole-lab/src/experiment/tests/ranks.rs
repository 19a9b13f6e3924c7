//! Ranks, and crawls from neighbours of the examples (P 2.1, 4).

use std::collections::BTreeSet;

use super::*;
use crate::experiment::ranks::{described, description, importance};
use crate::experiment::{RankStudy, Task};
use crate::measures::ranks::similarities;

const STRATEGIES: &str = r#"["breadth", "soft", "random"]"#;

/// The pages that link to a page, by the construction of the web.
fn linking(page: u32) -> Vec<u32> {
    let from = |step: u32| (page + PAGES - step) % PAGES;
    let steps: &[u32] = if page.is_multiple_of(2) { &[2, 4, 1] } else { &[2, 4, 8, 16, 32, 1] };
    steps.iter().map(|step| from(*step)).collect()
}

fn number(url: &str) -> u32 {
    url.rsplit('/').next().unwrap().parse().unwrap()
}

fn starts(trace: &Trace) -> BTreeSet<u32> {
    let own = trace.steps.iter().filter(|step| step.label == FetchLabel::Start);
    own.map(|step| number(&step.url)).collect()
}

#[test]
fn crawls_can_start_two_links_before_the_examples() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let strategies = r#"["soft", "soft+neighbours", "breadth+neighbours", "soft+neighbours:1"]"#;
    let changes = [(STRATEGIES, strategies), ("[5, 20]", "[1000]")];
    let experiment = experiment(folder.path(), &changes).unwrap();
    let lab = PreparedExperiment::new(experiment.clone()).unwrap();
    let traces = traces(&lab, &experiment);
    for sample in 0..2 {
        let [examples, soft, breadth] = [0, 2, 4].map(|at| starts(&traces[at + sample]));
        let far: BTreeSet<u32> = examples.iter().flat_map(|page| linking(*page)).flat_map(linking).collect();
        let far: BTreeSet<u32> = far.difference(&examples).copied().collect();
        assert!(far.len() > 10, "there is something to draw: {far:?}");
        assert_eq!((soft.len(), &soft), (10, &breadth));
        assert!(soft.is_subset(&far), "{soft:?} {far:?}");
        // The examples are the targets of this task.
        let is_example = |step: &&super::super::FetchStep| examples.contains(&number(&step.url));
        let found: Vec<FetchLabel> =
            traces[2 + sample].steps.iter().filter(is_example).map(|step| step.label).collect();
        assert_eq!(found, [FetchLabel::About; 2]);
        // From one of them, the others are fetched on the way.
        assert_eq!(traces[6 + sample].steps.iter().filter(|step| step.depth == 0).count(), 1);
    }
    assert_ne!(starts(&traces[2]), starts(&traces[3]));
}

#[test]
fn pages_are_ranked_over_all_crawls_with_a_task() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let strategies = r#"["soft", "random", "soft:1", "soft+neighbours"]"#;
    let changes = [(STRATEGIES, strategies), ("seed = 3", "seed = 3\nstudies = [\"ranks\"]")];
    let experiment = experiment(folder.path(), &changes).unwrap();
    let lab = PreparedExperiment::new(experiment.clone()).unwrap();
    let out = folder.path().join("out");
    let kept = Folder::open(&out, &experiment).unwrap();
    lab.run(Some(&kept), 1, &|_| {}).unwrap();
    lab.study(&kept, &mut |_| ()).unwrap();
    let ranked: RankStudy = Results::read(&out).unwrap().study("ranks").unwrap().unwrap();
    let names: Vec<_> =
        ranked.crawls.iter().map(|crawl| (crawl.strategy.as_str(), crawl.sample, crawl.task)).collect();
    // A crawl with fewer start pages has another task.
    let (one, two) = (Task::Examples, Task::Neighbours);
    let expected = [
        ("soft", 0, one),
        ("random", 0, one),
        ("soft", 1, one),
        ("random", 1, one),
        ("soft+neighbours", 0, two),
        ("soft+neighbours", 1, two),
    ];
    assert_eq!(names, expected);
    let all = traces(&lab, &experiment);
    let (soft, random) = (&all[0], &all[2]);
    let target = &lab.targets[0];
    let hidden: HashSet<UrlId> = described(&lab.web, target).collect();
    let counted = |trace: &Trace| -> Vec<UrlId> {
        let urls = trace.counted().into_iter().map(|step| url(number(&step.url)).id());
        urls.filter(|id| !hidden.contains(id)).collect()
    };
    let pool: BTreeSet<UrlId> = counted(soft).into_iter().chain(counted(random)).collect();
    let pool: Vec<UrlId> = pool.into_iter().collect();
    let texts: Vec<_> = pool.iter().map(|id| lab.web.counts[id].as_slice()).collect();
    let alike = similarities(&description(&lab.web, target), &texts);
    // Direct computation: a page ranks after all better pages, and after equal pages before it.
    let rank = |at: usize| {
        let before = (0..pool.len())
            .filter(|other| alike[*other] > alike[at] || (alike[*other] == alike[at] && *other < at));
        1 + before.count()
    };
    let ranks: BTreeMap<UrlId, usize> = pool.iter().enumerate().map(|(at, id)| (*id, rank(at))).collect();
    for (trace, crawl) in [(soft, &ranked.crawls[0]), (random, &ranked.crawls[1])] {
        let own: Vec<usize> = counted(trace).iter().map(|id| ranks[id]).collect();
        let best = own.iter().filter(|rank| **rank <= 10).count() as f64 / 10.0;
        assert_eq!((crawl.pages as usize, ranked.top[1], crawl.lexical.coverage[1]), (pool.len(), 10, best));
        let mean = own.iter().sum::<usize>() as f64 / own.len() as f64;
        assert!((crawl.lexical.mean_rank.last().unwrap() - mean).abs() < 1e-5);
    }
    // The topic is music, and soft focus stays with it.
    assert!(ranked.crawls[0].lexical.mean_rank.last() < ranked.crawls[1].lexical.mean_rank.last());
    assert_eq!(ranked.moments.last(), Some(&20));
    let examples = starts(soft);
    let neighbours = all[6].counted();
    let found = neighbours.iter().filter(|step| examples.contains(&number(&step.url))).count() as f64;
    assert_eq!(ranked.crawls[4].examples.last(), Some(&(found / 2.0)));
}

#[test]
fn importance_equals_a_direct_computation() {
    let lab = lab(&[]);
    // Without one page, so that some links lead outside.
    let pages: BTreeSet<UrlId> = (1..PAGES).map(|page| url(page).id()).collect();
    let found = importance(&lab.web, &pages).unwrap();
    let targets = |page: u32| (1..PAGES).filter(move |to| linking(*to).contains(&page)).collect::<Vec<u32>>();
    let count = f64::from(PAGES - 1);
    let mut ranks = vec![1.0 / count; PAGES as usize];
    for _ in 0..500 {
        let mut next = vec![0.15 / count; PAGES as usize];
        for page in 1..PAGES {
            let to = targets(page);
            let share = 0.85 * ranks[page as usize] / to.len() as f64;
            to.iter().for_each(|to| next[*to as usize] += share);
        }
        ranks = next;
    }
    for page in 1..PAGES {
        assert!((found[&url(page).id()] - ranks[page as usize]).abs() < 1e-7, "{page}");
    }
}

/// A strategy that could read the description of a topic would behave differently with another description.
#[test]
fn no_strategy_can_read_the_description() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let names: Vec<String> = porthole_strategy::NAMES.iter().map(|name| format!("{name:?}")).collect();
    let changes = [(STRATEGIES, &*format!("[{}]", names.join(", "))), ("samples = 2", "samples = 1")];
    let experiment = experiment(folder.path(), &changes).unwrap();
    let seen = |experiment: &Experiment| {
        let lab = PreparedExperiment::new(experiment.clone()).unwrap();
        let step = |step: &super::super::FetchStep| (step.url.clone(), step.relevance.map(f64::to_bits));
        let all = traces(&lab, experiment);
        let all: Vec<Vec<_>> = all.iter().map(|trace| trace.steps.iter().map(step).collect()).collect();
        (description(&lab.web, &lab.targets[0]), all)
    };
    let (before, fetched) = seen(&experiment);
    // Only the pages of the description change their topics.
    let labels = folder.path().join("labels.tsv");
    let other = |line: &str| {
        let (url, topic) = line.split_once('\t').unwrap();
        let is_held_out = share(&CanonicalUrl::parse(url).unwrap(), 3) >= 0.7;
        let turned = if topic == "/Arts/Music" { "/Earth/Stones" } else { "/Arts/Music" };
        format!("{url}\t{}\n", if is_held_out { turned } else { topic })
    };
    let turned: String = fs::read_to_string(&labels).unwrap().lines().map(other).collect();
    fs::write(&labels, turned).unwrap();
    let (after, again) = seen(&experiment);
    assert_ne!(before, after);
    assert_eq!(fetched.len(), porthole_strategy::NAMES.len());
    for ((name, fetched), again) in porthole_strategy::NAMES.iter().zip(fetched).zip(again) {
        assert_eq!(fetched, again, "{name}");
    }
}
