//! Exploration against exploitation: how greedy Best-N-First should be (P 5).

pub(super) mod neighbours;
pub(super) mod open;

use super::evidence::{Evidence, Points, cell, over_fetches};
use super::{Figure, Verdict};
use crate::experiment::{Quality, Ranked, RankedCrawl, Task};
use crate::html::Table;
use crate::measures::mean;
use crate::statistics::{Difference, bootstrap, standard_error};
use crate::svg::{Axis, Chart, Marks, Scale, Series};

/// The greediest crawler of P, the one that explores most, and the one that knows nothing.
const GREEDY: &str = "best-1";
const EXPLORING: &str = "best-256";
const BLIND: &str = "fifo-256";

/// The two ways to rank pages (P Table 2).
const RANKS: [(&str, Rank); 2] =
    [("rank_SMART", |crawl| &crawl.lexical), ("rank_KW,PR", |crawl| &crawl.linkage)];

type Rank = fn(&RankedCrawl) -> &Quality;

/// The crawls with one task, by what they are worth.
struct Crawls<'a> {
    evidence: &'a Evidence,
    ranked: Ranked,
    task: Task,
}

impl<'a> Crawls<'a> {
    /// `None` if the two crawlers that P compares were not ranked.
    fn with(evidence: &'a Evidence, task: Task) -> Option<Self> {
        let mut ranked: Ranked = evidence.results.study("ranks").ok().flatten()?;
        ranked.crawls.retain(|crawl| crawl.task == task);
        let crawls = Crawls { evidence, ranked, task };
        [GREEDY, EXPLORING].into_iter().all(|name| crawls.of(name).next().is_some()).then_some(crawls)
    }

    /// The name under which a strategy has this task.
    fn name(&self, strategy: &str) -> String {
        match self.task {
            Task::Examples => strategy.to_owned(),
            Task::Neighbours => format!("{strategy}+neighbours"),
        }
    }

    fn of<'b>(&'b self, strategy: &str) -> impl Iterator<Item = &'b RankedCrawl> + use<'a, 'b> {
        let name = self.name(strategy);
        self.ranked.crawls.iter().filter(move |crawl| crawl.strategy == name)
    }

    /// The strategies that are drawn: P's, and those of the other papers beside them.
    fn drawn(&self) -> Vec<&'static str> {
        let names = [GREEDY, EXPLORING, BLIND, "breadth", "soft", "porthole"];
        names.into_iter().filter(|name| self.of(name).next().is_some()).collect()
    }

    /// The mean of a value and its standard error over the topics.
    fn mean(&self, strategy: &str, value: impl Fn(&RankedCrawl) -> Option<f64>) -> Option<(f64, f64)> {
        let topics: Vec<f64> = self.by_topic(strategy, value).into_iter().map(|(_, mean)| mean).collect();
        (!topics.is_empty()).then(|| (mean(topics.iter().copied()), standard_error(&topics)))
    }

    /// The mean of a value, topic by topic; of those only that half of the crawls got as far for.
    fn by_topic(&self, strategy: &str, value: impl Fn(&RankedCrawl) -> Option<f64>) -> Vec<(&'a str, f64)> {
        let topics = self.evidence.topics().iter().map(String::as_str);
        let of = |topic: &'a str| {
            let all: Vec<&RankedCrawl> = self.of(strategy).filter(|crawl| crawl.topic == topic).collect();
            let there: Vec<f64> = all.iter().filter_map(|crawl| value(crawl)).collect();
            (2 * there.len() >= all.len() && !there.is_empty()).then(|| (topic, mean(there)))
        };
        topics.filter_map(of).collect()
    }

    /// By how much a strategy is above another, start by start.
    fn above(&self, strategy: &str, other: &str, value: impl Fn(&RankedCrawl) -> Option<f64>) -> Difference {
        let groups = self.evidence.topics().iter().map(|topic| {
            let own = self.of(strategy).filter(|crawl| crawl.topic == *topic);
            let paired = own.filter_map(|crawl| {
                let mut others = self.of(other).filter(|other| other.topic == *topic);
                Some(value(crawl)? - value(others.find(|other| other.sample == crawl.sample)?)?)
            });
            paired.collect::<Vec<f64>>()
        });
        bootstrap(&groups.collect::<Vec<_>>(), self.evidence.results.experiment.seed)
    }

    /// Share of the best pages that a crawl has, the mean over how many are looked for.
    fn covers(rank: Rank) -> impl Fn(&RankedCrawl) -> Option<f64> {
        move |crawl| Some(mean(rank(crawl).coverage.iter().copied()))
    }

    /// The moments of the early part of the crawls: a quarter of them.
    fn early(&self) -> usize {
        (self.ranked.moments.len() / 4).max(1)
    }
}

/// A difference with its interval.
fn interval(difference: &Difference) -> String {
    let Difference { mean, low, high, .. } = difference;
    format!("{mean:+.3} ({low:+.3} to {high:+.3})")
}

/// The same of ranks, which are large.
fn ranks(difference: &Difference) -> String {
    let Difference { mean, low, high, .. } = difference;
    format!("{mean:+.0} ({low:+.0} to {high:+.0})")
}

/// Share of the best pages that each strategy has: the static scheme.
fn coverage_charts(crawls: &Crawls<'_>) -> (Vec<Chart>, Table) {
    let mut table = Table::new(&["rank", "best so many"]);
    let names = crawls.drawn();
    table.head.extend(names.iter().flat_map(|name| [(*name).to_owned(), format!("{name}, standard error")]));
    let mut charts = Vec::new();
    for (title, rank) in RANKS {
        let mut rows: Vec<Vec<String>> =
            crawls.ranked.top.iter().map(|n| vec![title.to_owned(), n.to_string()]).collect();
        let mut series = Vec::new();
        for name in &names {
            let (mut points, mut errors) = (Points::new(), Vec::new());
            for (at, row) in rows.iter_mut().enumerate() {
                let (mean, error) =
                    crawls.mean(name, |crawl| rank(crawl).coverage.get(at).copied()).unwrap_or_default();
                points.push((f64::from(crawls.ranked.top[at]), mean));
                errors.push(error);
                row.extend([cell(mean), cell(error)]);
            }
            series.push(Series::with_errors(name, points, errors));
        }
        table.rows.extend(rows);
        charts.push(Chart {
            title: format!("static: best pages by {title}"),
            x: Axis { label: "best so many pages of all crawls".to_owned(), scale: Scale::Log },
            y: Axis { label: "share that the crawl has".to_owned(), scale: Scale::Linear },
            marks: Marks::Points(series),
        });
    }
    (charts, table)
}

/// The mean rank of what each strategy has by then: the dynamic scheme.
fn rank_charts(crawls: &Crawls<'_>) -> (Vec<Chart>, Table) {
    let mut table = Table::new(&["rank", "pages fetched"]);
    let names = crawls.drawn();
    table.head.extend(names.iter().flat_map(|name| [(*name).to_owned(), format!("{name}, standard error")]));
    let mut charts = Vec::new();
    for (title, rank) in RANKS {
        let mut rows: Vec<Vec<String>> =
            crawls.ranked.moments.iter().map(|n| vec![title.to_owned(), n.to_string()]).collect();
        let mut series = Vec::new();
        for name in &names {
            let (mut points, mut errors) = (Points::new(), Vec::new());
            for (at, row) in rows.iter_mut().enumerate() {
                let Some((mean, error)) = crawls.mean(name, |crawl| rank(crawl).mean_rank.get(at).copied())
                else {
                    row.extend(["", ""].map(str::to_owned));
                    continue;
                };
                points.push((crawls.ranked.moments[at] as f64, mean));
                // At every moment they would hide the lines.
                errors.push(if at % 4 == 3 { error } else { 0.0 });
                row.extend([cell(mean), cell(error)]);
            }
            series.push(Series::with_errors(name, points, errors));
        }
        table.rows.extend(rows);
        charts.push(over_fetches(&format!("dynamic: {title}, lower is better"), "mean rank so far", series));
    }
    (charts, table)
}

/// What is seen of the best pages, and whether the crawler that explores has surely more of them by both ranks.
fn coverage(crawls: &Crawls<'_>) -> (String, Verdict) {
    let ahead = RANKS.map(|(_, rank)| crawls.above(EXPLORING, GREEDY, Crawls::covers(rank)));
    let at = |n: usize| {
        let of =
            |rank: Rank| crawls.above(EXPLORING, GREEDY, |crawl| rank(crawl).coverage.get(n).copied()).mean;
        format!("{:+.3} and {:+.3}", of(RANKS[0].1), of(RANKS[1].1))
    };
    let last = crawls.ranked.top.len() - 1;
    let here = format!(
        "the share of the best pages that {EXPLORING} has, less that of {GREEDY}, is {} by rank_SMART and {} by rank_KW,PR, the \
         mean over the best 5 to 200; of the best {} it is {}, of the best {} {}.",
        interval(&ahead[0]),
        interval(&ahead[1]),
        crawls.ranked.top[0],
        at(0),
        crawls.ranked.top[last],
        at(last),
    );
    (here, Verdict::of(ahead.iter().all(|ahead| ahead.low > 0.0)))
}

/// P Fig. 2 a, c.
pub(super) fn from_examples(evidence: &Evidence) -> Option<Figure> {
    let crawls = Crawls::with(evidence, Task::Examples)?;
    let (charts, table) = coverage_charts(&crawls);
    let (here, verdict) = coverage(&crawls);
    Some(Figure {
        id: "exploration-coverage",
        title: "Exploration from the examples: the best pages that each crawl has",
        paper: "P Fig. 2 a, c",
        there: "Best-N-First with N = 256 has significantly more of the most relevant pages than with N = 1, by both ranks",
        here,
        verdict,
        charts,
        table,
        ..Figure::default()
    })
}

/// P 5.1: the fewer pages are looked for, the larger the difference.
pub(super) fn fewer_pages(evidence: &Evidence) -> Option<Figure> {
    let crawls = Crawls::with(evidence, Task::Examples)?;
    let last = crawls.ranked.top.len() - 1;
    let mut table = Table::new(&["rank", "best so many", "N = 256 ahead of N = 1", "95% interval"]);
    let mut series = Vec::new();
    let mut grows = Vec::new();
    for (title, rank) in RANKS {
        let mut points = Points::new();
        for (at, n) in crawls.ranked.top.iter().enumerate() {
            let ahead = crawls.above(EXPLORING, GREEDY, |crawl| rank(crawl).coverage.get(at).copied());
            points.push((f64::from(*n), ahead.mean));
            let range = format!("{:+.4} \u{2026} {:+.4}", ahead.low, ahead.high);
            table.rows.push(vec![title.to_owned(), n.to_string(), format!("{:+.4}", ahead.mean), range]);
        }
        series.push(Series::line(title, points));
        let grown =
            |crawl: &RankedCrawl| Some(rank(crawl).coverage.first()? - rank(crawl).coverage.get(last)?);
        grows.push(crawls.above(EXPLORING, GREEDY, grown));
    }
    Some(Figure {
        id: "exploration-top",
        title: "The fewer of the best pages are looked for, the more exploration helps",
        paper: "P 5.1",
        there: "the difference between the crawlers grows as fewer, more relevant pages are looked for",
        here: format!(
            "from the best {} to the best {} the lead of {EXPLORING} changes by {} by rank_SMART and by {} by rank_KW,PR.",
            crawls.ranked.top[last],
            crawls.ranked.top[0],
            interval(&grows[0]),
            interval(&grows[1])
        ),
        verdict: Verdict::of(grows.iter().all(|grows| grows.low > 0.0)),
        charts: vec![Chart {
            title: "share of the best pages, N = 256 ahead of N = 1".to_owned(),
            x: Axis { label: "best so many pages of all crawls".to_owned(), scale: Scale::Log },
            y: Axis { label: "difference".to_owned(), scale: Scale::Linear },
            marks: Marks::Points(series),
        }],
        table,
        ..Figure::default()
    })
}

/// P Fig. 2 b, d.
pub(super) fn ranks_from_examples(evidence: &Evidence) -> Option<Figure> {
    let crawls = Crawls::with(evidence, Task::Examples)?;
    let (charts, table) = rank_charts(&crawls);
    let all = |rank: Rank| crawls.above(EXPLORING, GREEDY, |crawl| whole(rank(crawl)));
    let lexical = all(RANKS[0].1);
    let (early, end) = early_and_end(&crawls, RANKS[1].1);
    Some(Figure {
        id: "exploration-ranks",
        title: "Exploration from the examples: mean rank on the way",
        paper: "P Fig. 2 b, d",
        there: "by rank_SMART N = 256 is better than N = 1 all along; by rank_KW,PR it pays a large penalty early and makes \
                up for it in the long run",
        here: format!(
            "by rank_SMART the mean rank of {EXPLORING} differs from that of {GREEDY} by {} on the way; by rank_KW,PR by {} in \
             the first quarter and by {} in the end (less is better).",
            ranks(&lexical),
            ranks(&early),
            ranks(&end)
        ),
        verdict: Verdict::of(lexical.high < 0.0 && early.low > 0.0 && end.low <= 0.0),
        charts,
        table,
        ..Figure::default()
    })
}

/// The mean over the moments that a crawl got to.
fn whole(quality: &Quality) -> Option<f64> {
    (!quality.mean_rank.is_empty()).then(|| mean(quality.mean_rank.iter().copied()))
}

/// By how much the mean rank of the crawler that explores is above that of the greedy one, early and at the end.
fn early_and_end(crawls: &Crawls<'_>, rank: Rank) -> (Difference, Difference) {
    let first = crawls.early();
    let early = |crawl: &RankedCrawl| Some(mean(rank(crawl).mean_rank.get(..first)?.iter().copied()));
    let end = |crawl: &RankedCrawl| rank(crawl).mean_rank.last().copied();
    (crawls.above(EXPLORING, GREEDY, early), crawls.above(EXPLORING, GREEDY, end))
}

/// P 5.1: the sizes between.
pub(super) fn sizes(evidence: &Evidence) -> Option<Figure> {
    let crawls = Crawls::with(evidence, Task::Examples)?;
    let number = |name: &str| name.strip_prefix("best-")?.parse::<u32>().ok();
    let mut sizes: Vec<u32> = evidence.plain().into_iter().filter_map(number).collect();
    sizes.sort_unstable();
    let mut table = Table::new(&["N", "rank_SMART", "standard error", "rank_KW,PR", "standard error"]);
    table.rows.extend(sizes.iter().map(|n| vec![n.to_string()]));
    let mut series = Vec::new();
    let mut rises = true;
    for (title, rank) in RANKS {
        let (mut points, mut errors) = (Points::new(), Vec::new());
        for (n, row) in sizes.iter().zip(&mut table.rows) {
            let (mean, error) = crawls.mean(&format!("best-{n}"), Crawls::covers(rank)).unwrap_or_default();
            points.push((f64::from(*n), mean));
            errors.push(error);
            row.extend([cell(mean), cell(error)]);
        }
        let (least, most) = (points.first()?.1, points.last()?.1);
        rises &= most > least && points.iter().all(|point| (least..=most).contains(&point.1));
        series.push(Series::with_errors(title, points, errors));
    }
    let of = |row: &Vec<String>| format!("N = {}: {} and {}", row[0], row[1], row[3]);
    let here = format!(
        "share of the best pages (mean over the best 5 to 200) by rank_SMART and by rank_KW,PR: {}.",
        table.rows.iter().map(of).collect::<Vec<_>>().join("; ")
    );
    (sizes.len() > 2).then(|| Figure {
        id: "exploration-sizes",
        title: "How many links to take at a time",
        paper: "P 5.1",
        there: "N = 256 is best and N = 1 worst; 16, 64 and 128 lie between",
        here,
        verdict: Verdict::of(rises),
        charts: vec![Chart {
            title: "best pages that the crawl has, by N".to_owned(),
            x: Axis { label: "N".to_owned(), scale: Scale::Log },
            y: Axis { label: "share of the best pages".to_owned(), scale: Scale::Linear },
            marks: Marks::Points(series),
        }],
        table,
        ..Figure::default()
    })
}
