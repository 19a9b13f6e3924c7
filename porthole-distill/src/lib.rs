//! Hubs and authorities: the link graph in memory, HITS weighted by relevance (W 3.2, V 2.2), and PageRank.
//!
//! Pages are numbers from 0, links are pairs of them. Pure: no I/O, no clock, and the same scores to the last bit
//! on any number of cores.

mod bipartite;
mod csr;
mod graph;
mod hits;
mod inflation;
mod neighbours;
mod options;
mod pagerank;
mod product;
mod top;
mod walk;
mod why;

pub use graph::{Graph, Node};
pub use hits::{Distiller, Scores};
pub use neighbours::{Neighbourhoods, Neighbours};
pub use options::{Options, Rho};
pub use pagerank::{PageRank, PageRankOptions, page_rank};
pub use top::{Missed, missed, top};
pub use walk::{Weights, link_weights, walk};
pub use why::Reason;

/// What cannot be distilled.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Error {
    /// A link from or to a page that is not there.
    #[error("link {link} names page {page}, but there are only {pages}: hand in all pages of the links")]
    UnknownPage {
        /// Number of the link.
        link: usize,
        /// The page it names.
        page: u32,
        /// How many pages there are.
        pages: usize,
    },
    /// More than fits into memory in this layout.
    #[error("{what}: {found}, and at most {limit} can be distilled in memory: distil by SQL instead")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there may be.
        limit: usize,
    },
    /// A vector that does not have a value for every page.
    #[error("{what} has {found} values for {pages} pages: hand in one a page")]
    WrongLength {
        /// Which vector.
        what: &'static str,
        /// How many values it has.
        found: usize,
        /// How many pages there are.
        pages: usize,
    },
}

/// One value a page, or an error that says which vector is wrong.
fn check_length(what: &'static str, values: &[f64], pages: usize) -> Result<(), Error> {
    let found = values.len();
    if found == pages { Ok(()) } else { Err(Error::WrongLength { what, found, pages }) }
}
