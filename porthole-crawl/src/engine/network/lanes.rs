//! The requests in flight and the slots that they occupy.
//!
//! A request occupies a slot of its lane until it is answered, or until it has been running for [`SLOW_AFTER`]. After
//! [`LATE_AFTER`] the crawl no longer counts on its answer: another page may be fetched in its place.

use std::collections::BTreeMap;
use std::time::Duration;

use porthole_types::{CanonicalUrl, SiteId, Timestamp, Work};

use super::{Gate, JobId};
use crate::backlinks::Question;
use crate::host::Flight;
use crate::robots::RobotsFetch;
use crate::sitemap::Sitemap;

/// A request in flight.
pub(super) struct Job {
    pub(super) purpose: Purpose,
    pub(super) site: SiteId,
    pub(super) flight: Option<Flight>,
    pub(super) gates: Vec<Gate>,
    pub(super) started: Timestamp,
    pub(super) lane: Lane,
}

/// What a request is for.
pub(super) enum Purpose {
    Page(Work),
    Robots(RobotsFetch),
    Sitemap(Sitemap),
    Backlinks(Question),
    /// Checks whether any request gets through.
    Probe(CanonicalUrl),
}

/// The kind of slot that a request occupies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// The site delivered its last page quickly.
    Quick,
    /// The first page of a site that has sent its robots.txt.
    Prepared,
    /// The site has not answered yet, or not quickly.
    Other,
    /// The request is slow and has released its slot.
    Slow,
    /// The request was aborted and its answer is pending.
    Aborted,
}

impl Lane {
    /// The lanes that a new request can have.
    pub(super) const OF_SITES: [Lane; 3] = [Lane::Quick, Lane::Prepared, Lane::Other];
}

/// A request that has been running for this long moves to the slow lane.
const SLOW_AFTER: Duration = Duration::from_secs(4);

/// A request that has been running for this long is late.
const LATE_AFTER: Duration = Duration::from_secs(2);

/// The requests in flight, in the order of dispatch.
#[derive(Default)]
pub(super) struct Jobs {
    by_id: BTreeMap<JobId, Job>,
    /// Number of requests by lane.
    counts: [usize; 5],
    /// Requests before these ids are late, or slow.
    late_before: JobId,
    slow_before: JobId,
    late_pages: u64,
}

impl Jobs {
    pub(super) fn insert(&mut self, id: JobId, job: Job) {
        self.counts[job.lane as usize] += 1;
        self.by_id.insert(id, job);
    }

    pub(super) fn remove(&mut self, id: JobId) -> Option<Job> {
        let job = self.by_id.remove(&id)?;
        self.counts[job.lane as usize] -= 1;
        self.late_pages -= u64::from(id < self.late_before && job.is_page());
        Some(job)
    }

    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Whether a request to this site is in flight.
    pub(super) fn has_site(&self, site: SiteId) -> bool {
        self.by_id.values().any(|job| job.site == site)
    }

    /// Number of requests in flight in a lane.
    pub(super) fn count(&self, lane: Lane) -> usize {
        self.counts[lane as usize]
    }

    /// Number of requests that occupy a slot.
    pub(super) fn in_slots(&self) -> usize {
        Lane::OF_SITES.iter().map(|lane| self.count(*lane)).sum()
    }

    /// Number of late pages in flight. They do not count towards the fetch limit.
    pub(super) fn late_pages(&self) -> u64 {
        self.late_pages
    }

    /// Whether an answer is expected soon: some request is not late yet.
    pub(super) fn expects_soon(&self) -> bool {
        self.by_id.range(self.late_before..).next().is_some()
    }

    /// Moves slow requests to the slow lane. If it holds more than `most`, marks the oldest as aborted and returns them.
    pub(super) fn move_slow(&mut self, most: usize, now: Timestamp) -> Vec<JobId> {
        let is_older = |job: &Job, age: Duration| now.since(job.started) >= age;
        for (&id, job) in self.by_id.range(self.late_before..) {
            if !is_older(job, LATE_AFTER) {
                break;
            }
            self.late_before = id + 1;
            self.late_pages += u64::from(job.is_page());
        }
        for (&id, job) in self.by_id.range_mut(self.slow_before..) {
            if !is_older(job, SLOW_AFTER) {
                break;
            }
            self.slow_before = id + 1;
            self.counts[job.lane as usize] -= 1;
            job.lane = Lane::Slow;
            self.counts[Lane::Slow as usize] += 1;
        }
        let too_many = self.count(Lane::Slow).saturating_sub(most);
        if too_many == 0 {
            return Vec::new();
        }
        let oldest = self.by_id.iter_mut().filter(|(_, job)| job.lane == Lane::Slow).take(too_many);
        let aborted: Vec<JobId> = oldest
            .map(|(&id, job)| {
                job.lane = Lane::Aborted;
                id
            })
            .collect();
        self.counts[Lane::Slow as usize] -= aborted.len();
        self.counts[Lane::Aborted as usize] += aborted.len();
        aborted
    }

    /// Time at which the next request becomes late or slow.
    pub(super) fn next_move(&self) -> Option<Timestamp> {
        let first = |from: JobId, age: Duration| {
            self.by_id.range(from..).next().map(|(_, job)| job.started.after(age))
        };
        let (late, slow) = (first(self.late_before, LATE_AFTER), first(self.slow_before, SLOW_AFTER));
        late.into_iter().chain(slow).min()
    }
}

impl Job {
    fn is_page(&self) -> bool {
        matches!(self.purpose, Purpose::Page(_))
    }
}
