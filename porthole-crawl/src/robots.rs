//! robots.txt (RFC 9309): fetching, parsing, matching and caching.
//!
//! [`RobotsCache`] returns the policy for a URL, or a [`RobotsFetch`], which says what to fetch next until there is a
//! [`RobotsPolicy`]. Nothing here does I/O, waits or reads a clock.

mod cache;
mod lines;
mod policy;
mod rules;
#[cfg(test)]
mod tests;

pub use cache::{RobotsCache, RobotsLook};
pub use policy::{RobotsFetch, RobotsPolicy, RobotsStep, RobotsVerdict};
pub use rules::RobotsRules;
