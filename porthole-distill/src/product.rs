//! A sparse matrix times a vector, on all cores, with the same result on any number of them.
//!
//! Both vectors are cut into blocks, and the matrix into tiles: the links that go from one block to another. While a
//! tile is worked through, both blocks stay in the cache, and a link needs two bytes for each end. The same tiles serve
//! both directions: one after the other for a block of targets, or for a block of sources.

use std::ops::Range;

use rayon::prelude::*;

use crate::inflation::{Code, ONE};

/// How many values are added up by one core at a time. Part of the result: sums depend on it.
const CHUNK: usize = 1 << 15;

/// A vector's blocks have at most so many rows, which two bytes can tell apart: 512 KB.
const MAX_ROWS: usize = 1 << 16;

/// How a vector is cut.
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

/// Where a value is in its vector: block and number within it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Place {
    pub(crate) block: u16,
    pub(crate) offset: u16,
}

/// A matrix in tiles, which is used both ways round. Its values are all 1, or looked up.
pub(crate) struct Tiles {
    targets: Blocks,
    sources: Blocks,
    /// The links of each block of sources.
    stripes: Vec<Stripe>,
    /// What codes stand for from sources to targets, and back, if they stand for anything.
    factors: Option<[Vec<f64>; 2]>,
}

/// The links of a block of sources.
pub(crate) struct Stripe {
    /// By block of targets.
    tiles: Vec<Tile>,
    /// Which sources have a link.
    linked: Vec<bool>,
}

/// The links of a block of sources to one of targets, source by source.
struct Tile {
    /// Target and source within their blocks, of links whose codes stand for nothing or for 1.
    ends: Vec<[u16; 2]>,
    /// The same of the others, which are few as a rule, with their codes of both directions.
    coded: Vec<[u16; 2]>,
    codes: [Vec<Code>; 2],
}

impl Tiles {
    /// Builds tiles from the links of all sources, whose degrees are those handed in at most; `fill` is to push those
    /// of some sources. `factors` says what the codes of both directions stand for, if they stand for anything.
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

    /// Which sources have a link.
    pub(crate) fn linked(&self) -> impl Iterator<Item = bool> {
        self.stripes.iter().flat_map(|stripe| stripe.linked.iter().copied())
    }

    /// Puts `weights[target]` times the sum over the target's sources in `y[target]`, and returns the sum of `y`.
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

    /// Puts `weights[source]` times the sum over the source's targets in `y[source]`, and returns the sum of `y`.
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
    /// Room for about so many links to each block of targets.
    fn new(sources: usize, links: impl Iterator<Item = f64>) -> Stripe {
        // A little more than is expected is cheaper than making room again.
        let tile = |links: f64| Tile {
            ends: Vec::with_capacity((links + 4.0 * links.sqrt()) as usize),
            coded: Vec::new(),
            codes: [Vec::new(), Vec::new()],
        };
        Stripe { tiles: links.map(tile).collect(), linked: vec![false; sources] }
    }

    /// Adds a link of a source, which is numbered within its block.
    #[inline]
    pub(crate) fn push(&mut self, target: Place, source: u16) {
        self.tiles[usize::from(target.block)].ends.push([target.offset, source]);
        self.linked[usize::from(source)] = true;
    }

    /// Adds a link with its codes.
    #[inline]
    pub(crate) fn push_coded(&mut self, target: Place, source: u16, [forward, backward]: [Code; 2]) {
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
    /// Adds what the links carry in a direction; `to_from` says of a link which end is which, `factors` what its code
    /// stands for, and which one it is.
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
