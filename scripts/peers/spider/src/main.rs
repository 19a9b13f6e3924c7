//! Crawls one host with the `spider` crate without delays, and prints the number of fetched pages.
//!
//!     spider-run URL WORKERS

use std::sync::atomic::{AtomicU64, Ordering};

use spider::page::Page;
use spider::website::Website;

static PAGES: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), Some(workers)) = (arguments.next(), arguments.next()) else {
        panic!("give URL WORKERS");
    };
    let workers: usize = workers.parse().expect("WORKERS is a number");
    let mut website = Website::new(&url);
    website
        .with_respect_robots_txt(false)
        .with_subdomains(false)
        .with_delay(0)
        .with_depth(0)
        .with_concurrency_limit(Some(workers))
        .with_no_control_thread(true)
        // Called for every page before its links are followed: the cheapest way to count.
        .with_on_should_crawl_callback(Some(count));
    website.crawl_raw().await;
    let [pages, bytes] = [&PAGES, &BYTES].map(|counter| counter.load(Ordering::Relaxed));
    println!("{{\"pages\": {pages}, \"bytes\": {bytes}}}");
}

fn count(page: &Page) -> bool {
    if page.status_code.is_success() {
        PAGES.fetch_add(1, Ordering::Relaxed);
        BYTES.fetch_add(page.get_html_bytes_u8().len() as u64, Ordering::Relaxed);
    }
    true
}
