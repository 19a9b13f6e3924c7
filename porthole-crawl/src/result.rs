//! Builds page results and the rows of their links.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Duration;

use porthole_page::Page;
use porthole_strategy::{SourcePage, Strategy};
use porthole_topic::RelevanceJudge;
use porthole_types::{
    CanonicalUrl, Failure, FailureKind, Judgment, LinkRow, Mark, NewUrl, Outcome, PageResult, SiteId,
    Timestamp, TopicId, UrlId, Work,
};

use crate::Response;

/// Number of tries after which a temporary failure becomes permanent.
const TRIES: u32 = 3;

/// The wait before the first retry. It doubles after each further failure.
const FIRST_WAIT: Duration = Duration::from_secs(60);

/// What a focused crawl looks for.
pub struct Focus {
    /// Judges the relevance of pages.
    pub judge: Box<dyn RelevanceJudge>,
    /// Gives links their priorities.
    pub strategy: Box<dyn Strategy>,
    /// The mark of every topic, by id.
    pub marks: Vec<Mark>,
}

/// Scores links. There is only one, because a strategy may learn from page to page.
pub(crate) struct Scorer {
    pub(crate) strategy: Box<dyn Strategy>,
    pub(crate) marks: Vec<Mark>,
}

impl Scorer {
    /// Shows a page to the strategy and returns the rows of its links. `judgment` is its value for the links,
    /// `relevance` the page's own.
    pub(crate) fn links(
        &mut self,
        url: &CanonicalUrl,
        depth: u32,
        page: Page,
        judgment: Judgment,
        relevance: f64,
    ) -> Vec<LinkRow> {
        let source = SourcePage { url, page: &page, judgment, on_topic: self.is_on_topic(judgment), depth };
        let strategy = &mut self.strategy;
        strategy.arrived(&source);
        let priorities: Vec<Option<f64>> = if page.robots.nofollow {
            vec![None; page.links.len()]
        } else {
            page.links.iter().map(|link| strategy.priority(&source, link)).collect()
        };
        // A target is estimated to be as relevant as the page that links to it.
        let believed = priorities.into_iter().map(|priority| (relevance, priority));
        link_rows(page, depth + 1, believed)
    }

    /// Whether a page's best leaf is good or below a good topic. Decided by the relevance if the judge names no
    /// topic.
    pub(crate) fn is_on_topic(&self, judgment: Judgment) -> bool {
        if judgment.best == TopicId::ROOT {
            return judgment.is_relevant();
        }
        let mark = self.marks.get(usize::from(judgment.best.0)).copied().unwrap_or_default();
        matches!(mark, Mark::Good | Mark::Subsumed)
    }
}

pub(crate) fn empty_result(work: &Work, at: Timestamp) -> PageResult {
    PageResult {
        seq: 0,
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
        terms: Vec::new(),
        copy_of: None,
        validators: None,
        next_visit: None,
        span: None,
        links: Vec::new(),
    }
}

/// The outcome of a failure. Temporary ones are retried at growing intervals.
pub(crate) fn failed(work: &Work, at: Timestamp, is_temporary: bool, failure: Failure) -> Outcome {
    if !is_temporary || work.numtries + 1 >= TRIES {
        return Outcome::Dead(failure);
    }
    Outcome::Retry { failure, not_before: at.after(FIRST_WAIT * 2u32.pow(work.numtries)) }
}

/// The target of a redirect inherits the estimate of its source.
pub(crate) fn redirect(work: &Work, response: &Response, result: &mut PageResult) {
    match response.headers.get("location").map(|location| work.url.join(location)) {
        Some(Ok(target)) => redirect_to(work, target, result),
        Some(Err(error)) => result.outcome = dead(format!("redirect to an invalid URL: {error}")),
        None => result.outcome = dead("redirect without a location".to_owned()),
    }
}

/// The same for a known target.
pub(crate) fn redirect_to(work: &Work, target: CanonicalUrl, result: &mut PageResult) {
    result.outcome = Outcome::Redirected;
    let ids = (target.id(), target.site());
    result.links = vec![link_row(target, ids, (work.relevance, work.priority), work.depth)];
}

fn dead(detail: String) -> Outcome {
    Outcome::Dead(Failure::new(FailureKind::Protocol, detail))
}

/// The rows of a page's links, each target once with its best estimate and priority. Links that are not followed are
/// included, because they are part of the link graph.
pub(crate) fn link_rows(
    mut page: Page,
    depth: u32,
    believed: impl Iterator<Item = (f64, Option<f64>)>,
) -> Vec<LinkRow> {
    let links = std::mem::take(&mut page.links);
    let mut rows: Vec<LinkRow> = Vec::with_capacity(links.len());
    let mut places: HashMap<UrlId, usize, foldhash::fast::FixedState> =
        HashMap::with_capacity_and_hasher(links.len(), foldhash::fast::FixedState::default());
    for (link, (relevance, priority)) in links.into_iter().zip(believed) {
        let priority = priority.filter(|_| !page.robots.nofollow);
        let oid = link.target.id();
        let anchor = anchor(page.anchor_text(&link));
        match places.entry(oid) {
            Entry::Vacant(place) => {
                place.insert(rows.len());
                // Consecutive links mostly lead to the same site.
                let neighbour =
                    rows.last().filter(|row| row.target.url.authority() == link.target.authority());
                let sid = neighbour.map_or_else(|| link.target.site(), |row| row.sid);
                let row = link_row(link.target, (oid, sid), (relevance, priority.unwrap_or(0.0)), depth);
                rows.push(LinkRow { anchor, rejected: priority.is_none(), ..row });
            }
            Entry::Occupied(place) => {
                let known = &mut rows[*place.get()];
                known.anchor = known.anchor.take().or(anchor);
                if let Some(priority) = priority {
                    let lowest = if known.rejected { priority } else { known.target.priority };
                    known.target.priority = priority.max(lowest);
                    known.rejected = false;
                }
            }
        }
    }
    rows
}

fn link_row(url: CanonicalUrl, ids: (UrlId, SiteId), believed: (f64, f64), depth: u32) -> LinkRow {
    let ((oid, sid), (relevance, priority)) = (ids, believed);
    let target = NewUrl { url, relevance, priority, depth };
    LinkRow { oid, sid, target, anchor: None, rejected: false }
}

/// Maximum size of a stored anchor text in bytes.
const ANCHOR: usize = 100;

/// The stored part of an anchor text.
fn anchor(text: &str) -> Option<Box<str>> {
    let kept = &text[..text.floor_char_boundary(ANCHOR)];
    (!kept.is_empty()).then(|| kept.into())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use porthole_types::Headers;

    use super::*;
    use crate::reading::{Reader, Unread};

    fn work(numtries: u32) -> Work {
        let url = CanonicalUrl::parse("http://a.test/x").unwrap();
        Work {
            oid: url.id(),
            sid: url.site(),
            url,
            numtries,
            relevance: 0.0,
            priority: 0.0,
            depth: 0,
            pages_of_site: 0,
            rank: Default::default(),
            copy: None,
        }
    }

    fn outcome(numtries: u32, status: u16) -> Outcome {
        let response = Response::new(status, Headers::new(), Vec::new());
        let unread = Unread { work: work(numtries), answer: Ok(response), at: Timestamp(0), address: None };
        Reader::new(None, None, Arc::default()).read(unread).unwrap().result.outcome
    }

    fn links_of(html: &str, priorities: &[Option<f64>]) -> Vec<(String, Option<String>, f64, bool)> {
        let (base, headers) = (CanonicalUrl::parse("http://a.test/").unwrap(), Headers::new());
        let page = porthole_page::Extractor::default().extract(&base, &headers, html.as_bytes());
        let believed = priorities.iter().map(|&priority| (0.25, priority));
        let row = |row: LinkRow| {
            let anchor = row.anchor.map(String::from);
            (row.target.url.path().to_owned(), anchor, row.target.priority, row.rejected)
        };
        link_rows(page, 1, believed).into_iter().map(row).collect()
    }

    #[test]
    fn links_that_are_not_followed_are_stored() {
        let html = "<p><a href=/1>  one <b>two</b></a><a href=/2></a><a href=/1>again</a><a href=/3><img></a>\
                    <a href=/2>late</a>";
        let kept = |path: &str, anchor: Option<&str>, priority, rejected| {
            (path.to_owned(), anchor.map(str::to_owned), priority, rejected)
        };
        assert_eq!(
            links_of(html, &[None, Some(0.5), Some(-2.0), None, Some(0.75)]),
            [
                kept("/1", Some("one two"), -2.0, false),
                kept("/2", Some("late"), 0.75, false),
                kept("/3", None, 0.0, true),
            ]
        );
        let nofollow = format!("<meta name=robots content=nofollow>{html}");
        let links = links_of(&nofollow, &[Some(1.0); 5]);
        assert!(links.len() == 3 && links.iter().all(|link| link.3), "{links:?}");
        let long = format!("<a href=/1>{}</a>", "ü".repeat(90));
        assert_eq!(links_of(&long, &[None])[0].1.as_deref(), Some("ü".repeat(50).as_str()));
    }

    #[test]
    fn temporary_failures_are_retried_with_backoff() {
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
