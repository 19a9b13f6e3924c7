//! The whole workspace: dependencies between crates, and the program as a user runs it.

mod alarms;
mod arrows;
mod background;
mod backlinks;
mod bookmarks;
mod commands;
mod control;
mod crawl;
mod distill;
mod ending;
mod export;
mod guide;
mod lab;
mod languages;
mod names;
mod query;
mod recording;
mod requests;
mod search;
mod serve;
mod start;
mod toward;
mod upkeep;
mod webhook;
mod words;
mod workspace;
