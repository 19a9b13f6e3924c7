//! What a strategy may know of what is looked for.

use porthole_page::Wording;
use porthole_topic::{Critic, Taxonomy};
use porthole_types::{TermId, TopicId};

use crate::apprentice::Lessons;

/// What is looked for, as far as a strategy may know it: never the pages that it has not fetched.
#[derive(Clone, Debug, Default)]
pub struct Aim {
    /// The critic, for questions about short texts such as anchors; none where somebody else judges.
    pub critic: Option<Critic>,
    /// The topic's own words, each once (the keywords of P 2.1).
    pub keywords: Vec<TermId>,
    /// The path of every topic of the tree, by id; empty where an id has no topic.
    pub paths: Vec<String>,
    /// What an apprentice begins with: the lessons of an earlier crawl.
    pub lessons: Option<Lessons>,
    /// What is drawn, is drawn from it.
    pub seed: u64,
}

impl Aim {
    /// What is known from a tree and its critic: the keywords are the words in the names of the good topics and of the
    /// topics above them.
    pub fn new(tree: &Taxonomy, critic: Option<Critic>, seed: u64) -> Aim {
        let mut wording = Wording::default();
        let mut keywords = Vec::new();
        for good in tree.good() {
            wording.append(&tree.path(good), "en", &mut keywords);
        }
        let mut seen = std::collections::HashSet::new();
        keywords.retain(|term| seen.insert(*term));
        Aim { critic, keywords, paths: paths(tree), seed, lessons: None }
    }

    /// Nothing but a seed, for strategies that need no more.
    pub fn nothing(seed: u64) -> Aim {
        Aim { seed, ..Aim::default() }
    }
}

fn paths(tree: &Taxonomy) -> Vec<String> {
    let mut paths = vec![String::new(); tree.id_end()];
    tree.ids().for_each(|id: TopicId| paths[usize::from(id.0)] = tree.path(id));
    paths
}
