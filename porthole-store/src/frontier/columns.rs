//! The data of every known URL, by column, and their comparison.

use std::cmp::Ordering;
use std::collections::HashMap;

use porthole_types::{Rank, Timestamp};

use super::chunked::Chunked;
use super::heap::HeapOrder;
use super::order::{KeyOrder, Needs};
use super::sites::{SiteColumn, SiteTable};
use super::{Belief, RowState};
use crate::policy::{Direction, PolicyKey};

/// The columns, by row number. Columns that only some policies use exist only then.
#[derive(Debug)]
pub(super) struct Columns {
    pub(super) order: KeyOrder,
    pub(super) sites: SiteTable,
    pub(super) rows: Chunked<FrontierRow>,
    pub(super) tries: Chunked<Tries>,
    /// Row of the URL's site.
    pub(super) site: SiteColumn,
    pub(super) visits: Option<Chunked<u8>>,
    /// Seconds since 1970; 0 for a URL that was never tried.
    pub(super) lastvisited: Option<Chunked<u32>>,
    pub(super) hubs: Option<Chunked<f32>>,
    pub(super) auth: Option<Chunked<f32>>,
    /// Relevance by text and neighbours; NaN where a page has no judged neighbours.
    pub(super) neighbourhoods: Option<Chunked<f32>>,
    pub(super) line: Line,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct FrontierRow {
    pub(super) relevance: f32,
    pub(super) priority: f32,
    pub(super) place: QueuePlace,
}

/// Values of the optional columns of a row.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OptionalValues {
    pub(crate) site: u32,
    pub(crate) visits: u32,
    pub(crate) lastvisited: Option<Timestamp>,
}

impl Columns {
    pub(super) fn new(order: KeyOrder, sites: SiteTable) -> Self {
        let mut columns = Columns {
            order,
            sites,
            rows: Chunked::default(),
            tries: Chunked::default(),
            site: SiteColumn::default(),
            visits: None,
            lastvisited: None,
            hubs: None,
            auth: None,
            neighbourhoods: None,
            line: Line::default(),
        };
        let needs = columns.needs();
        columns.keep(needs);
        columns
    }

    /// The columns that the policy needs.
    pub(super) fn needs(&self) -> Needs {
        self.order.needs()
    }

    /// The columns that the policy needs and that do not exist.
    pub(super) fn missing(&self) -> Needs {
        let needs = self.needs();
        Needs {
            visits: needs.visits && self.visits.is_none(),
            lastvisited: needs.lastvisited && self.lastvisited.is_none(),
            hubs: needs.hubs && self.hubs.is_none(),
            auth: needs.auth && self.auth.is_none(),
            neighbourhoods: needs.neighbourhoods && self.neighbourhoods.is_none(),
        }
    }

    /// Creates the needed columns, empty, and drops the others.
    pub(super) fn keep(&mut self, needs: Needs) {
        keep(&mut self.visits, needs.visits);
        keep(&mut self.lastvisited, needs.lastvisited);
        keep(&mut self.hubs, needs.hubs);
        keep(&mut self.auth, needs.auth);
        keep(&mut self.neighbourhoods, needs.neighbourhoods);
    }

    pub(super) fn push(&mut self, belief: Belief, tries: Tries, facts: OptionalValues) {
        let (relevance, priority) = belief.narrow();
        self.rows.push(FrontierRow { relevance, priority, place: QueuePlace::WAITING });
        self.tries.push(tries);
        self.push_facts(facts);
        push(&mut self.hubs, 0.0);
        push(&mut self.auth, 0.0);
        push(&mut self.neighbourhoods, f32::NAN);
    }

    /// Appends to the columns that are filled from `crawl`.
    fn push_facts(&mut self, facts: OptionalValues) {
        self.site.push(facts.site);
        push(&mut self.visits, u8::try_from(facts.visits).unwrap_or(u8::MAX));
        push(&mut self.lastvisited, seconds(facts.lastvisited));
    }

    /// Appends to the columns that are being filled, which are shorter than the others.
    pub(super) fn fill(&mut self, at: usize, facts: OptionalValues) {
        let shorter = |len: usize| len == at;
        fill(&mut self.visits, shorter, u8::try_from(facts.visits).unwrap_or(u8::MAX));
        fill(&mut self.lastvisited, shorter, seconds(facts.lastvisited));
    }

    /// Records a try.
    pub(super) fn tried(&mut self, row: u32, came: bool, at: Timestamp) {
        let row = row as usize;
        self.tries[row] = self.tries[row].tried(came);
        if let Some(visits) = &mut self.visits {
            visits[row] = visits[row].saturating_add(1);
        }
        if let Some(lastvisited) = &mut self.lastvisited {
            lastvisited[row] = seconds(Some(at));
        }
    }

    /// Gives a row the last place in the line, behind all rows that are known now.
    pub(super) fn line_up(&mut self, row: u32) {
        let last = QueuePlace::at(self.rows.len() - 1).0;
        self.line.append(row, last);
    }

    /// The row of a URL's site.
    pub(super) fn site_of(&self, row: u32) -> u32 {
        self.site.get(row)
    }

    /// The number of tries as the first key of the policy, if it is; the lowest comes first.
    fn level(&self, row: u32) -> u8 {
        let tries = self.tries[row as usize].count();
        match self.order.level {
            None => 0,
            Some(Direction::Asc) => tries,
            Some(Direction::Desc) => Tries::MOST - tries,
        }
    }

    /// Whether rows that were tried as often are ordered by descending priority.
    pub(super) fn is_by_priority(&self) -> bool {
        self.order.plain
    }

    /// Compares by all keys, then by the order of discovery.
    pub(super) fn compare_all_keys(&self, a: u32, b: u32) -> Ordering {
        let load = || self.order.load.map_or(Ordering::Equal, |_| self.load(a).cmp(&self.load(b)));
        self.compare_heap(a, b)
            .then_with(load)
            .then_with(|| self.compare(&self.order.rest, a, b))
            .then_with(|| self.line.compare(a, b))
    }

    /// Compares by the keys before `serverload`.
    fn compare_heap(&self, a: u32, b: u32) -> Ordering {
        let levels = self.level(a).cmp(&self.level(b));
        levels.then_with(|| match self.order.plain {
            true => self.rows[b as usize].priority.total_cmp(&self.rows[a as usize].priority),
            false => self.compare(&self.order.heap, a, b),
        })
    }

    /// The load of a row's site, such that the smaller number comes first.
    fn load(&self, row: u32) -> u32 {
        let load = self.sites.load(self.site_of(row));
        if self.order.load == Some(Direction::Desc) { u32::MAX - load } else { load }
    }

    pub(super) fn is_disabled(&self, row: u32) -> bool {
        self.sites.is_disabled(self.site_of(row))
    }

    /// The rank of a row: its keys, each such that the smaller number comes first.
    pub(super) fn rank(&self, row: u32) -> Rank {
        let turned = |value: f64, direction| if direction == Direction::Asc { value } else { -value };
        let value = |&(key, direction): &(PolicyKey, Direction)| turned(self.value(key, row), direction);
        let load = self.order.load.map(|_| f64::from(self.load(row)));
        let keys = self.order.heap.iter().map(value).chain(load).chain(self.order.rest.iter().map(value));
        let line = self.line.position(row);
        let last = [f64::from(line.after), f64::from(line.serial)];
        Rank::new([f64::from(self.level(row))].into_iter().chain(keys).chain(last))
    }

    fn value(&self, key: PolicyKey, row: u32) -> f64 {
        let at = row as usize;
        match key {
            PolicyKey::Numtries => self.tries[at].count().into(),
            PolicyKey::Priority => self.rows[at].priority.into(),
            PolicyKey::Relevance => self.rows[at].relevance.into(),
            PolicyKey::Visits => self.visits.as_ref().map_or(0.0, |column| column[at].into()),
            PolicyKey::Lastvisited => self.lastvisited.as_ref().map_or(0.0, |column| column[at].into()),
            PolicyKey::Hub => self.hubs.as_ref().map_or(0.0, |column| column[at].into()),
            PolicyKey::Authority => self.auth.as_ref().map_or(0.0, |column| column[at].into()),
            PolicyKey::Neighbourhood => self.neighbourhood(at).into(),
            PolicyKey::Discovered => self.line.position(row).value(),
            PolicyKey::Revisit => u8::from(self.tries[at].is_revisit()).into(),
            PolicyKey::Serverload => self.sites.load(self.site_of(row)).into(),
        }
    }

    fn neighbourhood(&self, at: usize) -> f32 {
        let known = self.neighbourhoods.as_ref().map(|column| column[at]).filter(|known| !known.is_nan());
        known.unwrap_or(self.rows[at].relevance)
    }

    fn compare(&self, keys: &[(PolicyKey, Direction)], a: u32, b: u32) -> Ordering {
        keys.iter().fold(Ordering::Equal, |so_far, &(key, direction)| {
            so_far.then_with(|| {
                let ascending = self.compare_by(key, a, b);
                if direction == Direction::Asc { ascending } else { ascending.reverse() }
            })
        })
    }

    fn compare_by(&self, key: PolicyKey, a: u32, b: u32) -> Ordering {
        let (first, second) = (a as usize, b as usize);
        match key {
            PolicyKey::Numtries => self.tries[first].count().cmp(&self.tries[second].count()),
            PolicyKey::Priority => self.rows[first].priority.total_cmp(&self.rows[second].priority),
            PolicyKey::Relevance => self.rows[first].relevance.total_cmp(&self.rows[second].relevance),
            PolicyKey::Visits => by(&self.visits, |column| column[first].cmp(&column[second])),
            PolicyKey::Lastvisited => by(&self.lastvisited, |column| column[first].cmp(&column[second])),
            PolicyKey::Hub => by(&self.hubs, |column| column[first].total_cmp(&column[second])),
            PolicyKey::Authority => by(&self.auth, |column| column[first].total_cmp(&column[second])),
            PolicyKey::Neighbourhood => self.neighbourhood(first).total_cmp(&self.neighbourhood(second)),
            PolicyKey::Discovered => self.line.compare(a, b),
            PolicyKey::Revisit => self.tries[first].is_revisit().cmp(&self.tries[second].is_revisit()),
            // `serverload` is never among these keys.
            PolicyKey::Serverload => Ordering::Equal,
        }
    }
}

/// Compares rows of one site, which have the same load.
impl HeapOrder for Columns {
    fn before(&self, a: u32, b: u32) -> bool {
        if self.order.plain && self.order.rest.is_empty() {
            let (first, second) = (self.rows[a as usize].priority, self.rows[b as usize].priority);
            return match self.level(a).cmp(&self.level(b)) {
                Ordering::Equal => first > second || (first == second && self.line.compare(a, b).is_lt()),
                levels => levels.is_lt(),
            };
        }
        let rest = || self.compare(&self.order.rest, a, b).then_with(|| self.line.compare(a, b));
        self.compare_heap(a, b).then_with(rest).is_lt()
    }

    fn put(&mut self, row: u32, at: u32) {
        self.rows[row as usize].place = QueuePlace(at);
    }
}

/// The order of discovery. It is that of the rows, except for URLs that were evicted and found again.
#[derive(Debug, Default)]
pub(super) struct Line {
    moved: HashMap<u32, LinePosition>,
    next_serial: u32,
}

/// A place in the line: behind the row `after` and before the next one; by `serial` among those with the same `after`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LinePosition {
    pub(crate) after: u32,
    /// 0 for the row itself.
    pub(crate) serial: u32,
}

impl LinePosition {
    /// As one number, in the same order.
    fn value(self) -> f64 {
        f64::from(self.after) + f64::from(self.serial) / 4_294_967_296.0
    }
}

impl Line {
    pub(super) fn get(&self, row: u32) -> Option<LinePosition> {
        self.moved.get(&row).copied()
    }

    fn position(&self, row: u32) -> LinePosition {
        self.get(row).unwrap_or(LinePosition { after: row, serial: 0 })
    }

    fn compare(&self, a: u32, b: u32) -> Ordering {
        // The usual case: nothing was ever evicted and found again.
        if self.moved.is_empty() { a.cmp(&b) } else { self.position(a).cmp(&self.position(b)) }
    }

    fn append(&mut self, row: u32, after: u32) {
        self.restore(row, LinePosition { after, serial: self.next_serial.max(1) });
    }

    pub(super) fn restore(&mut self, row: u32, position: LinePosition) {
        self.next_serial = self.next_serial.max(position.serial.saturating_add(1));
        self.moved.insert(row, position);
    }
}

/// Number of tries since the URL was queued (6 bits), and two flags about the time before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tries(u8);

impl Tries {
    const MOST: u8 = 0x3f;
    const AGAIN: u8 = 0x40;
    const CAME: u8 = 0x80;

    pub(crate) fn new(count: u32) -> Self {
        Tries(u8::try_from(count).unwrap_or(u8::MAX).min(Tries::MOST))
    }

    pub(crate) fn count(self) -> u8 {
        self.0 & Tries::MOST
    }

    /// Whether the URL was queued again after it was finished.
    pub(crate) fn is_again(self) -> bool {
        self.0 & Tries::AGAIN != 0
    }

    /// Whether a page or a redirect was queued again. A URL that was refused or failed, and is queued again, is new.
    pub(crate) fn is_revisit(self) -> bool {
        self.is_again() && self.has_response()
    }

    /// Whether it ever led to a page or a redirect, so that it is counted in its site's load.
    pub(crate) fn has_response(self) -> bool {
        self.0 & Tries::CAME != 0
    }

    /// Sets the flag for a response, if `came`.
    pub(crate) fn with_response(self, came: bool) -> Self {
        Tries(self.0 | if came { Tries::CAME } else { 0 })
    }

    /// Sets the flag for a URL that was queued again.
    pub(crate) fn as_again(self) -> Self {
        Tries(self.0 | Tries::AGAIN)
    }

    /// Resets the count for a URL that is queued again.
    pub(super) fn reset(self) -> Self {
        Tries(self.0 & Tries::CAME | Tries::AGAIN)
    }

    fn tried(self, came: bool) -> Self {
        Tries(self.0 + u8::from(self.count() < Tries::MOST)).with_response(came)
    }
}

/// Where a URL is: a position in a heap, or one of the marks at the end of the range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QueuePlace(pub(super) u32);

impl QueuePlace {
    pub(super) const FIRST_MARK: u32 = u32::MAX - 15;
    pub(super) const WAITING: QueuePlace = QueuePlace(QueuePlace::FIRST_MARK);
    pub(super) const TAKEN: QueuePlace = QueuePlace(QueuePlace::FIRST_MARK + 1);

    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn at(at: usize) -> QueuePlace {
        QueuePlace(at as u32)
    }

    pub(super) fn done(state: RowState) -> QueuePlace {
        QueuePlace(QueuePlace::TAKEN.0 + state as u32)
    }

    pub(super) fn in_heap(self) -> Option<usize> {
        (self.0 < QueuePlace::FIRST_MARK).then_some(self.0 as usize)
    }

    pub(super) fn state(self) -> RowState {
        RowState::ALL[self.0.saturating_sub(QueuePlace::TAKEN.0) as usize]
    }
}

fn keep<T>(column: &mut Option<Chunked<T>>, needed: bool) {
    if !needed {
        *column = None;
    } else if column.is_none() {
        *column = Some(Chunked::default());
    }
}

fn push<T>(column: &mut Option<Chunked<T>>, value: T) {
    if let Some(column) = column {
        column.push(value);
    }
}

fn fill<T>(column: &mut Option<Chunked<T>>, shorter: impl Fn(usize) -> bool, value: T) {
    if let Some(column) = column.as_mut().filter(|column| shorter(column.len())) {
        column.push(value);
    }
}

fn by<T>(column: &Option<Chunked<T>>, compare: impl Fn(&Chunked<T>) -> Ordering) -> Ordering {
    column.as_ref().map_or(Ordering::Equal, compare)
}

fn seconds(at: Option<Timestamp>) -> u32 {
    let seconds = at.map_or(0, |at| at.0.div_euclid(1000)).clamp(0, i64::from(u32::MAX));
    u32::try_from(seconds).unwrap_or(u32::MAX)
}
