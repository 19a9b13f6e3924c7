//! Studies: measurements of an experiment other than its crawls, which store their numbers and a chart in its folder.

use rayon::prelude::*;
use serde::Serialize;

use super::apprentice;
use super::folder::{Folder, Results};
use super::hypertext;
use super::learners;
use super::mixing;
use super::ranks;
use super::run::PreparedExperiment;
use super::trace::FetchStep;
use super::{CrawlPlan, Experiment, ExperimentError};
use crate::{classifier_bench, distiller_bench};

/// All studies. To add one, add a line; figures read its results as `NAME.json` and `NAME.svg`.
const STUDIES: &[StudyKind] = &[
    StudyKind { name: "classifier", make: classifier, follows: false },
    StudyKind { name: "distiller", make: distiller, follows: false },
    StudyKind { name: ranks::NAME, make: ranks::study, follows: true },
    StudyKind { name: apprentice::NAME, make: apprentice::study, follows: true },
    StudyKind { name: hypertext::NAME, make: hypertext::study, follows: false },
    StudyKind { name: mixing::NAME, make: mixing::study, follows: false },
    StudyKind { name: learners::NAME, make: learners::study, follows: true },
];

/// A study.
pub(super) struct StudyKind {
    /// Name in experiments.
    name: &'static str,
    make: Make,
    /// Whether it depends on the crawls: then it is repeated whenever they may have changed. Others run once.
    follows: bool,
}

/// Runs a study, from the crawls' results if it needs them; the callback gets a description of each step.
type Make = fn(&PreparedExperiment, &Results, &mut dyn FnMut(&str)) -> Result<Findings, ExperimentError>;

/// Results of a study.
pub(super) struct Findings {
    /// The numbers, as JSON.
    pub(super) numbers: String,
    /// An SVG, if no figure draws the numbers.
    pub(super) drawing: Option<String>,
}

impl Findings {
    /// The numbers of a study that figures draw.
    pub(super) fn of_numbers(
        name: &'static str,
        numbers: &impl Serialize,
    ) -> Result<Findings, ExperimentError> {
        let failed = |error: serde_json::Error| ExperimentError::Study { name, source: error.into() };
        Ok(Findings { numbers: serde_json::to_string_pretty(numbers).map_err(failed)?, drawing: None })
    }
}

/// The study with a name; the error lists all names.
pub(super) fn find(name: &str) -> Result<&'static StudyKind, String> {
    STUDIES.iter().find(|study| study.name == name).ok_or_else(|| {
        let names: Vec<&str> = STUDIES.iter().map(|study| study.name).collect();
        format!("there is no study {name:?}; there are {}", names.join(", "))
    })
}

impl PreparedExperiment {
    /// Runs the studies that the folder does not have yet, one after the other and after all crawls, because some
    /// measure time; `tell` is called with a description of each step.
    pub fn study(&self, folder: &Folder, tell: &mut dyn FnMut(&str)) -> Result<(), ExperimentError> {
        let Experiment { studies, .. } = self.experiment();
        let studies = studies.iter().map(|name| find(name).expect("the experiment was checked"));
        studies.into_iter().try_for_each(|study| study.made(self, folder, tell))
    }

    /// Applies `make` to the baseline's first crawl of each topic; `tell` is called with `what`.
    pub(super) fn of_baseline<T: Send>(
        &self,
        results: &Results,
        what: &str,
        tell: &mut dyn FnMut(&str),
        make: impl Fn(&CrawlPlan, &[FetchStep]) -> T + Sync,
    ) -> Result<Vec<T>, ExperimentError> {
        let baseline = self.experiment().baseline();
        let is_first = |plan: &CrawlPlan| plan.strategy == baseline && plan.sample == 0;
        let plans: Vec<CrawlPlan> = self.experiment().plans().into_iter().filter(is_first).collect();
        tell(&format!("{what}, in {} crawls of {baseline}", plans.len()));
        let made = plans.par_iter().map(|plan| {
            let trace = results.trace(&plan.topic, &plan.strategy, plan.sample)?;
            Ok(make(plan, &trace.steps))
        });
        made.collect()
    }
}

impl StudyKind {
    fn made(
        &self,
        lab: &PreparedExperiment,
        folder: &Folder,
        tell: &mut dyn FnMut(&str),
    ) -> Result<(), ExperimentError> {
        if folder.has(self.name) && !self.follows {
            return Ok(());
        }
        let found =
            (self.make)(lab, &folder.results()?, &mut |what| tell(&format!("{}: {what}", self.name)))?;
        folder.keep_study(self.name, &found)
    }
}

/// V Fig. 8 (a) to (c).
fn classifier(
    lab: &PreparedExperiment,
    _: &Results,
    tell: &mut dyn FnMut(&str),
) -> Result<Findings, ExperimentError> {
    let failed = |source| ExperimentError::Study { name: "classifier", source };
    let setup = classifier_bench::ClassifierSetup {
        seed: lab.experiment().seed,
        ..classifier_bench::ClassifierSetup::USUAL
    };
    let figures = setup.run(None, tell).map_err(|error| failed(error.into()))?;
    let numbers = serde_json::to_string_pretty(&figures).map_err(|error| failed(error.into()))?;
    Ok(Findings { numbers, drawing: Some(figures.svg()) })
}

/// V Fig. 8 (d).
fn distiller(
    lab: &PreparedExperiment,
    _: &Results,
    tell: &mut dyn FnMut(&str),
) -> Result<Findings, ExperimentError> {
    let failed = |source| ExperimentError::Study { name: "distiller", source };
    let setup = distiller_bench::DistillerSetup {
        seed: lab.experiment().seed,
        ..distiller_bench::DistillerSetup::USUAL
    };
    let figures = pollster::block_on(setup.run(None, tell)).map_err(|error| failed(error.into()))?;
    let numbers = serde_json::to_string_pretty(&figures).map_err(|error| failed(error.into()))?;
    Ok(Findings { numbers, drawing: Some(figures.svg()) })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::experiment::Fields;

    static MADE: AtomicU32 = AtomicU32::new(0);

    fn counting(
        _: &PreparedExperiment,
        results: &Results,
        tell: &mut dyn FnMut(&str),
    ) -> Result<Findings, ExperimentError> {
        tell("counting");
        let made = MADE.fetch_add(1, Ordering::Relaxed);
        let numbers = format!("[{made}, {}]", results.outcomes.len());
        Ok(Findings { numbers, drawing: Some("<svg/>".to_owned()) })
    }

    #[test]
    fn a_study_runs_once_unless_it_depends_on_the_crawls() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("small.toml");
        let text = "topics = [\"/Home/Gardening\"]\nstrategies = [\"soft\"]\nsamples = 1\nstart = 2\ntrain = 0.1\n\
                    at = [5]\n[web]\npages = 500\npage_bytes = 1000\n";
        fs::write(&file, text).unwrap();
        let experiment = Fields::read(&file).unwrap().check("small.toml").unwrap();
        let out = folder.path().join("out");
        let kept = Folder::open(&out, &experiment).unwrap();
        let lab = PreparedExperiment::new(experiment).unwrap();
        lab.run(Some(&kept), 1, &|_| {}).unwrap();
        let once = StudyKind { name: "once", make: counting, follows: false };
        let follows = StudyKind { name: "follows", make: counting, follows: true };
        let mut steps = Vec::new();
        for study in [&once, &once, &follows, &follows] {
            study.made(&lab, &kept, &mut |what| steps.push(what.to_owned())).unwrap();
        }
        assert_eq!(steps, ["once: counting", "follows: counting", "follows: counting"]);
        let read = |name: &str| fs::read_to_string(out.join(name)).unwrap();
        assert_eq!((read("once.json"), read("follows.json")), ("[0, 1]".to_owned(), "[2, 1]".to_owned()));
        assert_eq!(read("once.svg"), "<svg/>");
    }
}
