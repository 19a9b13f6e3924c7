//! Decides whether a failure is the fault of one site, or of the connection to all of them.
//!
//! A request that reaches nobody says little by itself: the site may be down, or the network, the resolver or the
//! proxy. Such a failure is held in doubt until a request that started later is answered. Then the connection worked,
//! and the site is to blame. If many sites fail and none answers, requests are suspended except for one probe at a
//! time, at growing intervals, preferably to sites that answered before. If the probes fail too, it is an outage, and
//! requests that failed in it count as not sent. The first answer to a probe ends the outage.
//!
//! Pure: time and job ids are passed in.

use std::collections::HashSet;
use std::time::Duration;

use porthole_types::{SiteId, Timestamp};

use super::network::JobId;

/// Number of sites that fail in a row before requests are suspended.
const SUSPICIOUS: usize = 8;

/// The same while no site has ever answered: the first sites of a crawl may all be dead.
const SUSPICIOUS_UNPROVEN: usize = 64;

/// An outage is announced if nothing got through for this long.
const ANNOUNCED_AFTER: Duration = Duration::from_secs(5);

/// Time before the second probe. It doubles after each probe.
const FIRST_INTERVAL: Duration = Duration::from_secs(1);

/// Maximum time between two probes.
const LONGEST_INTERVAL: Duration = Duration::from_secs(60);

/// If no site has ever answered, failed probes count against their sites after this time: all of them may be gone for
/// good.
const LONGEST_UNPROVEN: Duration = Duration::from_secs(600);

/// Maximum time a failure is held in doubt, unless many sites fail.
const LONGEST_DOUBT: Duration = Duration::from_secs(30);

/// Watches whether requests, or lookups, get through. `T` is what has to be settled once that is known.
pub(crate) struct Reachability<T> {
    doubts: Vec<Doubt<T>>,
    suspension: Option<Suspension>,
    /// Number of failing sites that suspends requests.
    suspicious_count: usize,
    /// Requests with a smaller id started in an outage that is over. If they fail, they are excused.
    excused_before: JobId,
}

/// A failure whose cause is unknown.
struct Doubt<T> {
    id: JobId,
    site: SiteId,
    at: Timestamp,
    /// `None` if the cause is known to be on this machine.
    failed: Option<T>,
}

/// A period in which only probes are sent.
struct Suspension {
    since: Timestamp,
    /// Jobs from this id on started within the suspension.
    first: JobId,
    probe: Option<JobId>,
    next_probe: Timestamp,
    interval: Duration,
    has_probed: bool,
    /// The last error message.
    why: String,
    is_announced: bool,
}

/// A failed request.
pub(crate) struct Attempt<'a> {
    pub(crate) id: JobId,
    pub(crate) site: SiteId,
    /// Nothing was sent, for a reason on this machine.
    pub(crate) is_ours: bool,
    /// A site that answered before can be probed, which tells an outage from dead sites.
    pub(crate) is_provable: bool,
    pub(crate) why: &'a str,
}

/// The verdict on a failure.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Blame<T> {
    /// Not known yet.
    Doubtful,
    /// Not the site's fault. It counts as not sent.
    Excused(T),
    /// The site is to blame.
    Own(T),
}

/// An outage began (with the last error), or ended after this time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OutageNews {
    Began(String),
    Over(Duration),
}

impl<T> Default for Reachability<T> {
    fn default() -> Self {
        Reachability { doubts: Vec::new(), suspension: None, suspicious_count: SUSPICIOUS, excused_before: 0 }
    }
}

impl<T> Reachability<T> {
    /// Records a failed request. `next_job` is the id of the next request to start.
    pub(crate) fn failed(
        &mut self,
        attempt: &Attempt<'_>,
        failed: T,
        next_job: JobId,
        now: Timestamp,
    ) -> Blame<T> {
        let &Attempt { id, site, is_ours, is_provable, why } = attempt;
        self.suspicious_count = if is_provable { SUSPICIOUS } else { SUSPICIOUS_UNPROVEN };
        if let Some(suspension) = &mut self.suspension {
            why.clone_into(&mut suspension.why);
            if suspension.probe == Some(id) {
                suspension.probe = None;
                suspension.has_probed = true;
                suspension.next_probe = now.after(suspension.interval);
                suspension.interval = (2 * suspension.interval).min(LONGEST_INTERVAL);
            }
            let has_expired = !is_provable && now.since(suspension.since) >= LONGEST_UNPROVEN;
            if suspension.is_announced {
                return if has_expired && !is_ours { Blame::Own(failed) } else { Blame::Excused(failed) };
            }
        } else if id < self.excused_before {
            return Blame::Excused(failed);
        }
        let (failed, verdict) =
            if is_ours { (None, Blame::Excused(failed)) } else { (Some(failed), Blame::Doubtful) };
        self.doubts.push(Doubt { id, site, at: now, failed });
        if self.suspension.is_none() && self.is_suspicious() {
            self.suspension = Some(Suspension {
                since: now,
                first: next_job,
                probe: None,
                next_probe: now,
                interval: FIRST_INTERVAL,
                has_probed: false,
                why: why.to_owned(),
                is_announced: false,
            });
        }
        verdict
    }

    /// Records an answer. Returns the failures that are now known to be the fault of their sites, and whether an
    /// outage ended.
    pub(crate) fn answered(
        &mut self,
        id: JobId,
        next_job: JobId,
        now: Timestamp,
    ) -> (Vec<T>, Option<OutageNews>) {
        let own = self.take(|doubt| doubt.id < id);
        let mut news = None;
        if let Some(suspension) = self.suspension.take_if(|suspension| id >= suspension.first)
            && suspension.is_announced
        {
            self.excused_before = next_job;
            news = Some(OutageNews::Over(now.since(suspension.since)));
        }
        if self.suspension.as_ref().is_some_and(|suspension| !suspension.is_announced)
            && !self.is_suspicious()
        {
            self.suspension = None;
        }
        (own, news)
    }

    /// Ends the suspension because the connection is known to work by other means. Returns whether an outage ended.
    pub(crate) fn resume(&mut self, next_job: JobId, now: Timestamp) -> Option<OutageNews> {
        let suspension = self.suspension.take().filter(|suspension| suspension.is_announced)?;
        self.excused_before = next_job;
        Some(OutageNews::Over(now.since(suspension.since)))
    }

    /// Announces an outage when it is due, and returns the failures that count as not sent. With `must_probe`, a
    /// probe must have failed first.
    pub(crate) fn announce(&mut self, must_probe: bool, now: Timestamp) -> Option<(Vec<T>, OutageNews)> {
        let suspension = self.suspension.as_mut().filter(|suspension| {
            !suspension.is_announced
                && suspension.probe.is_none()
                && (suspension.has_probed || !must_probe)
                && now.since(suspension.since) >= ANNOUNCED_AFTER
        })?;
        suspension.is_announced = true;
        let why = suspension.why.clone();
        Some((self.take(|_| true), OutageNews::Began(why)))
    }

    /// Removes the failures that were in doubt for too long. They are the fault of their sites.
    pub(crate) fn expired_doubts(&mut self, now: Timestamp) -> Vec<T> {
        if self.suspension.is_some() {
            return Vec::new();
        }
        self.take(|doubt| now.since(doubt.at) >= LONGEST_DOUBT)
    }

    /// Removes all failures in doubt, because nothing in flight could resolve them.
    pub(crate) fn undecidable(&mut self) -> Vec<T> {
        if self.suspension.is_some() { Vec::new() } else { self.take(|_| true) }
    }

    /// Whether a request may start: any request, or a probe during a suspension.
    pub(crate) fn may_begin(&self, now: Timestamp) -> bool {
        self.suspension
            .as_ref()
            .is_none_or(|suspension| suspension.probe.is_none() && now >= suspension.next_probe)
    }

    /// Records the start of a request.
    pub(crate) fn began(&mut self, id: JobId) {
        if let Some(suspension) = &mut self.suspension {
            suspension.probe = Some(id);
        }
    }

    /// Whether a failure of this site is in doubt.
    pub(crate) fn is_in_doubt(&self, site: SiteId) -> bool {
        self.doubts.iter().any(|doubt| doubt.site == site)
    }

    /// Time of the last failure of a request to this site whose cause is not settled.
    pub(crate) fn doubted_at(&self, site: SiteId) -> Option<Timestamp> {
        self.doubts.iter().filter(|doubt| doubt.site == site).map(|doubt| doubt.at).max()
    }

    /// Whether only probes are sent.
    pub(crate) fn is_suspended(&self) -> bool {
        self.suspension.is_some()
    }

    /// Whether failures are in doubt, or only probes are sent.
    pub(crate) fn is_open(&self) -> bool {
        self.suspension.is_some() || !self.doubts.is_empty()
    }

    /// The next time at which something is due without an event.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        match &self.suspension {
            Some(suspension) => {
                let announced = suspension.since.after(ANNOUNCED_AFTER);
                let probe = Some(suspension.next_probe).filter(|_| suspension.probe.is_none());
                probe.into_iter().chain(Some(announced).filter(|_| !suspension.is_announced)).min()
            }
            None => self.doubts.iter().map(|doubt| doubt.at.after(LONGEST_DOUBT)).min(),
        }
    }

    /// Whether enough requests failed to suspend the others. A site counts once, a local error every time.
    fn is_suspicious(&self) -> bool {
        let ours = self.doubts.iter().filter(|doubt| doubt.failed.is_none()).count();
        let sites: HashSet<SiteId> =
            self.doubts.iter().filter(|doubt| doubt.failed.is_some()).map(|doubt| doubt.site).collect();
        ours >= SUSPICIOUS || ours + sites.len() >= self.suspicious_count
    }

    fn take(&mut self, is_taken: impl Fn(&Doubt<T>) -> bool) -> Vec<T> {
        self.doubts.extract_if(.., |doubt| is_taken(doubt)).filter_map(|doubt| doubt.failed).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp(seconds * 1_000)
    }

    /// Fails requests `ids`, each to a site of its own.
    fn fail(
        reachability: &mut Reachability<u64>,
        ids: std::ops::Range<u64>,
        now: Timestamp,
    ) -> Vec<Blame<u64>> {
        let next = ids.end;
        ids.map(|id| fail_one(reachability, id, SiteId(id), next, now)).collect()
    }

    fn fail_one(
        reachability: &mut Reachability<u64>,
        id: u64,
        site: SiteId,
        next: u64,
        now: Timestamp,
    ) -> Blame<u64> {
        reachability.failed(
            &Attempt { id, site, is_ours: false, is_provable: true, why: "refused" },
            id,
            next,
            now,
        )
    }

    #[test]
    fn a_later_answer_blames_the_failed_site() {
        let mut reachability = Reachability::default();
        assert_eq!(fail(&mut reachability, 3..5, at(0)), [Blame::Doubtful, Blame::Doubtful]);
        assert_eq!(reachability.answered(2, 9, at(1)), (vec![], None), "it may have been sent before");
        assert_eq!(reachability.answered(4, 9, at(1)), (vec![3], None));
        assert_eq!(reachability.next_due(), Some(at(30)));
        assert_eq!(reachability.expired_doubts(at(29)), [0; 0]);
        assert_eq!(reachability.expired_doubts(at(30)), [4]);
        assert!(!reachability.is_open());
    }

    #[test]
    fn probes_grow_rarer_until_one_is_answered() {
        let mut reachability = Reachability::default();
        fail(&mut reachability, 0..20, at(0));
        assert!(reachability.is_suspended() && reachability.may_begin(at(0)));
        assert_eq!(
            reachability.answered(5, 20, at(0)),
            (vec![0, 1, 2, 3, 4], None),
            "started before the suspension"
        );
        let mut probes = Vec::new();
        let mut excused = Vec::new();
        for second in 0..200 {
            if reachability.may_begin(at(second)) {
                let id = 20 + probes.len() as u64;
                reachability.began(id);
                assert!(!reachability.may_begin(at(second)), "one at a time");
                match fail_one(&mut reachability, id, SiteId(id), id + 1, at(second)) {
                    Blame::Excused(id) => excused.push(id),
                    Blame::Doubtful | Blame::Own(_) => {}
                }
                probes.push(second);
            }
            if let Some((back, news)) = reachability.announce(true, at(second)) {
                assert_eq!((second, news), (5, OutageNews::Began("refused".to_owned())));
                excused.extend(back);
            }
        }
        assert_eq!(probes, [0, 1, 3, 7, 15, 31, 63, 123, 183]);
        assert_eq!(excused.len(), 15 + probes.len(), "all failures since then are excused");
        reachability.began(40);
        assert_eq!(
            reachability.answered(40, 41, at(250)),
            (vec![], Some(OutageNews::Over(Duration::from_secs(250))))
        );
        assert!(!reachability.is_open() && reachability.may_begin(at(250)));
        // It was sent during the outage and fails only now.
        assert_eq!(fail_one(&mut reachability, 39, SiteId(1), 41, at(251)), Blame::Excused(39));
        assert_eq!(fail_one(&mut reachability, 41, SiteId(1), 42, at(251)), Blame::Doubtful);
    }

    #[test]
    fn local_errors_are_excused_and_few_sites_are_no_outage() {
        let mut reachability = Reachability::default();
        let ours = |reachability: &mut Reachability<u64>, id| {
            reachability.failed(
                &Attempt { id, site: SiteId(1), is_ours: true, is_provable: true, why: "no route" },
                id,
                id + 1,
                at(0),
            )
        };
        for id in 0..7 {
            assert_eq!(ours(&mut reachability, id), Blame::Excused(id));
        }
        assert!(!reachability.is_suspended());
        assert_eq!(ours(&mut reachability, 7), Blame::Excused(7));
        assert!(reachability.is_suspended(), "eight local errors, whatever the site");
        let mut reachability = Reachability::default();
        for id in 0..20 {
            fail_one(&mut reachability, id, SiteId(id % 7), id + 1, at(0));
        }
        assert!(!reachability.is_suspended());
        assert_eq!(reachability.undecidable().len(), 20);
    }

    #[test]
    fn a_suspension_ends_when_other_requests_get_through() {
        let mut reachability = Reachability::default();
        fail(&mut reachability, 0..SUSPICIOUS_UNPROVEN as u64, at(0));
        assert!(reachability.is_suspended() && reachability.expired_doubts(at(40)).is_empty());
        assert_eq!(reachability.resume(100, at(1)), None, "no outage was announced");
        assert!(!reachability.is_suspended() && reachability.may_begin(at(1)));
        assert_eq!(reachability.expired_doubts(at(40)).len(), SUSPICIOUS_UNPROVEN);
    }
}
