//! From the answer to a request to what the store keeps of it.

use std::collections::HashSet;
use std::time::Duration;

use porthole_page::{Extractor, Format, Page};
use porthole_types::{
    CanonicalUrl, Failure, FailureKind, LinkRow, NewUrl, Outcome, PageResult, Timestamp, UrlId, Work,
};

use crate::{FetchError, Response};

/// After this many tries a failure that may pass is taken for good.
const TRIES: u32 = 3;

/// How long a URL waits after its first failure; twice as long after each further one.
const FIRST_WAIT: Duration = Duration::from_secs(60);

/// What becomes of a URL by the answer that came for it.
pub(crate) fn result_of(
    extractor: &mut Extractor,
    work: &Work,
    answer: Result<Response, FetchError>,
    seq: u64,
    at: Timestamp,
) -> PageResult {
    let mut result = empty_result(work, seq, at);
    match answer {
        Err(error) => {
            let passing =
                matches!(error.kind, FailureKind::Dns | FailureKind::Connect | FailureKind::Timeout);
            result.outcome = failed(work, at, passing, Failure { kind: error.kind, detail: error.detail });
        }
        Ok(response) => {
            result.status = response.status;
            result.bytes = response.body.len() as u64;
            match response.status {
                200..300 => read_page(extractor, &work.url, &response, &mut result),
                300..400 => redirect(&work.url, &response, &mut result),
                status => {
                    let failure = Failure { kind: FailureKind::Status, detail: format!("status {status}") };
                    result.outcome = failed(work, at, status == 429 || status >= 500, failure);
                }
            }
        }
    }
    result
}

fn empty_result(work: &Work, seq: u64, at: Timestamp) -> PageResult {
    PageResult {
        seq,
        oid: work.oid,
        sid: work.sid,
        at,
        status: 0,
        outcome: Outcome::Fetched,
        judgment: None,
        title: String::new(),
        language: String::new(),
        bytes: 0,
        simhash: 0,
        span: None,
        links: Vec::new(),
    }
}

/// Failures that may pass are tried again, later and later.
fn failed(work: &Work, at: Timestamp, passing: bool, failure: Failure) -> Outcome {
    if !passing || work.numtries + 1 >= TRIES {
        return Outcome::Dead(failure);
    }
    Outcome::Retry { failure, not_before: at.after(FIRST_WAIT * 2u32.pow(work.numtries)) }
}

fn read_page(extractor: &mut Extractor, url: &CanonicalUrl, response: &Response, result: &mut PageResult) {
    let page = extractor.extract(url, &response.headers, &response.body);
    if page.format == Format::Other {
        let kind = response.headers.get("content-type").unwrap_or("no content type").to_owned();
        result.outcome = Outcome::Skipped(Failure { kind: FailureKind::Type, detail: kind });
        return;
    }
    result.links = link_rows(&page);
    page.title.clone_into(&mut result.title);
    page.language.clone_into(&mut result.language);
    result.simhash = page.simhash;
}

fn redirect(url: &CanonicalUrl, response: &Response, result: &mut PageResult) {
    match response.headers.get("location").map(|location| url.join(location)) {
        Some(Ok(target)) => {
            result.outcome = Outcome::Redirected;
            result.links = vec![link_row(target)];
        }
        Some(Err(error)) => result.outcome = dead(format!("redirect to what is no URL: {error}")),
        None => result.outcome = dead("redirect without a location".to_owned()),
    }
}

fn dead(detail: String) -> Outcome {
    Outcome::Dead(Failure { kind: FailureKind::Protocol, detail })
}

/// The page's links, each target once; none if it asks not to follow them.
fn link_rows(page: &Page) -> Vec<LinkRow> {
    if page.robots.nofollow {
        return Vec::new();
    }
    let mut seen: HashSet<UrlId, foldhash::fast::FixedState> = HashSet::default();
    let targets = page.links.iter().map(|link| &link.target);
    targets.filter(|target| seen.insert(target.id())).map(|target| link_row(target.clone())).collect()
}

fn link_row(url: CanonicalUrl) -> LinkRow {
    let (oid, sid) = (url.id(), url.site());
    let target = NewUrl { url, relevance: 0.0, priority: 0.0 };
    LinkRow { oid, sid, target, wgt_fwd: 0.0, wgt_rev: 0.0 }
}

#[cfg(test)]
mod tests {
    use porthole_types::Headers;

    use super::*;

    fn work(numtries: u32) -> Work {
        let url = CanonicalUrl::parse("http://a.test/x").unwrap();
        Work { oid: url.id(), sid: url.site(), url, numtries, relevance: 0.0, priority: 0.0 }
    }

    fn outcome(numtries: u32, status: u16) -> Outcome {
        let response = Response {
            status,
            headers: Headers::new(),
            body: Vec::new(),
            truncated: false,
            took: Duration::ZERO,
        };
        result_of(&mut Extractor::default(), &work(numtries), Ok(response), 0, Timestamp(0)).outcome
    }

    #[test]
    fn what_may_pass_is_tried_again_later_and_later() {
        let wait = |outcome| match outcome {
            Outcome::Retry { not_before, .. } => Some(not_before.0 / 1000),
            _ => None,
        };
        assert_eq!(wait(outcome(0, 503)), Some(60));
        assert_eq!(wait(outcome(1, 503)), Some(120));
        assert_eq!(wait(outcome(2, 503)), None);
        assert_eq!(wait(outcome(0, 429)), Some(60));
        assert_eq!(wait(outcome(0, 404)), None);
        assert!(matches!(outcome(0, 302), Outcome::Dead(Failure { kind: FailureKind::Protocol, .. })));
    }
}
