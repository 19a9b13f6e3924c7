//! Responses of the synthetic web's hosts: pages, redirects, errors, timeouts. Nothing here sleeps; a response states
//! its simulated duration.

use std::future::ready;
use std::time::Duration;

use porthole_crawl::{Fetch, FetchError, FetchFuture, Request, Response};
use porthole_types::{CanonicalUrl, FailureKind, Headers, Timestamp};

use super::draw::{Draw, For, Share, mix};
use super::hrefs::{push_loop, push_redirect};
use super::pen::Style;
use super::sites::SyntheticPage;
use super::truth::Health;
use super::urls::{UrlMeaning, canonical};
use super::{SyntheticWeb, http_date, parse_http_date};

/// Minimum latency of slow hosts; all others are faster.
pub(crate) const SLOW: Duration = Duration::from_secs(2);

impl SyntheticWeb {
    /// The response to a request at the current time of the web's clock.
    pub fn answer(&self, request: &Request) -> Result<Response, FetchError> {
        let url = &request.url;
        if url.scheme() != "http" {
            return Err(failure(url, FailureKind::Tls, "the synthetic web speaks http only"));
        }
        let place = self.plan.place(url);
        let Some(site) = place.site() else {
            return Err(failure(url, FailureKind::Dns, "no such host in the synthetic web"));
        };
        let now = self.now();
        if let Some(failed) = self.fails(url, site, now)? {
            return Ok(failed);
        }
        let mut response = self.at(place, request, now);
        response.took = self.latency(site, response.body.len());
        Ok(response)
    }

    fn at(&self, place: UrlMeaning, request: &Request, now: Timestamp) -> Response {
        let plan = &self.plan;
        match place {
            UrlMeaning::Page(page) if plan.exists(page, now.0) => self.page(page, &request.headers, now),
            UrlMeaning::Moved { to, hops } => self.redirect(to, hops),
            UrlMeaning::Loop { page, side } => {
                let mut path = Vec::new();
                push_loop(&mut path, page, 1 - side);
                self.redirect_to(302, page.site, &path)
            }
            UrlMeaning::Calendar { site, month } => html(200, plan.calendar(site, month)),
            UrlMeaning::List { site } => html(200, plan.list(site, request.url.query().unwrap_or(""))),
            UrlMeaning::Robots { site } => match (plan.robots_txt(site), plan.allowed_at_all(site)) {
                (Some(text), _) => plain(200, "text/plain", text),
                (None, true) => missing(),
                (None, false) => html(503, b"<h1>Service unavailable</h1>".to_vec()),
            },
            UrlMeaning::Sitemap { site } => match plan.sitemap(site, now.0) {
                Some(text) => plain(200, "application/xml", text),
                None => missing(),
            },
            UrlMeaning::Page(_) | UrlMeaning::Missing { .. } | UrlMeaning::NoHost => missing(),
        }
    }

    fn page(&self, page: SyntheticPage, conditions: &Headers, now: Timestamp) -> Response {
        let plan = &self.plan;
        let version = plan.version(page, now);
        let etag = format!("\"{:x}-{:x}\"", plan.sites.index(plan.sites.origin(page)), version.number);
        let unchanged = match (conditions.get("if-none-match"), conditions.get("if-modified-since")) {
            (Some(known), _) => known.split(',').any(|tag| tag.trim() == etag || tag.trim() == "*"),
            (None, Some(since)) => parse_http_date(since).is_some_and(|since| since.0 >= version.at),
            (None, None) => false,
        };
        let (status, body) = if unchanged { (304, Vec::new()) } else { (200, plan.html(page, version)) };
        let style = Style::of(plan, plan.sites.origin(page).site);
        let mut response = plain(status, style.content_type(), body);
        response.headers.push("ETag", &etag);
        response.headers.push("Last-Modified", &http_date(Timestamp(version.at)));
        response
    }

    fn redirect(&self, to: SyntheticPage, hops: u32) -> Response {
        let mut path = Vec::new();
        if hops == 0 {
            self.plan.push_path(&mut path, to);
            return self.redirect_to(301, to.site, &path);
        }
        push_redirect(&mut path, to, hops - 1);
        self.redirect_to(302, to.site, &path)
    }

    fn redirect_to(&self, status: u16, site: u32, path: &[u8]) -> Response {
        let mut location = b"http://".to_vec();
        self.plan.push_host(&mut location, site);
        location.extend_from_slice(path);
        let location = canonical(&location);
        let mut response = html(status, format!("<a href=\"{location}\">moved</a>\n").into_bytes());
        response.headers.push("Location", location.as_str());
        response
    }

    /// Failure of a host in bad health, drawn again every minute.
    fn fails(&self, url: &CanonicalUrl, site: u32, now: Timestamp) -> Result<Option<Response>, FetchError> {
        let params = self.params();
        let hit = |rate: f64| {
            let key = mix(url.id().0 ^ now.0.div_euclid(60_000).unsigned_abs());
            Draw::new(params.seed, For::Failure, key).chance(Share::of(rate))
        };
        match self.plan.health(site) {
            Health::Refusing => Err(failure(url, FailureKind::Connect, "connection refused")),
            Health::Stalling if hit(params.stalling_rate) => {
                Err(failure(url, FailureKind::Timeout, "no answer in time"))
            }
            Health::Flaky if hit(params.flaky_rate) => {
                let mut response = html(500, b"<h1>Internal server error</h1>".to_vec());
                response.took = self.latency(site, 0);
                Ok(Some(response))
            }
            _ => Ok(None),
        }
    }

    /// Latency of a site for a response of `bytes` bytes.
    fn latency(&self, site: u32, bytes: usize) -> Duration {
        let mut draw = self.plan.draw_site(For::Latency, site);
        let base = match self.plan.health(site) {
            Health::Slow => SLOW + Duration::from_millis(u64::from(draw.below(6_000))),
            _ => Duration::from_millis(u64::from(20 + draw.below(280))),
        };
        // About 2 MB/s.
        base + Duration::from_micros(bytes as u64 / 2)
    }
}

impl Fetch for SyntheticWeb {
    fn fetch<'a>(&'a self, request: &'a Request) -> FetchFuture<'a> {
        Box::pin(ready(self.answer(request)))
    }
}

impl UrlMeaning {
    fn site(self) -> Option<u32> {
        match self {
            UrlMeaning::Page(page) | UrlMeaning::Moved { to: page, .. } | UrlMeaning::Loop { page, .. } => {
                Some(page.site)
            }
            UrlMeaning::Calendar { site, .. }
            | UrlMeaning::List { site }
            | UrlMeaning::Robots { site }
            | UrlMeaning::Sitemap { site }
            | UrlMeaning::Missing { site } => Some(site),
            UrlMeaning::NoHost => None,
        }
    }
}

fn failure(url: &CanonicalUrl, kind: FailureKind, detail: &str) -> FetchError {
    FetchError { url: url.clone(), kind, detail: detail.to_owned() }
}

fn missing() -> Response {
    html(404, b"<html><head><title>Not found</title></head><body><h1>Not found</h1></body></html>\n".to_vec())
}

fn html(status: u16, body: Vec<u8>) -> Response {
    plain(status, "text/html; charset=utf-8", body)
}

fn plain(status: u16, content_type: &str, body: Vec<u8>) -> Response {
    let headers = [("Content-Type", content_type)].into_iter().collect();
    Response::new(status, headers, body)
}
