//! Comparison with known optima, and properties of any optimum.

use super::*;

/// Samples that own their data.
#[derive(Clone, Default)]
struct SampleTable {
    rows: SparseRows,
    labels: Vec<u16>,
    weights: Vec<f32>,
    classes: usize,
    features: usize,
}

impl SampleTable {
    fn samples(&self) -> Samples<'_> {
        Samples {
            rows: &self.rows,
            labels: &self.labels,
            weights: Some(&self.weights),
            classes: self.classes,
            features: self.features,
        }
    }

    fn push(&mut self, label: u16, weight: f32, row: &[(u32, f32)]) {
        self.rows.push(row.iter().copied());
        self.labels.push(label);
        self.weights.push(weight);
    }

    /// Cost of these weights by the definition; the bias is the last feature.
    fn cost(&self, strength: f64, weights: &[Vec<f64>]) -> f64 {
        let penalty: f64 = weights.iter().flatten().map(|weight| weight * weight).sum();
        let loss = |row: usize| {
            let mut scores = weights[self.features].clone();
            for (feature, value) in self.rows.row(row) {
                for (score, weight) in scores.iter_mut().zip(&weights[feature as usize]) {
                    *score += f64::from(value) * weight;
                }
            }
            let own = scores[usize::from(self.labels[row])];
            f64::from(self.weights[row]) * (softmax(&mut scores) - own)
        };
        0.5 * penalty + strength * (0..self.rows.len()).map(loss).sum::<f64>()
    }

    /// Gradient of the cost by finite differences.
    fn slopes(&self, strength: f64, weights: &[Vec<f64>]) -> Vec<Vec<f64>> {
        const STEP: f64 = 1e-5;
        let mut slopes = weights.to_vec();
        let mut near = weights.to_vec();
        for feature in 0..weights.len() {
            for class in 0..self.classes {
                let mut at = |value: f64| {
                    near[feature][class] = value;
                    self.cost(strength, &near)
                };
                let here = weights[feature][class];
                slopes[feature][class] = (at(here + STEP) - at(here - STEP)) / (2.0 * STEP);
                at(here);
            }
        }
        slopes
    }
}

fn exactly(strength: f64) -> SolverSettings {
    SolverSettings { strength, tolerance: 1e-10, passes: 5_000 }
}

/// By feature, the bias last.
fn as_table(weights: &LogisticWeights, features: usize) -> Vec<Vec<f64>> {
    let lines = (0..features as u32).map(|feature| weights.of(feature)).chain([weights.bias()]);
    lines.map(|line| line.iter().copied().map(f64::from).collect()).collect()
}

fn farthest(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
    let apart = a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| (a - b).abs());
    apart.fold(0.0, f64::max)
}

/// A strength, and the best weights by feature and class, the bias last.
type Optimum = (f64, Vec<Vec<f64>>);

/// Made by `scripts/make-logistic-golden.py`.
fn golden() -> (SampleTable, Vec<Optimum>) {
    let mut table = SampleTable { classes: 3, features: 7, ..SampleTable::default() };
    let mut optima: Vec<Optimum> = Vec::new();
    for line in include_str!("../../tests/fixtures/logistic.tsv").lines() {
        let fields: Vec<_> = line.split('\t').collect();
        let number = |text: &str| text.parse::<f64>().unwrap();
        match fields[0] {
            "row" => {
                let cells = fields[3].split(' ').filter_map(|cell| cell.split_once(':'));
                let row: Vec<_> =
                    cells.map(|(at, value)| (at.parse().unwrap(), number(value) as f32)).collect();
                table.push(fields[1].parse().unwrap(), number(fields[2]) as f32, &row);
            }
            "strength" => optima.push((number(fields[1]), Vec::new())),
            _ => optima.last_mut().unwrap().1.push(fields[1..].iter().map(|w| number(w)).collect()),
        }
    }
    (table, optima)
}

#[test]
fn the_optimum_is_that_of_scikit_learn() {
    let (table, optima) = golden();
    assert_eq!((table.rows.len(), optima.len()), (48, 3));
    for (strength, expected) in optima {
        let weights = fit(&table.samples(), &exactly(strength));
        let apart = farthest(&as_table(&weights, table.features), &expected);
        assert!(apart < 5e-5, "strength {strength}: {apart} apart, {} passes", weights.passes());
    }
}

#[test]
fn the_cost_is_flat_at_the_optimum() {
    let (table, _) = golden();
    for strength in [0.1, 1.0, 20.0] {
        let weights = as_table(&fit(&table.samples(), &exactly(strength)), table.features);
        let steepest =
            table.slopes(strength, &weights).into_iter().flatten().map(f64::abs).fold(0.0, f64::max);
        assert!(steepest < 1e-3 * strength.max(1.0), "strength {strength}: a slope of {steepest}");
    }
}

#[test]
fn gradient_descent_finds_the_same_optimum() {
    let mut table = SampleTable { classes: 2, features: 2, ..SampleTable::default() };
    table.push(0, 1.0, &[(0, 1.0)]);
    table.push(1, 2.0, &[(1, 0.5)]);
    table.push(1, 1.0, &[(0, 0.5), (1, 1.0)]);
    table.push(0, 0.5, &[]);
    let mut weights = vec![vec![0.0; 2]; 3];
    for _ in 0..3_000 {
        let slopes = table.slopes(2.0, &weights);
        for (weight, slope) in weights.iter_mut().flatten().zip(slopes.iter().flatten()) {
            *weight -= 0.05 * slope;
        }
    }
    let found = as_table(&fit(&table.samples(), &exactly(2.0)), 2);
    assert!(farthest(&found, &weights) < 1e-4, "{found:?} {weights:?}");
}

#[test]
fn the_gap_bounds_the_excess_cost() {
    let (table, optima) = golden();
    for (strength, expected) in optima {
        let least = table.cost(strength, &expected);
        let nothing = table.cost(strength, &vec![vec![0.0; 3]; 8]);
        for tolerance in [1e-1, 1e-2, 1e-4] {
            let weights = fit(&table.samples(), &SolverSettings { strength, tolerance, passes: 5_000 });
            let lost = (table.cost(strength, &as_table(&weights, 7)) - least) / nothing;
            assert!(weights.gap() <= tolerance, "strength {strength}, tolerance {tolerance}");
            assert!(lost <= weights.gap() + 1e-6, "strength {strength}: {lost} lost, {}", weights.gap());
        }
    }
}

#[test]
fn weights_equal_copies_and_results_are_deterministic() {
    let (table, _) = golden();
    let mut copies = SampleTable { classes: 3, features: 7, ..SampleTable::default() };
    let mut counted = copies.clone();
    for number in 0..table.rows.len() {
        let row: Vec<_> = table.rows.row(number).collect();
        let count = number % 3;
        counted.push(table.labels[number], count as f32, &row);
        (0..count).for_each(|_| copies.push(table.labels[number], 1.0, &row));
    }
    let (a, b) = (fit(&copies.samples(), &exactly(3.0)), fit(&counted.samples(), &exactly(3.0)));
    assert!(farthest(&as_table(&a, 7), &as_table(&b, 7)) < 1e-3);
    assert_eq!(a, fit(&copies.samples(), &exactly(3.0)));
    let unweighted = Samples { weights: None, ..copies.samples() };
    assert_eq!(a, fit(&unweighted, &exactly(3.0)));
}

#[test]
fn degenerate_samples_are_accepted() {
    let empty = SampleTable { classes: 3, features: 2, ..SampleTable::default() };
    assert_eq!(fit(&empty.samples(), &SolverSettings::default()).probabilities([(1, 1.0)]), [1.0 / 3.0; 3]);
    let mut single = SampleTable { classes: 1, features: 2, ..SampleTable::default() };
    single.push(0, 1.0, &[(0, 1.0)]);
    assert_eq!(fit(&single.samples(), &SolverSettings::default()).probabilities([(0, 1.0)]), [1.0]);
    let mut bare = SampleTable { classes: 2, features: 0, ..SampleTable::default() };
    (0..4).for_each(|number| bare.push(u16::from(number == 0), 1.0, &[]));
    let learnt = fit(&bare.samples(), &exactly(1e3)).probabilities([]);
    assert!(
        (learnt[0] - 0.75).abs() < 1e-3 && (learnt.iter().sum::<f64>() - 1.0).abs() < 1e-12,
        "{learnt:?}"
    );
}

#[test]
fn the_strength_is_chosen_by_cross_validation() {
    let (table, _) = golden();
    let folds: Vec<u8> = (0..table.rows.len()).map(|row| (row % 4) as u8).collect();
    let strengths = [0.01, 1.0, 10.0];
    let trials = cross_validate(&table.samples(), &folds, &strengths, &exactly(1.0));
    // The same computed directly: weights trained on the other folds judge this one.
    for (trial, strength) in trials.iter().zip(strengths) {
        let (mut right, mut loss, mut total) = (0.0, 0.0, 0.0);
        for fold in 0..4 {
            let mut others = SampleTable { classes: 3, features: 7, ..SampleTable::default() };
            for row in (0..table.rows.len()).filter(|row| row % 4 != fold) {
                others.push(table.labels[row], table.weights[row], &table.rows.row(row).collect::<Vec<_>>());
            }
            let weights = fit(&others.samples(), &exactly(strength));
            for row in (fold..table.rows.len()).step_by(4) {
                let (judged, weight) =
                    (weights.probabilities(table.rows.row(row)), f64::from(table.weights[row]));
                let own = judged[usize::from(table.labels[row])];
                right += if judged.iter().all(|&other| other <= own) { weight } else { 0.0 };
                loss -= weight * own.ln();
                total += weight;
            }
        }
        assert_eq!((trial.strength, trial.accuracy), (strength, right / total));
        assert!((trial.log_loss - loss / total).abs() < 1e-3, "{trial:?} {}", loss / total);
    }
    let chosen = best(&trials).unwrap();
    assert!(trials.iter().all(|trial| trial.accuracy <= chosen.accuracy));
    assert_eq!(best(&[]), None);
}

#[test]
fn rows_have_unit_length() {
    use porthole_types::TermId;
    let pages = [
        vec![(TermId(3), 1), (TermId(7), 2)],
        vec![(TermId(7), 5)],
        vec![(TermId(5), 1), (TermId(7), 1), (TermId(9), 4)],
        vec![(TermId(3), 3)],
    ];
    let vocabulary = Vocabulary::of(pages.iter().map(Vec::as_slice), 2);
    assert_eq!(vocabulary.terms(), [TermId(3), TermId(7)]);
    let expected = [(5f64 / 3.0).ln() + 1.0, (5f64 / 4.0).ln() + 1.0];
    assert!(vocabulary.scales().iter().zip(expected).all(|(&a, b)| (f64::from(a) - b).abs() < 1e-6));
    let row = vocabulary.row(&pages[0]);
    let (one, two) = (2f64.ln() * expected[0], 3f64.ln() * expected[1]);
    let length = (one * one + two * two).sqrt();
    assert_eq!(row.iter().map(|(feature, _)| *feature).collect::<Vec<_>>(), [0, 1]);
    assert!(
        (f64::from(row[0].1) - one / length).abs() < 1e-6
            && (f64::from(row[1].1) - two / length).abs() < 1e-6
    );
    assert_eq!(vocabulary.row(&[(TermId(5), 2)]), []);
}
