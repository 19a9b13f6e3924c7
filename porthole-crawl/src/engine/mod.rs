//! The engine: a crawl in two halves that exchange messages of plain data.
//!
//! ```text
//!             offers ──►  network half: turns of sites, robots.txt, pauses  ──► Fetch
//!  writer half                                                               │
//!     ▲  └ frontier, strategy, archive, Store ◄─ readers ◄── answers ────────┘
//!     └ commands                                └► observers, after the commit
//! ```
//! Both halves are state machines that never wait. [`single`] drives them in one task, for replays, experiments and
//! tests. [`live`] drives them on separate threads, so that a slow commit never looks like a slow host. [`simulated`]
//! drives them in simulated time, for experiments. [`visits`] drives the network half alone, for commands that need a
//! few pages.

mod admission;
mod batch;
mod commands;
mod crash_guard;
mod crawl;
mod deferred;
mod durability;
mod live;
mod manners;
mod memory;
mod messages;
mod network;
mod outage;
mod rejudge;
mod simulated;
mod single;
mod site;
mod standing;
mod visits;
mod vitals;
mod worth;
mod writer;

pub use commands::{Command, Refocus, Refocused};
pub use crawl::{Crawl, CrawlError, Limits, Observer, Seen, Stop};
pub(crate) use crawl::{last_archived, segments_of};
pub use live::{CrawlEvent, Handle, NotStarted};
pub use memory::strategy_memory;
pub use visits::{FetchedPage, PageFetcher, refresh_of};
pub use worth::Idle;
pub use writer::StoreRef;
pub(crate) use writer::Writer;

#[cfg(test)]
mod best_n_tests;
#[cfg(test)]
mod budget_tests;
#[cfg(test)]
mod kill_tests;
#[cfg(test)]
mod network_tests;
#[cfg(test)]
mod outage_tests;
#[cfg(test)]
mod page_rules_tests;
#[cfg(test)]
mod power_tests;
#[cfg(test)]
mod resume_tests;
#[cfg(test)]
mod simulated_tests;
#[cfg(test)]
mod switch_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod upkeep_tests;
