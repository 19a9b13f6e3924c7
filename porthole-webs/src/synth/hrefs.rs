//! Spellings of links: relative and absolute, with fragments and tracking parameters, as on the real web. Each has one
//! canonical form.

use porthole_types::CanonicalUrl;

use super::link::{LinkTarget, SyntheticLink};
use super::plan::WebPlan;
use super::sites::SyntheticPage;
use super::urls::{canonical, push_number};

impl WebPlan {
    /// Writes a page's reference for a link.
    pub(crate) fn push_href(&self, out: &mut Vec<u8>, from: SyntheticPage, link: &SyntheticLink) {
        match link.target {
            LinkTarget::Page(to) if to.site == from.site && link.relative() => {
                self.push_relative(out, from, to, link);
            }
            LinkTarget::Calendar { .. } | LinkTarget::List { .. } => self.push_target_path(out, link.target),
            _ => self.push_absolute(out, link),
        }
    }

    /// The canonical URL of a link's target.
    pub(crate) fn target_url(&self, target: LinkTarget) -> CanonicalUrl {
        let mut out = b"http://".to_vec();
        self.push_target_host(&mut out, target);
        self.push_target_path(&mut out, target);
        canonical(&out)
    }

    fn push_relative(&self, out: &mut Vec<u8>, from: SyntheticPage, to: SyntheticPage, link: &SyntheticLink) {
        let start = out.len();
        let file = self.push_path(out, to);
        // Only a page directly below its directory can omit the directory.
        let short = link.key >> 4 & 3 == 0 && to.local != 0 && from.local != 0 && out[file..].len() > 1;
        if short && !out[file..].contains(&b'/') {
            let mut own = Vec::with_capacity(64);
            let own_file = self.push_path(&mut own, from);
            if own[..own_file] == out[start..file] {
                out.drain(start..file);
            } else {
                out.splice(start..start, *b"..");
            }
        }
    }

    fn push_absolute(&self, out: &mut Vec<u8>, link: &SyntheticLink) {
        let odd = link.key >> 8 & 31;
        out.extend_from_slice(if odd == 0 { b"//" } else { b"http://" });
        self.push_target_host(out, link.target);
        let start = out.len();
        self.push_target_path(out, link.target);
        match odd {
            1 => out.extend_from_slice(b"#content"),
            2 if !out[start..].contains(&b'?') => {
                out.extend_from_slice(b"?utm_source=page&amp;utm_medium=link");
            }
            _ => {}
        }
    }

    fn push_target_host(&self, out: &mut Vec<u8>, target: LinkTarget) {
        let number = match target {
            LinkTarget::Page(page)
            | LinkTarget::Moved { to: page, .. }
            | LinkTarget::Loop(page)
            | LinkTarget::Gone(page) => page.site,
            LinkTarget::NoHost(number) => number,
            LinkTarget::Calendar { site } | LinkTarget::List { site } => site,
        };
        self.push_host(out, number);
    }

    fn push_target_path(&self, out: &mut Vec<u8>, target: LinkTarget) {
        match target {
            LinkTarget::Page(page) | LinkTarget::Gone(page) => {
                self.push_path(out, page);
            }
            LinkTarget::Moved { to, hops } => push_redirect(out, to, hops),
            LinkTarget::Loop(page) => push_loop(out, page, 0),
            LinkTarget::NoHost(_) => out.push(b'/'),
            LinkTarget::Calendar { .. } => out.extend_from_slice(b"/calendar/2026/01"),
            LinkTarget::List { .. } => out.extend_from_slice(b"/list"),
        }
    }
}

/// Writes the path of an old address of a page.
pub(crate) fn push_redirect(out: &mut Vec<u8>, to: SyntheticPage, hops: u32) {
    if hops == 0 {
        out.extend_from_slice(b"/moved/");
    } else {
        out.extend_from_slice(b"/go");
        push_number(out, hops);
        out.push(b'/');
    }
    push_number(out, to.local);
}

/// Writes the path of one side of a redirect loop.
pub(crate) fn push_loop(out: &mut Vec<u8>, page: SyntheticPage, side: u8) {
    out.extend_from_slice(if side == 0 { b"/loop/a/" } else { b"/loop/b/" });
    push_number(out, page.local);
}
