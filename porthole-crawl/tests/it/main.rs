//! The live fetcher against servers of every temper, all on loopback.

// Only there all of 127.0.0.0/8 is this machine, and every host can have an address of its own.
#[cfg(target_os = "linux")]
mod besieged;
mod hostile;
mod http;
#[cfg(target_os = "linux")]
mod polite;
mod proxies;
mod server;
#[cfg(target_os = "linux")]
mod simulated;
mod tls;
#[cfg(target_os = "linux")]
mod web;
