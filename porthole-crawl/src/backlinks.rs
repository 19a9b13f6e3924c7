//! Asks an external endpoint for pages that link to good pages (V 3.2 suggests this to extend the frontier). A page
//! that links to a good one is as likely to be good as one that it links to, and often lists others. Our own `link`
//! table cannot help, because all its sources were fetched.

use porthole_types::{CanonicalUrl, NewUrl};

use crate::Response;
use crate::endpoint::EndpointUrl;

/// Which endpoint to ask, and limits.
#[derive(Clone, Debug, PartialEq)]
pub struct BacklinkSettings {
    /// In its URL, `{url}` is replaced by the page. It returns a JSON array of URLs, or one URL per line. Requests go
    /// through the crawl's `Fetch` and keep the pauses of the endpoint's site. robots.txt does not apply, because the
    /// user named the endpoint.
    pub endpoint: EndpointUrl,
    /// Minimum R of the pages to ask about.
    pub relevance: f64,
    /// Maximum number of links taken from an answer.
    pub links: usize,
    /// Maximum number of pages to ask about in a crawl.
    pub pages: u64,
}

/// Placeholder for the page.
const PLACEHOLDER: &str = "{url}";

impl BacklinkSettings {
    /// Creates settings with the default limits.
    ///
    /// # Errors
    /// A message that says what is wrong with the endpoint.
    pub fn new(endpoint: &str) -> Result<BacklinkSettings, String> {
        let endpoint = EndpointUrl::new(endpoint, PLACEHOLDER, "the page")?;
        Ok(BacklinkSettings { endpoint, relevance: 0.5, links: 20, pages: 100 })
    }

    /// The request for a page, if it is good enough.
    fn question(&self, page: &CanonicalUrl, relevance: f64, depth: u32) -> Option<Question> {
        let url = self.endpoint.with(page.as_str())?;
        let is_worth_it = relevance >= self.relevance && page.site() != url.site();
        is_worth_it.then(|| Question { url, page: page.clone(), relevance, depth, links: self.links })
    }
}

/// Asks about good pages up to the limit.
#[derive(Debug)]
pub(crate) struct Backlinks {
    settings: BacklinkSettings,
    /// Number of pages asked about, including earlier runs.
    asked: u64,
}

impl Backlinks {
    /// `asked` is the value of [`ASKED`].
    pub(crate) fn new(settings: BacklinkSettings, asked: Option<&str>) -> Backlinks {
        Backlinks { settings, asked: asked.and_then(|asked| asked.parse().ok()).unwrap_or(0) }
    }

    pub(crate) fn ask(&mut self, page: &CanonicalUrl, relevance: f64, depth: u32) -> Option<Question> {
        let question =
            self.settings.question(page, relevance, depth).filter(|_| self.asked < self.settings.pages)?;
        self.asked += 1;
        Some(question)
    }

    pub(crate) fn asked(&self) -> String {
        self.asked.to_string()
    }
}

/// Setting with the number of pages asked about. Committed with them.
pub(crate) const ASKED: &str = "crawl.backlinks";

/// A request for the pages that link to a page.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Question {
    /// The URL to request.
    pub(crate) url: CanonicalUrl,
    page: CanonicalUrl,
    relevance: f64,
    depth: u32,
    links: usize,
}

impl Question {
    /// The URLs in an answer, with the value of a link of the page itself.
    pub(crate) fn answered(&self, response: &Response) -> Vec<NewUrl> {
        if response.status != 200 {
            return Vec::new();
        }
        let text = String::from_utf8_lossy(&response.body);
        let named: Vec<String> = match text.trim_start().starts_with('[') {
            true => serde_json::from_str(&text).unwrap_or_default(),
            false => text.lines().map(|line| line.trim().to_owned()).collect(),
        };
        let urls =
            named.iter().filter_map(|url| CanonicalUrl::parse(url).ok()).filter(|url| *url != self.page);
        let new =
            |url| NewUrl { url, relevance: self.relevance, priority: self.relevance, depth: self.depth + 1 };
        urls.take(self.links).map(new).collect()
    }
}

#[cfg(test)]
mod tests {

    use porthole_types::Headers;

    use super::*;

    fn url(text: &str) -> CanonicalUrl {
        CanonicalUrl::parse(text).unwrap()
    }

    fn answered(status: u16, body: &str) -> Vec<(String, f64, u32)> {
        let settings =
            BacklinkSettings { links: 2, ..BacklinkSettings::new("http://who.test/?url={url}").unwrap() };
        let question = settings.question(&url("http://good.test/"), 0.75, 3).unwrap();
        let response = Response::new(status, Headers::new(), body.to_owned());
        let found = question.answered(&response).into_iter();
        found.map(|new| (new.url.as_str().to_owned(), new.priority, new.depth)).collect()
    }

    #[test]
    fn the_page_is_encoded_into_the_endpoint() {
        let settings = BacklinkSettings::new("http://who.test/in?n=5&url={url}").unwrap();
        let page = url("http://good.test/a b?x=1&y=ü");
        let question = settings.question(&page, 0.5, 0).unwrap();
        assert_eq!(question.url.host(), "who.test");
        assert!(
            question.url.as_str().contains("url=http%3A%2F%2Fgood.test%2Fa%2520b%3Fx%3D1%26y%3D%25C3%25BC"),
            "{}",
            question.url
        );
        assert_eq!(settings.question(&page, 0.49, 0), None, "not good enough");
        assert_eq!(
            settings.question(&url("http://who.test/x"), 1.0, 0),
            None,
            "the endpoint is not asked about itself"
        );
        assert!(BacklinkSettings::new("http://who.test/").unwrap_err().contains("{url}"));
        assert!(BacklinkSettings::new("ftp://who.test/{url}").is_err());
    }

    #[test]
    fn answers_are_arrays_or_lines_and_limited() {
        let one = ("http://hub.test/".to_owned(), 0.75, 4);
        let other = ("http://list.test/x".to_owned(), 0.75, 4);
        assert_eq!(answered(200, "\n [\"http://hub.test\", \"nonsense\"]"), std::slice::from_ref(&one));
        let lines = "http://good.test/\r\n\r\nhttp://hub.test\r\nhttp://list.test/x\nhttp://third.test/\n";
        assert_eq!(answered(200, lines), [one, other]);
        for (status, body) in
            [(500, "http://hub.test/"), (200, "[1, 2]"), (200, ""), (200, "[\"http://hub.test/\"")]
        {
            assert_eq!(answered(status, body), [], "{body}");
        }
    }

    #[test]
    fn the_number_of_questions_is_limited() {
        let settings =
            BacklinkSettings { pages: 2, ..BacklinkSettings::new("http://who.test/{url}").unwrap() };
        let mut backlinks = Backlinks::new(settings, Some("1"));
        assert!(backlinks.ask(&url("http://poor.test/"), 0.1, 0).is_none());
        assert!(backlinks.ask(&url("http://good.test/"), 0.9, 0).is_some());
        assert!(backlinks.ask(&url("http://better.test/"), 1.0, 0).is_none());
        assert_eq!(backlinks.asked(), "2");
    }
}
