//! Asks a search engine for pages with some words, to begin a topic without an example (V 3.3 and W 4.2 start their
//! crawls from keyword searches). Any endpoint that answers like SearXNG will do.

use porthole_types::{CanonicalUrl, shortened};
use serde::Deserialize;

use crate::endpoint::EndpointUrl;
use crate::{Fetch, FetchError, Request, Response};

/// A search engine that the user named.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchEndpoint {
    /// In its URL, `{words}` is replaced by the words. It returns `{"results": [{"url", "title", "content"}]}`.
    pub url: EndpointUrl,
}

/// A page in an answer. All of it is the endpoint's word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointHit {
    /// The URL; http or https.
    pub url: CanonicalUrl,
    /// The title; may be empty.
    pub title: String,
    /// Some of its text; may be empty.
    pub content: String,
}

/// What an endpoint answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndpointAnswer {
    /// The pages in the endpoint's order, each once.
    pub hits: Vec<EndpointHit>,
    /// Number of results that were left out: without a URL of the web, duplicates, more than were wanted.
    pub left_out: usize,
}

/// Why there is no answer, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum SearchEndpointError {
    /// The URL with the words is no URL.
    #[error("the words are too long for a search; use fewer")]
    Words,
    /// No response.
    #[error("the search endpoint does not answer: {0}")]
    Unanswered(#[from] FetchError),
    /// A redirect.
    #[error("the search endpoint {url} redirects to {to}; name that URL instead")]
    Redirect {
        /// The request.
        url: CanonicalUrl,
        /// Its target.
        to: String,
    },
    /// Another status than 200.
    #[error("the search endpoint {url} answers with status {status}{}", remedy(*status))]
    Status {
        /// The request.
        url: CanonicalUrl,
        /// The status.
        status: u16,
    },
    /// Too much of an answer.
    #[error("the answer of the search endpoint {url} is too large; limit the number of results in its URL")]
    Size {
        /// The request.
        url: CanonicalUrl,
    },
    /// Not the JSON that is expected.
    #[error(
        "the search endpoint {url} does not answer with {{\"results\": [{{\"url\", \"title\", \"content\"}}]}} ({why}); \
         for SearXNG, the URL needs `format=json`"
    )]
    Format {
        /// The request.
        url: CanonicalUrl,
        /// What is wrong.
        why: String,
    },
}

fn remedy(status: u16) -> &'static str {
    match status {
        403 => "; SearXNG needs `json` under `search: formats:` in its settings.yml",
        429 => "; it limits the number of searches, try again later",
        _ => "; open it in a browser to see why",
    }
}

/// Placeholder for the words.
const PLACEHOLDER: &str = "{words}";

/// Maximum sizes of a title and of a content in bytes.
const MAX_TITLE: usize = 300;
const MAX_CONTENT: usize = 1_000;

impl SearchEndpoint {
    /// An endpoint with the given URL.
    ///
    /// # Errors
    /// A message that says what is wrong with the URL.
    pub fn new(url: &str) -> Result<SearchEndpoint, String> {
        Ok(SearchEndpoint { url: EndpointUrl::new(url, PLACEHOLDER, "the words")? })
    }

    /// Searches for words; at most `most` pages are returned. robots.txt does not apply, because the user named the
    /// endpoint. Redirects are not followed.
    pub async fn search(
        &self,
        web: &dyn Fetch,
        words: &str,
        most: usize,
    ) -> Result<EndpointAnswer, SearchEndpointError> {
        let url = self.url.with(words).ok_or(SearchEndpointError::Words)?;
        let response = web.fetch(&Request::data(url.clone())).await?;
        answer(url, &response, most)
    }
}

fn answer(
    url: CanonicalUrl,
    response: &Response,
    most: usize,
) -> Result<EndpointAnswer, SearchEndpointError> {
    #[derive(Deserialize)]
    struct FoundResults {
        results: Vec<serde_json::Value>,
    }
    match response.status {
        200 => {}
        300..400 => {
            let to = response.headers.get("location").unwrap_or("nowhere").to_owned();
            return Err(SearchEndpointError::Redirect { url, to });
        }
        status => return Err(SearchEndpointError::Status { url, status }),
    }
    if response.truncated {
        return Err(SearchEndpointError::Size { url });
    }
    let found: FoundResults = match serde_json::from_slice(&response.body) {
        Ok(found) => found,
        Err(error) => return Err(SearchEndpointError::Format { url, why: error.to_string() }),
    };
    let all = found.results.len();
    let mut hits: Vec<EndpointHit> = Vec::new();
    for hit in found.results.iter().filter_map(hit) {
        if hits.len() < most && !hits.iter().any(|known| known.url == hit.url) {
            hits.push(hit);
        }
    }
    Ok(EndpointAnswer { left_out: all - hits.len(), hits })
}

/// A result with a URL of the web.
fn hit(result: &serde_json::Value) -> Option<EndpointHit> {
    let text = |name: &str, most: usize| {
        let text = result.get(name).and_then(serde_json::Value::as_str).unwrap_or_default();
        shortened(text.split_whitespace().collect::<Vec<_>>().join(" "), most)
    };
    let url = CanonicalUrl::parse(result.get("url")?.as_str()?).ok()?;
    Some(EndpointHit { url, title: text("title", MAX_TITLE), content: text("content", MAX_CONTENT) })
}

#[cfg(test)]
mod tests {

    use porthole_types::Headers;

    use super::*;

    fn answered(status: u16, body: &str, truncated: bool) -> Result<EndpointAnswer, String> {
        let endpoint = SearchEndpoint::new("http://find.test/?q={words}&format=json").unwrap();
        let mut headers = Headers::new();
        headers.push("location", "http://10.0.0.1/");
        let body = body.to_owned();
        let response = Response { truncated, ..Response::new(status, headers, body) };
        let url = endpoint.url.with("barn owl & \"nest\"").unwrap();
        assert!(url.as_str().contains("q=barn%20owl%20%26%20%22nest%22"), "{url}");
        answer(url, &response, 2).map_err(|error| error.to_string())
    }

    #[test]
    fn results_with_urls_of_the_web_are_taken_once() {
        let body = r#"{"query": "x", "results": [
            {"url": "http://a.test", "title": "A\n  title", "content": "text", "score": 1},
            {"url": "javascript:alert(1)", "title": "bad"}, {"url": "file:///etc/passwd"}, {"url": 7}, "text", {},
            {"url": "HTTP://A.test/", "title": "again"},
            {"url": "http://b.test/"}, {"url": "http://c.test/"}]}"#;
        let found = answered(200, body, false).unwrap();
        let hits: Vec<_> =
            found.hits.iter().map(|hit| (hit.url.as_str(), &*hit.title, &*hit.content)).collect();
        assert_eq!(hits, [("http://a.test/", "A title", "text"), ("http://b.test/", "", "")]);
        assert_eq!(found.left_out, 7);
        let long =
            format!(r#"{{"results": [{{"url": "http://a.test/", "title": "{}"}}]}}"#, "ü".repeat(9_000));
        assert!(answered(200, &long, false).unwrap().hits[0].title.len() <= MAX_TITLE + "…".len());
        assert_eq!(answered(200, r#"{"results": []}"#, false), Ok(EndpointAnswer::default()));
    }

    #[test]
    fn other_answers_are_errors_that_say_what_to_do() {
        let deep = "[".repeat(100_000);
        for (status, body, truncated, words) in [
            (200, "<html>", false, "format=json"),
            (200, "", false, "format=json"),
            (200, deep.as_str(), false, "format=json"),
            (200, "[\"http://a.test/\"]", false, "results"),
            (200, "{\"results\": 7}", false, "results"),
            (200, "{\"results\": []}", true, "too large"),
            (302, "", false, "redirects to http://10.0.0.1/"),
            (403, "", false, "settings.yml"),
            (429, "", false, "later"),
            (500, "", false, "status 500"),
        ] {
            let error = answered(status, body, truncated).unwrap_err();
            assert!(error.contains(words) && error.contains("http://find.test/"), "{error}");
        }
        assert!(SearchEndpoint::new("http://find.test/").unwrap_err().contains("{words}"));
        assert!(SearchEndpoint::new("ftp://find.test/{words}").is_err());
    }
}
