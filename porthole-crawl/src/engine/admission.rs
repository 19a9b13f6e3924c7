//! Which URLs of the frontier are worth a request: those within the scope that are no traps.

use std::sync::Arc;

use porthole_store::{StoreReader, TriedUrl};
use porthole_types::{CanonicalUrl, Failure, FailureKind, Timestamp, UrlId, Work};

use crate::scope::Scope;
use crate::traps::Traps;

/// Pages that near-duplicates are recognised among, 36 bytes each.
const FINGERPRINTS: usize = 1 << 20;

/// Decides which URLs are offered to the network half.
#[derive(Default)]
pub(crate) struct Admission {
    pub(crate) scope: Arc<Scope>,
    /// `None` in a replay, which has an end.
    traps: Option<Traps>,
    /// Whether the traps of earlier runs are known.
    is_recalled: bool,
}

impl Admission {
    pub(crate) fn watch_for_traps(&mut self) {
        self.traps = Some(Traps::new(FINGERPRINTS));
    }

    /// Why a URL is not to be fetched, if it is not.
    pub(crate) fn refusal(&mut self, work: &Work, pages_of_site: u64, now: Timestamp) -> Option<Failure> {
        if let Err(why) = self.scope.admits(&work.url, work.depth, pages_of_site) {
            return Some(Failure::new(FailureKind::Scope, why.to_string()));
        }
        let trap = self.traps.as_mut()?.check(&work.url, now)?;
        Some(Failure::new(FailureKind::Trap, trap.to_string()))
    }

    /// Takes note of a page: places that yield nothing but copies are left alone. The page that it is a copy of.
    pub(crate) fn page_read(&mut self, url: &CanonicalUrl, simhash: u64) -> Option<UrlId> {
        self.traps.as_mut()?.page(url, simhash)
    }

    /// Why a redirect leads no further, if it does not.
    pub(crate) fn redirected(&mut self, from: &CanonicalUrl, to: &CanonicalUrl) -> Option<Failure> {
        let trap = self.traps.as_mut()?.redirected(from, to)?;
        Some(Failure::new(FailureKind::Trap, trap.to_string()))
    }

    /// Learns the traps of earlier runs from what was tried then.
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
        // More could not be kept in memory.
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
