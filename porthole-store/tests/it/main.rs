//! One binary for all tests that see the store from outside.

mod contract;
mod files;
mod frontier;
mod kill;
mod prober;
mod queries;
mod readers;
mod sandbox;
mod schema;
mod sweep;
mod topics;
mod twin;
mod web;
mod workspace_writer;
