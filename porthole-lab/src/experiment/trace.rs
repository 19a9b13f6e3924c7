//! What became of one crawl, fetch by fetch, and the file it is kept in.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::{Deserialize, Serialize};

use porthole_types::Timestamp;

use super::{Experiment, Plan};
use crate::measures;

/// One fetch.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its number in the crawl, from 0.
    pub seq: u64,
    /// What was fetched.
    pub url: String,
    /// R by the critic that guides the crawl; `None` if no page came.
    pub relevance: Option<f64>,
    /// R by a critic that has nothing to do with it; `None` for pages that this one was trained on.
    pub independent: Option<f64>,
    /// What it truly is.
    pub label: Label,
    /// When it was complete.
    pub at: Timestamp,
    /// The server.
    pub host: String,
    /// How many links it is away from a start, on the way on which it became known.
    pub depth: u32,
}

/// What a fetch truly brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// A page about the topic.
    About,
    /// A page about something else.
    Other,
    /// A start page, which does not count.
    Start,
    /// A page that the guiding critic was trained on, which does not count.
    Trained,
    /// No page: a redirect, or something that leads out of the recording. Does not count.
    None,
}

impl Label {
    const ALL: [Label; 5] = [Label::About, Label::Other, Label::Start, Label::Trained, Label::None];

    /// The word for it in files.
    pub fn name(self) -> &'static str {
        match self {
            Label::About => "about",
            Label::Other => "other",
            Label::Start => "start",
            Label::Trained => "trained",
            Label::None => "none",
        }
    }

    /// Whether it counts.
    pub fn counts(self) -> bool {
        matches!(self, Label::About | Label::Other)
    }
}

/// A page that the distiller finds at the end of a crawl.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Authority {
    /// The page.
    pub url: String,
    /// Its server.
    pub host: String,
    /// Links from the nearest start page, by what was crawled.
    pub distance: u32,
}

/// What one crawl brought. Figures under a number are those after so many fetches that counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The topic.
    pub topic: String,
    /// The strategy.
    pub strategy: String,
    /// The number of the draw of starts.
    pub sample: u32,
    /// Fetches that counted.
    pub fetched: u64,
    /// Share of the fetches up to there that brought a page of the topic.
    pub harvest: BTreeMap<u64, f64>,
    /// Share of the topic's pages that can be reached which were found up to there.
    pub recall: BTreeMap<u64, f64>,
    /// Mean R by the critic that guides the crawl. The loss of A 3.5 is 1 less this.
    pub relevance: BTreeMap<u64, f64>,
    /// Mean R by a critic that has nothing to do with it.
    pub independent: BTreeMap<u64, f64>,
    /// Servers with a page of the topic that were found up to there, those of start pages not counted.
    pub hosts: BTreeMap<u64, u64>,
    /// Area under the curve of the recall over the fetches, as a share of all there could be.
    pub area: f64,
    /// Pages of the topic that can be reached and count.
    pub wanted: u64,
    /// Milliseconds of CPU.
    pub cpu_ms: f64,
    /// Seconds of simulated time to the 10th, 50th, 100th… page of the topic.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub seconds_to: BTreeMap<u64, f64>,
    /// Seconds of simulated time in all.
    #[serde(default)]
    pub seconds: f64,
    /// Why it ended: `limit` or `exhausted`.
    pub stop: String,
}

impl Outcome {
    /// What a plan brought, by its fetches.
    pub(super) fn of(experiment: &Experiment, plan: &Plan, steps: &[Step], wanted: u64) -> Self {
        let counted: Vec<&Step> = steps.iter().filter(|step| step.label.counts()).collect();
        let at = |measure: &dyn Fn(u64) -> f64| {
            experiment.at.iter().map(|at| (*at, rounded(measure(*at)))).collect()
        };
        let recall = |n| measures::found(&counted, n) as f64 / wanted.max(1) as f64;
        Outcome {
            topic: plan.topic.clone(),
            strategy: plan.strategy.clone(),
            sample: plan.sample,
            fetched: counted.len() as u64,
            harvest: at(&|n| measures::harvest(&counted, n)),
            recall: at(&recall),
            relevance: at(&|n| measures::mean_of(&counted, n, |step| step.relevance)),
            independent: at(&|n| measures::mean_of(&counted, n, |step| step.independent)),
            hosts: experiment.at.iter().map(|at| (*at, measures::new_hosts(steps, *at))).collect(),
            area: rounded(measures::area(&counted, experiment.budget(), wanted)),
            wanted,
            cpu_ms: 0.0,
            seconds_to: experiment.pace.as_ref().map_or_else(BTreeMap::new, |_| seconds_to(&counted)),
            seconds: steps.last().map_or(0.0, |step| step.at.0 as f64 / 1e3),
            stop: if counted.len() as u64 >= experiment.budget() { "limit" } else { "exhausted" }.to_owned(),
        }
    }
}

/// Seconds to the first page of the topic, and to the 10th, 50th, 100th, ...
fn seconds_to(counted: &[&Step]) -> BTreeMap<u64, f64> {
    let about = counted.iter().filter(|step| step.label == Label::About);
    let numbered = (1..).zip(about.map(|step| step.at.0 as f64 / 1e3));
    let is_noted = |number: u64| matches!(number, 1 | 10 | 25 | 50) || number.is_multiple_of(100);
    numbered.filter(|(number, _)| is_noted(*number)).collect()
}

/// To so many places that a file gives the same number back.
pub(super) fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// A crawl, fetch by fetch.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// What it comes to.
    pub outcome: Outcome,
    /// All fetches, in their order.
    pub steps: Vec<Step>,
    /// The best authorities at its end, best first.
    pub authorities: Vec<Authority>,
}

const HEAD: &str = "sequence\turl\trelevance\tindependent\tlabel\thost\tdepth\tat";

impl Trace {
    /// The fetches that count, in their order.
    pub fn counted(&self) -> Vec<&Step> {
        self.steps.iter().filter(|step| step.label.counts()).collect()
    }

    /// As a file: what it comes to and the authorities as JSON behind `#`, then a line a fetch.
    pub(super) fn to_text(&self) -> serde_json::Result<String> {
        let mut text = format!("# {}\n", serde_json::to_string(&self.outcome)?);
        let _ = writeln!(text, "# {}\n{HEAD}", serde_json::to_string(&self.authorities)?);
        let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.6}"));
        for step in &self.steps {
            let (relevance, independent) = (number(step.relevance), number(step.independent));
            let Step { seq, url, label, host, depth, at, .. } = step;
            let _ = writeln!(
                text,
                "{seq}\t{url}\t{relevance}\t{independent}\t{}\t{host}\t{depth}\t{}",
                label.name(),
                at.0
            );
        }
        Ok(text)
    }

    /// What a file says; `None` if it is none.
    pub(super) fn parse(text: &str) -> Option<Trace> {
        let mut lines = text.lines();
        let outcome = serde_json::from_str(lines.next()?.strip_prefix("# ")?).ok()?;
        let authorities = serde_json::from_str(lines.next()?.strip_prefix("# ")?).ok()?;
        (lines.next()? == HEAD).then_some(())?;
        let steps = lines.map(step).collect::<Option<Vec<Step>>>()?;
        Some(Trace { outcome, steps, authorities })
    }

    /// What the head of a file says.
    pub(super) fn parse_outcome(text: &str) -> Option<Outcome> {
        serde_json::from_str(text.lines().next()?.strip_prefix("# ")?).ok()
    }
}

fn step(line: &str) -> Option<Step> {
    let mut cells = line.split('\t');
    let mut next = || cells.next();
    let number = |cell: &str| match cell {
        "-" => Some(None),
        number => number.parse().ok().map(Some),
    };
    Some(Step {
        seq: next()?.parse().ok()?,
        url: next()?.to_owned(),
        relevance: number(next()?)?,
        independent: number(next()?)?,
        label: next().and_then(|word| Label::ALL.into_iter().find(|label| label.name() == word))?,
        host: next()?.to_owned(),
        depth: next()?.parse().ok()?,
        at: Timestamp(next()?.parse().ok()?),
    })
}
