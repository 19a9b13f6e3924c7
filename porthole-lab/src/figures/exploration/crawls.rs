//! The ranked crawls of P, and its two evaluation schemes (P Table 2).

use super::{BLIND, EXPLORING, GREEDY, QualitySelector, RANKS};
use crate::experiment::{Quality, RankStudy, RankedCrawl, Task};
use crate::figures::evidence::{Points, TracedResults, cell, over_fetches};
use crate::statistics::{Difference, bootstrap, standard_error};
use porthole_report::html::HtmlTable;
use porthole_report::summary::mean;
use porthole_report::svg::{Axis, Chart, Marks, Scale, Series};

/// Axis of values during a crawl, and the step between error bars: at every moment they would hide the lines.
pub(super) const MOMENTS: &str = "pages fetched";
pub(super) const SOME: usize = 4;

/// The ranked crawls with one task.
pub(super) struct Crawls<'a> {
    evidence: &'a TracedResults,
    pub(super) ranked: RankStudy,
    task: Task,
}

impl<'a> Crawls<'a> {
    /// `None` if the two crawlers that P compares were not ranked.
    pub(super) fn with(evidence: &'a TracedResults, task: Task) -> Option<Self> {
        let mut ranked: RankStudy = evidence.results.study("ranks").ok().flatten()?;
        ranked.crawls.retain(|crawl| crawl.task == task);
        let crawls = Crawls { evidence, ranked, task };
        [GREEDY, EXPLORING].into_iter().all(|name| crawls.of(name).next().is_some()).then_some(crawls)
    }

    /// Name of a strategy with this task.
    pub(super) fn name(&self, strategy: &str) -> String {
        match self.task {
            Task::Examples => strategy.to_owned(),
            Task::Neighbours => format!("{strategy}+neighbours"),
        }
    }

    pub(super) fn of<'b>(&'b self, strategy: &str) -> impl Iterator<Item = &'b RankedCrawl> + use<'a, 'b> {
        let name = self.name(strategy);
        self.ranked.crawls.iter().filter(move |crawl| crawl.strategy == name)
    }

    /// The strategies to draw: P's, and those of the other papers.
    pub(super) fn drawn(&self) -> Vec<&'static str> {
        let names = [GREEDY, EXPLORING, BLIND, "breadth", "soft", "porthole"];
        names.into_iter().filter(|name| self.of(name).next().is_some()).collect()
    }

    /// Mean of a value and its standard error over the topics.
    pub(super) fn mean(
        &self,
        strategy: &str,
        value: impl Fn(&RankedCrawl) -> Option<f64>,
    ) -> Option<(f64, f64)> {
        let topics: Vec<f64> = self.by_topic(strategy, value).into_iter().map(|(_, mean)| mean).collect();
        (!topics.is_empty()).then(|| (mean(topics.iter().copied()), standard_error(&topics)))
    }

    /// Mean of a value by topic; topics for which fewer than half of the crawls have it are ignored.
    pub(super) fn by_topic(
        &self,
        strategy: &str,
        value: impl Fn(&RankedCrawl) -> Option<f64>,
    ) -> Vec<(&'a str, f64)> {
        let topics = self.evidence.topics().iter().map(String::as_str);
        let of = |topic: &'a str| {
            let all: Vec<&RankedCrawl> = self.of(strategy).filter(|crawl| crawl.topic == topic).collect();
            let there: Vec<f64> = all.iter().filter_map(|crawl| value(crawl)).collect();
            (2 * there.len() >= all.len() && !there.is_empty()).then(|| (topic, mean(there)))
        };
        topics.filter_map(of).collect()
    }

    /// Difference between two strategies, start by start.
    pub(super) fn above(
        &self,
        strategy: &str,
        other: &str,
        value: impl Fn(&RankedCrawl) -> Option<f64>,
    ) -> Difference {
        let groups = self.evidence.topics().iter().map(|topic| {
            let own = self.of(strategy).filter(|crawl| crawl.topic == *topic);
            let paired = own.filter_map(|crawl| {
                let mut others = self.of(other).filter(|other| other.topic == *topic);
                Some(value(crawl)? - value(others.find(|other| other.sample == crawl.sample)?)?)
            });
            paired.collect::<Vec<f64>>()
        });
        bootstrap(&groups.collect::<Vec<_>>(), self.evidence.results.experiment.seed)
    }

    /// Share of the best pages that a crawl has, averaged over the numbers of best pages.
    pub(super) fn covers(rank: QualitySelector) -> impl Fn(&RankedCrawl) -> Option<f64> {
        move |crawl| Some(mean(rank(crawl).coverage.iter().copied()))
    }

    /// Column heads of the drawn strategies.
    pub(super) fn columns(&self) -> impl Iterator<Item = String> {
        self.drawn().into_iter().flat_map(|name| [name.to_owned(), format!("{name}, standard error")])
    }

    /// A curve for each drawn strategy, of a value at each of these positions; the numbers are added to the rows. Every
    /// `errors`th point has an error bar.
    pub(super) fn curves(
        &self,
        places: &[f64],
        errors: usize,
        value: impl Fn(&RankedCrawl, usize) -> Option<f64>,
        rows: &mut [Vec<String>],
    ) -> Vec<Series> {
        let mut curve = |name: &str| {
            let (mut points, mut bars) = (Points::new(), Vec::new());
            for (at, (place, row)) in places.iter().zip(rows.iter_mut()).enumerate() {
                let Some((mean, error)) = self.mean(name, |crawl| value(crawl, at)) else {
                    row.extend(["", ""].map(str::to_owned));
                    continue;
                };
                points.push((*place, mean));
                bars.push(if at % errors == errors - 1 { error } else { 0.0 });
                row.extend([cell(mean), cell(error)]);
            }
            Series::with_errors(name, points, bars)
        };
        self.drawn().into_iter().map(&mut curve).collect()
    }

    /// The moments at which crawls were evaluated.
    pub(super) fn moments(&self) -> Vec<f64> {
        self.ranked.moments.iter().map(|n| *n as f64).collect()
    }

    /// The first quarter of the moments.
    pub(super) fn early(&self) -> usize {
        (self.ranked.moments.len() / 4).max(1)
    }
}

/// One of the two evaluation schemes (P Table 2).
pub(super) struct Scheme {
    /// Label of its positions.
    over: &'static str,
    at: Vec<f64>,
    values: fn(&Quality) -> &Vec<f64>,
    /// Number of positions between two error bars.
    errors: usize,
    chart: fn(&str, Vec<Series>) -> Chart,
}

impl Scheme {
    /// The static scheme: share of the best pages that each strategy has.
    pub(super) fn fixed(crawls: &Crawls<'_>) -> Self {
        Scheme {
            over: "N best",
            at: crawls.ranked.top.iter().map(|n| f64::from(*n)).collect(),
            values: |quality| &quality.coverage,
            errors: 1,
            chart: |rank, series| Chart {
                title: format!("static: best pages by {rank}"),
                x: Axis { label: "N best pages of all crawls".to_owned(), scale: Scale::Log },
                y: Axis { label: "share that the crawl has".to_owned(), scale: Scale::Linear },
                marks: Marks::Points(series),
            },
        }
    }

    /// The dynamic scheme: mean rank of the pages that each strategy has so far.
    pub(super) fn dynamic(crawls: &Crawls<'_>) -> Self {
        Scheme {
            over: MOMENTS,
            at: crawls.moments(),
            values: |quality| &quality.mean_rank,
            errors: SOME,
            chart: |rank, series| {
                over_fetches(&format!("dynamic: {rank}, lower is better"), "mean rank so far", series)
            },
        }
    }

    /// A chart for each rank, and the table of all numbers.
    pub(super) fn charts(&self, crawls: &Crawls<'_>) -> (Vec<Chart>, HtmlTable) {
        let mut table = HtmlTable::new(&["rank", self.over]);
        table.head.extend(crawls.columns());
        let mut charts = Vec::new();
        for (title, rank) in RANKS {
            let mut rows: Vec<Vec<String>> =
                self.at.iter().map(|at| vec![title.to_owned(), at.to_string()]).collect();
            let value = |crawl: &RankedCrawl, at: usize| (self.values)(rank(crawl)).get(at).copied();
            charts.push((self.chart)(title, crawls.curves(&self.at, self.errors, value, &mut rows)));
            table.rows.extend(rows);
        }
        (charts, table)
    }
}
