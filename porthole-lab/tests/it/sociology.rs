//! The standing queries find in a crawl the relations between topics that are planted in the synthetic web.

use std::sync::Arc;

use porthole_store::{Batch, QueryLimits, SqlValue, SqliteStore, Store, WorkspaceWriter};
use porthole_types::{
    CanonicalUrl, Judgment, LinkRow, ManualClock, Mark, NewUrl, Outcome, PageResult, Timestamp, TopicId,
    TopicRow,
};
use porthole_webs::synth::{LinkEnd, SynthParams, SyntheticWeb};
use tempfile::TempDir;

/// A focused crawl with an ideal critic: pages about the topic first, then their links.
struct Crawl {
    web: SyntheticWeb,
    store: SqliteStore,
    _folder: TempDir,
}

impl Crawl {
    fn of(topics: &[&str], fetches: u64) -> Crawl {
        let params = SynthParams { pages: 100_000, sociology: true, ..SynthParams::default() };
        let epoch = Timestamp(params.epoch_ms);
        let web = SyntheticWeb::new(params, Arc::new(ManualClock::at(epoch))).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut store = SqliteStore::open(folder.path().join("porthole.db")).unwrap();
        let row = |topic: &porthole_webs::synth::Topic| TopicRow {
            id: topic.id,
            parent: topic.parent.unwrap_or(TopicId::ROOT),
            name: topic.path.rsplit('/').next().unwrap_or_default().to_owned(),
            mark: Mark::Null,
        };
        store.set_topics(&web.topics().iter().map(row).collect::<Vec<_>>()).unwrap();
        let good: Vec<TopicId> = topics.iter().map(|path| web.topic(path).unwrap()).collect();
        let mut crawl = Crawl { web, store, _folder: folder };
        for &topic in &good {
            let starts = crawl.web.examples(topic, 10, 1);
            let starts: Vec<NewUrl> = starts.into_iter().map(|url| new_url(url, 1.0)).collect();
            crawl.store.add(&starts).unwrap();
        }
        let mut seq = 0;
        while seq < fetches {
            let work = crawl.store.take(50, epoch).unwrap();
            assert!(!work.is_empty(), "the web is larger than the crawl");
            let results: Vec<PageResult> =
                work.iter().zip(seq..).map(|(work, seq)| crawl.fetched(&work.url, seq, &good)).collect();
            crawl.store.commit(&Batch { results: &results, ..Batch::default() }).unwrap();
            seq += results.len() as u64;
        }
        crawl
    }

    fn fetched(&self, url: &CanonicalUrl, seq: u64, good: &[TopicId]) -> PageResult {
        let topic = self.web.truth(url).map_or(TopicId::ROOT, |truth| truth.topic);
        let relevance = if good.contains(&topic) { 1.0 } else { 0.1 };
        let links = self.web.outlinks(url).unwrap_or_default().into_iter();
        let links = links.filter(|link| link.kind == LinkEnd::Page).map(|link| {
            let target = new_url(link.url, relevance);
            LinkRow::to(target)
        });
        PageResult {
            seq,
            oid: url.id(),
            sid: url.site(),
            at: Timestamp(self.web.params().epoch_ms),
            status: 200,
            outcome: Outcome::Fetched,
            judgment: Some(Judgment { relevance, best: topic }),
            title: String::new(),
            language: String::new(),
            bytes: 1,
            simhash: 1,
            terms: Vec::new(),
            copy_of: None,
            validators: None,
            next_visit: None,
            span: None,
            links: links.collect(),
        }
    }

    fn ask(&self, query: &str, parameters: &[(&str, &str)]) -> Vec<Vec<SqlValue>> {
        self.store.reader().query(query, parameters, &QueryLimits::default()).unwrap().rows
    }
}

fn new_url(url: CanonicalUrl, relevance: f64) -> NewUrl {
    NewUrl { url, relevance, priority: relevance, depth: 0 }
}

#[test]
fn cyclists_cite_first_aid() {
    let crawl = Crawl::of(&["/Recreation/Cycling"], 1_500);
    let rows = crawl.ask("citation-sociology", &[("topic", "/Recreation/Cycling")]);
    assert!(rows.len() > 10, "{rows:?}");
    assert_eq!(rows[0][0].text(), "/Health/First_Aid", "{rows:?}");
    let lift = |row: usize| rows[row][4].real().unwrap();
    assert!(lift(0) > 1.5 * lift(1), "{rows:?}");
}

#[test]
fn a_few_pages_about_databases_are_cited_from_hawaii() {
    let crawl = Crawl::of(&["/Travel/Hawaii", "/Computers/Databases"], 1_500);
    let topics = [("topic", "/Computers/Databases"), ("cited_by", "/Travel/Hawaii")];
    let rows = crawl.ask("spam-filter", &topics);
    let cited = |row: usize| rows[row][1].integer().unwrap();
    // Five are planted; two of them may be the same page.
    assert!(rows.len() > 6 && cited(3) > 3 * cited(6), "{:?}", &rows[..8]);
}

#[test]
fn photographers_of_birds_climb() {
    let crawl = Crawl::of(&["/Science/Birds", "/Arts/Photography"], 1_500);
    let chains = |to: &str| {
        let parameters =
            [("topic", "/Science/Birds"), ("via", "/Arts/Photography"), ("to", to), ("rows", "100000")];
        crawl.ask("typed-link", &parameters).len()
    };
    let (planted, other) = (chains("/Recreation/Climbing"), chains("/Recreation/Sailing"));
    assert!(planted > 100 && planted > 4 * other, "{planted} against {other}");
}

/// V 3.7: the crawl for mutual funds found investment in general.
#[test]
fn a_commingled_topic_shows_its_parent_in_the_census() {
    let crawl = Crawl::of(&["/Business/Mutual_Funds"], 1_500);
    let rows = crawl.ask("census-up", &[]);
    let pages = |row: usize| rows[row][2].integer().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row[1].text()).collect();
    assert_eq!(names[0], "Business", "{names:?}");
    let mut pair = [names[1], names[2]];
    pair.sort_unstable();
    assert_eq!(pair, ["Mutual_Funds", "Stock_Market"], "{names:?}");
    assert!(pages(0) * 3 > pages(1) * 4, "the parent has far more than either: {rows:?}");
}
