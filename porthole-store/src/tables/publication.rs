//! What workers tell each other of their queues: how many URLs each takes at a time, and the priorities of its best ones. A
//! worker leaves URLs alone while others have enough better ones, so that the order of all is nearly that of one queue.

use super::load::SharedPart;
use crate::Result;
use crate::frontier::Frontier;
use crate::sql::{Connection, Transaction, params};

/// How many of its best URLs a worker tells about, at least and at most.
const LEAST: usize = 8;
const MOST: usize = 256;

/// What the other workers have told, as last read.
#[derive(Debug, Default)]
pub(super) struct OthersQueues {
    /// The priorities of their best URLs, in descending order.
    pub(super) best: Vec<f32>,
    /// How many URLs they take at a time.
    pub(super) slots: usize,
}

impl OthersQueues {
    /// How many URLs with these priorities, in descending order, are in their turn, if this worker takes `slots` at a time.
    pub(super) fn in_turn(&self, own: &[f32], slots: usize) -> usize {
        let room = self.slots + slots;
        let better = |priority: f32| self.best.partition_point(|other| *other > priority);
        own.iter().enumerate().take_while(|&(place, &priority)| place + better(priority) < room).count()
    }

    /// How many of its best URLs a worker with `slots` tells about: enough to fill the slots of all.
    pub(super) fn told_of(&self, slots: usize) -> usize {
        (self.slots + slots).clamp(LEAST, MOST)
    }
}

/// Tells the others about the best queued URLs, with whatever else a transaction writes.
pub(super) fn write(
    tx: &Transaction<'_>,
    shared: &SharedPart,
    frontier: &Frontier,
    has_letters: bool,
) -> Result<()> {
    if let Some((slots, most)) = shared.announced {
        let best = told(frontier, slots, most);
        tx.prepare(PUBLISH)?.send(params![shared.worker, best])?;
    }
    if has_letters || shared.announced.is_some() {
        tx.prepare("select pg_notify('porthole_letters', '')")?.send(())?;
    }
    Ok(())
}

/// Tells the others about the best queued URLs, outside a transaction.
pub(super) fn publish(db: &Connection, shared: &SharedPart, frontier: &Frontier) -> Result<()> {
    let Some((slots, most)) = shared.announced else { return Ok(()) };
    db.execute(PUBLISH, params![shared.worker, told(frontier, slots, most)]).map(drop)
}

const PUBLISH: &str = "update worker set best = ?2, published = clock_timestamp() where id = ?1";

/// The number of slots and the best priorities, four bytes each.
fn told(frontier: &Frontier, slots: usize, most: usize) -> Vec<u8> {
    let best = if slots > 0 { frontier.greatest_priorities(most, most) } else { Vec::new() };
    let slots = u32::try_from(slots).unwrap_or(u32::MAX).to_le_bytes();
    slots.into_iter().chain(best.into_iter().flat_map(f32::to_le_bytes)).collect()
}

/// Reads what the other workers have told in the last two seconds.
pub(super) fn read(db: &Connection, worker: u32) -> Result<OthersQueues> {
    let sql = "select best from worker where id <> ?1 and best is not null \
               and published > clock_timestamp() - interval '2 seconds'";
    let told: Vec<Vec<u8>> = db.prepare(sql)?.query_map([worker], |row| row.get(0))?;
    let mut others = OthersQueues::default();
    for told in &told {
        let (numbers, _) = told.as_chunks();
        if let [slots, best @ ..] = numbers {
            others.slots += u32::from_le_bytes(*slots) as usize;
            others.best.extend(best.iter().map(|priority| f32::from_le_bytes(*priority)));
        }
    }
    others.best.sort_unstable_by(|a, b| b.total_cmp(a));
    Ok(others)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_wait_for_as_many_better_ones_as_are_taken_at_a_time() {
        let others = |best: &[f32], slots| OthersQueues { best: best.to_vec(), slots };
        // Two workers with one slot each: the second best of all is in its turn, the third is not.
        assert_eq!(others(&[0.9, 0.8], 1).in_turn(&[0.7], 1), 0);
        assert_eq!(others(&[0.9, 0.6], 1).in_turn(&[0.7], 1), 1);
        assert_eq!(others(&[0.9, 0.7], 1).in_turn(&[0.7], 1), 1, "equals do not wait for each other");
        assert_eq!(others(&[], 0).in_turn(&[0.1], 1), 1);
        // With several slots, own URLs take places as well.
        assert_eq!(others(&[0.9, 0.5, 0.4], 2).in_turn(&[0.8, 0.6, 0.3, 0.2], 2), 2);
        assert_eq!(others(&[], 2).in_turn(&[0.8, 0.6, 0.3, 0.2, 0.1], 2), 4);
        assert_eq!((others(&[], 2).told_of(1), others(&[], 2).told_of(10)), (LEAST, 12));
    }
}
