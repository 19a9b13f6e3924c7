//! Judging again: when the marks or the critic have changed, the pages that are kept get their new R, and the queue the
//! estimates that follow from it, without a fetch (V 2.1.3, 3.7).

use std::collections::HashMap;

use porthole_store::{Batch, Rejudged, StoreReader, Tried};
use porthole_strategy::Word;
use porthole_types::{CanonicalUrl, NewUrl, UrlId, Work};

use crate::crawl::{Crawl, CrawlError};
use crate::reading::{Read, Reader, Readers, Unread};

/// Pages that are looked up at once.
const LOOKED_UP: usize = 4_096;

/// Pages that are committed at once.
const COMMITTED: usize = 64;

impl Crawl<'_> {
    /// Sees to it that all pages are judged by who judges now: `critic` names the critic with its marks, and if the pages
    /// were judged by another one, those that are kept are judged again. How many; `progress` hears of each.
    ///
    /// A page that was not kept stays as it was judged. What start pages are worth is for [`Crawl::start`] to say anew.
    pub async fn judged_by(
        &mut self,
        critic: &str,
        reader: &dyn StoreReader,
        mut progress: impl FnMut(),
    ) -> Result<u64, CrawlError> {
        let before = self.store.setting(JUDGED_BY)?;
        if before.as_deref() == Some(critic) {
            return Ok(0);
        }
        let mut pages = 0;
        if before.is_some() && self.archive.is_some() && self.store.counts().fetched > 0 {
            pages = self.judge_again(reader, &mut progress).await?;
        }
        // Only now: until it is done, a crawl that goes on begins it anew.
        self.store.set_setting(JUDGED_BY, critic)?;
        Ok(pages)
    }

    async fn judge_again(
        &mut self,
        reader: &dyn StoreReader,
        progress: &mut dyn FnMut(),
    ) -> Result<u64, CrawlError> {
        self.forget_memory()?;
        self.store.forget_estimates()?;
        let threads = std::thread::available_parallelism().map_or(1, Into::into);
        let mut readers = Readers::start(Reader::new(self.judge.take(), None, self.guest.scope()), threads);
        let judged = self.judge_all(reader, &mut readers, progress).await;
        self.judge = readers.into_judge();
        self.remember()?;
        judged
    }

    async fn judge_all(
        &mut self,
        reader: &dyn StoreReader,
        readers: &mut Readers,
        progress: &mut dyn FnMut(),
    ) -> Result<u64, CrawlError> {
        let (mut pages, mut after) = (0, None);
        loop {
            let tried = reader.tried(after, LOOKED_UP)?;
            let Some(last) = tried.last() else { break };
            after = Some(last.seq);
            let kept: Vec<&Tried> =
                tried.iter().filter(|tried| tried.judgment.is_some() && tried.span.is_some()).collect();
            for some in kept.chunks(COMMITTED) {
                pages += self.judge_some(some, readers, progress).await?;
                // A single reader never waits, and others may share our thread.
                tokio::task::yield_now().await;
            }
        }
        Ok(pages)
    }

    /// Judges pages and commits them, in the order in which they came: strategies may learn from one to the next.
    async fn judge_some(
        &mut self,
        tried: &[&Tried],
        readers: &mut Readers,
        progress: &mut dyn FnMut(),
    ) -> Result<u64, CrawlError> {
        let mut unread = tried.iter().filter_map(|tried| self.unread(tried));
        let mut judged: HashMap<UrlId, Read> = HashMap::new();
        loop {
            while readers.keeps_up()
                && let Some(next) = unread.next()
            {
                readers.send(next);
            }
            if readers.in_progress() == 0 {
                break;
            }
            let read = *std::future::poll_fn(|context| readers.poll_next(context)).await?;
            judged.insert(read.work.oid, read);
            progress();
        }
        drop(unread);
        let pages = judged.len() as u64;
        self.lost_pages.unreadable += tried.len() as u64 - pages;
        self.commit_judged(tried.iter().filter_map(|tried| judged.remove(&tried.oid)))?;
        Ok(pages)
    }

    /// A page as it came then; what cannot be read any more stays as it was judged.
    fn unread(&self, tried: &Tried) -> Option<Unread> {
        let url = CanonicalUrl::parse(&tried.url).ok()?;
        let response = self.archive.as_ref()?.0.read(&url, tried.span?).ok()?;
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
        };
        Some(Unread { work, answer: Ok(response), at: tried.at })
    }

    fn commit_judged(&mut self, judged: impl Iterator<Item = Read>) -> Result<(), CrawlError> {
        let (mut judgments, mut urls) = (Vec::new(), Vec::new());
        for read in judged {
            let (Some(judgment), Some((page, worth))) = (read.result.judgment, read.page) else { continue };
            judgments.push(Rejudged { oid: read.work.oid, judgment });
            if let Some(scorer) = &mut self.scorer {
                let links = scorer.links(&read.work.url, read.work.depth, page, worth, judgment.relevance);
                urls.extend(links.into_iter().map(|link| link.target));
            }
        }
        let priorities = self.scorer.as_mut().map_or_else(Vec::new, |scorer| {
            let is_last = scorer.strategy.discipline().word == Word::Last;
            let links = urls.iter().filter(|_| is_last).map(|link: &NewUrl| (link.url.id(), link.priority));
            links.chain(scorer.strategy.rescored()).collect()
        });
        let batch = Batch { judgments: &judgments, urls: &urls, priorities: &priorities, ..Batch::default() };
        self.store.commit(&batch)?;
        Ok(())
    }
}

/// The setting that names the critic whose judgments the pages have.
const JUDGED_BY: &str = "crawl.judged_by";
