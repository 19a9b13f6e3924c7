//! Whose fault a failure is: that of a site, or of the way to all of them.
//!
//! A request that finds nobody says little by itself: the site may be down, or the network, the resolver or the proxy. So
//! such a failure is kept in doubt until a request that began later is answered: then the way was free, and the site is to
//! blame. If many sites fail and nobody answers, no more requests are made but one probe at a time, at growing intervals, to
//! sites that have answered before if there are any. If these fail, too, it is an outage, and whatever failed in it counts as
//! not sent. The first answer to a probe ends it.
//!
//! Pure: time and the numbers of requests come in with every call.

use std::collections::HashSet;
use std::time::Duration;

use porthole_types::{SiteId, Timestamp};

use super::network::JobId;

/// So many sites in a row, and no more requests are made but probes.
const MANY: usize = 8;

/// The same where nobody is known who has ever answered: the first sites of a crawl may all be dead.
const MANY_UNKNOWN: usize = 64;

/// Nothing has come through for so long: it is an outage.
const ANNOUNCED_AFTER: Duration = Duration::from_secs(5);

/// The first time between two probes; twice as long after each.
const FIRST_INTERVAL: Duration = Duration::from_secs(1);

/// The longest time between two probes.
const LONGEST_INTERVAL: Duration = Duration::from_secs(60);

/// Where nobody is known who has ever answered, failures of probes count from then on: all may be gone for good.
const LONGEST_UNPROVEN: Duration = Duration::from_secs(600);

/// A failure is not kept in doubt for longer, if there are not many.
const LONGEST_DOUBT: Duration = Duration::from_secs(30);

/// Watches whether requests, or look-ups, get through. `T` is what has to be done when that is known.
pub(crate) struct Reachability<T> {
    doubts: Vec<Doubt<T>>,
    suspension: Option<Suspension>,
    /// So many sites are many.
    many: usize,
    /// Requests that began before this one and fail did so in an outage that is over.
    excused_before: JobId,
}

/// A failure that may be anybody's fault.
struct Doubt<T> {
    id: JobId,
    site: SiteId,
    at: Timestamp,
    /// `None` where it is known to be our own.
    failed: Option<T>,
}

/// No requests are made but probes.
struct Suspension {
    since: Timestamp,
    /// Requests from this one on began within it.
    first: JobId,
    probe: Option<JobId>,
    next_probe: Timestamp,
    interval: Duration,
    has_probed: bool,
    /// What went wrong last.
    why: String,
    is_announced: bool,
}

/// A request that failed.
pub(crate) struct Attempt<'a> {
    pub(crate) id: JobId,
    pub(crate) site: SiteId,
    /// Nothing was sent, for a reason on this side.
    pub(crate) is_ours: bool,
    /// Somebody is asked who has answered before, so that an outage can be told from dead sites.
    pub(crate) is_provable: bool,
    pub(crate) why: &'a str,
}

/// What is to be done about a failure.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Blame<T> {
    /// Nothing yet.
    Doubtful,
    /// It counts as not sent.
    Excused(T),
    /// The site is to blame.
    Own(T),
}

/// An outage begins, with what went wrong, or is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OutageNews {
    Began(String),
    Over(Duration),
}

impl<T> Default for Reachability<T> {
    fn default() -> Self {
        Reachability { doubts: Vec::new(), suspension: None, many: MANY, excused_before: 0 }
    }
}

impl<T> Reachability<T> {
    /// A request failed. The next one to begin has the number `next_job`.
    pub(crate) fn failed(
        &mut self,
        attempt: &Attempt<'_>,
        failed: T,
        next_job: JobId,
        now: Timestamp,
    ) -> Blame<T> {
        let &Attempt { id, site, is_ours, is_provable, why } = attempt;
        self.many = if is_provable { MANY } else { MANY_UNKNOWN };
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
        if self.suspension.is_none() && self.is_many() {
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

    /// A request was answered. The failures that are known by this to be those of their sites, and whether an outage is
    /// over.
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
        if self.suspension.as_ref().is_some_and(|suspension| !suspension.is_announced) && !self.is_many() {
            self.suspension = None;
        }
        (own, news)
    }

    /// The way is known to be free by something else: requests of any kind may begin. Whether an outage is over.
    pub(crate) fn resume(&mut self, next_job: JobId, now: Timestamp) -> Option<OutageNews> {
        let suspension = self.suspension.take().filter(|suspension| suspension.is_announced)?;
        self.excused_before = next_job;
        Some(OutageNews::Over(now.since(suspension.since)))
    }

    /// Announces an outage when it is time: what failed in it counts as not sent. Not before a probe has failed, if
    /// `must_probe`.
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

    /// The failures that have been in doubt for long: they are those of their sites.
    pub(crate) fn long_doubted(&mut self, now: Timestamp) -> Vec<T> {
        if self.suspension.is_some() {
            return Vec::new();
        }
        self.take(|doubt| now.since(doubt.at) >= LONGEST_DOUBT)
    }

    /// All failures in doubt, because nothing is under way that could tell whose they are.
    pub(crate) fn undecidable(&mut self) -> Vec<T> {
        if self.suspension.is_some() { Vec::new() } else { self.take(|_| true) }
    }

    /// Whether a request may begin: any, or a probe.
    pub(crate) fn may_begin(&self, now: Timestamp) -> bool {
        self.suspension
            .as_ref()
            .is_none_or(|suspension| suspension.probe.is_none() && now >= suspension.next_probe)
    }

    /// A request begins.
    pub(crate) fn began(&mut self, id: JobId) {
        if let Some(suspension) = &mut self.suspension {
            suspension.probe = Some(id);
        }
    }

    /// Whether a request to this site has failed and it is not known why.
    pub(crate) fn is_in_doubt(&self, site: SiteId) -> bool {
        self.doubts.iter().any(|doubt| doubt.site == site)
    }

    /// When the last request to this site failed of which it is not known why.
    pub(crate) fn doubted_at(&self, site: SiteId) -> Option<Timestamp> {
        self.doubts.iter().filter(|doubt| doubt.site == site).map(|doubt| doubt.at).max()
    }

    /// Whether only probes are made.
    pub(crate) fn is_suspended(&self) -> bool {
        self.suspension.is_some()
    }

    /// Whether failures are in doubt, or only probes are made.
    pub(crate) fn is_open(&self) -> bool {
        self.suspension.is_some() || !self.doubts.is_empty()
    }

    /// When something is due by itself.
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

    /// Whether many have failed. A site counts once, a fault of our own each time.
    fn is_many(&self) -> bool {
        let ours = self.doubts.iter().filter(|doubt| doubt.failed.is_none()).count();
        let sites: HashSet<SiteId> =
            self.doubts.iter().filter(|doubt| doubt.failed.is_some()).map(|doubt| doubt.site).collect();
        ours >= MANY || ours + sites.len() >= self.many
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

    /// Failures of as many sites; every request is the one after the one before.
    fn fail(way: &mut Reachability<u64>, ids: std::ops::Range<u64>, now: Timestamp) -> Vec<Blame<u64>> {
        let next = ids.end;
        ids.map(|id| fail_one(way, id, SiteId(id), next, now)).collect()
    }

    fn fail_one(way: &mut Reachability<u64>, id: u64, site: SiteId, next: u64, now: Timestamp) -> Blame<u64> {
        way.failed(&Attempt { id, site, is_ours: false, is_provable: true, why: "refused" }, id, next, now)
    }

    #[test]
    fn a_failure_is_its_sites_when_a_later_request_is_answered() {
        let mut way = Reachability::default();
        assert_eq!(fail(&mut way, 3..5, at(0)), [Blame::Doubtful, Blame::Doubtful]);
        assert_eq!(way.answered(2, 9, at(1)), (vec![], None), "it may have gone out before");
        assert_eq!(way.answered(4, 9, at(1)), (vec![3], None));
        assert_eq!(way.next_due(), Some(at(30)));
        assert_eq!(way.long_doubted(at(29)), [0; 0]);
        assert_eq!(way.long_doubted(at(30)), [4]);
        assert!(!way.is_open());
    }

    #[test]
    fn when_all_fail_there_are_probes_at_growing_intervals_until_one_is_answered() {
        let mut way = Reachability::default();
        fail(&mut way, 0..20, at(0));
        assert!(way.is_suspended() && way.may_begin(at(0)));
        assert_eq!(way.answered(5, 20, at(0)), (vec![0, 1, 2, 3, 4], None), "begun before");
        let mut probes = Vec::new();
        let mut excused = Vec::new();
        for second in 0..200 {
            if way.may_begin(at(second)) {
                let id = 20 + probes.len() as u64;
                way.began(id);
                assert!(!way.may_begin(at(second)), "one at a time");
                match fail_one(&mut way, id, SiteId(id), id + 1, at(second)) {
                    Blame::Excused(id) => excused.push(id),
                    Blame::Doubtful | Blame::Own(_) => {}
                }
                probes.push(second);
            }
            if let Some((back, news)) = way.announce(true, at(second)) {
                assert_eq!((second, news), (5, OutageNews::Began("refused".to_owned())));
                excused.extend(back);
            }
        }
        assert_eq!(probes, [0, 1, 3, 7, 15, 31, 63, 123, 183]);
        assert_eq!(excused.len(), 15 + probes.len(), "all that failed since then, and nobody is to blame");
        way.began(40);
        assert_eq!(way.answered(40, 41, at(250)), (vec![], Some(OutageNews::Over(Duration::from_secs(250)))));
        assert!(!way.is_open() && way.may_begin(at(250)));
        // One that went out in the outage and gives up only now.
        assert_eq!(fail_one(&mut way, 39, SiteId(1), 41, at(251)), Blame::Excused(39));
        assert_eq!(fail_one(&mut way, 41, SiteId(1), 42, at(251)), Blame::Doubtful);
    }

    #[test]
    fn our_own_faults_are_nobodys_and_few_sites_are_no_outage() {
        let mut way = Reachability::default();
        let ours = |way: &mut Reachability<u64>, id| {
            way.failed(
                &Attempt { id, site: SiteId(1), is_ours: true, is_provable: true, why: "no route" },
                id,
                id + 1,
                at(0),
            )
        };
        for id in 0..7 {
            assert_eq!(ours(&mut way, id), Blame::Excused(id));
        }
        assert!(!way.is_suspended());
        assert_eq!(ours(&mut way, 7), Blame::Excused(7));
        assert!(way.is_suspended(), "eight times, whatever the site");
        let mut way = Reachability::default();
        for id in 0..20 {
            fail_one(&mut way, id, SiteId(id % 7), id + 1, at(0));
        }
        assert!(!way.is_suspended());
        assert_eq!(way.undecidable().len(), 20);
    }

    #[test]
    fn doubts_are_settled_one_by_one_while_something_else_gets_through() {
        let mut way = Reachability::default();
        fail(&mut way, 0..MANY_UNKNOWN as u64, at(0));
        assert!(way.is_suspended() && way.long_doubted(at(40)).is_empty());
        assert_eq!(way.resume(100, at(1)), None, "nobody was told of an outage");
        assert!(!way.is_suspended() && way.may_begin(at(1)));
        assert_eq!(way.long_doubted(at(40)).len(), MANY_UNKNOWN);
    }
}
