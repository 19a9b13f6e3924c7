//! The figures of the papers, made from the results of an experiment: each has data, charts, and a sentence that
//! compares the result with the paper's.

mod apprentice;
mod bounds;
mod distance;
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
mod time;

use std::fs;
use std::path::{Path, PathBuf};

use crate::experiment::{ExperimentError, Results};
use porthole_report::html::{self, HtmlReport, HtmlTable, Section};
use porthole_report::svg::Chart;

pub use evidence::TracedResults;

/// A figure.
#[derive(Clone, Debug, Default)]
pub struct Figure {
    /// Identifier in links and file names.
    pub id: &'static str,
    /// Title.
    pub title: &'static str,
    /// Which figure of which paper it is, by the keys of docs/papers.md.
    pub paper: &'static str,
    /// Result of the paper.
    pub there: &'static str,
    /// Result of this experiment.
    pub here: String,
    /// Whether the result agrees with the paper's.
    pub verdict: ClaimVerdict,
    /// Charts to draw.
    pub charts: Vec<Chart>,
    /// Existing drawings, as SVG.
    pub drawings: Vec<String>,
    /// The numbers.
    pub table: HtmlTable,
}

/// Whether a claim is confirmed by the experiment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ClaimVerdict {
    /// The claim holds.
    Confirmed,
    /// The claim does not hold.
    NotConfirmed,
    /// Some parts hold, others do not.
    InParts(Vec<(&'static str, bool)>),
    /// This web or experiment cannot test the claim.
    #[default]
    NotTestable,
}

impl ClaimVerdict {
    /// Verdict on a single claim.
    pub(crate) fn of(holds: bool) -> Self {
        if holds { ClaimVerdict::Confirmed } else { ClaimVerdict::NotConfirmed }
    }

    /// Verdict on a claim of several parts.
    pub(crate) fn of_parts(parts: &[(&'static str, bool)]) -> Self {
        match parts.iter().filter(|(_, holds)| *holds).count() {
            0 => ClaimVerdict::NotConfirmed,
            all if all == parts.len() => ClaimVerdict::Confirmed,
            _ => ClaimVerdict::InParts(parts.to_vec()),
        }
    }

    /// The verdict as text.
    pub fn words(&self) -> String {
        match self {
            ClaimVerdict::Confirmed => "confirmed".to_owned(),
            ClaimVerdict::NotConfirmed => "not confirmed".to_owned(),
            ClaimVerdict::NotTestable => "not testable here".to_owned(),
            ClaimVerdict::InParts(parts) => {
                let part =
                    |(what, holds): &(&str, bool)| format!("{what}: {}", ClaimVerdict::of(*holds).words());
                parts.iter().map(part).collect::<Vec<_>>().join("; ")
            }
        }
    }
}

/// Makes a figure; `None` if the experiment has no data for it.
type FigureMaker = fn(&TracedResults) -> Option<Figure>;

/// All figures, in the order of a report. To add one, add a line.
const FIGURES: &[FigureMaker] = &[
    bounds::compared,
    distance::parts,
    harvest::by_truth,
    time::relevant_pages,
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
    shape::mixing,
    shape::hypertext,
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

/// All figures that the results of an experiment have data for.
pub fn figures(results: Results) -> Result<(TracedResults, Vec<Figure>), ExperimentError> {
    let evidence = TracedResults::read(results)?;
    let all = FIGURES.iter().filter_map(|make| make(&evidence)).collect();
    Ok((evidence, all))
}

/// Writes `report.html`, and the numbers of each figure as CSV in `figures/`. Returns the path of the report.
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

fn report(evidence: &TracedResults, figures: &[Figure]) -> HtmlReport {
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
    HtmlReport {
        title: "Results of the crawls".to_owned(),
        lead,
        sections: figures.iter().map(section).collect(),
    }
}

/// A citation for people who do not know the keys of docs/papers.md: `W Fig. 5` is Fig. 5 of the first paper.
fn cited(keys: &str) -> String {
    let one = |key: &str| {
        let (letter, place) = key.split_once(' ').unwrap_or((key, ""));
        let paper = match letter {
            "W" => "Chakrabarti et al. 1999, WWW8",
            "V" => "Chakrabarti et al. 1999, VLDB",
            "P" => "Pant et al. 2002",
            _ => "Chakrabarti et al. 2002",
        };
        let place = if place.starts_with("Fig") { place.to_owned() } else { format!("section {place}") };
        format!("{paper}, {place}")
    };
    keys.split("; ").filter(|key| !key.is_empty()).map(one).collect::<Vec<_>>().join("; ")
}

fn section(figure: &Figure) -> Section {
    let mut words = vec![format!("Here: {}", figure.here)];
    if !figure.there.is_empty() {
        words.push(format!("The paper: {} \u{2014} {}.", figure.there, figure.verdict.words()));
    }
    Section {
        id: figure.id.to_owned(),
        title: figure.title.to_owned(),
        note: cited(figure.paper),
        words,
        charts: figure.charts.clone(),
        drawings: figure.drawings.clone(),
        table: figure.table.clone(),
        table_first: figure.charts.is_empty() && figure.drawings.is_empty(),
    }
}
