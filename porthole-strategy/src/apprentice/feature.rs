//! Features of links.

use porthole_types::TermId;
use xxhash_rust::xxh3::xxh3_64;

use super::settings::TopicEncoding;

/// One feature of a link, before it is hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LinkFeature {
    pub(super) kind: FeatureKind,
    /// The term, or the hash of a topic's path.
    pub(super) what: u32,
    /// DOM offset from the link.
    pub(super) offset: i16,
    /// Of <t,l,d>: length of the tree path, or depth of the lowest common ancestor.
    pub(super) way: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FeatureKind {
    /// <t,d>, or t alone, or <t,l,d>.
    Term = 1,
    /// A term farther than d_max: d = infinity (A 2.2.3).
    Far = 2,
    /// A prefix of the name of the source page's topic (A 3.8).
    Topic = 3,
    /// A topic that the source page may be about, weighted by its probability (A 2.2.3).
    Class = 4,
    /// A link nearby led to a relevant page (A 3.8).
    High = 5,
    /// A link nearby led to an irrelevant page (A 3.8).
    Low = 6,
}

/// Hash of a feature, and its number of occurrences.
pub(super) type WeightedFeature = (u32, u16);

impl LinkFeature {
    pub(super) fn term(term: TermId, offset: i32, way: u16) -> LinkFeature {
        LinkFeature { kind: FeatureKind::Term, what: term.0, offset: offset as i16, way }
    }

    pub(super) fn far(term: TermId) -> LinkFeature {
        LinkFeature { kind: FeatureKind::Far, what: term.0, offset: 0, way: 0 }
    }

    pub(super) fn topic(name: u32) -> LinkFeature {
        LinkFeature { kind: FeatureKind::Topic, what: name, offset: 0, way: 0 }
    }

    pub(super) fn class(name: u32) -> LinkFeature {
        LinkFeature { kind: FeatureKind::Class, what: name, offset: 0, way: 0 }
    }

    pub(super) fn neighbour(is_high: bool, offset: i32) -> LinkFeature {
        let kind = if is_high { FeatureKind::High } else { FeatureKind::Low };
        LinkFeature { kind, what: 0, offset: offset as i16, way: 0 }
    }

    /// Hash of the feature. It is stored in lessons, so it must never change.
    pub(super) fn hash(self) -> u32 {
        let place = u64::from(self.offset.cast_unsigned()) << 16 | u64::from(self.way);
        let mut x = u64::from(self.what) << 32 | place;
        x ^= (self.kind as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x >> 32) as u32
    }

    pub(super) fn with_weight(self, weight: u16) -> WeightedFeature {
        (self.hash(), weight)
    }
}

/// Features of a page's best topic. `names` ends with the topic's own name, after all its prefixes.
pub(super) fn of_topic(names: &[u32], topics: TopicEncoding) -> impl Iterator<Item = WeightedFeature> {
    let from = match topics {
        TopicEncoding::No => names.len(),
        TopicEncoding::Name => names.len().saturating_sub(1),
        TopicEncoding::Prefixes => 0,
    };
    names[from..].iter().map(|name| LinkFeature::topic(*name).with_weight(1))
}

/// Feature of a topic that a page may be about. The weight is the probability in tenths: naive Bayes needs counts.
pub(super) fn of_class(name: u32, probability: f64) -> Option<WeightedFeature> {
    let weight = (probability * 10.0).round() as u16;
    (weight > 0).then(|| LinkFeature::class(name).with_weight(weight))
}

/// Hash of a topic's path.
pub(super) fn name(path: &str) -> u32 {
    xxh3_64(path.as_bytes()) as u32
}
