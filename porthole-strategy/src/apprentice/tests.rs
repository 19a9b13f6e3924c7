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
fn ways_through_the_tree_are_counted_by_hand() {
    let ways = |terms| features(terms, 9).iter().map(|feature| feature.way).collect::<Vec<_>>();
    // The link is in html, body, ul, li. From "early" up to li and ul, and down li to the link: 4. From inside the em:
    // 2. "hoot" is in a font next to the link.
    assert_eq!(ways(TermEncoding::Way), [4, 5, 1, 2, 3, 2, 4]);
    assert_eq!(ways(TermEncoding::Ancestor), [3, 3, 5, 5, 4, 4, 3]);
}

#[test]
fn farther_terms_and_neighbours_are_features_if_asked_for() {
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
fn numbers_of_features_never_change() {
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
    said: Vec<(String, f64)>,
}

impl TestCrawl {
    fn new(name: &str) -> TestCrawl {
        TestCrawl { strategy: named(name, &CrawlGoal::nothing(0)).unwrap(), said: Vec::new() }
    }

    /// Adds a page; returns the priorities of its links, and records those that are rescored.
    fn page(&mut self, path: &str, html: &str, relevance: f64) -> Vec<f64> {
        let (url, page) = page(&format!("http://a.test{path}"), html);
        let judgment = Judgment { relevance, best: TopicId(0) };
        let source = SourcePage { url: &url, page: &page, judgment, on_topic: true, depth: 0 };
        self.strategy.arrived(&source);
        let worths = page.links.iter().map(|link| self.strategy.priority(&source, link).unwrap()).collect();
        self.said.extend(self.strategy.rescored().into_iter().map(|(url, worth)| (url.to_string(), worth)));
        worths
    }

    fn said_of(&self, path: &str) -> Option<f64> {
        let id = CanonicalUrl::parse(&format!("http://a.test{path}")).unwrap().id().to_string();
        self.said.iter().rev().find(|(url, _)| *url == id).map(|(_, worth)| *worth)
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
fn taught(name: &str) -> TestCrawl {
    let mut told = TestCrawl::new(name);
    assert_eq!(told.page("/list", &list(0, 40), 0.5)[..2], [0.5, 0.5]);
    for n in 0..12 {
        told.page(&format!("/{n}"), "nothing", if n % 2 == 0 { 0.95 } else { 0.05 });
    }
    told
}

#[test]
fn it_learns_what_links_lead_to_and_says_anew_what_they_are_worth() {
    for name in ["apprentice:d=0,train=13", "apprentice:d=0,train=13,learner=regression"] {
        let mut told = taught(name);
        let (bird, bolt) = (told.said_of("/12").unwrap(), told.said_of("/13").unwrap());
        assert!(bird > 0.6 && bolt < 0.4, "{name}: {bird} {bolt}");
        assert_eq!(told.said.len(), 28, "{name}: all that wait, and nothing else");
        let worths = told.page("/more", &list(100, 102), 0.5);
        assert!(worths[0] > 0.6 && worths[1] < 0.4, "{name}: {worths:?}");
    }
    let mut never = taught("apprentice:d=0,train=0");
    assert_eq!((never.said.len(), never.page("/more", &list(100, 101), 0.5)), (0, vec![0.5]));
}

#[test]
fn by_hand_it_is_the_formula() {
    let mut told = taught("apprentice:d=0,train=13");
    // Six of each, one feature each: theta(high, bird) = 7/8, theta(low, bird) = 1/8.
    let worth = told.page("/more", &list(100, 101), 0.5)[0];
    assert!((worth - 7.0 / 8.0).abs() < 1e-6, "{worth}");
}

#[test]
fn links_back_teach_too_and_links_to_itself_do_not() {
    let mut told = TestCrawl::new("apprentice:d=0,train=0");
    told.page("/a", "<a href=/a>self</a>", 0.9);
    told.page("/b", "<a href=/a>back</a><a href=/b>self</a>", 0.1);
    let lessons = Lessons::of_memory(&told.strategy.save().unwrap()).unwrap().unwrap();
    assert_eq!(lessons.instances(), 1);
}

#[test]
fn of_several_parents_the_chosen_one_counts() {
    // The same page is linked as a bolt first, then as a bird, then as a bolt.
    let worths = |parents: &str| {
        let mut told = taught(&format!("apprentice:d=0,train=13,parents={parents}"));
        let mut word =
            |path: &str, word: &str| told.page(path, &format!("<html lang=en><a href=/v>{word}</a>"), 0.5)[0];
        let worths = [word("/p", "bolt"), word("/q", "bird"), word("/r", "bolt")];
        worths.map(|worth| worth > 0.5)
    };
    assert_eq!(worths("first"), [false, false, false]);
    assert_eq!(worths("highest"), [false, true, true]);
    assert_eq!(worths("last"), [false, true, false]);
}

#[test]
fn what_is_saved_goes_on_as_if_nothing_had_happened() {
    for name in [
        "apprentice:d=1,train=13,again=1.1",
        "apprentice:learner=perceptron,train=13,features=tld,cocitation=yes",
    ] {
        let mut whole = taught(name);
        let saved = whole.strategy.save().unwrap();
        let mut again = TestCrawl::new(name);
        again.strategy.restore(&saved).unwrap();
        assert_eq!(again.strategy.save().unwrap(), saved);
        whole.said.clear();
        for told in [&mut whole, &mut again] {
            told.page("/12", &list(7, 50), 0.9);
            told.page("/13", &list(50, 60), 0.1);
            told.page("/14", "", 0.9);
        }
        assert!(!whole.said.is_empty());
        assert_eq!(whole.said, again.said);
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
    let mut told = TestCrawl::new("apprentice:d=0,train=0,remember=50");
    told.page("/old", &list(0, 40), 0.5);
    told.page("/new", &list(30, 70), 0.5);
    for n in 0..70 {
        told.page(&format!("/{n}"), "nothing", 0.5);
    }
    let lessons = Lessons::of_memory(&told.strategy.save().unwrap()).unwrap().unwrap();
    assert_eq!(lessons.instances(), 40, "of the new page only");
}

#[test]
fn lessons_of_two_workers_add_up_if_they_are_of_the_same_features() {
    let lessons = |name: &str| Lessons::of_memory(&taught(name).strategy.save().unwrap()).unwrap().unwrap();
    let mut both = lessons("apprentice:d=0,train=0");
    both.merge(&lessons("apprentice:d=0,train=0")).unwrap();
    assert_eq!(both.instances(), 24);
    assert!(both.merge(&lessons("apprentice:d=1,train=0")).is_err());
    assert!(both.merge(&lessons("apprentice:d=0,train=0,topics=name")).is_err());
}

#[test]
fn lessons_of_an_earlier_crawl_are_a_beginning() {
    let earlier = taught("apprentice:d=0,train=0");
    let lessons = Lessons::of_memory(&earlier.strategy.save().unwrap()).unwrap();
    let goal = CrawlGoal { lessons, ..CrawlGoal::nothing(0) };
    let mut told = TestCrawl { strategy: named("apprentice:d=0", &goal).unwrap(), said: Vec::new() };
    let worths = told.page("/elsewhere", &list(100, 102), 0.5);
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
fn a_study_of_a_crawl_says_what_an_apprentice_says_that_is_trained_at_its_end() {
    for features in ["", ",cocitation=yes", ",features=window", ",far=yes"] {
        let mut told = TestCrawl::new(&format!("apprentice:d=2,train=41,again=1000{features}"));
        let mut study = CrawlTranscript::default();
        for n in 0..40 {
            told.page(&format!("/{n}"), &linked(n), relevance(n));
            let (url, page) = page(&format!("http://a.test/{n}"), &linked(n));
            study.add(url.id(), &page, relevance(n), &PageTopics::default());
        }
        assert!(told.said.is_empty());
        told.page("/elsewhere", "nothing", 0.5);
        let terms = if features.contains("window") { TermEncoding::Window } else { TermEncoding::Offset };
        let (cocitation, far) = (features.contains("cocitation"), features.contains("far"));
        let encoding = Encoding { cocitation, far, ..Encoding::of_terms(terms, 2) };
        let queue = study.queue(&encoding).unwrap();
        let mut said = told.said.clone();
        said.sort_by(|a, b| a.0.cmp(&b.0));
        let mut expected: Vec<(String, f64)> =
            queue.iter().map(|waiting| (waiting.url.to_string(), waiting.after)).collect();
        expected.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!(said, expected, "{features}");
        assert!(said.len() > 10, "{features}");
        let lessons = Lessons::of_memory(&told.strategy.save().unwrap()).unwrap().unwrap();
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
fn how_far_to_look_is_chosen_by_what_foretells_best() {
    // The significant word is two leaves before its link; nearer terms are noise.
    let entry = |n: u32, word: &str| format!("<li>{word}<br><a href=/{n}>this</a></li><li><hr>noise{n}</li>");
    let word = |n: u32| if n.is_multiple_of(2) { "bird" } else { "bolt" };
    let list = |from: u32, to: u32| {
        format!("<html lang=en>{}", (from..to).map(|n| entry(n, word(n))).collect::<String>())
    };
    let told = |name: &str| {
        let mut told = TestCrawl::new(name);
        told.page("/list", &list(0, 60), 0.5);
        for n in 0..40 {
            told.page(&format!("/{n}"), "nothing", if n % 2 == 0 { 0.95 } else { 0.05 });
        }
        told
    };
    let d_max =
        |told: &TestCrawl| Lessons::of_memory(&told.strategy.save().unwrap()).unwrap().unwrap().d_max();
    let mut auto = told("apprentice:d=auto,train=41");
    assert_eq!(d_max(&auto), 2);
    let mut by_hand = told("apprentice:d=2,train=41");
    assert!(!auto.said.is_empty());
    assert_eq!(auto.said, by_hand.said, "it is the apprentice with this distance");
    assert_eq!(auto.page("/more", &list(100, 102), 0.5), by_hand.page("/more", &list(100, 102), 0.5));
    // Until the first training it is the paper's.
    assert_eq!(d_max(&told("apprentice:d=auto,train=42")), 5);
    let mut again = TestCrawl::new("apprentice:d=auto,train=41");
    again.strategy.restore(&auto.strategy.save().unwrap()).unwrap();
    assert_eq!(again.strategy.save(), auto.strategy.save());
    assert!(
        TestCrawl::new("apprentice:d=2,train=41").strategy.restore(&auto.strategy.save().unwrap()).is_err()
    );
    // An apprentice that starts from its lessons uses the same offset.
    let lessons = Lessons::of_memory(&auto.strategy.save().unwrap()).unwrap();
    let begun = named("apprentice:d=auto", &CrawlGoal { lessons, ..CrawlGoal::nothing(0) }).unwrap();
    assert_eq!(d_max(&TestCrawl { strategy: begun, said: Vec::new() }), 2);
    assert!(named("apprentice:d=auto,far=yes", &CrawlGoal::nothing(0)).is_err());
    let wrong = named("apprentice:d=far", &CrawlGoal::nothing(0)).err().unwrap().to_string();
    assert!(wrong.contains("a number from 0 to 64, or auto"), "{wrong}");
}

#[test]
fn enough_links_decide_for_good_how_far_to_look() {
    let mut told = TestCrawl::new("apprentice:d=auto,train=0");
    let list: String = (0..1_100)
        .map(|n| format!("<li>{}<a href=/{n}>on</a></li>", if n % 2 == 0 { "bird" } else { "bolt" }))
        .collect();
    told.page("/one", &format!("<html lang=en>{list}"), 0.5);
    told.page("/two", &format!("<html lang=en>{list}"), 0.5);
    for n in 0..1_100 {
        told.page(&format!("/{n}"), "nothing", if n % 2 == 0 { 0.95 } else { 0.05 });
    }
    // The word before the link is significant; every link has two instances, and 2,000 were kept until they decided.
    let saved = told.strategy.save().unwrap();
    let lessons = Lessons::of_memory(&saved).unwrap().unwrap();
    assert_eq!((lessons.d_max(), lessons.instances()), (1, 2_200));
    let mut again = TestCrawl::new("apprentice:d=auto,train=0");
    again.strategy.restore(&saved).unwrap();
    assert_eq!(again.strategy.save().unwrap(), saved);
}

#[test]
fn surprises_alone_can_teach() {
    let mut told = TestCrawl::new("apprentice:d=0,train=0,surprises=0.25");
    told.page("/list", &list(0, 40), 0.9);
    for n in 0..12 {
        told.page(&format!("/{n}"), "nothing", if n % 2 == 0 { 0.9 } else { 0.05 });
    }
    let lessons = Lessons::of_memory(&told.strategy.save().unwrap()).unwrap().unwrap();
    // The first has nothing to compare with; then all with a large difference.
    assert_eq!(lessons.instances(), 7);
}

#[test]
fn it_says_what_its_words_add() {
    let mut told = taught("apprentice:d=0,train=13");
    let (url, page) = page("http://a.test/x", "<html lang=en><a href=/v>birds</a>");
    let judgment = Judgment { relevance: 0.5, best: TopicId(0) };
    let source = SourcePage { url: &url, page: &page, judgment, on_topic: true, depth: 0 };
    let before = told.strategy.save();
    let parts = told.strategy.explain(&source, &page.links[0]);
    let words: Vec<&str> = parts.iter().map(|part| part.what.as_str()).collect();
    assert_eq!(words, ["prior of all links; Pr(high) = 0.875 in total", "\"birds\""]);
    assert!((parts[1].adds - 7_f64.ln()).abs() < 1e-6);
    assert_eq!(told.strategy.save(), before);
}
