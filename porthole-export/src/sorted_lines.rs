//! Sorts any number of lines with bounded memory: sorted runs in temporary files, merged at the end.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Lines, Seek, SeekFrom, Write};

/// Lines that are handed back in the order of their bytes.
#[derive(Debug)]
pub(crate) struct SortedLines {
    lines: Vec<String>,
    bytes: usize,
    /// Bytes of lines in memory before a run is written.
    most: usize,
    runs: Vec<File>,
}

const MOST: usize = 64 << 20;

impl SortedLines {
    pub(crate) fn new() -> Self {
        SortedLines::with_memory(MOST)
    }

    fn with_memory(most: usize) -> Self {
        SortedLines { lines: Vec::new(), bytes: 0, most, runs: Vec::new() }
    }

    /// Adds a line, which must not contain a line end.
    pub(crate) fn push(&mut self, line: String) -> io::Result<()> {
        self.bytes += line.len() + size_of::<String>();
        self.lines.push(line);
        if self.bytes >= self.most { self.spill() } else { Ok(()) }
    }

    fn spill(&mut self) -> io::Result<()> {
        self.lines.sort_unstable();
        let mut file = BufWriter::new(tempfile::tempfile()?);
        for line in self.lines.drain(..) {
            writeln!(file, "{line}")?;
        }
        let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.seek(SeekFrom::Start(0))?;
        self.runs.push(file);
        self.bytes = 0;
        Ok(())
    }

    /// Hands out all lines in order.
    pub(crate) fn finish(mut self, take: &mut dyn FnMut(&str) -> io::Result<()>) -> io::Result<()> {
        self.lines.sort_unstable();
        let mut runs: Vec<LineRun> =
            self.runs.into_iter().map(|file| LineRun::File(Box::new(BufReader::new(file).lines()))).collect();
        runs.push(LineRun::Memory(self.lines.into_iter()));
        let mut heads = BinaryHeap::new();
        for (number, run) in runs.iter_mut().enumerate() {
            heads.extend(run.next()?.map(|line| Reverse((line, number))));
        }
        while let Some(Reverse((line, number))) = heads.pop() {
            take(&line)?;
            heads.extend(runs[number].next()?.map(|line| Reverse((line, number))));
        }
        Ok(())
    }
}

enum LineRun {
    File(Box<Lines<BufReader<File>>>),
    Memory(std::vec::IntoIter<String>),
}

impl LineRun {
    fn next(&mut self) -> io::Result<Option<String>> {
        match self {
            LineRun::File(lines) => lines.next().transpose(),
            LineRun::Memory(lines) => Ok(lines.next()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_sorted_whatever_the_memory() {
        let lines: Vec<String> = (0..300u32).map(|n| format!("{:04} é", n * 7_919 % 300)).collect();
        let mut expected = lines.clone();
        expected.sort();
        for most in [1, 300, 5_000, usize::MAX] {
            let mut sorted = SortedLines::with_memory(most);
            lines.iter().for_each(|line| sorted.push(line.clone()).unwrap());
            let mut found = Vec::new();
            let mut take = |line: &str| {
                found.push(line.to_owned());
                Ok(())
            };
            sorted.finish(&mut take).unwrap();
            assert_eq!(found, expected, "{most}");
        }
    }
}
