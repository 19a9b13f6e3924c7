//! Canonical URLs: the one spelling by which a page is identified.
//!
//! In addition to the normalisation of the URL standard (case of scheme and host, IDNA, default ports, dot segments,
//! tabs and newlines), the canonical form has no user name, no fragment, no trailing dot on the host, no empty query,
//! no session ids and no tracking parameters; escapes of unreserved characters are decoded, all other escapes are upper
//! case, and a stray `%` is escaped.

use std::borrow::Cow;
use std::fmt;

use url::Url;

use crate::{SiteId, UrlId};

/// Version of the rules below. A store records the version of its URLs: ids must not change with an upgrade.
///
/// Version 1 removed `sessionid` and `session_id` whatever their value; since version 2 it has to look like a session id.
pub const CANON_VERSION: u32 = 2;

/// The oldest version whose canonical URLs are all canonical today, with the same ids. A store of such a version is used as it
/// is: its URLs stay, and links found from now on follow the rules of today.
pub const CANON_COMPATIBLE: u32 = 1;

/// Maximum length of a canonical URL; longer ones are traps, or contain data.
const MAX_LENGTH: usize = 2048;

/// An `http` or `https` URL in canonical form.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CanonicalUrl(Box<str>);

/// Why a text is not a URL that can be crawled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// Invalid by the URL standard.
    #[error("not a URL: {0}")]
    Syntax(String),
    /// Neither `http` nor `https`.
    #[error("the scheme `{0}` is not crawled, only http and https are")]
    Scheme(String),
    /// Longer than 2,048 bytes.
    #[error("longer than {MAX_LENGTH} bytes")]
    TooLong,
    /// Repeated normalisation does not converge.
    #[error("has no stable canonical form")]
    Unstable,
}

impl CanonicalUrl {
    /// The canonical form of an absolute URL.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        if text.len() > 4 * MAX_LENGTH {
            return Err(UrlError::TooLong);
        }
        settle(Url::parse(text).map_err(|e| UrlError::Syntax(e.to_string()))?)
    }

    /// The canonical URL with this id, if `text` is it; avoids parsing canonical text again.
    pub fn with_id(text: &str, id: UrlId) -> Option<Self> {
        (UrlId::of(text) == id).then(|| CanonicalUrl(text.into()))
    }

    /// Resolves a reference on a page with this URL (or base) to its canonical form.
    pub fn join(&self, reference: &str) -> Result<Self, UrlError> {
        let reference = reference.trim_matches(|c: char| c <= ' ');
        if reference.len() > 4 * MAX_LENGTH {
            return Err(UrlError::TooLong);
        }
        if let Some(joined) = self.join_plain(reference) {
            return Ok(joined);
        }
        let base = Url::parse(&self.0).map_err(|e| UrlError::Syntax(e.to_string()))?;
        settle(base.join(reference).map_err(|e| UrlError::Syntax(e.to_string()))?)
    }

    /// The URL as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The URL's identity.
    pub fn id(&self) -> UrlId {
        UrlId::of(&self.0)
    }

    /// The identity of its site.
    pub fn site(&self) -> SiteId {
        SiteId::of(self.authority())
    }

    /// `http` or `https`.
    pub fn scheme(&self) -> &str {
        &self.0[..self.authority_start() - 3]
    }

    /// Host, with the port if it is not the default.
    pub fn authority(&self) -> &str {
        &self.0[self.authority_start()..self.path_start()]
    }

    /// The host without its port. An IPv6 address keeps its brackets.
    pub fn host(&self) -> &str {
        let authority = self.authority();
        match authority.rfind(':') {
            Some(colon) if !authority.ends_with(']') => &authority[..colon],
            _ => authority,
        }
    }

    /// The registrable domain by the public suffix list: `bbc.co.uk` for `news.bbc.co.uk`. An IP address, or a host
    /// that is a suffix itself, is returned as it is.
    pub fn domain(&self) -> &str {
        let host = self.host();
        let is_address = host.starts_with('[') || host.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        if is_address { host } else { psl::domain_str(host).unwrap_or(host) }
    }

    /// Path and query, starting with `/`: the request target.
    pub fn path_and_query(&self) -> &str {
        &self.0[self.path_start()..]
    }

    /// The path alone.
    pub fn path(&self) -> &str {
        let rest = self.path_and_query();
        &rest[..rest.bytes().position(|b| b == b'?').unwrap_or(rest.len())]
    }

    /// The query without its `?`.
    pub fn query(&self) -> Option<&str> {
        self.0.find('?').map(|at| &self.0[at + 1..])
    }

    fn authority_start(&self) -> usize {
        if self.0.as_bytes()[4] == b's' { 8 } else { 7 }
    }

    fn path_start(&self) -> usize {
        let start = self.authority_start();
        start + self.0[start..].bytes().position(|b| b == b'/').expect("a canonical URL has a path")
    }

    /// A fast path for the common case: a relative or absolute path, or a URL with a plain host, of characters that no
    /// rule changes. A test checks that the result equals that of the full rules.
    fn join_plain(&self, reference: &str) -> Option<Self> {
        let (prefix, path_start) = if let Some(host_start) = absolute(reference) {
            let length = reference[host_start..].bytes().position(|b| b == b'/')?;
            if !is_plain_host(&reference[host_start..host_start + length]) {
                return None;
            }
            // A reference that starts with two slashes has the page's scheme.
            (if host_start == 2 { &self.0[..=self.scheme().len()] } else { "" }, host_start + length)
        } else if reference.starts_with('/') {
            (&self.0[..self.path_start()], 0)
        } else {
            let base = &self.0[..self.path_start() + self.path().len()];
            (&base[..=base.rfind('/')?], 0)
        };
        let end = path_start + plain_length(&reference.as_bytes()[path_start..])?;
        let length = prefix.len() + end;
        if end == path_start || length > MAX_LENGTH || !is_plain_query(&reference[path_start..end]) {
            return None;
        }
        let mut text = String::with_capacity(length);
        text.push_str(prefix);
        text.push_str(&reference[..end]);
        Some(CanonicalUrl(text.into()))
    }
}

impl fmt::Display for CanonicalUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for CanonicalUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}>", self.0)
    }
}

impl AsRef<str> for CanonicalUrl {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// The start of the host in a reference that has one.
fn absolute(reference: &str) -> Option<usize> {
    ["http://", "https://", "//"].iter().find(|start| reference.starts_with(**start)).map(|start| start.len())
}

/// Lower-case letters, digits, hyphens and single dots, with a letter in the last label: needs neither IDNA nor address
/// parsing nor a port rule.
fn is_plain_host(host: &str) -> bool {
    let mut label_start = 0;
    for (at, byte) in host.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' => {}
            // Punycode has two hyphens.
            b'-' if at > label_start && host.as_bytes()[at - 1] != b'-' => {}
            b'.' if at > label_start => label_start = at + 1,
            _ => return false,
        }
    }
    host[label_start..].starts_with(|c: char| c.is_ascii_lowercase())
}

/// Length of a path and query, up to a fragment, if they contain nothing that could be decoded, escaped, collapsed,
/// removed or mistaken for a scheme.
fn plain_length(bytes: &[u8]) -> Option<usize> {
    // A segment that starts with a dot may be a dot segment, and two slashes at the start are a host.
    let mut after_slash = true;
    let (mut at, mut allowed) = (0, PATH);
    while at < bytes.len() {
        let byte = bytes[at];
        if PLAIN[usize::from(byte)] & allowed == 0 {
            match byte {
                b'#' => return Some(at),
                // A query without a path would need the page's path before it.
                b'?' if at > 0 => allowed = QUERY,
                b'%' if is_settled_escape(bytes.get(at + 1..at + 3)) => at += 2,
                b'.' if !after_slash => {}
                b'/' if !after_slash || at != 1 => {}
                _ => return None,
            }
        }
        after_slash = byte == b'/';
        at += 1;
    }
    Some(at)
}

const PATH: u8 = 1;
const QUERY: u8 = 2;

/// For each byte, whether it is plain anywhere in a path or in a query.
static PLAIN: [u8; 256] = {
    let mut plain = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        plain[byte as usize] = match byte {
            b'-' | b'_' | b'~' | b',' | b'+' | b'(' | b')' | b'!' | b'*' => PATH | QUERY,
            b'\'' => PATH,
            b'.' | b'/' | b'=' | b'&' | b':' | b';' | b'@' | b'$' => QUERY,
            _ if byte.is_ascii_alphanumeric() => PATH | QUERY,
            _ => 0,
        };
        byte += 1;
    }
    plain
};

/// Whether no parameter after the `?` would be removed.
fn is_plain_query(path_and_query: &str) -> bool {
    let Some(mark) = path_and_query.bytes().position(|b| b == b'?') else { return true };
    path_and_query[mark + 1..].split('&').all(|parameter| !parameter.is_empty() && !is_noise(parameter))
}

/// Whether this is an upper-case escape of a character that must be escaped.
fn is_settled_escape(digits: Option<&[u8]>) -> bool {
    let Some(&[high, low]) = digits else { return false };
    match (upper_hex(high), upper_hex(low)) {
        (Some(high), Some(low)) => !is_unreserved(high << 4 | low),
        _ => false,
    }
}

fn upper_hex(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// Applies the rules until nothing changes. One round usually suffices; a second is needed if a removal creates, for
/// example, a dot segment.
fn settle(mut url: Url) -> Result<CanonicalUrl, UrlError> {
    const ROUNDS: usize = 8;
    for _ in 0..ROUNDS {
        let text = one_round(&mut url)?;
        let again = Url::parse(&text).map_err(|e| UrlError::Syntax(e.to_string()))?;
        let stable = again.as_str() == text && url.as_str() == text;
        url = again;
        if stable {
            return if text.len() > MAX_LENGTH {
                Err(UrlError::TooLong)
            } else {
                Ok(CanonicalUrl(text.into()))
            };
        }
    }
    Err(UrlError::Unstable)
}

fn one_round(url: &mut Url) -> Result<String, UrlError> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(UrlError::Scheme(url.scheme().to_owned()));
    }
    let host =
        url.host_str().filter(|host| !host.is_empty()).ok_or_else(|| UrlError::Syntax("no host".into()))?;
    let host = host.trim_end_matches('.');
    if host.is_empty() {
        return Err(UrlError::Syntax("no host".into()));
    }
    let mut text = format!("{}://{host}", url.scheme());
    if let Some(port) = url.port() {
        text.push_str(&format!(":{port}"));
    }
    text.push_str(&without_path_session(&normal_escapes(url.path())));
    if let Some(query) = url.query() {
        push_query(&mut text, &normal_escapes(query));
    }
    Ok(text)
}

/// Decodes escapes of unreserved characters, writes the others in upper case, escapes a stray `%`.
fn normal_escapes(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return text.into();
    }
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len() + 8);
    let mut rest = 0;
    while let Some(at) = text[rest..].find('%').map(|i| rest + i) {
        out.push_str(&text[rest..at]);
        match (hex(bytes.get(at + 1)), hex(bytes.get(at + 2))) {
            (Some(high), Some(low)) => {
                let byte = high << 4 | low;
                if is_unreserved(byte) {
                    out.push(char::from(byte));
                } else {
                    out.push_str(&format!("%{byte:02X}"));
                }
                rest = at + 3;
            }
            _ => {
                out.push_str("%25");
                rest = at + 1;
            }
        }
    }
    out.push_str(&text[rest..]);
    out.into()
}

fn hex(byte: Option<&u8>) -> Option<u8> {
    byte.and_then(|&b| char::from(b).to_digit(16)).map(|digit| digit as u8)
}

/// Removes `;jsessionid=…` from each path segment, whatever its value: only servers write it.
fn without_path_session(path: &str) -> Cow<'_, str> {
    const MARK: &str = ";jsessionid=";
    if !path.contains(';') {
        return path.into();
    }
    let clean = |segment: &str| {
        let at = segment.to_ascii_lowercase().find(MARK).unwrap_or(segment.len());
        segment[..at].to_owned()
    };
    path.split('/').map(clean).collect::<Vec<_>>().join("/").into()
}

/// Appends the query after `?`, without parameters that do not select a page.
fn push_query(out: &mut String, query: &str) {
    let mut sign = '?';
    for parameter in query.split('&').filter(|p| !p.is_empty() && !is_noise(p)) {
        out.push(sign);
        out.push_str(parameter);
        sign = '&';
    }
}

/// Whether a query parameter only tracks the visitor.
fn is_noise(parameter: &str) -> bool {
    const TRACKING: &[&str] = &[
        "gclid",
        "gclsrc",
        "dclid",
        "gbraid",
        "wbraid",
        "fbclid",
        "msclkid",
        "yclid",
        "ysclid",
        "twclid",
        "ttclid",
        "igshid",
        "igsh",
        "mc_cid",
        "mc_eid",
        "_ga",
        "_gl",
        "_hsenc",
        "_hsmi",
        "mkt_tok",
        "oly_anon_id",
        "oly_enc_id",
        "vero_id",
        "wickedid",
        "s_cid",
        "srsltid",
    ];
    const TRACKING_PREFIXES: &[&str] = &["utm_", "pk_", "mtm_", "piwik_", "matomo_", "hsa_"];
    /// Names that only servers write.
    const SESSION: &[&str] = &["phpsessid", "jsessionid", "cfid", "cftoken", "osclid", "zenid"];
    /// Names that are also used for content, such as the sessions of a conference.
    const SESSION_OR_PAGE: &[&str] = &["sessionid", "session_id"];
    const SESSION_IF_HEX: &[&str] = &["sid", "s", "session", "oscsid", "sessid"];

    let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
    let is_one_of = |names: &[&str]| names.iter().any(|known| name.eq_ignore_ascii_case(known));
    let starts_with =
        |prefix: &&str| name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
    is_one_of(TRACKING)
        || TRACKING_PREFIXES.iter().any(starts_with)
        || starts_with(&"aspsessionid")
        || is_one_of(SESSION)
        || (is_one_of(SESSION_OR_PAGE) && is_session_id(value))
        || (is_one_of(SESSION_IF_HEX) && value.len() >= 24 && value.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Whether a value looks like the id of a session: a long random sequence of letters and digits. `12`, `2019-keynote` and
/// `internationalization` name pages of a programme.
fn is_session_id(value: &str) -> bool {
    const SHORTEST: usize = 16;
    const FEWEST_DIGITS: usize = 3;
    // Some servers append their name.
    let id = value.split('.').next().unwrap_or_default();
    let digits = id.bytes().filter(u8::is_ascii_digit).count();
    id.len() >= SHORTEST && id.bytes().all(|byte| byte.is_ascii_alphanumeric()) && digits >= FEWEST_DIGITS
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(input: &str, canonical: &str) {
        assert_eq!(
            CanonicalUrl::parse(input).map(|u| u.to_string()),
            Ok(canonical.to_owned()),
            "for {input}"
        );
    }

    #[test]
    fn canonical_text_is_recognised_by_its_id() {
        let url = CanonicalUrl::parse("http://example.com/a").unwrap();
        assert_eq!(CanonicalUrl::with_id(url.as_str(), url.id()), Some(url.clone()));
        for other in ["", "http://example.com/b", "HTTP://example.com/a"] {
            assert_eq!(CanonicalUrl::with_id(other, url.id()), None, "for {other}");
        }
    }

    #[test]
    fn the_rules_one_by_one() {
        let table = [
            ("HTTP://Example.COM", "http://example.com/"),
            ("http://example.com./a", "http://example.com/a"),
            ("http://example.com:80/", "http://example.com/"),
            ("https://example.com:443/", "https://example.com/"),
            ("http://example.com:8080/", "http://example.com:8080/"),
            ("http://me:secret@example.com/", "http://example.com/"),
            ("http://example.com/a/./b/../c", "http://example.com/a/c"),
            ("http://example.com/a/%2e%2E/c", "http://example.com/c"),
            ("http://example.com/%7ejoe/%c3%a9", "http://example.com/~joe/%C3%A9"),
            ("http://example.com/é", "http://example.com/%C3%A9"),
            ("http://example.com/%25C3", "http://example.com/%25C3"),
            ("http://example.com/100%", "http://example.com/100%25"),
            ("http://example.com/%%34%31", "http://example.com/%2541"),
            ("http://example.com/a?", "http://example.com/a"),
            ("http://example.com/a?&&", "http://example.com/a"),
            ("http://example.com/a#part", "http://example.com/a"),
            ("http://example.com/a?b=1&utm_source=x&c=2", "http://example.com/a?b=1&c=2"),
            ("http://example.com/a?UTM_Source=x", "http://example.com/a"),
            ("http://example.com/a?PHPSESSID=ab12", "http://example.com/a"),
            ("http://example.com/a?sid=4", "http://example.com/a?sid=4"),
            ("http://example.com/a?sessionid=12", "http://example.com/a?sessionid=12"),
            ("http://example.com/a?session_id=2019-keynote", "http://example.com/a?session_id=2019-keynote"),
            (
                "http://example.com/a?sessionid=internationalization",
                "http://example.com/a?sessionid=internationalization",
            ),
            ("http://example.com/a?sessionid=r2t5uvjq435r4q7ib3vtdjq120&b=1", "http://example.com/a?b=1"),
            ("http://example.com/a?session_id=0A1B2C3D4E5F60718293A4B5.node1", "http://example.com/a"),
            ("http://example.com/a?sid=0123456789abcdef0123456789abcdef", "http://example.com/a"),
            ("http://example.com/a;jsessionid=AB12?x=1", "http://example.com/a?x=1"),
            ("http://example.com/a/.;jsessionid=1/b", "http://example.com/a/b"),
            ("http://example.com/a;v=1/b", "http://example.com/a;v=1/b"),
            ("http://example.com/a?q=a b", "http://example.com/a?q=a%20b"),
            ("http://example.com/a?q=a+b", "http://example.com/a?q=a+b"),
            ("http://example.com//a//b", "http://example.com//a//b"),
            ("http://bücher.example/", "http://xn--bcher-kva.example/"),
            ("http://0x7f.1/", "http://127.0.0.1/"),
            ("http://[::1]:8000/x", "http://[::1]:8000/x"),
            (" http://exa\nmple.com/a\tb ", "http://example.com/ab"),
        ];
        for (input, canonical) in table {
            check(input, canonical);
        }
    }

    #[test]
    fn urls_that_cannot_be_crawled_are_rejected_with_a_reason() {
        for (input, word) in [
            ("mailto:joe@example.com", "scheme"),
            ("javascript:void(0)", "scheme"),
            ("ftp://example.com/", "scheme"),
            ("/relative", "not a URL"),
            ("http://", "not a URL"),
            ("http://./", "no host"),
            ("http://exa mple.com/", "not a URL"),
        ] {
            let error = CanonicalUrl::parse(input).unwrap_err().to_string();
            assert!(error.contains(word), "{input}: {error}");
        }
        let long = format!("http://example.com/{}", "a".repeat(MAX_LENGTH));
        assert_eq!(CanonicalUrl::parse(&long), Err(UrlError::TooLong));
    }

    #[test]
    fn parts() {
        let url = CanonicalUrl::parse("https://news.bbc.co.uk:8443/a/b?c=d").unwrap();
        assert_eq!(url.scheme(), "https");
        assert_eq!(url.authority(), "news.bbc.co.uk:8443");
        assert_eq!(url.host(), "news.bbc.co.uk");
        assert_eq!(url.domain(), "bbc.co.uk");
        assert_eq!(url.path_and_query(), "/a/b?c=d");
        assert_eq!(url.path(), "/a/b");
        assert_eq!(url.query(), Some("c=d"));
        let url = CanonicalUrl::parse("http://[2001:db8::1]/").unwrap();
        assert_eq!((url.host(), url.domain()), ("[2001:db8::1]", "[2001:db8::1]"));
        let url = CanonicalUrl::parse("http://10.0.0.1:99/").unwrap();
        assert_eq!((url.host(), url.domain()), ("10.0.0.1", "10.0.0.1"));
    }

    #[test]
    fn references_resolve_against_the_page() {
        let base = CanonicalUrl::parse("http://example.com/dir/page.html?q=1").unwrap();
        for (reference, target) in [
            ("other.html", "http://example.com/dir/other.html"),
            ("other.html#part", "http://example.com/dir/other.html"),
            ("../up.html", "http://example.com/up.html"),
            ("/root", "http://example.com/root"),
            ("//host.test/x", "http://host.test/x"),
            ("?q=2", "http://example.com/dir/page.html?q=2"),
            ("", "http://example.com/dir/page.html?q=1"),
            ("#top", "http://example.com/dir/page.html?q=1"),
            ("http://other.test/a/b.htm", "http://other.test/a/b.htm"),
            ("http:other.html", "http://example.com/dir/other.html"),
            ("  spaced.html\n", "http://example.com/dir/spaced.html"),
        ] {
            assert_eq!(base.join(reference).unwrap().as_str(), target, "for {reference:?}");
        }
        assert!(base.join("mailto:x@y.z").is_err());
    }

    proptest! {
        #[test]
        fn canonicalisation_is_idempotent(text in "(http|HTTPS)://[a-zA-Z0-9.%-]{1,12}(:[0-9]{0,3})?[ -~é]{0,60}") {
            if let Ok(once) = CanonicalUrl::parse(&text) {
                let twice = CanonicalUrl::parse(once.as_str()).unwrap();
                prop_assert_eq!(&once, &twice);
                prop_assert!(once.path().starts_with('/'));
                prop_assert!(!once.as_str().contains('#'));
            }
        }

        #[test]
        fn hostile_pieces_are_idempotent_too(
            pieces in proptest::collection::vec(
                prop::sample::select(vec![
                    "%", "%2", "%2e", "%41", "%2f", "%3b", ";", ";jsessionid=", "jsessionid=", ".", "..", "/", "//",
                    "?", "&", "utm_", "sid=", "#", "a", "\\", "@", ":", "\u{e9}", " ", "\t",
                ]),
                0..24,
            )
        ) {
            if let Ok(once) = CanonicalUrl::parse(&format!("http://h.test/{}", pieces.concat())) {
                let twice = CanonicalUrl::parse(once.as_str());
                prop_assert_eq!(Ok(once), twice);
            }
        }

        #[test]
        fn the_fast_path_equals_the_full_rules(
            base in "https?://[a-z]{1,5}\\.test/([a-z.]{0,6}/){0,3}[a-z.]{0,5}(\\?[a-z]=1)?",
            reference in "(https?://[a-z0-9.-]{1,8}|//[a-z0-9.-]{1,8}|/)?\
                ([a-zA-Z0-9/._~,+()!*'#-]|%[0-9A-Ea-e][0-9A-E]){0,20}\
                (\\?(utm_|sid=|_ga=|[a-zA-Z0-9=&/._~,+()!*'#:;@$?|-]|%[0-9A-Ea-e][0-9A-E]){0,12})?",
        ) {
            if let Ok(base) = CanonicalUrl::parse(&base)
                && let Some(short) = base.join_plain(&reference)
            {
                let full = Url::parse(base.as_str()).unwrap().join(&reference).unwrap();
                prop_assert_eq!(settle(full), Ok(short));
            }
        }

        #[test]
        fn any_text_is_accepted(base in "\\PC{0,40}", reference in "\\PC{0,40}") {
            let _ = CanonicalUrl::parse(&base);
            let _ = CanonicalUrl::parse("http://a.test/b").unwrap().join(&reference);
        }
    }
}
