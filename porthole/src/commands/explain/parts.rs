//! What a queued URL's priority is made of, as the strategy of the crawl explains it.

use porthole_crawl::strategy_memory;
use porthole_store::{About, StoreReader, UrlState};
use porthole_strategy::{CrawlGoal, Part, SourcePage, Strategy};
use porthole_topic::Taxonomy;
use porthole_types::{CanonicalUrl, Judgment, Mark};
use serde::Serialize;

use crate::commands::crawl::{SEED, STRATEGY};
use crate::commands::toward;
use crate::documents::DocumentReader;
use crate::workspace::{self, Workspace};

/// A score with its parts.
#[derive(Serialize)]
pub(super) struct Parts {
    /// The strategy.
    pub(super) strategy: String,
    /// The page whose link it looked at.
    pub(super) on: String,
    pub(super) parts: Vec<NamedPart>,
}

#[derive(Serialize)]
pub(super) struct NamedPart {
    pub(super) what: String,
    pub(super) adds: f64,
}

/// What the strategy of the last crawl says of a link that waits; `None` if it cannot be asked: nothing waits, or no page
/// that links to it is kept. It knows what it knew when its memory was saved last.
pub(super) fn of(
    workspace: &Workspace,
    reader: &dyn StoreReader,
    tree: &Taxonomy,
    url: &CanonicalUrl,
    about: &About,
) -> anyhow::Result<Option<Parts>> {
    if about.state != UrlState::Queued {
        return Ok(None);
    }
    let Some(name) = reader.setting(STRATEGY)? else { return Ok(None) };
    let wide = toward::wider(reader, tree)?;
    let steers = wide.as_ref().unwrap_or(tree);
    let mut critic = workspace::critic(reader).ok().map(|(critic, _)| critic);
    if let Some(critic) = &mut critic {
        critic.update_marks(steers);
    }
    let seed = reader.setting(SEED)?.and_then(|seed| seed.parse().ok()).unwrap_or(0);
    let mut strategy = porthole_strategy::named(&name, &CrawlGoal::new(steers, critic, seed))?;
    if let Some((_, memory)) = strategy_memory(reader)?.filter(|(whose, _)| *whose == strategy.name()) {
        strategy.restore(&memory)?;
    }
    for parent in &about.parents {
        if let Ok(parent) = CanonicalUrl::parse(&parent.url)
            && let Some(parts) = by_parent(workspace, reader, steers, &mut *strategy, &parent, url)?
        {
            return Ok(Some(Parts { strategy: name, on: parent.as_str().to_owned(), parts }));
        }
    }
    Ok(None)
}

fn by_parent(
    workspace: &Workspace,
    reader: &dyn StoreReader,
    tree: &Taxonomy,
    strategy: &mut dyn Strategy,
    parent: &CanonicalUrl,
    url: &CanonicalUrl,
) -> anyhow::Result<Option<Vec<NamedPart>>> {
    let Some(about) = reader.about_briefly(parent)? else { return Ok(None) };
    let (Some(span), Some(best)) = (about.span, about.best) else { return Ok(None) };
    let kept = workspace.read_page(parent, span)?;
    let (_, page) = DocumentReader::new().page(Some(parent), &kept.headers, &kept.body);
    let Some(link) = page.links.iter().find(|link| link.target == *url) else { return Ok(None) };
    let mark = tree.marks().get(usize::from(best.0)).copied().unwrap_or_default();
    let source = SourcePage {
        url: parent,
        page: &page,
        judgment: Judgment { relevance: about.relevance, best },
        on_topic: matches!(mark, Mark::Good | Mark::Subsumed),
        // Not kept of pages; strategies that go by it have it in their memory.
        depth: 0,
    };
    // Some look at the page as a whole first; this one is thrown away after the question.
    strategy.arrived(&source);
    let named = |Part { what, adds }: Part| NamedPart { what, adds };
    let parts: Vec<NamedPart> = strategy.explain(&source, link).into_iter().map(named).collect();
    Ok(Some(parts).filter(|parts| !parts.is_empty()))
}
