//! What pages ask of robots and of readers, and which of it is done: `meta` refresh, noindex, nofollow, noarchive.

use porthole_page::Page;
use porthole_types::CanonicalUrl;

/// A page with fewer terms that leads elsewhere says so and nothing more, however long it waits.
const FEW_TERMS: usize = 30;

/// Which requests of pages are obeyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRules {
    /// Seconds within which a `meta` refresh is followed like a redirect, whatever else the page says.
    pub max_refresh: u32,
    /// What is done with pages that ask not to be indexed.
    pub noindex: NoIndexRule,
    /// Which links are not followed because the page asks for it.
    pub nofollow: NoFollowRule,
    /// Whether pages that ask not to be archived are not archived.
    pub noarchive: bool,
}

/// What is done with pages that ask not to be indexed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NoIndexRule {
    /// Their links are followed, because lists of links often ask for it. They are no results, and not archived.
    #[default]
    Links,
    /// They are pages like others.
    Read,
    /// Their links are not followed either.
    Skip,
}

/// Which links are not followed because the page asks for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NoFollowRule {
    /// All links of a page that asks for it as a whole. A link with `rel=nofollow` is followed: it says that the author
    /// does not vouch for the target, as all links do that lead out of Wikipedia.
    #[default]
    Page,
    /// These, and single links with `rel=nofollow`, which are taken as absent.
    Links,
    /// None.
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
    /// Where the `meta` refresh of a page leads, if it is followed like a redirect.
    pub fn redirect_of<'a>(&self, url: &CanonicalUrl, page: &'a Page) -> Option<&'a CanonicalUrl> {
        let (seconds, target) = page.refresh.as_ref()?;
        let is_redirect = *seconds <= self.max_refresh || page.terms().len() < FEW_TERMS;
        (is_redirect && target != url).then_some(target)
    }

    /// Removes the requests that are not obeyed from a page, and the links that it asks not to follow.
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
    fn a_refresh_is_a_redirect_if_it_is_soon_or_all_there_is() {
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
    fn what_is_not_obeyed_is_not_seen() {
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
