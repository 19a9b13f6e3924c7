//! RFC 9309 as a table: the RFC's examples, those of Google's documentation, and common mistakes.

use std::time::Duration;

use porthole_types::{CanonicalUrl, Failure, FailureKind, Headers, Timestamp};
use proptest::prelude::*;

use super::*;
use crate::{FetchError, Response};

const AGENT: &str = "Porthole/0.1 (+https://porthole.test/bot)";

/// (robots.txt, paths that are allowed, paths that are not).
type Case = (&'static str, &'static [&'static str], &'static [&'static str]);

#[test]
fn rules_and_paths() {
    let table: &[Case] = &[
        // No rules.
        ("", &["/", "/a"], &[]),
        ("User-agent: *\nDisallow:\n", &["/", "/a"], &[]),
        ("User-agent: *\nAllow:\nDisallow: /a\n", &["/"], &["/a"]),
        ("<html><body>Disallow: nothing here</body></html>", &["/"], &[]),
        ("Disallow: /\n", &["/a"], &[]),
        // A path is a prefix (Google's table).
        ("User-agent: *\nDisallow: /", &["/robots.txt", "/robots.txt?a"], &["/", "/a", "/robots.txt.bak"]),
        (
            "User-agent: *\nDisallow: /fish",
            &["/Fish.asp", "/catfish", "/?id=fish", "/desert/fish", "/"],
            &["/fish", "/fish.html", "/fish/salmon.html", "/fishheads", "/fish.php?id=anything"],
        ),
        (
            "User-agent: *\nDisallow: /fish*",
            &["/Fish.asp", "/catfish", "/?id=fish"],
            &["/fish", "/fish.html", "/fishheads/yummy.html", "/fish.php?id=anything"],
        ),
        (
            "User-agent: *\nDisallow: /fish/",
            &["/fish", "/fish.html", "/animals/fish/", "/Fish/Salmon.asp"],
            &["/fish/", "/fish/?id=anything", "/fish/salmon.htm"],
        ),
        (
            "User-agent: *\nDisallow: /*.php",
            &["/", "/windows.PHP", "/php"],
            &["/index.php", "/filename.php", "/folder/any.php.file.html", "/filename.php/", "/f.php?a=b"],
        ),
        (
            "User-agent: *\nDisallow: /*.php$",
            &["/filename.php?parameters", "/filename.php/", "/filename.php5", "/windows.PHP"],
            &["/filename.php", "/folder/filename.php", "/.php"],
        ),
        (
            "User-agent: *\nDisallow: /fish*.php",
            &["/Fish.PHP", "/fish.html"],
            &["/fish.php", "/fishheads/catfish.php?parameters"],
        ),
        // The most octets decide, on a tie the one that allows (Google's table).
        ("User-agent: *\nAllow: /p\nDisallow: /", &["/page"], &["/a"]),
        ("User-agent: *\nAllow: /folder\nDisallow: /folder", &["/folder/page"], &[]),
        ("User-agent: *\nDisallow: /folder\nAllow: /folder", &["/folder/page"], &[]),
        ("User-agent: *\nAllow: /page\nDisallow: /*.htm", &["/page"], &["/page.htm"]),
        ("User-agent: *\nAllow: /page\nDisallow: /*.ph", &["/page.php5"], &["/x.php5"]),
        ("User-agent: *\nAllow: /$\nDisallow: /", &["/"], &["/page.htm", "/?q"]),
        (
            "User-agent: *\nDisallow: /a/b/c\nAllow: /a/b\nDisallow: /a",
            &["/a/b", "/a/b/x"],
            &["/a", "/a/b/c"],
        ),
        ("User-agent: *\nDisallow: /$\nAllow: /", &["/a"], &["/"]),
        // The RFC's examples.
        (
            "User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\n\
             User-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif",
            &["/publications/x", "/x.gif?y"],
            &["/example/page.html", "/x.gif", "/publications.gif"],
        ),
        (
            "User-Agent: porthole\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif",
            &["/example/page/", "/x"],
            &["/example/page/disallowed.gif"],
        ),
        ("User-agent: *\nDisallow: /foo/bar/\u{30c4}", &["/foo/bar/"], &["/foo/bar/%E3%83%84"]),
        ("User-agent: *\nDisallow: /foo/bar/%e3%83%84", &[], &["/foo/bar/%E3%83%84", "/foo/bar/%e3%83%84x"]),
        ("User-agent: *\nDisallow: /foo/bar/%62%61%7A", &["/foo/bar/ba"], &["/foo/bar/baz"]),
        ("User-agent: *\nDisallow: /foo/bar/baz", &[], &["/foo/bar/%62%61%7A"]),
        (
            "User-agent: *\nDisallow: /foo/bar?baz=https%3A%2F%2Ffoo.bar",
            &["/foo/bar?baz=http"],
            &["/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https%3a%2f%2ffoo.bar"],
        ),
        (
            "User-agent: *\nDisallow: /foo/bar?baz=https://foo.bar",
            &[],
            &["/foo/bar?baz=https%3A%2F%2Ffoo.bar"],
        ),
        (
            "User-agent: *\nDisallow: /path/file-with-a-%2A.html",
            &["/path/file-with-a-x.html"],
            &["/path/file-with-a-*.html", "/path/file-with-a-%2a.html"],
        ),
        ("User-agent: *\nDisallow: /path/foo-%24", &["/path/foo-"], &["/path/foo-$", "/path/foo-%24"]),
        // Escapes of reserved characters are different octets. Invalid escapes are harmless.
        ("User-agent: *\nDisallow: /a%2Fb", &["/a/b"], &["/a%2fb"]),
        ("User-agent: *\nDisallow: /a%3Fb", &["/a?b"], &["/a%3Fb"]),
        ("User-agent: *\nDisallow: /100%", &["/100"], &["/100%25"]),
        ("User-agent: *\nDisallow: /100%zz", &[], &["/100%25zz"]),
        ("User-agent: *\nDisallow: /a b", &["/a"], &["/a%20b"]),
        ("User-agent: *\nDisallow: /a|b", &[], &["/a|b", "/a%7Cb"]),
        // Special characters.
        ("User-agent: *\nDisallow: /a$b", &["/a"], &["/a$b", "/a%24b"]),
        ("User-agent: *\nDisallow: /a*$", &["/b"], &["/a", "/ab"]),
        ("User-agent: *\nDisallow: /a$$", &["/a"], &["/a$"]),
        ("User-agent: *\nDisallow: /**a**b", &["/b-a"], &["/ab", "/xaxbx"]),
        ("User-agent: *\nDisallow: *", &["/robots.txt"], &["/", "/a"]),
        ("User-agent: *\nDisallow: /*?*session=", &["/a?x=1", "/session="], &["/a?x&session=3"]),
        ("User-agent: *\nDisallow: private\nDisallow: http://a.test/x", &["/private", "/x"], &[]),
        ("User-agent: *\nDisallow: /*/print", &["/print"], &["/a/print", "/a?u=/print"]),
        // Product tokens.
        ("User-agent: porthole\nDisallow: /a", &["/"], &["/a"]),
        ("User-agent: PortHole\nDisallow: /a", &[], &["/a"]),
        ("User-agent: Porthole/2.0\nDisallow: /a", &[], &["/a"]),
        ("User-agent: porthole the crawler\nDisallow: /a", &[], &["/a"]),
        ("User-agent: port\nDisallow: /a", &["/a"], &[]),
        ("User-agent: porthole-news\nDisallow: /a", &["/a"], &[]),
        ("User-agent: porthole2\nDisallow: /a", &["/a"], &[]),
        ("User-agent: xporthole\nDisallow: /a", &["/a"], &[]),
        ("User-agent: *bot\nDisallow: /a", &["/a"], &[]),
        ("User-agent: * # all\nDisallow: /a", &[], &["/a"]),
        ("User-agent: *\nDisallow: /a\nUser-agent: porthole\nDisallow: /b", &["/a"], &["/b"]),
        ("User-agent: porthole\nDisallow:\nUser-agent: *\nDisallow: /", &["/a"], &[]),
        ("User-agent: *\nDisallow: /\nUser-agent: porthole\n", &["/a"], &[]),
        // Groups.
        ("User-agent: porthole\nUser-agent: other\nDisallow: /a", &[], &["/a"]),
        ("User-agent: other\nUser-agent: porthole\nDisallow: /a", &[], &["/a"]),
        ("User-agent: other\nDisallow: /\nUser-agent: porthole\nDisallow: /a", &["/b"], &["/a"]),
        (
            "User-agent: porthole\nDisallow: /a\n\nUser-agent: other\nDisallow: /b\n\nUser-agent: porthole\nDisallow: /c",
            &["/b"],
            &["/a", "/c"],
        ),
        (
            "User-agent: *\nDisallow: /a\nUser-agent: x\nDisallow: /b\nUser-agent: *\nDisallow: /c",
            &["/b"],
            &["/a", "/c"],
        ),
        ("User-agent: porthole\n\n\nDisallow: /a", &[], &["/a"]),
        ("User-agent: porthole\nCrawl-delay: 5\nUser-agent: other\nDisallow: /a", &[], &["/a"]),
        ("User-agent: porthole\nSitemap: http://a.test/s\nUser-agent: other\nDisallow: /a", &[], &["/a"]),
        ("User-agent: porthole\nFoo: bar\nDisallow: /a\nHost: b\nDisallow: /c", &[], &["/a", "/c"]),
        ("User-agent: porthole\nDisallow:\nUser-agent: other\nDisallow: /a", &["/a"], &[]),
        // 2.2.1: without a group for us or for all everything is allowed. `*` counts only if we are not named, in any
        // order.
        ("User-agent: other\nDisallow: /\n", &["/", "/a"], &[]),
        (
            "User-agent: porthole\nAllow: /\n\nUser-agent: *\nDisallow: /\nUser-agent: *\nDisallow: /x",
            &["/x"],
            &[],
        ),
        ("User-agent: *\nUser-agent: porthole\nDisallow: /a\nUser-agent: *\nDisallow: /b", &["/b"], &["/a"]),
        ("User-agent: porthole\nAllow: /a/b\nUser-agent: PORTHOLE\nDisallow: /a", &["/a/b"], &["/a", "/a/c"]),
        ("User-agent:\nDisallow: /a", &["/a"], &[]),
        // 2.2.2: matching starts at the first octet and is case-sensitive. Field names are not.
        ("USER-AGENT: *\nDISALLOW: /A\nallow: /A/b", &["/a", "/A/b"], &["/A", "/A/B"]),
        ("User-agent: *\nDisallow: /%7Ejoe/%2D", &["/joe"], &["/~joe/-", "/%7ejoe/%2d"]),
        ("User-agent: *\nDisallow: /~joe", &[], &["/%7Ejoe", "/~joe"]),
        ("User-agent: *\nAllow: /a/\u{e9}\nDisallow: /a/%C3", &["/a/%C3%A9"], &["/a/%c3%a8"]),
        // The octets of the pattern count, with its special characters, not those that it matches.
        ("User-agent: *\nDisallow: /*b\nAllow: /ab", &["/ab", "/abb"], &["/cab"]),
        ("User-agent: *\nAllow: /a*\nDisallow: /a", &["/a", "/ab"], &[]),
        ("User-agent: *\nDisallow: /a/$\nAllow: /a/", &["/a/b"], &["/a/"]),
        // 2.2.3: `$` is special only at the end, `#` starts a comment anywhere.
        ("User-agent: *\nDisallow: $\nDisallow: /$/x", &["/", "/x"], &["/$/x"]),
        ("User-agent: *#\nDisallow: /#a\nAllow:/b#", &["/robots.txt", "/b"], &["/", "/a"]),
        // 2.2.4: unknown lines change nothing, and do not end a run of agent lines.
        (
            "Clean-param: a /b\nUser-agent: porthole\nRequest-rate: 1/5\nUser-agent: x\nDisallow: /a",
            &[],
            &["/a"],
        ),
        (
            "User-agent: porthole\nNoindex: /b\nDisallow: /a\nSitemap: /s\nDisallow: /c",
            &["/b"],
            &["/a", "/c"],
        ),
        // Line syntax.
        ("\u{feff}User-agent: *\nDisallow: /a", &[], &["/a"]),
        ("User-agent: *\r\nDisallow: /a\r\n", &["/"], &["/a"]),
        ("User-agent: *\rDisallow: /a\rDisallow: /b", &["/"], &["/a", "/b"]),
        ("  user-agent :*  \n\tDISALLOW\t:\t/a\t \n", &["/"], &["/a"]),
        ("User-agent: *\nDisallow: /a # the a\n#Disallow: /b\nDisallow: /c#d", &["/b"], &["/a", "/c", "/ce"]),
        ("User-agent *\nDisallow /a\nDisallow is a word", &["/"], &["/a"]),
        ("useragent: *\ndissalow: /a\ndisalow: /b", &[], &["/a", "/b"]),
        ("User-agent: *\nDisallow: /a\0\nDisallow: /b", &["/a"], &["/b", "/a%00"]),
    ];
    let mut cases = 0;
    for (text, allowed, forbidden) in table {
        let rules = RobotsRules::parse(AGENT, text.as_bytes(), false);
        for path in *allowed {
            assert!(rules.allows(path), "{path} is allowed by {text:?}: {:?}", rules.rule_for(path));
        }
        for path in *forbidden {
            assert!(!rules.allows(path), "{path} is forbidden by {text:?}");
        }
        cases += allowed.len() + forbidden.len();
    }
    assert!(table.len() >= 60 && cases >= 150, "{} files, {cases} questions", table.len());
}

#[test]
fn crawl_delays_and_sitemaps() {
    let check = |text: &str, millis: Option<u64>| {
        let delay = RobotsRules::parse(AGENT, text.as_bytes(), false).crawl_delay();
        assert_eq!(delay, millis.map(Duration::from_millis), "{text}");
    };
    check("User-agent: *\nCrawl-delay: 10", Some(10_000));
    check("User-agent: *\nCrawl-delay: 0.5\nDisallow: /a", Some(500));
    check("User-agent: *\nDisallow: /a\nCrawl-delay: 3", Some(3_000));
    check("User-agent: *\nCrawl-delay: 10\nUser-agent: porthole\nDisallow: /a", None);
    check("User-agent: porthole\nCrawl-delay: 10\nUser-agent: *\nDisallow: /a", Some(10_000));
    check(
        "User-agent: porthole\nCrawl-delay: 1\nAllow: /\nUser-agent: porthole\nCrawl-delay: 4",
        Some(4_000),
    );
    for nonsense in ["-1", "NaN", "inf", "1e300", "ten", ""] {
        check(&format!("User-agent: *\nCrawl-delay: {nonsense}"), None);
    }
    let text = "Sitemap: http://a.test/1\nUser-agent: other\nDisallow: /\nsite-map: /2 # mine\nSitemap:\n";
    let rules = RobotsRules::parse(AGENT, text.as_bytes(), false);
    assert_eq!(rules.sitemaps().collect::<Vec<_>>(), ["http://a.test/1", "/2"]);
}

#[test]
fn data_beyond_the_limit_is_ignored() {
    let limit = 500 * 1024;
    let start = "User-agent: *\n";
    let last = "Disallow: /last";
    let filled = |length: usize| {
        let filler = "#".repeat(length - start.len() - last.len() - 1);
        format!("{start}{filler}\n{last}")
    };
    let check = |text: &str, truncated: bool, allowed: bool, why: &str| {
        let rules = RobotsRules::parse(AGENT, text.as_bytes(), truncated);
        assert_eq!(rules.allows("/last"), allowed, "{why}");
    };
    check(&filled(limit), false, false, "the last line ends with the limit and with the file");
    check(&(filled(limit) + "\nDisallow: /"), false, false, "the last line within the limit is whole");
    let longer = filled(limit) + "\nDisallow: /";
    assert!(RobotsRules::parse(AGENT, longer.as_bytes(), false).allows("/"), "what follows is not read");
    check(&(filled(limit) + "/folder"), false, true, "the last line is cut");
    check(&filled(limit + 1), false, true, "the last line is cut by one byte");
    check(&filled(1_000), true, true, "the fetch cut the last line");
    check(&(filled(1_000) + "\n"), true, false, "the fetch cut behind a line");
    check(&"x".repeat(10 << 20), false, true, "no line at all");
}

#[test]
fn every_rule_within_the_limit_counts_and_memory_is_bounded() {
    let many: String = (0..14_000).map(|i| format!("Disallow: /{i}$\n")).collect();
    assert!(many.len() * 2 < 500 * 1024);
    let rules = RobotsRules::parse(AGENT, format!("User-agent: *\n{many}").as_bytes(), false);
    assert_eq!(rules.len(), 14_000);
    assert!(!rules.allows("/13999") && rules.allows("/14000"));
    let same = RobotsRules::parse(AGENT, format!("User-agent: *\n{many}{many}").as_bytes(), false);
    assert_eq!(same, rules, "duplicates are kept once");
    // The shortest possible rules, and those that grow most when escaped.
    let short: String = (0..70_000u32).map(|i| format!("Allow:/{}\n", i % 7)).collect();
    let wide: String = (0..4_000).map(|i| format!("Disallow:/{i}{}\n", "\u{e9}".repeat(60))).collect();
    for text in [short, wide] {
        let rules = RobotsRules::parse(AGENT, format!("User-agent: *\n{text}").as_bytes(), false);
        assert!(rules.bytes() < 3 << 20 && !rules.is_empty(), "{}", rules.bytes());
    }
    let sitemaps: String =
        (0..9_000).map(|number| format!("Sitemap: http://a.test/{}\n", number / 2)).collect();
    let rules = RobotsRules::parse(AGENT, sitemaps.as_bytes(), false);
    assert_eq!(rules.sitemaps().count(), 1_000, "large sites name hundreds");
    assert_eq!(rules.sitemaps().last(), Some("http://a.test/999"), "each counts once");
}

#[test]
fn the_cost_of_a_verdict_is_bounded() {
    let most = 512 << 10;
    let long = format!("/{}", "ab/".repeat(600));
    // As many wildcard rules as fit into a file.
    let wild: String = (0..23_500).map(|number| format!("Disallow: /*{number:06}\n")).collect();
    let rules = RobotsRules::parse(AGENT, format!("User-agent: *\n{wild}").as_bytes(), false);
    assert_eq!(rules.len(), 23_500);
    assert!(rules.compared(&long) <= most + 2 * long.len(), "{}", rules.compared(&long));
    assert!(!rules.allows(&long), "URLs that cannot be checked are not fetched");
    assert!(rules.rule_for(&long).unwrap().contains("wildcard"));
    // Rules with a different literal prefix are skipped.
    let folders: String = (0..20_000).map(|number| format!("Disallow: /f{number}/*x\n")).collect();
    let rules = RobotsRules::parse(AGENT, format!("User-agent: *\n{folders}").as_bytes(), false);
    assert!(rules.compared("/f7/page") < 30 && rules.allows("/f7/page") && !rules.allows("/f7/x"));
    // A run of wildcards as long as a file.
    let stars = format!("User-agent: *\nDisallow: /f{}", "*".repeat(490_000));
    let rules = RobotsRules::parse(AGENT, stars.as_bytes(), false);
    assert!(rules.compared("/f7") < 10 && rules.allows("/g"), "{}", rules.compared("/f7"));
    assert_eq!(rules.rule_for("/f7").unwrap(), "Disallow: /f*");
    // Many rules and a typical URL.
    let usual: String = (0..2_500).map(|number| format!("Disallow: /*sort={number}&\n")).collect();
    let rules = RobotsRules::parse(AGENT, format!("User-agent: *\n{usual}").as_bytes(), false);
    let page = format!("/shop/{}?page=2", "category/".repeat(15));
    assert!(rules.allows(&page) && !rules.allows("/shop?sort=7&a=1"), "{}", rules.compared(&page));
}

/// RFC 9309, 2.3.1.5: every line that can be parsed counts.
#[test]
fn invalid_lines_are_ignored() {
    let check = |text: &[u8], allowed: &[&str], forbidden: &[&str]| {
        let rules = RobotsRules::parse(AGENT, text, false);
        let said = String::from_utf8_lossy(text);
        assert!(allowed.iter().all(|path| rules.allows(path)), "{said}");
        assert!(forbidden.iter().all(|path| !rules.allows(path)), "{said}");
    };
    check(
        b"User-agent: *\nDisallow: /a\n\x89PNG\r\n\x1a\n\0\0\xff\xfe\nDisallow: /b\n",
        &["/c"],
        &["/a", "/b"],
    );
    check(b"<!doctype html>\n<pre>\nUser-agent: *\nDisallow: /a\n</pre>", &["/b"], &["/a"]);
    check(b"\xff\xfeUser-agent: *\nDisallow: /a\nUser-agent: porthole\nDisallow: /b", &["/a"], &["/b"]);
    let text = "User-agent: *\nDisallow: /a\u{e9}\n";
    for mark in [&b""[..], b"\xef\xbb\xbf", b"\xef\xbb", b"\xbb\xbf", b"\xbf", b"\xff"] {
        check(&[mark, text.as_bytes()].concat(), &["/a"], &["/a%C3%A9"]);
    }
    for mark in ["", "\u{feff}"] {
        let units = || mark.encode_utf16().chain(text.encode_utf16());
        check(&units().flat_map(u16::to_le_bytes).collect::<Vec<_>>(), &["/a"], &["/a%C3%A9"]);
        check(&units().flat_map(u16::to_be_bytes).collect::<Vec<_>>(), &["/a"], &["/a%C3%A9"]);
    }
    // Octets that are not valid UTF-8 are compared as octets.
    check(b"User-agent: *\nDisallow: /caf\xe9", &["/cafe", "/caf%C3%A9"], &["/caf%E9", "/caf%e9s"]);
    check(
        b"User-agent: *\nDisallow /a /b\n: /c\nDisallow:\n:\nDisallow: /d:e",
        &["/a", "/b", "/c"],
        &["/d:e"],
    );
    check("User-agent: *\n\u{feff}Disallow: /a\nDisallow: /b".as_bytes(), &["/a"], &["/b"]);
    check(&(0..=255).collect::<Vec<u8>>(), &["/"], &[]);
}

/// An independent implementation: no sorting, no normalisation beyond the characters used here, every match tried.
fn reference_allows(rules: &[(bool, String)], path: &str) -> bool {
    fn matches(pattern: &[u8], path: &[u8]) -> bool {
        match pattern {
            [] => true,
            [b'$'] => path.is_empty(),
            [b'*', rest @ ..] => (0..=path.len()).any(|at| matches(rest, &path[at..])),
            [byte, rest @ ..] => path.first() == Some(byte) && matches(rest, &path[1..]),
        }
    }
    let fitting = rules.iter().filter(|(_, pattern)| matches(pattern.as_bytes(), path.as_bytes()));
    let best = fitting.map(|(allow, pattern)| (pattern.len(), *allow)).max();
    best.is_none_or(|(_, allow)| allow)
}

proptest! {
    #[test]
    fn rules_agree_with_the_reference(
        rules in proptest::collection::vec((any::<bool>(), "/[ab/*]{0,5}[$]?"), 0..8),
        path in "/[ab/]{0,8}",
    ) {
        let mut text = "User-agent: *\n".to_owned();
        for (allow, pattern) in &rules {
            text += &format!("{}: {pattern}\n", if *allow { "Allow" } else { "Disallow" });
        }
        let parsed = RobotsRules::parse(AGENT, text.as_bytes(), false);
        prop_assert_eq!(parsed.allows(&path), reference_allows(&rules, &path), "{}", text);
    }

    #[test]
    fn any_bytes_are_parsed(bytes in proptest::collection::vec(any::<u8>(), 0..200), cut: bool) {
        RobotsRules::parse(AGENT, &bytes, cut).allows("/a/b?c=d");
    }
}

fn url(text: &str) -> CanonicalUrl {
    CanonicalUrl::parse(text).unwrap()
}

fn response(status: u16, location: Option<&str>, body: &str) -> Response {
    let headers: Headers = location.map(|location| ("location", location)).into_iter().collect();
    Response::new(status, headers, body.to_owned())
}

fn done(step: RobotsStep) -> RobotsPolicy {
    match step {
        RobotsStep::Done(policy) => policy,
        RobotsStep::Fetch(fetch) => panic!("still asking for {}", fetch.url()),
    }
}

const HOUR: i64 = 3_600_000;
const RULES: &str = "User-agent: *\nDisallow: /private\nCrawl-delay: 7\nSitemap: /s.xml";

/// The policy of `a.test` after one answer at `hour`, given the policy `old`.
fn ask(old: Option<RobotsPolicy>, status: u16, hour: i64) -> RobotsPolicy {
    let fetch = RobotsFetch::new(&url("https://a.test/x/y"), old);
    assert_eq!(fetch.url().as_str(), "https://a.test/robots.txt");
    done(fetch.answered(AGENT, Ok(&response(status, None, RULES)), Timestamp(hour * HOUR)))
}

#[test]
fn the_status_decides() {
    let (open, private) = (url("https://a.test/open"), url("https://a.test/private/x"));
    let policy = ask(None, 200, 0);
    assert!(policy.allows(&open) && !policy.allows(&private));
    assert_eq!(policy.verdict(&private), RobotsVerdict::Forbidden { rule: "Disallow: /private".into() });
    assert_eq!(policy.crawl_delay(), Some(Duration::from_secs(7)));
    assert_eq!(policy.sitemaps().collect::<Vec<_>>(), ["/s.xml"]);
    assert_eq!(policy.ask_again(), Timestamp(24 * HOUR));
    for status in [400, 401, 403, 404, 410, 451] {
        assert!(ask(None, status, 0).allows(&private), "{status}");
    }
    for status in [429, 500, 502, 503, 504, 599, 304, 100, 0] {
        let policy = ask(None, status, 0);
        assert!(!policy.allows(&open), "{status}");
        assert_eq!(policy.verdict(&open), RobotsVerdict::NotNow { until: Timestamp(HOUR / 6) });
    }
    assert_eq!(ask(None, 503, 0).trouble().unwrap().detail(), "robots.txt has status 503");
    assert_eq!(ask(Some(ask(None, 503, 0)), 404, 1).trouble(), None, "it has passed");
    for kind in [FailureKind::Timeout, FailureKind::Dns, FailureKind::Scope] {
        let error = FetchError { url: open.clone(), kind, detail: "why".into() };
        let policy = done(RobotsFetch::new(&open, None).answered(AGENT, Err(&error), Timestamp(0)));
        assert!(!policy.allows(&open));
        assert_eq!(policy.trouble(), Some(&Failure::new(kind, "why")));
    }
}

#[test]
fn an_unreachable_site_keeps_its_rules_and_backs_off() {
    let (open, private) = (url("https://a.test/open"), url("https://a.test/private/x"));
    let known = ask(Some(ask(None, 200, 0)), 503, 24);
    assert!(known.allows(&open) && !known.allows(&private), "old rules hold");
    let unchanged = ask(Some(known.clone()), 304, 25);
    assert!(!unchanged.allows(&private) && unchanged.ask_again() == Timestamp(49 * HOUR));
    assert!(
        !ask(Some(ask(None, 404, 0)), 500, 24).allows(&open),
        "a missing file does not permit later fetches"
    );

    let mut policy = ask(None, 500, 0);
    let mut waits = Vec::new();
    for _ in 0..11 {
        let before = policy.ask_again();
        let fetch = RobotsFetch::new(&open, Some(policy));
        policy = done(fetch.answered(AGENT, Ok(&response(500, None, "")), before));
        assert!(!policy.allows(&open));
        waits.push(policy.ask_again().since(before).as_secs() / 60);
    }
    assert_eq!(waits, [10, 20, 40, 80, 160, 320, 640, 1280, 1440, 1440, 1440]);
    assert!(!ask(Some(policy.clone()), 500, 30 * 24 - 1).allows(&open));
    assert!(ask(Some(policy.clone()), 500, 30 * 24).allows(&open), "a month later it counts as not there");
    assert!(!ask(Some(policy), 200, 30 * 24).allows(&private));
}

#[test]
fn redirects() {
    let follow = |redirects: usize| {
        let mut step = RobotsStep::Fetch(RobotsFetch::new(&url("http://a.test/x"), None));
        for hop in 0..=redirects {
            let RobotsStep::Fetch(fetch) = step else { return done(step) };
            let target = format!("http://b{hop}.test/r{hop}");
            let answer =
                if hop < redirects { response(301, Some(&target), "") } else { response(200, None, RULES) };
            step = fetch.answered(AGENT, Ok(&answer), Timestamp(0));
        }
        done(step)
    };
    let private = url("http://a.test/private");
    for redirects in 0..=5 {
        assert!(!follow(redirects).allows(&private), "{redirects} redirects are followed");
    }
    assert!(follow(6).allows(&private), "six are not, and there is no robots.txt then");
    for nowhere in [None, Some("mailto:a@b.test")] {
        let fetch = RobotsFetch::new(&private, None);
        let policy = done(fetch.answered(AGENT, Ok(&response(302, nowhere, "")), Timestamp(0)));
        assert!(policy.allows(&private));
    }
}

/// 2.3.1.2: rules found by a redirect apply to the site that was asked about, and to no other.
#[test]
fn redirected_rules_apply_to_the_original_site() {
    let mut cache = RobotsCache::new(AGENT, 20_000);
    let (asked, other) = (url("http://a.test/private"), url("http://b.test/private"));
    let RobotsLook::Ask(fetch) = cache.look(&asked, Timestamp(0)) else { panic!("unknown") };
    let answer = response(301, Some("http://b.test/robots.txt"), "");
    let RobotsStep::Fetch(next) = cache.answered(fetch, Ok(&answer), Timestamp(0)) else {
        panic!("a redirect")
    };
    assert_eq!(next.url().as_str(), "http://b.test/robots.txt");
    assert_eq!(next.site(), asked.site());
    done(cache.answered(next, Ok(&response(200, None, RULES)), Timestamp(0)));
    assert!(matches!(cache.look(&asked, Timestamp(0)), RobotsLook::Known(policy) if !policy.allows(&asked)));
    assert!(matches!(cache.look(&other, Timestamp(0)), RobotsLook::Ask(_)), "b.test has not been asked");
    // The status of the last hop decides.
    for (status, allowed) in [(404, true), (500, false), (429, false)] {
        let fetch = RobotsFetch::new(&asked, None);
        let RobotsStep::Fetch(next) = fetch.answered(AGENT, Ok(&answer), Timestamp(0)) else {
            panic!("a redirect")
        };
        let policy = done(next.answered(AGENT, Ok(&response(status, None, RULES)), Timestamp(0)));
        assert_eq!(policy.allows(&asked), allowed, "{status}");
    }
}

#[test]
fn a_truncated_file_counts_only_beyond_the_limit() {
    let private = url("http://a.test/private");
    let policy = |body: String| {
        let answer = Response { truncated: true, ..response(200, None, &body) };
        done(RobotsFetch::new(&private, None).answered(AGENT, Ok(&answer), Timestamp(0)))
    };
    let open = url("http://a.test/open");
    assert!(!policy(RULES.to_owned()).allows(&open), "a truncated file allows nothing");
    let long = policy(format!("{RULES}\n{}", "# more\n".repeat(100_000)));
    assert!(long.allows(&open) && !long.allows(&private));
}

#[test]
fn the_cache_expires_daily_and_is_bounded() {
    let mut cache = RobotsCache::new(AGENT, 20_000);
    let page = url("http://a.test/private/1");
    let ask = |cache: &mut RobotsCache, page: &CanonicalUrl, hour: i64| {
        let RobotsLook::Ask(fetch) = cache.look(page, Timestamp(hour * HOUR)) else { return false };
        done(cache.answered(fetch, Ok(&response(200, None, RULES)), Timestamp(hour * HOUR)));
        true
    };
    assert!(ask(&mut cache, &page, 0));
    assert!(!ask(&mut cache, &url("http://a.test/other"), 23));
    assert!(ask(&mut cache, &url("https://a.test/other"), 23), "another scheme is another service");
    assert!(ask(&mut cache, &url("http://a.test:8080/"), 23), "another port too");
    let RobotsLook::Known(policy) = cache.look(&page, Timestamp(23 * HOUR)) else { panic!("forgotten") };
    assert!(!policy.allows(&page));
    assert!(ask(&mut cache, &page, 24));
    for host in 0..1_000 {
        ask(&mut cache, &url(&format!("http://h{host}.test/")), 24);
        assert!(cache.bytes() <= 20_000);
    }
}

#[test]
fn stored_rules_survive_a_round_trip() {
    let table = [
        "User-agent: *\nDisallow: /a$b$\nAllow: /a*%2f?x=:/%20\nDisallow: /\u{fc}\nCrawl-delay: 0.35\nSitemap: https://a.test/s.xml\n",
        "User-agent: porthole\nDisallow:\n",
        "User-agent: *\nDisallow: /x # not here\nDisallow: *.pdf$\n",
        "User-agent: *\nDisallow: /a***b**$\nAllow: /a*b*\nAllow: **\n",
    ];
    for text in table {
        let rules = RobotsRules::parse("porthole", text.as_bytes(), false);
        assert_eq!(RobotsRules::of_lines(&rules.lines()), rules, "{text}");
    }
}
