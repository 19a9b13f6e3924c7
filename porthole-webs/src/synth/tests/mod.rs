//! Tests of the synthetic web as a whole: served pages agree with the ground truth.

mod graph;
mod pages;
mod read;
mod served;
mod times;

use std::sync::Arc;

use porthole_crawl::{FetchError, Request, Response};
use porthole_types::{CanonicalUrl, ManualClock, Timestamp};

use super::{SynthParams, SyntheticWeb};

/// A small web with healthy hosts only.
fn sound() -> SynthParams {
    SynthParams {
        pages: 3_000,
        slow_hosts: 0.0,
        flaky_hosts: 0.0,
        stalling_hosts: 0.0,
        refusing_hosts: 0.0,
        ..SynthParams::default()
    }
}

/// The same with many bad hosts and traps.
fn unsound() -> SynthParams {
    SynthParams {
        slow_hosts: 0.1,
        flaky_hosts: 0.1,
        stalling_hosts: 0.1,
        refusing_hosts: 0.1,
        traps: 0.2,
        ..sound()
    }
}

fn web(params: SynthParams) -> SyntheticWeb {
    let clock = ManualClock::at(Timestamp(params.epoch_ms));
    SyntheticWeb::new(params, Arc::new(clock)).unwrap()
}

fn get(web: &SyntheticWeb, url: &str) -> Result<Response, FetchError> {
    web.answer(&Request::get(CanonicalUrl::parse(url).unwrap()))
}

fn body(web: &SyntheticWeb, url: &CanonicalUrl) -> Vec<u8> {
    let response = web.answer(&Request::get(url.clone())).unwrap();
    assert_eq!(response.status, 200, "{url}");
    response.body.to_vec()
}

/// References of a page in order, without mail addresses.
fn references(html: &[u8]) -> Vec<String> {
    let mut html = String::from_utf8_lossy(html).into_owned();
    while let (Some(start), Some(end)) = (html.find("<script>"), html.find("</script>")) {
        html.replace_range(start..end + 9, "");
    }
    let value = |rest: &str| match rest.as_bytes()[0] {
        quote @ (b'"' | b'\'') => rest[1..].split(char::from(quote)).next().unwrap().to_owned(),
        _ => rest.split(['>', ' ']).next().unwrap().to_owned(),
    };
    let found = html.split("href=").skip(1).map(value).map(|text| text.replace("&amp;", "&"));
    found.filter(|text| !text.starts_with("mailto:")).collect()
}
