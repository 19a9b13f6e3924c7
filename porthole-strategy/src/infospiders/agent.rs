//! One agent: its energy, its keywords, its neural net, and its links.

use porthole_page::{Link, Page};
use porthole_types::{TermId, UrlId};
use serde::{Deserialize, Serialize};

use crate::SourcePage;

/// Maximum distance in leaves between a link and a keyword near it.
const REACH: u32 = 4;

/// Maximum number of links that an agent keeps.
const LINKS: usize = 64;

/// Maximum number of keywords of an agent.
const KEYWORDS: usize = 64;

/// Learning rate of the net.
const RATE: f32 = 0.2;

/// Maximum change of a child's weights from those that it inherits.
const MUTATION: f64 = 0.5;

/// An agent, see the module `infospiders`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Agent {
    pub(super) id: u64,
    pub(super) energy: f64,
    keywords: Vec<TermId>,
    /// One weight for each keyword, and the bias.
    weights: Vec<f32>,
    links: Vec<AgentLink>,
}

/// A link that an agent may follow.
#[derive(Debug, Serialize, Deserialize)]
struct AgentLink {
    url: UrlId,
    /// Nearness of each keyword; shorter than the keywords if some were learnt later.
    near: Vec<f32>,
}

/// Nearness of each keyword to a link: the sum of 1 / (1 + distance) over its occurrences.
pub(super) fn nearness(page: &Page, link: &Link, keywords: &[TermId]) -> Vec<f32> {
    let mut near = vec![0.0; keywords.len()];
    for (distance, leaf) in page.around(link, REACH) {
        for term in page.leaf_terms(leaf) {
            if let Some(place) = keywords.iter().position(|keyword| keyword == term) {
                near[place] += 1.0 / (1 + distance.unsigned_abs()) as f32;
            }
        }
    }
    near
}

impl Agent {
    pub(super) fn new(id: u64, energy: f64, keywords: &[TermId]) -> Agent {
        let keywords: Vec<TermId> = keywords.iter().copied().take(KEYWORDS).collect();
        let weights = vec![0.5; keywords.len()].into_iter().chain([0.0]).collect();
        Agent { id, energy, keywords, weights, links: Vec::new() }
    }

    fn score(&self, near: &[f32]) -> f32 {
        let (bias, weights) = self.weights.split_last().expect("there is always the bias");
        (weights.iter().zip(near).map(|(weight, near)| weight * near).sum::<f32>() + bias).tanh()
    }

    /// The agent's links with their scores by its net.
    pub(super) fn scored(&self) -> impl Iterator<Item = (UrlId, f64)> {
        self.links.iter().map(|link| (link.url, f64::from(self.score(&link.near))))
    }

    pub(super) fn has_link(&self, url: UrlId) -> bool {
        self.links.iter().any(|link| link.url == url)
    }

    pub(super) fn has_keyword(&self, word: TermId) -> bool {
        self.keywords.contains(&word)
    }

    pub(super) fn forget(&mut self, url: UrlId) {
        self.links.retain(|link| link.url != url);
    }

    /// Trains the net on a fetched page of the given similarity to the topic.
    pub(super) fn learn(&mut self, url: UrlId, similarity: f64) {
        let Some(link) = self.links.iter().find(|link| link.url == url) else { return };
        let score = self.score(&link.near);
        let step = RATE * (similarity as f32 - score) * (1.0 - score * score);
        let (bias, weights) = self.weights.split_last_mut().expect("there is always the bias");
        *bias += step;
        weights.iter_mut().zip(&link.near).for_each(|(weight, near)| *weight += step * near);
    }

    /// Adds the links of a page, and keeps the best of all.
    pub(super) fn add_links(&mut self, source: &SourcePage<'_>) {
        let links = if source.page.robots.nofollow { &[] } else { &source.page.links[..] };
        for link in links.iter().filter(|link| link.target != *source.url) {
            let (url, near) = (link.target.id(), nearness(source.page, link, &self.keywords));
            match self.links.iter_mut().find(|known| known.url == url) {
                Some(known) => known.near = near,
                None => self.links.push(AgentLink { url, near }),
            }
        }
        let mut links: Vec<(f32, AgentLink)> =
            std::mem::take(&mut self.links).into_iter().map(|link| (self.score(&link.near), link)).collect();
        links.sort_by(|a, b| b.0.total_cmp(&a.0));
        self.links = links.into_iter().take(LINKS).map(|(_, link)| link).collect();
    }

    /// Splits off a child with half of the energy and of the links; `draw` gives numbers in -0.5..0.5.
    pub(super) fn split(&mut self, id: u64, new_word: Option<TermId>, draw: impl Fn(u64) -> f64) -> Agent {
        self.energy /= 2.0;
        let (mut own, mut given) = (Vec::new(), Vec::new());
        for (place, link) in std::mem::take(&mut self.links).into_iter().enumerate() {
            if place % 2 == 0 { own.push(link) } else { given.push(link) }
        }
        self.links = own;
        let mutate = |(place, weight): (usize, &f32)| weight + (MUTATION * draw(place as u64)) as f32;
        let mut weights: Vec<f32> = self.weights.iter().enumerate().map(mutate).collect();
        let mut keywords = self.keywords.clone();
        if let Some(word) = new_word.filter(|_| keywords.len() < KEYWORDS) {
            keywords.push(word);
            weights.insert(keywords.len() - 1, 0.5);
        }
        Agent { id, energy: self.energy, keywords, weights, links: given }
    }

    /// Whether every keyword has its weight.
    pub(super) fn is_whole(&self) -> bool {
        self.weights.len() == self.keywords.len() + 1
    }
}
