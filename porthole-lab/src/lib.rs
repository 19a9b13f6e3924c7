//! Where crawls are tried out: webs that are always the same, recorded or synthetic, and experiments on
//! them. A crawl reaches them through the same door as the open web, [`porthole_crawl::Fetch`].

mod recorded;
pub mod synth;

pub use recorded::{Problems, RecordedError, RecordedWeb};
