//! The correction for inflated endorsement (Bharat and Henzinger; V 2.2.2): what many pages of one site say counts
//! as said once.

use std::collections::BTreeSet;

use rayon::prelude::*;

use crate::csr::Csr;

/// Counts below this are their own codes.
const PLAIN: u32 = 1 << 15;

/// Stands for how often a site occurs in a row. Two bytes a link, and one over the count at double precision.
pub(crate) type Code = u16;

/// The meaning of codes. Counts from [`PLAIN`] on get the codes above it: with at most 2^30 links there are fewer
/// different ones than such codes.
pub(crate) struct Codes {
    large: Vec<u32>,
    reciprocals: Vec<f64>,
}

impl Codes {
    /// Codes for all counts that occur in rows of pages.
    pub(crate) fn new(rows: &Csr, sites: &[u32], site_count: usize) -> Codes {
        let long = (0..rows.rows()).into_par_iter().filter(|row| rows.row(*row).len() >= PLAIN as usize);
        let large: BTreeSet<u32> =
            long.flat_map_iter(|row| large_counts(rows.row(row), sites, site_count)).collect();
        let large: Vec<u32> = large.into_iter().collect();
        let longest = (0..rows.rows()).map(|row| rows.row(row).len()).max().unwrap_or(0);
        let plain = 0..PLAIN.min(longest as u32 + 1);
        // There is no count 0; as 1, it does no harm.
        let counts = plain.chain(large.iter().copied()).map(|count| f64::from(count.max(1)).recip());
        Codes { reciprocals: counts.collect(), large }
    }

    /// One over the count, by code.
    pub(crate) fn into_reciprocals(self) -> Vec<f64> {
        self.reciprocals
    }

    fn code(&self, count: u32) -> Code {
        if count < PLAIN {
            return count as Code;
        }
        (PLAIN as usize + self.large.partition_point(|large| *large < count)) as Code
    }
}

/// Those counts that need a code of their own. The order does not matter.
fn large_counts(row: &[u32], sites: &[u32], site_count: usize) -> Vec<u32> {
    let mut counter = Counter::new(site_count);
    counter.count(row, sites);
    counter.counts.retain(|count| *count >= PLAIN);
    counter.counts
}

/// Counts how often each site occurs in a row.
pub(crate) struct Counter {
    counts: Vec<u32>,
}

impl Counter {
    pub(crate) fn new(site_count: usize) -> Counter {
        Counter { counts: vec![0; site_count] }
    }

    pub(crate) fn count(&mut self, row: &[u32], sites: &[u32]) {
        for page in row {
            self.counts[sites[*page as usize] as usize] += 1;
        }
    }

    /// How many pages of the row are on this site.
    pub(crate) fn of(&self, site: u32) -> u32 {
        self.counts[site as usize]
    }

    pub(crate) fn code(&self, codes: &Codes, site: u32) -> Code {
        codes.code(self.of(site))
    }

    /// Forgets the row that was counted.
    pub(crate) fn forget(&mut self, row: &[u32], sites: &[u32]) {
        for page in row {
            self.counts[sites[*page as usize] as usize] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_counts_keep_their_precision() {
        // 40,000 and 50,000 pages of two sites and 3 of a third link to page 0; a million pages are not needed.
        let sites: Vec<u32> =
            (0..90_004).map(|page| u32::from(page > 40_000) + u32::from(page > 90_000)).collect();
        let links: Vec<u32> = (1..90_004).collect();
        let rows = Csr::of_pairs(90_004, &links, |page| (0, *page), 1);
        let codes = Codes::new(&rows, &sites, 3);
        let mut counter = Counter::new(3);
        counter.count(rows.row(0), &sites);
        let found: Vec<_> = (0..3).map(|site| counter.code(&codes, site)).collect();
        assert_eq!(found, [32_768, 32_769, 3]);
        let reciprocals = codes.into_reciprocals();
        let values: Vec<f64> = found.iter().map(|code| reciprocals[usize::from(*code)]).collect();
        assert_eq!(values, [1.0 / 40_000.0, 1.0 / 50_000.0, 1.0 / 3.0]);
    }
}
