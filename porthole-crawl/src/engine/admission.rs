//! Decides which URLs of the frontier are fetched: those in scope that are not traps.

use std::sync::Arc;

use porthole_store::{StoreReader, TriedUrl};
use porthole_types::{CanonicalUrl, Failure, FailureKind, Timestamp, UrlId, Work};

use crate::scope::Scope;
use crate::traps::Traps;

/// Number of pages among which near-duplicates are recognised, at 36 bytes each.
const FINGERPRINTS: usize = 1 << 20;

/// Decides which URLs are offered to the network half.
#[derive(Default)]
pub(crate) struct Admission {
    pub(crate) scope: Arc<Scope>,
    /// `None` in a replay, which is finite.
    traps: Option<Traps>,
    /// Whether the traps of earlier runs have been loaded.
    is_recalled: bool,
}

impl Admission {
    pub(crate) fn watch_for_traps(&mut self) {
        self.traps = Some(Traps::new(FINGERPRINTS));
    }

    /// The reason not to fetch a URL, if there is one. A page that is visited again is counted in its site already, and was
    /// no trap.
    pub(crate) fn refusal(&mut self, work: &Work, pages_of_site: u64, now: Timestamp) -> Option<Failure> {
        let is_visit = work.copy.is_some();
        let pages_of_site = if is_visit { 0 } else { pages_of_site };
        if let Err(why) = self.scope.admits(&work.url, work.depth, pages_of_site) {
            return Some(Failure::new(FailureKind::Scope, why.to_string()));
        }
        let trap = self.traps.as_mut().filter(|_| !is_visit)?.check(&work.url, now)?;
        Some(Failure::new(FailureKind::Trap, trap.to_string()))
    }

    /// Records a page, so that places that yield only copies are avoided. Returns the page that it is a copy of.
    pub(crate) fn page_read(&mut self, url: &CanonicalUrl, simhash: u64) -> Option<UrlId> {
        self.traps.as_mut()?.page(url, simhash)
    }

    /// The reason not to follow a redirect, if there is one.
    pub(crate) fn redirected(&mut self, from: &CanonicalUrl, to: &CanonicalUrl) -> Option<Failure> {
        let trap = self.traps.as_mut()?.redirected(from, to)?;
        Some(Failure::new(FailureKind::Trap, trap.to_string()))
    }

    /// Rebuilds the trap state from the fetches of earlier runs.
    pub(crate) fn recall(
        &mut self,
        next_seq: u64,
        store: &dyn StoreReader,
    ) -> Result<(), porthole_store::Error> {
        const AT_ONCE: usize = 4_096;
        let Some(traps) = self.traps.as_mut().filter(|_| !self.is_recalled && next_seq > 0) else {
            return Ok(());
        };
        self.is_recalled = true;
        // Older pages would not fit into memory.
        let mut after = next_seq.checked_sub(FINGERPRINTS as u64 + 1);
        loop {
            let tried = store.tried(after, AT_ONCE)?;
            let Some(last) = tried.last() else { return Ok(()) };
            after = Some(last.seq);
            let was_checked =
                |tried: &&TriedUrl| !matches!(tried.failure.as_deref(), Some("scope" | "robots"));
            for tried in tried.iter().filter(was_checked) {
                if let Ok(url) = CanonicalUrl::parse(&tried.url) {
                    traps.replay(&url, tried.simhash, tried.at);
                }
            }
        }
    }
}
