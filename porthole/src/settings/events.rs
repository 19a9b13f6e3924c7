//! The `[events]` section: where the events of a crawl are posted to.

use porthole_crawl::{AllowedAddresses, HttpSettings};
use porthole_types::CanonicalUrl;
use serde::Deserialize;

use super::RawFetch;
use crate::output::misuse;

/// Webhook for the events of a crawl.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawEvents {
    /// URL that events are posted to.
    pub(crate) webhook: Option<String>,
    /// Kinds of events to post; all if unset.
    pub(crate) kinds: Option<Vec<String>>,
    /// Secret that is sent with them.
    pub(crate) token: Option<String>,
    /// Addresses that are not public and may be posted to: `loopback, 10.1.0.0/16`.
    pub(crate) allow: Option<String>,
}

/// A checked webhook.
#[derive(Clone, Debug)]
pub(crate) struct WebhookSettings {
    pub(crate) url: CanonicalUrl,
    /// Empty for all.
    pub(crate) kinds: Vec<String>,
    pub(crate) token: Option<String>,
    pub(crate) http: HttpSettings,
}

/// Kinds of events, see docs/upkeep.md.
const KINDS: [&str; 15] = [
    "fetch",
    "started",
    "stopped",
    "command",
    "rejudged",
    "distilled",
    "distillation failed",
    "answer",
    "kept query",
    "outage",
    "judge",
    "alarm",
    "broadened",
    "frontier",
    "held up",
];

impl RawEvents {
    /// Checks the settings; `None` without a webhook.
    pub(crate) fn ready(&self, fetch: &RawFetch) -> anyhow::Result<Option<WebhookSettings>> {
        let Some(webhook) = &self.webhook else { return Ok(None) };
        let wrong = |name: &str, why: String| misuse(format!("[events] {name} = {why}"));
        let url = CanonicalUrl::parse(webhook)
            .map_err(|error| wrong("webhook", format!("{webhook} is not a valid URL: {error}")))?;
        let kinds = self.kinds.clone().unwrap_or_default();
        if let Some(kind) = kinds.iter().find(|kind| !KINDS.contains(&kind.as_str())) {
            return Err(wrong(
                "kinds",
                format!("{kind} is not a kind of event; there are {}", KINDS.join(", ")),
            ));
        }
        let is_sendable = |token: &String| token.bytes().all(|byte| byte.is_ascii_graphic());
        if self.token.as_ref().is_some_and(|token| !is_sendable(token)) {
            return Err(wrong("token", "it must consist of ASCII letters, digits and signs".to_owned()));
        }
        let allow: AllowedAddresses = self
            .allow
            .as_deref()
            .unwrap_or_default()
            .parse()
            .map_err(|error: porthole_crawl::HttpSettingsError| wrong("allow", error.to_string()))?;
        // What may be crawled says nothing about what may be posted to.
        let http = HttpSettings { allow, ..fetch.ready_for_endpoint()? };
        Ok(Some(WebhookSettings { url, kinds, token: self.token.clone(), http }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::RawSettings;

    #[test]
    fn a_webhook_is_checked() {
        let ready = |text: &str| {
            let settings = RawSettings::parse(&format!("[events]\n{text}")).unwrap();
            settings.events.ready(&settings.fetch).map_err(|error| error.to_string())
        };
        assert!(ready("").unwrap().is_none());
        let hook = "webhook = \"https://a.test/hook\"\n";
        let ok =
            ready(&format!("{hook}kinds = [\"answer\", \"stopped\"]\ntoken = \"s3cret!\"")).unwrap().unwrap();
        assert_eq!((ok.url.as_str(), ok.kinds.len()), ("https://a.test/hook", 2));
        let loopback = "127.0.0.1".parse().unwrap();
        assert!(!ok.http.allow.contains(loopback), "not unless its own setting allows it");
        assert!(
            ready(&format!("{hook}allow = \"loopback\"")).unwrap().unwrap().http.allow.contains(loopback)
        );
        for (text, words) in [
            ("webhook = \"file:///x\"", "not a valid URL"),
            (&*format!("{hook}kinds = [\"fetches\"]"), "there are fetch, started"),
            (&*format!("{hook}token = \"a\\nb\""), "ASCII"),
            (&*format!("{hook}allow = \"local\""), "[events] allow = `local`"),
        ] {
            let error = ready(text).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}
