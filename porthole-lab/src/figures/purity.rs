//! Share of the distiller's authorities that are about the topic (W 4.6).

use super::evidence::{TracedResults, cell, percent};
use super::{ClaimVerdict, Figure};
use crate::measures::purity;
use porthole_report::html::HtmlTable;
use porthole_report::summary::mean;
use porthole_report::svg::{Axis, Chart, Marks, Scale, Series};

/// Numbers of best authorities.
const BEST: [usize; 5] = [5, 10, 25, 50, 100];

/// W 4.6, by the true labels.
pub(super) fn authorities(evidence: &TracedResults) -> Option<Figure> {
    let baseline = evidence.baseline();
    let names: Vec<&str> = [baseline].into_iter().chain(evidence.control()).collect();
    let of = |name: &str, best: usize| {
        mean(evidence.of(name, None).filter_map(|trace| purity(&trace.authorities, &trace.steps, best)))
    };
    let mut table = HtmlTable::new(&["N best"]);
    table.head.extend(names.iter().map(|name| (*name).to_owned()));
    for best in BEST {
        let shares = names.iter().map(|name| cell(of(name, best)));
        table.rows.push([best.to_string()].into_iter().chain(shares).collect());
    }
    let points = |name: &str| BEST.iter().map(|best| (*best as f64, of(name, *best))).collect();
    let control =
        evidence.control().map(|name| format!(", of those of the unfocused order {}", percent(of(name, 10))));
    Some(Figure {
        id: "purity",
        title: "Share of the best authorities that are about the topic",
        paper: "W 4.6",
        there: "spot checks find no page about something else among the first few hundred",
        here: format!(
            "of the 10 best authorities of {baseline} focus {} are about the topic by their labels{}; of the 100 best {}.",
            percent(of(baseline, 10)),
            control.unwrap_or_default(),
            percent(of(baseline, 100))
        ),
        verdict: ClaimVerdict::of(of(baseline, 100) > 0.95),
        charts: vec![Chart {
            title: "authorities that are about the topic".to_owned(),
            x: Axis { label: "N best".to_owned(), scale: Scale::Linear },
            y: Axis { label: "share about the topic".to_owned(), scale: Scale::Linear },
            marks: Marks::Points(names.iter().map(|name| Series::line(name, points(name))).collect()),
        }],
        table,
        ..Figure::default()
    })
}
