//! A change of scope: URLs that the scope before refused, and the present one admits, are queued again.

use porthole_store::{Batch, RowTable, SkippedUrl};
use porthole_types::{CanonicalUrl, FailureKind, UrlId};

use super::Writer;
use crate::engine::crawl::CrawlError;

/// The setting with the rules of the scope that skipped URLs were refused by.
const SCOPE: &str = "crawl.scope";

/// Rows of `crawl` that are read at once.
const ROWS: u64 = 4_096;

impl Writer<'_> {
    /// Queues refused URLs again if the scope has changed since they were refused. Returns their number. A URL that is out
    /// of scope for its depth or its site's number of pages may be queued, and refused again when its turn comes.
    pub(crate) fn requeue_admitted(&mut self) -> Result<usize, CrawlError> {
        let rules = self.admission.scope.rules_as_text();
        if self.store.setting(SCOPE)?.as_deref() == Some(&rules) {
            return Ok(0);
        }
        let mut queued = 0;
        let last = self.store.reader().last_row(RowTable::Crawl)?;
        for first in (1..=last).step_by(ROWS as usize) {
            let skipped = self.store.reader().skipped(first..=last.min(first + ROWS - 1))?;
            let admitted: Vec<UrlId> = skipped.iter().filter_map(|url| self.now_admitted(url)).collect();
            if !admitted.is_empty() {
                queued += self.store.queue_again(&admitted)?;
            }
        }
        self.store.commit(&Batch { settings: &[(SCOPE, &rules)], ..Batch::default() })?;
        Ok(queued)
    }

    /// The id of a URL that was refused because of the scope, if the scope admits it now.
    fn now_admitted(&self, skipped: &SkippedUrl) -> Option<UrlId> {
        let scope = &self.admission.scope;
        if skipped.failure.as_deref() != Some(FailureKind::Scope.name()) {
            return None;
        }
        // A page that was fetched was refused because of its language.
        let was_fetched = skipped.status.is_some_and(|status| status > 0);
        let url = CanonicalUrl::parse(&skipped.url).ok()?;
        let is_admitted = scope.admits(&url, 0, 0).is_ok() && !(was_fetched && scope.has_languages());
        is_admitted.then(|| url.id())
    }
}
