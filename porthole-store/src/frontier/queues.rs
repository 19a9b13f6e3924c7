//! The queue: a heap of URLs per site, and a heap of sites by their best URL.
//!
//! A site is *listed* if it has queued URLs and may be chosen. It is not listed while it is disabled, resting or
//! *held*. The holder takes a held site's URLs one by one, and is told when a better one has been queued.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use porthole_types::Timestamp;

use super::columns::Columns;
use super::heap::{Heap, HeapOrder};
use crate::QueuedSites;

#[derive(Debug, Default)]
pub(super) struct Queues {
    /// By row of the site.
    sites: Vec<SiteQueue>,
    order: SiteOrder,
    held: BTreeSet<u32>,
    /// Held sites with a better URL than before, each once.
    improved: Vec<u32>,
    /// Resting sites, with the end of the rest.
    resting: BinaryHeap<Reverse<(Timestamp, u32)>>,
}

#[derive(Debug, Default)]
struct SiteQueue {
    rows: Heap,
    state: SiteState,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum SiteState {
    #[default]
    Free,
    Held,
    /// Held, and in `improved`.
    Improved,
    Resting(Timestamp),
}

/// The listed sites.
#[derive(Debug, Default)]
struct SiteOrder {
    heap: Heap,
    /// Best row of every site, and its position in the heap, if it is listed.
    best: Vec<u32>,
    places: Vec<u32>,
}

/// The position of a site that is not listed.
const UNLISTED: u32 = u32::MAX;

struct ByBest<'a> {
    columns: &'a Columns,
    best: &'a [u32],
    places: &'a mut [u32],
}

impl HeapOrder for ByBest<'_> {
    fn before(&self, a: u32, b: u32) -> bool {
        self.columns.compare_all_keys(self.best[a as usize], self.best[b as usize]).is_lt()
    }

    fn put(&mut self, site: u32, at: u32) {
        self.places[site as usize] = at;
    }
}

impl Queues {
    /// Adds a row to the queue of its site.
    pub(super) fn push(&mut self, row: u32, columns: &mut Columns) {
        let site = columns.site_of(row);
        self.make_room(site);
        self.sites[site as usize].rows.push(row, columns);
        self.changed(site, row, columns);
    }

    /// Removes the row at this position of its site's queue.
    pub(super) fn remove(&mut self, row: u32, at: usize, columns: &mut Columns) {
        let site = columns.site_of(row);
        self.sites[site as usize].rows.remove(at, columns);
        self.relist(site, columns);
    }

    /// Restores the order after a sort key of the row at this position has changed.
    pub(super) fn moved(&mut self, row: u32, at: usize, columns: &mut Columns) {
        let site = columns.site_of(row);
        self.sites[site as usize].rows.moved(at, columns);
        self.changed(site, row, columns);
    }

    /// Restores the order after the load of a site has changed.
    pub(super) fn load_changed(&mut self, site: u32, columns: &Columns) {
        if self.order.places.get(site as usize).is_some_and(|&place| place != UNLISTED) {
            self.relist(site, columns);
        }
    }

    /// The best row of all listed sites.
    pub(super) fn best(&self) -> Option<u32> {
        self.best_of(self.order.heap.first()?)
    }

    /// The best row of a site.
    pub(super) fn best_of(&self, site: u32) -> Option<u32> {
        self.sites.get(site as usize)?.rows.first()
    }

    /// Number of queued rows of a site.
    pub(super) fn len_of(&self, site: u32) -> usize {
        self.sites.get(site as usize).map_or(0, |queue| queue.rows.len())
    }

    /// Holds the listed site with the best row.
    pub(super) fn hold_best(&mut self, columns: &Columns) -> Option<u32> {
        let site = self.order.heap.first()?;
        self.sites[site as usize].state = SiteState::Held;
        self.held.insert(site);
        self.relist(site, columns);
        Some(site)
    }

    /// Releases a site; it is listed again, at once or after its rest.
    pub(super) fn release(&mut self, site: u32, until: Option<Timestamp>, columns: &Columns) {
        let Some(queue) = self.sites.get_mut(site as usize) else { return };
        if queue.state == SiteState::Improved {
            self.improved.retain(|&improved| improved != site);
        }
        queue.state = until.map_or(SiteState::Free, SiteState::Resting);
        self.held.remove(&site);
        self.resting.extend(until.map(|until| Reverse((until, site))));
        self.relist(site, columns);
    }

    /// Holds the sites that are held in other queues, and lets those rest that rest there.
    pub(super) fn keep_states(&mut self, before: &Queues, columns: &Columns) {
        for (site, queue) in (0..).zip(&before.sites) {
            if queue.state == SiteState::Free {
                continue;
            }
            self.make_room(site);
            let state = &mut self.sites[site as usize].state;
            match queue.state {
                SiteState::Resting(until) => {
                    *state = SiteState::Resting(until);
                    self.resting.push(Reverse((until, site)));
                }
                _ => {
                    // It may have a better URL than before.
                    *state = SiteState::Improved;
                    self.held.insert(site);
                    self.improved.push(site);
                }
            }
            self.relist(site, columns);
        }
    }

    fn make_room(&mut self, site: u32) {
        while self.sites.len() <= site as usize {
            self.sites.push(SiteQueue::default());
            self.order.best.push(0);
            self.order.places.push(UNLISTED);
        }
    }

    /// Lists the sites whose rest is over.
    pub(super) fn wake(&mut self, now: Timestamp, columns: &Columns) {
        while let Some(&Reverse((until, site))) = self.resting.peek()
            && until <= now
        {
            self.resting.pop();
            let state = &mut self.sites[site as usize].state;
            if *state == SiteState::Resting(until) {
                *state = SiteState::Free;
                self.relist(site, columns);
            }
        }
    }

    /// When the next resting site with queued rows is available.
    pub(super) fn next_wake(&self) -> Option<Timestamp> {
        self.resting().min()
    }

    /// Numbers of listed sites, and of resting ones with queued rows.
    pub(super) fn queued_sites(&self) -> QueuedSites {
        QueuedSites { available: self.order.heap.len(), resting: self.resting().count() }
    }

    /// When the resting sites with queued rows are available.
    fn resting(&self) -> impl Iterator<Item = Timestamp> {
        self.resting.iter().filter_map(|&Reverse((until, site))| {
            let queue = &self.sites[site as usize];
            (queue.state == SiteState::Resting(until) && queue.rows.len() > 0).then_some(until)
        })
    }

    /// The held sites that have a better row than at the last call.
    pub(super) fn take_improved(&mut self) -> Vec<u32> {
        for &site in &self.improved {
            self.sites[site as usize].state = SiteState::Held;
        }
        std::mem::take(&mut self.improved)
    }

    /// The greatest `n` priorities, in descending order, of the held sites and of the best `n` listed ones: about the
    /// best `per_site` rows of each.
    pub(super) fn greatest_priorities(&self, n: usize, per_site: usize, columns: &Columns) -> Vec<f32> {
        let mut greatest: Vec<f32> = Vec::with_capacity(n + 1);
        let priority = |row: u32| columns.rows[row as usize].priority;
        let mut look = |site: u32| {
            let rows = &self.sites[site as usize].rows;
            let least = n.checked_sub(1).and_then(|last| greatest.get(last).copied());
            // Where priority is the order, no row of a site has a greater one than the first.
            if columns.is_by_priority()
                && rows.first().is_none_or(|first| least.is_some_and(|least| priority(first) <= least))
            {
                return;
            }
            for priority in rows.some_best(per_site).iter().map(|&row| priority(row)) {
                let at = greatest.partition_point(|other| *other >= priority);
                greatest.insert(at, priority);
                greatest.truncate(n);
            }
        };
        self.held.iter().for_each(|&site| look(site));
        let SiteOrder { heap, best, .. } = &self.order;
        heap.best(n, &ByBest { columns, best, places: &mut [] }).into_iter().for_each(look);
        greatest
    }

    /// The greatest `n` priorities of the rows of these sites, in descending order, each with its site: about the best `n`
    /// rows of each.
    pub(super) fn greatest_of(
        &self,
        sites: impl Iterator<Item = u32>,
        n: usize,
        columns: &Columns,
    ) -> Vec<(f32, u32)> {
        let mut greatest: Vec<(f32, u32)> = Vec::with_capacity(n + 1);
        for (site, queue) in sites.filter_map(|site| Some((site, self.sites.get(site as usize)?))) {
            for &row in queue.rows.some_best(n) {
                let priority = columns.rows[row as usize].priority;
                let at = greatest.partition_point(|(other, _)| *other >= priority);
                if at < n {
                    greatest.insert(at, (priority, site));
                    greatest.truncate(n);
                }
            }
        }
        greatest
    }

    /// All queued rows, unordered.
    pub(super) fn rows(&self) -> impl Iterator<Item = u32> {
        self.sites.iter().flat_map(|queue| queue.rows.items())
    }

    /// Rebuilds all heaps in the current order.
    pub(super) fn rebuild(&mut self, columns: &mut Columns) {
        for site in self.order.heap.take_all() {
            self.order.places[site as usize] = UNLISTED;
        }
        for site in 0..self.sites.len() {
            let queue = &mut self.sites[site];
            for row in queue.rows.take_all() {
                queue.rows.push(row, columns);
            }
            #[allow(clippy::cast_possible_truncation)]
            self.relist(site as u32, columns);
        }
    }

    /// Updates the site after a row was added or has another rank.
    fn changed(&mut self, site: u32, row: u32, columns: &Columns) {
        if self.best_of(site) != Some(row) && self.order.best[site as usize] != row {
            return;
        }
        let state = &mut self.sites[site as usize].state;
        if *state == SiteState::Held {
            *state = SiteState::Improved;
            self.improved.push(site);
        }
        self.relist(site, columns);
    }

    /// Updates the position of a site in the order, or removes it.
    fn relist(&mut self, site: u32, columns: &Columns) {
        let queue = &self.sites[site as usize];
        let best =
            queue.rows.first().filter(|_| queue.state == SiteState::Free && !columns.sites.is_disabled(site));
        let SiteOrder { heap, best: bests, places } = &mut self.order;
        let place = places[site as usize];
        match best {
            Some(best) => {
                bests[site as usize] = best;
                let mut ranked = ByBest { columns, best: bests, places };
                match place {
                    UNLISTED => heap.push(site, &mut ranked),
                    at => heap.moved(at as usize, &mut ranked),
                }
            }
            None if place != UNLISTED => {
                heap.remove(place as usize, &mut ByBest { columns, best: bests, places });
                places[site as usize] = UNLISTED;
            }
            None => {}
        }
    }
}
