//! Prints the figures of a synthetic web, how fast its pages are made, and one page to look at:
//! `cargo run --release -p porthole-lab --example synth -- [PAGES] [PAGE_BYTES]`.

use std::sync::Arc;
use std::time::Instant;

use porthole_crawl::Request;
use porthole_lab::synth::{SynthParams, SyntheticWeb};
use porthole_types::{ManualClock, TopicId};

fn main() {
    let mut arguments = std::env::args().skip(1).map_while(|text| text.parse().ok());
    let defaults = SynthParams::default();
    let pages = arguments.next().unwrap_or(defaults.pages);
    let page_bytes = arguments.next().unwrap_or(defaults.page_bytes);
    let params = SynthParams { pages, page_bytes, ..defaults };
    let begun = Instant::now();
    let web = SyntheticWeb::new(params, Arc::new(ManualClock::default())).expect("valid parameters");
    println!("laid out in {:?}", begun.elapsed());
    let begun = Instant::now();
    for (label, value) in web.stats().rows() {
        println!("{label:70} {value}");
    }
    println!("figures in {:?}", begun.elapsed());
    pace(&web);
}

fn pace(web: &SyntheticWeb) {
    let requests: Vec<Request> =
        web.examples(TopicId::ROOT, 2_000, 7).into_iter().map(Request::get).collect();
    let begun = Instant::now();
    let mut bytes = 0;
    for request in &requests {
        bytes += web.answer(request).map_or(0, |response| response.body.len());
    }
    let each = begun.elapsed() / u32::try_from(requests.len()).expect("a few thousand");
    println!(
        "{} content pages of {} bytes on average, {each:?} each",
        requests.len(),
        bytes / requests.len()
    );
    if let Ok(response) = web.answer(&requests[0]) {
        println!("\n{}\n{}", requests[0].url, String::from_utf8_lossy(&response.body));
    }
}
