//! From the answer to a request to what is known of a page by itself. Most of a page's time is spent here, and no page
//! needs another one's: this is what many threads do at once.

mod queue;

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use porthole_page::{Extractor, Page, PageFormat};
use porthole_topic::{JudgeError, RelevanceJudge};
use porthole_types::{
    Failure, FailureKind, Judgment, Outcome, PageResult, TermId, Timestamp, TopicId, Work, pack_terms,
    shortened,
};

pub(crate) use self::queue::{NotRead, WasRead};
use self::queue::{PanicReporter, Queue, ended};
use crate::archive::{Keep, Packer};
use crate::page_rules::NoIndexRule;
use crate::result::{empty_result, failed, redirect, redirect_to};
use crate::scope::Scope;
use crate::{FetchError, Response};

/// An answer that nobody has looked into.
#[derive(Debug)]
pub(crate) struct Unread {
    pub(crate) work: Work,
    pub(crate) answer: Result<Response, FetchError>,
    /// When it was complete.
    pub(crate) at: Timestamp,
    /// The address that was asked, if it is known.
    pub(crate) address: Option<IpAddr>,
}

/// What an answer turned out to be.
pub(crate) struct Read {
    pub(crate) work: Work,
    /// Without number, place in the archive, and the links of a page.
    pub(crate) result: PageResult,
    /// The page whose links are to be scored, and what it is worth to them.
    pub(crate) page: Option<(Page, Judgment)>,
    /// The page's record for the archive.
    pub(crate) packed: Option<Vec<u8>>,
    /// How long the fetch took.
    pub(crate) took: Duration,
}

/// Reads answers; every thread has its own.
pub(crate) struct Reader {
    extractor: Extractor,
    /// Without one nothing is judged.
    judge: Option<Box<dyn RelevanceJudge>>,
    packer: Option<(Packer, Keep)>,
    scope: Arc<Scope>,
}

impl Reader {
    pub(crate) fn new(
        judge: Option<Box<dyn RelevanceJudge>>,
        packer: Option<(Packer, Keep)>,
        scope: Arc<Scope>,
    ) -> Self {
        Reader { extractor: Extractor::default(), judge, packer, scope }
    }

    pub(crate) fn into_judge(self) -> Option<Box<dyn RelevanceJudge>> {
        self.judge
    }

    /// The judgment of a page by its words alone; `None` if the judge needs the page.
    pub(crate) fn judge_counts(&mut self, counts: &[(TermId, u32)]) -> Option<Judgment> {
        self.judge.as_mut()?.judge_counts(counts)
    }

    /// One like it for another thread, if its judge can be had twice.
    fn try_clone(&self) -> Option<Reader> {
        let judge = match &self.judge {
            Some(judge) => Some(judge.try_clone()?),
            None => None,
        };
        let packer = self.packer.as_ref().map(|(packer, keep)| (packer.try_clone(), *keep));
        Some(Reader::new(judge, packer, self.scope.clone()))
    }

    /// What becomes of a URL by the answer that came for it. Whatever a page does to us costs that page alone.
    pub(crate) fn read(&mut self, unread: Unread) -> WasRead {
        let Unread { work, answer, at, address } = unread;
        let read = catch_unwind(AssertUnwindSafe(|| self.read_answer(&work, &answer, at)));
        let read = read.unwrap_or_else(|_| {
            self.extractor = Extractor::default();
            let failure = Failure::new(FailureKind::Protocol, "reading the page failed".to_owned());
            Ok((PageResult { outcome: Outcome::Dead(failure), ..empty_result(&work, at) }, None))
        });
        let (result, page) = match read {
            Ok(read) => read,
            Err(error) => return Err(Box::new(NotRead { work: Some(work), error })),
        };
        let took = answer.as_ref().map_or(Duration::ZERO, |response| response.took);
        let packed = match (&mut self.packer, &answer) {
            (Some((packer, keep)), Ok(response)) if keep.wants(&result) && !asks_for_noarchive(&page) => {
                packer.pack(&work.url, at, response, address)
            }
            _ => None,
        };
        Ok(Box::new(Read { work, result, page, packed, took }))
    }

    fn read_answer(
        &mut self,
        work: &Work,
        answer: &Result<Response, FetchError>,
        at: Timestamp,
    ) -> Result<(PageResult, Option<(Page, Judgment)>), JudgeError> {
        let mut result = empty_result(work, at);
        let mut page = None;
        match answer {
            Err(error) => {
                let passing =
                    matches!(error.kind, FailureKind::Dns | FailureKind::Connect | FailureKind::Timeout);
                let failure = Failure::new(error.kind, error.detail.clone());
                result.outcome = failed(work, at, passing, failure);
            }
            Ok(response) => {
                result.status = response.status;
                result.bytes = response.body.len() as u64;
                match response.status {
                    200..300 => page = self.read_page(work, response, &mut result)?,
                    300..400 => redirect(work, response, &mut result),
                    status => {
                        let failure = Failure::new(FailureKind::Status, format!("status {status}"));
                        result.outcome = failed(work, at, status == 429 || status >= 500, failure);
                    }
                }
            }
        }
        Ok((result, page))
    }

    fn read_page(
        &mut self,
        work: &Work,
        response: &Response,
        result: &mut PageResult,
    ) -> Result<Option<(Page, Judgment)>, JudgeError> {
        let mut page = self.extractor.extract(&work.url, &response.headers, &response.body);
        if page.format == PageFormat::Other {
            let kind = response.headers.get("content-type").unwrap_or("no content type").to_owned();
            result.outcome = Outcome::Skipped(Failure::new(FailureKind::Type, kind));
            return Ok(None);
        }
        if page.encrypted {
            let detail = "encrypted".to_owned();
            result.outcome = Outcome::Skipped(Failure::new(FailureKind::Type, detail));
            return Ok(None);
        }
        let rules = self.scope.rules;
        if let Some(target) = rules.redirect_of(&work.url, &page) {
            redirect_to(work, target.clone(), result);
            return Ok(None);
        }
        rules.apply(&mut page);
        result.title = shortened(page.title.clone(), PageResult::MAX_TITLE);
        page.language.clone_into(&mut result.language);
        result.simhash = page.simhash;
        let counts = page.term_counts();
        result.terms = packed_terms(&counts);
        if let Err(why) = self.scope.admits_language(page.language) {
            let failure = Failure::new(FailureKind::Scope, why.to_string());
            result.outcome = Outcome::Skipped(failure);
            return Ok(None);
        }
        if page.says_not_found() {
            let detail = format!("status {}, but the page says that it was not found", response.status);
            result.outcome = Outcome::Dead(Failure::new(FailureKind::Status, detail));
            return Ok(None);
        }
        if let Some((kind, detail)) = self.why_no_result(&page) {
            result.outcome = Outcome::Skipped(Failure::new(kind, detail));
        }
        if page.robots.noindex && rules.noindex == NoIndexRule::Skip {
            return Ok(None);
        }
        // What it would say nobody knows, so it is worth what was believed of it, and so are its links.
        let believed = Judgment { relevance: work.relevance, best: TopicId::ROOT };
        match &mut self.judge {
            Some(judge) if !page.needs_scripts && !page.terms().is_empty() => {
                let judgment = match judge.judge_counts(&counts) {
                    Some(judgment) => judgment,
                    None => judge.judge_page(&work.url, &page)?,
                };
                // A page that is no result has no R, but its links are worth what it says.
                result.judgment = (result.outcome == Outcome::Fetched).then_some(judgment);
                Ok(Some((page, judge.link_value().unwrap_or(judgment))))
            }
            _ => Ok(Some((page, believed))),
        }
    }

    /// Why a page that was read is no result of the crawl, if it is none.
    fn why_no_result(&self, page: &Page) -> Option<(FailureKind, &'static str)> {
        if page.robots.noindex {
            return Some((FailureKind::NoIndex, "the page asks not to be indexed"));
        }
        if page.needs_scripts {
            return Some((FailureKind::Scripts, "empty until its scripts have run"));
        }
        let is_empty = self.judge.is_some() && page.terms().is_empty();
        is_empty.then_some((FailureKind::Empty, "the page has no words"))
    }
}

fn asks_for_noarchive(page: &Option<(Page, Judgment)>) -> bool {
    page.as_ref().is_some_and(|(page, _)| page.robots.noarchive)
}

/// Term counts as they are stored; of a page with very many terms, the most frequent.
fn packed_terms(counts: &[(TermId, u32)]) -> Vec<u8> {
    if counts.len() <= PageResult::MAX_TERMS {
        return pack_terms(counts);
    }
    let mut most = counts.to_vec();
    most.sort_unstable_by_key(|&(term, count)| (Reverse(count), term));
    most.truncate(PageResult::MAX_TERMS);
    pack_terms(&most)
}

/// The readers of a crawl: one that reads at once, or several on threads of their own.
pub(crate) enum Readers {
    Here(Box<Reader>, VecDeque<WasRead>),
    Threads(Threads),
}

pub(crate) struct Threads {
    queue: Arc<Queue>,
    /// What was taken from the queue.
    read: VecDeque<WasRead>,
    in_progress: usize,
    /// Answers that may be waiting before no more should be asked for.
    most: usize,
    threads: Vec<thread::JoinHandle<Reader>>,
    /// End judgments that are under way.
    cancellers: Vec<Arc<AtomicBool>>,
    /// One like theirs, if it can be had twice.
    judge: Option<Box<dyn RelevanceJudge>>,
}

impl Readers {
    /// As many as there are cores if so many fetches are under way at once, else just this one: with one fetch at a time
    /// there is nothing to share.
    pub(crate) fn start(reader: Reader, workers: usize) -> Self {
        let cores = thread::available_parallelism().map_or(1, Into::into);
        let mut readers = Vec::new();
        if workers > 1 {
            readers.extend((1..cores.min(workers)).map_while(|_| reader.try_clone()));
        }
        if workers == 1 {
            return Readers::in_place(reader);
        }
        readers.push(reader);
        Readers::Threads(Threads::start(readers))
    }

    /// No thread: what is sent is read at once.
    pub(crate) fn in_place(reader: Reader) -> Self {
        Readers::Here(Box::new(reader), VecDeque::new())
    }

    pub(crate) fn send(&mut self, unread: Unread) {
        match self {
            Readers::Here(reader, read) => read.push_back(reader.read(unread)),
            Readers::Threads(threads) => {
                threads.in_progress += 1;
                threads.queue.push(unread);
            }
        }
    }

    /// Answers a thread that may be waiting.
    pub(crate) const MAX_WAITING: usize = 16;

    /// A judge like the one of these readers, if it can be had twice.
    pub(crate) fn another_judge(&mut self) -> Option<Box<dyn RelevanceJudge>> {
        match self {
            Readers::Here(reader, _) => reader.judge.as_ref().and_then(|judge| judge.try_clone()),
            Readers::Threads(threads) => threads.judge.as_ref().and_then(|judge| judge.try_clone()),
        }
    }

    /// Answers that were handed in and have not come back.
    pub(crate) fn in_progress(&self) -> usize {
        match self {
            Readers::Here(_, read) => read.len(),
            Readers::Threads(threads) => threads.in_progress,
        }
    }

    /// Whether reading keeps up.
    pub(crate) fn keeps_up(&self) -> bool {
        match self {
            Readers::Here(..) => true,
            Readers::Threads(threads) => threads.in_progress < threads.most,
        }
    }

    /// The next that was read, if it is there.
    pub(crate) fn next(&mut self) -> Option<WasRead> {
        match self {
            Readers::Here(_, read) => read.pop_front(),
            Readers::Threads(threads) => threads.next(Queue::take),
        }
    }

    /// The same for somebody who sleeps until it is there; does not come while nothing is in progress.
    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<WasRead> {
        let next = match self {
            Readers::Here(_, read) => read.pop_front(),
            Readers::Threads(threads) => threads.next(|queue| queue.take_or_sleep(context)),
        };
        next.map_or(Poll::Pending, Poll::Ready)
    }

    /// Ends all of them, and gives the judge back.
    pub(crate) fn into_judge(self) -> Option<Box<dyn RelevanceJudge>> {
        match self {
            Readers::Here(reader, _) => reader.judge,
            Readers::Threads(mut threads) => threads.end().and_then(|reader| reader.judge),
        }
    }
}

impl Threads {
    fn start(readers: Vec<Reader>) -> Self {
        let judge = readers.first().and_then(|reader| reader.judge.as_ref()?.try_clone());
        let cancellers = readers.iter().filter_map(|reader| reader.judge.as_ref()?.canceller()).collect();
        let queue = Arc::new(Queue::default());
        let most = readers.len() * Readers::MAX_WAITING;
        let start = |reader| {
            let queue = queue.clone();
            thread::Builder::new().name("reader".to_owned()).spawn(move || work(reader, &queue))
        };
        let threads: Vec<_> = readers.into_iter().filter_map(|reader| start(reader).ok()).collect();
        Threads { queue, read: VecDeque::new(), in_progress: 0, most, threads, cancellers, judge }
    }

    fn next(&mut self, take: impl FnOnce(&Queue) -> VecDeque<WasRead>) -> Option<WasRead> {
        if self.in_progress == 0 {
            return None;
        }
        if self.threads.is_empty() {
            return Some(Err(ended("no thread of its could be started")));
        }
        if self.read.is_empty() {
            self.read = take(&self.queue);
        }
        let read = self.read.pop_front()?;
        self.in_progress -= 1;
        Some(read)
    }

    /// Waits for what is being read, and gives a reader back: the one whose judge there may be only one of. A judge that
    /// takes long is not waited for.
    fn end(&mut self) -> Option<Reader> {
        self.queue.close();
        self.cancellers.iter().for_each(|canceller| canceller.store(true, Ordering::Relaxed));
        let mut readers = self.threads.drain(..).filter_map(|thread| thread.join().ok());
        let last = readers.next_back();
        readers.for_each(drop);
        self.cancellers.iter().for_each(|canceller| canceller.store(false, Ordering::Relaxed));
        last
    }
}

fn work(mut reader: Reader, queue: &Queue) -> Reader {
    let _reporter = PanicReporter(queue);
    let mut last = None;
    while let Some(unread) = queue.next(last) {
        last = Some(reader.read(unread));
    }
    reader
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.end();
    }
}
