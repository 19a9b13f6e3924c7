//! Recognises URLs that make the process die: those that were under way each time it did.
//!
//! What is under way is written down with every commit, and before the first one of a run after every start of a
//! request. A clean stop erases it. Whoever opens the crawl and finds it there knows that the last run died.

use std::collections::{HashMap, HashSet};

use porthole_store::{Store, WorkspaceWriter};
use porthole_types::{Failure, FailureKind, Outcome, PageResult, Timestamp, UrlId};

use super::writer::PendingResult;
use crate::result::empty_result;

/// A URL that was under way at this many deaths in a row is not tried again.
const MAX_DEATHS: u32 = 3;

/// The setting that lists what is under way, as `oid:deaths` in hexadecimal, separated by spaces.
const UNDER_WAY: &str = "crawl.under_way";

/// What is under way, and at how many deaths each of it was.
#[derive(Default)]
pub(crate) struct CrashGuard {
    under_way: HashSet<UrlId, foldhash::fast::FixedState>,
    /// Of URLs that have not been dealt with since the last death.
    deaths: HashMap<UrlId, u32, foldhash::fast::FixedState>,
    /// The setting as it stands in the database.
    written: String,
    has_committed: bool,
}

impl CrashGuard {
    /// Reads what the last run left, if it died.
    pub(crate) fn open(store: &dyn WorkspaceWriter) -> Result<CrashGuard, porthole_store::Error> {
        let written = store.setting(UNDER_WAY)?.unwrap_or_default();
        let parse = |entry: &str| {
            let (oid, deaths) = entry.split_once(':')?;
            let deaths = u32::from_str_radix(deaths, 16).ok()?;
            Some((UrlId(u64::from_str_radix(oid, 16).ok()?), deaths.saturating_add(1)))
        };
        let deaths = written.split(' ').filter_map(parse).collect();
        Ok(CrashGuard { deaths, written, ..CrashGuard::default() })
    }

    /// The URLs that have been there too often, taken from the queue, with the result that ends them.
    pub(crate) fn drop_deadly(
        &mut self,
        store: &mut dyn Store,
        now: Timestamp,
    ) -> Result<Vec<PendingResult>, porthole_store::Error> {
        let deadly: Vec<UrlId> =
            self.deaths.iter().filter(|(_, deaths)| **deaths >= MAX_DEATHS).map(|(oid, _)| *oid).collect();
        self.deaths.retain(|_, deaths| *deaths < MAX_DEATHS);
        // Not before they are due: what waits for another try is looked at again then.
        let work = store.take_these(&deadly, Timestamp(i64::MAX))?;
        let pending = |work| {
            let detail = format!("the program died {MAX_DEATHS} times while this was fetched or read");
            let outcome = Outcome::Dead(Failure::new(FailureKind::Crash, detail));
            let result = PageResult { outcome, ..empty_result(&work, now) };
            PendingResult { work, result, took: std::time::Duration::ZERO }
        };
        Ok(work.into_iter().map(pending).collect())
    }

    pub(crate) fn started(&mut self, oid: UrlId) {
        self.under_way.insert(oid);
    }

    /// The request was not sent after all.
    pub(crate) fn unsent(&mut self, oid: UrlId) {
        self.under_way.remove(&oid);
    }

    pub(crate) fn finished(&mut self, oid: UrlId) {
        self.under_way.remove(&oid);
        self.deaths.remove(&oid);
    }

    /// The setting, if it has changed, to be committed with results.
    pub(crate) fn setting(&mut self) -> Option<(&'static str, String)> {
        self.has_committed = true;
        self.changed()
    }

    /// Writes what is under way, as long as no commit has done so.
    pub(crate) fn note_first(
        &mut self,
        store: &mut dyn WorkspaceWriter,
    ) -> Result<(), porthole_store::Error> {
        if !self.has_committed
            && let Some((name, value)) = self.changed()
        {
            store.set_setting(name, &value)?;
        }
        Ok(())
    }

    /// Says that the run has ended without dying.
    pub(crate) fn close(&mut self, store: &mut dyn WorkspaceWriter) -> Result<(), porthole_store::Error> {
        if !self.written.is_empty() {
            self.written.clear();
            store.set_setting(UNDER_WAY, "")?;
        }
        Ok(())
    }

    fn changed(&mut self) -> Option<(&'static str, String)> {
        let mut entries: Vec<(u64, u32)> =
            self.under_way.iter().map(|oid| (oid.0, self.deaths.get(oid).copied().unwrap_or(0))).collect();
        // Not yet started again, so not yet cleared of suspicion.
        let waiting = self.deaths.iter().filter(|(oid, _)| !self.under_way.contains(oid));
        entries.extend(waiting.map(|(oid, deaths)| (oid.0, deaths - 1)));
        entries.sort_unstable();
        let entries: Vec<String> =
            entries.iter().map(|(oid, deaths)| format!("{oid:x}:{deaths:x}")).collect();
        let value = entries.join(" ");
        if value == self.written {
            return None;
        }
        self.written.clone_from(&value);
        Some((UNDER_WAY, value))
    }
}

#[cfg(test)]
mod tests {
    use porthole_types::CanonicalUrl;

    use super::*;
    use crate::engine::tests::scratch;

    #[test]
    fn what_is_under_way_at_several_deaths_is_dropped_and_nothing_else() {
        let (_folder, mut store) = scratch();
        let [deadly, slow, good] =
            ["a", "b", "c"].map(|host| CanonicalUrl::parse(&format!("http://{host}.test/")).unwrap());
        let new = |url: &CanonicalUrl| porthole_types::NewUrl {
            url: url.clone(),
            relevance: 1.0,
            priority: 1.0,
            depth: 0,
        };
        store.add(&[new(&deadly), new(&slow), new(&good)]).unwrap();
        for death in 0..MAX_DEATHS {
            let mut guard = CrashGuard::open(&store).unwrap();
            assert!(guard.drop_deadly(&mut store, Timestamp(0)).unwrap().is_empty(), "death {death}");
            guard.started(deadly.id());
            guard.started(if death == 1 { slow.id() } else { good.id() });
            guard.note_first(&mut store).unwrap();
            if death == 1 {
                guard.finished(good.id());
                let (name, value) = guard.setting().unwrap();
                store.set_setting(name, &value).unwrap();
            }
        }
        let mut guard = CrashGuard::open(&store).unwrap();
        let dropped = guard.drop_deadly(&mut store, Timestamp(0)).unwrap();
        let urls: Vec<_> = dropped.iter().map(|pending| &pending.work.url).collect();
        assert_eq!(urls, [&deadly]);
        assert!(matches!(&dropped[0].result.outcome, Outcome::Dead(why) if why.kind == FailureKind::Crash));
        guard.close(&mut store).unwrap();
        assert!(CrashGuard::open(&store).unwrap().deaths.is_empty());
    }
}
