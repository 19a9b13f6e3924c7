//! Pages of the topic against time, of crawls in simulated time.

use super::evidence::{Curve, Points, TracedResults, series, table};
use super::{ClaimVerdict, Figure};
use porthole_report::html::HtmlTable;
use porthole_report::summary::mean;
use porthole_report::svg::{Axis, Chart, Marks, Scale};

/// Time of the 1st, 10th, 25th … page of the topic.
pub(super) fn relevant_pages(evidence: &TracedResults) -> Option<Figure> {
    let curve = |name: &&str| ((*name).to_owned(), points(evidence, name));
    let curves: Vec<Curve> =
        evidence.plain().iter().map(curve).filter(|(_, points)| !points.is_empty()).collect();
    let (first, last) = (curves.first()?, curves.iter().max_by_key(|(_, points)| points.len())?);
    let swapped = |(name, points): &Curve| (name.clone(), points.iter().map(|(n, at)| (*at, *n)).collect());
    let names = evidence.drawn();
    let drawn = curves.iter().filter(|(name, _)| names.contains(&name.as_str()));
    let axis = |label: &str| Axis { label: label.to_owned(), scale: Scale::Linear };
    let chart = Chart {
        title: "all topics".to_owned(),
        x: axis("seconds"),
        y: axis("pages about the topic"),
        marks: Marks::Points(series(&drawn.map(swapped).collect::<Vec<Curve>>())),
    };
    let (pages, seconds) = *last.1.last()?;
    let by_pages = table(&curves);
    let head = [vec!["pages about the topic".to_owned()], by_pages.head[1..].to_vec()].concat();
    Some(Figure {
        id: "time",
        title: "Pages about the topic against time",
        paper: "",
        here: format!(
            "simulated time, with delays between requests to a host; means of the crawls that got so far, if most did. \
             {} brought its first page about the topic after {:.1} s; {} brought {pages} after {seconds:.1} s.",
            first.0, first.1[0].1, last.0
        ),
        verdict: ClaimVerdict::NotTestable,
        charts: vec![chart],
        table: HtmlTable { head, ..by_pages },
        ..Figure::default()
    })
}

/// Numbers of pages of the topic, with the mean time at which most crawls of a strategy had reached each.
fn points(evidence: &TracedResults, name: &str) -> Points {
    let outcomes = &evidence.results.outcomes;
    let own: Vec<_> = outcomes.iter().filter(|outcome| outcome.strategy == name).collect();
    let longest = own.iter().map(|outcome| &outcome.seconds_to).max_by_key(|times| times.len());
    let numbers = longest.into_iter().flat_map(|times| times.keys());
    numbers
        .filter_map(|number| {
            let times: Vec<f64> =
                own.iter().filter_map(|outcome| outcome.seconds_to.get(number).copied()).collect();
            (2 * times.len() > own.len()).then(|| (*number as f64, mean(times)))
        })
        .collect()
}
