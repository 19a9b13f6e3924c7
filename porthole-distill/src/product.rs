//! A sparse matrix times a vector, on all cores, with the same result on any number of them.
//!
//! Both vectors are cut into blocks, and the matrix into tiles: those values that go from one block to another. While
//! a tile is worked through, both blocks stay in the cache, and a value needs two bytes for its row and two for its
//! column. Within a tile, the values of a column follow each other: they go to different rows, so that no addition
//! waits for the one before it.

use std::ops::Range;

use rayon::prelude::*;

use crate::inflation::Code;

/// How many values are added up by one core at a time. Part of the result: sums depend on it.
const CHUNK: usize = 1 << 15;

/// A vector's blocks have at most so many rows: 256 KB.
const MAX_ROWS: usize = 1 << 15;

/// How a vector is cut.
pub(crate) struct Blocks(Vec<Range<usize>>);

impl Blocks {
    /// Blocks of about the same work, small enough for the cache.
    pub(crate) fn new(degrees: &[u32]) -> Blocks {
        let all: usize = degrees.iter().map(|degree| *degree as usize).sum();
        let enough = (all / 64).max(1 << 16);
        let (mut blocks, mut start, mut work) = (Vec::new(), 0, 0);
        for (row, degree) in degrees.iter().enumerate() {
            work += *degree as usize;
            if work >= enough || row + 1 - start == MAX_ROWS || row + 1 == degrees.len() {
                blocks.push(start..row + 1);
                (start, work) = (row + 1, 0);
            }
        }
        Blocks(blocks)
    }

    pub(crate) fn ranges(&self) -> &[Range<usize>] {
        &self.0
    }

    fn split<'a, T>(&self, mut values: &'a mut [T]) -> Vec<&'a mut [T]> {
        let part =
            |range: &Range<usize>| values.split_off_mut(..range.len()).expect("blocks cover the vector");
        self.0.iter().map(part).collect()
    }
}

/// Where a value is in its vector: block and number within it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Place {
    pub(crate) block: u16,
    pub(crate) offset: u16,
}

/// A value of a matrix that is built: its row, its column within the block that is built, its code.
pub(crate) type Value = (Place, u16, Code);

/// A matrix in tiles. Its values are all 1, or are looked up by code.
pub(crate) struct Matrix {
    rows: Blocks,
    columns: Blocks,
    /// Where each tile starts; tiles of one block of columns follow each other.
    starts: Vec<u32>,
    /// Row and column within the tile.
    ends: Vec<[u16; 2]>,
    /// A code a value, or none at all.
    codes: Vec<Code>,
    factors: Vec<f64>,
}

impl Matrix {
    /// Builds a matrix from its columns; `values` are those of a block of columns, column by column. `degrees` says
    /// how many there are in each column, and `factors` what codes stand for, if they stand for anything.
    pub(crate) fn new(
        rows: Blocks,
        columns: Blocks,
        degrees: &[u32],
        factors: Vec<f64>,
        values: impl Fn(Range<usize>) -> Vec<Value> + Sync,
    ) -> Matrix {
        let length =
            |range: &Range<usize>| degrees[range.clone()].iter().map(|degree| *degree as usize).sum();
        let lengths: Vec<usize> = columns.ranges().iter().map(length).collect();
        let count = lengths.iter().sum();
        let mut ends = vec![[0; 2]; count];
        let mut codes = vec![0; if factors.is_empty() { 0 } else { count }];
        let tiles: Vec<Vec<u32>> = parts(&mut ends, &lengths)
            .into_par_iter()
            .zip(parts(&mut codes, &lengths))
            .zip(columns.ranges())
            .map(|((ends, codes), range)| sort_into_tiles(&values(range.clone()), rows.0.len(), ends, codes))
            .collect();
        let mut end = 0;
        let starts = std::iter::once(0).chain(tiles.into_iter().flatten().map(|tile| {
            end += tile;
            end
        }));
        Matrix { starts: starts.collect(), rows, columns, ends, codes, factors }
    }

    /// Puts `weights[row]` times the row's sum over `x` in `y[row]`, and returns the sum of `y`.
    pub(crate) fn times(&self, x: &[f64], weights: &[f64], y: &mut [f64]) -> f64 {
        let blocks = self.rows.split(y).into_par_iter().zip(self.rows.ranges()).enumerate();
        let sums: Vec<f64> = blocks
            .map(|(block, (y, rows))| {
                y.fill(0.0);
                for (number, columns) in self.columns.ranges().iter().enumerate() {
                    self.add_tile(number * self.rows.0.len() + block, &x[columns.clone()], y);
                }
                weigh(y, &weights[rows.clone()])
            })
            .collect();
        sums.iter().sum()
    }

    fn add_tile(&self, tile: usize, x: &[f64], y: &mut [f64]) {
        let span = self.starts[tile] as usize..self.starts[tile + 1] as usize;
        let ends = &self.ends[span.clone()];
        if self.factors.is_empty() {
            for [row, column] in ends {
                y[usize::from(*row)] += x[usize::from(*column)];
            }
        } else {
            for ([row, column], code) in ends.iter().zip(&self.codes[span]) {
                y[usize::from(*row)] += self.factors[usize::from(*code)] * x[usize::from(*column)];
            }
        }
    }
}

/// Slices of these lengths; shorter or empty ones where there is nothing left.
fn parts<'a, T>(mut values: &'a mut [T], lengths: &[usize]) -> Vec<&'a mut [T]> {
    let mut parts = Vec::with_capacity(lengths.len());
    for length in lengths {
        let (part, rest) = values.split_at_mut((*length).min(values.len()));
        parts.push(part);
        values = rest;
    }
    parts
}

/// Sorts values by their block of rows, equal ones in their order, and returns how many each has.
fn sort_into_tiles(values: &[Value], tiles: usize, ends: &mut [[u16; 2]], codes: &mut [Code]) -> Vec<u32> {
    let mut counts = vec![0; tiles];
    values.iter().for_each(|(place, _, _)| counts[usize::from(place.block)] += 1);
    let mut next = Vec::with_capacity(tiles);
    counts.iter().fold(0, |start, count| {
        next.push(start);
        start + *count as usize
    });
    for (place, column, code) in values {
        let at = &mut next[usize::from(place.block)];
        ends[*at] = [place.offset, *column];
        if let Some(place) = codes.get_mut(*at) {
            *place = *code;
        }
        *at += 1;
    }
    counts
}

fn weigh(y: &mut [f64], weights: &[f64]) -> f64 {
    let mut sum = 0.0;
    for (y, weight) in y.iter_mut().zip(weights) {
        *y *= weight;
        sum += *y;
    }
    sum
}

/// Sets each `y[row]` to its value, and returns the sum of `y`.
pub(crate) fn each_row(y: &mut [f64], value: impl Fn(usize) -> f64 + Sync) -> f64 {
    let sums: Vec<f64> = y
        .par_chunks_mut(CHUNK)
        .enumerate()
        .map(|(chunk, part)| {
            let mut sum = 0.0;
            for (place, row) in part.iter_mut().zip(chunk * CHUNK..) {
                *place = value(row);
                sum += *place;
            }
            sum
        })
        .collect();
    sums.iter().sum()
}

/// Makes the sum of `new` 1, given what it is, and returns how far it is from `old`, all differences added up.
pub(crate) fn normalise(new: &mut [f64], sum: f64, old: &[f64]) -> f64 {
    let scale = sum.recip();
    let changes: Vec<f64> = new
        .par_chunks_mut(CHUNK)
        .zip(old.par_chunks(CHUNK))
        .map(|(new, old)| {
            let mut change = 0.0;
            for (new, old) in new.iter_mut().zip(old) {
                *new *= scale;
                change += (*new - old).abs();
            }
            change
        })
        .collect();
    changes.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_small_and_cover_everything_once() {
        let mut degrees = vec![1; 100_000];
        degrees[0] = 1_000_000;
        degrees[1] = 70_000;
        let blocks = Blocks::new(&degrees);
        assert_eq!(
            blocks.ranges().iter().cloned().flatten().collect::<Vec<_>>(),
            (0..100_000).collect::<Vec<_>>()
        );
        assert_eq!(blocks.ranges()[..2], [0..1, 1..2]);
        assert!(blocks.ranges().iter().all(|range| range.len() <= MAX_ROWS));
        assert!(Blocks::new(&[]).ranges().is_empty());
    }
}
