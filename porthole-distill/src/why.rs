//! Explanation of scores.

use crate::csr::Csr;
use crate::top::best;
use crate::{HitsDistiller, HitsScores};

/// A page at the other end of a link, and its contribution to a score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreContribution {
    /// The authority that a hub links to, or the hub that links to an authority.
    pub page: u32,
    /// Its own score, as authority or as hub.
    pub score: f64,
    /// Share of the explained score; the shares of all contributions sum to 1.
    pub share: f64,
}

impl HitsDistiller<'_> {
    /// The `k` links that contribute most to a hub's score.
    pub fn why_hub(&self, scores: &HitsScores, hub: u32, k: usize) -> Vec<ScoreContribution> {
        if self.weights.rev[hub as usize] > 0.0 {
            let contributions = self.contributions(self.graph.out(), hub, &scores.authorities);
            reasons(contributions, &scores.authorities, k)
        } else {
            Vec::new()
        }
    }

    /// The `k` hubs that contribute most to an authority's score.
    pub fn why_authority(&self, scores: &HitsScores, authority: u32, k: usize) -> Vec<ScoreContribution> {
        if self.weights.fwd[authority as usize] > 0.0 {
            let contributions = self.contributions(self.graph.back(), authority, &scores.hubs);
            reasons(contributions, &scores.hubs, k)
        } else {
            Vec::new()
        }
    }

    /// Contribution of each linked page on another site.
    fn contributions(&self, rows: &Csr, page: u32, scores: &[f64]) -> Vec<(u32, f64)> {
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
        let contributions = others.map(|other| (other, scores[other as usize] * weight(other)));
        contributions.filter(|(_, part)| *part > 0.0).collect()
    }
}

fn reasons(contributions: Vec<(u32, f64)>, scores: &[f64], k: usize) -> Vec<ScoreContribution> {
    let sum: f64 = contributions.iter().map(|(_, part)| part).sum();
    let reason = |(page, part)| ScoreContribution { page, score: scores[page as usize], share: part / sum };
    best(contributions, k).into_iter().map(reason).collect()
}
