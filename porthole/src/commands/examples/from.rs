//! `porthole examples from`: adds the pages that a list page links to as examples.

use std::collections::HashSet;

use anyhow::Context;
use porthole_page::{Link, LinkKind, Page};
use porthole_types::CanonicalUrl;
use serde::Serialize;

use super::add::{self, AddedExamples, NewExamplePage};
use crate::cli;
use crate::documents::DocumentReader;
use crate::output::{self, Paint, count, misuse, plain};
use crate::sources::parse_url;
use crate::visiting::Visitor;
use crate::workspace::Workspace;

/// The result, for JSON.
#[derive(Serialize)]
struct ListPageLinks {
    page: String,
    title: String,
    links: Vec<Outlink>,
    /// Number of links beyond the first `--pages`.
    left_out: usize,
    /// `None` with `--dry-run`.
    added: Option<AddedExamples>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Outlink {
    #[serde(serialize_with = "as_text")]
    pub(crate) url: CanonicalUrl,
    pub(crate) anchor: String,
}

pub(super) async fn run(workspace: &Workspace, arguments: &cli::FromPage) -> anyhow::Result<()> {
    add::check_topic(workspace, &arguments.topic)?;
    let url = parse_url(&arguments.url)?;
    let visitor = Visitor::of(workspace, &arguments.web)?;
    let visit = visitor.visit(&url).await.with_context(|| format!("cannot read {url}"))?;
    let mut documents = DocumentReader::new();
    let (list, page) = documents.page(Some(&visit.at), &visit.response.headers, &visit.response.body);
    let mut links = outlinks(&page, &visit.at, arguments.same_site);
    if links.is_empty() {
        let (what, hint) = match arguments.same_site {
            true => ("no links", ""),
            false => ("no links to other sites", "; `--same-site` includes links to its own site"),
        };
        return Err(misuse(format!("{url} has {what}{hint}")));
    }
    let left_out = links.len().saturating_sub(arguments.pages);
    links.truncate(arguments.pages);
    let mut found = ListPageLinks { page: url.to_string(), title: list.title, links, left_out, added: None };
    if !arguments.json {
        found.print(arguments.same_site);
    }
    if arguments.dry_run {
        return if arguments.json { output::print_json(&found) } else { Ok(()) };
    }
    let urls: Vec<CanonicalUrl> = found.links.iter().map(|link| link.url.clone()).collect();
    let tour = visitor.read_all(&mut documents, &urls).await;
    let shown = found.links.iter().zip(tour.documents).map(|(link, document)| NewExamplePage {
        name: link.url.to_string(),
        fallback_title: link.anchor.clone(),
        source: format!("links of {url}"),
        document,
    });
    let added = add::keep(workspace, &arguments.topic, shown.collect(), &mut documents)?;
    if arguments.json {
        found.added = Some(added);
        return output::print_json(&found);
    }
    added.print();
    if tour.is_interrupted {
        output::say(add::INTERRUPTED);
    }
    Ok(())
}

/// The distinct link targets of a page, in the order of the page.
pub(crate) fn outlinks(page: &Page, at: &CanonicalUrl, same_site: bool) -> Vec<Outlink> {
    let mut seen = HashSet::from([at.id()]);
    let is_wanted = |link: &&Link| {
        matches!(link.kind, LinkKind::Anchor | LinkKind::Area)
            && (same_site || is_other_site(&link.target, at))
    };
    let mut links = Vec::new();
    for link in page.links.iter().filter(is_wanted) {
        if seen.insert(link.target.id()) {
            let anchor = page.anchor_text(link);
            let anchor = if anchor.is_empty() { link.title.as_deref().unwrap_or("") } else { anchor };
            links.push(Outlink { url: link.target.clone(), anchor: anchor.to_owned() });
        }
    }
    links
}

/// Whether a URL is on another site: `blog.owls.org` and `owls.org` are the same site. IP addresses are compared with
/// their ports.
fn is_other_site(url: &CanonicalUrl, at: &CanonicalUrl) -> bool {
    let has_name = at.domain().bytes().any(|byte| byte.is_ascii_alphabetic());
    if has_name { url.domain() != at.domain() } else { url.authority() != at.authority() }
}

impl ListPageLinks {
    fn print(&self, same_site: bool) {
        let where_to = if same_site { "" } else { " to other sites" };
        output::print(&format!(
            "{} of {}{where_to}{}",
            count(self.links.len() + self.left_out, "link"),
            plain(if self.title.is_empty() { &self.page } else { &self.title }),
            match self.left_out {
                0 => String::new(),
                _ => format!(", the first {}", output::grouped(&self.links.len().to_string())),
            }
        ));
        for (number, link) in self.links.iter().enumerate() {
            let anchor = match link.anchor.as_str() {
                "" => Paint::Faint.on("(no text)"),
                anchor => plain(anchor),
            };
            output::print(&format!(
                "{:>4}. {anchor}\n      {}",
                number + 1,
                Paint::Faint.on(link.url.as_str())
            ));
        }
    }
}

fn as_text<S: serde::Serializer>(url: &CanonicalUrl, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(url.as_str())
}

#[cfg(test)]
mod tests {
    use porthole_page::Extractor;
    use porthole_types::Headers;

    use super::*;

    #[test]
    fn links_are_taken_once_and_only_to_other_sites() {
        let html = "<a href=/about>About</a> <a href='http://blog.owls.org/'>Blog</a> \
                    <a href='http://barn.test/'>Barn <b>owls</b></a> <a href='http://barn.test/#top'>again</a> \
                    <a href='http://snow.test/' title='Snowy'></a> <a href='mailto:me@owls.org'>me</a>";
        let at = CanonicalUrl::parse("http://www.owls.org/links").unwrap();
        let page = Extractor::default().extract(&at, &Headers::new(), html.as_bytes());
        let check = |same_site, expected: &[(&str, &str)]| {
            let links = outlinks(&page, &at, same_site);
            let links: Vec<_> = links.iter().map(|link| (link.url.as_str(), link.anchor.as_str())).collect();
            assert_eq!(links, expected);
        };
        let others = [("http://barn.test/", "Barn owls"), ("http://snow.test/", "Snowy")];
        check(false, &others);
        let own = [("http://www.owls.org/about", "About"), ("http://blog.owls.org/", "Blog")];
        check(true, &[&own[..], &others].concat());
    }
}
