//! Shark search (Hersovici et al.): fish search that scores single links and lets them inherit scores.
//!
//! inherited(v) = delta sim(u) if that is above 0, else delta inherited(u); neighbourhood = beta sim(anchor) + (1 -
//! beta) context, where the context is 1 if the anchor has to do with the topic, else the similarity of the text around
//! it; priority = gamma inherited + (1 - gamma) neighbourhood. Similarity is the cosine with the topic's keywords. Our
//! choices: the text around a link is that of the leaves within a distance of `reach`, including the anchor's own; of
//! several pages that link to a URL the best score counts; there is no depth budget as in fish search, because
//! inherited scores decay.

use porthole_page::Link;
use porthole_types::{CanonicalUrl, UrlId};

use crate::catalogue::NameError;
use crate::keywords::{Keywords, around};
use crate::parameters::Parameters;
use crate::queued::Queued;
use crate::{CrawlGoal, MOST_QUEUED, Part, SourcePage, StateError, Strategy, state};

/// Version of the saved format.
const FORM: u32 = 22;

/// Shark search.
#[derive(Debug)]
pub struct Shark {
    delta: f64,
    beta: f64,
    gamma: f64,
    reach: u32,
    keywords: Keywords,
    /// Inherited score by link.
    inherited: Queued<f32>,
    /// The page that arrived last, and the score that its links inherit.
    last: (UrlId, f32),
}

impl Shark {
    /// Parameters: `delta`, `beta`, `gamma` as in the formula, `reach` in leaves.
    pub(crate) fn new(parameters: &mut Parameters<'_>, goal: &CrawlGoal) -> Result<Shark, NameError> {
        Ok(Shark {
            delta: parameters.number("delta", 0.5, 0.0..=1.0)?,
            beta: parameters.number("beta", 0.8, 0.0..=1.0)?,
            gamma: parameters.number("gamma", 0.8, 0.0..=1.0)?,
            reach: parameters.number("reach", 4, 0..=1_000)?,
            keywords: Keywords::new(goal),
            inherited: Queued::new(MOST_QUEUED),
            last: (UrlId(0), 0.0),
        })
    }

    /// Score that a page's links inherit; a page that was not found through a link passes on only its own similarity.
    fn score_passed_on(&self, source: &SourcePage<'_>) -> f32 {
        if self.last.0 == source.url.id() {
            return self.last.1;
        }
        let similarity = self.keywords.cosine(source.page.terms());
        (self.delta * similarity) as f32
    }

    fn neighbourhood(&self, source: &SourcePage<'_>, link: &Link) -> f64 {
        let anchor = self.keywords.cosine(&around(source.page, link, 0));
        let context =
            if anchor > 0.0 { 1.0 } else { self.keywords.cosine(&around(source.page, link, self.reach)) };
        self.beta * anchor + (1.0 - self.beta) * context
    }
}

impl Strategy for Shark {
    fn name(&self) -> &str {
        "shark"
    }

    fn arrived(&mut self, source: &SourcePage<'_>) {
        let url = source.url.id();
        let own = self.inherited.remove(url).unwrap_or(0.0);
        let similarity = self.keywords.cosine(source.page.terms());
        let down = self.delta * if similarity > 0.0 { similarity } else { f64::from(own) };
        self.last = (url, down as f32);
        for link in &source.page.links {
            let known = self.inherited.entry(link.target.id(), || 0.0);
            *known = known.max(self.last.1);
        }
    }

    fn settled(&mut self, url: &CanonicalUrl) {
        self.inherited.remove(url.id());
    }

    fn priority(&mut self, source: &SourcePage<'_>, link: &Link) -> Option<f64> {
        Some(self.explain(source, link).iter().map(|part| part.adds).sum())
    }

    fn explain(&mut self, source: &SourcePage<'_>, link: &Link) -> Vec<Part> {
        let inherited = self.gamma * f64::from(self.score_passed_on(source));
        let nearby = (1.0 - self.gamma) * self.neighbourhood(source, link);
        let part = |what: &str, adds| Part { what: what.to_owned(), adds };
        vec![part("inherited", inherited), part("anchor and surrounding text", nearby)]
    }

    fn save(&self) -> Option<Vec<u8>> {
        Some(state::pack(FORM, &self.inherited))
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), StateError> {
        self.inherited.restore(state::unpack(FORM, saved)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::harness::{Harness, TestWeb, goal, url};

    #[test]
    fn scores_are_inherited_and_links_of_one_page_differ() {
        let web = TestWeb::new(&[
            // Its terms: owl 1, tree 1, stone 1, rock 3, so that its cosine with (owl) is 1 / sqrt 12 = 0.289.
            (
                "/s",
                "<p>rock rock rock</p><p><a href=/a>owl</a></p><p><a href=/b>tree</a></p><p>stone</p><a href=/c></a>",
                0.5,
            ),
            ("/c", "<a href=/d></a>", 0.5),
            ("/d", "<a href=/e></a>", 0.5),
        ]);
        let mut shark = Harness::new(&web, "shark:reach=1", &goal("owl", 1), &[url("/s")]);
        shark.step();
        // Inherited 0.8 * 0.5 * 0.289 = 0.115. At a 0.2 * (0.8 + 0.2) more. At b the text around is owl, tree, stone:
        // 0.2 * 0.2 * 0.577 = 0.023 more. At c nothing.
        assert_eq!(shark.frontier(), "/a 32, /b 14, /c 12");
        // c passes on half of what it inherited, because its own similarity is 0, and d half of that again.
        shark.run(5);
        assert_eq!((shark.way.join(" "), shark.frontier()), ("/s /a /b /c /d".to_owned(), "/e 3".to_owned()));
    }
}
