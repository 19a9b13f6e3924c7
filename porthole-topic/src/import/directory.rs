//! A directory before pruning: any number of topics, with the examples of each.

use std::collections::HashMap;
use std::sync::Arc;

use super::names;
use crate::{DEEPEST, TaxonomyError};

/// A topic tree of any size, with the numbers of the examples in each node.
///
/// The caller numbers the examples as it streams them, and after pruning picks the selected ones in a second pass: the
/// whole Open Directory takes 4 bytes an example and about 150 a topic.
#[derive(Clone, Debug)]
pub struct Directory {
    /// The root first, parents before children.
    pub(crate) nodes: Vec<DirectoryNode>,
}

#[derive(Clone, Debug)]
pub(crate) struct DirectoryNode {
    pub(crate) parent: u32,
    pub(crate) name: Arc<str>,
    pub(crate) examples: Vec<u32>,
    children: HashMap<Arc<str>, u32>,
}

impl Default for Directory {
    fn default() -> Self {
        Directory::new()
    }
}

impl Directory {
    /// A directory with only a root.
    pub fn new() -> Self {
        Directory { nodes: vec![DirectoryNode::new(0, Arc::from(""))] }
    }

    /// A directory of examples, given as topic path and number.
    pub fn of<P: AsRef<str>>(examples: impl IntoIterator<Item = (P, u32)>) -> Result<Self, TaxonomyError> {
        let mut directory = Directory::new();
        for (path, example) in examples {
            directory.add(path.as_ref(), example)?;
        }
        Ok(directory)
    }

    /// Adds an example to a topic; missing topics on the path are created. An example may be in several topics;
    /// duplicates in one topic are ignored.
    pub fn add(&mut self, path: &str, example: u32) -> Result<(), TaxonomyError> {
        let node = self.node(path)?;
        self.nodes[node].examples.push(example);
        Ok(())
    }

    /// Number of topics, including the root.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether the directory has neither topics besides the root nor examples.
    pub fn is_empty(&self) -> bool {
        self.nodes.len() == 1 && self.nodes[0].examples.is_empty()
    }

    fn node(&mut self, path: &str) -> Result<usize, TaxonomyError> {
        let names = path.split('/').map(str::trim).filter(|name| !name.is_empty());
        if names.clone().count() > DEEPEST {
            return Err(TaxonomyError::TooDeep(path.to_owned()));
        }
        if let Some(bad) = names.clone().find(|name| !names::is_valid(name)) {
            return Err(TaxonomyError::BadName(bad.chars().take(60).collect()));
        }
        Ok(names.fold(0, |at, name| self.child(at, name)))
    }

    fn child(&mut self, parent: usize, name: &str) -> usize {
        if let Some(&child) = self.nodes[parent].children.get(name) {
            return child as usize;
        }
        let (child, name) = (self.nodes.len(), Arc::<str>::from(name));
        self.nodes[parent].children.insert(name.clone(), child as u32);
        self.nodes.push(DirectoryNode::new(parent as u32, name));
        child
    }
}

impl DirectoryNode {
    fn new(parent: u32, name: Arc<str>) -> Self {
        DirectoryNode { parent, name, examples: Vec::new(), children: HashMap::new() }
    }
}
