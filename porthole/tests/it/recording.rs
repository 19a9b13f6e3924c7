//! Records a synthetic web, for commands that replay one.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use porthole_crawl::{Archive, Request};
use porthole_types::{CanonicalUrl, Timestamp};
use porthole_webs::synth::{LinkEnd, SyntheticWeb};

/// Writes all pages and the redirects that they link to into a WARC file. Returns the topics of the pages, by URL.
pub(crate) fn record(web: &SyntheticWeb, folder: &Path) -> HashMap<String, String> {
    let now = Timestamp(web.params().epoch_ms);
    let mut archive = Archive::open(folder).unwrap();
    let mut done = BTreeSet::new();
    let mut write = |mut url: CanonicalUrl| {
        while done.insert(url.id()) {
            let response = web.answer(&Request::get(url.clone())).unwrap();
            archive.write(&url, now, &response).unwrap();
            let Some(location) = response.headers.get("location") else { break };
            url = url.join(location).unwrap();
        }
    };
    let mut topics = HashMap::new();
    for (url, truth) in web.pages() {
        write(url.clone());
        for link in web.outlinks(&url).unwrap() {
            if matches!(link.kind, LinkEnd::Redirect | LinkEnd::Loop) {
                write(link.url);
            }
        }
        topics.insert(url.to_string(), truth.path);
    }
    topics
}
