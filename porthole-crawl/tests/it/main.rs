//! The HTTP fetcher against ordinary and hostile servers on loopback.

// On Linux all of 127.0.0.0/8 is loopback, so every host can have its own address.
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
