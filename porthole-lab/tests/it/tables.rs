//! The tables after a crawl, independent of the strategy.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use porthole_crawl::{Crawl, Focus, Limits, Seen};
use porthole_page::Page;
use porthole_store::{
    DistilledScores, QueryAnswer, SqlDistillation, SqlValue, SqliteReader, SqliteStore, Store, StoreReader,
    WorkspaceWriter,
};
use porthole_topic::{JudgeError, RelevanceJudge};
use porthole_types::{CanonicalUrl, Judgment, ManualClock, Mark, TopicId};
use porthole_webs::synth::{SynthParams, SyntheticWeb};

/// A judge that knows the topic of every page.
struct Truthful {
    web: Arc<SyntheticWeb>,
    topic: TopicId,
}

impl RelevanceJudge for Truthful {
    fn judge_page(&mut self, url: &CanonicalUrl, _: &Page) -> Result<Judgment, JudgeError> {
        let best = self.web.truth(url).map_or(TopicId::ROOT, |truth| truth.topic);
        Ok(Judgment { relevance: if best == self.topic { 0.875 } else { 0.125 }, best })
    }
}

/// A hard focus: links of pages about something else are not followed.
fn crawl(web: &Arc<SyntheticWeb>, clock: &ManualClock, store: &mut SqliteStore) {
    let topic = web.topic("/Recreation/Cycling").unwrap();
    let marks = web.topics().iter().map(|of| if of.id == topic { Mark::Good } else { Mark::Null }).collect();
    let judge = Box::new(Truthful { web: web.clone(), topic });
    let focus = Focus { judge, strategy: Box::new(porthole_strategy::Hard), marks };
    let mut crawl = Crawl::new(&**web, store, clock).unwrap().focused(focus);
    crawl.start(&web.examples(topic, 10, 1)).unwrap();
    let mut observe = |seen: Seen<'_>| {
        clock.advance(seen.took);
        ControlFlow::Continue(())
    };
    pollster::block_on(crawl.run(Limits { fetches: 600, ..Limits::default() }, &mut observe)).unwrap();
}

fn ask(reader: &SqliteReader, sql: &str) -> QueryAnswer {
    reader.sql(sql, &porthole_store::QueryLimits::default()).unwrap()
}

fn scores(answer: &QueryAnswer) -> HashMap<i64, f64> {
    let sum: f64 = answer.rows.iter().map(|row| row[1].real().unwrap()).sum();
    let score = |row: &Vec<SqlValue>| (row[0].integer().unwrap(), row[1].real().unwrap() / sum);
    answer.rows.iter().map(score).filter(|&(_, score)| score > 1e-9).collect()
}

#[test]
fn every_link_is_stored_and_the_papers_sql_gives_the_scores() {
    let clock = Arc::new(ManualClock::default());
    let params = SynthParams { pages: 20_000, ..SynthParams::default() };
    let web = Arc::new(SyntheticWeb::new(params, clock.clone()).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("porthole.db");
    let mut store = SqliteStore::open(&path).unwrap();
    crawl(&web, &clock, &mut store);
    let reader = SqliteReader::open(&path).unwrap();

    let counts = reader.counts().unwrap();
    assert_eq!(counts, store.counts());
    assert!(counts.rejected > 500, "{counts:?}");
    // Pages about other topics have all their links, too.
    let links = "select page.url, target.url from link join page on page.oid = oid_src
                 join crawl as target on target.oid = oid_dst where page.state = 'fetched' and page.relevance < 0.5";
    let mut kept: HashMap<String, HashSet<String>> = HashMap::new();
    for row in &ask(&reader, links).rows {
        kept.entry(row[0].text().to_owned()).or_default().insert(row[1].text().to_owned());
    }
    assert!(kept.len() > 100, "{}", kept.len());
    for (url, kept) in &kept {
        let url = CanonicalUrl::parse(url).unwrap();
        let planted: HashSet<String> =
            web.outlinks(&url).unwrap().into_iter().map(|link| link.url.to_string()).collect();
        assert!(planted.is_subset(kept), "{url} lacks {:?}", planted.difference(kept).next());
    }
    let texts = &ask(&reader, "select count(anchor) * 1.0 / count(*), avg(length(anchor)) from link").rows[0];
    assert!(texts[0].real().unwrap() > 0.5, "{texts:?}");

    // V Fig. 4: the scores are a fixed point of the two steps.
    let how =
        SqlDistillation { rho: 0.1, correct_inflation: false, factors: &[], hub_factors: &[], sites: &[] };
    let found = reader.distiller(&how).unwrap().run(1e-12, 2_000).unwrap();
    store
        .set_scores(&DistilledScores {
            hubs: &found.hubs,
            auth: &found.authorities,
            ..DistilledScores::default()
        })
        .unwrap();
    let steps = [
        (
            "hubs",
            "select oid_src, sum(score * wgt_rev) from AUTH, LINK
                  where sid_src <> sid_dst and oid = oid_dst group by oid_src",
        ),
        (
            "auth",
            "select oid_dst, sum(score * wgt_fwd) from HUBS, LINK, CRAWL
                  where sid_src <> sid_dst and HUBS.oid = oid_src and oid_dst = CRAWL.oid and relevance > 0.1
                  group by oid_dst",
        ),
    ];
    for (table, step) in steps {
        let stored = scores(&ask(&reader, &format!("select oid, score from {table}")));
        let next = scores(&ask(&reader, step));
        assert!(stored.len() > 50 && stored.len() == next.len(), "{table}: {} {}", stored.len(), next.len());
        for (oid, score) in &stored {
            assert!((next[oid] - score).abs() < 1e-6, "{table}: {score} {}", next[oid]);
        }
    }
}
