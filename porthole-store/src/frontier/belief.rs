//! The estimate of a URL, in numbers that survive the round trip through the tables.

/// The estimate of a URL before it is fetched, normalised: finite, and relevance within 0..=1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Belief {
    pub(crate) relevance: f64,
    pub(crate) priority: f64,
}

impl Belief {
    pub(crate) fn new(relevance: f64, priority: f64) -> Self {
        let (lowest, highest) = (f64::from(f32::MIN), f64::from(f32::MAX));
        // Adding zero turns -0.0 into 0.0: the table does not distinguish them.
        let priority = if priority.is_nan() { lowest } else { priority.clamp(lowest, highest) + 0.0 };
        Belief { relevance: probability(relevance), priority }
    }

    /// From the stored precision.
    pub(super) fn wide(relevance: f32, priority: f32) -> Self {
        Belief { relevance: widen(relevance), priority: widen(priority) }
    }

    /// At the stored precision.
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn narrow(self) -> (f32, f32) {
        (self.relevance as f32, self.priority as f32)
    }
}

/// A relevance as stored: NaN becomes 0, other values are clamped to 0..=1.
pub(crate) fn probability(value: f64) -> f64 {
    if value.is_nan() { 0.0 } else { value.clamp(0.0, 1.0) + 0.0 }
}

/// The `f64` with the same decimal digits: 0.9 for 0.9, not 0.8999999761581421. Narrowing it gives the old value.
fn widen(narrow: f32) -> f64 {
    let exact = f64::from(narrow);
    if narrow.abs() <= 1.0 {
        // This runs for every raised URL. With so few decimals, all numbers that narrow to this value round to it.
        for unit in [1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15] {
            let wide = (exact * unit).round() / unit;
            if is_narrow(wide, narrow) {
                return wide;
            }
        }
    }
    by_parsing(narrow)
}

/// The same for all numbers, by formatting and parsing.
fn by_parsing(narrow: f32) -> f64 {
    let exact = f64::from(narrow);
    narrow.to_string().parse().ok().filter(|wide| is_narrow(*wide, narrow)).unwrap_or(exact)
}

#[allow(clippy::cast_possible_truncation)]
fn is_narrow(wide: f64, narrow: f32) -> bool {
    wide as f32 == narrow
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fast_path_equals_formatting_and_parsing() {
        let mut bits = 0x9e37_79b9_u32;
        let drawn = (0..200_000).map(|_| {
            bits = bits.wrapping_mul(0x915f_77f5).wrapping_add(0x1357_9bdf);
            bits
        });
        // Numbers of all magnitudes, and common ones.
        let all = drawn.flat_map(|bits| [f32::from_bits(bits), bits as f32 / u32::MAX as f32]);
        let round = (0..=1_000).flat_map(|n| [n as f32 / 1_000.0, -(n as f32) / 64.0, 1.0 - n as f32 / 7.0]);
        for number in all.chain(round).filter(|number| number.is_finite()) {
            assert_eq!(widen(number), by_parsing(number), "{number}");
        }
        assert_eq!((widen(0.9), widen(0.123_456_79), widen(1e-9)), (0.9, 0.123_456_79, 1e-9));
    }
}
