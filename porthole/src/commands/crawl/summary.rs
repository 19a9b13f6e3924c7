//! The summary that a crawl prints at its end.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use porthole_store::{StoreCounts, StoreReader};
use porthole_topic::{Census, Taxonomy, TopicPages, broaden};
use porthole_types::TopicId;
use serde::Serialize;

use super::super::broaden;
use super::watch::Watch;
use super::webhook::WebhookReport;
use crate::output;

/// Message for a full disk.
pub(super) const DISK_IS_FULL: &str = "the disk is full; free some space and run the same command to resume";

/// The figures of a run.
#[derive(Serialize)]
pub(super) struct Summary {
    strategy: String,
    pub(super) stop: &'static str,
    /// URLs that were requested: the sum of the next five.
    fetches: u64,
    /// Pages that were judged.
    pages: u64,
    /// Pages that were not, such as those that have not changed since the last visit.
    unjudged: u64,
    redirects: u64,
    /// Fetched, and no results on purpose.
    skipped: u64,
    failures: u64,
    /// Not requested on purpose.
    refused: u64,
    skipped_by_kind: Vec<(&'static str, u64)>,
    failures_by_kind: Vec<(&'static str, u64)>,
    refused_by_kind: Vec<(&'static str, u64)>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    visits: BTreeMap<&'static str, u64>,
    harvest: f64,
    copies: u64,
    /// Pages of all runs, and those of them that are relevant by their present R.
    pages_in_all: usize,
    relevant: usize,
    known: usize,
    queued: usize,
    links: usize,
    sites: usize,
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    webhook: Option<WebhookReport>,
}

impl Summary {
    pub(super) fn new(watch: &Watch, stop: &'static str, counts: StoreCounts, relevant: usize) -> Self {
        let kinds = [watch.skipped(), watch.failures(), watch.refused()];
        let [skipped, failures, refused] =
            kinds.each_ref().map(|kinds| kinds.iter().map(|(_, count)| count).sum());
        let [skipped_by_kind, failures_by_kind, refused_by_kind] = kinds;
        Summary {
            strategy: watch.strategy.clone(),
            stop,
            fetches: watch.fetches,
            pages: watch.pages,
            unjudged: watch.fetched - watch.pages,
            redirects: watch.redirects,
            skipped,
            failures,
            refused,
            skipped_by_kind,
            failures_by_kind,
            refused_by_kind,
            visits: watch.visits().clone(),
            harvest: watch.harvest(),
            copies: watch.copies,
            pages_in_all: counts.fetched,
            relevant,
            known: counts.known,
            queued: counts.queued,
            links: counts.links,
            sites: counts.sites,
            seconds: watch.seconds(),
            webhook: watch.webhook.clone(),
        }
    }

    pub(super) fn print(&self) {
        let rate = self.fetches as f64 / self.seconds.max(1e-9);
        let mut rows = vec![
            (format!("fetches, {}", self.strategy), self.fetches.to_string()),
            ("  pages".to_owned(), self.pages.to_string()),
            ("    duplicates".to_owned(), self.copies.to_string()),
            ("  pages not judged".to_owned(), self.unjudged.to_string()),
            ("  redirects".to_owned(), self.redirects.to_string()),
        ];
        rows.retain(|(label, value)| {
            value != "0" || !label.ends_with("duplicates") && !label.ends_with("judged")
        });
        for (label, count, kinds) in [
            ("  skipped", self.skipped, &self.skipped_by_kind),
            ("  failed", self.failures, &self.failures_by_kind),
            ("refused, not fetched", self.refused, &self.refused_by_kind),
        ] {
            if count > 0 {
                rows.push((label.to_owned(), count.to_string()));
            }
            let inset = " ".repeat(label.len() - label.trim_start().len() + 2);
            // A failure of this kind is not a refusal by robots.txt.
            let name =
                |kind| if kind == "robots" && label == "  failed" { "robots.txt unreadable" } else { kind };
            rows.extend(
                kinds.iter().map(|(kind, count)| (format!("{inset}{}", name(kind)), count.to_string())),
            );
        }
        let visits =
            self.visits.iter().map(|(change, count)| (format!("  visits: {change}"), count.to_string()));
        rows.extend(visits);
        rows.extend([
            ("harvest rate (mean relevance)".to_owned(), format!("{:.3}", self.harvest)),
            ("pages of all runs".to_owned(), self.pages_in_all.to_string()),
            ("  relevant".to_owned(), self.relevant.to_string()),
            ("URLs known".to_owned(), self.known.to_string()),
            ("URLs queued".to_owned(), self.queued.to_string()),
            ("links".to_owned(), self.links.to_string()),
            ("sites".to_owned(), self.sites.to_string()),
            ("fetches per second".to_owned(), format!("{rate:.0}")),
        ]);
        if let Some(webhook) = &self.webhook {
            rows.push(("events posted to the webhook".to_owned(), webhook.delivered.to_string()));
        }
        output::print_rows(&rows);
        if let Some(webhook) = self.webhook.as_ref().filter(|webhook| webhook.dropped > 0) {
            let events = output::count(usize::try_from(webhook.dropped).unwrap_or(usize::MAX), "event");
            let why = if webhook.error.is_empty() { "it is too slow" } else { &webhook.error };
            output::say(&format!("warning: {events} for the webhook dropped: {why}"));
        }
        output::print(&format!("\n{}", self.in_words()));
    }

    pub(super) fn in_words(&self) -> &'static str {
        match self.stop {
            "limit" => "reached --pages; run the same command to fetch as many more",
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
    may_propose: bool,
) -> anyhow::Result<()> {
    let census = broaden::census(reader)?;
    let mut fetched: Vec<(&TopicId, &TopicPages)> = census.iter().collect();
    fetched.sort_by_key(|(topic, found)| (Reverse(found.pages), **topic));
    output::print("\nmost fetched pages are about (pages, mean relevance)");
    for (topic, found) in fetched.into_iter().take(SHOWN_TOPICS) {
        let pages = output::grouped(&found.pages.to_string());
        output::print(&format!("  {pages:>6}  {:.2}  {}", broaden::mean(*found), tree.path(*topic)));
    }
    output::print("\nwhat may help:");
    for advice in advice(tree, &census, is_hard, may_propose) {
        output::print(&format!("  {advice}"));
    }
    Ok(())
}

/// Number of topics to show.
const SHOWN_TOPICS: usize = 8;

/// Mean relevance from which the pages of a topic are worth a look.
const RELATED: f64 = 0.05;

/// What may help a crawl that finds nothing, the most promising first. Topics are named only if pages about them were
/// fetched and are related to the good ones.
fn advice(tree: &Taxonomy, census: &Census, is_hard: bool, may_propose: bool) -> Vec<String> {
    let mut advice = Vec::new();
    if is_hard {
        advice.push("`porthole crawl --strategy soft` continues with the links on all pages".to_owned());
    }
    let mut proposed = if may_propose { broaden(tree, census) } else { Vec::new() };
    proposed.retain(|proposal| broaden::mean(proposal.found) >= RELATED);
    proposed.sort_by(|a, b| b.found.relevance.total_cmp(&a.found.relevance).then(a.topic.cmp(&b.topic)));
    for proposal in &proposed {
        advice.push(format!("`{}`: {}", broaden::command(proposal, tree), broaden::why(proposal, tree)));
    }
    let good: Vec<String> = tree.good().map(|good| output::quoted(&tree.path(good))).collect();
    if let Some(first) = good.first() {
        advice.push(format!(
            "more examples: `porthole examples explore {first}`, or `porthole examples add {first} URL…`"
        ));
    }
    advice.push("more start pages: `porthole crawl --start URL`".to_owned());
    advice
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_names_topics_that_were_fetched_and_are_related() {
        let mut tree = Taxonomy::new();
        let [owls, crows, ducks] =
            ["/Birds/Owls", "/Birds/Crows", "/Birds/Ducks"].map(|path| tree.add_path(path).unwrap());
        tree.mark(owls).unwrap();
        let pages = |pages, mean: f64| TopicPages { pages, relevance: mean * pages as f64 };
        let census = Census::from([(owls, pages(20, 0.9)), (crows, pages(60, 0.0)), (ducks, pages(30, 0.4))]);
        let lines = advice(&tree, &census, false, true);
        let marks: Vec<&String> = lines.iter().filter(|line| line.contains("topics mark")).collect();
        assert!(!marks.is_empty() && marks.iter().all(|line| !line.contains("Crows`")), "{lines:?}");
        assert!(!lines[0].contains("0.00"), "{lines:?}");
        assert!(lines.iter().all(|line| !line.contains("workspace")), "{lines:?}");
        assert!(advice(&tree, &census, true, true)[0].contains("--strategy soft"));
        assert!(advice(&tree, &census, false, false).iter().all(|line| !line.contains("topics mark")));
    }
}
