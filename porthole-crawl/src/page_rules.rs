//! Handles `meta` refresh, noindex, nofollow and noarchive.

use porthole_page::Page;
use porthole_types::CanonicalUrl;

/// Name by which robots.txt files and pages address this crawler.
pub const AGENT: &str = "porthole";

/// A page with fewer terms that redirects has no content of its own, whatever its delay.
const FEW_TERMS: usize = 30;

/// Which directives of pages are obeyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRules {
    /// A `meta` refresh within this many seconds is followed like a redirect, whatever the page's content.
    pub max_refresh: u32,
    /// How noindex is handled.
    pub noindex: NoIndexRule,
    /// How nofollow is handled.
    pub nofollow: NoFollowRule,
    /// Whether noarchive is obeyed.
    pub noarchive: bool,
}

/// How pages with noindex are handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NoIndexRule {
    /// Follow their links, because link lists often have noindex. They are not results, and not archived.
    #[default]
    Links,
    /// Treat them like other pages.
    Read,
    /// Do not follow their links either.
    Skip,
}

/// How nofollow is handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NoFollowRule {
    /// Obey it for whole pages. A single link with `rel=nofollow` is followed: it only says that the author does not
    /// vouch for the target, as on all external links of Wikipedia.
    #[default]
    Page,
    /// Also ignore single links with `rel=nofollow`.
    Links,
    /// Ignore it.
    Never,
}

impl Default for PageRules {
    fn default() -> Self {
        PageRules {
            max_refresh: 5,
            noindex: NoIndexRule::default(),
            nofollow: NoFollowRule::default(),
            noarchive: true,
        }
    }
}

impl PageRules {
    /// The target of a page's `meta` refresh, if it is followed like a redirect.
    pub fn redirect_of<'a>(&self, url: &CanonicalUrl, page: &'a Page) -> Option<&'a CanonicalUrl> {
        let (seconds, target) = page.refresh.as_ref()?;
        let is_redirect = *seconds <= self.max_refresh || page.terms().len() < FEW_TERMS;
        (is_redirect && target != url).then_some(target)
    }

    /// Removes the directives that are not obeyed, and the links that must not be followed.
    pub(crate) fn apply(&self, page: &mut Page) {
        page.robots.noarchive &= self.noarchive;
        page.robots.noindex &= self.noindex != NoIndexRule::Read;
        page.robots.nofollow &= self.nofollow != NoFollowRule::Never;
        if self.nofollow == NoFollowRule::Links {
            page.links.retain(|link| !link.rel.as_deref().is_some_and(says_nofollow));
        }
    }
}

fn says_nofollow(rel: &str) -> bool {
    rel.split_ascii_whitespace().any(|word| word.eq_ignore_ascii_case("nofollow"))
}

#[cfg(test)]
mod tests {
    use porthole_page::Extractor;

    use super::*;

    fn page(html: &str) -> Page {
        let headers = [("content-type", "text/html")].into_iter().collect();
        Extractor::default().extract(&url("http://a.test/"), &headers, html.as_bytes())
    }

    fn url(text: &str) -> CanonicalUrl {
        CanonicalUrl::parse(text).unwrap()
    }

    #[test]
    fn a_refresh_redirects_if_it_is_short_or_the_page_is_empty() {
        let long = "barn owls hunt mice and voles over open fields ".repeat(10);
        for (seconds, target, text, redirects) in [
            (0, "/b", long.as_str(), true),
            (5, "/b", &long, true),
            (6, "/b", &long, false),
            (3600, "/b", "this page has moved", true),
            (0, "/", &long, false),
            (0, "/", "", false),
            (0, "mailto:a@a.test", "", false),
        ] {
            let html = format!("<meta http-equiv=refresh content='{seconds}; url={target}'><p>{text}");
            let page = page(&html);
            let target = PageRules::default().redirect_of(&url("http://a.test/"), &page);
            assert_eq!(target.is_some(), redirects, "{html}");
            assert!(target.is_none_or(|target| target.as_str() == "http://a.test/b"));
        }
    }

    #[test]
    fn ignored_directives_are_removed() {
        let html = "<meta name=robots content='noindex, nofollow, noarchive'><a href=x>x</a>\
            <a rel='ugc NoFollow' href=y>y</a><a rel=nofollowing href=z>z</a>";
        let applied = |rules: PageRules| {
            let mut page = page(html);
            rules.apply(&mut page);
            (page.robots.noindex, page.robots.nofollow, page.robots.noarchive, page.links.len())
        };
        let rules = PageRules::default();
        assert_eq!(applied(rules), (true, true, true, 3));
        assert_eq!(applied(PageRules { nofollow: NoFollowRule::Links, ..rules }), (true, true, true, 2));
        assert_eq!(applied(PageRules { nofollow: NoFollowRule::Never, ..rules }), (true, false, true, 3));
        assert_eq!(applied(PageRules { noindex: NoIndexRule::Read, ..rules }), (false, true, true, 3));
        assert_eq!(applied(PageRules { noindex: NoIndexRule::Skip, ..rules }), (true, true, true, 3));
        assert_eq!(applied(PageRules { noarchive: false, ..rules }), (true, true, false, 3));
    }
}
