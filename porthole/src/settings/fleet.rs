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
        Ok(FleetSettings { session, takeover, rest: pause, ..defaults })
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
        let fleet = ready("session = \"4s\"\ntakeover = \"6s\"").unwrap();
        assert_eq!((fleet.session, fleet.takeover), (second(4), second(6)));
        for (text, word) in [("session = \"1s\"", "at least 2s"), ("takeover = \"x\"", "[fleet] takeover")] {
            let error = ready(text).unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
