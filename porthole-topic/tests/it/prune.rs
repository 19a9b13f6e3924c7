//! Pruning compared with a literal implementation of the paper.

use std::collections::{BTreeMap, BTreeSet};

use porthole_topic::import::Directory;
use porthole_topic::prune::{Pruned, Pruning, prune};
use porthole_topic::{MOST_TOPICS, TaxonomyError};
use porthole_types::TopicId;
use proptest::prelude::*;

type Classes = BTreeMap<String, BTreeSet<u32>>;

fn pruned(examples: &[(&str, u32)], k: usize) -> Pruned {
    prune(Directory::of(examples.iter().copied()).unwrap(), Pruning { k, seed: 7 }).unwrap()
}

fn classes(pruned: &Pruned) -> Classes {
    let mut classes = Classes::new();
    for &(topic, example) in &pruned.examples {
        assert!(
            classes.entry(pruned.taxonomy.path(topic)).or_default().insert(example),
            "{example} occurs twice"
        );
    }
    classes
}

/// Checks the pruned topics and their example numbers.
fn check(examples: &[(&str, u32)], k: usize, expected: &[(&str, &[u32])]) {
    let classes = classes(&pruned(examples, k));
    let classes: Vec<_> =
        classes.iter().map(|(path, examples)| (path.as_str(), Vec::from_iter(examples.clone()))).collect();
    let expected: Vec<_> = expected.iter().map(|&(path, examples)| (path, examples.to_vec())).collect();
    assert_eq!(classes, expected);
}

#[test]
fn small_leaves_move_up() {
    check(&[("/a/b", 1), ("/a/c", 2), ("/a/c", 3)], 2, &[("/a/Other", &[1]), ("/a/c", &[2, 3])]);
    // Repeatedly: /a/b/c is too small, and so is /a/b with it.
    check(&[("/a/b/c", 1), ("/a/b", 2), ("/a", 3), ("/d", 4)], 3, &[("/Other", &[4]), ("/a", &[1, 2, 3])]);
    // The root stays, with all remaining examples.
    check(&[("/a/b/c", 1), ("/d", 2)], 9, &[("/", &[1, 2])]);
    check(&[], 3, &[]);
}

#[test]
fn an_example_of_two_topics_that_become_one_counts_once() {
    check(
        &[("/a/b", 1), ("/a/c", 1), ("/d", 1), ("/d", 2), ("/d", 2)],
        2,
        &[("/Other", &[1]), ("/d", &[1, 2])],
    );
}

#[test]
fn internal_nodes_have_others_only_for_examples() {
    let pruned = pruned(&[("/a/b", 1), ("/a/c", 2), ("/d", 3), ("/", 4)], 1);
    let paths: Vec<_> = pruned.taxonomy.ids().map(|id| pruned.taxonomy.path(id)).collect();
    assert_eq!(paths, ["/", "/a", "/a/b", "/a/c", "/d", "/Other"]);
    assert_eq!(pruned.losses.others_made, 1);
}

#[test]
fn an_existing_other_is_used_if_it_is_a_leaf() {
    let losses = pruned(&[("/a", 1), ("/a/Other", 2), ("/a/Other", 3), ("/a/b", 4), ("/a/b", 5)], 2).losses;
    assert_eq!((losses.others_made, losses.examples_left_out), (0, 1));
    check(&[("/a", 1), ("/a/Other/b", 2)], 1, &[("/a/Other 2", &[1]), ("/a/Other/b", &[2])]);
}

#[test]
fn losses_are_counted() {
    let examples: Vec<_> = (0..10).map(|n| ("/big", n)).chain((10..13).map(|n| ("/small/er", n))).collect();
    let losses = pruned(&examples, 4).losses;
    assert_eq!((losses.topics_removed, losses.examples_moved, losses.others_made), (2, 3, 1));
    assert_eq!((losses.topics_sampled, losses.examples_left_out), (1, 6));
}

#[test]
fn samples_are_uniform() {
    let examples = (0..1000).map(|n| ("/a", n));
    let mut times = vec![0; 1000];
    let directory = Directory::of(examples).unwrap();
    for seed in 0..400 {
        for (_, example) in prune(directory.clone(), Pruning { k: 250, seed }).unwrap().examples {
            times[example as usize] += 1;
        }
    }
    // Each is drawn 100 times in the mean, with a standard deviation of 8.7.
    assert!(times.iter().all(|times| (50..150).contains(times)), "{times:?}");
}

#[test]
fn a_directory_larger_than_a_taxonomy_fits_when_it_is_pruned() {
    let topics = MOST_TOPICS as u32 * 2;
    let examples = |n: u32| (format!("/a{}/b{}/c{n}", n % 16, n % 256), n);
    let directory = Directory::of((0..topics).map(examples)).unwrap();
    assert!(directory.len() > MOST_TOPICS);
    assert_eq!(prune(directory.clone(), Pruning { k: 1, seed: 0 }), Err(TaxonomyError::Full));
    let pruned = prune(directory, Pruning::default()).unwrap();
    assert_eq!(pruned.taxonomy.len(), 1 + 16 + 256);
    assert_eq!(pruned.examples.len(), 256 * 300);
}

#[test]
fn a_directory_rejects_what_a_taxonomy_rejects() {
    let mut directory = Directory::new();
    assert!(matches!(directory.add("/a\u{1}b", 1), Err(TaxonomyError::BadName(_))));
    assert!(matches!(directory.add(&"/a".repeat(65), 1), Err(TaxonomyError::TooDeep(_))));
    assert!(directory.is_empty());
    directory.add(&"/a".repeat(64), 1).unwrap();
    assert_eq!(directory.len(), 65);
    assert!(prune(directory, Pruning { k: 1, seed: 0 }).is_ok());
}

/// A 3.1, steps 3 and 4, on a map from paths to examples, without step 5.
fn twin(examples: &[(String, u32)], k: usize) -> Classes {
    let mut nodes = Classes::from([(String::new(), BTreeSet::new())]);
    for (path, example) in examples {
        for (at, _) in path.match_indices('/').skip(1) {
            nodes.entry(path[..at].to_owned()).or_default();
        }
        nodes.entry(path.clone()).or_default().insert(*example);
    }
    let is_leaf =
        |path: &str, nodes: &Classes| !nodes.keys().any(|other| other.starts_with(&format!("{path}/")));
    while let Some(small) = nodes.iter().find_map(|(path, examples)| {
        (!path.is_empty() && is_leaf(path, &nodes) && examples.len() < k).then(|| path.clone())
    }) {
        let moved = nodes.remove(&small).unwrap();
        let parent = small[..small.rfind('/').unwrap()].to_owned();
        nodes.get_mut(&parent).unwrap().extend(moved);
    }
    let all = nodes.clone();
    let place = |path: String| match (is_leaf(&path, &all), path.as_str()) {
        (true, "") => "/".to_owned(),
        (true, _) => path,
        (false, _) => format!("{path}/Other"),
    };
    nodes
        .into_iter()
        .filter(|(_, examples)| !examples.is_empty())
        .map(|(path, examples)| (place(path), examples))
        .collect()
}

fn examples() -> impl Strategy<Value = Vec<(String, u32)>> {
    let path = prop::collection::vec(0..3_u8, 0..4)
        .prop_map(|names| names.iter().map(|name| format!("/{name}")).collect());
    prop::collection::vec((path, 0..60_u32), 0..80)
}

proptest! {
    #[test]
    fn pruning_follows_the_paper(examples in examples(), k in 1..9_usize, seed in any::<u64>()) {
        let examples: Vec<(String, u32)> = examples;
        let pruning = Pruning { k, seed };
        let pruned = prune(Directory::of(examples.iter().cloned()).unwrap(), pruning).unwrap();
        let (classes, twin) = (classes(&pruned), twin(&examples, k));

        // The same classes; all examples of a small one, k of a large one, and no others.
        prop_assert_eq!(classes.keys().collect::<Vec<_>>(), twin.keys().collect::<Vec<_>>());
        for (path, before) in &twin {
            prop_assert_eq!(classes[path].len(), before.len().min(k));
            prop_assert!(classes[path].is_subset(before));
        }
        let left_out: usize = twin.values().map(|before| before.len().saturating_sub(k)).sum();
        prop_assert_eq!(pruned.losses.examples_left_out, left_out);

        // Examples are in leaves, and all leaves but `Other` and a lone root have k of them.
        let tree = &pruned.taxonomy;
        for leaf in tree.ids().filter(|&id| tree.is_leaf(id) && id != TopicId::ROOT) {
            let size = classes.get(&tree.path(leaf)).map_or(0, BTreeSet::len);
            prop_assert!(size == k || tree.name(leaf) == "Other" && size > 0);
        }
        prop_assert!(pruned.examples.iter().all(|&(topic, _)| tree.is_leaf(topic)));
        prop_assert!(pruned.examples.is_sorted());
    }

    #[test]
    fn samples_depend_on_the_seed_and_not_on_the_order(examples in examples(), k in 1..9_usize, seed in any::<u64>()) {
        let pruning = Pruning { k, seed };
        let run = |examples: Vec<(String, u32)>| prune(Directory::of(examples).unwrap(), pruning).unwrap();
        let once = run(examples.clone());
        prop_assert_eq!(&once, &run(examples.clone()));
        let backwards = run(examples.into_iter().rev().collect());
        prop_assert_eq!(classes(&once), classes(&backwards));
    }
}
