//! Topics that begin with words: `porthole start --words` and `porthole examples search`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use porthole_types::ManualClock;
use porthole_webs::synth::{SynthParams, SyntheticWeb};
use serde_json::{Value as Json, json as value};

use crate::start::{SOUP, Server, check, json, on_loopback, page};

const WORDS: &str = "barn owl nesting";

/// Request path of the endpoint for the words.
const QUESTION: &str = "/search?q=barn%20owl%20nesting&format=json";

/// Pages about the words, each with words of its own, one that mentions them, and one about something else.
fn owls() -> Server {
    let owl = |more: &str| {
        let text = format!("the barn owl is nesting in a barn; the owl brings voles to the nest, and {more}");
        page(&format!("Barn owls and {more}"), &text, &[])
    };
    Server::new(&[
        ("/1", owl("eggs hatch after a month")),
        ("/2", owl("farmers put up boxes")),
        ("/3", owl("the chicks fledge in summer")),
        ("/4", owl("silent wings at night")),
        (
            "/farm",
            page("Farm", "the farm has one barn, some cows, many sheep, geese, horses and a pond", &[]),
        ),
        ("/soup", page("Soup", SOUP, &[])),
    ])
}

fn endpoint(answer: &str) -> Server {
    Server::new(&[(QUESTION, answer.to_owned())])
}

fn results(urls: &[String]) -> String {
    let results: Vec<Json> =
        urls.iter().map(|url| value!({ "url": url, "title": "a title", "content": "a text" })).collect();
    value!({ "query": WORDS, "results": results }).to_string()
}

/// The arguments that name the endpoint.
fn search_url(endpoint: &Server) -> String {
    endpoint.url("/search?q={words}&format=json")
}

fn examples(folder: &Path) -> Vec<(String, String)> {
    let listed = json(folder, &["-C", "ws", "examples", "list", "--json"]);
    let text = |value: &Json| value.as_str().unwrap().to_owned();
    listed.as_array().unwrap().iter().map(|page| (text(&page["name"]), text(&page["topic"]))).collect()
}

#[test]
fn wrong_words_and_sources_leave_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |words: &str, more: &[&str], why: &str| {
        let start = ["start", "--words", words, "--contact", "me@example.org", "--yes", "ws"];
        check(folder.path(), &[&start[..], more].concat(), 4, why);
        assert!(!folder.path().join("ws").exists(), "{words:?} {more:?}");
    };
    refused("", &["--search-url", "http://127.0.0.1:9/{words}"], "there are no words to look for");
    refused("the of", &["--search-url", "http://127.0.0.1:9/{words}"], "nothing to look for");
    refused(WORDS, &[], "there is nothing to find pages in");
    refused(WORDS, &["--search-url", "http://127.0.0.1:9/"], "has no {words}");
    check(
        folder.path(),
        &["start", "--words", WORDS, "ws", "--search-in", "none", "--contact", "me@example.org"],
        4,
        "none",
    );
    assert!(!folder.path().join("ws").exists());
}

#[test]
fn words_become_a_topic_with_the_pages_that_fit() {
    let web = owls();
    let paths = ["/soup", "/farm", "/1", "/2", "/gone", "/3", "/4"];
    let mut urls: Vec<String> = paths.iter().map(|path| web.url(path)).collect();
    urls.insert(2, "javascript:alert(document.cookie)".to_owned());
    urls.push(web.url("/1"));
    let endpoint = endpoint(&results(&urls));
    let folder = on_loopback();
    let settings = fs::read_to_string(folder.path().join("ws/porthole.toml")).unwrap();
    let search = format!("[search]\nurl = \"{}\"\n", search_url(&endpoint));
    fs::write(folder.path().join("ws/porthole.toml"), settings + &search).unwrap();
    let description = "Where xylographers observe strigiformes that breed in farm buildings.";
    let start = [
        "start",
        "--words",
        WORDS,
        "--description",
        description,
        "ws",
        "--yes",
        "--no-hubs",
        "--pages",
        "20",
    ];
    let said = check(
        folder.path(),
        &start,
        0,
        "/Barn_owl_nesting, a new topic, is marked good, with 4 more examples",
    );
    for words in [
        "topics that 'barn owl nesting' fits best:",
        "7 pages from http://127.0.0.1",
        "2 more left out",
        "1 page with none of the words left out",
        "/gone: status 404",
        "4 pages about 'barn owl nesting' of 5 candidates",
        "crawl --start ws/candidates.txt",
    ] {
        assert!(said.contains(words), "no {words:?} in {said}");
    }
    let found = examples(folder.path());
    assert!(found.iter().all(|(_, topic)| topic.ends_with("/Birds/Barn_owl_nesting")), "{found:?}");
    assert_eq!(found.len(), 4);
    // The crawl also starts from the candidate that was not taken, and from no other page.
    assert_eq!((web.asked("/farm"), web.asked("/soup"), web.asked("/1")), (2, 1, 2));
    assert_eq!(
        (endpoint.asked(QUESTION), endpoint.asked("/robots.txt")),
        (1, 0),
        "who names an endpoint may ask it"
    );
    // The description is for the ranking of candidates: no strategy can read it, because it is not stored.
    for file in fs::read_dir(folder.path().join("ws")).unwrap().flatten().filter(|file| file.path().is_file())
    {
        let bytes = fs::read(file.path()).unwrap();
        assert!(!bytes.windows(12).any(|part| part == b"xylographers"), "{}", file.path().display());
    }
    // The same command resumes and asks nobody again.
    let said = check(folder.path(), &start, 0, "the workspace in ws");
    assert!(endpoint.asked(QUESTION) == 1 && !said.contains("candidate\n"), "{said}");
}

#[test]
fn without_a_terminal_the_candidates_are_listed() {
    let web = owls();
    let urls = ["/1", "/2", "/farm", "/4", "/3"].map(|path| web.url(path));
    let endpoint = endpoint(&results(&urls));
    let folder = on_loopback();
    let search_url = search_url(&endpoint);
    let start = ["start", "--words", WORDS, "ws", "--search-url", &search_url, "--no-crawl"];
    let said = check(folder.path(), &start, 4, "run the same command with `--yes` to take the best 4");
    assert!(said.contains("5 pages with words of 'barn owl nesting':"), "{said}");
    assert!(said.contains("`porthole start URL… ws --name Barn_owl_nesting`"), "{said}");
    let place = |path: &str| said.find(&web.url(path)).unwrap_or_else(|| panic!("no {path} in {said}"));
    assert!(["/1", "/2", "/3", "/4"].iter().all(|path| place(path) < place("/farm")), "{said}");
    assert!(examples(folder.path()).is_empty());
    // Pages that were given are candidates, too; too few that fit are an error that says so.
    let given = [web.url("/1"), web.url("/farm")];
    let start = ["start", &given[0], &given[1], "--words", WORDS, "ws", "--yes", "--no-crawl"];
    check(folder.path(), &start, 4, "1 of 2 pages with words of 'barn owl nesting' fit");
    let start =
        ["start", &given[0], &web.url("/2"), &web.url("/3"), "--words", WORDS, "ws", "--yes", "--no-crawl"];
    check(folder.path(), &start, 0, "3 pages about 'barn owl nesting' of 3 candidates");
}

#[test]
fn wrong_answers_of_an_endpoint_are_errors_that_say_what_to_do() {
    let folder = on_loopback();
    let search = |words: &str, search_url: &str, said: &str| {
        let arguments =
            ["-C", "ws", "examples", "search", "/Owls", words, "--yes", "--search-url", search_url];
        check(folder.path(), &arguments, 4, said);
    };
    let hostile = [
        ("<html>no</html>".to_owned(), "format=json"),
        ("[1, 2]".to_owned(), "format=json"),
        (format!("{{\"results\": [], \"x\": \"{}\"}}", "x".repeat(3 << 20)), "too large"),
        (">http://127.0.0.1:1/elsewhere".to_owned(), "redirects to http://127.0.0.1:1/elsewhere"),
        (results(&["javascript:x".to_owned(), "file:///etc/passwd".to_owned()]), "no page with"),
        (results(&[]), "try other words"),
    ];
    for (answer, words) in hostile {
        search(WORDS, &search_url(&endpoint(&answer)), words);
    }
    search(WORDS, &Server::new(&[]).url("/?q={words}"), "status 404");
    search(WORDS, "http://127.0.0.1:1/?q={words}", "does not answer");
    search(WORDS, "http://127.0.0.1:1/", "has no {words}");
    search("of the", "http://a.test/{words}", "use other words");
    search(&"owl ".repeat(100), "http://a.test/{words}", "more than 200 characters");
    check(folder.path(), &["start", "--words", WORDS, "ws", "--yes"], 4, "--search-in DIR");
    check(folder.path(), &["start", "http://a.test/", "--search-in", "x"], 4, "--words");
}

#[test]
fn an_endpoint_on_this_machine_leads_to_no_other_page_on_it() {
    let web = owls();
    let endpoint = endpoint(&results(&["/1", "/2", "/3"].map(|path| web.url(path))));
    let folder = tempfile::tempdir().unwrap();
    check(folder.path(), &["init", "ws"], 0, "");
    fs::write(folder.path().join("ws/porthole.toml"), "[fetch]\ncontact = \"me@owls.test\"\n").unwrap();
    let search_url = search_url(&endpoint);
    let start = ["start", "--words", WORDS, "ws", "--yes", "--search-url", &search_url, "--no-crawl"];
    let said = check(folder.path(), &start, 4, "`loopback = true` under [fetch]");
    assert!(said.contains("0 of 0 pages"), "{said}");
    assert_eq!((endpoint.asked(QUESTION), web.asked("/1")), (1, 0));
}

#[test]
fn crawled_pages_with_the_words_become_examples_without_being_fetched_again() {
    let web = owls();
    let folder = on_loopback();
    let urls = ["/1", "/2", "/3", "/4", "/soup", "/farm"].map(|path| web.url(path));
    check(folder.path(), &["-C", "ws", "examples", "add", "/Soup", &urls[4]], 0, "");
    check(folder.path(), &["-C", "ws", "examples", "add", "/Owls", &urls[0]], 0, "");
    check(folder.path(), &["-C", "ws", "topics", "mark", "/Owls"], 0, "");
    check(folder.path(), &["-C", "ws", "train"], 0, "");
    let crawl =
        ["-C", "ws", "crawl", "--no-hubs", "--start", &urls[1], "--start", &urls[2], "--start", &urls[3]];
    check(folder.path(), &crawl, 0, "");
    let search = ["-C", "ws", "examples", "search", "/Owls", "barn", "owl", "nesting"];
    let found = json(folder.path(), &[&search[..], &["--json"]].concat());
    let pages: Vec<&str> =
        found["found"].as_array().unwrap().iter().map(|page| page["url"].as_str().unwrap()).collect();
    assert_eq!(pages.len(), 3, "the example is none: {found}");
    assert!(
        found["found"][0]["snippet"].as_str().unwrap().contains("owl") && found["added"].is_null(),
        "{found}"
    );
    check(folder.path(), &search, 0, "--accept 3");
    let asked = web.asked("/2");
    check(folder.path(), &[&search[..], &["--accept", "2"]].concat(), 0, "added 2 examples to /Owls");
    assert_eq!(web.asked("/2"), asked, "it is in the archive");
    check(folder.path(), &[&search[..], &["--yes"]].concat(), 4, "1 of 1 page");
    // Another workspace searches these pages, too.
    let other = tempfile::tempdir().unwrap();
    let ws = folder.path().join("ws").display().to_string();
    check(other.path(), &["init", "ws"], 0, "");
    let contact = "[fetch]\ncontact = \"me@owls.test\"\n";
    fs::write(other.path().join("ws/porthole.toml"), contact).unwrap();
    let start = ["start", "--words", WORDS, "ws", "--search-in", &ws, "--yes", "--no-crawl"];
    check(other.path(), &start, 0, "4 pages about 'barn owl nesting' of 4 candidates");
    assert_eq!(web.asked("/2"), asked);
}

/// Serves a synthetic web as a proxy. Returns its address.
fn serve_synthetic(seed: &str) -> (Child, String) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_porthole"))
        .args(["lab", "synth", "--seed", seed, "--serve", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(program.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
    (program, address)
}

#[test]
fn words_lead_to_a_crawl_of_a_web_behind_a_proxy() {
    let params = SynthParams { seed: 21, ..SynthParams::default() };
    let web = SyntheticWeb::new(params, Arc::new(ManualClock::default())).unwrap();
    let pages = |path: &str, count| {
        let topic = web.topics().iter().find(|topic| topic.path == path).unwrap();
        web.examples(topic.id, count, 1).iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let birds = pages("/Science/Birds", 8);
    let others = pages("/Recreation/Cycling", 8);
    let mixed: Vec<String> = others.iter().zip(&birds).flat_map(|(a, b)| [a.clone(), b.clone()]).collect();
    let endpoint = Server::new(&[("/?q=bird%20nest%20feather", results(&mixed))]);
    let (mut proxy, address) = serve_synthetic("21");
    let folder = tempfile::tempdir().unwrap();
    check(folder.path(), &["init", "ws"], 0, "");
    // The endpoint is reached without the proxy.
    let settings = format!(
        "[fetch]\ncontact = \"me@owls.test\"\nproxy = \"http://{address}\"\n[polite]\ndelay = 0.0\ndelay-factor = 0\n\
         [search]\nurl = \"{}\"\n",
        endpoint.url("/?q={words}")
    );
    fs::write(folder.path().join("ws/porthole.toml"), settings).unwrap();
    let start = ["start", "--words", "bird nest feather", "ws", "--yes", "--pages", "60", "--json"];
    let done = json(folder.path(), &start);
    proxy.kill().unwrap();
    proxy.wait().unwrap();
    let examples = examples(folder.path());
    let right = examples.iter().filter(|(url, _)| birds.contains(url)).count();
    // Some pages are about two topics.
    assert!(right >= 7 && right + 1 >= examples.len(), "{right} of {examples:?}");
    assert!(done["harvest"].as_f64().unwrap() > 0.4, "{done}");
}
