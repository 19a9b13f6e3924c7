//! Limits the total memory of all bodies in flight.
//!
//! Small bodies are not counted. A body that grows larger waits until there is room for its maximum size, and
//! releases what it did not need. The rest is released when the last reference to it is dropped, which is after the
//! page was read and archived. A body that has room needs no more, so there can be no deadlock.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bodies up to this size are not counted.
pub(super) const SMALL: usize = 256 << 10;

/// Memory is counted in units of this size.
const UNIT: usize = 64 << 10;

pub(super) struct BodyMemory {
    units: Arc<Semaphore>,
    total: u32,
}

/// Room for a body.
pub(super) struct Room(OwnedSemaphorePermit);

impl BodyMemory {
    pub(super) fn new(bytes: usize) -> Self {
        let total = units(bytes).clamp(1, u32::MAX >> 4);
        BodyMemory { units: Arc::new(Semaphore::new(total as usize)), total }
    }

    /// Waits for room for `bytes`, or for everything if that is less. Returns `None` on timeout.
    pub(super) async fn reserve(&self, bytes: usize, within: Duration) -> Option<Room> {
        let wanted = units(bytes).min(self.total);
        let room = self.units.clone().acquire_many_owned(wanted);
        tokio::time::timeout(within, room).await.ok()?.ok().map(Room)
    }
}

impl Room {
    /// Returns the body, which holds its room until it is dropped.
    pub(super) fn keep(self, bytes: Bytes) -> Bytes {
        let Room(mut permit) = self;
        let surplus = permit.num_permits().saturating_sub(units(bytes.len()) as usize);
        drop(permit.split(surplus));
        Bytes::from_owner(CountedBody { bytes, _permit: permit })
    }
}

struct CountedBody {
    bytes: Bytes,
    _permit: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for CountedBody {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

fn units(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX)
}
