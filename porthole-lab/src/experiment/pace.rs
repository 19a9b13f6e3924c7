//! Experiments in simulated time: workers, delays, and hosts with latency.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use porthole_crawl::{Fetch, FetchFuture, Idle, Limits, Politeness, Request};
use porthole_types::CanonicalUrl;
use porthole_webs::synth::draw::Draw;
use serde::{Deserialize, Serialize};

/// Timing of a crawl in an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pace {
    /// Number of concurrent requests.
    pub workers: usize,
    /// Minimum number of seconds between two requests to a host.
    pub delay: f64,
    /// Latency: seconds for all hosts, or `web` for hosts that differ as on the web.
    pub latency: LatencyField,
    /// What a free worker does while good sites are in their delay: `wait` or `fill`.
    #[serde(default = "wait")]
    pub idle: String,
}

/// Overrides of the experiment's pace for one strategy: `8`, `fill`, `8|fill`, or `off` for one fetch at a time
/// without delays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PaceChange {
    is_off: bool,
    workers: Option<usize>,
    idle: Option<String>,
}

impl PaceChange {
    /// The pace of a crawl.
    pub(super) fn apply(&self, pace: Option<&Pace>) -> Option<Pace> {
        let pace = pace.filter(|_| !self.is_off)?.clone();
        let workers = self.workers.unwrap_or(pace.workers);
        Some(Pace { workers, idle: self.idle.clone().unwrap_or(pace.idle), ..pace })
    }
}

impl FromStr for PaceChange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut change = PaceChange::default();
        for word in text.split('|') {
            match (word, word.parse()) {
                ("off", _) => change.is_off = true,
                ("wait" | "fill", _) => change.idle = Some(word.to_owned()),
                (_, Ok(workers)) if workers > 0 => change.workers = Some(workers),
                _ => {
                    return Err(format!(
                        "{word:?} is not a pace: write a number of workers, wait, fill or off"
                    ));
                }
            }
        }
        Ok(change)
    }
}

impl fmt::Display for PaceChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let workers = self.workers.map(|workers| workers.to_string());
        let off = self.is_off.then(|| "off".to_owned());
        [off, workers, self.idle.clone()].into_iter().flatten().try_for_each(|word| write!(f, "|{word}"))
    }
}

/// See [`Pace::latency`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum LatencyField {
    /// The same for all hosts.
    Seconds(f64),
    /// `web`.
    Name(String),
}

fn wait() -> String {
    "wait".to_owned()
}

impl Pace {
    /// Returns the problem, if there is one.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.workers == 0 || !(0.0..=3600.0).contains(&self.delay) {
            return Err("pace: workers is at least 1, and delay between 0 and 3600 seconds".to_owned());
        }
        match &self.latency {
            LatencyField::Seconds(seconds) if (0.0..=60.0).contains(seconds) => {}
            LatencyField::Name(name) if name == "web" => {}
            _ => return Err("pace: latency is a number of seconds up to 60, or \"web\"".to_owned()),
        }
        self.idle().map(drop)
    }

    fn idle(&self) -> Result<Idle, String> {
        match self.idle.as_str() {
            "fill" => Ok(Idle::Fill),
            "wait" => Ok(Idle::Wait),
            other => Err(format!("pace: idle is \"wait\" or \"fill\", not {other:?}")),
        }
    }

    pub(super) fn limits(&self, pages: u64) -> Limits {
        Limits {
            workers: self.workers,
            idle: self.idle().unwrap_or_default(),
            wanted_pages: Some(pages),
            ..Limits::default()
        }
    }

    pub(super) fn politeness(&self) -> Politeness {
        Politeness { min_delay: Duration::from_secs_f64(self.delay), ..Politeness::default() }
    }
}

/// A web whose hosts have latency.
pub(super) struct PacedWeb<'a, W> {
    pub(super) web: &'a W,
    pub(super) pace: &'a Pace,
    pub(super) seed: u64,
}

impl<W: Fetch> Fetch for PacedWeb<'_, W> {
    fn fetch<'a>(&'a self, request: &'a Request) -> FetchFuture<'a> {
        Box::pin(async move {
            let mut response = self.web.fetch(request).await?;
            response.took = response.took.max(self.latency(&request.url));
            Ok(response)
        })
    }
}

impl<W> PacedWeb<'_, W> {
    /// Log-normal over hosts, with a median of 0.3 s; 90% are below 0.9 s. A request takes 0.8 to 1.2 times the
    /// latency of its host.
    fn latency(&self, url: &CanonicalUrl) -> Duration {
        match self.pace.latency {
            LatencyField::Seconds(seconds) => Duration::from_secs_f64(seconds),
            LatencyField::Name(_) => {
                let mut host = Draw::of(self.seed ^ url.site().0);
                let mut page = Draw::of(self.seed ^ url.id().0);
                let unit = |draw: &mut Draw| (draw.bits() >> 11) as f64 / (1_u64 << 53) as f64;
                // The sum of twelve uniform numbers is approximately normal.
                let normal = (0..12).map(|_| unit(&mut host)).sum::<f64>() - 6.0;
                let seconds = 0.3 * (0.85 * normal).exp() * (0.8 + 0.4 * unit(&mut page));
                Duration::from_secs_f64(seconds.min(20.0))
            }
        }
    }
}
