//! Where a score comes from.

use crate::csr::Csr;
use crate::top::best;
use crate::{Distiller, Scores};

/// A page at the other end of a link, and its part in a score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reason {
    /// The authority that a hub links to, or the hub that links to an authority.
    pub page: u32,
    /// Its own score, as authority or as hub.
    pub score: f64,
    /// Which part of the score in question it carries; those of all reasons sum to 1.
    pub share: f64,
}

impl Distiller<'_> {
    /// The `k` links that carry most of a hub's score.
    pub fn why_hub(&self, scores: &Scores, hub: u32, k: usize) -> Vec<Reason> {
        if self.weights.rev[hub as usize] > 0.0 {
            let carried = self.carried(self.graph.out(), hub, &scores.authorities);
            reasons(carried, &scores.authorities, k)
        } else {
            Vec::new()
        }
    }

    /// The `k` hubs that carry most of an authority's score.
    pub fn why_authority(&self, scores: &Scores, authority: u32, k: usize) -> Vec<Reason> {
        if self.weights.fwd[authority as usize] > 0.0 {
            let carried = self.carried(self.graph.back(), authority, &scores.hubs);
            reasons(carried, &scores.hubs, k)
        } else {
            Vec::new()
        }
    }

    /// What each page of another site at the other end of a link adds.
    fn carried(&self, rows: &Csr, page: u32, scores: &[f64]) -> Vec<(u32, f64)> {
        let row = rows.row(page as usize);
        let mut sites: Vec<u32> = row.iter().map(|other| self.graph.site(*other)).collect();
        sites.sort_unstable();
        let count = |site: u32| {
            sites.partition_point(|other| *other <= site) - sites.partition_point(|other| *other < site)
        };
        let weight = |other: u32| {
            if self.options.correct_inflation { 1.0 / count(self.graph.site(other)) as f64 } else { 1.0 }
        };
        let others = row.iter().copied().filter(|other| !self.graph.same_site(page, *other));
        let carried = others.map(|other| (other, scores[other as usize] * weight(other)));
        carried.filter(|(_, part)| *part > 0.0).collect()
    }
}

fn reasons(carried: Vec<(u32, f64)>, scores: &[f64], k: usize) -> Vec<Reason> {
    let sum: f64 = carried.iter().map(|(_, part)| part).sum();
    let reason = |(page, part)| Reason { page, score: scores[page as usize], share: part / sum };
    best(carried, k).into_iter().map(reason).collect()
}
