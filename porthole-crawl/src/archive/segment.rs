//! Segment files: their names, the end of their last complete record, and a buffer in front of them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use porthole_types::{SegmentCompression, SegmentSpan};
use porthole_warc::{LastWhole, RecordFormat, WarcError, WarcWriter, last_whole};

use super::{ArchiveCompression, ArchiveError, io_error};

/// A segment's file with a write buffer.
pub(super) struct Segment {
    pub(super) file: File,
    gathered: Vec<u8>,
    /// A write failed, so the content of the file is unknown.
    broken: bool,
}

/// Size of the write buffer.
pub(super) const BUFFER_BYTES: usize = 256 << 10;

impl Write for Segment {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.gathered.len() + bytes.len() > BUFFER_BYTES {
            self.flush()?;
        }
        self.gathered.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        if self.broken {
            return Err(io::Error::other("an earlier write failed; open the pages again"));
        }
        self.broken = true;
        self.file.write_all(&self.gathered)?;
        self.broken = false;
        self.gathered.clear();
        self.gathered.shrink_to(BUFFER_BYTES);
        Ok(())
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // No row refers to bytes that fail to be written here: rows are committed after a flush whose errors are
        // reported.
        let _ = self.flush();
    }
}

/// Opens a segment for appending. `None` if it is damaged or missing; it is left unchanged then.
pub(super) fn resume_segment(
    folder: &Path,
    segment: u32,
    last: Option<SegmentSpan>,
    compression: ArchiveCompression,
) -> Result<Option<(SegmentCompression, WarcWriter<Segment>)>, ArchiveError> {
    let Some(format) = format_of(folder, segment) else { return Ok(None) };
    let path = folder.join(format.file_name(segment));
    let mut file = match OpenOptions::new().read(true).write(true).open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(|source| io_error(&path, source))?,
    };
    let last = last.filter(|last| last.segment == segment);
    let end = append_offset(&mut file, last);
    let Some(end) = end.map_err(|source| ArchiveError::Warc { path: path.clone(), source })? else {
        return Ok(None);
    };
    let cut_and_seek = |file: &mut File| {
        // Some systems flush at close what was truncated before, even if nothing changed.
        if file.metadata()?.len() > end {
            file.set_len(end)?;
        }
        file.seek(SeekFrom::Start(end))
    };
    cut_and_seek(&mut file).map_err(|source| io_error(&path, source))?;
    let compression = ArchiveCompression { format, ..compression };
    Ok(Some((format, segment_writer(file, segment, compression, end))))
}

pub(super) fn begin_segment(
    folder: &Path,
    segment: u32,
    compression: ArchiveCompression,
) -> Result<WarcWriter<Segment>, ArchiveError> {
    let path = folder.join(compression.format.file_name(segment));
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path);
    let file = file.map_err(|source| io_error(&path, source))?;
    sync_folder(folder)?;
    Ok(segment_writer(file, segment, compression, 0))
}

fn segment_writer(
    file: File,
    segment: u32,
    compression: ArchiveCompression,
    offset: u64,
) -> WarcWriter<Segment> {
    let file = Segment { file, gathered: Vec::new(), broken: false };
    record_writer(file, compression, segment.into()).with_offset(offset)
}

/// A writer of records.
pub(super) fn record_writer<W: Write>(out: W, compression: ArchiveCompression, seed: u64) -> WarcWriter<W> {
    let format = match compression.format {
        SegmentCompression::Gzip => RecordFormat::Gzip,
        SegmentCompression::Zstd => RecordFormat::Zstd,
    };
    WarcWriter::new(out, format, seed).with_level(compression.level)
}

/// Makes the names of new files in a folder survive a power cut.
pub(super) fn sync_folder(folder: &Path) -> Result<(), ArchiveError> {
    // On other systems folders cannot be opened as files, and the system syncs their entries.
    if cfg!(unix) {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        File::open(folder).and_then(|file| file.sync_all()).map_err(|source| io_error(folder, source))?;
    }
    Ok(())
}

/// Where to append. `None` if there is a damaged record that must not be truncated.
fn append_offset(file: &mut File, last: Option<SegmentSpan>) -> Result<Option<u64>, WarcError> {
    let Some(last) = last else {
        let found = last_complete_from(file, 0)?;
        return Ok(found.damage.is_none().then_some(found.end));
    };
    if !is_complete(file, last)? {
        return Ok(None);
    }
    last_complete_from(file, last.offset.saturating_add(last.length.into())).map(|found| Some(found.end))
}

/// Whether there is a complete record of exactly this length.
pub(super) fn is_complete(file: &mut File, span: SegmentSpan) -> Result<bool, WarcError> {
    let SegmentSpan { offset, length, .. } = span;
    file.seek(SeekFrom::Start(offset)).map_err(|source| WarcError::Read { offset, source })?;
    let found = last_whole(io::BufReader::new(file.take(length.into())), offset)?;
    Ok(found.records == 1 && found.damage.is_none() && found.end == offset.saturating_add(length.into()))
}

fn last_complete_from(file: &mut File, offset: u64) -> Result<LastWhole, WarcError> {
    file.seek(SeekFrom::Start(offset)).map_err(|source| WarcError::Read { offset, source })?;
    last_whole(io::BufReader::new(file), offset)
}

/// How a segment is compressed. `None` if it does not exist.
fn format_of(folder: &Path, segment: u32) -> Option<SegmentCompression> {
    SegmentCompression::ALL.into_iter().find(|one| folder.join(one.file_name(segment)).exists())
}

/// Path of a segment, however it is compressed; of one that does not exist, where it could be.
pub fn segment_path(folder: &Path, segment: u32) -> PathBuf {
    folder.join(format_of(folder, segment).unwrap_or_default().file_name(segment))
}

/// Opens a segment for reading.
pub(super) fn open_segment(folder: &Path, segment: u32) -> Result<(PathBuf, File), ArchiveError> {
    let path = segment_path(folder, segment);
    let file = File::open(&path).map_err(|source| io_error(&path, source))?;
    Ok((path, file))
}

/// The highest segment number among these.
pub(super) fn newest_segment(folder: &Path, numbers: &RangeInclusive<u32>) -> io::Result<Option<u32>> {
    let mut newest = None;
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let found = name.to_str().and_then(SegmentCompression::of_file).map(|(number, _)| number);
        newest = newest.max(found.filter(|number| numbers.contains(number)));
    }
    Ok(newest)
}
