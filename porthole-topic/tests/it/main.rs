//! Tests of topics and the critic.

mod import;
mod prune;
mod taxonomy;
