use crate::harness::{Harness, TestWeb, url};

/// Pages with known cosines to "owl hawk": the first number is the count of `owl`, the second that of another word.
fn web() -> TestWeb {
    // Cosine of (owl x a, tree x b) and (owl, hawk): a / (sqrt(a² + b²) sqrt 2).
    let page = |owls: usize, trees: usize, links: &str| {
        let links: String = links.split_whitespace().map(|to| format!("<a href=/{to}></a>")).collect();
        format!("{} {} {links}", "owl ".repeat(owls), "tree ".repeat(trees))
    };
    let pages = [
        ("/s", page(3, 4, "a b c")), // 0.6 / 1.414 = 0.42
        ("/a", page(4, 3, "d e f")), // 0.57
        ("/b", page(0, 1, "g h")),   // 0
        ("/c", page(1, 0, "i")),     // 0.71
        ("/d", page(5, 12, "j")),    // 0.27
        ("/e", page(0, 1, "")),
        ("/f", page(0, 1, "")),
        ("/g", page(1, 0, "k")),
        ("/i", page(0, 1, "")),
        ("/h", page(0, 1, "")),
        ("/j", page(0, 1, "")),
        ("/k", page(0, 1, "")),
    ];
    TestWeb::new(&pages.iter().map(|(path, html)| (*path, &**html, 0.5)).collect::<Vec<_>>())
}

#[test]
fn the_trace_of_figure_1() {
    let web = web();
    // One at a time: /s gives a, b, c 42 each. /a: d, e, f 57. Those, then j 27 waits; b gives g, h 0; c gives i 71.
    let mut one = Harness::new(&web, "best-1", &goal(1), &[url("/s")]);
    one.run(2);
    assert_eq!(one.frontier(), "/d 57, /e 57, /f 57, /b 42, /c 42");
    assert_eq!(one.run(99), "/s /a /d /e /f /b /c /i /j /g /k /h");
    // Three at a time: all of /s first, in the order drawn from the seed, then the best three links found there.
    let mut three = Harness::new(&web, "best-3", &goal(1), &[url("/s")]);
    three.run(4);
    assert_eq!(three.frontier(), "/i 71, /d 57, /e 57, /f 57, /g 0, /h 0");
    let way = three.run(99);
    let way: Vec<&str> = way.split(' ').collect();
    let sorted = |batch: &[&str]| {
        let mut batch = batch.to_vec();
        batch.sort_unstable();
        batch.concat()
    };
    assert_eq!(sorted(&way[1..4]), "/a/b/c");
    assert_eq!(sorted(&way[4..7]), "/d/e/i");
    assert_eq!(sorted(&way[7..10]), "/f/g/j", "f 57, then j 27 before g 0");
    // The order within a batch depends on the seed.
    let batch_of = |seed| {
        let mut other = Harness::new(&web, "best-3", &goal(seed), &[url("/s")]);
        other.run(4)
    };
    let orders: std::collections::BTreeSet<String> = (0..20).map(batch_of).collect();
    assert!(orders.len() > 2, "{orders:?}");
}

fn goal(seed: u64) -> crate::CrawlGoal {
    crate::harness::goal("owl hawk", seed)
}

#[test]
fn the_worst_link_is_evicted_from_a_full_buffer() {
    let web = web();
    // Room for two: of a, b, c the first two stay until c evicts b. After a: d, e, f at 57 evict c; d and e evict
    // nothing better, so the last link found replaces the worst, which among equals is the last.
    let mut two = Harness::new(&web, "best-1:buffer=2", &goal(1), &[url("/s")]);
    two.run(1);
    assert_eq!(two.frontier(), "/a 42, /c 42");
    two.run(2);
    assert_eq!(two.frontier(), "/d 57, /f 57");
    // d has a link at 27, and there is room. f has none.
    assert_eq!(two.run(99), "/s /a /d /f /j");
    for buffer in 1..6 {
        let mut bounded = Harness::new(&web, &format!("best-2:buffer={buffer}"), &goal(1), &[url("/s")]);
        bounded.run(99);
        assert!(bounded.most_waiting <= buffer, "{} of {buffer}", bounded.most_waiting);
    }
}

#[test]
fn n_follows_the_harvest() {
    let page =
        |links: &str| links.split_whitespace().map(|to| format!("<a href=/{to}></a>")).collect::<String>();
    let relevance = [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.2, 0.2, 0.1, 0.1, 0.1];
    let pages: Vec<(String, String, f64)> = relevance
        .iter()
        .enumerate()
        .map(|(number, relevance)| (format!("/{number}"), page(&format!("{}", number + 1)), *relevance))
        .collect();
    let web = TestWeb::new(&pages.iter().map(|(path, html, r)| (&**path, &**html, *r)).collect::<Vec<_>>());
    let mut adaptive = Harness::new(&web, "best-adaptive", &goal(1), &[url("/0")]);
    let mut sizes = Vec::new();
    while adaptive.step() {
        let crate::Selection::Batch(n) = adaptive.strategy.discipline().selection else { panic!() };
        sizes.push(n);
    }
    // 1 page holds: 2. 2 hold: 4. 4 hold: 8. Of 8, five are worse and one is not fetched: 4.
    assert_eq!(sizes, [2, 2, 4, 4, 4, 4, 8, 8, 8, 8, 8, 8, 8]);
    let mut fewer = Harness::new(&web, "best-adaptive:most=2", &goal(1), &[url("/0")]);
    let mut sizes = Vec::new();
    while fewer.step() {
        let crate::Selection::Batch(n) = fewer.strategy.discipline().selection else { panic!() };
        sizes.push(n);
    }
    // In twos: .5, .5, then (.5 + .2) falls, .2 and .1 fall again, .1 holds.
    assert_eq!(sizes, [2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 2, 2, 1]);
}

#[test]
fn keywords_come_before_page_rank() {
    // /both has two keywords, /one has one, but the target of /one has more links from other pages.
    let mut pages = vec![
        ("/s".to_owned(), "<a href=/both></a><a href=/one></a>".to_owned()),
        ("/both".to_owned(), "owl hawk <a href=/x></a><a href=/y></a>".to_owned()),
        ("/one".to_owned(), "owl owl owl <a href=/z></a>".to_owned()),
    ];
    pages.extend((0..30).map(|n| (format!("/n{n}"), "<a href=/y></a>".to_owned())));
    pages[0].1 += &(0..30).map(|n| format!("<a href=/n{n}></a>")).collect::<String>();
    let web = TestWeb::new(&pages.iter().map(|(path, html)| (&**path, &**html, 0.5)).collect::<Vec<_>>());
    let mut crawl = Harness::new(&web, "best-99:rank=kwpr", &goal(1), &[url("/s")]);
    crawl.run(33);
    let frontier = crawl.frontier();
    let places = ["/y", "/x", "/z"].map(|path| frontier.find(path).unwrap());
    assert!(places.is_sorted(), "two keywords first, and y before x by its rank: {frontier}");
    assert!(frontier.contains("/y 100"), "{frontier}");
}
