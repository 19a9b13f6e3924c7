//! The house as a whole: the arrows between the rooms, and the program as a person uses it.

mod arrows;
mod background;
mod backlinks;
mod commands;
mod control;
mod crawl;
mod distill;
mod lab;
mod query;
mod recording;
mod start;
mod toward;
mod workspace;
