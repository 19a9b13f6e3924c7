//! Detection of pages that are empty without scripts. They are counted, not judged by their missing content. A short
//! but readable page is not one of them, even if it has scripts for analytics.

use memchr::memmem;

use crate::gather::NOSCRIPT;
use crate::page::{LinkKind, Page};

/// A page with at least this many terms or links has content.
const FEW_TERMS: usize = 20;
const FEW_LINKS: usize = 4;

/// Minimum bytes of scripts that can render a page.
const MUCH_SCRIPT: usize = 256;

/// Words of placeholder texts.
const PLACEHOLDERS: &[&str] = &["javascript", "loading", "please wait", "enable scripts"];

/// Ids of the elements that frameworks render into.
const ROOTS: &[&str] =
    &["root", "app", "__next", "__nuxt", "___gatsby", "q-app", "react-root", "main-app", "svelte", "mount"];

/// Whether a page shows next to nothing without scripts.
pub(crate) fn needs_scripts(page: &Page, html: &str, scripts: u32, script_bytes: usize) -> bool {
    let anchors = page.links.iter().filter(|link| link.kind == LinkKind::Anchor).count();
    let frames = page.links.iter().any(|link| matches!(link.kind, LinkKind::Frame | LinkKind::Iframe));
    let body_terms = page.terms.len() - page.term_ends[0] as usize;
    // Frames and a refresh lead to content.
    if body_terms >= FEW_TERMS || anchors >= FEW_LINKS || frames || page.refresh.is_some() {
        return false;
    }
    // If the only text is in `noscript` elements, scripts render the page.
    if script_bytes > 0 && body_terms > 0 && is_all_noscript(page) {
        return true;
    }
    let has_scripts = scripts > 0 || script_bytes > MUCH_SCRIPT;
    has_scripts && (body_terms == 0 && anchors == 0 || has_placeholder(&page.text) || has_empty_root(html))
}

/// Whether all text is in `noscript` elements.
fn is_all_noscript(page: &Page) -> bool {
    page.leaves.iter().all(|leaf| leaf.start == leaf.end || leaf.place & NOSCRIPT != 0)
}

fn has_placeholder(text: &str) -> bool {
    let text = text.to_lowercase();
    PLACEHOLDERS.iter().any(|excuse| text.contains(excuse))
}

/// Finds `<div id="root"></div>`, or a custom element for the whole page.
fn has_empty_root(html: &str) -> bool {
    if memmem::find(html.as_bytes(), b"<app-root").is_some() {
        return true;
    }
    memmem::find_iter(html.as_bytes(), b"id=").any(|at| is_empty_root(&html[at + 3..]))
}

/// Checks from the value of an `id` on.
fn is_empty_root(html: &str) -> bool {
    const LONGEST_TAG: usize = 512;
    let value = html.trim_start_matches(['"', '\'']);
    let Some(id) = ROOTS.iter().find(|root| value.starts_with(**root)) else { return false };
    let behind = &value[id.len()..];
    let behind = &behind[..behind.floor_char_boundary(LONGEST_TAG)];
    if !behind.starts_with(|c: char| c.is_ascii_whitespace() || matches!(c, '"' | '\'' | '>')) {
        return false;
    }
    behind.split_once('>').is_some_and(|(_, content)| content.trim_start().starts_with("</"))
}
