//! A 64-bit fingerprint that changes little when a text changes little (Charikar's simhash over runs of three terms),
//! to detect near-duplicates.

use porthole_types::TermId;

/// The fingerprint of terms in order; 0 if there are none. Two texts that share most runs of three terms
/// have fingerprints that differ in few bits.
pub fn simhash(terms: &[TermId]) -> u64 {
    let mut counter = BitCounter::default();
    match terms {
        [] => return 0,
        [a] => counter.add_one(mix(*a, TermId(0), TermId(0))),
        [a, b] => counter.add_one(mix(*a, *b, TermId(0))),
        _ => {
            let mut rest = terms;
            while let Some(many) = rest.first_chunk::<34>() {
                counter.add_32(many);
                rest = &rest[32..];
            }
            rest.windows(3).for_each(|run| counter.add_one(mix(run[0], run[1], run[2])));
        }
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

/// Counts how often each of 64 bits is set, all 64 at once: bit i of `planes[k]` is bit k of the i-th count.
#[derive(Default)]
struct BitCounter {
    planes: [u64; 24],
    total: u32,
}

impl BitCounter {
    fn add_one(&mut self, hash: u64) {
        self.total += 1;
        self.carry(hash, 0);
    }

    /// Adds 32 runs at a time through a tree of carry-save adders: each takes three bits of one weight and gives one
    /// bit of it and one of twice the weight, so that only one carry in 32 has to ripple.
    #[inline]
    fn add_32(&mut self, terms: &[TermId; 34]) {
        self.total += 32;
        let mut eights = [0; 4];
        for (k, eights) in eights.iter_mut().enumerate() {
            let ten: &[TermId; 10] = terms[8 * k..].first_chunk().expect("ten of 34 terms");
            *eights = self.add_eight(std::array::from_fn(|i| mix(ten[i], ten[i + 1], ten[i + 2])));
        }
        let carry = self.add_four(eights);
        self.carry(carry, 5);
    }

    /// Returns the remaining carry, of weight eight.
    #[inline(always)]
    fn add_eight(&mut self, h: [u64; 8]) -> u64 {
        let [ones, twos, fours, ..] = self.planes;
        let (ones, twos_a) = adder(ones, h[0], h[1]);
        let (ones, twos_b) = adder(ones, h[2], h[3]);
        let (ones, twos_c) = adder(ones, h[4], h[5]);
        let (ones, twos_d) = adder(ones, h[6], h[7]);
        let (twos, fours_a) = adder(twos, twos_a, twos_b);
        let (twos, fours_b) = adder(twos, twos_c, twos_d);
        let (fours, eights) = adder(fours, fours_a, fours_b);
        (self.planes[0], self.planes[1], self.planes[2]) = (ones, twos, fours);
        eights
    }

    /// The same for weight eight; returns the bits of weight 32.
    #[inline(always)]
    fn add_four(&mut self, eights: [u64; 4]) -> u64 {
        let (sum, sixteens_a) = adder(self.planes[3], eights[0], eights[1]);
        let (sum, sixteens_b) = adder(sum, eights[2], eights[3]);
        let (sixteens, rest) = adder(self.planes[4], sixteens_a, sixteens_b);
        (self.planes[3], self.planes[4]) = (sum, sixteens);
        rest
    }

    #[inline]
    fn carry(&mut self, mut carry: u64, plane: usize) {
        for plane in &mut self.planes[plane..] {
            (*plane, carry) = (*plane ^ carry, *plane & carry);
            if carry == 0 {
                return;
            }
        }
    }

    fn majority(&self) -> u64 {
        let count = |bit: u32| (0..24).fold(0u64, |sum, k| sum | (self.planes[k] >> bit & 1) << k);
        (0..64).filter(|&bit| count(bit) * 2 > u64::from(self.total)).fold(0, |hash, bit| hash | 1 << bit)
    }
}

/// Full adder for 64 bits at once: sum and carry.
#[inline]
fn adder(a: u64, b: u64, c: u64) -> (u64, u64) {
    (a ^ b ^ c, a & b | (a ^ b) & c)
}

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
