//! Suggestions for the next step, depending on the state of the crawl.

use porthole_report::html::Section;
use porthole_report::summary::mean;
use porthole_store::{QueryLimits, StoreReader};
use porthole_topic::Taxonomy;

use super::super::broaden;
use super::gather::CrawlData;
use crate::output::{count, quoted};

pub(super) fn section(
    reader: &dyn StoreReader,
    tree: &Taxonomy,
    gathered: &CrawlData,
) -> anyhow::Result<Section> {
    let mut words = Vec::new();
    let counts = reader.counts()?;
    let all = &gathered.relevance;
    let recent = mean(all.iter().rev().take(100).copied());
    let before = mean(all.iter().copied());
    words.push(match counts.queued {
        0 => "No known URL is left to fetch. Add start URLs with porthole crawl --start URL.".to_owned(),
        queued => format!("Queue: {}. Run porthole crawl to resume.", count(queued, "URL")),
    });
    if all.len() >= 400 && recent < 0.5 * before {
        words.push(format!(
            "The last hundred pages are less relevant than those before (mean relevance {recent:.2}, overall \
             {before:.2})."
        ));
    }
    for proposal in broaden::proposals(reader, tree)? {
        let path = quoted(&tree.path(proposal.topic));
        words.push(format!("porthole topics mark {path}: {}", broaden::why(&proposal, tree)));
    }
    let ask = |query: &str, rows: &str| reader.query(query, &[("rows", rows)], &QueryLimits::default());
    if ask("top-hubs", "1")?.rows.is_empty() {
        words.push("No hub scores yet: run porthole distill.".to_owned());
    } else {
        let missed = ask("missed", "1000")?.rows.len();
        if missed > 0 {
            let many = if missed == 1_000 { "At least 1,000 URLs".to_owned() } else { count(missed, "URL") };
            words.push(format!(
                "{many} that top hubs link to were never fetched: list them with porthole query missed."
            ));
        }
    }
    words.push(
        "To remove a wrong page from the list: porthole mark URL useless, then porthole train. To see how a page was \
        scored: porthole explain URL."
            .to_owned(),
    );
    Ok(Section { id: "next".into(), title: "Next steps".into(), words, ..Section::default() })
}
