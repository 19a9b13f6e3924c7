//! The live fetcher against servers of every temper, all on loopback.

mod hostile;
mod http;
mod proxies;
mod server;
mod tls;
