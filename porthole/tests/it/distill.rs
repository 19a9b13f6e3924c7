//! Hubs and authorities of a small web.

use std::fs::{self, File};
use std::process::{Command, Output};

use porthole_store::{Batch, SqliteStore, Store, WorkspaceWriter};
use porthole_warc::{RecordFormat, WarcResponse, WarcWriter};
use serde_json::Value;
use tempfile::TempDir;

const BIRDS: &str = "owl nest feather beak plumage robin hawk songbird migration egg wing sparrow";
const FOOD: &str = "soup bread oven onion salt recipe flour butter pepper dinner stew kitchen";

/// Pages about birds, each on its own site; two of them list others, one of those lists more.
const PAGES: [(&str, &str, &[&str]); 9] = [
    ("list.test", BIRDS, &["owl.test", "robin.test", "hawk.test", "soup.test", "egg.test"]),
    ("short.test", BIRDS, &["owl.test", "robin.test", "list.test"]),
    ("owl.test", BIRDS, &[]),
    ("robin.test", BIRDS, &["soup.test"]),
    ("hawk.test", BIRDS, &[]),
    ("egg.test", BIRDS, &[]),
    ("soup.test", FOOD, &["bread.test"]),
    ("bread.test", FOOD, &["soup.test", "stew.test"]),
    ("stew.test", FOOD, &["bread.test"]),
];

fn url(host: &str) -> String {
    format!("http://{host}/")
}

struct Place(TempDir);

impl Place {
    /// A workspace whose crawl has fetched all pages and computed no scores.
    fn crawled() -> Place {
        Place::crawled_with(&["--no-hubs"])
    }

    fn crawled_with(options: &[&str]) -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        let file = File::create(place.0.path().join("web.warc.gz")).unwrap();
        let mut writer = WarcWriter::new(file, RecordFormat::Gzip, 1);
        let headers = [("Content-Type", "text/html")].into_iter().collect();
        for (number, (host, words, links)) in PAGES.iter().enumerate() {
            let links: String = links.iter().map(|to| format!("<a href='{}'>on</a> ", url(to))).collect();
            let words: Vec<&str> =
                words.split(' ').cycle().skip(number).step_by(1 + number % 5).take(50).collect();
            let body = format!("<title>About {host}</title><p>{}</p>{links}", words.join(" "));
            writer.response(&WarcResponse::new(&url(host), &headers, body.as_bytes())).unwrap();
        }
        drop(writer);
        let topic = |words: &str| if words == BIRDS { "/Nature/Birds" } else { "/Home/Food" };
        let examples: String =
            PAGES.iter().map(|(host, words, _)| format!("{}\t{}\n", url(host), topic(words))).collect();
        fs::write(place.0.path().join("examples.tsv"), examples).unwrap();
        place.ok(&["init", "ws"]);
        place.ok(&["examples", "import", "examples.tsv", "--web", "web.warc.gz"]);
        place.ok(&["train"]);
        place.ok(&["topics", "mark", "/Nature/Birds"]);
        place.ok(&[&["crawl", "--web", "web.warc.gz"], options].concat());
        place
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let workspace: &[&str] = if arguments[0] == "init" { &[] } else { &["-C", "ws"] };
        let mut command = Command::new(env!("CARGO_BIN_EXE_porthole"));
        command.args(workspace).args(arguments).current_dir(self.0.path()).output().unwrap()
    }

    /// Standard output and standard error of a command.
    fn ok(&self, arguments: &[&str]) -> (String, String) {
        let output = self.run(arguments);
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let (printed, said) = (text(output.stdout), text(output.stderr));
        assert!(output.status.success(), "{arguments:?}: {said}");
        (printed, said)
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let (printed, _) = self.ok(&[arguments, &["--json"]].concat());
        serde_json::from_str(&printed).unwrap()
    }

    fn best(&self, what: &str) -> Vec<(String, f64)> {
        let found = self.json(&["top", what]);
        let page = |page: &Value| (page["url"].as_str().unwrap().to_owned(), page["score"].as_f64().unwrap());
        found.as_array().unwrap().iter().map(page).collect()
    }
}

#[test]
fn hubs_and_authorities_are_found_and_explained() {
    let place = Place::crawled();
    let (printed, said) = place.ok(&["top", "hubs"]);
    assert!(printed.is_empty() && said.contains("porthole distill"), "{said}");
    let (printed, said) = place.ok(&["distill", "--rho", "0.6"]);
    assert!(printed.contains("read 9 pages") && printed.contains("2 hubs"), "{printed}");
    assert!(said.contains("porthole top hubs"), "{said}");

    let hubs = place.json(&["top", "hubs", "--why"]);
    let first = &hubs[0];
    assert_eq!(
        (first["url"].as_str(), first["title"].as_str()),
        (Some("http://list.test/"), Some("About list.test"))
    );
    assert_eq!(first["topic"].as_str(), Some("/Nature/Birds"));
    assert!(first["score"].as_f64() > hubs[1]["score"].as_f64(), "{hubs}");
    let (printed, _) = place.ok(&["top", "authorities", "--why"]);
    let lines: Vec<&str> = printed.lines().collect();
    assert!(lines[1].ends_with(".test/") && lines[2].contains('%'), "{printed}");
    assert!(!printed.contains("soup.test"), "it is about food: {printed}");
    let refused = place.run(&["top", "pages", "--why"]);
    assert_eq!(refused.status.code(), Some(4));
}

#[test]
fn a_small_crawl_has_hubs_when_it_ends() {
    let place = Place::crawled_with(&[]);
    let hubs = place.best("hubs");
    assert!(!hubs.is_empty() && !place.best("authorities").is_empty());
    place.ok(&["distill"]);
    assert_eq!(place.best("hubs"), hubs, "the same as by command");
}

#[test]
fn what_neighbours_say_is_stored_beside_what_the_text_says() {
    let place = Place::crawled();
    assert!(place.json(&["explain", &url("soup.test")])["neighbourhood"].is_null());
    assert_eq!(place.json(&["distill"])["neighbourhoods"].as_u64(), Some(9), "all are linked");
    let soup = place.json(&["explain", &url("soup.test")]);
    let said = &soup["neighbourhood"];
    assert_eq!(said["sites"].as_u64(), Some(3), "list, robin and bread: {soup}");
    assert!(said["relevance"].as_f64() > soup["relevance"].as_f64(), "two of three are about birds: {soup}");
    let (printed, _) = place.ok(&["explain", &url("soup.test")]);
    assert!(printed.contains("relevance with neighbours") && printed.contains("3 sites"), "{printed}");
    let sql =
        "select url from page join neighbourhood using (oid) where neighbourhood.relevance > page.relevance";
    assert!(place.ok(&["query", sql]).0.contains("soup.test"));
    assert_eq!(place.json(&["distill"])["neighbourhoods"].as_u64(), Some(0), "nothing has changed since");
}

#[test]
fn all_engines_find_the_same() {
    let place = Place::crawled();
    let [native, walk, sql] = ["native", "walk", "sql"].map(|engine| {
        let facts = place.json(&["distill", "--engine", engine]);
        assert_eq!(facts["pages"].as_u64(), Some(9), "{facts}");
        (place.best("hubs"), place.best("authorities"))
    });
    for (other, who) in [(&walk, "walk"), (&sql, "sql")] {
        for (one, other) in [(&native.0, &other.0), (&native.1, &other.1)] {
            assert_eq!(one.len(), other.len(), "{who}");
            let same = |(one, other): (&(String, f64), &(String, f64))| {
                one.0 == other.0 && (one.1 - other.1).abs() < 1e-6
            };
            assert!(one.iter().zip(other).all(same), "{who}: {one:?} {other:?}");
        }
    }
    assert_eq!(place.run(&["distill", "--rho", "2"]).status.code(), Some(4), "no share");
}

#[test]
fn sites_are_what_the_setting_or_the_command_says() {
    let place = Place::crawled();
    let hubs = |arguments: &[&str]| {
        let facts = place.json(&[&["distill", "--rho", "0.6"], arguments].concat());
        facts["hubs"].as_u64().unwrap()
    };
    // Each host is a domain of its own.
    assert_eq!((hubs(&[]), hubs(&["--site", "domain"])), (2, 2));
    let mut store = SqliteStore::open(place.0.path().join("ws/porthole.db")).unwrap();
    let address = std::net::IpAddr::from([192, 0, 2, 7]);
    let sites: Vec<_> = store.reader().sites().unwrap().iter().map(|site| (site.sid, address)).collect();
    store.commit(&Batch { addresses: &sites, ..Batch::default() }).unwrap();
    drop(store);
    assert_eq!((hubs(&["--site", "ip"]), hubs(&["--site", "ip", "--engine", "sql"])), (0, 0), "one machine");
    let settings = place.0.path().join("ws/porthole.toml");
    fs::write(&settings, "[distill]\nsite = \"ip\"\n").unwrap();
    assert_eq!((hubs(&[]), hubs(&["--site", "host"])), (0, 2), "the command goes before the file");
    fs::write(&settings, "[distill]\nsite = \"street\"\n").unwrap();
    assert_eq!(place.run(&["distill"]).status.code(), Some(4));
}

#[test]
fn what_people_say_of_hubs_counts_at_the_next_distillation() {
    let place = Place::crawled();
    let distil = || place.ok(&["distill", "--rho", "0.6"]);
    distil();
    assert_eq!(place.best("hubs")[0].0, url("list.test"));
    place.ok(&["mark", &url("list.test"), "useless", "--hub"]);
    assert_eq!(place.best("hubs")[0].0, url("short.test"), "at once");
    distil();
    assert!(place.best("hubs").iter().all(|(hub, _)| *hub != url("list.test")));
    assert!(place.best("authorities").iter().any(|(page, _)| *page == url("list.test")), "it is linked to");
    place.ok(&["mark", &url("list.test"), "useful", "--hub"]);
    distil();
    assert_eq!(place.best("hubs")[0].0, url("list.test"), "the last word counts");
    let native = place.best("hubs");
    for engine in ["walk", "sql"] {
        place.ok(&["distill", "--rho", "0.6", "--engine", engine]);
        let found = place.best("hubs");
        let same = |((one, score), (other, again)): (&(String, f64), &(String, f64))| {
            one == other && (score - again).abs() < 1e-9
        };
        assert!(found.len() == native.len() && native.iter().zip(&found).all(same), "{engine}: {found:?}");
    }
}

#[test]
fn scores_are_kept_beside_a_crawl() {
    let place = Place::crawled();
    let mut crawl = SqliteStore::open(place.0.path().join("ws/porthole.db")).unwrap();
    crawl.follow_changes().unwrap();
    place.ok(&["distill"]);
    assert!(crawl.follow_changes().unwrap(), "the crawl notices");
    drop(crawl);
    assert!(!place.best("hubs").is_empty());
}
