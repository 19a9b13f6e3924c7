//! Inspecting and correcting a crawl: status, explain, top, mark, sites, and changes while it runs.

use std::fs::{self, File};
use std::process::{Command, Output};

use porthole_warc::{RecordFormat, WarcResponse, WarcWriter};
use serde_json::Value;
use tempfile::TempDir;

const BIRDS: [&str; 12] = [
    "owl",
    "nest",
    "feather",
    "beak",
    "plumage",
    "robin",
    "hawk",
    "songbird",
    "migration",
    "egg",
    "wing",
    "sparrow",
];
const FOOD: [&str; 12] = [
    "soup", "bread", "oven", "onion", "salt", "recipe", "flour", "butter", "pepper", "dinner", "stew",
    "kitchen",
];
/// Words about hunting, some of them shared with the topic of birds.
const HUNTING: [&str; 12] = [
    "rifle",
    "hawk",
    "trophy",
    "feather",
    "shot",
    "bag",
    "ammunition",
    "wing",
    "hunter",
    "plumage",
    "barrel",
    "egg",
];

/// A small web: topics by host. Every page links to the next ones of its host and to the other hosts.
const HOSTS: [(&str, &[&str; 12], usize); 3] =
    [("birds.test", &BIRDS, 14), ("food.test", &FOOD, 8), ("hunting.test", &HUNTING, 8)];

fn text(words: &[&str; 12], number: usize) -> String {
    (0..60).map(|at| words[(at * (number + 3) + at / 7 + number) % 12]).collect::<Vec<_>>().join(" ")
}

fn url(host: &str, number: usize) -> String {
    format!("http://{host}/{number}")
}

fn body(words: &[&str; 12], host: &str, pages: usize, number: usize) -> String {
    let near = (1..4).map(|step| url(host, (number + step) % pages));
    let far = HOSTS.iter().filter(|(other, ..)| *other != host).map(|(other, ..)| url(other, number % 8));
    let links: String = near.chain(far).map(|url| format!("<a href='{url}'>on</a> ")).collect();
    let gone = if number == 0 { "<a href='/gone'>gone</a>" } else { "" };
    format!("<title>{host} {number}</title><p>{}</p>{links}{gone}", text(words, number))
}

/// A workspace with a critic for birds and food, and the recorded web.
struct Place(TempDir);

impl Place {
    fn new() -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        let mut writer =
            WarcWriter::new(File::create(place.0.path().join("web.warc.gz")).unwrap(), RecordFormat::Gzip, 1);
        let headers = [("Content-Type", "text/html")].into_iter().collect();
        for (host, words, pages) in HOSTS {
            for number in 0..pages {
                let body = body(words, host, pages, number);
                writer.response(&WarcResponse::new(&url(host, number), &headers, body.as_bytes())).unwrap();
            }
        }
        let example = |host: &str, topic: &str| -> String {
            (0..5).map(|number| format!("{}\t{topic}\n", url(host, number))).collect()
        };
        let examples = example("birds.test", "/Nature/Birds") + &example("food.test", "/Home/Food");
        fs::write(place.0.path().join("examples.tsv"), examples).unwrap();
        place.ok(&["init", "ws"]);
        place
    }

    fn trained() -> Place {
        let place = Place::new();
        place.ok(&["examples", "import", "examples.tsv", "--web", "web.warc.gz"]);
        place.ok(&["train"]);
        place.ok(&["topics", "mark", "/Nature/Birds"]);
        place
    }

    fn crawled() -> Place {
        let place = Place::trained();
        place.ok(&["crawl", "--web", "web.warc.gz"]);
        place
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let folder = self.0.path();
        let mut program = Command::new(env!("CARGO_BIN_EXE_porthole"));
        program.args(["-C", "ws"]).args(arguments).current_dir(folder).output().unwrap()
    }

    /// Runs a command that must succeed; returns its standard output and standard error.
    fn ok(&self, arguments: &[&str]) -> (String, String) {
        let output = self.run(arguments);
        let (printed, said) = (text_of(&output.stdout), text_of(&output.stderr));
        assert!(output.status.success(), "{arguments:?}: {said}");
        (printed, said)
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let (printed, _) = self.ok(&[arguments, &["--json"]].concat());
        serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {printed}"))
    }

    /// Runs a command that must fail; returns its message.
    fn refused(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(4), "{arguments:?}: {}", text_of(&output.stderr));
        text_of(&output.stderr)
    }

    /// Mean relevance of the pages of a host by the current critic.
    fn relevance(&self, host: &str, numbers: std::ops::Range<usize>) -> f64 {
        let count = numbers.len() as f64;
        let one = |number| {
            let facts = self.json(&["explain", &url(host, number)]);
            facts["judged"]["relevance"].as_f64().unwrap_or_else(|| panic!("{facts}"))
        };
        numbers.map(one).sum::<f64>() / count
    }
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_url_is_explained() {
    let place = Place::crawled();
    let page = place.json(&["explain", "http://birds.test/7"]);
    assert_eq!((page["state"].as_str(), page["topic"].as_str()), (Some("fetched"), Some("/Nature/Birds")));
    assert_eq!(page["links_in"].as_u64(), Some(page["parents"].as_array().unwrap().len() as u64), "{page}");
    assert!(page["judged"]["relevance"].as_f64() > Some(0.9), "{page}");
    let words = page["judged"]["path"][0]["for"].as_array().unwrap();
    assert!(words.iter().any(|word| BIRDS.contains(&word.as_str().unwrap())), "{words:?}");
    let (told, _) = place.ok(&["explain", "http://birds.test/7"]);
    for part in
        ["fetched as no. ", "HTTP 200", "archived in pages/00000.warc.gz", "lead to it", "birds.test, "]
    {
        assert!(told.contains(part), "no {part:?} in:\n{told}");
    }
    assert!(!told.contains('\x1b'), "no colours in a pipe");
    let example = place.json(&["explain", "http://birds.test/0"]);
    assert_eq!(example["examples"][0].as_str(), Some("/Nature/Birds"));

    let (gone, _) = place.ok(&["explain", "http://birds.test/gone"]);
    assert!(gone.contains("dead: the server refused the request (status 404); no retry"), "{gone}");
    let (unknown, _) = place.ok(&["explain", "http://birds.test/never"]);
    assert!(unknown.contains("is unknown") && unknown.contains("its site: birds.test"), "{unknown}");
    let nowhere = place.json(&["explain", "http://nowhere.test/"]);
    assert_eq!((nowhere["state"].as_str(), nowhere["site"].is_null()), (Some("unknown"), true));
    assert!(place.refused(&["explain", "no url"]).contains("no url is not a URL"));
    assert!(place.refused(&["explain", "birds.test/1"]).contains("write https://birds.test/1\n"));
    assert!(place.refused(&["mark", "birds.test/1", "useful"]).contains("write https://birds.test/1\n"));
    let twice = place.refused(&["explain", "http://"]);
    assert_eq!(twice.matches("not a URL").count(), 1, "{twice}");
}

#[test]
fn what_waits_in_the_queue_or_was_left_out_is_explained() {
    let place = Place::trained();
    place.ok(&["crawl", "--web", "web.warc.gz", "--pages", "6", "--exclude", "http://food.test/*"]);
    let mut facts = (0..14).map(|number| place.json(&["explain", &url("birds.test", number)]));
    let queued = facts.find(|facts| facts["state"] == "queued").expect("not all can be fetched yet");
    assert!(queued["rank"].is_u64() && queued["judged"].is_null(), "{queued}");
    let (told, _) = place.ok(&["explain", queued["url"].as_str().unwrap()]);
    assert!(told.contains("before it") || told.contains("next in the queue"), "{told}");
    place.ok(&["crawl", "--web", "web.warc.gz", "--exclude", "http://food.test/*"]);
    let (told, _) = place.ok(&["explain", "http://food.test/6"]);
    assert!(told.contains("skipped: outside the scope of the crawl"), "{told}");
}

#[test]
fn a_workspace_says_how_it_is_doing() {
    let place = Place::new();
    let empty = place.json(&["status"]);
    assert_eq!((empty["pages"].as_u64(), empty["crawling"].as_bool()), (Some(0), Some(false)));
    let warnings = empty["warnings"].to_string();
    for part in ["topics mark", "porthole train"] {
        assert!(warnings.contains(part), "{warnings}");
    }
    place.ok(&["topics", "add", "/Birds"]);
    place.ok(&["topics", "mark", "/Birds"]);
    assert!(place.json(&["status"])["warnings"].to_string().contains("no start URL"));

    let place = Place::crawled();
    let status = place.json(&["status"]);
    assert_eq!((status["pages"].as_u64(), status["dead"].as_u64()), (Some(30), Some(3)), "{status}");
    assert_eq!((status["known"].as_u64(), status["queued"].as_u64()), (Some(33), Some(0)), "{status}");
    assert_eq!(status["failures"][0]["kind"].as_str(), Some("status"));
    assert_eq!(status["warnings"].as_array().map(Vec::len), Some(0), "{status}");
    let harvest = status["harvest"].as_f64().unwrap();
    assert!(harvest > 0.3 && harvest < 0.9 && status["recent_harvest"] == status["harvest"], "{status}");
    let (told, said) = place.ok(&["status"]);
    for part in [
        "no crawl is running",
        "good topics  /Nature/Birds",
        "sites with the most fetches",
        "birds.test",
        "status, permanent",
    ] {
        assert!(told.contains(part), "no {part:?} in:\n{told}");
    }
    assert_eq!(said, "");
}

#[test]
fn the_best_comes_first_and_what_is_useless_not_at_all() {
    let place = Place::crawled();
    let hosts = |pages: &Value| -> Vec<String> {
        let host = |page: &Value| page["url"].as_str().unwrap().split('/').nth(2).unwrap().to_owned();
        pages.as_array().unwrap().iter().map(host).collect()
    };
    let pages = place.json(&["top", "pages", "--rows", "10"]);
    assert_eq!(hosts(&pages).len(), 10);
    assert!(!hosts(&pages).contains(&"food.test".to_owned()), "{pages}");
    let food = place.json(&["top", "pages", "--topic", "/Home"]);
    assert!(hosts(&food).iter().all(|host| host == "food.test"), "{food}");
    assert!(place.refused(&["top", "pages", "--topic", "/Nowhere"]).contains("/Nowhere"));
    let sites = place.json(&["top", "sites"]);
    assert_eq!((sites[0]["host"].as_str(), sites[0]["pages"].as_u64()), (Some("birds.test"), Some(14)));

    let first = pages[0]["url"].as_str().unwrap();
    place.ok(&["mark", first, "useless"]);
    place.ok(&["mark", first, "useless", "--site"]);
    let pages = place.json(&["top", "pages", "--rows", "40"]);
    assert!(pages.as_array().unwrap().iter().all(|page| page["url"] != first), "{pages}");
    assert_ne!(place.json(&["top", "sites"])[0]["host"], sites[0]["host"]);
    let (printed, _) = place.ok(&["mark", first, "useful"]);
    assert!(printed.contains("added as an example of"), "{printed}");
    let (printed, _) = place.ok(&["mark", first, "useful"]);
    assert!(printed.contains("it was an example of /Nature/Birds already"), "{printed}");
    assert!(place.json(&["top", "pages", "--rows", "40"]).to_string().contains(first));
}

#[test]
fn what_is_useless_lowers_pages_like_it() {
    let place = Place::crawled();
    let before = (place.relevance("hunting.test", 0..2), place.relevance("hunting.test", 2..8));
    assert!(before.0 > 0.8 && before.1 > 0.8, "hunting is taken for birds: {before:?}");
    for number in 0..2 {
        let marked = place.json(&["mark", &url("hunting.test", number), "useless"]);
        assert_eq!(
            (marked["useful"].as_bool(), marked["topic"].as_str()),
            (Some(false), Some("/Nature/Other")),
            "{marked}"
        );
    }
    place.ok(&["train"]);
    let after = (place.relevance("hunting.test", 0..2), place.relevance("hunting.test", 2..8));
    assert!(after.0 < 0.3 && after.1 < before.1 - 0.3, "from {before:?} to {after:?}");
    assert!(place.relevance("birds.test", 5..12) > 0.8, "birds are birds still");
    // The reverse: the latest mark wins.
    for number in 0..2 {
        let marked = place.json(&["mark", &url("hunting.test", number), "useful"]);
        assert_eq!(marked["topic"].as_str(), Some("/Nature/Birds"), "{marked}");
    }
    let examples = place.json(&["examples", "list"]);
    let of = |topic: &str| {
        let is_one = |example: &&Value| example["topic"] == topic && example["source"] == "feedback";
        examples.as_array().unwrap().iter().filter(is_one).count()
    };
    assert_eq!((of("/Nature/Birds"), of("/Nature/Other")), (2, 0));
    place.ok(&["train"]);
    assert!(place.relevance("hunting.test", 0..8) > 0.8);
}

#[test]
fn a_mark_says_what_it_cannot_do() {
    let place = Place::crawled();
    let (_, said) = place.ok(&["mark", "http://birds.test/gone", "useless"]);
    assert!(said.contains("not used as an example"), "{said}");
    assert!(place.refused(&["mark", "http://nowhere.test/", "useful"]).contains("is unknown"));
    assert!(place.refused(&["mark", "http://nowhere.test/", "useful", "--site"]).contains("nowhere.test"));
    let page = "http://birds.test/7";
    assert!(place.refused(&["mark", page, "useless", "--topic", "/Nature/Birds"]).contains("is good"));
    assert!(place.refused(&["mark", page, "useful", "--topic", "/Home/Food"]).contains("is not good"));
    let named = place.json(&["mark", page, "useless", "--topic", "/Home/Food"]);
    assert_eq!(named["topic"].as_str(), Some("/Home/Food"));
    // An example that the user added follows the latest mark, too.
    place.ok(&["mark", "http://birds.test/0", "useless", "--topic", "/Home/Food"]);
    let birds = place.json(&["examples", "list", "/Nature/Birds"]);
    assert!(!birds.to_string().contains("http://birds.test/0\""), "{birds}");
}

#[test]
fn sites_are_listed_and_left_alone() {
    let place = Place::crawled();
    let sites = place.json(&["sites", "list"]);
    assert_eq!((sites[0]["host"].as_str(), sites[0]["pages"].as_u64()), (Some("birds.test"), Some(14)));
    assert_eq!(sites[0]["failures"].as_u64(), Some(1), "{sites}");
    let error = place.refused(&["sites", "disable", "food.test", "nowhere.test"]);
    assert!(error.contains("nothing was changed") && error.contains("nowhere.test"), "{error}");
    assert_eq!(place.json(&["sites", "list", "--disabled"]), serde_json::json!([]));
    place.ok(&["sites", "disable", "http://Food.test/3"]);
    assert_eq!(place.json(&["sites", "list", "--disabled"])[0]["host"].as_str(), Some("food.test"));
    let (told, _) = place.ok(&["explain", "http://food.test/3"]);
    assert!(told.contains("disabled"), "{told}");
    place.ok(&["sites", "enable", "food.test"]);
    assert_eq!(place.json(&["sites", "list", "--disabled"]), serde_json::json!([]));
}

/// A crawl in a separate process, with a request in flight that is never answered.
struct Running {
    child: std::process::Child,
    /// Accepts connections and never answers.
    _listener: std::net::TcpListener,
}

impl Running {
    fn on(place: &Place) -> Running {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let start = format!("http://{}/", listener.local_addr().unwrap());
        let settings = place.0.path().join("ws/porthole.toml");
        let written = fs::read_to_string(&settings).unwrap();
        fs::write(&settings, written.replace("# loopback = false", "loopback = true")).unwrap();
        let mut program = Command::new(env!("CARGO_BIN_EXE_porthole"));
        program
            .args(["-C", "ws", "crawl", "--strategy", "soft", "--start", &start])
            .current_dir(place.0.path());
        let said = fs::File::create(place.0.path().join("said.txt")).unwrap();
        let child = program.stdout(std::process::Stdio::null()).stderr(said).spawn();
        let running = Running { child: child.unwrap(), _listener: listener };
        while place.json(&["status"])["crawling"].as_bool() != Some(true) {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_running_crawl_is_told_and_answers() {
    let place = Place::crawled();
    let mut running = Running::on(&place);
    let answers = |arguments: &[&str], words: &str| {
        let (_, said) = place.ok(arguments);
        assert!(said.contains("running crawl: ") && said.contains(words), "{arguments:?}: {said}");
    };
    let live = loop {
        let live = place.json(&["status"])["live"].clone();
        if live["busy"] == 1 {
            break live;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    };
    assert_eq!((&live["strategy"], &live["workers"]), (&"soft".into(), &64.into()), "{live}");
    assert_eq!((&live["is_paused"], &live["given_up"]), (&false.into(), &0.into()), "{live}");
    let (shown, _) = place.ok(&["status"]);
    assert!(shown.contains(" ready, ") && shown.contains(" 1 busy, 0 given up"), "{shown}");
    answers(&["topics", "mark", "/Home/Food"], "judged again");
    answers(&["topics", "unmark", "/Home/Food"], "soft");
    place.ok(&["mark", "http://hunting.test/1", "useless"]);
    answers(&["train"], "new pages are judged");
    answers(&["sites", "disable", "food.test"], "food.test is disabled");
    answers(&["set", "strategy", "breadth"], "breadth");
    answers(&["set", "policy", "refresh"], "lastvisited asc");
    answers(&["set", "workers", "3"], "at most 3 requests");
    assert_eq!(place.json(&["status"])["live"]["workers"], 3, "the state follows a command at once");
    answers(&["set", "budget", "50"], "at most 50 pages");
    answers(&["set", "scope", "--domain", "birds.test"], "new scope");
    answers(&["pause"], "paused");
    assert_eq!(place.json(&["status"])["live"]["is_paused"], true);
    answers(&["resume"], "resumed");
    assert_eq!(place.json(&["status"])["live"]["is_paused"], false);
    // Without a good topic the crawl keeps its goal, and the mark is gone all the same.
    let (printed, said) = place.ok(&["topics", "unmark", "/Nature/Birds"]);
    assert!(printed.contains("no topic is marked good"), "{printed}");
    assert!(said.contains("goes on for the topics that were good"), "{said}");
    answers(&["topics", "mark", "/Nature/Birds"], "new pages are judged");
    for (name, value) in [("--site-pages", "0"), ("--language", "xx")] {
        assert!(place.refused(&["set", "scope", name, value]).contains(name));
    }
    let refused = place.refused(&["set", "strategy", "fly"]);
    assert!(refused.contains("continues unchanged") && refused.contains("fly"), "{refused}");
    // The hanging request times out after 30 s. No command waits for it.
    let waits = "select max(answered - at), count(*), sum(failed) from command";
    let (table, _) = place.ok(&["query", waits, "--csv"]);
    let row: Vec<i64> = table.lines().nth(1).unwrap().split(',').map(|cell| cell.parse().unwrap()).collect();
    assert!(row[0] < 20_000 && row[1] == 13 && row[2] == 1, "{table}");
    let second = place.run(&["crawl", "--web", "web.warc.gz"]);
    assert!(!second.status.success() && text_of(&second.stderr).contains("in use by another crawl"));
    answers(&["stop"], "stopping");
    assert_eq!(running.child.wait().unwrap().code(), Some(11), "stopped as if interrupted");
    assert!(place.json(&["status"])["live"].is_null());
    let said = fs::read_to_string(place.0.path().join("said.txt")).unwrap();
    let paused = said.find("paused; `porthole resume` continues the crawl");
    assert!(paused.is_some() && paused < said.find("the crawl continues\n"), "{said}");
    // What happened can be found later.
    let events = "select kind, detail from event order by id";
    let (table, _) = place.ok(&["query", events, "--csv"]);
    for row in ["started,\"strategy soft", "command,workers 3: ", "stopped,stopped on request; "] {
        assert!(table.lines().any(|line| line.starts_with(row)), "{row}: {table}");
    }
    let (_, said) = place.ok(&["topics", "mark", "/Home/Food"]);
    assert_eq!(said, "");
    assert!(place.refused(&["pause"]).contains("no crawl is running"));
}
