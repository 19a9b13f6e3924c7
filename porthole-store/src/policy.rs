//! A policy is an order on the frontier (V 3.2): a list of keys, each with a direction.

use std::fmt;
use std::str::FromStr;

/// In which order work is taken: by the first key, then by the second among equals, and so on. What ties on
/// all of them is taken in the order in which it became known.
///
/// It is written as its keys, `numtries asc, priority desc`, or as one of the names:
///
/// | name | order | for |
/// |---|---|---|
/// | `discovery` | `numtries asc, priority desc` | finding new resources, as the strategy sees fit; the default |
/// | `spread` | `numtries asc, priority desc, serverload asc` | the same, and among equals sites that gave little so far |
/// | `relevance` | `numtries asc, relevance desc, serverload asc` | the same by estimated relevance alone: V 3.2 to the letter |
/// | `hard` | `numtries asc` | hard focus, where what was not kept out is equal (W 3.3) |
/// | `refresh` | `lastvisited asc, hub desc` | going round old pages, great hubs first (V 3.2) |
/// | `repair` | `visits desc, authority desc, relevance desc` | checking what matters most (V 3.2) |
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    keys: Vec<(Key, Direction)>,
}

/// What URLs can be ordered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// How often the URL was tried since it was queued. A revisit that was asked for begins at 0 again, so
    /// that it takes its turn among URLs that were never tried and is not starved by them. From the 63rd
    /// try on, tries count the same.
    Numtries,
    /// How often the URL was tried in all: the column `numtries`. From the 255th on they count the same.
    Visits,
    /// What the strategy says.
    Priority,
    /// The estimated relevance, or R(d) of a page that is to be visited again.
    Relevance,
    /// How many URLs were fetched from the site, as of the last commit.
    Serverload,
    /// When the URL was tried last, to the second; one that was never tried is the oldest.
    Lastvisited,
    /// The hub score, 0 if it has none.
    Hub,
    /// The authority score, 0 if it has none.
    Authority,
    /// The order in which URLs became known.
    Discovered,
}

/// Which end comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The smallest first.
    Asc,
    /// The largest first.
    Desc,
}

/// Why a text is no policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// Nothing is there.
    #[error("the policy is empty; write keys like `numtries asc, priority desc`, or one of {}", names())]
    Empty,
    /// No such key.
    #[error("a policy cannot order by `{word}`; its keys are {}, or name one of {}", keys(), names(), word = .0)]
    UnknownKey(String),
    /// A key without a direction, or with something else in its place.
    #[error("`{key}` wants `asc` or `desc` behind it, not `{found}`")]
    NoDirection {
        /// The key.
        key: &'static str,
        /// What is behind it, perhaps nothing.
        found: String,
    },
    /// A key that was there before.
    #[error("`{0}` is in the policy twice; once is enough")]
    Twice(&'static str),
}

impl Policy {
    /// The names, with the order that each stands for; the first is the default.
    pub const NAMED: &'static [(&'static str, &'static str)] = &[
        ("discovery", "numtries asc, priority desc"),
        ("spread", "numtries asc, priority desc, serverload asc"),
        ("relevance", "numtries asc, relevance desc, serverload asc"),
        ("hard", "numtries asc"),
        ("refresh", "lastvisited asc, hub desc"),
        ("repair", "visits desc, authority desc, relevance desc"),
    ];

    /// The name under which a store keeps its policy among the settings.
    pub(crate) const SETTING: &'static str = "policy";

    /// Reads a list of keys with directions, or a name. Never SQL.
    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        let text = text.trim();
        let named = Policy::NAMED.iter().find(|(name, _)| *name == text);
        let text = named.map_or(text, |(_, order)| order);
        if text.is_empty() {
            return Err(PolicyError::Empty);
        }
        let mut keys: Vec<(Key, Direction)> = Vec::new();
        for part in text.split(',') {
            let (key, direction) = parse_part(part)?;
            if keys.iter().any(|(other, _)| *other == key) {
                return Err(PolicyError::Twice(key.name()));
            }
            keys.push((key, direction));
        }
        Ok(Policy { keys })
    }

    /// The keys, the first one that decides first.
    pub fn keys(&self) -> &[(Key, Direction)] {
        &self.keys
    }

    /// The name of this order, if it has one.
    pub fn name(&self) -> Option<&'static str> {
        let text = self.to_string();
        Policy::NAMED.iter().find(|(_, order)| *order == text).map(|(name, _)| *name)
    }
}

impl Default for Policy {
    fn default() -> Self {
        use Direction::{Asc, Desc};
        Policy { keys: vec![(Key::Numtries, Asc), (Key::Priority, Desc)] }
    }
}

impl FromStr for Policy {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        Policy::parse(text)
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (key, direction)) in self.keys.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{} {}", key.name(), direction.name())?;
        }
        Ok(())
    }
}

impl Key {
    /// All keys.
    pub const ALL: [Key; 9] = [
        Key::Numtries,
        Key::Visits,
        Key::Priority,
        Key::Relevance,
        Key::Serverload,
        Key::Lastvisited,
        Key::Hub,
        Key::Authority,
        Key::Discovered,
    ];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Key::Numtries => "numtries",
            Key::Visits => "visits",
            Key::Priority => "priority",
            Key::Relevance => "relevance",
            Key::Serverload => "serverload",
            Key::Lastvisited => "lastvisited",
            Key::Hub => "hub",
            Key::Authority => "authority",
            Key::Discovered => "discovered",
        }
    }
}

impl Direction {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Direction::Asc => "asc",
            Direction::Desc => "desc",
        }
    }
}

fn parse_part(part: &str) -> Result<(Key, Direction), PolicyError> {
    let mut words = part.split_whitespace();
    let word = words.next().unwrap_or_default();
    let key = Key::ALL.into_iter().find(|key| key.name() == word);
    let key = key.ok_or_else(|| PolicyError::UnknownKey(word.to_owned()))?;
    let rest: Vec<&str> = words.collect();
    match rest.as_slice() {
        ["asc"] => Ok((key, Direction::Asc)),
        ["desc"] => Ok((key, Direction::Desc)),
        _ => Err(PolicyError::NoDirection { key: key.name(), found: rest.join(" ") }),
    }
}

fn keys() -> String {
    Key::ALL.map(Key::name).join(", ")
}

fn names() -> String {
    let names: Vec<&str> = Policy::NAMED.iter().map(|(name, _)| *name).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_an_order_in_canonical_words() {
        for (name, order) in Policy::NAMED {
            let policy = Policy::parse(name).unwrap();
            assert_eq!((policy.to_string().as_str(), policy.name()), (*order, Some(*name)));
            assert_eq!(order.parse(), Ok(policy));
        }
        assert_eq!(Policy::default(), Policy::parse(Policy::NAMED[0].0).unwrap());
    }

    #[test]
    fn space_does_not_matter() {
        let policy = Policy::parse("  hub   desc ,discovered\tdesc ").unwrap();
        assert_eq!((policy.to_string().as_str(), policy.name()), ("hub desc, discovered desc", None));
    }

    #[test]
    fn what_is_no_policy_is_refused_by_the_bad_word() {
        for (text, words) in [
            ("", "the policy is empty"),
            ("  ", "the policy is empty"),
            ("url asc", "cannot order by `url`; its keys are numtries, visits, priority"),
            ("numtries asc, , hub desc", "cannot order by ``"),
            ("numtries asc,", "cannot order by ``"),
            ("priority", "`priority` wants `asc` or `desc` behind it, not ``"),
            ("priority up", "not `up`"),
            ("priority desc nulls last", "not `desc nulls last`"),
            ("hub desc, hub asc", "`hub` is in the policy twice"),
            ("(select 1) asc", "`(select`"),
        ] {
            let error = Policy::parse(text).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
