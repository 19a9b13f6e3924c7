//! The background topic. Any topic tree is smaller than the web, and a page about a missing topic would be assigned to
//! the least dissimilar one. A separate leaf collects such pages, with pages of the crawl as examples.

use std::collections::BTreeMap;

use porthole_types::{SiteId, TopicId, UrlId};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::taxonomy::{Taxonomy, TaxonomyError};

/// Name of the leaf below the root for pages about no topic of the tree. It is never good.
pub const BACKGROUND: &str = "Background";

/// A page with less relevance than this may be an example of the background.
pub const IRRELEVANT: f64 = 0.2;

/// The background leaf of a tree. A topic with that name that is good or has children belongs to the user and is not
/// it.
pub fn background(tree: &Taxonomy) -> Option<TopicId> {
    tree.find(BACKGROUND).ok().filter(|&id| tree.is_leaf(id) && !tree.is_good(id))
}

/// The background leaf, added if there is none; `None` if the name is taken by a topic of the user.
pub fn add_background(tree: &mut Taxonomy) -> Result<Option<TopicId>, TaxonomyError> {
    if tree.find(BACKGROUND).is_err() {
        tree.add(TopicId::ROOT, BACKGROUND)?;
    }
    Ok(background(tree))
}

/// A random sample of pages, of bounded size in total and a site. It depends on the seed and the set of pages only, not
/// on their order, and one more page changes it by at most one page: each page gets a pseudorandom number from its URL,
/// and the smallest numbers are kept.
#[derive(Clone, Debug)]
pub struct Sample<T> {
    most: usize,
    most_a_site: usize,
    seed: u64,
    kept: BTreeMap<(u64, UrlId), (SiteId, T)>,
}

impl<T> Sample<T> {
    /// An empty sample.
    pub fn new(most: usize, most_a_site: usize, seed: u64) -> Self {
        Sample { most, most_a_site: most_a_site.max(1), seed, kept: BTreeMap::new() }
    }

    /// Offers a page to the random sample.
    pub fn offer(&mut self, url: UrlId, site: SiteId, page: T) {
        let key = (xxh3_64_with_seed(&url.0.to_le_bytes(), self.seed), url);
        if self.kept.len() >= self.most && self.kept.last_key_value().is_none_or(|(last, _)| key > *last) {
            return;
        }
        self.kept.insert(key, (site, page));
        let of_site = self.kept.iter().filter(|(_, (other, _))| *other == site).map(|(key, _)| *key);
        let of_site: Vec<_> = of_site.collect();
        if of_site.len() > self.most_a_site {
            self.kept.remove(&of_site[of_site.len() - 1]);
        }
        if self.kept.len() > self.most {
            self.kept.pop_last();
        }
    }

    /// The sampled pages by their numbers: any prefix is a sample, too.
    pub fn into_pages(self) -> impl Iterator<Item = T> {
        self.kept.into_values().map(|(_, page)| page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(pages: impl Iterator<Item = u64>, most: usize, most_a_site: usize, seed: u64) -> Vec<u64> {
        let mut sample = Sample::new(most, most_a_site, seed);
        pages.for_each(|page| sample.offer(UrlId(page), SiteId(page % 10), page));
        sample.into_pages().collect()
    }

    #[test]
    fn a_sample_depends_on_the_seed_and_not_on_the_order() {
        let forth = drawn(0..1_000, 50, 1_000, 7);
        assert_eq!(forth.len(), 50);
        assert_eq!(drawn((0..1_000).rev(), 50, 1_000, 7), forth);
        assert_ne!(drawn(0..1_000, 50, 1_000, 8), forth);
        let low = forth.iter().filter(|&&page| page < 500).count();
        assert!((10..=40).contains(&low), "{low} of 50 from the first half");
    }

    #[test]
    fn one_more_page_changes_at_most_one_sampled_page() {
        for page in 1_000..1_050 {
            let (before, after) = (drawn(0..page, 50, 6, 1), drawn(0..=page, 50, 6, 1));
            assert!(before.iter().filter(|page| !after.contains(page)).count() <= 1);
        }
    }

    #[test]
    fn the_number_of_pages_per_site_is_limited() {
        let pages = (0..1_000).map(|page| if page < 900 { page * 10 } else { page });
        let sample = drawn(pages, 40, 5, 3);
        assert_eq!(sample.iter().filter(|&&page| page % 10 == 0).count(), 5);
        assert_eq!(sample.len(), 40);
    }

    #[test]
    fn a_good_or_internal_topic_with_the_name_belongs_to_the_user() {
        let mut tree = Taxonomy::new();
        assert_eq!(background(&tree), None);
        let made = add_background(&mut tree).unwrap();
        assert!(made.is_some() && add_background(&mut tree).unwrap() == made);
        let below = tree.add_path("/Background/Music").unwrap();
        assert_eq!(add_background(&mut tree).unwrap(), None);
        tree.remove(below).unwrap();
        tree.mark(made.unwrap()).unwrap();
        assert_eq!(add_background(&mut tree).unwrap(), None);
    }
}
