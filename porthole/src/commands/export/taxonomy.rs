//! `porthole export taxonomy`: the topic tree with marks and the counts of its examples, without the pages.

use std::fs;

use anyhow::Context;
use porthole_store::{ExampleState, StoreReader};
use porthole_topic::{Pretrained, Taxonomy, TopicExample};
use porthole_types::{TermId, TopicId};
use serde::Serialize;

use crate::cli;
use crate::output::{self, count, misuse};
use crate::workspace;

/// The result, for `--json`.
#[derive(Serialize)]
struct TaxonomySummary {
    topics: usize,
    good: usize,
    /// Examples of this workspace that were counted.
    examples: usize,
    terms: usize,
}

pub(super) fn run(
    reader: &dyn StoreReader,
    tree: &Taxonomy,
    arguments: &cli::ExportTaxonomy,
) -> anyhow::Result<()> {
    if tree.is_empty() {
        return Err(misuse(
            "there are no topics yet: run `porthole topics add PATH` or `porthole examples import FILE`",
        ));
    }
    let (taxonomy, examples) = shared(reader, tree)?;
    let path = &arguments.output;
    let part = path.with_added_extension("part");
    fs::write(&part, taxonomy.to_bytes()).with_context(|| part.display().to_string())?;
    fs::rename(&part, path).with_context(|| path.display().to_string())?;
    let summary = TaxonomySummary {
        topics: tree.len() - 1,
        good: tree.good().count(),
        examples,
        terms: taxonomy.words.len(),
    };
    if arguments.json {
        return output::print_json(&summary);
    }
    output::say(&format!(
        "exported {} ({} good) with the counts of {} to {}",
        count(summary.topics, "topic"),
        summary.good,
        count(examples, "example"),
        path.display()
    ));
    Ok(())
}

/// The tree with everything that was counted at its topics: the counts that it came with, and those of the examples.
fn shared(reader: &dyn StoreReader, tree: &Taxonomy) -> anyhow::Result<(Pretrained, usize)> {
    let inherited = workspace::pretrained_of(reader)?;
    let (mut statistics, mut tunings, mut words) = inherited
        .map(|inherited| (inherited.statistics, inherited.tunings, inherited.words))
        .unwrap_or_default();
    let mut examples = 0;
    reader.visit_examples(&mut |example, terms| {
        if example.state == ExampleState::Ok && example.topic != TopicId::ROOT {
            statistics.add(TopicExample { topic: example.topic, counts: terms });
            examples += 1;
        }
    })?;
    let gone: Vec<TopicId> =
        statistics.topics().map(|(topic, _)| topic).filter(|topic| !tree.contains(*topic)).collect();
    gone.into_iter().for_each(|topic| statistics.forget(topic));
    tunings.retain(|&topic, _| tree.contains(topic));
    let mut terms: Vec<TermId> =
        statistics.topics().flat_map(|(_, topic)| topic.terms().map(|(term, _)| term)).collect();
    terms.sort_unstable();
    terms.dedup();
    terms.retain(|term| !words.contains_key(term));
    const PIECE: usize = 10_000;
    for piece in terms.chunks(PIECE) {
        let named = piece.iter().zip(reader.words(piece)?);
        words.extend(named.filter_map(|(term, word)| Some((*term, word?))));
    }
    let source = format!("exported by porthole {}", env!("CARGO_PKG_VERSION"));
    Ok((Pretrained { source, tree: tree.clone(), statistics, tunings, words }, examples))
}
