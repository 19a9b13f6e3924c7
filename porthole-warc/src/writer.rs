//! Writing records, one gzip member each or plain.

use std::io::{self, Write};

use flate2::{Compress, Compression, FlushCompress, Status};
use porthole_types::{SegmentSpan, Timestamp};

use crate::message::{date, push_answer_head, push_field, push_question};
use crate::{Answer, Digest, Original, Question, RecordId, RecordKind, WarcError};

/// How records are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As they are.
    Plain,
    /// Each in a gzip member of its own, so that each can be read alone.
    Gzip,
}

/// Where a record was written, and its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Byte offset of the record.
    pub offset: u64,
    /// Bytes that it takes up in the file.
    pub length: u64,
    /// Its name, for records that refer to it.
    pub id: RecordId,
}

impl Written {
    /// The same as the store keeps it; none for a record of 4 GiB or more.
    pub fn span(&self, segment: u32) -> Option<SegmentSpan> {
        let length = u32::try_from(self.length).ok()?;
        Some(SegmentSpan { segment, offset: self.offset, length })
    }
}

/// Writes WARC 1.1 records. Each goes to the writer handed in as one piece, so that after a crash only the
/// last one can be unfinished; nothing is flushed or synced here.
pub struct WarcWriter<W> {
    out: W,
    seed: u64,
    offset: u64,
    /// Kept from record to record: its tables are large.
    deflate: Option<Compress>,
    head: Vec<u8>,
    block_head: Vec<u8>,
    packed: Vec<u8>,
    /// A write failed, so nobody knows what is in the file.
    broken: bool,
}

const INFO_TYPE: &str = "application/warc-fields";
const REQUEST_TYPE: &str = "application/http; msgtype=request";
const RESPONSE_TYPE: &str = "application/http; msgtype=response";
const SAME_PAYLOAD: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";

impl<W: Write> WarcWriter<W> {
    /// Writes from the start of a file. Record names follow from the seed, the offset and the contents: a
    /// file written again is the same file, and each file should have a seed of its own.
    pub fn new(out: W, form: Form, seed: u64) -> Self {
        const WINDOW_BITS: u8 = 15;
        let deflate = (form == Form::Gzip).then(|| Compress::new_gzip(Compression::default(), WINDOW_BITS));
        WarcWriter {
            out,
            seed,
            offset: 0,
            deflate,
            head: Vec::new(),
            block_head: Vec::new(),
            packed: Vec::new(),
            broken: false,
        }
    }

    /// Says that the writer handed in stands at `offset` of its file, behind a whole record.
    pub fn with_offset(mut self, offset: u64) -> Self {
        self.offset = offset;
        self
    }

    /// Compresses with another gzip level: 1 is fast, 6 is what is used otherwise, 9 is small.
    pub fn with_level(mut self, level: u32) -> Self {
        if self.deflate.is_some() {
            self.deflate = Some(deflate(Compression::new(level.clamp(1, 9))));
        }
        self
    }

    /// Writes a record that another writer has packed, in the same form: packing is most of the work, and can be done
    /// elsewhere. Where it was written, and how long it is.
    pub fn append(&mut self, packed: &[u8]) -> Result<(u64, u64), WarcError> {
        let offset = self.offset;
        self.packed.clear();
        self.packed.extend_from_slice(packed);
        self.write_packed().map_err(|source| WarcError::Write { offset, source })?;
        Ok((offset, self.offset - offset))
    }

    /// Offset of the next record.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The writer that was handed in.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.out
    }

    /// Gives the writer back.
    pub fn into_inner(self) -> W {
        self.out
    }

    /// Says what the file is: its name, and fields such as `software` and `operator`.
    pub fn warcinfo(
        &mut self,
        at: Timestamp,
        filename: &str,
        fields: &[(&str, &str)],
    ) -> Result<Written, WarcError> {
        self.start(RecordKind::Warcinfo, at);
        push_field(&mut self.head, "WARC-Filename", filename);
        self.push_block_fields(fields);
        self.finish(at, INFO_TYPE, &[])
    }

    /// Records an answer.
    pub fn response(&mut self, answer: &Answer<'_>) -> Result<Written, WarcError> {
        self.start_answer(RecordKind::Response, answer);
        let digest = Digest::of(answer.body);
        push_field(&mut self.head, "WARC-Payload-Digest", &digest.to_string());
        if let Some(truncation) = answer.truncated {
            push_field(&mut self.head, "WARC-Truncated", truncation.name());
        }
        self.finish(answer.date, RESPONSE_TYPE, answer.body)
    }

    /// Records an answer whose body was recorded before: its head, and where the body is.
    pub fn revisit(&mut self, answer: &Answer<'_>, original: &Original<'_>) -> Result<Written, WarcError> {
        self.start_answer(RecordKind::Revisit, answer);
        push_field(&mut self.head, "WARC-Profile", SAME_PAYLOAD);
        if let Some(id) = original.id {
            let bare = id.trim_start_matches('<').trim_end_matches('>');
            push_field(&mut self.head, "WARC-Refers-To", &format!("<{bare}>"));
        }
        push_field(&mut self.head, "WARC-Refers-To-Target-URI", original.url);
        push_field(&mut self.head, "WARC-Refers-To-Date", &date(original.date));
        push_field(&mut self.head, "WARC-Payload-Digest", &original.digest.to_string());
        self.finish(answer.date, RESPONSE_TYPE, &[])
    }

    /// Records a request.
    pub fn request(&mut self, question: &Question<'_>) -> Result<Written, WarcError> {
        self.start(RecordKind::Request, question.date);
        push_field(&mut self.head, "WARC-Target-URI", question.url);
        if let Some(answer) = question.answer {
            push_field(&mut self.head, "WARC-Concurrent-To", &answer.to_string());
        }
        push_question(&mut self.block_head, question);
        self.finish(question.date, REQUEST_TYPE, &[])
    }

    /// Records what is known of another record, such as topic and relevance of a page.
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
        self.finish(at, INFO_TYPE, &[])
    }

    fn start(&mut self, kind: RecordKind, at: Timestamp) {
        self.head.clear();
        self.block_head.clear();
        self.head.extend_from_slice(b"WARC/1.1\r\n");
        push_field(&mut self.head, "WARC-Type", kind.name());
        push_field(&mut self.head, "WARC-Date", &date(at));
    }

    fn start_answer(&mut self, kind: RecordKind, answer: &Answer<'_>) {
        self.start(kind, answer.date);
        push_field(&mut self.head, "WARC-Target-URI", answer.url);
        if let Some(ip) = answer.ip {
            push_field(&mut self.head, "WARC-IP-Address", &ip.to_string());
        }
        push_answer_head(&mut self.block_head, answer);
    }

    fn push_block_fields(&mut self, fields: &[(&str, &str)]) {
        for (name, value) in fields {
            push_field(&mut self.block_head, name, value);
        }
    }

    /// Adds what every record has and writes it. The block is what was put into `block_head`, and `body`.
    fn finish(&mut self, at: Timestamp, content_type: &str, body: &[u8]) -> Result<Written, WarcError> {
        let digest = Digest::of_parts(&[&self.block_head, body]).to_string();
        let name = [&self.seed.to_le_bytes(), &self.offset.to_le_bytes(), &at.0.to_le_bytes()];
        let name: Vec<&[u8]> = name.iter().map(|part| &part[..]).chain([digest.as_bytes()]).collect();
        let id = RecordId::from_name(&name);
        let length = self.block_head.len() + body.len();
        push_field(&mut self.head, "WARC-Record-ID", &id.to_string());
        push_field(&mut self.head, "WARC-Block-Digest", &digest);
        push_field(&mut self.head, "Content-Type", content_type);
        push_field(&mut self.head, "Content-Length", &length.to_string());
        self.head.extend_from_slice(b"\r\n");

        let offset = self.offset;
        self.pack(body);
        self.write_packed().map_err(|source| WarcError::Write { offset, source })?;
        Ok(Written { offset, length: self.offset - offset, id })
    }

    fn pack(&mut self, body: &[u8]) {
        self.packed.clear();
        let parts: [&[u8]; 4] = [&self.head, &self.block_head, body, b"\r\n\r\n"];
        match &mut self.deflate {
            None => parts.iter().for_each(|part| self.packed.extend_from_slice(part)),
            Some(deflate) => {
                deflate.reset();
                for part in parts {
                    deflate_part(deflate, part, &mut self.packed, FlushCompress::None);
                }
                deflate_part(deflate, &[], &mut self.packed, FlushCompress::Finish);
            }
        }
    }

    fn write_packed(&mut self) -> io::Result<()> {
        if self.broken {
            return Err(io::Error::other("an earlier write failed; cut the file and open it again"));
        }
        self.broken = true;
        self.out.write_all(&self.packed)?;
        self.broken = false;
        self.offset += self.packed.len() as u64;
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
