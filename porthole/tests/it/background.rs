//! What a crawl contributes to training: background examples, wider topics, examples from specialised sites, and the
//! pages as rows.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use porthole_store::{ProbeTable, Prober, QueryLimits, SqliteReader, StoreReader};
use porthole_types::{ManualClock, TopicId};
use porthole_webs::synth::{SynthParams, SyntheticWeb};
use serde_json::Value;
use tempfile::TempDir;

use crate::recording::record;

/// The good topic, and all topics of the tree; most topics of the web are missing in it.
const GOOD: &str = "/Business/Mutual_Funds";
const TOPICS: [&str; 5] =
    [GOOD, "/Business/Stock_Market", "/Recreation/Cycling", "/Travel/Castles", "/Science/Geology"];

/// Examples of each topic.
const EXAMPLES: usize = 12;

/// A recorded web, completely crawled with a critic that knows few of its topics.
struct Crawled {
    folder: TempDir,
    /// URL to path of the topic.
    topics: HashMap<String, String>,
}

impl Crawled {
    /// The instance that all tests share while any of them runs.
    fn get() -> Arc<Crawled> {
        static SHARED: Mutex<Weak<Crawled>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.upgrade().unwrap_or_else(|| {
            let made = Arc::new(Crawled::make());
            *shared = Arc::downgrade(&made);
            made
        })
    }

    fn make() -> Crawled {
        let folder = tempfile::tempdir().unwrap();
        let web = web();
        let topics = record(&web, &folder.path().join("web"));
        let examples = TOPICS.iter().flat_map(|path| {
            let urls = web.examples(web.topic(path).unwrap(), EXAMPLES, 1).into_iter();
            urls.map(move |url| format!("{url}\t{path}\n"))
        });
        fs::write(folder.path().join("examples.tsv"), examples.collect::<String>()).unwrap();
        let crawled = Crawled { folder, topics };
        let here = crawled.folder.path();
        ok(here, &["init", "ws"]);
        ok(here, &["-C", "ws", "examples", "import", "examples.tsv", "--web", "web/00000.warc.gz"]);
        ok(here, &["-C", "ws", "topics", "mark", GOOD]);
        ok(here, &["-C", "ws", "train", "--background", "0"]);
        ok(here, &["-C", "ws", "crawl", "--web", "web/00000.warc.gz"]);
        crawled
    }
}

fn web() -> SyntheticWeb {
    let params = SynthParams {
        pages: 4_000,
        site_pages: 10,
        page_bytes: 1_000,
        links: 12,
        hub_links: 20,
        islands: 0,
        portals: 2,
        flaky_hosts: 0.0,
        stalling_hosts: 0.0,
        refusing_hosts: 0.0,
        growing: 0.0,
        ..SynthParams::default()
    };
    SyntheticWeb::new(params, Arc::new(ManualClock::default())).unwrap()
}

fn run(folder: &Path, arguments: &[&str]) -> (bool, String, String) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_porthole"));
    program.args(arguments).current_dir(folder).stdin(Stdio::null());
    let output = program.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.success(), text(&output.stdout), text(&output.stderr))
}

fn ok(folder: &Path, arguments: &[&str]) -> String {
    let (is_ok, out, err) = run(folder, arguments);
    assert!(is_ok, "{arguments:?}: {err}");
    out
}

/// A copy of the crawled workspace.
struct Workspace {
    crawled: Arc<Crawled>,
    folder: TempDir,
}

impl Workspace {
    fn new() -> Workspace {
        let (crawled, folder) = (Crawled::get(), tempfile::tempdir().unwrap());
        copy(&crawled.folder.path().join("ws"), &folder.path().join("ws"));
        Workspace { crawled, folder }
    }

    fn ok(&self, arguments: &[&str]) -> String {
        ok(self.folder.path(), &[&["-C", "ws"], arguments].concat())
    }

    fn fails(&self, arguments: &[&str], words: &str) {
        let (is_ok, _, said) = run(self.folder.path(), &[&["-C", "ws"], arguments].concat());
        assert!(!is_ok && said.contains(words), "{arguments:?}: {said}");
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.ok(&[arguments, &["--json"]].concat());
        serde_json::from_str(&output).unwrap_or_else(|error| panic!("{error} in {output}"))
    }

    /// Rescores the pages with the current critic.
    fn judge_again(&self) {
        let web = self.crawled.folder.path().join("web/00000.warc.gz");
        self.ok(&["crawl", "--pages", "1", "--web", web.to_str().unwrap()]);
    }

    fn reader(&self) -> SqliteReader {
        SqliteReader::open(self.folder.path().join("ws/porthole.db")).unwrap()
    }

    /// Numbers of pages of the missing topics and of the good topic that are judged relevant, each with their total;
    /// without examples.
    fn judged(&self, except: &BTreeSet<String>) -> [(usize, usize); 2] {
        let mut judged = [(0, 0); 2];
        for tried in self.reader().tried(None, usize::MAX).unwrap() {
            let (Some(judgment), Some(topic)) = (tried.judgment, self.crawled.topics.get(&tried.url)) else {
                continue;
            };
            let is_known = TOPICS.contains(&topic.as_str());
            if except.contains(&tried.url) || topic == "/" || (is_known && topic != GOOD) {
                continue;
            }
            let count = &mut judged[usize::from(is_known)];
            count.0 += usize::from(judgment.relevance >= 0.5);
            count.1 += 1;
        }
        judged
    }

    /// URLs of examples, by topic and source.
    fn examples(&self) -> Vec<(String, String, String)> {
        let text = |row: &Value, field: &str| row[field].as_str().unwrap().to_owned();
        let rows = self.json(&["examples", "list"]);
        let rows = rows.as_array().unwrap().iter();
        rows.map(|row| (text(row, "name"), text(row, "topic"), text(row, "source"))).collect()
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

#[test]
fn pages_about_nothing_in_the_tree_are_judged_relevant_less_often_with_a_background() {
    let workspace = Workspace::new();
    let trained = workspace.json(&["train"]);
    let most = (TOPICS.len() * EXAMPLES / 2) as u64;
    let drawn = trained["background"]["examples"].as_u64().unwrap();
    assert!((20..=most).contains(&drawn), "{drawn} pages, and {most} would be half of the examples");
    let examples = workspace.examples();
    let in_background = |(_, topic, source): &&(String, String, String)| {
        assert_eq!(topic == "/Background", source == "background");
        source == "background"
    };
    assert_eq!(examples.iter().filter(in_background).count() as u64, drawn);
    let used: BTreeSet<String> = examples.iter().map(|(url, ..)| url.clone()).collect();
    let before = Workspace::new().judged(&used);
    workspace.judge_again();
    let after = workspace.judged(&used);
    println!(
        "judged relevant of (topics that the tree lacks, good topic): {before:?} before, {after:?} after"
    );
    assert!(before[0].0 * 10 > before[0].1, "there is hardly anything to do better: {before:?}");
    assert!(after[0].0 * 4 <= before[0].0, "before {before:?}, after {after:?}");
    assert!(after[1].0 * 4 >= before[1].0 * 3, "before {before:?}, after {after:?}");
}

#[test]
fn the_background_follows_the_crawl_and_what_people_say() {
    let workspace = Workspace::new();
    workspace.ok(&["train"]);
    let first = workspace.examples();
    let twin = Workspace::new();
    twin.ok(&["train"]);
    assert_eq!(twin.examples(), first, "the same pages are drawn again");
    let again = workspace.json(&["train"]);
    let came = again["background"]["came"].as_u64().unwrap();
    assert!(came <= 10, "{came} others, and nothing has changed but the critic");
    workspace.fails(&["topics", "mark", "/Background"], "cannot be good");
    let is_background = |(_, _, source): &&(String, String, String)| source == "background";
    let (url, ..) = first.iter().find(is_background).unwrap();
    workspace.ok(&["mark", url, "useful"]);
    workspace.ok(&["train"]);
    let second = workspace.examples();
    let topics: Vec<&str> =
        second.iter().filter(|(other, ..)| other == url).map(|(_, topic, _)| topic.as_str()).collect();
    assert_eq!(topics, [GOOD], "what is useful is no background");
    let settings = workspace.folder.path().join("ws/porthole.toml");
    fs::write(settings, "[train]\nbackground = 0\n").unwrap();
    workspace.ok(&["train"]);
    assert!(!workspace.examples().iter().any(|example| is_background(&example)));
    assert!(!workspace.ok(&["topics", "tree"]).contains("Background"));
}

#[test]
fn a_commingled_topic_is_told_to_be_too_narrow() {
    let workspace = Workspace::new();
    let proposed = workspace.json(&["topics", "broaden"]);
    let field = |name: &str| -> Vec<Value> {
        proposed.as_array().unwrap().iter().map(|proposal| proposal[name].clone()).collect()
    };
    assert_eq!(field("topic"), ["/Business", "/Business/Stock_Market"]);
    assert_eq!(field("is_above"), [true, false]);
    let commands = field("command");
    for word in commands[0].as_str().unwrap().split("&& ") {
        let words: Vec<&str> = word.split_whitespace().skip(1).collect();
        workspace.ok(&words);
    }
    assert_eq!(workspace.json(&["topics", "broaden"]), Value::Array(Vec::new()), "it is wide now");
}

#[test]
fn examples_come_from_specialty_sites_unless_they_do_harm() {
    let workspace = Workspace::new();
    let measure = |grown: &Value, when: &str| grown[when]["accuracy"].as_f64().unwrap();
    // This critic does not know insurance, and classifies such sites as funds.
    let grown = workspace.json(&["topics", "grow", GOOD]);
    check_grown(&workspace, &grown, GOOD);
    assert!(measure(&grown, "after") >= measure(&grown, "before"));
    let refused = grown["sites"].as_array().unwrap().iter().filter(|site| site["accepted"] == false).count();
    assert!(refused > 0, "{grown}");
    workspace.ok(&["topics", "unmark", GOOD]);
    workspace.ok(&["topics", "mark", CASTLES]);
    workspace.ok(&["train"]);
    workspace.judge_again();
    let grown = workspace.json(&["topics", "grow", CASTLES]);
    println!("{grown:#}");
    assert!(grown["examples"].as_u64().unwrap() > 0, "{grown}");
    assert!(measure(&grown, "after") >= measure(&grown, "before"));
    check_grown(&workspace, &grown, CASTLES);
    workspace.fails(&["topics", "grow", GOOD], "is neither good");
}

const CASTLES: &str = "/Travel/Castles";

/// The accepted pages are examples now, and nearly all of them are about the topic.
fn check_grown(workspace: &Workspace, grown: &Value, topic: &str) {
    let examples = workspace.examples();
    let grown_here = |(_, of, source): &&(String, String, String)| source == "grown" && of == topic;
    let taken: Vec<_> = examples.iter().filter(grown_here).collect();
    assert_eq!(taken.len() as u64, grown["examples"].as_u64().unwrap());
    let right = taken.iter().filter(|(url, ..)| workspace.crawled.topics[url] == topic).count();
    assert!(right * 10 >= taken.len() * 9, "{right} of {} are about {topic}", taken.len());
}

#[test]
fn the_classifier_inside_the_database_judges_crawled_pages_as_the_critic_does() {
    let workspace = Workspace::new();
    workspace.ok(&["train", "--tables", "--no-calibration"]);
    workspace.judge_again();
    let filled = workspace.json(&["documents"]);
    let tried = workspace.reader().tried(None, usize::MAX).unwrap();
    let pages: Vec<_> = tried.iter().filter(|page| page.span.is_some() && page.failure.is_none()).collect();
    let documents = filled["documents"].as_u64().unwrap() + filled["without_words"].as_u64().unwrap();
    assert_eq!(documents, pages.len() as u64);
    let prober = Prober::open(workspace.folder.path().join("ws/porthole.db"), None).unwrap();
    let mut judged = 0;
    for page in pages.iter().step_by(50) {
        let terms = prober.document(page.oid).unwrap();
        let relevance = prober.single_relevance(ProbeTable::Stat, &terms).unwrap();
        let expected = page.judgment.unwrap().relevance;
        assert!((relevance - expected).abs() < 1e-3, "{}: {relevance}, not {expected}", page.url);
        judged += usize::from(!terms.is_empty());
    }
    assert!(judged > 50, "{judged}");
    assert_eq!(
        prober.bulk_probe(TopicId::ROOT).unwrap().len() as u64,
        filled["documents"].as_u64().unwrap() * 5
    );
}

#[test]
fn a_crawl_that_stagnates_follows_the_commingled_topic_where_that_is_allowed() {
    const PATIENCE: i64 = 60;
    let crawled = Crawled::get();
    let web = crawled.folder.path().join("web/00000.warc.gz");
    let patience = PATIENCE.to_string();
    let crawl = |broaden: &str| {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path();
        fs::copy(crawled.folder.path().join("examples.tsv"), here.join("examples.tsv")).unwrap();
        ok(here, &["init", "ws"]);
        fs::write(here.join("ws/porthole.toml"), format!("[crawl]\nbroaden = \"{broaden}\"\n")).unwrap();
        let web = web.to_str().unwrap();
        ok(here, &["-C", "ws", "examples", "import", "examples.tsv", "--web", web]);
        ok(here, &["-C", "ws", "topics", "mark", GOOD]);
        ok(here, &["-C", "ws", "train", "--background", "0"]);
        let (_, said, err) =
            run(here, &["-C", "ws", "crawl", "--web", web, "--patience", &patience, "--no-hubs"]);
        let reader = SqliteReader::open(here.join("ws/porthole.db")).unwrap();
        let mut events = reader.events(0, usize::MAX).unwrap();
        events.retain(|(_, event)| event.kind == "broadened");
        let since = events.first().map_or(i64::MAX, |(_, event)| event.at.0);
        let sql = format!("select count(*) from crawl where state = 1 and lastvisited > {since}");
        let pages_since = reader.sql(&sql, &QueryLimits::default()).unwrap().rows[0][0].integer().unwrap();
        let events: Vec<String> = events.into_iter().map(|(_, event)| event.detail).collect();
        let good = reader.topics().unwrap().into_iter().filter(|row| row.mark == porthole_types::Mark::Good);
        (pages_since, events, good.count(), said + &err)
    };
    let (_, events, _, said) = crawl("no");
    assert!(said.contains("stagnated") && events.is_empty(), "{said}");
    assert!(!said.contains("porthole topics mark /Business/Stock_Market"), "{said}");
    let (pages_since, events, good, said) = crawl("yes");
    assert!(
        events[0].starts_with("links on pages about /Business/Stock_Market are followed, too"),
        "{events:?}"
    );
    assert!(said.contains(&events[0]), "{said}");
    // Without the other topic it had ended by then.
    assert!(pages_since > PATIENCE, "{pages_since} pages");
    assert_eq!(good, 1, "it is followed and not marked good");
}
