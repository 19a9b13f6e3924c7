//! Ids. All of them are stored, so each is computed with XXH3 or assigned by the store, never with an in-memory hasher
//! whose values may change.

use std::fmt;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// Identity of a canonical URL: XXH3 of its text. The `oid` of the papers' tables.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct UrlId(pub u64);

/// Identity of a site: XXH3 of host and port. The `sid` of the papers' tables.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SiteId(pub u64);

/// A node of the topic tree, with 16 bits as in V 2.1.3; the root is 0. The papers' `kcid`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicId(pub u16);

/// A term: the low 32 bits of XXH3 of its stem, as in V 2.1.3. The papers' `tid`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TermId(pub u32);

impl UrlId {
    /// The id of a canonical URL's text.
    pub fn of(canonical: &str) -> Self {
        UrlId(xxh3_64(canonical.as_bytes()))
    }
}

impl SiteId {
    /// The id of an authority (`host` or `host:port`) in canonical form.
    pub fn of(authority: &str) -> Self {
        SiteId(xxh3_64(authority.as_bytes()))
    }
}

impl TopicId {
    /// The root of the topic tree; every page belongs to it.
    pub const ROOT: TopicId = TopicId(0);
}

impl TermId {
    /// The id of a stemmed, lower-case term.
    #[allow(clippy::cast_possible_truncation)]
    pub fn of(stem: &[u8]) -> Self {
        TermId(xxh3_64(stem) as u32)
    }
}

macro_rules! shown_as_hex {
    ($($id:ty, $width:literal;)*) => {$(
        impl fmt::Debug for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($id), "({:0", $width, "x})"), self.0)
            }
        }

        impl fmt::Display for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!("{:0", $width, "x}"), self.0)
            }
        }
    )*};
}

shown_as_hex! {
    UrlId, "16";
    SiteId, "16";
    TermId, "8";
}

impl fmt::Debug for TopicId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TopicId({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_the_same_on_every_machine() {
        // Stored in databases, so these values must never change; from the reference implementation.
        assert_eq!(UrlId::of("http://example.com/").to_string(), "b97a010e03af1e2b");
        assert_eq!(SiteId::of("example.com").to_string(), "8b66107e8045bb73");
        assert_eq!(TermId::of(b"bicycl").to_string(), "3140a3f9");
    }
}
