//! What a link is described by.

use porthole_types::TermId;
use xxhash_rust::xxh3::xxh3_64;

use super::settings::Topics;

/// One feature of a link, before it becomes a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Feature {
    pub(super) kind: Kind,
    /// The term, or the hash of a topic's path.
    pub(super) what: u32,
    /// DOM offset from the link.
    pub(super) offset: i16,
    /// Of <t,l,d>: length of the way through the tree, or depth of the lowest common ancestor.
    pub(super) way: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// <t,d>, or t alone, or <t,l,d>.
    Term = 1,
    /// A term farther than d_max: d = infinity (A 2.2.3).
    Far = 2,
    /// A prefix of the name of the source page's topic (A 3.8).
    Topic = 3,
    /// A topic that the source page may be about, as often as it is probable (A 2.2.3).
    Class = 4,
    /// A link nearby led to a relevant page (A 3.8).
    High = 5,
    /// A link nearby led to a page that is not.
    Low = 6,
}

/// A feature as a number, and how often it occurs.
pub(super) type Weighed = (u32, u16);

impl Feature {
    pub(super) fn term(term: TermId, offset: i32, way: u16) -> Feature {
        Feature { kind: Kind::Term, what: term.0, offset: offset as i16, way }
    }

    pub(super) fn far(term: TermId) -> Feature {
        Feature { kind: Kind::Far, what: term.0, offset: 0, way: 0 }
    }

    pub(super) fn topic(name: u32) -> Feature {
        Feature { kind: Kind::Topic, what: name, offset: 0, way: 0 }
    }

    pub(super) fn class(name: u32) -> Feature {
        Feature { kind: Kind::Class, what: name, offset: 0, way: 0 }
    }

    pub(super) fn neighbour(is_high: bool, offset: i32) -> Feature {
        let kind = if is_high { Kind::High } else { Kind::Low };
        Feature { kind, what: 0, offset: offset as i16, way: 0 }
    }

    /// Its number: stored in lessons, so it must never change.
    pub(super) fn hash(self) -> u32 {
        let place = u64::from(self.offset.cast_unsigned()) << 16 | u64::from(self.way);
        let mut x = u64::from(self.what) << 32 | place;
        x ^= (self.kind as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x >> 32) as u32
    }

    pub(super) fn weighed(self, weight: u16) -> Weighed {
        (self.hash(), weight)
    }
}

/// What the best topic of a page is a feature by; its name comes behind all prefixes of it.
pub(super) fn of_topic(names: &[u32], topics: Topics) -> impl Iterator<Item = Weighed> {
    let from = match topics {
        Topics::No => names.len(),
        Topics::Name => names.len().saturating_sub(1),
        Topics::Prefixes => 0,
    };
    names[from..].iter().map(|name| Feature::topic(*name).weighed(1))
}

/// A topic that a page may be about. A probability is a count of tenths: the naive Bayes learner knows no other.
pub(super) fn of_class(name: u32, probability: f64) -> Option<Weighed> {
    let weight = (probability * 10.0).round() as u16;
    (weight > 0).then(|| Feature::class(name).weighed(weight))
}

/// The hash of a topic's path.
pub(super) fn name(path: &str) -> u32 {
    xxh3_64(path.as_bytes()) as u32
}
