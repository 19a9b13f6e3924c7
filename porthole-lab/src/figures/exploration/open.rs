//! Open questions of P 7: other sizes, estimates and buffers, costs of decisions, and single topics.

use super::{Crawls, EXPLORING, GREEDY, RANKS, interval};
use crate::experiment::Task;
use crate::figures::Figure;
use crate::figures::evidence::{TracedResults, cell};
use porthole_report::html::HtmlTable;
use porthole_report::svg::{Axis, Chart, Marks, Scale, Series};

/// Variants of Best-N-First.
pub(in crate::figures) fn variants(evidence: &TracedResults) -> Option<Figure> {
    let crawls = Crawls::with(evidence, Task::Examples)?;
    let is_best = |name: &&str| name.starts_with("best-");
    let names: Vec<&str> = evidence.plain().into_iter().filter(is_best).collect();
    let is_fixed = |name: &str| name.strip_prefix("best-").is_some_and(|n| n.parse::<u32>().is_ok());
    let others: Vec<&str> = names.iter().copied().filter(|name| !is_fixed(name)).collect();
    let mut table =
        HtmlTable::new(&["strategy", "rank_SMART", "rank_KW,PR", "harvest", "ms of CPU a page that counts"]);
    let budget = evidence.budget();
    for name in &names {
        let mut row = vec![(*name).to_owned()];
        row.extend(
            RANKS.map(|(_, rank)| cell(crawls.mean(name, Crawls::covers(rank)).unwrap_or_default().0)),
        );
        row.push(cell(evidence.mean(name, |outcome| outcome.harvest[&budget])));
        row.push(cell(evidence.mean(name, |outcome| outcome.cpu_ms / outcome.fetched.max(1) as f64)));
        table.rows.push(row);
    }
    let against = |name: &&str| {
        let by = RANKS.map(|(_, rank)| interval(&crawls.above(name, EXPLORING, Crawls::covers(rank))));
        format!("{name} by {} and {}", by[0], by[1])
    };
    (!others.is_empty()).then(|| Figure {
        id: "exploration-open",
        title: "Variants of Best-N-First",
        paper: "P 7",
        here: format!(
            "share of the best pages ahead of {EXPLORING}, by rank_SMART and by rank_KW,PR: {}.",
            others.iter().map(against).collect::<Vec<_>>().join("; ")
        ),
        table,
        ..Figure::default()
    })
}

/// Effect of exploration by topic.
pub(in crate::figures) fn topics(evidence: &TracedResults) -> Option<Figure> {
    let crawls = Crawls::with(evidence, Task::Examples)?;
    let facts = &evidence.results.facts.topics;
    let of = |name: &str| RANKS.map(|(_, rank)| crawls.by_topic(name, Crawls::covers(rank)));
    let (exploring, greedy) = (of(EXPLORING), of(GREEDY));
    let mut table =
        HtmlTable::new(&["topic", "links of its own pages to it", "lead by rank_SMART", "by rank_KW,PR"]);
    let mut points = [Vec::new(), Vec::new()];
    for (at, (topic, _)) in exploring[0].iter().enumerate() {
        let own = facts.get(*topic).map_or(0.0, |facts| facts.cited_by_own);
        let lead = [0, 1].map(|by| exploring[by][at].1 - greedy[by].get(at).map_or(0.0, |greedy| greedy.1));
        table.rows.push(vec![(*topic).to_owned(), cell(own), cell(lead[0]), cell(lead[1])]);
        points.iter_mut().zip(lead).for_each(|(points, lead)| points.push((own, lead)));
    }
    let ahead = |points: &[(f64, f64)]| points.iter().filter(|point| point.1 > 0.0).count();
    Some(Figure {
        id: "exploration-topics",
        title: "Effect of exploration, topic by topic",
        paper: "P 7",
        here: format!(
            "of {} topics, {EXPLORING} has more of the best pages than {GREEDY} on {} by rank_SMART and on {} by rank_KW,PR.",
            points[0].len(),
            ahead(&points[0]),
            ahead(&points[1])
        ),
        charts: vec![Chart {
            title: "a dot a topic".to_owned(),
            x: Axis {
                label: "share of the links of its pages that lead to it".to_owned(),
                scale: Scale::Linear,
            },
            y: Axis {
                label: format!("share of the best, {EXPLORING} ahead of {GREEDY}"),
                scale: Scale::Linear,
            },
            marks: Marks::Points(
                RANKS.iter().zip(points).map(|((title, _), points)| Series::dots(title, points)).collect(),
            ),
        }],
        table,
        ..Figure::default()
    })
}
