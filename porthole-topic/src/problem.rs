//! What is to be decided at a node, and the counts that the decision is learnt from.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use porthole_types::{TermId, TopicId};

use crate::statistics::{Counts, Seen, Statistics, seen_in};
use crate::taxonomy::Taxonomy;

/// How the topics are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// At every internal node, which child (W 3.1, V 2.1.1).
    #[default]
    Tree,
    /// All topics with examples at once (A 2.1).
    Flat,
    /// Good topics against all others (W 2.2).
    TwoClass,
}

impl Shape {
    /// All shapes.
    pub const ALL: [Shape; 3] = [Shape::Tree, Shape::Flat, Shape::TwoClass];

    /// The word for it in commands and tables.
    pub fn name(self) -> &'static str {
        match self {
            Shape::Tree => "tree",
            Shape::Flat => "flat",
            Shape::TwoClass => "two-class",
        }
    }
}

/// A decision between classes at a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The node; the root for all shapes but the tree.
    pub node: TopicId,
    /// At least two, unless the node has only one child with examples.
    pub classes: Vec<Class>,
}

/// One of the classes of a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// The topic that it stands for. Of two classes the second stands for all that is not good, and has the
    /// root's id.
    pub topic: TopicId,
    /// The topics whose examples are its examples.
    pub members: Vec<TopicId>,
}

/// The decisions of a tree, each before those below it. Topics without any example take no part.
///
/// Examples of an internal node that belong to none of its children say nothing at that node: a leaf `Other`
/// gives them a class of their own (A 3.1, [`Taxonomy::add_others`]).
pub fn problems(tree: &Taxonomy, statistics: &Statistics, shape: Shape) -> Vec<Problem> {
    let has_examples = |id: &TopicId| statistics.topic(*id).is_some();
    let class = |topic: TopicId, members: Vec<TopicId>| {
        let members: Vec<_> = members.into_iter().filter(has_examples).collect();
        (!members.is_empty()).then_some(Class { topic, members })
    };
    let all = tree.below(TopicId::ROOT);
    let at_root = |classes: Vec<Class>| vec![Problem { node: TopicId::ROOT, classes }];
    match shape {
        Shape::Tree => {
            let internal = all.into_iter().filter(|&id| !tree.is_leaf(id));
            let classes = |node: TopicId| {
                let children = tree.children(node).iter();
                children.filter_map(|&child| class(child, tree.below(child))).collect::<Vec<_>>()
            };
            let problems = internal.map(|node| Problem { node, classes: classes(node) });
            problems.filter(|problem| !problem.classes.is_empty()).collect()
        }
        Shape::Flat => at_root(all.into_iter().filter_map(|id| class(id, vec![id])).collect()),
        Shape::TwoClass => {
            let good: Vec<_> = tree.good().flat_map(|id| tree.below(id)).collect();
            let rest = all.into_iter().filter(|id| !good.contains(id)).collect();
            let first = tree.good().next().unwrap_or(TopicId::ROOT);
            at_root([class(first, good), class(TopicId::ROOT, rest)].into_iter().flatten().collect())
        }
    }
}

/// How often every term occurs in the examples of every class: sparse, the terms in order.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) terms: Vec<TermId>,
    /// Where each term's cells start; one more at the end.
    starts: Vec<u32>,
    cells: Vec<Cell>,
    pub(crate) classes: Vec<ClassTotals>,
}

/// A term in a class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub(crate) class: u16,
    pub(crate) seen: Seen,
}

/// Sums over a class.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClassTotals {
    pub(crate) documents: u32,
}

impl Table {
    pub(crate) fn new(problem: &Problem, statistics: &Statistics) -> Table {
        let mut classes = vec![ClassTotals::default(); problem.classes.len()];
        let mut rows: Vec<(TermId, Cell)> = Vec::new();
        for ((number, class), totals) in problem.classes.iter().enumerate().zip(&mut classes) {
            let mut sum: HashMap<TermId, Seen, FixedState> = HashMap::default();
            for topic in class.members.iter().filter_map(|&topic| statistics.topic(topic)) {
                totals.documents += topic.documents;
                for (term, seen) in topic.terms() {
                    sum.entry(term).or_default().add(seen);
                }
            }
            rows.extend(sum.into_iter().map(|(term, seen)| (term, Cell { class: number as u16, seen })));
        }
        rows.sort_unstable_by_key(|(term, cell)| (*term, cell.class));
        Table::of_rows(&rows, classes)
    }

    fn of_rows(rows: &[(TermId, Cell)], classes: Vec<ClassTotals>) -> Table {
        let (mut terms, mut starts) = (Vec::new(), Vec::new());
        for (at, (term, _)) in rows.iter().enumerate() {
            if terms.last() != Some(term) {
                terms.push(*term);
                starts.push(at as u32);
            }
        }
        starts.push(rows.len() as u32);
        Table { terms, starts, cells: rows.iter().map(|(_, cell)| *cell).collect(), classes }
    }

    /// The table without these examples: what it would be had they never been counted.
    pub(crate) fn without<'a>(&self, examples: impl Iterator<Item = (u16, &'a Counts)>) -> Table {
        let mut rest = self.clone();
        for (class, counts) in examples {
            rest.classes[usize::from(class)].documents -= 1;
            for (term, less) in seen_in(counts) {
                if let Some(seen) = rest.cell_mut(term, class) {
                    seen.subtract(less);
                }
            }
        }
        let kept = (0..rest.terms.len()).flat_map(|at| rest.cells(at).iter().map(move |cell| (at, *cell)));
        let rows: Vec<_> =
            kept.filter(|(_, cell)| cell.seen.count > 0).map(|(at, cell)| (rest.terms[at], cell)).collect();
        Table::of_rows(&rows, rest.classes)
    }

    fn cell_mut(&mut self, term: TermId, class: u16) -> Option<&mut Seen> {
        let at = self.find(term)?;
        let cells = &mut self.cells[self.starts[at] as usize..self.starts[at + 1] as usize];
        let place = cells.binary_search_by_key(&class, |cell| cell.class).ok()?;
        Some(&mut cells[place].seen)
    }

    /// The number of a term in the table.
    pub(crate) fn find(&self, term: TermId) -> Option<usize> {
        self.terms.binary_search(&term).ok()
    }

    /// The classes that a term occurs in.
    pub(crate) fn cells(&self, at: usize) -> &[Cell] {
        &self.cells[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    /// The numbers of all cells of a term, into arrays that run beside the cells.
    pub(crate) fn cell_range(&self, at: usize) -> std::ops::Range<usize> {
        self.starts[at] as usize..self.starts[at + 1] as usize
    }

    pub(crate) fn all_cells(&self) -> &[Cell] {
        &self.cells
    }

    pub(crate) fn documents(&self) -> u64 {
        self.classes.iter().map(|class| u64::from(class.documents)).sum()
    }

    /// The terms' numbers, the one that tells most about the class first: by the mutual information of a
    /// document's class and whether the term occurs in it. Ties go by term, so that the order is the same
    /// everywhere.
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
        // Of classes that the term never occurs in: all their documents are without it.
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
