//! A policy, taken apart into what the queue needs of it.

use crate::policy::{Direction, Key, Policy};

/// How rows are compared. The keys of a policy fall into parts: the first one picks the heap if it is
/// `numtries`, those up to `serverload` order the heap, the rest is looked at when work is taken.
#[derive(Clone, Debug)]
pub(super) struct Order {
    pub(super) policy: Policy,
    pub(super) level: Option<Direction>,
    pub(super) heap: Vec<(Key, Direction)>,
    /// Whether the heap goes by priority, descending, and nothing else: the usual case, which is quick.
    pub(super) plain: bool,
    pub(super) load: Option<Direction>,
    /// Keys behind `serverload`.
    pub(super) rest: Vec<(Key, Direction)>,
}

impl Order {
    pub(super) fn new(policy: &Policy) -> Self {
        let mut keys = policy.keys();
        let mut level = None;
        if let Some(&(Key::Numtries, direction)) = keys.first() {
            level = Some(direction);
            keys = &keys[1..];
        }
        let at = keys.iter().position(|(key, _)| *key == Key::Serverload);
        let heap = keys[..at.unwrap_or(keys.len())].to_vec();
        let plain = heap == [(Key::Priority, Direction::Desc)];
        let load = at.map(|at| keys[at].1);
        let rest = at.map_or_else(Vec::new, |at| keys[at + 1..].to_vec());
        Order { policy: policy.clone(), level, heap, plain, load, rest }
    }

    /// Which columns must be there for it.
    pub(super) fn needs(&self) -> Needs {
        let uses = |key| self.policy.keys().iter().any(|(other, _)| *other == key);
        Needs {
            visits: uses(Key::Visits),
            lastvisited: uses(Key::Lastvisited),
            hubs: uses(Key::Hub),
            auth: uses(Key::Authority),
        }
    }
}

impl Default for Order {
    fn default() -> Self {
        Order::new(&Policy::default())
    }
}

/// Columns that cost memory only when something uses them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    pub(crate) visits: bool,
    pub(crate) lastvisited: bool,
    pub(crate) hubs: bool,
    pub(crate) auth: bool,
}
