//! `--preview` of scope rules: what they would remove from the queue, and which fetched pages they match. Only reads.

use std::path::Path;
use std::time::{Duration, Instant};

use porthole_crawl::{Scope, ScopeSettings};
use porthole_store::{KnownUrl, RowTable, StoreReader};
use porthole_types::CanonicalUrl;
use serde::Serialize;

use crate::output::{self, Paint, count, misuse, plain};
use crate::workspace::Workspace;

/// Rows that are read at once.
const CHUNK: u64 = 8_192;

/// Time after which the rest is estimated.
const PATIENCE: Duration = Duration::from_secs(4);

/// Examples shown of queued URLs and of pages.
const EXAMPLES: usize = 8;

/// What scope rules would do.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
struct ScopePreview {
    /// Queued URLs that are out of scope: they would never be fetched.
    queued_removed: u64,
    queued: u64,
    /// Fetched pages that are out of scope. They stay.
    fetched_matching: u64,
    fetched: u64,
    /// Some of both.
    examples: Vec<String>,
    fetched_examples: Vec<String>,
    /// Whether the numbers are estimated from a sample of the known URLs, because there are too many.
    is_estimate: bool,
}

/// Shows what a scope would do to the queue of a workspace.
pub(crate) fn run(root: &Path, settings: &ScopeSettings, json: bool) -> anyhow::Result<()> {
    let scope = Scope::new(settings).map_err(|error| misuse(error.to_string()))?;
    let workspace = Workspace::open(root)?;
    let preview = ScopePreview::of(&workspace.reader()?, &scope, PATIENCE)?;
    if json {
        return output::print_json(&preview);
    }
    preview.print();
    Ok(())
}

impl ScopePreview {
    fn of(reader: &dyn StoreReader, scope: &Scope, patience: Duration) -> anyhow::Result<ScopePreview> {
        let began = Instant::now();
        let rows = reader.last_row(RowTable::Crawl)?;
        let chunks = rows.div_ceil(CHUNK);
        let mut preview = ScopePreview::default();
        let mut looked_at = 0;
        for chunk in scattered(chunks) {
            let range = chunk * CHUNK + 1..=((chunk + 1) * CHUNK).min(rows);
            looked_at += range.end() - range.start() + 1;
            for known in reader.urls(range)? {
                preview.add(&known, scope);
            }
            if began.elapsed() >= patience && looked_at < rows {
                preview.extrapolate(rows as f64 / looked_at as f64);
                break;
            }
        }
        Ok(preview)
    }

    fn add(&mut self, known: &KnownUrl, scope: &Scope) {
        let (all, out, examples) = match known.is_queued {
            true => (&mut self.queued, &mut self.queued_removed, &mut self.examples),
            false => (&mut self.fetched, &mut self.fetched_matching, &mut self.fetched_examples),
        };
        *all += 1;
        let is_out =
            CanonicalUrl::parse(&known.url).is_ok_and(|url| scope.admits(&url, known.depth, 0).is_err());
        if is_out {
            *out += 1;
            if examples.len() < EXAMPLES {
                examples.push(known.url.clone());
            }
        }
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn extrapolate(&mut self, factor: f64) {
        for number in
            [&mut self.queued, &mut self.queued_removed, &mut self.fetched, &mut self.fetched_matching]
        {
            *number = (*number as f64 * factor).round() as u64;
        }
        self.is_estimate = true;
    }

    fn print(&self) {
        let about = if self.is_estimate { "about " } else { "" };
        let number = |number: u64| output::grouped(&number.to_string());
        output::print(&format!(
            "{about}{} of {} queued URLs would not be fetched",
            number(self.queued_removed),
            number(self.queued)
        ));
        print_examples(&self.examples);
        let pages = count(usize::try_from(self.fetched).unwrap_or(usize::MAX), "fetched page");
        output::print(&format!(
            "{about}{} of {pages} would not be fetched under these rules; they stay",
            number(self.fetched_matching)
        ));
        print_examples(&self.fetched_examples);
        output::print("nothing was changed");
    }
}

fn print_examples(urls: &[String]) {
    urls.iter().for_each(|url| output::print(&Paint::Faint.on(&format!("  {}", plain(url)))));
}

/// The numbers below `n`, each once, such that any beginning of them is spread over the whole: URLs that were found at the
/// same time are alike.
fn scattered(n: u64) -> impl Iterator<Item = u64> {
    let bits = 64 - n.saturating_sub(1).leading_zeros();
    let reversed = move |number: u64| if bits == 0 { 0 } else { number.reverse_bits() >> (64 - bits) };
    (0..n.next_power_of_two()).map(reversed).filter(move |number| *number < n)
}

#[cfg(test)]
mod tests {
    use porthole_store::{SqliteStore, Store, WorkspaceWriter};
    use porthole_types::NewUrl;

    use super::*;

    #[test]
    fn any_beginning_of_the_numbers_is_spread() {
        for n in [0, 1, 2, 7, 100] {
            let mut all: Vec<u64> = scattered(n).collect();
            all.sort_unstable();
            assert_eq!(all, (0..n).collect::<Vec<_>>());
        }
        assert_eq!(scattered(8).take(4).collect::<Vec<_>>(), [0, 4, 2, 6]);
    }

    #[test]
    fn a_rule_shows_what_it_would_remove_and_a_sample_is_an_estimate() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = SqliteStore::open(folder.path().join("porthole.db")).unwrap();
        let url = |number: u64| {
            let folder = if number.is_multiple_of(4) { "tag" } else { "page" };
            let url = CanonicalUrl::parse(&format!("http://a.test/{folder}/{number}")).unwrap();
            NewUrl { url, relevance: 0.5, priority: 0.5, depth: 0 }
        };
        store.add(&(0..40_000).map(url).collect::<Vec<_>>()).unwrap();
        let settings = ScopeSettings { exclude: vec!["/tag/*".to_owned()], ..ScopeSettings::default() };
        let scope = Scope::new(&settings).unwrap();
        let reader = store.reader();
        let preview = ScopePreview::of(&*reader, &scope, Duration::MAX).unwrap();
        assert_eq!((preview.queued_removed, preview.queued, preview.fetched), (10_000, 40_000, 0));
        assert!(preview.examples.len() == EXAMPLES && preview.examples[0].starts_with("http://a.test/tag/"));
        let estimate = ScopePreview::of(&*reader, &scope, Duration::ZERO).unwrap();
        assert!(estimate.is_estimate && estimate.queued == 40_000, "{estimate:?}");
        assert!(estimate.queued_removed.abs_diff(10_000) < 100, "{estimate:?}");
        assert_eq!(store.counts().queued, 40_000);
    }
}
