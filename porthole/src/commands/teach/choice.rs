//! Chooses the pages to ask about: in turn the most uncertain page and the one that is judged most relevant.

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

/// The pages to ask about.
pub(super) fn pages_to_ask(
    workspace: &Workspace,
    reader: &dyn StoreReader,
    mut critic: Critic,
    limit: usize,
) -> anyhow::Result<Vec<AskedPage>> {
    let mut documents = DocumentReader::new();
    let most = limit.saturating_mul(JUDGED_AGAIN);
    let mut choose = |distance: fn(f64) -> f64| -> anyhow::Result<Vec<AskedPage>> {
        let mut pages = Vec::new();
        for page in nearest_by_stored(reader, distance, most)? {
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
        let key = |page: &AskedPage| distance(page.relevance);
        pages.sort_by(|a, b| key(a).total_cmp(&key(b)).then(a.url.cmp(&b.url)));
        Ok(pages)
    };
    let (best, uncertain) = (choose(distance_from_best)?, choose(doubt)?);
    let mut chosen = AskedPages::default();
    let of_best = chosen.add(best, limit / 2, usize::MAX);
    // At most a third about one topic, unless there are no others.
    let (topic, left) = (limit.div_ceil(3).max(2), limit - of_best);
    let of_uncertain = chosen.add(uncertain.clone(), left, topic);
    chosen.add(uncertain, left - of_uncertain, usize::MAX);
    Ok(chosen.in_turn(of_best))
}

/// Distance from complete uncertainty.
fn doubt(relevance: f64) -> f64 {
    (relevance - 0.5).abs()
}

/// Distance from certain relevance.
fn distance_from_best(relevance: f64) -> f64 {
    1.0 - relevance
}

/// The pages with the least distance by their stored R, neither examples nor marked.
fn nearest_by_stored(
    reader: &dyn StoreReader,
    distance: fn(f64) -> f64,
    most: usize,
) -> anyhow::Result<Vec<KeptPage>> {
    let examples = reader.examples(None)?.into_iter().map(|example| example.url);
    let marked = reader.feedback()?.into_iter().filter(|row| row.kind == FeedbackKind::Page);
    let known: HashSet<String> = examples.chain(marked.map(|row| row.name)).collect();
    let mut nearest: BinaryHeap<(u64, u64)> = BinaryHeap::new();
    let mut pages: HashMap<u64, KeptPage> = HashMap::new();
    for (number, page) in (0..).zip(KeptPages::of(reader)) {
        let page = page?;
        let Some(judgment) = page.judgment.filter(|_| !known.contains(page.url.as_str())) else { continue };
        // Distances are not negative, so that their bits are in their order.
        let key = (distance(judgment.relevance).max(0.0).to_bits(), number);
        if nearest.len() == most {
            let worst = nearest.peek().copied().unwrap_or_default();
            if key >= worst {
                continue;
            }
            nearest.pop();
            pages.remove(&worst.1);
        }
        nearest.push(key);
        pages.insert(number, page);
    }
    Ok(nearest.into_sorted_vec().iter().filter_map(|(_, number)| pages.remove(number)).collect())
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

    /// The pages, those after the first `of_best` and these in turn.
    fn in_turn(mut self, of_best: usize) -> Vec<AskedPage> {
        let mut lists = [self.pages.split_off(of_best).into_iter(), self.pages.into_iter()];
        let mut pages = Vec::new();
        loop {
            let before = pages.len();
            lists.iter_mut().for_each(|list| pages.extend(list.next()));
            if pages.len() == before {
                return pages;
            }
        }
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
    fn uncertain_pages_and_the_best_take_turns() {
        let page = |name: &str| {
            let url = CanonicalUrl::parse(&format!("http://{name}.test/")).unwrap();
            let (best, terms) = (TopicId(1), Vec::new());
            AskedPage { site: url.site(), url, relevance: 0.5, best, terms, simhash: 0 }
        };
        let pages = ["best-1", "best-2", "doubt-1", "doubt-2", "doubt-3"].map(page).to_vec();
        let turns = AskedPages { pages, of_site: HashMap::new() }.in_turn(2);
        let hosts: Vec<&str> = turns.iter().map(|page| page.url.host().trim_end_matches(".test")).collect();
        assert_eq!(hosts, ["doubt-1", "best-1", "doubt-2", "best-2", "doubt-3"]);
    }
}
