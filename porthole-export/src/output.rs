//! Where an export goes: a stream, a file, or a folder of files.
//!
//! A file is written as `FILE.part`, a folder as `DIR.part`, and renamed at the end. Now and then a checkpoint says how
//! much of it is valid: what was written after the last one is cut off when the export is resumed.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::checkpoint::Checkpoint;
use crate::{Error, Result};

/// Output of an export.
pub struct ExportOutput {
    place: OutputPlace,
    file: Option<Box<dyn OutputFile>>,
    /// Number of the current or next file, from 0.
    number: u32,
    /// Bytes in the current file.
    bytes: u64,
    last_checkpoint: Instant,
    between_checkpoints: Duration,
    /// An empty file that says that a folder is whole.
    marker: Option<&'static str>,
    /// Small files that were closed, and may not be on disk.
    unsynced: Vec<PathBuf>,
    /// Held while the output is written, so that no other process writes it.
    lock: Option<File>,
}

enum OutputPlace {
    Stream(Option<Box<dyn OutputFile>>),
    File(PathBuf),
    Folder { path: PathBuf, ending: String, size: u64 },
}

/// A file or stream that is written in pieces.
trait OutputFile: Write {
    /// Waits until everything is on disk.
    fn sync(&mut self) -> io::Result<()>;
}

impl OutputFile for BufWriter<File> {
    fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.get_ref().sync_data()
    }
}

struct OutputStream<W>(W);

impl<W: Write> Write for OutputStream<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl<W: Write> OutputFile for OutputStream<W> {
    fn sync(&mut self) -> io::Result<()> {
        self.flush()
    }
}

const BUFFER: usize = 256 << 10;
/// If the files of a folder may be at most this large, they are synced together, not one by one.
const SMALL: u64 = 1 << 20;
const SMALL_BUFFER: usize = 8 << 10;
const BETWEEN_CHECKPOINTS: Duration = Duration::from_secs(1);
/// Name of the checkpoint in a folder.
const CHECKPOINT: &str = "checkpoint.json";

impl ExportOutput {
    /// Writes to a stream, which cannot be resumed.
    pub fn stream(stream: impl Write + 'static) -> Self {
        let stream = OutputStream(BufWriter::with_capacity(BUFFER, stream));
        ExportOutput::new(OutputPlace::Stream(Some(Box::new(stream))))
    }

    /// Writes a file. One that exists is replaced at the end.
    pub fn file(path: &Path) -> Self {
        ExportOutput::new(OutputPlace::File(path.to_owned()))
    }

    /// Writes files named after the folder and a number, with this ending. A new one is begun when the current one has
    /// `size` bytes. The folder must not exist.
    pub fn folder(path: &Path, ending: &str, size: u64) -> Self {
        ExportOutput::new(OutputPlace::Folder { path: path.to_owned(), ending: ending.to_owned(), size })
    }

    /// Sets the time between two checkpoints; the default is a second.
    pub fn with_checkpoints_every(self, between_checkpoints: Duration) -> Self {
        ExportOutput { between_checkpoints, ..self }
    }

    /// Puts an empty file with this name into the finished folder: tools that read folders look for it.
    pub fn with_marker(self, name: &'static str) -> Self {
        ExportOutput { marker: Some(name), ..self }
    }

    fn new(place: OutputPlace) -> Self {
        ExportOutput {
            place,
            file: None,
            number: 0,
            bytes: 0,
            last_checkpoint: Instant::now(),
            between_checkpoints: BETWEEN_CHECKPOINTS,
            marker: None,
            unsynced: Vec::new(),
            lock: None,
        }
    }

    /// Continues an export that was cut, if it was the same one; otherwise removes what is left of it.
    pub(crate) fn resume(&mut self, request: &str) -> Result<Option<Checkpoint>> {
        let Some(checkpoint) = self.checkpoint_path() else { return Ok(None) };
        self.take_lock()?;
        let found = Checkpoint::read(&checkpoint).filter(|at| at.request == request);
        if let Some(at) = found
            && self.cut_back(&at)?
        {
            return Ok(Some(at));
        }
        (self.file, self.number, self.bytes) = (None, 0, 0);
        remove(&checkpoint)?;
        match &self.place {
            OutputPlace::Stream(_) => {}
            OutputPlace::File(path) => {
                let part = part(path);
                OpenOptions::new()
                    .write(true)
                    .open(&part)
                    .and_then(|file| file.set_len(0))
                    .map_err(Error::io(&part))?;
            }
            OutputPlace::Folder { path, .. } => {
                for entry in fs::read_dir(part(path)).map_err(Error::io(&part(path)))?.flatten() {
                    remove(&entry.path())?;
                }
            }
        }
        Ok(None)
    }

    /// Cuts off what was written after a checkpoint. Returns false if there is less than it says.
    fn cut_back(&mut self, at: &Checkpoint) -> Result<bool> {
        self.number = at.file;
        if let OutputPlace::Folder { path, .. } = &self.place {
            let kept: HashSet<String> = (0..=at.file).map(|number| self.file_name(number)).collect();
            for entry in fs::read_dir(part(path)).map_err(Error::io(&part(path)))?.flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                if !kept.contains(&name) && name != CHECKPOINT {
                    remove(&entry.path())?;
                }
            }
        }
        let path = self.current_path();
        if at.bytes == 0 {
            // Between two files: a file that was begun since is written again.
            if matches!(self.place, OutputPlace::Folder { .. }) {
                remove(&path)?;
            }
            return Ok(true);
        }
        let Ok(mut file) = OpenOptions::new().write(true).open(&path) else { return Ok(false) };
        if file.metadata().map_err(Error::io(&path))?.len() < at.bytes {
            return Ok(false);
        }
        file.set_len(at.bytes).and_then(|()| file.seek(SeekFrom::End(0))).map_err(Error::io(&path))?;
        self.file = Some(Box::new(BufWriter::with_capacity(BUFFER, file)));
        self.bytes = at.bytes;
        Ok(true)
    }

    fn take_lock(&mut self) -> Result<()> {
        let path = match &self.place {
            OutputPlace::Stream(_) => return Ok(()),
            OutputPlace::File(path) => part(path),
            OutputPlace::Folder { path, .. } => {
                if path.exists() {
                    return Err(Error::Exists(path.clone()));
                }
                let part = part(path);
                fs::create_dir_all(&part).map_err(Error::io(&part))?;
                part
            }
        };
        let mut options = OpenOptions::new();
        let options = if path.is_dir() { options.read(true) } else { options.append(true).create(true) };
        let file = options.open(&path).map_err(Error::io(&path))?;
        lock(&file, &path)?;
        self.lock = Some(file);
        Ok(())
    }

    /// Whether a file is open.
    pub(crate) fn has_file(&self) -> bool {
        self.file.is_some()
    }

    /// Whether the next row goes to a new file.
    pub(crate) fn is_full(&self) -> bool {
        matches!(self.place, OutputPlace::Folder { size, .. } if self.file.is_some() && self.bytes >= size)
    }

    /// Opens the current file, and returns its name.
    pub(crate) fn begin_file(&mut self) -> Result<String> {
        let path = self.current_path();
        let name = self.file_name(self.number);
        let is_small = self.has_small_files();
        self.file = Some(match &mut self.place {
            OutputPlace::Stream(stream) => stream.take().expect("a stream is one file"),
            _ => {
                let file = File::create(&path).map_err(Error::io(&path))?;
                let buffer = if is_small { SMALL_BUFFER } else { BUFFER };
                Box::new(BufWriter::with_capacity(buffer, file))
            }
        });
        self.bytes = 0;
        Ok(name)
    }

    /// Closes the current file.
    pub(crate) fn end_file(&mut self) -> Result<()> {
        if self.has_small_files() {
            let flushed = self.file.as_mut().map_or(Ok(()), Write::flush);
            flushed.map_err(|source| self.failed(source))?;
            self.unsynced.push(self.current_path());
        } else {
            self.sync()?;
        }
        self.file = None;
        self.number += 1;
        self.bytes = 0;
        Ok(())
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let file = self.file.as_mut().expect("a file is open");
        let written = file.write_all(bytes);
        written.map_err(|source| self.failed(source))?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Writes a checkpoint if it is time.
    pub(crate) fn checkpoint(&mut self, at: &mut Checkpoint) -> Result<()> {
        let Some(path) = self.checkpoint_path() else { return Ok(()) };
        if self.last_checkpoint.elapsed() < self.between_checkpoints {
            return Ok(());
        }
        self.sync()?;
        (at.file, at.bytes) = (self.number, self.bytes);
        at.write(&path)?;
        self.last_checkpoint = Instant::now();
        Ok(())
    }

    /// Gives the output its name.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.sync()?;
        self.file = None;
        match &self.place {
            OutputPlace::Stream(_) => Ok(()),
            OutputPlace::File(path) => {
                remove(&path.with_added_extension("part.json"))?;
                fs::rename(part(path), path).map_err(Error::io(path))
            }
            OutputPlace::Folder { path, .. } => {
                remove(&part(path).join(CHECKPOINT))?;
                if let Some(marker) = self.marker {
                    let marker = part(path).join(marker);
                    File::create(&marker).map_err(Error::io(&marker))?;
                }
                fs::rename(part(path), path).map_err(Error::io(path))
            }
        }
    }

    fn sync(&mut self) -> Result<()> {
        let synced = self.file.as_mut().map_or(Ok(()), |file| file.sync());
        synced.map_err(|source| self.failed(source))?;
        let closed = std::mem::take(&mut self.unsynced);
        sync_files(&closed)
    }

    fn has_small_files(&self) -> bool {
        matches!(self.place, OutputPlace::Folder { size, .. } if size < SMALL)
    }

    fn failed(&self, source: io::Error) -> Error {
        match &self.place {
            OutputPlace::Stream(_) => Error::Stream(source),
            _ => Error::Io { path: self.current_path(), source },
        }
    }

    fn checkpoint_path(&self) -> Option<PathBuf> {
        match &self.place {
            OutputPlace::Stream(_) => None,
            OutputPlace::File(path) => Some(path.with_added_extension("part.json")),
            OutputPlace::Folder { path, .. } => Some(part(path).join(CHECKPOINT)),
        }
    }

    fn current_path(&self) -> PathBuf {
        match &self.place {
            OutputPlace::Stream(_) => PathBuf::new(),
            OutputPlace::File(path) => part(path),
            OutputPlace::Folder { path, .. } => part(path).join(self.file_name(self.number)),
        }
    }

    /// Final name of a file.
    fn file_name(&self, number: u32) -> String {
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match &self.place {
            OutputPlace::Stream(_) => "-".to_owned(),
            OutputPlace::File(path) => name(path),
            OutputPlace::Folder { path, ending, .. } => format!("{}-{number:05}.{ending}", name(path)),
        }
    }
}

/// Locks a file as long as it is open. An error if another process has locked it.
pub(crate) fn lock(file: &File, path: &Path) -> Result<()> {
    match file.try_lock() {
        Err(fs::TryLockError::WouldBlock) => Err(Error::InUse(path.to_owned())),
        // Some file systems have no locks.
        Ok(()) | Err(fs::TryLockError::Error(_)) => Ok(()),
    }
}

/// Waits until files of one folder are on disk. For thousands of files, syncing the file system takes a fraction of the
/// time that syncing each of them takes.
fn sync_files(paths: &[PathBuf]) -> Result<()> {
    #[cfg(target_os = "linux")]
    if let Some(first) = paths.first() {
        let file = File::open(first).map_err(Error::io(first))?;
        return rustix::fs::syncfs(&file).map_err(|error| Error::io(first)(error.into()));
    }
    for path in paths {
        File::open(path).and_then(|file| file.sync_data()).map_err(Error::io(path))?;
    }
    Ok(())
}

fn part(path: &Path) -> PathBuf {
    path.with_added_extension("part")
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(Error::io(path)),
    }
}
