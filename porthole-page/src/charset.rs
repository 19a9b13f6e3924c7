//! Charset detection: by byte order mark, header, `meta`, and finally by content.

use std::borrow::Cow;

use chardetng::EncodingDetector;
use encoding_rs::{Encoding, UTF_8};

use crate::prescan;

/// Number of bytes passed to the detector.
const DETECT: usize = 64 * 1024;

/// Decoded text with its charset, and whether bytes had to be replaced.
pub(crate) struct Decoded<'a> {
    pub(crate) text: Cow<'a, str>,
    pub(crate) charset: &'static str,
    pub(crate) bad_bytes: bool,
}

pub(crate) fn decode<'a>(bytes: &'a [u8], content_type: Option<&str>, is_html: bool) -> Decoded<'a> {
    if let Some((encoding, length)) = Encoding::for_bom(bytes) {
        return decode_as(encoding, &bytes[length..]);
    }
    let declared = content_type
        .and_then(charset_parameter)
        .and_then(|label| Encoding::for_label(label.as_bytes()))
        .or_else(|| if is_html { prescan::declared(bytes) } else { None });
    match declared {
        Some(encoding) => decode_as(encoding, bytes),
        None => undeclared(bytes, is_html),
    }
}

/// UTF-8 if the bytes are valid, else what a late `meta` declares, else the detector's result.
fn undeclared(bytes: &[u8], is_html: bool) -> Decoded<'_> {
    if let Ok(text) = simdutf8::basic::from_utf8(bytes) {
        return Decoded { text: text.into(), charset: UTF_8.name(), bad_bytes: false };
    }
    if let Some(encoding) = is_html.then(|| prescan::declared_late(bytes)).flatten() {
        return decode_as(encoding, bytes);
    }
    let mut detector = EncodingDetector::new(chardetng::Iso2022JpDetection::Deny);
    detector.feed(&bytes[..bytes.len().min(DETECT)], bytes.len() <= DETECT);
    decode_as(detector.guess(None, chardetng::Utf8Detection::Allow), bytes)
}

fn decode_as<'a>(encoding: &'static Encoding, bytes: &'a [u8]) -> Decoded<'a> {
    if encoding == UTF_8
        && let Ok(text) = simdutf8::basic::from_utf8(bytes)
    {
        return Decoded { text: text.into(), charset: UTF_8.name(), bad_bytes: false };
    }
    let (text, bad_bytes) = encoding.decode_without_bom_handling(bytes);
    Decoded { text, charset: encoding.name(), bad_bytes }
}

/// `charset=…` in a `Content-Type`, quoted or not.
fn charset_parameter(content_type: &str) -> Option<&str> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']);
        (name.trim().eq_ignore_ascii_case("charset") && !value.is_empty()).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], content_type: Option<&str>, charset: &str, text: &str) {
        let decoded = decode(bytes, content_type, true);
        assert_eq!((decoded.charset, &*decoded.text), (charset, text), "for {bytes:?} {content_type:?}");
    }

    #[test]
    fn the_order_is_mark_header_meta_detection() {
        check(b"\xef\xbb\xbf\xc3\xa9", Some("text/html; charset=latin1"), "UTF-8", "\u{e9}");
        check(b"\xff\xfea\0", None, "UTF-16LE", "a");
        check(b"\xe9", Some("text/html; Charset=\"ISO-8859-1\""), "windows-1252", "\u{e9}");
        let meta = b"<meta charset=koi8-r>\xc1";
        check(meta, Some("text/html"), "KOI8-R", "<meta charset=koi8-r>\u{430}");
        check(meta, Some("text/html; charset=iso-8859-2"), "ISO-8859-2", "<meta charset=koi8-r>\u{c1}");
        check("h\u{e9}".as_bytes(), None, "UTF-8", "h\u{e9}");
        check(b"caf\xe9 cr\xe8me", None, "windows-1252", "caf\u{e9} cr\u{e8}me");
    }

    #[test]
    fn a_late_meta_is_used_if_the_bytes_are_not_utf_8() {
        let page = |bytes: &[u8]| [&b" ".repeat(2000)[..], b"<meta charset=windows-1251>", bytes].concat();
        assert_eq!(decode(&page(b"\xea\xee\xf2"), None, true).charset, "windows-1251");
        assert_eq!(decode(&page("\u{43a}\u{43e}\u{442}".as_bytes()), None, true).charset, "UTF-8");
        assert_eq!(decode(&page(b"\xea\xee\xf2"), Some("text/html; charset=koi8-r"), true).charset, "KOI8-R");
    }
}
