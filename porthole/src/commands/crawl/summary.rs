//! The summary that a crawl prints at its end.

use porthole_store::{SqlValue, StoreCounts, StoreReader};
use porthole_topic::Taxonomy;
use porthole_types::TopicId;
use serde::Serialize;

use super::super::broaden;
use super::watch::Watch;
use crate::output;

/// Message for a full disk.
pub(super) const DISK_IS_FULL: &str = "the disk is full; free some space and run the same command to resume";

/// The figures of a run.
#[derive(Serialize)]
pub(super) struct Summary {
    strategy: String,
    pub(super) stop: &'static str,
    fetches: u64,
    pages: u64,
    failures: u64,
    failures_by_kind: Vec<(&'static str, u64)>,
    harvest: f64,
    copies: u64,
    on_topic: u64,
    pages_in_all: usize,
    known: usize,
    queued: usize,
    links: usize,
    sites: usize,
    seconds: f64,
}

impl Summary {
    pub(super) fn new(watch: &Watch, strategy: &str, stop: &'static str, counts: StoreCounts) -> Self {
        let failures_by_kind = watch.failures();
        Summary {
            strategy: strategy.to_owned(),
            stop,
            fetches: watch.fetches,
            pages: watch.pages,
            failures: failures_by_kind.iter().map(|(_, count)| count).sum(),
            failures_by_kind,
            harvest: watch.harvest(),
            copies: watch.copies,
            on_topic: watch.on_topic,
            pages_in_all: counts.fetched,
            known: counts.known,
            queued: counts.queued,
            links: counts.links,
            sites: counts.sites,
            seconds: watch.seconds(),
        }
    }

    pub(super) fn print(&self) {
        let rate = self.fetches as f64 / self.seconds.max(1e-9);
        let mut rows = vec![
            (format!("fetches, {}", self.strategy), self.fetches.to_string()),
            ("  pages".to_owned(), self.pages.to_string()),
            ("  failed".to_owned(), self.failures.to_string()),
        ];
        if self.copies > 0 {
            rows.insert(2, ("    duplicates".to_owned(), self.copies.to_string()));
        }
        let kinds =
            self.failures_by_kind.iter().map(|(kind, count)| (format!("    {kind}"), count.to_string()));
        rows.extend(kinds);
        rows.extend([
            ("harvest rate (mean relevance)".to_owned(), format!("{:.3}", self.harvest)),
            ("pages on a good topic".to_owned(), self.on_topic.to_string()),
            ("pages of all runs".to_owned(), self.pages_in_all.to_string()),
            ("URLs known".to_owned(), self.known.to_string()),
            ("URLs queued".to_owned(), self.queued.to_string()),
            ("links".to_owned(), self.links.to_string()),
            ("sites".to_owned(), self.sites.to_string()),
            ("fetches per second".to_owned(), format!("{rate:.0}")),
        ]);
        output::print_rows(&rows);
        output::print(&format!("\n{}", self.in_words()));
    }

    fn in_words(&self) -> &'static str {
        match self.stop {
            "limit" => "stopped; run the same command to resume",
            "size" => "reached --bytes; run the same command to resume",
            "disk" => "reached --disk; raise it and run the same command to resume",
            "exhausted" => "finished: no known URL is left to fetch",
            "waiting" => "the URLs left wait for a retry; run the same command later",
            "interrupted" => "interrupted; all fetched pages are stored; run the same command to resume",
            "time" => "reached --time; run the same command to resume",
            "disk full" => DISK_IS_FULL,
            _ => "stagnated: no good page for a long time",
        }
    }
}

/// Prints the topics of the fetched pages, so that the user sees what to mark (V 3.7), and what else may help.
pub(super) fn explain_stagnation(
    reader: &dyn StoreReader,
    tree: &Taxonomy,
    is_hard: bool,
) -> anyhow::Result<()> {
    output::print("\nmost fetched pages are about");
    let census = reader.query("census", &[("rows", "8")], &porthole_store::QueryLimits::default())?;
    for row in &census.rows {
        if let [SqlValue::Integer(kcid), _, SqlValue::Integer(pages), ..] = row[..] {
            let topic = TopicId(u16::try_from(kcid).unwrap_or_default());
            output::print(&format!("  {pages:>6}  {}", tree.path(topic)));
        }
    }
    output::print("\nwhat may help:");
    if is_hard {
        output::print(
            "  `--strategy soft` follows links on all pages, best first; start it in a new workspace,\n  \
             since hard focus does not store the links that it rejects",
        );
    }
    let proposed = broaden::proposals(reader, tree)?;
    for proposal in &proposed {
        let path = output::quoted(&tree.path(proposal.topic));
        output::print(&format!("  `porthole topics mark {path}`: {}", broaden::why(proposal, tree)));
    }
    let is_proposed = |topic| proposed.iter().any(|proposal| proposal.topic == topic);
    let parents = tree.good().map(|good| tree.parent(good));
    for parent in parents.filter(|&parent| parent != TopicId::ROOT && !is_proposed(parent)) {
        let path = output::quoted(&tree.path(parent));
        output::print(&format!("  `porthole topics mark {path}`: a wider topic accepts more pages"));
    }
    output::print("  more examples (`porthole examples add`) or start URLs (`--start URL`)");
    Ok(())
}
