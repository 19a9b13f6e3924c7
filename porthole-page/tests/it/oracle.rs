//! Page properties by an html5ever tree: the reference for the extractor, in tests and in the benchmark.

use html5ever::driver::ParseOpts;
use html5ever::tendril::TendrilSink;
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{local_name, ns, parse_document};
use markup5ever_rcdom::{Handle, NodeData, RcDom};
use porthole_page::{Link, Page};
use porthole_types::CanonicalUrl;

/// The compared properties.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Facts {
    pub(crate) title: String,
    pub(crate) leaves: Vec<String>,
    /// By leaf: number of elements around it, and number of them that are also around the previous leaf.
    pub(crate) depths: Vec<(u16, u16)>,
    pub(crate) links: Vec<LinkFacts>,
}

/// A link: target, leaves of its element, their text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LinkFacts {
    pub(crate) target: String,
    pub(crate) kind: &'static str,
    pub(crate) leaves: (usize, usize),
    pub(crate) anchor: String,
}

impl Facts {
    /// The visible text.
    pub(crate) fn text(&self) -> String {
        joined(&self.leaves)
    }

    /// Targets of the links.
    pub(crate) fn targets(&self) -> Vec<(&str, &str)> {
        self.links.iter().map(|link| (link.kind, link.target.as_str())).collect()
    }

    /// Anchor texts of the links.
    pub(crate) fn anchors(&self) -> Vec<&str> {
        self.links.iter().map(|link| link.anchor.as_str()).collect()
    }

    /// Leaves of the links.
    pub(crate) fn places(&self) -> Vec<(usize, usize)> {
        self.links.iter().map(|link| link.leaves).collect()
    }

    /// Properties by the extractor.
    pub(crate) fn of_page(page: &Page) -> Facts {
        let link = |link: &Link| LinkFacts {
            target: link.target.to_string(),
            kind: link.kind.name(),
            leaves: (link.first_leaf as usize, link.last_leaf as usize),
            anchor: page.anchor_text(link).to_owned(),
        };
        let leaves = || (0..page.leaf_count()).map(|number| page.leaf(number).unwrap());
        Facts {
            title: page.title.clone(),
            leaves: leaves().map(|leaf| leaf.text.to_owned()).collect(),
            depths: leaves().map(|leaf| (leaf.depth, leaf.shared)).collect(),
            links: page.links.iter().map(link).collect(),
        }
    }

    /// Properties by the tree.
    pub(crate) fn of_tree(url: &CanonicalUrl, html: &str) -> Facts {
        let tree_builder = TreeBuilderOpts { scripting_enabled: false, ..Default::default() };
        let options = ParseOpts { tree_builder, ..Default::default() };
        let dom = parse_document(RcDom::default(), options).one(html);
        let mut walk = Walk::default();
        walk.all(&dom.document);
        walk.facts(url)
    }
}

#[derive(Default)]
struct Walk {
    title: Option<String>,
    base: Option<String>,
    leaves: Vec<String>,
    depths: Vec<(u16, u16)>,
    /// Lowest depth since the last leaf.
    lowest: u16,
    /// Reference, kind, first leaf, last leaf.
    links: Vec<(String, &'static str, usize, usize)>,
}

/// A step of the walk, with its depth; a stack.
enum WalkStep {
    Visit(Handle, u16),
    Text(String, u16),
    EndLink(usize),
}

impl Walk {
    fn all(&mut self, document: &Handle) {
        let mut todo = children(document, 0);
        while let Some(step) = todo.pop() {
            match step {
                WalkStep::Visit(node, depth) => self.element(&node, depth, &mut todo),
                WalkStep::Text(text, depth) => self.leaf(folded(&text), depth),
                WalkStep::EndLink(link) => self.links[link].3 = self.leaves.len() - 1,
            }
        }
    }

    fn leaf(&mut self, text: String, depth: u16) {
        self.leaves.push(text);
        self.depths.push((depth, self.lowest.min(depth)));
        self.lowest = depth;
    }

    fn element(&mut self, node: &Handle, depth: u16, todo: &mut Vec<WalkStep>) {
        let NodeData::Element { name, .. } = &node.data else { return };
        self.lowest = self.lowest.min(depth);
        let is_html = name.ns == ns!(html);
        if is_html && name.local == local_name!("title") && self.title.is_none() {
            self.title = Some(folded(&content(node)));
        }
        if is_html && name.local == local_name!("base") && self.base.is_none() {
            self.base = attribute(node, "href");
        }
        if let Some((reference, kind)) = is_html.then(|| link(node)).flatten() {
            self.links.push((reference, kind, self.leaves.len(), self.leaves.len()));
            todo.push(WalkStep::EndLink(self.links.len() - 1));
        }
        let children = if is_html && is_opaque(&name.local) { Vec::new() } else { children(node, depth + 1) };
        let is_frame = is_html && matches!(&*name.local, "html" | "head" | "body");
        if children.is_empty() && !is_frame {
            self.leaf(String::new(), depth);
        }
        todo.extend(children);
    }

    fn facts(self, url: &CanonicalUrl) -> Facts {
        let base = self.base.and_then(|base| url.join(&base).ok()).unwrap_or_else(|| url.clone());
        let links = self.links.into_iter().filter_map(|(reference, kind, first, last)| {
            let target = base.join(&reference).ok()?.to_string();
            Some(LinkFacts {
                target,
                kind,
                leaves: (first, last),
                anchor: joined(&self.leaves[first..=last]),
            })
        });
        Facts {
            title: self.title.unwrap_or_default(),
            links: links.collect(),
            leaves: self.leaves,
            depths: self.depths,
        }
    }
}

/// Children of a node from last to first, without comments and white space text.
fn children(node: &Handle, depth: u16) -> Vec<WalkStep> {
    let mut out: Vec<WalkStep> = Vec::new();
    for child in node.children.borrow().iter() {
        match &child.data {
            NodeData::Text { contents } => match out.last_mut() {
                Some(WalkStep::Text(text, _)) => text.push_str(&contents.borrow()),
                _ => out.push(WalkStep::Text(contents.borrow().to_string(), depth)),
            },
            NodeData::Element { .. } => out.push(WalkStep::Visit(child.clone(), depth)),
            _ => {}
        }
    }
    out.retain(|step| !matches!(step, WalkStep::Text(text, _) if folded(text).is_empty()));
    out.reverse();
    out
}

/// Elements whose content is not part of the page.
fn is_opaque(name: &str) -> bool {
    matches!(name, "script" | "style" | "textarea" | "title" | "iframe" | "noembed" | "noframes" | "template")
}

fn link(node: &Handle) -> Option<(String, &'static str)> {
    let NodeData::Element { name, .. } = &node.data else { return None };
    match &*name.local {
        "a" => Some((attribute(node, "href")?, "anchor")),
        "area" => Some((attribute(node, "href")?, "area")),
        "frame" => Some((attribute(node, "src")?, "frame")),
        "iframe" => Some((attribute(node, "src")?, "iframe")),
        "link" => {
            let rel = attribute(node, "rel")?.to_ascii_lowercase();
            let kind = rel.split_ascii_whitespace().find_map(|word| match word {
                "next" => Some("next"),
                "prev" | "previous" => Some("prev"),
                "canonical" => Some("canonical"),
                _ => None,
            })?;
            Some((attribute(node, "href")?, kind))
        }
        _ => None,
    }
}

fn attribute(node: &Handle, wanted: &str) -> Option<String> {
    let NodeData::Element { attrs, .. } = &node.data else { return None };
    attrs.borrow().iter().find(|a| &*a.name.local == wanted).map(|a| a.value.to_string())
}

fn content(node: &Handle) -> String {
    let text = |child: &Handle| match &child.data {
        NodeData::Text { contents } => contents.borrow().to_string(),
        _ => String::new(),
    };
    node.children.borrow().iter().map(text).collect()
}

fn folded(text: &str) -> String {
    text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}

fn joined(leaves: &[String]) -> String {
    let with_text: Vec<&str> = leaves.iter().map(String::as_str).filter(|leaf| !leaf.is_empty()).collect();
    with_text.join(" ")
}
