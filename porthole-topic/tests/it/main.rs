//! Tests of topics and the critic.

mod critic;
mod few;
mod import;
mod prune;
mod taxonomy;
mod training;
