//! Explanation of a link's priority.

use std::collections::HashMap;

use porthole_page::{Link, TermSplitter};
use porthole_types::TermId;

use super::Apprentice;
use super::feature::{FeatureKind, LinkFeature};
use super::learner::ApprenticeLearner;
use super::naive_bayes::probability;
use crate::{Part, SourcePage};

/// Number of features that are listed; the rest is summed up.
const NAMED: usize = 8;

impl Apprentice {
    /// Parts of the log odds of Pr(high), or of another learner's sum; the strongest first.
    pub(super) fn parts(&mut self, source: &SourcePage<'_>, link: &Link) -> Vec<Part> {
        let part = |what: &str, adds: f64| Part { what: what.to_owned(), adds };
        let context = self.context(source);
        let (place, encoding) = (context.link(link), &self.settings.encoding);
        let outcomes = self.memory.outcomes();
        let mut own = Vec::new();
        context.each_feature(&place, encoding, outcomes, |feature| own.push(feature));
        let all = context.features(&place, encoding, outcomes);
        let Some(priority) = self.learner.score(&all) else {
            return vec![part("R of the page it is on (not trained yet)", source.judgment.relevance)];
        };
        let bayes = self.learner.bayes();
        let scale = bayes.map_or(1.0, |bayes| bayes.scale(&all));
        let (bias, adds): (f64, &dyn Fn(u32) -> f64) = match (&self.learner, bayes) {
            (_, Some(bayes)) => (bayes.prior, &|feature| bayes.odds(feature) * scale),
            (ApprenticeLearner::Linear { linear, .. }, _) => {
                (linear.bias(), &|feature| linear.weight(feature))
            }
            (ApprenticeLearner::Bayes(_), None) => (0.0, &|_| 0.0),
        };
        let words = words(source);
        let mut of_name: HashMap<String, f64> = HashMap::new();
        for feature in &own {
            *of_name.entry(feature_label(*feature, &words)).or_default() += adds(feature.hash());
        }
        let of_page = &all[own.len()..];
        let topics = of_page.iter().map(|(feature, weight)| adds(*feature) * f64::from(*weight)).sum();
        let mut parts: Vec<Part> = of_name.into_iter().map(|(what, adds)| Part { what, adds }).collect();
        if !of_page.is_empty() {
            parts.push(part("topics of the page it is on", topics));
        }
        parts.sort_by(|a, b| b.adds.abs().total_cmp(&a.adds.abs()).then_with(|| a.what.cmp(&b.what)));
        let others: f64 = parts.iter().skip(NAMED).map(|part| part.adds).sum();
        let more = parts.len().saturating_sub(NAMED);
        parts.truncate(NAMED);
        if more > 0 {
            parts.push(part(&format!("{more} other features"), others));
        }
        let total = match bayes {
            Some(bayes) => format!("Pr(high) = {:.3}", probability(bayes.log_odds(&all))),
            None => format!("priority {priority:.3}"),
        };
        parts.insert(0, part(&format!("prior of all links; {total} in total"), bias));
        parts
    }
}

/// A word for every term of a page. Slow; only for explanations.
fn words<'a>(source: &SourcePage<'a>) -> HashMap<TermId, &'a str> {
    let (mut wording, mut terms, mut words) = (TermSplitter::default(), Vec::new(), HashMap::new());
    for word in source.page.text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        terms.clear();
        wording.append(word, source.page.language, &mut terms);
        if let [term] = terms[..] {
            words.entry(term).or_insert(word);
        }
    }
    words
}

fn feature_label(feature: LinkFeature, words: &HashMap<TermId, &str>) -> String {
    let term = TermId(feature.what);
    let word = words.get(&term).map_or_else(|| format!("#{term}"), |word| (*word).to_owned());
    let place = match feature.offset {
        0 => String::new(),
        offset => format!(" at {offset:+}"),
    };
    match feature.kind {
        FeatureKind::Term => format!("{word:?}{place}"),
        FeatureKind::Far => format!("{word:?} far off"),
        FeatureKind::Topic | FeatureKind::Class => "a topic of the page".to_owned(),
        FeatureKind::High => format!("a relevant neighbour{place}"),
        FeatureKind::Low => format!("an irrelevant neighbour{place}"),
    }
}
