//! What a strategy may know of the crawl's goal.

use porthole_page::TermSplitter;
use porthole_topic::{Critic, Taxonomy};
use porthole_types::{TermId, TopicId};

use crate::apprentice::Lessons;

/// The goal of a crawl, as far as a strategy may know it. It holds nothing about pages that were not fetched.
#[derive(Clone, Debug, Default)]
pub struct CrawlGoal {
    /// Critic for short texts such as anchors; `None` if the crawl has an external judge.
    pub critic: Option<Critic>,
    /// Terms of the topic, without duplicates (the keywords of P 2.1).
    pub keywords: Vec<TermId>,
    /// Path of every topic of the tree, by topic id; empty where an id is unused.
    pub paths: Vec<String>,
    /// Lessons of an earlier crawl, which an apprentice starts from.
    pub lessons: Option<Lessons>,
    /// Random seed. Two runs with the same seed make the same choices.
    pub seed: u64,
}

impl CrawlGoal {
    /// The goal that a tree and its critic define. The keywords are the words in the names of the good topics and their
    /// ancestors.
    pub fn new(tree: &Taxonomy, critic: Option<Critic>, seed: u64) -> CrawlGoal {
        let mut wording = TermSplitter::default();
        let mut keywords = Vec::new();
        for good in tree.good() {
            wording.append(&tree.path(good), "en", &mut keywords);
        }
        let mut seen = std::collections::HashSet::new();
        keywords.retain(|term| seen.insert(*term));
        CrawlGoal { critic, keywords, paths: paths(tree), seed, lessons: None }
    }

    /// A goal with a seed only, for strategies that need nothing else.
    pub fn nothing(seed: u64) -> CrawlGoal {
        CrawlGoal { seed, ..CrawlGoal::default() }
    }
}

fn paths(tree: &Taxonomy) -> Vec<String> {
    let mut paths = vec![String::new(); tree.id_end()];
    tree.ids().for_each(|id: TopicId| paths[usize::from(id.0)] = tree.path(id));
    paths
}
