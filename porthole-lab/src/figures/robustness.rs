//! Dependence of a crawl on its start pages (W 4.3 to 4.5; V 3.5, 3.6).

use super::evidence::{Curve, Points, TracedResults, cell, over_fetches, percent, series, table};
use super::{ClaimVerdict, Figure};
use crate::experiment::{Authority, Trace};
use crate::measures::{self, StepKey, by_server, by_url};
use porthole_report::html::HtmlTable;
use porthole_report::summary::mean;
use porthole_report::svg::{Axis, Chart, ChartBar, Marks, Scale, Series};

/// The strategies that are compared here: the baseline and the unfocused one.
fn compared(evidence: &TracedResults) -> Vec<&str> {
    let mut names = vec![evidence.baseline()];
    names.extend(evidence.control());
    names
}

/// Mean over pairs of crawls from disjoint starts, by moment.
fn over_pairs(
    evidence: &TracedResults,
    strategy: &str,
    topic: Option<&str>,
    value: impl Fn(&Trace, &Trace, u64) -> f64,
) -> Option<Points> {
    let pairs: Vec<(&Trace, &Trace)> = evidence.pairs(strategy, topic).collect();
    if pairs.is_empty() {
        return None;
    }
    let at = |n: u64| (n as f64, mean(pairs.iter().map(|(one, other)| value(one, other, n))));
    Some(evidence.moments().into_iter().map(at).collect())
}

fn end(curve: &[(f64, f64)]) -> f64 {
    curve.last().map_or(0.0, |point| point.1)
}

fn overlaps(evidence: &TracedResults, name: StepKey) -> Option<Vec<Curve>> {
    let overlap =
        |one: &Trace, other: &Trace, n: u64| measures::overlap(&one.counted(), &other.counted(), n, name);
    let mut curves = Vec::new();
    for strategy in compared(evidence) {
        curves.push((strategy.to_owned(), over_pairs(evidence, strategy, None, overlap)?));
    }
    for topic in evidence.topics().iter().take(2) {
        let strategy = evidence.baseline();
        curves.push((format!("{strategy}, {topic}"), over_pairs(evidence, strategy, Some(topic), overlap)?));
    }
    Some(curves)
}

/// Summary of the curves of the strategy and of the control.
fn above_control(evidence: &TracedResults, curves: &[Curve]) -> (String, ClaimVerdict) {
    let own = end(&curves[0].1);
    match evidence.control() {
        Some(_) if curves.len() > 1 => {
            let control = end(&curves[1].1);
            let words = format!(
                "{} for {} focus, {} for two unfocused crawls",
                percent(own),
                curves[0].0,
                percent(control)
            );
            (words, ClaimVerdict::of(own > 2.0 * control))
        }
        _ => (format!("{} for {} focus", percent(own), curves[0].0), ClaimVerdict::NotTestable),
    }
}

/// W Fig. 6.
pub(super) fn url_overlap(evidence: &TracedResults) -> Option<Figure> {
    let curves = overlaps(evidence, by_url)?;
    let (words, verdict) = above_control(evidence, &curves);
    Some(Figure {
        id: "url-overlap",
        title: "Overlap of the pages of two crawls from disjoint starts",
        paper: "W Fig. 6",
        there: "the overlap grows to 90% for cycling and to over 60% for mutual funds",
        here: format!(
            "after {} fetches the share of pages that both have is {words}. (The larger the budget is beside the web, the \
             larger it is for any order.)",
            evidence.budget()
        ),
        verdict,
        charts: vec![over_fetches("pages in common", "share of the pages", series(&curves))],
        table: table(&curves),
        ..Figure::default()
    })
}

/// W Fig. 7.
pub(super) fn server_overlap(evidence: &TracedResults) -> Option<Figure> {
    if !evidence.results.experiment.servers {
        return Some(Figure {
            id: "server-overlap",
            title: "Overlap of the servers of two crawls from disjoint starts",
            paper: "W Figs. 7, 8",
            there: "the overlap of servers grows steadily, too",
            here: "servers are not meaningful on this web.".to_owned(),
            ..Figure::default()
        });
    }
    let curves = overlaps(evidence, by_server)?;
    let (words, _) = above_control(evidence, &curves);
    // If any two crawls share most servers, the overlap of focused ones is no evidence.
    let above = evidence.control().is_none_or(|_| end(&curves[0].1) > end(&curves[1].1));
    let first = curves[0].1.first().map_or(0.0, |point| point.1);
    Some(Figure {
        id: "server-overlap",
        title: "Overlap of the servers of two crawls from disjoint starts",
        paper: "W Fig. 7",
        there: "the overlap of servers grows steadily, too",
        here: format!("after {} fetches the share of servers that both have is {words}.", evidence.budget()),
        verdict: ClaimVerdict::of(end(&curves[0].1) > first && above),
        charts: vec![over_fetches("servers in common", "share of the servers", series(&curves))],
        table: table(&curves),
        ..Figure::default()
    })
}

/// Thresholds of relevance by a critic: V uses log R above -1, and reports that the choice does not matter.
const THRESHOLDS: [f64; 4] = [0.1, 0.37, 0.7, 0.9];

/// V Fig. 6: the first crawl of a pair is the reference.
pub(super) fn coverage(evidence: &TracedResults) -> Option<Figure> {
    let baseline = evidence.baseline();
    let against = |strategy: &str, name: StepKey| -> Option<Points> {
        let pairs: Vec<(&Trace, &Trace)> = evidence
            .pairs(baseline, None)
            .filter_map(|(reference, other)| {
                let outcome = &other.outcome;
                Some((reference, evidence.trace(&outcome.topic, strategy, outcome.sample)?))
            })
            .collect();
        let at = |n: u64| {
            let covered = pairs.iter().map(|(reference, test)| {
                let reference = reference.counted();
                measures::coverage(&measures::relevant(&reference, name), &test.counted(), n, name)
            });
            (n as f64, mean(covered))
        };
        (!pairs.is_empty()).then(|| evidence.moments().into_iter().map(at).collect())
    };
    let mut charts = Vec::new();
    let mut all = Vec::new();
    for (what, name, has) in
        [("pages", by_url as StepKey, true), ("servers", by_server, evidence.results.experiment.servers)]
    {
        if !has {
            continue;
        }
        let mut curves = Vec::new();
        for strategy in compared(evidence) {
            curves.push((strategy.to_owned(), against(strategy, name)?));
        }
        let title = format!("relevant {what} of the reference crawl that were visited");
        charts.push(over_fetches(&title, "share covered", series(&curves)));
        all.extend(curves.into_iter().map(|(strategy, points)| (format!("{what}, {strategy}"), points)));
    }
    let own = end(&all[0].1);
    let control = evidence.control().and_then(|_| all.get(1)).map(|(_, points)| end(points));
    let by_critic = |least: f64| {
        mean(evidence.pairs(baseline, None).map(|(reference, test)| {
            let reference = measures::relevant_above(&reference.counted(), least, by_url);
            measures::coverage(&reference, &test.counted(), evidence.budget(), by_url)
        }))
    };
    Some(Figure {
        id: "coverage",
        title: "Coverage of a reference crawl from other starts",
        paper: "V Fig. 6",
        there: "a crawl from disjoint starts visits 83% of the relevant pages of the reference and 90% of its servers",
        here: format!(
            "a crawl with {baseline} focus from disjoint starts visits {} of the pages about the topic that the reference \
             found{}. By R as in the paper, of those with R above {}.",
            percent(own),
            control.map_or(String::new(), |control| format!(", an unfocused one {}", percent(control))),
            THRESHOLDS.map(|least| format!("{least:.2} {}", percent(by_critic(least)))).join(", ")
        ),
        verdict: control
            .map_or(ClaimVerdict::NotTestable, |control| ClaimVerdict::of(own > 0.6 && own > 2.0 * control)),
        charts,
        table: table(&all),
        ..Figure::default()
    })
}

/// W 4.3: smaller and smaller start sets.
pub(super) fn smaller_starts(evidence: &TracedResults) -> Option<Figure> {
    let baseline = evidence.baseline();
    let prefix = format!("{baseline}:");
    let experiment = &evidence.results.experiment;
    let fewer = experiment.strategies.iter().filter_map(|name| {
        name.strip_prefix(&prefix).and_then(|starts| Some((starts.parse::<usize>().ok()?, name.as_str())))
    });
    let mut sizes: Vec<(usize, &str)> = fewer.chain([(experiment.start, baseline)]).collect();
    sizes.sort_unstable();
    if sizes.len() < 2 {
        return None;
    }
    let budget = evidence.budget();
    let (mut covered, mut recall) = (Vec::new(), Vec::new());
    let mut table = HtmlTable::new(&["start pages", "coverage of the crawl from all", "recall", "harvest"]);
    for (size, name) in sizes {
        let covers = mean(evidence.of(name, None).filter_map(|trace| {
            let whole = evidence.trace(&trace.outcome.topic, baseline, trace.outcome.sample)?.counted();
            Some(measures::coverage(&measures::relevant(&whole, by_url), &trace.counted(), budget, by_url))
        }));
        let found = evidence.mean(name, |outcome| outcome.recall[&budget]);
        covered.push((size as f64, covers));
        recall.push((size as f64, found));
        let harvest = evidence.mean(name, |outcome| outcome.harvest[&budget]);
        table.rows.push(vec![size.to_string(), cell(covers), cell(found), cell(harvest)]);
    }
    let (least, most) = (recall[0].1, end(&recall));
    Some(Figure {
        id: "smaller-starts",
        title: "Smaller and smaller start sets",
        paper: "W 4.3",
        there: "the choice of starting points is not critical; to start from ever fewer was left to be tried",
        here: format!(
            "from one page instead of {}, {baseline} focus finds {} of the topic instead of {}, and {} of what the crawl \
             from all found.",
            experiment.start,
            percent(least),
            percent(most),
            percent(covered[0].1)
        ),
        verdict: ClaimVerdict::of(least > 0.8 * most),
        charts: vec![Chart {
            title: format!("after {budget} fetches"),
            x: Axis { label: "start pages".to_owned(), scale: Scale::Linear },
            y: Axis { label: "share".to_owned(), scale: Scale::Linear },
            marks: Marks::Points(vec![
                Series::line("coverage of the crawl from all", covered),
                Series::line("recall of the topic", recall),
            ]),
        }],
        table,
        ..Figure::default()
    })
}

/// W Fig. 8.
pub(super) fn authorities(evidence: &TracedResults) -> Option<Figure> {
    let servers = evidence.results.experiment.servers;
    let mut curves = Vec::new();
    for strategy in compared(evidence) {
        let pairs: Vec<(&Trace, &Trace)> = evidence.pairs(strategy, None).collect();
        if pairs.is_empty() {
            return None;
        }
        let mut add = |what: &str, name: fn(&Authority) -> &str| {
            let at = |k: usize| {
                let shared = pairs.iter().map(|(one, other)| {
                    measures::shared_authorities(&one.authorities, &other.authorities, k, name)
                });
                (k as f64, mean(shared))
            };
            curves.push((format!("{what}, {strategy}"), [5, 10, 25, 50, 100].map(at).to_vec()));
        };
        add("pages", |page| &page.url);
        if servers {
            add("servers", |page| &page.host);
        }
    }
    let at_25 = |at: usize| curves[at].1[2].1;
    let control = if servers { 2 } else { 1 };
    let here = match evidence.control() {
        Some(_) => format!(
            "of the 25 best authorities two crawls have {} in common, two unfocused ones {}.",
            percent(at_25(0)),
            percent(at_25(control))
        ),
        None => format!("of the 25 best authorities two crawls have {} in common.", percent(at_25(0))),
    };
    let mut table = HtmlTable::new(&["N best"]);
    table.head.extend(curves.iter().map(|(name, _)| name.clone()));
    for at in 0..5 {
        let mut row = vec![curves[0].1[at].0.to_string()];
        row.extend(curves.iter().map(|(_, points)| cell(points[at].1)));
        table.rows.push(row);
    }
    let verdict = match evidence.control() {
        Some(_) => ClaimVerdict::of(at_25(0) > 0.5 && at_25(0) > at_25(control)),
        None => ClaimVerdict::NotTestable,
    };
    Some(Figure {
        id: "authorities",
        title: "Overlap of the top authorities of two crawls from disjoint starts",
        paper: "W Fig. 8",
        there: "the most popular sites are found by both crawls, with slight changes of rank",
        here,
        verdict,
        charts: vec![Chart {
            title: "authorities in common".to_owned(),
            x: Axis { label: "N best".to_owned(), scale: Scale::Linear },
            y: Axis { label: "share in common".to_owned(), scale: Scale::Linear },
            marks: Marks::Points(
                curves.iter().map(|(name, points)| Series::line(name, points.clone())).collect(),
            ),
        }],
        table,
        ..Figure::default()
    })
}

/// W Fig. 9, V Fig. 7.
pub(super) fn distances(evidence: &TracedResults) -> Option<Figure> {
    let baseline = evidence.baseline();
    let all = measures::distances(evidence.of(baseline, None).flat_map(|trace| &trace.authorities));
    let crawls = evidence.of(baseline, None).count().max(1) as f64;
    let farthest = *all.keys().max()?;
    let mean_count = |distance: u32| all.get(&distance).copied().unwrap_or(0) as f64 / crawls;
    let bar = |distance: u32| ChartBar {
        name: distance.to_string(),
        parts: vec![mean_count(distance)],
        note: format!("{:.1}", mean_count(distance)),
    };
    let mut table = HtmlTable::new(&["links from the start", "authorities a crawl"]);
    table.rows.extend((0..=farthest).map(|distance| vec![distance.to_string(), cell(mean_count(distance))]));
    let (sum, far): (u64, u64) = all.iter().fold((0, 0), |(sum, far), (distance, count)| {
        (sum + count, far + if *distance > 2 { *count } else { 0 })
    });
    let share = far as f64 / sum.max(1) as f64;
    Some(Figure {
        id: "distances",
        title: "Distance of the best authorities from the start pages",
        paper: "W Fig. 9; V Fig. 7",
        there: "many of the hundred best authorities are far from the start set, up to 10 and 15 links away",
        here: format!(
            "{} of the hundred best authorities of {baseline} focus are more than two links from the start pages, the \
             farthest {farthest}.",
            percent(share)
        ),
        verdict: ClaimVerdict::of(share > 0.3),
        charts: vec![Chart {
            title: "mean of all crawls".to_owned(),
            x: Axis { label: "links from the nearest start page".to_owned(), scale: Scale::Linear },
            y: Axis { label: "authorities among the best 100".to_owned(), scale: Scale::Linear },
            marks: Marks::Bars { parts: vec![baseline.to_owned()], bars: (0..=farthest).map(bar).collect() },
        }],
        table,
        ..Figure::default()
    })
}
