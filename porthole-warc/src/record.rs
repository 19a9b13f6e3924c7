//! A record: kind, position, fields and block.

use porthole_types::{Headers, Timestamp};

use crate::{HttpResponse, WarcError};

/// A record that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WarcRecord {
    /// Kind of the record.
    pub kind: RecordKind,
    /// Its named fields, in order.
    pub headers: Headers,
    /// Position in the file.
    pub place: RecordPlace,
    /// The block; empty if it was skipped.
    pub block: Vec<u8>,
    /// Length of the block in the file.
    pub block_length: u64,
    /// Whether the block was skipped because it exceeds the reader's limit.
    pub skipped: bool,
}

/// Position of a record in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RecordPlace {
    /// Byte offset of the record or, in a compressed file, of the member that contains it.
    pub offset: u64,
    /// Number of decompressed bytes of that member before the record: 0 if each record has its own member.
    pub inside: u64,
    /// Number of bytes in the file, from `offset` on, that contain the record. Exact if the record has its own member
    /// or is uncompressed; otherwise an upper bound.
    pub length: u64,
}

/// The record types of WARC 1.1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RecordKind {
    /// Information about the file.
    Warcinfo,
    /// A request, as sent.
    Request,
    /// A response, as received.
    Response,
    /// A response whose payload was recorded before.
    Revisit,
    /// Information about another record.
    Metadata,
    /// A resource without protocol information.
    Resource,
    /// A converted version of another record.
    Conversion,
    /// The continuation of a split record.
    Continuation,
    /// A type that is not in the standard; readers skip it.
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
    /// The kind of a `WARC-Type`.
    pub fn of(name: &str) -> Self {
        KINDS
            .iter()
            .find(|(_, known)| known.eq_ignore_ascii_case(name))
            .map_or(RecordKind::Other, |(kind, _)| *kind)
    }

    /// Value of `WARC-Type`.
    pub fn name(self) -> &'static str {
        KINDS.iter().find(|(kind, _)| *kind == self).map_or("other", |(_, name)| name)
    }
}

impl WarcRecord {
    /// URL of the record.
    pub fn target(&self) -> Option<&str> {
        self.uri("WARC-Target-URI")
    }

    /// Id of the record, `urn:uuid:…`.
    pub fn id(&self) -> Option<&str> {
        self.uri("WARC-Record-ID")
    }

    /// Capture date.
    pub fn date(&self) -> Option<Timestamp> {
        self.moment("WARC-Date")
    }

    /// Id of another record of the same exchange, such as the response to a request.
    pub fn concurrent_to(&self) -> Option<&str> {
        self.uri("WARC-Concurrent-To")
    }

    /// In a revisit: id of the record with the payload.
    pub fn refers_to(&self) -> Option<&str> {
        self.uri("WARC-Refers-To")
    }

    /// In a revisit: URL of the record with the payload.
    pub fn refers_to_target(&self) -> Option<&str> {
        self.uri("WARC-Refers-To-Target-URI")
    }

    /// In a revisit: date of the record with the payload.
    pub fn refers_to_date(&self) -> Option<Timestamp> {
        self.moment("WARC-Refers-To-Date")
    }

    /// Digest of the payload, as written: `sha1:…`.
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

    /// The HTTP response in the block, with its body decoded and truncated to `limit`.
    pub fn http(&self, limit: u64) -> Result<HttpResponse, WarcError> {
        if self.skipped {
            let what = format!("its block of {} bytes is larger than the limit", self.block_length);
            return Err(WarcError::Http { offset: self.place.offset, what });
        }
        HttpResponse::parse(&self.block, self.place.offset, limit)
    }

    /// Removes angle brackets: WARC 1.0 writes URIs in them, and some tools also write the target so.
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
    fn kinds_are_parsed_and_displayed() {
        for (kind, name) in KINDS {
            assert_eq!((RecordKind::of(&name.to_uppercase()), kind.name()), (kind, name));
        }
        assert_eq!(RecordKind::of("screenshot"), RecordKind::Other);
    }

    #[test]
    fn fields_are_interpreted() {
        let headers = [
            ("WARC-Record-ID", "<urn:uuid:1>"),
            ("WARC-Target-URI", "<http://a.test/>"),
            ("WARC-Date", "2001-09-09T01:46:40.123456Z"),
            ("warc-refers-to-date", "2001-09-09T01:46:40Z"),
        ];
        let record = WarcRecord {
            kind: RecordKind::Revisit,
            headers: headers.into_iter().collect(),
            ..WarcRecord::default()
        };
        assert_eq!(record.id(), Some("urn:uuid:1"));
        assert_eq!(record.target(), Some("http://a.test/"));
        assert_eq!(record.date(), Some(Timestamp(1_000_000_000_123)));
        assert_eq!(record.refers_to_date(), Some(Timestamp(1_000_000_000_000)));
        assert_eq!((record.refers_to(), record.is_http_response()), (None, true));
    }
}
