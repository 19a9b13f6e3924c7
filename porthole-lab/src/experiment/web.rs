//! Common interface of the webs that experiments run on.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use porthole_crawl::{Fetch, FetchFuture, PageRules, Request};
use porthole_page::{Extractor, PageFormat};
use porthole_types::{CanonicalUrl, ManualClock, UrlId};
use rayon::prelude::*;

use super::labelled::PageTerms;
use super::{ExperimentError, ExperimentWeb};
use porthole_webs::RecordedWeb;
use porthole_webs::synth::SyntheticWeb;

/// A web with reproducible fetches: the clock of a synthetic web is stopped, so that all crawls meet the same failures.
pub(super) enum KnownWeb {
    Recorded(RecordedWeb),
    Synthetic(Box<SyntheticWeb>),
}

impl KnownWeb {
    pub(super) fn open(web: &ExperimentWeb) -> Result<Self, ExperimentError> {
        Ok(match web {
            ExperimentWeb::Recorded { pages, .. } => KnownWeb::Recorded(RecordedWeb::open(&[pages])?),
            ExperimentWeb::Synthetic(params) => {
                let clock = Arc::new(ManualClock::default());
                KnownWeb::Synthetic(Box::new(SyntheticWeb::new((**params).clone(), clock)?))
            }
        })
    }

    /// URLs of all pages, without traps.
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

/// Terms and links of all pages of a web.
pub(super) struct WebContents {
    /// Links between pages, and targets of redirects.
    pub(super) links: BTreeMap<UrlId, Vec<UrlId>>,
    /// The terms of pages.
    pub(super) counts: BTreeMap<UrlId, PageTerms>,
    pub(super) hosts: usize,
}

/// Reads all pages, on all cores.
pub(super) fn read(web: &KnownWeb) -> WebContents {
    /// Maximum number of redirects in a row.
    const HOPS: usize = 5;
    let mut open = web.pages();
    let hosts: HashSet<_> = open.iter().map(CanonicalUrl::site).collect();
    let mut answers: BTreeMap<UrlId, WebAnswer> = BTreeMap::new();
    // First the pages, then the targets of links that are not pages: redirects.
    for hop in 0..=HOPS {
        let read = open
            .par_iter()
            .map_init(Extractor::default, |extractor, url| (url.id(), ask(web, url, extractor)));
        let fetched: Vec<(UrlId, Option<WebAnswer>)> = read.collect();
        // A response where no page is listed that is not a redirect belongs to a trap.
        let is_known = |answer: &WebAnswer| hop == 0 || answer.counts.is_none();
        answers.extend(fetched.into_iter().filter_map(|(id, answer)| Some((id, answer.filter(is_known)?))));
        let all = open.iter().filter_map(|url| answers.get(&url.id())).flat_map(|answer| &answer.targets);
        let next: BTreeSet<&CanonicalUrl> = all.filter(|url| !answers.contains_key(&url.id())).collect();
        // A recorded web lists all its URLs; a synthetic web also responds where it lists no page.
        let is_over = matches!(web, KnownWeb::Recorded(_));
        open = if is_over { Vec::new() } else { next.into_iter().cloned().collect() };
    }
    let (mut links, mut counts) = (BTreeMap::new(), BTreeMap::new());
    for (id, answer) in &answers {
        let known = answer.targets.iter().map(CanonicalUrl::id).filter(|target| answers.contains_key(target));
        links.insert(*id, known.collect());
    }
    counts.extend(answers.into_iter().filter_map(|(id, answer)| Some((id, answer.counts?))));
    WebContents { links, counts, hosts: hosts.len() }
}

struct WebAnswer {
    /// `None` for a redirect.
    counts: Option<PageTerms>,
    targets: Vec<CanonicalUrl>,
}

fn ask(web: &KnownWeb, url: &CanonicalUrl, extractor: &mut Extractor) -> Option<WebAnswer> {
    let response = pollster::block_on(web.fetch(&Request::get(url.clone()))).ok()?;
    match response.status {
        200..300 => {
            let page = extractor.extract(url, &response.headers, &response.body);
            if let Some(target) = PageRules::default().redirect_of(url, &page) {
                return Some(WebAnswer { counts: None, targets: vec![target.clone()] });
            }
            let targets: BTreeSet<&CanonicalUrl> = match page.robots.nofollow {
                true => BTreeSet::new(),
                false => page.links.iter().map(|link| &link.target).filter(|target| *target != url).collect(),
            };
            let targets = targets.into_iter().cloned().collect();
            (page.format != PageFormat::Other)
                .then(|| WebAnswer { counts: Some(page.term_counts()), targets })
        }
        300..400 => {
            let location = response.headers.get("location")?;
            Some(WebAnswer { counts: None, targets: vec![url.join(location).ok()?] })
        }
        _ => None,
    }
}
