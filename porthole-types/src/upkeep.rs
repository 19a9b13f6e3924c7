//! Plain data about pages that are visited again: what is stored of them, what a visit found, and when the next is due.

use crate::{Headers, SegmentSpan, Timestamp};

/// Validators that a server sent with a page, for conditional requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validators {
    /// The `ETag`.
    pub etag: Option<Box<str>>,
    /// The `Last-Modified` date, as the server wrote it.
    pub modified: Option<Box<str>>,
}

impl Validators {
    /// Maximum length of a stored value. Longer ones are dropped: they would be sent back with every visit.
    pub const MAX_LENGTH: usize = 200;

    /// The validators of a response, if it has any that can be sent back.
    pub fn of(headers: &Headers) -> Option<Self> {
        let value =
            |name| headers.get(name).map(str::trim).filter(|value| is_sendable(value)).map(Into::into);
        let validators = Validators { etag: value("etag"), modified: value("last-modified") };
        (validators != Validators::default()).then_some(validators)
    }

    /// The headers of a request that asks for the page only if it has changed.
    pub fn conditions(&self) -> Headers {
        let mut headers = Headers::new();
        for (name, value) in [("if-none-match", &self.etag), ("if-modified-since", &self.modified)] {
            if let Some(value) = value {
                headers.push(name, value);
            }
        }
        headers
    }
}

fn is_sendable(value: &str) -> bool {
    !value.is_empty()
        && value.len() <= Validators::MAX_LENGTH
        && value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic())
}

/// Statistics of the visits of a page and the changes that they found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeHistory {
    /// Number of successful visits after the first one.
    pub visits: u32,
    /// Those of them that found it changed.
    pub changes: u32,
    /// Time between the first and the last of these visits, in milliseconds.
    pub watched: i64,
    /// When a visit last found it changed.
    pub changed: Option<Timestamp>,
    /// Since when it is gone (status 404 or 410).
    pub gone: Option<Timestamp>,
}

/// The stored copy of a page that is visited again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredCopy {
    /// The validators that the server sent with it.
    pub validators: Option<Validators>,
    /// Its location in the archive.
    pub span: Option<SegmentSpan>,
    /// Hash of its packed terms; `None` if it has none.
    pub fingerprint: Option<u64>,
    /// When the page was last found there.
    pub seen: Timestamp,
    /// Statistics of earlier visits.
    pub history: ChangeHistory,
    /// Its hub score; 0 if there is none.
    pub hub: f64,
}

/// What a visit found, compared with the stored copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageChange {
    /// There was no copy.
    New,
    /// The same text.
    Unchanged,
    /// Another text, or no longer a page.
    Changed,
    /// Status 404 or 410.
    Gone,
    /// Unknown, because the visit failed.
    Unknown,
}

impl PageChange {
    /// Name in events and summaries.
    pub fn name(self) -> &'static str {
        match self {
            PageChange::New => "new",
            PageChange::Unchanged => "unchanged",
            PageChange::Changed => "changed",
            PageChange::Gone => "gone",
            PageChange::Unknown => "unknown",
        }
    }
}

/// The next visit of a page in a maintained crawl.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NextVisit {
    /// What this visit found.
    pub change: PageChange,
    /// When the page was last found there.
    pub seen: Timestamp,
    /// Statistics of all visits so far.
    pub history: ChangeHistory,
    /// When to visit it again; `None` if it is gone for good.
    pub due: Option<Timestamp>,
}

/// Fingerprint of a page's text: a hash of its packed terms, by which a change is noticed. Dates and counters in the
/// markup do not matter to it, and neither does the layout.
pub fn fingerprint_of_terms(packed: &[u8]) -> Option<u64> {
    (!packed.is_empty()).then(|| xxhash_rust::xxh3::xxh3_64(packed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_be_sent_back_is_kept() {
        let of = |etag: &str, modified: &str| {
            Validators::of(&[("ETag", etag), ("Last-Modified", modified)].into_iter().collect())
        };
        let both = of(" \"a\" ", "Tue, 17 Nov 2026 07:00:00 GMT").unwrap();
        let conditions = both.conditions();
        assert_eq!(conditions.get("If-None-Match"), Some("\"a\""));
        assert_eq!(conditions.get("If-Modified-Since"), Some("Tue, 17 Nov 2026 07:00:00 GMT"));
        assert_eq!(of("", ""), None);
        assert_eq!(of("a\r\nx: y", "caf\u{e9}"), None, "not a header value");
        assert_eq!(of(&"x".repeat(201), ""), None);
    }
}
