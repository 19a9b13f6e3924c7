//! Summaries of a series of values in the order of their fetches.

/// Mean of the values; 0 if there are none.
pub fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, count) = values.into_iter().fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    if count == 0 { 0.0 } else { sum / f64::from(count) }
}

/// Moving average over the last `window` fetches, after each one (W Fig. 3, V Fig. 5).
pub fn moving(values: &[f64], window: usize) -> Vec<f64> {
    let mut sum = 0.0;
    let mut means = Vec::with_capacity(values.len());
    for (at, value) in values.iter().enumerate() {
        sum += value;
        if at >= window {
            sum -= values[at - window];
        }
        means.push(sum / (at + 1).min(window.max(1)) as f64);
    }
    means
}

/// The loss after each fetch: the mean of 1 - value so far (A 3.5).
pub fn loss(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut sum = 0.0;
    let so_far = values.into_iter().zip(1_u32..);
    so_far
        .map(|(value, count)| {
            sum += 1.0 - value;
            sum / f64::from(count)
        })
        .collect()
}

/// Number of values in each of `parts` equal bins of 0..=1 (W Fig. 5).
pub fn histogram(values: impl IntoIterator<Item = f64>, parts: usize) -> Vec<u64> {
    let mut counts = vec![0; parts];
    for value in values {
        counts[((value * parts as f64) as usize).min(parts - 1)] += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_move_and_losses_add_up() {
        assert_eq!(moving(&[1.0, 0.0, 0.0, 1.0, 1.0], 2), [1.0, 0.5, 0.0, 0.5, 1.0]);
        assert_eq!(moving(&[1.0, 0.0, 1.0], 9), [1.0, 0.5, 2.0 / 3.0]);
        assert_eq!(loss([1.0, 0.5, 0.0]), [0.0, 0.25, 0.5]);
        assert_eq!(histogram([0.0, 0.1, 0.5, 0.99, 1.0], 4), [2, 0, 1, 2]);
        assert_eq!(mean([]), 0.0);
    }
}
