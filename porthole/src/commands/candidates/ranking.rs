//! Ranks pages by some words: BM25 with the document frequencies of the general taxonomy, as a share of what a page could
//! have that consists of nothing but the words.

use std::collections::HashMap;

use porthole_types::TermId;

use crate::document_counts::DocumentCounts;
use crate::documents::{DocumentReader, TermDocument};

/// Parameters of BM25: how soon more occurrences stop to matter, and how much the length of a page does.
const SATURATION: f64 = 1.2;
const LENGTH: f64 = 0.75;

/// A word in the title counts as this many in the text.
const TITLE: f64 = 3.0;

/// Language of pages that do not tell theirs.
const LANGUAGE: &str = "en";

/// Words to rank pages by, and an optional description.
pub(crate) struct WordRanking {
    counts: DocumentCounts,
    words: String,
    description: String,
    /// Terms of words and description by language.
    terms: HashMap<String, QueryTerms>,
}

/// Terms of the words and of the description.
#[derive(Clone)]
struct QueryTerms {
    words: Vec<TermId>,
    description: Vec<TermId>,
}

/// How well a page fits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct WordScore {
    /// Share of the highest possible BM25 of the words, from 0 to 1.
    pub(crate) words: f64,
    /// Cosine of page and description.
    pub(crate) description: Option<f64>,
}

impl WordScore {
    /// Pages are ordered by it: the score of the words, or the mean of it and the similarity to the description.
    pub(crate) fn rank(&self) -> f64 {
        self.description.map_or(self.words, |similarity| (self.words + similarity) / 2.0)
    }
}

impl WordRanking {
    pub(crate) fn new(words: &str, description: Option<&str>) -> anyhow::Result<WordRanking> {
        Ok(WordRanking {
            counts: DocumentCounts::general()?,
            words: words.to_owned(),
            description: description.unwrap_or_default().to_owned(),
            terms: HashMap::new(),
        })
    }

    /// The scores of some pages. A page counts as long or short in comparison with the others.
    pub(crate) fn scores(&mut self, reader: &mut DocumentReader, pages: &[&TermDocument]) -> Vec<WordScore> {
        let length = |page: &TermDocument| page.terms.iter().map(|(_, count)| f64::from(*count)).sum::<f64>();
        let lengths: Vec<f64> = pages.iter().map(|page| length(page)).collect();
        let read = lengths.iter().filter(|&&length| length > 0.0).count().max(1);
        let mean = (lengths.iter().sum::<f64>() / read as f64).max(1.0);
        let relative = lengths.iter().map(|length| length / mean);
        pages.iter().zip(relative).map(|(page, length)| self.score(reader, page, length)).collect()
    }

    fn score(&mut self, reader: &mut DocumentReader, page: &TermDocument, length: f64) -> WordScore {
        let query = self.terms(reader, &page.language);
        let language = if page.language.is_empty() { LANGUAGE } else { &page.language };
        let title: Vec<TermId> =
            reader.words_of(&page.title, language).into_iter().map(|(term, _)| term).collect();
        let (mut score, mut highest) = (0.0, 0.0);
        for &term in &query.words {
            let at = page.terms.binary_search_by_key(&term, |(term, _)| *term);
            let count = at.map_or(0.0, |at| f64::from(page.terms[at].1));
            let count = count + if title.contains(&term) { TITLE } else { 0.0 };
            let idf = self.counts.idf(term);
            highest += idf;
            score += idf * count / (count + SATURATION * (1.0 - LENGTH + LENGTH * length));
        }
        WordScore {
            words: if highest > 0.0 { score / highest } else { 0.0 },
            description: (!query.description.is_empty()).then(|| self.similarity(&query.description, page)),
        }
    }

    /// Cosine of the description, with each term once, and a page, with the logarithms of its counts; both times idf.
    fn similarity(&self, description: &[TermId], page: &TermDocument) -> f64 {
        let weight = |&(term, count): &(TermId, u32)| (1.0 + f64::from(count)).ln() * self.counts.idf(term);
        let norm = |squares: f64| squares.sqrt().max(f64::MIN_POSITIVE);
        let of_page = norm(page.terms.iter().map(|pair| weight(pair).powi(2)).sum());
        let of_description = norm(description.iter().map(|&term| self.counts.idf(term).powi(2)).sum());
        let shared = page.terms.iter().filter(|(term, _)| description.contains(term));
        let product: f64 = shared.map(|pair| weight(pair) * self.counts.idf(pair.0)).sum();
        product / (of_page * of_description)
    }

    /// The terms in the language of a page, which decides on their stems.
    fn terms(&mut self, reader: &mut DocumentReader, language: &str) -> QueryTerms {
        let language = if language.is_empty() { LANGUAGE } else { language };
        if let Some(terms) = self.terms.get(language) {
            return terms.clone();
        }
        let mut of = |text: &str| -> Vec<TermId> {
            reader.words_of(text, language).into_iter().map(|(term, _)| term).collect()
        };
        let terms = QueryTerms { words: of(&self.words), description: of(&self.description) };
        self.terms.insert(language.to_owned(), terms.clone());
        terms
    }
}

#[cfg(test)]
mod tests {
    use porthole_types::Headers;

    use super::*;

    fn scores(description: Option<&str>, texts: &[&str]) -> Vec<WordScore> {
        let mut reader = DocumentReader::new();
        let headers: Headers = [("content-type", "text/html")].into_iter().collect();
        let page = |text: &&str| format!("<html lang=en>{text}");
        let pages: Vec<TermDocument> =
            texts.iter().map(|text| reader.bytes(None, &headers, page(text).as_bytes())).collect();
        let pages: Vec<&TermDocument> = pages.iter().collect();
        WordRanking::new("barn owl nesting", description).unwrap().scores(&mut reader, &pages)
    }

    #[test]
    fn pages_with_more_of_the_words_come_first() {
        let all = "<p>The barn owl nests in barns; owls and their nests, a barn, an owl, a nest.";
        let title = "<title>Barn owls: nesting</title><p>They live in old buildings and hunt voles at night.";
        let passing = "<p>The farm has a barn, cows, sheep, horses, geese, a pond, fields, fences, ditches.";
        let none = "<p>Stir the soup with the onion and some salt in the pot until it is thick.";
        let found: Vec<f64> =
            scores(None, &[all, title, passing, none]).iter().map(WordScore::rank).collect();
        assert!(found[0] > 0.6 && found[1] > 0.6, "{found:?}");
        assert!(found[2] > 0.0 && found[2] < 0.4, "{found:?}");
        assert!(found[3].abs() < f64::EPSILON, "{found:?}");
    }

    #[test]
    fn the_description_orders_pages_with_the_same_words() {
        let box_plans = "<p>barn owl nesting: plans to build a wooden box with a saw, screws and a hinge.";
        let biology =
            "<p>barn owl nesting: eggs hatch after a month, chicks fledge and the pair feeds them voles.";
        let [plans, birds] = scores(None, &[box_plans, biology])[..] else { panic!() };
        assert!((plans.rank() - birds.rank()).abs() < 0.05, "{plans:?} {birds:?}");
        let described =
            scores(Some("How to build a box of wood: saw, screws, hinges."), &[box_plans, biology]);
        assert!(described[0].rank() > described[1].rank(), "{described:?}");
        assert!((described[0].words - plans.words).abs() < 1e-9, "the words count as before");
    }
}
