//! Clusters of collected pages (W 4.6, V 3.6): pages with words in common, independent of their topics.
//!
//! Spherical k-means over tf-idf, deterministic; the number of clusters depends on the number of pages.

use std::collections::{BTreeMap, HashMap};

use porthole_types::TermId;

/// A cluster of pages.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// Its pages, nearest to the centroid first.
    pub pages: Vec<usize>,
    /// Terms that distinguish it from the other clusters, strongest first.
    pub terms: Vec<TermId>,
}

/// Maximum number of k-means rounds.
const ROUNDS: usize = 20;

/// Number of terms that describe a cluster.
const TERMS: usize = 8;

/// Minimum number of pages of a cluster.
const FEWEST: usize = 3;

/// Clusters pages by their terms; largest cluster first. Very small clusters are dropped.
pub fn clusters(pages: &[Vec<(TermId, u32)>]) -> Vec<Cluster> {
    let vectors = vectors(pages);
    let count = ((pages.len() as f64 / 2.0).sqrt() as usize).clamp(1, 12);
    let mut centroids = initial_centroids(&vectors, count);
    let mut groups = vec![usize::MAX; vectors.len()];
    for _ in 0..ROUNDS {
        let next: Vec<usize> = vectors.iter().map(|vector| nearest(vector, &centroids)).collect();
        if next == groups {
            break;
        }
        groups = next;
        centroids = (0..centroids.len()).map(|group| centroid(&vectors, &groups, group)).collect();
    }
    let overall = centroid(&vectors, &vec![0; vectors.len()], 0);
    let mut found: Vec<Cluster> = (0..centroids.len())
        .map(|group| describe(&vectors, &groups, group, &centroids[group], &overall))
        .filter(|cluster| cluster.pages.len() >= FEWEST)
        .collect();
    found.sort_by_key(|cluster| std::cmp::Reverse(cluster.pages.len()));
    found
}

/// A unit vector of terms and weights.
type Vector = Vec<(TermId, f64)>;
/// A centroid, as a map.
type ClusterCentroid = HashMap<TermId, f64>;

/// tf-idf vectors without terms that nearly all pages or only one page has.
fn vectors(pages: &[Vec<(TermId, u32)>]) -> Vec<Vector> {
    let mut documents: BTreeMap<TermId, usize> = BTreeMap::new();
    for page in pages {
        page.iter().for_each(|(term, _)| *documents.entry(*term).or_default() += 1);
    }
    let all = pages.len() as f64;
    let weigh = |&(term, count): &(TermId, u32)| {
        let with = documents[&term];
        let tells = with > 1 && (with as f64) < 0.5 * all;
        tells.then(|| (term, (1.0 + f64::from(count).ln()) * (all / with as f64).ln()))
    };
    pages.iter().map(|page| of_length_one(page.iter().filter_map(weigh).collect())).collect()
}

fn of_length_one(mut vector: Vector) -> Vector {
    let length = vector.iter().map(|(_, weight)| weight * weight).sum::<f64>().sqrt();
    vector.iter_mut().for_each(|(_, weight)| *weight /= length.max(1e-12));
    vector
}

/// Initial centroids: the first page, then repeatedly the page least similar to those chosen.
fn initial_centroids(vectors: &[Vector], count: usize) -> Vec<ClusterCentroid> {
    let Some(first) = vectors.iter().position(|vector| !vector.is_empty()) else { return Vec::new() };
    let as_middle = |page: usize| vectors[page].iter().copied().collect::<ClusterCentroid>();
    let mut centroids = vec![as_middle(first)];
    let mut closest: Vec<f64> = vectors.iter().map(|vector| similarity(vector, &centroids[0])).collect();
    while centroids.len() < count {
        let candidates = (0..vectors.len()).filter(|page| vectors[*page].len() >= TERMS);
        let Some(next) = candidates.min_by(|a, b| closest[*a].total_cmp(&closest[*b])) else { break };
        let centroid = as_middle(next);
        for (close, vector) in closest.iter_mut().zip(vectors) {
            *close = close.max(similarity(vector, &centroid));
        }
        centroids.push(centroid);
    }
    centroids
}

fn similarity(vector: &Vector, centroid: &ClusterCentroid) -> f64 {
    vector.iter().map(|(term, weight)| weight * centroid.get(term).copied().unwrap_or(0.0)).sum()
}

fn nearest(vector: &Vector, centroids: &[ClusterCentroid]) -> usize {
    let near = |group: &usize| similarity(vector, &centroids[*group]);
    // On ties the first.
    (0..centroids.len()).rev().max_by(|a, b| near(a).total_cmp(&near(b))).unwrap_or(0)
}

fn centroid(vectors: &[Vector], groups: &[usize], group: usize) -> ClusterCentroid {
    let mut sum: BTreeMap<TermId, f64> = BTreeMap::new();
    for (vector, _) in vectors.iter().zip(groups).filter(|(_, own)| **own == group) {
        vector.iter().for_each(|(term, weight)| *sum.entry(*term).or_default() += weight);
    }
    of_length_one(sum.into_iter().collect()).into_iter().collect()
}

fn describe(
    vectors: &[Vector],
    groups: &[usize],
    group: usize,
    centroid: &ClusterCentroid,
    overall: &ClusterCentroid,
) -> Cluster {
    let mut pages: Vec<usize> =
        (0..vectors.len()).filter(|page| groups[*page] == group && !vectors[*page].is_empty()).collect();
    let near = |page: &usize| similarity(&vectors[*page], centroid);
    pages.sort_by(|a, b| near(b).total_cmp(&near(a)).then(a.cmp(b)));
    let excess =
        |(term, weight): (&TermId, &f64)| (*term, weight - overall.get(term).copied().unwrap_or(0.0));
    let mut terms: Vec<(TermId, f64)> = centroid.iter().map(excess).collect();
    terms.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    Cluster { pages, terms: terms.into_iter().take(TERMS).map(|(term, _)| term).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_with_words_in_common_are_together() {
        // Three subjects with twelve words each, of which a page has eight; and a word that all have.
        let page = |number: u32| {
            let subject = number % 3;
            let words = (0..8).map(|word| (TermId(100 * subject + (number / 3 + word) % 12), 1 + word % 2));
            words.chain([(TermId(999), 5)]).collect::<Vec<_>>()
        };
        let pages: Vec<_> = (0..60).map(page).collect();
        let found = clusters(&pages);
        assert_eq!(found.iter().map(|cluster| cluster.pages.len()).sum::<usize>(), 60);
        for cluster in &found {
            let subjects: Vec<usize> = cluster.pages.iter().map(|page| page % 3).collect();
            assert!(subjects.iter().all(|subject| *subject == subjects[0]), "{cluster:?}");
            let of_subject = |term: &TermId| term.0 as usize / 100 == subjects[0];
            assert!(cluster.terms.iter().all(of_subject), "{cluster:?}");
        }
        assert_eq!(found, clusters(&pages));
        assert_eq!(clusters(&[]), []);
        assert_eq!(clusters(&[vec![(TermId(1), 1)]]), []);
    }
}
