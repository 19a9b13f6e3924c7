//! Decodes content encodings incrementally, with a cap on the output: a decompression bomb costs no more than the
//! cap.
//!
//! - No encoding or `identity`: the bytes are used unchanged.
//! - `gzip`, `deflate`, `br`, `zstd`, and their `x-` names: one of them. If the same encoding is named twice it is
//!   decoded once, because servers behind proxies declare it twice and apply it once. Two different encodings, or any
//!   other, are an error.
//! - Data declared as gzip or zstd that does not start like it is used unchanged. `deflate` is accepted with and
//!   without the zlib header, because servers send both.

use std::io::{self, Write};

use brotli_decompressor::DecompressorWriter;
use bytes::Bytes;
use flate2::{Decompress, FlushDecompress, Status};
use hyper::HeaderMap;
use hyper::header::CONTENT_ENCODING;
use libdeflater::Decompressor;
use memchr::memmem;
use porthole_types::FailureKind;
use zstd::stream::raw::{Decoder as Zstd, InBuffer, Operation, OutBuffer};

use super::fault::Fault;
use super::memory::SMALL;

/// Decodes a body chunk by chunk.
pub(super) struct Decoder {
    coding: Coding,
    /// The first chunk, while it is the only one and needs no decoding: it is not copied.
    whole: Bytes,
    out: Out,
    /// The chunks as they were received, while they are worth keeping.
    received: Received,
    /// The chunks have not been decoded yet: a small gzip body is decoded at once when it is complete, in half the time.
    is_held: bool,
}

/// A larger compressed body is decoded chunk by chunk.
const MAX_HELD: usize = SMALL / 4;

/// A decoded body.
pub(super) struct DecodedBody {
    pub(super) bytes: Bytes,
    /// The body as it was received, if it was compressed in a way that archives keep and is not large.
    pub(super) encoded: Option<Bytes>,
    /// The decoded body is longer than allowed.
    pub(super) is_full: bool,
    /// Whether it is complete.
    pub(super) end: Result<(), Damaged>,
}

/// What is wrong with a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Damaged(pub(super) String);

impl Decoder {
    /// Creates a decoder for a response with these headers. `expected` is a hint at the size.
    pub(super) fn new(headers: &HeaderMap, cap: usize, expected: usize) -> Result<Self, Fault> {
        let coding = match named(headers)? {
            None => Coding::Identity,
            Some("br") => Coding::Brotli(None),
            Some(name) => Coding::Undecided(name, Vec::new()),
        };
        let expected = if matches!(coding, Coding::Identity) { expected } else { expected.saturating_mul(4) };
        let received = Received::new(headers);
        let is_held = received.is_kept && matches!(coding, Coding::Undecided("gzip", _));
        Ok(Decoder { coding, whole: Bytes::new(), out: Out::new(cap, expected), received, is_held })
    }

    /// Whether what was received waits to be decoded by `finish`.
    pub(super) fn is_held(&self) -> bool {
        self.is_held
    }

    /// Whether the cap is reached, so that the rest need not be read.
    pub(super) fn is_full(&self) -> bool {
        self.out.is_full()
    }

    /// Number of bytes decoded so far.
    pub(super) fn len(&self) -> usize {
        match &self.coding {
            Coding::Brotli(Some(writer)) => writer.get_ref().bytes.len(),
            _ => self.whole.len() + self.out.bytes.len(),
        }
    }

    /// Decodes the next chunk, or keeps it until there is more.
    pub(super) fn push(&mut self, piece: Bytes) -> Result<(), Damaged> {
        if self.is_held {
            self.received.push(piece);
            return if self.received.length <= MAX_HELD { Ok(()) } else { self.decode_held() };
        }
        let is_first = self.whole.is_empty() && self.out.bytes.is_empty();
        if is_first && matches!(self.coding, Coding::Identity) && piece.len() <= self.out.cap {
            self.whole = piece;
            return Ok(());
        }
        self.out.extend(&std::mem::take(&mut self.whole));
        self.decode(&piece)?;
        self.received.push(piece);
        Ok(())
    }

    /// Decodes the chunks that were held back, one after the other.
    fn decode_held(&mut self) -> Result<(), Damaged> {
        self.is_held = false;
        for chunk in self.received.chunks.clone() {
            if !self.is_full() {
                self.decode(&chunk)?;
            }
        }
        Ok(())
    }

    fn decode(&mut self, piece: &[u8]) -> Result<(), Damaged> {
        if let Coding::Undecided(name, start) = &mut self.coding {
            start.extend_from_slice(piece);
            if start.len() < MAX_MAGIC_BYTES {
                return Ok(());
            }
            let start = std::mem::take(start);
            self.coding = decided(name, &start)?;
            return self.coding.push(&start, &mut self.out);
        }
        self.coding.push(piece, &mut self.out)
    }

    /// Ends the body.
    pub(super) fn finish(mut self) -> DecodedBody {
        let mut end = Ok(());
        if self.is_held {
            let encoded = self.received.join();
            if let Some(bytes) = encoded.as_deref().and_then(|encoded| inflate_whole(encoded, self.out.cap)) {
                return DecodedBody { bytes: bytes.into(), encoded, is_full: false, end };
            }
            end = self.decode_held();
        }
        let end = end.and_then(|()| self.end());
        let is_full = self.is_full();
        let is_whole = end.is_ok() && !is_full && self.coding.has_clean_end();
        let encoded = if is_whole { self.received.join() } else { None };
        let bytes = if self.whole.is_empty() { self.out.bytes.into() } else { self.whole };
        DecodedBody { bytes, encoded, is_full, end }
    }

    fn end(&mut self) -> Result<(), Damaged> {
        if let Coding::Undecided(name, start) = &mut self.coding {
            let start = std::mem::take(start);
            if start.is_empty() {
                return Ok(());
            }
            self.coding = decided(name, &start)?;
            self.coding.push(&start, &mut self.out)?;
        }
        self.coding.end(&mut self.out)
    }
}

/// The chunks of a body that archives keep as it is: compressed with gzip or brotli, which other programs can decode.
struct Received {
    is_kept: bool,
    chunks: Vec<Bytes>,
    length: usize,
}

impl Received {
    /// Keeps the chunks if the headers name one of these encodings, once.
    fn new(headers: &HeaderMap) -> Self {
        let mut values = headers.get_all(CONTENT_ENCODING).iter().map(|value| value.as_bytes().trim_ascii());
        let first = values.next().unwrap_or_default();
        let is_kept = [&b"gzip"[..], b"br"].iter().any(|name| first.eq_ignore_ascii_case(name));
        Received { is_kept: is_kept && values.next().is_none(), chunks: Vec::new(), length: 0 }
    }

    /// Keeps a chunk, unless the body is large: the memory of large bodies is counted only once.
    fn push(&mut self, chunk: Bytes) {
        self.length += chunk.len();
        self.is_kept &= self.length <= SMALL;
        if self.is_kept {
            self.chunks.push(chunk);
        } else {
            self.chunks.clear();
        }
    }

    fn join(&self) -> Option<Bytes> {
        match self.chunks.as_slice() {
            [] => None,
            [one] => Some(one.clone()),
            several => Some(several.concat().into()),
        }
    }
}

/// Inflates a body that is one gzip member. `None` if it is not, or is large or damaged: then it must be decoded step by
/// step.
fn inflate_whole(encoded: &[u8], cap: usize) -> Option<Vec<u8>> {
    const MEMBER: &[u8] = b"\x1f\x8b\x08";
    let is_one_member = encoded.starts_with(MEMBER) && memmem::find(&encoded[1..], MEMBER).is_none();
    let length = u32::from_le_bytes(*encoded.last_chunk()?) as usize;
    if !is_one_member || length > cap.min(SMALL) {
        return None;
    }
    let mut bytes = vec![0; length];
    let inflated = Decompressor::new().gzip_decompress(encoded, &mut bytes).ok()?;
    (inflated == length).then_some(bytes)
}

/// The single encoding that the headers name.
fn named(headers: &HeaderMap) -> Result<Option<&'static str>, Fault> {
    let mut found = None;
    for value in headers.get_all(CONTENT_ENCODING) {
        for token in value.as_bytes().split(|&b| b == b',').map(<[u8]>::trim_ascii) {
            let name = match token.to_ascii_lowercase().as_slice() {
                b"" | b"identity" => continue,
                b"gzip" | b"x-gzip" => "gzip",
                b"deflate" | b"x-deflate" => "deflate",
                b"br" => "br",
                b"zstd" => "zstd",
                _ => {
                    let token = String::from_utf8_lossy(&token[..token.len().min(40)]);
                    let detail = format!("the content encoding `{token}` is not supported");
                    return Err(Fault::new(FailureKind::Protocol, detail));
                }
            };
            if found.is_some_and(|found| found != name) {
                let detail = "two nested content encodings are not supported";
                return Err(Fault::new(FailureKind::Protocol, detail));
            }
            found = Some(name);
        }
    }
    Ok(found)
}

/// Number of bytes needed to recognise an encoding.
const MAX_MAGIC_BYTES: usize = 4;

/// State name for data after a gzip member.
const NEXT_MEMBER: &str = "next gzip";

/// Larger windows are refused: RFC 9659 limits zstd in HTTP to 8 MB.
const ZSTD_WINDOW_LOG: u32 = 23;

enum Coding {
    Identity,
    /// Too few bytes received to decide.
    Undecided(&'static str, Vec<u8>),
    Gzip(Box<Inflate>),
    Deflate(Box<Inflate>),
    /// Created at the first chunk.
    Brotli(Option<Box<DecompressorWriter<Out>>>),
    Zstd(Box<Zstd<'static>>, ZstdState),
    /// The encoded data has ended; anything after it is ignored.
    Done,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ZstdState {
    Within,
    BetweenFrames,
}

fn decided(name: &'static str, start: &[u8]) -> Result<Coding, Damaged> {
    Ok(match name {
        "gzip" | NEXT_MEMBER if start.starts_with(b"\x1f\x8b") => {
            Coding::Gzip(Inflate::new(Decompress::new_gzip(15)))
        }
        NEXT_MEMBER => Coding::Done,
        "zstd" if is_zstd(start) => {
            let mut zstd = Zstd::new().map_err(|error| damaged("zstd", &error))?;
            zstd.set_parameter(zstd::stream::raw::DParameter::WindowLogMax(ZSTD_WINDOW_LOG))
                .map_err(|error| damaged("zstd", &error))?;
            Coding::Zstd(Box::new(zstd), ZstdState::Within)
        }
        "deflate" => Coding::Deflate(Inflate::new(Decompress::new(has_zlib_header(start)))),
        _ => Coding::Identity,
    })
}

fn is_zstd(start: &[u8]) -> bool {
    matches!(start, [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

fn has_zlib_header(start: &[u8]) -> bool {
    matches!(start, [first, second, ..] if first & 15 == 8 && u16::from_be_bytes([*first, *second]) % 31 == 0)
}

impl Coding {
    fn push(&mut self, piece: &[u8], out: &mut Out) -> Result<(), Damaged> {
        match self {
            Coding::Identity => out.extend(piece),
            Coding::Undecided(..) | Coding::Done => {}
            Coding::Deflate(inflate) => {
                if inflate.push(piece, out, "deflate")?.is_some() {
                    *self = Coding::Done;
                }
            }
            Coding::Gzip(_) => return self.inflate_members(piece, out),
            Coding::Brotli(writer) => {
                let writer = writer
                    .get_or_insert_with(|| Box::new(DecompressorWriter::new(out.take(), BROTLI_BUFFER)));
                let written = writer.write_all(piece);
                // Reaching the cap is not damage.
                if let Err(error) = written
                    && !writer.get_ref().is_full()
                {
                    return Err(damaged("br", &error));
                }
                out.full = writer.get_ref().is_full();
            }
            Coding::Zstd(zstd, state) => decode_zstd(zstd, state, piece, out)?,
        }
        Ok(())
    }

    /// Inflates a chunk that may contain the ends of many members. Data after a member that is not a member is
    /// ignored.
    ///
    /// A loop, because a body may consist of any number of empty members.
    fn inflate_members(&mut self, mut piece: &[u8], out: &mut Out) -> Result<(), Damaged> {
        while let Coding::Gzip(inflate) = self {
            let Some(rest) = inflate.push(piece, out, "gzip")? else { return Ok(()) };
            match rest {
                [0x1f, 0x8b, ..] => inflate.next_gzip_member()?,
                [] | [0x1f] => *self = Coding::Undecided(NEXT_MEMBER, rest.to_vec()),
                _ => *self = Coding::Done,
            }
            piece = rest;
        }
        Ok(())
    }

    /// Whether all encoded data was used, with nothing behind it. For gzip and brotli only.
    fn has_clean_end(&self) -> bool {
        match self {
            Coding::Undecided(NEXT_MEMBER, rest) => rest.is_empty(),
            Coding::Brotli(_) => true,
            _ => false,
        }
    }

    fn end(&mut self, out: &mut Out) -> Result<(), Damaged> {
        if let Coding::Brotli(Some(writer)) = self {
            let closed = writer.close();
            let full = writer.get_ref().is_full();
            *out = writer.get_mut().take();
            return if full { Ok(()) } else { closed.map_err(|error| damaged("br", &error)) };
        }
        let is_within =
            matches!(self, Coding::Gzip(_) | Coding::Deflate(_) | Coding::Zstd(_, ZstdState::Within));
        if is_within && !out.is_full() {
            return Err(Damaged("the compressed body ends early".to_owned()));
        }
        Ok(())
    }
}

/// Output buffer size of the brotli decoder.
const BROTLI_BUFFER: usize = 16 << 10;

/// A deflate stream, raw or in zlib or gzip format.
struct Inflate {
    state: Decompress,
    /// Number of gzip members started.
    members: usize,
}

/// Maximum number of gzip members. Members may be empty, so a cap on the output is not enough.
const MAX_MEMBERS: usize = 1_000;

impl Inflate {
    fn new(state: Decompress) -> Box<Self> {
        Box::new(Inflate { state, members: 1 })
    }

    fn next_gzip_member(&mut self) -> Result<(), Damaged> {
        self.members += 1;
        if self.members > MAX_MEMBERS {
            return Err(Damaged(format!("the body has more than {MAX_MEMBERS} gzip members")));
        }
        self.state = Decompress::new_gzip(15);
        Ok(())
    }

    /// Decodes a chunk. Returns the data after the end of the stream, once that is reached.
    fn push<'p>(
        &mut self,
        mut piece: &'p [u8],
        out: &mut Out,
        name: &str,
    ) -> Result<Option<&'p [u8]>, Damaged> {
        loop {
            out.make_room();
            let (read_before, out_before) = (self.state.total_in(), out.bytes.len());
            let status = self
                .state
                .decompress_vec(piece, &mut out.bytes, FlushDecompress::None)
                .map_err(|error| damaged(name, &error))?;
            let read = (self.state.total_in() - read_before) as usize;
            piece = &piece[read..];
            out.note_full();
            if out.is_full() {
                return Ok(None);
            }
            if status == Status::StreamEnd {
                return Ok(Some(piece));
            }
            let is_stuck = read == 0 && out.bytes.len() == out_before;
            if is_stuck || (piece.is_empty() && out.bytes.len() < out.bytes.capacity()) {
                return Ok(None);
            }
        }
    }
}

fn decode_zstd(
    zstd: &mut Zstd<'static>,
    state: &mut ZstdState,
    piece: &[u8],
    out: &mut Out,
) -> Result<(), Damaged> {
    let mut input = InBuffer::around(piece);
    loop {
        out.make_room();
        let filled = out.bytes.len();
        let mut output = OutBuffer::around_pos(&mut out.bytes, filled);
        let hint = zstd.run(&mut input, &mut output).map_err(|error| damaged("zstd", &error))?;
        *state = if hint == 0 { ZstdState::BetweenFrames } else { ZstdState::Within };
        out.note_full();
        let is_drained = input.pos() == piece.len() && out.bytes.len() < out.bytes.capacity();
        if out.is_full() || is_drained || (hint == 0 && input.pos() == piece.len()) {
            return Ok(());
        }
    }
}

fn damaged(name: &str, error: &dyn std::error::Error) -> Damaged {
    Damaged(format!("the body is not {name}: {error}"))
}

/// The decoded bytes, at most slightly more than the cap.
#[derive(Default)]
struct Out {
    bytes: Vec<u8>,
    /// Capacity to allocate at first.
    expected: usize,
    cap: usize,
    full: bool,
}

/// Minimum growth of the buffer.
const MIN_GROWTH: usize = 16 << 10;

impl Out {
    fn new(cap: usize, expected: usize) -> Self {
        // A false Content-Length can cost at most this much memory.
        let expected = expected.min(cap).min(256 << 10);
        Out { bytes: Vec::new(), expected, cap, full: false }
    }

    fn take(&mut self) -> Out {
        Out { bytes: std::mem::take(&mut self.bytes), ..*self }
    }

    fn is_full(&self) -> bool {
        self.full
    }

    fn extend(&mut self, piece: &[u8]) {
        let room = self.cap - self.bytes.len().min(self.cap);
        if self.bytes.is_empty() && !piece.is_empty() {
            self.bytes.reserve(self.expected);
        }
        self.bytes.extend_from_slice(&piece[..piece.len().min(room)]);
        self.full |= piece.len() > room;
    }

    /// Reserves at least one byte more than the cap, so that a body of exactly that size does not count as longer.
    fn make_room(&mut self) {
        if self.bytes.len() == self.bytes.capacity() {
            let room = self.cap + 1 - self.bytes.len().min(self.cap);
            let wanted = if self.bytes.is_empty() { self.expected } else { self.bytes.len() };
            self.bytes.reserve_exact(room.min(wanted.max(MIN_GROWTH)));
        }
    }

    fn note_full(&mut self) {
        if self.bytes.len() > self.cap {
            self.bytes.truncate(self.cap);
            self.full = true;
        }
    }
}

impl Write for Out {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.extend(piece);
        if self.full { Err(io::Error::other("full")) } else { Ok(piece.len()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use hyper::header::HeaderValue;

    use super::*;

    const TEXT: &[u8] =
        b"An owl in a tree, and another owl in another tree, and a third one that has no tree.";

    fn headers(values: &[&'static str]) -> HeaderMap {
        values.iter().map(|value| (CONTENT_ENCODING, HeaderValue::from_static(value))).collect()
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn zlib(text: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn deflate(text: &[u8]) -> Vec<u8> {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    /// A brotli stream of one uncompressed block (RFC 7932, 9.2).
    fn brotli(text: &[u8]) -> Vec<u8> {
        let length = text.len() as u32 - 1;
        // WBITS 16 (0), ISLAST 0, MNIBBLES 4 (00), MLEN - 1, ISUNCOMPRESSED 1.
        let bits = length << 4 | 1 << 20;
        let mut stream = bits.to_le_bytes()[..3].to_vec();
        stream.extend_from_slice(text);
        stream.push(3);
        stream
    }

    /// Whether archives keep a body as it was received.
    fn is_archived(encoding: &[&'static str], wire: &[u8], text: &[u8]) -> bool {
        matches!(encoding, ["gzip" | "br"]) && !wire.is_empty() && wire != text && !wire.ends_with(&[0; 16])
    }

    /// Decodes in chunks of every size.
    fn check(encoding: &[&'static str], wire: &[u8], cap: usize, text: &[u8], is_whole: bool) {
        for size in [1, 2, 3, 5, 7, 64, wire.len().max(1)] {
            let mut decoder = Decoder::new(&headers(encoding), cap, wire.len()).unwrap();
            let pushed = wire.chunks(size).try_for_each(|piece| {
                if decoder.is_full() { Ok(()) } else { decoder.push(Bytes::copy_from_slice(piece)) }
            });
            let DecodedBody { bytes, encoded, end, .. } = decoder.finish();
            let is_kept = is_whole && is_archived(encoding, wire, text);
            assert_eq!(encoded.as_deref(), is_kept.then_some(wire), "{encoding:?} by {size}");
            assert_eq!(
                String::from_utf8_lossy(&bytes),
                String::from_utf8_lossy(text),
                "{encoding:?} by {size}"
            );
            assert_eq!(pushed.and(end).is_ok(), is_whole, "{encoding:?} by {size}");
        }
    }

    #[test]
    fn every_encoding_decodes_in_chunks_of_any_size() {
        let zstd = zstd::encode_all(TEXT, 3).unwrap();
        check(&[], TEXT, 1000, TEXT, true);
        check(&["identity"], TEXT, 1000, TEXT, true);
        check(&["gzip"], &gzip(TEXT), 1000, TEXT, true);
        check(&["X-GZIP"], &gzip(TEXT), 1000, TEXT, true);
        check(&["gzip", "gzip"], &gzip(TEXT), 1000, TEXT, true);
        check(&["gzip, identity"], &gzip(TEXT), 1000, TEXT, true);
        check(&["deflate"], &zlib(TEXT), 1000, TEXT, true);
        check(&["deflate"], &deflate(TEXT), 1000, TEXT, true);
        check(&["br"], &brotli(TEXT), 1000, TEXT, true);
        check(&["zstd"], &zstd, 1000, TEXT, true);
        check(&["gzip"], b"", 1000, b"", true);
        check(&["br"], b"", 1000, b"", true);
    }

    #[test]
    fn data_that_is_not_encoded_is_used_unchanged() {
        check(&["gzip"], TEXT, 1000, TEXT, true);
        check(&["zstd"], TEXT, 1000, TEXT, true);
        check(&["gzip"], b"ab", 1000, b"ab", true);
    }

    #[test]
    fn gzip_members_are_joined_and_trailing_garbage_is_ignored() {
        let two = [gzip(b"one "), gzip(b"two")].concat();
        check(&["gzip"], &two, 1000, b"one two", true);
        check(&["gzip"], &gzip(b"one ").repeat(2), 1000, b"one one ", true);
        check(&["gzip"], &gzip(b"").repeat(2), 1000, b"", true);
        let zeros = [gzip(b"one"), vec![0; 64]].concat();
        check(&["gzip"], &zeros, 1000, b"one", true);
        let frames = [zstd::encode_all(&b"one "[..], 3).unwrap(), zstd::encode_all(&b"two"[..], 3).unwrap()];
        check(&["zstd"], &frames.concat(), 1000, b"one two", true);
    }

    #[test]
    fn empty_members_use_a_bounded_stack() {
        let pushed = |members: usize| {
            let mut decoder = Decoder::new(&headers(&["gzip"]), 1000, 0).unwrap();
            let pushed = decoder.push(gzip(b"").repeat(members).into());
            pushed.and(decoder.finish().end)
        };
        assert_eq!(pushed(MAX_MEMBERS), Ok(()));
        let refused = pushed(6_000).unwrap_err();
        assert!(refused.0.contains("gzip members"), "{refused:?}");
    }

    #[test]
    fn a_false_content_length_does_not_overflow() {
        assert!(Decoder::new(&headers(&["gzip"]), 1000, usize::MAX).is_ok());
    }

    #[test]
    fn output_is_truncated_at_the_cap() {
        let zstd = zstd::encode_all(TEXT, 3).unwrap();
        for (encoding, wire) in [
            ("gzip", gzip(TEXT)),
            ("deflate", zlib(TEXT)),
            ("br", brotli(TEXT)),
            ("zstd", zstd),
            ("", TEXT.into()),
        ] {
            for (cap, is_full) in [(TEXT.len() - 1, true), (TEXT.len(), false), (10, true)] {
                let mut decoder = Decoder::new(&headers(&[encoding]), cap, 0).unwrap();
                decoder.push(wire.clone().into()).unwrap();
                let decoded = decoder.finish();
                assert_eq!(decoded.is_full, is_full, "{encoding} {cap}");
                assert_eq!((&decoded.bytes[..], decoded.end), (&TEXT[..cap], Ok(())), "{encoding} {cap}");
                let is_kept = !is_full && is_archived(&[encoding], &wire, TEXT);
                assert_eq!(decoded.encoded.is_some(), is_kept, "{encoding} {cap}");
            }
        }
    }

    #[test]
    fn a_small_body_of_a_long_text_is_kept() {
        let text = TEXT.repeat(2 * SMALL / TEXT.len() + 1);
        let wire = gzip(&text);
        assert!(wire.len() < MAX_HELD && text.len() > SMALL);
        for cap in [text.len(), text.len() - 1, SMALL] {
            let mut decoder = Decoder::new(&headers(&["gzip"]), cap, 0).unwrap();
            decoder.push(wire.clone().into()).unwrap();
            let DecodedBody { bytes, encoded, is_full, end } = decoder.finish();
            assert_eq!((&bytes[..], is_full, end), (&text[..cap], cap < text.len(), Ok(())));
            assert_eq!(encoded.is_some(), !is_full);
        }
    }

    #[test]
    fn a_large_body_is_only_decoded() {
        let mut state = 1u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as u8
        })
        .take(2 * SMALL)
        .collect();
        for (length, is_kept) in [(SMALL / 2, true), (2 * SMALL, false)] {
            let wire = gzip(&noise[..length]);
            let mut decoder = Decoder::new(&headers(&["gzip"]), 1 << 30, 0).unwrap();
            wire.chunks(10_000).for_each(|chunk| decoder.push(Bytes::copy_from_slice(chunk)).unwrap());
            let decoded = decoder.finish();
            assert_eq!((decoded.bytes.len(), decoded.encoded.is_some()), (length, is_kept));
        }
    }

    #[test]
    fn a_truncated_body_keeps_its_beginning() {
        let long = TEXT.repeat(100);
        for (encoding, wire) in [("gzip", gzip(&long)), ("zstd", zstd::encode_all(&long[..], 3).unwrap())] {
            let mut decoder = Decoder::new(&headers(&[encoding]), 1 << 20, 0).unwrap();
            decoder.push(Bytes::copy_from_slice(&wire[..wire.len() - 6])).unwrap();
            let DecodedBody { bytes, encoded, end, .. } = decoder.finish();
            assert!(long.starts_with(&bytes) && encoded.is_none() && end.is_err(), "{encoding}");
        }
        check(&["br"], &brotli(TEXT)[..TEXT.len()], 1000, &TEXT[..TEXT.len() - 3], false);
        check(&["br"], b"<html>not brotli", 1000, b"", false);
    }

    #[test]
    fn other_encodings_are_refused() {
        for (values, words) in [
            (&["compress"][..], "`compress` is not supported"),
            (&["gzip, br"][..], "two nested content encodings"),
            (&["br", "gzip"][..], "two nested content encodings"),
        ] {
            let fault = Decoder::new(&headers(values), 10, 0).err().unwrap();
            assert!(fault.detail.contains(words), "{}", fault.detail);
        }
    }
}
