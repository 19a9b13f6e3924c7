//! What the hosts of the synthetic web tell crawlers: robots.txt and sitemaps.

use super::draw::For;
use super::plan::Plan;
use super::sites::{Page, SiteKind};
use super::urls::DIRECTORIES;

/// What a host's robots.txt says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rules {
    /// There is none (404): all is allowed.
    Missing,
    /// All is allowed, and there is a sitemap.
    Open,
    /// One directory of the site is closed.
    Partial { directory: u32 },
    /// The whole site is closed.
    Closed,
    /// It cannot be had (503), which closes the site (RFC 9309).
    Broken,
}

impl Plan {
    /// What a site's robots.txt says.
    pub(crate) fn rules(&self, site: u32) -> Rules {
        let mut draw = self.draw_site(For::Robots, site);
        match (self.sites.table[site as usize].kind, draw.below(100)) {
            (SiteKind::Chain { .. }, _) => Rules::Open,
            (_, 72..) if self.sites.is_first(site) => Rules::Open,
            (_, 0..30) => Rules::Missing,
            (_, 30..72) => Rules::Open,
            (_, 72..97) => Rules::Partial { directory: draw.below(DIRECTORIES) },
            (_, 97) => Rules::Closed,
            _ => Rules::Broken,
        }
    }

    /// The text of a site's robots.txt, if it has one.
    pub(crate) fn robots_txt(&self, site: u32) -> Option<Vec<u8>> {
        let mut out = b"# welcome\nUser-agent: *\n".to_vec();
        match self.rules(site) {
            Rules::Missing | Rules::Broken => return None,
            Rules::Open => {
                out.extend_from_slice(b"Disallow:\n\nSitemap: http://");
                self.push_host(&mut out, site);
                out.extend_from_slice(b"/sitemap.xml\n");
            }
            Rules::Partial { directory } => {
                out.extend_from_slice(b"Crawl-delay: 1\nDisallow: ");
                self.push_directory(&mut out, self.shaped_like(site), self.paths(site), directory);
                out.extend_from_slice(b"\nDisallow: /calendar/\n");
            }
            Rules::Closed => out.extend_from_slice(b"Disallow: /\n"),
        }
        Some(out)
    }

    /// A site's sitemap, if it has one: the pages that exist at a moment.
    pub(crate) fn sitemap(&self, site: u32, at: i64) -> Option<Vec<u8>> {
        if self.rules(site) != Rules::Open {
            return None;
        }
        let mut out = b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
            <urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n"
            .to_vec();
        for local in 0..self.sites.table[site as usize].len {
            let page = Page { site, local };
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

    /// Whether crawlers may have a page.
    pub(crate) fn allowed(&self, page: Page) -> bool {
        match self.rules(page.site) {
            Rules::Partial { directory } => {
                page.local == 0 || !self.same_directory(page.site, page.local % DIRECTORIES, directory)
            }
            _ => self.allowed_at_all(page.site),
        }
    }

    /// Whether crawlers may have anything of a site.
    pub(crate) fn allowed_at_all(&self, site: u32) -> bool {
        !matches!(self.rules(site), Rules::Closed | Rules::Broken)
    }

    /// Two directories of a site may have drawn the same word.
    fn same_directory(&self, site: u32, one: u32, other: u32) -> bool {
        let name = |number| {
            let mut out = Vec::new();
            self.push_directory(&mut out, self.shaped_like(site), self.paths(site), number);
            out
        };
        one == other || name(one) == name(other)
    }

    /// A mirror has the paths of the site it copies.
    fn shaped_like(&self, site: u32) -> u32 {
        self.sites.origin(Page { site, local: 0 }).site
    }
}
