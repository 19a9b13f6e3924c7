//! The distiller on graphs with known scores, and compared with a slow reference implementation.

mod degenerate;
mod known;
mod mirrors;
mod neighbours;
mod pagerank;
mod relaxation;
mod top;
mod twin;
mod web;
