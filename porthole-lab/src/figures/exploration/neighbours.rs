//! Exploration in crawls that start a few links away from their targets (P 5.2).

use super::{
    BLIND, Crawls, EXPLORING, GREEDY, MOMENTS, RANKS, SOME, Scheme, coverage, early_and_end, interval, ranks,
    whole,
};
use crate::experiment::{RankedCrawl, Task};
use crate::figures::evidence::{TracedResults, cell, over_fetches, percent};
use crate::figures::{ClaimVerdict, Figure};
use crate::statistics::Difference;
use porthole_report::html::HtmlTable;

/// P Fig. 3 a, c.
pub(in crate::figures) fn coverage_from_neighbours(evidence: &TracedResults) -> Option<Figure> {
    let crawls = Crawls::with(evidence, Task::Neighbours)?;
    let (charts, table) = Scheme::fixed(&crawls).charts(&crawls);
    let (here, verdict) = coverage(&crawls);
    Some(Figure {
        id: "neighbours-coverage",
        title: "Exploration from neighbours of the examples: the best pages that each crawl has",
        paper: "P Fig. 3 a, c",
        there: "here, too, N = 256 has significantly more of the most relevant pages than N = 1, by both ranks",
        here,
        verdict,
        charts,
        table,
        ..Figure::default()
    })
}

/// P Fig. 3 b, d.
pub(in crate::figures) fn ranks_from_neighbours(evidence: &TracedResults) -> Option<Figure> {
    let crawls = Crawls::with(evidence, Task::Neighbours)?;
    let (charts, table) = Scheme::dynamic(&crawls).charts(&crawls);
    let both = RANKS.map(|(_, rank)| early_and_end(&crawls, rank));
    let words = |(early, end): &(Difference, Difference)| {
        format!("{} in the first quarter and {} in the end", ranks(early), ranks(end))
    };
    Some(Figure {
        id: "neighbours-ranks",
        title: "Exploration from neighbours of the examples: mean rank on the way",
        paper: "P Fig. 3 b, d",
        there: "N = 256 seems to bear an initial penalty for exploration, but recovers in the long run",
        here: format!(
            "the mean rank of {EXPLORING} differs from that of {GREEDY} by {} by rank_SMART, and by {} by rank_KW,PR (less is \
             better).",
            words(&both[0]),
            words(&both[1])
        ),
        // Recovered means that the difference is no longer significant.
        verdict: ClaimVerdict::of_parts(&[
            ("the penalty by rank_SMART", both[0].0.low > 0.0),
            ("by rank_KW,PR", both[1].0.low > 0.0),
            ("it recovers by rank_SMART", both[0].1.low <= 0.0),
            ("by rank_KW,PR", both[1].1.low <= 0.0),
        ]),
        charts,
        table,
        ..Figure::default()
    })
}

/// A measure of a crawl.
type CrawlMeasure = Box<dyn Fn(&RankedCrawl) -> Option<f64>>;

/// P Fig. 3, 5.2: exploration without guidance.
pub(in crate::figures) fn blind(evidence: &TracedResults) -> Option<Figure> {
    let crawls = Crawls::with(evidence, Task::Neighbours)?;
    crawls.of(BLIND).next()?;
    let names = [BLIND, GREEDY, EXPLORING];
    // 1 if more is better, -1 if less is better.
    let measures: [(&str, CrawlMeasure, f64); 4] = [
        ("share of the best by rank_SMART", Box::new(Crawls::covers(RANKS[0].1)), 1.0),
        ("share of the best by rank_KW,PR", Box::new(Crawls::covers(RANKS[1].1)), 1.0),
        ("mean rank_SMART on the way", Box::new(|crawl| whole(&crawl.lexical)), -1.0),
        ("mean rank_KW,PR on the way", Box::new(|crawl| whole(&crawl.linkage)), -1.0),
    ];
    let mut table = HtmlTable::new(&["measure"]);
    table.head.extend(names.map(str::to_owned));
    let mut worse = 0;
    for (title, value, sign) in &measures {
        let mut row = vec![(*title).to_owned()];
        row.extend(names.iter().map(|name| cell(crawls.mean(name, value).unwrap_or_default().0)));
        table.rows.push(row);
        let is_behind = |other: &&str| sign * crawls.above(other, BLIND, value).mean > 0.0;
        worse += u32::from([GREEDY, EXPLORING].iter().all(is_behind));
    }
    Some(Figure {
        id: "blind-exploration",
        title: "Exploration without guidance",
        paper: "P Fig. 3, 5.2",
        there: "breadth-first with a queue of 256 does poorly by all four measures: exploration without guidance goes astray",
        here: format!("{BLIND} is behind both others by {worse} of 4 measures."),
        verdict: ClaimVerdict::of(worse == 4),
        table,
        ..Figure::default()
    })
}

/// P Fig. 4.
pub(in crate::figures) fn examples(evidence: &TracedResults) -> Option<Figure> {
    let crawls = Crawls::with(evidence, Task::Neighbours)?;
    let mut table = HtmlTable::new(&[MOMENTS]);
    table.head.extend(crawls.columns());
    let moments = crawls.moments();
    table.rows.extend(moments.iter().map(|n| vec![n.to_string()]));
    let value = |crawl: &RankedCrawl, at: usize| crawl.examples.get(at).copied();
    let series = crawls.curves(&moments, SOME, value, &mut table.rows);
    let end = |crawl: &RankedCrawl| crawl.examples.last().copied();
    let of = |name: &str| crawls.mean(name, end).unwrap_or_default().0;
    let ahead = crawls.above(EXPLORING, GREEDY, end);
    let behind = crawls.of(BLIND).next().is_none_or(|_| of(BLIND) < of(GREEDY).min(of(EXPLORING)));
    Some(Figure {
        id: "examples",
        title: "From neighbours to the examples",
        paper: "P Fig. 4",
        there: "N = 256 finds more of the examples than N = 1, and breadth-first trails behind",
        here: format!(
            "of the examples, {EXPLORING} has {} in the end, {GREEDY} {} and {BLIND} {}; {EXPLORING} is ahead of {GREEDY} by {}.",
            percent(of(EXPLORING)),
            percent(of(GREEDY)),
            percent(of(BLIND)),
            interval(&ahead)
        ),
        verdict: ClaimVerdict::of_parts(&[
            ("N = 256 finds more than N = 1", ahead.low > 0.0),
            ("breadth-first trails behind", behind),
        ]),
        charts: vec![over_fetches("recall of the examples", "share of the examples", series)],
        table,
        ..Figure::default()
    })
}
