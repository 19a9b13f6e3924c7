//! SHA-1 in base 32, as used in WARC files, and record ids derived from it.

use std::fmt;

use sha1::{Digest as _, Sha1};

/// The SHA-1 of some bytes; displayed as `sha1:` and base 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digest([u8; 20]);

impl Digest {
    /// The digest of some bytes. Pages with equal digests are recorded as revisits.
    pub fn of(bytes: &[u8]) -> Self {
        Digest::of_parts(&[bytes])
    }

    pub(crate) fn of_parts(parts: &[&[u8]]) -> Self {
        Digest::of_pieces(|take| parts.iter().for_each(|part| take(part)))
    }

    /// The digest of the concatenation of all pieces that `give` passes to its callback.
    pub(crate) fn of_pieces(give: impl FnOnce(&mut dyn FnMut(&[u8]))) -> Self {
        let mut sha1 = Sha1::new();
        give(&mut |piece| sha1.update(piece));
        Digest(sha1.finalize().into())
    }

    /// Parses the output of [`Display`](fmt::Display).
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix("sha1:").filter(|base32| base32.len() == 32)?;
        let mut digest = [0; 20];
        for (letters, bytes) in text.as_bytes().chunks(8).zip(digest.chunks_mut(5)) {
            let mut bits = 0u64;
            for letter in letters {
                let value = ALPHABET.iter().position(|known| *known == letter.to_ascii_uppercase())?;
                bits = bits << 5 | value as u64;
            }
            bytes.copy_from_slice(&bits.to_be_bytes()[3..]);
        }
        Some(Digest(digest))
    }
}

const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = *b"sha1:................................";
        for (bytes, letters) in self.0.chunks(5).zip(text[5..].chunks_mut(8)) {
            let mut bits = bytes.iter().fold(0u64, |bits, byte| bits << 8 | u64::from(*byte));
            for letter in letters.iter_mut().rev() {
                *letter = ALPHABET[(bits & 31) as usize];
                bits >>= 5;
            }
        }
        f.write_str(ascii(&text))
    }
}

/// The id of a record: a UUID, displayed as `<urn:uuid:…>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RecordId([u8; 16]);

impl RecordId {
    /// Parses `urn:uuid:…`, with or without angle brackets; `None` for ids of another form.
    pub fn parse(text: &str) -> Option<Self> {
        let bare = text.trim_start_matches('<').trim_end_matches('>');
        let digits = bare.strip_prefix("urn:uuid:")?.bytes().filter(|byte| *byte != b'-');
        let values: Vec<u8> = digits
            .map(|byte| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
            .collect::<Option<_>>()?;
        let mut uuid = [0; 16];
        if values.len() != 2 * uuid.len() {
            return None;
        }
        for (byte, pair) in uuid.iter_mut().zip(values.chunks(2)) {
            *byte = pair[0] << 4 | pair[1];
        }
        Some(RecordId(uuid))
    }

    /// A UUID of version 5: the SHA-1 of data that is unique to the record.
    pub(crate) fn from_name(parts: &[&[u8]]) -> Self {
        let Digest(digest) = Digest::of_parts(parts);
        let mut uuid = [0; 16];
        uuid.copy_from_slice(&digest[..16]);
        uuid[6] = uuid[6] & 0x0f | 0x50;
        uuid[8] = uuid[8] & 0x3f | 0x80;
        RecordId(uuid)
    }
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = *b"<urn:uuid:xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx>";
        let mut digits = self.0.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        for place in text[10..].iter_mut().filter(|place| **place == b'x') {
            *place = digits.next().map_or(b'0', |digit| b"0123456789abcdef"[usize::from(digit)]);
        }
        f.write_str(ascii(&text))
    }
}

/// Written with one call: a string built letter by letter would be reallocated repeatedly.
fn ascii(text: &[u8]) -> &str {
    str::from_utf8(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_other_tools() {
        for (bytes, text) in [
            (&b""[..], "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"),
            (b"abc", "sha1:VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5"),
        ] {
            assert_eq!(Digest::of(bytes).to_string(), text);
            assert_eq!(Digest::parse(text), Some(Digest::of(bytes)));
        }
        assert_eq!(Digest::parse("sha1:3I42"), None);
        assert_eq!(Digest::parse("sha1:1I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"), None);
    }

    #[test]
    fn a_record_id_is_a_uuid() {
        let id = RecordId::from_name(&[b"abc"]).to_string();
        assert_eq!(id, "<urn:uuid:a9993e36-4706-516a-ba3e-25717850c26c>");
        assert_eq!(RecordId::parse(&id), Some(RecordId::from_name(&[b"abc"])));
        for other in ["urn:uuid:a9993e36", "a9993e36-4706-516a-ba3e-25717850c26c", "<urn:uuid:é>"] {
            assert_eq!(RecordId::parse(other), None, "{other}");
        }
    }
}
