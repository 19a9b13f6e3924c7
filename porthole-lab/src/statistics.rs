//! Significance of differences: bootstrap intervals, and Holm's correction for multiple comparisons.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A mean difference with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Difference {
    /// The mean.
    pub mean: f64,
    /// Lower end of the 95% confidence interval.
    pub low: f64,
    /// Upper end of the 95% confidence interval.
    pub high: f64,
    /// Two-sided p-value: probability of a difference at least as large if there is none. `None` for fewer than
    /// [`LEAST_VALUES`] values.
    pub p: Option<f64>,
}

/// Least number of differences for a p-value. Five that all have one sign are nothing unusual: that happens in one of
/// sixteen cases without any difference. With fewer, a bootstrap shows only the spread of the given values.
pub const LEAST_VALUES: usize = 6;

/// Number of bootstrap resamples.
const DRAWS: usize = 10_000;

/// Bootstraps the mean of paired differences: groups are drawn with replacement, then members of each. Here topics
/// are groups and samples are members, so that the interval holds for other topics. All groups have the same
/// weight.
pub fn bootstrap(groups: &[Vec<f64>], seed: u64) -> Difference {
    let groups: Vec<&[f64]> = groups.iter().filter(|group| !group.is_empty()).map(Vec::as_slice).collect();
    if groups.is_empty() {
        return Difference { mean: 0.0, low: 0.0, high: 0.0, p: None };
    }
    let mean = |sum: f64, count: usize| sum / count as f64;
    let all = mean(groups.iter().map(|group| mean(group.iter().sum(), group.len())).sum(), groups.len());
    let mut random = BootstrapRandom::new(seed);
    let mut drawn: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let one = |random: &mut BootstrapRandom| {
                let group = groups[random.below(groups.len())];
                mean((0..group.len()).map(|_| group[random.below(group.len())]).sum(), group.len())
            };
            mean((0..groups.len()).map(|_| one(&mut random)).sum(), groups.len())
        })
        .collect();
    drawn.sort_by(f64::total_cmp);
    let at = |share: f64| drawn[((DRAWS - 1) as f64 * share).round() as usize];
    let tail = |count: usize| (count + 1) as f64 / (DRAWS + 1) as f64;
    let (below, above) =
        (drawn.partition_point(|&value| value < 0.0), drawn.partition_point(|&value| value <= 0.0));
    let p = (2.0 * tail(DRAWS - below).min(tail(above))).min(1.0);
    let is_enough = groups.iter().map(|group| group.len()).sum::<usize>() >= LEAST_VALUES;
    Difference { mean: all, low: at(0.025), high: at(0.975), p: is_enough.then_some(p) }
}

/// Standard error of the mean; 0 for fewer than two values.
pub fn standard_error(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    if values.len() < 2 {
        return 0.0;
    }
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (count - 1.0) / count).sqrt()
}

/// Holm's correction: p-values adjusted for multiple comparisons. Comparisons without a p-value do not count.
pub fn holm(p: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut order: Vec<(f64, usize)> = p.iter().enumerate().filter_map(|(at, p)| Some(((*p)?, at))).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut corrected = vec![None; p.len()];
    let mut most: f64 = 0.0;
    let count = order.len();
    for (rank, (p, at)) in order.into_iter().enumerate() {
        most = most.max((count - rank) as f64 * p).min(1.0);
        corrected[at] = Some(most);
    }
    corrected
}

/// Whether a difference is significant at 5%, given its p-value after a correction. The interval has to agree: both come
/// from the same resamples, but only the p-value is corrected.
pub fn is_significant(difference: &Difference, corrected: Option<f64>) -> bool {
    corrected.is_some_and(|p| p < 0.05) && (difference.low > 0.0 || difference.high < 0.0)
}

/// A p-value for tables.
pub fn p_cell(p: Option<f64>) -> String {
    p.map_or_else(|| "too few".to_owned(), |p| format!("{p:.4}"))
}

/// Random numbers from a seed.
struct BootstrapRandom(SplitMix64);

impl BootstrapRandom {
    fn new(seed: u64) -> BootstrapRandom {
        BootstrapRandom(SplitMix64::seed_from_u64(seed))
    }

    fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.0.next_u64()) * end as u128) >> 64) as usize
    }

    #[cfg(test)]
    fn share(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hand_computed_standard_error() {
        // Deviations of 3, 1, 1 and 3 from 5: the variance is 20 / 3, that of the mean of four 5 / 3.
        assert!((standard_error(&[2.0, 4.0, 6.0, 8.0]) - (5.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!((standard_error(&[7.0]), standard_error(&[])), (0.0, 0.0));
    }

    #[test]
    fn intervals_cover_the_planted_difference() {
        const PLANTED: f64 = 0.3;
        let mut covered = 0;
        for experiment in 0..40 {
            let mut random = BootstrapRandom::new(experiment);
            let mut noise = |width: f64| width * (random.share() + random.share() + random.share() - 1.5);
            // Topics differ more than samples of one topic.
            let groups: Vec<Vec<f64>> = (0..12)
                .map(|_| {
                    let topic = PLANTED + noise(0.4);
                    (0..5).map(|_| topic + noise(0.2)).collect()
                })
                .collect();
            let found = bootstrap(&groups, experiment);
            covered += u32::from(found.low <= PLANTED && PLANTED <= found.high);
            assert!(found.low < found.mean && found.mean < found.high);
            assert!(found.p.is_some_and(|p| p < 0.01) && found.low > 0.0, "{found:?}");
            assert_eq!(found, bootstrap(&groups, experiment));
        }
        assert!((34..=40).contains(&covered), "{covered} of 40");
    }

    #[test]
    fn empty_input_has_no_difference() {
        let found = bootstrap(&[vec![0.1, -0.1], vec![-0.1, 0.1], vec![0.2, -0.2]], 1);
        assert!(
            found.mean.abs() < 1e-12 && found.low < 0.0 && found.high > 0.0 && found.p > Some(0.5),
            "{found:?}"
        );
        assert_eq!(bootstrap(&[vec![0.0; 6]], 1).p, Some(1.0));
        assert_eq!(bootstrap(&[], 1).p, None);
        // A topic has weight 1, however many samples it has.
        assert_eq!(bootstrap(&[vec![1.0; 9], vec![0.0]], 1).mean, 0.5);
    }

    #[test]
    fn hand_computed_holm_correction() {
        // In order: 0.01 x 4, 0.02 x 3, 0.03 x 2 and 0.04 x 1, none below the one before it.
        let p = [0.04, 0.01, 0.03, 0.02].map(Some);
        for (found, expected) in holm(&p).into_iter().zip([0.06, 0.04, 0.06, 0.06]) {
            assert!((found.unwrap() - expected).abs() < 1e-12, "{found:?} {expected}");
        }
        assert_eq!(holm(&[Some(0.5), None, Some(0.9)]), [Some(1.0), None, Some(1.0)]);
        assert_eq!(holm(&[]), Vec::<Option<f64>>::new());
    }

    #[test]
    fn few_pairs_have_no_p_value() {
        // Two pairs with the same sign: every resample has it, too.
        assert_eq!(bootstrap(&[vec![0.2], vec![0.3]], 1).p, None);
        assert_eq!(bootstrap(&[vec![0.2, 0.3, 0.25], vec![0.3, 0.2]], 1).p, None);
        let six = bootstrap(&[vec![0.2, 0.3, 0.25], vec![0.3, 0.2, 0.1]], 1);
        assert!(six.p.is_some_and(|p| p < 0.05));
        assert!(
            is_significant(&six, six.p) && !is_significant(&six, Some(0.06)) && !is_significant(&six, None)
        );
    }
}
