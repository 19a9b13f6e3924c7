//! Every measure on a crawl counted by hand.

use super::*;

/// A fetch: `+` is about the topic, `-` is not, `s` is a start, `t` was trained on, `x` is no page; then server and R.
fn steps(text: &str) -> Vec<FetchStep> {
    let step = |(seq, word): (usize, &str)| {
        let (label, relevance) = match &word[..1] {
            "+" => (FetchLabel::About, 0.9),
            "-" => (FetchLabel::Other, 0.2),
            "s" => (FetchLabel::Start, 1.0),
            "t" => (FetchLabel::Trained, 1.0),
            _ => (FetchLabel::None, 0.0),
        };
        let (host, page) = word[1..].split_once('/').unwrap();
        FetchStep {
            seq: seq as u64,
            url: format!("http://{host}/{page}"),
            relevance: Some(relevance),
            independent: (page != "0").then_some(relevance / 2.0),
            label,
            host: host.to_owned(),
            depth: 1,
            at: porthole_types::Timestamp(0),
        }
    };
    text.split_whitespace().enumerate().map(step).collect()
}

fn counted(steps: &[FetchStep]) -> Vec<&FetchStep> {
    steps.iter().filter(|step| step.label.counts()).collect()
}

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-12, "{found} instead of {expected}");
}

const CRAWL: &str = "sa/1 ta/2 +a/3 -b/0 xb/1 +c/4 +c/5 -d/6";

#[test]
fn harvest_and_recall_use_counted_fetches() {
    let steps = steps(CRAWL);
    let counted = counted(&steps);
    assert_eq!(counted.len(), 5);
    assert_eq!([0, 1, 2, 3, 4, 5, 9].map(|n| found(&counted, n)), [0, 1, 1, 2, 3, 3, 3]);
    near(harvest(&counted, 4), 0.75);
    // A crawl that ended early has fetched nothing more.
    near(harvest(&counted, 10), 0.3);
    near(mean_of(&counted, 2, |step| step.relevance), (0.9 + 0.2) / 2.0);
    // The other critic has no value for one page.
    near(mean_of(&counted, 3, |step| step.independent), 0.45);
    near(mean_of(&counted, 0, |step| step.relevance), 0.0);
    // 1 + 1 + 2 + 3 + 3 of 4 wanted pages, over 5 fetches.
    near(area(&counted, 5, 4), 10.0 / 20.0);
    near(area(&counted, 10, 4), (10.0 + 15.0) / 40.0);
    // Of c, one page counts; a and c are sites of the topic.
    near(capped_harvest(&counted, 5, 1), 2.0 / 5.0);
    near(capped_harvest(&counted, 5, 2), harvest(&counted, 5));
    assert_eq!([0, 1, 2, 3, 5].map(|n| sites(&counted, n)), [0, 1, 1, 2, 2]);
    near(lost(&counted, 3), 0.1 + 0.8 + 0.1);
    near(lost(&counted, 99), 3.0 * 0.1 + 2.0 * 0.8);
    // The server of the start page does not count as new.
    assert_eq!([1, 3, 5].map(|n| new_hosts(&steps, n)), [0, 1, 1]);
}

#[test]
fn overlap_and_coverage_compare_sets() {
    let (one, other) = (steps("+a/1 -b/2 +c/3 +c/4"), steps("-b/2 +c/4 -e/1 +a/9"));
    let (one, other) = (counted(&one), counted(&other));
    near(overlap(&one, &other, 1, by_url), 0.0);
    near(overlap(&one, &other, 4, by_url), 0.5);
    near(overlap(&one, &other, 2, by_server), 0.5);
    // The other crawl knows all three servers; one of its four is unknown here.
    near(overlap(&one, &other, 4, by_server), 1.0);
    near(overlap(&other, &one, 4, by_server), 0.75);
    let reference = relevant(&one, by_url);
    assert_eq!(reference.len(), 3);
    near(coverage(&reference, &other, 1, by_url), 0.0);
    near(coverage(&reference, &other, 2, by_url), 1.0 / 3.0);
    near(coverage(&relevant(&one, by_server), &other, 4, by_server), 1.0);
}

#[test]
fn hand_computed_rank_correlation() {
    near(rank_correlation(&[1.0, 2.0, 3.0], &[0.1, 0.2, 0.9]), 1.0);
    near(rank_correlation(&[1.0, 2.0, 3.0], &[0.9, 0.2, 0.1]), -1.0);
    // Ranks 0, 1, 2, 3 against 0.5, 0.5, 2, 3: 4.5 of sqrt(5 * 4.5).
    near(rank_correlation(&[1.0, 2.0, 3.0, 4.0], &[0.0, 0.0, 5.0, 9.0]), 4.5 / 22.5_f64.sqrt());
    near(rank_correlation(&[1.0, 2.0], &[3.0, 3.0]), 0.0);
}

#[test]
fn the_best_authorities_are_compared() {
    let page = |url: &str, distance| Authority { url: url.into(), host: url[..1].into(), distance };
    let one = [page("a1", 1), page("b1", 2), page("c1", 2)];
    let other = [page("a2", 1), page("b1", 4), page("d1", 1)];
    near(shared_authorities(&one, &other, 3, |page| &page.url), 1.0 / 3.0);
    near(shared_authorities(&one, &other, 1, |page| &page.url), 0.0);
    near(shared_authorities(&one, &other, 2, |page| &page.host), 1.0);
    assert_eq!(distances(one.iter().chain(&other)), BTreeMap::from([(1, 3), (2, 2), (4, 1)]));
}

#[test]
fn purity_uses_counted_authorities() {
    let steps = steps("+a/1 tb/2 -c/3 +d/4 se/5");
    let page = |url: &str| Authority { url: format!("http://{url}"), host: String::new(), distance: 1 };
    let best = ["b/2", "a/1", "c/3", "d/4", "unknown/6"].map(page);
    let shares = [1, 2, 3, 9].map(|k| purity(&best, &steps, k));
    assert_eq!(shares, [None, Some(1.0), Some(0.5), Some(2.0 / 3.0)]);
}
