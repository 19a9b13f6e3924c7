//! Shards: the parts of a crawl that workers share among themselves. All URLs of a site are in one shard.

use porthole_types::SiteId;

/// Number of shards.
pub(crate) const SHARDS: usize = 256;

/// The shard of a site: the first byte of its id, which is a hash. In SQL, `(sid >> 56) & 255`.
pub(crate) fn shard_of(site: SiteId) -> u8 {
    site.0.to_be_bytes()[0]
}

/// A set of shards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ShardSet([u64; SHARDS / 64]);

impl ShardSet {
    pub(crate) fn insert(&mut self, shard: u8) {
        self.0[usize::from(shard) / 64] |= 1 << (shard % 64);
    }

    pub(crate) fn has(&self, shard: u8) -> bool {
        self.0[usize::from(shard) / 64] >> (shard % 64) & 1 == 1
    }

    /// Whether the shard of a site is in it.
    pub(crate) fn has_site(&self, site: SiteId) -> bool {
        self.has(shard_of(site))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0 == [0; SHARDS / 64]
    }

    pub(crate) fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The shards, ascending.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = u8> {
        (0..=u8::MAX).filter(|&shard| self.has(shard))
    }
}

impl FromIterator<u8> for ShardSet {
    fn from_iter<I: IntoIterator<Item = u8>>(shards: I) -> Self {
        let mut set = ShardSet::default();
        shards.into_iter().for_each(|shard| set.insert(shard));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_inserted() {
        let set: ShardSet = [0, 63, 64, 255, 63].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 63, 64, 255]);
        assert_eq!((set.len(), set.is_empty(), set.has(1)), (4, false, false));
        assert!(set.has_site(SiteId(0xff00_0000_0000_0001)) && !set.has_site(SiteId(0xfe00_0000_0000_0001)));
        assert!(ShardSet::default().is_empty());
    }
}
