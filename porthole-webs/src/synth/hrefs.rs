//! The spellings of a link: relative and absolute, with fragments and tracking parameters, as found in the
//! wild. Each of them has one canonical form.

use porthole_types::CanonicalUrl;

use super::link::{Link, Target};
use super::plan::Plan;
use super::sites::Page;
use super::urls::{canonical, push_number};

impl Plan {
    /// Writes the reference that a page has for a link.
    pub(crate) fn push_href(&self, out: &mut Vec<u8>, from: Page, link: &Link) {
        match link.target {
            Target::Page(to) if to.site == from.site && link.relative() => {
                self.push_relative(out, from, to, link);
            }
            Target::Calendar { .. } | Target::List { .. } => self.push_target_path(out, link.target),
            _ => self.push_absolute(out, link),
        }
    }

    /// The canonical URL of a link's target.
    pub(crate) fn target_url(&self, target: Target) -> CanonicalUrl {
        let mut out = b"http://".to_vec();
        self.push_target_host(&mut out, target);
        self.push_target_path(&mut out, target);
        canonical(&out)
    }

    fn push_relative(&self, out: &mut Vec<u8>, from: Page, to: Page, link: &Link) {
        let start = out.len();
        let file = self.push_path(out, to);
        // Only a page right below its directory can leave the directory out.
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

    fn push_absolute(&self, out: &mut Vec<u8>, link: &Link) {
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

    fn push_target_host(&self, out: &mut Vec<u8>, target: Target) {
        let number = match target {
            Target::Page(page) | Target::Moved { to: page, .. } | Target::Loop(page) | Target::Gone(page) => {
                page.site
            }
            Target::NoHost(number) => number,
            Target::Calendar { site } | Target::List { site } => site,
        };
        self.push_host(out, number);
    }

    fn push_target_path(&self, out: &mut Vec<u8>, target: Target) {
        match target {
            Target::Page(page) | Target::Gone(page) => {
                self.push_path(out, page);
            }
            Target::Moved { to, hops } => push_redirect(out, to, hops),
            Target::Loop(page) => push_loop(out, page, 0),
            Target::NoHost(_) => out.push(b'/'),
            Target::Calendar { .. } => out.extend_from_slice(b"/calendar/2026/01"),
            Target::List { .. } => out.extend_from_slice(b"/list"),
        }
    }
}

/// Writes the path of an old address of a page.
pub(crate) fn push_redirect(out: &mut Vec<u8>, to: Page, hops: u32) {
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
pub(crate) fn push_loop(out: &mut Vec<u8>, page: Page, side: u8) {
    out.extend_from_slice(if side == 0 { b"/loop/a/" } else { b"/loop/b/" });
    push_number(out, page.local);
}
