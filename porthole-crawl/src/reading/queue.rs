//! What goes from the loop to the readers and back. To wake a thread costs as much as to hash a page: nobody is woken who
//! does not sleep, and the loop not for every page.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};
use std::thread;

use porthole_topic::JudgeError;
use porthole_types::Work;

use super::{Read, Unread};

/// What came of reading an answer.
pub(crate) type WasRead = Result<Box<Read>, Box<NotRead>>;

/// An answer that could not be judged.
#[derive(Debug)]
pub(crate) struct NotRead {
    /// What it was the answer to; `None` if no reader is left.
    pub(crate) work: Option<Work>,
    pub(crate) error: JudgeError,
}

/// Answers that wait for a reader, and what was read and waits for the loop.
#[derive(Default)]
pub(super) struct Queue {
    waiting: Mutex<QueueState>,
    came: Condvar,
}

#[derive(Default)]
struct QueueState {
    unread: VecDeque<Unread>,
    read: VecDeque<WasRead>,
    /// How many readers sleep, without those that are being woken.
    asleep: usize,
    /// The loop, while it sleeps.
    sleeper: Option<Waker>,
    is_over: bool,
}

/// So many pages are worth waking the loop for while there is more to read.
const WORTH_WAKING: usize = 16;

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

    /// Takes all that was read.
    pub(super) fn take(&self) -> VecDeque<WasRead> {
        let mut waiting = self.lock();
        waiting.sleeper = None;
        mem::take(&mut waiting.read)
    }

    /// The same for a loop that sleeps if there is nothing, and is to be woken.
    pub(super) fn take_or_sleep(&self, context: &Context<'_>) -> VecDeque<WasRead> {
        let mut waiting = self.lock();
        waiting.sleeper = waiting.read.is_empty().then(|| context.waker().clone());
        mem::take(&mut waiting.read)
    }

    /// Takes what a reader has read last, and waits for what it is to read next; none when it is over.
    pub(super) fn next(&self, last: Option<WasRead>) -> Option<Unread> {
        let mut waiting = self.lock();
        waiting.read.extend(last);
        if waiting.unread.is_empty() || waiting.read.len() >= WORTH_WAKING {
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

    /// Wakes the loop if it sleeps and something was read.
    fn wake<'q>(&'q self, mut waiting: MutexGuard<'q, QueueState>) -> MutexGuard<'q, QueueState> {
        if waiting.read.is_empty() {
            return waiting;
        }
        let Some(sleeper) = waiting.sleeper.take() else { return waiting };
        drop(waiting);
        sleeper.wake();
        self.lock()
    }

    /// Nobody waits for what has not been read by now.
    pub(super) fn close(&self) {
        self.lock().is_over = true;
        self.came.notify_all();
    }

    /// Nothing is left half done under the lock, so a thread that ended in it does no harm.
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says when a reader's thread came to an end that nobody asked for: what it read would be waited for in vain.
pub(super) struct PanicReporter<'q>(pub(super) &'q Queue);

impl Drop for PanicReporter<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let mut waiting = self.0.lock();
            waiting.read.push_back(Err(ended("a thread of its ended")));
            drop(self.0.wake(waiting));
        }
    }
}

pub(super) fn ended(what: &str) -> Box<NotRead> {
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
        };
        let answer = Err(FetchError { url, kind: FailureKind::Dns, detail: String::new() });
        Unread { work, answer, at: Timestamp(0), address: None }
    }

    #[test]
    fn a_loop_that_sleeps_is_woken_for_many_pages_or_when_there_is_nothing_to_read() {
        let (queue, woken) = (Queue::default(), Arc::new(Woken::default()));
        let waker = Waker::from(woken.clone());
        let mut reader = Reader::new(None, None, Arc::default());
        let times = || woken.0.load(Ordering::Relaxed);
        (0..2 * WORTH_WAKING).for_each(|_| queue.push(unread()));
        let mut next = queue.next(None);
        let mut read_one = || next = queue.next(next.take().map(|unread| reader.read(unread)));
        assert!(queue.take_or_sleep(&Context::from_waker(&waker)).is_empty());
        (1..WORTH_WAKING).for_each(|_| read_one());
        assert_eq!(times(), 0, "there is more to read");
        read_one();
        assert_eq!(times(), 1);
        read_one();
        assert_eq!(times(), 1, "who is awake is not woken");
        assert_eq!(queue.take().len(), WORTH_WAKING + 1);
        assert!(queue.take_or_sleep(&Context::from_waker(&waker)).is_empty());
        (WORTH_WAKING + 1..2 * WORTH_WAKING - 1).for_each(|_| read_one());
        assert_eq!(times(), 1);
        queue.close();
        read_one();
        assert_eq!(times(), 2, "nothing is left to read");
    }

    #[test]
    fn a_thread_that_ends_unasked_is_no_reason_to_wait_for_ever() {
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
