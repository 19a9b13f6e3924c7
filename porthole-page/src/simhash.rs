//! A 64-bit fingerprint that changes little when a text changes little (Charikar's simhash over runs of
//! three terms), for recognising near-duplicates (req. 117).

use porthole_types::TermId;

/// The fingerprint of terms in order; 0 if there are none. Two texts that share most runs of three terms
/// have fingerprints that differ in few bits.
pub fn simhash(terms: &[TermId]) -> u64 {
    let mut counter = BitCounter { lanes: [0; 8], in_lanes: 0, counts: [0; 64], total: 0 };
    match terms {
        [] => return 0,
        [a] => counter.add(mix(*a, TermId(0), TermId(0))),
        [a, b] => counter.add(mix(*a, *b, TermId(0))),
        _ => terms.windows(3).for_each(|run| counter.add(mix(run[0], run[1], run[2]))),
    }
    counter.majority()
}

#[inline]
fn mix(a: TermId, b: TermId, c: TermId) -> u64 {
    let x = (u64::from(a.0) << 32 | u64::from(b.0)) ^ u64::from(c.0).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let x = (x ^ (x >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^ (x >> 32)
}

/// Counts how often each of 64 bits is set, eight bits at a time: each `u64` of `lanes` holds eight
/// one-byte counters, emptied before any can overflow.
struct BitCounter {
    lanes: [u64; 8],
    in_lanes: u32,
    counts: [u32; 64],
    total: u32,
}

impl BitCounter {
    #[inline]
    fn add(&mut self, hash: u64) {
        for (lane, byte) in self.lanes.iter_mut().zip(hash.to_le_bytes()) {
            *lane += SPREAD[byte as usize];
        }
        self.in_lanes += 1;
        if self.in_lanes == 255 {
            self.empty_lanes();
        }
    }

    fn empty_lanes(&mut self) {
        for (index, lane) in self.lanes.iter().enumerate() {
            for (bit, count) in lane.to_le_bytes().iter().enumerate() {
                self.counts[8 * index + bit] += u32::from(*count);
            }
        }
        self.total += self.in_lanes;
        (self.lanes, self.in_lanes) = ([0; 8], 0);
    }

    fn majority(mut self) -> u64 {
        self.empty_lanes();
        let total = self.total;
        let bits = self.counts.iter().enumerate().filter(|(_, count)| **count * 2 > total);
        bits.fold(0, |hash, (bit, _)| hash | 1 << bit)
    }
}

/// Bit i of the index as byte i of the entry.
static SPREAD: [u64; 256] = {
    let mut spread = [0u64; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 {
            spread[byte] |= ((byte as u64 >> bit) & 1) << (8 * bit);
            bit += 1;
        }
        byte += 1;
    }
    spread
};

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(terms: &[TermId]) -> u64 {
        let mut counts = [0i64; 64];
        for run in terms.windows(3) {
            let hash = mix(run[0], run[1], run[2]);
            for (bit, count) in counts.iter_mut().enumerate() {
                *count += if hash >> bit & 1 == 1 { 1 } else { -1 };
            }
        }
        counts.iter().enumerate().filter(|(_, c)| **c > 0).fold(0, |hash, (bit, _)| hash | 1 << bit)
    }

    fn text(seed: u32, length: u32) -> Vec<TermId> {
        (0..length).map(|i| TermId(seed.wrapping_add(i).wrapping_mul(0x9e37_79b9) >> 7)).collect()
    }

    #[test]
    fn equals_the_plain_definition() {
        for length in [3, 10, 254, 257, 2000] {
            let terms = text(length, length);
            assert_eq!(simhash(&terms), plain(&terms), "{length} terms");
        }
    }

    #[test]
    fn near_texts_are_near_and_others_are_far() {
        let original = text(1, 600);
        let mut edited = original.clone();
        for place in [50, 300, 550] {
            edited[place] = TermId(7);
        }
        let distance = |a: &[TermId], b: &[TermId]| (simhash(a) ^ simhash(b)).count_ones();
        assert!(distance(&original, &edited) <= 6, "{}", distance(&original, &edited));
        assert!(distance(&original, &text(90_000, 600)) > 16);
        assert_eq!(simhash(&[]), 0);
    }
}
