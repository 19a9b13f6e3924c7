//! A strategy inside another: all calls are forwarded, except those that the hooks change.

use porthole_page::Link;
use porthole_strategy::{Discipline, Part, SourcePage, StateError, Strategy};
use porthole_types::{CanonicalUrl, UrlId};

/// Differences from the inner strategy.
pub(super) trait StrategyHooks: Send {
    /// The discipline, given that of the inner strategy.
    fn discipline(&self, inner: Discipline) -> Discipline {
        inner
    }

    /// A page as the inner strategy sees it.
    fn source<'a>(&self, source: &SourcePage<'a>) -> SourcePage<'a> {
        *source
    }

    /// Priority of a link of a page, as the inner strategy sees it.
    fn priority(&self, inner: &mut dyn Strategy, source: &SourcePage<'_>, link: &Link) -> Option<f64>;

    /// Whether a link may be followed, so that it can be explained.
    fn is_followed(&self, link: &Link) -> bool {
        let _ = link;
        true
    }
}

/// A strategy with hooks.
pub(super) struct WrappedStrategy<H> {
    inner: Box<dyn Strategy>,
    hooks: H,
}

impl<H: StrategyHooks> WrappedStrategy<H> {
    pub(super) fn new(inner: Box<dyn Strategy>, hooks: H) -> Self {
        WrappedStrategy { inner, hooks }
    }
}

// A method that is forgotten here would silently have its default.
#[deny(clippy::missing_trait_methods)]
impl<H: StrategyHooks> Strategy for WrappedStrategy<H> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn discipline(&self) -> Discipline {
        self.hooks.discipline(self.inner.discipline())
    }

    fn choose(&mut self, n: usize) -> Vec<UrlId> {
        self.inner.choose(n)
    }

    fn arrange(&mut self, batch: &mut [UrlId]) {
        self.inner.arrange(batch);
    }

    fn arrived(&mut self, source: &SourcePage<'_>) {
        self.inner.arrived(&self.hooks.source(source));
    }

    fn settled(&mut self, url: &CanonicalUrl) {
        self.inner.settled(url);
    }

    fn foretold(&mut self, url: UrlId, relevance: f64) {
        self.inner.foretold(url, relevance);
    }

    fn priority(&mut self, source: &SourcePage<'_>, link: &Link) -> Option<f64> {
        self.hooks.priority(&mut *self.inner, &self.hooks.source(source), link)
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

    fn explain(&mut self, source: &SourcePage<'_>, link: &Link) -> Vec<Part> {
        let seen = self.hooks.source(source);
        if self.hooks.is_followed(link) { self.inner.explain(&seen, link) } else { Vec::new() }
    }

    fn save(&self) -> Option<Vec<u8>> {
        self.inner.save()
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), StateError> {
        self.inner.restore(saved)
    }
}
