//! Builds the strategies of an experiment from their names.

use porthole_page::Link;
use porthole_strategy::apprentice::Lessons;
use porthole_strategy::{CrawlGoal, Discipline, SourcePage, Strategy};
use porthole_types::{CanonicalUrl, UrlId};

use super::labelled::LabelledWeb;
use super::oracle::Oracle;
use super::target::CrawlTarget;

/// Inputs from which strategies are built.
pub(super) struct Knowledge<'a> {
    /// Random seed.
    pub(super) seed: u64,
    /// The whole web, for oracles only.
    pub(super) web: &'a LabelledWeb,
    pub(super) target: &'a CrawlTarget,
    /// Lessons that an apprentice starts from.
    pub(super) lessons: Option<Lessons>,
}

/// Builds the strategy with this name.
pub(super) fn strategy(name: &str, known: &Knowledge<'_>) -> Option<Box<dyn Strategy>> {
    match name {
        "oracle" => Some(Box::new(Oracle::one_step(known.web, known.target))),
        "look-ahead" => Some(Box::new(Oracle::look_ahead(known.web, known.target))),
        _ => {
            let goal = CrawlGoal { lessons: known.lessons.clone(), ..known.target.goal(known.seed) };
            porthole_strategy::named(name, &goal).ok()
        }
    }
}

/// Checks the name of a strategy.
pub(super) fn checked(name: &str) -> Result<(), String> {
    match ORACLES.contains(&name) {
        true => Ok(()),
        false => porthole_strategy::checked(name).map(drop).map_err(|error| error.to_string()),
    }
}

/// Strategies that only the lab has.
pub(super) const ORACLES: [&str; 2] = ["oracle", "look-ahead"];

/// Restricts a strategy to some URLs: to those that another one fetched, all of which it fetches eventually, as the
/// recall crawler (A 3.6), or to a half of the hosts.
pub(super) struct RestrictedStrategy {
    inner: Box<dyn Strategy>,
    is_allowed: Allowed,
}

type Allowed = Box<dyn Fn(&CanonicalUrl) -> bool + Send>;

impl RestrictedStrategy {
    pub(super) fn new(inner: Box<dyn Strategy>, is_allowed: Allowed) -> Self {
        RestrictedStrategy { inner, is_allowed }
    }
}

/// Priority of links that the inner strategy would not follow.
const LAST: f64 = -1e9;

impl Strategy for RestrictedStrategy {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn discipline(&self) -> Discipline {
        // Nothing may be evicted, because all allowed URLs have to be fetched.
        Discipline { bound: None, ..self.inner.discipline() }
    }

    fn choose(&mut self, n: usize) -> Vec<UrlId> {
        self.inner.choose(n)
    }

    fn arrived(&mut self, source: &SourcePage<'_>) {
        self.inner.arrived(source);
    }

    fn settled(&mut self, url: &CanonicalUrl) {
        self.inner.settled(url);
    }

    fn rescored(&mut self) -> Vec<(UrlId, f64)> {
        self.inner.rescored()
    }

    fn set_rescore_chunk(&mut self, piece: usize) {
        self.inner.set_rescore_chunk(piece);
    }

    fn rescore_all(&mut self) {
        self.inner.rescore_all();
    }

    fn priority(&mut self, source: &SourcePage<'_>, link: &Link) -> Option<f64> {
        let priority = self.inner.priority(source, link).unwrap_or(LAST);
        (self.is_allowed)(&link.target).then_some(priority)
    }
}
