//! One binary for what several rooms have to agree on, and for what the synthetic web has planted.

mod distill;
mod sociology;
mod tables;
