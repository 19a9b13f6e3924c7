//! Reproducible webs: recorded and synthetic ones. A crawl fetches from them through the same trait as from the open
//! web, [`porthole_crawl::Fetch`].

mod recorded;
pub mod synth;
mod web_stats;

pub use recorded::{Problems, RecordedError, RecordedWeb};
pub use web_stats::RecordedWebStats;
