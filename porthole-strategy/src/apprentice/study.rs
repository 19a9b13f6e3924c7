//! Recorded crawls as training instances: how well a link's relevance is predicted, and from which offsets (A 3.4,
//! 3.8), and how a trained apprentice reorders the queue (A 3.7).

use std::collections::{BTreeMap, HashMap};

use porthole_page::Page;
use porthole_types::UrlId;

use super::context::{LinkPosition, Outcomes, PageContext};
use super::counts::{self, FeatureCounts};
use super::diagnostics::{self, AtOffset};
use super::feature::{self, WeightedFeature};
use super::naive_bayes::{NaiveBayes, probability};
use super::offline::TrainingSet;
use super::settings::{Encoding, TermEncoding};
use super::validation::{Accuracy, Instance, cross_validated};

/// The pages of a crawl in the order in which they were fetched, and the links between them.
#[derive(Debug, Default)]
pub struct CrawlTranscript {
    pages: Vec<TranscriptPage>,
    outcomes: Outcomes,
    /// Position of each page in that order.
    order: HashMap<UrlId, usize>,
}

/// A page of the crawl.
#[derive(Debug)]
pub(super) struct TranscriptPage {
    pub(super) context: PageContext,
    /// Element of each leaf.
    pub(super) tags: Vec<&'static str>,
    /// Hashed name of its best topic, after those of all its prefixes.
    names: Vec<u32>,
    classes: Vec<WeightedFeature>,
}

/// The critic's topics of a page, by path.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageTopics {
    /// The best topic.
    pub best: String,
    /// All topics with their probabilities.
    pub classes: Vec<(String, f64)>,
}

/// A URL in the queue at the end of the crawl.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueuedEstimate {
    /// The URL.
    pub url: UrlId,
    /// Priority by soft focus.
    pub before: f64,
    /// Priority by an apprentice that was trained on the crawl.
    pub after: f64,
}

impl CrawlTranscript {
    /// Adds the next page of the crawl.
    pub fn add(&mut self, url: UrlId, page: &Page, relevance: f64, topics: &PageTopics) {
        // Everything that any encoding needs.
        let everything = Encoding { cocitation: true, far: true, ..Encoding::of_terms(TermEncoding::Way, 0) };
        let mut context = PageContext::new(page, relevance, &everything);
        context.source = url;
        context.links = page.links.iter().map(|link| context.link(link)).collect();
        let leaves = (0..page.leaf_count()).filter_map(|leaf| page.leaf(leaf));
        let classes = topics.classes.iter();
        self.outcomes.insert(url, relevance as f32);
        self.order.insert(url, self.pages.len());
        self.pages.push(TranscriptPage {
            context,
            tags: leaves.map(|leaf| leaf.tag).collect(),
            names: super::prefixes(std::slice::from_ref(&topics.best)).remove(0),
            classes: classes.filter_map(|(path, pr)| feature::of_class(feature::name(path), *pr)).collect(),
        });
    }

    /// The links between pages of the crawl, with Pr(c*|v): the instances (A 3.5).
    pub(super) fn links(&self) -> impl Iterator<Item = (&TranscriptPage, &LinkPosition, f64)> {
        self.pages.iter().flat_map(move |page| {
            let others = page.context.links.iter().filter(|link| link.target != page.context.source);
            others.filter_map(move |link| Some((page, link, f64::from(*self.outcomes.get(&link.target)?))))
        })
    }

    /// Number of instances.
    pub fn instances(&self) -> usize {
        self.links().count()
    }

    /// Relevance at which high begins for these instances.
    pub fn cut(&self) -> f64 {
        counts::begin(self.cut_bin())
    }

    pub(super) fn cut_bin(&self) -> usize {
        let mut counts = FeatureCounts::default();
        self.links().for_each(|(_, _, relevance)| counts.add(&[], relevance));
        counts.cut()
    }

    /// The instances as an online apprentice would see them: the outcomes of neighbouring links are those known when
    /// both pages of the link were fetched.
    fn described(&self, encoding: &Encoding) -> Vec<Instance> {
        let mut by_time: BTreeMap<usize, Vec<(&TranscriptPage, &LinkPosition, f64)>> = BTreeMap::new();
        for (page, link, relevance) in self.links() {
            let (source, target) = (self.order[&page.context.source], self.order[&link.target]);
            // A link to a page that was fetched before is known together with its own page.
            by_time
                .entry(if target > source { 2 * target } else { 2 * source + 1 })
                .or_default()
                .push((page, link, relevance));
        }
        let mut known = Outcomes::default();
        let mut instances = Vec::new();
        for at in 0..2 * self.pages.len() {
            if let (1, TranscriptPage { context, .. }) = (at % 2, &self.pages[at / 2]) {
                known.insert(context.source, context.relevance);
            }
            for (page, link, relevance) in by_time.remove(&at).unwrap_or_default() {
                let features = page.features(link, encoding, &known);
                instances.push(Instance { target: link.target.0, features, relevance });
            }
        }
        instances
    }

    /// The instances as a training set.
    pub fn training_set(&self, encoding: &Encoding) -> TrainingSet {
        TrainingSet::new(self.described(encoding), self.cut_bin())
    }

    /// Accuracy by cross-validation (A Fig. 6); `None` if one class has too few instances.
    pub fn accuracy(&self, encoding: &Encoding, parts: u64) -> Option<Accuracy> {
        cross_validated(&self.described(encoding), parts)
    }

    /// Statistics of terms and leaves at each offset (A Figs. 8 and 9).
    pub fn by_offset(&self, d_max: u32) -> Vec<AtOffset> {
        diagnostics::by_offset(self, d_max)
    }

    /// The queue at the end of the crawl, with the priorities of soft focus and of an apprentice that is trained then
    /// (A 3.7, Fig. 13 a); `None` if there is too little to learn from. Of several links to a URL the best counts.
    pub fn queue(&self, encoding: &Encoding) -> Option<Vec<QueuedEstimate>> {
        let mut counts = FeatureCounts::default();
        self.described(encoding).iter().for_each(|link| counts.add(&link.features, link.relevance));
        let bayes = NaiveBayes::train(&counts, 0)?;
        let mut waiting: BTreeMap<UrlId, QueuedEstimate> = BTreeMap::new();
        for page in &self.pages {
            for link in page.context.links.iter().filter(|link| !self.outcomes.contains_key(&link.target)) {
                let before = f64::from(page.context.relevance);
                let after = probability(bayes.log_odds(&page.features(link, encoding, &self.outcomes)));
                let first = QueuedEstimate { url: link.target, before, after };
                let known = waiting.entry(link.target).or_insert(first);
                (known.before, known.after) = (known.before.max(before), known.after.max(after));
            }
        }
        Some(waiting.into_values().collect())
    }
}

impl TranscriptPage {
    fn features(
        &self,
        link: &LinkPosition,
        encoding: &Encoding,
        outcomes: &Outcomes,
    ) -> Vec<WeightedFeature> {
        let mut features = self.context.features(link, encoding, outcomes);
        features.extend(feature::of_topic(&self.names, encoding.topics));
        features.extend(self.classes.iter().filter(|_| encoding.classes));
        features
    }
}

#[cfg(test)]
mod tests {
    use porthole_page::Extractor;
    use porthole_types::{CanonicalUrl, Headers};

    use super::*;

    /// Twenty pages about birds and twenty about bolts, all linked to from one list.
    fn study() -> CrawlTranscript {
        let mut study = CrawlTranscript::default();
        let mut extractor = Extractor::default();
        let mut list = String::new();
        for n in 0..40 {
            let word = if n % 2 == 0 { "bird" } else { "bolt" };
            list.push_str(&format!("<li><a href=/{n}>number</a> {word}</li>"));
        }
        let mut add = |url: &str, html: &str, relevance| {
            let url = CanonicalUrl::parse(url).unwrap();
            let page = extractor.extract(&url, &Headers::new(), html.as_bytes());
            study.add(url.id(), &page, relevance, &PageTopics::default());
        };
        add("http://a.test/", &list, 0.5);
        for n in 0..40 {
            let relevance = if n % 2 == 0 { 0.9 } else { 0.1 };
            add(&format!("http://a.test/{n}"), "<a href=/>home</a>", relevance);
        }
        study
    }

    #[test]
    fn offsets_predict_better_than_a_window() {
        let study = study();
        // 40 links of the list, 40 back to it.
        assert_eq!((study.instances(), study.cut()), (80, 0.5));
        let accuracy = |terms, d_max| study.accuracy(&Encoding::of_terms(terms, d_max), 5).unwrap().average;
        // The word is at +1 of its link and at -1 of the next, which has the other one: without offsets they are the
        // same.
        assert!(accuracy(TermEncoding::Offset, 1) > 0.95);
        assert!(accuracy(TermEncoding::Window, 1) < 0.9);
        assert!(accuracy(TermEncoding::Offset, 0) < 0.9);
    }

    #[test]
    fn information_gain_is_at_the_offset_of_the_word() {
        let study = study();
        let at = study.by_offset(1);
        let gain = |offset| at.iter().find(|at| at.offset == offset).unwrap().information_gain;
        assert!(gain(1) > gain(0));
        assert!(at.iter().all(|at| at.leaves > 0));
        // After a link is the text of its item, before it that of the previous item; the 40 links home have no text
        // around them.
        let tags = |offset| at.iter().find(|at| at.offset == offset).unwrap().tags.clone();
        assert_eq!(tags(0), [("a", 1.0)].into());
        assert_eq!((tags(1), tags(-1)), ([("li", 40.0 / 80.0)].into(), [("li", 39.0 / 80.0)].into()));
    }

    #[test]
    fn names_have_all_their_prefixes() {
        let names = super::super::prefixes(&["/".to_owned(), "/Computers/Software/Linux".to_owned()]);
        let name = crate::apprentice::feature::name;
        assert_eq!(names[0], [name("/")]);
        let prefixes = ["/", "/Computers", "/Computers/Software", "/Computers/Software/Linux"].map(name);
        assert_eq!(names[1], prefixes);
    }
}
