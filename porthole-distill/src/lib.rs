#![doc = include_str!("../README.md")]

mod bipartite;
mod csr;
mod graph;
mod hits;
mod inflation;
mod neighbours;
mod options;
mod pagerank;
mod product;
mod relaxation;
mod top;
mod walk;
mod why;

pub use graph::{DistillGraph, DistillNode};
pub use hits::{HitsDistiller, HitsScores};
pub use neighbours::{JudgedNeighbours, Neighbourhoods};
pub use options::{DistillOptions, Rho};
pub use pagerank::{PageRank, PageRankOptions, page_rank};
pub use relaxation::{ClassGraph, ClassLinks, RelaxationOptions};
pub use top::{Missed, missed, top};
pub use walk::{LinkWeights, link_weights, walk};
pub use why::ScoreContribution;

/// Errors of the distiller.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A link from or to an unknown page.
    #[error("link {link} names page {page}, but there are only {pages}: pass all pages of the links")]
    UnknownPage {
        /// Number of the link.
        link: usize,
        /// Number of the unknown page.
        page: u32,
        /// Number of pages.
        pages: usize,
    },
    /// More than this layout supports.
    #[error("{what}: {found}, and at most {limit} can be distilled in memory: distil by SQL instead")]
    TooMany {
        /// What there are too many of: pages or links.
        what: &'static str,
        /// Actual number.
        found: usize,
        /// Maximum number.
        limit: usize,
    },
    /// A vector whose length differs from the number of pages.
    #[error("{what} has {found} values for {pages} pages: pass one value a page")]
    WrongLength {
        /// Name of the vector.
        what: &'static str,
        /// Its length.
        found: usize,
        /// Number of pages.
        pages: usize,
    },
}

/// Checks that a vector has one value per page.
fn check_length(what: &'static str, values: &[f64], pages: usize) -> Result<(), Error> {
    let found = values.len();
    if found == pages { Ok(()) } else { Err(Error::WrongLength { what, found, pages }) }
}
