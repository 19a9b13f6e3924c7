//! Tests of topics and the critic.

mod confirmation;
mod critic;
mod few;
mod import;
mod prune;
mod taxonomy;
mod training;
