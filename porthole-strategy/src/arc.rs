//! ARC and Clever: links are ordered by authority in the known graph, where links with the topic's words near their
//! anchors weigh more.
//!
//! The weight of a link is 1, plus 1 / (1 + distance) for every keyword in a leaf within `reach` of it. Our choices:
//! all links count, also within sites; hubs and authorities are computed by five rounds, as in Clever, after every few
//! pages; in between, a new page has the hub score of the authorities it links to, and adds that to its targets.

use porthole_page::Link;
use porthole_types::{CanonicalUrl, UrlId};

use crate::catalogue::NameError;
use crate::keywords::Keywords;
use crate::known::{KnownGraph, Schedule};
use crate::parameters::Parameters;
use crate::{CrawlGoal, Discipline, PriorityMerge, SourcePage, StateError, Strategy, state};

/// Version of the saved format.
const FORM: u32 = 25;

/// Pages between two computations of authorities.
const EVERY: u64 = 5;

/// Rounds from authorities to hubs and back.
const ROUNDS: usize = 5;

/// Authority by weighted links.
#[derive(Debug)]
pub struct Arc {
    reach: u32,
    keywords: Keywords,
    known: KnownGraph,
    /// Authority by URL number; the largest is 1.
    authority: Vec<f64>,
    /// Factors that scale the best hub and the best authority to 1.
    best: (f64, f64),
    schedule: Schedule,
    changed: Vec<(UrlId, f64)>,
}

impl Arc {
    /// Parameter: `reach`, in leaves.
    pub(crate) fn new(parameters: &mut Parameters<'_>, goal: &CrawlGoal) -> Result<Arc, NameError> {
        Ok(Arc {
            reach: parameters.number("reach", 5, 0..=1_000)?,
            keywords: Keywords::new(goal),
            known: KnownGraph::default(),
            authority: Vec::new(),
            // Before the first computation, every page is an average hub.
            best: (0.0, 100.0),
            schedule: Schedule::new(EVERY),
            changed: Vec::new(),
        })
    }

    fn distil(&mut self) {
        let links = self.known.links();
        let mut hubs = vec![1.0; self.known.len()];
        for _ in 0..ROUNDS {
            self.authority.fill(0.0);
            for link in links {
                self.authority[link.to as usize] += hubs[link.from as usize] * f64::from(link.weight);
            }
            self.best.1 = to_unit(&mut self.authority);
            hubs.fill(0.0);
            for link in links {
                hubs[link.from as usize] += self.authority[link.to as usize] * f64::from(link.weight);
            }
            self.best.0 = to_unit(&mut hubs);
        }
        let known = &self.known;
        self.changed =
            known.waiting().map(|number| (known.url(number), self.authority[number as usize])).collect();
    }
}

/// Divides all scores by the largest, and returns the largest.
fn to_unit(scores: &mut [f64]) -> f64 {
    let largest = scores.iter().copied().fold(0.0, f64::max);
    if largest > 0.0 {
        scores.iter_mut().for_each(|score| *score /= largest);
    }
    largest
}

/// Weight of a link: 1, and more for every keyword near it.
fn weight(source: &SourcePage<'_>, link: &Link, reach: u32, keywords: &Keywords) -> f32 {
    let near = source.page.around(link, reach).map(|(distance, leaf)| {
        keywords.hits(source.page.leaf_terms(leaf)) as f32 / (1 + distance.unsigned_abs()) as f32
    });
    1.0 + near.sum::<f32>()
}

impl Strategy for Arc {
    fn name(&self) -> &str {
        "arc"
    }

    fn discipline(&self) -> Discipline {
        Discipline { merge: PriorityMerge::Latest, ..Discipline::default() }
    }

    fn arrived(&mut self, source: &SourcePage<'_>) {
        let (reach, keywords) = (self.reach, &self.keywords);
        let Some((_, links)) = self.known.record_page(source, |link| weight(source, link, reach, keywords))
        else {
            return;
        };
        self.authority.resize(self.known.len(), 0.0);
        let links = &self.known.links()[links];
        let sum: f64 =
            links.iter().map(|link| self.authority[link.to as usize] * f64::from(link.weight)).sum();
        let hub = if self.best.0 > 0.0 { (sum / self.best.0).min(1.0) } else { 1.0 };
        for link in links {
            let more = hub * f64::from(link.weight) / self.best.1.max(f64::MIN_POSITIVE);
            let authority = &mut self.authority[link.to as usize];
            *authority = (*authority + more).min(1.0);
        }
        if self.schedule.is_due(self.known.page_count() as u64) {
            self.distil();
        }
    }

    fn settled(&mut self, url: &CanonicalUrl) {
        self.known.settled(url.id());
    }

    fn priority(&mut self, _: &SourcePage<'_>, link: &Link) -> Option<f64> {
        Some(self.known.find(link.target.id()).map_or(0.0, |number| self.authority[number as usize]))
    }

    fn rescored(&mut self) -> Vec<(UrlId, f64)> {
        std::mem::take(&mut self.changed)
    }

    fn save(&self) -> Option<Vec<u8>> {
        Some(state::pack(FORM, (self.schedule, &self.known, &self.authority, self.best)))
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), StateError> {
        let (schedule, known, authority, best): (_, KnownGraph, Vec<f64>, _) = state::unpack(FORM, saved)?;
        state::check(authority.len() == known.len())?;
        self.schedule.resume(schedule);
        (self.known, self.authority, self.best) = (known, authority, best);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::harness::{Harness, TestWeb, goal, url};

    #[test]
    fn words_near_an_anchor_make_a_link_weigh_more() {
        // a: owl in the anchor, 2. b: the leaf beside it, 1.5. c: two leaves away, 1.33. d: too far, 1.
        let html = "<a href=/a>owl</a><a href=/b>x</a><a href=/c>x</a><p>x</p><a href=/d>x</a>";
        let web = TestWeb::new(&[("/s", html, 0.5)]);
        let mut arc = Harness::new(&web, "arc:reach=2", &goal("owl", 1), &[url("/s")]);
        arc.step();
        // Hundredths of the weight, before the first computation.
        assert_eq!(arc.frontier(), "/a 2, /b 2, /c 1, /d 1");
        let of = |path: &str| {
            let place = ["/a", "/b", "/c", "/d"].iter().position(|other| *other == path).unwrap();
            (arc.waiting_priorities().collect::<Vec<_>>()[place] * 1e4).round()
        };
        assert_eq!(["/a", "/b", "/c", "/d"].map(of), [200.0, 150.0, 133.0, 100.0]);
    }

    #[test]
    fn good_hubs_make_authorities() {
        // h1 and h2 both link to x and y, so they are hubs; z, which only h1 links to, ranks above w of an isolated
        // page.
        let web = TestWeb::new(&[
            ("/s", "<a href=/h1></a><a href=/h2></a><a href=/lonely></a><a href=/n></a>", 0.5),
            ("/h1", "<a href=/x></a><a href=/y></a><a href=/z></a>", 0.5),
            ("/h2", "<a href=/x></a><a href=/y></a>", 0.5),
            ("/lonely", "<a href=/w></a>", 0.5),
            ("/n", "", 0.5),
        ]);
        let mut arc = Harness::new(
            &web,
            "arc",
            &goal("owl", 1),
            &[url("/s"), url("/h1"), url("/h2"), url("/lonely"), url("/n")],
        );
        arc.run(5);
        let frontier = arc.frontier();
        assert!(frontier.starts_with("/x 100, /y 100, /z "), "{frontier}");
        assert!(frontier.ends_with("/w 0"), "{frontier}");
    }
}
