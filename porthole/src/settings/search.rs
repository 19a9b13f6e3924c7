//! The `[search]` section: the search engine that is asked for candidates.

use porthole_crawl::{HttpSettings, SearchEndpoint};
use serde::Deserialize;

use super::{RawFetch, RawSettings};
use crate::output::misuse;

/// Endpoint that finds pages by words.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawSearch {
    /// URL with `{words}` in place of the words.
    pub(crate) url: String,
}

impl RawSettings {
    /// The endpoint of the command line, or else of the file.
    pub(crate) fn search_endpoint(&self, named: Option<&str>) -> anyhow::Result<Option<SearchEndpoint>> {
        let of_file = self.search.as_ref().map(|search| ("[search] url =", search.url.as_str()));
        let url = named.map(|url| ("--search-url", url)).or(of_file);
        let endpoint =
            url.map(|(at, url)| SearchEndpoint::new(url).map_err(|why| misuse(format!("{at} {why}"))));
        endpoint.transpose()
    }
}

impl RawFetch {
    /// Settings to ask an endpoint that the user named. Without a contact it must not be on the open web.
    pub(crate) fn ready_for_endpoint(&self) -> anyhow::Result<HttpSettings> {
        let settings = match self.contact {
            Some(_) => self.ready()?,
            None => RawFetch { loopback: Some(true), proxy: None, ..self.clone() }.ready()?,
        };
        Ok(settings.for_endpoint())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_names_the_endpoint_before_the_file() {
        let endpoint = |file: &str, named: Option<&str>| {
            let endpoint = RawSettings::parse(file).unwrap().search_endpoint(named);
            endpoint.map(|endpoint| endpoint.map(|endpoint| endpoint.url.as_str().to_owned()))
        };
        let file = "[search]\nurl = \"http://a.test/?q={words}\"";
        assert_eq!(endpoint("", None).unwrap(), None);
        assert_eq!(endpoint(file, None).unwrap().unwrap(), "http://a.test/?q={words}");
        assert_eq!(endpoint(file, Some("http://b.test/{words}")).unwrap().unwrap(), "http://b.test/{words}");
        let wrong = endpoint("[search]\nurl = \"http://a.test/\"", None).unwrap_err().to_string();
        assert!(wrong.contains("[search] url = http://a.test/ has no {words}"), "{wrong}");
        assert!(endpoint("", Some("gopher://a/{words}")).unwrap_err().to_string().contains("--search-url"));
        assert!(RawSettings::parse("[search]\nurls = 1").is_err());
    }
}
