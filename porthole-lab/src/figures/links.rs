//! How well the links of a crawl predict relevance, by the apprentice study (A 3.4, 3.7, 3.8).

use std::fs;

use super::evidence::{Points, TracedResults, cell, percent, with_error};
use super::{ClaimVerdict, Figure};
use crate::experiment::{Apprenticeship, AtReach, QueueEstimates};
use crate::statistics::bootstrap;
use porthole_report::html::HtmlTable;
use porthole_report::summary::mean;
use porthole_report::svg::{Axis, Chart, Marks, Scale, Series, ValueRange};

/// Results of the study, read from the folder.
pub(super) fn learnt(evidence: &TracedResults) -> Option<Vec<Apprenticeship>> {
    let text = fs::read_to_string(evidence.results.folder().join("apprentice.json")).ok()?;
    let learnt: Vec<Apprenticeship> = serde_json::from_str(&text).ok()?;
    (!learnt.is_empty()).then_some(learnt)
}

/// A value at each maximum offset, with its standard error over the crawls.
fn by_reach(learnt: &[Apprenticeship], value: fn(&AtReach) -> f64) -> Vec<(f64, f64, f64)> {
    let reaches = 0..learnt[0].reach.len();
    let at = |reach: usize| {
        let (mean, error) =
            with_error(&learnt.iter().map(|one| value(&one.reach[reach])).collect::<Vec<_>>());
        (reach as f64, mean, error)
    };
    reaches.map(at).collect()
}

fn points(values: &[(f64, f64, f64)]) -> Points {
    values.iter().map(|(x, y, _)| (*x, *y)).collect()
}

/// A chart over d_max or offsets.
pub(super) fn chart(title: &str, x: &str, y: (&str, Scale), series: Vec<Series>) -> Chart {
    Chart {
        title: title.to_owned(),
        x: Axis { label: x.to_owned(), scale: Scale::Close },
        y: Axis { label: y.0.to_owned(), scale: y.1 },
        marks: Marks::Points(series),
    }
}

const D_MAX: &str = "d max: maximum distance in leaves from the link";
const RIGHT: (&str, Scale) = ("share of links predicted correctly, of each kind", Scale::Close);

/// A Fig. 6: accuracy by maximum offset.
pub(super) fn reach(evidence: &TracedResults) -> Option<Figure> {
    type Measure = (&'static str, fn(&AtReach) -> f64);
    const MEASURES: [Measure; 4] = [
        ("positive", |at| at.positive),
        ("negative", |at| at.negative),
        ("balanced", AtReach::balanced),
        ("all links", |at| at.average),
    ];
    let learnt = learnt(evidence)?;
    let all = MEASURES.map(|(_, value)| by_reach(&learnt, value));
    let series = |learnt: &[Apprenticeship]| {
        let one = |(name, value): Measure| Series::line(name, points(&by_reach(learnt, value)));
        MEASURES.map(one).to_vec()
    };
    let mut charts = vec![chart("all topics", D_MAX, RIGHT, series(&learnt))];
    for topic in evidence.topics().iter().take(2) {
        let own: Vec<Apprenticeship> = learnt.iter().filter(|one| one.topic == *topic).cloned().collect();
        if !own.is_empty() {
            charts.push(chart(topic, D_MAX, RIGHT, series(&own)));
        }
    }
    let mut table = HtmlTable::new(&["d max"]);
    for (name, _) in MEASURES {
        table.head.extend([name.to_owned(), "standard error".to_owned()]);
    }
    for (d_max, _, _) in &all[0] {
        let of =
            |values: &Vec<(f64, f64, f64)>| [values[*d_max as usize].1, values[*d_max as usize].2].map(cell);
        let cells = all.iter().flat_map(of);
        table.rows.push([d_max.to_string()].into_iter().chain(cells).collect());
    }
    let best = best(&all[2]);
    let chosen: Vec<String> = learnt.iter().map(|one| best_of(one).to_string()).collect();
    let gain = |values: &[(f64, f64, f64)]| values[best].1 - values[0].1;
    let [positive, negative, balanced] = [gain(&all[0]), gain(&all[1]), gain(&all[2])];
    Some(Figure {
        id: "apprentice-reach",
        title: "Maximum DOM offset for an apprentice",
        paper: "A Fig. 6",
        there: "accuracy rises with d max up to 5 to 7, because links that do not pay are rejected more often, while those \
                that do are recognised a little less often",
        here: format!(
            "balanced accuracy by cross-validation is {} at d max 0 and highest, {}, at {best}: {:+.1} points, {:+.1} of \
             links to relevant pages and {:+.1} of the others. Crawl by crawl, {} is chosen.",
            percent(all[2][0].1),
            percent(all[2][best].1),
            100.0 * balanced,
            100.0 * positive,
            100.0 * negative,
            chosen.join(", ")
        ),
        verdict: ClaimVerdict::of_parts(&[
            ("it rises up to 4 to 7", (4..=7).contains(&best)),
            ("because of the links that do not pay", negative > positive),
        ]),
        charts,
        table,
        ..Figure::default()
    })
}

/// Smallest maximum offset with the best accuracy.
fn best(values: &[(f64, f64, f64)]) -> usize {
    let better = |best: usize, at: usize| if values[at].1 > values[best].1 { at } else { best };
    (0..values.len()).fold(0, better)
}

/// The maximum offset that an apprentice chooses: best balanced accuracy.
fn best_of(one: &Apprenticeship) -> usize {
    best(&one.reach.iter().map(|at| (0.0, at.balanced(), 0.0)).collect::<Vec<_>>())
}

/// A Fig. 7: terms with offsets versus a plain window.
pub(super) fn window(evidence: &TracedResults) -> Option<Figure> {
    let learnt = learnt(evidence)?;
    let [offsets, window] =
        [by_reach(&learnt, AtReach::balanced), by_reach(&learnt, |at| at.window_balanced)];
    let mut table = HtmlTable::new(&["d max", "with offsets", "standard error", "without", "standard error"]);
    for (with, without) in offsets.iter().zip(&window) {
        let cells = [with.1, with.2, without.1, without.2].map(cell);
        table.rows.push([with.0.to_string()].into_iter().chain(cells).collect());
    }
    let last = offsets.len() - 1;
    let paper = last.min(5);
    Some(Figure {
        id: "apprentice-window",
        title: "Terms with their DOM offsets against a plain window of text",
        paper: "A Fig. 7",
        there: "accuracy falls with d max if text alone is used, and rises if offsets are given",
        here: format!(
            "from d max 0 to {last} balanced accuracy changes by {:+.1} points without offsets and by {:+.1} with them; at {paper} it is {} \
             and {}.",
            100.0 * (window[last].1 - window[0].1),
            100.0 * (offsets[last].1 - offsets[0].1),
            percent(window[paper].1),
            percent(offsets[paper].1)
        ),
        verdict: ClaimVerdict::of_parts(&[
            ("text alone falls", window[last].1 < window[0].1),
            ("offsets are better than text alone", offsets[paper].1 > window[paper].1),
            ("offsets rise", offsets[paper].1 > offsets[0].1),
        ]),
        charts: vec![chart(
            "all topics",
            D_MAX,
            RIGHT,
            vec![Series::line("with offsets", points(&offsets)), Series::line("without", points(&window))],
        )],
        table,
        ..Figure::default()
    })
}

/// A 3.8: features besides terms and offsets.
pub(super) fn features(evidence: &TracedResults) -> Option<Figure> {
    let learnt = learnt(evidence)?;
    let names: Vec<&str> = learnt[0].features.iter().map(|with| with.features.as_str()).collect();
    let ahead = |at: usize| {
        let groups = evidence.topics().iter().map(|topic| {
            let own = learnt.iter().filter(|one| one.topic == *topic);
            own.map(|one| one.features[at].balanced() - one.features[0].balanced()).collect::<Vec<f64>>()
        });
        bootstrap(&groups.collect::<Vec<_>>(), evidence.results.experiment.seed)
    };
    let differences: Vec<_> = (0..names.len()).map(ahead).collect();
    let mut table = HtmlTable::new(&[
        "features",
        "positive",
        "negative",
        "balanced",
        "all links",
        "balanced, more than terms and offsets",
        "95% interval",
    ]);
    for (at, (name, difference)) in names.iter().zip(&differences).enumerate() {
        let of = |value: fn(&crate::experiment::WithFeatures) -> f64| {
            cell(mean(learnt.iter().map(|one| value(&one.features[at]))))
        };
        table.rows.push(vec![
            (*name).to_owned(),
            of(|with| with.positive),
            of(|with| with.negative),
            of(crate::experiment::WithFeatures::balanced),
            of(|with| with.average),
            format!("{:+.4}", difference.mean),
            format!("{:+.4} \u{2026} {:+.4}", difference.low, difference.high),
        ]);
    }
    let ranges = names.iter().zip(&differences).skip(1).map(|(name, difference)| ValueRange {
        name: short(name).to_owned(),
        value: difference.mean,
        low: difference.low,
        high: difference.high,
    });
    let points = |at: usize| format!("{:+.1}", 100.0 * differences.get(at).map_or(0.0, |one| one.mean));
    // The paper's features: the topic, its prefixes, and co-citation.
    let largest = [1, 2, 4].map(|at| differences.get(at).map_or(0.0, |one| one.mean.abs()));
    Some(Figure {
        id: "apprentice-features",
        title: "What other features add to terms and offsets",
        paper: "A 3.8",
        there: "the source page's topic adds 1% of accuracy and the prefixes of its name another 1%, what links nearby led to \
                adds nothing: all of it is negligible",
        here: format!(
            "the topic of the source page changes balanced accuracy by {} points, with all prefixes by {}, the probabilities of its topics \
             by {}, what links nearby led to by {}.",
            points(1),
            points(2),
            points(3),
            points(4)
        ),
        verdict: ClaimVerdict::of(largest.into_iter().all(|change| change <= 0.03)),
        charts: vec![Chart {
            title: "balanced accuracy, more than with terms and offsets alone, with 95% intervals".to_owned(),
            x: Axis { label: "difference of balanced accuracy".to_owned(), scale: Scale::Linear },
            y: Axis { label: String::new(), scale: Scale::Linear },
            marks: Marks::Ranges(ranges.collect()),
        }],
        table,
        ..Figure::default()
    })
}

/// A short name for the margin of a chart.
fn short(features: &str) -> &str {
    match features {
        "and the topic of the source page" => "topic",
        "and all prefixes of its name" => "topic, all prefixes",
        "and the probabilities of its topics" => "probabilities",
        "and what links nearby led to" => "links nearby",
        "with the way through the tree" => "way through the tree",
        "with the depth of the common ancestor" => "common ancestor",
        other => other,
    }
}

/// A Fig. 13 (a): estimates for the queue.
pub(super) fn queue(evidence: &TracedResults) -> Option<Figure> {
    let learnt = learnt(evidence)?;
    let queues: Vec<&QueueEstimates> = learnt.iter().filter_map(|one| one.queue.as_ref()).collect();
    let parts = queues.first()?.before.len();
    let share = |counts: fn(&QueueEstimates) -> &Vec<u64>, part: usize| {
        mean(queues.iter().map(|queue| counts(queue)[part] as f64 / queue.waiting.max(1) as f64))
    };
    let middle = |part: usize| (part as f64 + 0.5) / parts as f64;
    let series = |name: &str, counts: fn(&QueueEstimates) -> &Vec<u64>| {
        Series::line(name, (0..parts).map(|part| (middle(part), share(counts, part))).collect())
    };
    let mut table = HtmlTable::new(&["expected from", "to", "by soft focus", "by the apprentice"]);
    for part in 0..parts {
        let edge = |part: usize| format!("{:.2}", part as f64 / parts as f64);
        let shares = [share(|queue| &queue.before, part), share(|queue| &queue.after, part)].map(cell);
        table.rows.push([edge(part), edge(part + 1)].into_iter().chain(shares).collect());
    }
    let of = |value: fn(&QueueEstimates) -> f64| mean(queues.iter().map(|queue| value(queue)));
    let (before, after) = (of(|queue| queue.mean_before), of(|queue| queue.mean_after));
    let (truth, alike) = (of(|queue| queue.mean_truth), of(|queue| queue.rank_correlation));
    Some(Figure {
        id: "apprentice-queue",
        title: "Estimates for the queue before and after an apprentice is trained",
        paper: "A Fig. 13 (a)",
        there: "the baseline is too optimistic about what waits; the apprentice gives up a large part of it, is less optimistic \
                about the rest, and orders it anew",
        here: format!(
            "of the pages that wait when the crawl ends ({:.0} a crawl), soft focus expects R of {before:.3} in the mean, the \
             apprentice {after:.3}; it is {truth:.3}. Their orders are alike by {alike:.2} (1: the same; 0: nothing to do with each \
             other).",
            of(|queue| queue.waiting as f64)
        ),
        verdict: ClaimVerdict::of_parts(&[
            ("the baseline is too optimistic", before > truth),
            ("the order is another one", alike < 0.5),
            ("the apprentice is nearer to the truth", (after - truth).abs() < (before - truth).abs()),
        ]),
        charts: vec![Chart {
            title: "share of the queued pages, by estimated relevance (logarithmic)".to_owned(),
            x: Axis { label: "expected R".to_owned(), scale: Scale::Linear },
            y: Axis { label: "share of the queued pages".to_owned(), scale: Scale::Log },
            marks: Marks::Points(vec![
                series("soft focus", |queue| &queue.before),
                series("apprentice", |queue| &queue.after),
            ]),
        }],
        table,
        ..Figure::default()
    })
}
