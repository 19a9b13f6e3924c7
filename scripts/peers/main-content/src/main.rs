//! Measures how well the main content of pages is found, and how fast, compared with other libraries in the same run.
//!
//! `cargo run --release --target-dir target/peers --manifest-path scripts/peers/main-content/Cargo.toml [-- CORPORA]`: word F1 as a mean over pages,
//! separately for the pages that the model was fitted to and the others.
//!
//! `-- CORPORA features FILE`: writes labelled features of all blocks, for `scripts/fit-main-content.py`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use porthole_page::Extractor;
use porthole_types::{CanonicalUrl, Headers};
use porthole_warc::{BLOCK_LIMIT, WarcReader};

/// A recorded page with its true main text.
struct TruePage {
    url: CanonicalUrl,
    headers: Headers,
    body: Vec<u8>,
    kind: String,
    truth: Vec<String>,
    /// Whether the model was fitted to it.
    is_fitted: bool,
}

/// A way to find the main text of a page.
struct Candidate {
    name: &'static str,
    find: Box<dyn FnMut(&TruePage) -> String>,
}

fn main() {
    let mut words = std::env::args().skip(1);
    let folder = words.next().map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/corpora"),
        PathBuf::from,
    );
    let pages = read(&folder);
    println!("{} pages, {:.1} MB", pages.len(), megabytes(&pages));
    if words.next().as_deref() == Some("features") {
        return write_features(&pages, &words.next().expect("a file for the features"));
    }
    table(&pages);
}

fn read(folder: &Path) -> Vec<TruePage> {
    let open = |name: &str| {
        let path = folder.join(name);
        File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let mut truths = HashMap::new();
    for line in BufReader::new(flate2::read::GzDecoder::new(open("modern.truth.jsonl.gz"))).lines() {
        let line: serde_json::Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
        let field = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
        truths.insert(field("url"), (field("type"), split(&field("main_content"))));
    }
    let mut pages = Vec::new();
    for record in WarcReader::new(open("modern.warc.gz")) {
        let record = record.expect("the corpus can be read");
        let Some(target) = record.target().filter(|_| record.is_http_response()) else { continue };
        let Some((kind, truth)) = truths.remove(target) else { continue };
        let url = CanonicalUrl::parse(target).expect("a URL");
        let is_fitted = is_fitted(target);
        let answer = record.http(BLOCK_LIMIT).expect("an answer");
        pages.push(TruePage { url, headers: answer.headers, body: answer.body, kind, truth, is_fitted });
    }
    pages
}

/// Half of the pages by a hash of the URL (FNV-1a).
fn is_fitted(url: &str) -> bool {
    let hash = url.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash >> 32) % 2 == 0
}

fn megabytes(pages: &[TruePage]) -> f64 {
    pages.iter().map(|page| page.body.len()).sum::<usize>() as f64 / 1e6
}

fn split(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

fn table(pages: &[TruePage]) {
    println!("{:<24} {:>9} {:>9} {:>9} {:>9} {:>8}", "", "F1 fitted", "F1 other", "precision", "recall", "MB/s");
    for mut candidate in candidates() {
        let mut took = Duration::ZERO;
        let mut scores: Vec<(&TruePage, [f64; 3])> = Vec::new();
        for page in pages {
            let start = Instant::now();
            let text = (candidate.find)(page);
            took += start.elapsed();
            scores.push((page, score(&page.truth, &split(&text))));
        }
        let others: Vec<[f64; 3]> = scores.iter().filter(|(page, _)| !page.is_fitted).map(|each| each.1).collect();
        let fitted: Vec<[f64; 3]> = scores.iter().filter(|(page, _)| page.is_fitted).map(|each| each.1).collect();
        println!(
            "{:<24} {:>9.3} {:>9.3} {:>9.3} {:>9.3} {:>8.1}",
            candidate.name,
            mean(&fitted, 0),
            mean(&others, 0),
            mean(&others, 1),
            mean(&others, 2),
            megabytes(pages) / took.as_secs_f64()
        );
        let mut kinds: BTreeMap<&str, Vec<[f64; 3]>> = BTreeMap::new();
        for (page, score) in scores.iter().filter(|(page, _)| !page.is_fitted) {
            kinds.entry(&page.kind).or_default().push(*score);
        }
        let kinds: Vec<String> =
            kinds.iter().map(|(kind, scores)| format!("{kind} {:.3} ({})", mean(scores, 0), scores.len())).collect();
        println!("  {}", kinds.join(", "));
        if std::env::var_os("SHOW").is_some() {
            scores.sort_by(|a, b| a.1[0].total_cmp(&b.1[0]));
            for (page, [f1, precision, recall]) in scores.iter().take(60) {
                println!("    {f1:.3} {precision:.2} {recall:.2} {} {} {}", page.kind, page.truth.len(), page.url);
            }
        }
    }
}

fn mean(scores: &[[f64; 3]], which: usize) -> f64 {
    scores.iter().map(|score| score[which]).sum::<f64>() / scores.len().max(1) as f64
}

/// F1, precision and recall of two bags of words.
fn score(truth: &[String], found: &[String]) -> [f64; 3] {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    truth.iter().for_each(|word| *counts.entry(word).or_default() += 1);
    let mut common = 0;
    for word in found {
        if let Some(left) = counts.get_mut(word.as_str()).filter(|left| **left > 0) {
            *left -= 1;
            common += 1;
        }
    }
    if truth.is_empty() && found.is_empty() {
        return [1.0; 3];
    }
    let precision = f64::from(common) / found.len().max(1) as f64;
    let recall = f64::from(common) / truth.len().max(1) as f64;
    let f1 = if common == 0 { 0.0 } else { 2.0 * precision * recall / (precision + recall) };
    [f1, precision, recall]
}

fn candidates() -> Vec<Candidate> {
    let (mut whole, mut main) = (Extractor::default(), Extractor::default());
    let mut all = vec![
        Candidate {
            name: "whole page",
            find: Box::new(move |page| whole.extract(&page.url, &page.headers, &page.body).text),
        },
        Candidate {
            name: "porthole",
            find: Box::new(move |page| main.main_content(&page.url, &page.headers, &page.body).text),
        },
    ];
    all.extend(peers());
    all
}

#[cfg(not(feature = "peers"))]
fn peers() -> Vec<Candidate> {
    Vec::new()
}

#[cfg(feature = "peers")]
fn peers() -> Vec<Candidate> {
    vec![
        Candidate {
            name: "dom_smoothie 0.19",
            find: Box::new(|page| {
                let html = String::from_utf8_lossy(&page.body);
                let mut reader = match dom_smoothie::Readability::new(html.as_ref(), Some(page.url.as_str()), None) {
                    Ok(reader) => reader,
                    Err(_) => return String::new(),
                };
                reader.parse().map(|article| article.text_content.to_string()).unwrap_or_default()
            }),
        },
        Candidate {
            name: "legible 0.5",
            find: Box::new(|page| {
                let html = String::from_utf8_lossy(&page.body);
                legible::parse(&html, Some(page.url.as_str()), None).map(|a| a.text_content).unwrap_or_default()
            }),
        },
        Candidate {
            name: "rs-trafilatura 0.2",
            find: Box::new(|page| {
                let html = String::from_utf8_lossy(&page.body);
                rs_trafilatura::extract(&html).map(|result| result.content_text).unwrap_or_default()
            }),
        },
    ]
}

/// A row for each block: number of the page, whether the model is fitted to it, number of words, share of them in the
/// main text, number of words of the main text, features; all as 32-bit floats.
fn write_features(pages: &[TruePage], path: &str) {
    let mut extractor = Extractor::default();
    let mut out = BufWriter::new(File::create(path).expect("the file can be written"));
    let mut width = 0;
    for (number, page) in pages.iter().enumerate() {
        let truth = &page.truth;
        let grams: HashSet<&[String]> = (1..=4).flat_map(|length| truth.windows(length)).collect();
        for (text, features) in extractor.blocks_to_fit(&page.headers, &page.body) {
            let words = split(&text);
            let windows = words.windows(words.len().clamp(1, 4));
            let total = windows.len();
            let found = windows.filter(|window| grams.contains(window)).count();
            let share = found as f32 / total.max(1) as f32;
            width = features.len() + 5;
            let head = [number as f32, f32::from(u8::from(page.is_fitted)), words.len() as f32, share, truth.len() as f32];
            for value in head.iter().chain(&features) {
                out.write_all(&value.to_le_bytes()).expect("the file can be written");
            }
        }
    }
    out.flush().expect("the file can be written");
    println!("{width} columns");
}
