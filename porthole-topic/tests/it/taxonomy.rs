//! The tree keeps its invariants under any sequence of changes.

use porthole_topic::{Taxonomy, TaxonomyError};
use porthole_types::{Mark, TopicId};
use proptest::prelude::*;

fn tree(paths: &[&str]) -> Taxonomy {
    let mut tree = Taxonomy::new();
    for path in paths {
        tree.add_path(path).unwrap();
    }
    tree
}

#[test]
fn paths_and_topics_correspond() {
    let tree = tree(&["/Science/Biology/Birds", "/Science/Physics", "/Music"]);
    assert_eq!(tree.len(), 6);
    for id in tree.ids() {
        assert_eq!(tree.find(&tree.path(id)), Ok(id));
    }
    assert_eq!(tree.find("Science/Biology/"), tree.find("/Science/Biology"));
    assert_eq!(
        tree.find("/Arts"),
        Err(TaxonomyError::Unknown { path: "/Arts".to_owned(), similar: Vec::new() })
    );
}

#[test]
fn marks_are_derived_from_good_topics() {
    let mut tree = tree(&["/Science/Biology/Birds/Owls", "/Science/Physics", "/Music"]);
    tree.mark(tree.find("/Science/Biology/Birds").unwrap()).unwrap();
    tree.mark(tree.find("/Music").unwrap()).unwrap();
    let marks = tree.marks();
    let mark = |path: &str| marks[usize::from(tree.find(path).unwrap().0)];
    assert_eq!(mark("/"), Mark::Path);
    assert_eq!(mark("/Science"), Mark::Path);
    assert_eq!(mark("/Science/Biology/Birds"), Mark::Good);
    assert_eq!(mark("/Science/Biology/Birds/Owls"), Mark::Subsumed);
    assert_eq!(mark("/Science/Physics"), Mark::Null);
    assert_eq!(mark("/Music"), Mark::Good);
}

#[test]
fn invalid_changes_are_rejected_with_a_reason() {
    let mut tree = tree(&["/Science/Biology/Birds", "/Music"]);
    let id = |path: &str, tree: &Taxonomy| tree.find(path).unwrap();
    let (science, birds, music) =
        (id("/Science", &tree), id("/Science/Biology/Birds", &tree), id("/Music", &tree));
    tree.mark(science).unwrap();
    let refused = |result: Result<(), TaxonomyError>, words: &str| {
        let message = result.unwrap_err().to_string();
        assert!(message.contains(words), "{message:?} does not say {words:?}");
    };
    refused(tree.clone().mark(birds), "/Science/Biology/Birds cannot be good while /Science, above it, is");
    refused(tree.clone().move_to(science, birds), "a part of it");
    refused(tree.clone().rename(music, "Science"), "a topic /Science already exists");
    refused(tree.clone().rename(music, "a/b"), "is not a valid topic name");
    refused(tree.clone().rename(TopicId::ROOT, "x"), "the root cannot be renamed");
    refused(tree.clone().remove(TopicId::ROOT).map(drop), "the root cannot be removed");
    refused(tree.clone().unmark(music), "/Music is not marked good");
    tree.unmark(science).unwrap();
    tree.mark(birds).unwrap();
    refused(tree.clone().mark(science), "/Science/Biology/Birds, below it, is");
    tree.mark(music).unwrap();
    refused(tree.clone().move_to(music, birds), "cannot be good");
}

#[test]
fn the_number_of_topics_is_limited_by_ids() {
    let mut tree = Taxonomy::new();
    for number in 1..porthole_topic::MOST_TOPICS / 256 {
        let parent = tree.add(TopicId::ROOT, &format!("{number}")).unwrap();
        for below in 0..255 {
            tree.add(parent, &format!("{below}")).unwrap();
        }
    }
    for more in 0..255 {
        tree.add(TopicId::ROOT, &format!("more {more}")).unwrap();
    }
    assert_eq!(tree.add(TopicId::ROOT, "one too many"), Err(TaxonomyError::Full));
    let gone = tree.remove(TopicId(1)).unwrap();
    assert_eq!(gone.len(), 256);
    assert!(gone.contains(&tree.add(TopicId::ROOT, "in place of it").unwrap()));
}

#[test]
fn rows_with_a_cycle_are_rejected() {
    let mut rows = tree(&["/a/b/c"]).rows();
    rows[1].parent = TopicId(3);
    assert!(matches!(Taxonomy::from_rows(&rows), Err(TaxonomyError::Cycle { .. })));
    rows[1].parent = TopicId(9);
    assert_eq!(Taxonomy::from_rows(&rows), Err(TaxonomyError::Missing(9)));
}

/// A change to a tree, with numbers that stand for topics.
#[derive(Clone, Debug)]
enum Change {
    Add(usize, u8),
    Move(usize, usize),
    Rename(usize, u8),
    Remove(usize),
    Mark(usize),
    Unmark(usize),
}

fn change() -> impl Strategy<Value = Change> {
    let topic = 0..40_usize;
    prop_oneof![
        6 => (topic.clone(), 0..6_u8).prop_map(|(parent, name)| Change::Add(parent, name)),
        2 => (topic.clone(), topic.clone()).prop_map(|(id, parent)| Change::Move(id, parent)),
        1 => (topic.clone(), 0..6_u8).prop_map(|(id, name)| Change::Rename(id, name)),
        1 => topic.clone().prop_map(Change::Remove),
        3 => topic.clone().prop_map(Change::Mark),
        1 => topic.prop_map(Change::Unmark),
    ]
}

proptest! {
    #[test]
    fn invariants_hold_after_any_changes(changes in prop::collection::vec(change(), 0..80)) {
        let mut tree = Taxonomy::new();
        for change in changes {
            let ids: Vec<_> = tree.ids().collect();
            let id = |number: usize| ids[number % ids.len()];
            let before = tree.clone();
            let result = match change {
                Change::Add(parent, name) => tree.add(id(parent), &format!("n{name}")).map(drop),
                Change::Move(moved, parent) => tree.move_to(id(moved), id(parent)),
                Change::Rename(renamed, name) => tree.rename(id(renamed), &format!("n{name}")),
                Change::Remove(gone) => tree.remove(id(gone)).map(drop),
                Change::Mark(good) => tree.mark(id(good)),
                Change::Unmark(good) => tree.unmark(id(good)),
            };
            prop_assert!(result.is_ok() || tree == before, "a refused change changed the tree");
            check(&tree)?;
        }
    }
}

fn check(tree: &Taxonomy) -> Result<(), TestCaseError> {
    let marks = tree.marks();
    for id in tree.ids() {
        let above: Vec<_> = tree.ancestors(id).collect();
        prop_assert!(
            id == TopicId::ROOT || above.last() == Some(&TopicId::ROOT),
            "{id:?} is not below the root"
        );
        prop_assert_eq!(tree.find(&tree.path(id)), Ok(id));
        let good_above = above.iter().any(|&above| tree.is_good(above));
        let good_below = tree.below(id)[1..].iter().any(|&below| tree.is_good(below));
        let expected = match (tree.is_good(id), good_above, good_below) {
            (true, false, false) => Mark::Good,
            (false, true, false) => Mark::Subsumed,
            (false, false, true) => Mark::Path,
            (false, false, false) => Mark::Null,
            _ => return Err(TestCaseError::fail("two good topics on one path")),
        };
        prop_assert_eq!(marks[usize::from(id.0)], expected);
    }
    prop_assert_eq!(&Taxonomy::from_rows(&tree.rows()).unwrap().rows(), &tree.rows());
    Ok(())
}

#[test]
fn an_unknown_path_suggests_similar_topics() {
    let mut tree = Taxonomy::new();
    for path in
        ["/Science/Biology/Birds", "/Science/Physics", "/Recreation/Bird_watching", "/Arts/Photography"]
    {
        tree.add_path(path).unwrap();
    }
    let check = |path: &str, expected: &[&str]| match tree.find(path) {
        Err(TaxonomyError::Unknown { similar, .. }) => assert_eq!(similar, expected, "{path}"),
        other => panic!("{path}: {other:?}"),
    };
    check("/Birds", &["/Science/Biology/Birds"]);
    check("/biology/birds", &["/Science/Biology/Birds"]);
    check("birds/", &["/Science/Biology/Birds"]);
    check("/bird watching", &["/Recreation/Bird_watching"]);
    check("/Science/Phisics", &["/Science/Physics"]);
    check("/Photo graphy", &["/Arts/Photography"]);
    check("/Soup", &[]);
    let error = tree.find("/Birds").unwrap_err().to_string();
    assert!(error.contains("did you mean /Science/Biology/Birds?"), "{error}");
}
