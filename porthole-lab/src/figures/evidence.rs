//! Data of the figures: the results of an experiment with every fetch, and queries on them.

use std::collections::BTreeMap;

use crate::experiment::{
    CrawlSummary, ExperimentError, ExperimentWeb, FetchLabel, FetchStep, Results, Trace,
};
use crate::measures;
use crate::statistics::{Difference, bootstrap, standard_error};
use porthole_report::html::HtmlTable;
use porthole_report::summary::{self, mean};
use porthole_report::svg::{Axis, Chart, Marks, Scale, Series};

/// Points of a curve.
pub(super) type Points = Vec<(f64, f64)>;

/// A name, and points over the number of fetches.
pub(super) type Curve = (String, Points);

/// The results of an experiment with every fetch.
pub struct TracedResults {
    /// The experiment and its results.
    pub results: Results,
    traces: BTreeMap<(String, String, u32), Trace>,
}

impl TracedResults {
    /// Reads all traces.
    pub fn read(results: Results) -> Result<Self, ExperimentError> {
        let mut traces = BTreeMap::new();
        for CrawlSummary { topic, strategy, sample, .. } in &results.outcomes {
            let trace = results.trace(topic, strategy, *sample)?;
            traces.insert((topic.clone(), strategy.clone(), *sample), trace);
        }
        Ok(TracedResults { results, traces })
    }

    pub(super) fn web_name(&self) -> String {
        match &self.results.experiment.web {
            ExperimentWeb::Recorded { pages, .. } => {
                pages.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
            }
            ExperimentWeb::Synthetic(params) => format!("a synthetic web of {} pages", params.pages),
        }
    }

    pub(super) fn budget(&self) -> u64 {
        self.results.experiment.budget()
    }

    pub(super) fn topics(&self) -> &[String] {
        &self.results.experiment.topics
    }

    pub(super) fn has(&self, strategy: &str) -> bool {
        self.results.experiment.strategies.iter().any(|name| name == strategy)
    }

    /// The strategies that use all start pages and are unrestricted.
    pub(super) fn plain(&self) -> Vec<&str> {
        let all = self.results.experiment.strategies.iter().map(String::as_str);
        // A number after a colon is the number of start pages; parameters have an equals sign.
        let has_fewer = |name: &str| name.rsplit_once(':').is_some_and(|(_, starts)| !starts.contains('='));
        all.filter(|name| !name.contains('@') && !is_elsewhere(name) && !has_fewer(name)).collect()
    }

    /// Strategies that fit into one chart: those that others are compared with, and the first ones.
    pub(super) fn drawn(&self) -> Vec<&str> {
        const MOST: usize = 8;
        let must = [Some(self.baseline()), self.control()];
        let mut left = MOST - must.iter().flatten().count();
        let mut is_drawn = |name: &&str| {
            let is_first = must.contains(&Some(*name)) || left > 0;
            left -= usize::from(is_first && !must.contains(&Some(*name)));
            is_first
        };
        self.plain().into_iter().filter(|name| is_drawn(name)).collect()
    }

    /// The strategy that others are compared with: soft focus, or else the first.
    pub(super) fn baseline(&self) -> &str {
        self.results.experiment.baseline()
    }

    /// The unfocused strategy, if it was run.
    pub(super) fn control(&self) -> Option<&str> {
        ["random", "unfocused"].into_iter().find(|name| self.has(name))
    }

    pub(super) fn trace(&self, topic: &str, strategy: &str, sample: u32) -> Option<&Trace> {
        self.traces.get(&(topic.to_owned(), strategy.to_owned(), sample))
    }

    /// All crawls of a strategy, for one topic or for all.
    pub(super) fn of<'a>(
        &'a self,
        strategy: &'a str,
        topic: Option<&'a str>,
    ) -> impl Iterator<Item = &'a Trace> {
        let is_it = move |trace: &&Trace| {
            trace.outcome.strategy == strategy && topic.is_none_or(|topic| trace.outcome.topic == topic)
        };
        self.traces.values().filter(is_it)
    }

    /// The crawls of a strategy from two disjoint start sets.
    pub(super) fn pairs<'a>(
        &'a self,
        strategy: &'a str,
        topic: Option<&'a str>,
    ) -> impl Iterator<Item = (&'a Trace, &'a Trace)> {
        let even = self.of(strategy, topic).filter(|trace| trace.outcome.sample.is_multiple_of(2));
        even.filter_map(move |one| {
            let other = self.trace(&one.outcome.topic, strategy, one.outcome.sample + 1)?;
            Some((one, other))
        })
    }

    /// About thirty numbers of fetches, up to the budget.
    pub(super) fn moments(&self) -> Vec<u64> {
        measures::moments(self.budget())
    }

    /// Mean over crawls of a value after every fetch; crawls that have ended are ignored.
    pub(super) fn curve<'a>(
        &'a self,
        strategy: &'a str,
        topic: Option<&'a str>,
        values: impl Fn(&[&FetchStep]) -> Vec<f64>,
    ) -> Points {
        let all: Vec<Vec<f64>> = self.of(strategy, topic).map(|trace| values(&trace.counted())).collect();
        let moments = self.moments().into_iter().filter_map(|n| {
            let there: Vec<f64> =
                all.iter().filter_map(|values| values.get(n as usize - 1).copied()).collect();
            // The mean of a minority that continued would be over other topics than before.
            (2 * there.len() >= all.len() && !there.is_empty()).then(|| (n as f64, mean(there)))
        });
        moments.collect()
    }

    /// Mean of a value over the crawls of a strategy, by topic.
    pub(super) fn mean(&self, strategy: &str, value: impl Fn(&CrawlSummary) -> f64) -> f64 {
        let topics = self.topics().iter();
        mean(topics.map(|topic| mean(self.of(strategy, Some(topic)).map(|trace| value(&trace.outcome)))))
    }

    /// Difference between two strategies, start by start.
    pub(super) fn ahead(
        &self,
        strategy: &str,
        other: &str,
        value: impl Fn(&CrawlSummary) -> f64,
    ) -> Difference {
        let groups = self.topics().iter().map(|topic| {
            let paired = self.of(strategy, Some(topic)).filter_map(|trace| {
                let other = self.trace(topic, other, trace.outcome.sample)?;
                Some(value(&trace.outcome) - value(&other.outcome))
            });
            paired.collect::<Vec<f64>>()
        });
        bootstrap(&groups.collect::<Vec<_>>(), self.results.experiment.seed)
    }
}

/// Whether a strategy starts a few links away from the start pages of the others.
pub(super) fn is_elsewhere(strategy: &str) -> bool {
    strategy.contains("+neighbours")
}

/// 1 for a page about the topic, else 0.
pub(super) fn truth(step: &FetchStep) -> f64 {
    f64::from(step.label == FetchLabel::About)
}

/// Moving average of a value over the last fetches.
pub(super) fn moving(window: usize, value: impl Fn(&FetchStep) -> f64) -> impl Fn(&[&FetchStep]) -> Vec<f64> {
    move |steps| summary::moving(&steps.iter().map(|step| value(step)).collect::<Vec<_>>(), window)
}

/// A chart of curves over the number of fetches.
pub(super) fn over_fetches(title: &str, y: &str, series: Vec<Series>) -> Chart {
    Chart {
        title: title.to_owned(),
        x: Axis { label: "pages fetched".to_owned(), scale: Scale::Linear },
        y: Axis { label: y.to_owned(), scale: Scale::Linear },
        marks: Marks::Points(series),
    }
}

/// The same chart for curves that hardly differ.
pub(super) fn with_close_scale(chart: Chart) -> Chart {
    Chart { y: Axis { scale: Scale::Close, ..chart.y }, ..chart }
}

/// Curves as a table, one row a moment.
pub(super) fn table(curves: &[Curve]) -> HtmlTable {
    let mut table = HtmlTable::new(&["pages fetched"]);
    table.head.extend(curves.iter().map(|(name, _)| name.clone()));
    let mut moments: Vec<f64> =
        curves.iter().flat_map(|(_, points)| points.iter().map(|point| point.0)).collect();
    moments.sort_by(f64::total_cmp);
    moments.dedup();
    for moment in moments {
        let mut row = vec![moment.to_string()];
        row.extend(curves.iter().map(|(_, points)| {
            points.iter().find(|point| point.0 == moment).map_or(String::new(), |point| cell(point.1))
        }));
        table.rows.push(row);
    }
    table
}

/// Curves as chart series.
pub(super) fn series(curves: &[Curve]) -> Vec<Series> {
    curves.iter().map(|(name, points)| Series::curve(name, points.clone())).collect()
}

/// A mean and its standard error.
pub(super) fn with_error(values: &[f64]) -> (f64, f64) {
    (mean(values.iter().copied()), standard_error(values))
}

/// A share in percent.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

/// A number formatted for tables.
pub(super) fn cell(value: f64) -> String {
    format!("{value:.4}")
}
