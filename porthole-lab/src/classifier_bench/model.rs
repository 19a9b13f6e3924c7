//! Synthetic statistics and documents of the size of a large directory: V's had 2,100 nodes and 350 MB.

use std::collections::BTreeMap;

use porthole_page::TERM_VERSION;
use porthole_store::DocumentRow;
use porthole_topic::{
    Calibration, ClassModel, ClassifierShape, CriticModel, DecisionTerm, ModelKind, TermCounting,
    TopicDecision,
};
use porthole_types::{Mark, TermId, TopicId, TopicRow, UrlId};

use porthole_webs::synth::draw::{Draw, Share, mix};

/// A tree of topics with a decision at every internal node, determined by the seed.
#[derive(Clone, Debug)]
pub struct SyntheticModel {
    topics: Vec<TopicRow>,
    /// By id; empty for leaves.
    children: Vec<Vec<TopicId>>,
    /// By id.
    depths: Vec<usize>,
    vocabulary: u32,
    seed: u64,
}

/// Children of the root.
const TOP: usize = 12;
/// Minimum and maximum number of children of the other internal nodes.
const FANOUT: (u32, u32) = (4, 20);
/// |F| as a share of the vocabulary, by depth: large topics need more features than small ones.
const FEATURES: [f64; 3] = [0.24, 0.12, 0.04];
/// Minimum and maximum number of tokens of a document: some 300 distinct terms; V 2.1.3 has 200 to 500.
const TOKENS: (u32, u32) = (200, 600);

impl SyntheticModel {
    /// A tree with this many nodes and terms. One leaf below each child of the root is good.
    pub fn new(nodes: usize, vocabulary: u32, seed: u64) -> Self {
        let mut draw = Draw::of(mix(seed));
        let parents = parents(nodes, &mut draw);
        let mut children = vec![Vec::new(); parents.len()];
        let mut depths = vec![0; parents.len()];
        for (id, &parent) in parents.iter().enumerate().skip(1) {
            children[parent].push(topic(id));
            depths[id] = depths[parent] + 1;
        }
        SyntheticModel { topics: marked(&parents, &children), children, depths, vocabulary, seed }
    }

    /// The tree.
    pub fn topics(&self) -> &[TopicRow] {
        &self.topics
    }

    /// The model, with random parameters.
    pub fn model(&self) -> CriticModel {
        let internal = (0..self.children.len()).filter(|&id| !self.children[id].is_empty());
        let decisions: Vec<_> = internal.map(|id| self.decision(id)).collect();
        CriticModel::assemble(ModelKind::NaiveBayes, ClassifierShape::Tree, TERM_VERSION, &decisions)
    }

    /// Documents whose terms follow Zipf's law.
    pub fn documents(&self, count: usize) -> Vec<DocumentRow> {
        (0..count as u64).map(|number| self.document(number)).collect()
    }

    fn decision(&self, id: usize) -> TopicDecision {
        let mut draw = Draw::of(mix(self.seed ^ mix(id as u64 + 1)));
        let classes = classes(&self.children[id], &mut draw);
        let mut terms = self.terms_at(id, classes.len(), &mut draw);
        terms.sort_unstable_by_key(|(term, _)| *term);
        let feature = |(term, postings): &(TermId, Vec<_>)| DecisionTerm {
            term: *term,
            scale: 1.0,
            postings: postings.len() as u32,
        };
        TopicDecision {
            node: topic(id),
            features: terms.iter().map(feature).collect(),
            postings: terms.into_iter().flat_map(|(_, postings)| postings).collect(),
            classes,
            calibration: Calibration::NONE,
            counting: TermCounting::Each,
            smoothing: 1.0,
        }
    }

    /// F(c0), with the gains of each term by class.
    fn terms_at(&self, id: usize, classes: usize, draw: &mut Draw) -> Vec<(TermId, Vec<(u16, f32)>)> {
        let features = f64::from(self.vocabulary) * FEATURES[self.depths[id].min(FEATURES.len() - 1)];
        // Half of the features are the most frequent terms, the others are drawn uniformly.
        let frequent = (features / 2.0) as u32;
        let rare = Share::of(features / 2.0 / f64::from(self.vocabulary - frequent));
        let (everywhere, somewhere) = (Share::of(0.9), Share::of(0.2));
        let mut terms = Vec::new();
        for rank in 0..self.vocabulary {
            if rank >= frequent && !draw.chance(rare) {
                continue;
            }
            let at_least = draw.below(classes as u32) as u16;
            let share = if rank < self.vocabulary / 500 { everywhere } else { somewhere };
            let mut postings = Vec::new();
            for class in 0..classes as u16 {
                if class == at_least || draw.chance(share) {
                    let count = 1 + 10_000 / (rank + 1) + draw.below(5);
                    postings.push((class, f64::from(1 + count).ln() as f32));
                }
            }
            terms.push((term(rank), postings));
        }
        terms
    }

    fn document(&self, number: u64) -> DocumentRow {
        let mut draw = Draw::of(mix(!self.seed ^ mix(number)));
        let mut terms = BTreeMap::<_, u32>::new();
        for _ in 0..TOKENS.0 + draw.below(TOKENS.1 - TOKENS.0) {
            *terms.entry(term(zipf(&mut draw, self.vocabulary))).or_default() += 1;
        }
        DocumentRow { did: UrlId(mix(number + 1)), terms: terms.into_iter().collect() }
    }
}

/// Parent of every node, in level order.
fn parents(nodes: usize, draw: &mut Draw) -> Vec<usize> {
    let mut parents = vec![0];
    for parent in 0.. {
        let fanout =
            if parent == 0 { TOP } else { (FANOUT.0 + draw.below(FANOUT.1 - FANOUT.0 + 1)) as usize };
        for _ in 0..fanout {
            if parents.len() >= nodes {
                return parents;
            }
            parents.push(parent);
        }
    }
    parents
}

fn marked(parents: &[usize], children: &[Vec<TopicId>]) -> Vec<TopicRow> {
    let mut marks = vec![Mark::Null; parents.len()];
    for &top in &children[0] {
        let mut at = top;
        while let Some(&first) = children[usize::from(at.0)].first() {
            marks[usize::from(at.0)] = Mark::Path;
            at = first;
        }
        marks[usize::from(at.0)] = Mark::Good;
        marks[0] = Mark::Path;
    }
    let row = |(id, mark): (usize, Mark)| {
        let name = if id == 0 { String::new() } else { format!("topic {id}") };
        TopicRow { id: topic(id), parent: topic(parents[id]), name, mark }
    };
    marks.into_iter().enumerate().map(row).collect()
}

fn classes(siblings: &[TopicId], draw: &mut Draw) -> Vec<ClassModel> {
    let weights: Vec<_> = siblings.iter().map(|_| f64::from(1 + draw.below(100))).collect();
    let total: f64 = weights.iter().sum();
    let class = |(&topic, weight): (&TopicId, f64)| {
        let logdenom = f64::from(50_000 + draw.below(100_000)).ln();
        ClassModel { topic, logprior: (weight / total).ln(), logdenom, documents: 0 }
    };
    siblings.iter().zip(weights).map(class).collect()
}

/// A rank below `n`, with probability proportional to its inverse.
fn zipf(draw: &mut Draw, n: u32) -> u32 {
    let uniform = (draw.bits() >> 11) as f64 / (1u64 << 53) as f64;
    (f64::from(n).powf(uniform) as u32 - 1).min(n - 1)
}

/// Term of a rank: distributed over 32 bits like a hash, without collisions.
fn term(rank: u32) -> TermId {
    let mut x = rank.wrapping_add(1);
    x = (x ^ x >> 16).wrapping_mul(0x85eb_ca6b);
    x = (x ^ x >> 13).wrapping_mul(0xc2b2_ae35);
    TermId(x ^ x >> 16)
}

fn topic(id: usize) -> TopicId {
    TopicId(u16::try_from(id).expect("at most 65,536 nodes"))
}
