//! Updates for pages whose neighbourhoods have changed (V 3.1): queued pages get the current estimates of the pages
//! that link to them, up or down, and judged pages get a second relevance that takes their neighbours into account.

use std::collections::HashMap;

use porthole_distill::Neighbourhoods;
use porthole_store::{NeighbourEvidence, Refreshed, StoreReader};
use porthole_types::UrlId;

use super::{DistillError, Snapshot};

/// The share by which a neighbourhood must have changed.
const SHARE: f64 = 0.1;

/// The judged pages whose neighbourhoods changed by a tenth since the last time: in the number of sites, in the
/// evidence, or in their own R.
///
/// # Errors
/// If the stored values cannot be read.
pub fn neighbourhoods(
    snapshot: &Snapshot,
    reader: &dyn StoreReader,
) -> Result<Vec<NeighbourEvidence>, DistillError> {
    let stored = reader.neighbourhoods()?;
    let stored: HashMap<UrlId, &NeighbourEvidence> = stored.iter().map(|row| (row.oid, row)).collect();
    let mut all = Neighbourhoods::new(snapshot.graph());
    let judged = pages(snapshot).filter(|page| snapshot.graph().fetched(*page));
    let changed = judged.filter_map(|page| {
        let (oid, own, now) = (snapshot.node(page).oid, snapshot.graph().relevance(page), all.of(page)?);
        let relevance = || all.relevance(own, &now);
        let new = || NeighbourEvidence {
            oid,
            relevance: relevance(),
            own,
            sites: now.sites,
            evidence: now.evidence,
        };
        let is_news = stored.get(&oid).is_none_or(|before| {
            let sites = f64::from(before.sites.abs_diff(now.sites));
            let moved = (before.evidence - now.evidence).abs();
            (sites > 0.0 && sites >= SHARE * f64::from(before.sites)) || moved >= SHARE || before.own != own
        });
        is_news.then(new)
    });
    Ok(changed.collect())
}

/// The queued pages whose estimates differ from those of the pages that link to them by a tenth of the larger value.
pub(super) fn estimates(snapshot: &Snapshot) -> Vec<Refreshed> {
    let estimate = |page: u32| {
        let node = snapshot.node(page);
        let sources = snapshot.graph().sources(page);
        // A source that is not a page, such as a redirect, passes on its own estimate.
        let best = sources.iter().map(|source| snapshot.node(*source).relevance).reduce(f32::max)?;
        let moved = f64::from((best - node.relevance).abs());
        let is_news = moved > 0.0 && moved >= SHARE * f64::from(best.max(node.relevance));
        is_news.then(|| Refreshed { oid: node.oid, before: node.relevance.into(), relevance: best.into() })
    };
    pages(snapshot).filter(|page| snapshot.node(*page).follows).filter_map(estimate).collect()
}

fn pages(snapshot: &Snapshot) -> impl Iterator<Item = u32> + use<> {
    0..snapshot.graph().pages() as u32
}
