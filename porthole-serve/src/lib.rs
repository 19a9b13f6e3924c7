//! The dashboard's server: a JSON API over the workspaces of a folder, live events, and the pages of the front end.
//!
//! The tables are the truth, for crawls of this process and of others alike: the server reads them through
//! [`StoreReader`](porthole_store::StoreReader), follows a crawl by cursors on its tables, and commands it by rows of the
//! table `command`. What changes a workspace is done by the program's own commands, as child processes, so that there is
//! one implementation of it. Crawled content leaves the server as JSON only, never as HTML.

mod api;
mod assets;
mod error;
mod feed;
mod guard;
mod jobs;
mod metrics;
mod program;
mod server;
mod trace;
mod workspaces;

pub use api::openapi;
pub use error::{Error, Result};
pub use server::{DashboardOptions, DashboardServer};
