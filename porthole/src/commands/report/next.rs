//! What can be done next, by what the crawl is like.

use porthole_report::html::Section;
use porthole_report::summary::mean;
use porthole_store::{Limits, StoreReader};
use porthole_topic::Taxonomy;

use super::super::broaden;
use super::gather::Gathered;
use crate::output::{count, quoted};

pub(super) fn section(
    reader: &dyn StoreReader,
    tree: &Taxonomy,
    gathered: &Gathered,
) -> anyhow::Result<Section> {
    let mut words = Vec::new();
    let counts = reader.counts()?;
    let all = &gathered.relevance;
    let recent = mean(all.iter().rev().take(100).copied());
    let before = mean(all.iter().copied());
    words.push(match counts.queued {
        0 => "Every URL that is known has been dealt with: more starts (porthole crawl --start URL) lead on."
            .to_owned(),
        queued => format!("{} wait: porthole crawl goes on where it was.", count(queued, "URL")),
    });
    if all.len() >= 400 && recent < 0.5 * before {
        words.push(format!(
            "The last hundred pages are less relevant than those before (mean R {recent:.2}, {before:.2} over all)."
        ));
    }
    for proposal in broaden::proposals(reader, tree)? {
        let path = quoted(&tree.path(proposal.topic));
        words.push(format!("porthole topics mark {path}: {}", broaden::why(&proposal, tree)));
    }
    let ask = |query: &str, rows: &str| reader.query(query, &[("rows", rows)], &Limits::default());
    if ask("top-hubs", "1")?.rows.is_empty() {
        words.push("Hubs and authorities have not been looked for: porthole distill finds them.".to_owned());
    } else {
        let missed = ask("missed", "1000")?.rows.len();
        if missed > 0 {
            let many = if missed == 1_000 { "At least 1,000 URLs".to_owned() } else { count(missed, "URL") };
            words.push(format!(
                "{many} that great hubs link to were never tried: porthole query missed lists them."
            ));
        }
    }
    words.push(
        "Pages that are wrongly among the best: porthole mark URL useless, then porthole train. To see why a page is \
         where it is: porthole explain URL."
            .to_owned(),
    );
    Ok(Section { id: "next".into(), title: "What to do next".into(), words, ..Section::default() })
}
