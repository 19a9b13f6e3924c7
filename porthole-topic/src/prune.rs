//! Pruning a large directory to classes of a common size (A 3.1), so that every class can be learned and all of them
//! fit into a taxonomy.

use std::collections::BTreeMap;
use std::sync::Arc;

use porthole_types::TopicId;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::import::Directory;
use crate::{MOST_TOPICS, Taxonomy, TaxonomyError};

/// How to prune.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pruning {
    /// Examples of a class: the fewest that it needs and the most that it keeps. 0 counts as 1.
    pub k: usize,
    /// What the samples are drawn with.
    pub seed: u64,
}

/// A directory that was pruned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pruned {
    /// Examples are in its leaves only. Every leaf has `k` of them, except for leaves called `Other`, which have from 1
    /// to `k`, and a root that is all there is.
    pub taxonomy: Taxonomy,
    /// Topics with the numbers of their examples; by topic, then by number.
    pub examples: Vec<(TopicId, u32)>,
    /// What was done.
    pub losses: Losses,
}

/// What pruning did to a directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Topics that were too small and went.
    pub topics_removed: usize,
    /// Examples that went from a removed topic into one above.
    pub examples_moved: usize,
    /// Leaves called `Other` that were made.
    pub others_made: usize,
    /// Leaves that had more than `k` examples.
    pub topics_sampled: usize,
    /// Examples that sampling left out.
    pub examples_left_out: usize,
}

impl Default for Pruning {
    /// A 3.1, step 2.
    fn default() -> Self {
        Pruning { k: 300, seed: 0 }
    }
}

/// Prunes a directory as A 3.1 does: as long as there is a leaf with fewer than `k` examples, these move to its parent
/// and the leaf goes; each internal node's own examples then move to a new leaf `Other` below it; and each leaf keeps a
/// random sample of `k` examples.
///
/// The root stays, even as the only leaf. The result depends on the directory and the seed, not on the order in which
/// examples came. Refused if more topics are left than a taxonomy can hold: a larger `k` leaves fewer.
pub fn prune(directory: Directory, pruning: Pruning) -> Result<Pruned, TaxonomyError> {
    let k = pruning.k.max(1);
    let mut losses = Losses::default();
    let nodes = merge_small_leaves(directory, k, &mut losses);
    // Said at once, because a tree takes its time to find out.
    if nodes.iter().filter(|node| node.is_kept).count() > MOST_TOPICS {
        return Err(TaxonomyError::Full);
    }
    let mut pruned = Pruned { taxonomy: Taxonomy::new(), examples: Vec::new(), losses };
    let leaves = pruned.add_topics(nodes)?;
    for (leaf, examples) in leaves {
        pruned.add_examples(leaf, once_each(examples), k, pruning.seed);
    }
    Ok(pruned)
}

struct Node {
    parent: usize,
    name: Arc<str>,
    /// Sorted, each once.
    examples: Vec<u32>,
    /// Children that were kept.
    children: usize,
    is_kept: bool,
}

impl Node {
    /// A attaches an `Other` to each internal node; one without examples would be a class that nothing is known of.
    fn needs_other(&self) -> bool {
        self.children > 0 && !self.examples.is_empty()
    }
}

/// Step 3. One pass upwards does what repeating does: a node becomes a leaf only by all below it going, and no step
/// takes examples from a node that stays.
fn merge_small_leaves(directory: Directory, k: usize, losses: &mut Losses) -> Vec<Node> {
    let plain = directory.nodes.into_iter();
    let mut nodes: Vec<Node> = plain
        .map(|node| Node {
            parent: node.parent as usize,
            name: node.name,
            examples: once_each(node.examples),
            children: 0,
            is_kept: true,
        })
        .collect();
    let own: Vec<usize> = nodes.iter().map(|node| node.examples.len()).collect();
    for at in (1..nodes.len()).rev() {
        // Those below a node come after it, so they are done. An example may have come up from two of them.
        nodes[at].examples = once_each(std::mem::take(&mut nodes[at].examples));
        let parent = nodes[at].parent;
        if nodes[at].children > 0 || nodes[at].examples.len() >= k {
            nodes[parent].children += 1;
            continue;
        }
        nodes[at].is_kept = false;
        let examples = std::mem::take(&mut nodes[at].examples);
        nodes[parent].examples.extend(examples);
        losses.topics_removed += 1;
        losses.examples_moved += own[at];
    }
    nodes[0].examples = once_each(std::mem::take(&mut nodes[0].examples));
    nodes
}

fn once_each(mut examples: Vec<u32>) -> Vec<u32> {
    examples.sort_unstable();
    examples.dedup();
    examples
}

impl Pruned {
    /// Adds the kept topics, and step 4's leaves. Returns the leaves with their examples.
    fn add_topics(&mut self, nodes: Vec<Node>) -> Result<BTreeMap<TopicId, Vec<u32>>, TaxonomyError> {
        let mut ids = vec![TopicId::ROOT; nodes.len()];
        for (at, node) in nodes.iter().enumerate().skip(1).filter(|(_, node)| node.is_kept) {
            ids[at] = self.taxonomy.add(ids[node.parent], &node.name)?;
        }
        let mut leaves = BTreeMap::<_, Vec<_>>::new();
        for (node, &id) in nodes.into_iter().zip(&ids).filter(|(node, _)| node.is_kept) {
            if node.needs_other() {
                leaves.entry(self.other(id)?).or_default().extend(node.examples);
            } else if node.children == 0 {
                leaves.entry(id).or_default().extend(node.examples);
            }
        }
        Ok(leaves)
    }

    /// The leaf for a topic's own examples. The directory's own leaf of that name means the same.
    fn other(&mut self, parent: TopicId) -> Result<TopicId, TaxonomyError> {
        let before = self.taxonomy.id_end();
        let other = self.taxonomy.add_other(parent)?;
        self.losses.others_made += self.taxonomy.id_end() - before;
        Ok(other)
    }

    /// Step 5.
    fn add_examples(&mut self, leaf: TopicId, mut examples: Vec<u32>, k: usize, seed: u64) {
        if examples.len() > k {
            self.losses.topics_sampled += 1;
            self.losses.examples_left_out += examples.len() - k;
            Draw::new(seed, &self.taxonomy.path(leaf)).sample(&mut examples, k);
            examples.sort_unstable();
        }
        self.examples.extend(examples.into_iter().map(|example| (leaf, example)));
    }
}

/// Random numbers. Each topic has its own, so that its sample does not change with its neighbours.
struct Draw(SplitMix64);

impl Draw {
    fn new(seed: u64, path: &str) -> Self {
        let key = path.bytes().fold(mix(seed), |key, byte| mix(key ^ u64::from(byte)));
        Draw(SplitMix64::seed_from_u64(key))
    }

    /// Keeps `k` of the items.
    fn sample(&mut self, items: &mut Vec<u32>, k: usize) {
        for at in 0..k {
            let other = at + self.below(items.len() - at);
            items.swap(at, other);
        }
        items.truncate(k);
    }

    fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.0.next_u64()) * end as u128) >> 64) as usize
    }
}

/// The first number of the stream whose next state is `bits`.
fn mix(bits: u64) -> u64 {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    SplitMix64::seed_from_u64(bits.wrapping_sub(STEP)).next_u64()
}
