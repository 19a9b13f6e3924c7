//! `[fleet]`: when a worker counts as gone, if several share a crawl.

use std::time::Duration;

use porthole_store::FleetSettings;
use serde::Deserialize;

use crate::cli;
use crate::output::misuse;

/// Settings of workers that share a crawl; times as `10s` or `2m`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawFleet {
    pub(crate) session: Option<String>,
    pub(crate) takeover: Option<String>,
    pub(crate) order: Option<FleetScope>,
    pub(crate) learning: Option<FleetScope>,
}

/// Whether a worker looks at those of the whole fleet or at its own only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FleetScope {
    #[default]
    All,
    Own,
}

/// A session must not end because the server is busy for a moment.
const SHORTEST_SESSION: Duration = Duration::from_secs(2);

impl RawFleet {
    /// Checks the settings. `longest_request` is how long a request can take, `pause` the pause between two.
    pub(crate) fn ready(
        &self,
        worker: u32,
        name: &str,
        longest_request: Duration,
        pause: Duration,
    ) -> anyhow::Result<FleetSettings> {
        let time = |name: &str, value: &Option<String>| match value {
            None => Ok(None),
            Some(text) => cli::duration(text)
                .map(Some)
                .map_err(|why| misuse(format!("[fleet] {name} = \"{text}\": {why}"))),
        };
        let defaults = FleetSettings::of(worker, name);
        let session = time("session", &self.session)?.unwrap_or(defaults.session);
        if session < SHORTEST_SESSION {
            return Err(misuse("[fleet] session must be at least 2s"));
        }
        let takeover = time("takeover", &self.takeover)?.unwrap_or(session / 2 + longest_request);
        let is_all = |scope: Option<FleetScope>| scope.unwrap_or_default() == FleetScope::All;
        let (keeps_order, shows_pages) = (is_all(self.order), is_all(self.learning));
        Ok(FleetSettings { session, takeover, rest: pause, keeps_order, shows_pages, ..defaults })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::RawSettings;

    #[test]
    fn times_follow_from_the_session_and_errors_name_the_setting() {
        let second = Duration::from_secs;
        let ready = |text: &str| {
            RawSettings::parse(&format!("[fleet]\n{text}")).unwrap().fleet.ready(
                3,
                "here",
                second(110),
                second(2),
            )
        };
        let fleet = ready("").unwrap();
        assert_eq!(
            (fleet.worker, fleet.session, fleet.takeover, fleet.rest),
            (3, second(10), second(115), second(2))
        );
        assert!(fleet.keeps_order && fleet.shows_pages);
        let fleet =
            ready("session = \"4s\"\ntakeover = \"6s\"\norder = \"own\"\nlearning = \"own\"").unwrap();
        assert_eq!((fleet.session, fleet.takeover), (second(4), second(6)));
        assert!(!fleet.keeps_order && !fleet.shows_pages);
        for (text, word) in [("session = \"1s\"", "at least 2s"), ("takeover = \"x\"", "[fleet] takeover")] {
            let error = ready(text).unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
