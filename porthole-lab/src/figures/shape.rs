//! Properties of the web by topic (V 2; W 6).

use super::evidence::{TracedResults, cell, percent};
use super::{ClaimVerdict, Figure};
use crate::experiment::{CitedTopic, HypertextStudy, TopicMixing};
use porthole_report::html::HtmlTable;
use porthole_report::summary::mean;
use porthole_report::svg::{Axis, Chart, Marks, Scale, Series};

/// The radius-1 and radius-2 rules.
pub(super) fn radius_rules(evidence: &TracedResults) -> Option<Figure> {
    let facts = &evidence.results.facts.topics;
    let mut table = HtmlTable::new(&[
        "topic",
        "links of its own pages to it",
        "links of other pages to it",
        "pages that link to it",
        "of those, to another of it",
    ]);
    for (topic, facts) in facts {
        let shares = [facts.cited_by_own, facts.cited_by_others, facts.links_once, facts.links_again];
        table.rows.push([topic.clone()].into_iter().chain(shares.map(cell)).collect());
    }
    let both =
        |one: fn(&crate::experiment::TopicFacts) -> (f64, f64)| facts.values().map(one).collect::<Vec<_>>();
    let first = both(|facts| (facts.cited_by_others, facts.cited_by_own));
    let second = both(|facts| (facts.links_once, facts.links_again));
    let factor = |points: &[(f64, f64)]| mean(points.iter().map(|(without, with)| with / without.max(1e-9)));
    let chart = |title: &str, x: &str, y: &str, points: &[(f64, f64)]| Chart {
        title: title.to_owned(),
        x: Axis { label: x.to_owned(), scale: Scale::Log },
        y: Axis { label: y.to_owned(), scale: Scale::Log },
        marks: Marks::Points(vec![Series::dots("a topic", points.to_vec())]),
    };
    let holds = |points: &[(f64, f64)]| points.iter().all(|(without, with)| with > without);
    let walks = |links: usize| mean(facts.values().filter_map(|facts| facts.walks.get(links).copied()));
    Some(Figure {
        id: "radius",
        title: "The radius-1 and radius-2 rules",
        paper: "V 2",
        there: "a relevant page is more likely to cite another; a page that cites one of a topic often cites another",
        here: format!(
            "a link of a page about a topic leads to that topic {:.0} times as often as other links; a page that links to \
             a topic once links to it again {:.0} times as often as pages link to it at all (means over {} topics). Random walks of \
             1, 2, 3 and 4 links from pages about it end at such a page in {} of cases; a page drawn blindly is one in {}.",
            factor(&first),
            factor(&second),
            facts.len(),
            (0..4).map(|links| percent(walks(links))).collect::<Vec<_>>().join(", "),
            percent(mean(facts.values().map(|facts| facts.base_rate)))
        ),
        verdict: ClaimVerdict::of_parts(&[("radius 1", holds(&first)), ("radius 2", holds(&second))]),
        charts: vec![
            chart(
                "radius 1: share of links that lead to the topic",
                "from other pages",
                "from its own pages",
                &first,
            ),
            chart(
                "radius 2: share of pages that link to the topic",
                "at all",
                "again, of those that do",
                &second,
            ),
        ],
        table,
        ..Figure::default()
    })
}

/// Topic mixing against link distance (W 4.8).
pub(super) fn mixing(evidence: &TracedResults) -> Option<Figure> {
    let text = std::fs::read_to_string(evidence.results.folder().join("mixing.json")).ok()?;
    let topics: Vec<TopicMixing> = serde_json::from_str(&text).ok()?;
    let farthest = topics.first()?.own.len() - 1;
    let at =
        |value: fn(&TopicMixing) -> &Vec<f64>, links: usize| mean(topics.iter().map(|one| value(one)[links]));
    let base = mean(topics.iter().map(|one| one.base_rate));
    let mut table = HtmlTable::new(&["topic", "pages", "base rate"]);
    table.head.extend((1..=farthest).map(|links| format!("own after {links}")));
    table.head.extend((1..=farthest).map(|links| format!("apart after {links}")));
    table.head.extend(["reach within the topic, links".to_owned(), "share of its pages there".to_owned()]);
    for one in &topics {
        let mut row = vec![one.topic.clone(), one.pages.to_string(), cell(one.base_rate)];
        row.extend(one.own[1..].iter().chain(&one.apart[1..]).map(|share| cell(*share)));
        row.extend([one.reach.to_string(), cell(one.connected)]);
        table.rows.push(row);
    }
    let points = |value: fn(&TopicMixing) -> &Vec<f64>| {
        (0..=farthest).map(|links| (links as f64, at(value, links))).collect()
    };
    let reach = mean(topics.iter().map(|one| one.reach as f64));
    let (first, last) = (at(|one| &one.own, 1), at(|one| &one.own, farthest));
    Some(Figure {
        id: "mixing",
        title: "How links mix topics, by distance",
        paper: "W 4.8",
        there: "random links lead to random topics within an extremely short radius; at the same time there are long paths \
                where the topic persists",
        here: format!(
            "one random link from a page of a topic leads to a page of it in {} of the cases, two in {}, {farthest} in {}; by \
             chance it would be {}. The topics there differ from those {farthest} links from any page by {}. Within a topic, \
             paths of {reach:.1} links connect its pages.",
            percent(first),
            percent(at(|one| &one.own, 2)),
            percent(last),
            percent(base),
            percent(at(|one| &one.apart, farthest)),
        ),
        verdict: ClaimVerdict::of_parts(&[
            ("topics are mixed within a few links", at(|one| &one.own, farthest.min(4)) < 2.0 * base),
            ("long paths stay on the topic", reach >= 6.0),
        ]),
        charts: vec![Chart {
            title: "mean of the topics".to_owned(),
            x: Axis { label: "random links from a page of the topic".to_owned(), scale: Scale::Linear },
            y: Axis { label: "share".to_owned(), scale: Scale::Linear },
            marks: Marks::Points(vec![
                Series::line("at a page of the topic", points(|one| &one.own)),
                Series::line("distance from the topics of any page", points(|one| &one.apart)),
            ]),
        }],
        table,
        ..Figure::default()
    })
}

/// The hypertext classifier against text alone (W 3.1).
pub(super) fn hypertext(evidence: &TracedResults) -> Option<Figure> {
    let text = std::fs::read_to_string(evidence.results.folder().join("hypertext.json")).ok()?;
    let study: HypertextStudy = serde_json::from_str(&text).ok()?;
    let mut table = HtmlTable::new(&["by", "log loss", "accuracy"]);
    for row in &study.rows {
        table.rows.push(vec![row.evidence.clone(), cell(row.log_loss), cell(row.accuracy)]);
    }
    let [_, text, _, both] = &study.rows[..] else { return None };
    Some(Figure {
        id: "hypertext",
        title: "Topics by text, by linked pages, and by both",
        paper: "W 3.1",
        there: "",
        here: format!(
            "of {} pages of {} topics, {} have linked pages; the right topic is found for {} by text and for {} by both, at a log \
             loss of {:.3} and {:.3} (temperature {}, weight {}, damping {}, fitted to other pages).",
            study.pages,
            study.classes,
            percent(study.linked),
            percent(text.accuracy),
            percent(both.accuracy),
            text.log_loss,
            both.log_loss,
            study.temperature,
            study.weight,
            study.damping,
        ),
        table,
        ..Figure::default()
    })
}

/// Topics cited by pages of other topics (W 6, V 1).
pub(super) fn sociology(evidence: &TracedResults) -> Option<Figure> {
    let facts = &evidence.results.facts.topics;
    let beside: Vec<_> =
        facts.iter().filter_map(|(topic, facts)| Some((topic, facts.beside.as_ref()?))).collect();
    let mut table = HtmlTable::new(&["topic", "cited topic", "links", "times as often as links of any page"]);
    for (topic, beside) in &beside {
        let cells = [(*topic).clone(), beside.topic.clone(), beside.links.to_string(), cell(beside.times)];
        table.rows.push(cells.to_vec());
    }
    let named = |(topic, beside): &(&String, &CitedTopic)| {
        format!("{topic}: {}, {:.1} times", beside.topic, beside.times)
    };
    (!beside.is_empty()).then(|| Figure {
        id: "sociology",
        title: "Topics that the pages of another topic cite",
        paper: "W 6; V 1",
        there: "pages about bicycling refer to pages about first aid significantly more often than one might expect",
        here: format!(
            "links of a topic's pages lead to another part of the tree more often than links of any page do: {}.",
            beside.iter().map(named).collect::<Vec<_>>().join("; ")
        ),
        verdict: ClaimVerdict::of(beside.len() == facts.len() && beside.iter().all(|(_, beside)| beside.times >= 2.0)),
        table,
        ..Figure::default()
    })
}

/// Harvest by specificity of the topic.
pub(super) fn specificity(evidence: &TracedResults) -> Option<Figure> {
    let (baseline, budget) = (evidence.baseline(), evidence.budget());
    let mut names = vec![baseline];
    names.extend(evidence.control());
    let mut table = HtmlTable::new(&["topic", "depth", "pages", "base rate"]);
    table.head.extend(names.iter().map(|name| format!("harvest, {name}")));
    let mut points: Vec<Vec<(f64, f64)>> = vec![Vec::new(); names.len()];
    for (topic, facts) in &evidence.results.facts.topics {
        let mut row =
            vec![topic.clone(), facts.depth.to_string(), facts.pages.to_string(), cell(facts.base_rate)];
        for (name, points) in names.iter().zip(&mut points) {
            let harvest = mean(evidence.of(name, Some(topic)).map(|trace| trace.outcome.harvest[&budget]));
            points.push((facts.base_rate, harvest));
            row.push(cell(harvest));
        }
        table.rows.push(row);
    }
    let gain = |at: usize| {
        let (rate, harvest) = points[0][at];
        harvest / rate.max(1e-9)
    };
    let mut by_rate: Vec<usize> = (0..points[0].len()).collect();
    by_rate.sort_by(|a, b| points[0][*a].0.total_cmp(&points[0][*b].0));
    let (special, general) = by_rate.split_at(by_rate.len() / 2);
    let of = |half: &[usize]| mean(half.iter().map(|at| gain(*at)));
    let series = names.iter().zip(points.clone()).map(|(name, points)| Series::dots(name, points)).collect();
    let is_any = !special.is_empty();
    Some(Figure {
        id: "specificity",
        title: "Harvest against the specificity of a topic",
        paper: "W 6",
        there: "",
        here: match is_any {
            true => format!(
                "over {budget} fetches {baseline} focus harvests {:.1} times the base rate on the rarer half of the \
                 topics and {:.1} times on the more common half.",
                of(special),
                of(general)
            ),
            false => {
                format!("on the one topic {baseline} focus harvests {} in all.", percent(points[0][0].1))
            }
        },
        verdict: ClaimVerdict::NotTestable,
        charts: vec![Chart {
            title: "a dot a topic".to_owned(),
            x: Axis { label: "share of all pages that are about the topic".to_owned(), scale: Scale::Log },
            y: Axis { label: format!("harvest over {budget} fetches"), scale: Scale::Linear },
            marks: Marks::Points(series),
        }],
        table,
        ..Figure::default()
    })
}
