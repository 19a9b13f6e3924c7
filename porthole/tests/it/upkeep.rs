//! Maintained crawls, kept queries, several workspaces in one question, and events, as a user runs them.

use serde_json::Value;

use crate::crawl::{Workspace, porthole};

/// Runs a command in a workspace, which must succeed; its standard output.
fn output(workspace: &Workspace, arguments: &[&str]) -> String {
    let run = porthole(workspace.folder.path(), arguments).output().unwrap();
    let error = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(run.status.success(), "{arguments:?}: {error}");
    String::from_utf8(run.stdout).unwrap()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The lines of JSON in a text.
fn lines(text: &str) -> Vec<Value> {
    text.lines().filter(|line| line.starts_with('{')).map(json).collect()
}

#[test]
fn a_finished_crawl_is_maintained_and_its_events_are_told() {
    let workspace = Workspace::new();
    // All pages are equal: without scores, those that were not visited again come first.
    workspace.check(&["--no-hubs"], 0, "finished");
    let web = workspace.recording.web();
    let crawl = ["-C", "ws", "crawl", "--no-hubs", "--web", web.to_str().unwrap()];
    let maintain = ["--maintain", "--pages", "40", "--json", "--events", "events.jsonl"];
    let summary = json(&output(&workspace, &[&crawl[..], &maintain].concat()));
    assert_eq!(summary["visits"]["unchanged"], 40, "a recorded web does not change: {summary}");
    assert_eq!(summary["stop"], "limit");
    let told = lines(&std::fs::read_to_string(workspace.folder.path().join("events.jsonl")).unwrap());
    let of = |kind: &str| told.iter().filter(|event| event["event"] == kind).count();
    assert_eq!((of("fetch"), of("started"), of("stopped")), (40, 1, 1), "{told:?}");
    assert!(told.iter().any(|event| event["change"] == "unchanged" && event["relevance"].is_number()));
    let visited = "select count(*) as pages from upkeep where visits = 1 and changes = 0";
    assert_eq!(json(&output(&workspace, &["-C", "ws", "query", "--json", visited]))[0]["pages"], 40);
    let queued = "select count(*) as n from crawl where state = 0 and kcid is not null";
    assert_eq!(
        json(&output(&workspace, &["-C", "ws", "query", "--json", queued]))[0]["n"],
        0,
        "pages stay pages"
    );
    // The same command goes on with other pages.
    output(&workspace, &[&crawl[..], &maintain].concat());
    assert_eq!(json(&output(&workspace, &["-C", "ws", "query", "--json", visited]))[0]["pages"], 80);
    let timescales = json(&output(&workspace, &["-C", "ws", "query", "--json", "timescales", "least=1"]));
    assert!(!timescales.as_array().unwrap().is_empty());
    let policy = || {
        let sql = "select value from setting where name = 'policy'";
        json(&output(&workspace, &["-C", "ws", "query", "--json", sql]))[0]["value"].clone()
    };
    assert_eq!(policy(), "revisit desc, numtries asc, priority desc");
    output(&workspace, &crawl);
    assert_eq!(policy(), "numtries asc, priority desc", "a plain crawl has the order it had before");
}

#[test]
fn a_kept_query_is_answered_during_the_crawl() {
    let workspace = Workspace::new();
    let query = |arguments: &[&str]| output(&workspace, &[&["-C", "ws", "query"], arguments].concat());
    query(&["keep", "good", "select url, relevance from crawl where relevance > 0.5 and kcid is not null"]);
    query(&["keep", "sites", "specialty-sites", "topic=/Recreation", "--topic", "/Recreation", "--drive"]);
    let kept = json(&query(&["kept", "--json"]));
    assert_eq!((&kept[0]["name"], &kept[1]["topics"][0]), (&"good".into(), &"/Recreation".into()));
    let web = workspace.recording.web();
    let crawl = ["-C", "ws", "crawl", "--web", web.to_str().unwrap(), "--pages", "60", "--events", "-"];
    let told = lines(&output(&workspace, &crawl));
    let answers: Vec<&Value> = told.iter().filter(|event| event["event"] == "answer").collect();
    assert!(
        answers.iter().any(|event| event["query"] == "good" && event["row"]["url"].is_string()),
        "{told:?}"
    );
    let stored = json(&query(&["--json", "select count(*) as n from event where kind = 'answer'"]));
    assert_eq!(stored[0]["n"], answers.len());
    query(&["drop", "good"]);
    assert_eq!(json(&query(&["kept", "--json"])).as_array().unwrap().len(), 1);
    for (arguments, word) in [
        (&["drop", "good"][..], "no query is kept as good"),
        (&["keep", "bad", "select nope from crawl"], "no such column"),
        (&["keep", "bad", "delete from crawl"], "not authorized"),
        (&["keep", "two words", "specialty-sites"], "one word"),
        (&["keep", "x", "specialty-sites", "--topic", "/Nowhere"], "/Nowhere"),
    ] {
        let arguments = [&["-C", "ws", "query"], arguments].concat();
        let run = porthole(workspace.folder.path(), &arguments).output().unwrap();
        let error = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(!run.status.success() && error.contains(word), "{arguments:?}: {error}");
    }
}

#[test]
fn several_workspaces_answer_one_question() {
    let (one, other) = (Workspace::new(), Workspace::new());
    one.check(&["--pages", "20"], 0, "");
    other.check(&["--pages", "30"], 0, "");
    let other_folder = other.folder.path().join("ws");
    let with = ["--with", other_folder.to_str().unwrap()];
    let ask = |question: &[&str]| {
        json(&output(&one, &[&["-C", "ws", "query", "--json"], question, &with].concat()))
    };
    let counted = ask(&["select workspace, count(*) as pages from crawl where state = 1 group by workspace"]);
    let pages = |name: &str| {
        let rows = counted.as_array().unwrap();
        rows.iter().find(|row| row["workspace"] == name).map(|row| row["pages"].as_i64().unwrap())
    };
    assert_eq!((pages("ws"), pages("ws-2")), (Some(20), Some(30)), "{counted}");
    let joined =
        ask(&[r#"select count(*) as n from "ws".crawl as a join "ws-2".crawl as b on a.oid = b.oid"#]);
    assert!(joined[0]["n"].as_i64().unwrap() > 20, "{joined}");
    let linked = ask(&["select count(distinct workspace) as n from link"]);
    assert_eq!(linked[0]["n"], 2, "views are there, too");
    let named = ask(&["specialty-sites", "topic=/Recreation", "least=1"]);
    let of = |name: &str| named.as_array().unwrap().iter().filter(|row| row["workspace"] == name).count();
    assert!(of("ws") > 0 && of("ws-2") > 0, "{named}");
    for (question, word) in [
        ("delete from crawl", "cannot modify"),
        ("attach 'x.db' as y", "not authorized"),
        ("create temp view v as select 1", "not authorized"),
    ] {
        let arguments = [&["-C", "ws", "query", question][..], &with].concat();
        let run = porthole(one.folder.path(), &arguments).output().unwrap();
        let error = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(!run.status.success() && error.contains(word), "{question}: {error}");
    }
}
