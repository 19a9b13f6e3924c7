//! The webs that experiments run on, behind one door.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use porthole_crawl::{Fetch, FetchFuture, Request};
use porthole_page::{Extractor, Format};
use porthole_types::{CanonicalUrl, ManualClock, UrlId};
use rayon::prelude::*;

use super::labelled::Counts;
use super::{ExperimentError, Web};
use porthole_webs::RecordedWeb;
use porthole_webs::synth::SyntheticWeb;

/// A web that is the same at every fetch: made-up ones stand still in time, so that all crawls meet the same failures.
pub(super) enum KnownWeb {
    Recorded(RecordedWeb),
    Synthetic(Box<SyntheticWeb>),
}

impl KnownWeb {
    pub(super) fn open(web: &Web) -> Result<Self, ExperimentError> {
        Ok(match web {
            Web::Recorded { pages, .. } => KnownWeb::Recorded(RecordedWeb::open(&[pages])?),
            Web::Synthetic(params) => {
                let clock = Arc::new(ManualClock::default());
                KnownWeb::Synthetic(Box::new(SyntheticWeb::new((**params).clone(), clock)?))
            }
        })
    }

    /// All URLs at which there is a page; traps are not among them.
    pub(super) fn pages(&self) -> Vec<CanonicalUrl> {
        match self {
            KnownWeb::Recorded(web) => web.pages().cloned().collect(),
            KnownWeb::Synthetic(web) => web.pages().map(|(url, _)| url).collect(),
        }
    }
}

impl Fetch for KnownWeb {
    fn fetch<'a>(&'a self, request: &'a Request) -> FetchFuture<'a> {
        match self {
            KnownWeb::Recorded(web) => web.fetch(request),
            KnownWeb::Synthetic(web) => web.fetch(request),
        }
    }
}

/// What all pages of a web hold and link to.
pub(super) struct Reading {
    /// The links of pages and redirects that lead to others.
    pub(super) links: BTreeMap<UrlId, Vec<UrlId>>,
    /// The terms of pages.
    pub(super) counts: BTreeMap<UrlId, Counts>,
    pub(super) hosts: usize,
}

/// Reads all pages, on all cores.
pub(super) fn read(web: &KnownWeb) -> Reading {
    /// Redirects one after the other that are followed.
    const HOPS: usize = 5;
    let mut open = web.pages();
    let hosts: HashSet<_> = open.iter().map(CanonicalUrl::site).collect();
    let mut answers: BTreeMap<UrlId, Answer> = BTreeMap::new();
    // The pages, then what they link to that is no page: redirects.
    for hop in 0..=HOPS {
        let read = open
            .par_iter()
            .map_init(Extractor::default, |extractor, url| (url.id(), ask(web, url, extractor)));
        let came: Vec<(UrlId, Option<Answer>)> = read.collect();
        // What answers where no page is listed, and is no redirect, is a trap.
        let is_known = |answer: &Answer| hop == 0 || answer.counts.is_none();
        answers.extend(came.into_iter().filter_map(|(id, answer)| Some((id, answer.filter(is_known)?))));
        let all = open.iter().filter_map(|url| answers.get(&url.id())).flat_map(|answer| &answer.targets);
        let next: BTreeSet<&CanonicalUrl> = all.filter(|url| !answers.contains_key(&url.id())).collect();
        // Nothing else is recorded; a synthetic web also answers where it lists no page.
        let is_over = matches!(web, KnownWeb::Recorded(_));
        open = if is_over { Vec::new() } else { next.into_iter().cloned().collect() };
    }
    let (mut links, mut counts) = (BTreeMap::new(), BTreeMap::new());
    for (id, answer) in &answers {
        let known = answer.targets.iter().map(CanonicalUrl::id).filter(|target| answers.contains_key(target));
        links.insert(*id, known.collect());
    }
    counts.extend(answers.into_iter().filter_map(|(id, answer)| Some((id, answer.counts?))));
    Reading { links, counts, hosts: hosts.len() }
}

struct Answer {
    /// `None` for a redirect.
    counts: Option<Counts>,
    targets: Vec<CanonicalUrl>,
}

fn ask(web: &KnownWeb, url: &CanonicalUrl, extractor: &mut Extractor) -> Option<Answer> {
    let response = pollster::block_on(web.fetch(&Request::get(url.clone()))).ok()?;
    match response.status {
        200..300 => {
            let page = extractor.extract(url, &response.headers, &response.body);
            let targets: BTreeSet<&CanonicalUrl> = match page.robots.nofollow {
                true => BTreeSet::new(),
                false => page.links.iter().map(|link| &link.target).filter(|target| *target != url).collect(),
            };
            let targets = targets.into_iter().cloned().collect();
            (page.format != Format::Other).then(|| Answer { counts: Some(page.term_counts()), targets })
        }
        300..400 => {
            let location = response.headers.get("location")?;
            Some(Answer { counts: None, targets: vec![url.join(location).ok()?] })
        }
        _ => None,
    }
}
