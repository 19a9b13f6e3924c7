//! From the answer to a request to what the store keeps of it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Duration;

use porthole_page::{Extractor, Format, Link, Page};
use porthole_strategy::{Source, Strategy};
use porthole_topic::{Judge, JudgeError};
use porthole_types::{
    CanonicalUrl, Failure, FailureKind, LinkRow, Mark, NewUrl, Outcome, PageResult, Timestamp, UrlId, Work,
};

use crate::{FetchError, Response};

/// After this many tries a failure that may pass is taken for good.
const TRIES: u32 = 3;

/// How long a URL waits after its first failure; twice as long after each further one.
const FIRST_WAIT: Duration = Duration::from_secs(60);

/// What makes a crawl a focused one.
pub struct Focus<'a> {
    /// Says how relevant a page is.
    pub judge: &'a mut dyn Judge,
    /// Says what its links are worth.
    pub strategy: &'a mut dyn Strategy,
    /// What every topic means to the crawl, by id.
    pub marks: Vec<Mark>,
}

/// Reads answers: from the bytes of a page to what the store keeps of it.
pub(crate) struct Reader<'a> {
    extractor: Extractor,
    /// Without one nothing is judged, and links are followed as they were found.
    focus: Option<Focus<'a>>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(focus: Option<Focus<'a>>) -> Self {
        Reader { extractor: Extractor::default(), focus }
    }

    /// What becomes of a URL by the answer that came for it.
    pub(crate) fn result(
        &mut self,
        work: &Work,
        answer: Result<&Response, FetchError>,
        seq: u64,
        at: Timestamp,
    ) -> Result<PageResult, JudgeError> {
        let mut result = empty_result(work, seq, at);
        match answer {
            Err(error) => {
                let passing =
                    matches!(error.kind, FailureKind::Dns | FailureKind::Connect | FailureKind::Timeout);
                result.outcome =
                    failed(work, at, passing, Failure { kind: error.kind, detail: error.detail });
            }
            Ok(response) => {
                result.status = response.status;
                result.bytes = response.body.len() as u64;
                match response.status {
                    200..300 => self.read_page(&work.url, response, &mut result)?,
                    300..400 => redirect(work, response, &mut result),
                    status => {
                        let failure =
                            Failure { kind: FailureKind::Status, detail: format!("status {status}") };
                        result.outcome = failed(work, at, status == 429 || status >= 500, failure);
                    }
                }
            }
        }
        Ok(result)
    }

    fn read_page(
        &mut self,
        url: &CanonicalUrl,
        response: &Response,
        result: &mut PageResult,
    ) -> Result<(), JudgeError> {
        let page = self.extractor.extract(url, &response.headers, &response.body);
        if page.format == Format::Other {
            let kind = response.headers.get("content-type").unwrap_or("no content type").to_owned();
            result.outcome = Outcome::Skipped(Failure { kind: FailureKind::Type, detail: kind });
            return Ok(());
        }
        page.title.clone_into(&mut result.title);
        page.language.clone_into(&mut result.language);
        result.simhash = page.simhash;
        result.links = match &mut self.focus {
            None => link_rows(&page, |_| Some((0.0, 0.0))),
            Some(focus) => {
                let judgment = focus.judge.judge_page(url, &page)?;
                result.judgment = Some(judgment);
                let mark = focus.marks.get(usize::from(judgment.best.0)).copied().unwrap_or_default();
                let on_topic = matches!(mark, Mark::Good | Mark::Subsumed);
                let source = Source { url, page: &page, judgment, on_topic };
                let strategy = &mut focus.strategy;
                // Estimated as relevant as the page that links to it (S8).
                link_rows(&page, |link| Some((judgment.relevance, strategy.priority(&source, link)?)))
            }
        };
        Ok(())
    }
}

pub(crate) fn empty_result(work: &Work, seq: u64, at: Timestamp) -> PageResult {
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

/// The target of a redirect is worth what the URL was.
fn redirect(work: &Work, response: &Response, result: &mut PageResult) {
    match response.headers.get("location").map(|location| work.url.join(location)) {
        Some(Ok(target)) => {
            result.outcome = Outcome::Redirected;
            result.links = vec![link_row(target, work.relevance, work.priority)];
        }
        Some(Err(error)) => result.outcome = dead(format!("redirect to what is no URL: {error}")),
        None => result.outcome = dead("redirect without a location".to_owned()),
    }
}

fn dead(detail: String) -> Outcome {
    Outcome::Dead(Failure { kind: FailureKind::Protocol, detail })
}

/// The page's links, each target once with the best that is believed of it; none if the page asks not to follow them,
/// and none that is not worth following: a link that the crawl will not take is not part of its graph.
fn link_rows(page: &Page, mut belief: impl FnMut(&Link) -> Option<(f64, f64)>) -> Vec<LinkRow> {
    if page.robots.nofollow {
        return Vec::new();
    }
    let mut rows: Vec<LinkRow> = Vec::new();
    let mut places: HashMap<UrlId, usize, foldhash::fast::FixedState> = HashMap::default();
    for link in &page.links {
        let Some((relevance, priority)) = belief(link) else { continue };
        match places.entry(link.target.id()) {
            Entry::Vacant(place) => {
                place.insert(rows.len());
                rows.push(link_row(link.target.clone(), relevance, priority));
            }
            Entry::Occupied(place) => {
                let known = &mut rows[*place.get()].target;
                known.priority = known.priority.max(priority);
            }
        }
    }
    rows
}

fn link_row(url: CanonicalUrl, relevance: f64, priority: f64) -> LinkRow {
    let (oid, sid) = (url.id(), url.site());
    let target = NewUrl { url, relevance, priority };
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
        Reader::new(None).result(&work(numtries), Ok(&response), 0, Timestamp(0)).unwrap().outcome
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
