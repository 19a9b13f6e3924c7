//! Builds the strategies of an experiment from their names.

use porthole_page::Link;
use porthole_strategy::apprentice::Lessons;
use porthole_strategy::{CrawlGoal, Discipline, SourcePage, Strategy};
use porthole_types::CanonicalUrl;

use super::labelled::LabelledWeb;
use super::oracle::Oracle;
use super::target::CrawlTarget;
use super::wrapped::{StrategyHooks, WrappedStrategy};

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
        "foresight" => Some(Box::new(Oracle::foresight(known.web, known.target))),
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
pub(super) const ORACLES: [&str; 3] = ["oracle", "look-ahead", "foresight"];

/// Restricts a strategy to some URLs: to those that another one fetched, all of which it fetches eventually, as the
/// recall crawler (A 3.6), or to a half of the hosts.
pub(super) struct Restriction {
    is_allowed: Allowed,
}

type Allowed = Box<dyn Fn(&CanonicalUrl) -> bool + Send>;

impl Restriction {
    pub(super) fn of(inner: Box<dyn Strategy>, is_allowed: Allowed) -> Box<dyn Strategy> {
        Box::new(WrappedStrategy::new(inner, Restriction { is_allowed }))
    }
}

/// Priority of links that the inner strategy would not follow.
const LAST: f64 = -1e9;

impl StrategyHooks for Restriction {
    fn discipline(&self, inner: Discipline) -> Discipline {
        // Nothing may be evicted, because all allowed URLs have to be fetched.
        Discipline { bound: None, ..inner }
    }

    fn priority(&self, inner: &mut dyn Strategy, source: &SourcePage<'_>, link: &Link) -> Option<f64> {
        let priority = inner.priority(source, link).unwrap_or(LAST);
        self.is_followed(link).then_some(priority)
    }

    fn is_followed(&self, link: &Link) -> bool {
        (self.is_allowed)(&link.target)
    }
}

#[cfg(test)]
mod tests {
    use porthole_page::Extractor;
    use porthole_types::{Headers, Judgment, TopicId, UrlId};

    use super::*;

    #[test]
    fn a_restricted_strategy_arranges_explains_saves_and_restores_as_the_free_one() {
        let goal = CrawlGoal::nothing(3);
        for name in ["best-3:rank=kwpr", "rl-spider", "porthole", "cho-hot"] {
            let free = || porthole_strategy::named(name, &goal).unwrap();
            let kept = || Restriction::of(free(), Box::new(|url| url.path() != "/not"));
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
