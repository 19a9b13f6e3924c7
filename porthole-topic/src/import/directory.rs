//! A directory before it is pruned: any number of topics, with the examples of each.

use std::collections::HashMap;
use std::sync::Arc;

use super::names;
use crate::{DEEPEST, TaxonomyError};

/// A tree of topics without bound, with the numbers of the examples in all nodes.
///
/// A caller numbers the examples as they stream by, and after pruning picks the chosen ones in a second pass: the whole
/// Open Directory takes 4 bytes an example and some 150 a topic.
#[derive(Clone, Debug)]
pub struct Directory {
    /// The root first, and each before those below it.
    pub(crate) nodes: Vec<Node>,
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
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
    /// Nothing but a root.
    pub fn new() -> Self {
        Directory { nodes: vec![Node::new(0, Arc::from(""))] }
    }

    /// A directory of examples, each the path of its topic and a number.
    pub fn of<P: AsRef<str>>(examples: impl IntoIterator<Item = (P, u32)>) -> Result<Self, TaxonomyError> {
        let mut directory = Directory::new();
        for (path, example) in examples {
            directory.add(path.as_ref(), example)?;
        }
        Ok(directory)
    }

    /// Puts an example into a topic, which is made together with those above it where they are missing. The same example
    /// may be in several topics; twice in one counts once.
    pub fn add(&mut self, path: &str, example: u32) -> Result<(), TaxonomyError> {
        let node = self.node(path)?;
        self.nodes[node].examples.push(example);
        Ok(())
    }

    /// How many topics there are, the root included.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is nothing but the root, and no example in it.
    pub fn is_empty(&self) -> bool {
        self.nodes.len() == 1 && self.nodes[0].examples.is_empty()
    }

    fn node(&mut self, path: &str) -> Result<usize, TaxonomyError> {
        let names = path.split('/').map(str::trim).filter(|name| !name.is_empty());
        if names.clone().count() > DEEPEST {
            return Err(TaxonomyError::TooDeep(path.to_owned()));
        }
        if let Some(bad) = names.clone().find(|name| !names::is_legal(name)) {
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
        self.nodes.push(Node::new(parent as u32, name));
        child
    }
}

impl Node {
    fn new(parent: u32, name: Arc<str>) -> Self {
        Node { parent, name, examples: Vec::new(), children: HashMap::new() }
    }
}
