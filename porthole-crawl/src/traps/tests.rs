//! Typical traps, ordinary URLs, and all URLs of the corpora.

use std::fmt::Write as _;

use super::*;

/// 2026-11-16.
const NOW: Timestamp = Timestamp(1_794_787_200_000);

fn url(text: &str) -> CanonicalUrl {
    CanonicalUrl::parse(text).unwrap()
}

/// The traps among URLs of one site, checked in order.
fn traps(urls: impl IntoIterator<Item = String>) -> Vec<Trap> {
    let mut traps = Traps::new(1_000);
    urls.into_iter().filter_map(|path| traps.check(&url(&format!("http://a.test{path}")), NOW)).collect()
}

#[test]
fn shapes_that_only_traps_have() {
    let table = [
        ("/a/b/a/b/a/b", Some("the path repeats `/a/b`")),
        ("/x/a/b/a/b/a/b/y", Some("the path repeats `/a/b`")),
        ("/news/news/news/news/", Some("the path repeats `/news`")),
        ("/a/x/a/y/a/z/a/v/a/w", Some("the path repeats `/a`")),
        ("/a//////b", Some("the path repeats `//`")),
        ("/?a=1&b=2&a=1&a=1", Some("the query repeats `a=1`")),
        ("/login?to=%2Flogin%3Fto%3D%252Flogin%253Fto%253D%25252525", Some("URLs within URLs")),
        ("/", None),
        ("/a/b/a/b/c", None),
        ("/a/a/a", None),
        ("/2001/1/1/1/1", None),
        ("/0/0/0/0/4711.jpg", None),
        ("/pub/x/pub/y/pub/z", None),
        ("/a//b//c", None),
        ("/?id[]=1&id[]=2&id[]=3&id[]=4", None),
        ("/search?q=a&page=2&sort=price&order=asc&lang=en&view=list&size=20", None),
        ("/login?to=%2Fa%3Fb%3D%2520", None),
        ("/wiki/Calendar_(2050-01-01)", None),
    ];
    for (path, words) in table {
        let found = traps([path.to_owned()]).pop().map(|trap| trap.to_string());
        assert_eq!(found.is_some(), words.is_some(), "{path}: {found:?}");
        assert!(found.unwrap_or_default().contains(words.unwrap_or_default()), "{path}");
    }
    let many: String = (0..21).fold(String::new(), |mut query, i| {
        let _ = write!(query, "&p{i}=1");
        query
    });
    assert_eq!(traps([format!("/?{}", &many[1..])]), [Trap::ManyParameters(21)]);
    assert_eq!(traps([format!("/{}", "a".repeat(1_000))]), [Trap::Long(1_014)]);
    let deep: String = (0..30).fold(String::new(), |mut path, i| {
        let _ = write!(path, "/{i}");
        path
    });
    assert_eq!(traps([deep]), [Trap::Deep(30)]);
}

#[test]
fn permutations_of_the_same_parameters() {
    let orders = ["a=1&b=2&c=3", "b=2&a=1&c=3", "c=3&b=2&a=1", "a=1&c=3&b=2", "b=2&c=3&a=1", "c=3&a=1&b=2"];
    let found = traps(orders.iter().map(|order| format!("/list?{order}")));
    assert_eq!(found, [Trap::PermutedParameters, Trap::PermutedParameters], "after three of them");
    let pages = (0..5_000).map(|page| format!("/list?page={page}&size=20"));
    assert_eq!(traps(pages), [], "other values are other pages");
}

#[test]
fn endless_combinations_of_parameters() {
    let facets = |choice: u32| {
        let names: Vec<String> =
            (0..8).filter(|bit| choice >> bit & 1 == 1).map(|bit| format!("f{bit}=1")).collect();
        format!("/shop?{}", names.join("&"))
    };
    let found = traps((1..256).map(facets));
    assert_eq!(found.len(), 255 - MAX_COMBINATIONS);
    assert_eq!(found[0].to_string(), "the site combines the parameters of `/shop` endlessly");
    assert_eq!(traps((1..100).map(|page| format!("/{page}?a=1"))), []);
}

#[test]
fn endless_calendars() {
    let month = |at: i32| (2026 + at / 12, at % 12 + 1);
    let forms: [fn(i32, i32) -> String; 6] = [
        |year, month| format!("/events/{year}/{month:02}/"),
        |year, month| format!("/calendar/{year}-{month:02}-15"),
        |year, month| format!("/cal?date={year}-{month:02}-01"),
        |year, month| format!("/cal?caldate={year}{month:02}01"),
        |year, month| format!("/cal?month={month}&year={year}"),
        |year, month| format!("/cal?id=3&y={year}&m={month}"),
    ];
    for form in forms {
        let walk = (0..600).map(month).map(|(year, month)| form(year, month));
        let found = traps(walk);
        // About two years are near. Two more years are far and accepted.
        assert!((540..560).contains(&found.len()), "{}: {}", form(2030, 1), found.len());
        let archive = (0..240).map(|at| form(2006 + at / 12, at % 12 + 1));
        assert_eq!(traps(archive), [], "twenty years of news");
    }
    let back = (0..6_000).map(|at| format!("/events/{}/{}/", 2026 - at / 12, at % 12 + 1));
    assert!(traps(back).len() > 5_000, "back to the middle ages");
    let newspaper = (0..20).map(|year| format!("/archive/{}/05/", 1890 + year));
    assert_eq!(traps(newspaper), []);
    assert_eq!(Trap::Calendar { year: 2031, month: 7 }.to_string(), "an endless calendar, at 2031-07");
}

#[test]
fn sites_that_only_yield_duplicates() {
    let mut traps = Traps::new(1_000);
    let page = |number: u64| url(&format!("http://a.test/{number}"));
    let spread = |number: u64| (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for number in 0..40 {
        assert_eq!(traps.page(&page(number), spread(number)), None);
    }
    assert_eq!(traps.page(&page(0), spread(0)), None, "a page is no duplicate of itself");
    assert_eq!(traps.page(&page(100), spread(0) ^ 0b111), Some(page(0).id()));
    assert_eq!(traps.page(&page(101), 0), None, "no text, no judgment");
    assert_eq!(traps.check(&page(102), NOW), None);
    for number in 200..270 {
        traps.page(&page(number), spread(5));
    }
    let found = traps.check(&page(300), NOW).unwrap();
    assert_eq!(found.to_string(), "64 of the last 64 pages from there were near-duplicates");
    assert_eq!(traps.check(&url("http://b.test/"), NOW), None, "other sites are not affected");
    for number in 400..404 {
        traps.page(&page(number), spread(number));
    }
    assert_eq!(traps.check(&page(500), NOW), None, "new pages clear the site");
}

/// Walks through an endless site breadth-first. Returns the number of pages fetched, at most 5,000.
fn walk(start: &str, links: impl Fn(&str) -> Vec<String>, simhash: impl Fn(&str) -> u64) -> usize {
    let mut traps = Traps::new(10_000);
    let mut known = std::collections::HashSet::from([start.to_owned()]);
    let mut queue = std::collections::VecDeque::from([start.to_owned()]);
    let mut fetched = 0;
    while let Some(path) = queue.pop_front() {
        let page = url(&format!("http://a.test{path}"));
        if traps.only_duplicates(&page).is_some() {
            continue;
        }
        fetched += 1;
        traps.page(&page, simhash(&path));
        for link in links(&path) {
            let target = url(&format!("http://a.test{link}"));
            if fetched < 5_000 && known.insert(link.clone()) && traps.check(&target, NOW).is_none() {
                queue.push_back(link);
            }
        }
    }
    fetched
}

#[test]
fn walks_through_endless_sites_end() {
    let spread = |text: &str| hash(text);
    let filters =
        ["sort=name", "sort=date", "sort=price", "size=s", "size=m", "size=l", "view=grid", "colour=red"];
    let list = |path: &str| {
        let sign = if path.contains('?') { '&' } else { '?' };
        filters.iter().map(|filter| format!("{path}{sign}{filter}")).collect()
    };
    let fetched = walk("/list", list, spread);
    assert!(fetched < 1_000, "{fetched} pages of a list whose filters can be combined for ever");
    let fetched = walk("/list", list, |path| hash(&path.len()));
    assert!(fetched < 200, "{fetched} pages of such a list that says the same again and again");
    let calendar = |path: &str| {
        let (year, month) = path["/calendar/".len()..].split_once('/').unwrap();
        let at = year.parse::<i32>().unwrap() * 12 + month.parse::<i32>().unwrap() - 1;
        [at - 1, at + 1, at + 12]
            .iter()
            .map(|at| format!("/calendar/{}/{:02}", at / 12, at % 12 + 1))
            .collect()
    };
    let fetched = walk("/calendar/2026/01", calendar, spread);
    assert!(fetched < 800, "{fetched} months of a calendar in both directions");
    let folders = |path: &str| {
        ["/a/", "/b/"].iter().map(|folder| format!("{}{folder}", path.trim_end_matches('/'))).collect()
    };
    let fetched = walk("/", folders, spread);
    assert!(fetched < 1_000, "{fetched} folders within folders");
}

#[test]
fn memory_is_bounded_and_a_replay_gives_the_same() {
    let run = || {
        let mut traps = Traps::new(100);
        let mut found = 0;
        for number in 0..30_000u64 {
            let page = url(&format!("http://h{}.test/?a={number}&b={}", number % 15_000, number % 7));
            found += usize::from(traps.check(&page, NOW).is_some());
            traps.page(&page, number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 8);
        }
        assert!(traps.sites.weight() <= MAX_SITES);
        found
    };
    assert_eq!(run(), run());
}

#[test]
fn endless_redirects() {
    let hop = |number: u32| url(&format!("http://h{}.test/{number}", number % 3));
    let follow = |traps: &mut Traps, from: u32| {
        (from..1_000).find_map(|number| traps.redirected(&hop(number), &hop(number + 1)))
    };
    let mut traps = Traps::new(100);
    let trap = follow(&mut traps, 0).unwrap();
    assert_eq!(trap.to_string(), "21 redirects in a row");
    assert_eq!(traps.redirected(&hop(20), &hop(21)), Some(trap), "the same when asked again");
    assert_eq!(traps.check(&hop(21), NOW), None, "the target is not to blame");
    // Many redirects to one target are not a chain.
    let login = url("http://a.test/login");
    assert!((2_000..3_000).all(|number| traps.redirected(&hop(number), &login).is_none()));
    assert_eq!(traps.redirected(&login, &hop(0)), None);
    assert_eq!(traps.redirected(&hop(0), &login), None, "a circle is not a chain either");
}

/// URLs of a few sites with every kind of trap among ordinary pages, interleaved.
fn crawled() -> Vec<(CanonicalUrl, u64)> {
    let month = |at: u64| format!("http://cal.test/{}/{:02}/", 2026 + at / 12, at % 12 + 1);
    let list = |at: u64| {
        let names: Vec<_> = (0..7).filter(|bit| at >> bit & 1 == 1).map(|bit| format!("f{bit}=1")).collect();
        let names = if at.is_multiple_of(3) { names.into_iter().rev().collect() } else { names };
        format!("http://shop.test/list?{}", names.join("&"))
    };
    let orders = ["a=1&b=2&c=3", "b=2&a=1&c=3", "c=3&b=2&a=1", "a=1&c=3&b=2", "b=2&c=3&a=1", "c=3&a=1&b=2"];
    let mut pages = Vec::new();
    for at in 0..400 {
        pages.push((month(at), hash(&("month", at))));
        pages.push((list(at), hash(&("list", at))));
        pages.push((format!("http://order.test/{}?{}", at / 60, orders[at as usize % 6]), hash(&at)));
        // The first forty pages are all different, the others all the same.
        pages.push((format!("http://same.test/{at}"), hash(&at.min(40))));
        pages.push((format!("http://empty.test/{at}"), 0));
    }
    pages.into_iter().map(|(text, simhash)| (url(&text), simhash)).collect()
}

/// Handles a URL as a crawl does: checks it, and fetches it if it is not a trap. Returns what the store has of it
/// afterwards.
fn process(traps: &mut Traps, url: &CanonicalUrl, simhash: u64) -> (Option<Trap>, u64) {
    match traps.check(url, NOW) {
        Some(trap) => (Some(trap), 0),
        None => {
            traps.page(url, simhash);
            (None, simhash)
        }
    }
}

#[test]
fn a_resumed_crawl_sees_the_same_traps() {
    let pages = crawled();
    let mut traps = Traps::new(500);
    let whole: Vec<_> = pages.iter().map(|(url, simhash)| process(&mut traps, url, *simhash)).collect();
    let found = whole.iter().filter(|(trap, _)| trap.is_some()).count();
    assert!((600..1_400).contains(&found), "{found}");
    for cut in [0, 1, 99, 500, 1_000, 1_500, 1_999] {
        let mut resumed = Traps::new(500);
        for ((url, _), (_, stored)) in pages[..cut].iter().zip(&whole) {
            resumed.replay(url, *stored, NOW);
        }
        for ((url, simhash), expected) in pages.iter().zip(&whole).skip(cut) {
            assert_eq!(&process(&mut resumed, url, *simhash), expected, "{url} after a stop at {cut}");
        }
    }
}

#[test]
fn checking_a_url_again_changes_nothing() {
    let (mut once, mut often) = (Traps::new(500), Traps::new(500));
    for (url, simhash) in crawled() {
        let first = often.check(&url, NOW);
        assert_eq!(often.check(&url, NOW), first, "{url}");
        assert_eq!(often.check(&url, NOW), once.check(&url, NOW), "{url}");
        if first.is_none() {
            assert_eq!(once.page(&url, simhash), often.page(&url, simhash), "{url}");
        }
    }
}

/// The corpora are looked up in `$CORPORA`, or in `../shared/corpora` beside the workspace.
#[test]
fn the_urls_of_the_corpora_are_no_traps() {
    let folder = std::env::var_os("CORPORA").map_or_else(
        || std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpora"),
        std::path::PathBuf::from,
    );
    for name in ["webkb", "schools"] {
        let Ok(labels) = std::fs::read_to_string(folder.join(format!("{name}.labels.tsv"))) else {
            eprintln!("skipped: no {name} in {}", folder.display());
            continue;
        };
        let mut traps = Traps::default();
        let urls: Vec<_> = labels
            .lines()
            .filter_map(|line| CanonicalUrl::parse(line.split('\t').next().unwrap_or_default()).ok())
            .collect();
        let flagged: Vec<_> = urls
            .iter()
            .filter_map(|url| traps.check(url, NOW).map(|trap| format!("{url}: {trap}")))
            .collect();
        println!("{name}: {} of {} URLs\n{}", flagged.len(), urls.len(), flagged.join("\n"));
        assert!(flagged.len() * 200 < urls.len().max(1), "{name}: half a percent is too many");
    }
}
