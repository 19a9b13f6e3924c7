//! URLs of the synthetic web, written and read. Hosts and paths end in numbers, so that reading one needs
//! no table; a URL is accepted only if writing it again gives the same text.

use porthole_types::CanonicalUrl;

use super::draw::{Draw, For, mix};
use super::plan::Plan;
use super::sites::{Page, SiteKind};

/// What a URL leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A page, which may not exist yet.
    Page(Page),
    /// An old address of a page, a number of redirects away from the new one.
    Moved { to: Page, hops: u32 },
    /// A redirect that leads back to itself over a second one.
    Loop { page: Page, side: u8 },
    /// A month of an endless calendar, counted from the year 0.
    Calendar { site: u32, month: u32 },
    /// A list with whatever filters the query has.
    List { site: u32 },
    /// The site's robots.txt.
    Robots { site: u32 },
    /// The site's sitemap.
    Sitemap { site: u32 },
    /// A path that the site does not have.
    Missing { site: u32 },
    /// No such host.
    NoHost,
}

/// How the paths of a site look.
#[derive(Clone, Copy)]
pub(crate) struct Paths {
    key: u64,
    shape: u64,
}

impl Plan {
    /// Writes the host of a site. Numbers beyond the table give hosts that do not exist.
    pub(crate) fn push_host(&self, out: &mut Vec<u8>, number: u32) {
        let mut draw = self.draw_site(For::Host, number);
        let bits = draw.bits();
        if bits & 3 != 0 {
            out.extend_from_slice(b"www.");
        }
        let site = self.sites.table.get(number as usize);
        let leaf = site.map_or((number % u32::from(self.atlas.leaves())) as u8, |site| site.main);
        let portal = site.is_some_and(|site| site.kind == SiteKind::Portal);
        let telling = draw.chance(self.rates.urls_tell) && !portal;
        let table = if telling { self.lexicon.leaf(leaf) } else { &self.lexicon.common };
        table.word(high(bits)).push(out);
        out.push(b'-');
        self.lexicon.common.word(draw.below(u32::MAX)).push(out);
        out.push(b'-');
        push_number(out, number);
        out.extend_from_slice(if bits & 12 == 0 { b".example" } else { b".test" });
    }

    /// How a site's paths look; a mirror's look like those of the site it copies.
    pub(crate) fn paths(&self, site: u32) -> Paths {
        let origin = self.sites.origin(Page { site, local: 0 }).site;
        let mut draw = self.draw_site(For::Paths, origin);
        Paths { key: draw.bits(), shape: draw.bits() % 4 }
    }

    /// Writes a directory of a site, `/word/`. Sites have three.
    pub(crate) fn push_directory(&self, out: &mut Vec<u8>, site: u32, paths: Paths, number: u32) {
        let mut draw = Draw::of(mix(paths.key ^ u64::from(number)));
        let site = &self.sites.table[site as usize];
        let telling = draw.chance(self.rates.urls_tell) && site.kind != SiteKind::Portal;
        let table = if telling { self.lexicon.leaf(site.main) } else { &self.lexicon.common };
        out.push(b'/');
        table.word(draw.below(u32::MAX)).push(out);
        out.push(b'/');
    }

    /// Writes a page's path and says where its last part begins. Page numbers beyond the site's give paths
    /// that look like others and do not exist.
    pub(crate) fn push_path(&self, out: &mut Vec<u8>, page: Page) -> usize {
        if page.local == 0 {
            out.push(b'/');
            return out.len();
        }
        let origin = self.sites.origin(page);
        let paths = self.paths(origin.site);
        self.push_directory(out, origin.site, paths, page.local % DIRECTORIES);
        let start = out.len();
        let mut draw = Draw::of(mix(paths.key ^ u64::from(page.local) << 8));
        let bits = draw.bits();
        let known = page.local < self.sites.of(origin).len && draw.chance(self.rates.urls_tell);
        let leaf = if known { self.leaf(origin) } else { None };
        let table = leaf.map_or(&self.lexicon.common, |leaf| self.lexicon.leaf(leaf));
        let word = table.word(high(bits));
        let (before, after): (&[u8], &[u8]) = match paths.shape {
            0 => (b"-", b".html"),
            1 => (b"_", b".htm"),
            2 => (b"/", b"/"),
            _ => (b".php?id=", b""),
        };
        word.push(out);
        if paths.shape == 0 {
            out.push(b'-');
            self.lexicon.common.word(low(bits)).push(out);
        }
        out.extend_from_slice(before);
        push_number(out, page.local);
        out.extend_from_slice(after);
        start
    }

    /// The URL of a page.
    pub(crate) fn url(&self, page: Page) -> CanonicalUrl {
        let mut out = b"http://".to_vec();
        self.push_host(&mut out, page.site);
        self.push_path(&mut out, page);
        canonical(&out)
    }

    /// What a URL leads to.
    pub(crate) fn place(&self, url: &CanonicalUrl) -> Place {
        let Some(site) = self.site(url.authority()) else { return Place::NoHost };
        let path = url.path_and_query();
        self.special(site, path).or_else(|| self.page(site, path)).unwrap_or(Place::Missing { site })
    }

    /// The site behind a host.
    pub(crate) fn site(&self, host: &str) -> Option<u32> {
        let number = last_number(host)?;
        if number as usize >= self.sites.table.len() {
            return None;
        }
        let mut written = Vec::with_capacity(64);
        self.push_host(&mut written, number);
        (written == host.as_bytes()).then_some(number)
    }

    fn page(&self, site: u32, path: &str) -> Option<Place> {
        let local = if path == "/" { 0 } else { last_number(path)? };
        let page = Page { site, local };
        if local >= self.sites.of(page).len {
            return None;
        }
        let mut written = Vec::with_capacity(64);
        self.push_path(&mut written, page);
        (written == path.as_bytes()).then_some(Place::Page(page))
    }

    fn special(&self, site: u32, path: &str) -> Option<Place> {
        let page = |number: &str| {
            let page = Page { site, local: plain_number(number)? };
            (page.local < self.sites.of(page).len).then_some(page)
        };
        match path {
            "/robots.txt" => return Some(Place::Robots { site }),
            "/sitemap.xml" => return Some(Place::Sitemap { site }),
            _ => {}
        }
        if let Some(number) = path.strip_prefix("/moved/") {
            return page(number).map(|to| Place::Moved { to, hops: 0 });
        }
        if let Some((hops, number)) = path.strip_prefix("/go").and_then(|rest| rest.split_once('/')) {
            let hops = plain_number(hops).filter(|hops| (1..=MAX_HOPS).contains(hops))?;
            return page(number).map(|to| Place::Moved { to, hops });
        }
        if let Some((side, number)) = path.strip_prefix("/loop/").and_then(|rest| rest.split_once('/')) {
            let side = ["a", "b"].iter().position(|&name| name == side)? as u8;
            return page(number).map(|page| Place::Loop { page, side });
        }
        self.trap(site, path)
    }

    fn trap(&self, site: u32, path: &str) -> Option<Place> {
        let place = if let Some(month) = path.strip_prefix("/calendar/") {
            Place::Calendar { site, month: calendar_month(month)? }
        } else if path == "/list" || path.starts_with("/list?") {
            Place::List { site }
        } else {
            return None;
        };
        self.has_traps(site).then_some(place)
    }
}

/// Directories of a site.
pub(crate) const DIRECTORIES: u32 = 3;

/// Redirects of the longest planted chain that does end.
pub(crate) const MAX_HOPS: u32 = 3;

/// Writes a number.
pub(crate) fn push_number(out: &mut Vec<u8>, number: u32) {
    let mut digits = [0u8; 10];
    let mut at = digits.len();
    let mut rest = number;
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// The URL in a text that this module wrote.
pub(crate) fn canonical(text: &[u8]) -> CanonicalUrl {
    let text = std::str::from_utf8(text).expect("URLs are written in ASCII");
    CanonicalUrl::parse(text).expect("URLs are written in canonical form")
}

fn calendar_month(text: &str) -> Option<u32> {
    let (year, month) = text.split_once('/')?;
    let month = plain_number(month.strip_prefix('0').unwrap_or(month)).filter(|m| (1..=12).contains(m))?;
    plain_number(year)?.checked_mul(12)?.checked_add(month - 1)
}

/// A number without sign or leading zeros: one spelling for one page.
fn plain_number(text: &str) -> Option<u32> {
    let plain = text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    if plain { text.parse().ok() } else { None }
}

fn last_number(text: &str) -> Option<u32> {
    let text = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let start = text.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + 1);
    plain_number(&text[start..])
}

fn high(bits: u64) -> u32 {
    (bits >> 32) as u32
}

fn low(bits: u64) -> u32 {
    (bits & 0xffff_ffff) as u32
}
