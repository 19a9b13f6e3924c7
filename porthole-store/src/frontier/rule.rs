//! Changes of the whole queue: another policy, other scores, a bound, disabled sites.

use std::collections::HashSet;

use super::columns::{Columns, OptionalValues};
use super::{Frontier, KeyOrder, Needs};
use crate::Policy;

impl Frontier {
    /// Changes the order. Returns the missing columns, which the caller has to fill before it calls
    /// [`rebuild`](Frontier::rebuild).
    pub(crate) fn set_policy(&mut self, policy: &Policy) -> Needs {
        self.columns.order = KeyOrder::new(policy);
        self.make_columns()
    }

    /// Disables exactly these sites. Returns the missing columns, which the caller has to fill before it calls
    /// [`rebuild`](Frontier::rebuild).
    pub(crate) fn set_disabled(&mut self, sites: HashSet<u32>) -> Needs {
        self.columns.sites.set_disabled(sites);
        self.make_columns()
    }

    fn make_columns(&mut self) -> Needs {
        let missing = self.columns.missing();
        self.columns.keep(self.columns.needs());
        missing
    }

    /// Fills the missing columns of a row; called row by row from the first.
    pub(crate) fn fill(&mut self, row: usize, facts: OptionalValues) {
        self.columns.fill(row, facts);
    }

    /// Whether the policy uses hub scores, authority scores, and relevance by neighbours.
    pub(crate) fn uses_scores(&self) -> [bool; 3] {
        let Columns { hubs, auth, neighbourhoods, .. } = &self.columns;
        [hubs, auth, neighbourhoods].map(Option::is_some)
    }

    /// Removes all scores.
    pub(crate) fn clear_scores(&mut self) {
        let Columns { hubs, auth, neighbourhoods, rows, .. } = &mut self.columns;
        for (column, without) in [(hubs, 0.0), (auth, 0.0), (neighbourhoods, f32::NAN)] {
            clear(column, without, rows.len());
        }
    }

    pub(crate) fn set_hub(&mut self, row: u32, score: f64) {
        set(&mut self.columns.hubs, row, score);
    }

    pub(crate) fn set_auth(&mut self, row: u32, score: f64) {
        set(&mut self.columns.auth, row, score);
    }

    pub(crate) fn set_neighbourhood(&mut self, row: u32, relevance: f64) {
        set(&mut self.columns.neighbourhoods, row, relevance);
    }

    /// Rebuilds the queue in the current order.
    pub(crate) fn rebuild(&mut self) {
        self.queues.rebuild(&mut self.columns);
        let out_of_use = self.columns.sites.out_of_use().into_iter();
        self.tally.parked = out_of_use.map(|site| self.queues.len_of(site)).sum();
    }

    pub(crate) fn set_bound(&mut self, bound: Option<usize>) {
        self.bound = bound;
    }

    /// Evicts the worst queued rows, so that no more than the bound are left. Returns their rows, ascending. One row
    /// may be protected. Pages that are queued for a visit are not counted and not evicted. Takes time proportional to the
    /// number of queued rows.
    pub(crate) fn trim(&mut self, protected: Option<u32>) -> Vec<u32> {
        let Some(bound) = self.bound.filter(|&bound| self.may_exceed(bound)) else { return Vec::new() };
        let mut rows = self.evictable_rows();
        if rows.len() <= bound {
            return Vec::new();
        }
        let columns = &self.columns;
        let can_go = |row: u32| Some(row) != protected;
        let order = |a: u32, b: u32| can_go(a).cmp(&can_go(b)).then_with(|| columns.compare_all_keys(a, b));
        let (_, _, _) = rows.select_nth_unstable_by(bound, |&a, &b| order(a, b));
        let mut evicted = rows.split_off(bound);
        evicted.sort_unstable();
        evicted.iter().for_each(|&row| self.evict(row));
        evicted
    }
}

fn clear(column: &mut Option<super::Chunked<f32>>, without: f32, len: usize) {
    if let Some(column) = column {
        *column = super::Chunked::default();
        (0..len).for_each(|_| column.push(without));
    }
}

fn set(column: &mut Option<super::Chunked<f32>>, row: u32, score: f64) {
    #[allow(clippy::cast_possible_truncation)]
    let score = if score.is_nan() { 0.0 } else { score as f32 + 0.0 };
    if let Some(column) = column {
        column[row as usize] = score;
    }
}
