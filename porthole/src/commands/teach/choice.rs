//! Chooses the pages to ask about: evenly spaced in the ranking of the pages that may be relevant.

use std::collections::{BinaryHeap, HashMap, HashSet};

use porthole_store::{FeedbackKind, StoreReader};
use porthole_topic::Critic;
use porthole_types::{CanonicalUrl, SiteId, TermId, TopicId};

use crate::documents::DocumentReader;
use crate::training::pages::{KeptPage, KeptPages};
use crate::workspace::Workspace;

/// Maximum number of pages of a site.
pub(super) const MOST_OF_A_SITE: usize = 2;

/// Pages that are judged again, for each page to ask about. The stored judgments choose them.
const JUDGED_AGAIN: usize = 50;

/// Texts whose fingerprints differ in at most this many bits are nearly the same.
const SAME_BITS: u32 = 6;

/// A page to ask about.
#[derive(Clone, Debug)]
pub(super) struct AskedPage {
    pub(super) url: CanonicalUrl,
    pub(super) relevance: f64,
    pub(super) best: TopicId,
    pub(super) terms: Vec<(TermId, u32)>,
    site: SiteId,
    simhash: u64,
}

/// R from which a page may be about a good topic.
const PLAUSIBLE: f64 = 0.25;

/// The pages to ask about.
pub(super) fn pages_to_ask(
    workspace: &Workspace,
    reader: &dyn StoreReader,
    mut critic: Critic,
    limit: usize,
) -> anyhow::Result<Vec<AskedPage>> {
    let mut documents = DocumentReader::new();
    let most = limit.saturating_mul(JUDGED_AGAIN);
    let mut judged = |key: fn(&KeptPage, f64) -> Option<u64>| -> anyhow::Result<Vec<AskedPage>> {
        let mut pages = Vec::new();
        for page in least_by_stored(reader, key, most)? {
            let Some(terms) = page.terms(reader, workspace, &mut documents)? else { continue };
            let judgment = critic.judge(&terms);
            pages.push(AskedPage {
                site: page.url.site(),
                simhash: page.simhash,
                relevance: judgment.relevance,
                best: judgment.best,
                terms,
                url: page.url,
            });
        }
        Ok(pages)
    };
    let mut plausible = judged(sampled_plausible)?;
    plausible.retain(|page| page.relevance >= PLAUSIBLE);
    plausible.sort_by(|a, b| b.relevance.total_cmp(&a.relevance).then(a.url.cmp(&b.url)));
    let mut chosen = AskedPages::default();
    let left = limit - chosen.add(spread(plausible, limit), limit, usize::MAX);
    if left > 0 {
        let mut uncertain = judged(by_doubt)?;
        let key = |page: &AskedPage| doubt(page.relevance);
        uncertain.sort_by(|a, b| key(a).total_cmp(&key(b)).then(a.url.cmp(&b.url)));
        // At most a third about one topic, unless there are no others.
        let added = chosen.add(uncertain.clone(), left, limit.div_ceil(3).max(2));
        chosen.add(uncertain, left - added, usize::MAX);
    }
    Ok(chosen.pages)
}

/// Distance from complete uncertainty.
fn doubt(relevance: f64) -> f64 {
    (relevance - 0.5).abs()
}

/// The most uncertain pages first. Distances are not negative, so that their bits are in their order.
fn by_doubt(_: &KeptPage, relevance: f64) -> Option<u64> {
    Some(doubt(relevance).to_bits())
}

/// A sample of the pages that may be relevant: an id is a hash of the URL.
fn sampled_plausible(page: &KeptPage, relevance: f64) -> Option<u64> {
    (relevance >= PLAUSIBLE).then_some(page.oid.0)
}

/// The pages with the least keys by their stored R, neither examples nor marked.
fn least_by_stored(
    reader: &dyn StoreReader,
    key: fn(&KeptPage, f64) -> Option<u64>,
    most: usize,
) -> anyhow::Result<Vec<KeptPage>> {
    let examples = reader.examples(None)?.into_iter().map(|example| example.url);
    let marked = reader.feedback()?.into_iter().filter(|row| row.kind == FeedbackKind::Page);
    let known: HashSet<String> = examples.chain(marked.map(|row| row.name)).collect();
    let mut least: BinaryHeap<(u64, u64)> = BinaryHeap::new();
    let mut pages: HashMap<u64, KeptPage> = HashMap::new();
    for (number, page) in (0..).zip(KeptPages::of(reader)) {
        let page = page?;
        let Some(judgment) = page.judgment.filter(|_| !known.contains(page.url.as_str())) else { continue };
        let Some(key) = key(&page, judgment.relevance) else { continue };
        if least.len() == most {
            let worst = least.peek().copied().unwrap_or_default();
            if (key, number) >= worst {
                continue;
            }
            least.pop();
            pages.remove(&worst.1);
        }
        least.push((key, number));
        pages.insert(number, page);
    }
    Ok(least.into_sorted_vec().iter().filter_map(|(_, number)| pages.remove(number)).collect())
}

/// The pages in another order: the first `parts` of them are evenly spaced, and so is every third of these, for people who
/// answer only a few. The others follow, each after those that are nearer to an evenly spaced one.
fn spread(pages: Vec<AskedPage>, parts: usize) -> Vec<AskedPage> {
    let parts = parts.clamp(1, pages.len().max(1));
    let start = |part: usize| part * pages.len() / parts;
    let mut order = Vec::with_capacity(pages.len());
    for after in 0..=pages.len() / parts {
        let places = (0..3).flat_map(|first| (first..parts).step_by(3));
        order.extend(places.map(|part| (start(part) + after, start(part + 1))));
    }
    let mut pages: Vec<Option<AskedPage>> = pages.into_iter().map(Some).collect();
    order
        .into_iter()
        .filter(|(place, end)| place < end)
        .filter_map(|(place, _)| pages[place].take())
        .collect()
}

/// The chosen pages, spread over sites, texts and topics.
#[derive(Default)]
struct AskedPages {
    pages: Vec<AskedPage>,
    of_site: HashMap<SiteId, usize>,
}

impl AskedPages {
    /// Takes at most `most` of these pages, in their order, and at most `most_of_topic` about the same topic. Returns how
    /// many it took.
    fn add(&mut self, pages: Vec<AskedPage>, most: usize, most_of_topic: usize) -> usize {
        let mut of_topic: HashMap<TopicId, usize> = HashMap::new();
        let before = self.pages.len();
        for page in pages {
            if self.pages.len() - before == most {
                break;
            }
            // This leaves out pages that were chosen before, too.
            let is_same = |other: &AskedPage| (other.simhash ^ page.simhash).count_ones() <= SAME_BITS;
            let site = self.of_site.entry(page.site).or_default();
            let topic = of_topic.entry(page.best).or_default();
            if *site < MOST_OF_A_SITE && *topic < most_of_topic && !self.pages.iter().any(is_same) {
                *site += 1;
                *topic += 1;
                self.pages.push(page);
            }
        }
        self.pages.len() - before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages in the order of their uncertainty: host, topic, fingerprint.
    fn check(pages: &[(&str, u16, u64)], most_of_topic: usize, expected: &[usize]) {
        let page = |(number, (host, topic, simhash)): (usize, &(&str, u16, u64))| {
            let url = CanonicalUrl::parse(&format!("http://{host}/{number:03}")).unwrap();
            let (best, terms) = (TopicId(*topic), Vec::new());
            AskedPage { site: url.site(), url, relevance: 0.5, best, terms, simhash: *simhash }
        };
        let mut chosen = AskedPages::default();
        let pages: Vec<AskedPage> = pages.iter().enumerate().map(page).collect();
        chosen.add(pages.clone(), 3, most_of_topic);
        chosen.add(pages, 0, usize::MAX);
        let number = |page: &AskedPage| page.url.as_str().rsplit('/').next().unwrap().parse().unwrap();
        assert_eq!(chosen.pages.iter().map(number).collect::<Vec<usize>>(), expected);
    }

    #[test]
    fn questions_are_spread_over_sites_texts_and_topics() {
        // A fingerprint far from those of other numbers.
        let text =
            |number: u64| 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(number).rotate_left(17) ^ (number << 40);
        let of_a_site =
            [("a.test", 1, text(1)), ("a.test", 2, text(2)), ("a.test", 3, text(3)), ("b.test", 4, text(4))];
        check(&of_a_site, 9, &[0, 1, 3]);
        // No two with nearly the same text.
        check(&[("a.test", 1, 0b1), ("b.test", 2, 0b11), ("c.test", 3, text(5))], 9, &[0, 2]);
        let of_a_topic = ["a", "b", "c", "d"].map(|host| (host, 1));
        let pages: Vec<(String, u16, u64)> = of_a_topic
            .iter()
            .zip(1..)
            .map(|((host, topic), n)| (format!("{host}.test"), *topic, text(n)))
            .collect();
        let pages: Vec<(&str, u16, u64)> =
            pages.iter().map(|(host, topic, n)| (host.as_str(), *topic, *n)).collect();
        check(&pages, 2, &[0, 1]);
        check(&pages, usize::MAX, &[0, 1, 2]);
    }

    #[test]
    fn the_first_questions_span_all_plausible_pages() {
        let page = |number: usize| {
            let url = CanonicalUrl::parse(&format!("http://{number}.test/")).unwrap();
            let (best, terms) = (TopicId(1), Vec::new());
            AskedPage { site: url.site(), url, relevance: 0.5, best, terms, simhash: 0 }
        };
        let order = |pages: usize, parts: usize| -> Vec<usize> {
            let pages = spread((0..pages).map(page).collect(), parts);
            pages.iter().map(|page| page.url.host().trim_end_matches(".test").parse().unwrap()).collect()
        };
        assert_eq!(order(12, 6), [0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11]);
        assert_eq!(order(7, 3), [0, 2, 4, 1, 3, 5, 6]);
        // Every page once, also if there are fewer than questions.
        for (pages, parts) in [(0, 20), (3, 20), (20, 20), (999, 20), (5, 0)] {
            let mut all = order(pages, parts);
            all.sort_unstable();
            assert!(all.into_iter().eq(0..pages), "{pages} pages, {parts} parts");
        }
    }
}
