//! Exploration versus exploitation: how greedy Best-N-First should be (P 5).

mod crawls;
pub(super) mod neighbours;
pub(super) mod open;

use super::evidence::{Points, TracedResults, cell};
use super::{ClaimVerdict, Figure};
use crate::experiment::{Quality, RankedCrawl, Task};
use crate::statistics::Difference;
use crawls::{Crawls, MOMENTS, SOME, Scheme};
use porthole_report::html::HtmlTable;
use porthole_report::summary::mean;
use porthole_report::svg::{Axis, Chart, Marks, Scale, Series};

/// The greediest crawler of P, the most exploring one, and the unguided one.
const GREEDY: &str = "best-1";
const EXPLORING: &str = "best-256";
const BLIND: &str = "fifo-256";

/// The two rankings of pages (P Table 2).
const RANKS: [(&str, QualitySelector); 2] =
    [("rank_SMART", |crawl| &crawl.lexical), ("rank_KW,PR", |crawl| &crawl.linkage)];

type QualitySelector = fn(&RankedCrawl) -> &Quality;

/// A difference with its interval.
fn interval(difference: &Difference) -> String {
    let Difference { mean, low, high, .. } = difference;
    format!("{mean:+.3} ({low:+.3} to {high:+.3})")
}

/// The same for ranks, which are large.
fn ranks(difference: &Difference) -> String {
    let Difference { mean, low, high, .. } = difference;
    format!("{mean:+.0} ({low:+.0} to {high:+.0})")
}

/// Verdict on a claim that is tested by each rank.
fn by_rank(holds: &[bool; 2]) -> ClaimVerdict {
    ClaimVerdict::of_parts(&[("by rank_SMART", holds[0]), ("by rank_KW,PR", holds[1])])
}

/// Result for the best pages, and whether the exploring crawler has significantly more of them by both ranks.
fn coverage(crawls: &Crawls<'_>) -> (String, ClaimVerdict) {
    let ahead = RANKS.map(|(_, rank)| crawls.above(EXPLORING, GREEDY, Crawls::covers(rank)));
    let at = |n: usize| {
        let of = |rank: QualitySelector| {
            crawls.above(EXPLORING, GREEDY, |crawl| rank(crawl).coverage.get(n).copied()).mean
        };
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
    (here, by_rank(&ahead.map(|ahead| ahead.low > 0.0)))
}

/// P Fig. 2 a, c.
pub(super) fn from_examples(evidence: &TracedResults) -> Option<Figure> {
    let crawls = Crawls::with(evidence, Task::Examples)?;
    let (charts, table) = Scheme::fixed(&crawls).charts(&crawls);
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

/// P 5.1: the difference grows as fewer pages are looked for.
pub(super) fn fewer_pages(evidence: &TracedResults) -> Option<Figure> {
    let crawls = Crawls::with(evidence, Task::Examples)?;
    let last = crawls.ranked.top.len() - 1;
    let mut table = HtmlTable::new(&["rank", "N best", "N = 256 ahead of N = 1", "95% interval"]);
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
        verdict: by_rank(&[grows[0].low > 0.0, grows[1].low > 0.0]),
        charts: vec![Chart {
            title: "share of the best pages, N = 256 ahead of N = 1".to_owned(),
            x: Axis { label: "N best pages of all crawls".to_owned(), scale: Scale::Log },
            y: Axis { label: "difference".to_owned(), scale: Scale::Linear },
            marks: Marks::Points(series),
        }],
        table,
        ..Figure::default()
    })
}

/// P Fig. 2 b, d.
pub(super) fn ranks_from_examples(evidence: &TracedResults) -> Option<Figure> {
    let crawls = Crawls::with(evidence, Task::Examples)?;
    let (charts, table) = Scheme::dynamic(&crawls).charts(&crawls);
    let all = |rank: QualitySelector| crawls.above(EXPLORING, GREEDY, |crawl| whole(rank(crawl)));
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
        verdict: ClaimVerdict::of_parts(&[
            ("better all along by rank_SMART", lexical.high < 0.0),
            ("a penalty early by rank_KW,PR", early.low > 0.0),
            ("which it makes up for", end.low <= 0.0),
        ]),
        charts,
        table,
        ..Figure::default()
    })
}

/// Mean over the moments that a crawl reached.
fn whole(quality: &Quality) -> Option<f64> {
    (!quality.mean_rank.is_empty()).then(|| mean(quality.mean_rank.iter().copied()))
}

/// Difference of the mean rank between the exploring and the greedy crawler, early and at the end.
fn early_and_end(crawls: &Crawls<'_>, rank: QualitySelector) -> (Difference, Difference) {
    let first = crawls.early();
    let early = |crawl: &RankedCrawl| Some(mean(rank(crawl).mean_rank.get(..first)?.iter().copied()));
    let end = |crawl: &RankedCrawl| rank(crawl).mean_rank.last().copied();
    (crawls.above(EXPLORING, GREEDY, early), crawls.above(EXPLORING, GREEDY, end))
}

/// P 5.1: intermediate values of N.
pub(super) fn sizes(evidence: &TracedResults) -> Option<Figure> {
    let crawls = Crawls::with(evidence, Task::Examples)?;
    let number = |name: &str| name.strip_prefix("best-")?.parse::<u32>().ok();
    let mut sizes: Vec<u32> = evidence.plain().into_iter().filter_map(number).collect();
    sizes.sort_unstable();
    let mut table = HtmlTable::new(&["N", "rank_SMART", "standard error", "rank_KW,PR", "standard error"]);
    table.rows.extend(sizes.iter().map(|n| vec![n.to_string()]));
    let mut series = Vec::new();
    let mut rises = Vec::new();
    for (title, rank) in RANKS {
        let (mut points, mut errors) = (Points::new(), Vec::new());
        for (n, row) in sizes.iter().zip(&mut table.rows) {
            let (mean, error) = crawls.mean(&format!("best-{n}"), Crawls::covers(rank)).unwrap_or_default();
            points.push((f64::from(*n), mean));
            errors.push(error);
            row.extend([cell(mean), cell(error)]);
        }
        let (least, most) = (points.first()?.1, points.last()?.1);
        rises.push(most > least && points.iter().all(|point| (least..=most).contains(&point.1)));
        series.push(Series::with_errors(title, points, errors));
    }
    let of = |row: &Vec<String>| format!("N = {}: {} and {}", row[0], row[1], row[3]);
    let here = format!(
        "share of the best pages (mean over the best 5 to 200) by rank_SMART and by rank_KW,PR: {}.",
        table.rows.iter().map(of).collect::<Vec<_>>().join("; ")
    );
    (sizes.len() > 2).then(|| Figure {
        id: "exploration-sizes",
        title: "Number of links taken at a time",
        paper: "P 5.1",
        there: "N = 256 is best and N = 1 worst; 16, 64 and 128 lie between",
        here,
        verdict: by_rank(&[rises[0], rises[1]]),
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
