//! Writes records, each as a gzip member, as a zstd frame or uncompressed.

use std::io::{self, Write};

use flate2::{Compress, Compression, FlushCompress, Status};
use porthole_types::{SegmentSpan, Timestamp};

use crate::message::{date, push_field, push_request, push_response_head};
use crate::quick::QuickGzip;
use crate::zstd_frames::ZstdFrames;
use crate::{Digest, Original, RecordId, RecordKind, WarcError, WarcRequest, WarcResponse};

/// Compression of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordFormat {
    /// Uncompressed.
    Plain,
    /// Each in a separate gzip member, so that it can be read alone.
    Gzip,
    /// Each in a separate zstd frame with a checksum, without a dictionary (`.warc.zst`).
    Zstd,
}

/// Position and id of a written record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// Byte offset of the record.
    pub offset: u64,
    /// Length in the file.
    pub length: u64,
    /// Its id, for records that refer to it.
    pub id: RecordId,
}

impl Written {
    /// The position as stored in the database; `None` for a record of 4 GiB or more.
    pub fn span(&self, segment: u32) -> Option<SegmentSpan> {
        let length = u32::try_from(self.length).ok()?;
        Some(SegmentSpan { segment, offset: self.offset, length })
    }
}

/// Writes WARC 1.1 records. Each is passed to the writer in one call, so that after a crash only the last one can be
/// incomplete; nothing is flushed or synced here.
pub struct WarcWriter<W> {
    out: W,
    seed: u64,
    offset: u64,
    packing: RecordPacker,
    head: Vec<u8>,
    block_head: Vec<u8>,
    packed: Vec<u8>,
    last_id: Option<RecordId>,
    /// Whether a write failed, so that the contents of the file are unknown.
    broken: bool,
}

/// Compressor of records, reused because its tables are large.
enum RecordPacker {
    Plain,
    Quick(Box<QuickGzip>),
    Level(Compress),
    Zstd(ZstdFrames),
}

/// The body of a record.
#[derive(Clone, Copy)]
enum Body<'a> {
    None,
    Plain(&'a [u8]),
    /// Compressed already.
    Encoded(&'a [u8]),
}

impl<'a> Body<'a> {
    fn bytes(self) -> &'a [u8] {
        match self {
            Body::None => &[],
            Body::Plain(bytes) | Body::Encoded(bytes) => bytes,
        }
    }
}

/// What is behind the block of every record.
const RECORD_END: &[u8] = b"\r\n\r\n";

const ZSTD_LEVEL: i32 = 3;

const INFO_TYPE: &str = "application/warc-fields";
const REQUEST_TYPE: &str = "application/http; msgtype=request";
const RESPONSE_TYPE: &str = "application/http; msgtype=response";
const SAME_PAYLOAD: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";
const NOT_MODIFIED: &str = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";

impl<W: Write> WarcWriter<W> {
    /// Writes from the start of a file. Record ids are derived from the seed, the offset and the contents: writing a
    /// file again gives the same file, and each file should have a different seed.
    pub fn new(out: W, form: RecordFormat, seed: u64) -> Self {
        let packing = match form {
            RecordFormat::Plain => RecordPacker::Plain,
            RecordFormat::Gzip => RecordPacker::Level(deflate(Compression::default())),
            RecordFormat::Zstd => RecordPacker::Zstd(ZstdFrames::new(ZSTD_LEVEL)),
        };
        WarcWriter {
            out,
            seed,
            offset: 0,
            packing,
            head: Vec::new(),
            block_head: Vec::new(),
            packed: Vec::new(),
            last_id: None,
            broken: false,
        }
    }

    /// Sets the file offset of the writer's position, which must be the end of a complete record.
    pub fn with_offset(mut self, offset: u64) -> Self {
        self.offset = offset;
        self
    }

    /// Sets the level. Of gzip: 1 is fast, 6 is the default, 9 is small; of zstd: 1 is fast, negative ones are faster, 3
    /// is the default, 19 is small.
    pub fn with_level(mut self, level: i32) -> Self {
        self.packing = match (self.packing, level) {
            (RecordPacker::Plain, _) => RecordPacker::Plain,
            (RecordPacker::Zstd(_), _) => RecordPacker::Zstd(ZstdFrames::new(level.min(19))),
            (_, ..=1) => RecordPacker::Quick(Box::new(QuickGzip::new())),
            _ => RecordPacker::Level(deflate(Compression::new(level.min(9).unsigned_abs()))),
        };
        self
    }

    /// Appends a record packed by another writer in the same format: packing is most of the work, and can be done on
    /// another thread. Returns offset and length.
    pub fn append(&mut self, packed: &[u8]) -> Result<(u64, u64), WarcError> {
        let offset = self.offset;
        self.write(packed)?;
        Ok((offset, packed.len() as u64))
    }

    /// Packs a record that is given uncompressed, from its head to the empty lines behind its block, for
    /// [`append`](Self::append): for files that are compressed in another way.
    pub fn packed_record(&mut self, record: &[u8]) -> Vec<u8> {
        self.head.clear();
        self.block_head.clear();
        self.head.extend_from_slice(record.strip_suffix(RECORD_END).unwrap_or(record));
        self.compress(Body::None);
        std::mem::take(&mut self.packed)
    }

    /// Id of the record that was written or packed last, for records that refer to it.
    pub fn last_id(&self) -> Option<RecordId> {
        self.last_id
    }

    /// Offset of the next record.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The underlying writer.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.out
    }

    /// Takes what was written so far, and restarts at offset 0: the next record gets the id of the first of a file.
    pub fn take(&mut self) -> W
    where
        W: Default,
    {
        self.offset = 0;
        std::mem::take(&mut self.out)
    }

    /// Returns the underlying writer.
    pub fn into_inner(self) -> W {
        self.out
    }

    /// Writes information about the file: its name, and fields such as `software` and `operator`.
    pub fn warcinfo(
        &mut self,
        at: Timestamp,
        filename: &str,
        fields: &[(&str, &str)],
    ) -> Result<Written, WarcError> {
        self.start(RecordKind::Warcinfo, at);
        push_field(&mut self.head, "WARC-Filename", filename);
        self.push_block_fields(fields);
        self.finish_short(at, INFO_TYPE)
    }

    /// Writes a response.
    pub fn response(&mut self, response: &WarcResponse<'_>) -> Result<Written, WarcError> {
        let id = self.pack_response(response);
        self.write_packed(id)
    }

    /// Packs a response without writing it, for [`append`](Self::append) by another writer.
    pub fn packed_response(&mut self, response: &WarcResponse<'_>) -> Vec<u8> {
        self.pack_response(response);
        std::mem::take(&mut self.packed)
    }

    fn pack_response(&mut self, response: &WarcResponse<'_>) -> RecordId {
        self.start_response(RecordKind::Response, response);
        let body =
            if response.is_encoded { Body::Encoded(response.body) } else { Body::Plain(response.body) };
        let digest = self.read_ahead(body).to_string();
        push_field(&mut self.head, "WARC-Payload-Digest", &digest);
        if let Some(truncation) = response.truncated {
            push_field(&mut self.head, "WARC-Truncated", truncation.name());
        }
        // A block digest would cost as much again, and is optional.
        self.pack(response.date, RESPONSE_TYPE, &digest, body)
    }

    /// Writes a revisit: the head of a response, and a reference to its recorded body. A response with status 304 has
    /// the profile `server-not-modified`, any other `identical-payload-digest`.
    pub fn revisit(
        &mut self,
        response: &WarcResponse<'_>,
        original: &Original<'_>,
    ) -> Result<Written, WarcError> {
        let id = self.pack_revisit(response, original);
        self.write_packed(id)
    }

    /// Packs a revisit without writing it, for [`append`](Self::append) by another writer.
    pub fn packed_revisit(&mut self, response: &WarcResponse<'_>, original: &Original<'_>) -> Vec<u8> {
        self.pack_revisit(response, original);
        std::mem::take(&mut self.packed)
    }

    fn pack_revisit(&mut self, response: &WarcResponse<'_>, original: &Original<'_>) -> RecordId {
        self.start_response(RecordKind::Revisit, response);
        let is_not_modified = response.status == 304;
        push_field(&mut self.head, "WARC-Profile", if is_not_modified { NOT_MODIFIED } else { SAME_PAYLOAD });
        if let Some(id) = original.id {
            let bare = id.trim_start_matches('<').trim_end_matches('>');
            push_field(&mut self.head, "WARC-Refers-To", &format!("<{bare}>"));
        }
        push_field(&mut self.head, "WARC-Refers-To-Target-URI", original.url);
        push_field(&mut self.head, "WARC-Refers-To-Date", &date(original.date));
        if !is_not_modified {
            push_field(&mut self.head, "WARC-Payload-Digest", &original.digest.to_string());
        }
        self.pack_short(response.date, RESPONSE_TYPE)
    }

    /// Writes a request.
    pub fn request(&mut self, request: &WarcRequest<'_>) -> Result<Written, WarcError> {
        let id = self.pack_request(request);
        self.write_packed(id)
    }

    /// Packs a request without writing it, for [`append`](Self::append) by another writer.
    pub fn packed_request(&mut self, request: &WarcRequest<'_>) -> Vec<u8> {
        self.pack_request(request);
        std::mem::take(&mut self.packed)
    }

    fn pack_request(&mut self, request: &WarcRequest<'_>) -> RecordId {
        self.start(RecordKind::Request, request.date);
        push_field(&mut self.head, "WARC-Target-URI", request.url);
        if let Some(response) = request.response {
            push_field(&mut self.head, "WARC-Concurrent-To", &response.to_string());
        }
        push_request(&mut self.block_head, request);
        self.pack_short(request.date, REQUEST_TYPE)
    }

    /// Writes metadata about another record, such as topic and relevance of a page.
    pub fn metadata(
        &mut self,
        at: Timestamp,
        url: &str,
        about: RecordId,
        fields: &[(&str, &str)],
    ) -> Result<Written, WarcError> {
        self.start(RecordKind::Metadata, at);
        push_field(&mut self.head, "WARC-Target-URI", url);
        push_field(&mut self.head, "WARC-Refers-To", &about.to_string());
        self.push_block_fields(fields);
        self.finish_short(at, INFO_TYPE)
    }

    fn start(&mut self, kind: RecordKind, at: Timestamp) {
        self.head.clear();
        self.block_head.clear();
        self.head.extend_from_slice(b"WARC/1.1\r\n");
        push_field(&mut self.head, "WARC-Type", kind.name());
        push_field(&mut self.head, "WARC-Date", &date(at));
    }

    fn start_response(&mut self, kind: RecordKind, response: &WarcResponse<'_>) {
        self.start(kind, response.date);
        push_field(&mut self.head, "WARC-Target-URI", response.url);
        if let Some(ip) = response.ip {
            push_field(&mut self.head, "WARC-IP-Address", &ip.to_string());
        }
        push_response_head(&mut self.block_head, response);
    }

    fn push_block_fields(&mut self, fields: &[(&str, &str)]) {
        for (name, value) in fields {
            push_field(&mut self.block_head, name, value);
        }
    }

    /// Finishes a record whose block is in `block_head`.
    fn finish_short(&mut self, at: Timestamp, content_type: &str) -> Result<Written, WarcError> {
        let id = self.pack_short(at, content_type);
        self.write_packed(id)
    }

    /// Packs a record whose block is in `block_head`.
    fn pack_short(&mut self, at: Timestamp, content_type: &str) -> RecordId {
        let digest = Digest::of(&self.block_head).to_string();
        push_field(&mut self.head, "WARC-Block-Digest", &digest);
        self.pack(at, content_type, &digest, Body::None)
    }

    /// Digest of a body, which is part of its record's head.
    fn read_ahead(&mut self, body: Body<'_>) -> Digest {
        match (&mut self.packing, body) {
            (RecordPacker::Quick(gzip), Body::Plain(body)) => {
                Digest::of_pieces(|take| gzip.read_ahead(body, take))
            }
            _ => Digest::of(body.bytes()),
        }
    }

    /// Adds the common fields, and packs the record. The block is `block_head` and a body that was digested before;
    /// the digest makes its id unique.
    fn pack(&mut self, at: Timestamp, content_type: &str, digest: &str, body: Body<'_>) -> RecordId {
        let name = [&self.seed.to_le_bytes(), &self.offset.to_le_bytes(), &at.0.to_le_bytes()];
        let [seed, offset, date] = name.map(|part| &part[..]);
        let id = RecordId::from_name(&[seed, offset, date, &self.head, digest.as_bytes()]);
        let length = self.block_head.len() + body.bytes().len();
        push_field(&mut self.head, "WARC-Record-ID", &id.to_string());
        push_field(&mut self.head, "Content-Type", content_type);
        push_field(&mut self.head, "Content-Length", &length.to_string());
        self.head.extend_from_slice(b"\r\n");
        self.compress(body);
        self.last_id = Some(id);
        id
    }

    /// Writes the packed record.
    fn write_packed(&mut self, id: RecordId) -> Result<Written, WarcError> {
        let offset = self.offset;
        let packed = std::mem::take(&mut self.packed);
        let written = self.write(&packed);
        self.packed = packed;
        written.map(|()| Written { offset, length: self.offset - offset, id })
    }

    fn compress(&mut self, body: Body<'_>) {
        self.packed.clear();
        let parts: [&[u8]; 4] = [&self.head, &self.block_head, body.bytes(), RECORD_END];
        match &mut self.packing {
            RecordPacker::Plain => parts.iter().for_each(|part| self.packed.extend_from_slice(part)),
            RecordPacker::Quick(gzip) => match body {
                Body::None => gzip.pack(&parts, None, &mut self.packed),
                Body::Plain(_) => {
                    let ahead = self.head.len() + self.block_head.len();
                    gzip.pack(&parts, Some(ahead), &mut self.packed);
                }
                Body::Encoded(_) => gzip.pack_and_store(&parts[..2], &parts[2..], &mut self.packed),
            },
            RecordPacker::Level(deflate) => {
                deflate.reset();
                for part in parts {
                    deflate_part(deflate, part, &mut self.packed, FlushCompress::None);
                }
                deflate_part(deflate, &[], &mut self.packed, FlushCompress::Finish);
            }
            RecordPacker::Zstd(zstd) => zstd.pack(&parts, &mut self.packed),
        }
    }

    fn write(&mut self, packed: &[u8]) -> Result<(), WarcError> {
        let failed = |source| WarcError::Write { offset: self.offset, source };
        if self.broken {
            return Err(failed(io::Error::other("an earlier write failed; cut the file and open it again")));
        }
        if let Err(source) = self.out.write_all(packed) {
            self.broken = true;
            return Err(failed(source));
        }
        self.offset += packed.len() as u64;
        Ok(())
    }
}

fn deflate(level: Compression) -> Compress {
    const WINDOW_BITS: u8 = 15;
    Compress::new_gzip(level, WINDOW_BITS)
}

fn deflate_part(deflate: &mut Compress, mut part: &[u8], out: &mut Vec<u8>, flush: FlushCompress) {
    const ROOM: usize = 16 * 1024;
    let finishing = matches!(flush, FlushCompress::Finish);
    while finishing || !part.is_empty() {
        out.reserve(ROOM);
        let before = deflate.total_in();
        let status = deflate.compress_vec(part, out, flush).expect("deflate takes any bytes");
        let taken = usize::try_from(deflate.total_in() - before).expect("no more than the input");
        part = &part[taken..];
        if status == Status::StreamEnd {
            return;
        }
    }
}
