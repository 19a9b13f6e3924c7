//! The crawls of an experiment, and the names of strategies in it.

use std::fmt;
use std::str::FromStr;

use porthole_types::CanonicalUrl;
use serde::{Deserialize, Serialize};

use super::Experiment;
use super::informed::Informed;
use super::knowledge;
use super::pace::PaceChange;

/// One crawl of an experiment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CrawlPlan {
    /// The topic.
    pub topic: String,
    /// The strategy.
    pub strategy: String,
    /// Number of the sample.
    pub sample: u32,
}

impl fmt::Display for CrawlPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} sample {}", self.strategy, self.topic, self.sample)
    }
}

impl Experiment {
    /// All crawls, by topic, strategy and sample.
    pub fn plans(&self) -> Vec<CrawlPlan> {
        let mut plans = Vec::new();
        for topic in &self.topics {
            for strategy in &self.strategies {
                let plan = |sample| CrawlPlan { topic: topic.clone(), strategy: strategy.clone(), sample };
                plans.extend((0..self.samples).map(plan));
            }
        }
        plans
    }
}

/// A strategy as named in an experiment:
/// `NAME[:PARAMETERS][+truth][+told][+hubs][+even|+odd][+neighbours][:STARTS][@BASELINE][~TEACHER][|PACE]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StrategyName {
    /// The strategy that scores links, with its parameters.
    pub(super) name: String,
    /// The part of the true labels that it knows.
    pub(super) informed: Informed,
    /// Prioritises links of great hubs.
    pub(super) hubs: bool,
    /// Restricts the crawl to this half of the hosts.
    pub(super) half: Option<Half>,
    /// Starts from pages a few links away from the start pages (P 2.1).
    pub(super) neighbours: bool,
    /// Number of start pages, if not all.
    pub(super) starts: Option<usize>,
    /// Restricts the crawl to the URLs that this strategy fetched: the recall crawler of A 3.6.
    pub(super) within: Option<Box<StrategyName>>,
    /// Starts an apprentice with lessons from the pages that this strategy fetched (A 3.5).
    pub(super) teacher: Option<Box<StrategyName>>,
    /// Overrides of the experiment's pace.
    pub(super) pace: PaceChange,
}

/// Task of a crawl: where it starts. Only crawls with the same task can be compared (P 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    /// Task 1: starts from the examples.
    Examples,
    /// Task 2: starts from their neighbours.
    Neighbours,
}

impl StrategyName {
    /// The task, if the crawl uses all start pages and is unrestricted.
    pub(super) fn task(&self) -> Option<Task> {
        let is_whole = self.half.is_none() && self.starts.is_none() && self.within.is_none();
        is_whole.then_some(if self.neighbours { Task::Neighbours } else { Task::Examples })
    }
}

/// One half of the hosts of a web, by their hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Half {
    Even,
    Odd,
}

impl Half {
    /// Whether a URL is on one of its hosts.
    pub(super) fn has(self, url: &CanonicalUrl) -> bool {
        (url.site().0.is_multiple_of(2)) == (self == Half::Even)
    }
}

impl FromStr for StrategyName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (text, pace) = match text.split_once('|') {
            Some((text, pace)) => (text, pace.parse()?),
            None => (text, PaceChange::default()),
        };
        let (text, teacher) = split_name(text, '~')?;
        let (text, within) = split_name(text, '@')?;
        // A number after a colon; parameters have an equals sign.
        let (text, starts) = match text.rsplit_once(':').filter(|(_, starts)| !starts.contains('=')) {
            Some((own, starts)) => {
                let number = starts.parse();
                (own, Some(number.map_err(|_| format!("{text}: {starts:?} is not a number of start pages"))?))
            }
            None => (text, None),
        };
        let (text, neighbours) = match text.strip_suffix("+neighbours") {
            Some(text) => (text, true),
            None => (text, false),
        };
        let (text, half) = match (text.strip_suffix("+even"), text.strip_suffix("+odd")) {
            (Some(text), _) => (text, Some(Half::Even)),
            (_, Some(text)) => (text, Some(Half::Odd)),
            _ => (text, None),
        };
        let (name, hubs) = match text.strip_suffix("+hubs") {
            Some(name) => (name, true),
            None => (text, false),
        };
        let (name, told) = name.strip_suffix("+told").map_or((name, false), |name| (name, true));
        let (name, truth) = name.strip_suffix("+truth").map_or((name, false), |name| (name, true));
        let informed = Informed { truth, told };
        knowledge::checked(name).map_err(|what| {
            let oracles = knowledge::ORACLES.join(", ");
            format!(
                "{what}; for experiments also {oracles}, and each as NAME+hubs, NAME+even, NAME+odd, \
                 NAME+truth, NAME+told, NAME+neighbours, NAME:STARTS, NAME@BASELINE, apprentice~TEACHER and NAME|PACE"
            )
        })?;
        if teacher.is_some() && !name.starts_with("apprentice") {
            return Err(format!("{name}: only an apprentice has a teacher"));
        }
        Ok(StrategyName {
            name: name.to_owned(),
            informed,
            hubs,
            half,
            neighbours,
            starts,
            within,
            teacher,
            pace,
        })
    }
}

/// Joins the strategies of a list that was split at commas, which also separate the parameters of one strategy: a piece
/// with an equals sign before any colon is a parameter of the preceding strategy.
pub fn listed(pieces: &[String]) -> Result<Vec<String>, String> {
    let mut names: Vec<String> = Vec::new();
    for piece in pieces {
        let is_parameter = piece.split(':').next().is_some_and(|front| front.contains('='));
        match names.last_mut() {
            _ if !is_parameter => names.push(piece.clone()),
            Some(name) if name.contains('=') => {
                name.push(',');
                name.push_str(piece);
            }
            Some(name) => {
                return Err(format!("{piece} is a parameter: if it is one of {name}, write {name}:{piece}"));
            }
            None => return Err(format!("{piece} is a parameter without a strategy: write NAME:{piece}")),
        }
    }
    Ok(names)
}

type SplitName<'a> = (&'a str, Option<Box<StrategyName>>);

/// Splits at `sign` into the text before it and the strategy named after it.
fn split_name(text: &str, sign: char) -> Result<SplitName<'_>, String> {
    Ok(match text.split_once(sign) {
        Some((own, other)) => (own, Some(Box::new(other.parse()?))),
        None => (text, None),
    })
}

impl fmt::Display for StrategyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        f.write_str(if self.informed.truth { "+truth" } else { "" })?;
        f.write_str(if self.informed.told { "+told" } else { "" })?;
        f.write_str(if self.hubs { "+hubs" } else { "" })?;
        if let Some(half) = self.half {
            f.write_str(if half == Half::Even { "+even" } else { "+odd" })?;
        }
        if self.neighbours {
            f.write_str("+neighbours")?;
        }
        if let Some(starts) = self.starts {
            write!(f, ":{starts}")?;
        }
        if let Some(baseline) = &self.within {
            write!(f, "@{baseline}")?;
        }
        if let Some(teacher) = &self.teacher {
            write!(f, "~{teacher}")?;
        }
        self.pace.fmt(f)
    }
}
