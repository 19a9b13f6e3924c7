//! How a URL was found: the first links from a start URL to it; and the links of its page.
//!
//! Without indexes every step of the path reads `edge` up to the link that it looks for, and links on the path were found
//! one after the other.

use std::collections::HashSet;

use crate::sql::{Connection, Optional, params};
use porthole_types::CanonicalUrl;

use super::about;
use super::lookup::Lookup;
use crate::{LinkStory, Result, StoryPage};

/// Longer paths are cut at the start.
const LONGEST_PATH: usize = 50;

/// Reads in one transaction, for a consistent state.
pub(super) fn read(db: &Connection, url: &CanonicalUrl, limit: usize) -> Result<Option<LinkStory>> {
    let tx = db.read_transaction()?;
    let lookup = Lookup::new(&tx);
    let Some(row) = lookup.url(url.id().0.cast_signed())? else { return Ok(None) };
    let mut found = Vec::new();
    let (mut at, mut seen) = (row, HashSet::from([row]));
    while found.len() < LONGEST_PATH {
        let depth: Option<i64> =
            tx.prepare("select depth from crawl where rowid = ?1")?.query_row([at], |row| row.get(0))?;
        // A start URL was not found by a link, even if there are links to it.
        let link = if depth == Some(0) { None } else { lookup.first_link_to(at)? };
        let link = link.filter(|(src, _)| seen.insert(*src));
        let anchor = link.as_ref().map(|(_, anchor)| anchor.clone()).unwrap_or_default();
        found.extend(page(&tx, at, anchor)?);
        let Some((src, _)) = link else { break };
        at = src;
    }
    found.reverse();
    let mut links = Vec::new();
    for (target, anchor) in lookup.links_from(row, limit)? {
        links.extend(page(&tx, target, anchor)?);
    }
    Ok(Some(LinkStory { found, links }))
}

fn page(db: &Connection, row: i64, anchor: String) -> Result<Option<StoryPage>> {
    let sql = "select url, title, relevance, state from crawl where rowid = ?1";
    let found = db.prepare(sql)?.query_row(params![row], |row| {
        let title: Option<String> = row.get(1)?;
        Ok((row.get(0)?, title.unwrap_or_default(), row.get(2)?, row.get(3)?))
    });
    let Some((url, title, relevance, state)) = found.optional()? else { return Ok(None) };
    Ok(Some(StoryPage { url, title, relevance, state: about::state(state)?, anchor }))
}
