//! A policy: the order of the frontier (V 3.2), as a list of keys with directions.

use std::fmt;
use std::str::FromStr;

/// The order in which work is taken: by the first key, then by the second among equals, and so on. Ties are broken by
/// the order of discovery.
///
/// It is written as keys, `numtries asc, priority desc`, or as one of these names:
///
/// | name | order | purpose |
/// |---|---|---|
/// | `discovery` | `numtries asc, priority desc` | find new resources by the strategy's priority; the default |
/// | `spread` | `numtries asc, priority desc, serverload asc` | the same; among equals, sites with few fetches first |
/// | `relevance` | `numtries asc, relevance desc, serverload asc` | by estimated relevance alone, exactly V 3.2 |
/// | `hard` | `numtries asc` | hard focus: all accepted URLs are equal (W 3.3) |
/// | `refresh` | `revisit desc, lastvisited asc, hub desc` | old pages first, then top hubs (V 3.2), before new ones |
/// | `repair` | `revisit desc, visits desc, authority desc, relevance desc` | the most important pages first (V 3.2) |
/// | `upkeep` | `revisit desc, numtries asc, priority desc` | pages that are due for a visit, then new ones |
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    keys: Vec<(PolicyKey, Direction)>,
}

/// Sort keys of URLs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyKey {
    /// Number of tries since the URL was queued. A requested revisit starts at 0 again, so that it is not starved by
    /// URLs that were never tried. Saturates at 63.
    Numtries,
    /// Total number of tries: the column `numtries`. Saturates at 255.
    Visits,
    /// The strategy's priority.
    Priority,
    /// Estimated relevance, or R(d) of a page to be revisited.
    Relevance,
    /// Number of URLs fetched from the site, as of the last commit.
    Serverload,
    /// Time of the last try, in seconds; a URL that was never tried is the oldest.
    Lastvisited,
    /// Hub score; 0 if there is none.
    Hub,
    /// Authority score; 0 if there is none.
    Authority,
    /// Relevance by the page's text and its neighbours, as of the last distillation; without judged neighbours the same
    /// as `Relevance`.
    Neighbourhood,
    /// Order of discovery.
    Discovered,
    /// 1 for a page that is visited again, else 0.
    Revisit,
}

/// Sort direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Smallest first.
    Asc,
    /// Largest first.
    Desc,
}

/// Why a text is not a policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// The text is empty.
    #[error("the policy is empty; use keys such as `numtries asc, priority desc`, or one of {}", names())]
    Empty,
    /// Unknown key.
    #[error("unknown policy key `{word}`; use the keys {}, or one of the names {}", keys(), names(), word = .0)]
    UnknownKey(String),
    /// A key without a valid direction.
    #[error("`{key}` must be followed by `asc` or `desc`, not `{found}`")]
    NoDirection {
        /// The key.
        key: &'static str,
        /// The text after the key; may be empty.
        found: String,
    },
    /// A key that occurs twice.
    #[error("`{0}` occurs twice in the policy")]
    Twice(&'static str),
}

impl Policy {
    /// The names with their orders; the first is the default.
    pub const NAMED: &'static [(&'static str, &'static str)] = &[
        ("discovery", "numtries asc, priority desc"),
        ("spread", "numtries asc, priority desc, serverload asc"),
        ("relevance", "numtries asc, relevance desc, serverload asc"),
        ("hard", "numtries asc"),
        ("refresh", "revisit desc, lastvisited asc, hub desc"),
        ("repair", "revisit desc, visits desc, authority desc, relevance desc"),
        ("upkeep", "revisit desc, numtries asc, priority desc"),
    ];

    /// Name of the setting that stores the policy.
    pub(crate) const SETTING: &'static str = "policy";

    /// Parses a list of keys with directions, or a name.
    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        let text = text.trim();
        let named = Policy::NAMED.iter().find(|(name, _)| *name == text);
        let text = named.map_or(text, |(_, order)| order);
        if text.is_empty() {
            return Err(PolicyError::Empty);
        }
        let mut keys: Vec<(PolicyKey, Direction)> = Vec::new();
        for part in text.split(',') {
            let (key, direction) = parse_part(part)?;
            if keys.iter().any(|(other, _)| *other == key) {
                return Err(PolicyError::Twice(key.name()));
            }
            keys.push((key, direction));
        }
        Ok(Policy { keys })
    }

    /// The keys, most significant first.
    pub fn keys(&self) -> &[(PolicyKey, Direction)] {
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
        Policy { keys: vec![(PolicyKey::Numtries, Asc), (PolicyKey::Priority, Desc)] }
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

impl PolicyKey {
    /// All keys.
    pub const ALL: [PolicyKey; 11] = [
        PolicyKey::Numtries,
        PolicyKey::Visits,
        PolicyKey::Priority,
        PolicyKey::Relevance,
        PolicyKey::Serverload,
        PolicyKey::Lastvisited,
        PolicyKey::Hub,
        PolicyKey::Authority,
        PolicyKey::Neighbourhood,
        PolicyKey::Discovered,
        PolicyKey::Revisit,
    ];

    /// Name of the key.
    pub fn name(self) -> &'static str {
        match self {
            PolicyKey::Numtries => "numtries",
            PolicyKey::Visits => "visits",
            PolicyKey::Priority => "priority",
            PolicyKey::Relevance => "relevance",
            PolicyKey::Serverload => "serverload",
            PolicyKey::Lastvisited => "lastvisited",
            PolicyKey::Hub => "hub",
            PolicyKey::Authority => "authority",
            PolicyKey::Neighbourhood => "neighbourhood",
            PolicyKey::Discovered => "discovered",
            PolicyKey::Revisit => "revisit",
        }
    }
}

impl Direction {
    /// Name of the direction.
    pub fn name(self) -> &'static str {
        match self {
            Direction::Asc => "asc",
            Direction::Desc => "desc",
        }
    }
}

fn parse_part(part: &str) -> Result<(PolicyKey, Direction), PolicyError> {
    let mut words = part.split_whitespace();
    let word = words.next().unwrap_or_default();
    let key = PolicyKey::ALL.into_iter().find(|key| key.name() == word);
    let key = key.ok_or_else(|| PolicyError::UnknownKey(word.to_owned()))?;
    let rest: Vec<&str> = words.collect();
    match rest.as_slice() {
        ["asc"] => Ok((key, Direction::Asc)),
        ["desc"] => Ok((key, Direction::Desc)),
        _ => Err(PolicyError::NoDirection { key: key.name(), found: rest.join(" ") }),
    }
}

fn keys() -> String {
    PolicyKey::ALL.map(PolicyKey::name).join(", ")
}

fn names() -> String {
    let names: Vec<&str> = Policy::NAMED.iter().map(|(name, _)| *name).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_canonical_order() {
        for (name, order) in Policy::NAMED {
            let policy = Policy::parse(name).unwrap();
            assert_eq!((policy.to_string().as_str(), policy.name()), (*order, Some(*name)));
            assert_eq!(order.parse(), Ok(policy));
        }
        assert_eq!(Policy::default(), Policy::parse(Policy::NAMED[0].0).unwrap());
    }

    #[test]
    fn whitespace_is_ignored() {
        let policy = Policy::parse("  hub   desc ,discovered\tdesc ").unwrap();
        assert_eq!((policy.to_string().as_str(), policy.name()), ("hub desc, discovered desc", None));
    }

    #[test]
    fn errors_name_the_wrong_word() {
        for (text, words) in [
            ("", "the policy is empty"),
            ("  ", "the policy is empty"),
            ("url asc", "unknown policy key `url`; use the keys numtries, visits, priority"),
            ("numtries asc, , hub desc", "unknown policy key ``"),
            ("numtries asc,", "unknown policy key ``"),
            ("priority", "`priority` must be followed by `asc` or `desc`, not ``"),
            ("priority up", "not `up`"),
            ("priority desc nulls last", "not `desc nulls last`"),
            ("hub desc, hub asc", "`hub` occurs twice"),
            ("(select 1) asc", "`(select`"),
        ] {
            let error = Policy::parse(text).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
