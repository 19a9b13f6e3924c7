//! The crawls of an experiment, and the names of strategies in it.

use std::fmt;
use std::str::FromStr;

use super::Experiment;
use super::knowledge;

/// One crawl that is to be made.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Plan {
    /// The topic.
    pub topic: String,
    /// The strategy.
    pub strategy: String,
    /// The number of the draw of starts.
    pub sample: u32,
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} sample {}", self.strategy, self.topic, self.sample)
    }
}

impl Experiment {
    /// All crawls, by topic, strategy and sample.
    pub fn plans(&self) -> Vec<Plan> {
        let mut plans = Vec::new();
        for topic in &self.topics {
            for strategy in &self.strategies {
                let plan = |sample| Plan { topic: topic.clone(), strategy: strategy.clone(), sample };
                plans.extend((0..self.samples).map(plan));
            }
        }
        plans
    }
}

/// A strategy as an experiment names it: `NAME[+hubs][:STARTS][@BASELINE]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StrategyName {
    /// The strategy that scores links.
    pub(super) name: String,
    /// What great hubs link to comes first.
    pub(super) hubs: bool,
    /// It begins with so many of the start pages only.
    pub(super) starts: Option<usize>,
    /// It may fetch only what this one fetched: the recall crawler of A 3.6.
    pub(super) within: Option<Box<StrategyName>>,
}

impl FromStr for StrategyName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (text, within) = match text.split_once('@') {
            Some((own, baseline)) => (own, Some(Box::new(baseline.parse::<StrategyName>()?))),
            None => (text, None),
        };
        let (text, starts) = match text.split_once(':') {
            Some((own, starts)) => {
                let number = starts.parse();
                (own, Some(number.map_err(|_| format!("{text}: {starts:?} is no number of start pages"))?))
            }
            None => (text, None),
        };
        let (name, hubs) = match text.strip_suffix("+hubs") {
            Some(name) => (name, true),
            None => (text, false),
        };
        knowledge::checked(name).map_err(|what| {
            let oracles = knowledge::ORACLES.join(", ");
            format!(
                "{what}; for experiments also {oracles}, and each as NAME+hubs, NAME:STARTS and NAME@BASELINE"
            )
        })?;
        Ok(StrategyName { name: name.to_owned(), hubs, starts, within })
    }
}

impl fmt::Display for StrategyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.name, if self.hubs { "+hubs" } else { "" })?;
        if let Some(starts) = self.starts {
            write!(f, ":{starts}")?;
        }
        match &self.within {
            Some(baseline) => write!(f, "@{baseline}"),
            None => Ok(()),
        }
    }
}
