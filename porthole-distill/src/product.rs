//! A sparse matrix times a vector, on all cores, with the same result on any number of them.
//!
//! Both vectors are divided into blocks, and the matrix into tiles: the links from one block to another. While a tile
//! is processed, both blocks stay in the cache, and a link needs two bytes for each end. The same tiles serve both
//! directions: in sequence for a block of targets, or for a block of sources.

use std::ops::Range;

use rayon::prelude::*;

use crate::inflation::{Code, ONE};

/// Number of values that one core sums at a time. The result depends on it, because sums are rounded.
const CHUNK: usize = 1 << 15;

/// Maximum number of rows of a block, so that two bytes suffice: 512 KB.
const MAX_ROWS: usize = 1 << 16;

/// Division of a vector into blocks.
pub(crate) struct Blocks(Vec<Range<usize>>);

impl Blocks {
    /// Blocks of about the same work, small enough for the cache.
    pub(crate) fn new(degrees: &[u32]) -> Blocks {
        let all: usize = degrees.iter().map(|degree| *degree as usize).sum();
        let enough = (all / 32).max(1 << 16);
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

/// Position of a value: block and index within it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BlockPosition {
    pub(crate) block: u16,
    pub(crate) offset: u16,
}

/// A matrix in tiles, used in both directions. Its values are 1, or looked up by code.
pub(crate) struct Tiles {
    targets: Blocks,
    sources: Blocks,
    /// Links by block of sources.
    stripes: Vec<Stripe>,
    /// Factors by code from sources to targets, and back, if codes are used.
    factors: Option<[Vec<f64>; 2]>,
}

/// Links of a block of sources.
pub(crate) struct Stripe {
    /// By block of targets.
    tiles: Vec<Tile>,
    /// Whether each source has a link.
    linked: Vec<bool>,
}

/// Links from a block of sources to a block of targets, ordered by source.
struct Tile {
    /// Target and source within their blocks, of links without a code or with the code of 1.
    ends: Vec<[u16; 2]>,
    /// The same for other links, which are usually few, with their codes in both directions.
    coded: Vec<[u16; 2]>,
    codes: [Vec<Code>; 2],
}

impl Tiles {
    /// Builds tiles from the links of all sources; `degrees` are upper bounds. `fill` pushes the links of a range of
    /// sources. `factors` has the factors of the codes in both directions, if codes are used.
    pub(crate) fn new(
        source_degrees: &[u32],
        target_degrees: &[u32],
        factors: Option<[Vec<f64>; 2]>,
        fill: impl Fn(Range<usize>, &mut Stripe) + Sync,
    ) -> Tiles {
        let (sources, targets) = (Blocks::new(source_degrees), Blocks::new(target_degrees));
        let work = |degrees: &[u32]| degrees.iter().map(|degree| f64::from(*degree)).sum::<f64>();
        let all = work(target_degrees);
        let shares: Vec<f64> =
            targets.0.iter().map(|range| work(&target_degrees[range.clone()]) / all).collect();
        let stripe = |range: &Range<usize>| {
            let links = work(&source_degrees[range.clone()]);
            let mut stripe = Stripe::new(range.len(), shares.iter().map(|share| share * links));
            fill(range.clone(), &mut stripe);
            stripe.tiles.iter_mut().for_each(Tile::shrink);
            stripe
        };
        let stripes = sources.0.par_iter().map(stripe).collect();
        Tiles { targets, sources, stripes, factors }
    }

    /// Whether each source has a link.
    pub(crate) fn linked(&self) -> impl Iterator<Item = bool> {
        self.stripes.iter().flat_map(|stripe| stripe.linked.iter().copied())
    }

    /// Sets `y[target]` to `weights[target]` times the sum over the target's sources, and returns the sum of `y`.
    pub(crate) fn to_targets(&self, x: &[f64], weights: &[f64], y: &mut [f64]) -> f64 {
        let blocks = self.targets.split(y).into_par_iter().zip(self.targets.ranges()).enumerate();
        let sums: Vec<f64> = blocks
            .map(|(block, (y, targets))| {
                y.fill(0.0);
                for (stripe, sources) in self.stripes.iter().zip(self.sources.ranges()) {
                    let tile = &stripe.tiles[block];
                    let factors = self.factors.as_ref().map(|[forward, _]| (forward, &tile.codes[0]));
                    tile.add(factors, |[target, source]| (target, source), &x[sources.clone()], y);
                }
                weigh(y, &weights[targets.clone()])
            })
            .collect();
        sums.iter().sum()
    }

    /// Sets `y[source]` to `weights[source]` times the sum over the source's targets, and returns the sum of `y`.
    pub(crate) fn to_sources(&self, x: &[f64], weights: &[f64], y: &mut [f64]) -> f64 {
        let blocks = self.sources.split(y).into_par_iter().zip(self.sources.ranges()).zip(&self.stripes);
        let sums: Vec<f64> = blocks
            .map(|((y, sources), stripe)| {
                y.fill(0.0);
                for (tile, targets) in stripe.tiles.iter().zip(self.targets.ranges()) {
                    let factors = self.factors.as_ref().map(|[_, backward]| (backward, &tile.codes[1]));
                    tile.add(factors, |[target, source]| (source, target), &x[targets.clone()], y);
                }
                weigh(y, &weights[sources.clone()])
            })
            .collect();
        sums.iter().sum()
    }
}

impl Stripe {
    /// Allocates for about this many links to each block of targets.
    fn new(sources: usize, links: impl Iterator<Item = f64>) -> Stripe {
        // A little more than expected is cheaper than reallocation.
        let tile = |links: f64| Tile {
            ends: Vec::with_capacity((links + 4.0 * links.sqrt()) as usize),
            coded: Vec::new(),
            codes: [Vec::new(), Vec::new()],
        };
        Stripe { tiles: links.map(tile).collect(), linked: vec![false; sources] }
    }

    /// Adds a link of a source, which is numbered within its block.
    #[inline]
    pub(crate) fn push(&mut self, target: BlockPosition, source: u16) {
        self.tiles[usize::from(target.block)].ends.push([target.offset, source]);
        self.linked[usize::from(source)] = true;
    }

    /// Adds a link with its codes.
    #[inline]
    pub(crate) fn push_coded(&mut self, target: BlockPosition, source: u16, [forward, backward]: [Code; 2]) {
        if [forward, backward] == [ONE; 2] {
            return self.push(target, source);
        }
        let tile = &mut self.tiles[usize::from(target.block)];
        tile.coded.push([target.offset, source]);
        tile.codes[0].push(forward);
        tile.codes[1].push(backward);
        self.linked[usize::from(source)] = true;
    }
}

impl Tile {
    /// Adds the products of the links in one direction. `to_from` orders the ends of a link, `factors` has the factors
    /// of its codes and selects the code.
    #[inline]
    fn add(
        &self,
        factors: Option<(&Vec<f64>, &Vec<Code>)>,
        to_from: impl Fn([u16; 2]) -> (u16, u16),
        x: &[f64],
        y: &mut [f64],
    ) {
        for (to, from) in self.ends.iter().map(|ends| to_from(*ends)) {
            y[usize::from(to)] += x[usize::from(from)];
        }
        let Some((by_code, codes)) = factors else { return };
        for ((to, from), code) in self.coded.iter().map(|ends| to_from(*ends)).zip(codes) {
            y[usize::from(to)] += by_code[usize::from(*code)] * x[usize::from(from)];
        }
    }

    fn shrink(&mut self) {
        self.ends.shrink_to_fit();
        self.coded.shrink_to_fit();
        self.codes.iter_mut().for_each(Vec::shrink_to_fit);
    }
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

/// Normalises `new` by its sum, and returns the sum of absolute differences from `old`.
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
