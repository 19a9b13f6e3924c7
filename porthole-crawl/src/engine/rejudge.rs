//! Judges pages again when the marks or the critic have changed. All stored pages get their new R, and queued URLs
//! the estimates that follow from it, without a fetch (V 2.1.3, 3.7). This is done in chunks, in fetch order, while
//! the crawl continues.
//!
//! A page in the archive is read again, so that strategies learn from its links. A page that was not archived is
//! judged by its terms in the tables, and its links get the best R of the pages that contain them.

use std::collections::HashSet;
use std::time::Duration;

use porthole_store::{Batch, Estimate, Rejudged, StoreReader, TriedUrl};
use porthole_strategy::PriorityMerge;
use porthole_topic::RelevanceJudge;
use porthole_types::{CanonicalUrl, NewUrl, UrlId, Work};

use super::crawl::{Crawl, CrawlError};
use super::writer::Writer;
use crate::archive::Archive;
use crate::distill::current_estimates;
use crate::reading::{Reader, Unread};

/// Number of pages that are read and committed together.
const CHUNK: usize = 16;

/// The progress of a rejudging.
pub(crate) struct Rejudging {
    reader: Reader,
    store: Box<dyn StoreReader>,
    /// Identifies the critic.
    critic: String,
    after: Option<u64>,
    /// Pages fetched later are judged by the new critic anyway.
    until: u64,
    /// URLs that have their new estimate. Later pages can only raise it.
    estimated: HashSet<UrlId, foldhash::fast::FixedState>,
    /// Number of pages judged again, and how many of them by their terms alone.
    pub(crate) pages: u64,
    by_terms: u64,
    /// Pages that keep their R, because they are not archived and the judge needs more than their terms.
    pub(crate) kept: u64,
    /// When it started, and the time spent on it since.
    began: Duration,
    spent: Duration,
}

impl Crawl<'_> {
    /// Judges all stored pages again if they were judged by another critic. `critic` identifies the current critic
    /// with its marks. Calls `progress` after each chunk and returns the number of pages judged.
    ///
    /// The priorities of start pages are set again by [`Crawl::start`].
    pub fn rejudge_if_changed(
        &mut self,
        critic: &str,
        mut progress: impl FnMut(u64),
    ) -> Result<u64, CrawlError> {
        let judge = self.writer.judge.take();
        let Some(mut rejudging) = self.writer.rejudging(critic, judge)? else { return Ok(0) };
        while self.writer.rejudge_chunk(&mut rejudging)? {
            progress(rejudging.pages);
        }
        self.writer.judge = rejudging.reader.into_judge();
        self.writer.save_memory()?;
        Ok(rejudging.pages)
    }
}

impl Writer<'_> {
    /// Starts judging pages again if they were judged by another critic. Otherwise returns `None` and keeps the
    /// judge.
    pub(crate) fn rejudging(
        &mut self,
        critic: &str,
        judge: Option<Box<dyn RelevanceJudge>>,
    ) -> Result<Option<Rejudging>, CrawlError> {
        let before = self.own_setting(JUDGED_BY)?;
        let is_same = before.as_deref() == Some(critic);
        if is_same || before.is_none() || self.store.counts().fetched == 0 {
            if !is_same {
                self.set_own_setting(JUDGED_BY, critic)?;
            }
            self.judge = judge;
            return Ok(None);
        }
        self.forget_memory()?;
        Ok(Some(Rejudging {
            reader: Reader::new(judge, None, self.admission.scope.clone()),
            store: self.store.reader(),
            critic: critic.to_owned(),
            after: None,
            until: self.next_seq,
            estimated: HashSet::default(),
            pages: 0,
            by_terms: 0,
            kept: 0,
            began: self.clock.monotonic(),
            spent: Duration::ZERO,
        }))
    }

    /// Judges a chunk of pages again, unless this has used up its share of the time.
    pub(crate) fn rejudge_if_time(&mut self) -> Result<(), CrawlError> {
        /// At most one part in this many of the elapsed time is spent.
        const SHARE: u32 = 12;
        let Some(mut rejudging) = self.run.rejudging.take() else { return Ok(()) };
        let started = self.clock.monotonic();
        let elapsed = started.saturating_sub(rejudging.began);
        if rejudging.spent * SHARE > elapsed || self.rejudge_chunk(&mut rejudging)? {
            rejudging.spent += self.clock.monotonic().saturating_sub(started);
            self.run.rejudging = Some(rejudging);
            return Ok(());
        }
        let detail = match rejudging.kept {
            0 => format!("judged {} pages again", rejudging.pages),
            kept => {
                format!("judged {} pages again; {kept} are not archived and keep their R", rejudging.pages)
            }
        };
        self.record_event("rejudged", &detail)
    }

    /// Judges a chunk of pages again, in fetch order, because strategies may learn from one page to the next. Returns
    /// whether there are more.
    pub(crate) fn rejudge_chunk(&mut self, rejudging: &mut Rejudging) -> Result<bool, CrawlError> {
        let tried = rejudging.store.tried(rejudging.after, CHUNK)?;
        let Some(last) = tried.last().filter(|_| tried[0].seq < rejudging.until) else {
            if rejudging.by_terms > 0 {
                let refreshed = current_estimates(&*rejudging.store)?;
                self.store.commit(&Batch { refreshed: &refreshed, ..Batch::default() })?;
            }
            // Only now: a crawl resumed before this starts over.
            self.set_own_setting(JUDGED_BY, &rejudging.critic)?;
            return Ok(false);
        };
        rejudging.after = Some(last.seq);
        let (mut judgments, mut urls) = (Vec::new(), Vec::new());
        let mut by_terms = Vec::new();
        let is_own = |tried: &&TriedUrl| {
            let owns = |url: CanonicalUrl| self.store.owns(url.site());
            self.store.worker().is_none() || CanonicalUrl::parse(&tried.url).is_ok_and(owns)
        };
        let own: Vec<&TriedUrl> =
            tried.iter().filter(|tried| tried.judgment.is_some()).filter(is_own).collect();
        for tried in own {
            let archive = self.archive.as_ref().map(|(archive, _)| archive);
            let archive = archive.filter(|_| tried.span.is_some_and(|span| self.is_own_segment(span)));
            let Some(unread) = archive.and_then(|archive| unread(archive, tried)) else {
                self.lost_pages.unreadable += u64::from(archive.is_some() && tried.span.is_some());
                by_terms.push(tried);
                continue;
            };
            let read = *rejudging.reader.read(unread).map_err(|not_read| not_read.error)?;
            let (Some(judgment), Some((page, worth))) = (read.result.judgment, read.page) else { continue };
            rejudging.pages += 1;
            judgments.push(Rejudged { oid: tried.oid, judgment });
            if let (Some(scorer), None) = (&mut self.scorer, tried.copy_of) {
                let links = scorer.links(&read.work.url, read.work.depth, page, worth, judgment.relevance);
                urls.extend(links.into_iter().filter(|link| !link.rejected).map(|link| link.target));
            }
        }
        rejudging.judge_by_terms(&by_terms, &mut judgments)?;
        self.commit_rejudged(rejudging, &judgments, &urls)?;
        Ok(true)
    }

    fn commit_rejudged(
        &mut self,
        rejudging: &mut Rejudging,
        judgments: &[Rejudged],
        urls: &[NewUrl],
    ) -> Result<(), CrawlError> {
        self.store.commit(&Batch { judgments, urls, ..Batch::default() })?;
        let discipline = self.scorer.as_ref().map(|scorer| scorer.strategy.discipline()).unwrap_or_default();
        // The first page that links to a URL replaces its old estimate, up or down. Later ones only raise it.
        let mut estimates: Vec<Estimate> = Vec::new();
        let mut raised: Vec<Estimate> = Vec::new();
        for NewUrl { url, relevance, priority, .. } in urls {
            let estimate = Estimate { oid: url.id(), relevance: *relevance, priority: *priority };
            let is_first = rejudging.estimated.insert(estimate.oid);
            let is_start = self.starts.contains(&estimate.oid);
            match is_first || discipline.merge == PriorityMerge::Latest {
                _ if is_start => {}
                true => estimates.push(estimate),
                false => raised.push(estimate),
            }
        }
        let mut priorities = self.scorer.as_mut().map_or_else(Vec::new, |scorer| scorer.strategy.rescored());
        priorities.retain(|(oid, _)| !self.starts.contains(oid));
        let batch =
            Batch { estimates: &estimates, raised: &raised, priorities: &priorities, ..Batch::default() };
        self.store.commit(&batch)?;
        Ok(())
    }
}

impl Rejudging {
    /// Judges pages by their terms in the tables.
    fn judge_by_terms(
        &mut self,
        pages: &[&TriedUrl],
        judgments: &mut Vec<Rejudged>,
    ) -> Result<(), CrawlError> {
        let numbers: Vec<u64> = pages.iter().filter_map(|tried| tried.terms).collect();
        let mut counts = self.store.page_terms(&numbers)?.into_iter();
        for tried in pages {
            let counts = tried.terms.and_then(|_| counts.next()).filter(|counts| !counts.is_empty());
            match counts.and_then(|counts| self.reader.judge_counts(&counts)) {
                Some(judgment) => {
                    judgments.push(Rejudged { oid: tried.oid, judgment });
                    self.pages += 1;
                    self.by_terms += 1;
                }
                None => self.kept += 1,
            }
        }
        Ok(())
    }
}

/// The response as it was fetched, if the archive has it.
fn unread(archive: &Archive, tried: &TriedUrl) -> Option<Unread> {
    let url = CanonicalUrl::parse(&tried.url).ok()?;
    let response = archive.read(&url, tried.span?).ok()?;
    let work = Work {
        oid: tried.oid,
        sid: url.site(),
        url,
        numtries: 0,
        relevance: 0.0,
        priority: 0.0,
        depth: tried.depth,
        pages_of_site: 0,
        rank: Default::default(),
        copy: None,
    };
    Some(Unread { work, answer: Ok(response), at: tried.at, address: None })
}

/// Setting that names the critic that judged the stored pages.
const JUDGED_BY: &str = "crawl.rejudge_if_changed";
