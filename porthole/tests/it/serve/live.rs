//! A crawl as it runs: of another process and of the server, watched and commanded.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::server::{Server, crawled, porthole};

/// A site on loopback without end: every page is about birds and links to the next ones. Serves until the test ends.
fn endless_site() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answer = |mut stream: TcpStream| {
        let mut request = vec![0; 4_096];
        while let Ok(read @ 1..) = stream.read(&mut request) {
            let line = String::from_utf8_lossy(&request[..read]);
            let number: u64 = line.split(['/', ' ']).nth(2).and_then(|text| text.parse().ok()).unwrap_or(0);
            // Slow enough to be watched.
            std::thread::sleep(Duration::from_millis(20));
            let links: String =
                (1..4).map(|step| format!("<a href='/{}'>next</a>", number * 3 + step)).collect();
            // Half of the words differ from page to page: copies of other pages have no links.
            let words = ["owl", "nest", "feather", "plumage", "songbird", "beak", "wing", "sparrow"];
            let word = |at: u64| match at % 2 {
                0 => words[(at / 2 * (number + 3) + number) as usize % 8].to_owned(),
                _ => format!("w{}", (number * 60 + at) * 7_919 % 100_003),
            };
            let words = (0..80).map(word).collect::<Vec<_>>().join(" ");
            let body = format!("<title>Birds {number}</title><p>{words}</p>{links}");
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n",
                body.len()
            );
            if stream.write_all((head + &body).as_bytes()).is_err() {
                return;
            }
        }
    };
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(stream));
        }
    });
    format!("http://{address}/0")
}

/// Kills a process at the end of a test.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A crawl of another process.
fn foreign_crawl(folder: &TempDir) -> Ending {
    allow_loopback(folder);
    let start = endless_site();
    let crawl = Command::new(env!("CARGO_BIN_EXE_porthole"))
        .args(["-C", "ws", "crawl", "--polite", "off", "--workers", "2", "--start", &start])
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    Ending(crawl.unwrap())
}

const STATUS: &str = "/api/v1/w/ws/status";
const COMMANDS: &str = "/api/v1/w/ws/commands";

#[test]
fn a_crawl_of_another_process_is_watched_and_commanded() {
    let folder = crawled();
    let mut server = Server::start(folder.path());
    let before = server.read("/api/v1/w/ws/dots");
    assert!(before["seq"].as_array().unwrap().len() >= 40 && before["more"] == false, "{before}");
    let mut crawl = foreign_crawl(&folder);
    let running = server.until(STATUS, |status| status["is_running"] == true);
    assert_eq!(running["started_here"], false);

    let mut events = server.listen(&format!("/api/v1/w/ws/events?after={}", before["last"]));
    let mut dots = 0;
    let mut names = Vec::new();
    while dots < 20 {
        let (name, data) = events.next().expect("an event");
        if name == "dots" {
            let length = data["seq"].as_array().unwrap().len();
            for column in ["at", "relevance", "topic", "outcome"] {
                assert_eq!(data[column].as_array().unwrap().len(), length, "{column}");
            }
            dots += length;
        }
        names.push(name);
    }
    assert_eq!(names[0], "status", "the state comes first: {names:?}");

    let paused = server.send(COMMANDS, &json!({"what": "pause"}));
    assert_eq!(
        (&paused["failed"], &paused["command"]),
        (&json!(false), &json!("porthole -C ws pause")),
        "{paused}"
    );
    // A crawl writes its state about once a second.
    server.until(STATUS, |status| status["is_paused"] == true);
    let (name, command) = events.find(|(name, _)| name == "command").unwrap();
    assert_eq!((name.as_str(), &command["what"]), ("command", &json!("pause")));
    server.send(COMMANDS, &json!({"what": "resume"}));
    server.until(STATUS, |status| status["is_paused"] == false);

    for (body, expected) in [
        (json!({"what": "workers", "parameters": {"workers": 1}}), "at most 1 requests"),
        (json!({"what": "strategy", "parameters": {"strategy": "breadth"}}), "breadth"),
        (json!({"what": "policy", "parameters": {"policy": "refresh"}}), "order"),
        (json!({"what": "budget", "parameters": {"pages": 100_000}}), "100000 pages"),
        (json!({"what": "scope", "parameters": {"scope": {"exclude": ["*/private/*"]}}}), "scope"),
        (json!({"what": "start", "parameters": {"urls": ["http://127.0.0.1:1/x"]}}), "1 of 1"),
        (json!({"what": "disable", "parameters": {"host": "food.test"}}), "disabled"),
    ] {
        let answered = server.send(COMMANDS, &body);
        assert!(answered["failed"] == false, "{body}: {answered}");
        assert!(answered["outcome"].as_str().unwrap().contains(expected), "{body}: {answered}");
    }
    let rejected =
        server.send(COMMANDS, &json!({"what": "strategy", "parameters": {"strategy": "nonsense"}}));
    assert_eq!(rejected["failed"], true, "{rejected}");
    let listed = server.read(COMMANDS);
    assert_eq!((&listed[0]["what"], &listed[0]["failed"]), (&json!("strategy"), &json!(true)));

    assert_eq!(server.post("/api/v1/w/ws/crawl", &json!({})).status, 409, "one crawl a workspace");
    let stopped = server.send(COMMANDS, &json!({"what": "stop"}));
    assert_eq!(stopped["failed"], false);
    crawl.0.wait().unwrap();
    let status = server.until(STATUS, |status| status["is_running"] == false);
    assert_eq!(status["last_stop"], "interrupted", "{status}");
    assert_eq!(server.post(COMMANDS, &json!({"what": "pause"})).status, 409);

    // All dots are there, once each, whatever the size of a page.
    let whole = server.read("/api/v1/w/ws/dots");
    let (mut last, mut seen) = (Value::Null, Vec::new());
    loop {
        let after = if last.is_null() { String::new() } else { format!("&after={last}") };
        let part = server.read(&format!("/api/v1/w/ws/dots?limit=7{after}"));
        seen.extend(part["seq"].as_array().unwrap().clone());
        last = part["last"].clone();
        if part["more"] == false {
            break;
        }
    }
    assert_eq!(&json!(seen), &whole["seq"]);
    server.end();
    assert_eq!(events.last().unwrap().0, "end");
}

/// Settings with which a polite crawl of loopback is quick.
fn allow_loopback(folder: &TempDir) {
    let file = folder.path().join("ws/porthole.toml");
    let settings =
        "[fetch]\ncontact = \"me@example.org\"\nloopback = true\n[polite]\ndelay = 0.01\ndelay-factor = 1\n";
    fs::write(file, settings).unwrap();
}

#[test]
fn a_crawl_is_started_here_and_ends_with_the_server() {
    let folder = crawled();
    allow_loopback(&folder);
    let mut server = Server::start(folder.path());
    let job =
        server.send("/api/v1/w/ws/crawl", &json!({"workers": 2, "starts": [endless_site()], "idle": "fill"}));
    assert_eq!((&job["what"], &job["state"]), (&json!("crawl"), &json!("running")));
    let pages = |status: &Value| status["counts"]["fetched"].as_u64().unwrap();
    let before = pages(&server.read(STATUS));
    let status = server.until(STATUS, |status| status["is_running"] == true && pages(status) > before + 2);
    assert_eq!(status["started_here"], true, "{status}");
    assert_eq!(server.post("/api/v1/w/ws/crawl", &json!({})).status, 409);
    server.end();
    let status: Value =
        serde_json::from_str(&porthole(folder.path(), &["-C", "ws", "status", "--json"])).unwrap();
    assert_eq!(
        (&status["crawling"], &status["last_stop"]),
        (&json!(false), &json!("interrupted")),
        "{status}"
    );
}

#[test]
fn a_job_is_cancelled() {
    let folder = crawled();
    allow_loopback(&folder);
    let server = Server::start(folder.path());
    let job = server.send("/api/v1/w/ws/crawl", &json!({"workers": 1, "starts": [endless_site()]}));
    server.until(STATUS, |status| status["is_running"] == true);
    server.send(&format!("/api/v1/jobs/{}/cancel", job["id"]), &json!({}));
    let ended = server.finished(&job);
    assert_eq!(
        (&ended["state"], &ended["result"]["stop"]),
        (&json!("cancelled"), &json!("interrupted")),
        "{ended}"
    );
    let again = server.send("/api/v1/w/ws/crawl", &json!({"pages": 1}));
    let ended = server.finished(&again);
    assert_eq!(ended["state"], "done", "{ended}");
    assert_eq!(server.read("/api/v1/jobs").as_array().unwrap().len(), 2);
}

#[test]
fn series_and_totals_agree_with_the_tables() {
    let folder = crawled();
    let server = Server::start(folder.path());
    let status = server.read(STATUS);
    let printed: Value =
        serde_json::from_str(&porthole(folder.path(), &["-C", "ws", "status", "--json"])).unwrap();
    assert_eq!(status["counts"]["fetched"], printed["pages"]);
    for (name, printed_name) in [("harvest", "harvest"), ("harvest_recent", "recent_harvest")] {
        let (here, there) = (status[name].as_f64().unwrap(), printed[printed_name].as_f64().unwrap());
        assert!((here - there).abs() < 1e-4, "{name}: {here} {there}");
    }
    let series = server.read("/api/v1/w/ws/series?bucket=1");
    let sum = |name: &str| series[name].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).sum::<u64>();
    assert_eq!(json!(sum("pages")), printed["pages"]);
    assert!(sum("relevant") > 0 && sum("relevant") < sum("pages"));
    let queued = server.read("/api/v1/w/ws/status")["counts"]["queued"].clone();
    assert_eq!(series["frontier"].as_array().unwrap().last(), Some(&queued), "{series}");
    assert_eq!(server.get("/api/v1/w/ws/series?bucket=0").status, 400);
    let metrics = server.get("/metrics").body;
    assert!(
        metrics.contains(&format!("porthole_pages{{workspace=\"ws\"}} {}", printed["pages"])),
        "{metrics}"
    );
}
