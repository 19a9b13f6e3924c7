//! porthole.toml: the raw settings ([`RawSettings`]), and the checked settings made from them ([`TrainSettings`]).

mod alarms;
mod events;
mod fleet;
mod maintain;
mod search;

use std::time::Duration;

use anyhow::Context;
use clap::ValueEnum;
use porthole_crawl::{
    AllowedAddresses, ArchiveCompression, BacklinkSettings, DistillSettings, HttpSettings, HttpSettingsError,
    Idle, NoFollowRule, NoIndexRule, PageRules, Politeness, Proxies, SiteBy,
};
use porthole_topic::{ClassifierShape, ModelKind, TermCounting, TrainingOptions};
use porthole_types::SegmentCompression;
use serde::{Deserialize, Serialize};

pub(crate) use self::alarms::RawAlarms;
pub(crate) use self::events::{RawEvents, WebhookSettings};
pub(crate) use self::fleet::RawFleet;
pub(crate) use self::maintain::RawMaintain;
pub(crate) use self::search::RawSearch;
use crate::output::misuse;

/// The settings as written in the file.
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
    pub(crate) search: Option<RawSearch>,
    #[serde(default)]
    pub(crate) events: RawEvents,
    #[serde(default)]
    pub(crate) crawl: RawCrawl,
    #[serde(default)]
    pub(crate) pages: RawPages,
    #[serde(default)]
    pub(crate) archive: RawArchive,
    #[serde(default)]
    pub(crate) maintain: RawMaintain,
    #[serde(default)]
    pub(crate) alarms: RawAlarms,
    #[serde(default)]
    pub(crate) fleet: RawFleet,
}

/// Endpoint that returns the pages that link to a page.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawBacklinks {
    /// URL with `{url}` in place of the page.
    pub(crate) url: String,
    /// Minimum relevance of the pages to query.
    pub(crate) relevance: Option<f64>,
    /// Maximum number of links per response.
    pub(crate) links: Option<usize>,
    /// Maximum number of queries.
    pub(crate) pages: Option<u64>,
}

/// Settings of the distiller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawDistill {
    /// What a site is.
    #[serde(default)]
    pub(crate) site: SiteWord,
    /// Whether crawls distil.
    pub(crate) during_crawl: Option<bool>,
    pub(crate) every: Option<u64>,
    pub(crate) growth: Option<f64>,
    pub(crate) least: Option<u64>,
    pub(crate) links: Option<u64>,
    pub(crate) rho: Option<f64>,
    pub(crate) psi: Option<f64>,
    pub(crate) raised: Option<usize>,
    pub(crate) revisits: Option<usize>,
    pub(crate) rest: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SiteWord {
    /// Host and port
    #[default]
    Host,
    /// Registrable domain, such as bbc.co.uk for news.bbc.co.uk
    Domain,
    /// IP address of the host during the crawl
    Ip,
}

/// Politeness settings; times in seconds.
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

/// Network settings.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawFetch {
    /// Address at which server operators reach the user.
    pub(crate) contact: Option<String>,
    /// `http://` or `socks5://`.
    pub(crate) proxy: Option<String>,
    /// Whether loopback addresses may be crawled.
    pub(crate) loopback: Option<bool>,
    /// Private addresses that may be crawled: `10.1.0.0/16, fd00::/8`.
    pub(crate) allow: Option<String>,
}

/// Training settings, from the file or the command line.
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
    /// Maximum number of crawled pages used as background examples.
    pub(crate) background: Option<usize>,
}

/// Default maximum number of background examples.
const BACKGROUND: usize = 300;

/// Checked training settings.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TrainSettings {
    pub(crate) critic: ModelKind,
    pub(crate) options: TrainingOptions,
    /// Whether there is a background.
    pub(crate) has_background: bool,
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
    /// One decision per topic, among its subtopics
    Tree,
    /// One decision among all topics with examples
    Flat,
    /// Good topics against all others
    TwoClass,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CountingWord {
    /// Every occurrence of a term counts
    Each,
    /// A term counts once per page
    Once,
    /// A term counts by its share of the page, so that long pages weigh no more
    Share,
}

/// The porthole.toml of a new workspace.
pub(crate) const TEMPLATE: &str = r#"# Settings of this workspace. Commented lines show the defaults; those marked as examples are unset.

[train]
# critic = "naive-bayes"   # or "logistic"
# shape = "tree"           # one decision per topic, among its subtopics; or "flat": all topics
                           # at once; or "two-class": good topics against all others
# counting = "each"        # example; weight of a repeated term: "each" occurrence, "once" per page,
                           # or its "share" of the page; cross-validated if unset
# smoothing = 1.0          # example; added to every term count; cross-validated if unset
# features = 5000          # example; number of terms per node; cross-validated if unset
# calibrate = true         # calibrate probabilities, which are overconfident on long pages
# folds = 5                # number of folds of the cross-validation
# background = 300         # maximum number of crawled pages used as background (no topic); 0: none

[fetch]
# contact = "you@example.org"   # example; email or URL for server operators; required for the open web
# proxy = "socks5://127.0.0.1:9050"   # example; or "http://…"; used for all requests. If unset, the variables
                                # http_proxy, https_proxy, all_proxy and no_proxy are used, except with `--polite off`
# loopback = false              # allow loopback addresses
# allow = "10.1.0.0/16"         # example; allow these private addresses; a list of ranges

[polite]
# delay = 2.0                   # minimum seconds between two requests to a site
# delay-factor = 5              # or this many times the last response time, if longer
# longest-delay = 30.0          # maximum seconds between two requests
# longest-crawl-delay = 60.0    # maximum Crawl-delay of robots.txt that is obeyed
# connections = 1               # concurrent requests to a site
# per-address = true            # sites on the same IP address share their delays

[crawl]
# idle = "wait"                 # wait while the sites with the best links are resting; "fill": fetch others
# broaden = "ask"               # when a crawl stagnates, propose topics that occur together with the good ones;
                                # "yes": follow links on pages about them and go on; "no": neither

[alarms]
# on = true                     # say when a crawl goes wrong: on the terminal, as events, in `porthole status`
# pages = 100                   # relevance: compare the mean of this many pages (or 2, 4 times as many)
                                # with that of up to 4 times as many before
# window = "1m"                 # acquisition: compare relevant pages in this time (or 2 to 64 times as long)
# fall = 0.6                    # share by which relevance or acquisition must fall
# fetches = 50                  # failures: of the last this many first tries,
# failing = 0.8                 # this share must fail
# disk-free = 0.03              # disk: less than this share is free,
# disk-time = "1h"              # or less than comes in this time, or in the rest of `--pages`

[fleet]                         # several workers on one PostgreSQL
# session = "10s"               # a worker that the server does not hear of for this long is gone
# takeover = "115s"             # how long its sites are left alone then; by default half of the session's
                                # time, and as long as a request can take
# order = "all"                 # a URL waits while other workers have enough better ones; "own": it does not
# learning = "all"              # the strategy learns from the pages of all workers; "own": of this one only

[pages]
# refresh = 5                   # follow a meta refresh of up to this many seconds like a redirect
# noindex = "links"             # of pages that ask not to be indexed, follow the "links" only (they are
                                # not results and not archived); or "read" or "skip" these pages
# nofollow = "page"             # obey nofollow of whole pages, not rel=nofollow of single links;
                                # "links": of both; "never": of neither
# noarchive = true              # do not archive pages that ask for it

[archive]
# requests = true               # record the request for every page beside its response
# compression = "gzip"          # of new files; "zstd" is a sixth smaller and takes a little more time, but
                                # few tools read it (exports are always gzip)
# level = 1                     # 1 is fast; gzip: up to 9, zstd: -7 (faster, larger) to 19

[distill]
# site = "host"                 # links within a site are ignored; a site is a "host", a "domain",
                                # or an "ip" address
# rho = 0.15                    # share of the pages, by relevance, that may be authorities
# during-crawl = true           # compute hubs during crawls, and use them
# every = 10000                 # after this many fetches, or a tenth of all fetches,
# growth = 0.5                  # or when the number of links has grown by this share,
# least = 2000                  # but not before this many fetches
# links = 3000000               # not while there are more links (50 bytes of memory each)
# psi = 0.9                     # hubs above this quantile of the scores are top hubs
# raised = 20                   # links of top hubs that are fetched first, each time; 0: none
# revisits = 10                 # top hubs that are fetched again, each time; 0: none
# rest = 5000                   # fetches before a page is fetched again as a hub

[maintain]
# every = "7d"                  # mean interval between two visits of a page: the budget of `crawl --maintain`
# shortest = "1h"               # shortest interval; pages that change often are visited more often
# longest = "60d"               # longest interval
# new = 0.2                     # share of the fetches that are left to new pages
# hubs = 4.0                    # how much more a visit of the top hub is worth than that of another page

# [backlinks]
# url = "http://…/?url={url}"   # example; returns the URLs that link to a page, as a JSON array or one per
                                # line; no queries if unset
# relevance = 0.5               # minimum relevance of the pages to query
# links = 20                    # maximum number of links per response
# pages = 100                   # maximum number of queries per crawl

# [search]
# url = "http://127.0.0.1:8888/search?q={words}&format=json"   # example; for `start --words` and
                                # `examples search`: returns pages with the words as JSON, like SearXNG

[events]
# webhook = "https://…/hook"    # example; post the events of a crawl here, as batches of JSON
# kinds = ["answer", "stopped"] # example; only these kinds of events; all if unset
# token = "…"                   # example; sent with them, as `Authorization: Bearer …`
# allow = "loopback"            # example; addresses that are not public and may be posted to; a list of ranges
"#;

/// What `[archive]` says.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawArchive {
    pub(crate) requests: Option<bool>,
    #[serde(default)]
    pub(crate) compression: CompressionWord,
    pub(crate) level: Option<i32>,
}

impl RawArchive {
    /// How new files of the archive are compressed.
    pub(crate) fn compression(&self) -> anyhow::Result<ArchiveCompression> {
        let (format, levels) = match self.compression {
            CompressionWord::Gzip => (SegmentCompression::Gzip, 1..=9),
            CompressionWord::Zstd => (SegmentCompression::Zstd, -7..=19),
        };
        let level = self.level.unwrap_or(ArchiveCompression::default().level);
        if !levels.contains(&level) {
            let (least, most) = levels.into_inner();
            return Err(misuse(format!("[archive] level is {level}; it must be from {least} to {most}")));
        }
        Ok(ArchiveCompression { format, level })
    }
}

/// How new files of the archive are compressed.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CompressionWord {
    #[default]
    Gzip,
    Zstd,
}

/// What `[crawl]` says.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawCrawl {
    #[serde(default)]
    pub(crate) idle: IdleWord,
    #[serde(default)]
    pub(crate) broaden: BroadenWord,
}

/// What is done when good topics commingle with others, and the crawl stagnates or its relevance falls.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum BroadenWord {
    /// A proposal is printed.
    #[default]
    Ask,
    /// Links on pages about the other topics are followed.
    Yes,
    No,
}

/// What a free worker does while the sites with good links rest.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum IdleWord {
    /// Wait for them
    #[default]
    Wait,
    /// Fetch worse links
    Fill,
}

impl From<IdleWord> for Idle {
    fn from(word: IdleWord) -> Self {
        match word {
            IdleWord::Wait => Idle::Wait,
            IdleWord::Fill => Idle::Fill,
        }
    }
}

/// What is done where pages ask something of robots.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawPages {
    /// Seconds.
    pub(crate) refresh: Option<u32>,
    pub(crate) noindex: Option<NoIndexWord>,
    pub(crate) nofollow: Option<NoFollowWord>,
    pub(crate) noarchive: Option<bool>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NoIndexWord {
    Links,
    Read,
    Skip,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NoFollowWord {
    Page,
    Links,
    Never,
}

impl RawPages {
    pub(crate) fn rules(self) -> PageRules {
        let defaults = PageRules::default();
        PageRules {
            max_refresh: self.refresh.unwrap_or(defaults.max_refresh),
            noindex: self.noindex.map_or(defaults.noindex, |word| match word {
                NoIndexWord::Links => NoIndexRule::Links,
                NoIndexWord::Read => NoIndexRule::Read,
                NoIndexWord::Skip => NoIndexRule::Skip,
            }),
            nofollow: self.nofollow.map_or(defaults.nofollow, |word| match word {
                NoFollowWord::Page => NoFollowRule::Page,
                NoFollowWord::Links => NoFollowRule::Links,
                NoFollowWord::Never => NoFollowRule::Never,
            }),
            noarchive: self.noarchive.unwrap_or(defaults.noarchive),
        }
    }
}

impl RawSettings {
    /// Parses the text of a settings file.
    pub(crate) fn parse(text: &str) -> anyhow::Result<Self> {
        toml::from_str(text).map_err(|error| misuse(error.to_string().trim_end()))
    }
}

impl RawPolite {
    /// Checks the settings.
    pub(crate) fn ready(&self) -> anyhow::Result<Politeness> {
        let defaults = Politeness::default();
        let seconds = |name: &str, value: Option<f64>, default: Duration| match value {
            None => Ok(default),
            Some(value) => Duration::try_from_secs_f64(value)
                .map_err(|_| misuse(format!("[polite] {name} = {value}: must be 0 or more seconds"))),
        };
        if self.connections == Some(0) {
            return Err(misuse("[polite] connections = 0: must be at least 1"));
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

impl RawDistill {
    /// Checks the settings.
    pub(crate) fn ready(&self) -> anyhow::Result<DistillSettings> {
        let defaults = DistillSettings::default();
        let share = |name: &str, value: Option<f64>, default: f64| match value.unwrap_or(default) {
            share if share > 0.0 && share <= 1.0 => Ok(share),
            wrong => Err(misuse(format!("[distill] {name} = {wrong}: must be above 0 and at most 1"))),
        };
        let growth = self.growth.unwrap_or(defaults.growth);
        if !(growth > 0.0 && growth.is_finite()) {
            return Err(misuse(format!("[distill] growth = {growth}: must be above 0")));
        }
        Ok(DistillSettings {
            every: self.every.unwrap_or(defaults.every),
            growth,
            least: self.least.unwrap_or(defaults.least),
            links: self.links.unwrap_or(defaults.links),
            rho: share("rho", self.rho, defaults.rho)?,
            psi: share("psi", self.psi, defaults.psi)?,
            raised: self.raised.unwrap_or(defaults.raised),
            revisits: self.revisits.unwrap_or(defaults.revisits),
            rest: self.rest.unwrap_or(defaults.rest),
            site: self.site.by(),
        })
    }
}

impl RawBacklinks {
    /// Checks the settings.
    pub(crate) fn ready(&self) -> anyhow::Result<BacklinkSettings> {
        let defaults =
            BacklinkSettings::new(&self.url).map_err(|why| misuse(format!("[backlinks] url = {why}")))?;
        Ok(BacklinkSettings {
            relevance: self.relevance.unwrap_or(defaults.relevance),
            links: self.links.unwrap_or(defaults.links),
            pages: self.pages.unwrap_or(defaults.pages),
            ..defaults
        })
    }
}

impl RawFetch {
    /// Checks the settings.
    pub(crate) fn ready(&self) -> anyhow::Result<HttpSettings> {
        let is_loopback = self.loopback == Some(true);
        if self.contact.is_none() && !is_loopback {
            return Err(misuse(
                "a contact address is required to crawl the open web: set `contact` under [fetch] in porthole.toml to \
                 your email address or a URL; or replay a recorded web with --web FILE.warc.gz",
            ));
        }
        let wrong = |name: &str, error: HttpSettingsError| misuse(format!("[fetch] {name}: {error}"));
        let ranges = self.allow.as_deref().unwrap_or_default();
        let ranges = if is_loopback { format!("loopback,{ranges}") } else { ranges.to_owned() };
        let allow: AllowedAddresses = ranges.parse().map_err(|error| wrong("allow", error))?;
        let proxies = match &self.proxy {
            Some(proxy) => Proxies::all(proxy.parse().map_err(|error| wrong("proxy", error))?),
            // Without a contact only this machine is crawled.
            None if self.contact.is_none() => Proxies::default(),
            None => Proxies::of_environment(|name| std::env::var(name).ok())
                .map_err(|(name, error)| misuse(format!("{name}: {error}; or set `proxy` under [fetch]")))?,
        };
        Ok(HttpSettings { contact: self.contact.clone(), allow, proxies, ..HttpSettings::default() })
    }
}

impl RawFetch {
    /// Why a proxy of the environment is not used, if there is one.
    pub(crate) fn unused_proxy(&self, is_polite: bool) -> Option<String> {
        let why = match (is_polite, &self.contact) {
            (true, Some(_)) => return None,
            (true, None) => "without a contact address; set `contact`",
            (false, _) => "with `--polite off`; set `proxy` to one of this machine",
        };
        let proxies = Proxies::of_environment(|name| std::env::var(name).ok()).ok()?;
        let is_unused = self.proxy.is_none() && !proxies.is_empty();
        is_unused.then(|| {
            format!("warning: the proxy of the environment is not used {why} under [fetch] in porthole.toml")
        })
    }

    /// Checks the settings for a crawl without politeness, which must not reach other machines.
    pub(crate) fn ready_for_loopback(&self) -> anyhow::Result<HttpSettings> {
        // A proxy of the environment leads to other machines.
        let own = RawFetch { contact: None, allow: None, ..self.clone() };
        let settings = own.ready();
        let is_remote_proxy =
            settings.as_ref().is_ok_and(|settings| settings.proxies.iter().any(|proxy| !proxy.is_loopback()));
        if self.loopback != Some(true) || is_remote_proxy {
            return Err(misuse(
                "`--polite off` is allowed on loopback addresses only: set `loopback = true` and no remote `proxy` \
                 under [fetch] in porthole.toml, or replay a recorded web with --web FILE.warc.gz",
            ));
        }
        let settings = settings?;
        // Without a contact no other address can be reached. A proxy requires one; its crawl is restricted to reserved
        // names.
        let contact = (!settings.proxies.is_empty()).then(|| "nobody@localhost".to_owned());
        Ok(HttpSettings { contact, ..settings })
    }
}

impl TrainSettings {
    /// Whether the general taxonomy can be the background: logistic regression needs pages, and of two classes one is
    /// the background.
    pub(crate) fn has_general_background(&self) -> bool {
        let has_counts = self.critic == ModelKind::NaiveBayes;
        self.has_background && has_counts && self.options.shape != ClassifierShape::TwoClass
    }
}

impl RawTrain {
    /// These settings, with those of `other` where unset.
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

    /// Maximum number of background examples.
    pub(crate) fn background(&self) -> usize {
        self.background.unwrap_or(BACKGROUND)
    }

    /// Checks the settings.
    pub(crate) fn ready(&self) -> anyhow::Result<TrainSettings> {
        self.check().context("training settings")?;
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
        let critic = self.critic.map_or(ModelKind::NaiveBayes, CriticWord::kind);
        Ok(TrainSettings { critic, options, has_background: self.background() > 0 })
    }

    fn check(&self) -> anyhow::Result<()> {
        if let Some(smoothing) = self.smoothing
            && !(smoothing.is_finite() && smoothing > 0.0)
        {
            return Err(misuse(format!("smoothing must be more than 0, not {smoothing}")));
        }
        if self.features == Some(0) {
            return Err(misuse("features must be at least 1"));
        }
        match self.folds {
            Some(folds) if !(2..=100).contains(&folds) => {
                Err(misuse(format!("folds must be from 2 to 100, not {folds}")))
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

/// Name of a counting method.
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
    fn the_template_shows_the_defaults() {
        assert_eq!(RawSettings::parse(TEMPLATE).unwrap(), RawSettings::default());
        let uncommented: String = TEMPLATE
            .lines()
            .map(|line| line.strip_prefix("# ").unwrap_or(line))
            .skip(1)
            .fold(String::new(), |all, line| all + line + "\n");
        let settings = RawSettings::parse(&uncommented).unwrap();
        assert_eq!(settings.distill.ready().unwrap(), RawDistill::default().ready().unwrap());
        assert_eq!(settings.distill.during_crawl, Some(true));
        let RawSettings { train, pages, .. } = settings;
        assert!(pages != RawPages::default() && pages.rules() == PageRules::default());
        let ready = train.ready().unwrap();
        let defaults = RawTrain::default().ready().unwrap();
        assert_eq!((ready.critic, ready.options.shape), (defaults.critic, defaults.options.shape));
        assert_eq!(
            (ready.options.calibrate, ready.options.folds),
            (defaults.options.calibrate, defaults.options.folds)
        );
    }

    /// The settings in docs/configuration.md are those of the template, with their defaults; some have none.
    #[test]
    fn every_setting_is_documented() {
        const WITHOUT_DEFAULT: [&str; 12] = [
            "train.counting",
            "train.smoothing",
            "train.features",
            "fetch.contact",
            "fetch.proxy",
            "fetch.allow",
            "backlinks.url",
            "search.url",
            "events.webhook",
            "events.kinds",
            "events.token",
            "events.allow",
        ];
        let section_of = |line: &str, start: &str, end: &str| {
            Some(line.strip_prefix(start)?.split_once(end)?.0.trim_start_matches('[').to_owned())
        };
        let mut section = String::new();
        let mut template = Vec::new();
        for line in TEMPLATE.lines().map(|line| line.strip_prefix("# ").unwrap_or(line)) {
            section = section_of(line, "[", "]").unwrap_or(section);
            if let Some((key, rest)) = line.split_once(" = ").filter(|(key, _)| !key.contains(' ')) {
                let name = format!("{section}.{key}");
                let value = rest.split("  ").next().unwrap_or(rest).trim();
                let default = if WITHOUT_DEFAULT.contains(&name.as_str()) { "unset" } else { value };
                template.push((name, default.to_owned()));
            }
        }
        let mut documented = Vec::new();
        for line in include_str!("../../docs/configuration.md").lines() {
            section = section_of(line, "## `[", "]`").unwrap_or(section);
            let cells: Vec<&str> = line.split(" | ").collect();
            if let [key, default, _] = cells[..]
                && let Some(key) = key.strip_prefix("| `").and_then(|key| key.strip_suffix('`'))
            {
                documented.push((format!("{section}.{key}"), default.trim_matches('`').to_owned()));
            }
        }
        template.sort_unstable();
        documented.sort_unstable();
        assert!(template.len() > 30, "{template:?}");
        assert_eq!(documented, template);
    }

    #[test]
    fn errors_name_the_line() {
        let error = |text: &str| {
            let train = RawSettings::parse(text).map(|settings| settings.train);
            format!("{:#}", train.and_then(|train| train.ready()).unwrap_err())
        };
        assert!(error("[train]\nsmooothing = 1").contains("line 2"), "{}", error("[train]\nsmooothing = 1"));
        assert!(error("[train]\nshape = \"round\"").contains("two-class"));
        assert!(error("[train]\nsmoothing = -1").contains("more than 0"));
        assert!(error("[train]\nfolds = 1").contains("from 2 to 100"));
        let error = |text: &str| RawSettings::parse(text).unwrap().distill.ready().unwrap_err().to_string();
        assert!(error("[distill]\nrho = 0.0").contains("[distill] rho"));
        assert!(error("[distill]\ngrowth = -1.0").contains("[distill] growth"));
    }

    #[test]
    fn what_is_obeyed_of_pages_can_be_set() {
        let rules = |text: &str| RawSettings::parse(&format!("[pages]\n{text}")).unwrap().pages.rules();
        let defaults = PageRules::default();
        assert_eq!(rules("refresh = 0"), PageRules { max_refresh: 0, ..defaults });
        for (word, noindex) in
            [("links", NoIndexRule::Links), ("read", NoIndexRule::Read), ("skip", NoIndexRule::Skip)]
        {
            assert_eq!(rules(&format!("noindex = {word:?}")), PageRules { noindex, ..defaults });
        }
        for (word, nofollow) in
            [("page", NoFollowRule::Page), ("links", NoFollowRule::Links), ("never", NoFollowRule::Never)]
        {
            assert_eq!(rules(&format!("nofollow = {word:?}")), PageRules { nofollow, ..defaults });
        }
        assert_eq!(rules("noarchive = false"), PageRules { noarchive: false, ..defaults });
    }

    #[test]
    fn archives_have_a_compression_and_a_level() {
        let read = |text: &str| RawSettings::parse(text).unwrap().archive.compression();
        let (gzip, zstd) = (SegmentCompression::Gzip, SegmentCompression::Zstd);
        for (text, format, level) in [
            ("", gzip, 1),
            ("[archive]\nlevel = 9", gzip, 9),
            ("[archive]\ncompression = \"zstd\"", zstd, 1),
            ("[archive]\ncompression = \"zstd\"\nlevel = -5", zstd, -5),
        ] {
            assert_eq!(read(text).unwrap(), ArchiveCompression { format, level }, "{text}");
        }
        for text in ["[archive]\nlevel = -5", "[archive]\ncompression = \"zstd\"\nlevel = 20"] {
            assert!(read(text).is_err(), "{text}");
        }
        assert!(RawSettings::parse("[archive]\ncompression = \"xz\"").is_err());
    }

    #[test]
    fn the_command_line_overrides_the_file() {
        let file = RawTrain { features: Some(10), folds: Some(3), ..RawTrain::default() };
        let typed = RawTrain { features: Some(20), ..RawTrain::default() };
        let both = typed.or(file);
        assert_eq!((both.features, both.folds), (Some(20), Some(3)));
    }
}
