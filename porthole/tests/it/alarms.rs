//! Alarms of a crawl over HTTP: the topic dries up, the server begins to fail.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread;

use serde_json::Value as Json;
use tempfile::TempDir;

use crate::start::{check, json, on_loopback};

const BIRDS: &str = "owl nest feather beak plumage robin hawk songbird migration egg wing sparrow falcon warbler \
                     finch talon fledgling roost perch heron stork crane swallow thrush kestrel";
const FOOD: &str = "soup bread oven onion salt recipe flour butter pepper dinner stew kitchen garlic sauce \
                    pan dough noodle cheese spice roast broth pastry vinegar sugar lentil";

/// A server of numbered pages: those before `birds` are about birds, the others about food; from `fails` on it answers
/// with an error.
struct NumberedPages {
    birds: usize,
    fails: usize,
    last: usize,
}

impl NumberedPages {
    fn serve(self) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        // Ends with the test; it is not joined.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut head = BufReader::new(&stream).lines().map_while(Result::ok);
                let path = head.next().and_then(|line| Some(line.split(' ').nth(1)?.to_owned()));
                head.by_ref().find(String::is_empty);
                let number = path.and_then(|path| path.strip_prefix("/p/")?.parse().ok());
                let _ = (&stream).write_all(self.answer(number).as_bytes());
            }
        });
        address
    }

    fn answer(&self, number: Option<usize>) -> String {
        let (status, body) = match number {
            None => ("404 Not Found", String::new()),
            Some(number) if number >= self.fails => ("500 Internal Server Error", String::new()),
            Some(number) => ("200 OK", self.page(number)),
        };
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
    }

    /// The pages about birds are a tree, and so are those about food, to which the last page about birds leads.
    fn links(&self, number: usize) -> impl Iterator<Item = usize> {
        let (first, end) = if number < self.birds { (0, self.birds) } else { (self.birds, self.last) };
        let below = (1..=3).map(move |step| first + 3 * (number - first) + step).filter(move |to| *to < end);
        below.chain((number + 1 == self.birds).then_some(self.birds))
    }

    /// No page is like another: its words are drawn by its number.
    fn page(&self, number: usize) -> String {
        let words: Vec<&str> = if number < self.birds { BIRDS } else { FOOD }.split(' ').collect();
        let mut state = number as u64 + 1;
        let mut text = String::new();
        for _ in 0..80 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let word = usize::try_from(state >> 33).unwrap() % words.len();
            text += &format!("{} ", words[word]);
        }
        let links: String = self
            .links(number)
            .map(|to| format!("<a href='/p/{to}'>{}</a> ", words[to % words.len()]))
            .collect();
        format!("<html lang=en><title>page {number}</title><p>{text}</p>{links}")
    }
}

/// A workspace whose good topic is birds.
fn trained() -> TempDir {
    let folder = on_loopback();
    for (topic, words) in [("/Birds", BIRDS), ("/Food", FOOD)] {
        let names: Vec<String> =
            (0..6).map(|number| format!("{}-{number}.txt", topic.trim_start_matches('/'))).collect();
        for (number, name) in names.iter().enumerate() {
            let text: Vec<&str> =
                words.split(' ').cycle().skip(number).step_by(1 + number % 5).take(60).collect();
            fs::write(folder.path().join(name), text.join(" ")).unwrap();
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        check(folder.path(), &[&["-C", "ws", "examples", "add", topic], &names[..]].concat(), 0, "");
    }
    check(folder.path(), &["-C", "ws", "topics", "mark", "/Birds"], 0, "");
    check(folder.path(), &["-C", "ws", "train"], 0, "trained");
    folder
}

fn crawl(folder: &TempDir, address: SocketAddr, pages: &str, code: i32) -> String {
    let start = format!("http://{address}/p/0");
    let arguments =
        ["-C", "ws", "crawl", "--polite", "off", "--start", &start, "--pages", pages, "--no-hubs"];
    check(folder.path(), &[&arguments[..], &["--events", "events.jsonl"]].concat(), code, "")
}

/// The alarms of a workspace: kind, and whether they are over.
fn alarms(folder: &TempDir) -> Vec<(String, bool)> {
    let status = json(folder.path(), &["-C", "ws", "status", "--json"]);
    let fact = |alarm: &Json| {
        assert_eq!(alarm["is_active"], false, "no crawl is running: {alarm}");
        (alarm["kind"].as_str().unwrap().to_owned(), alarm["ended"].is_i64())
    };
    status["alarms"].as_array().unwrap().iter().map(fact).collect()
}

#[test]
fn a_topic_that_dries_up_raises_an_alarm() {
    let folder = trained();
    let address = NumberedPages { birds: 700, fails: usize::MAX, last: 1_200 }.serve();
    let said = crawl(&folder, address, "1150", 0);
    assert!(said.contains("alarm: relevance falls: mean relevance fell from 0.9"), "{said}");
    assert!(said.contains("`porthole set start URL`"), "{said}");
    assert_eq!(alarms(&folder), [("relevance".to_owned(), true)]);
    let events = fs::read_to_string(folder.path().join("events.jsonl")).unwrap();
    let is_alarm = |line: &&str| line.contains("\"event\":\"alarm\"");
    let fetches = events.lines().take_while(|line| !is_alarm(line)).filter(|line| line.contains("\"seq\""));
    assert!(
        (700..1_150).contains(&fetches.count()),
        "after the topic ends, and before the crawl does: {events}"
    );
    let alarms: Vec<&str> = events.lines().filter(is_alarm).collect();
    assert!(
        alarms.len() == 2 && alarms[1].contains("relevance falls: over; the crawl has ended"),
        "{alarms:?}"
    );
}

#[test]
fn a_server_that_begins_to_fail_raises_an_alarm() {
    let folder = trained();
    let address = NumberedPages { birds: 1_000, fails: 300, last: 1_000 }.serve();
    let said = crawl(&folder, address, "1000", 0);
    assert!(said.contains("alarm: everything fails: 40 of the last 50 fetches failed (status 40)"), "{said}");
    assert_eq!(alarms(&folder)[0].0, "failures");
}
