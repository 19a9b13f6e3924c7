//! Makes gzip members of records in any packing.

use crate::{RecordFormat, WarcError, WarcWriter, unpack_record};

/// Turns compressed records into gzip members, for tools that do not read zstd. Its tables are reused.
#[derive(Default)]
pub struct GzipRecords {
    /// Made for the first record that needs it.
    writer: Option<WarcWriter<Vec<u8>>>,
}

impl GzipRecords {
    /// A compressed record as a gzip member: unchanged if it is one. `offset` is its position for errors.
    pub fn pack(&mut self, packed: Vec<u8>, offset: u64) -> Result<Vec<u8>, WarcError> {
        const GZIP: [u8; 2] = [0x1f, 0x8b];
        if packed.starts_with(&GZIP) {
            return Ok(packed);
        }
        let record = unpack_record(&packed, offset)?;
        let writer = self
            .writer
            .get_or_insert_with(|| WarcWriter::new(Vec::new(), RecordFormat::Gzip, 0).with_level(FAST));
        Ok(writer.packed_record(&record))
    }
}

/// As the archive of a crawl: an export has to read all of it, and should not take much longer than that.
const FAST: i32 = 1;
