//! The reinforcement learning spider (Rennie, McCallum): a link's value is the discounted number of relevant pages that
//! can be reached through it.
//!
//! A page's value is known once the pages behind it were fetched: 1 if it is on topic, plus gamma^n for each relevant
//! page found n links behind it. Values are put into bins; naive Bayes predicts the bins' probabilities from a link's
//! words, and the priority is the expected value. Our choices: it learns online, from its own crawl, again after every
//! few pages, and then rescores all waiting links; a page counts for the page that it was first found on; the words are
//! those of the anchor, of the leaves around it, of the page's headers and of its title. Of the headers, the nearest one
//! above the link comes first: it is that of the link's section. Before the first training, a link's priority is the relevance of its page.

use porthole_page::{Link, Page};
use porthole_types::{CanonicalUrl, TermId, UrlId};
use serde::{Deserialize, Serialize};

use crate::bayes::Bayes;
use crate::catalogue::NameError;
use crate::keywords::around;
use crate::known::Schedule;
use crate::parameters::Parameters;
use crate::queued::Queued;
use crate::{SourcePage, StateError, Strategy, state};

/// Version of the saved format.
const FORM: u32 = 28;

/// Maximum numbers of links whose words are remembered and of training pages: 130 bytes each.
const MOST_LINKS: usize = 200_000;
const MOST_PAGES: usize = 20_000;

/// Maximum number of words of the anchor, around it, of headers, and of the title.
const WORDS: [usize; 4] = [8, 16, 8, 8];

/// Upper bounds of the bins; the last bin is unbounded. With gamma 0.4 (the authors: below 1/2): nothing, something far away, near, the page
/// itself, and more.
const BINS: [f32; 4] = [0.05, 0.4, 0.9, 1.3];

/// Links by the discounted number of relevant pages behind them.
#[derive(Debug)]
pub struct RlSpider {
    gamma: f32,
    links: Queued<SeenLink>,
    pages: Queued<SeenLink>,
    page_count: u64,
    schedule: Schedule,
    bayes: Bayes,
    /// Mean value of the pages in each bin.
    values: [f64; BINS.len() + 1],
    /// Of the page that arrived last.
    source: Option<SourceWords>,
    changed: Vec<(UrlId, f64)>,
}

/// What all links of a page have in common.
#[derive(Debug)]
struct SourceWords {
    url: UrlId,
    title: Vec<TermId>,
    /// Leaves with words that are in a header.
    headers: Vec<usize>,
}

impl SourceWords {
    fn of(source: &SourcePage<'_>) -> Self {
        let page = source.page;
        let is_header = |leaf: &usize| {
            page.leaf(*leaf).is_some_and(|leaf| matches!(leaf.tag, "h1" | "h2" | "h3" | "h4" | "h5" | "h6"))
                && !page.leaf_terms(*leaf).is_empty()
        };
        let headers = (0..page.leaf_count()).filter(is_header).collect();
        SourceWords { url: source.url.id(), title: title(page), headers }
    }

    /// The words of the headers: first of the nearest one above a link, then of the others in their order.
    fn headers_of<'a>(&self, page: &'a Page, link: &Link) -> impl Iterator<Item = TermId> + use<'a, '_> {
        let above = self.headers.partition_point(|leaf| *leaf < link.first_leaf as usize);
        let nearest = above.checked_sub(1).map(|at| self.headers[at]);
        let others = self.headers.iter().copied().filter(move |leaf| Some(*leaf) != nearest);
        nearest.into_iter().chain(others).flat_map(|leaf| page.leaf_terms(leaf)).copied()
    }
}

/// A link by its words; once fetched, with its value.
#[derive(Debug, Serialize, Deserialize)]
struct SeenLink {
    /// The page it was first found on.
    parent: UrlId,
    words: Vec<TermId>,
    value: f32,
}

impl RlSpider {
    /// Parameters: `gamma`, and `every`, the pages between two trainings.
    pub(crate) fn new(parameters: &mut Parameters<'_>) -> Result<RlSpider, NameError> {
        Ok(RlSpider {
            gamma: parameters.number("gamma", 0.4, 0.0..=0.9)?,
            links: Queued::new(MOST_LINKS),
            pages: Queued::new(MOST_PAGES),
            page_count: 0,
            schedule: Schedule::new(parameters.number("every", 25, 1..=1_000_000)?),
            bayes: Bayes::new(BINS.len() + 1),
            values: [0.0; BINS.len() + 1],
            source: None,
            changed: Vec::new(),
        })
    }

    fn words(&self, source: &SourcePage<'_>, link: &Link) -> Vec<TermId> {
        let anchor = around(source.page, link, 0);
        let beside = source.page.around(link, 2).filter(|(distance, _)| *distance != 0);
        let beside = beside.flat_map(|(_, leaf)| source.page.leaf_terms(leaf)).copied();
        let words = anchor.into_iter().take(WORDS[0]).chain(beside.take(WORDS[1]));
        let with = |page: &SourceWords| {
            let headers = page.headers_of(source.page, link).take(WORDS[2]);
            words.chain(headers).chain(page.title.iter().copied().take(WORDS[3])).collect()
        };
        match self.source.as_ref().filter(|words| words.url == source.url.id()) {
            Some(words) => with(words),
            None => with(&SourceWords::of(source)),
        }
    }

    /// Expected value of a link with these words, at most 1.
    fn worth(&self, words: &[TermId]) -> f64 {
        let classes = self.bayes.classes_of(words, true);
        let value: f64 = classes.iter().zip(&self.values).map(|(share, value)| share * value).sum();
        value / (1.0 + value)
    }

    /// Credits a relevant page: 1 to the page, gamma to the page it was found on, and so on.
    fn reward(&mut self, url: UrlId) {
        let (mut url, mut reward) = (url, 1.0);
        while reward > 0.01
            && let Some(page) = self.pages.get_mut(url)
        {
            page.value += reward;
            reward *= self.gamma;
            url = page.parent;
        }
    }

    fn learn(&mut self) {
        let bin = |value: f32| BINS.iter().take_while(|end| value >= **end).count();
        self.bayes = Bayes::new(BINS.len() + 1);
        let mut sums = [(0.0, 0.0); BINS.len() + 1];
        for (_, page) in self.pages.iter().filter(|(_, page)| !page.words.is_empty()) {
            let bin = bin(page.value);
            self.bayes.add(bin, &page.words);
            sums[bin] = (sums[bin].0 + f64::from(page.value), sums[bin].1 + 1.0);
        }
        self.values = sums.map(|(sum, pages)| if pages > 0.0 { sum / pages } else { 0.0 });
        if self.bayes.is_trained() {
            self.changed = self.links.iter().map(|(url, link)| (url, self.worth(&link.words))).collect();
        }
    }
}

/// The terms of a page's title.
fn title(page: &Page) -> Vec<TermId> {
    let others: usize = (0..page.leaf_count()).map(|leaf| page.leaf_terms(leaf).len()).sum();
    page.terms()[..page.terms().len() - others].to_vec()
}

impl Strategy for RlSpider {
    fn name(&self) -> &str {
        "rl-spider"
    }

    fn arrived(&mut self, source: &SourcePage<'_>) {
        let url = source.url.id();
        self.page_count += 1;
        self.source = Some(SourceWords::of(source));
        let seen = self.links.remove(url);
        // A start page has no parent and no anchor words.
        let start = || SeenLink { parent: UrlId(0), words: Vec::new(), value: 0.0 };
        self.pages.entry(url, || seen.unwrap_or_else(start));
        if source.on_topic {
            self.reward(url);
        }
        for link in &source.page.links {
            let target = link.target.id();
            if self.pages.get(target).is_none() && self.links.get(target).is_none() {
                let words = self.words(source, link);
                self.links.entry(target, || SeenLink { parent: url, words, value: 0.0 });
            }
        }
        if self.schedule.is_due(self.page_count) {
            self.learn();
        }
    }

    fn settled(&mut self, url: &CanonicalUrl) {
        self.links.remove(url.id());
    }

    fn priority(&mut self, source: &SourcePage<'_>, link: &Link) -> Option<f64> {
        if !self.bayes.is_trained() {
            let relevance = source.judgment.relevance;
            return Some(relevance / (1.0 + relevance));
        }
        Some(self.worth(&self.words(source, link)))
    }

    fn rescored(&mut self) -> Vec<(UrlId, f64)> {
        std::mem::take(&mut self.changed)
    }

    fn save(&self) -> Option<Vec<u8>> {
        let learnt = (&self.bayes, self.values);
        Some(state::pack(FORM, (self.page_count, self.schedule, learnt, &self.links, &self.pages)))
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), StateError> {
        let (page_count, schedule, (bayes, values), links, pages) = state::unpack(FORM, saved)?;
        self.bayes.restore(bayes)?;
        self.schedule.resume(schedule);
        self.links.restore(links);
        self.pages.restore(pages);
        (self.page_count, self.values) = (page_count, values);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{Harness, TestWeb, goal, url};

    /// Separates links, so that they have no words in common.
    const FAR: &str = "<p></p><p></p><p></p>";

    fn web() -> TestWeb {
        TestWeb::new(&[
            // "Staff" leads to owls through a list; "shop" leads nowhere.
            (
                "/s",
                &["a>staff", "b>shop", "e>shop", "f>staff"]
                    .map(|link| format!("<a href=/{link}</a>{FAR}"))
                    .concat(),
                0.1,
            ),
            ("/a", "<a href=/c>list</a>", 0.1),
            ("/c", "<a href=/d>owl</a>", 0.1),
            ("/d", "", 0.9),
            ("/b", "<a href=/g>shop</a>", 0.1),
        ])
    }

    #[test]
    fn the_header_of_its_section_is_among_the_words_of_a_link() {
        let html = format!(
            "<title>zoo</title><h1>keeper</h1>{FAR}<h2>owl</h2>{FAR}<p><a href=/x>nest</a>{FAR}<h2>cat</h2>{FAR}\
             <p><a href=/y>nest</a>"
        );
        let page =
            porthole_page::Extractor::default().extract(&url("/s"), &Default::default(), html.as_bytes());
        let own = url("/s");
        let judgment = porthole_types::Judgment { relevance: 0.5, best: porthole_types::TopicId(0) };
        let source = SourcePage { url: &own, page: &page, judgment, on_topic: false, depth: 0 };
        let crawl = RlSpider::new(&mut Parameters::parse("rl-spider").unwrap()).unwrap();
        let [owls, cats] = [0, 1].map(|link| crawl.words(&source, &page.links[link]));
        assert_eq!(owls, crate::harness::terms("nest owl keeper cat zoo"));
        assert_eq!(cats, crate::harness::terms("nest cat keeper owl zoo"));
    }

    #[test]
    fn relevant_pages_are_credited_to_their_ancestors() {
        let web = web();
        let mut crawl = RlSpider::new(&mut Parameters::parse("rl-spider").unwrap()).unwrap();
        for path in ["/s", "/a", "/c", "/d", "/b"] {
            web.tell(&mut crawl, path);
        }
        let value = |path: &str| crawl.pages.get(url(path).id()).unwrap().value;
        let near = |a: f32, b: f32| (a - b).abs() < 1e-6;
        let values = ["/d", "/c", "/a", "/s", "/b"].map(value);
        let expected = [1.0, 0.4, 0.16, 0.064, 0.0];
        assert!(values.iter().zip(expected).all(|(value, expected)| near(*value, expected)), "{values:?}");
    }

    #[test]
    fn links_with_words_of_rewarded_links_come_first() {
        let web = web();
        let starts = ["/s", "/a", "/c", "/d", "/b"].map(url);
        let mut crawl = Harness::new(&web, "rl-spider:every=5", &goal("", 1), &starts);
        crawl.run(4);
        // Untrained: relevance 0.1 / 1.1 everywhere.
        assert_eq!(crawl.frontier(), "/b 100, /e 9, /f 9");
        crawl.run(5);
        let frontier = crawl.frontier();
        assert!(frontier.starts_with("/f ") && frontier.contains(", /e "), "{frontier}");
        let priorities: Vec<f64> = crawl.waiting_priorities().collect();
        assert!(priorities[0] > priorities[1] + 0.01, "{frontier}");
    }
}
