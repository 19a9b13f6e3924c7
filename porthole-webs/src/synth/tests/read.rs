//! Pages as extracted by the crawler: links, charset and similarity are found despite sloppy HTML.

use porthole_page::{Extractor, LinkKind, Page};

use super::super::PageKind;
use super::*;

fn read(web: &SyntheticWeb, url: &CanonicalUrl) -> Page {
    let response = web.answer(&Request::get(url.clone())).unwrap();
    assert_eq!(response.status, 200, "{url}");
    Extractor::default().extract(url, &response.headers, &response.body)
}

#[test]
fn a_reader_finds_the_links_that_are_there() {
    let web = web(SynthParams { traps: 0.2, ..sound() });
    let mut charsets = Vec::new();
    for (url, truth) in web.pages().filter(|(_, truth)| truth.appears.is_none()).step_by(23) {
        let page = read(&web, &url);
        let found: Vec<_> = page.links.iter().filter(|link| link.kind == LinkKind::Anchor).collect();
        let meant = web.outlinks(&url).unwrap();
        assert_eq!(found.len(), meant.len(), "{url}, {:?}", truth.kind);
        assert!(found.iter().zip(&meant).all(|(link, meant)| link.target == meant.url), "{url}");
        assert!(!page.bad_bytes && page.language == "en" && !page.title.is_empty(), "{url}");
        charsets.push(page.charset);
    }
    assert!(charsets.contains(&"UTF-8") && charsets.contains(&"windows-1252"), "{charsets:?}");
}

#[test]
fn near_copies_are_nearer_than_pages_of_one_topic() {
    let web = web(sound());
    let there = |url: &CanonicalUrl| web.truth(url).is_some_and(|truth| truth.appears.is_none());
    let distance = |one: &CanonicalUrl, other: &CanonicalUrl| {
        (read(&web, one).simhash ^ read(&web, other).simhash).count_ones()
    };
    let mut near = Vec::new();
    for (url, truth) in web.pages().filter(|(url, _)| there(url)) {
        if let PageKind::NearCopyOf(original) = truth.kind
            && there(&original)
        {
            near.push(distance(&url, &original));
        }
    }
    near.sort_unstable();
    assert!(near[near.len() / 2] <= 8 && near[near.len() - 1] < 16, "{near:?}");
    for topic in web.topics().iter().filter(|topic| topic.leaf) {
        if let [one, other] = &web.examples(topic.id, 2, 5)[..] {
            let apart = distance(one, other);
            assert!(apart >= 16, "{one} and {other} are {apart} apart");
        }
    }
}
