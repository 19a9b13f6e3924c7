//! A polite crawl in simulated time and over HTTP.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use porthole_crawl::{
    Crawl, Fetch, Focus, HttpFetch, HttpSettings, Idle, Limits, Politeness, Proxies, Seen, SystemClock,
};
use porthole_page::{Link, Page};
use porthole_store::SqliteStore;
use porthole_strategy::{SourcePage, Strategy};
use porthole_topic::{JudgeError, RelevanceJudge};
use porthole_types::{CanonicalUrl, Clock, Judgment, ManualClock, Mark, Outcome, TopicId, UrlId};
use porthole_webs::synth::{ServeOptions, SynthParams, SyntheticWeb, serve};

const PAGES: u64 = 120;

const LIMITS: Limits =
    Limits { pages: PAGES, wanted_pages: Some(PAGES), workers: 16, idle: Idle::Wait, ..Limits::NONE };

/// Knows the topic of every page, and estimates that of links well: no two links have the same priority.
struct WellInformed {
    web: Arc<SyntheticWeb>,
    topic: TopicId,
}

impl WellInformed {
    fn is_about(&self, url: &CanonicalUrl) -> bool {
        self.web.truth(url).is_some_and(|truth| truth.topic == self.topic)
    }

    fn focus(web: &Arc<SyntheticWeb>, topic: TopicId) -> Focus {
        let new = || Box::new(WellInformed { web: Arc::clone(web), topic });
        let marks =
            web.topics().iter().map(|of| if of.id == topic { Mark::Good } else { Mark::Null }).collect();
        Focus { judge: new(), strategy: new(), marks }
    }
}

impl RelevanceJudge for WellInformed {
    fn judge_page(&mut self, url: &CanonicalUrl, _: &Page) -> Result<Judgment, JudgeError> {
        let (relevance, best) = if self.is_about(url) { (0.9, self.topic) } else { (0.1, TopicId::ROOT) };
        Ok(Judgment { relevance, best })
    }
}

impl Strategy for WellInformed {
    fn name(&self) -> &str {
        "well-informed"
    }

    fn priority(&mut self, _: &SourcePage<'_>, link: &Link) -> Option<f64> {
        let own = (link.target.id().0 % 1_000) as f64 / 5_000.0;
        Some(own + if self.is_about(&link.target) { 0.7 } else { 0.1 })
    }
}

/// A web that is the same at any time and whose hosts all answer.
fn web() -> Arc<SyntheticWeb> {
    let params = SynthParams {
        page_bytes: 1_500,
        slow_hosts: 0.0,
        flaky_hosts: 0.0,
        stalling_hosts: 0.0,
        refusing_hosts: 0.0,
        growing: 0.0,
        changing: 0.0,
        ..SynthParams::default()
    };
    Arc::new(SyntheticWeb::new(params, Arc::new(ManualClock::default())).unwrap())
}

fn politeness() -> Politeness {
    let delay = Duration::from_millis(100);
    Politeness { min_delay: delay, delay_factor: 0, max_crawl_delay: delay, ..Politeness::default() }
}

/// A crawl that is ready to run, and the URLs of the pages that it fetched.
struct Polite<'a> {
    crawl: Crawl<'a>,
    pages: HashSet<UrlId>,
}

impl<'a> Polite<'a> {
    fn new(
        fetch: impl Fetch + 'a,
        web: &Arc<SyntheticWeb>,
        store: &'a mut SqliteStore,
        clock: impl Clock + 'a,
    ) -> Self {
        let topic = web.topic("/Recreation/Cycling").unwrap();
        let crawl = Crawl::new(fetch, store, clock).unwrap();
        let mut crawl = crawl.focused(WellInformed::focus(web, topic)).polite(politeness(), "porthole");
        crawl.start(&web.examples(topic, 3, 1)).unwrap();
        Polite { crawl, pages: HashSet::new() }
    }
}

fn keep(pages: &mut HashSet<UrlId>, seen: &Seen<'_>) -> ControlFlow<()> {
    if seen.result.outcome == Outcome::Fetched {
        pages.insert(seen.url.id());
    }
    ControlFlow::Continue(())
}

fn simulated(web: &Arc<SyntheticWeb>) -> HashSet<UrlId> {
    let folder = tempfile::tempdir().unwrap();
    let mut store = SqliteStore::open(folder.path().join("crawl.db")).unwrap();
    let clock = ManualClock::default();
    let Polite { mut crawl, mut pages } = Polite::new(&**web, web, &mut store, &clock);
    crawl.run_simulated(LIMITS, &clock, &mut |seen: Seen<'_>| keep(&mut pages, &seen)).unwrap();
    drop(crawl);
    pages
}

async fn over_http(web: &Arc<SyntheticWeb>) -> HashSet<UrlId> {
    let folder = tempfile::tempdir().unwrap();
    let mut store = SqliteStore::open(folder.path().join("crawl.db")).unwrap();
    let loopback = "127.0.0.1:0".parse().unwrap();
    let server = serve(Arc::clone(web), loopback, ServeOptions::default()).await.unwrap();
    let settings = HttpSettings {
        contact: Some("test@example.org".to_owned()),
        proxies: Proxies::all(format!("http://{}", server.addr()).parse().unwrap()),
        ..HttpSettings::default()
    };
    let fetch = HttpFetch::new(settings).unwrap();
    let Polite { mut crawl, mut pages } = Polite::new(fetch, web, &mut store, SystemClock);
    crawl.run(LIMITS, &mut |seen: Seen<'_>| keep(&mut pages, &seen)).await.unwrap();
    drop(crawl);
    server.shutdown().await;
    pages
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crawl_fetches_the_same_pages_in_simulated_time_and_over_http() {
    let web = web();
    let (simulated, real) = (simulated(&web), over_http(&web).await);
    assert_eq!((simulated.len() as u64, real.len() as u64), (PAGES, PAGES));
    let shared = simulated.intersection(&real).count() as u64;
    assert!(shared >= PAGES * 9 / 10, "{shared} of {PAGES} pages");
}
