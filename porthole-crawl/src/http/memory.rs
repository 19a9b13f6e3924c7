//! The memory of all bodies under way, in sum: many large pages at once must not take more than was allowed.
//!
//! A small body is not counted. One that grows beyond that waits until there is room for the largest that it may become,
//! and gives back what it did not need. What it did need is free again when the last part of it is dropped, that is,
//! when the page has been read and archived. Whoever has room can go on without more of it, so nobody waits in a ring.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A body up to here is not counted.
pub(super) const SMALL: usize = 256 << 10;

/// Memory is counted in these.
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

    /// Waits for room for so many bytes, or for all there is; `None` if there is none within the time.
    pub(super) async fn reserve(&self, bytes: usize, within: Duration) -> Option<Room> {
        let wanted = units(bytes).min(self.total);
        let room = self.units.clone().acquire_many_owned(wanted);
        tokio::time::timeout(within, room).await.ok()?.ok().map(Room)
    }
}

impl Room {
    /// The body, which keeps its room for as long as it is there.
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
