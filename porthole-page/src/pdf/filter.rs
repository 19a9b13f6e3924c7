//! Stream filters. Output is bounded, and damaged or truncated input is decoded as far as possible.

use flate2::{Decompress, FlushDecompress, Status};

use super::object::{hex_bytes, is_space};
use crate::steps;

/// Filter of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filter {
    Flate,
    /// Whether the code length increases one code early, as is usual.
    Lzw(bool),
    Hex,
    Base85,
    RunLength,
    Predictor(Predictor),
}

/// Predictor of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Predictor {
    pub(super) is_png: bool,
    /// Bytes between corresponding samples, and of a row.
    pub(super) step: usize,
    pub(super) row: usize,
}

/// The filter with a name; `None` if it is for images.
pub(super) fn named(name: &[u8], grows_early: bool) -> Option<Filter> {
    Some(match name {
        b"FlateDecode" | b"Fl" => Filter::Flate,
        b"LZWDecode" | b"LZW" => Filter::Lzw(grows_early),
        b"ASCIIHexDecode" | b"AHx" => Filter::Hex,
        b"ASCII85Decode" | b"A85" => Filter::Base85,
        b"RunLengthDecode" | b"RL" => Filter::RunLength,
        _ => return None,
    })
}

impl Filter {
    /// Decodes to at most `most` bytes.
    pub(super) fn unpack(self, packed: &[u8], most: usize) -> Vec<u8> {
        let mut out = match self {
            Filter::Flate => inflate(packed, most),
            Filter::Lzw(grows_early) => lzw(packed, grows_early, most),
            Filter::Hex => hex_bytes(&packed[..end_of(packed, b'>')]),
            Filter::Base85 => base85(&packed[..end_of(packed, b'~')]),
            Filter::RunLength => run_length(packed, most),
            Filter::Predictor(predictor) => predictor.undo(packed),
        };
        steps::add(packed.len() + out.len());
        out.truncate(most);
        out
    }
}

fn end_of(packed: &[u8], mark: u8) -> usize {
    memchr::memchr(mark, packed).unwrap_or(packed.len())
}

fn inflate(packed: &[u8], most: usize) -> Vec<u8> {
    // Skipping the header avoids a checksum failure at the end, after all the text.
    let has_header = matches!(packed, [a, b, ..] if a & 15 == 8 && u16::from_be_bytes([*a, *b]) % 31 == 0);
    let mut input = if has_header { &packed[2..] } else { packed };
    let mut inflate = Decompress::new(false);
    let mut out = Vec::new();
    let mut buffer = [0u8; 16 << 10];
    while out.len() < most {
        let (read, written) = (inflate.total_in(), inflate.total_out());
        let status = inflate.decompress(input, &mut buffer, FlushDecompress::None);
        let (read, written) =
            ((inflate.total_in() - read) as usize, (inflate.total_out() - written) as usize);
        out.extend_from_slice(&buffer[..written.min(buffer.len())]);
        input = &input[read.min(input.len())..];
        if !matches!(status, Ok(Status::Ok | Status::BufError)) || read + written == 0 {
            break;
        }
    }
    out
}

const CLEAR: usize = 256;
const END: usize = 257;

fn lzw(packed: &[u8], grows_early: bool, most: usize) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::new();
    // Each code stands for a range of the output: start and length.
    let mut table: Vec<(usize, usize)> = Vec::new();
    let (mut bits, mut held, mut width) = (0u32, 0u32, 9);
    let mut last: Option<(usize, usize)> = None;
    for &byte in packed {
        bits = bits << 8 | u32::from(byte);
        held += 8;
        if held < width {
            continue;
        }
        held -= width;
        let code = (bits >> held) as usize & ((1 << width) - 1);
        bits &= (1 << held) - 1;
        let start = out.len();
        match code {
            CLEAR => {
                table.clear();
                (width, last) = (9, None);
                continue;
            }
            END => break,
            0..CLEAR => out.push(code as u8),
            _ => match (table.get(code - END - 1), last) {
                (Some(&(from, length)), _) => out.extend_from_within(from..from + length),
                // The one code that may be used before it is in the table.
                (None, Some((from, length))) if code == END + 1 + table.len() => {
                    out.extend_from_within(from..from + length);
                    out.push(out[from]);
                }
                _ => break,
            },
        }
        if let Some((from, length)) = last
            && table.len() < 4096 - END - 1
        {
            // The last range and the first byte of this one, which follows it.
            table.push((from, length + 1));
        }
        last = Some((start, out.len() - start));
        let next = END + 1 + table.len() + usize::from(grows_early);
        width = match next {
            0..512 => 9,
            512..1024 => 10,
            1024..2048 => 11,
            _ => 12,
        };
        if out.len() >= most {
            break;
        }
    }
    out
}

fn base85(packed: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(packed.len() / 5 * 4 + 4);
    let (mut group, mut digits) = (0u32, 0);
    for &byte in packed {
        match byte {
            b'z' if digits == 0 => out.extend([0; 4]),
            b'!'..=b'u' => {
                group = group.wrapping_mul(85).wrapping_add(u32::from(byte - b'!'));
                digits += 1;
                if digits == 5 {
                    out.extend(group.to_be_bytes());
                    (group, digits) = (0, 0);
                }
            }
            _ if is_space(byte) => {}
            _ => break,
        }
    }
    if digits > 1 {
        let filled = (digits..5).fold(group, |group, _| group.wrapping_mul(85).wrapping_add(84));
        out.extend(&filled.to_be_bytes()[..digits - 1]);
    }
    out
}

fn run_length(packed: &[u8], most: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let mut left = packed;
    while let [length, rest @ ..] = left {
        if out.len() >= most {
            break;
        }
        left = match (*length, rest) {
            (128, _) | (129.., []) => break,
            (length @ 0..128, rest) => {
                let (literal, rest) = rest.split_at(rest.len().min(usize::from(length) + 1));
                out.extend_from_slice(literal);
                rest
            }
            (length, [byte, rest @ ..]) => {
                out.resize(out.len() + 257 - usize::from(length), *byte);
                rest
            }
        };
    }
    out
}

impl Predictor {
    fn undo(self, packed: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(packed.len());
        for row in packed.chunks(self.row + usize::from(self.is_png)) {
            let start = out.len();
            let (kind, row) = if self.is_png { (row[0], &row[1..]) } else { (1, row) };
            for (index, &byte) in row.iter().enumerate() {
                let left = if index >= self.step { out[start + index - self.step] } else { 0 };
                let above = if start >= self.row { out[start + index - self.row] } else { 0 };
                let corner = if start >= self.row && index >= self.step {
                    out[start + index - self.row - self.step]
                } else {
                    0
                };
                out.push(byte.wrapping_add(predicted(kind, left, above, corner)));
            }
        }
        out
    }
}

/// Paeth predictor of PNG.
fn predicted(kind: u8, left: u8, above: u8, corner: u8) -> u8 {
    match kind {
        1 => left,
        2 => above,
        3 => left.midpoint(above),
        4 => {
            let (a, b, c) = (i16::from(left), i16::from(above), i16::from(corner));
            let (to_a, to_b, to_c) = ((b - c).abs(), (a - c).abs(), (a + b - 2 * c).abs());
            match () {
                () if to_a <= to_b && to_a <= to_c => left,
                () if to_b <= to_c => above,
                () => corner,
            }
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn check(filter: Filter, packed: &[u8], expected: &[u8]) {
        assert_eq!(filter.unpack(packed, 1 << 20), expected, "for {filter:?}");
    }

    fn deflated(bytes: &[u8]) -> Vec<u8> {
        let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        packer.write_all(bytes).unwrap();
        packer.finish().unwrap()
    }

    #[test]
    fn streams_are_decompressed() {
        check(Filter::Hex, b"4f 77 6C>xx", b"Owl");
        check(Filter::Base85, b"87cUR\nD]i,\"Ebo80~>", b"Hello World!");
        check(Filter::Base85, b"z5l~>", b"\0\0\0\0A");
        check(Filter::RunLength, b"\x02owl\xfex\x80y", b"owlxxx");
        check(Filter::RunLength, b"\x09cut", b"cut");
        // The example of the PDF reference, 7.4.4.2.
        check(
            Filter::Lzw(true),
            b"\x80\x0b\x60\x50\x22\x0c\x0c\x85\x01",
            &[45, 45, 45, 45, 45, 65, 45, 45, 45, 66],
        );
        check(Filter::Flate, &deflated(b"snowy owl"), b"snowy owl");
        check(Filter::Flate, &deflated(b"snowy owl")[2..], b"snowy owl");
    }

    #[test]
    fn a_truncated_stream_is_decompressed_up_to_its_end() {
        let text: Vec<u8> =
            (0..50_000u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_string().into_bytes()).collect();
        let packed = deflated(&text);
        let half = Filter::Flate.unpack(&packed[..packed.len() / 2], 1 << 20);
        assert!(half.len() > text.len() / 3 && text.starts_with(&half), "{} of {}", half.len(), text.len());
        let mut damaged = packed.clone();
        damaged.splice(packed.len() - 4.., *b"xxxx");
        check(Filter::Flate, &damaged, &text);
    }

    #[test]
    fn decompression_is_limited() {
        let bomb = deflated(&vec![0; 10 << 20]);
        assert_eq!(Filter::Flate.unpack(&bomb, 1000).len(), 1000);
        assert_eq!(Filter::RunLength.unpack(&[129, 0].repeat(1000), 1000).len(), 1000);
    }

    #[test]
    fn rows_are_predicted() {
        let png = Filter::Predictor(Predictor { is_png: true, step: 1, row: 3 });
        check(png, &[0, 1, 2, 3, 1, 1, 1, 1, 2, 1, 1, 1], &[1, 2, 3, 1, 2, 3, 2, 3, 4]);
        check(png, &[4, 1, 1, 1, 3, 2, 2, 2, 9, 5], &[1, 2, 3, 2, 4, 5, 5]);
        let tiff = Filter::Predictor(Predictor { is_png: false, step: 1, row: 2 });
        check(tiff, &[1, 1, 5, 1], &[1, 2, 5, 6]);
    }
}
