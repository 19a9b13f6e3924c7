//! Experiments on recorded and synthetic webs: strategies compared by true labels, the papers' figures, and benchmarks
//! of the parts. Nothing but the `lab` commands and tests depends on this crate.

pub mod classifier_bench;
mod collections;
pub mod compare;
pub mod critics;
pub mod distiller_bench;
pub mod experiment;
pub mod figures;
pub mod general;
pub mod measures;
pub mod statistics;
pub mod strategies_bench;
pub mod upkeep;

pub use collections::{
    Collection, CollectionError, KeepText, LabelledDocument, WEBKB_CLASSES, WEBKB_UNIVERSITIES,
};
