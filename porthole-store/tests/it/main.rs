//! One binary for all tests of the store's public interface.

mod contract;
mod files;
mod fleet;
mod frontier;
mod kill;
mod operations;
mod postgres;
mod prober;
mod queries;
mod readers;
mod sandbox;
mod schema;
mod search;
mod server;
mod sweep;
mod topics;
mod twin;
mod upkeep;
mod watching;
mod web;
mod workspace_writer;
