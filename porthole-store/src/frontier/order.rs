//! A policy, split into the parts that the queue needs.

use crate::policy::{Direction, Policy, PolicyKey};

/// How rows are compared. The keys of a policy are split: `numtries`, if it is first, is the level; keys before
/// `serverload` order the heap of a site; the others are compared when work is taken.
#[derive(Clone, Debug)]
pub(super) struct KeyOrder {
    pub(super) policy: Policy,
    pub(super) level: Option<Direction>,
    pub(super) heap: Vec<(PolicyKey, Direction)>,
    /// Whether the heap is ordered by descending priority only: the common case, with a fast path.
    pub(super) plain: bool,
    pub(super) load: Option<Direction>,
    /// Keys after `serverload`.
    pub(super) rest: Vec<(PolicyKey, Direction)>,
}

impl KeyOrder {
    pub(super) fn new(policy: &Policy) -> Self {
        let mut keys = policy.keys();
        let mut level = None;
        if let Some(&(PolicyKey::Numtries, direction)) = keys.first() {
            level = Some(direction);
            keys = &keys[1..];
        }
        let at = keys.iter().position(|(key, _)| *key == PolicyKey::Serverload);
        let heap = keys[..at.unwrap_or(keys.len())].to_vec();
        let plain = heap == [(PolicyKey::Priority, Direction::Desc)];
        let load = at.map(|at| keys[at].1);
        let rest = at.map_or_else(Vec::new, |at| keys[at + 1..].to_vec());
        KeyOrder { policy: policy.clone(), level, heap, plain, load, rest }
    }

    /// The columns that this order needs.
    pub(super) fn needs(&self) -> Needs {
        let uses = |key| self.policy.keys().iter().any(|(other, _)| *other == key);
        Needs {
            visits: uses(PolicyKey::Visits),
            lastvisited: uses(PolicyKey::Lastvisited),
            hubs: uses(PolicyKey::Hub),
            auth: uses(PolicyKey::Authority),
            neighbourhoods: uses(PolicyKey::Neighbourhood),
        }
    }
}

impl Default for KeyOrder {
    fn default() -> Self {
        KeyOrder::new(&Policy::default())
    }
}

/// Optional columns, which cost memory only when they are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    pub(crate) visits: bool,
    pub(crate) lastvisited: bool,
    pub(crate) hubs: bool,
    pub(crate) auth: bool,
    pub(crate) neighbourhoods: bool,
}
