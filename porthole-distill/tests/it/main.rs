//! The distiller against graphs whose scores are known, and against a slow twin of itself.

mod degenerate;
mod known;
mod mirrors;
mod neighbours;
mod pagerank;
mod top;
mod twin;
mod web;
