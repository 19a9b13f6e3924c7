//! What crawls are measured by. Every measure is over fetches that count, in their order, as a trace has them; where a
//! crawl ended before its `n`th fetch, it has found what it has found.

pub mod ranks;

use std::collections::{BTreeMap, HashSet};

use porthole_report::summary::mean;

use crate::experiment::{Authority, Label, Step};

/// Pages of the topic among the first `n`.
pub fn found(counted: &[&Step], n: u64) -> u64 {
    first(counted, n).filter(|step| step.label == Label::About).count() as u64
}

/// Share of `n` fetches that brought a page of the topic (W 4.2, by the truth).
pub fn harvest(counted: &[&Step], n: u64) -> f64 {
    found(counted, n) as f64 / n.max(1) as f64
}

/// Mean of what a critic says over the first `n`, of those it says something of (V 1.1).
pub fn mean_of(counted: &[&Step], n: u64, value: impl Fn(&Step) -> Option<f64>) -> f64 {
    mean(first(counted, n).filter_map(value))
}

/// Area under the curve of the recall up to `budget` fetches, as a share of the whole: 1 if all was found at once.
pub fn area(counted: &[&Step], budget: u64, wanted: u64) -> f64 {
    let mut so_far = 0_u64;
    let mut sum = 0_u64;
    for at in 0..budget as usize {
        so_far += counted.get(at).map_or(0, |step| u64::from(step.label == Label::About));
        sum += so_far;
    }
    sum as f64 / (budget.max(1) * wanted.max(1)) as f64
}

/// Servers that brought a page of the topic within the first `n` fetches that count, and that no start page is on.
pub fn new_hosts(steps: &[Step], n: u64) -> u64 {
    let starts: HashSet<&str> =
        steps.iter().filter(|step| step.label == Label::Start).map(|step| step.host.as_str()).collect();
    let counted: Vec<&Step> = steps.iter().filter(|step| step.label.counts()).collect();
    let about = first(&counted, n).filter(|step| step.label == Label::About);
    let hosts: HashSet<&str> = about.map(|step| step.host.as_str()).collect();
    hosts.difference(&starts).count() as u64
}

/// What a URL or a server is told apart by.
pub type Name = fn(&Step) -> &str;

/// A page.
pub fn by_url(step: &Step) -> &str {
    &step.url
}

/// A server.
pub fn by_server(step: &Step) -> &str {
    &step.host
}

/// Share of what one crawl has after `n` fetches that the other has then, too (W 4.3).
pub fn overlap(one: &[&Step], other: &[&Step], n: u64, name: Name) -> f64 {
    let of = |counted: &[&Step]| first(counted, n).map(|step| name(step).to_owned()).collect::<HashSet<_>>();
    let (one, other) = (of(one), of(other));
    one.intersection(&other).count() as f64 / one.len().max(1) as f64
}

/// What a reference crawl found of the topic (V 3.5).
pub fn relevant<'a>(reference: &[&'a Step], name: Name) -> HashSet<&'a str> {
    reference.iter().filter(|step| step.label == Label::About).map(|step| name(step)).collect()
}

/// What a reference crawl found that a critic gives an R above this.
pub fn relevant_above<'a>(reference: &[&'a Step], least: f64, name: Name) -> HashSet<&'a str> {
    let is_relevant = |step: &&&Step| step.relevance.is_some_and(|relevance| relevance > least);
    reference.iter().filter(is_relevant).map(|step| name(step)).collect()
}

/// Share of what a reference crawl found that another has visited after `n` fetches (V 3.5).
pub fn coverage(reference: &HashSet<&str>, counted: &[&Step], n: u64, name: Name) -> f64 {
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

/// Share of the best `k` authorities that are about the topic, of those that count (W 4.6); `None` if none does.
pub fn purity(authorities: &[Authority], steps: &[Step], k: usize) -> Option<f64> {
    let labels: BTreeMap<&str, Label> = steps.iter().map(|step| (step.url.as_str(), step.label)).collect();
    let best = authorities.iter().take(k).filter_map(|page| labels.get(page.url.as_str()));
    let counted: Vec<f64> =
        best.filter(|label| label.counts()).map(|label| f64::from(*label == Label::About)).collect();
    (!counted.is_empty()).then(|| mean(counted))
}

/// How many authorities there are at each distance from the start pages (W 4.5, V 3.6).
pub fn distances<'a>(authorities: impl IntoIterator<Item = &'a Authority>) -> BTreeMap<u32, u64> {
    let mut counts = BTreeMap::new();
    for page in authorities {
        *counts.entry(page.distance).or_insert(0) += 1;
    }
    counts
}

/// Some thirty numbers of fetches, up to a budget.
pub fn moments(budget: u64) -> Vec<u64> {
    let points = 32;
    let mut all: Vec<u64> = (1..=points).map(|at| (budget * at / points).max(1)).collect();
    all.dedup();
    all
}

/// How alike two orders of the same things are (Spearman): 1 if they are the same, -1 if one is the other turned round.
/// Things that are worth the same share a rank.
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

fn first<'a>(counted: &[&'a Step], n: u64) -> impl Iterator<Item = &'a Step> {
    counted.iter().take(usize::try_from(n).unwrap_or(usize::MAX)).copied()
}

#[cfg(test)]
mod tests;
