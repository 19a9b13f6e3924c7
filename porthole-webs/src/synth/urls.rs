//! URLs of the synthetic web, written and parsed. Hosts and paths end in numbers, so that parsing needs no table; a URL
//! is accepted only if writing it again gives the same text.

use porthole_types::CanonicalUrl;

use super::draw::{Draw, For, mix};
use super::plan::WebPlan;
use super::sites::{SiteKind, SyntheticPage};

/// What a URL refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UrlMeaning {
    /// A page, which may not exist yet.
    Page(SyntheticPage),
    /// An old address of a page, a number of redirects away from the current one.
    Moved { to: SyntheticPage, hops: u32 },
    /// One of two redirects that lead to each other.
    Loop { page: SyntheticPage, side: u8 },
    /// A month of an endless calendar, counted from the year 0.
    Calendar { site: u32, month: u32 },
    /// A list with the filters of the query.
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

/// Style of a site's paths.
#[derive(Clone, Copy)]
pub(crate) struct PathStyle {
    key: u64,
    shape: u64,
}

impl WebPlan {
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

    /// Path style of a site; a mirror has that of its original.
    pub(crate) fn paths(&self, site: u32) -> PathStyle {
        let origin = self.sites.origin(SyntheticPage { site, local: 0 }).site;
        let mut draw = self.draw_site(For::Paths, origin);
        PathStyle { key: draw.bits(), shape: draw.bits() % 4 }
    }

    /// Writes a directory of a site, `/word/`. Sites have three.
    pub(crate) fn push_directory(&self, out: &mut Vec<u8>, site: u32, paths: PathStyle, number: u32) {
        let mut draw = Draw::of(mix(paths.key ^ u64::from(number)));
        let site = &self.sites.table[site as usize];
        let telling = draw.chance(self.rates.urls_tell) && site.kind != SiteKind::Portal;
        let table = if telling { self.lexicon.leaf(site.main) } else { &self.lexicon.common };
        out.push(b'/');
        table.word(draw.below(u32::MAX)).push(out);
        out.push(b'/');
    }

    /// Writes a page's path and returns the start of its last segment. Numbers beyond the site's pages give plausible
    /// paths that do not exist.
    pub(crate) fn push_path(&self, out: &mut Vec<u8>, page: SyntheticPage) -> usize {
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
    pub(crate) fn url(&self, page: SyntheticPage) -> CanonicalUrl {
        let mut out = b"http://".to_vec();
        self.push_host(&mut out, page.site);
        self.push_path(&mut out, page);
        canonical(&out)
    }

    /// Parses a URL.
    pub(crate) fn place(&self, url: &CanonicalUrl) -> UrlMeaning {
        let Some(site) = self.site(url.authority()) else { return UrlMeaning::NoHost };
        let path = url.path_and_query();
        self.special(site, path).or_else(|| self.page(site, path)).unwrap_or(UrlMeaning::Missing { site })
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

    fn page(&self, site: u32, path: &str) -> Option<UrlMeaning> {
        let local = if path == "/" { 0 } else { last_number(path)? };
        let page = SyntheticPage { site, local };
        if local >= self.sites.of(page).len {
            return None;
        }
        let mut written = Vec::with_capacity(64);
        self.push_path(&mut written, page);
        (written == path.as_bytes()).then_some(UrlMeaning::Page(page))
    }

    fn special(&self, site: u32, path: &str) -> Option<UrlMeaning> {
        let page = |number: &str| {
            let page = SyntheticPage { site, local: plain_number(number)? };
            (page.local < self.sites.of(page).len).then_some(page)
        };
        match path {
            "/robots.txt" => return Some(UrlMeaning::Robots { site }),
            "/sitemap.xml" => return Some(UrlMeaning::Sitemap { site }),
            _ => {}
        }
        if let Some(number) = path.strip_prefix("/moved/") {
            return page(number).map(|to| UrlMeaning::Moved { to, hops: 0 });
        }
        if let Some((hops, number)) = path.strip_prefix("/go").and_then(|rest| rest.split_once('/')) {
            let hops = plain_number(hops).filter(|hops| (1..=MAX_HOPS).contains(hops))?;
            return page(number).map(|to| UrlMeaning::Moved { to, hops });
        }
        if let Some((side, number)) = path.strip_prefix("/loop/").and_then(|rest| rest.split_once('/')) {
            let side = ["a", "b"].iter().position(|&name| name == side)? as u8;
            return page(number).map(|page| UrlMeaning::Loop { page, side });
        }
        self.trap(site, path)
    }

    fn trap(&self, site: u32, path: &str) -> Option<UrlMeaning> {
        let place = if let Some(month) = path.strip_prefix("/calendar/") {
            UrlMeaning::Calendar { site, month: calendar_month(month)? }
        } else if path == "/list" || path.starts_with("/list?") {
            UrlMeaning::List { site }
        } else {
            return None;
        };
        self.has_traps(site).then_some(place)
    }
}

/// Number of directories of a site.
pub(crate) const DIRECTORIES: u32 = 3;

/// Length of the longest redirect chain that ends.
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

/// Parses a URL that this module wrote.
pub(crate) fn canonical(text: &[u8]) -> CanonicalUrl {
    let text = std::str::from_utf8(text).expect("URLs are written in ASCII");
    CanonicalUrl::parse(text).expect("URLs are written in canonical form")
}

fn calendar_month(text: &str) -> Option<u32> {
    let (year, month) = text.split_once('/')?;
    let month = plain_number(month.strip_prefix('0').unwrap_or(month)).filter(|m| (1..=12).contains(m))?;
    plain_number(year)?.checked_mul(12)?.checked_add(month - 1)
}

/// Parses a number without sign or leading zeros, so that each page has one spelling.
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
