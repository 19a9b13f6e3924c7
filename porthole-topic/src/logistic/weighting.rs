//! Conversion of term counts to rows: the weighting that training and judging share.

use porthole_types::TermId;

/// The terms of a model with their scales.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vocabulary {
    /// Sorted.
    terms: Vec<TermId>,
    scales: Vec<f32>,
}

impl Vocabulary {
    /// The terms that are on at least `least` of these pages, with the scale `ln((1 + n) / (1 + df)) + 1`: rare terms
    /// weigh more.
    pub fn of<'a>(pages: impl IntoIterator<Item = &'a [(TermId, u32)]>, least: u32) -> Self {
        let (mut all, mut count) = (Vec::new(), 0_usize);
        for page in pages {
            all.extend(page.iter().map(|(term, _)| *term));
            count += 1;
        }
        all.sort_unstable();
        let (mut terms, mut scales) = (Vec::new(), Vec::new());
        for same in all.chunk_by(|a, b| a == b).filter(|same| same.len() >= least as usize) {
            terms.push(same[0]);
            scales.push((((1 + count) as f64 / (1 + same.len()) as f64).ln() + 1.0) as f32);
        }
        Vocabulary { terms, scales }
    }

    /// Number of terms.
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// Whether there is no term.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The terms, sorted: a term's index is its feature number.
    pub fn terms(&self) -> &[TermId] {
        &self.terms
    }

    /// Scales in the same order.
    pub fn scales(&self) -> &[f32] {
        &self.scales
    }

    /// A page as a row over the term indices.
    pub fn row(&self, counts: &[(TermId, u32)]) -> Vec<(u32, f32)> {
        weighted(counts, |term| {
            let place = self.terms.binary_search(&term).ok()?;
            Some((place as u32, self.scales[place]))
        })
    }
}

/// The row of a page: `ln(1 + count) · scale` for every term that `scale_of` knows, normalised to unit length, so that
/// long and short pages count the same. The first value returned by `scale_of` is passed through.
pub fn weighted<F>(
    counts: &[(TermId, u32)],
    mut scale_of: impl FnMut(TermId) -> Option<(F, f32)>,
) -> Vec<(F, f32)> {
    let value = |&(term, count): &(TermId, u32)| {
        let (feature, scale) = scale_of(term)?;
        Some((feature, (1.0 + count as f32).ln() * scale))
    };
    let mut row: Vec<_> = counts.iter().filter_map(value).collect();
    let square: f32 = row.iter().map(|(_, value)| value * value).sum();
    if square > 0.0 {
        let length = square.sqrt();
        row.iter_mut().for_each(|(_, value)| *value /= length);
    }
    row
}
