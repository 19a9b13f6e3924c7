//! Background without a critic: the pages of a crawl that have least in common with the examples of good topics.

use std::collections::{BTreeMap, HashMap};

use porthole_store::{ExampleState, StoreReader};
use porthole_types::TermId;

use crate::documents::TermDocument;
use crate::workspace;

/// The half of the pages that has least in common with the examples of good topics, at most `most` of them.
pub(super) fn least_like_examples(
    reader: &dyn StoreReader,
    pages: Vec<(String, TermDocument)>,
    most: usize,
) -> anyhow::Result<Vec<(String, TermDocument)>> {
    let tree = workspace::tree(reader)?;
    let good: Vec<_> = tree.good().flat_map(|good| tree.below(good)).collect();
    let mut examples: BTreeMap<TermId, u32> = BTreeMap::new();
    reader.visit_examples(&mut |example, terms| {
        if example.state == ExampleState::Ok && good.contains(&example.topic) {
            terms.iter().for_each(|&(term, count)| *examples.entry(term).or_default() += count);
        }
    })?;
    let half = pages.len() / 2;
    let rarity = Rarity::of(pages.iter().map(|(_, document)| document.terms.as_slice()));
    let mut pages: Vec<(f64, (String, TermDocument))> =
        pages.into_iter().map(|page| (rarity.cosine(&examples, &page.1.terms), page)).collect();
    pages.sort_by(|(one, a), (other, b)| one.total_cmp(other).then_with(|| a.0.cmp(&b.0)));
    Ok(pages.into_iter().take(half.min(most)).map(|(_, page)| page).collect())
}

/// How rare terms are among the pages of a crawl.
struct Rarity {
    pages: f64,
    with_term: HashMap<TermId, u32>,
}

impl Rarity {
    fn of<'a>(pages: impl Iterator<Item = &'a [(TermId, u32)]>) -> Rarity {
        let (mut number, mut with_term) = (0.0, HashMap::new());
        for terms in pages {
            number += 1.0;
            terms.iter().for_each(|&(term, _)| *with_term.entry(term).or_default() += 1);
        }
        Rarity { pages: number, with_term }
    }

    fn weight(&self, term: TermId, count: u32) -> f64 {
        let with_term = self.with_term.get(&term).copied().unwrap_or(0);
        let rarity = ((1.0 + self.pages) / (1.0 + f64::from(with_term))).ln();
        (1.0 + f64::from(count).ln()) * rarity
    }

    /// The TFIDF cosine of a page and of the examples.
    fn cosine(&self, examples: &BTreeMap<TermId, u32>, terms: &[(TermId, u32)]) -> f64 {
        let square = |(term, count): (TermId, u32)| self.weight(term, count).powi(2);
        let length = |terms: &mut dyn Iterator<Item = (TermId, u32)>| terms.map(square).sum::<f64>().sqrt();
        let product: f64 = terms
            .iter()
            .filter_map(|&(term, count)| {
                let in_examples = *examples.get(&term)?;
                Some(self.weight(term, count) * self.weight(term, in_examples))
            })
            .sum();
        let lengths = length(&mut terms.iter().copied())
            * length(&mut examples.iter().map(|(&term, &count)| (term, count)));
        if lengths > 0.0 { product / lengths } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_pages_have_says_nothing() {
        let terms = |terms: &[u32]| terms.iter().map(|&term| (TermId(term), 1)).collect::<Vec<_>>();
        let pages = [terms(&[1, 2]), terms(&[1, 3]), terms(&[1, 4]), terms(&[1, 5])];
        let rarity = Rarity::of(pages.iter().map(Vec::as_slice));
        let examples: BTreeMap<TermId, u32> = terms(&[1, 2, 6]).into_iter().collect();
        let cosines: Vec<f64> = pages.iter().map(|page| rarity.cosine(&examples, page)).collect();
        assert!(cosines[0] > 0.4, "{cosines:?}");
        assert!(cosines[1..].iter().all(|&cosine| cosine < 0.05), "{cosines:?}");
        assert_eq!(rarity.cosine(&examples, &[]), 0.0);
    }
}
