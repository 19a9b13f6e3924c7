//! Random numbers that depend only on a key: every fact of the web is generated from (seed, purpose, index) on
//! request, so that nothing has to be stored and the order of requests does not matter. Only integers are used, so
//! the same seed gives the same bytes on every machine.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// The purpose of a random number. Each purpose has its own stream.
#[derive(Clone, Copy)]
#[repr(u64)]
pub(crate) enum For {
    Sites = 1,
    Host,
    Paths,
    Style,
    Health,
    Robots,
    Failure,
    Latency,
    Topic,
    Role,
    CopyOf,
    Birth,
    Change,
    Links,
    Sides,
    Text,
    Title,
    Layout,
    Traps,
    Examples,
    Sample,
    Stuffed,
}

/// A stream of numbers.
#[derive(Clone)]
pub struct Draw(SplitMix64);

/// A probability as a whole number of 2^-32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share(u64);

impl Draw {
    /// The stream for a purpose and an index.
    #[inline]
    pub(crate) fn new(seed: u64, purpose: For, index: u64) -> Self {
        Draw::of(mix(seed ^ mix((purpose as u64) << 48 ^ index)))
    }

    /// The stream for a key that was itself random.
    #[inline]
    pub fn of(key: u64) -> Self {
        Draw(SplitMix64::seed_from_u64(key))
    }

    /// The next 64 bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `n`, which is not 0.
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        scale(self.bits() >> 32, n)
    }

    /// A number below `n`, with small ones more likely: half of the draws are uniform, half a product of two. This
    /// gives a few pages that many others link to.
    #[inline]
    pub fn skewed(&mut self, n: u32) -> u32 {
        let bits = self.bits();
        let high = bits >> 32;
        let low = bits & 0xffff_ffff;
        if bits & 1 == 0 { scale(high, n) } else { scale((high * low) >> 32, n) }
    }

    /// True with the given probability.
    #[inline]
    pub fn chance(&mut self, share: Share) -> bool {
        (self.bits() >> 32) < share.0
    }

    /// One of a list that is not empty.
    #[inline]
    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(u32::try_from(list.len()).unwrap_or(u32::MAX)) as usize]
    }
}

impl Share {
    /// The share of a number in 0..=1. Scaling by a power of two is exact.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn of(share: f64) -> Self {
        Share((share.clamp(0.0, 1.0) * 4_294_967_296.0) as u64)
    }

    /// The share of two disjoint events together.
    pub fn or(self, other: Share) -> Self {
        Share((self.0 + other.0).min(1 << 32))
    }

    /// Whether a draw of 32 bits falls into this share.
    #[inline]
    pub fn holds(self, roll: u64) -> bool {
        roll < self.0
    }
}

/// Derives a key from a key: every bit of the input changes half of the output. It is the first number of the stream
/// whose next state is `x`, so the generator starts one step before it.
#[inline]
pub fn mix(x: u64) -> u64 {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    SplitMix64::seed_from_u64(x.wrapping_sub(STEP)).next_u64()
}

/// Maps 32 random bits to a number below `n`.
#[inline]
#[allow(clippy::cast_possible_truncation)]
fn scale(bits: u64, n: u32) -> u32 {
    ((bits * u64::from(n)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_splitmix64() {
        // First outputs of the reference implementation for the state 1234567.
        let mut draw = Draw::of(1_234_567);
        assert_eq!(draw.bits(), 6_457_827_717_110_365_317);
        assert_eq!(draw.bits(), 3_203_168_211_198_807_973);
        // The state after one step.
        assert_eq!(mix(1_234_567u64.wrapping_add(0x9e37_79b9_7f4a_7c15)), 6_457_827_717_110_365_317);
    }

    #[test]
    fn shares_are_kept() {
        let share = Share::of(0.3);
        let mut draw = Draw::new(1, For::Links, 7);
        let hits = (0..100_000).filter(|_| draw.chance(share)).count();
        assert!((29_500..30_500).contains(&hits), "{hits}");
        assert!(Draw::of(3).chance(Share::of(1.0)) && !Draw::of(3).chance(Share::of(0.0)));
        let low = (0..100_000).filter(|_| draw.skewed(100) < 50).count();
        assert!((65_000..70_000).contains(&low), "{low}");
    }
}
