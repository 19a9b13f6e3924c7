//! Binary format of models and statistics: a header with versions, arrays of little-endian numbers, a checksum.
//!
//! The whole input is checked before any of it is used; anything that differs from what was written is rejected.

use std::ops::RangeInclusive;

use xxhash_rust::xxh3::xxh3_64;

/// Errors in binary input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// Not a file of this kind.
    #[error("this is not a {0}")]
    NotOurs(&'static str),
    /// Written by another version of the program.
    #[error("the {what} has format {found}, and this program reads format {expected}: train again")]
    Version {
        /// The kind of file.
        what: &'static str,
        /// The version found.
        found: u32,
        /// The newest version that is supported.
        expected: u32,
    },
    /// Made with another version of the term rules.
    #[error(
        "the {what} was made with terms of version {found}, and this program makes version {expected}: train again"
    )]
    Terms {
        /// The kind of file.
        what: &'static str,
        /// The version found.
        found: u32,
        /// The newest version that is supported.
        expected: u32,
    },
    /// Truncated, or changed after it was written.
    #[error("the {0} is damaged or truncated: train again")]
    Damaged(&'static str),
}

/// Writes a header and arrays, then a checksum over all of it.
pub(crate) struct SectionWriter {
    bytes: Vec<u8>,
}

impl SectionWriter {
    pub(crate) fn new(magic: &[u8; 8], version: u32, term_version: u32) -> SectionWriter {
        let mut writer = SectionWriter { bytes: magic.to_vec() };
        writer.u32(version);
        writer.u32(term_version);
        writer
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.bytes.extend(value.to_le_bytes());
    }

    pub(crate) fn f64(&mut self, value: f64) {
        self.bytes.extend(value.to_le_bytes());
    }

    /// A varint: seven bits a byte.
    pub(crate) fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.varint(text.len() as u64);
        self.bytes.extend(text.as_bytes());
    }

    /// An array with a length prefix.
    pub(crate) fn array<const N: usize>(&mut self, values: impl ExactSizeIterator<Item = [u8; N]>) {
        self.u32(values.len() as u32);
        self.bytes.reserve(values.len() * N);
        values.for_each(|value| self.bytes.extend(value));
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        let sum = xxh3_64(&self.bytes);
        self.bytes.extend(sum.to_le_bytes());
        self.bytes
    }

    /// As `finish`, compressed; the magic number precedes the compressed data.
    pub(crate) fn finish_compressed(self) -> Vec<u8> {
        let bytes = self.finish();
        let packed = zstd::bulk::compress(&bytes, COMPRESSION).expect("memory takes any number of bytes");
        [&bytes[..8], &(bytes.len() as u32).to_le_bytes(), &packed].concat()
    }
}

/// Compression level: slow to write, done once; fast to read.
const COMPRESSION: i32 = 19;

/// Maximum size after decompression: more than any taxonomy needs. Limits the cost of a damaged file.
const LARGEST: usize = 1 << 28;

/// Decompresses the output of [`SectionWriter::finish_compressed`].
pub(crate) fn decompressed(
    what: &'static str,
    magic: &[u8; 8],
    bytes: &[u8],
) -> Result<Vec<u8>, FormatError> {
    let Some((found, rest)) = bytes.split_first_chunk::<8>() else { return Err(FormatError::NotOurs(what)) };
    if found != magic {
        return Err(FormatError::NotOurs(what));
    }
    let (length, packed) = rest.split_first_chunk::<4>().ok_or(FormatError::Damaged(what))?;
    let length = u32::from_le_bytes(*length) as usize;
    // The length is untrusted input.
    if length > LARGEST {
        return Err(FormatError::Damaged(what));
    }
    zstd::bulk::decompress(packed, length).map_err(|_| FormatError::Damaged(what))
}

/// Reads the output of a [`SectionWriter`].
pub(crate) struct SectionReader<'a> {
    what: &'static str,
    rest: &'a [u8],
}

impl<'a> SectionReader<'a> {
    /// Checks header and checksum. Returns the term version, too.
    pub(crate) fn new(
        what: &'static str,
        magic: &[u8; 8],
        versions: RangeInclusive<u32>,
        bytes: &'a [u8],
    ) -> Result<(SectionReader<'a>, u32), FormatError> {
        let Some((found, rest)) = bytes.split_first_chunk::<8>() else {
            return Err(FormatError::NotOurs(what));
        };
        if found != magic {
            return Err(FormatError::NotOurs(what));
        }
        let mut reader = SectionReader { what, rest };
        let found = reader.u32()?;
        // Check the version first: another version may have its checksum elsewhere.
        if !versions.contains(&found) {
            return Err(FormatError::Version { what, found, expected: *versions.end() });
        }
        let term_version = reader.u32()?;
        let Some((rest, sum)) = reader.rest.split_last_chunk::<8>() else { return Err(reader.damaged()) };
        if xxh3_64(&bytes[..bytes.len() - 8]) != u64::from_le_bytes(*sum) {
            return Err(reader.damaged());
        }
        reader.rest = rest;
        Ok((reader, term_version))
    }

    pub(crate) fn damaged(&self) -> FormatError {
        FormatError::Damaged(self.what)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], FormatError> {
        let (value, rest) = self.rest.split_first_chunk::<N>().ok_or(FormatError::Damaged(self.what))?;
        self.rest = rest;
        Ok(*value)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, FormatError> {
        self.take().map(u32::from_le_bytes)
    }

    pub(crate) fn f64(&mut self) -> Result<f64, FormatError> {
        self.take().map(f64::from_le_bytes)
    }

    pub(crate) fn varint(&mut self) -> Result<u64, FormatError> {
        let mut value = 0;
        for shift in (0..63).step_by(7) {
            let [byte] = self.take()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.damaged())
    }

    pub(crate) fn text(&mut self) -> Result<String, FormatError> {
        let length = self.varint()?;
        let length = usize::try_from(length).ok().filter(|&length| length <= self.rest.len());
        let (text, rest) = self.rest.split_at(length.ok_or(self.damaged())?);
        self.rest = rest;
        String::from_utf8(text.to_vec()).map_err(|_| self.damaged())
    }

    /// An array. Its length is checked against the input before memory is allocated.
    pub(crate) fn array<T, const N: usize>(
        &mut self,
        of: impl Fn([u8; N]) -> T,
    ) -> Result<Vec<T>, FormatError> {
        let length = self.u32()? as usize * N;
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or(FormatError::Damaged(self.what))?;
        self.rest = rest;
        Ok(bytes.as_chunks::<N>().0.iter().map(|chunk| of(*chunk)).collect())
    }

    /// Whether everything was read.
    pub(crate) fn is_over(&self) -> bool {
        self.rest.is_empty()
    }

    /// Checks that the input was read completely.
    pub(crate) fn finish(self) -> Result<(), FormatError> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.damaged()) }
    }
}
