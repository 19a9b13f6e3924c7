//! Instances of a crawl to study: how well links' targets are foretold, and from where (A 3.4).

use porthole_page::Page;
use porthole_types::UrlId;

use super::counts::{self, Counts};
use super::diagnostics::{self, AtOffset};
use super::feature::{Feature, Weighed};
use super::lessons::Lessons;
use super::naive_bayes::{NaiveBayes, probability};
use super::settings::{Encoding, Terms};
use super::sheet::{Outcomes, Place, Sheet};

/// The pages of a crawl, and the links between them.
#[derive(Debug, Default)]
pub struct Study {
    sheets: Vec<Sheet>,
    outcomes: Outcomes,
}

/// How often the apprentice is right about links whose targets it has not seen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Accuracy {
    /// Share of the links to relevant pages that it calls so.
    pub positive: f64,
    /// Share of the others that it calls irrelevant.
    pub negative: f64,
    /// Share of all that it is right about.
    pub average: f64,
}

impl Study {
    /// Adds a page of the crawl; `topic` is the path of its best topic.
    pub fn add(&mut self, url: UrlId, page: &Page, relevance: f64, topic: &str) {
        // All that any encoding needs.
        let everything = Encoding { cocitation: true, far: true, ..Encoding::of_terms(Terms::Way, 0) };
        let mut sheet = Sheet::new(page, relevance, &everything);
        sheet.source = url;
        sheet.links = page.links.iter().map(|link| sheet.link(link)).collect();
        let names = super::prefixes(&[topic.to_owned()]);
        sheet.page_features =
            names.into_iter().flatten().map(|name| Feature::topic(name).weighed(1)).collect();
        self.outcomes.insert(url, relevance as f32);
        self.sheets.push(sheet);
    }

    /// The links between pages of the crawl, with Pr(c*|v): the instances (A 3.5).
    pub(super) fn links(&self) -> impl Iterator<Item = (&Sheet, &Place, f64)> {
        let of_sheet = |sheet| Sheet::links_within(sheet, &self.outcomes);
        self.sheets.iter().flat_map(of_sheet)
    }

    /// How many there are.
    pub fn instances(&self) -> usize {
        self.links().count()
    }

    /// Where low relevance ends and high begins, for these instances.
    pub fn cut(&self) -> f64 {
        counts::begin(self.cut_bin())
    }

    pub(super) fn cut_bin(&self) -> usize {
        let mut counts = Counts::default();
        self.links().for_each(|(_, _, relevance)| counts.add(&[], relevance));
        counts.cut()
    }

    /// What there is to learn from all of them.
    pub fn lessons(&self, encoding: &Encoding) -> Lessons {
        let mut counts = Counts::default();
        for (sheet, link, relevance) in self.links() {
            counts.add(&sheet.features(link, encoding, &self.outcomes), relevance);
        }
        Lessons::of(encoding, counts)
    }

    /// Cross-validation (A Fig. 6). All links to the same page are in the same of `folds` parts, so that it is always about
    /// pages that were not seen; `None` if there is too little of one kind to learn from.
    pub fn accuracy(&self, encoding: &Encoding, folds: u64) -> Option<Accuracy> {
        let cut = self.cut_bin();
        let instances: Vec<(u64, Vec<Weighed>, f64)> = self
            .links()
            .map(|(sheet, link, relevance)| {
                (link.target.0 % folds, sheet.features(link, encoding, &self.outcomes), relevance)
            })
            .collect();
        let (mut right, mut all) = ([0_u64; 2], [0_u64; 2]);
        for fold in 0..folds {
            let mut counts = Counts::default();
            let learnt = instances.iter().filter(|(of, ..)| *of != fold);
            learnt.for_each(|(_, features, relevance)| counts.add(features, *relevance));
            let bayes = NaiveBayes::train(&counts, 0)?;
            for (_, features, relevance) in instances.iter().filter(|(of, ..)| *of == fold) {
                let is_high = counts::bin(*relevance) >= cut;
                let said = probability(bayes.log_odds(features)) >= 0.5;
                all[usize::from(is_high)] += 1;
                right[usize::from(is_high)] += u64::from(said == is_high);
            }
        }
        let share = |right: u64, all: u64| right as f64 / all.max(1) as f64;
        Some(Accuracy {
            positive: share(right[1], all[1]),
            negative: share(right[0], all[0]),
            average: share(right[0] + right[1], all[0] + all[1]),
        })
    }

    /// What terms and leaves at each offset are like (A Figs. 8 and 9).
    pub fn by_offset(&self, d_max: u32) -> Vec<AtOffset> {
        diagnostics::by_offset(self, d_max)
    }
}

impl Sheet {
    fn links_within<'a>(
        &'a self,
        outcomes: &'a Outcomes,
    ) -> impl Iterator<Item = (&'a Sheet, &'a Place, f64)> {
        let others = self.links.iter().filter(|link| link.target != self.source);
        others.filter_map(move |link| Some((self, link, f64::from(*outcomes.get(&link.target)?))))
    }
}

#[cfg(test)]
mod tests {
    use porthole_page::Extractor;
    use porthole_types::{CanonicalUrl, Headers};

    use super::*;

    /// Twenty pages about birds and twenty about bolts, all linked to from one list.
    fn study() -> Study {
        let mut study = Study::default();
        let mut extractor = Extractor::default();
        let mut list = String::new();
        for n in 0..40 {
            let word = if n % 2 == 0 { "bird" } else { "bolt" };
            list.push_str(&format!("<li><a href=/{n}>number</a> {word}</li>"));
        }
        let mut add = |url: &str, html: &str, relevance| {
            let url = CanonicalUrl::parse(url).unwrap();
            let page = extractor.extract(&url, &Headers::new(), html.as_bytes());
            study.add(url.id(), &page, relevance, "/Birds");
        };
        add("http://a.test/", &list, 0.5);
        for n in 0..40 {
            let relevance = if n % 2 == 0 { 0.9 } else { 0.1 };
            add(&format!("http://a.test/{n}"), "<a href=/>home</a>", relevance);
        }
        study
    }

    #[test]
    fn what_stands_behind_the_link_tells_and_what_stands_around_it_does_not() {
        let study = study();
        // 40 links of the list, 40 back to it.
        assert_eq!((study.instances(), study.cut()), (80, 0.5));
        let accuracy = |terms, d_max| study.accuracy(&Encoding::of_terms(terms, d_max), 5).unwrap().average;
        // The word is at +1 of its link and at -1 of the next, which has the other one: without offsets all is one.
        assert!(accuracy(Terms::Offset, 1) > 0.95);
        assert!(accuracy(Terms::Window, 1) < 0.9);
        assert!(accuracy(Terms::Offset, 0) < 0.9);
    }

    #[test]
    fn gain_is_where_the_word_stands() {
        let study = study();
        let at = study.by_offset(1);
        let gain = |offset| at.iter().find(|at| at.offset == offset).unwrap().information_gain;
        assert!(gain(1) > gain(0));
        assert!(at.iter().all(|at| at.leaves > 0));
    }

    #[test]
    fn lessons_of_two_parts_add_up_if_they_are_of_the_same_features() {
        let encoding = Encoding::of_terms(Terms::Offset, 2);
        let mut both = study().lessons(&encoding);
        both.merge(&study().lessons(&encoding)).unwrap();
        assert_eq!(both.instances(), 160);
        assert!(both.merge(&study().lessons(&Encoding::of_terms(Terms::Window, 2))).is_err());
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
