//! The link graph: every link leads to its declared target, the statistics match the parameters, and the planted facts
//! can be measured.

use std::collections::{HashMap, VecDeque};

use porthole_types::FailureKind;

use super::super::urls::UrlMeaning;
use super::super::{LinkEnd, PageKind, TrueLink};
use super::*;

#[test]
fn a_page_shows_the_links_it_has() {
    let web = web(SynthParams { traps: 0.3, ..sound() });
    for (url, truth) in web.pages().filter(|(_, truth)| truth.appears.is_none()).step_by(7) {
        let shown: Vec<CanonicalUrl> =
            references(&body(&web, &url)).iter().map(|reference| url.join(reference).unwrap()).collect();
        let meant: Vec<CanonicalUrl> = web.outlinks(&url).unwrap().into_iter().map(|link| link.url).collect();
        assert_eq!(shown, meant, "{url}, {:?}", truth.kind);
    }
}

#[test]
fn every_link_leads_to_its_declared_target() {
    let web = web(SynthParams { traps: 0.3, ..sound() });
    let mut kinds = HashMap::new();
    for (url, _) in web.pages().step_by(31) {
        for link in web.outlinks(&url).into_iter().flatten() {
            *kinds.entry(format!("{:?}", link.kind)).or_insert(0) += 1;
            follow(&web, &link);
        }
    }
    assert_eq!(kinds.len(), 5, "{kinds:?}");
}

fn follow(web: &SyntheticWeb, link: &TrueLink) {
    let request = |url: &CanonicalUrl| web.answer(&Request::get(url.clone()));
    match (link.kind, web.truth(&link.url)) {
        (LinkEnd::Page | LinkEnd::Trap, Some(truth)) => assert_eq!(truth.topic, link.topic),
        (LinkEnd::Dead, None) => match request(&link.url) {
            Ok(response) => assert_eq!(response.status, 404),
            Err(error) => assert_eq!(error.kind, FailureKind::Dns),
        },
        (LinkEnd::Redirect | LinkEnd::Loop, None) => {
            let mut url = link.url.clone();
            for _ in 0..5 {
                let response = request(&url).unwrap();
                match response.headers.get("Location") {
                    Some(location) => url = CanonicalUrl::parse(location).unwrap(),
                    None => break,
                }
            }
            let end = web.truth(&url).map(|truth| truth.topic);
            assert_eq!(end, (link.kind == LinkEnd::Redirect).then_some(link.topic), "{}", link.url);
        }
        other => panic!("{}: {other:?}", link.url),
    }
}

#[test]
fn statistics_match_the_parameters() {
    let base = || SynthParams { pages: 4_000, ..SynthParams::default() };
    let stats = web(base()).stats();
    let near = |what: &str, value: f64, wanted: f64, by: f64| {
        assert!((value - wanted).abs() <= by, "{what}: {value}, wanted {wanted}");
    };
    // The commingled pair and the citing topic move some links from the same topic to others.
    near("same", stats.same_topic, 0.5 * 0.97, 0.03);
    near("sibling", stats.sibling_topic, 0.12 + 0.05, 0.03);
    near("dead", stats.dead_links, 0.03, 0.005);
    near("redirects", stats.redirects, 0.03, 0.005);
    near("sum", stats.same_topic + stats.sibling_topic + stats.elsewhere + stats.dead_links, 1.0, 0.01);
    assert!(stats.radius1 > 20.0 * stats.radius1_base, "{} {}", stats.radius1, stats.radius1_base);
    assert!(stats.radius2 > 1.5 * stats.radius2_base, "{} {}", stats.radius2, stats.radius2_base);
    assert!(stats.co_citation > 5.0 * stats.co_citation_base);
    assert_eq!(stats.kinds.iter().take(7).map(|(_, n)| n).sum::<u64>(), 4_000);

    let scattered = web(SynthParams { same_topic: 0.1, sibling_topic: 0.05, ..base() }).stats();
    near("same", scattered.same_topic, 0.1, 0.04);
    assert!(scattered.radius1 < stats.radius1);
    let wide = web(SynthParams { side_topics: 0.0, ..base() }).stats();
    assert!(wide.radius2 < stats.radius2);
    assert!(stats.rows().iter().any(|(label, _)| label.starts_with("radius-1")));
}

#[test]
fn the_planted_facts_can_be_measured() {
    let stats = web(SynthParams { pages: 4_000, ..SynthParams::default() }).stats();
    let fact = |word: &str| {
        let planted = stats.planted.iter().find(|planted| planted.fact.contains(word)).unwrap();
        planted.measured.iter().copied().collect::<HashMap<_, _>>()
    };
    assert!(fact("Cycling")["lift"] > 3.0, "{:?}", fact("Cycling"));
    let pair = fact("commingled");
    assert!((pair["links within the first"] / pair["first to second"] - 1.0).abs() < 0.5, "{pair:?}");
    assert!((pair["links within the second"] / pair["second to first"] - 1.0).abs() < 0.5, "{pair:?}");
    assert_eq!(fact("remote")["other links into them"], 0.0);
    assert!(fact("farms")["links into them from outside"] > 50.0);
}

#[test]
fn only_a_chain_leads_to_an_island() {
    let web = web(SynthParams { growing: 0.0, ..sound() });
    let topic = web.topic("/Home/Beekeeping").unwrap();
    let distance = distances(&web, &web.examples(topic, 20, 1));
    let length = web.params().chain_length;
    let mut found = 0;
    for (distance, (url, truth)) in distance.into_iter().zip(web.pages()) {
        match (truth.island, truth.kind) {
            (Some(_), _) => {
                assert!(distance.unwrap() > length, "{url} is {distance:?} links away");
                found += 1;
            }
            (None, PageKind::Chain { step }) => assert!(distance.unwrap() > u32::from(step)),
            _ => {}
        }
    }
    assert_eq!(found, 6 * 30, "all pages of the islands can be reached");
}

/// Distance of each reachable page from the nearest start page.
fn distances(web: &SyntheticWeb, starts: &[CanonicalUrl]) -> Vec<Option<u32>> {
    let plan = &web.plan;
    let mut distance = vec![None; 3_000];
    let mut queue = VecDeque::new();
    let mut links = Vec::new();
    for url in starts {
        let UrlMeaning::Page(page) = plan.place(url) else { panic!("{url} is no page") };
        distance[plan.sites.index(page) as usize] = Some(0);
        queue.push_back(page);
    }
    while let Some(page) = queue.pop_front() {
        let next = distance[plan.sites.index(page) as usize].map(|links: u32| links + 1);
        plan.links(page, plan.version(page, plan.epoch()), &mut links);
        for to in links.iter().filter_map(|link| link.target.page()) {
            let known = &mut distance[plan.sites.index(to) as usize];
            if known.is_none() {
                *known = next;
                queue.push_back(to);
            }
        }
    }
    distance
}

#[test]
fn topics_are_counted_up_the_tree() {
    let web = web(sound());
    let counts = web.pages_per_topic();
    assert_eq!(counts[0], 3_000);
    let mut summed = vec![0; counts.len()];
    for (_, truth) in web.pages() {
        summed[usize::from(truth.topic.0)] += 1;
    }
    for topic in web.topics().iter().filter(|topic| topic.leaf) {
        let id = usize::from(topic.id.0);
        assert_eq!(counts[id], summed[id], "{}", topic.path);
        assert!(counts[id] > 10, "{}", topic.path);
        assert!(counts[usize::from(topic.parent.unwrap().0)] > counts[id]);
    }
}
