//! Harvest of relevant pages over the crawl (W 4.2, 4.7; V 3.4; A 3.5).

use super::apprentice::taught;
use super::evidence::{
    Curve, TracedResults, cell, moving, over_fetches, percent, series, table, truth, with_close_scale,
};
use super::{ClaimVerdict, Figure};
use crate::experiment::FetchStep;
use porthole_report::html::HtmlTable;
use porthole_report::summary::{self, mean};
use porthole_report::svg::{Axis, Chart, Marks, Scale, Series};

/// Window of moving averages: a tenth of the budget, within bounds.
fn window(evidence: &TracedResults) -> usize {
    (evidence.budget() / 10).clamp(10, 100) as usize
}

/// The curves to draw; tables have all.
fn drawn(evidence: &TracedResults, curves: &[Curve]) -> Vec<Curve> {
    let names = evidence.drawn();
    curves.iter().filter(|(name, _)| names.contains(&name.as_str())).cloned().collect()
}

/// W Figs. 3 and 4, V Fig. 5, by the true labels.
pub(super) fn by_truth(evidence: &TracedResults) -> Option<Figure> {
    let window = window(evidence);
    let plain = evidence.plain();
    let curves = |topic: Option<&str>| -> Vec<Curve> {
        let curve = |name: &&str| ((*name).to_owned(), evidence.curve(name, topic, moving(window, truth)));
        plain.iter().map(curve).collect()
    };
    let all = curves(None);
    let label = format!("share about the topic, last {window}");
    let mut charts = vec![over_fetches("all topics", &label, series(&drawn(evidence, &all)))];
    for topic in evidence.topics().iter().take(2) {
        charts.push(over_fetches(topic, &label, series(&drawn(evidence, &curves(Some(topic))))));
    }
    let last = |name: &str| all.iter().find(|(known, _)| known == name)?.1.last().map(|point| point.1);
    let baseline = evidence.baseline();
    let facts = &evidence.results.facts.topics;
    let base = mean(facts.values().map(|facts| facts.base_rate));
    let at =
        evidence.results.experiment.at.iter().copied().find(|at| *at >= 200).unwrap_or(evidence.budget());
    let harvest = |name: &str| evidence.mean(name, |outcome| outcome.harvest[&at]);
    let (mut here, mut verdict) = (String::new(), ClaimVerdict::NotTestable);
    if let Some(control) = evidence.control() {
        let (lost, holds) = (last(control).unwrap_or(0.0), last(baseline).unwrap_or(0.0));
        let factor = harvest(baseline) / harvest(control).max(1e-9);
        here = format!(
            "after {} fetches the unfocused order brings {} of pages about the topic in its last {window}, where a page \
             drawn blindly is about it in {} of cases; {baseline} focus still brings {}. Over the first {at}, {baseline} \
             brought {} and unfocused {}: {factor:.1} times as many.",
            evidence.budget(),
            percent(lost),
            percent(base),
            percent(holds),
            percent(harvest(baseline)),
            percent(harvest(control)),
        );
        verdict = ClaimVerdict::of_parts(&[
            ("the unfocused order is lost", lost < 3.0 * base),
            ("focused crawls are far ahead of it", factor >= 3.0),
            ("they keep up their harvest to the end", holds > 3.0 * lost),
        ]);
    }
    Some(Figure {
        id: "harvest",
        title: "Rate of harvesting pages about the topic, by their true labels",
        paper: "W Figs. 3, 4; V Fig. 5",
        there: "an unfocused crawler is lost within a hundred pages, focused ones keep up a harvest of a third to a half",
        here,
        verdict,
        charts,
        table: table(&all),
        ..Figure::default()
    })
}

/// The harvest as the papers had to measure it: by the guiding critic, and by an independent one.
pub(super) fn by_critic(evidence: &TracedResults) -> Option<Figure> {
    let window = window(evidence);
    let curves = |value: fn(&FetchStep) -> Option<f64>| -> Vec<Curve> {
        let known = move |steps: &[&FetchStep]| {
            let values: Vec<f64> = steps.iter().filter_map(|step| value(step)).collect();
            summary::moving(&values, window)
        };
        let curve = |name: &&str| ((*name).to_owned(), evidence.curve(name, None, known));
        evidence.plain().iter().map(curve).collect()
    };
    let guiding = curves(|step| step.relevance);
    let independent = curves(|step| step.independent);
    let label = format!("mean R, last {window}");
    let baseline = evidence.baseline();
    let budget = evidence.budget();
    let (truth, guide, other) = (
        evidence.mean(baseline, |outcome| {
            outcome.harvest[&budget] * budget as f64 / outcome.fetched.max(1) as f64
        }),
        evidence.mean(baseline, |outcome| outcome.relevance[&budget]),
        evidence.mean(baseline, |outcome| outcome.independent[&budget]),
    );
    Some(Figure {
        id: "relevance",
        title: "Rate of harvesting pages, by critics",
        paper: "W Figs. 3, 4; V Fig. 5",
        there: "to judge by the critic that guides the crawl is no flaw, because it is asked about pages it has not seen",
        here: format!(
            "of the pages that {baseline} focus fetched, {} are about the topic; mean R is {guide:.3} by the critic that \
             guides and {other:.3} by the independent one.",
            percent(truth)
        ),
        verdict: ClaimVerdict::of((guide - truth).abs() < 0.1 && (other - truth).abs() < 0.1),
        charts: vec![
            over_fetches("the critic that guides", &label, series(&drawn(evidence, &guiding))),
            over_fetches("an independent critic", &label, series(&drawn(evidence, &independent))),
        ],
        table: table(&guiding),
        ..Figure::default()
    })
}

/// The loss so far (A 3.5, Fig. 10).
pub(super) fn losses(evidence: &TracedResults) -> Option<Figure> {
    let loss = |steps: &[&FetchStep]| summary::loss(steps.iter().map(|step| step.relevance.unwrap_or(0.0)));
    let curves: Vec<Curve> =
        evidence.plain().iter().map(|name| ((*name).to_owned(), evidence.curve(name, None, loss))).collect();
    let budget = evidence.budget();
    let of = |name: &str| 1.0 - evidence.mean(name, |outcome| outcome.relevance[&budget]);
    let baseline = evidence.baseline();
    let reduction = |name: &str, other: &str| 1.0 - of(name) / of(other).max(1e-9);
    let sum = |name: &str| evidence.mean(name, |outcome| outcome.lost(budget));
    let mut here = format!(
        "{baseline} focus ends at a mean loss of {:.3}, {:.1} pages in all",
        of(baseline),
        sum(baseline)
    );
    if let Some(control) = evidence.control() {
        here += &format!(", {} less than unfocused", percent(reduction(baseline, control)));
    }
    let (mut verdict, mut charts) = (ClaimVerdict::NotTestable, Vec::new());
    if let Some(apprentice) = taught(evidence) {
        let reduced = reduction(apprentice, baseline);
        here += &format!(
            "; an apprentice that such crawls taught ends at {:.3}, {:.1} pages, {} less",
            of(apprentice),
            sum(apprentice),
            percent(reduced)
        );
        for at in evidence.results.experiment.at.iter().filter(|at| **at < budget) {
            let of = |name: &str| 1.0 - evidence.mean(name, |outcome| outcome.relevance[at]);
            let less = 1.0 - of(apprentice) / of(baseline).max(1e-9);
            here += &format!(", after {at} fetches {} less", percent(less));
        }
        verdict = ClaimVerdict::of(reduced >= 0.3);
        for topic in evidence.topics().iter().take(2) {
            let curve = |name: &str| (name.to_owned(), evidence.curve(name, Some(topic), loss));
            let pair = [curve(baseline), curve(apprentice)];
            charts.push(with_close_scale(over_fetches(topic, "loss", series(&pair))));
        }
    }
    charts.insert(
        0,
        with_close_scale(over_fetches(
            "mean of 1 - R so far, all topics",
            "loss",
            series(&drawn(evidence, &curves)),
        )),
    );
    Some(Figure {
        id: "loss",
        title: "Loss so far: mean and sum of 1 - R",
        paper: "A Fig. 10",
        there: "guided by an apprentice that the baseline's crawl from the same starts taught, the loss is 30% to 90% lower",
        here: here + ".",
        verdict,
        charts,
        table: with_sums(table(&curves), &curves),
        ..Figure::default()
    })
}

/// Adds the cumulative loss of each curve: the mean so far times the number of fetches.
fn with_sums(mut table: HtmlTable, curves: &[Curve]) -> HtmlTable {
    table.head.extend(curves.iter().map(|(name, _)| format!("{name}, sum")));
    for row in &mut table.rows {
        let at: f64 = row[0].parse().unwrap_or(0.0);
        row.extend(curves.iter().map(|(_, points)| {
            let point = points.iter().find(|point| point.0 == at);
            point.map_or(String::new(), |(pages, mean)| format!("{:.1}", pages * mean))
        }));
    }
    table
}

/// W Fig. 5: distribution of relevance.
pub(super) fn histogram(evidence: &TracedResults) -> Option<Figure> {
    const PARTS: usize = 20;
    let of = |name: &str| -> Vec<f64> {
        let steps = evidence.of(name, None).flat_map(|trace| trace.counted());
        let counts = summary::histogram(steps.filter_map(|step| step.relevance), PARTS);
        let all = counts.iter().sum::<u64>().max(1) as f64;
        counts.into_iter().map(|count| count as f64 / all).collect()
    };
    let names = evidence.plain();
    let shares: Vec<Vec<f64>> = names.iter().map(|name| of(name)).collect();
    let middle = |part: usize| (part as f64 + 0.5) / PARTS as f64;
    let drawn = evidence.drawn();
    let pairs = names.iter().zip(&shares).filter(|(name, _)| drawn.contains(name));
    let series = pairs.map(|(name, shares)| {
        Series::line(name, shares.iter().enumerate().map(|(part, share)| (middle(part), *share)).collect())
    });
    let mut table = HtmlTable::new(&["R from", "to"]);
    table.head.extend(names.iter().map(|&name| name.to_owned()));
    for part in 0..PARTS {
        let (from, to) = (part as f64 / PARTS as f64, (part + 1) as f64 / PARTS as f64);
        let mut row = vec![format!("{from:.2}"), format!("{to:.2}")];
        row.extend(shares.iter().map(|shares| cell(shares[part])));
        table.rows.push(row);
    }
    let baseline = evidence.baseline();
    let top = |name: &str| of(name)[PARTS - 1];
    let here = match evidence.control() {
        Some(control) => format!(
            "{} of the pages of {baseline} focus have R above 0.95, and {} of those of the unfocused order.",
            percent(top(baseline)),
            percent(top(control))
        ),
        None => format!("{} of the pages of {baseline} focus have R above 0.95.", percent(top(baseline))),
    };
    let verdict = evidence
        .control()
        .map_or(ClaimVerdict::NotTestable, |control| ClaimVerdict::of(top(baseline) > 3.0 * top(control)));
    Some(Figure {
        id: "histogram",
        title: "Distribution of relevance",
        paper: "W Fig. 5",
        there: "focused crawls have a sharp peak at the highest relevance, unfocused ones are flat",
        here,
        verdict,
        charts: vec![Chart {
            title: "share of the pages fetched, by R (logarithmic)".to_owned(),
            x: Axis { label: "R by the critic that guides".to_owned(), scale: Scale::Linear },
            y: Axis { label: "share of the pages".to_owned(), scale: Scale::Log },
            marks: Marks::Points(series.collect()),
        }],
        table,
        ..Figure::default()
    })
}

/// Before and after hub boosting (W 4.7).
pub(super) fn hubs(evidence: &TracedResults) -> Option<Figure> {
    let plain = evidence.plain();
    let boosted =
        plain.iter().find(|name| name.ends_with("+hubs") && evidence.has(name.trim_end_matches("+hubs")))?;
    let before = boosted.trim_end_matches("+hubs");
    let window = window(evidence);
    let curves: Vec<Curve> = [before, boosted]
        .iter()
        .map(|name| ((*name).to_owned(), evidence.curve(name, None, moving(window, truth))))
        .collect();
    let budget = evidence.budget();
    let ahead = evidence.ahead(boosted, before, |outcome| outcome.recall[&budget]);
    Some(Figure {
        id: "hubs",
        title: "Before and after links of great hubs are fetched first",
        paper: "W 4.7",
        there: "unvisited citations of the top hubs are relevant pages that the crawl had neglected",
        here: format!(
            "recall after {budget} fetches changes by {:+.4} (95% interval {:+.4} to {:+.4}).",
            ahead.mean, ahead.low, ahead.high
        ),
        verdict: ClaimVerdict::of(ahead.low > 0.0),
        charts: vec![over_fetches(
            "all topics",
            &format!("share about the topic, last {window}"),
            series(&curves),
        )],
        table: table(&curves),
        ..Figure::default()
    })
}

/// Servers with relevant pages, without those of start pages.
pub(super) fn new_servers(evidence: &TracedResults) -> Option<Figure> {
    let experiment = &evidence.results.experiment;
    if !experiment.servers {
        return None;
    }
    let of = |name: &str, at: u64| evidence.mean(name, |outcome| outcome.hosts[&at] as f64);
    let names = evidence.plain();
    let points = |name: &str| experiment.at.iter().map(|at| (*at as f64, of(name, *at))).collect();
    let series = evidence.drawn().iter().map(|name| Series::line(name, points(name))).collect();
    let mut table = HtmlTable::new(&["pages fetched"]);
    table.head.extend(names.iter().map(|&name| name.to_owned()));
    for at in &experiment.at {
        let mut row = vec![at.to_string()];
        row.extend(names.iter().map(|name| format!("{:.1}", of(name, *at))));
        table.rows.push(row);
    }
    let (budget, baseline) = (evidence.budget(), evidence.baseline());
    let (mut here, mut verdict) = (String::new(), ClaimVerdict::NotTestable);
    if let Some(control) = evidence.control() {
        let (focused, unfocused) = (of(baseline, budget), of(control, budget));
        here = format!(
            "{baseline} focus finds pages about the topic on {focused:.1} servers that no start page is on, the \
             unfocused order on {unfocused:.1}."
        );
        verdict = ClaimVerdict::of(focused > unfocused);
    }
    Some(Figure {
        id: "servers",
        title: "New servers with pages about the topic",
        paper: "W 4.3",
        there: "focused crawls visit new servers generously, and do not stay on one site",
        here,
        verdict,
        charts: vec![over_fetches("all topics", "new servers, mean of the crawls", series)],
        table,
        ..Figure::default()
    })
}
