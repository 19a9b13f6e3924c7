//! A link graph to distil: a crawl of a synthetic web, judged by its ground truth.

use std::sync::Arc;

use porthole_crawl::{Crawl, Focus, Limits, Seen};
use porthole_page::Page;
use porthole_store::{DatabaseLocation, Store, TableStore};
use porthole_topic::{JudgeError, RelevanceJudge};
use porthole_types::{CanonicalUrl, Judgment, ManualClock, Mark, TopicId};

use super::DistillerBenchError;
use porthole_webs::synth::{SynthParams, SyntheticWeb};

/// Size of the web relative to the crawl: a focused crawl must not exhaust its topic.
const WEB: u64 = 20;

/// Crawls a synthetic web for one of its topics into a new database.
pub(super) async fn crawl(
    database: &DatabaseLocation,
    pages: u64,
    seed: u64,
) -> Result<(), DistillerBenchError> {
    let clock = Arc::new(ManualClock::default());
    let web_pages = u32::try_from(pages * WEB).unwrap_or(u32::MAX).max(20_000);
    let params = SynthParams { seed, pages: web_pages, ..SynthParams::default() };
    let web = Arc::new(SyntheticWeb::new(params, clock.clone())?);
    let topic = web.topic("/Recreation/Cycling").unwrap_or(TopicId(1));
    let mut store = TableStore::open_at(database)?;
    let marks = web.topics().iter().map(|of| if of.id == topic { Mark::Good } else { Mark::Null }).collect();
    let strategy = Box::new(porthole_strategy::Soft);
    let judge = Box::new(TruthJudge { web: web.clone(), topic });
    let crawl = Crawl::new(&*web, &mut store, &*clock)?.focused(Focus { judge, strategy, marks });
    // The clock is simulated: synced only at the end.
    let mut crawl = crawl.syncing_after(std::time::Duration::MAX);
    crawl.start(&web.examples(topic, 10, seed))?;
    let mut observe = |seen: Seen<'_>| {
        clock.advance(seen.took);
        std::ops::ControlFlow::Continue(())
    };
    crawl.run(Limits { fetches: pages, ..Limits::default() }, &mut observe).await?;
    drop(crawl);
    Ok(store.tidy()?)
}

/// A judge that knows the topic of every page, with varying probability.
struct TruthJudge {
    web: Arc<SyntheticWeb>,
    topic: TopicId,
}

impl RelevanceJudge for TruthJudge {
    fn judge_page(&mut self, url: &CanonicalUrl, _: &Page) -> Result<Judgment, JudgeError> {
        let best = self.web.truth(url).map_or(TopicId::ROOT, |truth| truth.topic);
        let sure = (url.id().0 % 1_000) as f64 / 1e3;
        let relevance = if best == self.topic { 0.5 + 0.5 * sure } else { 0.2 * sure };
        Ok(Judgment { relevance, best })
    }
}
