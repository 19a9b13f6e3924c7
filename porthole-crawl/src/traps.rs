//! Traps: URLs that a site makes without end, and sites that say the same thing again and again.
//!
//! Precision comes first: a trap that is missed costs some fetches, an ordinary page that is taken for one
//! is lost. So single URLs are only refused for shapes that nobody gives to a page on purpose, and
//! everything else has to be seen to grow on the site first.

mod dates;
mod fingerprints;
mod shape;
#[cfg(test)]
mod tests;

use std::fmt;
use std::hash::{BuildHasher, Hash};

use foldhash::fast::FixedState;
use porthole_types::{CanonicalUrl, Timestamp, UrlId};

use self::fingerprints::Fingerprints;
use crate::recent::Recent;

/// Why a URL is taken for a trap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trap {
    /// So many bytes.
    Long(usize),
    /// So many path segments.
    Deep(usize),
    /// These path segments follow each other again and again.
    RepeatedSegments(String),
    /// Escapes of escapes of escapes: a URL that carries itself along.
    NestedEscapes,
    /// So many parameters.
    ManyParameters(usize),
    /// This parameter stands there again and again.
    RepeatedParameter(String),
    /// The parameters of a known URL in another order, on a site that does that often.
    PermutedParameters,
    /// Yet another choice of parameters for this path.
    ParameterCombinations(String),
    /// A month far from now, on a site that has had many such.
    Calendar {
        /// The year.
        year: i32,
        /// The month, 1 to 12.
        month: i32,
    },
    /// So many redirects one after the other.
    Redirects(u8),
    /// Nearly all of the last pages, of the site or under one path with changing queries, were
    /// near-duplicates.
    OnlyDuplicates {
        /// So many.
        duplicates: u32,
        /// Of so many.
        pages: u32,
    },
}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trap::Long(bytes) => write!(f, "the URL is {bytes} bytes long"),
            Trap::Deep(segments) => write!(f, "the path has {segments} segments"),
            Trap::RepeatedSegments(segments) => write!(f, "the path repeats `{segments}`"),
            Trap::NestedEscapes => write!(f, "the URL carries URLs within URLs"),
            Trap::ManyParameters(count) => write!(f, "the query has {count} parameters"),
            Trap::RepeatedParameter(parameter) => write!(f, "the query repeats `{parameter}`"),
            Trap::PermutedParameters => write!(f, "the site permutes the parameters of its URLs"),
            Trap::ParameterCombinations(path) => {
                write!(f, "the site combines the parameters of `{path}` without end")
            }
            Trap::Calendar { year, month } => {
                write!(f, "a calendar without end, {year}-{month:02} by now")
            }
            Trap::Redirects(hops) => write!(f, "{hops} redirects one after the other"),
            Trap::OnlyDuplicates { duplicates, pages } => {
                write!(f, "{duplicates} of the last {pages} pages from there were near-duplicates")
            }
        }
    }
}

/// What has been seen of sites and pages, as far as it helps to recognise traps.
///
/// Everything follows from the calls and their order, so nothing of it has to be stored: [`Traps::replay`]
/// makes it anew from what became of the URLs of a stored crawl.
pub struct Traps {
    sites: Recent<SiteHistory>,
    /// The last pages under one path with changing queries: a list without end on a site that is good
    /// otherwise.
    lists: Recent<LastPages>,
    /// How many redirects led to a URL.
    hops: Recent<u8>,
    fingerprints: Fingerprints,
}

/// Sites of which something is remembered, about 4 KB each at worst.
const MAX_SITES: usize = 10_000;
/// Paths with queries of which something is remembered.
const MAX_LISTS: usize = 10_000;
/// Targets of redirects that are remembered, until they have been asked for.
const MAX_TARGETS: usize = 100_000;
/// Redirects one after the other that are followed, as browsers do.
const MAX_HOPS: u8 = 20;
/// Queries a site that are remembered for their permutations.
const MAX_QUERIES: usize = 64;
/// Permutations a site that pass before they are taken for a habit.
const MAX_PERMUTATIONS: usize = 3;
/// Orders of parameters a site, other than the first of the same parameters, that pass. Links are written
/// in two or three orders by hand, and in all of them by a trap.
const MAX_OTHER_ORDERS: usize = 16;
/// Choices of parameters for one path that pass.
const MAX_COMBINATIONS: usize = 48;
/// Choices of parameters a site that are remembered.
const MAX_SHAPES: usize = 128;
/// Months in the far future that pass on one site.
const MAX_FUTURE_MONTHS: usize = 24;
/// Months before the web that pass on one site: newspapers have archives.
const MAX_PAST_MONTHS: usize = 240;
/// The last pages of a site that are looked at, and how many are needed for a judgment.
const DUPLICATE_WINDOW: u32 = 64;
const MIN_PAGES: u32 = 32;

impl Default for Traps {
    fn default() -> Self {
        Traps::new(1 << 18)
    }
}

impl Traps {
    /// Remembers the fingerprints of so many pages, at 36 bytes each.
    pub fn new(max_fingerprints: usize) -> Self {
        Traps {
            sites: Recent::new(MAX_SITES),
            lists: Recent::new(MAX_LISTS),
            hops: Recent::new(MAX_TARGETS),
            fingerprints: Fingerprints::new(max_fingerprints),
        }
    }

    /// Judges a URL before it is fetched. What a site does is counted; a URL that passed once and is asked
    /// about again, because its fetch failed, passes again and counts once.
    pub fn check(&mut self, url: &CanonicalUrl, now: Timestamp) -> Option<Trap> {
        if let Some(trap) = shape::trap(url).or_else(|| self.only_duplicates(url)) {
            return Some(trap);
        }
        let far = dates::far_month(url, now);
        let query = url.query().filter(|query| query.contains('='));
        let id = url.site().0;
        // Most sites have nothing to be remembered for.
        let site = if far.is_some() || query.is_some() {
            self.sites.get_or_default(id)
        } else {
            self.sites.get(id)?
        };
        query
            .and_then(|query| site.query_trap(url.path(), query))
            .or_else(|| far.and_then(|far| site.calendar_trap(far)))
    }

    /// Whether the place that a URL is at yields nothing but near-duplicates by now. To be asked again
    /// before a fetch, as often as one likes: a queue may have filled up before that was seen.
    pub fn only_duplicates(&mut self, url: &CanonicalUrl) -> Option<Trap> {
        let list = list_of(url).and_then(|list| self.lists.get(list)?.trap());
        list.or_else(|| self.sites.get(url.site().0)?.last_pages.trap())
    }

    /// Judges a redirect: a chain of them has to end, and this one leads no further if there is a trap. Its
    /// target may be a page like others, known from elsewhere, and is not judged. After a restart the count
    /// starts anew, which makes a chain longer and not endless.
    pub fn redirected(&mut self, from: &CanonicalUrl, to: &CanonicalUrl) -> Option<Trap> {
        let hops = self.hops.get(from.id().0).map_or(0, |hops| *hops) + 1;
        if hops > MAX_HOPS {
            return Some(Trap::Redirects(hops));
        }
        self.hops.put(to.id().0, hops, 1);
        None
    }

    /// Takes note of a page that was read, by its 64-bit simhash. Gives the page that it nearly repeats, if
    /// there is one within a Hamming distance of 3. A page without text (0) is neither.
    pub fn page(&mut self, url: &CanonicalUrl, simhash: u64) -> Option<UrlId> {
        if simhash == 0 {
            return None;
        }
        let oid = url.id();
        let original = self.fingerprints.near(simhash).filter(|&original| original != oid);
        if original.is_none() {
            self.fingerprints.insert(simhash, oid);
        }
        self.sites.get_or_default(url.site().0).last_pages.push(original.is_some());
        if let Some(list) = list_of(url) {
            self.lists.get_or_default(list).push(original.is_some());
        }
        original
    }

    /// Goes through what happened in an earlier run: one call for each URL that was judged and has a result,
    /// in the order of their sequence numbers, `at` the time of the result. `simhash` is 0 for what is no page
    /// with text. What was left out before it was judged, for scope or robots.txt, is left out here.
    pub fn replay(&mut self, url: &CanonicalUrl, simhash: u64, at: Timestamp) {
        self.check(url, at);
        self.page(url, simhash);
    }
}

/// Which of the paths with changing queries a URL belongs to.
fn list_of(url: &CanonicalUrl) -> Option<u64> {
    url.query().map(|_| hash(&(url.site().0, url.path())))
}

/// Which of the last pages were near-duplicates.
#[derive(Default)]
struct LastPages {
    /// A bit a page, the latest lowest, set for a near-duplicate.
    duplicates: u64,
    /// How many of those bits are pages.
    pages: u32,
}

impl LastPages {
    fn push(&mut self, is_duplicate: bool) {
        self.duplicates = self.duplicates << 1 | u64::from(is_duplicate);
        self.pages = (self.pages + 1).min(DUPLICATE_WINDOW);
    }

    fn trap(&self) -> Option<Trap> {
        let duplicates = self.duplicates.count_ones();
        let is_trap = self.pages >= MIN_PAGES && duplicates * 20 >= self.pages * 19;
        is_trap.then_some(Trap::OnlyDuplicates { duplicates, pages: self.pages })
    }
}

/// What is remembered of one site.
#[derive(Default)]
struct SiteHistory {
    last_pages: LastPages,
    /// Hashes of queries that are permutations of others and passed.
    permutations: Vec<u64>,
    /// Hashes of queries without and with their order, a ring.
    queries: Vec<(u64, u64)>,
    next_query: usize,
    shapes: Vec<Shape>,
    /// Hashes of the orders in which parameters came that had come in another order before.
    other_orders: Vec<u32>,
    far_months: Vec<dates::Month>,
}

/// Hashes of a path, of the names of its parameters, and of these in their first order.
struct Shape {
    path: u32,
    names: u32,
    order: u32,
}

impl SiteHistory {
    fn query_trap(&mut self, path: &str, query: &str) -> Option<Trap> {
        let mut parameters: Vec<&str> = query.split('&').collect();
        self.combination(path, &parameters).or_else(|| {
            let ordered = hash(&(path, &parameters));
            parameters.sort_unstable();
            self.permutation(hash(&(path, &parameters)), ordered)
        })
    }

    /// Facets that can be switched on and off have 2^n addresses, and n! times that in any order.
    fn combination(&mut self, path: &str, parameters: &[&str]) -> Option<Trap> {
        let mut names: Vec<&str> =
            parameters.iter().map(|parameter| parameter.split('=').next().unwrap_or_default()).collect();
        let order = low_half(hash(&(path, &names)));
        names.sort_unstable();
        let shape = Shape { path: low_half(hash(path)), names: low_half(hash(&(path, &names))), order };
        if let Some(known) = self.shapes.iter().find(|known| known.names == shape.names) {
            return if known.order == order { None } else { self.other_order(order) };
        }
        if self.shapes.iter().filter(|known| known.path == shape.path).count() >= MAX_COMBINATIONS {
            return Some(Trap::ParameterCombinations(path.to_owned()));
        }
        if self.shapes.len() < MAX_SHAPES {
            self.shapes.push(shape);
        }
        None
    }

    fn other_order(&mut self, order: u32) -> Option<Trap> {
        let passes = pass_or_remember(&mut self.other_orders, order, MAX_OTHER_ORDERS);
        (!passes).then_some(Trap::PermutedParameters)
    }

    fn permutation(&mut self, unordered: u64, ordered: u64) -> Option<Trap> {
        match self.queries.iter().find(|(known, _)| *known == unordered) {
            Some((_, known)) if *known == ordered => None,
            Some(_) => {
                let passes = pass_or_remember(&mut self.permutations, ordered, MAX_PERMUTATIONS);
                (!passes).then_some(Trap::PermutedParameters)
            }
            None => {
                if self.queries.len() < MAX_QUERIES {
                    self.queries.push((unordered, ordered));
                } else {
                    self.queries[self.next_query] = (unordered, ordered);
                    self.next_query = (self.next_query + 1) % MAX_QUERIES;
                }
                None
            }
        }
    }

    fn calendar_trap(&mut self, month: dates::Month) -> Option<Trap> {
        if self.far_months.contains(&month) {
            return None;
        }
        let max = if month.is_future { MAX_FUTURE_MONTHS } else { MAX_PAST_MONTHS };
        if self.far_months.iter().filter(|known| known.is_future == month.is_future).count() >= max {
            return Some(Trap::Calendar { year: month.year(), month: month.month() });
        }
        self.far_months.push(month);
        None
    }
}

/// Whether something passed before or is among the first so many.
fn pass_or_remember<T: PartialEq>(passed: &mut Vec<T>, new: T, max: usize) -> bool {
    if passed.contains(&new) {
        return true;
    }
    let has_room = passed.len() < max;
    if has_room {
        passed.push(new);
    }
    has_room
}

/// In memory only, and the same in every run.
fn hash(value: &(impl Hash + ?Sized)) -> u64 {
    FixedState::default().hash_one(value)
}

fn low_half(hash: u64) -> u32 {
    (hash & u64::from(u32::MAX)) as u32
}
