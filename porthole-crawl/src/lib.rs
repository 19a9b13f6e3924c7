//! The crawl: work from the frontier, through [`Fetch`], page by page into the store.

mod fetch;

pub use fetch::{Fetch, FetchError, FetchFuture, Request, Response};
