//! What workers tell each other of their queues: how many URLs each takes at a time, and the priorities of its best ones. A
//! worker leaves URLs alone while others have enough better ones, so that the order of all is nearly that of one queue. The
//! URLs of shards that change hands stay in that order: they are told of with the shards until their next owner has told of
//! them.

use super::load::SharedPart;
use crate::Result;
use crate::frontier::Frontier;
use crate::sql::{Connection, Transaction, params};

/// How many of its best URLs a worker tells about, at least and at most.
const LEAST: usize = 8;
pub(super) const MOST: usize = 256;

/// What the other workers have told, as last read.
#[derive(Debug, Default)]
pub(super) struct OthersQueues {
    /// The priorities of their best URLs, and of those in shards that change hands, in descending order.
    pub(super) best: Vec<f32>,
    /// How many URLs they take at a time.
    pub(super) slots: usize,
}

impl OthersQueues {
    /// How many URLs with these priorities, in descending order, are in their turn, if this worker takes `slots` at a time.
    /// Those that it is giving up with their shards, `leaving`, count as those of others.
    pub(super) fn in_turn(&self, own: &[f32], leaving: &[(f32, u8)], slots: usize) -> usize {
        let room = self.slots + slots;
        let better = |priority: f32| {
            self.best.partition_point(|other| *other > priority)
                + leaving.partition_point(|(other, _)| *other > priority)
        };
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
        tx.prepare(PUBLISH)?.send(params![shared.worker, told(frontier, slots, most)])?;
    }
    if has_letters || shared.announced.is_some() {
        tx.prepare("select pg_notify('porthole_letters', '')")?.send(())?;
    }
    Ok(())
}

/// Tells the others about the best queued URLs, outside a transaction. From then on the worker tells of the shards that it has
/// taken.
pub(super) fn publish(db: &Connection, shared: &SharedPart, frontier: &Frontier) -> Result<()> {
    let adopt = "update shard set best = null where owner = ?1 and best is not null";
    match shared.announced {
        None => db.execute(adopt, [shared.worker]),
        Some((slots, most)) => db.execute(
            &format!("with adopted as ({adopt}) {PUBLISH}"),
            params![shared.worker, told(frontier, slots, most)],
        ),
    }
    .map(drop)
}

const PUBLISH: &str = "update worker set best = ?2, published = clock_timestamp() where id = ?1";

/// What a worker tells of its queue, and of the shards that it is giving up.
fn told(frontier: &Frontier, slots: usize, most: usize) -> Vec<u8> {
    let mut best = if slots > 0 { frontier.greatest_priorities(most, most) } else { Vec::new() };
    best.extend(frontier.frozen_best().iter().map(|(priority, _)| *priority));
    best.sort_unstable_by(|a, b| b.total_cmp(a));
    best.truncate(most);
    pack(slots, best)
}

/// What is told of a shard that is given up, given the greatest priorities of several; `None` if it has none of these.
pub(super) fn told_of_shard(shard: u8, best: &[(f32, u8)]) -> Option<Vec<u8>> {
    let mut best = best.iter().filter(|(_, of)| *of == shard).map(|(priority, _)| *priority).peekable();
    best.peek().is_some().then_some(())?;
    Some(pack(0, best))
}

/// A number of slots and priorities, four bytes each.
fn pack(slots: usize, best: impl IntoIterator<Item = f32>) -> Vec<u8> {
    let slots = u32::try_from(slots).unwrap_or(u32::MAX).to_le_bytes();
    slots.into_iter().chain(best.into_iter().flat_map(f32::to_le_bytes)).collect()
}

/// Reads what the other workers have told in the last two seconds, and what was told of shards that have changed hands in the
/// last five and whose owners have not told anything since.
pub(super) fn read(db: &Connection, worker: u32) -> Result<OthersQueues> {
    let sql = "select best from worker where id <> ?1 and best is not null \
               and published > clock_timestamp() - interval '2 seconds' \
               union all select best from shard where best is not null and owner is distinct from ?1 \
               and free_from > clock_timestamp() - interval '5 seconds'";
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
        let in_turn = |others: OthersQueues, own: &[f32], slots| others.in_turn(own, &[], slots);
        // Two workers with one slot each: the second best of all is in its turn, the third is not.
        assert_eq!(in_turn(others(&[0.9, 0.8], 1), &[0.7], 1), 0);
        assert_eq!(in_turn(others(&[0.9, 0.6], 1), &[0.7], 1), 1);
        assert_eq!(in_turn(others(&[0.9, 0.7], 1), &[0.7], 1), 1, "equals do not wait for each other");
        assert_eq!(in_turn(others(&[], 0), &[0.1], 1), 1);
        // With several slots, own URLs take places as well.
        assert_eq!(in_turn(others(&[0.9, 0.5, 0.4], 2), &[0.8, 0.6, 0.3, 0.2], 2), 2);
        assert_eq!(in_turn(others(&[], 2), &[0.8, 0.6, 0.3, 0.2, 0.1], 2), 4);
        // So do those that are being given up.
        assert_eq!(others(&[0.9], 1).in_turn(&[0.7], &[(0.8, 3)], 1), 0);
        assert_eq!(others(&[0.9], 1).in_turn(&[0.7], &[(0.6, 3)], 1), 1);
        assert_eq!((others(&[], 2).told_of(1), others(&[], 2).told_of(10)), (LEAST, 12));
    }

    #[test]
    fn a_shard_is_told_of_if_it_has_some_of_the_best() {
        let best = [(0.5, 7), (0.25, 9), (0.125, 7)];
        assert_eq!(told_of_shard(7, &best), Some(pack(0, [0.5, 0.125])));
        assert_eq!(told_of_shard(8, &best), None);
        assert_eq!(pack(2, [0.5]).len(), 8);
    }
}
