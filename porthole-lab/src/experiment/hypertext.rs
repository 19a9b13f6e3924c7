//! The hypertext classifier (W 3.1) against text alone: topics below the root by text, by linked pages, and by both.

use std::collections::{BTreeMap, HashMap};

use porthole_distill::{ClassGraph, ClassLinks, RelaxationOptions};
use porthole_topic::Critic;
use porthole_types::{TopicId, UrlId};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::ExperimentError;
use super::folder::Results;
use super::labelled::LabelledWeb;
use super::run::PreparedExperiment;
use super::studies::Findings;
use super::trace::rounded;

/// Name of the study.
pub(super) const NAME: &str = "hypertext";

/// Results of the study. The critic and the classes of links are trained on the pages of the guiding critic, the options are
/// fitted to those of the independent critic, and all others are judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HypertextStudy {
    /// Number of classes: topics below the root.
    pub classes: usize,
    /// Number of pages that are judged.
    pub pages: usize,
    /// Share of them with a linked page.
    pub linked: f64,
    /// Fitted temperature of the text, weight and damping of the neighbours.
    pub temperature: f64,
    /// See above.
    pub weight: f64,
    /// See above.
    pub damping: f64,
    /// By evidence.
    pub rows: Vec<HypertextRow>,
}

/// Quality of one kind of evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HypertextRow {
    /// The evidence by which the class was found.
    pub evidence: String,
    /// Mean of -ln Pr(right class).
    pub log_loss: f64,
    /// Share of pages with the right class.
    pub accuracy: f64,
}

pub(super) fn study(
    lab: &PreparedExperiment,
    _: &Results,
    tell: &mut dyn FnMut(&str),
) -> Result<Findings, ExperimentError> {
    tell("classes by text and by linked pages");
    let found = lab.hypertext();
    for row in &found.rows {
        tell(&format!("{}: log loss {:.4}, accuracy {:.4}", row.evidence, row.log_loss, row.accuracy));
    }
    Findings::of_numbers(NAME, &found)
}

impl PreparedExperiment {
    /// Judges all pages that no critic was trained on.
    pub fn hypertext(&self) -> HypertextStudy {
        let web = &self.web;
        let classes = Classes::of(web);
        let pages: Vec<UrlId> = classes.right.keys().copied().collect();
        let known: HashMap<UrlId, u32> = pages.iter().copied().zip(0..).collect();
        let critic = Critic::new(web.retrain_guide(true), &web.tree);
        let described = |critic: &mut Critic, id: &UrlId| {
            let class = classes.right[id].first().copied().filter(|_| web.trained_on.contains(id));
            (classes.by_text(critic, web, id), class)
        };
        let texts: Vec<_> = pages.par_iter().map_init(|| critic.clone(), described).collect();
        let mut links = Vec::new();
        for (id, from) in &known {
            let targets = web.links.get(id).into_iter().flatten().map(|target| web.end(*target));
            links.extend(targets.filter_map(|target| Some((*from, *known.get(&target)?))));
        }
        let graph = ClassGraph::new(&texts, &links);
        let right = |is_wanted: &dyn Fn(&UrlId) -> bool| -> Vec<(u32, Vec<u16>)> {
            let wanted = pages.iter().filter(|id| is_wanted(id));
            wanted.map(|id| (known[id], classes.right[id].clone())).collect()
        };
        let held_out = right(&|id| web.independent_of.contains(id));
        let judged = right(&|id| !web.independent_of.contains(id) && !web.trained_on.contains(id));
        let counted = ClassLinks::count(&graph);
        let fitted = RelaxationOptions::fit(&graph, &counted, &held_out);
        let calibrated = RelaxationOptions::fit_text(&graph, &counted, &held_out);
        let neighbours = RelaxationOptions::fit_neighbours(&graph, &counted, &held_out);
        let row = |evidence: &str, found: &[f64]| HypertextRow {
            evidence: evidence.to_owned(),
            log_loss: rounded(graph.log_loss(found, &judged)),
            accuracy: rounded(graph.accuracy(found, &judged)),
        };
        let linked = judged.iter().filter(|(page, _)| graph.has_neighbours(*page as usize)).count();
        HypertextStudy {
            classes: classes.tops.len(),
            pages: judged.len(),
            linked: rounded(linked as f64 / judged.len().max(1) as f64),
            temperature: fitted.temperature,
            weight: fitted.weight,
            damping: fitted.damping,
            rows: vec![
                row("text, as the critic says", &graph.relax(&counted, &RelaxationOptions::TEXT)),
                row("text, at a fitted temperature", &graph.relax(&counted, &calibrated)),
                row("linked pages", &graph.by_neighbours(&counted, &neighbours)),
                row("text and linked pages", &graph.relax(&counted, &fitted)),
            ],
        }
    }
}

/// The topics below the root.
struct Classes {
    tops: BTreeMap<TopicId, u16>,
    /// The classes of each labelled page.
    right: BTreeMap<UrlId, Vec<u16>>,
}

impl Classes {
    fn of(web: &LabelledWeb) -> Self {
        let tops: BTreeMap<TopicId, u16> =
            web.tree.children(TopicId::ROOT).iter().copied().zip(0..).collect();
        let of_topic: BTreeMap<TopicId, u16> = tops
            .iter()
            .flat_map(|(top, class)| web.tree.below(*top).into_iter().map(move |topic| (topic, *class)))
            .collect();
        let right = web.topics.iter().map(|(id, (_, topics))| {
            let mut classes: Vec<u16> =
                topics.iter().filter_map(|topic| of_topic.get(topic).copied()).collect();
            classes.sort_unstable();
            classes.dedup();
            (*id, classes)
        });
        Classes { right: right.filter(|(_, classes)| !classes.is_empty()).collect(), tops }
    }

    fn by_text(&self, critic: &mut Critic, web: &LabelledWeb, id: &UrlId) -> Vec<f64> {
        let mut own = vec![0.0; self.tops.len()];
        for (topic, log_probability) in critic.children(TopicId::ROOT, &web.counts[id]) {
            if let Some(class) = self.tops.get(&topic) {
                own[usize::from(*class)] = log_probability.exp();
            }
        }
        own
    }
}
