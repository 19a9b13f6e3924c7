//! `[maintain]`: how often pages are visited again.

use std::time::Duration;

use porthole_crawl::{UpkeepSettings, VisitTiming};
use serde::Deserialize;

use crate::cli;
use crate::output::misuse;

/// Settings of maintenance; times as `7d` or `12h`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawMaintain {
    pub(crate) every: Option<String>,
    pub(crate) shortest: Option<String>,
    pub(crate) longest: Option<String>,
    pub(crate) new: Option<f64>,
    pub(crate) hubs: Option<f64>,
}

impl RawMaintain {
    /// Checks the settings.
    pub(crate) fn ready(&self, timing: VisitTiming) -> anyhow::Result<UpkeepSettings> {
        let defaults = UpkeepSettings::default();
        let time = |name: &str, value: &Option<String>, default: Duration| match value {
            None => Ok(default),
            Some(text) => match cli::duration(text) {
                Ok(time) if time > Duration::ZERO => Ok(time),
                Ok(_) => Err(misuse(format!("[maintain] {name} = \"{text}\": must be more than 0"))),
                Err(why) => Err(misuse(format!("[maintain] {name} = \"{text}\": {why}"))),
            },
        };
        let settings = UpkeepSettings {
            timing,
            every: time("every", &self.every, defaults.every)?,
            shortest: time("shortest", &self.shortest, defaults.shortest)?,
            longest: time("longest", &self.longest, defaults.longest)?,
            new: self.new.unwrap_or(defaults.new),
            hubs: self.hubs.unwrap_or(defaults.hubs),
        };
        if settings.shortest > settings.every || settings.every > settings.longest {
            return Err(misuse("[maintain] every must lie between shortest and longest"));
        }
        if !(0.0..1.0).contains(&settings.new) {
            return Err(misuse(format!("[maintain] new = {}: must be 0 or more, and below 1", settings.new)));
        }
        if !(0.0..=1e6).contains(&settings.hubs) {
            return Err(misuse(format!(
                "[maintain] hubs = {}: must be between 0 and a million",
                settings.hubs
            )));
        }
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{RawSettings, TEMPLATE};

    #[test]
    fn the_template_shows_the_defaults_and_errors_name_the_setting() {
        let ready = |text: &str| RawSettings::parse(text).unwrap().maintain.ready(VisitTiming::Now);
        let lines = TEMPLATE.lines().skip_while(|line| *line != "[maintain]");
        let section: Vec<&str> =
            lines.take_while(|line| !line.is_empty()).map(|line| line.trim_start_matches("# ")).collect();
        assert!(section.len() > 5, "{section:?}");
        assert_eq!(ready(&section.join("\n")).unwrap(), UpkeepSettings::default());
        for (text, word) in [
            ("every = \"1x\"", "unknown unit"),
            ("every = \"0s\"", "more than 0"),
            ("every = \"90d\"", "between shortest and longest"),
            ("new = 1.0", "[maintain] new"),
            ("hubs = -1.0", "[maintain] hubs"),
        ] {
            let error = ready(&format!("[maintain]\n{text}")).unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
