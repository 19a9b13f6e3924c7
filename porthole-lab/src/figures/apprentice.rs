//! Crawls guided by an apprentice, compared with those of the baseline that it learns from (A 3.3, 3.5 to 3.7).

use super::evidence::{TracedResults, cell, percent, with_error};
use super::{ClaimVerdict, Figure};
use crate::experiment::{FetchStep, Trace};
use crate::measures::{self, by_url};
use crate::statistics::{Difference, bootstrap};
use porthole_report::html::HtmlTable;
use porthole_report::summary::{self, mean};
use porthole_report::svg::{Axis, Chart, ChartBar, Marks, Scale, Series};

/// Number of bins of a distribution of relevance.
const PARTS: usize = 10;

/// A Figs. 4 and 5: difficulty of the topics for the baseline.
pub(super) fn difficulty(evidence: &TracedResults) -> Option<Figure> {
    let baseline = evidence.baseline();
    let shares = |topic: &str| -> Vec<f64> {
        let steps = evidence.of(baseline, Some(topic)).flat_map(Trace::counted);
        let counts = summary::histogram(steps.filter_map(|step| step.relevance), PARTS);
        let all = counts.iter().sum::<u64>().max(1) as f64;
        counts.into_iter().map(|count| count as f64 / all).collect()
    };
    let topics: Vec<(&String, Vec<f64>)> =
        evidence.topics().iter().map(|topic| (topic, shares(topic))).collect();
    let mut table = HtmlTable::new(&["topic", "good: R above 0.5", "bad"]);
    table.head.extend((0..PARTS).map(|part| format!("R from {:.1}", part as f64 / PARTS as f64)));
    for (topic, shares) in &topics {
        let good: f64 = shares[PARTS / 2..].iter().sum();
        let cells = [good, 1.0 - good].into_iter().chain(shares.iter().copied()).map(cell);
        table.rows.push([(*topic).clone()].into_iter().chain(cells).collect());
    }
    let of = |parts: std::ops::Range<usize>| {
        mean(topics.iter().map(|(_, shares)| shares[parts.clone()].iter().sum::<f64>()))
    };
    let (low, high, between) = (of(0..1), of(PARTS - 1..PARTS), of(1..PARTS - 1));
    let middle = |part: usize| (part as f64 + 0.5) / PARTS as f64;
    let curve = |(topic, shares): &(&String, Vec<f64>)| {
        Series::line(
            last_of(topic),
            shares.iter().enumerate().map(|(part, share)| (middle(part), *share)).collect(),
        )
    };
    let bars = topics.iter().enumerate().map(|(at, (_, shares))| {
        let good: f64 = shares[PARTS / 2..].iter().sum();
        ChartBar { name: (at + 1).to_string(), parts: vec![good, 1.0 - good], note: percent(good) }
    });
    let names: Vec<String> =
        topics.iter().enumerate().map(|(at, (topic, _))| format!("{} {}", at + 1, last_of(topic))).collect();
    Some(Figure {
        id: "difficulty",
        title: "Difficulty of the topics for the baseline",
        paper: "A Figs. 4, 5",
        there: "relevance is near 0 or near 1 for most pages, with little between",
        here: format!(
            "of the pages of {baseline} focus {} have R below 0.1, {} above 0.9, and {} lie between, in the mean over topics.",
            percent(low),
            percent(high),
            percent(between)
        ),
        // Bimodal: the top tenth holds more than any tenth between the ends.
        verdict: ClaimVerdict::of(between < 0.25 && high > between / (PARTS - 2) as f64),
        charts: vec![
            Chart {
                title: format!("share of good pages: {}", names.join(", ")),
                x: Axis { label: "topic".to_owned(), scale: Scale::Linear },
                y: Axis { label: "share of the pages".to_owned(), scale: Scale::Linear },
                marks: Marks::Bars {
                    parts: vec!["R above 0.5".to_owned(), "R below".to_owned()],
                    bars: bars.collect(),
                },
            },
            Chart {
                title: format!("share of the pages of {baseline}, by R (logarithmic)"),
                x: Axis { label: "R by the critic that guides".to_owned(), scale: Scale::Linear },
                y: Axis { label: "share of the pages".to_owned(), scale: Scale::Log },
                marks: Marks::Points(topics.iter().map(curve).collect()),
            },
        ],
        table,
        ..Figure::default()
    })
}

fn last_of(topic: &str) -> &str {
    topic.rsplit('/').next().unwrap_or(topic)
}

/// The unrestricted apprentice taught by the baseline's own crawls, if it was run.
pub(super) fn taught(evidence: &TracedResults) -> Option<&str> {
    let behind = format!("~{}", evidence.baseline());
    evidence.plain().into_iter().find(|name| name.starts_with("apprentice") && name.ends_with(&behind))
}

/// A Fig. 11: overlap of the apprentice's pages with its teacher's.
pub(super) fn overlap(evidence: &TracedResults) -> Option<Figure> {
    let (baseline, apprentice) = (evidence.baseline(), taught(evidence)?);
    let budget = evidence.budget();
    // Shares of all pages that either fetched: the baseline only, both, the apprentice only.
    let shares = |topic: &str| -> [f64; 3] {
        let pairs = evidence.of(apprentice, Some(topic)).filter_map(|own| {
            let other = evidence.trace(topic, baseline, own.outcome.sample)?;
            Some(split(&own.counted(), &other.counted(), budget))
        });
        let pairs: Vec<[f64; 3]> = pairs.collect();
        [0, 1, 2].map(|part| mean(pairs.iter().map(|pair| pair[part])))
    };
    let topics: Vec<(&String, [f64; 3])> =
        evidence.topics().iter().map(|topic| (topic, shares(topic))).collect();
    let mut table = HtmlTable::new(&["topic", "the baseline alone", "both", "the apprentice alone"]);
    for (topic, shares) in &topics {
        table.rows.push([(*topic).clone()].into_iter().chain(shares.map(cell)).collect());
    }
    let both = mean(topics.iter().map(|(_, shares)| shares[1]));
    let bar = |(at, (_, shares)): (usize, &(&String, [f64; 3]))| ChartBar {
        name: (at + 1).to_string(),
        parts: shares.to_vec(),
        note: percent(shares[1]),
    };
    let names: Vec<String> =
        topics.iter().enumerate().map(|(at, (topic, _))| format!("{} {}", at + 1, last_of(topic))).collect();
    Some(Figure {
        id: "apprentice-overlap",
        title: "Overlap of the apprentice and its teacher",
        paper: "A Fig. 11",
        there: "there is little overlap: what the apprentice learns is general, and not the pages that it was taught with",
        here: format!(
            "of all pages that {baseline} or {apprentice} fetched in {budget} fetches from the same starts, {} were fetched by both \
             (mean over topics).",
            percent(both)
        ),
        verdict: ClaimVerdict::of(both < 0.25),
        charts: vec![Chart {
            title: format!("share of all pages fetched by either: {}", names.join(", ")),
            x: Axis { label: "topic".to_owned(), scale: Scale::Linear },
            y: Axis { label: "share of the pages".to_owned(), scale: Scale::Linear },
            marks: Marks::Bars {
                parts: vec![format!("{baseline} alone"), "both".to_owned(), format!("{apprentice} alone")],
                bars: topics.iter().enumerate().map(bar).collect(),
            },
        }],
        table,
        ..Figure::default()
    })
}

/// Of all pages of two crawls after `n` fetches: the shares of the other only, both, and the one only.
fn split(one: &[&FetchStep], other: &[&FetchStep], n: u64) -> [f64; 3] {
    let both = measures::overlap(one, other, n, by_url) * one.len().min(n as usize) as f64;
    let [one, other] = [one, other].map(|steps| steps.len().min(n as usize) as f64);
    let all = (one + other - both).max(1.0);
    [(other - both) / all, both / all, (one - both) / all]
}

/// A crawl that an apprentice takes over, with that of the baseline from the same starts; both are equal up to the
/// training.
struct TakeoverPair {
    /// Loss of each counted fetch: 1 - R.
    apprentice: Vec<f64>,
    baseline: Vec<f64>,
    /// Number of counted fetches before the training.
    at: usize,
}

/// Pages before the first training of an apprentice that learns in the crawl it guides; `None` for other strategies.
fn trained_at(name: &str) -> Option<usize> {
    let is_own = name.starts_with("apprentice") && !name.contains(['~', '@', '+']);
    let given = name.split([':', ',']).find_map(|part| part.strip_prefix("train="));
    is_own.then(|| given.map_or(Some(25), |pages| pages.parse().ok())).flatten().filter(|pages| *pages > 0)
}

/// Growth of the number of pages between trainings.
fn again(name: &str) -> f64 {
    let given = name.split([':', ',']).find_map(|part| part.strip_prefix("again="));
    given.and_then(|growth| growth.parse().ok()).unwrap_or(1.25)
}

fn switched(evidence: &TracedResults, name: &str, topic: &str, pages: usize) -> Vec<TakeoverPair> {
    let lost = |trace: &Trace| -> Vec<f64> {
        trace.counted().iter().map(|step| 1.0 - step.relevance.unwrap_or(0.0)).collect()
    };
    let crawls = evidence.of(name, Some(topic)).filter_map(|own| {
        let other = evidence.trace(topic, evidence.baseline(), own.outcome.sample)?;
        let fetched = own.steps.iter().filter(|step| step.relevance.is_some()).take(pages);
        let at = fetched.filter(|step| step.label.counts()).count();
        Some(TakeoverPair { apprentice: lost(own), baseline: lost(other), at })
    });
    crawls.collect()
}

impl TakeoverPair {
    /// Mean loss of the fetches in a range after the training.
    fn between(&self, lost: &[f64], from: i64, to: i64) -> Option<f64> {
        let place = |offset: i64| usize::try_from(self.at as i64 + offset).unwrap_or(0).min(lost.len());
        let part = &lost[place(from)..place(to)];
        (!part.is_empty()).then(|| mean(part.iter().copied()))
    }

    /// Cumulative loss of the fetches in a range after the training.
    fn sum(&self, lost: &[f64], from: i64, to: i64) -> f64 {
        let place = |offset: i64| usize::try_from(self.at as i64 + offset).unwrap_or(0).min(lost.len());
        lost[place(from)..place(to)].iter().sum()
    }
}

/// A Figs. 13 (b) and 14: loss per page before and after an apprentice takes over.
pub(super) fn online(evidence: &TracedResults) -> Option<Figure> {
    let strategies = evidence.results.experiment.strategies.iter();
    let names: Vec<(&str, usize)> =
        strategies.filter_map(|name| Some((name.as_str(), trained_at(name)?))).collect();
    let (baseline, budget) = (evidence.baseline(), evidence.budget() as i64);
    let part = (budget / 10).max(1);
    // The apprentice with the latest training has the longest baseline before it.
    let latest = names.iter().map(|(_, pages)| *pages).max()?;
    let names: Vec<&str> =
        names.iter().filter(|(_, pages)| *pages == latest).map(|(name, _)| *name).collect();
    let of_topic = |name: &str, topic: &String| switched(evidence, name, topic, latest);
    let crawls = |name: &str| -> Vec<TakeoverPair> {
        evidence.topics().iter().flat_map(|topic| of_topic(name, topic)).collect()
    };
    let all: Vec<(&str, Vec<TakeoverPair>)> = names.iter().map(|name| (*name, crawls(name))).collect();
    let first = all.first().filter(|(_, crawls)| !crawls.is_empty())?;
    let mean_before = mean(first.1.iter().map(|crawl| crawl.at as f64));
    let last = budget - mean_before as i64;
    let spans: Vec<(i64, i64)> = (-(mean_before as i64) / part..=last / part)
        .map(|at| (at * part, (at + 1) * part))
        .filter(|span| span.0 < last)
        .collect();
    let loss = |crawls: &[TakeoverPair], is_own: bool, (from, to): (i64, i64)| {
        let one = |crawl: &TakeoverPair| {
            crawl.between(if is_own { &crawl.apprentice } else { &crawl.baseline }, from, to)
        };
        with_error(&crawls.iter().filter_map(one).collect::<Vec<f64>>())
    };
    let mut rows: Vec<(&str, &[TakeoverPair], bool)> = vec![(baseline, &first.1, false)];
    rows.extend(all.iter().map(|(name, crawls)| (*name, crawls.as_slice(), true)));
    let mut table = HtmlTable::new(&["fetches from the training", "to"]);
    for (name, ..) in &rows {
        table.head.extend([
            format!("loss a page, {name}"),
            "standard error".to_owned(),
            "sum from the training".to_owned(),
        ]);
    }
    // Before the training the sum is not of interest: it is the same for all.
    let lost = |crawls: &[TakeoverPair], is_own: bool, to: i64| -> String {
        let one =
            |crawl: &TakeoverPair| crawl.sum(if is_own { &crawl.apprentice } else { &crawl.baseline }, 0, to);
        if to > 0 { format!("{:.1}", mean(crawls.iter().map(one))) } else { String::new() }
    };
    for span in &spans {
        let cells = rows.iter().flat_map(|(_, crawls, is_own)| {
            let (mean, error) = loss(crawls, *is_own, *span);
            [cell(mean), cell(error), lost(crawls, *is_own, span.1)]
        });
        table.rows.push([span.0.to_string(), span.1.to_string()].into_iter().chain(cells).collect());
    }
    let middle = |span: &(i64, i64)| (span.0 + span.1) as f64 / 2.0;
    let series = rows.iter().map(|(name, crawls, is_own)| {
        let losses: Vec<(f64, f64)> = spans.iter().map(|span| loss(crawls, *is_own, *span)).collect();
        let points = spans.iter().zip(&losses).map(|(span, (mean, _))| (middle(span), *mean)).collect();
        Series::with_errors(name, points, losses.iter().map(|(_, error)| *error).collect())
    });
    let difference = |name: &str, span: (i64, i64)| -> Difference {
        let of_crawl = |crawl: &TakeoverPair| {
            Some(
                crawl.between(&crawl.apprentice, span.0, span.1)?
                    - crawl.between(&crawl.baseline, span.0, span.1)?,
            )
        };
        let groups = evidence
            .topics()
            .iter()
            .map(|topic| of_topic(name, topic).iter().filter_map(of_crawl).collect::<Vec<f64>>());
        bootstrap(&groups.collect::<Vec<_>>(), evidence.results.experiment.seed)
    };
    let mut sentences: Vec<String> = names
        .iter()
        .map(|name| {
            let [soon, all] = [difference(name, (0, part)), difference(name, (0, last))];
            format!(
                "{name} changes it by {:+.3} in the next {part} (95% interval {:+.3} to {:+.3}) and by {:+.3} up to the end ({:+.3} to \
                 {:+.3})",
                soon.mean, soon.low, soon.high, all.mean, all.low, all.high
            )
        })
        .collect();
    let mut parts = vec![("the loss falls at once", difference(names[0], (0, part)).high < 0.0)];
    let rarest = names.iter().max_by(|a, b| again(a).total_cmp(&again(b)))?;
    let most_often = names.iter().min_by(|a, b| again(a).total_cmp(&again(b)))?;
    if again(rarest) > again(most_often) {
        let groups = evidence.topics().iter().map(|topic| {
            let pairs = of_topic(most_often, topic).into_iter().zip(of_topic(rarest, topic));
            let less = |(often, once): (TakeoverPair, TakeoverPair)| {
                Some(often.between(&often.apprentice, 0, last)? - once.between(&once.apprentice, 0, last)?)
            };
            pairs.filter_map(less).collect::<Vec<f64>>()
        });
        let less = bootstrap(&groups.collect::<Vec<_>>(), evidence.results.experiment.seed);
        sentences.push(format!(
            "{most_often} loses {:+.3} ({:+.3} to {:+.3}) beside {rarest}",
            less.mean, less.low, less.high
        ));
        parts.push(("training again adds little", less.high >= 0.0));
    }
    let before = loss(&first.1, false, (-part, 0)).0;
    Some(Figure {
        id: "apprentice-online",
        title: "Loss a page before and after an apprentice is switched in",
        paper: "A Figs. 13 (b), 14",
        there: "the loss a page falls at once when the apprentice takes over, from over 30% to 6%; training again later adds \
                little",
        here: format!(
            "trained at {latest} pages, {mean_before:.0} of which count, the loss a page was {before:.3} over the last {part}. Against \
             {baseline} that goes on, {}.",
            sentences.join("; ")
        ),
        verdict: ClaimVerdict::of_parts(&parts),
        charts: vec![Chart {
            title: format!("mean of 1 - R over {part} fetches, all topics and samples, with standard errors"),
            x: Axis { label: "fetches from the training on".to_owned(), scale: Scale::Close },
            y: Axis { label: "loss a page".to_owned(), scale: Scale::Close },
            marks: Marks::Points(series.collect()),
        }],
        table,
        ..Figure::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn training_is_read_from_the_name() {
        assert_eq!(trained_at("apprentice"), Some(25));
        assert_eq!(trained_at("apprentice:d=3,train=100"), Some(100));
        assert_eq!((again("apprentice:train=100,again=1000"), again("apprentice")), (1000.0, 1.25));
        for other in ["soft", "apprentice:train=0", "apprentice~soft", "apprentice@soft~soft"] {
            assert_eq!(trained_at(other), None, "{other}");
        }
    }

    #[test]
    fn hand_computed_losses_around_a_training() {
        let crawl =
            TakeoverPair { apprentice: vec![1.0, 0.5, 0.2, 0.0], baseline: vec![1.0, 0.5, 0.9], at: 2 };
        let own = |from, to| crawl.between(&crawl.apprentice, from, to);
        assert_eq!((own(-2, 0), own(0, 2)), (Some(0.75), Some(0.1)));
        // The crawl ended before.
        assert_eq!(
            (crawl.between(&crawl.baseline, 0, 9), crawl.between(&crawl.baseline, 1, 9)),
            (Some(0.9), None)
        );
        assert_eq!(own(-9, -1), Some(1.0));
        assert_eq!([1, 2, 9].map(|to| crawl.sum(&crawl.apprentice, 0, to)), [0.2, 0.2, 0.2]);
    }
}
