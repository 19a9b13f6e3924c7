//! Models and statistics as bytes: a header with versions, arrays of little-endian numbers, a checksum.
//!
//! Read in one go: what is not exactly what was written is refused with a reason, before any of it is believed.

use xxhash_rust::xxh3::xxh3_64;

/// Why bytes are not what they should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// Something else altogether.
    #[error("this is no {0}")]
    NotOurs(&'static str),
    /// Written by another version of the program.
    #[error("the {what} has format {found}, and this program reads format {expected}: train again")]
    Version {
        /// What was to be read.
        what: &'static str,
        /// The version it has.
        found: u32,
        /// The version that is read.
        expected: u32,
    },
    /// Made from terms that this program does not make.
    #[error(
        "the {what} was made with terms of version {found}, and this program makes version {expected}: train again"
    )]
    Terms {
        /// What was to be read.
        what: &'static str,
        /// The version it has.
        found: u32,
        /// The version that is made.
        expected: u32,
    },
    /// Cut off, or changed after it was written.
    #[error("the {0} is damaged or cut off: train again")]
    Damaged(&'static str),
}

/// Writes a header and arrays; a checksum over all of it comes last.
pub(crate) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    pub(crate) fn new(magic: &[u8; 8], version: u32, term_version: u32) -> Writer {
        let mut writer = Writer { bytes: magic.to_vec() };
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

    /// A number that is mostly small, seven bits a byte.
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

    /// An array with its length in front.
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

    /// The same, compressed, with the first eight bytes in front so that a file is known by them.
    pub(crate) fn finish_compressed(self) -> Vec<u8> {
        let bytes = self.finish();
        let packed = zstd::bulk::compress(&bytes, COMPRESSION).expect("memory takes any number of bytes");
        [&bytes[..8], &(bytes.len() as u32).to_le_bytes(), &packed].concat()
    }
}

/// Slow to write, done once; fast to read.
const COMPRESSION: i32 = 19;

/// More than any taxonomy needs, and what a damaged file may cost at most.
const LARGEST: usize = 1 << 28;

/// What [`Writer::finish_compressed`] was given.
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
    // A compressed byte can hold very many, but not more than this.
    if length > LARGEST {
        return Err(FormatError::Damaged(what));
    }
    zstd::bulk::decompress(packed, length).map_err(|_| FormatError::Damaged(what))
}

/// Reads what a [`Writer`] wrote.
pub(crate) struct Reader<'a> {
    what: &'static str,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Checks header and checksum. Returns the version of the terms, too.
    pub(crate) fn new(
        what: &'static str,
        magic: &[u8; 8],
        version: u32,
        bytes: &'a [u8],
    ) -> Result<(Reader<'a>, u32), FormatError> {
        let Some((found, rest)) = bytes.split_first_chunk::<8>() else {
            return Err(FormatError::NotOurs(what));
        };
        if found != magic {
            return Err(FormatError::NotOurs(what));
        }
        let mut reader = Reader { what, rest };
        let found = reader.u32()?;
        // Another version may have its checksum elsewhere, so the version is looked at first.
        if found != version {
            return Err(FormatError::Version { what, found, expected: version });
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

    /// An array; what it claims to hold has to be there before room is made for it.
    pub(crate) fn array<T, const N: usize>(
        &mut self,
        of: impl Fn([u8; N]) -> T,
    ) -> Result<Vec<T>, FormatError> {
        let length = self.u32()? as usize * N;
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or(FormatError::Damaged(self.what))?;
        self.rest = rest;
        Ok(bytes.as_chunks::<N>().0.iter().map(|chunk| of(*chunk)).collect())
    }

    /// Nothing may be left over.
    pub(crate) fn finish(self) -> Result<(), FormatError> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.damaged()) }
    }
}
