//! Ranks of pages by quality, and the quality of crawls by them (P 4, Table 2).

use std::collections::HashMap;

use porthole_types::TermId;

/// Distinct terms of a text with their counts.
pub type TermCountSlice = [(TermId, u32)];

/// Similarity of each page to a description by rank_SMART (P 4.1): the dot product of their TFIDF vectors. P does not
/// name the weighting; this is SMART's `atc`, (1 + tf / most tf) / 2 times ln(pages / pages with the term), normalised
/// to unit length.
pub fn similarities(description: &TermCountSlice, pages: &[&TermCountSlice]) -> Vec<f64> {
    let mut with_it: HashMap<TermId, u32> = HashMap::new();
    for (term, _) in pages.iter().flat_map(|page| page.iter()) {
        *with_it.entry(*term).or_default() += 1;
    }
    let rarity = |term: &TermId| with_it.get(term).map(|count| (pages.len() as f64 / f64::from(*count)).ln());
    let vector = |text: &TermCountSlice| -> Vec<(TermId, f64)> {
        let most = text.iter().map(|(_, count)| *count).max().unwrap_or(1);
        let weight = |(term, count): &(TermId, u32)| {
            let often = 0.5 + 0.5 * f64::from(*count) / f64::from(most);
            Some((*term, often * rarity(term)?))
        };
        let weights: Vec<(TermId, f64)> = text.iter().filter_map(weight).collect();
        let length =
            weights.iter().map(|(_, weight)| weight * weight).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
        weights.into_iter().map(|(term, weight)| (term, weight / length)).collect()
    };
    let wanted: HashMap<TermId, f64> = vector(description).into_iter().collect();
    let of = |page: &&TermCountSlice| {
        let shared = vector(page).into_iter().filter_map(|(term, weight)| Some(weight * wanted.get(&term)?));
        shared.sum()
    };
    pages.iter().map(of).collect()
}

/// Number of the keywords that a text contains.
pub fn contained(keywords: &[TermId], text: &TermCountSlice) -> usize {
    text.iter().filter(|(term, _)| keywords.contains(term)).count()
}

/// Rank of each by quality, best first, from 1; ties keep their order.
pub fn ranks<Q: PartialOrd>(quality: &[Q]) -> Vec<u32> {
    let mut order: Vec<usize> = (0..quality.len()).collect();
    order.sort_by(|a, b| quality[*b].partial_cmp(&quality[*a]).unwrap_or(std::cmp::Ordering::Equal));
    let mut ranks = vec![0; quality.len()];
    for (rank, at) in (1..).zip(order) {
        ranks[at] = rank;
    }
    ranks
}

/// Share of the best `n` of `pages` pages that a crawl fetched, by the ranks of its pages (the static scheme).
pub fn covered(own: &[u32], n: u32, pages: u32) -> f64 {
    own.iter().filter(|rank| **rank <= n).count() as f64 / f64::from(n.min(pages).max(1))
}

/// Mean rank of a crawl's first `n` fetches (the dynamic scheme). Fetches without a rank are `None` and ignored; `None`
/// if there are no others.
pub fn mean_rank(fetches: &[Option<u32>], n: u64) -> Option<f64> {
    let first = fetches.iter().take(usize::try_from(n).unwrap_or(usize::MAX));
    let ranks: Vec<f64> = first.flatten().map(|rank| f64::from(*rank)).collect();
    (!ranks.is_empty()).then(|| super::mean(ranks))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(counts: &[(u32, u32)]) -> Vec<(TermId, u32)> {
        counts.iter().map(|(term, count)| (TermId(*term), *count)).collect()
    }

    #[test]
    fn similarity_is_the_cosine_of_tfidf_vectors() {
        // Three pages; 1 is in all of them and has weight 0, 2 is in two, 3 and 4 in one, 5 in none.
        let pages = [text(&[(1, 4), (2, 2)]), text(&[(1, 1), (2, 1), (3, 1)]), text(&[(1, 1), (4, 2)])];
        let description = text(&[(2, 1), (3, 2), (5, 9)]);
        let pages: Vec<&TermCountSlice> = pages.iter().map(Vec::as_slice).collect();
        let (two, one) = (1.5_f64.ln(), 3_f64.ln());
        // The description: 2 weighs (1/2 + 1/18) ln 1.5, 3 weighs (1/2 + 2/18) ln 3.
        let (query_2, query_3) = ((0.5 + 1.0 / 18.0) * two, (0.5 + 2.0 / 18.0) * one);
        let query = (query_2 * query_2 + query_3 * query_3).sqrt();
        // The first page has only 2, so its vector has length 1 there.
        let expected =
            [query_2 / query, (two * query_2 + one * query_3) / query / (two * two + one * one).sqrt(), 0.0];
        for (found, expected) in similarities(&description, &pages).into_iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        assert_eq!(similarities(&[], &pages), [0.0; 3]);
        assert!(similarities(&description, &[]).is_empty());
    }

    #[test]
    fn sparse_vectors_equal_dense_ones() {
        let (terms, pages) = (40_u32, 25_u32);
        let draw = |a: u32, b: u32| (a * 7919 + b * 104_729 + a * b * 31) % 11;
        let page = |page| (0..terms).map(|term| draw(page, term)).collect::<Vec<u32>>();
        let dense: Vec<Vec<u32>> = (0..=pages).map(page).collect();
        let (query, dense) = dense.split_last().unwrap();
        let sparse = |counts: &Vec<u32>| {
            let there = (0..).zip(counts).filter(|(_, count)| **count > 0);
            there.map(|(term, count)| (TermId(term), *count)).collect::<Vec<_>>()
        };
        let weights = |counts: &Vec<u32>| -> Vec<f64> {
            let most = f64::from(*counts.iter().max().unwrap());
            let weight = |term: usize| {
                let with_it = dense.iter().filter(|page| page[term] > 0).count() as f64;
                let is_there = counts[term] > 0 && with_it > 0.0;
                let often = 0.5 + 0.5 * f64::from(counts[term]) / most;
                if is_there { often * (f64::from(pages) / with_it).ln() } else { 0.0 }
            };
            (0..terms as usize).map(weight).collect()
        };
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let cosine = |a: &[f64], b: &[f64]| dot(a, b) / (dot(a, a) * dot(b, b)).sqrt();
        let owned: Vec<Vec<(TermId, u32)>> = dense.iter().map(sparse).collect();
        let texts: Vec<&TermCountSlice> = owned.iter().map(Vec::as_slice).collect();
        let found = similarities(&sparse(query), &texts);
        for (page, found) in dense.iter().zip(found) {
            let expected = cosine(&weights(query), &weights(page));
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }

    #[test]
    fn ranks_are_by_keywords_then_by_page_rank() {
        let keywords = [TermId(1), TermId(2)];
        assert_eq!(contained(&keywords, &text(&[(2, 7), (3, 1)])), 1);
        assert_eq!(ranks(&[(1, 0.9), (2, 0.1), (1, 0.95), (0, 1.0), (2, 0.1)]), [4, 1, 3, 5, 2]);
    }

    #[test]
    fn hand_computed_coverage_and_mean_rank() {
        // A crawl with the ranks 7, none, 2, 1 and 9 of ten pages.
        let fetches = [Some(7), None, Some(2), Some(1), Some(9)];
        let own: Vec<u32> = fetches.into_iter().flatten().collect();
        assert_eq!([2, 4, 100].map(|n| covered(&own, n, 10)), [1.0, 0.5, 0.4]);
        assert_eq!([1, 2, 3, 100].map(|n| mean_rank(&fetches, n)), [7.0, 7.0, 4.5, 4.75].map(Some));
        assert_eq!((mean_rank(&fetches[1..2], 1), covered(&[], 3, 0)), (None, 0.0));
    }
}
