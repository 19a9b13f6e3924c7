//! Comparison of two strategies or two sets of results: differences with confidence intervals.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::experiment::{CrawlSummary, ExperimentError, Results, SITE_CAPS};
use crate::statistics::{Difference, LEAST_VALUES, bootstrap, holm, is_significant, p_cell};
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
    /// p-value, after Holm's correction for all measures; `None` if there are too few pairs.
    pub p: Option<f64>,
    /// Whether less is better, as of seconds.
    pub less_is_better: bool,
}

impl ComparedMeasure {
    /// How far the first side is ahead, if that is significant after the correction: positive if it is better.
    fn significant(&self) -> Option<f64> {
        let better = if self.less_is_better { -self.ahead.mean } else { self.ahead.mean };
        is_significant(&self.ahead, self.p).then_some(better)
    }
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
    // Older results do not have these.
    let has_sites = |outcome: &CrawlSummary| !outcome.capped.is_empty();
    let all_have = pairs.values().flatten().all(|(one, other)| has_sites(one) && has_sites(other));
    for cap in SITE_CAPS.into_iter().filter(|_| all_have) {
        let what = format!("harvest at {budget}, at most {cap} pages a site");
        rows.push(row(&pairs, seed, what, |outcome| outcome.capped_harvest(cap, budget)));
    }
    if all_have {
        let what = format!("sites with relevant pages at {budget}");
        rows.push(row(&pairs, seed, what, |outcome| outcome.sites[&budget] as f64));
    }
    let what = format!("loss at {budget}, sum of 1 - R");
    rows.push(row(&pairs, seed, what, |outcome| outcome.lost(budget)).less());
    let main = rows.len();
    rows.push(row(&pairs, seed, format!("recall at {budget}"), |outcome| outcome.recall[&budget]));
    rows.push(row(&pairs, seed, "area under the recall".to_owned(), |outcome| outcome.area));
    rows.push(row(&pairs, seed, format!("R of an independent critic at {budget}"), |outcome| {
        outcome.independent[&budget]
    }));
    if pairs.values().flatten().all(|(one, other)| one.is_timed() && other.is_timed()) {
        let what = format!("seconds to {TIMED_PAGES} pages of the topic, or to the end");
        rows.push(
            row(&pairs, seed, what, |outcome| {
                outcome.seconds_to.get(&TIMED_PAGES).copied().unwrap_or(outcome.seconds)
            })
            .less(),
        );
    }
    let corrected = holm(&rows.iter().map(|row| row.ahead.p).collect::<Vec<_>>());
    for (row, p) in rows.iter_mut().zip(corrected) {
        row.p = p;
    }
    let topics = pairs.len();
    let pairs = pairs.values().map(Vec::len).sum();
    let verdict = verdict(&one.name, &other.name, &rows, main, (topics, pairs));
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
        less_is_better: false,
    }
}

impl ComparedMeasure {
    /// The same measure, of which less is better.
    fn less(self) -> Self {
        ComparedMeasure { less_is_better: true, ..self }
    }
}

/// A sentence about the table, with the figures of its main row. A difference counts if it is significant after Holm's
/// correction.
fn verdict(
    one: &str,
    other: &str,
    rows: &[ComparedMeasure],
    main: usize,
    (topics, pairs): (usize, usize),
) -> String {
    let row = &rows[main];
    let Difference { mean, low, high, .. } = row.ahead;
    let interval = format!(
        "{}: {:.4} against {:.4}, {mean:+.4} (95% interval {low:+.4} to {high:+.4}, {pairs} pairs of crawls, {topics} \
         topics)",
        row.what, row.one, row.other
    );
    if pairs < LEAST_VALUES {
        return format!("too few crawls for a conclusion, {LEAST_VALUES} pairs are needed; {interval}");
    }
    if topics < 3 {
        return format!("too few topics for a conclusion; {interval}");
    }
    let names = |is: &dyn Fn(Option<f64>) -> bool| {
        let named = rows.iter().filter(|row| is(row.significant())).map(|row| row.what.as_str());
        named.collect::<Vec<_>>().join("; ")
    };
    let better = names(&|ahead| ahead.is_some_and(|ahead| ahead > 0.0));
    let worse = names(&|ahead| ahead.is_some_and(|ahead| ahead < 0.0));
    let level = names(&|ahead| ahead.is_none());
    let mut said = Vec::new();
    if !better.is_empty() {
        said.push(format!("{one} is better than {other} in: {better}"));
    }
    if !worse.is_empty() {
        said.push(format!("{one} is worse than {other} in: {worse}"));
    }
    match (said.is_empty(), level.is_empty()) {
        (true, _) => said.push(format!("no significant difference between {one} and {other} in any measure")),
        (false, false) => said.push(format!("no significant difference in: {level}")),
        (false, true) => {}
    }
    format!("{} (5%, after Holm's correction). {interval}", said.join(". "))
}

impl Comparison {
    /// The comparison as a table.
    pub fn table(&self) -> HtmlTable {
        let mut table =
            HtmlTable::new(&["measure", &self.one, &self.other, "ahead", "95% interval", "p, after Holm"]);
        for ComparedMeasure { what, one, other, ahead, p, .. } in &self.rows {
            let Difference { mean, low, high, .. } = ahead;
            table.rows.push(vec![
                what.clone(),
                format!("{one:.4}"),
                format!("{other:.4}"),
                format!("{mean:+.4}"),
                format!("{low:+.4} \u{2026} {high:+.4}"),
                p_cell(*p),
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

    fn row_of(differences: &[f64], p: Option<f64>) -> ComparedMeasure {
        let groups: Vec<Vec<f64>> = differences.iter().map(|difference| vec![*difference; 3]).collect();
        let ahead = bootstrap(&groups, 1);
        ComparedMeasure { what: "recall at 9".into(), one: 0.5, other: 0.4, ahead, p, less_is_better: false }
    }

    #[test]
    fn the_verdict_says_what_the_table_says() {
        let up = [0.1, 0.12, 0.09, 0.11];
        let named = |what: &str, row: ComparedMeasure| ComparedMeasure { what: what.into(), ..row };
        let of = |rows: &[ComparedMeasure], topics, pairs| verdict("a", "b", rows, 0, (topics, pairs));
        let found = of(&[row_of(&up, Some(0.006))], 4, 12);
        let words = "a is better than b in: recall at 9 (5%, after Holm's correction). recall at 9: 0.5000 against 0.4000";
        assert!(found.starts_with(words), "{found}");
        // The interval is above 0, but the corrected p-value is not below 5%.
        let found = of(&[row_of(&up, Some(0.2))], 4, 12);
        assert!(found.starts_with("no significant difference between a and b in any measure"), "{found}");
        // Measures differ: the main one does not decide for the others.
        let rows = [
            row_of(&[-0.1, 0.12, 0.0, -0.02], Some(0.9)),
            named("harvest at 5", row_of(&up, Some(0.004))),
            named("seconds", row_of(&up, Some(0.01)).less()),
        ];
        let found = of(&rows, 4, 12);
        let words = "a is better than b in: harvest at 5. a is worse than b in: seconds. no significant difference in: recall";
        assert!(found.starts_with(words), "{found}");
        assert!(of(&[row_of(&up, Some(0.001))], 2, 12).starts_with("too few topics"));
        assert!(of(&[row_of(&up, None)], 4, 4).starts_with("too few crawls"));
    }
}
