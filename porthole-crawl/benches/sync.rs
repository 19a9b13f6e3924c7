//! The cost of surviving power cuts: pages per second that are fetched from memory, archived and committed without a
//! judge, with different intervals between syncs.
//!
//! `cargo bench -p porthole-crawl --bench sync [-- FOLDER]`: the folder's disk is the one that is measured.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use porthole_crawl::{Crawl, Fetch, FetchFuture, Keep, Limits, Request, Response, Seen, SystemClock};
use porthole_store::SqliteStore;
use porthole_types::{CanonicalUrl, Headers};

/// Pages of 13 KB with 50 links each, most of them to known pages.
struct Web;

fn drawn(seed: u64) -> u64 {
    let mixed = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 8
}

impl Fetch for Web {
    fn fetch<'a>(&'a self, request: &'a Request) -> FetchFuture<'a> {
        let page: u64 = request.url.path()[1..].parse().unwrap_or(0);
        let mut body = format!("<title>{page}</title>");
        for link in 0..50 {
            let target = if link < 5 { page * 5 + link } else { drawn(page * 64 + link) % (page * 5 + 5) };
            body.push_str(&format!("<p><a href=http://h{}.test/{target}>link {target}</a> ", target % 97));
            for word in 0..40 {
                body.push_str(&format!("{:x} ", drawn(page * 4_096 + link * 64 + word) % 100_000));
            }
        }
        let headers: Headers = [("content-type", "text/html")].into_iter().collect();
        let response = Response::new(200, headers, body);
        Box::pin(std::future::ready(Ok(response)))
    }
}

fn crawl(parent: &Path, pause: Duration, workers: usize, fetches: u64) -> f64 {
    let folder = tempfile::tempdir_in(parent).unwrap();
    let mut store = SqliteStore::open(folder.path().join("crawl.db")).unwrap();
    let crawl = Crawl::new(&Web, &mut store, SystemClock).unwrap().syncing_after(pause);
    let mut crawl = crawl.archived(&folder.path().join("pages"), Keep::All).unwrap();
    crawl.start(&[CanonicalUrl::parse("http://h0.test/0").unwrap()]).unwrap();
    let started = Instant::now();
    let limits = Limits { fetches, workers, ..Limits::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(crawl.run(limits, &mut |_: Seen<'_>| ControlFlow::Continue(()))).unwrap();
    fetches as f64 / started.elapsed().as_secs_f64()
}

fn main() {
    let folder = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let folder = folder.map_or_else(std::env::temp_dir, PathBuf::from);
    let pauses =
        [("never", Duration::MAX), ("after 1 s", Duration::from_secs(1)), ("at once", Duration::ZERO)];
    println!("{:>8} {:>10} {:>9}", "workers", "synced", "pages/s");
    for (workers, fetches) in [(1, 10_000), (64, 20_000)] {
        // Round by round, so that other load on the machine affects all of them.
        for _ in 0..3 {
            for (name, pause) in pauses {
                println!("{workers:>8} {name:>10} {:>9.0}", crawl(&folder, pause, workers, fetches));
            }
        }
    }
}
