//! Measures of crawls. All are computed over the counted fetches of a trace, in their order; if a crawl ended before
//! its `n`th fetch, its final values are used.

pub mod ranks;

use std::collections::{BTreeMap, HashSet};

use porthole_report::summary::mean;

use crate::experiment::{Authority, FetchLabel, FetchStep};

/// Number of pages of the topic among the first `n`.
pub fn found(counted: &[&FetchStep], n: u64) -> u64 {
    first(counted, n).filter(|step| step.label == FetchLabel::About).count() as u64
}

/// Share of `n` fetches that returned a page of the topic (W 4.2, by true labels).
pub fn harvest(counted: &[&FetchStep], n: u64) -> f64 {
    found(counted, n) as f64 / n.max(1) as f64
}

/// The harvest with at most `cap` relevant pages of a server: a crawl that stays on one large site of the topic finds
/// much, but not the topic.
pub fn capped_harvest(counted: &[&FetchStep], n: u64, cap: u64) -> f64 {
    let mut sites: BTreeMap<&str, u64> = BTreeMap::new();
    for step in first(counted, n).filter(|step| step.label == FetchLabel::About) {
        *sites.entry(&step.host).or_default() += 1;
    }
    sites.values().map(|pages| (*pages).min(cap)).sum::<u64>() as f64 / n.max(1) as f64
}

/// Number of servers with a page of the topic among the first `n`.
pub fn sites(counted: &[&FetchStep], n: u64) -> u64 {
    let about = first(counted, n).filter(|step| step.label == FetchLabel::About);
    about.map(|step| step.host.as_str()).collect::<HashSet<_>>().len() as u64
}

/// Cumulative loss of the first `n` fetches: the sum of 1 - R (A 3.5).
pub fn lost(counted: &[&FetchStep], n: u64) -> f64 {
    first(counted, n).map(|step| 1.0 - step.relevance.unwrap_or(0.0)).sum()
}

/// Mean of a critic's values over the first `n`, ignoring `None` (V 1.1).
pub fn mean_of(counted: &[&FetchStep], n: u64, value: impl Fn(&FetchStep) -> Option<f64>) -> f64 {
    mean(first(counted, n).filter_map(value))
}

/// Area under the recall curve up to `budget` fetches, as a share of the maximum.
pub fn area(counted: &[&FetchStep], budget: u64, wanted: u64) -> f64 {
    let mut so_far = 0_u64;
    let mut sum = 0_u64;
    for at in 0..budget as usize {
        so_far += counted.get(at).map_or(0, |step| u64::from(step.label == FetchLabel::About));
        sum += so_far;
    }
    sum as f64 / (budget.max(1) * wanted.max(1)) as f64
}

/// Number of servers with a page of the topic within the first `n` counted fetches, without servers of start pages.
pub fn new_hosts(steps: &[FetchStep], n: u64) -> u64 {
    let starts: HashSet<&str> =
        steps.iter().filter(|step| step.label == FetchLabel::Start).map(|step| step.host.as_str()).collect();
    let counted: Vec<&FetchStep> = steps.iter().filter(|step| step.label.counts()).collect();
    let about = first(&counted, n).filter(|step| step.label == FetchLabel::About);
    let hosts: HashSet<&str> = about.map(|step| step.host.as_str()).collect();
    hosts.difference(&starts).count() as u64
}

/// Key by which fetches are compared: URL or server.
pub type StepKey = fn(&FetchStep) -> &str;

/// The URL.
pub fn by_url(step: &FetchStep) -> &str {
    &step.url
}

/// The server.
pub fn by_server(step: &FetchStep) -> &str {
    &step.host
}

/// Share of one crawl's keys after `n` fetches that the other crawl has at that point, too (W 4.3).
pub fn overlap(one: &[&FetchStep], other: &[&FetchStep], n: u64, name: StepKey) -> f64 {
    let of =
        |counted: &[&FetchStep]| first(counted, n).map(|step| name(step).to_owned()).collect::<HashSet<_>>();
    let (one, other) = (of(one), of(other));
    one.intersection(&other).count() as f64 / one.len().max(1) as f64
}

/// Keys of a reference crawl's pages about the topic (V 3.5).
pub fn relevant<'a>(reference: &[&'a FetchStep], name: StepKey) -> HashSet<&'a str> {
    reference.iter().filter(|step| step.label == FetchLabel::About).map(|step| name(step)).collect()
}

/// Keys of a reference crawl's pages with an R above `least`.
pub fn relevant_above<'a>(reference: &[&'a FetchStep], least: f64, name: StepKey) -> HashSet<&'a str> {
    let is_relevant = |step: &&&FetchStep| step.relevance.is_some_and(|relevance| relevance > least);
    reference.iter().filter(is_relevant).map(|step| name(step)).collect()
}

/// Share of a reference crawl's keys that another crawl has visited after `n` fetches (V 3.5).
pub fn coverage(reference: &HashSet<&str>, counted: &[&FetchStep], n: u64, name: StepKey) -> f64 {
    let visited: HashSet<&str> = first(counted, n).map(name).collect();
    reference.intersection(&visited).count() as f64 / reference.len().max(1) as f64
}

/// Share of the best `k` authorities of one crawl that are among those of the other (W 4.4).
pub fn shared_authorities(
    one: &[Authority],
    other: &[Authority],
    k: usize,
    name: fn(&Authority) -> &str,
) -> f64 {
    let best =
        |all: &[Authority]| all.iter().take(k).map(|page| name(page).to_owned()).collect::<HashSet<_>>();
    let (one, other) = (best(one), best(other));
    one.intersection(&other).count() as f64 / one.len().max(1) as f64
}

/// Share of the best `k` counted authorities that are about the topic (W 4.6); `None` if none counts.
pub fn purity(authorities: &[Authority], steps: &[FetchStep], k: usize) -> Option<f64> {
    let labels: BTreeMap<&str, FetchLabel> =
        steps.iter().map(|step| (step.url.as_str(), step.label)).collect();
    let best = authorities.iter().take(k).filter_map(|page| labels.get(page.url.as_str()));
    let counted: Vec<f64> =
        best.filter(|label| label.counts()).map(|label| f64::from(*label == FetchLabel::About)).collect();
    (!counted.is_empty()).then(|| mean(counted))
}

/// Number of authorities at each distance from the start pages (W 4.5, V 3.6).
pub fn distances<'a>(authorities: impl IntoIterator<Item = &'a Authority>) -> BTreeMap<u32, u64> {
    let mut counts = BTreeMap::new();
    for page in authorities {
        *counts.entry(page.distance).or_insert(0) += 1;
    }
    counts
}

/// About thirty numbers of fetches, up to a budget.
pub fn moments(budget: u64) -> Vec<u64> {
    let points = 32;
    let mut all: Vec<u64> = (1..=points).map(|at| (budget * at / points).max(1)).collect();
    all.dedup();
    all
}

/// Spearman's rank correlation of two orders: 1 if they are equal, -1 if they are reversed. Equal values share a rank.
pub fn rank_correlation(one: &[f64], other: &[f64]) -> f64 {
    let (one, other) = (ranks(one), ranks(other));
    let middle = mean(one.iter().copied());
    let product =
        |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| (a - middle) * (b - middle)).sum() };
    let spread = (product(&one, &one) * product(&other, &other)).sqrt();
    if spread > 0.0 { product(&one, &other) / spread } else { 0.0 }
}

fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut first = 0;
    for same in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let middle = first as f64 + (same.len() - 1) as f64 / 2.0;
        same.iter().for_each(|at| ranks[*at] = middle);
        first += same.len();
    }
    ranks
}

fn first<'a>(counted: &[&'a FetchStep], n: u64) -> impl Iterator<Item = &'a FetchStep> {
    counted.iter().take(usize::try_from(n).unwrap_or(usize::MAX)).copied()
}

#[cfg(test)]
mod tests;
