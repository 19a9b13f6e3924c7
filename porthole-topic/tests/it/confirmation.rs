//! Confirmations: a good topic is separated from its neighbour by answers.

use std::collections::BTreeMap;

use porthole_topic::{
    AnsweredPages, Critic, CriticModel, Statistics, Taxonomy, TopicDecision, TopicExample, TrainingOptions,
    Tuning, Tunings, confirmation, train,
};
use porthole_types::{TermId, TopicId};

type Page = Vec<(TermId, u32)>;

/// Random pages. Uses its own generator, so that the test is the same everywhere.
struct Pages(u64);

impl Pages {
    fn random(&mut self, below: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32 % below
    }

    /// 80 words: a quarter are those of a topic, another quarter those of its branch, the others common.
    fn page(&mut self, topic: u32, branch: u32) -> Page {
        let mut counts = BTreeMap::new();
        for _ in 0..80 {
            let term = match self.random(4) {
                0 => 1_000 * topic + self.random(30),
                1 => 500 + 100 * branch + self.random(40),
                _ => self.random(200),
            };
            *counts.entry(TermId(term)).or_insert(0) += 1;
        }
        counts.into_iter().collect()
    }

    fn pages(&mut self, number: usize, topic: u32, branch: u32) -> Vec<Page> {
        (0..number).map(|_| self.page(topic, branch)).collect()
    }
}

/// A good topic and one far from it. Pages of the twin, which shares the good topic's branch, look good.
struct Neighbours {
    tree: Taxonomy,
    good: TopicId,
    model: CriticModel,
    yes: Vec<Page>,
    no: Vec<Page>,
    examples: Vec<Page>,
    pages: Pages,
}

const FUNDS: u32 = 1;
const TWIN: u32 = 2;
const FAR: u32 = 3;

impl Neighbours {
    fn new(answers: usize) -> Neighbours {
        let mut pages = Pages(7);
        let mut tree = Taxonomy::new();
        let [good, far] = ["/Money/Funds", "/Far"].map(|path| tree.add_path(path).unwrap());
        tree.mark(good).unwrap();
        let other = tree.add_path("/Money/Else").unwrap();
        let examples = pages.pages(3, FUNDS, 0);
        let mut documents: Vec<(TopicId, Page)> = examples.iter().map(|page| (good, page.clone())).collect();
        documents.extend(pages.pages(20, FAR, 1).into_iter().map(|page| (far, page)));
        documents.extend(pages.pages(3, FAR, 2).into_iter().map(|page| (other, page)));
        let statistics =
            Statistics::of(documents.iter().map(|(topic, counts)| TopicExample { topic: *topic, counts }));
        let options = TrainingOptions::default();
        let model = train(&tree, &statistics, &Tunings::new(), &Tuning::untried(), &options);
        let (yes, no) = (pages.pages(answers, FUNDS, 0), pages.pages(answers, TWIN, 0));
        Neighbours { tree, good, model, yes, no, examples, pages }
    }

    fn confirmation<'a>(&'a self) -> Option<TopicDecision> {
        let slices = |pages: &'a [Page]| pages.iter().map(Vec::as_slice).collect();
        let pages =
            AnsweredPages { yes: slices(&self.yes), no: slices(&self.no), examples: slices(&self.examples) };
        confirmation(self.good, &pages)
    }

    /// Mean R of new pages.
    fn mean(&mut self, model: &CriticModel, topic: u32) -> f64 {
        let mut critic = Critic::new(model.clone(), &self.tree);
        let pages = self.pages.pages(100, topic, 0);
        pages.iter().map(|page| critic.relevance(page)).sum::<f64>() / 100.0
    }
}

#[test]
fn answers_separate_a_good_topic_from_its_neighbour() {
    let mut web = Neighbours::new(10);
    let model = web.model.clone();
    assert!(web.mean(&model, TWIN) > 0.5, "the twin looks good");
    let confirmed = model.with_confirmations(&[web.confirmation().unwrap()]);
    let (good, twin) = (web.mean(&confirmed, FUNDS), web.mean(&confirmed, TWIN));
    assert!(good > 0.7 && twin < 0.3, "{good} {twin}");
    // Pages are judged according to their answers.
    let mut critic = Critic::new(confirmed.clone(), &web.tree);
    assert!(web.yes.iter().chain(&web.examples).all(|page| critic.relevance(page) > 0.5));
    assert!(web.no.iter().all(|page| critic.relevance(page) < 0.5));
    // The words that distinguish both are part of the explanation; the tree alone knows nothing of them.
    let page = web.pages.page(TWIN, 0);
    let names_twin = |model: &CriticModel| {
        let steps = Critic::new(model.clone(), &web.tree).explain_topic(web.good, &page, 40);
        steps.last().unwrap().words_against.iter().any(|(term, _)| (2_000..3_000).contains(&term.0))
    };
    assert!(names_twin(&confirmed) && !names_twin(&web.model));
}

#[test]
fn a_confirmed_tree_is_a_tree_of_probabilities() {
    let mut web = Neighbours::new(10);
    let model = web.model.with_confirmations(&[web.confirmation().unwrap()]);
    let mut critic = Critic::new(model.clone(), &web.tree);
    let mut quick = critic.relevance_only();
    for page in [TWIN, FUNDS, FAR].map(|topic| web.pages.page(topic, 0)) {
        for node in [TopicId::ROOT, web.tree.find("/Money").unwrap()] {
            let sum: f64 = critic.children(node, &page).iter().map(|(_, log)| log.exp()).sum();
            assert!((sum - 1.0).abs() < 1e-9, "{sum}");
        }
        let all: Vec<(TopicId, f64)> = critic.all(&page);
        let of_good = all.iter().find(|(topic, _)| *topic == web.good).unwrap().1;
        assert!((critic.judge(&page).relevance - of_good).abs() < 1e-12);
        assert!((quick.relevance(&page) - of_good).abs() < 1e-12);
        assert!(
            (critic.explain_topic(web.good, &page, 3).last().unwrap().probability - of_good).abs() < 1e-9
        );
    }
    // A page that the answers reject is about another topic.
    let twin = web.pages.page(TWIN, 0);
    assert_ne!(critic.judge(&twin).best, web.good);
    // The confirmation is not a decision of the tree.
    assert_eq!(model.decision_count(), web.model.decision_count());
    assert_eq!(model.decisions(), web.model.decisions());
    assert!(model.topics().eq(web.model.topics()));
    assert!(!model.knows(TopicId::ROOT));
    assert!(critic.children(web.good, &twin).is_empty());
    assert_eq!(model.confirmations().len(), 1);
    assert_eq!(model.with_confirmations(&[]), web.model);
}

#[test]
fn a_confirmation_is_part_of_the_bytes() {
    let web = Neighbours::new(10);
    let model = web.model.with_confirmations(&[web.confirmation().unwrap()]);
    assert_eq!(CriticModel::from_bytes(&model.to_bytes()).unwrap(), model);
    // A model without one has the format of earlier versions.
    let version = |model: &CriticModel| model.to_bytes()[8];
    assert_eq!((version(&web.model), version(&model)), (1, 2));
}

#[test]
fn few_answers_and_answers_without_a_pattern_confirm_nothing() {
    assert!(Neighbours::new(2).confirmation().is_none(), "too few");
    let mut web = Neighbours::new(10);
    web.no.clear();
    assert!(web.confirmation().is_none(), "no page was refused");
    // Pages of one kind, of which some were answered with no.
    let mut web = Neighbours::new(10);
    web.no = web.pages.pages(10, FUNDS, 0);
    assert!(web.confirmation().is_none(), "no pattern");
}

#[test]
fn a_good_topic_with_subtopics_is_confirmed() {
    let mut web = Neighbours::new(10);
    let mut tree = Taxonomy::new();
    let [one, two, far] = ["/Funds/One", "/Funds/Two", "/Far"].map(|path| tree.add_path(path).unwrap());
    let good = tree.find("/Funds").unwrap();
    tree.mark(good).unwrap();
    let mut documents: Vec<(TopicId, Page)> = Vec::new();
    for (topic, words, branch) in [(one, FUNDS, 0), (two, FUNDS, 1), (far, FAR, 2)] {
        documents.extend(web.pages.pages(5, words, branch).into_iter().map(|page| (topic, page)));
    }
    let statistics =
        Statistics::of(documents.iter().map(|(topic, counts)| TopicExample { topic: *topic, counts }));
    let model = train(&tree, &statistics, &Tunings::new(), &Tuning::untried(), &TrainingOptions::default());
    web.good = good;
    let confirmed = model.with_confirmations(&[web.confirmation().unwrap()]);
    let confirmed = CriticModel::from_bytes(&confirmed.to_bytes()).unwrap();
    let mut critic = Critic::new(confirmed, &tree);
    let (yes, no) = (web.pages.page(FUNDS, 0), web.pages.page(TWIN, 0));
    assert_eq!(critic.judge(&yes).best, one);
    assert!(critic.relevance(&yes) > 0.5 && critic.relevance(&no) < 0.5);
    let sum: f64 = critic.children(good, &yes).iter().map(|(_, log)| log.exp()).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{sum}");
}
