//! Pruning of a large directory to classes of a common size (A 3.1), so that every class can be learnt and all of them
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
    /// Number of examples of a class: the fewest that it needs and the most that it keeps. 0 counts as 1.
    pub k: usize,
    /// Random seed of the samples.
    pub seed: u64,
}

/// A pruned directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pruned {
    /// Examples are in its leaves only. Every leaf has `k` of them, except leaves called `Other`, which have from 1 to
    /// `k`, and a root without children.
    pub taxonomy: Taxonomy,
    /// Topics with the numbers of their examples, by topic, then by number.
    pub examples: Vec<(TopicId, u32)>,
    /// Numbers of topics and examples that were removed, moved and sampled.
    pub losses: Losses,
}

/// Counts of what pruning changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Topics that were removed because they were too small.
    pub topics_removed: usize,
    /// Examples that were moved from a removed topic to its parent.
    pub examples_moved: usize,
    /// Leaves called `Other` that were added.
    pub others_made: usize,
    /// Leaves that had more than `k` examples.
    pub topics_sampled: usize,
    /// Examples that sampling dropped.
    pub examples_left_out: usize,
}

impl Default for Pruning {
    /// A 3.1, step 2.
    fn default() -> Self {
        Pruning { k: 300, seed: 0 }
    }
}

/// Prunes a directory as in A 3.1: as long as there is a leaf with fewer than `k` examples, these move to its parent
/// and the leaf is removed; each internal node's own examples then move to a new leaf `Other` below it; and each leaf
/// keeps a random sample of `k` examples.
///
/// The root stays, even as the only leaf. The result depends on the directory and the seed, not on the order of the
/// examples. Fails if more topics are left than a taxonomy can hold: a larger `k` leaves fewer.
pub fn prune(directory: Directory, pruning: Pruning) -> Result<Pruned, TaxonomyError> {
    let k = pruning.k.max(1);
    let mut losses = Losses::default();
    let nodes = merge_small_leaves(directory, k, &mut losses);
    // Checked first, because building the tree takes long.
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

struct PruneNode {
    parent: usize,
    name: Arc<str>,
    /// Sorted, without duplicates.
    examples: Vec<u32>,
    /// Number of children that were kept.
    children: usize,
    is_kept: bool,
}

impl PruneNode {
    /// A adds an `Other` to each internal node; without examples it would be a class without data.
    fn needs_other(&self) -> bool {
        self.children > 0 && !self.examples.is_empty()
    }
}

/// Step 3. One pass upwards is equivalent to repeating: a node becomes a leaf only when all its descendants are
/// removed, and no step takes examples from a node that stays.
fn merge_small_leaves(directory: Directory, k: usize, losses: &mut Losses) -> Vec<PruneNode> {
    let plain = directory.nodes.into_iter();
    let mut nodes: Vec<PruneNode> = plain
        .map(|node| PruneNode {
            parent: node.parent as usize,
            name: node.name,
            examples: once_each(node.examples),
            children: 0,
            is_kept: true,
        })
        .collect();
    let own: Vec<usize> = nodes.iter().map(|node| node.examples.len()).collect();
    for at in (1..nodes.len()).rev() {
        // Descendants come after a node, so they are done. Two of them may have moved up the same example.
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
    /// Adds the kept topics, and the leaves of step 4. Returns the leaves with their examples.
    fn add_topics(&mut self, nodes: Vec<PruneNode>) -> Result<BTreeMap<TopicId, Vec<u32>>, TaxonomyError> {
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

    /// The leaf for a topic's own examples; the directory's own leaf of that name has the same meaning.
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
            SampleRandom::new(seed, &self.taxonomy.path(leaf)).sample(&mut examples, k);
            examples.sort_unstable();
        }
        self.examples.extend(examples.into_iter().map(|example| (leaf, example)));
    }
}

/// Random numbers. Each topic has its own generator, so that its sample does not depend on other topics.
struct SampleRandom(SplitMix64);

impl SampleRandom {
    fn new(seed: u64, path: &str) -> Self {
        let key = path.bytes().fold(mix(seed), |key, byte| mix(key ^ u64::from(byte)));
        SampleRandom(SplitMix64::seed_from_u64(key))
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
