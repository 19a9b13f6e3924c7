//! The topic tree, and the marks that define the crawl's goal.

mod similar;

use std::fmt;

use porthole_types::{Mark, TopicId, TopicRow};

/// A tree of topics with marks.
///
/// A topic's id never changes: it is in tables and models, so the id of a removed topic is reused only when all others
/// are taken. No good topic is an ancestor of another (V 1.1); the other marks are derived from the good ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taxonomy {
    /// By id; `None` for a removed topic.
    nodes: Vec<Option<TopicNode>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct TopicNode {
    parent: TopicId,
    name: String,
    good: bool,
    /// In insertion order.
    children: Vec<TopicId>,
}

/// Errors of changes to the tree.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TaxonomyError {
    /// No topic has this path.
    #[error("no topic {path}{}; `porthole topics tree` lists all topics", did_you_mean(similar))]
    Unknown {
        /// The path.
        path: String,
        /// Paths of topics with such a name.
        similar: Vec<String>,
    },
    /// Rows refer to a topic that is not among them.
    #[error("topic {0} is missing from the tree")]
    Missing(u16),
    /// The name cannot be part of a path.
    #[error(
        "{0:?} is not a valid topic name: a name has no '/', no control characters, and at most 200 bytes"
    )]
    BadName(String),
    /// A sibling already has the name.
    #[error("a topic {0} already exists")]
    Taken(String),
    /// All 16-bit ids are in use.
    #[error("the tree is full: it can have at most {most} topics", most = MOST_TOPICS)]
    Full,
    /// The path has too many levels.
    #[error("{0} is too deep: a path has at most {most} names", most = DEEPEST)]
    TooDeep(String),
    /// The root cannot be changed.
    #[error("the root cannot be {0}")]
    Root(&'static str),
    /// A topic cannot become its own descendant.
    #[error("{topic} cannot move below {parent}, which is a part of it")]
    Cycle {
        /// The topic to move.
        topic: String,
        /// The new parent.
        parent: String,
    },
    /// Another topic on the same path is good.
    #[error("{topic} cannot be good while {other}, {relation} it, is good; unmark that first")]
    Overlap {
        /// The topic to mark.
        topic: String,
        /// The topic that is good.
        other: String,
        /// Relation of the other topic to this one.
        relation: &'static str,
    },
    /// The topic is not marked good.
    #[error("{0} is not marked good")]
    NotGood(String),
}

/// Maximum number of topics, given by 16-bit ids (V 2.1.3).
pub const MOST_TOPICS: usize = 1 << 16;

/// Maximum number of names in a path: far above any directory, and low enough for recursion.
pub const DEEPEST: usize = 64;

/// Name of the leaf for pages about a topic but none of its children (A 3.1).
pub const OTHER: &str = "Other";

/// Maximum length of a name in bytes.
pub(crate) const LONGEST_NAME: usize = 200;

type Result<T> = std::result::Result<T, TaxonomyError>;

impl Default for Taxonomy {
    fn default() -> Self {
        Taxonomy::new()
    }
}

impl TaxonomyError {
    /// Whether a topic is unknown, and others have such a name.
    pub fn has_similar(&self) -> bool {
        matches!(self, TaxonomyError::Unknown { similar, .. } if !similar.is_empty())
    }
}

fn did_you_mean(similar: &[String]) -> String {
    if similar.is_empty() { String::new() } else { format!(" (did you mean {}?)", similar.join(" or ")) }
}

impl Taxonomy {
    /// A tree with only the root.
    pub fn new() -> Self {
        let root =
            TopicNode { parent: TopicId::ROOT, name: String::new(), good: false, children: Vec::new() };
        Taxonomy { nodes: vec![Some(root)] }
    }

    /// Builds the tree of these rows, in any order. The marks `path` and `subsumed` are ignored, because they are
    /// derived.
    pub fn from_rows(rows: &[TopicRow]) -> Result<Self> {
        let mut tree = Taxonomy::new();
        let most = rows.iter().map(|row| usize::from(row.id.0)).max().unwrap_or(0);
        tree.nodes.resize(most + 1, None);
        let mut sorted: Vec<_> = rows.iter().filter(|row| row.id != TopicId::ROOT).collect();
        sorted.sort_by_key(|row| row.id);
        for row in &sorted {
            let name = checked(&row.name)?;
            let node = TopicNode { parent: row.parent, name, good: false, children: Vec::new() };
            if tree.nodes[usize::from(row.id.0)].replace(node).is_some() {
                return Err(TaxonomyError::Taken(row.name.clone()));
            }
        }
        for row in &sorted {
            if tree.get(row.parent).is_none() {
                return Err(TaxonomyError::Missing(row.parent.0));
            }
            tree.check_name_is_free(row.parent, &row.name)?;
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

    /// Number of topics, including the root.
    pub fn len(&self) -> usize {
        self.ids().count()
    }

    /// Whether there is only the root.
    pub fn is_empty(&self) -> bool {
        self.len() == 1
    }

    /// The largest id plus 1: the length of a table by id.
    pub fn id_end(&self) -> usize {
        self.nodes.len()
    }

    /// Whether the tree has a topic with this id.
    pub fn contains(&self, id: TopicId) -> bool {
        self.get(id).is_some()
    }

    /// A topic's name; empty for the root.
    pub fn name(&self, id: TopicId) -> &str {
        self.get(id).map_or("", |node| &node.name)
    }

    /// Parent of a topic; the root's parent is the root.
    pub fn parent(&self, id: TopicId) -> TopicId {
        self.get(id).map_or(TopicId::ROOT, |node| node.parent)
    }

    /// Children of a topic.
    pub fn children(&self, id: TopicId) -> &[TopicId] {
        self.get(id).map_or(&[], |node| &node.children)
    }

    /// Whether a topic has no children.
    pub fn is_leaf(&self, id: TopicId) -> bool {
        self.children(id).is_empty()
    }

    /// Ancestors, from the parent to the root; none for the root.
    pub fn ancestors(&self, id: TopicId) -> impl Iterator<Item = TopicId> + '_ {
        let mut at = id;
        // Bounded, because rows that are being checked may have a cycle.
        (0..MOST_TOPICS).map_while(move |_| {
            (at != TopicId::ROOT).then(|| {
                at = self.parent(at);
                at
            })
        })
    }

    /// Number of levels below the root.
    pub fn depth(&self, id: TopicId) -> usize {
        self.ancestors(id).count()
    }

    /// A topic and all its descendants, parents before children.
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

    /// The topic with a path. The leading slash is optional, and a trailing slash is ignored.
    pub fn find(&self, path: &str) -> Result<TopicId> {
        let mut at = TopicId::ROOT;
        for name in names(path) {
            at = self.child(at, name).ok_or_else(|| self.unknown(path))?;
        }
        Ok(at)
    }

    fn unknown(&self, path: &str) -> TaxonomyError {
        TaxonomyError::Unknown { path: path.to_owned(), similar: similar::similar(self, path) }
    }

    /// The topic with a path; missing topics on the path are added.
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

    /// Adds a topic below another.
    pub fn add(&mut self, parent: TopicId, name: &str) -> Result<TopicId> {
        let name = checked(name)?;
        self.known(parent)?;
        self.check_name_is_free(parent, &name)?;
        if self.depth(parent) >= DEEPEST {
            return Err(TaxonomyError::TooDeep(self.joined(parent, &name)));
        }
        let id = self.free_id()?;
        let slot = usize::from(id.0);
        self.nodes.resize(self.nodes.len().max(slot + 1), None);
        self.nodes[slot] = Some(TopicNode { parent, name, good: false, children: Vec::new() });
        self.node_mut(parent).children.push(id);
        Ok(id)
    }

    /// Renames a topic.
    pub fn rename(&mut self, id: TopicId, name: &str) -> Result<()> {
        let name = checked(name)?;
        self.check_below_root(id, "renamed")?;
        if name != self.name(id) {
            self.check_name_is_free(self.parent(id), &name)?;
            self.node_mut(id).name = name;
        }
        Ok(())
    }

    /// Moves a topic with all its descendants below another one.
    pub fn move_to(&mut self, id: TopicId, parent: TopicId) -> Result<()> {
        self.check_below_root(id, "moved")?;
        self.known(parent)?;
        if parent == id || self.ancestors(parent).any(|above| above == id) {
            return Err(TaxonomyError::Cycle { topic: self.path(id), parent: self.path(parent) });
        }
        let old = self.parent(id);
        if old == parent {
            return Ok(());
        }
        let name = self.name(id).to_owned();
        self.check_name_is_free(parent, &name)?;
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

    /// Gives each internal topic among these, including the root, a leaf `Other` for the examples that belong to none
    /// of its children (A 3.1). Returns pairs of topic and leaf.
    pub fn add_others(&mut self, with_examples: &[TopicId]) -> Result<Vec<(TopicId, TopicId)>> {
        let internal: Vec<_> = with_examples.iter().copied().filter(|&id| !self.is_leaf(id)).collect();
        internal.into_iter().map(|id| Ok((id, self.add_other(id)?))).collect()
    }

    /// The leaf for pages about a topic but none of its children, added if missing. An existing `Other` with children
    /// is an ordinary topic.
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

    /// Removes a topic with all its descendants, and returns them.
    pub fn remove(&mut self, id: TopicId) -> Result<Vec<TopicId>> {
        self.check_below_root(id, "removed")?;
        let gone = self.below(id);
        let parent = self.parent(id);
        self.node_mut(parent).children.retain(|&child| child != id);
        for gone in &gone {
            self.nodes[usize::from(gone.0)] = None;
        }
        Ok(gone)
    }

    /// Marks a topic good. Fails if an ancestor or descendant is good.
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

    /// Removes the mark of a good topic.
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

    /// Marks of all topics, by id.
    pub fn marks(&self) -> Vec<Mark> {
        let mut marks = vec![Mark::Null; self.id_end()];
        for good in self.good() {
            self.ancestors(good).for_each(|above| marks[usize::from(above.0)] = Mark::Path);
            self.below(good).iter().for_each(|below| marks[usize::from(below.0)] = Mark::Subsumed);
            marks[usize::from(good.0)] = Mark::Good;
        }
        marks
    }

    fn get(&self, id: TopicId) -> Option<&TopicNode> {
        self.nodes.get(usize::from(id.0))?.as_ref()
    }

    fn node(&self, id: TopicId) -> &TopicNode {
        self.get(id).expect("a topic of this tree")
    }

    fn node_mut(&mut self, id: TopicId) -> &mut TopicNode {
        self.nodes[usize::from(id.0)].as_mut().expect("a topic of this tree")
    }

    /// The child of a topic with a name.
    pub fn child(&self, parent: TopicId, name: &str) -> Option<TopicId> {
        self.children(parent).iter().copied().find(|&child| self.name(child) == name)
    }

    fn known(&self, id: TopicId) -> Result<()> {
        if self.contains(id) { Ok(()) } else { Err(TaxonomyError::Missing(id.0)) }
    }

    fn check_below_root(&self, id: TopicId, what: &'static str) -> Result<()> {
        if id == TopicId::ROOT { Err(TaxonomyError::Root(what)) } else { self.known(id) }
    }

    fn check_name_is_free(&self, parent: TopicId, name: &str) -> Result<()> {
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

/// One line per topic, indented, with its mark if it has one.
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

/// The names in a path, without empty ones.
fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|name| !name.is_empty())
}

fn checked(name: &str) -> Result<String> {
    let name = name.trim();
    let bad =
        name.is_empty() || name.len() > LONGEST_NAME || name.contains(|c: char| c == '/' || c.is_control());
    if bad { Err(TaxonomyError::BadName(name.chars().take(60).collect())) } else { Ok(name.to_owned()) }
}
