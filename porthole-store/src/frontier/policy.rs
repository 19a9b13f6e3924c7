//! A policy is an order on the frontier.

/// In which order work is taken.
///
/// Levels are exhausted one after the other; within a level the larger priority comes first, and ties go to
/// the URL that was known first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Policy {
    /// Aggressive discovery (V 3.2): `numtries` ascending, then priority descending. From the 255th try
    /// on, tries count the same.
    #[default]
    Discovery,
}

impl Policy {
    /// The level of a queued URL; the lowest comes first.
    pub(super) fn level(self, numtries: u8) -> usize {
        match self {
            Policy::Discovery => usize::from(numtries),
        }
    }
}
