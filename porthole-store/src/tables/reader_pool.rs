//! Read-only connections of one database, kept for the next question. Opening one means to read the schema again,
//! which takes longer than most questions.

use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::location::DatabaseLocation;
use crate::Result;
use crate::sql::Connection;

/// Idle connections that are kept.
const MAX_IDLE: usize = 4;

/// Shared by all clones of a reader.
#[derive(Clone, Debug)]
pub(super) struct ReaderPool {
    location: DatabaseLocation,
    idle: Arc<Mutex<Vec<Connection>>>,
}

impl ReaderPool {
    pub(super) fn new(location: DatabaseLocation) -> Self {
        ReaderPool { location, idle: Arc::default() }
    }

    pub(super) fn location(&self) -> &DatabaseLocation {
        &self.location
    }

    /// An idle connection, or a new one.
    pub(super) fn get(&self) -> Result<PooledReader> {
        let idle = self.lock().pop();
        let db = idle.map_or_else(|| self.location.reader(), Ok)?;
        Ok(PooledReader { db: Some(db), pool: self.clone() })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A read-only connection that goes back to its pool when it is dropped.
pub(super) struct PooledReader {
    /// `None` only while it is dropped.
    db: Option<Connection>,
    pool: ReaderPool,
}

impl PooledReader {
    /// Closes the connection, so that nobody uses it again.
    pub(super) fn discard(mut self) {
        self.db = None;
    }
}

impl Deref for PooledReader {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.db.as_ref().expect("a connection until it is dropped")
    }
}

impl Drop for PooledReader {
    fn drop(&mut self) {
        let mut idle = self.pool.lock();
        // One in the middle of a transaction would keep the log from being written back.
        idle.extend(self.db.take().filter(Connection::is_idle));
        idle.truncate(MAX_IDLE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TableStore;

    #[test]
    fn connections_are_used_again_and_cannot_write() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("porthole.db");
        drop(TableStore::open(&path).unwrap());
        let pool = ReaderPool::new(DatabaseLocation::File(path));
        for _ in 0..3 {
            let several: Vec<PooledReader> = (0..MAX_IDLE + 2).map(|_| pool.get().unwrap()).collect();
            assert!(several[0].execute("delete from setting", ()).is_err());
            assert!(several[0].execute("create temp table t (a)", ()).is_err());
            drop(several);
            assert_eq!(pool.lock().len(), MAX_IDLE);
        }
        let reader = pool.get().unwrap();
        assert_eq!(pool.lock().len(), MAX_IDLE - 1);
        reader.execute_batch("begin").unwrap();
        drop(reader);
        assert_eq!(pool.lock().len(), MAX_IDLE - 1, "a connection within a transaction is closed");
    }
}
