//! The dashboard's server as browsers and programs meet it.

mod demo;
mod description;
mod exploring;
mod first_minute;
mod live;
mod security;
mod server;
