//! Requests under way, and the slots that they take.
//!
//! A request takes a slot of its lane until it is answered or has taken [`SLOW_AFTER`]. Nobody waits for one that has
//! taken [`LATE_AFTER`]: the page that it was to bring is asked for elsewhere.

use std::collections::BTreeMap;
use std::time::Duration;

use porthole_types::{CanonicalUrl, SiteId, Timestamp, Work};

use super::{Gate, JobId};
use crate::backlinks::Question;
use crate::host::Flight;
use crate::robots::RobotsFetch;
use crate::sitemap::Sitemap;

/// A request under way.
pub(super) struct Job {
    pub(super) what: What,
    pub(super) site: SiteId,
    pub(super) flight: Option<Flight>,
    pub(super) gates: Vec<Gate>,
    pub(super) started: Timestamp,
    pub(super) lane: Lane,
}

/// What a request is for.
pub(super) enum What {
    Page(Work),
    Robots(RobotsFetch),
    Sitemap(Sitemap),
    Backlinks(Question),
    /// Whether anything gets through.
    Probe(CanonicalUrl),
}

/// The slots that a request counts against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// Of a site that brought its last page quickly.
    Quick,
    /// For the first page of a site whose rules have come.
    Prepared,
    /// Of a site that has not answered yet, or not quickly.
    Other,
    /// It has taken long, and gave its slot to others.
    Slow,
    /// It has been given up and its answer is awaited.
    Aborted,
}

impl Lane {
    /// The lanes of sites, as opposed to those of requests that have taken long.
    pub(super) const OF_SITES: [Lane; 3] = [Lane::Quick, Lane::Prepared, Lane::Other];
}

/// A request that has taken so long leaves its slot for the slow lane.
const SLOW_AFTER: Duration = Duration::from_secs(4);

/// A request that has taken so long is not waited for.
const LATE_AFTER: Duration = Duration::from_secs(2);

/// Requests under way. Later ones have larger numbers, so they are in the order in which they began.
#[derive(Default)]
pub(super) struct Jobs {
    by_id: BTreeMap<JobId, Job>,
    /// By lane.
    counts: [usize; 5],
    /// Those before are late, and those before are slow.
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

    /// Whether a request to a site is under way.
    pub(super) fn has_site(&self, site: SiteId) -> bool {
        self.by_id.values().any(|job| job.site == site)
    }

    /// Requests under way in a lane.
    pub(super) fn count(&self, lane: Lane) -> usize {
        self.counts[lane as usize]
    }

    /// Requests that take a slot.
    pub(super) fn in_slots(&self) -> usize {
        Lane::OF_SITES.iter().map(|lane| self.count(*lane)).sum()
    }

    /// Pages under way that are late: they keep no others from being fetched.
    pub(super) fn late_pages(&self) -> u64 {
        self.late_pages
    }

    /// Whether an answer of a quick site is to be expected.
    pub(super) fn expects_quick(&self) -> bool {
        self.by_id.range(self.late_before..).any(|(_, job)| job.lane == Lane::Quick)
    }

    /// Moves what has taken long to the slow lane. If more than `most` are there, the oldest are to be given up: these are
    /// returned.
    pub(super) fn tidy(&mut self, most: usize, now: Timestamp) -> Vec<JobId> {
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
        let given_up: Vec<JobId> = oldest
            .map(|(&id, job)| {
                job.lane = Lane::Aborted;
                id
            })
            .collect();
        self.counts[Lane::Slow as usize] -= given_up.len();
        self.counts[Lane::Aborted as usize] += given_up.len();
        given_up
    }

    /// When the next request will be late or slow.
    pub(super) fn next_tidy(&self) -> Option<Timestamp> {
        let first = |from: JobId, age: Duration| {
            self.by_id.range(from..).next().map(|(_, job)| job.started.after(age))
        };
        let (late, slow) = (first(self.late_before, LATE_AFTER), first(self.slow_before, SLOW_AFTER));
        late.into_iter().chain(slow).min()
    }
}

impl Job {
    fn is_page(&self) -> bool {
        matches!(self.what, What::Page(_))
    }
}
