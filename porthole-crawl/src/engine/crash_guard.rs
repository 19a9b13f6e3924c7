//! Recognises URLs that crash the process: those that were in flight at every crash.
//!
//! The URLs in flight are stored with every commit, and before the first commit of a run whenever a request starts. A
//! clean stop clears them. If they are found at open, the last run crashed.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use porthole_store::{Store, WorkspaceWriter};
use porthole_types::{Failure, FailureKind, Outcome, PageResult, Timestamp, UrlId};

use super::crawl::own_name;
use super::writer::PendingResult;
use crate::result::empty_result;

/// A URL that was in flight at this many crashes in a row is not tried again.
const MAX_CRASHES: u32 = 3;

/// Setting that lists the URLs in flight, as `oid:crashes` in hexadecimal, separated by spaces.
const UNDER_WAY: &str = "crawl.under_way";

/// The URLs in flight, and the number of crashes during each.
#[derive(Default)]
pub(crate) struct CrashGuard {
    under_way: HashSet<UrlId, foldhash::fast::FixedState>,
    /// Crash counts of URLs that have not been finished since the last crash.
    crashes: HashMap<UrlId, u32, foldhash::fast::FixedState>,
    /// The setting as stored in the database.
    written: String,
    has_committed: bool,
    /// Name of the setting.
    name: Cow<'static, str>,
}

impl CrashGuard {
    /// Reads the URLs that a crashed run left.
    pub(crate) fn open(store: &dyn Store) -> Result<CrashGuard, porthole_store::Error> {
        let name = own_name(store, UNDER_WAY);
        let written = store.setting(&name)?.unwrap_or_default();
        let parse = |entry: &str| {
            let (oid, crashes) = entry.split_once(':')?;
            let crashes = u32::from_str_radix(crashes, 16).ok()?;
            Some((UrlId(u64::from_str_radix(oid, 16).ok()?), crashes.saturating_add(1)))
        };
        let crashes = written.split(' ').filter_map(parse).collect();
        Ok(CrashGuard { crashes, written, name, ..CrashGuard::default() })
    }

    /// Takes the URLs with too many crashes from the queue and returns their final results.
    pub(crate) fn drop_crashing(
        &mut self,
        store: &mut dyn Store,
        now: Timestamp,
    ) -> Result<Vec<PendingResult>, porthole_store::Error> {
        let crashing: Vec<UrlId> = self
            .crashes
            .iter()
            .filter(|(_, crashes)| **crashes >= MAX_CRASHES)
            .map(|(oid, _)| *oid)
            .collect();
        self.crashes.retain(|_, crashes| *crashes < MAX_CRASHES);
        // Also those that wait for a retry: the time limit is ignored.
        let work = store.take_these(&crashing, Timestamp(i64::MAX))?;
        let pending = |work| {
            let detail = format!("the program crashed {MAX_CRASHES} times while this was fetched or read");
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
        self.crashes.remove(&oid);
    }

    /// The setting, if it has changed, to be committed with results.
    pub(crate) fn setting(&mut self) -> Option<(Cow<'static, str>, String)> {
        self.has_committed = true;
        self.changed()
    }

    /// Stores the URLs in flight until the first commit does.
    pub(crate) fn note_first(
        &mut self,
        store: &mut dyn WorkspaceWriter,
    ) -> Result<(), porthole_store::Error> {
        if !self.has_committed
            && let Some((name, value)) = self.changed()
        {
            store.set_setting(&name, &value)?;
        }
        Ok(())
    }

    /// Records a clean end of the run.
    pub(crate) fn close(&mut self, store: &mut dyn WorkspaceWriter) -> Result<(), porthole_store::Error> {
        if !self.written.is_empty() {
            self.written.clear();
            store.set_setting(&self.name, "")?;
        }
        Ok(())
    }

    fn changed(&mut self) -> Option<(Cow<'static, str>, String)> {
        let mut entries: Vec<(u64, u32)> =
            self.under_way.iter().map(|oid| (oid.0, self.crashes.get(oid).copied().unwrap_or(0))).collect();
        // Not restarted yet, so its crash count is kept.
        let waiting = self.crashes.iter().filter(|(oid, _)| !self.under_way.contains(oid));
        entries.extend(waiting.map(|(oid, crashes)| (oid.0, crashes - 1)));
        entries.sort_unstable();
        let entries: Vec<String> =
            entries.iter().map(|(oid, crashes)| format!("{oid:x}:{crashes:x}")).collect();
        let value = entries.join(" ");
        if value == self.written {
            return None;
        }
        self.written.clone_from(&value);
        Some((self.name.clone(), value))
    }
}

#[cfg(test)]
mod tests {
    use porthole_types::CanonicalUrl;

    use super::*;
    use crate::engine::tests::scratch;

    #[test]
    fn only_urls_in_flight_at_several_crashes_are_dropped() {
        let (_folder, mut store) = scratch();
        let [crashing, slow, good] =
            ["a", "b", "c"].map(|host| CanonicalUrl::parse(&format!("http://{host}.test/")).unwrap());
        let new = |url: &CanonicalUrl| porthole_types::NewUrl {
            url: url.clone(),
            relevance: 1.0,
            priority: 1.0,
            depth: 0,
        };
        store.add(&[new(&crashing), new(&slow), new(&good)]).unwrap();
        for crash in 0..MAX_CRASHES {
            let mut guard = CrashGuard::open(&store).unwrap();
            assert!(guard.drop_crashing(&mut store, Timestamp(0)).unwrap().is_empty(), "crash {crash}");
            guard.started(crashing.id());
            guard.started(if crash == 1 { slow.id() } else { good.id() });
            guard.note_first(&mut store).unwrap();
            if crash == 1 {
                guard.finished(good.id());
                let (name, value) = guard.setting().unwrap();
                store.set_setting(&name, &value).unwrap();
            }
        }
        let mut guard = CrashGuard::open(&store).unwrap();
        let dropped = guard.drop_crashing(&mut store, Timestamp(0)).unwrap();
        let urls: Vec<_> = dropped.iter().map(|pending| &pending.work.url).collect();
        assert_eq!(urls, [&crashing]);
        assert!(matches!(&dropped[0].result.outcome, Outcome::Dead(why) if why.kind == FailureKind::Crash));
        guard.close(&mut store).unwrap();
        assert!(CrashGuard::open(&store).unwrap().crashes.is_empty());
    }
}
