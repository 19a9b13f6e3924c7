//! Strategies by name, with parameters: `best-256:buffer=1000`.

use porthole_page::Link;
use porthole_types::{CanonicalUrl, UrlId};

use crate::apprentice::Apprentice;
use crate::parameters::Parameters;
use crate::{
    Arc, BestN, Breadth, Centroid, Cho, ContextGraph, CrawlGoal, Discipline, Fifo, Fish, Hard, InfoSpiders,
    Intelligent, Location, Opic, Part, Porthole, RlSpider, Shark, Soft, SourcePage, StateError, Strategy,
    Unfocused,
};

/// Strategy names by group, for help texts.
pub const GROUPS: &[(&str, &[&str])] = &[
    ("our own", &["porthole"]),
    ("plain", &["soft", "hard", "unfocused", "breadth", "fifo-256", "centroid"]),
    ("Best-N-First", &["best-1", "best-16", "best-64", "best-128", "best-256", "best-adaptive"]),
    (
        "systems that the papers name",
        &["fish", "shark", "infospiders", "context-graph", "rl-spider", "intelligent", "arc"],
    ),
    ("by importance", &["cho-backlinks", "cho-pagerank", "cho-location", "cho-hot", "opic"]),
    ("learning", &["apprentice"]),
];

/// Names of all strategies. `best-N` and `fifo-M` accept any number.
pub const NAMES: &[&str] = &flat();

const COUNT: usize = {
    let (mut count, mut group) = (0, 0);
    while group < GROUPS.len() {
        count += GROUPS[group].1.len();
        group += 1;
    }
    count
};

const fn flat() -> [&'static str; COUNT] {
    let mut names = [""; COUNT];
    let (mut group, mut place) = (0, 0);
    while group < GROUPS.len() {
        let mut one = 0;
        while one < GROUPS[group].1.len() {
            names[place] = GROUPS[group].1[one];
            (one, place) = (one + 1, place + 1);
        }
        group += 1;
    }
    names
}

/// Errors in the name of a strategy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// No strategy has this name.
    #[error("there is no strategy {name:?}; there are {}", NAMES.join(", "))]
    Strategy {
        /// The name given.
        name: String,
    },
    /// The strategy has no such parameter.
    #[error("the strategy {strategy:?} has no parameter {key:?}; it has {known}")]
    Parameter {
        /// The strategy.
        strategy: String,
        /// The parameter given.
        key: String,
        /// The strategy's parameters.
        known: String,
    },
    /// A parameter without a value.
    #[error("{key:?} has no value: parameters are written as in {strategy}:name=value,name=value")]
    NoValue {
        /// The strategy.
        strategy: String,
        /// The text given.
        key: String,
    },
    /// A value that the parameter does not accept.
    #[error("invalid parameter {key}={value} of the strategy {strategy:?}: {key} is {wanted}")]
    Value {
        /// The strategy.
        strategy: String,
        /// The parameter.
        key: String,
        /// The value given.
        value: String,
        /// The accepted values.
        wanted: String,
    },
}

/// Builds the strategy with this name and its parameters for a goal.
pub fn named(name: &str, goal: &CrawlGoal) -> Result<Box<dyn Strategy>, NameError> {
    let mut parameters = Parameters::parse(name)?;
    let Some(strategy) = plain(&mut parameters, goal)? else {
        return Err(NameError::Strategy { name: parameters.strategy().to_owned() });
    };
    parameters.finish()?;
    Ok(if name.contains(':') {
        Box::new(ParameterizedStrategy { name: name.to_owned(), strategy })
    } else {
        strategy
    })
}

fn plain(parameters: &mut Parameters<'_>, goal: &CrawlGoal) -> Result<Option<Box<dyn Strategy>>, NameError> {
    Ok(Some(match parameters.strategy() {
        "porthole" => Box::new(Porthole::new(parameters, goal)?),
        "soft" => Box::new(Soft),
        "hard" => Box::new(Hard),
        // The lab's experiments call this strategy `random`.
        "unfocused" | "random" => Box::new(Unfocused::new(goal.seed)),
        "breadth" => Box::new(Breadth),
        "apprentice" => Box::new(Apprentice::new(parameters, goal)?),
        "best-adaptive" => Box::new(BestN::adaptive(parameters, goal)?),
        "fish" => Box::new(Fish::new(parameters)?),
        "arc" => Box::new(Arc::new(parameters, goal)?),
        "centroid" => Box::new(Centroid::new(parameters)?),
        "cho-backlinks" => Box::new(Cho::backlinks()),
        "cho-pagerank" => Box::new(Cho::page_rank()),
        "cho-location" => Box::new(Location),
        "cho-hot" => Box::new(Cho::hot(goal)),
        "context-graph" => Box::new(ContextGraph::new(parameters)?),
        "rl-spider" => Box::new(RlSpider::new(parameters)?),
        "infospiders" => Box::new(InfoSpiders::new(parameters, goal)?),
        "intelligent" => Box::new(Intelligent::new(parameters)?),
        "opic" => Box::new(Opic::default()),
        "shark" => Box::new(Shark::new(parameters, goal)?),
        other => match (numbered(other, "best-"), numbered(other, "fifo-")) {
            (Some(n), _) => Box::new(BestN::fixed(n, parameters, goal)?),
            (_, Some(most)) => Box::new(Fifo::new(most)),
            _ => return Ok(None),
        },
    }))
}

/// The number after a prefix, if it is at least 1.
fn numbered(name: &str, word: &str) -> Option<usize> {
    name.strip_prefix(word)?.parse().ok().filter(|number| *number > 0)
}

/// Checks that a name is that of a strategy, and returns it.
pub fn checked(name: &str) -> Result<String, NameError> {
    named(name, &CrawlGoal::nothing(0)).map(|_| name.to_owned())
}

/// A strategy whose name includes its parameters, because other parameters make a different strategy.
struct ParameterizedStrategy {
    name: String,
    strategy: Box<dyn Strategy>,
}

#[deny(clippy::missing_trait_methods)]
impl Strategy for ParameterizedStrategy {
    fn name(&self) -> &str {
        &self.name
    }

    fn discipline(&self) -> Discipline {
        self.strategy.discipline()
    }

    fn choose(&mut self, n: usize) -> Vec<UrlId> {
        self.strategy.choose(n)
    }

    fn arrange(&mut self, batch: &mut [UrlId]) {
        self.strategy.arrange(batch);
    }

    fn arrived(&mut self, source: &SourcePage<'_>) {
        self.strategy.arrived(source);
    }

    fn settled(&mut self, url: &CanonicalUrl) {
        self.strategy.settled(url);
    }

    fn foretold(&mut self, url: UrlId, relevance: f64) {
        self.strategy.foretold(url, relevance);
    }

    fn priority(&mut self, source: &SourcePage<'_>, link: &Link) -> Option<f64> {
        self.strategy.priority(source, link)
    }

    fn rescored(&mut self) -> Vec<(UrlId, f64)> {
        self.strategy.rescored()
    }

    fn set_rescore_chunk(&mut self, piece: usize) {
        self.strategy.set_rescore_chunk(piece);
    }

    fn rescore_all(&mut self) {
        self.strategy.rescore_all();
    }

    fn explain(&mut self, source: &SourcePage<'_>, link: &Link) -> Vec<Part> {
        self.strategy.explain(source, link)
    }

    fn save(&self) -> Option<Vec<u8>> {
        self.strategy.save()
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), StateError> {
        self.strategy.restore(saved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(name: &str) -> String {
        checked(name).map_or_else(|error| error.to_string(), |name| format!("there is {name}"))
    }

    #[test]
    fn names_have_parameters_and_errors_name_the_invalid_one() {
        assert_eq!(refusal("best-7:buffer=9,rank=kwpr"), "there is best-7:buffer=9,rank=kwpr");
        assert_eq!(named("best-7:buffer=9", &CrawlGoal::nothing(1)).unwrap().discipline().bound, Some(9));
        assert!(
            refusal("psychic:power=3")
                .starts_with("there is no strategy \"psychic\"; there are porthole, soft, hard")
        );
        assert!(refusal("best-0").starts_with("there is no strategy \"best-0\""));
        assert_eq!(
            refusal("best-7:size=9"),
            "the strategy \"best-7\" has no parameter \"size\"; it has buffer, rank"
        );
        assert_eq!(refusal("soft:a=1"), "the strategy \"soft\" has no parameter \"a\"; it has none");
        assert_eq!(
            refusal("best-7:rank=pr"),
            "invalid parameter rank=pr of the strategy \"best-7\": rank is cosine or kwpr"
        );
        assert_eq!(
            refusal("best-7:buffer=none"),
            "invalid parameter buffer=none of the strategy \"best-7\": buffer is a number from 1 to 1000000"
        );
        assert_eq!(
            refusal("best-7:buffer"),
            "\"buffer\" has no value: parameters are written as in best-7:name=value,name=value"
        );
    }
}
