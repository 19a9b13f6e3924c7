//! The extractor on real pages: its speed compared with `scraper` in the same run, and its agreement with an html5ever
//! tree.
//!
//! `cargo bench -p porthole-page [-- speed|agreement|alone|main-text]`; the corpora are expected in `$CORPORA`, else in
//! `../shared/corpora`.

#[path = "../tests/it/oracle.rs"]
mod oracle;

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use oracle::Facts;
use porthole_page::Extractor;
use porthole_types::{CanonicalUrl, Headers, TermId};
use porthole_warc::{BLOCK_LIMIT, WarcReader};

struct RecordedBench {
    url: CanonicalUrl,
    headers: Headers,
    body: Vec<u8>,
}

fn main() {
    let wanted = std::env::args().skip(1).find(|word| !word.starts_with('-')).unwrap_or_default();
    let folder = std::env::var_os("CORPORA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpora"), PathBuf::from);
    if wanted == "main-text" {
        return main_text(&folder);
    }
    for name in ["schools", "webkb"] {
        let path = folder.join(format!("{name}.warc.gz"));
        let Ok(file) = File::open(&path) else {
            println!("{name}: skipped, there is no {}", path.display());
            continue;
        };
        let pages = read(file);
        println!("{name}: {} pages, {:.1} MB", pages.len(), bytes(&pages) / 1e6);
        if wanted == "alone" {
            // For a profiler: only the extractor.
            let mut extractor = Extractor::default();
            let took =
                (0..5).map(|_| timed(|| extract_all(&mut extractor, &pages))).min().expect("five rounds");
            println!("  {:.1} MB/s", bytes(&pages) / 1e6 / took.as_secs_f64());
            continue;
        }
        if wanted != "agreement" {
            speed(&pages);
        }
        if wanted != "speed" {
            agreement(&pages, name);
        }
    }
    nested_lists();
}

fn read(file: File) -> Vec<RecordedBench> {
    let mut pages = Vec::new();
    let most = std::env::var("PAGES").ok().and_then(|n| n.parse().ok()).unwrap_or(usize::MAX);
    for record in WarcReader::new(file) {
        if pages.len() >= most {
            break;
        }
        let record = record.expect("the corpus can be read");
        let Some(url) = record.target().and_then(|url| CanonicalUrl::parse(url).ok()) else { continue };
        if record.is_http_response()
            && let Ok(answer) = record.http(BLOCK_LIMIT)
        {
            pages.push(RecordedBench { url, headers: answer.headers, body: answer.body });
        }
    }
    pages
}

fn bytes(pages: &[RecordedBench]) -> f64 {
    pages.iter().map(|page| page.body.len()).sum::<usize>() as f64
}

/// Five interleaved rounds of each; the best of each counts, because it is the least disturbed.
fn speed(pages: &[RecordedBench]) {
    let megabytes = bytes(pages) / 1e6;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let mut extractor = Extractor::default();
    for _ in 0..5 {
        ours.push(timed(|| extract_all(&mut extractor, pages)));
        theirs.push(timed(|| pages.iter().map(|p| with_scraper(&p.body)).sum()));
    }
    let rate = |times: &[Duration]| megabytes / times.iter().min().expect("five rounds").as_secs_f64();
    let each: Vec<String> =
        ours.iter().zip(&theirs).map(|(o, t)| format!("{:.1}", t.as_secs_f64() / o.as_secs_f64())).collect();
    println!("  Page extraction, complete     {:7.1} MB/s", rate(&ours));
    println!("  scraper: title, text, links   {:7.1} MB/s", rate(&theirs));
    println!("  ratio {:.2} (by round: {})", rate(&ours) / rate(&theirs), each.join(" "));
}

fn extract_all(extractor: &mut Extractor, pages: &[RecordedBench]) -> usize {
    pages.iter().map(|p| extractor.extract(&p.url, &p.headers, &p.body).links.len()).sum()
}

fn timed(work: impl FnOnce() -> usize) -> Duration {
    let start = Instant::now();
    std::hint::black_box(work());
    start.elapsed()
}

fn with_scraper(body: &[u8]) -> usize {
    thread_local! {
        static SELECTORS: (scraper::Selector, scraper::Selector) =
            (scraper::Selector::parse("a[href]").unwrap(), scraper::Selector::parse("title").unwrap());
    }
    SELECTORS.with(|(anchors, titles)| {
        let document = scraper::Html::parse_document(&String::from_utf8_lossy(body));
        let title: String = document.select(titles).next().map(|t| t.text().collect()).unwrap_or_default();
        let text: String = document.root_element().text().collect();
        let links: Vec<(String, String)> = document
            .select(anchors)
            .map(|a| (a.value().attr("href").unwrap_or_default().to_owned(), a.text().collect()))
            .collect();
        title.len() + text.len() + links.len()
    })
}

fn agreement(pages: &[RecordedBench], name: &str) {
    let mut extractor = Extractor::default();
    let mut same: BTreeMap<&str, usize> = BTreeMap::new();
    let mut causes: BTreeMap<String, usize> = BTreeMap::new();
    let mut html_pages = 0;
    for recorded in pages {
        let page = extractor.extract(&recorded.url, &recorded.headers, &recorded.body);
        if page.format != porthole_page::PageFormat::Html {
            continue;
        }
        html_pages += 1;
        let encoding = encoding_rs::Encoding::for_label(page.charset.as_bytes()).expect("a known charset");
        let (html, ..) = encoding.decode(&recorded.body);
        let (ours, tree) = (Facts::of_page(&page), Facts::of_tree(&recorded.url, &html));
        let checks = [
            ("title", ours.title == tree.title),
            ("links", ours.targets() == tree.targets()),
            ("anchor texts", ours.anchors() == tree.anchors()),
            ("visible text", ours.text() == tree.text()),
            ("leaf numbers", ours.leaves == tree.leaves && ours.places() == tree.places()),
        ];
        for (what, equal) in checks {
            *same.entry(what).or_default() += usize::from(equal);
        }
        if let Some((what, _)) = checks.iter().find(|(_, equal)| !equal) {
            let cause = format!("{what}: {}", cause(&page, &html));
            if std::env::var_os("SHOW").is_some() {
                println!("    {cause}\t{}", recorded.url);
            }
            *causes.entry(cause).or_default() += 1;
        }
    }
    for (what, count) in &same {
        println!(
            "  {name} {what:<13} equal on {:6.2}% of {html_pages} pages",
            100.0 * *count as f64 / f64::from(html_pages)
        );
    }
    for (cause, count) in &causes {
        println!("  {count:5} differ in {cause}");
    }
}

/// The most likely reason for a difference, from the page's contents.
fn cause(page: &porthole_page::Page, html: &str) -> &'static str {
    let lower = html.to_ascii_lowercase();
    match () {
        () if page.cuts != Default::default() => "a limit was reached",
        () if html.contains('\0') => "NUL characters",
        () if lower.contains("<template") => "templates",
        () if lower.contains("<svg") || lower.contains("<math") => "foreign content",
        () if lower.contains("<table") => "repairs around tables",
        () => "other repairs",
    }
}

/// Precision and recall of the terms that the critic reads, compared with the true main text.
fn main_text(folder: &Path) {
    let (pages, truth) = (folder.join("modern.warc.gz"), folder.join("modern.truth.jsonl.gz"));
    let (Ok(pages), Ok(truth)) = (File::open(&pages), File::open(&truth)) else {
        return println!("modern: skipped, there is no {} or {}", pages.display(), truth.display());
    };
    let mut texts: HashMap<String, String> = HashMap::new();
    for line in BufReader::new(flate2::read::GzDecoder::new(truth)).lines() {
        let line: serde_json::Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
        let field = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
        texts.insert(field("url"), format!("{}\n{}", field("title"), field("main_content")));
    }
    let mut extractor = Extractor::default();
    let mut splitter = porthole_page::TermSplitter::default();
    let (mut all, mut judged, mut number) = ([0.0; 3], [0.0; 3], 0.0);
    for recorded in read(pages) {
        let Some(text) = texts.get(recorded.url.as_str()) else { continue };
        let page = extractor.extract(&recorded.url, &recorded.headers, &recorded.body);
        let mut truth = Vec::new();
        splitter.append(text, page.language, &mut truth);
        if truth.len() < 20 || page.needs_scripts {
            continue;
        }
        number += 1.0;
        for (sums, terms) in [(&mut all, page.terms()), (&mut judged, page.judged_terms())] {
            let common = in_common(&truth, terms) as f64;
            let shares = [common / terms.len().max(1) as f64, common / truth.len() as f64];
            sums[0] += shares[0];
            sums[1] += shares[1];
            sums[2] += f64::from(u8::from(shares[0] < 0.5));
        }
    }
    println!("modern: {number} pages with a true main text");
    for (what, [precision, recall, poor]) in [("all terms", all), ("judged terms", judged)] {
        println!(
            "  {what:<13} {:5.1}% of them are of the main text, {:5.1}% of the main text are among them; \
             fewer than half on {:.1}% of pages",
            100.0 * precision / number,
            100.0 * recall / number,
            100.0 * poor / number
        );
    }
}

/// Number of terms that two lists have in common, with repetitions.
fn in_common(one: &[TermId], other: &[TermId]) -> usize {
    let mut counts: HashMap<TermId, usize> = HashMap::new();
    one.iter().for_each(|&term| *counts.entry(term).or_default() += 1);
    let is_left = |term: &&TermId| {
        counts.get_mut(*term).is_some_and(|count| {
            let left = *count > 0;
            *count -= usize::from(left);
            left
        })
    };
    other.iter().filter(is_left).count()
}

/// 250 KB of nested lists, which take tree builders seconds.
fn nested_lists() {
    let html = "<ul><li>".repeat(250_000 / 8);
    let url = CanonicalUrl::parse("http://example.com/").unwrap();
    let headers: Headers = [("content-type", "text/html")].into_iter().collect();
    let took = timed(|| Extractor::default().extract(&url, &headers, html.as_bytes()).leaf_count());
    println!("250 KB of nested lists: {:.1} ms", took.as_secs_f64() * 1e3);
}
