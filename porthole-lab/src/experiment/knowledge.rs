//! From the name of a strategy to the strategy: the one place where an experiment makes them.

use porthole_page::Link;
use porthole_strategy::apprentice::Lessons;
use porthole_strategy::{Aim, Discipline, Source, Strategy};
use porthole_types::{CanonicalUrl, UrlId};

use super::labelled::LabelledWeb;
use super::oracle::Oracle;
use super::target::Target;

/// What a strategy may be made from.
pub(super) struct Knowledge<'a> {
    /// For those that draw.
    pub(super) seed: u64,
    /// For oracles alone.
    pub(super) web: &'a LabelledWeb,
    pub(super) target: &'a Target,
    /// What an apprentice begins with.
    pub(super) lessons: Option<Lessons>,
}

/// The strategy of that name.
pub(super) fn strategy(name: &str, known: &Knowledge<'_>) -> Option<Box<dyn Strategy>> {
    match name {
        "oracle" => Some(Box::new(Oracle::one_step(known.web, known.target))),
        "look-ahead" => Some(Box::new(Oracle::look_ahead(known.web, known.target))),
        _ => {
            let aim = Aim { lessons: known.lessons.clone(), ..known.target.aim(known.seed) };
            porthole_strategy::named(name, &aim).ok()
        }
    }
}

/// What is wrong with a name, if there is no strategy of that name.
pub(super) fn checked(name: &str) -> Result<(), String> {
    match ORACLES.contains(&name) {
        true => Ok(()),
        false => porthole_strategy::checked(name).map(drop).map_err(|error| error.to_string()),
    }
}

/// Strategies that only the lab has.
pub(super) const ORACLES: [&str; 2] = ["oracle", "look-ahead"];

/// Keeps a strategy to some URLs: to what another one fetched, all of which it fetches in the end, as the recall crawler
/// (A 3.6), or to a half of the hosts.
pub(super) struct Within {
    inner: Box<dyn Strategy>,
    is_allowed: Allowed,
}

type Allowed = Box<dyn Fn(&CanonicalUrl) -> bool + Send>;

impl Within {
    pub(super) fn new(inner: Box<dyn Strategy>, is_allowed: Allowed) -> Self {
        Within { inner, is_allowed }
    }
}

/// What the strategy would not follow comes last.
const LAST: f64 = -1e9;

impl Strategy for Within {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn discipline(&self) -> Discipline {
        // Nothing may be lost, so nothing is evicted.
        Discipline { bound: None, ..self.inner.discipline() }
    }

    fn choose(&mut self, n: usize) -> Vec<UrlId> {
        self.inner.choose(n)
    }

    fn arrived(&mut self, source: &Source<'_>) {
        self.inner.arrived(source);
    }

    fn settled(&mut self, url: &CanonicalUrl) {
        self.inner.settled(url);
    }

    fn rescored(&mut self) -> Vec<(UrlId, f64)> {
        self.inner.rescored()
    }

    fn in_pieces(&mut self, piece: usize) {
        self.inner.in_pieces(piece);
    }

    fn score_all_anew(&mut self) {
        self.inner.score_all_anew();
    }

    fn priority(&mut self, source: &Source<'_>, link: &Link) -> Option<f64> {
        let priority = self.inner.priority(source, link).unwrap_or(LAST);
        (self.is_allowed)(&link.target).then_some(priority)
    }
}
