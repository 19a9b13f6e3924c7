//! Strategies that know a part of the true labels, to find out what causes the difference to the oracle: errors of the
//! critic, missing information in links, or learning too late.

use std::sync::Arc;

use porthole_page::Link;
use porthole_strategy::{SourcePage, Strategy};
use porthole_types::{Judgment, UrlId};

use super::target::CrawlTarget;
use super::wrapped::{StrategyHooks, WrappedStrategy};

/// The part of the true labels that a strategy knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Informed {
    /// `+truth`, a perfect critic: a fetched page has R 1 if it is about the topic, and else 0. The words of links are
    /// still judged by the trained critic.
    pub(super) truth: bool,
    /// `+told`, feedback without delay: the strategy learns what each link leads to as soon as it has scored it, not when
    /// the target is fetched.
    pub(super) told: bool,
}

/// Values of pages, whether they were fetched or not.
pub(super) type Values = Arc<dyn Fn(UrlId) -> f64 + Send + Sync>;

/// A strategy with a part of the true labels.
pub(super) struct Informant {
    informed: Informed,
    /// 1 for pages about the topic, else 0.
    truth: Values,
    /// R of pages by the guiding critic.
    critic: Values,
}

impl Informant {
    /// The strategy with its knowledge about a target.
    pub(super) fn of(
        inner: Box<dyn Strategy>,
        informed: Informed,
        target: &CrawlTarget,
    ) -> Box<dyn Strategy> {
        let (pages, judgments) = (target.pages.clone(), target.judgments());
        let truth = Arc::new(move |url| f64::from(pages.contains(&url)));
        let critic =
            Arc::new(move |url| judgments.get(&url).map_or(0.0, |judgment: &Judgment| judgment.relevance));
        Box::new(WrappedStrategy::new(inner, Informant { informed, truth, critic }))
    }
}

impl StrategyHooks for Informant {
    fn source<'a>(&self, source: &SourcePage<'a>) -> SourcePage<'a> {
        if !self.informed.truth {
            return *source;
        }
        let relevance = (self.truth)(source.url.id());
        let judgment = Judgment { relevance, ..source.judgment };
        SourcePage { judgment, on_topic: relevance > 0.5, ..*source }
    }

    fn priority(&self, inner: &mut dyn Strategy, source: &SourcePage<'_>, link: &Link) -> Option<f64> {
        let priority = inner.priority(source, link);
        if self.informed.told {
            let target = link.target.id();
            let relevance = if self.informed.truth { (self.truth)(target) } else { (self.critic)(target) };
            inner.foretold(target, relevance);
        }
        priority
    }
}

#[cfg(test)]
mod tests {
    use porthole_page::Extractor;
    use porthole_strategy::{CrawlGoal, Soft};
    use porthole_types::{CanonicalUrl, Headers, TopicId};

    use super::*;

    /// The priority of the link to `/x` of a page with R 0.3, after it was scored several times.
    fn priority(inner: Box<dyn Strategy>, informed: Informed, truth: f64) -> f64 {
        let informant = Informant { informed, truth: Arc::new(move |_| truth), critic: Arc::new(|_| 1.0) };
        let mut strategy = WrappedStrategy::new(inner, informant);
        let url = CanonicalUrl::parse("http://a.test/").unwrap();
        let html = b"<p><a href=/x>owl</a>";
        let page = Extractor::default().extract(&url, &Headers::new(), html);
        let judgment = Judgment { relevance: 0.3, best: TopicId(1) };
        let source = SourcePage { url: &url, page: &page, judgment, on_topic: false, depth: 0 };
        strategy.arrived(&source);
        let mut priority = 0.0;
        for _ in 0..9 {
            priority = strategy.priority(&source, &page.links[0]).unwrap();
        }
        priority
    }

    #[test]
    fn a_perfect_critic_judges_the_source() {
        let truth = Informed { truth: true, ..Informed::default() };
        assert_eq!(priority(Box::new(Soft), truth, 1.0), 1.0);
        assert_eq!(priority(Box::new(Soft), truth, 0.0), 0.0);
        assert_eq!(priority(Box::new(Soft), Informed::default(), 1.0), 0.3);
    }

    #[test]
    fn feedback_without_delay_changes_a_learner_before_anything_is_fetched() {
        let learner = || porthole_strategy::named("porthole", &CrawlGoal::nothing(1)).unwrap();
        let told = Informed { told: true, ..Informed::default() };
        let before = priority(learner(), Informed::default(), 0.0);
        assert!(priority(learner(), told, 0.0) > before);
        let both = Informed { truth: true, told: true };
        assert!(priority(learner(), both, 0.0) < before);
    }
}
