//! Recognises traps: URLs that a site generates without end, and sites that serve the same content under many URLs.
//!
//! Precision matters more than recall: a missed trap costs some fetches, but a good page taken for a trap is lost. So
//! single URLs are refused only for shapes that no real page has. Everything else must be observed to grow on the
//! site first.

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
    /// The URL has this many bytes.
    Long(usize),
    /// The path has this many segments.
    Deep(usize),
    /// These path segments repeat.
    RepeatedSegments(String),
    /// Repeatedly escaped: a URL that contains itself.
    NestedEscapes,
    /// The query has this many parameters.
    ManyParameters(usize),
    /// This parameter repeats.
    RepeatedParameter(String),
    /// The parameters of a known URL in another order, on a site that does this often.
    PermutedParameters,
    /// Another combination of parameters for this path.
    ParameterCombinations(String),
    /// A month far from now, on a site that has many of them.
    Calendar {
        /// The year.
        year: i32,
        /// The month, 1 to 12.
        month: i32,
    },
    /// This many redirects in a row.
    Redirects(u8),
    /// Nearly all of the last pages, of the site or under one path with varying queries, were near-duplicates.
    OnlyDuplicates {
        /// Number of near-duplicates.
        duplicates: u32,
        /// Number of pages.
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
                write!(f, "the site combines the parameters of `{path}` endlessly")
            }
            Trap::Calendar { year, month } => {
                write!(f, "an endless calendar, at {year}-{month:02}")
            }
            Trap::Redirects(hops) => write!(f, "{hops} redirects in a row"),
            Trap::OnlyDuplicates { duplicates, pages } => {
                write!(f, "{duplicates} of the last {pages} pages from there were near-duplicates")
            }
        }
    }
}

/// What has been observed of sites and pages to recognise traps.
///
/// The state follows from the calls and their order, so it need not be stored: [`Traps::replay`] rebuilds it from a
/// stored crawl.
pub struct Traps {
    sites: Recent<SiteHistory>,
    /// The last pages under one path with varying queries, for an endless list on an otherwise good site.
    lists: Recent<LastPages>,
    /// Number of redirects that led to a URL.
    hops: Recent<u8>,
    fingerprints: Fingerprints,
}

/// Maximum number of sites remembered, at most about 4 KB each.
const MAX_SITES: usize = 10_000;
/// Maximum number of paths with queries remembered.
const MAX_LISTS: usize = 10_000;
/// Maximum number of redirect targets remembered until they are fetched.
const MAX_TARGETS: usize = 100_000;
/// Maximum length of a redirect chain, as in browsers.
const MAX_HOPS: u8 = 20;
/// Number of queries per site among which permutations are recognised.
const MAX_QUERIES: usize = 64;
/// Number of permutations accepted per site.
const MAX_PERMUTATIONS: usize = 3;
/// Number of parameter orders accepted per site, besides the first order of the same parameters. People write links
/// in two or three orders, traps in all of them.
const MAX_OTHER_ORDERS: usize = 16;
/// Number of parameter combinations accepted per path.
const MAX_COMBINATIONS: usize = 48;
/// Number of parameter combinations remembered per site.
const MAX_SHAPES: usize = 128;
/// Number of months in the far future accepted per site.
const MAX_FUTURE_MONTHS: usize = 24;
/// Number of months before the web accepted per site: newspapers have archives.
const MAX_PAST_MONTHS: usize = 240;
/// Number of last pages examined, and the minimum for a decision.
const DUPLICATE_WINDOW: u32 = 64;
const MIN_PAGES: u32 = 32;

impl Default for Traps {
    fn default() -> Self {
        Traps::new(1 << 18)
    }
}

impl Traps {
    /// Creates the state with fingerprints of up to `max_fingerprints` pages, at 36 bytes each.
    pub fn new(max_fingerprints: usize) -> Self {
        Traps {
            sites: Recent::new(MAX_SITES),
            lists: Recent::new(MAX_LISTS),
            hops: Recent::new(MAX_TARGETS),
            fingerprints: Fingerprints::new(max_fingerprints),
        }
    }

    /// Checks a URL before it is fetched, and counts what the site does. A URL that was accepted is accepted again
    /// after a failed fetch, and counts once.
    pub fn check(&mut self, url: &CanonicalUrl, now: Timestamp) -> Option<Trap> {
        if let Some(trap) = shape::trap(url).or_else(|| self.only_duplicates(url)) {
            return Some(trap);
        }
        let far = dates::far_month(url, now);
        let query = url.query().filter(|query| query.contains('='));
        let id = url.site().0;
        // Most sites need no entry.
        let site = if far.is_some() || query.is_some() {
            self.sites.get_or_default(id)
        } else {
            self.sites.get(id)?
        };
        query
            .and_then(|query| site.query_trap(url.path(), query))
            .or_else(|| far.and_then(|far| site.calendar_trap(far)))
    }

    /// Whether the place of a URL yields only near-duplicates by now. This can be checked again before a fetch,
    /// because URLs may have been queued before it was known.
    pub fn only_duplicates(&mut self, url: &CanonicalUrl) -> Option<Trap> {
        let list = list_of(url).and_then(|list| self.lists.get(list)?.trap());
        list.or_else(|| self.sites.get(url.site().0)?.last_pages.trap())
    }

    /// Checks a redirect. A chain that is too long is a trap. The target is not affected, because it may be a page
    /// known from elsewhere. After a restart counting begins again, which makes a chain longer, but not endless.
    pub fn redirected(&mut self, from: &CanonicalUrl, to: &CanonicalUrl) -> Option<Trap> {
        let hops = self.hops.get(from.id().0).map_or(0, |hops| *hops) + 1;
        if hops > MAX_HOPS {
            return Some(Trap::Redirects(hops));
        }
        self.hops.put(to.id().0, hops, 1);
        None
    }

    /// Records a page by its 64-bit simhash. Returns the page that it nearly duplicates, if there is one within a
    /// Hamming distance of 3. A page without text (0) is ignored.
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

    /// Replays an earlier run: call it for each URL that was checked and has a result, in the order of sequence
    /// numbers. `at` is the time of the result, `simhash` is 0 for anything but a page with text. URLs that were
    /// refused before the check, for scope or robots.txt, are left out.
    pub fn replay(&mut self, url: &CanonicalUrl, simhash: u64, at: Timestamp) {
        self.check(url, at);
        self.page(url, simhash);
    }
}

/// The path with varying queries that a URL belongs to.
fn list_of(url: &CanonicalUrl) -> Option<u64> {
    url.query().map(|_| hash(&(url.site().0, url.path())))
}

/// Which of the last pages were near-duplicates.
#[derive(Default)]
struct LastPages {
    /// One bit per page, the latest lowest, set for a near-duplicate.
    duplicates: u64,
    /// Number of valid bits.
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

/// What is remembered of a site.
#[derive(Default)]
struct SiteHistory {
    last_pages: LastPages,
    /// Hashes of accepted queries that are permutations of others.
    permutations: Vec<u64>,
    /// Hashes of queries without and with their order, as a ring buffer.
    queries: Vec<(u64, u64)>,
    next_query: usize,
    shapes: Vec<Shape>,
    /// Hashes of parameter orders that differ from the first order of the same parameters.
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

    /// Facets that can be switched on and off have 2^n URLs, and n! times as many in any order.
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

/// Whether `new` was accepted before, or is among the first `max`.
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
