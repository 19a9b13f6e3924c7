//! The dashboard's server as browsers and programs meet it.

mod description;
mod live;
mod security;
mod server;
