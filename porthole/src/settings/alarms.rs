//! `[alarms]`: when a crawl raises alarms.

use std::time::Duration;

use porthole_crawl::AlarmSettings;
use serde::Deserialize;

use crate::cli;
use crate::output::misuse;

/// Settings of alarms; times as `1m` or `2h`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawAlarms {
    pub(crate) on: Option<bool>,
    pub(crate) pages: Option<usize>,
    pub(crate) window: Option<String>,
    pub(crate) fall: Option<f64>,
    pub(crate) fetches: Option<usize>,
    pub(crate) failing: Option<f64>,
    pub(crate) disk_free: Option<f64>,
    pub(crate) disk_time: Option<String>,
}

impl RawAlarms {
    /// Checks the settings. `None` if alarms are switched off.
    pub(crate) fn ready(&self) -> anyhow::Result<Option<AlarmSettings>> {
        let defaults = AlarmSettings::default();
        let share = |name: &str, value: Option<f64>, default: f64| match value.unwrap_or(default) {
            share if share > 0.0 && share <= 1.0 => Ok(share),
            wrong => Err(misuse(format!("[alarms] {name} = {wrong}: must be above 0 and at most 1"))),
        };
        let number = |name: &str, value: Option<usize>, default: usize| match value.unwrap_or(default) {
            number @ 10..=10_000 => Ok(number),
            wrong => Err(misuse(format!("[alarms] {name} = {wrong}: must be between 10 and 10000"))),
        };
        let time = |name: &str, value: &Option<String>, default: Duration| match value {
            None => Ok(default),
            Some(text) => match cli::duration(text) {
                Ok(time) if time >= Duration::from_secs(1) => Ok(time),
                Ok(_) => Err(misuse(format!("[alarms] {name} = \"{text}\": must be at least 1s"))),
                Err(why) => Err(misuse(format!("[alarms] {name} = \"{text}\": {why}"))),
            },
        };
        let settings = AlarmSettings {
            watches_relevance: true,
            pages: number("pages", self.pages, defaults.pages)?,
            window: time("window", &self.window, defaults.window)?,
            fall: share("fall", self.fall, defaults.fall)?,
            fetches: number("fetches", self.fetches, defaults.fetches)?,
            failing: share("failing", self.failing, defaults.failing)?,
            disk_free: share("disk-free", self.disk_free, defaults.disk_free)?,
            disk_time: time("disk-time", &self.disk_time, defaults.disk_time)?,
        };
        Ok(self.on.unwrap_or(true).then_some(settings))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{RawSettings, TEMPLATE};

    #[test]
    fn the_template_shows_the_defaults_and_wrong_values_are_refused() {
        let alarms = |text: &str| RawSettings::parse(&format!("[alarms]\n{text}")).unwrap().alarms.ready();
        assert_eq!(alarms("").unwrap(), Some(AlarmSettings::default()));
        let section = TEMPLATE.split("[alarms]").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap();
        let uncommented = section.replace("\n# ", "\n");
        assert!(uncommented.contains("\nfall = "), "{uncommented}");
        assert_eq!(alarms(&uncommented).unwrap(), Some(AlarmSettings::default()));
        assert_eq!(alarms("on = false").unwrap(), None);
        for wrong in ["fall = 0.0", "pages = 3", "disk-time = \"soon\"", "window = \"0s\""] {
            let error = alarms(wrong).unwrap_err().to_string();
            assert!(error.starts_with("[alarms] "), "{error}");
        }
    }
}
