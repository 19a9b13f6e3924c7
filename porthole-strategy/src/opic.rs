//! OPIC (Abiteboul, Preda, Cobena): every page has cash, which it shares among its links when it is fetched; the
//! richest is next.
//!
//! Decided here: a start has cash 1. No page is fetched again for its cash, so what would go to a page that came before, or
//! belongs to a page without links or to a URL that will not come, is shared evenly by all that wait (the virtual page of the
//! paper): no cash is lost. That raises all alike, so only what a link has more than that is kept.

use porthole_page::Link;
use porthole_types::CanonicalUrl;
use serde::{Deserialize, Serialize};

use crate::known::Known;
use crate::{Discipline, PriorityMerge, Source, StateError, Strategy, state};

/// The form of what is saved.
const FORM: u32 = 24;

/// Online importance.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Opic {
    known: Known,
    /// By number: its cash without what all got since the first page.
    cash: Vec<f64>,
    /// What each that waits has got so far, since the first page.
    all_got: f64,
    /// Cash that nobody waits for.
    purse: f64,
    /// How many wait.
    waiting: u64,
}

impl Opic {
    /// Meets URLs that are new: they have nothing yet.
    fn meet(&mut self) {
        let new = self.known.len() - self.cash.len();
        self.cash.resize(self.known.len(), -self.all_got);
        self.waiting += new as u64;
    }

    /// Shares the purse among all that wait.
    fn share_purse(&mut self) {
        if self.waiting > 0 {
            self.all_got += std::mem::take(&mut self.purse) / self.waiting as f64;
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

    fn arrived(&mut self, source: &Source<'_>) {
        let announced = self.known.find(source.url.id());
        let Some((page, links)) = self.known.came(source, |_| 1.0) else { return };
        self.meet();
        self.waiting -= 1;
        let cash = announced.map_or(1.0, |number| self.cash[number as usize] + self.all_got);
        self.cash[page as usize] = 0.0;
        let share = cash / links.len().max(1) as f64;
        if links.is_empty() {
            self.purse += cash;
        }
        for link in &self.known.links()[links] {
            if self.known.waits(link.to) {
                self.cash[link.to as usize] += share;
            } else {
                self.purse += share;
            }
        }
        self.share_purse();
    }

    fn settled(&mut self, url: &CanonicalUrl) {
        let Some(number) = self.known.find(url.id()).filter(|&number| self.known.waits(number)) else {
            return;
        };
        self.known.settled(url.id());
        self.waiting -= 1;
        self.purse += self.cash[number as usize] + self.all_got;
        self.share_purse();
    }

    fn priority(&mut self, _: &Source<'_>, link: &Link) -> Option<f64> {
        let cash =
            self.known.find(link.target.id()).map_or(-self.all_got, |number| self.cash[number as usize]);
        // In the same order, and below 1.
        Some(cash / (1.0 + cash.abs()))
    }

    fn save(&self) -> Option<Vec<u8>> {
        Some(state::save(FORM, self))
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), StateError> {
        let saved: Opic = state::restore(FORM, saved)?;
        state::check(saved.cash.len() == saved.known.len())?;
        *self = saved;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::harness::{Harness, Web, aim, url};

    #[test]
    fn the_richest_is_next_and_no_cash_is_lost() {
        let web = Web::new(&[
            ("/s", "<a href=/a></a><a href=/b></a>", 0.5),
            ("/a", "<a href=/b></a><a href=/c></a>", 0.5),
            ("/b", "<a href=/s></a><a href=/d></a><a href=/e></a>", 0.5),
            ("/d", "", 0.5),
        ]);
        let mut opic = Harness::new(&web, "opic", &aim("", 1), &[url("/s")]);
        // Shown is c / (1 + c). One unit: a and b have a half each.
        opic.step();
        assert_eq!(opic.frontier(), "/a 33, /b 33");
        // Half a unit more: b 0.75, c 0.25.
        opic.step();
        assert_eq!(opic.frontier(), "/b 43, /c 20");
        // 0.75 in three: d and e 0.25 each; the start's third is shared by c, d and e, which have 1/3 each now. d and e came
        // before that, so that all three gain: they are equal still.
        opic.step();
        assert_eq!(opic.frontier(), "/c 20, /d 20, /e 20");
        // c does not come: its third is shared. d has no links, and e gets all of it; nothing of it shows, as it was all alike.
        assert_eq!(opic.run(99), "/s /a /b /c /d /e");
    }
}
