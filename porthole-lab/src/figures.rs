//! The figures of the papers, made from the results of an experiment: each is data, drawings, and a sentence on what is
//! seen here beside what the paper saw.

mod apprentice;
mod bounds;
mod evidence;
mod exploration;
mod harvest;
mod learners;
mod links;
mod measured;
mod offsets;
mod purity;
mod robustness;
mod shape;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};

use crate::experiment::{ExperimentError, Results};
use porthole_report::html::{self, Report, Section, Table};
use porthole_report::svg::Chart;

pub use evidence::Evidence;

/// A figure.
#[derive(Clone, Debug, Default)]
pub struct Figure {
    /// The word for it in links and file names.
    pub id: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// Which figure of which paper it is.
    pub paper: &'static str,
    /// What the paper saw.
    pub there: &'static str,
    /// What is seen here, in words.
    pub here: String,
    /// Whether that is what the paper saw.
    pub verdict: Verdict,
    /// The drawings.
    pub charts: Vec<Chart>,
    /// Drawings that are there already, as SVG.
    pub drawings: Vec<String>,
    /// The numbers.
    pub table: Table,
}

/// Whether a claim holds here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// It does.
    Confirmed,
    /// It does not.
    NotConfirmed,
    /// Some parts of it do, and others do not.
    InParts(Vec<(&'static str, bool)>),
    /// This web, or this experiment, cannot tell.
    #[default]
    NotTestable,
}

impl Verdict {
    /// What follows from a claim that holds or does not.
    pub(crate) fn of(holds: bool) -> Self {
        if holds { Verdict::Confirmed } else { Verdict::NotConfirmed }
    }

    /// What follows from a claim of several parts, each of which holds or does not.
    pub(crate) fn of_parts(parts: &[(&'static str, bool)]) -> Self {
        match parts.iter().filter(|(_, holds)| *holds).count() {
            0 => Verdict::NotConfirmed,
            all if all == parts.len() => Verdict::Confirmed,
            _ => Verdict::InParts(parts.to_vec()),
        }
    }

    /// In words.
    pub fn words(&self) -> String {
        match self {
            Verdict::Confirmed => "confirmed".to_owned(),
            Verdict::NotConfirmed => "not confirmed".to_owned(),
            Verdict::NotTestable => "not testable here".to_owned(),
            Verdict::InParts(parts) => {
                let part = |(what, holds): &(&str, bool)| format!("{what}: {}", Verdict::of(*holds).words());
                parts.iter().map(part).collect::<Vec<_>>().join("; ")
            }
        }
    }
}

/// Makes a figure; `None` if the experiment has nothing for it.
type Maker = fn(&Evidence) -> Option<Figure>;

/// All figures, in the order of a report. One more is one more line here.
const FIGURES: &[Maker] = &[
    bounds::compared,
    harvest::by_truth,
    harvest::by_critic,
    harvest::losses,
    harvest::histogram,
    robustness::url_overlap,
    robustness::server_overlap,
    robustness::coverage,
    robustness::smaller_starts,
    robustness::authorities,
    purity::authorities,
    robustness::distances,
    harvest::hubs,
    shape::radius_rules,
    shape::sociology,
    shape::specificity,
    harvest::new_servers,
    exploration::from_examples,
    exploration::fewer_pages,
    exploration::sizes,
    exploration::ranks_from_examples,
    exploration::neighbours::coverage_from_neighbours,
    exploration::neighbours::ranks_from_neighbours,
    exploration::neighbours::blind,
    exploration::neighbours::examples,
    exploration::open::variants,
    exploration::open::topics,
    bounds::recall_crawler,
    apprentice::difficulty,
    links::reach,
    links::window,
    offsets::information,
    offsets::tags,
    links::features,
    learners::kinds,
    learners::training,
    apprentice::overlap,
    apprentice::online,
    links::queue,
    bounds::cost,
    measured::classifier,
    measured::distiller,
];

/// All figures that the results of an experiment have something for.
pub fn figures(results: Results) -> Result<(Evidence, Vec<Figure>), ExperimentError> {
    let evidence = Evidence::read(results)?;
    let all = FIGURES.iter().filter_map(|make| make(&evidence)).collect();
    Ok((evidence, all))
}

/// Writes `report.html` and, in `figures/`, the numbers of each figure as CSV. Where the report is.
pub fn write(results: Results) -> Result<PathBuf, ExperimentError> {
    let (evidence, figures) = figures(results)?;
    let folder = evidence.results.folder();
    let tables = folder.join("figures");
    fs::create_dir_all(&tables).map_err(|source| ExperimentError::File { path: tables.clone(), source })?;
    for figure in &figures {
        keep(&tables.join(format!("{}.csv", figure.id)), &figure.table.to_csv())?;
    }
    let path = folder.join("report.html");
    keep(&path, &report(&evidence, &figures).to_html())?;
    Ok(path)
}

fn keep(path: &Path, text: &str) -> Result<(), ExperimentError> {
    fs::write(path, text).map_err(|source| ExperimentError::File { path: path.to_owned(), source })
}

fn report(evidence: &Evidence, figures: &[Figure]) -> Report {
    let experiment = &evidence.results.experiment;
    let facts = &evidence.results.facts;
    let lead = format!(
        "<p>{} crawls of {} fetches each on {}: {} topics, {} strategies, {} draws of {} start pages. The web has {} \
         pages on {} servers; {} pages have labels, and the critic is trained on {} of them, which do not count. The \
         papers crawled the web of 1999 for thousands of pages: the budget here is scaled to the size of this web.</p>\
         <p>Harvest is by the true labels. R is what a critic says, as in the papers: the one that guides the crawl, or \
         an independent one that was trained on other pages. Intervals hold in 95 of 100 cases, over other topics and \
         starts.</p>",
        evidence.results.outcomes.len(),
        experiment.budget(),
        html::escaped(&evidence.web_name()),
        experiment.topics.len(),
        experiment.strategies.len(),
        experiment.samples,
        experiment.start,
        facts.pages,
        facts.hosts,
        facts.labelled,
        facts.trained,
    );
    Report {
        title: "What the crawls brought".to_owned(),
        lead,
        sections: figures.iter().map(section).collect(),
    }
}

fn section(figure: &Figure) -> Section {
    let mut words = vec![format!("Here: {}", figure.here)];
    if !figure.there.is_empty() {
        words.push(format!("The paper: {} \u{2014} {}.", figure.there, figure.verdict.words()));
    }
    Section {
        id: figure.id.to_owned(),
        title: figure.title.to_owned(),
        note: figure.paper.to_owned(),
        words,
        charts: figure.charts.clone(),
        drawings: figure.drawings.clone(),
        table: figure.table.clone(),
        table_first: figure.charts.is_empty() && figure.drawings.is_empty(),
    }
}
