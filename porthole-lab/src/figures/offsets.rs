//! Text around the links of a crawl, by DOM offset (A Figs. 8 and 9).

use std::collections::BTreeMap;

use super::evidence::{Points, TracedResults, cell, percent};
use super::links::{chart, learnt};
use super::{ClaimVerdict, Figure};
use crate::experiment::{Apprenticeship, AtDistance};
use porthole_report::html::HtmlTable;
use porthole_report::summary::mean;
use porthole_report::svg::{Scale, Series};

/// Mean over crawls of a value at each offset.
fn by_offset(learnt: &[Apprenticeship], value: impl Fn(&AtDistance) -> f64) -> Points {
    let mut all: BTreeMap<i32, Vec<f64>> = BTreeMap::new();
    for at in learnt.iter().flat_map(|one| &one.offsets) {
        all.entry(at.offset).or_default().push(value(at));
    }
    all.into_iter().map(|(offset, values)| (f64::from(offset), mean(values))).collect()
}

/// Mean of a value over offsets of these distances, on both sides.
fn at_distances(points: &Points, is_it: impl Fn(u32) -> bool) -> f64 {
    mean(points.iter().filter(|(offset, _)| is_it(offset.abs() as u32)).map(|point| point.1))
}

fn at(points: &Points, offset: f64) -> f64 {
    points.iter().find(|point| point.0 == offset).map_or(0.0, |point| point.1)
}

const OFFSET: &str = "d: DOM offset from the link";

/// A Fig. 8: information gain by offset.
pub(super) fn information(evidence: &TracedResults) -> Option<Figure> {
    let learnt = learnt(evidence)?;
    let gain = |learnt: &[Apprenticeship]| by_offset(learnt, |at| 1000.0 * at.information_gain);
    let all = gain(&learnt);
    let mut series = vec![Series::line("all topics", all.clone())];
    for topic in evidence.topics().iter().take(3) {
        let own: Vec<Apprenticeship> = learnt.iter().filter(|one| one.topic == *topic).cloned().collect();
        series.push(Series::curve(topic, gain(&own)));
    }
    let mut table = HtmlTable::new(&["offset", "mean information gain, thousandths of a bit"]);
    table.rows.extend(all.iter().map(|(offset, gain)| vec![format!("{offset:+}"), cell(*gain)]));
    let (near, far) = (at_distances(&all, |d| (1..=2).contains(&d)), at_distances(&all, |d| d > 5));
    Some(Figure {
        id: "apprentice-information",
        title: "Information gain of terms by DOM offset",
        paper: "A Fig. 8",
        there: "terms farther from the link tell less, but not steadily: those at -2 tell more than those at -1, and beyond 5 \
                it is nearly the same everywhere",
        here: format!(
            "the link's own terms tell {:.2} thousandths of a bit each, those at a distance of one or two {near:.2}, beyond five \
             {far:.2}; at -1 it is {:.2}, at -2 {:.2}. Here it cannot depend on d max: a term at an offset tells the same however \
             far is looked.",
            at(&all, 0.0),
            at(&all, -1.0),
            at(&all, -2.0)
        ),
        verdict: ClaimVerdict::of_parts(&[
            ("terms farther away tell less", near > far && at(&all, 0.0) > near),
            ("those at -2 tell more than those at -1", at(&all, -2.0) > at(&all, -1.0)),
        ]),
        charts: vec![chart(
            "information gain about whether the target is relevant",
            OFFSET,
            ("mean gain of a term, thousandths of a bit", Scale::Linear),
            series,
        )],
        table,
        ..Figure::default()
    })
}

/// Number of elements that are drawn.
const TAGS: usize = 6;

/// A Fig. 9: terms and elements by offset.
pub(super) fn tags(evidence: &TracedResults) -> Option<Figure> {
    let learnt = learnt(evidence)?;
    let theta = by_offset(&learnt, |at| at.theta);
    let mut all: BTreeMap<&str, f64> = BTreeMap::new();
    for (tag, share) in learnt.iter().flat_map(|one| one.offsets.iter().flat_map(|at| &at.tags)) {
        *all.entry(tag).or_default() += share;
    }
    // The link's own element is omitted, as in the paper.
    let mut tags: Vec<(&str, f64)> = all.into_iter().filter(|(tag, _)| *tag != "a").collect();
    tags.sort_by(|a, b| b.1.total_cmp(&a.1));
    tags.truncate(TAGS);
    let of_tag = |tag: &str| by_offset(&learnt, |at| at.tags.get(tag).copied().unwrap_or(0.0));
    let frequencies: Vec<(&str, Points)> = tags.iter().map(|(tag, _)| (*tag, of_tag(tag))).collect();
    let empty = by_offset(&learnt, |at| at.without_words);
    let mut table = HtmlTable::new(&["offset", "sum of theta", "leaves without words"]);
    table.head.extend(tags.iter().map(|(tag, _)| format!("{tag} a link")));
    for (row, (offset, theta)) in theta.iter().enumerate() {
        let frequencies = frequencies.iter().map(|(_, points)| cell(points[row].1));
        let cells = [format!("{offset:+}"), cell(*theta), cell(empty[row].1)];
        table.rows.push(cells.into_iter().chain(frequencies).collect());
    }
    let (odd, even) = (|d: u32| d % 2 == 1, |d: u32| d > 0 && d.is_multiple_of(2));
    let (odd_theta, even_theta) = (at_distances(&theta, odd), at_distances(&theta, even));
    let (near, far) = (at_distances(&theta, |d| (1..=2).contains(&d)), at_distances(&theta, |d| d > 5));
    Some(Figure {
        id: "apprentice-tags",
        title: "Number of terms and elements by DOM offset",
        paper: "A Fig. 9",
        there: "the sum of theta falls with the distance and is lower at odd distances, where elements without text stand",
        here: format!(
            "the sum of theta is {:.3} in the link, {near:.3} at a distance of one or two, {far:.3} beyond five; {odd_theta:.3} at odd \
             distances and {even_theta:.3} at even ones, where {} and {} of the leaves have no words. The elements that stand \
             there most are {}.",
            at(&theta, 0.0),
            percent(at_distances(&empty, odd)),
            percent(at_distances(&empty, even)),
            tags.iter().map(|(tag, _)| *tag).collect::<Vec<_>>().join(", ")
        ),
        verdict: ClaimVerdict::of_parts(&[
            ("theta falls", near > far),
            ("it is lower at odd distances", odd_theta < even_theta),
        ]),
        charts: vec![
            chart(
                "terms (a)",
                OFFSET,
                ("sum of theta", Scale::Linear),
                vec![Series::line("all topics", theta)],
            ),
            chart(
                "leaves, by their element (b)",
                OFFSET,
                ("leaves a link", Scale::Linear),
                frequencies.iter().map(|(tag, points)| Series::line(tag, points.clone())).collect(),
            ),
        ],
        table,
        ..Figure::default()
    })
}
