//! Finds the next record behind damage.

use std::io::Read;

use memchr::memchr2_iter;

use crate::WarcError;
use crate::codec::Codec;
use crate::input::WarcInput;

/// Bytes that are looked at together. A compressed member is recognised by what is in its first bytes.
const LOOK: usize = 16 * 1024;
const AHEAD: usize = 4 * 1024;

/// Offset of the first record at or after `offset`, where the reader is positioned: a line that starts like the head of
/// a record, its first two lines anywhere, or a compressed member that starts with one. `None` if there is none. Fails only if the reader does.
///
/// For whoever goes on after damage: behind a record with a wrong length the next one may start anywhere.
pub fn find_record(reader: impl Read, offset: u64) -> Result<Option<u64>, WarcError> {
    let mut input = WarcInput::new(reader);
    input.start_at(offset);
    let mut is_line_start = true;
    loop {
        let bytes = input.fill(LOOK)?;
        let end = if bytes.len() < LOOK { bytes.len() } else { bytes.len() - AHEAD };
        if end == 0 {
            return Ok(None);
        }
        let is_line = |at: usize| if at == 0 { is_line_start } else { bytes[at - 1] == b'\n' };
        let heads = memchr2_iter(b'W', b'w', &bytes[..end])
            .find(|&at| is_head(&bytes[at..]) && (is_line(at) || has_fields(&bytes[at..])));
        let members = memchr2_iter(0x1f, 0x28, &bytes[..end]).find(|&at| is_member(&bytes[at..]));
        if let Some(at) = heads.into_iter().chain(members).min() {
            return Ok(Some(input.position() + at as u64));
        }
        is_line_start = bytes[end - 1] == b'\n';
        input.consume(end);
    }
}

/// Whether bytes start like a record.
fn is_head(bytes: &[u8]) -> bool {
    let start = bytes.get(..7);
    start
        .is_some_and(|start| start.eq_ignore_ascii_case(b"WARC/1.") || start.eq_ignore_ascii_case(b"WARC/0."))
}

/// Whether a field of WARC follows the first line: behind a record that was cut off, no line starts.
fn has_fields(bytes: &[u8]) -> bool {
    let line = &bytes[..bytes.len().min(20)];
    let next = line.iter().position(|&b| b == b'\n').and_then(|end| bytes.get(end + 1..end + 6));
    next.is_some_and(|next| next.eq_ignore_ascii_case(b"WARC-"))
}

/// Whether bytes are the start of a compressed member that starts like a record.
fn is_member(bytes: &[u8]) -> bool {
    let codec = match bytes {
        [0x1f, 0x8b, 8, ..] => Ok(Codec::gzip()),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Codec::zstd(),
        _ => return false,
    };
    let mut plain = [0; 64];
    let step = codec.and_then(|mut codec| codec.step(bytes, &mut plain));
    step.is_ok_and(|step| is_head(&plain[..step.written]))
}
