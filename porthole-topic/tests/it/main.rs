//! Tests of topics and the critic.

mod taxonomy;
