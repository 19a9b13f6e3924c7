//! Topics and the critic: the tree of topics with its examples, and a model trained on them that judges how
//! probable it is that a page is about each.
//!
//! Pure: bytes and plain data in, plain data out. No file, no clock, no random number without a seed.

pub mod import;
pub mod prune;
mod taxonomy;

pub use taxonomy::{DEEPEST, MOST_TOPICS, Taxonomy, TaxonomyError};
