//! A server under test, a client for it, and a workspace full of hostile content.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use porthole_warc::{RecordFormat, WarcResponse, WarcWriter};
use serde_json::Value;
use tempfile::TempDir;

pub(super) const SCRIPT: &str = "<script>alert(1)</script>";
/// Name of a topic; a `/` would separate two topics.
pub(super) const IMAGE: &str = "\"><img src=x onerror=alert(1)>";

const BIRDS: [&str; 8] = ["owl", "nest", "feather", "plumage", "songbird", "beak", "wing", "sparrow"];
const OWLS: [&str; 8] = ["owl", "nest", "feather", "plumage", "hoot", "talon", "barn", "dusk"];
const FOOD: [&str; 8] = ["soup", "bread", "oven", "onion", "recipe", "flour", "butter", "stew"];
/// Pages of each host.
const PAGES: usize = 20;
/// Hosts with their words. Two are about birds, since hubs and authorities are pages of different sites.
const HOSTS: [(&str, &[&str; 8]); 3] = [("birds", &BIRDS), ("owls", &OWLS), ("food", &FOOD)];

/// A `porthole serve` that ends with the test.
pub(super) struct Server {
    process: Child,
    pub(super) address: String,
    pub(super) token: String,
}

/// An answer.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
}

impl Reply {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

impl Server {
    pub(super) fn start(folder: &Path) -> Server {
        Server::start_with(folder, &["serve", "--listen", "127.0.0.1:0"], None)
    }

    /// Starts a command that prints the address of a dashboard first.
    pub(super) fn start_with(folder: &Path, arguments: &[&str], proxy: Option<&str>) -> Server {
        let mut process = Command::new(env!("CARGO_BIN_EXE_porthole"))
            .args(arguments)
            .envs(proxy.map(|proxy| ("http_proxy", proxy)))
            .current_dir(folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("dashboard: http://").unwrap_or_else(|| panic!("{line}"));
        let (address, token) = url.split_once("/?token=").unwrap();
        Server { process, address: address.to_owned(), token: token.to_owned() }
    }

    /// Sends a request as it is and returns the answer.
    pub(super) fn raw(&self, request: &[u8]) -> Reply {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        // The server may refuse and close before it has read everything.
        let _ = stream.write_all(request);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        Reply { status, head: head.to_owned(), body: body.to_owned() }
    }

    /// Sends a request with these headers and no others than `Host` and the length.
    pub(super) fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let host =
            headers.iter().find(|(name, _)| *name == "Host").map_or(self.address.as_str(), |(_, host)| host);
        let mut request = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n");
        for (name, value) in headers.iter().filter(|(name, _)| *name != "Host") {
            request += &format!("{name}: {value}\r\n");
        }
        request += &format!("Content-Length: {}\r\n\r\n{body}", body.len());
        self.raw(request.as_bytes())
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.token)
    }

    pub(super) fn get(&self, path: &str) -> Reply {
        self.ask("GET", path, &[("Authorization", &self.bearer())], "")
    }

    /// Reads JSON; the answer must be 200.
    pub(super) fn read(&self, path: &str) -> Value {
        let reply = self.get(path);
        assert_eq!(reply.status, 200, "{path}: {reply:?}");
        reply.json()
    }

    pub(super) fn post(&self, path: &str, body: &Value) -> Reply {
        let headers = [
            ("Authorization", self.bearer()),
            ("X-Porthole", "1".to_owned()),
            ("Content-Type", "application/json".to_owned()),
        ];
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.ask("POST", path, &headers, &body.to_string())
    }

    /// Sends JSON; the answer must be 200.
    pub(super) fn send(&self, path: &str, body: &Value) -> Value {
        let reply = self.post(path, body);
        assert_eq!(reply.status, 200, "{path} {body}: {reply:?}");
        reply.json()
    }

    /// Waits for a job to end.
    pub(super) fn finished(&self, job: &Value) -> Value {
        self.until(&format!("/api/v1/jobs/{}", job["id"]), |job| job["state"] != "running")
    }

    /// Reads until the answer is as wanted.
    pub(super) fn until(&self, path: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..1_200 {
            let found = self.read(path);
            if is_wanted(&found) {
                return found;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("{path}: {}", self.read(path));
    }

    /// Opens the stream of live events.
    pub(super) fn listen(&self, path: &str) -> impl Iterator<Item = (String, Value)> + use<> {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let (host, bearer) = (&self.address, self.bearer());
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: {bearer}\r\n\r\n").unwrap();
        let mut name = String::new();
        BufReader::new(stream).lines().map_while(Result::ok).filter_map(move |line| {
            if let Some(event) = line.strip_prefix("event: ") {
                name = event.to_owned();
            }
            let data = line.strip_prefix("data: ")?;
            Some((name.clone(), serde_json::from_str(data).unwrap()))
        })
    }

    /// Asks the server to end and waits for it.
    pub(super) fn end(&mut self) {
        let killed = Command::new("kill").arg(self.process.id().to_string()).status();
        if killed.is_ok_and(|status| status.success()) {
            let _ = self.process.wait();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
        let _ = self.process.kill();
    }
}

/// Runs a command in a folder; it must succeed.
pub(super) fn porthole(folder: &Path, arguments: &[&str]) -> String {
    let output =
        Command::new(env!("CARGO_BIN_EXE_porthole")).args(arguments).current_dir(folder).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

fn url(host: &str, number: usize) -> String {
    format!("http://{host}.test/{number}")
}

/// A page whose title is a script, with a link that is one.
fn page(host: &str, words: &[&str; 8], number: usize) -> String {
    let text: Vec<&str> = (0..60).map(|at| words[(at * (number + 3) + at / 5 + number) % 8]).collect();
    let links: String = (1..5)
        .map(|step| url(host, (number + step) % PAGES))
        .chain(HOSTS.iter().filter(|(other, _)| *other != host).map(|(other, _)| url(other, number % PAGES)))
        .map(|url| format!("<a href='{url}'>{SCRIPT} more</a> "))
        .collect();
    let title = SCRIPT.replace('<', "&lt;");
    format!(
        "<title>{title} {number}</title><p>{}</p>{links}<a href='javascript:alert(1)'>x</a>",
        text.join(" ")
    )
}

/// A folder with the crawled and distilled workspace `ws` and the recorded web `web.warc.gz`. Made once; tests that change
/// it work on a copy.
pub(super) fn crawled() -> TempDir {
    static MADE: OnceLock<TempDir> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let file = File::create(folder.path().join("web.warc.gz")).unwrap();
        let mut writer = WarcWriter::new(file, RecordFormat::Gzip, 1);
        let headers = [("Content-Type", "text/html")].into_iter().collect();
        let mut examples = String::new();
        for (place, (host, words)) in HOSTS.into_iter().enumerate() {
            for number in 0..PAGES {
                let body = page(host, words, number + place * PAGES);
                writer.response(&WarcResponse::new(&url(host, number), &headers, body.as_bytes())).unwrap();
            }
        }
        for (host, topic) in [("birds", format!("/Birds/{IMAGE}")), ("food", "/Food".to_owned())] {
            examples += &(0..5).map(|number| format!("{}\t{topic}\n", url(host, number))).collect::<String>();
        }
        drop(writer);
        fs::write(folder.path().join("examples.tsv"), examples).unwrap();
        let run = |arguments: &[&str]| porthole(folder.path(), arguments);
        run(&["init", "ws"]);
        run(&["-C", "ws", "examples", "import", "examples.tsv", "--web", "web.warc.gz"]);
        run(&["-C", "ws", "topics", "mark", &format!("/Birds/{IMAGE}")]);
        run(&["-C", "ws", "train"]);
        run(&["-C", "ws", "crawl", "--web", "web.warc.gz"]);
        run(&["-C", "ws", "distill"]);
        folder
    });
    let copy = tempfile::tempdir().unwrap();
    copy_folder(made.path(), copy.path());
    copy
}

fn copy_folder(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target: PathBuf = to.join(path.file_name().unwrap());
        if path.is_dir() {
            fs::create_dir(&target).unwrap();
            copy_folder(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}
