//! The first steps: examples from the web, from list pages and from the neighbourhood of others, and `porthole start`.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use porthole_store::{QueryLimits, SqliteReader, StoreReader};
use porthole_types::ManualClock;
use porthole_webs::synth::{SynthParams, SyntheticWeb};
use serde_json::Value as Json;
use tempfile::TempDir;

use crate::recording::record;

fn porthole(folder: &Path, arguments: &[&str]) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_porthole"));
    program.args(arguments).current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs a command that must end with this exit code and print these words; returns its output.
pub(crate) fn check(folder: &Path, arguments: &[&str], code: i32, words: &str) -> String {
    let output = porthole(folder, arguments);
    let said = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    assert!(said.contains(words), "no {words:?} in {said}");
    said
}

pub(crate) fn json(folder: &Path, arguments: &[&str]) -> Json {
    let output = porthole(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A server on this machine, with a record of its requests.
pub(crate) struct Server {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    /// Requests as they were sent.
    heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Serves pages by path; a page that begins with `>` is a redirect, and one with `{` or `[` is JSON.
    pub(crate) fn new(pages: &[(&str, String)]) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let pages: HashMap<String, String> =
            pages.iter().map(|(path, page)| ((*path).to_owned(), page.clone())).collect();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let heads: Arc<Mutex<Vec<String>>> = Arc::default();
        let (log, sent) = (asked.clone(), heads.clone());
        // Ends with the test; it is not joined.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let lines = BufReader::new(&stream).lines().map_while(Result::ok);
                let head: String =
                    lines.take_while(|line| !line.is_empty()).map(|line| line + "\r\n").collect();
                let Some(path) = head.split(' ').nth(1).map(str::to_owned) else { continue };
                sent.lock().unwrap().push(head + "\r\n");
                let _ = (&stream).write_all(answer(pages.get(&path)).as_bytes());
                log.lock().unwrap().push(path);
            }
        });
        Server { address, asked, heads }
    }

    /// All requests so far, as they were sent.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn asked(&self, path: &str) -> usize {
        self.asked.lock().unwrap().iter().filter(|asked| *asked == path).count()
    }
}

fn answer(page: Option<&String>) -> String {
    let (status, header, body) = match page.map(|page| (page, page.strip_prefix('>'))) {
        None => ("404 Not Found", String::new(), ""),
        Some((_, Some(target))) => ("302 Found", format!("Location: {target}\r\n"), ""),
        Some((page, None)) if page.starts_with(['{', '[']) => {
            ("200 OK", "Content-Type: application/json\r\n".to_owned(), page.as_str())
        }
        Some((page, None)) => ("200 OK", "Content-Type: text/html\r\n".to_owned(), page.as_str()),
    };
    let length = body.len();
    format!("HTTP/1.1 {status}\r\n{header}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}

pub(crate) fn page(title: &str, words: &str, links: &[(String, &str)]) -> String {
    let links: String =
        links.iter().map(|(url, anchor)| format!("<li><a href='{url}'>{anchor}</a></li>")).collect();
    format!("<html lang=en><title>{title}</title><p>{}</p><ul>{links}</ul>", format!("{words} ").repeat(8))
}

pub(crate) const OWLS: &str = "the owl hunts at night and its plumage is silent; owls nest in barns";
pub(crate) const SOUP: &str = "the soup needs an onion and some salt; stir the pot in the kitchen";

/// A folder with a workspace `ws` that may crawl loopback addresses.
pub(crate) fn on_loopback() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    check(folder.path(), &["init", "ws"], 0, "");
    let settings = "[fetch]\nloopback = true\n[polite]\ndelay = 0.0\ndelay-factor = 0\n";
    fs::write(folder.path().join("ws/porthole.toml"), settings).unwrap();
    folder
}

#[test]
fn pages_are_fetched_by_the_rules_of_their_site() {
    let robots = "User-agent: *\nDisallow: /private/\n".to_owned();
    let server = Server::new(&[
        ("/robots.txt", robots),
        ("/owl", page("Owls", OWLS, &[])),
        ("/moved", ">/elsewhere".to_owned()),
        ("/elsewhere", ">/owl".to_owned()),
        ("/round", ">/round".to_owned()),
        ("/led-astray", ">/private/owl".to_owned()),
        ("/private/owl", page("Owls", OWLS, &[])),
    ]);
    let folder = on_loopback();
    let urls =
        ["/owl", "/moved", "/gone", "/round", "/private/owl", "/led-astray"].map(|path| server.url(path));
    let mut arguments = vec!["-C", "ws", "examples", "add", "/Owls", "--json"];
    arguments.extend(urls.iter().map(String::as_str));
    let added = json(folder.path(), &arguments);
    let states: Vec<(&str, &str)> = added["examples"]
        .as_array()
        .unwrap()
        .iter()
        .map(|example| (example["state"].as_str().unwrap(), example["detail"].as_str().unwrap()))
        .collect();
    let forbidden = ("missing", "its robots.txt forbids it: Disallow: /private/");
    let expected = [
        ("ok", ""),
        ("ok", ""),
        ("missing", "status 404"),
        ("missing", "more than 5 redirects"),
        forbidden,
        forbidden,
    ];
    assert_eq!(states, expected);
    assert_eq!((server.asked("/robots.txt"), server.asked("/private/owl")), (1, 0));
    let listed = json(folder.path(), &["-C", "ws", "examples", "list", "/Owls", "--json"]);
    assert_eq!(
        (&listed[0]["name"], &listed[0]["title"]),
        (&Json::from(urls[0].clone()), &Json::from("Owls"))
    );
    // Again, when the page cannot be fetched: the example stays unchanged.
    fs::write(folder.path().join("ws/porthole.toml"), "[fetch]\ncontact = \"me@owls.test\"\n").unwrap();
    check(folder.path(), &["-C", "ws", "examples", "add", "/Owls", &urls[0]], 0, "1 example known already");
}

#[test]
fn any_page_can_be_classified() {
    let server = Server::new(&[("/owl", page("Owls", OWLS, &[])), ("/soup", page("Soup", SOUP, &[]))]);
    let folder = on_loopback();
    for (topic, words) in [("/Owls", OWLS), ("/Soups", SOUP)] {
        let file = folder.path().join("example.txt");
        fs::write(&file, words).unwrap();
        check(folder.path(), &["-C", "ws", "examples", "add", topic, file.to_str().unwrap()], 0, "");
        fs::rename(&file, folder.path().join(format!("{}.txt", &topic[1..]))).unwrap();
    }
    check(folder.path(), &["-C", "ws", "topics", "mark", "/Owls"], 0, "");
    check(folder.path(), &["-C", "ws", "train"], 0, "");
    let classify = |path: &str| {
        let judged = json(folder.path(), &["-C", "ws", "classify", &server.url(path), "--json"]);
        judged[0]["best"]["topic"].as_str().unwrap().to_owned()
    };
    assert_eq!((classify("/owl"), server.asked("/owl")), ("/Owls".to_owned(), 1), "fetched");
    assert_eq!(server.asked("/robots.txt"), 1, "politely");
    check(folder.path(), &["-C", "ws", "classify", &server.url("/gone")], 1, "status 404");
    for archive in ["all", "none"] {
        let crawl = ["-C", "ws", "crawl", "--pages", "1", "--archive", archive, "--start"];
        let path = if archive == "all" { "/owl" } else { "/soup" };
        check(folder.path(), &[&crawl[..], &[&server.url(path)]].concat(), 0, "");
        let asked = server.asked(path);
        assert_eq!(classify(path), if archive == "all" { "/Owls" } else { "/Soups" }, "{archive}");
        assert_eq!(server.asked(path), asked, "{archive}: what was crawled is not fetched again");
    }
    // Without leave to do so nothing on this machine is fetched, and the setting is named.
    fs::write(folder.path().join("ws/porthole.toml"), "[fetch]\ncontact = \"me@owls.test\"\n").unwrap();
    check(
        folder.path(),
        &["-C", "ws", "classify", &server.url("/else")],
        1,
        "`loopback = true` under [fetch]",
    );
}

#[test]
fn the_proxy_of_the_environment_is_used() {
    let proxy = Server::new(&[("http://owls.test/owl", page("Owls", OWLS, &[]))]);
    let folder = tempfile::tempdir().unwrap();
    check(folder.path(), &["init", "ws"], 0, "");
    fs::write(folder.path().join("ws/porthole.toml"), "[fetch]\ncontact = \"me@owls.test\"\n").unwrap();
    let add = |variable: &str, value: &str| {
        let mut program = Command::new(env!("CARGO_BIN_EXE_porthole"));
        program.args(["-C", "ws", "examples", "add", "/Owls", "http://owls.test/owl"]);
        let output = program.current_dir(folder.path()).env(variable, value).output().unwrap();
        text(&output.stdout) + &text(&output.stderr)
    };
    let said = add("http_proxy", "ftp://proxy.test:1");
    assert!(said.contains("http_proxy: ") && said.contains("is not a proxy"), "{said}");
    add("HTTP_PROXY", proxy.url("").trim_end_matches('/'));
    let listed = json(folder.path(), &["-C", "ws", "examples", "list", "/Owls", "--json"]);
    assert_eq!(
        (listed[0]["state"].as_str(), proxy.asked("http://owls.test/owl")),
        (Some("ok"), 1),
        "{listed}"
    );
}

#[test]
fn nobody_fetches_what_may_not_be_fetched() {
    let server = Server::new(&[("/owl", page("Owls", OWLS, &[]))]);
    let folder = tempfile::tempdir().unwrap();
    check(folder.path(), &["init", "ws"], 0, "");
    let add = ["-C", "ws", "examples", "add", "/Owls", &server.url("/owl")];
    check(folder.path(), &add, 4, "set `contact`");
    fs::write(folder.path().join("ws/porthole.toml"), "[fetch]\ncontact = \"me@owls.test\"\n").unwrap();
    check(folder.path(), &add, 0, "127.0.0.1");
    let listed = json(folder.path(), &["-C", "ws", "examples", "list", "--json"]);
    assert_eq!((&listed[0]["state"], server.asked("/owl")), (&Json::from("missing"), 0), "{listed}");
    check(
        folder.path(),
        &["-C", "ws", "examples", "add", "/Owls", "ftp://owls.test/"],
        4,
        "ftp://owls.test/",
    );
    // When robots.txt allows it later.
    fs::write(folder.path().join("ws/porthole.toml"), "[fetch]\nloopback = true\n[polite]\ndelay = 0.0\n")
        .unwrap();
    check(folder.path(), &["-C", "ws", "examples", "fetch"], 0, "fetched 1 of 1 example");
    check(folder.path(), &["-C", "ws", "examples", "fetch"], 0, "have their pages");
    assert_eq!(server.asked("/owl"), 1);
}

#[test]
fn a_list_page_gives_what_it_links_to() {
    let barn = Server::new(&[("/", page("Barn owls", OWLS, &[])), ("/dull", "<p>".to_owned())]);
    let list = Server::new(&[
        (
            "/list",
            page(
                "Owl links",
                OWLS,
                &[
                    (barn.url("/"), "Barn owls"),
                    ("/own".to_owned(), "My own"),
                    (barn.url("/dull"), "Nothing there"),
                    (barn.url("/"), "Once more"),
                    (barn.url("/gone"), "A dead link"),
                ],
            ),
        ),
        ("/own", page("My own", OWLS, &[])),
        ("/lonely", page("Nobody", OWLS, &[("/own".to_owned(), "My own")])),
    ]);
    let folder = on_loopback();
    let from = |more: &[&str]| {
        let url = list.url("/list");
        let arguments = ["-C", "ws", "examples", "from", &url, "/Owls"];
        json(folder.path(), &[&arguments[..], &["--json"], more].concat())
    };
    let found = from(&["--dry-run"]);
    let links: Vec<(&str, &str)> = found["links"]
        .as_array()
        .unwrap()
        .iter()
        .map(|link| (link["url"].as_str().unwrap(), link["anchor"].as_str().unwrap()))
        .collect();
    let (home, dull, gone) = (barn.url("/"), barn.url("/dull"), barn.url("/gone"));
    assert_eq!(links, [(&*home, "Barn owls"), (&*dull, "Nothing there"), (&*gone, "A dead link")]);
    assert_eq!((&found["added"], barn.asked("/")), (&Json::Null, 0));
    let added = from(&[]);
    let states: Vec<&str> = added["added"]["examples"]
        .as_array()
        .unwrap()
        .iter()
        .map(|page| page["state"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["ok", "empty", "missing"]);
    assert_eq!(added["added"]["examples"][2]["title"], "A dead link");
    assert_eq!(from(&["--dry-run", "--same-site"])["links"].as_array().unwrap().len(), 4);
    assert_eq!(from(&["--dry-run", "--pages", "1"])["left_out"], 2);
    let from = |path: &str, more: &[&str], code, words: &str| {
        let url = list.url(path);
        let arguments = ["-C", "ws", "examples", "from", &url, "/Owls"];
        check(folder.path(), &[&arguments[..], more].concat(), code, words);
    };
    from("/lonely", &[], 4, "--same-site");
    from("/nowhere", &[], 1, "status 404");
    from("/list", &["--dry-run"], 0, "   1. Barn owls\n");
}

#[test]
fn what_is_near_and_sounds_alike_becomes_an_example() {
    let link = |path: &str, anchor: &'static str| (path.to_owned(), anchor);
    let links = [
        link("/about", "about us"),
        link("/barn", "more"),
        link("/snowy", "snowy owl"),
        link("/soup", "lunch"),
        link("/owl/2", "next"),
    ];
    let server = Server::new(&[
        ("/owl/1", page("An owl", OWLS, &links)),
        ("/owl/2", page("Two owls", OWLS, &links[..2])),
        ("/owl/3", page("Three owls", OWLS, &links[1..])),
        ("/about", page("About us", "we are the people who write this", &[])),
        ("/barn", page("Owls that nest in barns", OWLS, &[])),
        ("/snowy", page("The plumage", OWLS, &[])),
        ("/soup", page("Onion soup", SOUP, &[])),
        ("/soup/1", page("Soup", SOUP, &[])),
        ("/soup/2", page("Pot", SOUP, &[])),
    ]);
    let folder = on_loopback();
    let add = |topic: &str, paths: &[&str]| {
        let urls: Vec<String> = paths.iter().map(|path| server.url(path)).collect();
        let mut arguments = vec!["-C", "ws", "examples", "add", topic];
        arguments.extend(urls.iter().map(String::as_str));
        check(folder.path(), &arguments, 0, "");
    };
    check(folder.path(), &["-C", "ws", "topics", "add", "/Owls"], 0, "");
    let explore = ["-C", "ws", "examples", "explore", "/Owls"];
    check(folder.path(), &explore, 4, "porthole examples add /Owls URL");
    add("/Owls", &["/owl/1", "/owl/2", "/owl/3"]);
    add("/Food", &["/soup/1", "/soup/2"]);
    let found = json(folder.path(), &[&explore[..], &["--json"]].concat());
    let titles: Vec<&str> =
        found["found"].as_array().unwrap().iter().map(|page| page["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["Owls that nest in barns", "The plumage"], "{found}");
    assert_eq!((&found["neighbours"], &found["found"][0]["linked_by"]), (&Json::from(4), &Json::from(3)));
    let words = &found["found"][0]["words"];
    assert!(words.as_array().unwrap().contains(&Json::from("owls")), "{words}");
    check(folder.path(), &explore, 0, "--accept 2");
    check(folder.path(), &[&explore[..], &["--accept", "1"]].concat(), 0, "added 1 example to /Owls");
    let listed = json(folder.path(), &["-C", "ws", "examples", "list", "/Owls", "--json"]);
    let last = listed.as_array().unwrap().last().unwrap();
    assert_eq!((&last["name"], &last["state"]), (&Json::from(server.url("/barn")), &Json::from("ok")));
    // With few fetches, the most promising first: by anchor text, not by position.
    let few = json(folder.path(), &[&explore[..], &["--json", "--pages", "3"]].concat());
    assert_eq!((&few["titles"], &few["found"][0]["title"]), (&Json::from(1), &Json::from("The plumage")));
}

/// A recorded synthetic web with the topics of its pages.
struct Recording {
    folder: TempDir,
    topics: HashMap<String, String>,
    examples: Vec<String>,
}

const TOPIC: &str = "/Recreation/Cycling";

impl Recording {
    fn make() -> Recording {
        Recording::with(600, 5)
    }

    fn with(pages: u32, examples: usize) -> Recording {
        let params = SynthParams {
            pages,
            site_pages: 10,
            page_bytes: 1_000,
            links: 12,
            hub_links: 20,
            islands: 0,
            portals: 1,
            flaky_hosts: 0.0,
            stalling_hosts: 0.0,
            refusing_hosts: 0.0,
            growing: 0.0,
            ..SynthParams::default()
        };
        let web = SyntheticWeb::new(params, Arc::new(ManualClock::default())).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let topics = record(&web, &folder.path().join("web"));
        let leaf = web.topics().iter().find(|topic| topic.path == TOPIC).unwrap();
        let examples = web.examples(leaf.id, examples, 1).iter().map(ToString::to_string).collect();
        Recording { folder, topics, examples }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn web(&self) -> PathBuf {
        self.path().join("web/00000.warc.gz")
    }

    /// Runs `porthole start` on it with its examples.
    fn start(&self, more: &[&str]) -> Vec<String> {
        let web = self.web().display().to_string();
        let start = ["start".to_owned()].into_iter().chain(self.examples.iter().cloned());
        start.chain(more.iter().map(|&more| more.to_owned())).chain(["--web".to_owned(), web]).collect()
    }

    fn check(&self, arguments: &[String], code: i32, words: &str) -> String {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        check(self.path(), &arguments, code, words)
    }

    /// Pages that were fetched.
    fn pages(&self, workspace: &str) -> usize {
        let reader = SqliteReader::open(self.path().join(workspace).join("porthole.db")).unwrap();
        reader.counts().unwrap().fetched
    }

    /// The fetched URLs of a workspace.
    fn fetched(&self, workspace: &str) -> Vec<String> {
        let reader = SqliteReader::open(self.path().join(workspace).join("porthole.db")).unwrap();
        let sql = "select url from crawl where seq is not null order by seq";
        let rows = reader.sql(sql, &QueryLimits::default()).unwrap().rows;
        rows.iter().map(|row| row[0].text().to_owned()).collect()
    }
}

/// A topic of a workspace as `topics tree` shows it.
fn topic(folder: &Path, workspace: &str, path: &str) -> Json {
    let topics = json(folder, &["-C", workspace, "topics", "tree", "--json"]);
    let found = topics.as_array().unwrap().iter().find(|topic| topic["path"] == path);
    found.unwrap_or_else(|| panic!("no {path} in {topics}")).clone()
}

#[test]
fn one_command_leads_from_pages_to_a_crawl() {
    let web = Recording::make();
    let start = web.start(&["--topic", "/Leisure/Bicycles", "--pages", "60"]);
    let said = web.check(&start, 0, "created a workspace in bicycles");
    for command in [
        "porthole init bicycles --taxonomy general",
        "porthole -C bicycles examples add / URL…",
        "porthole -C bicycles topics mark /Leisure/Bicycles",
        "porthole -C bicycles train",
        "porthole -C bicycles crawl",
    ] {
        assert!(said.contains(command), "no {command:?} in {said}");
    }
    let bicycles = topic(web.path(), "bicycles", "/Leisure/Bicycles");
    assert_eq!(
        (&bicycles["mark"], &bicycles["examples"]),
        (&Json::from("good"), &Json::from(5)),
        "{bicycles}"
    );
    let fetched = web.fetched("bicycles");
    assert_eq!(web.pages("bicycles"), 60, "redirects and failures come on top");
    let is_good = |url: &&String| web.topics.get(*url).is_some_and(|topic| topic == TOPIC);
    let share = |urls: &[String]| urls.iter().filter(is_good).count() as f64 / urls.len() as f64;
    let all: Vec<String> = web.topics.keys().cloned().collect();
    assert!(share(&fetched[5..]) > 3.0 * share(&all), "{} of {}", share(&fetched[5..]), share(&all));
    // The same command resumes, and so does one that names only the folder.
    web.check(&start, 0, "the workspace in bicycles");
    assert_eq!(web.pages("bicycles"), 120);
    let file = web.web().display().to_string();
    let go_on = ["start", "bicycles", "--web", &file, "--pages", "10", "--json"];
    let summary = json(web.path(), &go_on);
    assert!(summary.is_object() && web.pages("bicycles") == 130, "{summary}");
    // The crawled pages are explored without network access.
    let explore = ["-C", "bicycles", "examples", "explore", "/Leisure/Bicycles", "--json"];
    let output = porthole(web.path(), &explore);
    assert!(text(&output.stderr).contains("using crawled pages only"), "{}", text(&output.stderr));
    let found: Json = serde_json::from_slice(&output.stdout).unwrap();
    let found = found["found"].as_array().unwrap();
    let right = found.iter().filter(|page| is_good(&&page["url"].as_str().unwrap().to_owned())).count();
    assert!(right > 0 && right * 2 > found.len(), "{right} of {}", found.len());
}

#[test]
fn a_start_says_what_it_lacks_and_goes_on_with_it() {
    let web = Recording::make();
    let urls: Vec<&str> = web.examples.iter().map(String::as_str).collect();
    check(web.path(), &[&["start"], &urls[..]].concat(), 4, "--contact");
    assert!(!web.path().join("porthole-crawl").exists(), "nothing is made before that is known");
    // A topic is required.
    let said = web.check(&web.start(&["here", "--no-crawl"]), 4, "--name NAME");
    assert!(said.contains("topics that the 5 pages fit best:"), "{said}");
    let said = web.check(
        &web.start(&["here", "--no-crawl", "--yes", "--contact", "me@owls.test"]),
        0,
        ", a new topic, is marked good, with 5 more examples",
    );
    assert!(!said.contains("fetched"), "they are known: {said}");
    assert!(
        fs::read_to_string(web.path().join("here/porthole.toml"))
            .unwrap()
            .contains("\ncontact = \"me@owls.test\"\n")
    );
    assert!(web.fetched("here").is_empty());
    // A new topic, in a folder named after it.
    let said = web.check(
        &web.start(&["--name", "My Bicycles", "--no-crawl"]),
        0,
        "My Bicycles, a new topic, is marked good",
    );
    assert!(said.contains("workspace in my-bicycles"), "{said}");
    check(web.path(), &["start"], 4, "no pages given");
    check(web.path(), &["start", "/no/such.d", "ws"], 4, "name it last, as /no/such.d");
    check(web.path(), &["start", "no.html", "ws"], 4, "name it last, as ./no.html");
    check(
        web.path(),
        &["start", "http://gone.test/", "--web", &web.web().display().to_string()],
        4,
        "could be fetched and read",
    );
}

#[test]
fn retraining_with_pages_of_the_crawl_keeps_the_examples() {
    let web = Recording::with(1_500, 30);
    let file = web.web().display().to_string();
    for examples in [3, 10, 30] {
        let workspace = format!("ws-{examples}");
        let urls: Vec<&str> = web.examples[..examples].iter().map(String::as_str).collect();
        let arguments = [&["start"], &urls[..], &[&workspace, "--name", "Bicycles", "--web", &file]].concat();
        check(web.path(), &[&arguments[..], &["--pages", "200"]].concat(), 0, "");
        let trained = json(web.path(), &["-C", &workspace, "train", "--json"]);
        // A crawl from many examples may fetch too few other pages for a background.
        let drawn = trained["background"]["examples"].as_u64().unwrap();
        assert!(drawn >= 20 || examples == 30, "{examples}: {drawn} pages drawn");
        // With few examples the pages that were drawn may have to be left out.
        let checked = &trained["check"];
        assert_eq!(checked["lost"], Json::from(Vec::<Json>::new()), "{examples}: {checked}");
        let misjudged = checked["misjudged"].as_array().unwrap();
        // An example in doubt (R below one half) is still most probably about its own topic.
        let is_kept =
            |example: &Json| example["is_good"] == false || example["judged_as"] == example["topic"];
        assert!(misjudged.iter().all(is_kept), "{examples}: {misjudged:?}");
        // Pages that were fetched are judged again.
        check(web.path(), &["-C", &workspace, "crawl", "--web", &file, "--pages", "1"], 0, "");
        let reader = SqliteReader::open(web.path().join(&workspace).join("porthole.db")).unwrap();
        let sql = "select url, relevance from crawl where state = 1";
        let (mut kept, mut all, mut wrong) = (0, 0, 0);
        for row in reader.sql(sql, &QueryLimits::default()).unwrap().rows {
            let is_true = web.topics.get(row[0].text()).is_some_and(|topic| topic == TOPIC);
            let is_relevant = row[1].real().is_some_and(|relevance| relevance > 0.5);
            all += usize::from(is_true);
            kept += usize::from(is_true && is_relevant);
            wrong += usize::from(!is_true && is_relevant);
        }
        // With three examples some pages are in doubt, too.
        let is_told_apart = wrong * 4 <= all || drawn < 20;
        assert!(kept * 2 >= all && is_told_apart, "{examples}: {kept} of {all} and {wrong} others");
    }
}

#[test]
fn of_bookmarks_those_that_fit_become_examples() {
    let folder = tempfile::tempdir().unwrap();
    let birds = "the barn owl and other birds of prey hunt over farmland; plumage, nests, eggs, wings, beaks, feathers \
                 and the migration of birds and warblers";
    let code = "the compiler turns the program into machine code; software, programming languages, operating system, \
                source code, functions, variables and a debugger on the computer";
    let server = Server::new(&[
        ("/birds/1", page("Barn owls", birds, &[])),
        ("/birds/2", page("Birds of prey", birds, &[])),
        ("/birds/3", page("Warblers", birds, &[])),
        ("/code", page("Compilers", code, &[])),
    ]);
    check(folder.path(), &["init", "ws"], 0, "");
    let settings = "[fetch]\nloopback = true\n[polite]\ndelay = 0.0\ndelay-factor = 0\n";
    fs::write(folder.path().join("ws/porthole.toml"), settings).unwrap();
    let links: String = ["/birds/1", "/birds/2", "/birds/3", "/code"]
        .map(|path| format!("<DT><A HREF=\"{}\">a page</A>\n", server.url(path)))
        .concat();
    let bookmarks = format!("<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n{links}</DL><p>\n");
    fs::write(folder.path().join("bookmarks.html"), bookmarks).unwrap();
    let start = ["start", "bookmarks.html", "ws", "--yes", "--no-crawl"];
    let said = check(folder.path(), &start, 0, "is marked good, with 3 more examples");
    assert!(said.contains("Birds"), "{said}");
    let listed = json(folder.path(), &["-C", "ws", "examples", "list", "--json"]);
    let topic = |path: &str| {
        let url = server.url(path);
        listed.as_array().unwrap().iter().find(|example| example["name"] == *url).unwrap()["topic"].clone()
    };
    assert_eq!(topic("/code"), "/");
    // A page that could not be fetched is no example to learn from.
    let (there, missing) = (server.url("/birds/1"), server.url("/none"));
    let settings = folder.path().join("ws/porthole.toml");
    check(folder.path(), &["init", "other"], 0, "");
    fs::copy(settings, folder.path().join("other/porthole.toml")).unwrap();
    let two = ["start", &there, &missing, "other", "--topic", "/Birds", "--no-crawl"];
    check(folder.path(), &two, 0, "is marked good, with 1 more example\n");
    assert_eq!(topic("/birds/1"), topic("/birds/3"));
    // Nothing is fetched or asked twice.
    check(folder.path(), &start, 0, "ready to crawl");
    assert_eq!(server.asked("/code"), 1);
}

#[test]
fn a_narrow_topic_of_two_pages_is_told_from_the_one_above_it() {
    let folder = tempfile::tempdir().unwrap();
    let barn = "The barn owl hunts at night over open farmland. It has pale plumage and silent wings, and nests in old \
                barns and hollow trees. Its prey are voles, mice and shrews. The female lays four to seven eggs; both \
                birds feed the chicks until they fledge.";
    let nests = "Owls build no nests of their own. Tawny owls lay their eggs in tree holes, little owls under roofs and \
                 in old walls, eagle owls on cliffs. Young owls leave the nest before they can fly.";
    let html = |words: &str| format!("<html lang=en><p>{words}");
    let server = Server::new(&[("/barn", html(barn)), ("/nests", html(nests))]);
    check(folder.path(), &["init", "ws"], 0, "");
    fs::write(folder.path().join("ws/porthole.toml"), "[fetch]\nloopback = true\n[polite]\ndelay = 0.0\n")
        .unwrap();
    let urls = ["/barn", "/nests"].map(|path| server.url(path));
    let start = ["start", &urls[0], &urls[1], "ws", "--name", "Owls", "--no-crawl"];
    let said = check(folder.path(), &start, 0, "/Science/Biology/Birds/Owls, a new topic, is marked good");
    assert!(!said.contains("warning"), "{said}");
    let box_for_owls =
        "A box for barn owls and tawny owls, with a hole and a place for the chicks of the owl.";
    let robin = "The robin is a small songbird. Thrushes and finches migrate in autumn; gulls and ducks winter on the \
                 coast. Its beak is thin, and its plumage is the same in both sexes.";
    for (words, topic) in [(box_for_owls, "/Birds/Owls"), (robin, "/Birds/Other")] {
        fs::write(folder.path().join("page.html"), html(words)).unwrap();
        check(folder.path(), &["-C", "ws", "classify", "page.html"], 0, topic);
    }
}
