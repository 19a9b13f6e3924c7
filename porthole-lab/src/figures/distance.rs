//! Where the distance from soft focus to the one-step oracle lies: the critic, the estimate of links, or the delay of
//! feedback.

use super::Figure;
use super::evidence::{TracedResults, cell, percent};
use porthole_report::html::HtmlTable;

/// Strategies that remove one cause of the difference to the oracle, with a description of each.
const PARTS: [(&str, &str); 6] = [
    ("soft+truth", "soft focus with a perfect critic"),
    ("porthole", "our strategy"),
    ("porthole+truth", "with a perfect critic of fetched pages, our links"),
    ("porthole+told", "with feedback on every link at once"),
    ("porthole+truth+told", "with both"),
    ("foresight", "our critic, and a perfect estimate of links"),
];

/// Share of the distance from soft focus to the oracle that each covers.
pub(super) fn parts(evidence: &TracedResults) -> Option<Figure> {
    let there: Vec<&(&str, &str)> = PARTS.iter().filter(|(name, _)| evidence.has(name)).collect();
    let is_split = there.iter().any(|(name, _)| name.contains("+truth") || *name == "foresight");
    if !is_split || !evidence.has("oracle") || !evidence.has("soft") {
        return None;
    }
    let at = &evidence.results.experiment.at;
    let mut table = HtmlTable::new(&["strategy", "what it has"]);
    for at in at {
        table.head.extend([
            format!("harvest at {at}"),
            "ahead of soft, 95%".into(),
            "of the distance".into(),
        ]);
    }
    let mut said = Vec::new();
    let names = [("soft", "soft focus")].into_iter().chain(there.iter().map(|part| **part));
    for (name, what) in names.chain([("oracle", "knows which links lead to pages of the topic")]) {
        let mut row = vec![name.to_owned(), what.to_owned()];
        for at in at {
            let harvest = |name: &str| evidence.mean(name, |outcome| outcome.harvest[at]);
            let ahead = evidence.ahead(name, "soft", |outcome| outcome.harvest[at]);
            let share = ahead.mean / (harvest("oracle") - harvest("soft")).max(1e-9);
            row.extend([
                cell(harvest(name)),
                format!("{:+.3} \u{2026} {:+.3}", ahead.low, ahead.high),
                percent(share),
            ]);
            if Some(at) == evidence.results.experiment.at.first() && !["soft", "oracle"].contains(&name) {
                said.push(format!("{name} {}", percent(share)));
            }
        }
        table.rows.push(row);
    }
    Some(Figure {
        id: "distance",
        title: "Where the distance from soft focus to the oracle lies",
        paper: "",
        there: "",
        here: format!("of that distance at {} fetches, covered are: {}.", at.first()?, said.join(", ")),
        table,
        ..Figure::default()
    })
}
