//! `porthole topics toward`: following links on pages about other topics.

use std::fs::{self, File};
use std::process::Command;

use porthole_warc::{RecordFormat, WarcResponse, WarcWriter};
use serde_json::Value;
use tempfile::TempDir;

const BIRDS: &str = "owl nest feather beak plumage robin hawk songbird migration egg wing sparrow";
const MAMMALS: &str = "fur whisker paw burrow badger otter hedgehog litter fox deer antler hoof";
const FOOD: &str = "soup bread oven onion salt recipe flour butter pepper dinner stew kitchen";

/// Topics and links of the pages. The start links to a page of each kind, and each of those to another one.
const PAGES: [(&str, &str, &[&str]); 9] = [
    ("start.test", BIRDS, &["fox.test", "soup.test"]),
    ("fox.test", MAMMALS, &["behind-fox.test"]),
    ("soup.test", FOOD, &["behind-soup.test"]),
    ("owl.test", BIRDS, &[]),
    ("hawk.test", BIRDS, &[]),
    ("otter.test", MAMMALS, &[]),
    ("deer.test", MAMMALS, &[]),
    ("bread.test", FOOD, &[]),
    ("stew.test", FOOD, &[]),
];

struct Place(TempDir);

impl Place {
    /// A workspace with the good topic birds, which also knows mammals.
    fn trained() -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        let file = File::create(place.0.path().join("web.warc.gz")).unwrap();
        let mut writer = WarcWriter::new(file, RecordFormat::Gzip, 1);
        let headers = [("Content-Type", "text/html")].into_iter().collect();
        let mut examples = String::new();
        for (number, (host, words, links)) in PAGES.iter().enumerate() {
            let links: String = links.iter().map(|to| format!("<a href='http://{to}/'>on</a> ")).collect();
            let text: Vec<&str> =
                words.split(' ').cycle().skip(number).step_by(1 + number % 5).take(50).collect();
            let body = format!("<p>{}</p>{links}", text.join(" "));
            writer
                .response(&WarcResponse::new(&format!("http://{host}/"), &headers, body.as_bytes()))
                .unwrap();
            let topic = match *words {
                BIRDS => "/Nature/Birds",
                MAMMALS => "/Nature/Mammals",
                _ => "/Home/Food",
            };
            examples += &format!("http://{host}/\t{topic}\n");
        }
        drop(writer);
        fs::write(place.0.path().join("examples.tsv"), examples).unwrap();
        place.ok(&["init", "ws"]);
        place.ok(&["examples", "import", "examples.tsv", "--web", "web.warc.gz"]);
        place.ok(&["train"]);
        place.ok(&["topics", "mark", "/Nature/Birds"]);
        place
    }

    fn ok(&self, arguments: &[&str]) -> String {
        let workspace: &[&str] = if arguments[0] == "init" { &[] } else { &["-C", "ws"] };
        let mut command = Command::new(env!("CARGO_BIN_EXE_porthole"));
        let output = command.args(workspace).args(arguments).current_dir(self.0.path()).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Relevance and priority of a page.
    fn of(&self, host: &str) -> [f64; 2] {
        let facts: Value =
            serde_json::from_str(&self.ok(&["explain", &format!("http://{host}/"), "--json"])).unwrap();
        ["relevance", "priority"].map(|name| facts[name].as_f64().unwrap())
    }
}

#[test]
fn links_on_pages_of_a_wider_topic_are_followed_and_the_pages_are_not_relevant() {
    let place = Place::trained();
    // The start URLs are the examples about birds; then the two pages behind the first of them.
    let crawl =
        |pages: &str| place.ok(&["crawl", "--web", "web.warc.gz", "--strategy", "soft", "--pages", pages]);
    assert!(place.ok(&["topics", "toward"]).contains("good topics only"));
    crawl("5");
    let fox = place.of("fox.test")[0];
    let [relevance, priority] = place.of("behind-fox.test");
    assert!(fox < 0.4 && relevance == priority, "{fox} {relevance} {priority}");

    assert!(place.ok(&["topics", "toward", "/Nature"]).contains("the good topics and /Nature"));
    // Archived pages are rescored, and nothing is fetched again.
    crawl("1");
    let [relevance, priority] = place.of("behind-fox.test");
    assert!((relevance - fox).abs() < 1e-6, "it is estimated by what is looked for: {relevance} {fox}");
    assert!(priority > 0.6, "and comes sooner: {priority}");
    assert!(place.of("behind-soup.test")[1] < 0.4);
    assert_eq!(place.of("fox.test")[0], fox, "what is shown and counted stays");

    place.ok(&["topics", "toward", "--none"]);
    crawl("1");
    assert!(place.ok(&["topics", "toward"]).contains("good topics only"));
}

#[test]
fn the_priority_of_a_queued_url_is_explained_by_its_parts() {
    let place = Place::trained();
    let facts = |strategy: &str| -> Value {
        place.ok(&["crawl", "--web", "web.warc.gz", "--strategy", strategy, "--pages", "5"]);
        serde_json::from_str(&place.ok(&["explain", "http://behind-fox.test/", "--json"])).unwrap()
    };
    let sum = |facts: &Value| -> f64 {
        let parts = facts["parts"]["parts"].as_array().unwrap_or_else(|| panic!("{facts}"));
        parts.iter().map(|part| part["adds"].as_f64().unwrap()).sum()
    };
    let found = facts("porthole");
    assert_eq!(found["state"], "queued");
    assert_eq!(found["parts"]["strategy"], "porthole");
    // In log odds, by the current state; the queue was updated some pages ago.
    let (worth, priority) = (1.0 / (1.0 + (-sum(&found)).exp()), found["priority"].as_f64().unwrap());
    assert!((worth / priority - 1.0).abs() < 0.5, "{worth} {priority}");
    let told = place.ok(&["explain", "http://behind-fox.test/"]);
    assert!(told.contains("what the critic says of its own words"), "{told}");
}
