//! One record: what it is, where it lies, its fields and its block.

use porthole_types::{Headers, Timestamp};

use crate::{HttpResponse, WarcError};

/// A record as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// What it is.
    pub kind: RecordKind,
    /// Its named fields, in order.
    pub headers: Headers,
    /// Where it lies in the file.
    pub place: Place,
    /// The block; empty if it was skipped.
    pub block: Vec<u8>,
    /// Bytes of the block as it is in the file.
    pub block_length: u64,
    /// The block was larger than the reader's limit and was passed over.
    pub skipped: bool,
}

/// Where a record lies in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Place {
    /// Byte offset of the record or, in a compressed file, of the member that it is in.
    pub offset: u64,
    /// Plain bytes of that member that come before the record: zero when each record has its own.
    pub inside: u64,
    /// Bytes in the file, from `offset` on, that hold the record. Exact when the record has its own
    /// member or is not compressed; otherwise enough to read it.
    pub length: u64,
}

/// The record types of WARC 1.1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RecordKind {
    /// About the file.
    Warcinfo,
    /// A request as it was sent.
    Request,
    /// An answer as it came.
    Response,
    /// An answer that had been recorded before.
    Revisit,
    /// About another record.
    Metadata,
    /// A thing without the protocol that brought it.
    Resource,
    /// Another record in another form.
    Conversion,
    /// The next part of a record that was split.
    Continuation,
    /// A type that the standard does not know; readers pass over it.
    #[default]
    Other,
}

const KINDS: [(RecordKind, &str); 8] = [
    (RecordKind::Warcinfo, "warcinfo"),
    (RecordKind::Request, "request"),
    (RecordKind::Response, "response"),
    (RecordKind::Revisit, "revisit"),
    (RecordKind::Metadata, "metadata"),
    (RecordKind::Resource, "resource"),
    (RecordKind::Conversion, "conversion"),
    (RecordKind::Continuation, "continuation"),
];

impl RecordKind {
    /// The kind that a `WARC-Type` names.
    pub fn of(name: &str) -> Self {
        KINDS
            .iter()
            .find(|(_, known)| known.eq_ignore_ascii_case(name))
            .map_or(RecordKind::Other, |(kind, _)| *kind)
    }

    /// The word in `WARC-Type`.
    pub fn name(self) -> &'static str {
        KINDS.iter().find(|(kind, _)| *kind == self).map_or("other", |(_, name)| name)
    }
}

impl Record {
    /// The URL that the record is about.
    pub fn target(&self) -> Option<&str> {
        self.uri("WARC-Target-URI")
    }

    /// The record's own name, `urn:uuid:…`.
    pub fn id(&self) -> Option<&str> {
        self.uri("WARC-Record-ID")
    }

    /// When what is in it was captured.
    pub fn date(&self) -> Option<Timestamp> {
        self.moment("WARC-Date")
    }

    /// In a revisit: the name of the record that has the payload.
    pub fn refers_to(&self) -> Option<&str> {
        self.uri("WARC-Refers-To")
    }

    /// In a revisit: the URL of the record that has the payload.
    pub fn refers_to_target(&self) -> Option<&str> {
        self.uri("WARC-Refers-To-Target-URI")
    }

    /// In a revisit: the date of the record that has the payload.
    pub fn refers_to_date(&self) -> Option<Timestamp> {
        self.moment("WARC-Refers-To-Date")
    }

    /// The digest of the payload, as it is written: `sha1:…`.
    pub fn payload_digest(&self) -> Option<&str> {
        self.headers.get("WARC-Payload-Digest")
    }

    /// Whether the block is an HTTP response.
    pub fn is_http_response(&self) -> bool {
        matches!(self.kind, RecordKind::Response | RecordKind::Revisit)
            && self.target().is_some_and(|url| {
                let scheme = url.split(':').next().unwrap_or_default();
                scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
            })
    }

    /// The HTTP response in the block, its body decoded and no longer than `limit`.
    pub fn http(&self, limit: u64) -> Result<HttpResponse, WarcError> {
        if self.skipped {
            let what = format!("its block of {} bytes is larger than the limit", self.block_length);
            return Err(WarcError::Http { offset: self.place.offset, what });
        }
        HttpResponse::parse(&self.block, self.place.offset, limit)
    }

    /// WARC 1.0 writes URIs in angle brackets, and some tools do so for the target too.
    fn uri(&self, name: &str) -> Option<&str> {
        let value = self.headers.get(name)?;
        Some(value.strip_prefix('<').and_then(|inner| inner.strip_suffix('>')).unwrap_or(value))
    }

    fn moment(&self, name: &str) -> Option<Timestamp> {
        let moment: jiff::Timestamp = self.headers.get(name)?.parse().ok()?;
        Some(Timestamp(moment.as_millisecond()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_go_to_words_and_back() {
        for (kind, name) in KINDS {
            assert_eq!((RecordKind::of(&name.to_uppercase()), kind.name()), (kind, name));
        }
        assert_eq!(RecordKind::of("screenshot"), RecordKind::Other);
    }

    #[test]
    fn fields_have_meanings() {
        let headers = [
            ("WARC-Record-ID", "<urn:uuid:1>"),
            ("WARC-Target-URI", "<http://a.test/>"),
            ("WARC-Date", "2001-09-09T01:46:40.123456Z"),
            ("warc-refers-to-date", "2001-09-09T01:46:40Z"),
        ];
        let record =
            Record { kind: RecordKind::Revisit, headers: headers.into_iter().collect(), ..Record::default() };
        assert_eq!(record.id(), Some("urn:uuid:1"));
        assert_eq!(record.target(), Some("http://a.test/"));
        assert_eq!(record.date(), Some(Timestamp(1_000_000_000_123)));
        assert_eq!(record.refers_to_date(), Some(Timestamp(1_000_000_000_000)));
        assert_eq!((record.refers_to(), record.is_http_response()), (None, true));
    }
}
