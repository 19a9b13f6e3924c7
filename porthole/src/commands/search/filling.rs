//! Brings the full-text index up to date with the crawl.

use porthole_page::Extractor;
use porthole_store::{PageToIndex, TextIndex};
use porthole_types::CanonicalUrl;

use crate::output::Progress;
use crate::workspace::Workspace;

/// Fetches that are added in one transaction.
const BATCH: usize = 256;

/// Adds all pages and links that are not in the index yet, from the archive.
pub(crate) fn fill(workspace: &Workspace) -> anyhow::Result<()> {
    let mut index = workspace.text_index()?;
    update(workspace, &mut index).map_err(|error| match error.downcast() {
        Ok(error) => workspace.index_error(error),
        Err(error) => error,
    })
}

fn update(workspace: &Workspace, index: &mut TextIndex) -> anyhow::Result<()> {
    let behind = index.state()?.behind;
    // Links first: the anchor texts of a page are then added once, together with it.
    while index.add_anchors()? >= TextIndex::LINKS {}
    let mut progress = Progress::new("indexing", behind);
    let mut extractor = Extractor::default();
    let mut is_unreadable = 0;
    // A running crawl may be faster: what comes meanwhile is left to the next search.
    let mut done = 0;
    while done < behind
        && let Some(batch) = index.next_pages(BATCH)?
    {
        done += BATCH as u64;
        let mut texts = Vec::with_capacity(batch.pages.len());
        for page in &batch.pages {
            let text = main_text(workspace, &mut extractor, page);
            is_unreadable += usize::from(page.span.is_some() && text.is_none());
            texts.push(text);
            progress.step(String::new);
        }
        index.add_pages(&batch, &texts)?;
    }
    progress.finish();
    index.find_common_words()?;
    if is_unreadable > 0 {
        crate::output::say(&format!(
            "{} cannot be read from the archive; only titles and anchor texts of links to them are searched",
            crate::output::count(is_unreadable, "page")
        ));
    }
    Ok(())
}

/// The main text of a page; `None` if it is not in the archive.
fn main_text(workspace: &Workspace, extractor: &mut Extractor, page: &PageToIndex) -> Option<String> {
    let url = CanonicalUrl::parse(&page.url).ok()?;
    let response = workspace.read_page(&url, page.span?).ok()?;
    let mut text = extractor.main_content(&url, &response.headers, &response.body).text;
    text.truncate(text.floor_char_boundary(TextIndex::MAX_TEXT));
    text.shrink_to_fit();
    Some(text)
}
