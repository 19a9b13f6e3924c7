//! The link graph between selected pages, as GraphML or as a list of edges.

use std::ops::RangeInclusive;

use porthole_store::{RowTable, StoreReader, StoredLink, StoredPage};
use porthole_topic::Taxonomy;

use crate::page_row::{rfc3339, topic_path};
use crate::{ExportOutput, ExportPages, ExportSource, Result};

/// Formats of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphFormat {
    /// GraphML, with the columns of pages as attributes.
    GraphMl,
    /// Lines of source, target and anchor text, separated by tabs.
    Edges,
}

/// Numbers of a graph that was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExportedGraph {
    /// Selected pages.
    pub pages: u64,
    /// Links between them.
    pub links: u64,
}

/// Rows that are read in one transaction.
const STEP: u64 = 4_000;

/// Writes the graph of the selected pages and the links between them. Which pages are selected is kept in memory, a bit
/// a known URL.
pub fn export_graph(
    source: &ExportPages<'_>,
    reader: &dyn StoreReader,
    tree: &Taxonomy,
    format: GraphFormat,
    mut output: ExportOutput,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<ExportedGraph> {
    output.resume("")?;
    output.begin_file()?;
    let (last_page, last_link) = (source.last_row()?, reader.last_row(RowTable::Edge)?);
    let total = last_page.saturating_add(last_link);
    let mut selected = RowSet::default();
    let mut done = ExportedGraph::default();
    if format == GraphFormat::GraphMl {
        output.write(HEAD.as_bytes())?;
    }
    for range in ranges(last_page) {
        let end = *range.end();
        for page in source.rows(range)? {
            selected.insert(page.row);
            done.pages += 1;
            if format == GraphFormat::GraphMl {
                output.write(node(&page, tree).as_bytes())?;
            }
        }
        progress(end, total);
    }
    for range in ranges(last_link) {
        let end = *range.end();
        for link in reader.links(range)? {
            if !selected.contains(link.source_row) || !selected.contains(link.target_row) {
                continue;
            }
            done.links += 1;
            let text = match format {
                GraphFormat::GraphMl => edge(&link),
                GraphFormat::Edges => {
                    format!("{}\t{}\t{}\n", link.source, link.target, one_line(&link.anchor))
                }
            };
            output.write(text.as_bytes())?;
        }
        progress(last_page.saturating_add(end), total);
    }
    if format == GraphFormat::GraphMl {
        output.write(b"</graph>\n</graphml>\n")?;
    }
    output.finish()?;
    Ok(done)
}

/// Ranges of rows up to the last one.
fn ranges(last: u64) -> impl Iterator<Item = RangeInclusive<u64>> {
    (0..last.div_ceil(STEP)).map(move |step| step * STEP + 1..=last.min((step + 1) * STEP))
}

/// A set of row numbers, a bit each.
#[derive(Default)]
struct RowSet(Vec<u64>);

impl RowSet {
    fn insert(&mut self, row: u64) {
        let (word, bit) = place(row);
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= bit;
    }

    fn contains(&self, row: u64) -> bool {
        let (word, bit) = place(row);
        self.0.get(word).is_some_and(|word| word & bit != 0)
    }
}

fn place(row: u64) -> (usize, u64) {
    (usize::try_from(row / 64).unwrap_or(usize::MAX), 1 << (row % 64))
}

const HEAD: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="url" for="node" attr.name="url" attr.type="string"/>
<key id="title" for="node" attr.name="title" attr.type="string"/>
<key id="topic" for="node" attr.name="topic" attr.type="string"/>
<key id="language" for="node" attr.name="language" attr.type="string"/>
<key id="relevance" for="node" attr.name="relevance" attr.type="double"/>
<key id="hub" for="node" attr.name="hub" attr.type="double"/>
<key id="authority" for="node" attr.name="authority" attr.type="double"/>
<key id="distance" for="node" attr.name="distance" attr.type="int"/>
<key id="anchor" for="edge" attr.name="anchor" attr.type="string"/>
<key id="discovered" for="edge" attr.name="discovered" attr.type="string"/>
<graph edgedefault="directed">
"#;

fn node(page: &StoredPage, tree: &Taxonomy) -> String {
    let score = |score: Option<f64>| score.map(|score| score.to_string());
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let data = [
        ("url", Some(page.url.clone())),
        ("title", text(&page.title)),
        ("topic", page.best.and_then(|best| topic_path(tree, best))),
        ("language", text(&page.language)),
        ("relevance", score(page.relevance)),
        ("hub", score(page.hub)),
        ("authority", score(page.authority)),
        ("distance", Some(page.depth.to_string())),
    ];
    format!("<node id=\"n{}\">{}</node>\n", page.row, data_elements(data))
}

fn edge(link: &StoredLink) -> String {
    let anchor = (!link.anchor.is_empty()).then(|| link.anchor.clone());
    let data = data_elements([("anchor", anchor), ("discovered", Some(rfc3339(link.discovered)))]);
    format!("<edge source=\"n{}\" target=\"n{}\">{data}</edge>\n", link.source_row, link.target_row)
}

fn data_elements<const N: usize>(data: [(&str, Option<String>); N]) -> String {
    let element = |(key, value): (&str, Option<String>)| {
        value.map(|value| format!("<data key=\"{key}\">{}</data>", escaped(&value)))
    };
    data.into_iter().filter_map(element).collect()
}

/// Text for XML: without the characters that it must not have at all.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' => out.push(c),
            '\u{0}'..'\u{20}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Text without tabs and line ends.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
