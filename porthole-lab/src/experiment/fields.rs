//! The definition of an experiment in a file or flags, and its validation.

use std::path::{Path, PathBuf};

use porthole_topic::ClassifierShape;
use serde::Deserialize;

use super::neighbours;
use super::plan::StrategyName;
use super::studies;
use super::{Experiment, ExperimentError, ExperimentWeb, Pace};
use porthole_webs::synth::SynthParams;

/// Fields of an experiment, all optional.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fields {
    /// The web.
    pub web: Option<WebField>,
    /// The labels of a recorded web.
    pub labels: Option<PathBuf>,
    /// See [`Experiment::topics`].
    pub topics: Option<Vec<String>>,
    /// See [`Experiment::strategies`].
    pub strategies: Option<Vec<String>>,
    /// See [`Experiment::samples`].
    pub samples: Option<u32>,
    /// See [`Experiment::start`].
    pub start: Option<usize>,
    /// See [`Experiment::train`].
    pub train: Option<f64>,
    /// See [`Experiment::seed`].
    pub seed: Option<u64>,
    /// See [`Experiment::at`].
    pub at: Option<Vec<u64>>,
    /// See [`Experiment::servers`].
    pub servers: Option<bool>,
    /// See [`Experiment::general`].
    pub general: Option<bool>,
    /// See [`Experiment::shape`].
    pub shape: Option<String>,
    /// See [`Experiment::studies`].
    pub studies: Option<Vec<String>>,
    /// See [`Experiment::pace`].
    pub pace: Option<Pace>,
}

/// The web of an experiment's definition.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "toml::Value")]
pub enum WebField {
    /// A WARC file, or a file with the parameters of a synthetic web whose name ends in `.toml`.
    File(PathBuf),
    /// The parameters of a synthetic web, inline in an experiment file.
    Parameters(toml::Value),
}

impl From<toml::Value> for WebField {
    fn from(value: toml::Value) -> Self {
        match value {
            toml::Value::String(path) => WebField::File(path.into()),
            other => WebField::Parameters(other),
        }
    }
}

impl Fields {
    /// Reads an experiment file. Relative paths are resolved against its folder.
    pub fn read(path: &Path) -> Result<Self, ExperimentError> {
        let mut fields: Fields = parse(path)?;
        let folder = path.parent().unwrap_or(Path::new("."));
        if let Some(WebField::File(web)) = &mut fields.web {
            *web = folder.join(&web);
        }
        fields.labels = fields.labels.map(|labels| folder.join(labels));
        Ok(fields)
    }

    /// These fields, with those of `other` where one is missing.
    pub fn or(self, other: Fields) -> Fields {
        // Labels belong to their web.
        let labels = if self.web.is_some() { self.labels } else { self.labels.or(other.labels) };
        Fields {
            web: self.web.or(other.web),
            labels,
            topics: self.topics.or(other.topics),
            strategies: self.strategies.or(other.strategies),
            samples: self.samples.or(other.samples),
            start: self.start.or(other.start),
            train: self.train.or(other.train),
            seed: self.seed.or(other.seed),
            at: self.at.or(other.at),
            servers: self.servers.or(other.servers),
            general: self.general.or(other.general),
            shape: self.shape.or(other.shape),
            studies: self.studies.or(other.studies),
            pace: self.pace.or(other.pace),
        }
    }

    /// Validates the fields. `from` names their source in error messages.
    pub fn check(self, from: &str) -> Result<Experiment, ExperimentError> {
        let wrong = |what: String| ExperimentError::Wrong { from: from.to_owned(), what };
        let missing = |what: &str| wrong(format!("{what} is missing: set it in the file, or with --{what}"));
        let web = match self.web.ok_or_else(|| missing("web"))? {
            WebField::File(path) if path.extension().is_some_and(|end| end == "toml") => {
                synthetic(parse(&path)?)?
            }
            WebField::File(pages) => ExperimentWeb::Recorded {
                pages,
                labels: self.labels.clone().ok_or_else(|| missing("labels"))?,
            },
            WebField::Parameters(value) => {
                let params = value.try_into();
                synthetic(
                    params.map_err(|error: toml::de::Error| wrong(format!("web: {}", error.message())))?,
                )?
            }
        };
        if matches!(web, ExperimentWeb::Synthetic(_)) && self.labels.is_some() {
            return Err(wrong(
                "labels are given, but a synthetic web knows its own: leave them out".to_owned(),
            ));
        }
        let mut at = self.at.unwrap_or_else(|| vec![50, 100, 200, 500]);
        at.sort_unstable();
        at.dedup();
        let experiment = Experiment {
            web,
            topics: self.topics.ok_or_else(|| missing("topics"))?,
            strategies: self.strategies.ok_or_else(|| missing("strategies"))?,
            samples: self.samples.unwrap_or(5),
            start: self.start.unwrap_or(3),
            train: self.train.unwrap_or(0.25),
            seed: self.seed.unwrap_or(1),
            at,
            servers: self.servers.unwrap_or(true),
            general: self.general.unwrap_or(false),
            shape: self.shape.unwrap_or_else(default_shape),
            studies: self.studies.unwrap_or_default(),
            pace: self.pace,
        };
        experiment.check().map_err(wrong)?;
        Ok(experiment)
    }
}

/// Default shape of the critic.
pub(super) fn default_shape() -> String {
    ClassifierShape::default().name().to_owned()
}

fn parse<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, ExperimentError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| ExperimentError::File { path: path.to_owned(), source })?;
    let wrong = |error: toml::de::Error| ExperimentError::Wrong {
        from: path.display().to_string(),
        what: error.to_string(),
    };
    toml::from_str(&text).map_err(wrong)
}

fn synthetic(params: SynthParams) -> Result<ExperimentWeb, ExperimentError> {
    params.validate()?;
    Ok(ExperimentWeb::Synthetic(Box::new(params)))
}

impl Experiment {
    /// Maximum number of start pages of a strategy.
    fn most_starts(&self, name: &StrategyName) -> usize {
        if name.neighbours { neighbours::DRAWN } else { self.start }
    }

    /// Shape of the guiding critic.
    pub(super) fn shape(&self) -> ClassifierShape {
        ClassifierShape::ALL.into_iter().find(|shape| shape.name() == self.shape).unwrap_or_default()
    }

    fn check(&self) -> Result<(), String> {
        for (what, is_empty) in [
            ("topics", self.topics.is_empty()),
            ("strategies", self.strategies.is_empty()),
            ("at", self.budget() == 0),
            ("samples", self.samples == 0),
            ("start", self.start == 0),
        ] {
            if is_empty {
                return Err(format!("{what} must not be empty or 0"));
            }
        }
        if !(self.train > 0.0 && self.train < 1.0) {
            return Err(format!("train = {} is not a share: give a number between 0 and 1", self.train));
        }
        if !ClassifierShape::ALL.iter().any(|shape| shape.name() == self.shape) {
            let all = ClassifierShape::ALL.map(ClassifierShape::name).join(", ");
            return Err(format!("shape = {} is unknown: one of {all}", self.shape));
        }
        for (what, names) in
            [("topics", &self.topics), ("strategies", &self.strategies), ("studies", &self.studies)]
        {
            if let Some(twice) = (1..names.len()).find(|&at| names[..at].contains(&names[at])) {
                return Err(format!("{what} has {} twice", names[twice]));
            }
        }
        self.pace.as_ref().map_or(Ok(()), Pace::check)?;
        self.studies.iter().try_for_each(|name| studies::find(name).map(drop))?;
        for name in &self.strategies {
            let name: StrategyName = name.parse()?;
            if let Some(starts) = name.starts
                && !(1..=self.most_starts(&name)).contains(&starts)
            {
                let most = self.most_starts(&name);
                return Err(format!("{name} starts from {starts} pages, and start is {most}"));
            }
        }
        Ok(())
    }
}
