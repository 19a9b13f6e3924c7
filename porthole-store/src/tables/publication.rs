//! What workers tell each other of their queues: how many URLs each takes at a time, the priorities of its best ones, and which
//! letters it has read. A worker leaves URLs alone while others have enough better ones, so that the order of all is nearly
//! that of one queue. The URLs of shards that change hands stay in that order: they are told of with the shards until their
//! next owner has told of them. A link in a letter that was not read is in nobody's order, so a worker also waits while others
//! have not read what its last results have led to.

use std::collections::VecDeque;

use super::load::SharedPart;
use crate::Result;
use crate::frontier::Frontier;
use crate::sql::{Connection, Transaction, params};

/// How many of its best URLs a worker tells about, at least and at most.
const LEAST: usize = 8;
pub(super) const MOST: usize = 256;

/// What a worker tells the others, beside its best URLs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Announced {
    /// How many URLs it takes at a time, and how many of its best ones it tells about.
    pub(super) slots: usize,
    pub(super) most: usize,
    /// The last letter that it has read.
    pub(super) read: i64,
}

/// What the other workers have told, as last read.
#[derive(Debug, Default)]
pub(super) struct OthersQueues {
    /// The priorities of their best URLs, and of those in shards that change hands, in descending order.
    pub(super) best: Vec<f32>,
    /// How many URLs they take at a time.
    pub(super) slots: usize,
    /// The last letter that was read for all of their shards; `None` if nobody is waited for.
    pub(super) read: Option<i64>,
}

impl OthersQueues {
    /// How many URLs with these priorities, in descending order, are in their turn, if this worker takes `slots` at a time and
    /// others have not read what `unread` of its results have led to. URLs that it is giving up with their shards, `leaving`,
    /// count as those of others. One queue with the slots of all would be as far behind: there, so many results are not known
    /// yet when a URL is taken.
    pub(super) fn in_turn(&self, own: &[f32], leaving: &[(f32, u8)], slots: usize, unread: usize) -> usize {
        let room = self.slots + slots;
        let better = |priority: f32| {
            self.best.partition_point(|other| *other > priority)
                + leaving.partition_point(|(other, _)| *other > priority)
        };
        let is_in_turn = |&(place, &priority): &(usize, &f32)| place + better(priority).max(unread) < room;
        own.iter().enumerate().take_while(is_in_turn).count()
    }

    /// How many of its best URLs a worker with `slots` tells about: enough to fill the slots of all.
    pub(super) fn told_of(&self, slots: usize) -> usize {
        (self.slots + slots).clamp(LEAST, MOST)
    }
}

/// The results that were committed last, until others have read the letters that were sent with them.
#[derive(Debug, Default)]
pub(super) struct SentResults(VecDeque<(i64, usize)>);

impl SentResults {
    /// Adds a commit: the number of its last letter, and how many results it has.
    pub(super) fn add(&mut self, letter: i64, results: usize) {
        self.0.push_back((letter, results));
    }

    /// Forgets what the others have read, or all if nobody is waited for.
    pub(super) fn forget_read(&mut self, read: Option<i64>) {
        let read = self.0.partition_point(|(letter, _)| read.is_none_or(|read| *letter <= read));
        self.0.drain(..read);
    }

    /// Number of results of which something is unread.
    pub(super) fn unread(&self) -> usize {
        self.0.iter().map(|(_, results)| results).sum()
    }
}

/// Tells the others about the best queued URLs, with whatever else a transaction writes. `read` is the last letter that it
/// applies.
pub(super) fn write(
    tx: &Transaction<'_>,
    shared: &SharedPart,
    frontier: &Frontier,
    has_letters: bool,
    read: Option<i64>,
) -> Result<()> {
    if let Some(announced) = shared.announced {
        let read = read.unwrap_or(announced.read);
        tx.prepare(PUBLISH)?.send(params![shared.worker, told(frontier, shared, announced), read])?;
    }
    if has_letters || shared.announced.is_some() {
        tx.prepare(NOTIFY)?.send(())?;
    }
    Ok(())
}

/// Tells the others about the best queued URLs, outside a transaction. From then on the worker tells of the shards that it has
/// taken. If it is news, others may wait for it, so they are notified.
pub(super) fn publish(
    db: &Connection,
    shared: &SharedPart,
    frontier: &Frontier,
    is_news: bool,
) -> Result<()> {
    let adopt = "update shard set best = null where owner = ?1 and best is not null";
    match shared.announced {
        None => db.execute(adopt, [shared.worker]),
        Some(announced) => db.execute(
            &format!("with adopted as ({adopt}), published as ({PUBLISH}) {NOTIFY} where ?4::bigint <> 0"),
            params![shared.worker, told(frontier, shared, announced), announced.read, is_news],
        ),
    }
    .map(drop)
}

const PUBLISH: &str =
    "update worker set best = ?2, has_read = ?3, published = clock_timestamp() where id = ?1";
const NOTIFY: &str = "select pg_notify('porthole_letters', '')";

/// What a worker tells of its queue, and of the shards that it is giving up. One without shards takes nothing.
fn told(frontier: &Frontier, shared: &SharedPart, announced: Announced) -> Vec<u8> {
    let Announced { slots, most, .. } = announced;
    let slots = if shared.shards.is_empty() { 0 } else { slots };
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
/// last five and whose owners have not told anything since, or have not read all letters to them.
pub(super) fn read(db: &Connection, worker: u32) -> Result<OthersQueues> {
    let sql = "select best, has_read, false from worker where id <> ?1 and best is not null \
               and published > clock_timestamp() - interval '2 seconds' \
               union all select best, cursor, true from shard where (best is not null or cursor is not null) \
               and owner is distinct from ?1 and free_from > clock_timestamp() - interval '5 seconds'";
    let told = db.prepare(sql)?.query_map([worker], |row| {
        Ok(Told { best: row.get(0)?, read: row.get(1)?, is_of_shard: row.get(2)? })
    })?;
    Ok(OthersQueues::of(&told))
}

/// What was told of a worker's queue, or of a shard that changes hands.
#[derive(Debug)]
struct Told {
    best: Option<Vec<u8>>,
    /// The last letter that was read; of a shard only if its owner is behind.
    read: Option<i64>,
    is_of_shard: bool,
}

impl OthersQueues {
    fn of(told: &[Told]) -> OthersQueues {
        let mut others = OthersQueues::default();
        for Told { best, read, is_of_shard } in told {
            let (numbers, _) = best.as_deref().unwrap_or_default().as_chunks();
            let (slots, best) = numbers
                .split_first()
                .map_or((0, numbers), |(slots, best)| (u32::from_le_bytes(*slots) as usize, best));
            others.slots += slots;
            others.best.extend(best.iter().map(|priority| f32::from_le_bytes(*priority)));
            // Links to a worker that takes nothing are not fetched anyway.
            if *is_of_shard || slots > 0 {
                others.read = others.read.into_iter().chain(*read).min();
            }
        }
        others.best.sort_unstable_by(|a, b| b.total_cmp(a));
        others
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_wait_for_as_many_better_ones_as_are_taken_at_a_time() {
        let others = |best: &[f32], slots| OthersQueues { best: best.to_vec(), slots, read: None };
        let in_turn = |others: OthersQueues, own: &[f32], slots| others.in_turn(own, &[], slots, 0);
        // Two workers with one slot each: the second best of all is in its turn, the third is not.
        assert_eq!(in_turn(others(&[0.9, 0.8], 1), &[0.7], 1), 0);
        assert_eq!(in_turn(others(&[0.9, 0.6], 1), &[0.7], 1), 1);
        assert_eq!(in_turn(others(&[0.9, 0.7], 1), &[0.7], 1), 1, "equals do not wait for each other");
        assert_eq!(in_turn(others(&[], 0), &[0.1], 1), 1);
        // With several slots, own URLs take places as well.
        assert_eq!(in_turn(others(&[0.9, 0.5, 0.4], 2), &[0.8, 0.6, 0.3, 0.2], 2), 2);
        assert_eq!(in_turn(others(&[], 2), &[0.8, 0.6, 0.3, 0.2, 0.1], 2), 4);
        // So do those that are being given up.
        assert_eq!(others(&[0.9], 1).in_turn(&[0.7], &[(0.8, 3)], 1, 0), 0);
        assert_eq!(others(&[0.9], 1).in_turn(&[0.7], &[(0.6, 3)], 1, 0), 1);
        assert_eq!((others(&[], 2).told_of(1), others(&[], 2).told_of(10)), (LEAST, 12));
    }

    #[test]
    fn urls_wait_for_workers_that_have_not_read_the_last_results() {
        let others = |slots| OthersQueues { best: Vec::new(), slots, read: Some(0) };
        let in_turn = |slots, unread| others(slots).in_turn(&[0.9, 0.8, 0.7], &[], 1, unread);
        assert_eq!([0, 1, 2, 3].map(|unread| in_turn(1, unread)), [2, 1, 0, 0]);
        assert_eq!([0, 1, 2, 3].map(|unread| in_turn(3, unread)), [3, 3, 2, 1]);
        // Better URLs of others are fetched meanwhile.
        let others = OthersQueues { best: vec![0.95], slots: 1, read: Some(0) };
        assert_eq!([0, 1, 2].map(|unread| others.in_turn(&[0.9], &[], 1, unread)), [1, 1, 0]);
    }

    #[test]
    fn results_are_unread_until_all_have_read_their_letters() {
        let mut sent = SentResults::default();
        for (letter, results) in [(10, 1), (25, 2), (30, 1)] {
            sent.add(letter, results);
        }
        let mut unread = |read| {
            sent.forget_read(read);
            sent.unread()
        };
        assert_eq!([Some(9), Some(10), Some(29), None].map(&mut unread), [4, 3, 1, 0]);
        // Of a worker that takes nothing, and of shards that change hands.
        let worker =
            |slots, read| Told { best: Some(pack(slots, [0.5])), read: Some(read), is_of_shard: false };
        let shard = |read| Told { best: None, read, is_of_shard: true };
        let read = |told: &[Told]| OthersQueues::of(told).read;
        assert_eq!(read(&[]), None);
        assert_eq!(read(&[worker(1, 30), worker(2, 20), worker(0, 10)]), Some(20));
        assert_eq!(read(&[worker(1, 30), shard(None), shard(Some(10))]), Some(10));
    }

    #[test]
    fn a_shard_is_told_of_if_it_has_some_of_the_best() {
        let best = [(0.5, 7), (0.25, 9), (0.125, 7)];
        assert_eq!(told_of_shard(7, &best), Some(pack(0, [0.5, 0.125])));
        assert_eq!(told_of_shard(8, &best), None);
        assert_eq!(pack(2, [0.5]).len(), 8);
    }
}
