//! The contributions to a queued URL's priority, as the crawl's strategy explains them.

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

/// The contributions to a score.
#[derive(Serialize)]
pub(super) struct PriorityParts {
    pub(super) strategy: String,
    /// The page with the link.
    pub(super) on: String,
    pub(super) parts: Vec<NamedPart>,
}

#[derive(Serialize)]
pub(super) struct NamedPart {
    pub(super) what: String,
    pub(super) adds: f64,
}

/// Asks the strategy of the last crawl to explain a queued link, with the state it saved last. `None` if the URL is not
/// queued, or no archived page links to it.
pub(super) fn of(
    workspace: &Workspace,
    reader: &dyn StoreReader,
    tree: &Taxonomy,
    url: &CanonicalUrl,
    about: &About,
) -> anyhow::Result<Option<PriorityParts>> {
    if about.state != UrlState::Queued {
        return Ok(None);
    }
    let Some(name) = reader.setting(STRATEGY)? else { return Ok(None) };
    let wide = toward::wider(reader, tree)?;
    let followed = wide.as_ref().unwrap_or(tree);
    let mut critic = workspace::critic(reader).ok().map(|(critic, _)| critic);
    if let Some(critic) = &mut critic {
        critic.update_marks(followed);
    }
    let seed = reader.setting(SEED)?.and_then(|seed| seed.parse().ok()).unwrap_or(0);
    let mut strategy = porthole_strategy::named(&name, &CrawlGoal::new(followed, critic, seed))?;
    if let Some((_, memory)) = strategy_memory(reader)?.filter(|(whose, _)| *whose == strategy.name()) {
        strategy.restore(&memory)?;
    }
    for parent in &about.parents {
        if let Ok(parent) = CanonicalUrl::parse(&parent.url)
            && let Some(parts) = by_parent(workspace, reader, followed, &mut *strategy, &parent, url)?
        {
            return Ok(Some(PriorityParts { strategy: name, on: parent.as_str().to_owned(), parts }));
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
    let archived = workspace.read_page(parent, span)?;
    let (_, page) = DocumentReader::new().page(Some(parent), &archived.headers, &archived.body);
    let Some(link) = page.links.iter().find(|link| link.target == *url) else { return Ok(None) };
    let mark = tree.marks().get(usize::from(best.0)).copied().unwrap_or_default();
    let source = SourcePage {
        url: parent,
        page: &page,
        judgment: Judgment { relevance: about.relevance, best },
        on_topic: matches!(mark, Mark::Good | Mark::Subsumed),
        // The depth is not stored with pages; strategies that use it have it in their state.
        depth: 0,
    };
    // Some strategies inspect the whole page first. This instance is dropped afterwards, so its state may change.
    strategy.arrived(&source);
    let named = |Part { what, adds }: Part| NamedPart { what, adds };
    let parts: Vec<NamedPart> = strategy.explain(&source, link).into_iter().map(named).collect();
    Ok(Some(parts).filter(|parts| !parts.is_empty()))
}
