//! What an html5ever tree says of a page: the judge of our extractor, in tests and in the benchmark.

use html5ever::driver::ParseOpts;
use html5ever::tendril::TendrilSink;
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{local_name, ns, parse_document};
use markup5ever_rcdom::{Handle, NodeData, RcDom};
use porthole_page::{Link, Page};
use porthole_types::CanonicalUrl;

/// What is compared.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Facts {
    pub(crate) title: String,
    pub(crate) leaves: Vec<String>,
    /// Of each leaf: elements around it, and how many of them are around the leaf in front of it too.
    pub(crate) depths: Vec<(u16, u16)>,
    pub(crate) links: Vec<LinkFacts>,
}

/// One link: where it leads, the leaves of its element, their text.
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

    /// Where the links lead.
    pub(crate) fn targets(&self) -> Vec<(&str, &str)> {
        self.links.iter().map(|link| (link.kind, link.target.as_str())).collect()
    }

    /// What the links say.
    pub(crate) fn anchors(&self) -> Vec<&str> {
        self.links.iter().map(|link| link.anchor.as_str()).collect()
    }

    /// Which leaves the links have.
    pub(crate) fn places(&self) -> Vec<(usize, usize)> {
        self.links.iter().map(|link| link.leaves).collect()
    }

    /// What our extractor says.
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

    /// What the tree says.
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
    /// The fewest elements around anything since the last leaf.
    lowest: u16,
    /// Reference, kind, first leaf, last leaf.
    links: Vec<(String, &'static str, usize, usize)>,
}

/// A step of the walk, with the number of elements around what it is about: done last first.
enum Todo {
    Visit(Handle, u16),
    Text(String, u16),
    EndLink(usize),
}

impl Walk {
    fn all(&mut self, document: &Handle) {
        let mut todo = children(document, 0);
        while let Some(step) = todo.pop() {
            match step {
                Todo::Visit(node, depth) => self.element(&node, depth, &mut todo),
                Todo::Text(text, depth) => self.leaf(folded(&text), depth),
                Todo::EndLink(link) => self.links[link].3 = self.leaves.len() - 1,
            }
        }
    }

    fn leaf(&mut self, text: String, depth: u16) {
        self.leaves.push(text);
        self.depths.push((depth, self.lowest.min(depth)));
        self.lowest = depth;
    }

    fn element(&mut self, node: &Handle, depth: u16, todo: &mut Vec<Todo>) {
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
            todo.push(Todo::EndLink(self.links.len() - 1));
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

/// A node's children from last to first: comments do not exist, and text of white space only neither.
fn children(node: &Handle, depth: u16) -> Vec<Todo> {
    let mut out: Vec<Todo> = Vec::new();
    for child in node.children.borrow().iter() {
        match &child.data {
            NodeData::Text { contents } => match out.last_mut() {
                Some(Todo::Text(text, _)) => text.push_str(&contents.borrow()),
                _ => out.push(Todo::Text(contents.borrow().to_string(), depth)),
            },
            NodeData::Element { .. } => out.push(Todo::Visit(child.clone(), depth)),
            _ => {}
        }
    }
    out.retain(|step| !matches!(step, Todo::Text(text, _) if folded(text).is_empty()));
    out.reverse();
    out
}

/// Elements whose content is no part of the page.
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
