//! A sparse matrix times a vector, on all cores, with the same result on any number of them.

use std::ops::Range;

use rayon::prelude::*;

use crate::csr::{Csr, by_work};
use crate::inflation::Code;

/// How many columns a core takes at a time. Part of the result: sums are added up chunk by chunk.
const CHUNK: usize = 1 << 16;

/// Rows of columns with factors that are all 1, or are looked up by code.
pub(crate) struct Matrix {
    rows: Csr,
    /// A code a column, or none at all.
    codes: Vec<Code>,
    factors: Vec<f64>,
    chunks: Vec<Range<usize>>,
}

impl Matrix {
    pub(crate) fn new(rows: Csr, codes: Vec<Code>, factors: Vec<f64>) -> Matrix {
        let chunks = chunks(&rows);
        Matrix { rows, codes, factors, chunks }
    }

    /// Puts `weights[row]` times the row's sum over `x` in `y[row]`, and returns the sum of `y`.
    pub(crate) fn times(&self, x: &[f64], weights: &[f64], y: &mut [f64]) -> f64 {
        if self.codes.is_empty() {
            return in_chunks(&self.chunks, y, |row| weights[row] * sum(self.rows.row(row), x));
        }
        in_chunks(&self.chunks, y, |row| {
            let span = self.rows.span(row);
            weights[row] * weighted_sum(self.rows.row(row), &self.codes[span], &self.factors, x)
        })
    }
}

/// Cuts rows into chunks that do not depend on the number of cores.
pub(crate) fn chunks(rows: &Csr) -> Vec<Range<usize>> {
    by_work(rows.starts(), (rows.len() + rows.rows()) / CHUNK + 1)
}

/// Sets each `y[row]` to its value, and returns the sum of `y`.
pub(crate) fn in_chunks(chunks: &[Range<usize>], y: &mut [f64], value: impl Fn(usize) -> f64 + Sync) -> f64 {
    let sums: Vec<f64> = slices(chunks, y)
        .into_par_iter()
        .map(|(rows, part)| {
            let mut sum = 0.0;
            for (place, row) in part.iter_mut().zip(rows) {
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
    // A division once, a multiplication a value: all copies of this computation must do it this way round.
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

fn slices<'a>(chunks: &[Range<usize>], mut y: &'a mut [f64]) -> Vec<(Range<usize>, &'a mut [f64])> {
    let mut slices = Vec::with_capacity(chunks.len());
    for chunk in chunks {
        let (part, rest) = y.split_at_mut(chunk.len());
        slices.push((chunk.clone(), part));
        y = rest;
    }
    slices
}

/// Four sums at once, so that an addition need not wait for the one before it.
pub(crate) fn sum(columns: &[u32], x: &[f64]) -> f64 {
    let (fours, rest) = columns.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for four in fours {
        for (sum, column) in sums.iter_mut().zip(four) {
            *sum += x[*column as usize];
        }
    }
    let rest: f64 = rest.iter().map(|column| x[*column as usize]).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

fn weighted_sum(columns: &[u32], codes: &[Code], factors: &[f64], x: &[f64]) -> f64 {
    let value = |column: &u32, code: &Code| factors[usize::from(*code)] * x[*column as usize];
    let ((fours, rest), (four_codes, rest_codes)) = (columns.as_chunks::<4>(), codes.as_chunks::<4>());
    let mut sums = [0.0; 4];
    for (four, codes) in fours.iter().zip(four_codes) {
        for (sum, (column, code)) in sums.iter_mut().zip(four.iter().zip(codes)) {
            *sum += value(column, code);
        }
    }
    let rest: f64 = rest.iter().zip(rest_codes).map(|(column, code)| value(column, code)).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}
