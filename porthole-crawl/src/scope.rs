//! The scope of a crawl: patterns, domains, languages, depth, pages per site, disabled sites. Every refusal has a
//! reason that can be shown.

use std::collections::HashSet;
use std::fmt;

use porthole_types::{CanonicalUrl, SiteId};
use serde::{Deserialize, Serialize};

use crate::glob;
use crate::page_rules::PageRules;

/// A scope as written in the settings. [`Scope::new`] validates it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScopeSettings {
    /// If not empty, a URL must match one of these patterns.
    pub include: Vec<String>,
    /// A URL must match none of these patterns.
    pub exclude: Vec<String>,
    /// If not empty, the crawl is confined to these domains and their subdomains.
    pub domains: Vec<String>,
    /// If not empty, the ISO 639-1 codes of the languages that count.
    pub languages: Vec<String>,
    /// Maximum number of links from a start to a page.
    pub max_depth: Option<u32>,
    /// Maximum number of pages per site.
    pub max_pages_a_site: Option<u64>,
}

/// The scope of a crawl.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    include: Vec<UrlPattern>,
    exclude: Vec<UrlPattern>,
    domains: Vec<Box<str>>,
    languages: Vec<Box<str>>,
    max_depth: Option<u32>,
    max_pages_a_site: Option<u64>,
    disabled: HashSet<SiteId, foldhash::fast::FixedState>,
    pub(crate) rules: PageRules,
}

/// Why a URL or page is out of scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// It matches none of the include patterns.
    NotIncluded,
    /// It matches this exclude pattern.
    Excluded(String),
    /// Its host is in none of the allowed domains.
    Domain(String),
    /// Its language is not allowed.
    Language(String),
    /// It is this many links from a start.
    Depth(u32),
    /// This many pages of its site have been taken.
    SiteFull(u64),
    /// Its site is disabled.
    SiteDisabled,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::NotIncluded => write!(f, "matches none of the include patterns"),
            Why::Excluded(pattern) => write!(f, "matches the exclude pattern `{pattern}`"),
            Why::Domain(host) => write!(f, "the host {host} is in none of the allowed domains"),
            Why::Language(language) => write!(f, "the language `{language}` is none of the allowed ones"),
            Why::Depth(depth) => write!(f, "{depth} links from a start, deeper than allowed"),
            Why::SiteFull(pages) => write!(f, "{pages} pages of its site have been taken, the maximum"),
            Why::SiteDisabled => write!(f, "its site is disabled"),
        }
    }
}

/// An invalid scope.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    /// An invalid pattern.
    #[error("the pattern `{pattern}` {problem}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong and what to write instead.
        problem: String,
    },
    /// An invalid domain.
    #[error("`{0}` is not a domain: write it like `example.org`, without scheme, port or path")]
    Domain(String),
    /// An invalid language.
    #[error("`{0}` is not a language: write its ISO 639-1 code, such as `en`")]
    Language(String),
}

impl Scope {
    /// Validates a scope.
    pub fn new(settings: &ScopeSettings) -> Result<Self, ScopeError> {
        Ok(Scope {
            include: settings.include.iter().map(|text| UrlPattern::parse(text)).collect::<Result<_, _>>()?,
            exclude: settings.exclude.iter().map(|text| UrlPattern::parse(text)).collect::<Result<_, _>>()?,
            domains: settings.domains.iter().map(|text| domain(text)).collect::<Result<_, _>>()?,
            languages: settings.languages.iter().map(|text| language(text)).collect::<Result<_, _>>()?,
            max_depth: settings.max_depth,
            max_pages_a_site: settings.max_pages_a_site,
            disabled: HashSet::default(),
            rules: PageRules::default(),
        })
    }

    /// The same scope with other page rules.
    pub fn with_page_rules(self, rules: PageRules) -> Scope {
        Scope { rules, ..self }
    }

    /// The rules that the user has given, for comparison with those of another run.
    pub(crate) fn rules_as_text(&self) -> String {
        let Scope { include, exclude, domains, languages, max_depth, max_pages_a_site, .. } = self;
        let written = |patterns: &[UrlPattern]| -> Vec<Box<str>> {
            patterns.iter().map(|pattern| pattern.written.clone()).collect()
        };
        let (include, exclude) = (written(include), written(exclude));
        format!("{include:?} {exclude:?} {domains:?} {languages:?} {max_depth:?} {max_pages_a_site:?}")
    }

    /// Whether only pages in some languages are in scope.
    pub(crate) fn has_languages(&self) -> bool {
        !self.languages.is_empty()
    }

    /// Disables or enables a site.
    pub fn set_disabled(&mut self, site: SiteId, disabled: bool) {
        if disabled {
            self.disabled.insert(site);
        } else {
            self.disabled.remove(&site);
        }
    }

    /// Whether a URL is in scope, given its depth and the number of pages already taken from its site.
    pub fn admits(&self, url: &CanonicalUrl, depth: u32, pages_of_site: u64) -> Result<(), Why> {
        if self.disabled.contains(&url.site()) {
            return Err(Why::SiteDisabled);
        }
        if self.max_depth.is_some_and(|max| depth > max) {
            return Err(Why::Depth(depth));
        }
        if let Some(max) = self.max_pages_a_site.filter(|&max| pages_of_site >= max) {
            return Err(Why::SiteFull(max));
        }
        if !self.domains.is_empty() && !self.domains.iter().any(|domain| is_within(url.host(), domain)) {
            return Err(Why::Domain(url.host().to_owned()));
        }
        if let Some(pattern) = self.exclude.iter().find(|pattern| pattern.matches(url)) {
            return Err(Why::Excluded(pattern.written.to_string()));
        }
        if !self.include.is_empty() && !self.include.iter().any(|pattern| pattern.matches(url)) {
            return Err(Why::NotIncluded);
        }
        Ok(())
    }

    /// Whether a page in this language (an ISO 639-1 code, empty if unknown) is in scope. An unknown language is:
    /// short pages have none that can be recognised.
    pub fn admits_language(&self, language: &str) -> Result<(), Why> {
        let known = self.languages.is_empty()
            || language.is_empty()
            || self.languages.iter().any(|allowed| allowed.eq_ignore_ascii_case(language));
        if known { Ok(()) } else { Err(Why::Language(language.to_owned())) }
    }
}

/// The folders above a URL, the nearest first: `/a/b/c` gives `/a/b/`, `/a/` and `/` (V 3.2). At most
/// [`MAX_TRUNCATIONS`].
pub fn truncations(url: &CanonicalUrl) -> Vec<CanonicalUrl> {
    let path = url.path();
    let site = format!("{}://{}", url.scheme(), url.authority());
    let folders =
        path.bytes().enumerate().rev().filter(|&(_, byte)| byte == b'/').map(|(at, _)| &path[..=at]);
    let above = folders.filter(|&folder| folder != path || url.query().is_some());
    above
        .take(MAX_TRUNCATIONS)
        .filter_map(|folder| CanonicalUrl::parse(&format!("{site}{folder}")).ok())
        .collect()
}

/// Maximum number of folders above a URL to try.
pub const MAX_TRUNCATIONS: usize = 10;

/// A pattern for URLs: `*` matches anything, and the whole must match. With a scheme it is matched against the whole
/// URL, starting with `/` against path and query, otherwise against everything after the scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
struct UrlPattern {
    written: Box<str>,
    pattern: Box<[u8]>,
    subject: Subject,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    Url,
    WithoutScheme,
    PathAndQuery,
}

impl UrlPattern {
    fn parse(written: &str) -> Result<Self, ScopeError> {
        let wrong = |problem: &str| ScopeError::Pattern { pattern: written.into(), problem: problem.into() };
        if written.trim().is_empty() {
            return Err(wrong("is empty: leave it out, or write `*` for everything"));
        }
        if written.contains(char::is_whitespace) {
            return Err(wrong("has a space in it, which no URL has: write `%20`, or two patterns"));
        }
        if written.contains('#') {
            return Err(wrong("has a `#` in it: URLs are compared without their fragment"));
        }
        let subject = match written.split_once("://") {
            Some(("http" | "https" | "*", _)) => Subject::Url,
            Some((scheme, _)) if !scheme.contains(['/', '?', '*']) => {
                return Err(wrong("has a scheme that is not crawled: write `http://`, `https://` or `*://`"));
            }
            _ if written.starts_with('/') => Subject::PathAndQuery,
            _ => Subject::WithoutScheme,
        };
        if subject != Subject::PathAndQuery && !behind_scheme(written).contains(['/', '*']) {
            return Err(wrong(&format!("has no path: write `{written}/*` for the whole site")));
        }
        Ok(UrlPattern { written: written.into(), pattern: canonical(written, subject), subject })
    }

    fn matches(&self, url: &CanonicalUrl) -> bool {
        let text = url.as_str();
        let subject = match self.subject {
            Subject::Url => text,
            Subject::WithoutScheme => &text[url.scheme().len() + 3..],
            Subject::PathAndQuery => url.path_and_query(),
        };
        glob::matches(&self.pattern, subject.as_bytes(), true)
    }
}

fn behind_scheme(written: &str) -> &str {
    written.split_once("://").map_or(written, |(_, rest)| rest)
}

/// The pattern in canonical form: the host in lower case, other alphabets escaped.
fn canonical(written: &str, subject: Subject) -> Box<[u8]> {
    let host_end = match subject {
        Subject::PathAndQuery => 0,
        _ => {
            let host_start = written.len() - behind_scheme(written).len();
            written[host_start..].find('/').map_or(written.len(), |slash| host_start + slash)
        }
    };
    let host = written[..host_end].to_lowercase();
    let mut pattern = host.into_bytes();
    for byte in written[host_end..].bytes() {
        if byte.is_ascii() {
            pattern.push(byte);
        } else {
            pattern.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
    }
    pattern.into()
}

/// The domain in canonical form: lower case, other alphabets in Punycode.
fn domain(written: &str) -> Result<Box<str>, ScopeError> {
    let wrong = || ScopeError::Domain(written.to_owned());
    let bare = written.trim().trim_start_matches("*.").trim_start_matches('.');
    let is_address = bare.starts_with('[') && bare.ends_with(']');
    if bare.is_empty() || bare.contains(['/', '*', '@', '?', '#']) || bare.contains(':') && !is_address {
        return Err(wrong());
    }
    let url = CanonicalUrl::parse(&format!("http://{bare}/")).map_err(|_| wrong())?;
    Ok(url.host().into())
}

fn language(written: &str) -> Result<Box<str>, ScopeError> {
    let code = written.trim().to_ascii_lowercase();
    let is_code = matches!(code.len(), 2 | 3) && code.bytes().all(|byte| byte.is_ascii_lowercase());
    if is_code { Ok(code.into()) } else { Err(ScopeError::Language(written.to_owned())) }
}

/// Whether a host is the domain or a subdomain of it.
fn is_within(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> CanonicalUrl {
        CanonicalUrl::parse(text).unwrap()
    }

    fn strings(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    fn scope(include: &[&str], exclude: &[&str], domains: &[&str]) -> Scope {
        Scope::new(&ScopeSettings {
            include: strings(include),
            exclude: strings(exclude),
            domains: strings(domains),
            ..ScopeSettings::default()
        })
        .unwrap()
    }

    #[test]
    fn patterns() {
        let table = [
            ("*", "http://a.test/x?y", true),
            ("a.test/*", "http://a.test/x", true),
            ("a.test/*", "https://a.test/", true),
            ("a.test/*", "http://www.a.test/", false),
            ("*.a.test/*", "http://www.a.test/", true),
            ("*.a.test/*", "http://a.test/", false),
            ("A.Test/Dir/*", "http://a.test/Dir/x", true),
            ("A.Test/Dir/*", "http://a.test/dir/x", false),
            ("https://*", "http://a.test/", false),
            ("*://a.test/*", "https://a.test/x", true),
            ("https://a.test/*.html", "https://a.test/x/y.html", true),
            ("https://a.test/*.html", "https://a.test/x/y.html?z", false),
            ("/news/*", "http://a.test/news/1", true),
            ("/news/*", "http://a.test/old/news/1", false),
            ("/search?*", "http://a.test/search?q=1", true),
            ("/search?*", "http://a.test/searching", false),
            ("*/print/*", "http://a.test/x/print/1", true),
            ("*.pdf", "http://a.test/x.pdf", true),
            ("/caf\u{e9}/*", "http://a.test/caf%C3%A9/1", true),
            ("a.test:8080/*", "http://a.test:8080/1", true),
            ("*?u=http://b.test/*", "http://a.test/?u=http://b.test/1", true),
        ];
        for (pattern, text, matches) in table {
            let admitted = scope(&[pattern], &[], &[]).admits(&url(text), 0, 0);
            assert_eq!(admitted.is_ok(), matches, "{pattern} and {text}: {admitted:?}");
            let excluded = scope(&[], &[pattern], &[]).admits(&url(text), 0, 0);
            let why = Err(Why::Excluded(pattern.to_owned()));
            assert_eq!(excluded, if matches { why } else { Ok(()) });
        }
    }

    #[test]
    fn domains() {
        let table = [
            ("example.org", "http://example.org/", true),
            ("example.org", "http://www.example.org:8080/", true),
            ("example.org", "http://badexample.org/", false),
            ("example.org", "http://example.org.evil.test/", false),
            ("*.Example.org", "http://a.b.example.org/", true),
            ("www.example.org", "http://example.org/", false),
            ("edu", "http://cs.cmu.edu/", true),
            ("b\u{fc}cher.example", "http://xn--bcher-kva.example/", true),
            ("10.0.0.1", "http://10.0.0.1/", true),
            ("[::1]", "http://[::1]:80/", true),
        ];
        for (domain, text, within) in table {
            assert_eq!(
                scope(&[], &[], &[domain]).admits(&url(text), 0, 0).is_ok(),
                within,
                "{domain}, {text}"
            );
        }
        let scope = scope(&[], &[], &["a.test", "bbc.co.uk"]);
        assert!(scope.admits(&url("http://www.bbc.co.uk/x"), 0, 0).is_ok());
        assert_eq!(
            scope.admits(&url("http://www.itv.co.uk/x"), 0, 0),
            Err(Why::Domain("www.itv.co.uk".into()))
        );
    }

    #[test]
    fn depth_share_sites_and_languages() {
        let settings = ScopeSettings {
            languages: strings(&["en", "DE"]),
            max_depth: Some(2),
            max_pages_a_site: Some(10),
            ..ScopeSettings::default()
        };
        let mut scope = Scope::new(&settings).unwrap();
        let page = url("http://a.test/");
        assert_eq!(scope.admits(&page, 2, 9), Ok(()));
        assert_eq!(scope.admits(&page, 3, 0), Err(Why::Depth(3)));
        assert_eq!(scope.admits(&page, 0, 10), Err(Why::SiteFull(10)));
        scope.set_disabled(page.site(), true);
        assert_eq!(scope.admits(&page, 0, 0), Err(Why::SiteDisabled));
        scope.set_disabled(page.site(), false);
        assert_eq!(scope.admits(&page, 0, 0), Ok(()));
        for (language, admitted) in [("en", true), ("de", true), ("", true), ("fr", false)] {
            assert_eq!(scope.admits_language(language).is_ok(), admitted, "{language}");
        }
        assert_eq!(Scope::default().admits_language("fr"), Ok(()));
        assert_eq!(Why::Depth(3).to_string(), "3 links from a start, deeper than allowed");
    }

    #[test]
    fn errors_say_what_to_write() {
        let pattern = |text: &str| ScopeSettings { include: strings(&[text]), ..ScopeSettings::default() };
        let domain = |text: &str| ScopeSettings { domains: strings(&[text]), ..ScopeSettings::default() };
        let language = |text: &str| ScopeSettings { languages: strings(&[text]), ..ScopeSettings::default() };
        for (settings, words) in [
            (pattern(""), "write `*` for everything"),
            (pattern("a b"), "write `%20`"),
            (pattern("a.test/#x"), "without their fragment"),
            (pattern("ftp://a.test/*"), "write `http://`"),
            (pattern("a.test"), "write `a.test/*`"),
            (pattern("http://a.test"), "write `http://a.test/*`"),
            (domain("http://a.test"), "write it like `example.org`"),
            (domain("a.test:80"), "without scheme, port or path"),
            (domain(""), "not a domain"),
            (domain("a b"), "not a domain"),
            (language("english"), "such as `en`"),
            (language(""), "such as `en`"),
        ] {
            let error = Scope::new(&settings).unwrap_err().to_string();
            assert!(error.contains(words), "{settings:?}: {error}");
        }
    }

    #[test]
    fn folders_above() {
        let table: [(&str, &[&str]); 8] = [
            ("http://a.test/a/b/c", &["/a/b/", "/a/", "/"]),
            ("http://a.test/a/b/", &["/a/", "/"]),
            ("http://a.test/a", &["/"]),
            ("http://a.test/", &[]),
            ("http://a.test/?q", &["/"]),
            ("http://a.test/a/?q=/x/y", &["/a/", "/"]),
            ("http://a.test/a/b?q", &["/a/", "/"]),
            ("http://a.test//a/b", &["//a/", "//", "/"]),
        ];
        for (text, paths) in table {
            let above = truncations(&url(text));
            assert!(above.iter().all(|above| above.authority() == "a.test" && above.query().is_none()));
            assert_eq!(above.iter().map(CanonicalUrl::path).collect::<Vec<_>>(), paths, "{text}");
        }
        assert_eq!(truncations(&url(&format!("http://a.test{}", "/a".repeat(500)))).len(), MAX_TRUNCATIONS);
    }
}
