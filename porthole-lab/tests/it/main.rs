//! One test binary for behaviour that several crates must agree on, and for the properties of the synthetic web.

mod distill;
mod large;
mod polite;
mod sociology;
mod tables;
