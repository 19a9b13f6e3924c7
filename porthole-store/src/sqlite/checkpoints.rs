//! Checkpoints of a crawl's database on a separate thread, so that commits rarely wait for them.
//!
//! SQLite can only start the log from the beginning when all of it is in the database and nobody writes. A thread alone
//! never gets there while a crawl writes all the time, and the log would grow without bound. So the thread copies most
//! of the log, and the writer itself copies the rest when the log has its full size.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use rusqlite::hooks::Wal;

use super::open::{PAGE_SIZE, checkpointer};
use crate::Result;

/// Pages in the log when the writer does a checkpoint: 64 MiB. A page that several batches change is copied into the
/// database once per checkpoint.
pub(super) const FULL: i64 = (64 << 20) / PAGE_SIZE;
/// Number of new pages in the log after which the thread does one: 16 MiB.
const STEP: i64 = FULL / 4;

/// Does the checkpoints of a writer from now on. The thread ends before the connection is closed.
pub(super) fn on_a_thread(db: &mut Connection, path: &Path) -> Result<()> {
    let mut checkpoints = Checkpoints { path: path.to_owned(), copied_at: 0, thread: None };
    db.wal_hook(Some(move |log: &mut Wal, pages| {
        checkpoints.after_commit(log, i64::from(pages));
        Ok(())
    }))?;
    Ok(())
}

struct Checkpoints {
    path: PathBuf,
    /// Size of the log when the thread last started a checkpoint.
    copied_at: i64,
    /// Started when the log is large enough, which it never is in most commands.
    thread: Option<CheckpointThread>,
}

impl Checkpoints {
    /// Wakes the thread if it is time, or does a checkpoint. As with SQLite's own checkpoints, a failure is no failure of
    /// the commit: the next one tries again.
    fn after_commit(&mut self, log: &mut Wal, pages: i64) {
        if pages < self.copied_at {
            // The log was started from the beginning.
            self.copied_at = 0;
        }
        if pages >= FULL {
            // Fails while the thread does one.
            let _idle = match &self.thread {
                Some(thread) if pages >= 2 * FULL => Some(thread.wait()),
                _ => None,
            };
            drop(log.checkpoint());
        } else if pages - self.copied_at >= STEP {
            let thread = self.thread.get_or_insert_with(|| CheckpointThread::start(self.path.clone()));
            if thread.wake() {
                self.copied_at = pages;
            }
        }
    }
}

struct CheckpointThread {
    /// `None` when it has to end.
    wake: Option<SyncSender<()>>,
    /// Locked during a checkpoint.
    busy: Arc<Mutex<()>>,
    /// `None` if it could not be started: the writer does all checkpoints.
    thread: Option<JoinHandle<()>>,
}

impl CheckpointThread {
    fn start(path: PathBuf) -> CheckpointThread {
        let (wake, woken) = mpsc::sync_channel(0);
        let busy = Arc::<Mutex<()>>::default();
        let run = {
            let busy = busy.clone();
            move || run(&path, &woken, &busy)
        };
        let thread = thread::Builder::new().name("checkpoints".to_owned()).spawn(run).ok();
        CheckpointThread { wake: Some(wake), busy, thread }
    }

    /// Returns false if it is busy or not running.
    fn wake(&self) -> bool {
        self.wake.as_ref().is_some_and(|wake| wake.try_send(()).is_ok())
    }

    /// Waits for the end of its checkpoint.
    fn wait(&self) -> MutexGuard<'_, ()> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CheckpointThread {
    fn drop(&mut self) {
        self.wake = None;
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

fn run(path: &Path, woken: &Receiver<()>, busy: &Mutex<()>) {
    let Ok(db) = checkpointer(path) else { return };
    for () in woken {
        let _busy = busy.lock().unwrap_or_else(PoisonError::into_inner);
        drop(db.query_row("pragma wal_checkpoint(passive)", [], |_| Ok(())));
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::sqlite::open::writer;

    /// Frames of the log that are in the database, and frames in the log, from the index of the log.
    fn copied(path: &Path) -> (u32, u32) {
        let index = fs::read(format!("{}-shm", path.display())).unwrap();
        let number = |at: usize| u32::from_ne_bytes(index[at..at + 4].try_into().unwrap());
        (number(96), number(16))
    }

    fn add(db: &Connection, bytes: i64) {
        db.execute("insert into blobs(bytes) values (zeroblob(?1))", [bytes]).unwrap();
    }

    #[test]
    fn the_thread_copies_the_log_and_the_writer_keeps_it_short() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("crawl.db");
        let db = writer(&path).unwrap();
        db.execute_batch("create table blobs(bytes blob)").unwrap();
        add(&db, 1 << 20);
        assert_eq!(copied(&path).0, 0, "a small log is left alone");
        add(&db, STEP * PAGE_SIZE);
        let start = Instant::now();
        while copied(&path).0 == 0 {
            assert!(start.elapsed() < Duration::from_secs(60), "no checkpoint");
            thread::sleep(Duration::from_millis(5));
            // A thread that has just been started may not listen yet.
            add(&db, 1);
        }
        for _ in 0..40 {
            add(&db, 4 << 20);
        }
        let (_, frames) = copied(&path);
        assert!(i64::from(frames) < 2 * FULL + (8 << 20) / PAGE_SIZE, "{frames}");
        let log = path.with_extension("db-wal");
        assert!(log.exists());
        drop(db);
        assert!(!log.exists(), "the writer is the last one to close the database");
    }
}
