//! What is believed of a URL, in numbers that survive the way to the tables and back.

use std::fmt::{self, Write};

/// What is believed of a URL before it is fetched, cleaned: finite, and relevance within 0..=1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Belief {
    pub(crate) relevance: f64,
    pub(crate) priority: f64,
}

impl Belief {
    pub(crate) fn new(relevance: f64, priority: f64) -> Self {
        let (lowest, highest) = (f64::from(f32::MIN), f64::from(f32::MAX));
        // Adding zero makes one zero of two: the table does not tell them apart.
        let priority = if priority.is_nan() { lowest } else { priority.clamp(lowest, highest) + 0.0 };
        Belief { relevance: probability(relevance), priority }
    }

    /// From the precision that is kept.
    pub(super) fn wide(relevance: f32, priority: f32) -> Self {
        Belief { relevance: widen(relevance), priority: widen(priority) }
    }

    /// At the precision that is kept.
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn narrow(self) -> (f32, f32) {
        (self.relevance as f32, self.priority as f32)
    }
}

/// A relevance as it is stored: what is not a number says nothing, and nothing is 0.
pub(crate) fn probability(value: f64) -> f64 {
    if value.is_nan() { 0.0 } else { value.clamp(0.0, 1.0) + 0.0 }
}

/// The number that reads the same: 0.9 for 0.9, not 0.8999999761581421. Narrowed, it is the old one again.
fn widen(narrow: f32) -> f64 {
    let mut text = Shortest { bytes: [0; 64], length: 0 };
    let wide = match write!(text, "{narrow}") {
        Ok(()) => text.as_str().parse().unwrap_or(f64::from(narrow)),
        Err(fmt::Error) => f64::from(narrow),
    };
    #[allow(clippy::cast_possible_truncation)]
    let same = wide as f32 == narrow;
    if same { wide } else { f64::from(narrow) }
}

/// A number as text, without an allocation: this is done for every URL that is raised.
struct Shortest {
    bytes: [u8; 64],
    length: usize,
}

impl Shortest {
    fn as_str(&self) -> &str {
        str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

impl Write for Shortest {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length + text.len();
        self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}
