//! Two strategies, or two sets of results, side by side: what is different, and how sure that is.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::experiment::{ExperimentError, Outcome, Results};
use crate::statistics::{Difference, bootstrap, holm};
use porthole_report::html::{Report, Section, Table, escaped};
use porthole_report::summary::mean;
use porthole_report::svg::{Axis, Chart, Marks, Range, Scale};

/// A comparison.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The name of the first.
    pub one: String,
    /// The name of the second.
    pub other: String,
    /// Crawls that were paired: the same topic and sample.
    pub pairs: usize,
    /// Topics of those.
    pub topics: usize,
    /// What was measured.
    pub rows: Vec<Row>,
    /// What it comes to.
    pub verdict: String,
}

/// One measure.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// What.
    pub what: String,
    /// The mean of the first.
    pub one: f64,
    /// The mean of the second.
    pub other: f64,
    /// How far the first is ahead.
    pub ahead: Difference,
    /// Its p, after Holm's correction for all rows.
    pub p: f64,
}

/// Which crawls are looked at.
pub struct Side<'a> {
    /// What people call it.
    pub name: String,
    /// Where they are from.
    pub results: &'a Results,
    /// Their strategy.
    pub strategy: &'a str,
}

/// Compares the crawls of two sides that have topic and sample in common.
pub fn compare(one: &Side<'_>, other: &Side<'_>) -> Result<Comparison, ExperimentError> {
    for side in [one, other] {
        let known = &side.results.experiment.strategies;
        if !known.iter().any(|name| name == side.strategy) {
            let what = format!("there are no crawls of {:?}; there are {}", side.strategy, known.join(", "));
            return Err(ExperimentError::Folder { path: side.results.folder().to_owned(), what });
        }
    }
    let mut at = one.results.experiment.at.clone();
    at.retain(|at| other.results.experiment.at.contains(at));
    let pairs = pairs(one, other);
    let Some(budget) = at.last().copied().filter(|_| !pairs.is_empty()) else {
        let what = format!("no crawl has topic, sample and budget in common with one of {}", other.name);
        return Err(ExperimentError::Folder { path: one.results.folder().to_owned(), what });
    };
    let seed = one.results.experiment.seed;
    let mut rows: Vec<Row> = at
        .iter()
        .map(|at| row(&pairs, seed, format!("harvest at {at}"), |outcome| outcome.harvest[at]))
        .collect();
    rows.push(row(&pairs, seed, format!("recall at {budget}"), |outcome| outcome.recall[&budget]));
    rows.push(row(&pairs, seed, "area under the recall".to_owned(), |outcome| outcome.area));
    rows.push(row(&pairs, seed, format!("R of an independent critic at {budget}"), |outcome| {
        outcome.independent[&budget]
    }));
    let corrected = holm(&rows.iter().map(|row| row.ahead.p).collect::<Vec<_>>());
    for (row, p) in rows.iter_mut().zip(corrected) {
        row.p = p;
    }
    let topics = pairs.len();
    let pairs = pairs.values().map(Vec::len).sum();
    let verdict = verdict(&one.name, &other.name, &rows[at.len()], topics, pairs);
    Ok(Comparison { one: one.name.clone(), other: other.name.clone(), pairs, topics, rows, verdict })
}

type Pairs<'a> = BTreeMap<&'a str, Vec<(&'a Outcome, &'a Outcome)>>;

fn pairs<'a>(one: &Side<'a>, other: &Side<'a>) -> Pairs<'a> {
    let of = |side: &Side<'a>| {
        let own = side.results.outcomes.iter().filter(|outcome| outcome.strategy == side.strategy);
        own.map(|outcome| ((outcome.topic.as_str(), outcome.sample), outcome)).collect::<BTreeMap<_, _>>()
    };
    let others = of(other);
    let mut pairs = Pairs::new();
    for (key, outcome) in of(one) {
        if let Some(other) = others.get(&key) {
            pairs.entry(key.0).or_default().push((outcome, other));
        }
    }
    pairs
}

fn row(pairs: &Pairs<'_>, seed: u64, what: String, value: impl Fn(&Outcome) -> f64) -> Row {
    let of = |pick: &dyn Fn(&(&Outcome, &Outcome)) -> f64| {
        mean(pairs.values().map(|pairs| mean(pairs.iter().map(pick))))
    };
    let groups: Vec<Vec<f64>> = pairs
        .values()
        .map(|pairs| pairs.iter().map(|(one, other)| value(one) - value(other)).collect())
        .collect();
    let ahead = bootstrap(&groups, seed);
    Row { what, one: of(&|pair| value(pair.0)), other: of(&|pair| value(pair.1)), ahead, p: ahead.p }
}

fn verdict(one: &str, other: &str, row: &Row, topics: usize, pairs: usize) -> String {
    let Difference { mean, low, high, .. } = row.ahead;
    let interval = format!(
        "{}: {:.4} against {:.4}, {mean:+.4} (95% interval {low:+.4} to {high:+.4}, {pairs} pairs of crawls, {topics} \
         topics)",
        row.what, row.one, row.other
    );
    match () {
        () if topics < 3 => format!("too few topics to say anything of others; {interval}"),
        () if low > 0.0 => format!("{one} is better than {other}; {interval}"),
        () if high < 0.0 => format!("{one} is worse than {other}; {interval}"),
        () => format!("no difference between {one} and {other} is sure; {interval}"),
    }
}

impl Comparison {
    /// As a table.
    pub fn table(&self) -> Table {
        let mut table =
            Table::new(&["measure", &self.one, &self.other, "ahead", "95% interval", "p, after Holm"]);
        for Row { what, one, other, ahead, p } in &self.rows {
            let Difference { mean, low, high, .. } = ahead;
            table.rows.push(vec![
                what.clone(),
                format!("{one:.4}"),
                format!("{other:.4}"),
                format!("{mean:+.4}"),
                format!("{low:+.4} \u{2026} {high:+.4}"),
                format!("{p:.4}"),
            ]);
        }
        table
    }

    /// As a page.
    pub fn report(&self) -> Report {
        let ranges = self.rows.iter().map(|row| Range {
            name: row.what.clone(),
            value: row.ahead.mean,
            low: row.ahead.low,
            high: row.ahead.high,
        });
        let chart = Chart {
            title: format!("how far {} is ahead of {}, with 95% intervals", self.one, self.other),
            x: Axis { label: "difference, start by start".to_owned(), scale: Scale::Linear },
            y: Axis { label: String::new(), scale: Scale::Linear },
            marks: Marks::Ranges(ranges.collect()),
        };
        let section = Section {
            id: "compared".to_owned(),
            title: "All measures".to_owned(),
            charts: vec![chart],
            table: self.table(),
            ..Section::default()
        };
        Report {
            title: format!("{} against {}", self.one, self.other),
            lead: format!("<p>{}</p>", escaped(&self.verdict)),
            sections: vec![section],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row_of(differences: &[f64]) -> Row {
        let groups: Vec<Vec<f64>> = differences.iter().map(|difference| vec![*difference; 3]).collect();
        let ahead = bootstrap(&groups, 1);
        Row { what: "recall at 9".into(), one: 0.5, other: 0.4, ahead, p: ahead.p }
    }

    #[test]
    fn a_verdict_is_what_the_interval_says() {
        for (differences, words) in [
            (&[0.1, 0.12, 0.09, 0.11][..], "a is better than b; recall at 9: 0.5000 against 0.4000, +0.1050"),
            (&[-0.1, -0.12, -0.09], "a is worse than b"),
            (&[-0.1, 0.12, 0.0, -0.02], "no difference between a and b is sure"),
            (&[0.1, 0.1], "too few topics"),
        ] {
            let found = verdict("a", "b", &row_of(differences), differences.len(), 9);
            assert!(found.starts_with(words), "{found}");
        }
    }
}
