//! Pages that are empty until their scripts have run: they are to be counted, not judged by what is not
//! there. A short page that a person can read is not one of them, whatever scripts count its readers.

use memchr::memmem;

use crate::page::{LinkKind, Page};

/// A page with more terms or links shows something.
const FEW_TERMS: usize = 20;
const FEW_LINKS: usize = 4;

/// Fewer bytes of scripts draw no page.
const MUCH_SCRIPT: usize = 256;

/// What such pages say in the meantime.
const EXCUSES: &[&str] = &["javascript", "loading", "please wait", "enable scripts"];

/// The ids of the elements that frameworks draw in.
const ROOTS: &[&str] =
    &["root", "app", "__next", "__nuxt", "___gatsby", "q-app", "react-root", "main-app", "svelte", "mount"];

/// Whether a page shows next to nothing until its scripts have run.
pub(crate) fn needs_scripts(page: &Page, html: &str, scripts: u32, script_bytes: usize) -> bool {
    let anchors = page.links.iter().filter(|link| link.kind == LinkKind::Anchor).count();
    let frames = page.links.iter().any(|link| matches!(link.kind, LinkKind::Frame | LinkKind::Iframe));
    let body_terms = page.terms.len() - page.term_ends[0] as usize;
    let has_scripts = scripts > 0 || script_bytes > MUCH_SCRIPT;
    // Frames and another address are something to go to.
    if !has_scripts || body_terms >= FEW_TERMS || anchors >= FEW_LINKS || frames || page.refresh.is_some() {
        return false;
    }
    body_terms == 0 && anchors == 0 || makes_excuses(&page.text) || has_empty_root(html)
}

fn makes_excuses(text: &str) -> bool {
    let text = text.to_lowercase();
    EXCUSES.iter().any(|excuse| text.contains(excuse))
}

/// `<div id="root"></div>`, or a custom element that stands for the whole.
fn has_empty_root(html: &str) -> bool {
    if memmem::find(html.as_bytes(), b"<app-root").is_some() {
        return true;
    }
    memmem::find_iter(html.as_bytes(), b"id=").any(|at| is_empty_root(&html[at + 3..]))
}

/// From the value of an `id` on.
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
