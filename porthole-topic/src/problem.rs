//! The decision at a node, and the counts that it is trained from.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use porthole_types::{TermId, TopicId};

use crate::background::background;
use crate::statistics::{Statistics, TermFrequencies, TermSeen, seen_in};
use crate::taxonomy::Taxonomy;

/// Shape of the classifier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClassifierShape {
    /// One decision at every internal node, between its children (W 3.1, V 2.1.1).
    #[default]
    Tree,
    /// One decision between all topics with examples (A 2.1).
    Flat,
    /// One decision between good topics and all others (W 2.2).
    TwoClass,
}

impl ClassifierShape {
    /// All shapes.
    pub const ALL: [ClassifierShape; 3] =
        [ClassifierShape::Tree, ClassifierShape::Flat, ClassifierShape::TwoClass];

    /// Name in commands and tables.
    pub fn name(self) -> &'static str {
        match self {
            ClassifierShape::Tree => "tree",
            ClassifierShape::Flat => "flat",
            ClassifierShape::TwoClass => "two-class",
        }
    }
}

/// A decision between classes at a node, before training.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionProblem {
    /// The node; the root for all shapes except the tree.
    pub node: TopicId,
    /// At least two, unless the node has only one child with examples.
    pub classes: Vec<Class>,
    /// Number of the class that is the background.
    pub background: Option<u16>,
}

/// One of the classes of a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// Topic of the class. Of two classes, the second stands for everything that is not good, and has the root's id.
    pub topic: TopicId,
    /// The topics whose examples belong to the class.
    pub members: Vec<TopicId>,
}

impl Class {
    /// Number of examples.
    pub(crate) fn documents(&self, statistics: &Statistics) -> u32 {
        let members = self.members.iter().filter_map(|&topic| statistics.topic(topic));
        members.map(|topic| topic.documents).sum()
    }
}

/// The decisions of a tree, parents before children. Topics without examples are ignored.
///
/// Examples of an internal node that belong to none of its children are not used at that node: a leaf `Other` gives
/// them a class (A 3.1, [`Taxonomy::add_others`]).
pub fn problems(tree: &Taxonomy, statistics: &Statistics, shape: ClassifierShape) -> Vec<DecisionProblem> {
    let has_examples = |id: &TopicId| statistics.topic(*id).is_some();
    let class = |topic: TopicId, members: Vec<TopicId>| {
        let members: Vec<_> = members.into_iter().filter(has_examples).collect();
        (!members.is_empty()).then_some(Class { topic, members })
    };
    let all = tree.below(TopicId::ROOT);
    let background = background(tree);
    let problem = |node: TopicId, classes: Vec<Class>| {
        let place = classes.iter().position(|class| Some(class.topic) == background);
        let background = place.filter(|_| classes.len() > 1).map(|place| place as u16);
        DecisionProblem { node, classes, background }
    };
    let at_root = |classes: Vec<Class>| vec![problem(TopicId::ROOT, classes)];
    match shape {
        ClassifierShape::Tree => {
            let internal = all.into_iter().filter(|&id| !tree.is_leaf(id));
            let classes = |node: TopicId| {
                let children = tree.children(node).iter();
                children.filter_map(|&child| class(child, tree.below(child))).collect::<Vec<_>>()
            };
            let problems = internal.map(|node| problem(node, classes(node)));
            problems.filter(|problem| !problem.classes.is_empty()).collect()
        }
        ClassifierShape::Flat => at_root(all.into_iter().filter_map(|id| class(id, vec![id])).collect()),
        ClassifierShape::TwoClass => {
            let good: Vec<_> = tree.good().flat_map(|id| tree.below(id)).collect();
            let rest = all.into_iter().filter(|id| !good.contains(id)).collect();
            let first = tree.good().next().unwrap_or(TopicId::ROOT);
            at_root([class(first, good), class(TopicId::ROOT, rest)].into_iter().flatten().collect())
        }
    }
}

/// Counts of every term by class: sparse, in term order.
#[derive(Clone, Debug)]
pub(crate) struct ClassTermTable {
    pub(crate) terms: Vec<TermId>,
    /// Start of each term's cells; one more at the end.
    starts: Vec<u32>,
    cells: Vec<Cell>,
    pub(crate) classes: Vec<ClassTotals>,
    /// Number of the class that is the background.
    pub(crate) background: Option<u16>,
}

/// Counts of a term in a class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub(crate) class: u16,
    pub(crate) seen: TermSeen,
}

/// Sums over a class.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClassTotals {
    pub(crate) documents: u32,
}

impl ClassTermTable {
    pub(crate) fn new(problem: &DecisionProblem, statistics: &Statistics) -> ClassTermTable {
        let mut classes = vec![ClassTotals::default(); problem.classes.len()];
        let mut rows: Vec<(TermId, Cell)> = Vec::new();
        for ((number, class), totals) in problem.classes.iter().enumerate().zip(&mut classes) {
            let mut sum: HashMap<TermId, TermSeen, FixedState> = HashMap::default();
            for topic in class.members.iter().filter_map(|&topic| statistics.topic(topic)) {
                totals.documents += topic.documents;
                for (term, seen) in topic.terms() {
                    sum.entry(term).or_default().add(seen);
                }
            }
            rows.extend(sum.into_iter().map(|(term, seen)| (term, Cell { class: number as u16, seen })));
        }
        rows.sort_unstable_by_key(|(term, cell)| (*term, cell.class));
        ClassTermTable::of_rows(&rows, classes, problem.background)
    }

    fn of_rows(
        rows: &[(TermId, Cell)],
        classes: Vec<ClassTotals>,
        background: Option<u16>,
    ) -> ClassTermTable {
        let (mut terms, mut starts) = (Vec::new(), Vec::new());
        for (at, (term, _)) in rows.iter().enumerate() {
            if terms.last() != Some(term) {
                terms.push(*term);
                starts.push(at as u32);
            }
        }
        starts.push(rows.len() as u32);
        let cells = rows.iter().map(|(_, cell)| *cell).collect();
        ClassTermTable { terms, starts, cells, classes, background }
    }

    /// The table without these examples, as if they had never been counted.
    pub(crate) fn without<'a>(
        &self,
        examples: impl Iterator<Item = (u16, &'a TermFrequencies)>,
    ) -> ClassTermTable {
        let mut rest = self.clone();
        for (class, counts) in examples {
            let totals = &mut rest.classes[usize::from(class)];
            totals.documents = totals.documents.saturating_sub(1);
            for (term, less) in seen_in(counts) {
                if let Some(seen) = rest.cell_mut(term, class) {
                    seen.subtract(less);
                }
            }
        }
        let kept = (0..rest.terms.len()).flat_map(|at| rest.cells(at).iter().map(move |cell| (at, *cell)));
        let rows: Vec<_> =
            kept.filter(|(_, cell)| cell.seen.count > 0).map(|(at, cell)| (rest.terms[at], cell)).collect();
        ClassTermTable::of_rows(&rows, rest.classes, rest.background)
    }

    fn cell_mut(&mut self, term: TermId, class: u16) -> Option<&mut TermSeen> {
        let at = self.find(term)?;
        let cells = &mut self.cells[self.starts[at] as usize..self.starts[at + 1] as usize];
        let place = cells.binary_search_by_key(&class, |cell| cell.class).ok()?;
        Some(&mut cells[place].seen)
    }

    /// Index of a term in the table.
    pub(crate) fn find(&self, term: TermId) -> Option<usize> {
        self.terms.binary_search(&term).ok()
    }

    /// Cells of a term, one for each class that it occurs in.
    pub(crate) fn cells(&self, at: usize) -> &[Cell] {
        &self.cells[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    /// Range of a term's cells, for arrays parallel to the cells.
    pub(crate) fn cell_range(&self, at: usize) -> std::ops::Range<usize> {
        self.starts[at] as usize..self.starts[at + 1] as usize
    }

    pub(crate) fn all_cells(&self) -> &[Cell] {
        &self.cells
    }

    pub(crate) fn documents(&self) -> u64 {
        self.classes.iter().map(|class| u64::from(class.documents)).sum()
    }

    /// Term indices, most informative first: by the mutual information of a document's class and whether the term
    /// occurs in it. Ties are broken by term, so that the order is the same everywhere.
    pub(crate) fn ranked(&self) -> Vec<u32> {
        let information: Vec<f64> = (0..self.terms.len()).map(|at| self.information(at)).collect();
        let mut order: Vec<u32> = (0..self.terms.len() as u32).collect();
        order.sort_unstable_by(|&a, &b| {
            information[b as usize].total_cmp(&information[a as usize]).then(a.cmp(&b))
        });
        order
    }

    /// Mutual information, in nats, of the class and the presence of a term.
    pub(crate) fn information(&self, at: usize) -> f64 {
        let all = self.documents() as f64;
        let present: f64 = self.cells(at).iter().map(|cell| f64::from(cell.seen.documents)).sum();
        let (with, without) = (present / all, 1.0 - present / all);
        let mut sum = 0.0;
        // Classes without the term: all their documents lack it.
        let mut rest = 1.0;
        for cell in self.cells(at) {
            let class = f64::from(self.classes[usize::from(cell.class)].documents) / all;
            let both = f64::from(cell.seen.documents) / all;
            sum += plogp(both, with * class) + plogp(class - both, without * class);
            rest -= class;
        }
        if without > 0.0 { sum - rest.max(0.0) * without.ln() } else { sum }
    }
}

/// p ln(p/q), which is 0 for p = 0.
fn plogp(p: f64, q: f64) -> f64 {
    if p > 1e-15 { p * (p / q).ln() } else { 0.0 }
}
