//! robots.txt by RFC 9309: what a site asks of crawlers, how it is asked for, how long it holds.
//!
//! [`RobotsCache`] answers for a URL at once or hands out a [`RobotsFetch`], which says what to fetch next
//! until there is a [`RobotsPolicy`]. Nothing here fetches, waits or reads a clock.

mod cache;
mod lines;
mod policy;
mod rules;
#[cfg(test)]
mod tests;

pub use cache::{RobotsCache, RobotsLook};
pub use policy::{RobotsFetch, RobotsPolicy, RobotsStep, RobotsVerdict};
pub use rules::RobotsRules;
