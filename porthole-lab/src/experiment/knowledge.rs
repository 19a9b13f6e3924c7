//! Builds the strategies of an experiment from their names.

use porthole_page::Link;
use porthole_strategy::apprentice::Lessons;
use porthole_strategy::{CrawlGoal, Discipline, Part, SourcePage, StateError, Strategy};
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

// Everything that is not restricted is forwarded: a method that is forgotten is an error.
#[deny(clippy::missing_trait_methods)]
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

    fn arrange(&mut self, batch: &mut [UrlId]) {
        self.inner.arrange(batch);
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

    fn explain(&mut self, source: &SourcePage<'_>, link: &Link) -> Vec<Part> {
        if (self.is_allowed)(&link.target) { self.inner.explain(source, link) } else { Vec::new() }
    }

    fn save(&self) -> Option<Vec<u8>> {
        self.inner.save()
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), StateError> {
        self.inner.restore(saved)
    }
}

#[cfg(test)]
mod tests {
    use porthole_page::Extractor;
    use porthole_types::{Headers, Judgment, TopicId};

    use super::*;

    #[test]
    fn a_restricted_strategy_arranges_explains_saves_and_restores_as_the_free_one() {
        let goal = CrawlGoal::nothing(3);
        for name in ["best-3:rank=kwpr", "rl-spider", "porthole", "cho-hot"] {
            let free = || porthole_strategy::named(name, &goal).unwrap();
            let kept = || RestrictedStrategy::new(free(), Box::new(|url| url.path() != "/not"));
            let (mut free, mut restricted) = (free(), kept());
            let url = CanonicalUrl::parse("http://a.test/").unwrap();
            let html = b"<title>owls</title><p>hawk <a href=/x>owl</a> <a href=/not>cat</a>";
            let page = Extractor::default().extract(&url, &Headers::new(), html);
            let judgment = Judgment { relevance: 0.7, best: TopicId(1) };
            let source = SourcePage { url: &url, page: &page, judgment, on_topic: true, depth: 0 };
            free.arrived(&source);
            restricted.arrived(&source);
            let ids: Vec<UrlId> = (0..50).map(UrlId).collect();
            let (mut one, mut other) = (ids.clone(), ids);
            free.arrange(&mut one);
            restricted.arrange(&mut other);
            assert_eq!(one, other, "{name}");
            assert_eq!(
                free.explain(&source, &page.links[0]),
                restricted.explain(&source, &page.links[0]),
                "{name}"
            );
            assert!(restricted.explain(&source, &page.links[1]).is_empty(), "{name}");
            let saved = free.save().expect("these have state");
            assert_eq!(restricted.save().as_ref(), Some(&saved), "{name}");
            let mut resumed = kept();
            resumed.restore(&saved).unwrap();
            assert_eq!(resumed.save(), Some(saved), "{name}");
        }
    }
}
