//! The results folder of an experiment: `results.jsonl`, one line per crawl; `experiment.json` and `web.json`, its
//! definition and web; `traces/`, every fetch of every crawl; one file per study. A crawl is complete if its trace exists,
//! so an interrupted experiment resumes where it stopped.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use xxhash_rust::xxh3::xxh3_64;

use super::facts::WebFacts;
use super::studies::Findings;
use super::trace::{CrawlSummary, Trace};
use super::{CrawlPlan, Experiment, ExperimentError};

/// Results folder of an experiment.
pub struct Folder {
    path: PathBuf,
}

const RESULTS: &str = "results.jsonl";
const EXPERIMENT: &str = "experiment.json";
const WEB: &str = "web.json";
const TRACES: &str = "traces";

impl Folder {
    /// Opens the folder of this experiment, or creates it. Results of another experiment are kept if only topics,
    /// strategies or the number of samples differ; otherwise the folder is rejected.
    pub fn open(path: &Path, experiment: &Experiment) -> Result<Self, ExperimentError> {
        let folder = Folder { path: path.to_owned() };
        let file = path.join(EXPERIMENT);
        if file.exists() {
            let known: Experiment = read_json(&file)?;
            if let Some(what) = differs(&known, experiment) {
                let what = format!(
                    "the folder has results of another experiment with a different {what}: choose another folder with --out"
                );
                return Err(ExperimentError::Folder { path: path.to_owned(), what });
            }
        }
        let traces = path.join(TRACES);
        fs::create_dir_all(&traces).map_err(|source| ExperimentError::File { path: traces, source })?;
        folder.write(EXPERIMENT, &json(experiment, &file)?)?;
        Ok(folder)
    }

    /// Summary of a crawl, if it is complete.
    pub(super) fn outcome(&self, plan: &CrawlPlan) -> Option<CrawlSummary> {
        let text = fs::read_to_string(self.path.join(trace_name(plan))).ok()?;
        Trace::parse_outcome(&text)
    }

    /// Stores a crawl, atomically.
    pub(super) fn keep(&self, trace: &Trace) -> Result<(), ExperimentError> {
        let CrawlSummary { topic, strategy, sample, .. } = &trace.outcome;
        let plan = CrawlPlan { topic: topic.clone(), strategy: strategy.clone(), sample: *sample };
        let name = trace_name(&plan);
        let text = trace.to_text().map_err(|error| self.wrong(&name, &error.to_string()))?;
        self.write(&name, &text)
    }

    /// Writes the summaries of all crawls.
    pub(super) fn finish(&self, outcomes: &[CrawlSummary], facts: &WebFacts) -> Result<(), ExperimentError> {
        let line = |outcome: &CrawlSummary| {
            json_line(outcome).map_err(|error| self.wrong(RESULTS, &error.to_string()))
        };
        let lines = outcomes.iter().map(line).collect::<Result<String, _>>()?;
        self.write(WEB, &json(facts, &self.path.join(WEB))?)?;
        self.write(RESULTS, &lines)
    }

    /// Whether a study is complete.
    pub(super) fn has(&self, study: &str) -> bool {
        self.path.join(study_name(study)).exists()
    }

    /// Stores a study: its drawing first, then its numbers, whose presence marks it complete.
    pub(super) fn keep_study(&self, name: &str, found: &Findings) -> Result<(), ExperimentError> {
        if let Some(drawing) = &found.drawing {
            self.write(&format!("{name}.svg"), drawing)?;
        }
        self.write(&study_name(name), &found.numbers)
    }

    /// Reads the results so far.
    pub(super) fn results(&self) -> Result<Results, ExperimentError> {
        Results::read(&self.path)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), ExperimentError> {
        let path = self.path.join(name);
        let part = path.with_extension("part");
        fs::write(&part, text)
            .and_then(|()| fs::rename(&part, &path))
            .map_err(|source| ExperimentError::File { path, source })
    }

    fn wrong(&self, name: &str, what: &str) -> ExperimentError {
        ExperimentError::Folder { path: self.path.join(name), what: what.to_owned() }
    }
}

/// The results of an experiment, read from a folder.
pub struct Results {
    /// The experiment.
    pub experiment: Experiment,
    /// Facts about the web.
    pub facts: WebFacts,
    /// Summary of each crawl.
    pub outcomes: Vec<CrawlSummary>,
    folder: PathBuf,
}

impl Results {
    /// Reads a folder.
    pub fn read(path: &Path) -> Result<Self, ExperimentError> {
        let file = path.join(RESULTS);
        if !file.exists() {
            let what =
                "no results here: create them with `porthole lab run EXPERIMENT.toml --out DIR`".to_owned();
            return Err(ExperimentError::Folder { path: file, what });
        }
        let text = read(&file)?;
        let outcome = |(at, line): (usize, &str)| {
            let wrong = |error: serde_json::Error| ExperimentError::Folder {
                path: file.clone(),
                what: format!("line {}: {error}", at + 1),
            };
            serde_json::from_str(line).map_err(wrong)
        };
        Ok(Results {
            experiment: read_json(&path.join(EXPERIMENT))?,
            facts: read_json(&path.join(WEB))?,
            outcomes: text.lines().enumerate().map(outcome).collect::<Result<_, _>>()?,
            folder: path.to_owned(),
        })
    }

    /// All fetches of one crawl.
    pub fn trace(&self, topic: &str, strategy: &str, sample: u32) -> Result<Trace, ExperimentError> {
        let plan = CrawlPlan { topic: topic.to_owned(), strategy: strategy.to_owned(), sample };
        let file = self.folder.join(trace_name(&plan));
        let text = read(&file)?;
        let what = "not a trace: run the experiment again".to_owned();
        Trace::parse(&text).ok_or(ExperimentError::Folder { path: file, what })
    }

    /// The numbers of a study, if it is complete.
    pub fn study<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, ExperimentError> {
        let file = self.folder.join(study_name(name));
        if file.exists() { read_json(&file).map(Some) } else { Ok(None) }
    }

    /// The results folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// The first setting that differs between two experiments so that their crawls cannot be mixed.
fn differs(known: &Experiment, asked: &Experiment) -> Option<&'static str> {
    let fields = [
        ("web", known.web == asked.web),
        ("start", known.start == asked.start),
        ("train", known.train == asked.train),
        ("seed", known.seed == asked.seed),
        ("at", known.at == asked.at),
        ("general", known.general == asked.general),
        ("shape", known.shape == asked.shape),
    ];
    fields.into_iter().find(|(_, is_same)| !is_same).map(|(name, _)| name)
}

fn study_name(study: &str) -> String {
    format!("{study}.json")
}

/// File name of a trace: readable, and unique for the plan.
fn trace_name(plan: &CrawlPlan) -> String {
    let plain = |text: &str| {
        text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect::<String>()
    };
    let topic = plan.topic.rsplit('/').next().unwrap_or_default();
    let all = format!("{}\t{}", plan.topic, plan.strategy);
    let CrawlPlan { strategy, sample, .. } = plan;
    format!(
        "{TRACES}/{}.{}.{sample}.{:08x}.tsv",
        plain(topic),
        plain(strategy),
        xxh3_64(all.as_bytes()) as u32
    )
}

fn json(value: &impl Serialize, path: &Path) -> Result<String, ExperimentError> {
    let wrong =
        |error: serde_json::Error| ExperimentError::Folder { path: path.to_owned(), what: error.to_string() };
    serde_json::to_string_pretty(value).map(|text| text + "\n").map_err(wrong)
}

fn json_line(value: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string(value).map(|line| line + "\n")
}

fn read(path: &Path) -> Result<String, ExperimentError> {
    fs::read_to_string(path).map_err(|source| ExperimentError::File { path: path.to_owned(), source })
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, ExperimentError> {
    let wrong =
        |error: serde_json::Error| ExperimentError::Folder { path: path.to_owned(), what: error.to_string() };
    serde_json::from_str(&read(path)?).map_err(wrong)
}
