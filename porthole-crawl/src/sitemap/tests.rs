//! Typical, broken and malicious sitemaps.

use std::io::BufReader;

use proptest::prelude::*;

use super::*;

fn read(text: &[u8]) -> (Vec<SitemapEntry>, SitemapEnd) {
    let at = CanonicalUrl::parse("http://a.test/maps/sitemap.xml").unwrap();
    let mut entries = Vec::new();
    // A small buffer, so that tokens cross its boundaries.
    let capacity = if text.len() < 10_000 { 16 } else { 64 << 10 };
    let end = read_sitemap(BufReader::with_capacity(capacity, text), &at, &mut |entry| entries.push(entry));
    assert_eq!(end.entries, entries.len());
    (entries, end)
}

/// Reads to the end and returns the URLs.
fn urls(text: &str) -> Vec<String> {
    let (entries, end) = read(text.as_bytes());
    assert_eq!((end.refused, end.stopped), (0, None), "{text}");
    entries.iter().map(|entry| entry.url.to_string()).collect()
}

#[test]
fn listed_pages_are_below_every_scored_link() {
    let url = CanonicalUrl::parse("http://a.test/sitemap.xml").unwrap();
    let body = wrapped("<url><loc>http://a.test/x</loc></url>").into_bytes();
    let took = std::time::Duration::ZERO;
    let headers = porthole_types::Headers::new();
    let response = Response { took, ..Response::new(200, headers, body) };
    let sitemap = Sitemap { url: url.clone(), is_index_followed: true };
    let (pages, _) = sitemap.read(&response, url.site(), 9);
    // The worst link of the outermost layer of a context graph, and the odds of a hopeless one.
    for scored in [porthole_strategy::in_layer(20, 0.0), -1e9] {
        assert!(pages[0].priority < scored, "{} {scored}", pages[0].priority);
    }
}

fn wrapped(inside: &str) -> String {
    format!("<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">{inside}</urlset>")
}

#[test]
fn a_sitemap() {
    let text = "\u{feff}<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- made by hand -->\n".to_owned()
        + &wrapped(
            "<url>\n <loc> http://a.test/1?a=b&amp;c=d </loc>\n <lastmod>2005-01-01</lastmod>
             <changefreq>daily</changefreq><priority>0.8</priority></url>
             <url><loc><![CDATA[http://a.test/2?a&b]]></loc></url>
             <url><lastmod>2004-12-23T18:00:15+00:00</lastmod><loc>/3</loc>
               <image:image><image:loc>http://a.test/i.png</image:loc></image:image>
               <xhtml:link rel=\"alternate\" href=\"http://a.test/de\"/></url>
             <url><loc>http://a.test/4?a&b=&#x41;&#66;</loc></url>",
        );
    let (entries, end) = read(text.as_bytes());
    assert_eq!(end, SitemapEnd { entries: 4, refused: 0, stopped: None });
    let found: Vec<_> =
        entries.iter().map(|entry| (entry.url.as_str(), entry.lastmod.map(|at| at.0 / 1_000))).collect();
    assert_eq!(
        found,
        [
            ("http://a.test/1?a=b&c=d", Some(1_104_537_600)),
            ("http://a.test/2?a&b", None),
            ("http://a.test/3", Some(1_103_824_815)),
            ("http://a.test/4?a&b=AB", None),
        ]
    );
    assert!(entries.iter().all(|entry| entry.kind == SitemapKind::Page));
}

#[test]
fn an_index() {
    let text =
        "<sm:sitemapindex><sm:sitemap><sm:loc>http://a.test/1.xml.gz</sm:loc></sm:sitemap></sm:sitemapindex>";
    let (entries, _) = read(text.as_bytes());
    assert_eq!((entries.len(), entries[0].kind), (1, SitemapKind::Sitemap));
}

#[test]
fn text_with_a_url_a_line() {
    assert_eq!(urls("http://a.test/1\r\n\nhttps://b.test/2\n"), ["http://a.test/1", "https://b.test/2"]);
    assert_eq!(urls("\u{feff} http://a.test/1"), ["http://a.test/1"]);
    assert!(urls("").is_empty() && urls(" \n").is_empty());
    let (entries, end) = read(b"Not found\nSee http status codes\n");
    assert_eq!((entries.len(), end.refused), (0, 2));
}

#[test]
fn broken_sitemaps_are_read_up_to_the_error() {
    assert_eq!(urls(&wrapped("<url><loc></loc></url><url><loc>/1</loc></url><url/>")), ["http://a.test/1"]);
    let check = |text: &str, entries: usize, word: &str| {
        let (_, end) = read(text.as_bytes());
        let stopped = end.stopped.unwrap_or_default();
        assert!(end.entries == entries && stopped.contains(word), "{text:.60}: {} {stopped}", end.entries);
    };
    check("<html><body>no</body></html>", 0, "<html> is not a sitemap");
    check("<urlset><url><loc>/1</loc></url><url><loc>/2</lo", 2, "tag not closed");
    check("<urlset><url><loc>/1</loc></url><url><loc>/2</loc>", 2, "");
    check("<urlset><url><loc>/1</loc></url><url><loc>/2</loc><lastmod>2005-01-", 2, "");
    check("<urlset><url><loc>/1</loc></url><url><loc>/2", 1, "");
    let latin = b"<urlset><url><loc>/1</loc><t>caf\xe9</t></url><url><loc>/caf\xe9</loc></url></urlset>";
    let (entries, end) = read(latin);
    let paths: Vec<_> = entries.iter().map(|entry| entry.url.path()).collect();
    assert_eq!((paths, end.stopped), (vec!["/1", "/caf%E9"], None), "another charset");
    let greek = wrapped("<url><loc>http://b\u{fc}cher.example/\u{3b1}</loc></url>");
    assert_eq!(urls(&greek), ["http://xn--bcher-kva.example/%CE%B1"]);
    let (_, end) = read(wrapped("<url><loc>mailto:a@b.test</loc></url>").as_bytes());
    assert_eq!(end.refused, 1);
}

#[test]
fn hostile_documents_are_bounded() {
    /// Bytes read beyond what is used: one token and a buffer.
    const PART: usize = 2 * (64 << 10);
    let check = |text: &str, entries: usize, word: &str, most: usize| {
        let at = CanonicalUrl::parse("http://a.test/maps/sitemap.xml").unwrap();
        let mut unread = text.as_bytes();
        let end = read_sitemap(BufReader::with_capacity(64 << 10, &mut unread), &at, &mut |_| ());
        let stopped = end.stopped.unwrap_or_default();
        assert!(end.entries == entries && stopped.contains(word), "{text:.60}: {} {stopped}", end.entries);
        let bytes = text.len() - unread.len();
        assert!(bytes <= most, "{text:.60}: {bytes} bytes were read, not {most}");
    };
    let laughs: String =
        (1..30).map(|i| format!("<!ENTITY l{i} \"{}\">", format!("&l{};", i - 1).repeat(10))).collect();
    let bomb = format!("<!DOCTYPE u [<!ENTITY l0 \"lol\">{laughs}]>");
    check(&(bomb + &wrapped("<url><loc>http://a.test/&l29;</loc></url>")), 0, "", PART);
    let large = format!("<!DOCTYPE u [{}]>", "<!ENTITY a \"b\">".repeat(100_000));
    check(&(large + &wrapped("<url><loc>/1</loc></url>")), 0, "longer than allowed", PART);
    check(&"<urlset>".repeat(1_000_000), 0, "elements deep", PART);
    check(
        &wrapped(&format!("<url><loc>{}</loc></url>", "a".repeat(1 << 20))),
        0,
        "longer than allowed",
        PART,
    );
    check(&wrapped(&format!("<!--{}-->", "-".repeat(1 << 20))), 0, "longer than allowed", PART);
    check(&format!("<urlset {}", "a=\"b\" ".repeat(1 << 18)), 0, "longer than allowed", PART);
    let entry = "<url><loc>/1</loc></url>";
    let most = MAX_ENTRIES * entry.len() + PART;
    check(&wrapped(&entry.repeat(60_000)), 50_000, "more than 50000 entries", most);
    let line = "http://a.test/1\n";
    check(&line.repeat(60_000), 50_000, "more than 50000 entries", MAX_ENTRIES * line.len() + PART);
    check(&"x".repeat(1 << 20), 0, "longer than allowed", PART);
    let comment = format!("<!--{}-->", "x".repeat(60 << 10));
    let most = usize::try_from(MAX_BYTES).unwrap() + PART;
    check(&wrapped(&comment.repeat(1_000)), 0, "the sitemap is longer than allowed", most);
}

#[test]
fn several_urls_in_an_entry_are_several_entries() {
    let both = wrapped("<url><loc>http://a.test/1</loc><loc>http://a.test/2</loc></url>");
    assert_eq!(urls(&both), ["http://a.test/1", "http://a.test/2"]);
}

#[test]
fn spaces_of_every_kind_around_a_url_are_removed() {
    for around in ["\u{a0}", "&#160;", "&nbsp;", "\u{200b} ", " \u{feff}\u{a0}\n", "\u{3000}"] {
        let text = wrapped(&format!("<url><loc>{around}http://a.test/1{around}</loc></url>"));
        assert_eq!(urls(&text), ["http://a.test/1"], "{around:?}");
    }
    assert_eq!(urls("http://a.test/1\nhttp://a.test/2\u{a0}\n")[1], "http://a.test/2");
    let inside = wrapped("<url><loc>http://a.test/a\u{a0}b/\u{e0}</loc></url>");
    assert_eq!(urls(&inside), ["http://a.test/a%C2%A0b/%C3%A0"], "a URL keeps its own");
}

#[test]
fn feeds() {
    let rss = "<?xml version=\"1.0\"?><rss version=\"2.0\"><channel><title>A</title><link>http://a.test/</link>
        <item><title>1</title><link>http://a.test/1</link><pubDate>Thu, 01 Jan 1970 00:01:00 GMT</pubDate>
          <description>&lt;a href='/x'&gt;</description></item>
        <item><link><![CDATA[http://a.test/2]]></link></item><item><title>no link</title></item></channel></rss>";
    assert_eq!(urls(rss), ["http://a.test/1", "http://a.test/2"]);
    assert_eq!(read(rss.as_bytes()).0[0].lastmod, Some(Timestamp(60_000)));
    let rdf = "<rdf:RDF><channel><link>http://a.test/</link></channel><item><link>/3</link></item></rdf:RDF>";
    assert_eq!(urls(rdf), ["http://a.test/3"]);
    let atom = "<feed xmlns=\"http://www.w3.org/2005/Atom\"><link href=\"http://a.test/\"/>
        <entry><link rel=\"self\" href=\"/feed/4\"/><link href=\"/4?a=1&amp;b=2\"/>
          <updated>1970-01-01T00:00:05Z</updated></entry>
        <entry><link rel='alternate' href='http://a.test/5'></link></entry></feed>";
    assert_eq!(urls(atom), ["http://a.test/4?a=1&b=2", "http://a.test/5"]);
    assert_eq!(read(atom.as_bytes()).0[0].lastmod, Some(Timestamp(5_000)));
}

#[test]
fn many_sitemaps_are_sampled_evenly() {
    let named = |count: usize| -> Vec<CanonicalUrl> {
        (0..count).map(|number| CanonicalUrl::parse(&format!("http://a.test/{number}")).unwrap()).collect()
    };
    assert_eq!(chosen_sitemaps(named(5)), named(5));
    let paths: Vec<_> = chosen_sitemaps(named(100)).iter().map(|url| url.path().to_owned()).collect();
    assert_eq!(paths, ["/19", "/39", "/59", "/79", "/99"]);
}

#[test]
fn dates() {
    let day = 86_400;
    let table = [
        ("1970", Some(0)),
        ("1970-02", Some(31 * day)),
        ("1970-01-02", Some(day)),
        ("1970-01-02T00:01Z", Some(day + 60)),
        ("1970-01-02T00:00:01+01:00", Some(day - 3_599)),
        ("1970-01-01T00:00:00.5Z", Some(0)),
        ("1970-01-01T00:00:05", Some(5)),
        ("Fri, 02 Jan 1970 00:00:00 +0100", Some(day - 3_600)),
        ("1970-13", None),
        ("1970-01-01-01", None),
        ("today", None),
        ("", None),
    ];
    for (text, seconds) in table {
        assert_eq!(time(text).map(|at| at.0 / 1_000), seconds, "{text:?}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_parsed(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        read(&bytes);
    }

    #[test]
    fn any_sequence_of_tokens_is_parsed(pieces in proptest::collection::vec(prop::sample::select(vec![
        "<urlset>", "</urlset>", "<url>", "</url>", "<loc>", "</loc>", "<lastmod>", "/a", "&amp;", "&x;", "&#0;",
        "&", "<![CDATA[", "<rss>", "<channel>", "<item>", "<link>",
        "<feed>", "<entry>", "<link href='/b'/>", "]]>", "<!--", "-->", "<!DOCTYPE a [", "]>", "<?", "?>", "<", ">", "<a/>", "http://b.test/",
    ]), 0..30)) {
        read(pieces.concat().as_bytes());
        read(wrapped(&pieces.concat()).as_bytes());
    }
}
