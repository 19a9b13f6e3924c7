//! Page properties besides leaves: title, addresses, robots directives, charset, language, terms.

use crate::{extract, extract_with, url};
use porthole_page::{Cuts, ExtractLimits, Extractor, Page, PageFormat, TermSplitter};
use porthole_types::{CanonicalUrl, Headers, TermId};

const OWLS: &str = "<html lang=en><title>Owls of the north</title><p>The snowy owl is a large white owl of the \
    Arctic. It hunts lemmings by day, and it nests on the ground, where it can see what is coming. In winter \
    many of the young birds leave for the south, and they are seen on fields and by the sea.";

fn headers_of(pairs: &[(&str, &str)]) -> Headers {
    pairs.iter().copied().collect()
}

fn targets(page: &Page) -> Vec<&str> {
    page.links.iter().map(|link| link.target.as_str()).collect()
}

#[test]
fn titles() {
    for (html, title) in [
        ("<title>Owls &amp; \n others&hellip;</title>", "Owls & others\u{2026}"),
        ("<title>a<b>c</b></title>", "a<b>c</b>"),
        ("<title></title><title>second</title>", ""),
        ("<p>late<title>title</title>", "title"),
        ("<svg><title>drawing</title></svg><title>page</title>", "page"),
        ("<TITLE>open", "open"),
        ("<p>none", ""),
    ] {
        assert_eq!(extract(html).title, title, "for {html}");
    }
}

#[test]
fn references_are_resolved() {
    for (html, target) in [
        ("<a href=x>", "http://example.com/dir/x"),
        ("<a href=' ../x?a=1&amp;b=2#part '>", "http://example.com/x?a=1&b=2"),
        ("<a href='?a=1&copy=2'>", "http://example.com/dir/page.html?a=1&copy=2"),
        ("<a href=//Other.org>", "http://other.org/"),
        ("<a href=''>", "http://example.com/dir/page.html"),
        ("<base href=/b/><a href=x>", "http://example.com/b/x"),
        ("<a href=x><base href=/b/>", "http://example.com/b/x"),
        ("<base href=sub/><base href=/c/><a href=x>", "http://example.com/dir/sub/x"),
        ("<base target=_top><base href=http://other.org/d/e><a href=x>", "http://other.org/d/x"),
        ("<base href='http://['><a href=x>", "http://example.com/dir/x"),
        ("<link rel='shortlink canonical' href=/c>", "http://example.com/c"),
    ] {
        assert_eq!(targets(&extract(html)), [target], "for {html}");
    }
}

#[test]
fn uncrawlable_references_are_counted() {
    let page = extract(
        "<a href=mailto:a@b.c>a</a><a href=javascript:f()>b</a><a href='http://['>c</a><a href=x>d</a>",
    );
    assert_eq!((page.links.len(), page.links_refused), (1, 3));
}

#[test]
fn attributes_of_links() {
    for (html, title, rel) in [
        ("<a href=x>", None, None),
        ("<a href=x title='a &amp; b' rel=nofollow>", Some("a & b"), Some("nofollow")),
        ("<a rel='external NoFollow' href=x>", None, Some("external NoFollow")),
        ("<a rel=nofollowing href=x title>", Some(""), Some("nofollowing")),
        ("<A HREF=x REL=tag REL=nofollow>", None, Some("tag")),
    ] {
        let page = extract(html);
        let link = &page.links[0];
        assert_eq!((link.title.as_deref(), link.rel.as_deref()), (title, rel), "for {html}");
    }
}

#[test]
fn robots_directives_of_meta_and_header() {
    for (html, header, expected) in [
        ("", "", ""),
        ("<meta name=robots content=noindex>", "", "noindex"),
        ("<META NAME=' Robots ' CONTENT='NOINDEX,  nofollow'>", "", "noindex nofollow"),
        ("<meta name=robots content=none>", "", "noindex nofollow"),
        ("<meta name=robots content='index, follow, all'>", "", ""),
        ("<meta name=robots content=noarchive><meta name=robots content=nofollow>", "", "nofollow noarchive"),
        ("<meta name=OwlBot content=noindex>", "", "noindex"),
        ("<meta name=otherbot content=noindex>", "", ""),
        ("<body><p>late<meta name=robots content=noindex>", "", "noindex"),
        ("<!-- <meta name=robots content=noindex> -->", "", ""),
        ("", "noindex, noarchive", "noindex noarchive"),
        ("", "otherbot: noindex", ""),
        ("<meta name=robots content=nofollow>", "noindex", "noindex nofollow"),
        ("", "owlbot: noindex, nofollow", "noindex nofollow"),
        ("", "googlebot: noindex, nofollow", ""),
        ("", "unavailable_after: 25 Jun 2030 15:00:00 PST, noindex", "noindex"),
    ] {
        let headers = [("Content-Type", "text/html"), ("X-Robots-Tag", header)].into_iter().collect();
        let mut extractor = Extractor::default().for_robot("owlbot");
        let page = extractor.extract(&url(), &headers, html.as_bytes());
        assert_eq!(robots(&page), expected, "for {html} and {header}");
        let is_addressed = html.contains("OwlBot") || header.contains("owlbot");
        let unnamed = Extractor::default().extract(&url(), &headers, html.as_bytes());
        assert_eq!(robots(&unnamed), if is_addressed { "" } else { expected }, "no name is built in: {html}");
    }
    let twice = [("Content-Type", "text/plain"), ("X-Robots-Tag", "noindex"), ("X-Robots-Tag", "nofollow")];
    assert_eq!(robots(&extract_with(&twice, b"text")), "noindex nofollow");
}

fn robots(page: &Page) -> String {
    let robots = page.robots;
    let asked = [(robots.noindex, "noindex"), (robots.nofollow, "nofollow"), (robots.noarchive, "noarchive")];
    asked.iter().filter(|(is, _)| *is).map(|(_, word)| *word).collect::<Vec<_>>().join(" ")
}

#[test]
fn refreshes_as_they_are_spelt() {
    for (content, expected) in [
        ("5; url=next.html", Some((5, "next.html"))),
        ("0;URL=next.html", Some((0, "next.html"))),
        ("0; url='next.html'", Some((0, "next.html"))),
        ("0; url = &quot;next.html&quot;", Some((0, "next.html"))),
        ("3,url=next.html", Some((3, "next.html"))),
        ("3 next.html", Some((3, "next.html"))),
        (" 1.5; next.html ", Some((1, "next.html"))),
        ("0;url=next.html?a=1&amp;b=2", Some((0, "next.html?a=1&b=2"))),
        ("300", None),
        ("5;", None),
        ("0; url=", None),
        ("0; url=javascript:f()", None),
    ] {
        let page = extract(&format!("<meta http-equiv=Refresh content=\"{content}\">"));
        let expected = expected.map(|(seconds, target)| (seconds, url().join(target).unwrap()));
        assert_eq!(page.refresh, expected, "for {content}");
    }
    let hidden = "<noscript><meta http-equiv=refresh content='0; url=enable.html'></noscript>";
    for page in [hidden.to_owned(), format!("<body>{hidden}")] {
        assert_eq!(extract(&page).refresh, None, "for {page}");
    }
    let page = extract(
        "<base href=/b/><meta http-equiv=refresh content='1;x'><meta http-equiv=refresh content='2;y'>",
    );
    assert_eq!(page.refresh, Some((1, CanonicalUrl::parse("http://example.com/b/x").unwrap())));
}

#[test]
fn charsets() {
    for (content_type, body, charset, text, bad) in [
        ("text/html", &b"caf\xc3\xa9"[..], "UTF-8", "caf\u{e9}", false),
        ("text/html; charset=utf-8", b"caf\xe9", "UTF-8", "caf\u{fffd}", true),
        (
            "text/html; charset=iso-8859-1",
            b"\x93caf\xe9\x94",
            "windows-1252",
            "\u{201c}caf\u{e9}\u{201d}",
            false,
        ),
        ("text/html; charset=\"koi8-r\"", b"\xcd\xc9\xd2", "KOI8-R", "\u{43c}\u{438}\u{440}", false),
        ("text/html; charset=nonsense", b"<meta charset=iso-8859-2>\xb1", "ISO-8859-2", "\u{105}", false),
        ("text/html; charset=latin1", b"\xef\xbb\xbf\xc3\xa9", "UTF-8", "\u{e9}", false),
        ("text/html", b"\xfe\xff\0h\0i", "UTF-16BE", "hi", false),
        ("text/html; charset=shift_jis", b"\x93\xfa\x96\x7b", "Shift_JIS", "\u{65e5}\u{672c}", false),
        ("text/plain; charset=gbk", b"\xd6\xd0\xce\xc4", "GBK", "\u{4e2d}\u{6587}", false),
        (
            "text/plain",
            b"<meta charset=koi8-r> na\xefve caf\xe9",
            "windows-1252",
            "<meta charset=koi8-r> na\u{ef}ve caf\u{e9}",
            false,
        ),
    ] {
        let page = extract_with(&[("content-type", content_type)], body);
        assert_eq!(
            (page.charset, page.text.as_str(), page.bad_bytes),
            (charset, text, bad),
            "for {content_type}"
        );
    }
}

#[test]
fn formats() {
    for (content_type, body, format) in [
        ("text/html", "x", PageFormat::Html),
        ("Text/HTML;charset=utf-8", "", PageFormat::Html),
        ("application/xhtml+xml", "<html/>", PageFormat::Html),
        ("text/plain", "<p>x", PageFormat::Text),
        ("", " \n<p>x", PageFormat::Html),
        ("", "\u{feff}<p>x", PageFormat::Html),
        ("", "x <p>", PageFormat::Text),
        ("", "GIF89a\u{1}\u{0}", PageFormat::Other),
        ("unknown/unknown", "<p>", PageFormat::Html),
        ("image/png", "<p>x", PageFormat::Other),
        ("application/pdf", "%PDF-1.4", PageFormat::Pdf),
        ("application/octet-stream", "%PDF-1.4", PageFormat::Pdf),
        ("", "%PDF-1.4\u{0}", PageFormat::Pdf),
        ("text/css", "p {}", PageFormat::Other),
    ] {
        let page = extract_with(&[("content-type", content_type)], body.as_bytes());
        assert_eq!(page.format, format, "for {content_type:?} {body:?}");
    }
}

#[test]
fn plain_text_is_one_leaf_without_links() {
    let page = extract_with(
        &[("content-type", "text/plain")],
        b" Snowy\r\n\r\n owls: <a href=x>y</a> &amp; \t more ",
    );
    assert_eq!(page.leaf(0).unwrap().text, "Snowy owls: <a href=x>y</a> &amp; more");
    assert_eq!((page.leaf_count(), page.links.len(), page.title.as_str()), (1, 0, ""));
}

#[test]
fn other_formats_are_not_read() {
    let page = extract_with(&[("content-type", "image/gif")], OWLS.as_bytes());
    assert_eq!((page.leaf_count(), page.terms().len(), page.simhash), (0, 0, 0));
    assert_eq!((page.text.as_str(), page.charset, page.language), ("", "", ""));
}

#[test]
fn languages() {
    const FRENCH: &str = "<p>Le harfang des neiges est un grand hibou blanc qui vit dans le nord, et il chasse \
        le jour dans la toundra avec les siens.";
    for (html, language) in [
        (OWLS.to_owned(), "en"),
        (OWLS.replace("lang=en", ""), "en"),
        (OWLS.replace("lang=en", "lang=de"), "en"),
        (FRENCH.to_owned(), "fr"),
        ("<html lang=sv-SE><p>Ugglor".to_owned(), "sv"),
        (String::new(), ""),
    ] {
        assert_eq!(extract(&html).language, language, "for {html}");
    }
}

#[test]
fn pages_that_need_scripts() {
    const SCRIPT: &str = "<script src=/static/js/main.js></script>";
    let with_script = |html: &str| format!("<!doctype html><title>App</title>{html}{SCRIPT}");
    for shell in [
        "<noscript>You need to enable JavaScript to run this app.</noscript><div id=root></div>",
        "<div id=\"root\"></div>",
        "<div id='__next' class=x>\n</div><footer>Our house, since 1998</footer>",
        "<app-root>One moment</app-root>",
        "<div id=main><div class=spinner></div>Loading\u{2026}</div>",
        "<p>Bitte aktivieren Sie JavaScript, um diese Seite zu sehen.</p>",
        "<img src=logo.png>",
        "",
    ] {
        assert!(extract(&with_script(shell)).needs_scripts, "for {shell}");
        assert!(!extract(shell).needs_scripts, "without a script, for {shell}");
    }
    let inline = format!("<div id=app></div><script>{}</script>", "render(1); ".repeat(40));
    assert!(extract(&inline).needs_scripts);
    // Even with a short script: text for readers without scripts is not the page.
    for noscript in ["Our map of beekeepers needs a newer browser.", "Enable JavaScript to see bees."] {
        let page = format!("<noscript>{noscript}</noscript><div id=map></div><script>draw('bees')</script>");
        assert!(extract(&page).needs_scripts, "for {page}");
        let with_text = format!("{page}<p>Honey");
        assert!(!extract(&with_text).needs_scripts, "for {with_text}");
    }
    for page in [
        OWLS,
        "<p>Moved to another place.",
        "<h1>404 Not Found</h1><p>nginx",
        "<h1>Opening hours</h1><p>Monday to Friday, nine to five.",
        "<div id=root><h1>Snowy owls</h1><p>A short page about them.</div>",
        "<a href=1>a</a><a href=2>b</a><a href=3>c</a><a href=4>d</a>",
        "<a href=main.html><img src=welcome.jpg></a>",
        "<meta http-equiv=refresh content='0; url=next.html'>",
        "<meta http-equiv=refresh content='5; url=next.html'><p>Loading the new page. JavaScript is on its way.",
        "<frameset><frame src=a><frame src=b></frameset>",
        "<iframe src=inner.html></iframe>",
    ] {
        assert!(!extract(&format!("{SCRIPT}{page}")).needs_scripts, "for {page}");
    }
    for page in ["<h1>Not found</h1><script>var a = 1;</script>", "<script>location = 'next.html'</script>"] {
        assert!(!extract(page).needs_scripts, "for {page}");
    }
}

#[test]
fn terms_are_those_of_the_title_and_the_leaves() {
    let page =
        extract("<html lang=en><title>Owls</title><p>The snowy owl and <b>other owls</b>, owl by owl.");
    let of_leaves: Vec<_> = (0..page.leaf_count()).flat_map(|leaf| page.leaf_terms(leaf)).copied().collect();
    // "owl" and "owls" are one term; "the", "and", "other" and "by" are stop words.
    let owl = page.terms()[0];
    assert_eq!(page.terms()[1..], of_leaves);
    assert_eq!(of_leaves.iter().filter(|&&term| term != owl).count(), 1);
    let mut counts = page.term_counts();
    counts.sort_by_key(|&(_, count)| count);
    assert_eq!(counts.iter().map(|&(_, count)| count).collect::<Vec<_>>(), [1, 5]);
    assert_eq!(counts[1].0, owl);
    assert!(page.leaf_terms(page.leaf_count()).is_empty());
}

#[test]
fn a_vocabulary_has_every_term_of_the_page_and_a_word_for_it() {
    let html =
        "<title>Bicycles</title><p>The bicycle and the bicycles of the cyclists were ridden. Bicycles!";
    let mut extractor = Extractor::default();
    let page = extractor.extract(&url(), &Headers::new(), html.as_bytes());
    let vocabulary = extractor.vocabulary(&page);
    let terms: Vec<TermId> = page.term_counts().into_iter().map(|(term, _)| term).collect();
    assert_eq!(vocabulary.iter().map(|spelled| spelled.term).collect::<Vec<_>>(), terms);
    assert!(vocabulary.iter().all(|spelled| TermId::of(spelled.stem.as_bytes()) == spelled.term));
    let bicycle = vocabulary.iter().find(|spelled| spelled.stem == "bicycl").unwrap();
    assert_eq!(bicycle.word, "bicycles");
}

#[test]
fn fingerprints_are_near_for_a_light_edit_and_far_for_another_page() {
    let story =
        [OWLS, &OWLS.replace("owl", "hare").replace("nests", "rests").replace("hunts", "flees")].concat();
    let edited = story.replacen("large white", "big white", 1) + " Updated on Friday.";
    let other = "<html lang=en><p>Interest rates were raised again as the central bank met to discuss prices, wages \
        and the state of the economy, which grew by less than had been hoped for in the last quarter.";
    let distance = |html: &str| (extract(&story).simhash ^ extract(html).simhash).count_ones();
    assert_eq!(distance(&story.replace("<p>", "<div class=x>\n\n")), 0, "markup does not count");
    assert!(distance(&edited) <= 12, "an edit is {} bits away", distance(&edited));
    assert!(distance(other) >= 18, "another page is {} bits away", distance(other));
}

#[test]
fn cuts_are_counted() {
    let none = Cuts::default();
    let limits = ExtractLimits { bytes: 1000, links: 3, attributes: 2, ..ExtractLimits::default() };
    for (html, expected) in [
        ("<p>short".to_owned(), none),
        ("x".repeat(1024), Cuts { bytes: 24, ..none }),
        ("<a href=x>y</a>".repeat(5), Cuts { links: 2, ..none }),
        ("<p a b c d>x<a title=t rel=r href=x>".to_owned(), Cuts { attributes: 3, ..none }),
    ] {
        let page = Extractor::new(limits).extract(
            &url(),
            &headers_of(&[("content-type", "text/html")]),
            html.as_bytes(),
        );
        assert_eq!(page.cuts, expected, "for {html}");
    }
    let deep = extract(&("<div>".repeat(600) + "<a href=x>deep"));
    assert_eq!((deep.cuts, deep.text.as_str()), (Cuts { depth: 600 + 3 - 512, ..none }, "deep"));
    assert_eq!((deep.links.len(), deep.leaf(0).unwrap().depth), (1, 512));
}

#[test]
fn texts_outside_of_pages_have_the_terms_of_pages() {
    let page = extract(OWLS);
    let (mut wording, mut terms) = (TermSplitter::default(), Vec::new());
    wording.append(&page.title, "en", &mut terms);
    wording.append(&page.text, page.language, &mut terms);
    assert_eq!(terms, page.terms());
    let (mut address, mut words) = (Vec::new(), Vec::new());
    wording.append("/owls/snowy-owl.html?in=winter", "en", &mut address);
    wording.append("owl snowy owl html winter", "en", &mut words);
    assert_eq!(address, words);
}

#[test]
fn soft_404_pages_are_detected() {
    let long = "<p>The barn owl hunts mice and voles at night. ".repeat(40);
    for (html, says) in [
        ("<title>Page not found</title><p>Try the search.".to_owned(), true),
        ("<title>Example</title><h1>404</h1><p>Sorry.".to_owned(), true),
        (format!("<title>404 Not Found</title>{long}"), false),
        ("<title>Example</title><p>page not found".to_owned(), false),
        ("<title>Owls</title><h1>Barn owls</h1><p>They hunt.".to_owned(), false),
    ] {
        assert_eq!(extract(&html).says_not_found(), says, "for {html}");
    }
}
