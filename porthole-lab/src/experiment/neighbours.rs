//! Start pages a few links away from the examples (P 2.1).

use std::collections::{BTreeMap, BTreeSet};

use porthole_types::{CanonicalUrl, UrlId};

use super::labelled::{LabelledWeb, share};

/// Number of pages in the random sample.
pub(super) const DRAWN: usize = 10;

/// Maximum number of pages considered that link to a page; P used the first twenty of a search engine.
const INLINKS: usize = 20;

/// The pages that link to each page.
pub(super) struct InLinks {
    linking: BTreeMap<UrlId, Vec<CanonicalUrl>>,
}

impl InLinks {
    pub(super) fn of(web: &LabelledWeb) -> Self {
        let mut linking: BTreeMap<UrlId, Vec<CanonicalUrl>> = BTreeMap::new();
        for url in web.web.pages() {
            let targets = web.links.get(&url.id()).into_iter().flatten().map(|target| web.end(*target));
            for target in targets.filter(|target| *target != url.id()).collect::<BTreeSet<_>>() {
                linking.entry(target).or_default().push(url.clone());
            }
        }
        InLinks { linking }
    }

    /// A random sample of the pages two links before one of the examples; no example is among them.
    pub(super) fn around(&self, examples: &[&CanonicalUrl], seed: u64) -> Vec<CanonicalUrl> {
        let near = examples.iter().flat_map(|url| self.some(url.id(), seed)).collect::<BTreeSet<_>>();
        let far = near.into_iter().flat_map(|url| self.some(url.id(), seed)).collect::<BTreeSet<_>>();
        let others = far.into_iter().filter(|url| !examples.contains(url));
        drawn(others, seed, DRAWN).into_iter().cloned().collect()
    }

    fn some(&self, page: UrlId, seed: u64) -> Vec<&CanonicalUrl> {
        drawn(self.linking.get(&page).into_iter().flatten(), seed ^ page.0, INLINKS)
    }
}

/// A pseudorandom selection of `most` URLs, determined by the seed.
fn drawn<'a>(urls: impl Iterator<Item = &'a CanonicalUrl>, seed: u64, most: usize) -> Vec<&'a CanonicalUrl> {
    let mut urls: Vec<&CanonicalUrl> = urls.collect();
    urls.sort_by(|a, b| share(a, seed).total_cmp(&share(b, seed)).then_with(|| a.cmp(b)));
    urls.truncate(most);
    urls
}
