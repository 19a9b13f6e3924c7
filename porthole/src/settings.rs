//! porthole.toml: as it is written ([`RawSettings`]), and as it is used ([`TrainSettings`]).

use std::time::Duration;

use anyhow::Context;
use clap::ValueEnum;
use porthole_crawl::{
    AllowedAddresses, BacklinkSettings, HttpSettings, HttpSettingsError, Politeness, SiteBy,
};
use porthole_topic::{ClassifierShape, ModelKind, TermCounting, TrainingOptions};
use serde::{Deserialize, Serialize};

use crate::output::misuse;

/// The settings as they stand in the file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawSettings {
    #[serde(default)]
    pub(crate) train: RawTrain,
    #[serde(default)]
    pub(crate) fetch: RawFetch,
    #[serde(default)]
    pub(crate) polite: RawPolite,
    #[serde(default)]
    pub(crate) distill: RawDistill,
    pub(crate) backlinks: Option<RawBacklinks>,
}

/// Who is asked about pages that link to good ones.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawBacklinks {
    /// With `{url}` in place of the page.
    pub(crate) url: String,
    /// The R from which on a page is asked about.
    pub(crate) relevance: Option<f64>,
    /// Links that are taken of an answer.
    pub(crate) links: Option<usize>,
    /// Pages that are asked about in all.
    pub(crate) pages: Option<u64>,
}

/// How hubs and authorities are found, as far as anything is said about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawDistill {
    /// What counts as one site.
    #[serde(default)]
    pub(crate) site: SiteWord,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SiteWord {
    /// Host and port
    #[default]
    Host,
    /// The registrable domain, such as bbc.co.uk for news.bbc.co.uk
    Domain,
    /// The address that the crawl found the host at
    Ip,
}

/// How one behaves towards sites, as far as anything is said about it; times in seconds.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawPolite {
    pub(crate) delay: Option<f64>,
    pub(crate) delay_factor: Option<u32>,
    pub(crate) longest_delay: Option<f64>,
    pub(crate) longest_crawl_delay: Option<f64>,
    pub(crate) connections: Option<u32>,
    pub(crate) per_address: Option<bool>,
}

/// How to reach the web, as far as anything is said about it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawFetch {
    /// How the people who run servers reach the one who crawls.
    pub(crate) contact: Option<String>,
    /// `http://` or `socks5://`.
    pub(crate) proxy: Option<String>,
    /// Whether this machine may be crawled.
    pub(crate) loopback: Option<bool>,
}

/// How to train, as far as anything is said about it; also what the command line says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawTrain {
    pub(crate) critic: Option<CriticWord>,
    pub(crate) shape: Option<ShapeWord>,
    pub(crate) counting: Option<CountingWord>,
    pub(crate) smoothing: Option<f64>,
    pub(crate) features: Option<usize>,
    pub(crate) calibrate: Option<bool>,
    pub(crate) folds: Option<usize>,
    /// Pages of the crawl that stand for what is about no topic.
    pub(crate) background: Option<usize>,
}

/// Pages of the crawl that stand for what is about no topic, if nothing else is said.
const BACKGROUND: usize = 300;

/// How to train, checked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TrainSettings {
    pub(crate) critic: ModelKind,
    pub(crate) options: TrainingOptions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CriticWord {
    /// Multinomial naive Bayes
    NaiveBayes,
    /// Logistic regression
    Logistic,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ShapeWord {
    /// At every topic, which of those below it
    Tree,
    /// All topics with examples at once
    Flat,
    /// Good topics against all others
    TwoClass,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CountingWord {
    /// Each occurrence
    Each,
    /// Once a page, however often it occurs
    Once,
    /// Its share of the page: long examples count no more than short ones
    Share,
}

/// What a new workspace has as its porthole.toml.
pub(crate) const TEMPLATE: &str = r#"# Settings of this workspace. What is commented out shows the default.

[train]
# critic = "naive-bayes"   # or "logistic"
# shape = "tree"           # at every topic, which of those below it; or "flat": all topics at once;
                           # or "two-class": good topics against all others
# counting = "each"        # what an occurrence of a term counts: "each", "once" a page, or its "share" of
                           # the page; chosen by cross-validation if not given
# smoothing = 1.0          # what is added to every count; chosen by cross-validation if not given
# features = 5000          # terms that take part at each node; chosen by cross-validation if not given
# calibrate = true         # temper decisions, which are too sure of themselves on long pages
# folds = 5                # parts of a cross-validation
# background = 300         # pages of the crawl that stand for what is about no topic, at most; 0: none

[fetch]
# contact = "you@example.org"   # how the people who run servers reach you; needed for the open web
# proxy = "socks5://127.0.0.1:9050"   # or "http://…"; everything goes through it
# loopback = false              # whether this machine may be crawled

[polite]
# delay = 2.0                   # seconds between two requests to a site, at least
# delay-factor = 5              # or so many times what its last answer took, if that is more
# longest-delay = 30.0          # but no longer than this
# longest-crawl-delay = 60.0    # the Crawl-delay of a robots.txt is obeyed up to this
# connections = 1               # requests to a site that may be under way at once
# per-address = true            # sites on one machine share its pauses

[distill]
# site = "host"                 # links within a site say nothing of hubs and authorities: one "host", all of a
                                # "domain", or all at one "ip" address

# [backlinks]
# url = "http://…/?url={url}"   # answers with the URLs of pages that link to a page, as a JSON array or a line each;
                                # nobody is asked if it is not given
# relevance = 0.5               # pages from this R on are asked about
# links = 20                    # links that are taken of an answer, at most
# pages = 100                   # pages that are asked about in a crawl, at most
"#;

impl RawSettings {
    /// The settings in the text of a file.
    pub(crate) fn parse(text: &str) -> anyhow::Result<Self> {
        toml::from_str(text).map_err(|error| misuse(error.to_string().trim_end()))
    }
}

impl RawPolite {
    /// The settings to work with, or what is wrong with them.
    pub(crate) fn ready(&self) -> anyhow::Result<Politeness> {
        let defaults = Politeness::default();
        let seconds = |name: &str, value: Option<f64>, default: Duration| match value {
            None => Ok(default),
            Some(value) => Duration::try_from_secs_f64(value)
                .map_err(|_| misuse(format!("[polite] {name} = {value}: seconds are needed, 0 or more"))),
        };
        if self.connections == Some(0) {
            return Err(misuse("[polite] connections = 0: nothing could be fetched"));
        }
        Ok(Politeness {
            min_delay: seconds("delay", self.delay, defaults.min_delay)?,
            delay_factor: self.delay_factor.unwrap_or(defaults.delay_factor),
            max_delay: seconds("longest-delay", self.longest_delay, defaults.max_delay)?,
            max_crawl_delay: seconds(
                "longest-crawl-delay",
                self.longest_crawl_delay,
                defaults.max_crawl_delay,
            )?,
            in_flight: self.connections.unwrap_or(defaults.in_flight),
            per_ip: self.per_address.unwrap_or(defaults.per_ip),
            ..defaults
        })
    }
}

impl RawBacklinks {
    /// The settings to work with, or what is wrong with them.
    pub(crate) fn ready(&self) -> anyhow::Result<BacklinkSettings> {
        let usual =
            BacklinkSettings::new(&self.url).map_err(|why| misuse(format!("[backlinks] url = {why}")))?;
        Ok(BacklinkSettings {
            relevance: self.relevance.unwrap_or(usual.relevance),
            links: self.links.unwrap_or(usual.links),
            pages: self.pages.unwrap_or(usual.pages),
            ..usual
        })
    }
}

impl RawFetch {
    /// The settings to work with, or what is wrong with them.
    pub(crate) fn ready(&self) -> anyhow::Result<HttpSettings> {
        let is_loopback = self.loopback == Some(true);
        if self.contact.is_none() && !is_loopback {
            return Err(misuse(
                "who crawls the open web says who they are: set `contact` under [fetch] in porthole.toml, a mail \
                 address or a URL; or replay a recorded web with --web FILE.warc.gz",
            ));
        }
        let proxy = self.proxy.as_ref().map(|proxy| proxy.parse()).transpose();
        let proxy = proxy.map_err(|error: HttpSettingsError| misuse(error.to_string()))?;
        let allow = if is_loopback { AllowedAddresses::loopback() } else { AllowedAddresses::default() };
        Ok(HttpSettings { contact: self.contact.clone(), allow, proxy, ..HttpSettings::default() })
    }
}

impl RawFetch {
    /// The same, and nobody but this machine can be reached.
    pub(crate) fn ready_for_loopback(&self) -> anyhow::Result<HttpSettings> {
        let settings = self.ready();
        let is_elsewhere = settings
            .as_ref()
            .is_ok_and(|settings| settings.proxy.as_ref().is_some_and(|proxy| !proxy.is_loopback()));
        if self.loopback != Some(true) || is_elsewhere {
            return Err(misuse(
                "`--polite off` is for this machine alone: set `loopback = true` and no `proxy` elsewhere under \
                 [fetch] in porthole.toml, or replay a recorded web with --web FILE.warc.gz",
            ));
        }
        let settings = settings?;
        // Without a contact the open web is out of reach; a proxy wants one, and the crawl is confined otherwise.
        let contact = settings.proxy.is_some().then(|| "nobody@localhost".to_owned());
        Ok(HttpSettings { contact, ..settings })
    }
}

impl RawTrain {
    /// These settings, and where they say nothing, those.
    pub(crate) fn or(self, other: RawTrain) -> RawTrain {
        RawTrain {
            critic: self.critic.or(other.critic),
            shape: self.shape.or(other.shape),
            counting: self.counting.or(other.counting),
            smoothing: self.smoothing.or(other.smoothing),
            features: self.features.or(other.features),
            calibrate: self.calibrate.or(other.calibrate),
            folds: self.folds.or(other.folds),
            background: self.background.or(other.background),
        }
    }

    /// How many pages of the crawl may stand for what is about no topic.
    pub(crate) fn background(&self) -> usize {
        self.background.unwrap_or(BACKGROUND)
    }

    /// The settings to work with, or what is wrong with them.
    pub(crate) fn ready(&self) -> anyhow::Result<TrainSettings> {
        self.check().context("settings for training")?;
        let defaults = TrainingOptions::default();
        let options = TrainingOptions {
            shape: self.shape.map_or(defaults.shape, ShapeWord::shape),
            counting: self.counting.map(CountingWord::counting),
            smoothing: self.smoothing,
            features: self.features,
            calibrate: self.calibrate.unwrap_or(defaults.calibrate),
            folds: self.folds.unwrap_or(defaults.folds),
            ..defaults
        };
        Ok(TrainSettings { critic: self.critic.map_or(ModelKind::NaiveBayes, CriticWord::kind), options })
    }

    fn check(&self) -> anyhow::Result<()> {
        if let Some(smoothing) = self.smoothing
            && !(smoothing.is_finite() && smoothing > 0.0)
        {
            return Err(misuse(format!("smoothing has to be more than 0, not {smoothing}")));
        }
        if self.features == Some(0) {
            return Err(misuse("features has to be at least 1"));
        }
        match self.folds {
            Some(folds) if !(2..=100).contains(&folds) => {
                Err(misuse(format!("folds has to be from 2 to 100, not {folds}")))
            }
            _ => Ok(()),
        }
    }
}

impl SiteWord {
    pub(crate) fn by(self) -> SiteBy {
        match self {
            SiteWord::Host => SiteBy::Host,
            SiteWord::Domain => SiteBy::Domain,
            SiteWord::Ip => SiteBy::Address,
        }
    }
}

impl CriticWord {
    fn kind(self) -> ModelKind {
        match self {
            CriticWord::NaiveBayes => ModelKind::NaiveBayes,
            CriticWord::Logistic => ModelKind::Logistic,
        }
    }
}

impl ShapeWord {
    fn shape(self) -> ClassifierShape {
        match self {
            ShapeWord::Tree => ClassifierShape::Tree,
            ShapeWord::Flat => ClassifierShape::Flat,
            ShapeWord::TwoClass => ClassifierShape::TwoClass,
        }
    }
}

impl CountingWord {
    fn counting(self) -> TermCounting {
        match self {
            CountingWord::Each => TermCounting::Each,
            CountingWord::Once => TermCounting::Once,
            CountingWord::Share => TermCounting::Share,
        }
    }
}

/// The word for a way to count.
pub(crate) fn counting_name(counting: TermCounting) -> &'static str {
    match counting {
        TermCounting::Each => "each",
        TermCounting::Once => "once",
        TermCounting::Share => "share",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_says_what_holds_without_it() {
        assert_eq!(RawSettings::parse(TEMPLATE).unwrap(), RawSettings::default());
        let uncommented: String = TEMPLATE
            .lines()
            .map(|line| line.strip_prefix("# ").unwrap_or(line))
            .skip(1)
            .fold(String::new(), |all, line| all + line + "\n");
        let train = RawSettings::parse(&uncommented).unwrap().train;
        let ready = train.ready().unwrap();
        let defaults = RawTrain::default().ready().unwrap();
        assert_eq!((ready.critic, ready.options.shape), (defaults.critic, defaults.options.shape));
        assert_eq!(
            (ready.options.calibrate, ready.options.folds),
            (defaults.options.calibrate, defaults.options.folds)
        );
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let error = |text: &str| {
            let train = RawSettings::parse(text).map(|settings| settings.train);
            format!("{:#}", train.and_then(|train| train.ready()).unwrap_err())
        };
        assert!(error("[train]\nsmooothing = 1").contains("line 2"), "{}", error("[train]\nsmooothing = 1"));
        assert!(error("[train]\nshape = \"round\"").contains("two-class"));
        assert!(error("[train]\nsmoothing = -1").contains("more than 0"));
        assert!(error("[train]\nfolds = 1").contains("from 2 to 100"));
    }

    #[test]
    fn the_command_line_goes_before_the_file() {
        let file = RawTrain { features: Some(10), folds: Some(3), ..RawTrain::default() };
        let typed = RawTrain { features: Some(20), ..RawTrain::default() };
        let both = typed.or(file);
        assert_eq!((both.features, both.folds), (Some(20), Some(3)));
    }
}
