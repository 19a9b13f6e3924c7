//! Topics, examples, results, questions and exports over the API.

use std::fs;

use serde_json::{Value, json};

use super::server::{IMAGE, SCRIPT, Server, crawled, porthole};

fn good() -> String {
    format!("/Birds/{IMAGE}")
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

fn array(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap_or_else(|| panic!("{value}"))
}

#[test]
fn topics_are_shown_and_changed() {
    let folder = crawled();
    let server = Server::start(folder.path());
    let tree = server.read("/api/v1/w/ws/topics");
    let node = |tree: &Value, path: &str| {
        array(&tree["nodes"]).iter().find(|node| node["path"] == path).cloned().unwrap_or_default()
    };
    let birds = node(&tree, &good());
    assert_eq!((&birds["mark"], &birds["examples"]), (&json!("good"), &json!(5)), "{tree}");
    let pages = birds["pages"].as_u64().unwrap();
    assert!(pages > 10 && node(&tree, "/Birds")["pages_below"] == pages, "{tree}");
    assert!(birds["mean_relevance"].as_f64().unwrap() > 0.9);
    let change = |body: Value| server.send("/api/v1/w/ws/topics", &body);
    let marked = change(json!({"op": "mark", "path": "/Food"}));
    assert_eq!(marked["command"], "porthole -C ws topics mark /Food");
    change(json!({"op": "add", "path": "/Food/Soup"}));
    change(json!({"op": "rename", "path": "/Food/Soup", "to": "Stew"}));
    change(json!({"op": "move", "path": "/Food/Stew", "to": "/Birds"}));
    change(json!({"op": "toward", "path": "/Birds/Stew"}));
    change(json!({"op": "toward"}));
    change(json!({"op": "remove", "path": "/Birds/Stew"}));
    change(json!({"op": "unmark", "path": "/Food"}));
    let wrong = server.post("/api/v1/w/ws/topics", &json!({"op": "mark", "path": "/Nonsense"}));
    assert_eq!(wrong.status, 422, "{wrong:?}");
    assert!(wrong.json()["error"].as_str().unwrap().contains("/Nonsense"));
    // A topic that looks like an option is a topic that does not exist.
    let option = server.post("/api/v1/w/ws/topics", &json!({"op": "mark", "path": "--help"}));
    assert_eq!(option.status, 422, "{option:?}");
    let census = server.read("/api/v1/w/ws/census");
    assert!(array(&census["nodes"]).iter().any(|node| node["path"] == "/Food"), "{census}");
}

#[test]
fn examples_are_judged_moved_and_removed() {
    let folder = crawled();
    let server = Server::start(folder.path());
    let of_food = server.read("/api/v1/w/ws/examples?topic=/Food");
    assert_eq!(array(&of_food).len(), 5);
    assert!(array(&of_food).iter().all(|example| example["is_recognised"] == true), "{of_food}");
    let id = of_food[0]["id"].to_string();
    let moved = server.send("/api/v1/w/ws/examples", &json!({"op": "move", "topic": good(), "urls": [id]}));
    assert!(moved["command"].as_str().unwrap().contains("examples move"), "{moved}");
    let moved = server.read(&format!("/api/v1/w/ws/examples?topic={}", encoded(&good())));
    let wrong: Vec<_> = array(&moved).iter().filter(|example| example["is_recognised"] == false).collect();
    assert!(wrong.len() == 1 && wrong[0]["judged_as"] == "/Food", "{moved}");
    let url = wrong[0]["url"].clone();
    server.send("/api/v1/w/ws/examples", &json!({"op": "remove", "topic": good(), "urls": [url]}));
    assert_eq!(array(&server.read("/api/v1/w/ws/examples")).len(), 9);
    // Names of files are no examples.
    let file = json!({"op": "add", "topic": "/Food", "urls": ["/etc/passwd"]});
    assert_eq!(server.post("/api/v1/w/ws/examples", &file).status, 400);
    let trained = server.finished(&server.send("/api/v1/w/ws/train", &json!({})));
    assert_eq!((&trained["state"], &trained["error"]), (&json!("done"), &Value::Null), "{trained}");
    assert!(trained["result"]["examples"].as_u64().is_some(), "{trained}");
    let proposed = server.send("/api/v1/w/ws/proposals", &json!({"urls": ["http://birds.test/7"]}));
    assert!(array(&proposed).iter().any(|topic| topic["path"] == good()), "{proposed}");
}

#[test]
fn results_are_listed() {
    let folder = crawled();
    let server = Server::start(folder.path());
    let pages = server.read("/api/v1/w/ws/pages?limit=100");
    let relevance: Vec<f64> = array(&pages).iter().map(|page| page["relevance"].as_f64().unwrap()).collect();
    assert!(relevance.len() >= 40 && relevance.is_sorted_by(|a, b| a >= b), "{relevance:?}");
    let second = server.read("/api/v1/w/ws/pages?limit=1&offset=1");
    assert_eq!(second[0], pages[1]);
    let food = server.read("/api/v1/w/ws/pages?topic=/Food&limit=100");
    assert!(
        array(&food).len() == 20 && array(&food).iter().all(|page| page["host"] == "food.test"),
        "{food}"
    );
    let by_site = server.read("/api/v1/w/ws/pages?site=birds.test&min=0.5&order=recent&limit=100");
    let seqs: Vec<u64> = array(&by_site).iter().map(|page| page["seq"].as_u64().unwrap()).collect();
    assert!(!seqs.is_empty() && seqs.is_sorted_by(|a, b| a > b), "{seqs:?}");
    assert_eq!(server.get("/api/v1/w/ws/pages?topic=/Nonsense").status, 400);
    for kind in ["pages", "sites", "hubs", "authorities"] {
        let rows = server.read(&format!("/api/v1/w/ws/top/{kind}?limit=3"));
        assert!((1..=3).contains(&array(&rows).len()), "{kind}: {rows}");
    }
    let graph = server.read("/api/v1/w/ws/hubgraph");
    let (nodes, links) = (array(&graph["nodes"]), array(&graph["links"]));
    assert!(!nodes.is_empty() && !links.is_empty(), "{graph}");
    assert!(
        links.iter().all(|link| array(link).iter().all(|end| end.as_u64().unwrap() < nodes.len() as u64))
    );
    let sites = server.read("/api/v1/w/ws/sites?q=BIRDS");
    assert_eq!((array(&sites).len(), &sites[0]["pages"]), (1, &json!(20)), "{sites}");
    server.read("/api/v1/w/ws/failures");
    let clusters = server.read("/api/v1/w/ws/clusters");
    assert!(!array(&clusters).is_empty() && !array(&clusters[0]["words"]).is_empty(), "{clusters}");
    let suggested = server.read("/api/v1/w/ws/suggestions");
    let host = suggested["specialty_sites"][0]["host"].as_str().unwrap();
    assert!(["birds.test", "owls.test"].contains(&host), "{suggested}");
}

#[test]
fn feedback_makes_examples_and_answers_questions() {
    let folder = crawled();
    let server = Server::start(folder.path());
    let asked = server.read("/api/v1/w/ws/teach?limit=100");
    let url = asked[0]["url"].clone();
    let marked = server.send("/api/v1/w/ws/feedback", &json!({"url": url, "kind": "page", "useful": true}));
    assert!(marked["command"].as_str().unwrap().ends_with("useful"), "{marked}");
    let left = server.read("/api/v1/w/ws/teach?limit=100");
    assert!(array(&left).iter().all(|page| page["url"] != url), "{left}");
    server.send("/api/v1/w/ws/feedback", &json!({"host": "food.test", "kind": "site", "useful": false}));
    assert_eq!(server.post("/api/v1/w/ws/feedback", &json!({"kind": "page", "useful": true})).status, 400);
}

#[test]
fn pages_are_found_by_their_words() {
    let folder = crawled();
    let server = Server::start(folder.path());
    let found =
        server.until("/api/v1/w/ws/search?q=%22owl%20nest%22%20feather", |found| found["behind"] == 0);
    let hits = array(&found["hits"]);
    assert!(!hits.is_empty() && found["indexed"] == 60, "{found}");
    assert!(array(&hits[0]["snippet"]).iter().any(|part| part["marked"] == true), "{found}");
    let food = server.read("/api/v1/w/ws/search?q=soup&topic=/Food&site=food.test&limit=2");
    assert_eq!(array(&food["hits"]).len(), 2);
    assert_eq!(server.get("/api/v1/w/ws/search?q=!!!").status, 400);
}

#[test]
fn questions_are_answered_and_nothing_is_changed() {
    let folder = crawled();
    let server = Server::start(folder.path());
    let ask = |body: Value| server.post("/api/v1/w/ws/query", &body);
    let forms = server.read("/api/v1/w/ws/queries");
    assert!(array(&forms).iter().any(|form| form["name"] == "census"), "{forms}");
    let named = ask(json!({"name": "top-sites", "parameters": {"rows": "1"}})).json();
    assert_eq!(array(&named["rows"]).len(), 1, "{named}");
    let sql = ask(json!({"sql": "select url, title from crawl where seq = 0"})).json();
    assert!(sql["rows"][0][1].as_str().unwrap().starts_with(SCRIPT), "{sql}");
    assert_eq!(sql["columns"], json!(["url", "title"]));
    for sql in [
        "delete from crawl",
        "insert into setting values ('a', 'b')",
        "attach database '/tmp/x.db' as x",
        "pragma journal_mode = delete",
        "vacuum into '/tmp/x.db'",
        "select load_extension('/tmp/x.so')",
        "select 1; select 2",
        "",
    ] {
        assert_eq!(ask(json!({ "sql": sql })).status, 400, "{sql}");
    }
    let many = "with recursive n(i) as (select 1 union all select i + 1 from n limit 100000) select i from n";
    let cut = ask(json!({ "sql": many })).json();
    assert!(cut["truncated"] == true && array(&cut["rows"]).len() <= 2_000);
    let endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n";
    assert_eq!(ask(json!({ "sql": endless })).status, 400, "stopped after some seconds");
    assert_eq!(ask(json!({"name": "nonsense"})).status, 404);
    assert_eq!(ask(json!({})).status, 400);
    let tables = server.read("/api/v1/w/ws/schema");
    assert!(array(&tables).iter().any(|table| table["table"] == "crawl"));
    let keep = json!({"op": "keep", "name": "mine", "query": "top-sites", "parameters": {"rows": "5"}});
    server.send("/api/v1/w/ws/kept", &keep);
    assert_eq!(server.read("/api/v1/w/ws/kept")[0]["parameters"]["rows"], "5");
    server.send("/api/v1/w/ws/kept", &json!({"op": "drop", "name": "mine"}));
    assert_eq!(server.post("/api/v1/w/ws/kept", &json!({"op": "drop", "name": "--help"})).status, 422);
}

#[test]
fn exports_are_files_that_the_server_names() {
    let folder = crawled();
    let server = Server::start(folder.path());
    for (format, begin) in [
        ("jsonl", "{\""),
        ("csv", "url,"),
        ("markdown", ""),
        ("warc", "\u{1f}"),
        ("skipped", ""),
        ("parquet", "PAR1"),
    ] {
        let job = json!({"format": format, "filters": {"min_relevance": 0.5}});
        let made = server.finished(&server.send("/api/v1/w/ws/exports", &job));
        assert_eq!(made["state"], "done", "{made}");
        let files = server.read("/api/v1/w/ws/exports");
        let name = files[0]["name"].as_str().unwrap();
        assert!(name.starts_with(format), "{files}");
        let file = server.get(&format!("/api/v1/w/ws/exports/{name}"));
        assert!(file.status == 200 && file.body.starts_with(begin), "{format}: {}", file.body);
        assert!(file.header("content-disposition").unwrap().starts_with("attachment"));
    }
    let secret = fs::read_to_string(folder.path().join("ws/porthole.toml")).unwrap();
    for name in ["..%2Fporthole.toml", "%2Fetc%2Fpasswd", "..", "none", "a%00b"] {
        let reply = server.get(&format!("/api/v1/w/ws/exports/{name}"));
        assert!(reply.status == 404 && !reply.body.contains(&secret), "{name}: {reply:?}");
    }
    for wrong in [json!({"format": "../../x"}), json!({"format": "csv", "output": "/tmp/x"}), json!({})] {
        assert_eq!(server.post("/api/v1/w/ws/exports", &wrong).status, 422, "{wrong}");
    }
}

#[test]
fn texts_are_judged_and_private_pages_are_not_fetched() {
    let folder = crawled();
    let server = Server::start(folder.path());
    let judged =
        server.send("/api/v1/w/ws/classify", &json!({"text": "owl nest feather plumage", "title": "Birds"}));
    assert!(judged["relevance"].as_f64().unwrap() > 0.5 && judged["topic"] == good(), "{judged}");
    assert!(!array(&judged["steps"][0]["for"]).is_empty(), "{judged}");
    let known = server.send("/api/v1/w/ws/classify", &json!({"url": "http://food.test/3"}));
    assert_eq!(known["topic"], "/Food");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // Without a contact nothing is fetched; with one, private addresses are refused.
    fs::write(folder.path().join("ws/porthole.toml"), "[fetch]\ncontact = \"me@example.org\"\n").unwrap();
    for url in
        [format!("http://{address}/"), "http://169.254.169.254/latest/".into(), "http://[::1]:1/".into()]
    {
        let reply = server.post("/api/v1/w/ws/classify", &json!({ "url": url }));
        assert_eq!(reply.status, 422, "{url}: {reply:?}");
        let job = json!({"op": "add", "topic": "/Food", "urls": [url]});
        server.finished(&server.send("/api/v1/w/ws/examples", &job));
    }
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "no request reaches a private address");
    let companion = server.get("/companion");
    assert!(companion.status == 200 && companion.body.contains("javascript:"), "{companion:?}");
    assert_eq!(server.ask("GET", "/companion", &[], "").status, 401);
}

#[test]
fn results_of_experiments_are_shown() {
    let folder = crawled();
    let run = folder.path().join("trial");
    fs::create_dir(&run).unwrap();
    fs::write(run.join("results.jsonl"), "{\"topic\":\"/A\",\"strategy\":\"soft\"}\n").unwrap();
    fs::write(run.join("experiment.json"), "{\"strategies\":[\"soft\"],\"topics\":[\"/A\"]}").unwrap();
    fs::write(run.join("ranks.svg"), "<svg/>").unwrap();
    let server = Server::start(folder.path());
    let runs = server.read("/api/v1/lab");
    assert_eq!((&runs[0]["name"], &runs[0]["strategies"]), (&json!("trial"), &json!(["soft"])), "{runs}");
    let shown = server.read("/api/v1/lab/trial");
    assert_eq!(
        (&shown["results"][0]["topic"], &shown["figures"][0]["name"]),
        (&json!("/A"), &json!("ranks"))
    );
    assert_eq!(server.get("/api/v1/lab/ws").status, 404);
    assert!(porthole(folder.path(), &["serve", "--openapi"]).contains("/lab/{name}"));
}
