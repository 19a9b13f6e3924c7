//! Comparison of two strategies or two sets of results: differences with confidence intervals.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::experiment::{CrawlSummary, ExperimentError, Results};
use crate::statistics::{Difference, bootstrap, holm};
use porthole_report::html::{HtmlReport, HtmlTable, Section, escaped};
use porthole_report::summary::mean;
use porthole_report::svg::{Axis, Chart, Marks, Scale, ValueRange};

/// Crawls in simulated time are compared by the seconds to this many pages of the topic.
const TIMED_PAGES: u64 = 100;

/// A comparison.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Name of the first side.
    pub one: String,
    /// Name of the second side.
    pub other: String,
    /// Number of paired crawls, with the same topic and sample.
    pub pairs: usize,
    /// Number of topics of these crawls.
    pub topics: usize,
    /// Compared measures.
    pub rows: Vec<ComparedMeasure>,
    /// Conclusion.
    pub verdict: String,
}

/// A compared measure.
#[derive(Clone, Debug, Serialize)]
pub struct ComparedMeasure {
    /// Name of the measure.
    pub what: String,
    /// Mean of the first side.
    pub one: f64,
    /// Mean of the second side.
    pub other: f64,
    /// Difference of the first side to the second.
    pub ahead: Difference,
    /// p-value, after Holm's correction for all measures.
    pub p: f64,
}

/// One side of a comparison.
pub struct ComparedCrawls<'a> {
    /// Display name.
    pub name: String,
    /// The results with the crawls.
    pub results: &'a Results,
    /// Strategy of the crawls.
    pub strategy: &'a str,
}

/// Compares the crawls of two sides that have the same topic and sample.
pub fn compare(one: &ComparedCrawls<'_>, other: &ComparedCrawls<'_>) -> Result<Comparison, ExperimentError> {
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
        let what = format!("no crawl has the same topic, sample and budget as one of {}", other.name);
        return Err(ExperimentError::Folder { path: one.results.folder().to_owned(), what });
    };
    let seed = one.results.experiment.seed;
    let mut rows: Vec<ComparedMeasure> = at
        .iter()
        .map(|at| row(&pairs, seed, format!("harvest at {at}"), |outcome| outcome.harvest[at]))
        .collect();
    rows.push(row(&pairs, seed, format!("recall at {budget}"), |outcome| outcome.recall[&budget]));
    rows.push(row(&pairs, seed, "area under the recall".to_owned(), |outcome| outcome.area));
    rows.push(row(&pairs, seed, format!("R of an independent critic at {budget}"), |outcome| {
        outcome.independent[&budget]
    }));
    if pairs.values().flatten().all(|(one, other)| one.is_timed() && other.is_timed()) {
        let what = format!("seconds to {TIMED_PAGES} pages of the topic, or to the end");
        rows.push(row(&pairs, seed, what, |outcome| {
            outcome.seconds_to.get(&TIMED_PAGES).copied().unwrap_or(outcome.seconds)
        }));
    }
    let corrected = holm(&rows.iter().map(|row| row.ahead.p).collect::<Vec<_>>());
    for (row, p) in rows.iter_mut().zip(corrected) {
        row.p = p;
    }
    let topics = pairs.len();
    let pairs = pairs.values().map(Vec::len).sum();
    let verdict = verdict(&one.name, &other.name, &rows[at.len()], topics, pairs);
    Ok(Comparison { one: one.name.clone(), other: other.name.clone(), pairs, topics, rows, verdict })
}

type Pairs<'a> = BTreeMap<&'a str, Vec<(&'a CrawlSummary, &'a CrawlSummary)>>;

fn pairs<'a>(one: &ComparedCrawls<'a>, other: &ComparedCrawls<'a>) -> Pairs<'a> {
    let of = |side: &ComparedCrawls<'a>| {
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

fn row(pairs: &Pairs<'_>, seed: u64, what: String, value: impl Fn(&CrawlSummary) -> f64) -> ComparedMeasure {
    let of = |pick: &dyn Fn(&(&CrawlSummary, &CrawlSummary)) -> f64| {
        mean(pairs.values().map(|pairs| mean(pairs.iter().map(pick))))
    };
    let groups: Vec<Vec<f64>> = pairs
        .values()
        .map(|pairs| pairs.iter().map(|(one, other)| value(one) - value(other)).collect())
        .collect();
    let ahead = bootstrap(&groups, seed);
    ComparedMeasure {
        what,
        one: of(&|pair| value(pair.0)),
        other: of(&|pair| value(pair.1)),
        ahead,
        p: ahead.p,
    }
}

fn verdict(one: &str, other: &str, row: &ComparedMeasure, topics: usize, pairs: usize) -> String {
    let Difference { mean, low, high, .. } = row.ahead;
    let interval = format!(
        "{}: {:.4} against {:.4}, {mean:+.4} (95% interval {low:+.4} to {high:+.4}, {pairs} pairs of crawls, {topics} \
         topics)",
        row.what, row.one, row.other
    );
    match () {
        () if topics < 3 => format!("too few topics for a conclusion; {interval}"),
        () if low > 0.0 => format!("{one} is better than {other}; {interval}"),
        () if high < 0.0 => format!("{one} is worse than {other}; {interval}"),
        () => format!("no significant difference between {one} and {other}; {interval}"),
    }
}

impl Comparison {
    /// The comparison as a table.
    pub fn table(&self) -> HtmlTable {
        let mut table =
            HtmlTable::new(&["measure", &self.one, &self.other, "ahead", "95% interval", "p, after Holm"]);
        for ComparedMeasure { what, one, other, ahead, p } in &self.rows {
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

    /// The comparison as an HTML report.
    pub fn report(&self) -> HtmlReport {
        let ranges = self.rows.iter().map(|row| ValueRange {
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
        HtmlReport {
            title: format!("{} against {}", self.one, self.other),
            lead: format!("<p>{}</p>", escaped(&self.verdict)),
            sections: vec![section],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row_of(differences: &[f64]) -> ComparedMeasure {
        let groups: Vec<Vec<f64>> = differences.iter().map(|difference| vec![*difference; 3]).collect();
        let ahead = bootstrap(&groups, 1);
        ComparedMeasure { what: "recall at 9".into(), one: 0.5, other: 0.4, ahead, p: ahead.p }
    }

    #[test]
    fn the_verdict_follows_from_the_interval() {
        for (differences, words) in [
            (&[0.1, 0.12, 0.09, 0.11][..], "a is better than b; recall at 9: 0.5000 against 0.4000, +0.1050"),
            (&[-0.1, -0.12, -0.09], "a is worse than b"),
            (&[-0.1, 0.12, 0.0, -0.02], "no significant difference between a and b"),
            (&[0.1, 0.1], "too few topics"),
        ] {
            let found = verdict("a", "b", &row_of(differences), differences.len(), 9);
            assert!(found.starts_with(words), "{found}");
        }
    }
}
