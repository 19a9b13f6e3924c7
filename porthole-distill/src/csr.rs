//! Compressed sparse rows.

use std::ops::Range;

use rayon::prelude::*;

/// A list of columns for every row. Starts and columns have 32 bits, because links take most of the memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Csr {
    /// Start of each row; one more than there are rows.
    starts: Vec<u32>,
    columns: Vec<u32>,
}

impl Csr {
    /// Sorts pairs of row and column into rows, in linear time except for the sorting within rows. Pairs of a number
    /// with itself are dropped, and so are duplicates.
    ///
    /// All numbers must be below `rows`, and there must be fewer than 2^32 pairs.
    pub(crate) fn of_pairs<L: Sync>(
        rows: usize,
        links: &[L],
        pair: impl Fn(&L) -> (u32, u32) + Sync,
        parts: usize,
    ) -> Csr {
        let ranges = even(rows, parts);
        let pairs = || links.iter().map(&pair).filter(|(row, column)| row != column);
        let degrees = ranges.par_iter().map(|range| degrees(range, pairs())).flatten_iter();
        let starts = starts(degrees.collect::<Vec<_>>().into_iter());
        let mut columns = vec![0; starts.last().map_or(0, |&end| end as usize)];
        let parts = split(&mut columns, &starts, &ranges);
        let unique = parts.into_par_iter().map(|(range, part)| {
            fill(&range, &starts, part, pairs());
            tidy(&range, &starts, part)
        });
        let unique = unique.flatten_iter().collect();
        Csr { starts, columns }.shortened(unique)
    }

    /// Rows of known lengths, to be filled.
    pub(crate) fn of_degrees(degrees: impl Iterator<Item = u32>) -> Csr {
        let starts = starts(degrees);
        let columns = vec![0; starts.last().map_or(0, |&end| end as usize)];
        Csr { starts, columns }
    }

    pub(crate) fn rows(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    pub(crate) fn len(&self) -> usize {
        self.columns.len()
    }

    /// Row starts, and the columns to fill.
    pub(crate) fn places(&mut self) -> (&[u32], &mut [u32]) {
        (&self.starts, &mut self.columns)
    }

    pub(crate) fn row(&self, row: usize) -> &[u32] {
        &self.columns[self.starts[row] as usize..self.starts[row + 1] as usize]
    }

    /// Truncates each row to a length.
    fn shortened(mut self, lengths: Vec<u32>) -> Csr {
        let kept: usize = lengths.iter().map(|&length| length as usize).sum();
        if kept == self.columns.len() {
            return self;
        }
        let mut end = 0;
        for (row, length) in lengths.iter().enumerate() {
            let start = self.starts[row] as usize;
            self.columns.copy_within(start..start + *length as usize, end);
            end += *length as usize;
        }
        self.columns.truncate(kept);
        self.columns.shrink_to_fit();
        self.starts = starts(lengths.into_iter());
        self
    }
}

/// Divides rows into parts of about the same number of columns.
pub(crate) fn by_work(starts: &[u32], parts: usize) -> Vec<Range<usize>> {
    let (rows, work) = (starts.len() - 1, starts[starts.len() - 1] as usize + starts.len());
    // A row has a cost, too, even if it is empty.
    let done = |row: usize| starts[row] as usize + row;
    let mut from = 0;
    let mut ranges = Vec::with_capacity(parts);
    for part in 1..=parts {
        let target = work * part / parts;
        let to = if part == parts {
            rows
        } else {
            from + lower_bound(rows - from, |row| done(from + row) < target)
        };
        ranges.push(from..to);
        from = to;
    }
    ranges
}

fn lower_bound(len: usize, below: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, len);
    while low < high {
        let middle = usize::midpoint(low, high);
        if below(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

fn even(rows: usize, parts: usize) -> Vec<Range<usize>> {
    (0..parts).map(|part| rows * part / parts..rows * (part + 1) / parts).collect()
}

/// The columns of each range of rows, as slices.
pub(crate) fn split<'a, T>(
    mut values: &'a mut [T],
    starts: &[u32],
    ranges: &[Range<usize>],
) -> Vec<(Range<usize>, &'a mut [T])> {
    let mut parts = Vec::with_capacity(ranges.len());
    for range in ranges {
        let (part, rest) = values.split_at_mut((starts[range.end] - starts[range.start]) as usize);
        parts.push((range.clone(), part));
        values = rest;
    }
    parts
}

fn starts(degrees: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut end = 0;
    std::iter::once(0)
        .chain(degrees.map(|degree| {
            end += degree;
            end
        }))
        .collect()
}

fn degrees(range: &Range<usize>, pairs: impl Iterator<Item = (u32, u32)>) -> Vec<u32> {
    let mut degrees = vec![0; range.len()];
    for (row, _) in pairs {
        // Rows below the range wrap around and end up above it.
        if let Some(degree) = degrees.get_mut((row as usize).wrapping_sub(range.start)) {
            *degree += 1;
        }
    }
    degrees
}

fn fill(range: &Range<usize>, starts: &[u32], part: &mut [u32], pairs: impl Iterator<Item = (u32, u32)>) {
    let mut next: Vec<u32> = range.clone().map(|row| starts[row] - starts[range.start]).collect();
    for (row, column) in pairs {
        if let Some(next) = next.get_mut((row as usize).wrapping_sub(range.start)) {
            part[*next as usize] = column;
            *next += 1;
        }
    }
}

/// Sorts each row, duplicates last, and returns the number of distinct columns.
fn tidy(range: &Range<usize>, starts: &[u32], part: &mut [u32]) -> Vec<u32> {
    let at = |row: usize| (starts[row] - starts[range.start]) as usize;
    range.clone().map(|row| unique(&mut part[at(row)..at(row + 1)])).collect()
}

fn unique(columns: &mut [u32]) -> u32 {
    columns.sort_unstable();
    let mut kept = 0;
    for at in 0..columns.len() {
        if kept == 0 || columns[kept - 1] != columns[at] {
            columns[kept] = columns[at];
            kept += 1;
        }
    }
    kept as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_become_sorted_rows_without_loops_and_duplicates() {
        let pairs = [(2, 1), (0, 3), (2, 0), (1, 1), (0, 3), (2, 1), (0, 2)];
        for parts in 1..5 {
            let csr = Csr::of_pairs(4, &pairs, |pair| *pair, parts);
            let rows: Vec<_> = (0..4).map(|row| csr.row(row).to_vec()).collect();
            assert_eq!(rows, [vec![2, 3], vec![], vec![0, 1], vec![]], "{parts} parts");
        }
    }

    #[test]
    fn parts_cover_all_rows_once() {
        let starts = starts([5, 0, 0, 100, 1, 1, 7].into_iter());
        for parts in 1..12 {
            let ranges = by_work(&starts, parts);
            let rows: Vec<_> = ranges.into_iter().flatten().collect();
            assert_eq!(rows, (0..7).collect::<Vec<_>>(), "{parts} parts");
        }
    }
}
