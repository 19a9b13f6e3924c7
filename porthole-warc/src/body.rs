//! Decodes an HTTP body: undoes transfer and content encodings, with a limit on the output, because a few kilobytes of
//! gzip can hold gigabytes.

use std::borrow::Cow;

use porthole_types::Headers;

use crate::codec::Codec;
use crate::fields::first_line;

/// How a body ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BodyEnd {
    /// The body is complete.
    Whole,
    /// The body was truncated at the limit.
    Limit,
    /// The encoding was truncated or invalid from some point on; the body is what was decoded before.
    Damaged,
}

/// Maximum number of nested content encodings that are decoded.
const LAYERS: usize = 4;

/// Undoes the encodings in the headers. An encoding that the bytes do not have counts as undone already: archives often
/// keep the header of what they decoded. `Err` names an unsupported encoding.
pub(crate) fn decode(headers: &Headers, raw: &[u8], limit: usize) -> Result<(Vec<u8>, BodyEnd), String> {
    let mut end = BodyEnd::Whole;
    let mut body = Cow::Borrowed(raw);
    if tokens(headers, "Transfer-Encoding").any(|token| token.eq_ignore_ascii_case("chunked"))
        && let Some((plain, ended)) = unchunk(raw)
    {
        (body, end) = (plain.into(), ended);
    }
    let encodings: Vec<&str> = tokens(headers, "Content-Encoding").collect();
    for encoding in encodings.iter().rev().take(LAYERS) {
        if let Some(codec) = codec_for(encoding, &body)? {
            let (plain, ended) = expand(codec, &body, limit);
            // Brotli has no mark. Text that is no brotli was decoded before it was recorded.
            let is_decoded = ended == BodyEnd::Damaged && str::from_utf8(&body).is_ok();
            if encoding.eq_ignore_ascii_case("br") && is_decoded {
                continue;
            }
            (body, end) = (plain.into(), if end == BodyEnd::Whole { ended } else { end });
        }
    }
    if body.len() > limit {
        return Ok((body[..limit].to_vec(), BodyEnd::Limit));
    }
    Ok((body.into_owned(), end))
}

fn tokens<'a>(headers: &'a Headers, name: &'static str) -> impl Iterator<Item = &'a str> {
    headers.all(name).flat_map(|value| value.split(',')).map(str::trim).filter(|token| !token.is_empty())
}

type NewCodec = fn() -> Result<Codec, String>;

/// The decoder for the bytes; `None` if they are plain, or the encoding is a meaningless word (`8bit`).
fn codec_for(encoding: &str, packed: &[u8]) -> Result<Option<NewCodec>, String> {
    let is = |name: &str| encoding.eq_ignore_ascii_case(name);
    let codec: Option<NewCodec> = if is("gzip") || is("x-gzip") {
        packed.starts_with(&[0x1f, 0x8b]).then_some(|| Ok(Codec::gzip()))
    } else if is("deflate") {
        // The standard means zlib, but raw deflate is served under that name, too.
        match *packed {
            [first, second, ..] if is_zlib_head(first, second) => Some(|| Ok(Codec::zlib())),
            _ => Some(|| Ok(Codec::deflate())),
        }
    } else if is("zstd") {
        packed.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]).then_some(Codec::zstd)
    } else if is("br") {
        Some(|| Ok(Codec::brotli()))
    } else if is("compress") || is("x-compress") {
        return Err(format!("the content encoding `{encoding}`"));
    } else {
        None
    };
    Ok(codec)
}

fn is_zlib_head(first: u8, second: u8) -> bool {
    first & 0x0f == 8 && (u16::from(first) << 8 | u16::from(second)).is_multiple_of(31)
}

/// Decompresses all members, up to the limit.
fn expand(new_codec: NewCodec, mut packed: &[u8], limit: usize) -> (Vec<u8>, BodyEnd) {
    const PIECE: usize = 32 * 1024;
    let magic = &packed[..packed.len().min(2)];
    let mut plain = Vec::new();
    let mut piece = vec![0; PIECE];
    let Ok(mut codec) = new_codec() else { return (plain, BodyEnd::Damaged) };
    loop {
        let Ok(step) = codec.step(packed, &mut piece) else { return (plain, BodyEnd::Damaged) };
        packed = &packed[step.read..];
        let taken = step.written.min(limit - plain.len());
        plain.extend_from_slice(&piece[..taken]);
        if taken < step.written {
            return (plain, BodyEnd::Limit);
        }
        if step.done {
            match new_codec() {
                Ok(next) if magic.len() == 2 && packed.starts_with(magic) => codec = next,
                // Bytes after the last member are padding.
                _ => return (plain, BodyEnd::Whole),
            }
        } else if step.read == 0 && step.written == 0 {
            return (plain, BodyEnd::Damaged);
        }
    }
}

/// Joins the chunks; `None` if the bytes are not chunked.
fn unchunk(raw: &[u8]) -> Option<(Vec<u8>, BodyEnd)> {
    let mut plain = Vec::new();
    let mut rest = raw;
    let mut is_first = true;
    loop {
        let (line, length) = first_line(rest);
        let Some(size) = chunk_size(line) else {
            return (!is_first).then_some((plain, BodyEnd::Damaged));
        };
        is_first = false;
        rest = &rest[length..];
        if size == 0 {
            return Some((plain, BodyEnd::Whole));
        }
        let chunk = &rest[..rest.len().min(size)];
        plain.extend_from_slice(chunk);
        rest = &rest[chunk.len()..];
        rest = rest.strip_prefix(b"\r\n").or_else(|| rest.strip_prefix(b"\n")).unwrap_or(rest);
    }
}

/// Parses the size of a chunk; the part after a `;` is an extension.
fn chunk_size(line: &[u8]) -> Option<usize> {
    const DIGITS: usize = 15;
    let digits = line.split(|&b| b == b';').next().unwrap_or_default().trim_ascii();
    if digits.is_empty() || digits.len() > DIGITS || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    usize::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    use super::BodyEnd::{Damaged, Limit, Whole};
    use super::*;

    fn check(fields: &[(&str, &str)], raw: &[u8], limit: usize, body: &[u8], end: BodyEnd) {
        let headers = fields.iter().copied().collect();
        let (found, ended) = decode(&headers, raw, limit).unwrap();
        assert_eq!((found.escape_ascii().to_string(), ended), (body.escape_ascii().to_string(), end));
    }

    #[test]
    fn chunks() {
        let chunked = [("transfer-encoding", "chunked")];
        for (raw, body, end) in [
            (&b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"[..], &b"abcde"[..], Whole),
            (b"3;x=y\nabc\n 2 \nde\n0\n", b"abcde", Whole),
            (b"3\r\nabc\r\n", b"abc", Damaged),
            (b"3\r\nab", b"ab", Damaged),
            (b"3\r\nabc\r\nxyz\r\n", b"abc", Damaged),
            (b"7\r\nabcdefg\r\n0\r\n", b"abcde", Limit),
            (b"fffffffffffffff\r\nabc", b"abc", Damaged),
            (b"<p>ab", b"<p>ab", Whole),
            (b"", b"", Whole),
        ] {
            check(&chunked, raw, 5, body, end);
        }
        check(&[], b"abcdefg", 5, b"abcde", Limit);
    }

    fn gzip(plain: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn content_encodings() {
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
        zlib.write_all(b"hello").unwrap();
        let mut deflate = DeflateEncoder::new(Vec::new(), Compression::fast());
        deflate.write_all(b"hello").unwrap();
        let zstd = zstd::encode_all(&b"hello"[..], 1).unwrap();
        let packed = gzip(b"hello");
        let two = [gzip(b"hel"), gzip(b"lo"), b"\0\0".to_vec()].concat();
        for (encoding, raw) in [
            ("gzip", &packed),
            ("X-GZip", &two),
            ("gzip, gzip", &gzip(&packed)),
            ("deflate", &zlib.finish().unwrap()),
            ("deflate", &deflate.finish().unwrap()),
            ("zstd", &zstd),
            ("gzip", &b"hello".to_vec()),
            ("8bit", &b"hello".to_vec()),
            ("", &b"hello".to_vec()),
        ] {
            check(&[("Content-Encoding", encoding)], raw, 50, b"hello", Whole);
        }
        check(&[("Content-Encoding", "gzip")], &packed, 4, b"hell", Limit);
        check(&[("Content-Encoding", "gzip")], &packed[..packed.len() - 6], 9, b"hello", Damaged);
        let refused = decode(&[("Content-Encoding", "compress")].into_iter().collect(), b"x", 9);
        assert!(refused.unwrap_err().contains("compress"));
    }

    /// `hello world ` 20 times, by the reference implementation (`brotli` 1.1.0 of Python).
    const BROTLI: &[u8] =
        b"\x1b\xef\x00\xf8\x8d\x94\x6e\xde\x44\x55\x86\x96\x20\x6c\x6f\x35\xcb\x62\xb5\x40\x06\x54\xdb\x03";

    #[test]
    fn brotli() {
        let text = "hello world ".repeat(20).into_bytes();
        check(&[("Content-Encoding", "br")], BROTLI, 1_000, &text, Whole);
        check(&[("Content-Encoding", "BR")], BROTLI, 50, &text[..50], Limit);
        check(&[("Content-Encoding", "gzip, br")], BROTLI, 1_000, &text, Whole);
        check(&[("Content-Encoding", "br")], b"<p>decoded before", 50, b"<p>decoded before", Whole);
        let cut = &BROTLI[..BROTLI.len() - 2];
        let (body, end) = decode(&[("Content-Encoding", "br")].into_iter().collect(), cut, 1_000).unwrap();
        assert!(end == Damaged && text.starts_with(&body), "{}", body.escape_ascii());
    }

    #[test]
    fn a_bomb_stops_at_the_limit() {
        let bomb = gzip(&vec![b'a'; 50_000_000]);
        let headers = [("Content-Encoding", "gzip")].into_iter().collect();
        let (body, end) = decode(&headers, &bomb, 100_000).unwrap();
        assert_eq!((body.len(), end), (100_000, Limit));
        assert!(body.capacity() < 300_000);
    }
}
