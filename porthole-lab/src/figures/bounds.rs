//! All strategies side by side, with upper and lower bounds (A 3.6).

use super::evidence::{
    Curve, TracedResults, cell, is_elsewhere, over_fetches, percent, series, with_close_scale,
};
use super::{ClaimVerdict, Figure};
use crate::experiment::{CrawlSummary, FetchStep, SITE_CAPS};
use crate::statistics::{Difference, holm, is_significant, p_cell};
use porthole_report::html::HtmlTable;
use porthole_report::summary;
use porthole_report::svg::{Axis, Chart, Marks, Scale, ValueRange};

/// All strategies against the baseline, with Holm's correction.
pub(super) fn compared(evidence: &TracedResults) -> Option<Figure> {
    let (budget, baseline) = (evidence.budget(), evidence.baseline());
    let names = evidence.results.experiment.strategies.iter().map(String::as_str);
    // Strategies with other start pages cannot be compared start by start.
    let names: Vec<&str> = names.filter(|name| !is_elsewhere(name)).collect();
    let others: Vec<&str> = names.iter().copied().filter(|name| *name != baseline).collect();
    let ahead: Vec<Difference> =
        others.iter().map(|name| evidence.ahead(name, baseline, |outcome| outcome.recall[&budget])).collect();
    let corrected = holm(&ahead.iter().map(|ahead| ahead.p).collect::<Vec<_>>());
    let mut table = HtmlTable::new(&[
        "strategy",
        "harvest",
        "recall",
        "area under it",
        "mean R",
        "R, other critic",
        "loss, sum",
    ]);
    table.head.extend(SITE_CAPS.map(|cap| format!("harvest, at most {cap} a site")));
    table.head.extend(["relevant sites".to_owned()]);
    table.head.extend([format!("recall ahead of {baseline}"), "95% interval".into(), "p, after Holm".into()]);
    for name in &names {
        let of = |value: &dyn Fn(&CrawlSummary) -> f64| cell(evidence.mean(name, value));
        let mut row = vec![
            (*name).to_owned(),
            of(&|outcome| outcome.harvest[&budget]),
            of(&|outcome| outcome.recall[&budget]),
            of(&|outcome| outcome.area),
            of(&|outcome| outcome.relevance[&budget]),
            of(&|outcome| outcome.independent[&budget]),
            format!("{:.1}", evidence.mean(name, |outcome| outcome.lost(budget))),
        ];
        row.extend(SITE_CAPS.map(|cap| of(&|outcome| outcome.capped_harvest(cap, budget))));
        let sites = |outcome: &CrawlSummary| outcome.sites.get(&budget).copied().unwrap_or(0) as f64;
        row.push(format!("{:.1}", evidence.mean(name, sites)));
        if let Some(at) = others.iter().position(|other| other == name) {
            let Difference { mean, low, high, .. } = ahead[at];
            row.extend([
                format!("{mean:+.4}"),
                format!("{low:+.4} \u{2026} {high:+.4}"),
                p_cell(corrected[at]),
            ]);
        } else {
            row.extend(["", "", ""].map(str::to_owned));
        }
        table.rows.push(row);
    }
    let ranges = others.iter().zip(&ahead).map(|(name, ahead)| ValueRange {
        name: (*name).to_owned(),
        value: ahead.mean,
        low: ahead.low,
        high: ahead.high,
    });
    let of = |name: &str| percent(evidence.mean(name, |outcome| outcome.recall[&budget]));
    let bounds: Vec<String> = ["random", "breadth", "oracle", "look-ahead"]
        .into_iter()
        .filter(|name| evidence.has(name))
        .map(|name| format!("{name} {}", of(name)))
        .collect();
    let bounds = match &bounds[..] {
        [] => String::new(),
        bounds => format!("; the bounds are {}", bounds.join(", ")),
    };
    let differ = |is_ahead: bool| -> Vec<&str> {
        let all = others.iter().zip(&ahead).zip(&corrected);
        let is_it = |((name, ahead), p): &((&&str, &Difference), &Option<f64>)| {
            is_significant(ahead, **p) && (ahead.mean > 0.0) == is_ahead && !knows_truth(name)
        };
        all.filter(is_it).map(|((name, _), _)| *name).collect()
    };
    let conclusion = match (&differ(true)[..], &differ(false)[..]) {
        _ if corrected.iter().all(Option::is_none) => "There are too few crawls for a conclusion".to_owned(),
        ([], []) => format!("No strategy differs significantly from {baseline}"),
        (ahead, []) => format!("Significantly ahead of {baseline}: {}", ahead.join(", ")),
        ([], behind) => format!("Significantly behind {baseline}: {}", behind.join(", ")),
        (ahead, behind) => format!(
            "Significantly ahead of {baseline}: {}; behind it: {}",
            ahead.join(", "),
            behind.join(", ")
        ),
    };
    Some(Figure {
        id: "compared",
        title: "All strategies",
        paper: "",
        there: "",
        here: format!(
            "after {budget} fetches {baseline} has found {} of the topic's pages that can be reached{bounds}. \
             {conclusion} (by recall, 95%, after Holm's correction).",
            of(baseline)
        ),
        charts: vec![Chart {
            title: format!("recall after {budget} fetches, ahead of {baseline}, with 95% intervals"),
            x: Axis {
                label: format!("difference of recall to {baseline}, start by start"),
                scale: Scale::Linear,
            },
            y: Axis { label: String::new(), scale: Scale::Linear },
            marks: Marks::Ranges(ranges.collect()),
        }],
        table,
        ..Figure::default()
    })
}

/// Whether a strategy knows something that a crawl cannot know: it is a bound, not a competitor.
fn knows_truth(name: &str) -> bool {
    ["oracle", "look-ahead", "foresight"].contains(&name) || name.contains("+truth") || name.contains("+told")
}

/// The recall crawlers (A Fig. 12).
pub(super) fn recall_crawler(evidence: &TracedResults) -> Option<Figure> {
    let strategies = &evidence.results.experiment.strategies;
    let kept: Vec<BoundedPair> =
        strategies.iter().filter_map(|name| BoundedPair::read(evidence, name)).collect();
    let mut table = HtmlTable::new(&[
        "strategy",
        "pages fetched",
        "the baseline's mean loss",
        "its own",
        "that of the free one",
        "the baseline's loss, sum",
        "its own",
        "that of the free one",
    ]);
    let (mut said, mut charts, mut holds) = (Vec::new(), Vec::new(), !kept.is_empty());
    for BoundedPair { name, free, baseline } in &kept {
        let loss =
            |steps: &[&FetchStep]| summary::loss(steps.iter().map(|step| step.relevance.unwrap_or(0.0)));
        let curves: Vec<Curve> = [*baseline, *name, free]
            .into_iter()
            .map(|name| (name.to_owned(), evidence.curve(name, None, loss)))
            .collect();
        let end = |at: usize| curves[at].1.last().map_or(0.0, |point| point.1);
        let pairs = curves[1].1.iter().zip(&curves[0].1);
        let below = pairs.filter(|(recall, base)| recall.1 <= base.1 + 1e-9).count();
        let share = below as f64 / curves[1].1.len().max(1) as f64;
        for (at, point) in curves[0].1.iter().enumerate() {
            let value = |(_, points): &Curve| points.get(at).map_or(String::new(), |point| cell(point.1));
            let sum = |(_, points): &Curve| {
                points.get(at).map_or(String::new(), |(pages, mean)| format!("{:.1}", pages * mean))
            };
            let cells = [(*name).to_owned(), point.0.to_string()];
            let cells = cells.into_iter().chain(curves.iter().map(value)).chain(curves.iter().map(sum));
            table.rows.push(cells.collect());
        }
        said.push(format!(
            "{name} ends at a loss of {:.4}, {baseline} at {:.4}, {free} at {:.4}; at {} of the moments it is not above {baseline}",
            end(1),
            end(0),
            end(2),
            percent(share)
        ));
        holds &= share > 0.9 && (end(1) - end(0)).abs() < 1e-6;
        charts.push(with_close_scale(over_fetches("mean of 1 - R so far", "loss", series(&curves))));
    }
    (!kept.is_empty()).then(|| Figure {
        id: "recall-crawler",
        title: "The recall crawler: a strategy kept to the pages of another",
        paper: "A Fig. 12",
        there: "its loss lies between that of the baseline and that of the free crawl, and ends at the baseline's",
        here: said.join(". ") + ".",
        verdict: ClaimVerdict::of(holds),
        charts,
        table,
        ..Figure::default()
    })
}

/// A strategy restricted to the pages of another, if both were also run unrestricted.
struct BoundedPair<'a> {
    name: &'a str,
    free: String,
    baseline: &'a str,
}

impl<'a> BoundedPair<'a> {
    fn read(evidence: &TracedResults, name: &'a str) -> Option<BoundedPair<'a>> {
        let (own, behind) = name.split_once('@')?;
        let (baseline, teacher) = behind.split_once('~').unwrap_or((behind, ""));
        let free = if teacher.is_empty() { own.to_owned() } else { format!("{own}~{teacher}") };
        (evidence.has(&free) && evidence.has(baseline)).then_some(BoundedPair { name, free, baseline })
    }
}

/// CPU cost of a decision.
pub(super) fn cost(evidence: &TracedResults) -> Option<Figure> {
    let names: Vec<&str> = evidence.results.experiment.strategies.iter().map(String::as_str).collect();
    let of = |name: &str| evidence.mean(name, |outcome| outcome.cpu_ms / outcome.fetched.max(1) as f64);
    let mut table = HtmlTable::new(&["strategy", "ms of CPU a page that counts"]);
    table.rows.extend(names.iter().map(|name| vec![(*name).to_owned(), cell(of(name))]));
    let plain = ["breadth", "random"].into_iter().find(|name| evidence.has(name));
    let baseline = evidence.baseline();
    Some(Figure {
        id: "cost",
        title: "CPU a page: fetch, parse, judge, decide, store",
        paper: "",
        there: "",
        here: match plain {
            Some(plain) => format!(
                "a page costs {:.3} ms with {baseline} and {:.3} ms with {plain}, which decides nothing; the difference \
                 is what decisions cost, besides pages that do not count.",
                of(baseline),
                of(plain)
            ),
            None => format!("a page costs {:.3} ms with {baseline}.", of(baseline)),
        },
        table,
        ..Figure::default()
    })
}
