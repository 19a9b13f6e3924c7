//! Where crawls are tried out: webs that are always the same, recorded or synthetic, and experiments on
//! them. A crawl reaches them through the same door as the open web, [`porthole_crawl::Fetch`].

pub mod classifier_bench;
pub mod clusters;
mod collections;
pub mod compare;
pub mod critics;
pub mod distiller_bench;
pub mod experiment;
pub mod figures;
pub mod general;
pub mod html;
pub mod measures;
mod recorded;
pub mod statistics;
pub mod strategies_bench;
pub mod svg;
pub mod synth;
mod web_stats;

pub use collections::{Collection, CollectionError, Document, Keep, WEBKB_CLASSES, WEBKB_UNIVERSITIES};
pub use recorded::{Problems, RecordedError, RecordedWeb};
pub use web_stats::WebStats;
