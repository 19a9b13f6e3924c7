//! Questions to a workspace: named queries and SQL, once and again and again.

use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};

use porthole_store::{Batch, SqliteStore, Store, WorkspaceWriter};
use porthole_types::{
    CanonicalUrl, Judgment, LinkRow, Mark, NewUrl, Outcome, PageResult, Timestamp, TopicId, TopicRow,
};
use serde_json::Value;
use tempfile::TempDir;

const CYCLING: TopicId = TopicId(2);
const FIRST_AID: TopicId = TopicId(4);

fn url(page: &str) -> CanonicalUrl {
    CanonicalUrl::parse(&format!("http://{page}")).unwrap()
}

fn new_url(page: &str) -> NewUrl {
    NewUrl { url: url(page), relevance: 0.5, priority: 0.5, depth: 0 }
}

/// Writes a page as a crawl would.
fn visit(store: &mut SqliteStore, seq: u64, page: &str, best: TopicId, links: &[&str]) {
    store.add(&[new_url(page)]).unwrap();
    let link = |page: &&str| {
        let target = new_url(page);
        LinkRow::to(target)
    };
    let result = PageResult {
        seq,
        oid: url(page).id(),
        sid: url(page).site(),
        at: Timestamp(60_000),
        status: 200,
        outcome: Outcome::Fetched,
        judgment: Some(Judgment { relevance: 0.75, best }),
        title: format!("{page}, \"a page\""),
        language: "en".into(),
        bytes: 1,
        simhash: 1,
        terms: Vec::new(),
        copy_of: None,
        validators: None,
        next_visit: None,
        span: None,
        links: links.iter().map(link).collect(),
    };
    store.commit(&Batch { results: &[result], ..Batch::default() }).unwrap();
}

/// A workspace in which a page about cycling cites one about first aid.
struct Place(TempDir);

impl Place {
    fn new() -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        place.ok(&["init", "ws"]);
        let mut store = place.store();
        let topics = [("", 0, 0), ("Sport", 1, 0), ("Cycling", 2, 1), ("Health", 3, 0), ("First Aid", 4, 3)];
        let row = |(name, id, parent): (&str, u16, u16)| TopicRow {
            id: TopicId(id),
            parent: TopicId(parent),
            name: name.to_owned(),
            mark: Mark::Null,
        };
        store.set_topics(&topics.map(row)).unwrap();
        visit(&mut store, 1, "aid.test/", FIRST_AID, &[]);
        visit(&mut store, 2, "bikes.test/", CYCLING, &["aid.test/", "other.test/"]);
        place
    }

    fn store(&self) -> SqliteStore {
        SqliteStore::open(self.0.path().join("ws/porthole.db")).unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut program = Command::new(env!("CARGO_BIN_EXE_porthole"));
        program.args(["-C", "ws"]).args(arguments).current_dir(self.0.path());
        program
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs what has to work; what was printed, and what was said beside it.
    fn ok(&self, arguments: &[&str]) -> (String, String) {
        let output = self.run(arguments);
        let (printed, said) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{arguments:?}: {said}");
        (printed, said)
    }

    /// Runs what must fail, with this exit code; what is said about that.
    fn refused(&self, code: i32, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", text(&output.stderr));
        assert_eq!(text(&output.stdout), "", "{arguments:?}");
        text(&output.stderr)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const LINKS: [&str; 4] = ["query", "topic-links", "topic=/Sport", "other=/Health/First Aid"];

#[test]
fn queries_are_listed_with_what_they_can_be_asked_for() {
    // It needs no workspace.
    let place = Place(tempfile::tempdir().unwrap());
    let (printed, _) = place.ok(&["query", "--list"]);
    for name in [
        "citation-sociology",
        "spam-filter",
        "typed-link",
        "community-evolution",
        "topic-links",
        "specialty-sites",
        "community-culture",
        "timescales",
        "harvest",
        "census-up",
        "missed",
    ] {
        assert!(
            printed.lines().any(|line| line.starts_with(&format!("{name}  "))),
            "no {name} in:\n{printed}"
        );
    }
    assert!(printed.contains("topic=PATH") && printed.contains("must be given"), "{printed}");
    let (one, _) = place.ok(&["query", "--list", "spam_filter"]);
    assert!(one.contains("least=2") && one.contains("\nwith recursive about(kcid)"), "{one}");
    let (json, _) = place.ok(&["query", "--list", "--json"]);
    let all: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (all[0]["name"].as_str(), all[0]["parameters"][0]["default"].is_null()),
        (Some("citation-sociology"), true)
    );
}

#[test]
fn a_named_query_is_answered_in_three_forms() {
    let place = Place::new();
    let (table, said) = place.ok(&LINKS);
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines.len() == 2 && lines[0].contains("direction") && lines[0].contains("found_at"), "{table}");
    for part in ["there", "http://bikes.test/", "http://aid.test/", "1970-01-01 00:01:00 UTC"] {
        assert!(lines[1].contains(part), "no {part:?} in {table}");
    }
    assert_eq!(said, "");
    let (csv, _) = place.ok(&[&LINKS[..], &["--csv"]].concat());
    assert_eq!(csv, "direction,url,leads_to,found_at\nthere,http://bikes.test/,http://aid.test/,60000\n");
    let (json, _) = place.ok(&[&LINKS[..], &["--json"]].concat());
    let rows: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        rows,
        serde_json::json!([{"direction": "there", "url": "http://bikes.test/", "leads_to": "http://aid.test/",
                            "found_at": 60_000}])
    );
    let (none, said) = place.ok(&["query", "topic-links", "topic=/Health", "other=/Health"]);
    assert_eq!((none.as_str(), said.trim()), ("", "no rows"));
}

#[test]
fn sql_may_read_and_nothing_else() {
    let place = Place::new();
    let titles = "select title from crawl where state = 1 order by url limit 1";
    let (csv, _) = place.ok(&["query", titles, "--csv"]);
    assert_eq!(csv, "title\n\"aid.test/, \"\"a page\"\"\"\n");
    // While a crawl has the database, too.
    let crawl = place.store();
    let (count, _) = place.ok(&["query", "select count(*) as pages from crawl", "--csv"]);
    assert_eq!(count, "pages\n3\n");
    drop(crawl);
    for sql in [
        "delete from crawl",
        "update crawl set relevance = 1",
        "insert into setting values ('a', 'b')",
        "drop table link",
        "create temp table evil(a)",
        "attach 'evil.db' as evil",
        "pragma journal_mode = delete",
        "vacuum into 'evil.db'",
    ] {
        let said = place.refused(4, &["query", sql]);
        assert!(
            said.contains("refused") && said.contains("only reading the tables is allowed"),
            "{sql}: {said}"
        );
    }
    assert!(!place.0.path().join("evil.db").exists() && !place.0.path().join("ws/evil.db").exists());
    let endless = "with recursive n(i) as (values(1) union all select i + 1 from n) select count(*) from n";
    let said = place.refused(1, &["query", endless, "--time", "1s"]);
    assert!(said.contains("stopped after 1s") && said.contains("--time"), "{said}");
    let (count, _) = place.ok(&["query", "select count(*) as pages from crawl", "--csv"]);
    assert_eq!(count, "pages\n3\n", "nothing was changed");
}

#[test]
fn an_answer_that_is_cut_says_so() {
    let place = Place::new();
    let (csv, said) = place.ok(&["query", "select url from crawl order by url", "--rows", "2", "--csv"]);
    assert_eq!(csv.lines().count(), 3);
    assert!(said.contains("only the first 2 rows are shown"), "{said}");
    let (_, said) = place.ok(&["query", "select url from crawl order by url", "--rows", "3"]);
    assert_eq!(said, "");
    let (_, said) = place.ok(&["query", "census-up", "rows=1"]);
    assert!(said.contains("rows=N asks for more"), "{said}");
}

#[test]
fn what_makes_no_sense_is_refused_with_a_hint() {
    let place = Place::new();
    for (arguments, part) in [
        (&["sociology"][..], "(citation-sociology?)"),
        (&["citation-sociology"], "needs topic=… (whose neighbourhood)"),
        (&["citation-sociology", "/Sport"], "a parameter is NAME=VALUE"),
        (&["citation-sociology", "topic=/Sport/Chess"], "no topic /Sport/Chess"),
        (&["census", "topic=/Sport"], "no parameter `topic`"),
        (&["census", "rows=few"], "it must be a whole number"),
        (&["select 1", "rows=2"], "only named queries have parameters"),
        (&["select * from nowhere"], "no such table"),
        (&["select 1; select 2"], "one SQL statement is wanted"),
        (&[], "NAME|SQL"),
        (&["census", "--csv", "--json"], "cannot be used with"),
        (&["census", "--times", "2"], "--watch"),
    ] {
        let said = place.refused(4, &[&["query"], arguments].concat());
        assert!(said.contains(part), "{arguments:?}: {said}");
    }
}

#[test]
fn new_rows_of_a_query_that_is_watched_are_printed_and_the_crawl_is_left_alone() {
    let place = Place::new();
    let mut crawl = place.store();
    let watch = [&LINKS[..], &["--watch", "--every", "1s", "--times", "120", "--json"]].concat();
    let mut watching = place.command(&watch).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(next()["url"].as_str(), Some("http://bikes.test/"), "what is there is printed first");
    visit(&mut crawl, 3, "tours.test/", CYCLING, &["aid.test/"]);
    assert_eq!(next()["url"].as_str(), Some("http://tours.test/"));
    visit(&mut crawl, 4, "late.test/", FIRST_AID, &["bikes.test/"]);
    let row = next();
    assert_eq!((row["direction"].as_str(), row["url"].as_str()), (Some("back"), Some("http://late.test/")));
    let interrupt = Command::new("kill").args(["-INT", &watching.id().to_string()]).status().unwrap();
    assert!(interrupt.success() && watching.wait().unwrap().success(), "Ctrl-C ends it well");
    assert!(!crawl.follow_changes().unwrap(), "watching writes nothing");
}

#[test]
fn watching_ends_when_it_was_asked_often_enough() {
    let place = Place::new();
    let (csv, _) = place.ok(&["query", "census-up", "--watch", "--every", "0s", "--times", "3", "--csv"]);
    assert_eq!(csv.lines().count(), 5, "a heading and four topics, once: {csv}");
    assert!(place.store().reader().events(0, 9).unwrap().is_empty());
}

#[test]
fn programs_get_all_rows() {
    let place = Place::new();
    let many =
        "with recursive n(i) as (values(1) union all select i + 1 from n where i < 2500) select i from n";
    let (table, said) = place.ok(&["query", many]);
    assert_eq!(table.lines().count(), 1 + 1_000);
    assert!(said.contains("only the first 1,000 rows are shown") && said.contains("--csv"), "{said}");
    let (csv, said) = place.ok(&["query", many, "--csv"]);
    assert_eq!((csv.lines().count(), said.as_str()), (1 + 2_500, ""));
    let (json, _) = place.ok(&["query", many, "--json"]);
    let rows: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 2_500);
    let mut store = place.store();
    store.add(&(0..150).map(|number| new_url(&format!("host{number}.test/"))).collect::<Vec<_>>()).unwrap();
    drop(store);
    assert_eq!(place.ok(&["query", "site-list", "--csv"]).0.lines().count(), 1 + 153, "a named query too");
    assert_eq!(place.ok(&["query", "site-list", "--csv", "rows=7"]).0.lines().count(), 1 + 7);
}

#[test]
fn output_does_no_harm() {
    let place = Place::new();
    let hostile = "select '=cmd()' as \"=head\", char(27) || '[2J' || char(0x9b) || char(0x202e) as title";
    let (csv, _) = place.ok(&["query", hostile, "--csv"]);
    assert_eq!(csv, "'=head,title\n'=cmd(),\u{fffd}[2J\u{fffd}\u{fffd}\n");
    for form in ["--json", "--csv"] {
        for watch in [&[][..], &["--watch", "--times", "1"]] {
            let (printed, _) = place.ok(&[&["query", hostile, form], watch].concat());
            let is_active = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
            assert!(!printed.contains(is_active), "{printed:?}");
        }
    }
}
