//! The apprentice on hand-written pages.

use porthole_page::{Extractor, Page, TermSplitter};
use porthole_types::{CanonicalUrl, Headers, Judgment, TermId, TopicId};

use super::context::{Outcomes, PageContext};
use super::feature::LinkFeature;
use super::settings::{Encoding, TermEncoding};
use super::*;
use crate::named;

fn page(url: &str, html: &str) -> (CanonicalUrl, Page) {
    let url = CanonicalUrl::parse(url).unwrap();
    let page = Extractor::default().extract(&url, &Headers::new(), html.as_bytes());
    (url, page)
}

fn term(word: &str) -> TermId {
    let mut terms = Vec::new();
    TermSplitter::default().append(word, "en", &mut terms);
    terms[0]
}

/// The kind of tree that A Fig. 3 shows: text before the link, in a nested element, the link with two leaves, text
/// after it, an element without text.
const TREE: &str = "<html lang=en><ul><li>early<tt>birds</tt></li><li><a href=/v>grey<em>owls</em></a><font>hoot\
                    </font>loudly</li><li><br>night</li></ul>";

fn features(terms: TermEncoding, d_max: u32) -> Vec<LinkFeature> {
    let (_, page) = page("http://a.test/", TREE);
    let encoding = Encoding::of_terms(terms, d_max);
    let context = PageContext::new(&page, 0.5, &encoding);
    let mut found = Vec::new();
    let link = context.link(&page.links[0]);
    context.each_feature(&link, &encoding, &Outcomes::default(), |feature| found.push(feature));
    found
}

#[test]
fn offsets_are_those_of_the_paper() {
    let td = |word, offset| LinkFeature::term(term(word), offset, 0);
    let inside = [td("grey", 0), td("owls", 0)];
    assert_eq!(features(TermEncoding::Offset, 0), inside);
    let near = [td("birds", -1), inside[0], inside[1], td("hoot", 1)];
    assert_eq!(features(TermEncoding::Offset, 1), near);
    let far = features(TermEncoding::Offset, 9);
    let all = [td("early", -2), near[0], near[1], near[2], near[3], td("loudly", 2), td("night", 4)];
    assert_eq!(far, all);
    let window: Vec<LinkFeature> = all.iter().map(|feature| LinkFeature { offset: 0, ..*feature }).collect();
    assert_eq!(features(TermEncoding::Window, 9), window);
}

#[test]
fn path_lengths_match_hand_counts() {
    let ways = |terms| features(terms, 9).iter().map(|feature| feature.way).collect::<Vec<_>>();
    // The link is in html, body, ul, li. From "early" up to li and ul, and down li to the link: 4. From inside the em:
    // 2. "hoot" is in a font next to the link.
    assert_eq!(ways(TermEncoding::Way), [4, 5, 1, 2, 3, 2, 4]);
    assert_eq!(ways(TermEncoding::Ancestor), [3, 3, 5, 5, 4, 4, 3]);
}

#[test]
fn far_terms_and_neighbours_are_optional_features() {
    let html = "<html lang=en><p>one<a href=/a>two</a><a href=/b>three</a>four<a href=/c>five</a>";
    let (_, page) = page("http://a.test/", html);
    let encoding = Encoding { far: true, cocitation: true, ..Encoding::of_terms(TermEncoding::Offset, 1) };
    let context = PageContext::new(&page, 0.5, &encoding);
    let outcomes: Outcomes =
        [(0, 0.9), (2, 0.1)].map(|(at, r)| (page.links[at].target.id(), r)).into_iter().collect();
    let of_link = |at: usize, encoding: &Encoding| {
        let mut found = Vec::new();
        context
            .each_feature(&context.link(&page.links[at]), encoding, &outcomes, |feature| found.push(feature));
        found
    };
    let td = |word, offset| LinkFeature::term(term(word), offset, 0);
    let near = [td("two", -1), td("three", 0), td("four", 1)];
    let far = [LinkFeature::far(term("one")), LinkFeature::far(term("five"))];
    assert_eq!(of_link(1, &encoding), [&near[..], &far, &[LinkFeature::neighbour(true, -1)]].concat());
    let wider = Encoding { far: false, d_max: 2, ..encoding };
    let neighbours: Vec<LinkFeature> = of_link(1, &wider).into_iter().skip(5).collect();
    assert_eq!(neighbours, [LinkFeature::neighbour(true, -1), LinkFeature::neighbour(false, 2)]);
}

#[test]
fn feature_hashes_never_change() {
    // They are stored.
    let number = |feature: LinkFeature| format!("{:08x}", feature.hash());
    assert_eq!(number(LinkFeature::term(TermId(0x3140_a3f9), -2, 0)), NUMBERS[0]);
    assert_eq!(number(LinkFeature::neighbour(true, 3)), NUMBERS[1]);
    assert_eq!(number(LinkFeature::topic(super::feature::name("/Science"))), NUMBERS[2]);
}

const NUMBERS: [&str; 3] = ["c0ce08fe", "6091c57f", "8fb73d98"];

/// A hand-written crawl: pages arrive in any order.
struct TestCrawl {
    strategy: Box<dyn Strategy>,
    rescored: Vec<(String, f64)>,
}

impl TestCrawl {
    fn new(name: &str) -> TestCrawl {
        TestCrawl { strategy: named(name, &CrawlGoal::nothing(0)).unwrap(), rescored: Vec::new() }
    }

    /// Adds a page; returns the priorities of its links, and records those that are rescored.
    fn page(&mut self, path: &str, html: &str, relevance: f64) -> Vec<f64> {
        let (url, page) = page(&format!("http://a.test{path}"), html);
        let judgment = Judgment { relevance, best: TopicId(0) };
        let source = SourcePage { url: &url, page: &page, judgment, on_topic: true, depth: 0 };
        self.strategy.arrived(&source);
        let worths = page.links.iter().map(|link| self.strategy.priority(&source, link).unwrap()).collect();
        self.rescored
            .extend(self.strategy.rescored().into_iter().map(|(url, worth)| (url.to_string(), worth)));
        worths
    }

    fn rescored_priority(&self, path: &str) -> Option<f64> {
        let id = CanonicalUrl::parse(&format!("http://a.test{path}")).unwrap().id().to_string();
        self.rescored.iter().rev().find(|(url, _)| *url == id).map(|(_, worth)| *worth)
    }
}

/// A list of links to birds and bolts.
fn list(from: u32, to: u32) -> String {
    let link = |n: u32| {
        let word = if n.is_multiple_of(2) { "bird" } else { "bolt" };
        format!("<li><a href=/{n}>{word}</a></li>")
    };
    format!("<html lang=en><ul>{}", (from..to).map(link).collect::<String>())
}

/// A crawl after twelve pages of the list, where birds are relevant.
fn trained_crawl(name: &str) -> TestCrawl {
    let mut crawl = TestCrawl::new(name);
    assert_eq!(crawl.page("/list", &list(0, 40), 0.5)[..2], [0.5, 0.5]);
    for n in 0..12 {
        crawl.page(&format!("/{n}"), "nothing", if n % 2 == 0 { 0.95 } else { 0.05 });
    }
    crawl
}

#[test]
fn waiting_links_are_rescored_after_training() {
    for name in ["apprentice:d=0,train=13", "apprentice:d=0,train=13,learner=regression"] {
        let mut crawl = trained_crawl(name);
        let (bird, bolt) = (crawl.rescored_priority("/12").unwrap(), crawl.rescored_priority("/13").unwrap());
        assert!(bird > 0.6 && bolt < 0.4, "{name}: {bird} {bolt}");
        assert_eq!(crawl.rescored.len(), 28, "{name}: exactly the waiting links");
        let worths = crawl.page("/more", &list(100, 102), 0.5);
        assert!(worths[0] > 0.6 && worths[1] < 0.4, "{name}: {worths:?}");
    }
    let mut never = trained_crawl("apprentice:d=0,train=0");
    assert_eq!((never.rescored.len(), never.page("/more", &list(100, 101), 0.5)), (0, vec![0.5]));
}

#[test]
fn hand_computed_priority() {
    let mut crawl = trained_crawl("apprentice:d=0,train=13");
    // Six of each, one feature each: theta(high, bird) = 7/8, theta(low, bird) = 1/8, so the log odds are ln 7.
    let priority = crawl.page("/more", &list(100, 101), 0.5)[0];
    let log_odds = 7.0_f64.ln();
    assert!((priority - (0.5 + 0.5 * log_odds / (1.0 + log_odds))).abs() < 1e-6, "{priority}");
}

#[test]
fn links_to_fetched_pages_are_instances_and_self_links_are_not() {
    let mut crawl = TestCrawl::new("apprentice:d=0,train=0");
    crawl.page("/a", "<a href=/a>self</a>", 0.9);
    crawl.page("/b", "<a href=/a>back</a><a href=/b>self</a>", 0.1);
    let lessons = Lessons::of_memory(&crawl.strategy.save().unwrap()).unwrap().unwrap();
    assert_eq!(lessons.instances(), 1);
}

#[test]
fn the_parents_setting_selects_which_link_counts() {
    // The same page is linked as a bolt first, then as a bird, then as a bolt.
    let worths = |parents: &str| {
        let mut crawl = trained_crawl(&format!("apprentice:d=0,train=13,parents={parents}"));
        let mut word = |path: &str, word: &str| {
            crawl.page(path, &format!("<html lang=en><a href=/v>{word}</a>"), 0.5)[0]
        };
        let worths = [word("/p", "bolt"), word("/q", "bird"), word("/r", "bolt")];
        worths.map(|worth| worth > 0.5)
    };
    assert_eq!(worths("first"), [false, false, false]);
    assert_eq!(worths("highest"), [false, true, true]);
    assert_eq!(worths("last"), [false, true, false]);
}

#[test]
fn a_restored_apprentice_continues_identically() {
    for name in [
        "apprentice:d=1,train=13,again=1.1",
        "apprentice:learner=perceptron,train=13,features=tld,cocitation=yes",
    ] {
        let mut whole = trained_crawl(name);
        let saved = whole.strategy.save().unwrap();
        let mut again = TestCrawl::new(name);
        again.strategy.restore(&saved).unwrap();
        assert_eq!(again.strategy.save().unwrap(), saved);
        whole.rescored.clear();
        for crawl in [&mut whole, &mut again] {
            crawl.page("/12", &list(7, 50), 0.9);
            crawl.page("/13", &list(50, 60), 0.1);
            crawl.page("/14", "", 0.9);
        }
        assert!(!whole.rescored.is_empty());
        assert_eq!(whole.rescored, again.rescored);
        assert_eq!(whole.strategy.save(), again.strategy.save());
        assert!(named("apprentice:d=2", &CrawlGoal::nothing(0)).unwrap().restore(&saved).is_err());
        let cuts = (0..saved.len()).step_by(7);
        assert!(
            cuts.map(|cut| TestCrawl::new(name).strategy.restore(&saved[..cut]))
                .all(|restored| restored.is_err())
        );
    }
}

#[test]
fn the_oldest_page_is_forgotten_when_too_many_links_wait() {
    let mut crawl = TestCrawl::new("apprentice:d=0,train=0,remember=50");
    crawl.page("/old", &list(0, 40), 0.5);
    crawl.page("/new", &list(30, 70), 0.5);
    for n in 0..70 {
        crawl.page(&format!("/{n}"), "nothing", 0.5);
    }
    let lessons = Lessons::of_memory(&crawl.strategy.save().unwrap()).unwrap().unwrap();
    assert_eq!(lessons.instances(), 40, "only the instances of the new page");
}

#[test]
fn lessons_with_the_same_encoding_can_be_merged() {
    let lessons =
        |name: &str| Lessons::of_memory(&trained_crawl(name).strategy.save().unwrap()).unwrap().unwrap();
    let mut both = lessons("apprentice:d=0,train=0");
    both.merge(&lessons("apprentice:d=0,train=0")).unwrap();
    assert_eq!(both.instances(), 24);
    assert!(both.merge(&lessons("apprentice:d=1,train=0")).is_err());
    assert!(both.merge(&lessons("apprentice:d=0,train=0,topics=name")).is_err());
}

#[test]
fn a_crawl_can_start_from_the_lessons_of_another() {
    let earlier = trained_crawl("apprentice:d=0,train=0");
    let lessons = Lessons::of_memory(&earlier.strategy.save().unwrap()).unwrap();
    let goal = CrawlGoal { lessons, ..CrawlGoal::nothing(0) };
    let mut crawl = TestCrawl { strategy: named("apprentice:d=0", &goal).unwrap(), rescored: Vec::new() };
    let worths = crawl.page("/elsewhere", &list(100, 102), 0.5);
    assert!(worths[0] > 0.6 && worths[1] < 0.4, "{worths:?}");
    assert!(named("apprentice:d=1", &goal).is_err());
    assert!(named("apprentice:d=0,learner=regression", &goal).is_err());
}

/// A page of a small web: it links to three others, next to words that describe them.
fn linked(n: u32) -> String {
    let link = |to: u32| {
        let word = if to.is_multiple_of(3) { "bird" } else { "bolt" };
        format!("<p>{word} number<a href=/{to}>this</a>one</p>")
    };
    format!("<html lang=en>{}", targets(n).map(link).concat())
}

fn targets(n: u32) -> [u32; 3] {
    [n * 7 + 3, n * 5 + 1, n * 11 + 8].map(|to| to % 60)
}

fn relevance(n: u32) -> f64 {
    if n.is_multiple_of(3) { 0.9 - f64::from(n) / 1000.0 } else { 0.01 + f64::from(n) / 1000.0 }
}

#[test]
fn the_offline_study_scores_like_an_apprentice_trained_at_the_end() {
    for features in ["", ",cocitation=yes", ",features=window", ",far=yes"] {
        let mut crawl = TestCrawl::new(&format!("apprentice:d=2,train=41,again=1000{features}"));
        let mut study = CrawlTranscript::default();
        for n in 0..40 {
            crawl.page(&format!("/{n}"), &linked(n), relevance(n));
            let (url, page) = page(&format!("http://a.test/{n}"), &linked(n));
            study.add(url.id(), &page, relevance(n), &PageTopics::default());
        }
        assert!(crawl.rescored.is_empty());
        crawl.page("/elsewhere", "nothing", 0.5);
        let terms = if features.contains("window") { TermEncoding::Window } else { TermEncoding::Offset };
        let (cocitation, far) = (features.contains("cocitation"), features.contains("far"));
        let encoding = Encoding { cocitation, far, ..Encoding::of_terms(terms, 2) };
        let queue = study.queue(&encoding).unwrap();
        let mut rescored = crawl.rescored.clone();
        rescored.sort_by(|a, b| a.0.cmp(&b.0));
        // The study has probabilities, the crawl the priorities of their log odds.
        let priority = |probability: f64| naive_bayes::priority((probability / (1.0 - probability)).ln());
        let mut expected: Vec<(String, f64)> =
            queue.iter().map(|waiting| (waiting.url.to_string(), priority(waiting.after))).collect();
        expected.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!(rescored.len(), expected.len(), "{features}");
        for (rescored, expected) in rescored.iter().zip(&expected) {
            assert_eq!(rescored.0, expected.0, "{features}");
            assert!((rescored.1 - expected.1).abs() < 1e-9, "{features}: {rescored:?} {expected:?}");
        }
        assert!(rescored.len() > 10, "{features}");
        let lessons = Lessons::of_memory(&crawl.strategy.save().unwrap()).unwrap().unwrap();
        assert_eq!(study.instances() as u64, lessons.instances(), "{features}");
        // Soft focus: the best of the pages that link there.
        for to in 40..60 {
            let sources = (0..40).filter(|n| targets(*n).contains(&to));
            let best = sources.map(|n| relevance(n) as f32).reduce(f32::max);
            let url = CanonicalUrl::parse(&format!("http://a.test/{to}")).unwrap().id();
            let waiting = queue.iter().find(|waiting| waiting.url == url);
            assert_eq!(waiting.map(|waiting| waiting.before as f32), best, "{features}: {to}");
        }
    }
}

#[test]
fn the_maximum_offset_is_the_most_accurate_one() {
    // The significant word is two leaves before its link; nearer terms are noise.
    let entry = |n: u32, word: &str| format!("<li>{word}<br><a href=/{n}>this</a></li><li><hr>noise{n}</li>");
    let word = |n: u32| if n.is_multiple_of(2) { "bird" } else { "bolt" };
    let list = |from: u32, to: u32| {
        format!("<html lang=en>{}", (from..to).map(|n| entry(n, word(n))).collect::<String>())
    };
    let crawl = |name: &str| {
        let mut crawl = TestCrawl::new(name);
        crawl.page("/list", &list(0, 60), 0.5);
        for n in 0..40 {
            crawl.page(&format!("/{n}"), "nothing", if n % 2 == 0 { 0.95 } else { 0.05 });
        }
        crawl
    };
    let d_max =
        |crawl: &TestCrawl| Lessons::of_memory(&crawl.strategy.save().unwrap()).unwrap().unwrap().d_max();
    let mut auto = crawl("apprentice:d=auto,train=41");
    assert_eq!(d_max(&auto), 2);
    let mut by_hand = crawl("apprentice:d=2,train=41");
    assert!(!auto.rescored.is_empty());
    assert_eq!(auto.rescored, by_hand.rescored, "equal to the apprentice with d=2");
    assert_eq!(auto.page("/more", &list(100, 102), 0.5), by_hand.page("/more", &list(100, 102), 0.5));
    // Until the first training, the offset is that of the paper.
    assert_eq!(d_max(&crawl("apprentice:d=auto,train=42")), 5);
    let mut again = TestCrawl::new("apprentice:d=auto,train=41");
    again.strategy.restore(&auto.strategy.save().unwrap()).unwrap();
    assert_eq!(again.strategy.save(), auto.strategy.save());
    assert!(
        TestCrawl::new("apprentice:d=2,train=41").strategy.restore(&auto.strategy.save().unwrap()).is_err()
    );
    // An apprentice that starts from its lessons uses the same offset.
    let lessons = Lessons::of_memory(&auto.strategy.save().unwrap()).unwrap();
    let begun = named("apprentice:d=auto", &CrawlGoal { lessons, ..CrawlGoal::nothing(0) }).unwrap();
    assert_eq!(d_max(&TestCrawl { strategy: begun, rescored: Vec::new() }), 2);
    assert!(named("apprentice:d=auto,far=yes", &CrawlGoal::nothing(0)).is_err());
    let wrong = named("apprentice:d=far", &CrawlGoal::nothing(0)).err().unwrap().to_string();
    assert!(wrong.contains("a number from 0 to 64, or auto"), "{wrong}");
}

#[test]
fn the_maximum_offset_is_final_after_enough_instances() {
    let mut crawl = TestCrawl::new("apprentice:d=auto,train=0");
    let list: String = (0..1_100)
        .map(|n| format!("<li>{}<a href=/{n}>on</a></li>", if n % 2 == 0 { "bird" } else { "bolt" }))
        .collect();
    crawl.page("/one", &format!("<html lang=en>{list}"), 0.5);
    crawl.page("/two", &format!("<html lang=en>{list}"), 0.5);
    for n in 0..1_100 {
        crawl.page(&format!("/{n}"), "nothing", if n % 2 == 0 { 0.95 } else { 0.05 });
    }
    // The word before the link is significant; every link has two instances, and 2,000 were kept until they decided.
    let saved = crawl.strategy.save().unwrap();
    let lessons = Lessons::of_memory(&saved).unwrap().unwrap();
    assert_eq!((lessons.d_max(), lessons.instances()), (1, 2_200));
    let mut again = TestCrawl::new("apprentice:d=auto,train=0");
    again.strategy.restore(&saved).unwrap();
    assert_eq!(again.strategy.save().unwrap(), saved);
}

#[test]
fn only_surprises_are_learnt_if_configured() {
    let mut crawl = TestCrawl::new("apprentice:d=0,train=0,surprises=0.25");
    crawl.page("/list", &list(0, 40), 0.9);
    for n in 0..12 {
        crawl.page(&format!("/{n}"), "nothing", if n % 2 == 0 { 0.9 } else { 0.05 });
    }
    let lessons = Lessons::of_memory(&crawl.strategy.save().unwrap()).unwrap().unwrap();
    // The first has no earlier difference to compare with; after it, all large differences are learnt.
    assert_eq!(lessons.instances(), 7);
}

#[test]
fn explanations_list_the_contributions_of_words() {
    let mut crawl = trained_crawl("apprentice:d=0,train=13");
    let (url, page) = page("http://a.test/x", "<html lang=en><a href=/v>birds</a>");
    let judgment = Judgment { relevance: 0.5, best: TopicId(0) };
    let source = SourcePage { url: &url, page: &page, judgment, on_topic: true, depth: 0 };
    let before = crawl.strategy.save();
    let parts = crawl.strategy.explain(&source, &page.links[0]);
    let words: Vec<&str> = parts.iter().map(|part| part.what.as_str()).collect();
    assert_eq!(words, ["prior of all links; Pr(high) = 0.875 in total", "\"birds\""]);
    assert!((parts[1].adds - 7_f64.ln()).abs() < 1e-6);
    assert_eq!(crawl.strategy.save(), before);
}
