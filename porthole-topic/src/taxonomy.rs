//! The topic tree, and which of its nodes the crawl is after.

use std::fmt;

use porthole_types::{Mark, TopicId, TopicRow};

/// A tree of topics with marks.
///
/// A topic's id is its own for life: it is in the tables and in models, so the id of a removed topic is given
/// to a new one only when all others are taken. No good topic is an ancestor of another (V 1.1); the other
/// marks follow from the good ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taxonomy {
    /// By id; `None` for one that was removed.
    nodes: Vec<Option<Node>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Node {
    parent: TopicId,
    name: String,
    good: bool,
    /// In the order in which they came.
    children: Vec<TopicId>,
}

/// Why a change to the tree was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TaxonomyError {
    /// No topic has this path.
    #[error("no topic {0}; `porthole topics tree` shows what there is")]
    Unknown(String),
    /// Rows that name a topic that is not among them.
    #[error("topic {0} is missing from the tree")]
    Missing(u16),
    /// The name cannot be part of a path.
    #[error("{0:?} is no name for a topic: a name has no '/', no control characters, and at most 200 bytes")]
    BadName(String),
    /// A sibling has the name already.
    #[error("there is a topic {0} already")]
    Taken(String),
    /// All 16-bit ids are in use.
    #[error("the tree is full: {most} topics is the most there can be", most = MOST_TOPICS)]
    Full,
    /// Too many topics one below the other.
    #[error("{0} is too deep: a path has at most {most} names", most = DEEPEST)]
    TooDeep(String),
    /// The root stays as it is.
    #[error("the root cannot be {0}")]
    Root(&'static str),
    /// A topic cannot become part of itself.
    #[error("{topic} cannot move below {parent}, which is a part of it")]
    Cycle {
        /// The topic that was to move.
        topic: String,
        /// Where to.
        parent: String,
    },
    /// Another topic on the same path is good.
    #[error("{topic} cannot be good: {other}, {relation} it, is; unmark that first")]
    Overlap {
        /// The topic that was to be marked.
        topic: String,
        /// The one that is good.
        other: String,
        /// Where the other stands.
        relation: &'static str,
    },
    /// The topic is not marked good.
    #[error("{0} is not marked good")]
    NotGood(String),
}

/// As many as 16-bit ids allow (V 2.1.3).
pub const MOST_TOPICS: usize = 1 << 16;

/// Names in a path: far above any directory, and low enough for every walk to recurse.
pub const DEEPEST: usize = 64;

/// The leaf for what is about a topic and about nothing below it (A 3.1).
pub const OTHER: &str = "Other";

/// Bytes of a name.
pub(crate) const LONGEST_NAME: usize = 200;

type Result<T> = std::result::Result<T, TaxonomyError>;

impl Default for Taxonomy {
    fn default() -> Self {
        Taxonomy::new()
    }
}

impl Taxonomy {
    /// A tree of nothing but the root.
    pub fn new() -> Self {
        let root = Node { parent: TopicId::ROOT, name: String::new(), good: false, children: Vec::new() };
        Taxonomy { nodes: vec![Some(root)] }
    }

    /// The tree of these rows, in any order. The marks `path` and `subsumed` are not read: they follow.
    pub fn from_rows(rows: &[TopicRow]) -> Result<Self> {
        let mut tree = Taxonomy::new();
        let most = rows.iter().map(|row| usize::from(row.id.0)).max().unwrap_or(0);
        tree.nodes.resize(most + 1, None);
        let mut sorted: Vec<_> = rows.iter().filter(|row| row.id != TopicId::ROOT).collect();
        sorted.sort_by_key(|row| row.id);
        for row in &sorted {
            let name = checked(&row.name)?;
            let node = Node { parent: row.parent, name, good: false, children: Vec::new() };
            if tree.nodes[usize::from(row.id.0)].replace(node).is_some() {
                return Err(TaxonomyError::Taken(row.name.clone()));
            }
        }
        for row in &sorted {
            if tree.get(row.parent).is_none() {
                return Err(TaxonomyError::Missing(row.parent.0));
            }
            tree.refuse_taken(row.parent, &row.name)?;
            tree.node_mut(row.parent).children.push(row.id);
        }
        // A row that cannot be reached from the root is part of a cycle.
        let reached = tree.below(TopicId::ROOT).len();
        if reached != sorted.len() + 1 {
            let lost = sorted.iter().find(|row| tree.ancestors(row.id).last() != Some(TopicId::ROOT));
            let topic = lost.map_or_else(String::new, |row| row.name.clone());
            return Err(TaxonomyError::Cycle { parent: topic.clone(), topic });
        }
        if let Some(deep) = tree.ids().find(|&id| tree.depth(id) > DEEPEST) {
            return Err(TaxonomyError::TooDeep(tree.path(deep)));
        }
        for row in rows.iter().filter(|row| row.mark == Mark::Good) {
            tree.mark(row.id)?;
        }
        Ok(tree)
    }

    /// The tree as rows, by id, with every topic's mark.
    pub fn rows(&self) -> Vec<TopicRow> {
        let marks = self.marks();
        let row = |id: TopicId| {
            let node = self.node(id);
            TopicRow { id, parent: node.parent, name: node.name.clone(), mark: marks[usize::from(id.0)] }
        };
        self.ids().map(row).collect()
    }

    /// All topics, by id.
    pub fn ids(&self) -> impl Iterator<Item = TopicId> + '_ {
        let ids = self.nodes.iter().enumerate().filter(|(_, node)| node.is_some());
        ids.map(|(id, _)| TopicId(id as u16))
    }

    /// How many topics there are, the root included.
    pub fn len(&self) -> usize {
        self.ids().count()
    }

    /// Whether there is nothing but the root.
    pub fn is_empty(&self) -> bool {
        self.len() == 1
    }

    /// One more than the largest id: the length of a table by id.
    pub fn id_end(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is such a topic.
    pub fn contains(&self, id: TopicId) -> bool {
        self.get(id).is_some()
    }

    /// A topic's name; empty for the root.
    pub fn name(&self, id: TopicId) -> &str {
        self.get(id).map_or("", |node| &node.name)
    }

    /// The topic above; the root's is the root.
    pub fn parent(&self, id: TopicId) -> TopicId {
        self.get(id).map_or(TopicId::ROOT, |node| node.parent)
    }

    /// The topics right below.
    pub fn children(&self, id: TopicId) -> &[TopicId] {
        self.get(id).map_or(&[], |node| &node.children)
    }

    /// Whether nothing is below it.
    pub fn is_leaf(&self, id: TopicId) -> bool {
        self.children(id).is_empty()
    }

    /// The topics above, from the parent up to the root; none for the root.
    pub fn ancestors(&self, id: TopicId) -> impl Iterator<Item = TopicId> + '_ {
        let mut at = id;
        // Bounded, because rows that are being checked may hold a cycle.
        (0..MOST_TOPICS).map_while(move |_| {
            (at != TopicId::ROOT).then(|| {
                at = self.parent(at);
                at
            })
        })
    }

    /// How far below the root.
    pub fn depth(&self, id: TopicId) -> usize {
        self.ancestors(id).count()
    }

    /// A topic and everything below it, each before what is below it.
    pub fn below(&self, id: TopicId) -> Vec<TopicId> {
        let (mut open, mut all) = (vec![id], Vec::new());
        while let Some(id) = open.pop() {
            all.push(id);
            open.extend(self.children(id).iter().rev());
        }
        all
    }

    /// The names from the root down: `/Science/Biology`; `/` for the root.
    pub fn path(&self, id: TopicId) -> String {
        let mut names: Vec<_> = self.ancestors(id).map(|above| self.name(above)).collect();
        names.reverse();
        names.push(self.name(id));
        if names.len() == 1 { "/".to_owned() } else { names.join("/") }
    }

    /// The topic with a path. The slash in front may be left out, one at the end too.
    pub fn find(&self, path: &str) -> Result<TopicId> {
        let mut at = TopicId::ROOT;
        for name in names(path) {
            at = self.child(at, name).ok_or_else(|| TaxonomyError::Unknown(path.to_owned()))?;
        }
        Ok(at)
    }

    /// The topic with a path, made together with those above it where they are missing.
    pub fn add_path(&mut self, path: &str) -> Result<TopicId> {
        let mut at = TopicId::ROOT;
        for name in names(path) {
            at = match self.child(at, name) {
                Some(child) => child,
                None => self.add(at, name)?,
            };
        }
        Ok(at)
    }

    /// A new topic below another.
    pub fn add(&mut self, parent: TopicId, name: &str) -> Result<TopicId> {
        let name = checked(name)?;
        self.known(parent)?;
        self.refuse_taken(parent, &name)?;
        if self.depth(parent) >= DEEPEST {
            return Err(TaxonomyError::TooDeep(self.joined(parent, &name)));
        }
        let id = self.free_id()?;
        let slot = usize::from(id.0);
        self.nodes.resize(self.nodes.len().max(slot + 1), None);
        self.nodes[slot] = Some(Node { parent, name, good: false, children: Vec::new() });
        self.node_mut(parent).children.push(id);
        Ok(id)
    }

    /// Gives a topic another name.
    pub fn rename(&mut self, id: TopicId, name: &str) -> Result<()> {
        let name = checked(name)?;
        self.known_below_root(id, "renamed")?;
        if name != self.name(id) {
            self.refuse_taken(self.parent(id), &name)?;
            self.node_mut(id).name = name;
        }
        Ok(())
    }

    /// Puts a topic, with everything below it, below another one.
    pub fn move_to(&mut self, id: TopicId, parent: TopicId) -> Result<()> {
        self.known_below_root(id, "moved")?;
        self.known(parent)?;
        if parent == id || self.ancestors(parent).any(|above| above == id) {
            return Err(TaxonomyError::Cycle { topic: self.path(id), parent: self.path(parent) });
        }
        let old = self.parent(id);
        if old == parent {
            return Ok(());
        }
        let name = self.name(id).to_owned();
        self.refuse_taken(parent, &name)?;
        let height =
            self.below(id).iter().map(|&below| self.depth(below)).max().unwrap_or(0) - self.depth(id);
        if self.depth(parent) + 1 + height > DEEPEST {
            return Err(TaxonomyError::TooDeep(self.joined(parent, &name)));
        }
        let above = std::iter::once(parent).chain(self.ancestors(parent)).find(|&above| self.is_good(above));
        if let (Some(above), Some(good)) =
            (above, self.below(id).into_iter().find(|&below| self.is_good(below)))
        {
            return Err(self.overlap(good, above, "above"));
        }
        self.node_mut(old).children.retain(|&child| child != id);
        self.node_mut(parent).children.push(id);
        self.node_mut(id).parent = parent;
        Ok(())
    }

    /// Gives every internal topic of these, and the root among them, a leaf `Other` for the examples that are
    /// about it and about nothing below it (A 3.1). Returns where whose examples go.
    pub fn add_others(&mut self, with_examples: &[TopicId]) -> Result<Vec<(TopicId, TopicId)>> {
        let internal: Vec<_> = with_examples.iter().copied().filter(|&id| !self.is_leaf(id)).collect();
        internal.into_iter().map(|id| Ok((id, self.add_other(id)?))).collect()
    }

    /// The leaf for what is about a topic and about nothing below it. One that there is already means the same,
    /// unless it has topics below it: then it is a topic like others.
    pub fn add_other(&mut self, id: TopicId) -> Result<TopicId> {
        let mut name = OTHER.to_owned();
        let mut number = 1;
        loop {
            match self.child(id, &name) {
                Some(child) if self.is_leaf(child) => return Ok(child),
                Some(_) => number += 1,
                None => return self.add(id, &name),
            }
            name = format!("{OTHER} {number}");
        }
    }

    /// Takes a topic out, with everything below it. Returns what went.
    pub fn remove(&mut self, id: TopicId) -> Result<Vec<TopicId>> {
        self.known_below_root(id, "removed")?;
        let gone = self.below(id);
        let parent = self.parent(id);
        self.node_mut(parent).children.retain(|&child| child != id);
        for gone in &gone {
            self.nodes[usize::from(gone.0)] = None;
        }
        Ok(gone)
    }

    /// Marks a topic good. Refused if one above or below it is good already.
    pub fn mark(&mut self, id: TopicId) -> Result<()> {
        self.known(id)?;
        if let Some(above) = self.ancestors(id).find(|&above| self.is_good(above)) {
            return Err(self.overlap(id, above, "above"));
        }
        if let Some(&below) = self.below(id)[1..].iter().find(|&&below| self.is_good(below)) {
            return Err(self.overlap(id, below, "below"));
        }
        self.node_mut(id).good = true;
        Ok(())
    }

    /// Takes the mark from a good topic.
    pub fn unmark(&mut self, id: TopicId) -> Result<()> {
        self.known(id)?;
        if !self.is_good(id) {
            return Err(TaxonomyError::NotGood(self.path(id)));
        }
        self.node_mut(id).good = false;
        Ok(())
    }

    /// Whether a topic is marked good.
    pub fn is_good(&self, id: TopicId) -> bool {
        self.get(id).is_some_and(|node| node.good)
    }

    /// The good topics, by id.
    pub fn good(&self) -> impl Iterator<Item = TopicId> + '_ {
        self.ids().filter(|&id| self.is_good(id))
    }

    /// What every topic means to the crawl, by id.
    pub fn marks(&self) -> Vec<Mark> {
        let mut marks = vec![Mark::Null; self.id_end()];
        for good in self.good() {
            self.ancestors(good).for_each(|above| marks[usize::from(above.0)] = Mark::Path);
            self.below(good).iter().for_each(|below| marks[usize::from(below.0)] = Mark::Subsumed);
            marks[usize::from(good.0)] = Mark::Good;
        }
        marks
    }

    fn get(&self, id: TopicId) -> Option<&Node> {
        self.nodes.get(usize::from(id.0))?.as_ref()
    }

    fn node(&self, id: TopicId) -> &Node {
        self.get(id).expect("a topic of this tree")
    }

    fn node_mut(&mut self, id: TopicId) -> &mut Node {
        self.nodes[usize::from(id.0)].as_mut().expect("a topic of this tree")
    }

    /// The topic right below another with a name.
    pub fn child(&self, parent: TopicId, name: &str) -> Option<TopicId> {
        self.children(parent).iter().copied().find(|&child| self.name(child) == name)
    }

    fn known(&self, id: TopicId) -> Result<()> {
        if self.contains(id) { Ok(()) } else { Err(TaxonomyError::Missing(id.0)) }
    }

    fn known_below_root(&self, id: TopicId, what: &'static str) -> Result<()> {
        if id == TopicId::ROOT { Err(TaxonomyError::Root(what)) } else { self.known(id) }
    }

    fn refuse_taken(&self, parent: TopicId, name: &str) -> Result<()> {
        match self.child(parent, name) {
            Some(child) => Err(TaxonomyError::Taken(self.path(child))),
            None => Ok(()),
        }
    }

    fn free_id(&self) -> Result<TopicId> {
        if self.nodes.len() < MOST_TOPICS {
            return Ok(TopicId(self.nodes.len() as u16));
        }
        let gap = self.nodes.iter().position(Option::is_none);
        gap.map(|gap| TopicId(gap as u16)).ok_or(TaxonomyError::Full)
    }

    fn overlap(&self, topic: TopicId, other: TopicId, relation: &'static str) -> TaxonomyError {
        TaxonomyError::Overlap { topic: self.path(topic), other: self.path(other), relation }
    }

    fn joined(&self, parent: TopicId, name: &str) -> String {
        format!("{}/{name}", self.path(parent).trim_end_matches('/'))
    }
}

/// One line a topic, indented, with its mark if it has one.
impl fmt::Display for Taxonomy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let marks = self.marks();
        for id in self.below(TopicId::ROOT) {
            let mark = match marks[usize::from(id.0)] {
                Mark::Null => String::new(),
                mark => format!("  [{mark}]"),
            };
            let name = if id == TopicId::ROOT { "/" } else { self.name(id) };
            writeln!(f, "{}{name}{mark}", "  ".repeat(self.depth(id)))?;
        }
        Ok(())
    }
}

/// The names in a path; empty ones do not count.
fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|name| !name.is_empty())
}

fn checked(name: &str) -> Result<String> {
    let name = name.trim();
    let bad =
        name.is_empty() || name.len() > LONGEST_NAME || name.contains(|c: char| c == '/' || c.is_control());
    if bad { Err(TaxonomyError::BadName(name.chars().take(60).collect())) } else { Ok(name.to_owned()) }
}
