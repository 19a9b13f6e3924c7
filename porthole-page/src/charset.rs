//! Charset detection: by byte order mark, header, `meta`, and finally by content.

use std::borrow::Cow;

use chardetng::EncodingDetector;
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// Number of bytes that are searched for `meta charset`, as in the standard.
const PRESCAN: usize = 1024;

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
        .or_else(|| if is_html { meta_charset(&bytes[..bytes.len().min(PRESCAN)]) } else { None });
    match declared {
        Some(encoding) => decode_as(encoding, bytes),
        None => undeclared(bytes),
    }
}

/// UTF-8 if the bytes are valid, else the detector's result.
fn undeclared(bytes: &[u8]) -> Decoded<'_> {
    if simdutf8::basic::from_utf8(bytes).is_ok() {
        return decode_as(UTF_8, bytes);
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

/// `<meta charset=…>` or `<meta http-equiv=content-type content="…; charset=…">` among the first bytes.
fn meta_charset(head: &[u8]) -> Option<&'static Encoding> {
    // Fast path: most pages without a charset in their headers have none here either.
    head.windows(7).find(|word| word.eq_ignore_ascii_case(b"charset"))?;
    // Latin-1 keeps every byte, and tags and labels are ASCII.
    let head: String = head.iter().map(|&b| char::from(b).to_ascii_lowercase()).collect();
    let mut rest = without_comments(&head);
    while let Some(at) = rest.find("<meta") {
        let tag = &rest[at + 5..];
        let tag = &tag[..tag.find('>').unwrap_or(tag.len())];
        if let Some(label) = charset_in(tag)
            && let Some(encoding) = Encoding::for_label(label.as_bytes())
        {
            return Some(believable(encoding));
        }
        rest = rest.split_off(at + 5);
    }
    None
}

/// A page whose `meta` can be read as ASCII is not in UTF-16, whatever it declares.
fn believable(encoding: &'static Encoding) -> &'static Encoding {
    match encoding {
        _ if encoding == UTF_16LE || encoding == UTF_16BE => UTF_8,
        _ if encoding == encoding_rs::X_USER_DEFINED => WINDOWS_1252,
        _ => encoding,
    }
}

fn charset_in(tag: &str) -> Option<&str> {
    let value = tag[tag.find("charset")? + 7..].trim_start().strip_prefix('=')?.trim_start();
    let value = value.strip_prefix(['"', '\'']).unwrap_or(value);
    let end = value.find(|c: char| c.is_ascii_whitespace() || matches!(c, '"' | '\'' | ';' | '>' | '/'));
    Some(&value[..end.unwrap_or(value.len())])
}

fn without_comments(head: &str) -> String {
    let mut out = String::with_capacity(head.len());
    let mut rest = head;
    while let Some(at) = rest.find("<!--") {
        out.push_str(&rest[..at]);
        rest = rest[at..].find("-->").map_or("", |end| &rest[at + end + 3..]);
    }
    out.push_str(rest);
    out
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
    fn metas_as_they_are_written() {
        for (html, charset) in [
            ("<META HTTP-EQUIV=Content-Type CONTENT='text/html; charset=Shift_JIS'>", "Shift_JIS"),
            ("<!-- <meta charset=big5> --><meta charset = 'gbk' />", "GBK"),
            ("<Meta Charset=KOI8-R>", "KOI8-R"),
            ("<meta name=x><meta charset=\"utf-16\">", "UTF-8"),
            ("<meta charset=nonsense><meta charset=euc-kr>", "EUC-KR"),
        ] {
            assert_eq!(decode(html.as_bytes(), None, true).charset, charset, "for {html}");
        }
    }
}
