//! Pages that link to good pages, from somebody who knows more of the web than the crawl has seen (V 3.2 names them as a
//! way to extend the frontier): a page that links to a good one is as likely to be good as one that it links to, and
//! lists others of its kind. The pages that our own `link` table has as sources were all fetched, so that it has nothing
//! to add.

use std::fmt::Write;

use porthole_types::{CanonicalUrl, NewUrl};

use crate::Response;

/// Whom to ask, and how much.
#[derive(Clone, Debug, PartialEq)]
pub struct BacklinkSettings {
    /// A URL with `{url}` in it, in place of which the page stands. It answers with a JSON array of URLs, or a URL a line.
    /// Requests go through the crawl's own `Fetch`, and mind the pauses of the endpoint's site; whoever names an endpoint
    /// may ask it, whatever its robots.txt says.
    pub endpoint: String,
    /// Pages with an R of at least this are asked about.
    pub relevance: f64,
    /// So many links are taken of an answer, at most.
    pub links: usize,
    /// So many pages are asked about in a crawl, at most.
    pub pages: u64,
}

/// Where in an endpoint the page stands.
const PLACE: &str = "{url}";

impl BacklinkSettings {
    /// An endpoint with the usual limits.
    ///
    /// # Errors
    /// What is wrong with the endpoint, in words.
    pub fn new(endpoint: &str) -> Result<BacklinkSettings, String> {
        if !endpoint.contains(PLACE) {
            return Err(format!("{endpoint} has no {PLACE}, in place of which the page stands"));
        }
        CanonicalUrl::parse(&endpoint.replace(PLACE, "x")).map_err(|error| format!("{endpoint}: {error}"))?;
        Ok(BacklinkSettings { endpoint: endpoint.to_owned(), relevance: 0.5, links: 20, pages: 100 })
    }

    /// The question about a page, if it is worth one.
    fn question(&self, page: &CanonicalUrl, relevance: f64, depth: u32) -> Option<Question> {
        let url = CanonicalUrl::parse(&self.endpoint.replace(PLACE, &encoded(page.as_str()))).ok()?;
        let is_worth_it = relevance >= self.relevance && page.site() != url.site();
        is_worth_it.then(|| Question { url, page: page.clone(), relevance, depth, links: self.links })
    }
}

/// Asks about good pages until that was done often enough.
#[derive(Debug)]
pub(crate) struct Backlinks {
    settings: BacklinkSettings,
    /// Pages that were asked about, in earlier runs, too.
    asked: u64,
}

impl Backlinks {
    /// `asked` is what [`ASKED`] says.
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

/// The setting that counts the pages that were asked about; committed with them.
pub(crate) const ASKED: &str = "crawl.backlinks";

/// Who links to a page?
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Question {
    /// Who is asked.
    pub(crate) url: CanonicalUrl,
    page: CanonicalUrl,
    relevance: f64,
    depth: u32,
    links: usize,
}

impl Question {
    /// What an answer adds to the frontier: worth as much as a link of the page itself.
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

/// A text as a value in a query.
fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(2 * text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use porthole_types::Headers;

    use super::*;

    fn url(text: &str) -> CanonicalUrl {
        CanonicalUrl::parse(text).unwrap()
    }

    fn answered(status: u16, body: &str) -> Vec<(String, f64, u32)> {
        let settings =
            BacklinkSettings { links: 2, ..BacklinkSettings::new("http://who.test/?url={url}").unwrap() };
        let question = settings.question(&url("http://good.test/"), 0.75, 3).unwrap();
        let response = Response {
            status,
            headers: Headers::new(),
            body: body.to_owned().into(),
            truncated: false,
            took: Duration::ZERO,
        };
        let found = question.answered(&response).into_iter();
        found.map(|new| (new.url.as_str().to_owned(), new.priority, new.depth)).collect()
    }

    #[test]
    fn the_page_stands_in_the_endpoint_as_a_value() {
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
            "nobody is asked about themselves"
        );
        assert!(BacklinkSettings::new("http://who.test/").unwrap_err().contains("{url}"));
        assert!(BacklinkSettings::new("ftp://who.test/{url}").is_err());
    }

    #[test]
    fn answers_are_arrays_or_lines_and_no_more_is_taken_than_allowed() {
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
    fn one_asks_so_often_and_no_more() {
        let settings =
            BacklinkSettings { pages: 2, ..BacklinkSettings::new("http://who.test/{url}").unwrap() };
        let mut backlinks = Backlinks::new(settings, Some("1"));
        assert!(backlinks.ask(&url("http://poor.test/"), 0.1, 0).is_none());
        assert!(backlinks.ask(&url("http://good.test/"), 0.9, 0).is_some());
        assert!(backlinks.ask(&url("http://better.test/"), 1.0, 0).is_none());
        assert_eq!(backlinks.asked(), "2");
    }
}
