//! The queue between the writer loop and the readers. Waking a thread costs as much as hashing a page, so only
//! sleeping threads are woken, and the loop not for every page.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};
use std::thread;

use porthole_topic::JudgeError;
use porthole_types::Work;

use super::{Read, Unread};

/// The result of reading an answer.
pub(crate) type WasRead = Result<Box<Read>, Box<NotRead>>;

/// An answer that could not be judged.
#[derive(Debug)]
pub(crate) struct NotRead {
    /// The URL it belongs to, or `None` if no reader is left.
    pub(crate) work: Option<Work>,
    pub(crate) error: JudgeError,
}

/// Answers waiting for a reader, and results waiting for the loop.
#[derive(Default)]
pub(super) struct Queue {
    waiting: Mutex<QueueState>,
    came: Condvar,
}

#[derive(Default)]
struct QueueState {
    unread: VecDeque<Unread>,
    read: VecDeque<WasRead>,
    /// Number of sleeping readers, without those being woken.
    asleep: usize,
    /// Wakes the loop, while it sleeps.
    sleeper: Option<Waker>,
    is_over: bool,
}

/// Number of results for which the loop is woken while there is more to read.
const WAKE_AFTER: usize = 16;

impl Queue {
    pub(super) fn push(&self, unread: Unread) {
        let mut waiting = self.lock();
        waiting.unread.push_back(unread);
        if waiting.asleep > 0 {
            waiting.asleep -= 1;
            drop(waiting);
            self.came.notify_one();
        }
    }

    /// Takes all results.
    pub(super) fn take(&self) -> VecDeque<WasRead> {
        let mut waiting = self.lock();
        waiting.sleeper = None;
        mem::take(&mut waiting.read)
    }

    /// Takes all results, or registers the loop to be woken if there are none.
    pub(super) fn take_or_sleep(&self, context: &Context<'_>) -> VecDeque<WasRead> {
        let mut waiting = self.lock();
        waiting.sleeper = waiting.read.is_empty().then(|| context.waker().clone());
        mem::take(&mut waiting.read)
    }

    /// Stores a reader's last result and waits for its next answer. `None` when the queue is closed.
    pub(super) fn next(&self, last: Option<WasRead>) -> Option<Unread> {
        let mut waiting = self.lock();
        waiting.read.extend(last);
        if waiting.unread.is_empty() || waiting.read.len() >= WAKE_AFTER {
            waiting = self.wake(waiting);
        }
        while !waiting.is_over {
            if let Some(next) = waiting.unread.pop_front() {
                return Some(next);
            }
            waiting.asleep += 1;
            waiting = self.came.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        None
    }

    /// Wakes the loop if it sleeps and there are results.
    fn wake<'q>(&'q self, mut waiting: MutexGuard<'q, QueueState>) -> MutexGuard<'q, QueueState> {
        if waiting.read.is_empty() {
            return waiting;
        }
        let Some(sleeper) = waiting.sleeper.take() else { return waiting };
        drop(waiting);
        sleeper.wake();
        self.lock()
    }

    /// Closes the queue. Answers that are not read yet are dropped.
    pub(super) fn close(&self) {
        self.lock().is_over = true;
        self.came.notify_all();
    }

    /// Nothing is left inconsistent under the lock, so a poisoned lock is harmless.
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reports a reader thread that panicked, so that the loop does not wait for it forever.
pub(super) struct PanicReporter<'q>(pub(super) &'q Queue);

impl Drop for PanicReporter<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let mut waiting = self.0.lock();
            waiting.read.push_back(Err(reader_failed("a reader thread panicked")));
            drop(self.0.wake(waiting));
        }
    }
}

pub(super) fn reader_failed(what: &str) -> Box<NotRead> {
    let error = JudgeError { who: "reading".to_owned(), what: what.to_owned() };
    Box::new(NotRead { work: None, error })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use porthole_types::{CanonicalUrl, FailureKind, Timestamp};

    use super::*;
    use crate::FetchError;
    use crate::reading::Reader;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn unread() -> Unread {
        let url = CanonicalUrl::parse("http://a.test/").unwrap();
        let work = Work {
            oid: url.id(),
            sid: url.site(),
            url: url.clone(),
            numtries: 0,
            relevance: 0.0,
            priority: 0.0,
            depth: 0,
            pages_of_site: 0,
            rank: Default::default(),
            copy: None,
        };
        let answer = Err(FetchError { url, kind: FailureKind::Dns, detail: String::new() });
        Unread { work, answer, at: Timestamp(0), address: None }
    }

    #[test]
    fn a_sleeping_loop_is_woken_for_many_results_or_when_idle() {
        let (queue, woken) = (Queue::default(), Arc::new(Woken::default()));
        let waker = Waker::from(woken.clone());
        let mut reader = Reader::new(None, None, Arc::default());
        let times = || woken.0.load(Ordering::Relaxed);
        (0..2 * WAKE_AFTER).for_each(|_| queue.push(unread()));
        let mut next = queue.next(None);
        let mut read_one = || next = queue.next(next.take().map(|unread| reader.read(unread)));
        assert!(queue.take_or_sleep(&Context::from_waker(&waker)).is_empty());
        (1..WAKE_AFTER).for_each(|_| read_one());
        assert_eq!(times(), 0, "there is more to read");
        read_one();
        assert_eq!(times(), 1);
        read_one();
        assert_eq!(times(), 1, "a loop that is awake is not woken");
        assert_eq!(queue.take().len(), WAKE_AFTER + 1);
        assert!(queue.take_or_sleep(&Context::from_waker(&waker)).is_empty());
        (WAKE_AFTER + 1..2 * WAKE_AFTER - 1).for_each(|_| read_one());
        assert_eq!(times(), 1);
        queue.close();
        read_one();
        assert_eq!(times(), 2, "nothing is left to read");
    }

    #[test]
    fn a_panicking_reader_is_reported() {
        let (queue, woken) = (Queue::default(), Arc::new(Woken::default()));
        assert!(queue.take_or_sleep(&Context::from_waker(&Waker::from(woken.clone()))).is_empty());
        let reader = || {
            let _reporter = PanicReporter(&queue);
            panic!("on purpose");
        };
        assert!(thread::scope(|scope| scope.spawn(reader).join()).is_err());
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
        assert!(queue.take().pop_front().is_some_and(|read| read.is_err()));
    }
}
