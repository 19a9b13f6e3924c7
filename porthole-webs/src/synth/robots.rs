//! robots.txt and sitemaps of the synthetic web's hosts.

use super::draw::For;
use super::plan::WebPlan;
use super::sites::{SiteKind, SyntheticPage};
use super::urls::DIRECTORIES;

/// Kind of a host's robots.txt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RobotsVariant {
    /// Missing (404): everything is allowed.
    Missing,
    /// Everything is allowed, and there is a sitemap.
    Open,
    /// One directory of the site is disallowed.
    Partial { directory: u32 },
    /// The whole site is disallowed.
    Closed,
    /// Unavailable (503), which disallows the site (RFC 9309).
    Broken,
}

impl WebPlan {
    /// Kind of a site's robots.txt.
    pub(crate) fn rules(&self, site: u32) -> RobotsVariant {
        let mut draw = self.draw_site(For::Robots, site);
        match (self.sites.table[site as usize].kind, draw.below(100)) {
            (SiteKind::Chain { .. }, _) => RobotsVariant::Open,
            (_, 72..) if self.sites.is_first(site) => RobotsVariant::Open,
            (_, 0..30) => RobotsVariant::Missing,
            (_, 30..72) => RobotsVariant::Open,
            (_, 72..97) => RobotsVariant::Partial { directory: draw.below(DIRECTORIES) },
            (_, 97) => RobotsVariant::Closed,
            _ => RobotsVariant::Broken,
        }
    }

    /// Text of a site's robots.txt, if it has one.
    pub(crate) fn robots_txt(&self, site: u32) -> Option<Vec<u8>> {
        let mut out = b"# welcome\nUser-agent: *\n".to_vec();
        match self.rules(site) {
            RobotsVariant::Missing | RobotsVariant::Broken => return None,
            RobotsVariant::Open => {
                out.extend_from_slice(b"Disallow:\n\nSitemap: http://");
                self.push_host(&mut out, site);
                out.extend_from_slice(b"/sitemap.xml\n");
            }
            RobotsVariant::Partial { directory } => {
                out.extend_from_slice(b"Crawl-delay: 1\nDisallow: ");
                self.push_directory(&mut out, self.path_source(site), self.paths(site), directory);
                out.extend_from_slice(b"\nDisallow: /calendar/\n");
            }
            RobotsVariant::Closed => out.extend_from_slice(b"Disallow: /\n"),
        }
        Some(out)
    }

    /// A site's sitemap, if it has one: the pages that exist at a time.
    pub(crate) fn sitemap(&self, site: u32, at: i64) -> Option<Vec<u8>> {
        if self.rules(site) != RobotsVariant::Open {
            return None;
        }
        let mut out = b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
            <urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n"
            .to_vec();
        for local in 0..self.sites.table[site as usize].len {
            let page = SyntheticPage { site, local };
            if self.exists(page, at) {
                out.extend_from_slice(b"<url><loc>http://");
                self.push_host(&mut out, site);
                self.push_path(&mut out, page);
                out.extend_from_slice(b"</loc></url>\n");
            }
        }
        out.extend_from_slice(b"</urlset>\n");
        Some(out)
    }

    /// Whether crawlers may fetch a page.
    pub(crate) fn allowed(&self, page: SyntheticPage) -> bool {
        match self.rules(page.site) {
            RobotsVariant::Partial { directory } => {
                page.local == 0 || !self.same_directory(page.site, page.local % DIRECTORIES, directory)
            }
            _ => self.allowed_at_all(page.site),
        }
    }

    /// Whether crawlers may fetch anything of a site.
    pub(crate) fn allowed_at_all(&self, site: u32) -> bool {
        !matches!(self.rules(site), RobotsVariant::Closed | RobotsVariant::Broken)
    }

    /// Whether two directories of a site happen to have the same name.
    fn same_directory(&self, site: u32, one: u32, other: u32) -> bool {
        let name = |number| {
            let mut out = Vec::new();
            self.push_directory(&mut out, self.path_source(site), self.paths(site), number);
            out
        };
        one == other || name(one) == name(other)
    }

    /// The site whose paths are used: a mirror has the paths of its original.
    fn path_source(&self, site: u32) -> u32 {
        self.sites.origin(SyntheticPage { site, local: 0 }).site
    }
}
