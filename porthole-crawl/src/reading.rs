//! Reads pages: turns an answer into everything that can be known from it alone. Most of a page's CPU time is spent
//! here, and pages are independent, so it is done on several threads.

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
    Failure, FailureKind, Judgment, Outcome, PageResult, SegmentSpan, TermId, Timestamp, TopicId, Validators,
    Work, fingerprint_of_terms, pack_terms, shortened,
};

pub(crate) use self::queue::{NotRead, WasRead};
use self::queue::{PanicReporter, Queue, reader_failed};
use crate::archive::{Keep, Packer};
use crate::page_rules::{AGENT, NoIndexRule};
use crate::result::{empty_result, failed, redirect, redirect_to};
use crate::scope::Scope;
use crate::{FetchError, Response};

/// An answer that has not been read.
#[derive(Debug)]
pub(crate) struct Unread {
    pub(crate) work: Work,
    pub(crate) answer: Result<Response, FetchError>,
    /// When it was complete.
    pub(crate) at: Timestamp,
    /// The address that was asked, if it is known.
    pub(crate) address: Option<IpAddr>,
}

/// An answer that was read.
pub(crate) struct Read {
    pub(crate) work: Work,
    /// Without sequence number, archive location and links.
    pub(crate) result: PageResult,
    /// The page whose links are to be scored, and the judgment that counts for them.
    pub(crate) page: Option<(Page, Judgment)>,
    /// The page's record for the archive.
    pub(crate) packed: Option<Vec<u8>>,
    /// The record of the request for it, if requests are recorded.
    pub(crate) packed_request: Option<Vec<u8>>,
    /// The record says that the page is as in its stored copy.
    pub(crate) is_revisit_record: bool,
    /// How long the fetch took.
    pub(crate) took: Duration,
}

/// Extracts pages, with what they say to this robot.
pub(crate) fn page_extractor() -> Extractor {
    Extractor::default().for_robot(AGENT)
}

/// Reads answers. Each thread has its own.
pub(crate) struct Reader {
    extractor: Extractor,
    /// `None` if pages are not judged.
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
        Reader { extractor: page_extractor(), judge, packer, scope }
    }

    pub(crate) fn into_judge(self) -> Option<Box<dyn RelevanceJudge>> {
        self.judge
    }

    /// Judges a page by its terms alone. `None` if the judge needs the page.
    pub(crate) fn judge_counts(&mut self, counts: &[(TermId, u32)]) -> Option<Judgment> {
        self.judge.as_mut()?.judge_counts(counts)
    }

    /// A copy for another thread, if the judge can be cloned.
    fn try_clone(&self) -> Option<Reader> {
        let judge = match &self.judge {
            Some(judge) => Some(judge.try_clone()?),
            None => None,
        };
        let packer = self.packer.as_ref().map(|(packer, keep)| (packer.try_clone(), *keep));
        Some(Reader::new(judge, packer, self.scope.clone()))
    }

    /// Reads an answer. A panic affects only the page that caused it.
    pub(crate) fn read(&mut self, unread: Unread) -> WasRead {
        let Unread { work, answer, at, address } = unread;
        let read = catch_unwind(AssertUnwindSafe(|| self.read_answer(&work, &answer, at)));
        let read = read.unwrap_or_else(|_| {
            self.extractor = page_extractor();
            let failure = Failure::new(FailureKind::Protocol, "reading the page failed".to_owned());
            Ok((PageResult { outcome: Outcome::Dead(failure), ..empty_result(&work, at) }, None))
        });
        let (result, page) = match read {
            Ok(read) => read,
            Err(error) => return Err(Box::new(NotRead { work: Some(work), error })),
        };
        let took = answer.as_ref().map_or(Duration::ZERO, |response| response.took);
        let mut is_revisit_record = false;
        let packed = match (&mut self.packer, &answer) {
            (Some((packer, keep)), Ok(response)) if keep.wants(&result) && !asks_for_noarchive(&page) => {
                let copy = same_copy(&work, &result);
                let revisit =
                    copy.and_then(|copy| packer.pack_revisit(&work.url, at, response, address, copy));
                is_revisit_record = revisit.is_some() || result.outcome == Outcome::NotModified;
                if is_revisit_record { revisit } else { Some(packer.pack(&work.url, at, response, address)) }
            }
            _ => None,
        };
        let packed_request = match (&packed, &mut self.packer) {
            (Some(_), Some((packer, _))) => packer.pack_request(&work, at),
            _ => None,
        };
        Ok(Box::new(Read { work, result, page, packed, packed_request, is_revisit_record, took }))
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
                result.outcome = match error.kind {
                    // Nothing was sent: the address is not on the open web.
                    FailureKind::Scope => Outcome::Skipped(failure),
                    _ => failed(work, at, passing, failure),
                };
            }
            Ok(response) => {
                result.status = response.status;
                result.bytes = response.body.len() as u64;
                match response.status {
                    200..300 => page = self.read_page(work, response, &mut result)?,
                    // Only if it was asked for: a server that says so by itself has sent no page.
                    304 if has_validators(work) => result.outcome = Outcome::NotModified,
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
        result.validators = Validators::of(&response.headers).map(Box::new);
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
        if let Some((kind, detail)) = self.reason_for_no_result(&page) {
            result.outcome = Outcome::Skipped(Failure::new(kind, detail));
        }
        if page.robots.noindex && rules.noindex == NoIndexRule::Skip {
            return Ok(None);
        }
        // The page cannot be judged, so it and its links keep its estimate.
        let believed = Judgment { relevance: work.relevance, best: TopicId::ROOT };
        match &mut self.judge {
            Some(judge) if !page.needs_scripts && !page.terms().is_empty() => {
                let judgment = match judge.judge_counts(&counts) {
                    Some(judgment) => judgment,
                    None => judge.judge_page(&work.url, &page)?,
                };
                // A page that is not a result has no R, but its links are scored by its judgment.
                result.judgment = (result.outcome == Outcome::Fetched).then_some(judgment);
                Ok(Some((page, judge.link_value().unwrap_or(judgment))))
            }
            _ => Ok(Some((page, believed))),
        }
    }

    /// Why a page that was read is not a result, if it is not.
    fn reason_for_no_result(&self, page: &Page) -> Option<(FailureKind, &'static str)> {
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

fn has_validators(work: &Work) -> bool {
    work.copy.as_ref().is_some_and(|copy| copy.validators.is_some())
}

/// Location of the archived copy of a page whose text has not changed.
fn same_copy(work: &Work, result: &PageResult) -> Option<SegmentSpan> {
    let copy = work.copy.as_ref()?;
    let is_same =
        result.outcome == Outcome::NotModified || copy.fingerprint == fingerprint_of_terms(&result.terms);
    copy.span.filter(|_| is_same)
}

fn asks_for_noarchive(page: &Option<(Page, Judgment)>) -> bool {
    page.as_ref().is_some_and(|(page, _)| page.robots.noarchive)
}

/// Packs term counts for the store. Of a page with very many terms only the most frequent are kept.
fn packed_terms(counts: &[(TermId, u32)]) -> Vec<u8> {
    if counts.len() <= PageResult::MAX_TERMS {
        return pack_terms(counts);
    }
    let mut max_waiting = counts.to_vec();
    max_waiting.sort_unstable_by_key(|&(term, count)| (Reverse(count), term));
    max_waiting.truncate(PageResult::MAX_TERMS);
    pack_terms(&max_waiting)
}

/// The readers of a crawl: one in place, or several on threads.
pub(crate) enum Readers {
    Here(Box<Reader>, VecDeque<WasRead>),
    Threads(Threads),
}

pub(crate) struct Threads {
    queue: Arc<Queue>,
    /// Results taken from the queue.
    read: VecDeque<WasRead>,
    in_progress: usize,
    /// Maximum number of waiting answers before requests are held back.
    max_waiting: usize,
    threads: Vec<thread::JoinHandle<Reader>>,
    /// Cancel running judgments.
    cancellers: Vec<Arc<AtomicBool>>,
    /// A clone of the readers' judge, if it can be cloned.
    judge: Option<Box<dyn RelevanceJudge>>,
}

impl Readers {
    /// Starts one reader per core if there are several workers, otherwise a single one in place: with one fetch at a
    /// time there is nothing to parallelise.
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

    /// A single reader without a thread.
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

    /// Maximum number of waiting answers per thread.
    pub(crate) const MAX_WAITING: usize = 16;

    /// A clone of the readers' judge, if it can be cloned.
    pub(crate) fn clone_judge(&mut self) -> Option<Box<dyn RelevanceJudge>> {
        match self {
            Readers::Here(reader, _) => reader.judge.as_ref().and_then(|judge| judge.try_clone()),
            Readers::Threads(threads) => threads.judge.as_ref().and_then(|judge| judge.try_clone()),
        }
    }

    /// Number of answers passed in and not returned.
    pub(crate) fn in_progress(&self) -> usize {
        match self {
            Readers::Here(_, read) => read.len(),
            Readers::Threads(threads) => threads.in_progress,
        }
    }

    /// Whether reading keeps up with fetching.
    pub(crate) fn keeps_up(&self) -> bool {
        match self {
            Readers::Here(..) => true,
            Readers::Threads(threads) => threads.in_progress < threads.max_waiting,
        }
    }

    /// The next result, if there is one.
    pub(crate) fn next(&mut self) -> Option<WasRead> {
        match self {
            Readers::Here(_, read) => read.pop_front(),
            Readers::Threads(threads) => threads.next(Queue::take),
        }
    }

    /// Polls for the next result. Never ready while nothing is in progress.
    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<WasRead> {
        let next = match self {
            Readers::Here(_, read) => read.pop_front(),
            Readers::Threads(threads) => threads.next(|queue| queue.take_or_sleep(context)),
        };
        next.map_or(Poll::Pending, Poll::Ready)
    }

    /// Ends all readers and returns the judge.
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
        let max_waiting = readers.len() * Readers::MAX_WAITING;
        let start = |reader| {
            let queue = queue.clone();
            thread::Builder::new().name("reader".to_owned()).spawn(move || work(reader, &queue))
        };
        let threads: Vec<_> = readers.into_iter().filter_map(|reader| start(reader).ok()).collect();
        Threads { queue, read: VecDeque::new(), in_progress: 0, max_waiting, threads, cancellers, judge }
    }

    fn next(&mut self, take: impl FnOnce(&Queue) -> VecDeque<WasRead>) -> Option<WasRead> {
        if self.in_progress == 0 {
            return None;
        }
        if self.threads.is_empty() {
            return Some(Err(reader_failed("no reader thread could be started")));
        }
        if self.read.is_empty() {
            self.read = take(&self.queue);
        }
        let read = self.read.pop_front()?;
        self.in_progress -= 1;
        Some(read)
    }

    /// Waits for the readers and returns the first, whose judge may not be clonable. A slow judgment is cancelled.
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
