//! The topic tree of the synthetic web, and the topics of the planted facts.

use std::ops::Range;

use porthole_types::TopicId;

use super::vocabulary::TREE;

/// A node of the topic tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Its id; the root is [`TopicId::ROOT`].
    pub id: TopicId,
    /// The node above it; the root has none.
    pub parent: Option<TopicId>,
    /// The path from the root, such as `/Recreation/Cycling`; `/` for the root.
    pub path: String,
    /// Whether it is a leaf; only leaves have pages.
    pub leaf: bool,
}

/// The pages of the first topic cite the second far more often than the rest of the web does (V 1).
pub(crate) const CITING: (&str, &str) = ("/Recreation/Cycling", "/Health/First_Aid");

/// A few pages of the first topic are cited repeatedly by pages of the second (V 1), if `sociology` is set.
pub(crate) const STUFFED: (&str, &str) = ("/Computers/Databases", "/Travel/Hawaii");

/// Pages of each cite pages of the next (V 1), if `sociology` is set.
pub(crate) const CHAINED: (&str, &str, &str) =
    ("/Science/Birds", "/Arts/Photography", "/Recreation/Climbing");

/// Two topics whose pages link to each other as much as among themselves and share words (V 3.7).
pub(crate) const COMMINGLED: (&str, &str) = ("/Business/Mutual_Funds", "/Business/Stock_Market");

/// Topics with communities that can only be reached through a long chain of other pages.
pub(crate) const REMOTE: &[&str] = &["/Home/Beekeeping", "/Travel/Railways", "/Science/Geology"];

/// Topics that link farms pretend to have.
pub(crate) const POPULAR: &[&str] = &["/Travel/Hawaii", "/Business/Mutual_Funds", "/Arts/Music"];

/// A topic whose pages change four times as often as others, and one whose pages change four times less often.
pub(crate) const FAST_AND_STABLE: (&str, &str) = ("/Business/Stock_Market", "/Travel/Castles");

/// Number of a leaf, in the order of the vocabulary.
pub(crate) type LeafTopic = u8;

/// The tree, by id and by leaf.
pub(crate) struct Atlas {
    /// All nodes, by id.
    pub(crate) topics: Vec<Topic>,
    leaf_ids: Vec<TopicId>,
    /// For each leaf, the leaves of its branch, including itself.
    branches: Vec<Range<LeafTopic>>,
    pub(crate) citing: (LeafTopic, LeafTopic),
    pub(crate) stuffed: (LeafTopic, LeafTopic),
    pub(crate) chained: (LeafTopic, LeafTopic, LeafTopic),
    pub(crate) commingled: (LeafTopic, LeafTopic),
    pub(crate) remote: Vec<LeafTopic>,
    pub(crate) popular: Vec<LeafTopic>,
    pub(crate) fast_and_stable: (LeafTopic, LeafTopic),
}

impl Atlas {
    /// The tree of the vocabulary.
    pub(crate) fn new() -> Self {
        let mut topics = vec![Topic { id: TopicId::ROOT, parent: None, path: "/".into(), leaf: false }];
        let (mut leaf_ids, mut branches) = (Vec::new(), Vec::new());
        for branch in TREE {
            let path = format!("/{}", branch.name);
            let above = push(&mut topics, TopicId::ROOT, path.clone(), false);
            let first = small(leaf_ids.len());
            for (name, _) in branch.leaves {
                leaf_ids.push(push(&mut topics, above, format!("{path}/{name}"), true));
            }
            branches.extend(branch.leaves.iter().map(|_| first..small(leaf_ids.len())));
        }
        let leaf = |path: &str| {
            let at = leaf_ids.iter().position(|id| topics[usize::from(id.0)].path == path);
            small(at.expect("planted facts name leaves of the tree"))
        };
        Atlas {
            citing: (leaf(CITING.0), leaf(CITING.1)),
            stuffed: (leaf(STUFFED.0), leaf(STUFFED.1)),
            chained: (leaf(CHAINED.0), leaf(CHAINED.1), leaf(CHAINED.2)),
            commingled: (leaf(COMMINGLED.0), leaf(COMMINGLED.1)),
            remote: REMOTE.iter().map(|path| leaf(path)).collect(),
            popular: POPULAR.iter().map(|path| leaf(path)).collect(),
            fast_and_stable: (leaf(FAST_AND_STABLE.0), leaf(FAST_AND_STABLE.1)),
            topics,
            leaf_ids,
            branches,
        }
    }

    /// Number of leaves.
    pub(crate) fn leaves(&self) -> LeafTopic {
        small(self.leaf_ids.len())
    }

    /// Topic of a leaf; the root for a page without a topic.
    pub(crate) fn id(&self, leaf: Option<LeafTopic>) -> TopicId {
        leaf.map_or(TopicId::ROOT, |leaf| self.leaf_ids[usize::from(leaf)])
    }

    /// Path of a leaf; `/` for a page without a topic.
    pub(crate) fn path(&self, leaf: Option<LeafTopic>) -> &str {
        &self.topics[usize::from(self.id(leaf).0)].path
    }

    /// The leaves with the same parent, including this one.
    pub(crate) fn branch(&self, leaf: LeafTopic) -> Range<LeafTopic> {
        self.branches[usize::from(leaf)].clone()
    }

    /// The other half of the commingled pair.
    pub(crate) fn partner(&self, leaf: LeafTopic) -> Option<LeafTopic> {
        match self.commingled {
            (one, other) if leaf == one => Some(other),
            (one, other) if leaf == other => Some(one),
            _ => None,
        }
    }

    /// The leaves at or below a topic.
    pub(crate) fn leaves_below(&self, topic: TopicId) -> Vec<LeafTopic> {
        let under = |leaf: &LeafTopic| {
            let id = self.id(Some(*leaf));
            topic == TopicId::ROOT || id == topic || self.topics[usize::from(id.0)].parent == Some(topic)
        };
        (0..self.leaves()).filter(under).collect()
    }
}

fn push(topics: &mut Vec<Topic>, parent: TopicId, path: String, leaf: bool) -> TopicId {
    let id = TopicId(u16::try_from(topics.len()).expect("a tree of less than 65,536 topics"));
    topics.push(Topic { id, parent: Some(parent), path, leaf });
    id
}

fn small(n: usize) -> LeafTopic {
    LeafTopic::try_from(n).expect("a tree of less than 256 leaves")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_has_branches_of_leaves() {
        let atlas = Atlas::new();
        assert_eq!(usize::from(atlas.leaves()) + TREE.len() + 1, atlas.topics.len());
        assert_eq!(atlas.path(None), "/");
        let (cycling, _) = atlas.citing;
        assert_eq!(atlas.path(Some(cycling)), "/Recreation/Cycling");
        assert!(atlas.branch(cycling).contains(&cycling));
        let above = atlas.topics[usize::from(atlas.id(Some(cycling)).0)].parent.unwrap();
        assert_eq!(atlas.leaves_below(above), atlas.branch(cycling).collect::<Vec<_>>());
        assert_eq!(atlas.leaves_below(TopicId::ROOT).len(), usize::from(atlas.leaves()));
        let (one, other) = atlas.commingled;
        assert_eq!(atlas.branch(one), atlas.branch(other), "commingled topics are siblings");
    }
}
