//! Header fields of WARC and HTTP: `Name: value` lines, possibly folded.

use std::borrow::Cow;

use memchr::memchr;
use porthole_types::Headers;

/// Parses the lines of a head, without its first line. Returns the fields and the first line that is not a field, if
/// any.
pub(crate) fn parse_fields(head: &[u8]) -> (Headers, Option<&[u8]>) {
    let mut headers = Headers::new();
    let mut stray = None;
    let mut folded: Option<(Cow<'_, str>, String)> = None;
    let mut rest = head;
    while !rest.is_empty() {
        let (line, length) = first_line(rest);
        let next_is_fold = matches!(rest.get(length), Some(b' ' | b'\t'));
        rest = &rest[length..];
        if let Some((_, value)) = &mut folded {
            if !value.is_empty() {
                value.push(' ');
            }
            value.push_str(&text(line));
        } else if let Some((name, value)) = split(line) {
            if next_is_fold {
                folded = Some((name, value.into_owned()));
            } else {
                headers.push(&name, &value);
            }
        } else if !line.trim_ascii().is_empty() {
            stray.get_or_insert(line);
        }
        if !next_is_fold && let Some((name, value)) = folded.take() {
            headers.push(&name, &value);
        }
    }
    (headers, stray)
}

/// The first line without its line end, and its length including it.
pub(crate) fn first_line(bytes: &[u8]) -> (&[u8], usize) {
    match memchr(b'\n', bytes) {
        None => (bytes, bytes.len()),
        Some(at) => (bytes[..at].strip_suffix(b"\r").unwrap_or(&bytes[..at]), at + 1),
    }
}

fn split(line: &[u8]) -> Option<(Cow<'_, str>, Cow<'_, str>)> {
    let colon = memchr(b':', line)?;
    let name = text(&line[..colon]);
    (!name.is_empty()).then(|| (name, text(&line[colon + 1..])))
}

fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(head: &str, fields: &[(&str, &str)], stray: Option<&str>) {
        let (headers, found) = parse_fields(head.as_bytes());
        assert_eq!(headers.iter().collect::<Vec<_>>(), fields, "for {head:?}");
        assert_eq!(found, stray.map(str::as_bytes), "for {head:?}");
    }

    #[test]
    fn fields() {
        check("", &[], None);
        check("A: b\r\nC:d\r\n", &[("A", "b"), ("C", "d")], None);
        check("A: b\nC : d", &[("A", "b"), ("C", "d")], None);
        check("A: b\r\n c\r\n\td\r\nE: f\r\n", &[("A", "b c d"), ("E", "f")], None);
        check("A:\r\n 5\r\n", &[("A", "5")], None);
        check("A: http://x:80/\r\n", &[("A", "http://x:80/")], None);
        check("A:\r\n", &[("A", "")], None);
        check("A: b\r\nnonsense\r\nC: d\r\n", &[("A", "b"), ("C", "d")], Some("nonsense"));
        check(": b\r\n", &[], Some(": b"));
        check(" A: b\n", &[("A", "b")], None);
    }
}
