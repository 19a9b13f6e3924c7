//! The trace of one crawl, fetch by fetch, and its file format.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::{Deserialize, Serialize};

use porthole_types::Timestamp;

use super::{CrawlPlan, Experiment};
use crate::measures;

/// One fetch.
#[derive(Clone, Debug, PartialEq)]
pub struct FetchStep {
    /// Its number in the crawl, from 0.
    pub seq: u64,
    /// URL of the fetch.
    pub url: String,
    /// R by the guiding critic; `None` if the fetch returned no page.
    pub relevance: Option<f64>,
    /// R by the independent critic; `None` for pages that it was trained on.
    pub independent: Option<f64>,
    /// True label.
    pub label: FetchLabel,
    /// When it was complete.
    pub at: Timestamp,
    /// The server.
    pub host: String,
    /// Number of links between a start page and this page, when it was found.
    pub depth: u32,
}

/// True label of a fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchLabel {
    /// A page about the topic.
    About,
    /// A page about something else.
    Other,
    /// A start page, which does not count.
    Start,
    /// A page that the guiding critic was trained on, which does not count.
    Trained,
    /// No page: a redirect, or a URL outside the recording. Does not count.
    None,
}

impl FetchLabel {
    const ALL: [FetchLabel; 5] =
        [FetchLabel::About, FetchLabel::Other, FetchLabel::Start, FetchLabel::Trained, FetchLabel::None];

    /// Name in files.
    pub fn name(self) -> &'static str {
        match self {
            FetchLabel::About => "about",
            FetchLabel::Other => "other",
            FetchLabel::Start => "start",
            FetchLabel::Trained => "trained",
            FetchLabel::None => "none",
        }
    }

    /// Whether the fetch counts.
    pub fn counts(self) -> bool {
        matches!(self, FetchLabel::About | FetchLabel::Other)
    }
}

/// An authority found by the distiller at the end of a crawl.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Authority {
    /// The page.
    pub url: String,
    /// Its server.
    pub host: String,
    /// Distance from the nearest start page, by the crawled links.
    pub distance: u32,
}

/// Maximum numbers of pages per site for the capped harvest.
pub const SITE_CAPS: [u64; 3] = [100, 10, 5];

/// Summary of one crawl. Maps have a value for each measured number of counted fetches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CrawlSummary {
    /// The topic.
    pub topic: String,
    /// The strategy.
    pub strategy: String,
    /// Number of the sample.
    pub sample: u32,
    /// Number of counted fetches.
    pub fetched: u64,
    /// Share of the fetches that returned a page of the topic.
    pub harvest: BTreeMap<u64, f64>,
    /// Share of the topic's reachable pages that were found.
    pub recall: BTreeMap<u64, f64>,
    /// The harvest with at most N pages per site, by N: further pages of a site count as not relevant.
    #[serde(default)]
    pub capped: BTreeMap<u64, BTreeMap<u64, f64>>,
    /// Number of sites (servers) with a page of the topic that were found.
    #[serde(default)]
    pub sites: BTreeMap<u64, u64>,
    /// Mean R by the guiding critic. The mean loss of A 3.5 is 1 minus this.
    pub relevance: BTreeMap<u64, f64>,
    /// Cumulative loss (A 3.5): sum of 1 - R over the fetches, by the guiding critic.
    #[serde(default)]
    pub loss: BTreeMap<u64, f64>,
    /// Mean R by the independent critic.
    pub independent: BTreeMap<u64, f64>,
    /// Number of servers with a page of the topic that were found, without those of start pages.
    pub hosts: BTreeMap<u64, u64>,
    /// Area under the recall curve, as a share of the maximum.
    pub area: f64,
    /// Number of reachable pages of the topic that count.
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

impl CrawlSummary {
    /// Harvest after `at` fetches with at most `cap` pages of a site; 0 in results that do not have it.
    pub fn capped_harvest(&self, cap: u64, at: u64) -> f64 {
        self.capped.get(&cap).and_then(|harvest| harvest.get(&at)).copied().unwrap_or(0.0)
    }

    /// Cumulative loss after `at` fetches: sum of 1 - R. Older results have only the mean.
    pub fn lost(&self, at: u64) -> f64 {
        let from_mean = || (1.0 - self.relevance[&at]) * self.fetched.min(at) as f64;
        self.loss.get(&at).copied().unwrap_or_else(from_mean)
    }

    /// Whether it ran in simulated time.
    pub fn is_timed(&self) -> bool {
        self.seconds > 0.0
    }

    /// Summary of a plan's fetches.
    pub(super) fn of(experiment: &Experiment, plan: &CrawlPlan, steps: &[FetchStep], wanted: u64) -> Self {
        let counted: Vec<&FetchStep> = steps.iter().filter(|step| step.label.counts()).collect();
        let at = |measure: &dyn Fn(u64) -> f64| {
            experiment.at.iter().map(|at| (*at, rounded(measure(*at)))).collect()
        };
        let seconds = steps.last().map_or(0.0, |step| step.at.0 as f64 / 1e3);
        let recall = |n| measures::found(&counted, n) as f64 / wanted.max(1) as f64;
        CrawlSummary {
            topic: plan.topic.clone(),
            strategy: plan.strategy.clone(),
            sample: plan.sample,
            fetched: counted.len() as u64,
            harvest: at(&|n| measures::harvest(&counted, n)),
            capped: SITE_CAPS
                .map(|cap| (cap, at(&|n| measures::capped_harvest(&counted, n, cap))))
                .into_iter()
                .collect(),
            sites: experiment.at.iter().map(|at| (*at, measures::sites(&counted, *at))).collect(),
            recall: at(&recall),
            relevance: at(&|n| measures::mean_of(&counted, n, |step| step.relevance)),
            loss: at(&|n| measures::lost(&counted, n)),
            independent: at(&|n| measures::mean_of(&counted, n, |step| step.independent)),
            hosts: experiment.at.iter().map(|at| (*at, measures::new_hosts(steps, *at))).collect(),
            area: rounded(measures::area(&counted, experiment.budget(), wanted)),
            wanted,
            cpu_ms: 0.0,
            // Without a pace, time does not pass.
            seconds_to: if seconds > 0.0 { seconds_to(&counted) } else { BTreeMap::new() },
            seconds,
            stop: if counted.len() as u64 >= experiment.budget() { "limit" } else { "exhausted" }.to_owned(),
        }
    }
}

/// Seconds to the first page of the topic, and to the 10th, 50th, 100th, ...
fn seconds_to(counted: &[&FetchStep]) -> BTreeMap<u64, f64> {
    let about = counted.iter().filter(|step| step.label == FetchLabel::About);
    let numbered = (1..).zip(about.map(|step| step.at.0 as f64 / 1e3));
    let is_noted = |number: u64| matches!(number, 1 | 10 | 25 | 50) || number.is_multiple_of(100);
    numbered.filter(|(number, _)| is_noted(*number)).collect()
}

/// Rounded, so that writing and reading gives the same number.
pub(super) fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// A crawl, fetch by fetch.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Summary.
    pub outcome: CrawlSummary,
    /// All fetches, in their order.
    pub steps: Vec<FetchStep>,
    /// The best authorities at its end, best first.
    pub authorities: Vec<Authority>,
}

const HEAD: &str = "sequence\turl\trelevance\tindependent\tlabel\thost\tdepth\tat";

impl Trace {
    /// The fetches that count, in their order.
    pub fn counted(&self) -> Vec<&FetchStep> {
        self.steps.iter().filter(|step| step.label.counts()).collect()
    }

    /// The trace as a file: summary and authorities as JSON after `#`, then one line per fetch.
    pub(super) fn to_text(&self) -> serde_json::Result<String> {
        let mut text = format!("# {}\n", serde_json::to_string(&self.outcome)?);
        let _ = writeln!(text, "# {}\n{HEAD}", serde_json::to_string(&self.authorities)?);
        let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.6}"));
        for step in &self.steps {
            let (relevance, independent) = (number(step.relevance), number(step.independent));
            let FetchStep { seq, url, label, host, depth, at, .. } = step;
            let _ = writeln!(
                text,
                "{seq}\t{url}\t{relevance}\t{independent}\t{}\t{host}\t{depth}\t{}",
                label.name(),
                at.0
            );
        }
        Ok(text)
    }

    /// Parses a file; `None` if it is not a trace.
    pub(super) fn parse(text: &str) -> Option<Trace> {
        let mut lines = text.lines();
        let outcome = serde_json::from_str(lines.next()?.strip_prefix("# ")?).ok()?;
        let authorities = serde_json::from_str(lines.next()?.strip_prefix("# ")?).ok()?;
        (lines.next()? == HEAD).then_some(())?;
        let steps = lines.map(step).collect::<Option<Vec<FetchStep>>>()?;
        Some(Trace { outcome, steps, authorities })
    }

    /// Parses the summary in a file's head.
    pub(super) fn parse_outcome(text: &str) -> Option<CrawlSummary> {
        serde_json::from_str(text.lines().next()?.strip_prefix("# ")?).ok()
    }
}

fn step(line: &str) -> Option<FetchStep> {
    let mut cells = line.split('\t');
    let mut next = || cells.next();
    let number = |cell: &str| match cell {
        "-" => Some(None),
        number => number.parse().ok().map(Some),
    };
    Some(FetchStep {
        seq: next()?.parse().ok()?,
        url: next()?.to_owned(),
        relevance: number(next()?)?,
        independent: number(next()?)?,
        label: next().and_then(|word| FetchLabel::ALL.into_iter().find(|label| label.name() == word))?,
        host: next()?.to_owned(),
        depth: next()?.parse().ok()?,
        at: Timestamp(next()?.parse().ok()?),
    })
}
