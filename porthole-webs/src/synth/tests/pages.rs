//! Single pages: their bytes, words and copies, and the responses of their hosts.

use std::collections::{HashMap, HashSet};

use porthole_types::FailureKind;
use xxhash_rust::xxh3::xxh3_64;

use super::super::vocabulary::TREE;
use super::super::{Health, PageKind};
use super::*;

#[test]
fn the_same_seed_gives_the_same_bytes_on_every_machine() {
    let web = web(SynthParams { pages: 5_000, ..SynthParams::default() });
    let golden = GOLDEN.iter().copied();
    let found: Vec<_> = golden
        .clone()
        .map(|(index, ..)| {
            let page = web.plan.sites.page(u32::try_from(index).unwrap());
            let html = web.plan.html(page, web.plan.version(page, web.plan.epoch()));
            (index, web.plan.url(page).to_string(), xxh3_64(&html))
        })
        .collect();
    let golden: Vec<_> = golden.map(|(index, url, hash)| (index, url.to_owned(), hash)).collect();
    assert_eq!(found, golden, "a change here breaks every recorded experiment");
}

const GOLDEN: &[(usize, &str, u64)] = &[
    (0, "http://fact-book-0.example/", 0xf867_6492_de41_091a),
    (1, "http://fact-book-0.example/present/piton.php?id=1", 0x338d_efef_9f53_2857),
    (100, "http://www.work-member-5.example/page/begin_23.htm", 0x1b41_d1a4_6c15_b24f),
    (777, "http://defence-page-15.example/pawn/king.php?id=99", 0x34a3_4da6_4e10_bace),
    (2500, "http://www.work-form-45.test/hand/geology.php?id=17", 0xac10_4184_8f9e_15a3),
    (4300, "http://choking-best-92.test/bandage/choking/41/", 0x4553_4c70_80c4_edf4),
    (4700, "http://www.start-hand-109.test/", 0x7a13_ab22_ce91_907f),
    (4870, "http://www.piano-way-117.test/singer/small/6/", 0xf20d_6517_f063_0da1),
    (4999, "http://www.lantern-story-155.test/", 0xb459_dae8_1a85_2751),
];

#[test]
fn another_seed_gives_another_web() {
    let one = web(sound());
    let other = web(SynthParams { seed: 2, ..sound() });
    let same = one.pages().zip(other.pages()).filter(|(a, b)| a.0 == b.0).count();
    assert!(same < 30, "{same} URLs in common");
}

#[test]
fn every_url_leads_back_to_its_page() {
    let web = web(unsound());
    let mut seen = HashSet::new();
    for (url, truth) in web.pages() {
        assert_eq!(web.truth(&url), Some(truth), "{url}");
        assert_eq!(CanonicalUrl::parse(url.as_str()).unwrap(), url, "written in canonical form");
        assert!(seen.insert(url));
    }
    assert_eq!(seen.len(), 3_000);
    for stranger in ["http://example.com/", "http://www.star-time-1.test/", "http://127.0.0.1/"] {
        assert_eq!(web.truth(&CanonicalUrl::parse(stranger).unwrap()), None);
    }
}

#[test]
fn pages_contain_words_of_their_topic() {
    let web = web(sound());
    let mut known: HashMap<&str, Vec<String>> = HashMap::new();
    for (branch, (name, words)) in TREE.iter().flat_map(|b| b.leaves.iter().map(move |leaf| (b.name, leaf))) {
        for word in words.split_ascii_whitespace() {
            known.entry(word).or_default().push(format!("/{branch}/{name}"));
        }
    }
    let content = web.pages().filter(|(_, truth)| truth.kind == PageKind::Content && truth.appears.is_none());
    let (mut right, mut all) = (0, 0);
    for (url, truth) in content.step_by(10) {
        let text = String::from_utf8_lossy(&body(&web, &url)).into_owned();
        let mut hits: HashMap<&str, u32> = HashMap::new();
        let words = text.split(|c: char| !c.is_ascii_lowercase());
        for path in words.filter_map(|word| known.get(word)).flatten() {
            *hits.entry(path).or_default() += 1;
        }
        let best = hits.into_iter().max_by_key(|(_, n)| *n).unwrap().0;
        right += usize::from(best == truth.path);
        all += 1;
    }
    assert!(right * 100 > all * 90, "{right} of {all}");
}

#[test]
fn mirrors_are_equal_and_near_copies_alike() {
    let web = web(sound());
    let shingles = |bytes: &[u8]| -> HashSet<String> {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let text: String = text.split('<').filter_map(|piece| piece.split('>').nth(1)).collect();
        let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
        words.windows(3).map(|three| three.join(" ")).collect()
    };
    let (mut mirrors, mut copies) = (0, 0);
    for (url, truth) in web.pages().filter(|(_, truth)| truth.appears.is_none()) {
        match truth.kind {
            PageKind::MirrorOf(original) if web.truth(&original).unwrap().appears.is_none() => {
                mirrors += 1;
                assert_eq!(body(&web, &url), body(&web, &original), "{url} and {original}");
            }
            PageKind::NearCopyOf(original) if web.truth(&original).unwrap().appears.is_none() => {
                copies += 1;
                let (one, other) = (shingles(&body(&web, &url)), shingles(&body(&web, &original)));
                let common = one.intersection(&other).count() * 100 / one.union(&other).count();
                assert!((45..100).contains(&common), "{url} and {original}: {common} %");
            }
            _ => {}
        }
    }
    assert!(mirrors > 20 && copies > 30, "{mirrors} mirrors, {copies} near copies");
}

#[test]
fn hosts_fail_according_to_their_health() {
    let web = web(unsound());
    let mut seen: HashMap<(Health, String), u32> = HashMap::new();
    for (url, truth) in web.pages().filter(|(_, truth)| truth.appears.is_none()) {
        let result = match get(&web, url.as_str()) {
            Ok(response) if response.took.as_secs() >= 2 => "slow".to_owned(),
            Ok(response) => response.status.to_string(),
            Err(error) => error.kind.name().to_owned(),
        };
        *seen.entry((truth.health, result)).or_default() += 1;
    }
    let of = |health, result: &str| f64::from(*seen.get(&(health, result.to_owned())).unwrap_or(&0));
    let rate = |health, bad| of(health, bad) / (of(health, bad) + of(health, "200"));
    assert!((0.2..0.4).contains(&rate(Health::Flaky, "500")), "{seen:?}");
    assert!((0.4..0.6).contains(&rate(Health::Stalling, "timeout")), "{seen:?}");
    assert_eq!(seen.keys().filter(|(health, _)| *health == Health::Refusing).count(), 1, "{seen:?}");
    assert!(of(Health::Refusing, "connect") > 50.0 && of(Health::Slow, "slow") > 50.0, "{seen:?}");
    assert_eq!(seen.keys().filter(|(health, _)| *health == Health::Sound).count(), 1, "{seen:?}");
}

#[test]
fn robots_txt_agrees_with_the_ground_truth() {
    let web = web(SynthParams { pages: 1_500, ..sound() });
    let mut statuses = HashSet::new();
    for (url, truth) in web.pages() {
        let robots = get(&web, &format!("http://{}/robots.txt", url.authority())).unwrap();
        statuses.insert(robots.status);
        let text = String::from_utf8(robots.body.to_vec()).unwrap();
        let closed = text.lines().filter_map(|line| line.strip_prefix("Disallow: "));
        let allowed = match robots.status {
            200 => !closed.into_iter().any(|prefix| url.path().starts_with(prefix)),
            status => status < 500,
        };
        assert_eq!(allowed, truth.allowed, "{url}:\n{text}");
    }
    assert_eq!(statuses, HashSet::from([200, 404, 503]));
}

#[test]
fn sitemaps_list_the_pages_of_open_sites() {
    let web = web(sound());
    let sitemaps = web.pages().filter(|(url, _)| url.path() == "/").filter_map(|(url, _)| {
        let response = get(&web, &format!("{url}sitemap.xml")).unwrap();
        (response.status == 200).then(|| String::from_utf8(response.body.to_vec()).unwrap())
    });
    let mut listed = 0;
    for sitemap in sitemaps {
        for url in sitemap.split("<loc>").skip(1).map(|rest| rest.split('<').next().unwrap()) {
            assert_eq!(get(&web, url).unwrap().status, 200, "{url}");
            listed += 1;
        }
    }
    assert!(listed > 500, "{listed}");
}

#[test]
fn traps_have_no_end() {
    let web = web(unsound());
    let entrance = |word: &str| {
        let links = web.pages().filter(|(_, truth)| truth.health == Health::Sound);
        let mut links = links.filter_map(|(url, _)| web.outlinks(&url)).flatten();
        links
            .find(|link| {
                link.url.path().starts_with(word)
                    && web.truth(&link.url).is_some_and(|truth| truth.kind == PageKind::Trap)
            })
            .expect("a trap on a sound host")
            .url
    };
    for (word, next) in [("/calendar/", 2), ("/list", 5)] {
        let mut url = entrance(word);
        for _ in 0..40 {
            assert_eq!(web.truth(&url).unwrap().kind, PageKind::Trap);
            let reference = references(&body(&web, &url))[next].clone();
            let deeper = url.join(&reference).unwrap();
            assert_ne!(deeper, url);
            url = deeper;
        }
    }
}

#[test]
fn missing_pages_and_hosts_are_errors() {
    let web = web(sound());
    let home = web.pages().next().unwrap().0;
    for path in ["nowhere", "moved/999999", "go9/1", "loop/c/1", "calendar/2026/13", "moved/01"] {
        assert_eq!(get(&web, &format!("{home}{path}")).unwrap().status, 404, "{path}");
    }
    assert_eq!(get(&web, "http://no-such-host.test/").unwrap_err().kind, FailureKind::Dns);
    let secure = home.as_str().replace("http:", "https:");
    assert_eq!(get(&web, &secure).unwrap_err().kind, FailureKind::Tls);
}

#[test]
fn examples_are_content_pages_of_their_topic() {
    let web = web(unsound());
    for topic in web.topics().iter().filter(|topic| topic.leaf) {
        let examples = web.examples(topic.id, 3, 3);
        assert_eq!(examples.len(), 3, "{}", topic.path);
        assert_eq!(examples, web.examples(topic.id, 3, 3));
        assert_ne!(examples, web.examples(topic.id, 3, 4));
        for url in examples {
            let truth = web.truth(&url).unwrap();
            assert_eq!((truth.topic, truth.kind), (topic.id, PageKind::Content));
            assert_eq!(get(&web, url.as_str()).unwrap().status, 200);
        }
    }
    let arts = web.topic("/Arts").unwrap();
    let below = |url: &CanonicalUrl| web.truth(url).unwrap().path.starts_with("/Arts/");
    assert!(web.examples(arts, 8, 1).iter().all(below));
}

#[test]
fn extreme_parameters_give_a_valid_web() {
    let base = || SynthParams { pages: 500, ..SynthParams::default() };
    let none = SynthParams { portals: 0, islands: 0, mirrors: 0.0, spam: 0.0, hubs: 0.0, ..base() };
    let full = SynthParams { traps: 1.0, hubs: 0.5, near_copies: 0.5, growing: 1.0, changing: 1.0, ..base() };
    let loose =
        SynthParams { same_topic: 0.0, sibling_topic: 0.0, site_focus: 0.0, side_topics: 0.0, ..base() };
    let lost = SynthParams { dead_links: 0.5, redirects: 0.4, spam_links: 0.1, links: 10, ..base() };
    let large = SynthParams { page_bytes: 100_000, links: 200, commingling: 1.0, edits: 1.0, ..base() };
    for params in [none, full, loose, lost, large] {
        let web = web(params);
        for page in web.all().step_by(3) {
            let html = web.plan.html(page, web.plan.version(page, Timestamp(i64::MAX / 4)));
            assert!(html.len() > 500);
        }
        assert_eq!(web.stats().pages, 500);
    }
}
