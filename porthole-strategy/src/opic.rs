//! OPIC (Abiteboul, Preda, Cobena): every page has cash, which it distributes to its links when it is fetched; the
//! richest URL is next.
//!
//! Our choices: a start page has cash 1. No page is fetched again for its cash, so cash that would go to a fetched
//! page, or belongs to a page without links or to a URL that will not be fetched, is distributed evenly over all
//! waiting URLs (the virtual page of the paper): no cash is lost. Even distribution raises all alike, so it is kept in
//! one number, and only the rest is stored by URL.

use porthole_page::Link;
use porthole_types::CanonicalUrl;
use serde::{Deserialize, Serialize};

use crate::known::KnownGraph;
use crate::{Discipline, PriorityMerge, SourcePage, StateError, Strategy, state};

/// Version of the saved format.
const FORM: u32 = 24;

/// Online importance.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Opic {
    known: KnownGraph,
    /// By URL number: its cash without the amount that all URLs received.
    cash: Vec<f64>,
    /// Cash that every waiting URL received since the first page.
    shared_by_all: f64,
    /// Cash to distribute while no URL is waiting.
    unassigned: f64,
    /// Number of waiting URLs.
    waiting: u64,
}

impl Opic {
    /// Adds new URLs, without cash.
    fn add_new_urls(&mut self) {
        let new = self.known.len() - self.cash.len();
        self.cash.resize(self.known.len(), -self.shared_by_all);
        self.waiting += new as u64;
    }

    /// Distributes the unassigned cash over all waiting URLs.
    fn distribute_unassigned(&mut self) {
        if self.waiting > 0 {
            self.shared_by_all += std::mem::take(&mut self.unassigned) / self.waiting as f64;
        }
    }
}

impl Strategy for Opic {
    fn name(&self) -> &str {
        "opic"
    }

    fn discipline(&self) -> Discipline {
        Discipline { merge: PriorityMerge::Latest, ..Discipline::default() }
    }

    fn arrived(&mut self, source: &SourcePage<'_>) {
        let announced = self.known.find(source.url.id());
        let Some((page, links)) = self.known.record_page(source, |_| 1.0) else { return };
        self.add_new_urls();
        self.waiting -= 1;
        let cash = announced.map_or(1.0, |number| self.cash[number as usize] + self.shared_by_all);
        self.cash[page as usize] = 0.0;
        let share = cash / links.len().max(1) as f64;
        if links.is_empty() {
            self.unassigned += cash;
        }
        for link in &self.known.links()[links] {
            if self.known.is_waiting(link.to) {
                self.cash[link.to as usize] += share;
            } else {
                self.unassigned += share;
            }
        }
        self.distribute_unassigned();
    }

    fn settled(&mut self, url: &CanonicalUrl) {
        let Some(number) = self.known.find(url.id()).filter(|&number| self.known.is_waiting(number)) else {
            return;
        };
        self.known.settled(url.id());
        self.waiting -= 1;
        self.unassigned += self.cash[number as usize] + self.shared_by_all;
        self.distribute_unassigned();
    }

    fn priority(&mut self, _: &SourcePage<'_>, link: &Link) -> Option<f64> {
        let cash = self
            .known
            .find(link.target.id())
            .map_or(-self.shared_by_all, |number| self.cash[number as usize]);
        // Keeps the order, and stays below 1.
        Some(cash / (1.0 + cash.abs()))
    }

    fn save(&self) -> Option<Vec<u8>> {
        Some(state::pack(FORM, self))
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), StateError> {
        let saved: Opic = state::unpack(FORM, saved)?;
        state::check(saved.cash.len() == saved.known.len())?;
        *self = saved;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::harness::{Harness, TestWeb, goal, url};

    #[test]
    fn the_richest_is_next_and_no_cash_is_lost() {
        let web = TestWeb::new(&[
            ("/s", "<a href=/a></a><a href=/b></a>", 0.5),
            ("/a", "<a href=/b></a><a href=/c></a>", 0.5),
            ("/b", "<a href=/s></a><a href=/d></a><a href=/e></a>", 0.5),
            ("/d", "", 0.5),
        ]);
        let mut opic = Harness::new(&web, "opic", &goal("", 1), &[url("/s")]);
        // Displayed is c / (1 + c). One unit: a and b have a half each.
        opic.step();
        assert_eq!(opic.frontier(), "/a 33, /b 33");
        // Half a unit more: b 0.75, c 0.25.
        opic.step();
        assert_eq!(opic.frontier(), "/b 43, /c 20");
        // 0.75 in three: d and e 0.25 each; the start's third is distributed over c, d and e, which have 1/3 each now.
        // d and e were found before that, so all three gain and stay equal.
        opic.step();
        assert_eq!(opic.frontier(), "/c 20, /d 20, /e 20");
        // c is not fetched: its third is distributed. d has no links, so e gets its cash, which does not show in
        // priorities.
        assert_eq!(opic.run(99), "/s /a /b /c /d /e");
    }
}
