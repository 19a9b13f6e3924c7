//! The path from a start URL to a page, the links of the page, and its text as the critic saw it.

use porthole_page::Page;
use porthole_store::{About, StoreReader, StoryPage};
use porthole_types::CanonicalUrl;
use serde::Serialize;

use crate::documents::DocumentReader;
use crate::output::{self, plain};
use crate::workspace::Workspace;

/// Number of links shown.
const LINKS: usize = 200;
/// Maximum length of the text in characters.
const LONGEST_TEXT: usize = 20_000;

/// How a page was found, and what is on it.
#[derive(Serialize)]
pub(super) struct UrlStory {
    /// From a start URL to the page itself.
    found: Vec<ToldPage>,
    /// The first links of the page.
    links: Vec<ToldPage>,
    /// The text that is judged; `None` if the page is not archived.
    text: Option<String>,
}

/// A page at an end of a link.
#[derive(Serialize)]
struct ToldPage {
    url: String,
    title: String,
    relevance: f64,
    state: &'static str,
    /// Text of the link.
    anchor: String,
}

impl ToldPage {
    fn of(page: StoryPage) -> ToldPage {
        ToldPage {
            url: page.url,
            title: page.title,
            relevance: page.relevance,
            state: page.state.name(),
            anchor: page.anchor,
        }
    }

    fn print(&self) {
        let anchor =
            if self.anchor.is_empty() { String::new() } else { format!("  “{}”", plain(&self.anchor)) };
        output::print(&format!("  {:.3}  {:<8}  {}{anchor}", self.relevance, self.state, plain(&self.url)));
    }
}

/// The story of a known URL.
pub(super) fn of(
    workspace: &Workspace,
    reader: &dyn StoreReader,
    url: &CanonicalUrl,
    about: &About,
) -> anyhow::Result<UrlStory> {
    let links = reader.link_story(url, LINKS)?.unwrap_or_default();
    let text = match about.span {
        None => None,
        Some(span) => {
            let response = workspace.read_page(url, span)?;
            let (_, page) = DocumentReader::new().page(Some(url), &response.headers, &response.body);
            Some(judged_text(&page))
        }
    };
    let told = |pages: Vec<StoryPage>| pages.into_iter().map(ToldPage::of).collect();
    Ok(UrlStory { found: told(links.found), links: told(links.links), text })
}

impl UrlStory {
    pub(super) fn print(&self) {
        output::print("\nfrom a start URL to the page");
        self.found.iter().for_each(ToldPage::print);
        if !self.links.is_empty() {
            output::print("\nlinks of the page");
            self.links.iter().for_each(ToldPage::print);
        }
        if let Some(text) = &self.text {
            output::print(&format!("\ntext as the critic saw it\n{}", plain(text)));
        }
    }
}

/// The text of the leaves whose terms are judged. The judged terms are those of the title and of some leaves, in order.
fn judged_text(page: &Page) -> String {
    let leaves = || (0..page.leaf_count()).filter_map(|number| Some((number, page.leaf(number)?)));
    let of_leaves: usize = leaves().map(|(number, _)| page.leaf_terms(number).len()).sum();
    let title = page.terms().len() - of_leaves;
    let mut judged = page.judged_terms().get(title..).unwrap_or_default();
    let (mut text, mut is_within) = (page.title.clone(), true);
    for (number, leaf) in leaves() {
        let terms = page.leaf_terms(number);
        if !terms.is_empty() {
            is_within = judged.starts_with(terms);
            judged = if is_within { &judged[terms.len()..] } else { judged };
        }
        // Leaves of stop words alone belong to the leaf before them.
        if is_within && !leaf.text.is_empty() {
            text.push_str(if text.is_empty() { "" } else { " " });
            text.push_str(leaf.text);
        }
    }
    match text.char_indices().nth(LONGEST_TEXT) {
        Some((end, _)) => text[..end].to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use porthole_page::Extractor;
    use porthole_types::Headers;

    use super::*;

    #[test]
    fn menus_are_not_part_of_the_judged_text() {
        let sentence =
            "The barn owl hunts at night over open farmland and nests in old barns with its chicks. ";
        let html = format!(
            "<title>Owls</title><nav><a href=/a>Products</a> <a href=/b>Newsletter</a></nav><p>{}</p>\
             <footer><a href=/c>Imprint</a></footer>",
            sentence.repeat(20)
        );
        let url = CanonicalUrl::parse("http://a.test/").unwrap();
        let headers: Headers = [("content-type", "text/html")].into_iter().collect();
        let text = judged_text(&Extractor::default().extract(&url, &headers, html.as_bytes()));
        assert!(text.starts_with("Owls The barn owl"), "{text}");
        assert!(!text.contains("Newsletter") && !text.contains("Imprint"), "{text}");
    }

    #[test]
    fn a_short_page_is_judged_as_a_whole() {
        let url = CanonicalUrl::parse("http://a.test/").unwrap();
        let headers: Headers = [("content-type", "text/html")].into_iter().collect();
        let page = Extractor::default().extract(&url, &headers, b"<p>barn owls</p><p>and</p><p>farmland");
        assert_eq!(judged_text(&page), "barn owls and farmland");
    }
}
