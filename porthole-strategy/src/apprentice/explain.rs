//! What a link's worth is made of.

use std::collections::HashMap;

use porthole_page::{Link, Wording};
use porthole_types::TermId;

use super::Apprentice;
use super::feature::{Feature, Kind};
use super::learner::Learner;
use crate::{Part, Source};

/// So many features are named; the others are one part.
const NAMED: usize = 8;

impl Apprentice {
    /// The parts of the log odds of Pr(high), or of what another learner adds up; the strongest first.
    pub(super) fn parts(&mut self, source: &Source<'_>, link: &Link) -> Vec<Part> {
        let part = |what: &str, adds: f64| Part { what: what.to_owned(), adds };
        let context = self.context(source);
        let (place, encoding) = (context.link(link), &self.settings.encoding);
        let outcomes = self.memory.outcomes();
        let mut own = Vec::new();
        context.each_feature(&place, encoding, outcomes, |feature| own.push(feature));
        let all = context.features(&place, encoding, outcomes);
        let Some(worth) = self.learner.score(&all) else {
            return vec![part(
                "R of the page it is on, since nothing was learnt yet",
                source.judgment.relevance,
            )];
        };
        let bayes = self.learner.bayes();
        let scale = bayes.map_or(1.0, |bayes| bayes.scale(&all));
        let (always, adds): (f64, &dyn Fn(u32) -> f64) = match (&self.learner, bayes) {
            (_, Some(bayes)) => (bayes.prior, &|feature| bayes.odds(feature) * scale),
            (Learner::Linear { linear, .. }, _) => (linear.always(), &|feature| linear.weight(feature)),
            (Learner::Bayes(_), None) => (0.0, &|_| 0.0),
        };
        let words = words(source);
        let mut of_name: HashMap<String, f64> = HashMap::new();
        for feature in &own {
            *of_name.entry(in_words(*feature, &words)).or_default() += adds(feature.hash());
        }
        let of_page = &all[own.len()..];
        let topics = of_page.iter().map(|(feature, weight)| adds(*feature) * f64::from(*weight)).sum();
        let mut parts: Vec<Part> = of_name.into_iter().map(|(what, adds)| Part { what, adds }).collect();
        if !of_page.is_empty() {
            parts.push(part("the topics of the page it is on", topics));
        }
        parts.sort_by(|a, b| b.adds.abs().total_cmp(&a.adds.abs()).then_with(|| a.what.cmp(&b.what)));
        let others: f64 = parts.iter().skip(NAMED).map(|part| part.adds).sum();
        let more = parts.len().saturating_sub(NAMED);
        parts.truncate(NAMED);
        if more > 0 {
            parts.push(part(&format!("{more} other features"), others));
        }
        parts.insert(0, part(&format!("what all links have; together Pr(high) = {worth:.3}"), always));
        parts
    }
}

/// A word for every term of a page. Slow, and only for explanations.
fn words<'a>(source: &Source<'a>) -> HashMap<TermId, &'a str> {
    let (mut wording, mut terms, mut words) = (Wording::default(), Vec::new(), HashMap::new());
    for word in source.page.text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        terms.clear();
        wording.append(word, source.page.language, &mut terms);
        if let [term] = terms[..] {
            words.entry(term).or_insert(word);
        }
    }
    words
}

fn in_words(feature: Feature, words: &HashMap<TermId, &str>) -> String {
    let term = TermId(feature.what);
    let word = words.get(&term).map_or_else(|| format!("#{term}"), |word| (*word).to_owned());
    let place = match feature.offset {
        0 => String::new(),
        offset => format!(" at {offset:+}"),
    };
    match feature.kind {
        Kind::Term => format!("{word:?}{place}"),
        Kind::Far => format!("{word:?} far off"),
        Kind::Topic | Kind::Class => "a topic of the page".to_owned(),
        Kind::High => format!("a relevant neighbour{place}"),
        Kind::Low => format!("an irrelevant neighbour{place}"),
    }
}
