//! Bookmarks: folders are topics, what cannot be a page is left out, and folders that mean the same as a built-in topic
//! are merged with it.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use porthole_store::{QueryLimits, SqliteReader, StoreReader};
use serde_json::Value as Json;
use tempfile::TempDir;

use crate::start::{Server, check, json, page};

const BIRDS: &str = "the barn owl and other birds of prey hunt over farmland; plumage, nests, eggs, wings, beaks, \
                     feathers and the migration of birds and warblers";
const CODE: &str = "the compiler turns the program into machine code; software, programming languages, operating system, \
                    source code, functions, variables and a debugger on the computer";
const KNITS: &str = "the knitter purls a row with two needles; yarn, wool, stitches, cables, a sweater, socks and mittens \
                     by a pattern";

/// Bookmarks as browsers export them.
fn bookmarks(folders: &[(&str, Vec<String>)]) -> String {
    let mut text = "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n".to_owned();
    for (name, urls) in folders {
        let links: String = urls.iter().map(|url| format!("<DT><A HREF=\"{url}\">a page</A>\n")).collect();
        text.push_str(&format!("<DT><H3>{name}</H3>\n<DL><p>\n{links}</DL><p>\n"));
    }
    text + "</DL><p>\n"
}

/// A folder with bookmarks of three folders on a server of this machine, and a workspace that may fetch from it.
fn bench() -> (TempDir, Server) {
    let folder = tempfile::tempdir().unwrap();
    let mut pages = Vec::new();
    for (name, words) in [("birds", BIRDS), ("code", CODE), ("knits", KNITS)] {
        for number in ["1", "2", "3"] {
            pages.push((format!("/{name}/{number}"), page(&format!("{name} {number}"), words, &[])));
        }
    }
    let pages: Vec<(&str, String)> = pages.iter().map(|(path, page)| (path.as_str(), page.clone())).collect();
    let server = Server::new(&pages);
    let urls = |name: &str| ["1", "2", "3"].map(|number| server.url(&format!("/{name}/{number}"))).to_vec();
    let mut birds = urls("birds");
    birds.extend(["javascript:alert(1)".to_owned(), "file:///etc/passwd".to_owned()]);
    let text = bookmarks(&[("Bird", birds), ("Programs", urls("code")), ("Knits", urls("knits"))]);
    fs::write(folder.path().join("bookmarks.html"), text).unwrap();
    check(folder.path(), &["init", "ws"], 0, "");
    let settings = "[fetch]\nloopback = true\n[polite]\ndelay = 0.0\ndelay-factor = 0\n";
    fs::write(folder.path().join("ws/porthole.toml"), settings).unwrap();
    (folder, server)
}

/// Good topics, and topics by the URLs of their examples.
fn placed(folder: &Path) -> (Vec<String>, HashMap<String, String>) {
    let topics = json(folder, &["-C", "ws", "topics", "tree", "--json"]);
    let text = |value: &Json| value.as_str().unwrap().to_owned();
    let good = topics.as_array().unwrap().iter().filter(|topic| topic["mark"] == "good");
    let good = good.map(|topic| text(&topic["path"])).collect();
    let listed = json(folder, &["-C", "ws", "examples", "list", "--json"]);
    let examples = listed.as_array().unwrap().iter();
    (good, examples.map(|example| (text(&example["name"]), text(&example["topic"]))).collect())
}

#[test]
fn folders_are_topics_and_the_wanted_ones_are_good() {
    let (folder, server) = bench();
    let start = |more: &[&str], code, words: &str| {
        check(folder.path(), &[&["start", "bookmarks.html", "ws", "--no-crawl"], more].concat(), code, words)
    };
    // Nobody can be asked here.
    let said = start(&[], 4, "`--folder NAME…`");
    assert!(said.contains("2. /Programs (3 pages)"), "{said}");
    start(&["--folder", "Cooking"], 4, "no folder Cooking");
    assert_eq!(server.asked("/birds/1"), 0);
    let said =
        start(&["--folder", "bird"], 0, "/Science/Biology/Birds is marked good with the pages of /Bird");
    assert!(said.contains("left out 2 entries") && said.contains("javascript:"), "{said}");
    assert!(said.contains("topics remove /Bird --move-examples /Science/Biology/Birds"), "{said}");
    let (good, topics) = placed(folder.path());
    assert_eq!(good, ["/Science/Biology/Birds"]);
    assert_eq!(topics[&server.url("/birds/2")], "/Science/Biology/Birds");
    assert!(
        !["/", "/Science/Biology/Birds"].contains(&topics[&server.url("/knits/1")].as_str()),
        "{topics:?}"
    );
    // Nothing is fetched or moved twice.
    start(&["--folder", "bird"], 0, "ready to crawl");
    assert_eq!(server.asked("/birds/1"), 1);
    assert_eq!(placed(folder.path()), (good, topics));
}

#[test]
fn all_folders_are_wanted_with_yes_and_stay_apart_if_asked_to() {
    let (folder, server) = bench();
    let start = ["start", "bookmarks.html", "ws", "--no-crawl", "--yes", "--no-merge"];
    let said = check(folder.path(), &start, 0, "is marked good");
    let (good, topics) = placed(folder.path());
    for path in &good {
        let (parent, name) = path.rsplit_once('/').unwrap();
        let is_said = said.contains(&format!("topics move /{name} {parent}"));
        assert_eq!(is_said, !parent.is_empty(), "{path}: {said}");
    }
    let ends = |name: &str| good.iter().any(|path| path.ends_with(name));
    assert!(good.len() == 3 && ["/Bird", "/Programs", "/Knits"].into_iter().all(ends), "{good:?}");
    assert!(topics[&server.url("/birds/1")].ends_with("/Bird"), "{topics:?}");
}

#[test]
fn an_import_says_what_competes_and_merges_it() {
    let (folder, _server) = bench();
    check(folder.path(), &["init", "general", "--taxonomy", "general"], 0, "");
    let import = ["-C", "general", "examples", "import", "list.tsv"];
    fs::write(folder.path().join("list.tsv"), "http://owls.test/\t/Bird\nhttp://nas.local/\t/Bird\n")
        .unwrap();
    let said = check(folder.path(), &import, 0, "/Bird seems to mean the same as /Science/Biology/Birds");
    assert!(said.contains("http://nas.local/: a name of a local network"), "{said}");
    assert!(said.contains("next: `porthole examples fetch`"), "{said}");
    check(folder.path(), &["-C", "general", "topics", "remove", "/Bird", "--with-examples"], 0, "");
    check(
        folder.path(),
        &[&import[..], &["--merge"]].concat(),
        0,
        "/Bird was merged into /Science/Biology/Birds",
    );
    let listed = json(folder.path(), &["-C", "general", "examples", "list", "--json"]);
    assert_eq!(listed[0]["topic"], "/Science/Biology/Birds", "{listed}");
}

#[test]
fn topics_without_training_are_refused_with_the_next_command() {
    let (folder, _server) = bench();
    fs::write(
        folder.path().join("bookmarks.html"),
        bookmarks(&[
            ("Birds", vec!["http://owls.test/".to_owned()]),
            ("Code", vec!["http://code.test/".to_owned()]),
        ]),
    )
    .unwrap();
    check(
        folder.path(),
        &["init", "own", "--taxonomy", "bookmarks.html"],
        0,
        "porthole -C own examples fetch",
    );
    check(folder.path(), &["-C", "own", "topics", "mark", "/Birds"], 0, "");
    for command in ["crawl", "train"] {
        check(folder.path(), &["-C", "own", command], 4, "porthole examples fetch");
    }
    // A topic beside trained ones.
    check(folder.path(), &["init", "general", "--taxonomy", "general"], 0, "");
    let general = |arguments: &[&str], code, words: &str| {
        check(folder.path(), &[&["-C", "general"], arguments].concat(), code, words)
    };
    general(&["topics", "add", "/Mine"], 0, "");
    general(&["topics", "mark", "/Mine"], 0, "");
    general(&["crawl", "--start", "http://a.test/"], 4, "porthole examples add /Mine URL…");
    fs::write(folder.path().join("list.tsv"), "http://owls.test/\t/Mine\n").unwrap();
    general(&["examples", "import", "list.tsv"], 0, "");
    general(&["crawl"], 4, "run `porthole examples fetch /Mine`, then `porthole train`");
    fs::write(folder.path().join("owl.txt"), BIRDS).unwrap();
    general(&["examples", "add", "/Mine", "owl.txt"], 0, "");
    general(
        &["crawl"],
        4,
        "/Mine was never trained, so no page would be assigned to it: run `porthole train`",
    );
}

/// Pages of a crawl for one of six folders, on the Schools corpus: before, /Railways competed with the built-in
/// /Railway_transport, and 41 of 397 pages were about railways. Some 45 of those pages can be reached, so that they are
/// counted among the first 100; of the pages on birds, 120.
#[test]
fn one_of_six_folders_leads_to_its_pages() {
    let corpora = std::env::var_os("CORPORA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpora"), PathBuf::from);
    let Ok(labels) = fs::read_to_string(corpora.join("schools.labels.tsv")) else {
        return eprintln!("skipped: no schools.labels.tsv in {}", corpora.display());
    };
    let web = corpora.join("schools.warc.gz").display().to_string();
    let of = |topic: &str| -> Vec<&str> {
        let lines = labels.lines().filter_map(|line| line.split_once('\t'));
        lines.filter(|(_, path)| path.ends_with(topic)).map(|(url, _)| url).collect()
    };
    let six = [
        ("Railways", "/Railway_transport"),
        ("Birds", "/Birds"),
        ("Cooking", "/Food_and_agriculture"),
        ("Poems", "/Poetry_and_Opera"),
        ("Old coins", "/Currency"),
        ("Work", "/Computer_Programming"),
    ];
    let some = |topic: &str| of(topic).into_iter().step_by(2).take(6).map(str::to_owned).collect();
    let folders: Vec<(&str, Vec<String>)> = six.iter().map(|(name, topic)| (*name, some(topic))).collect();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("bookmarks.html"), bookmarks(&folders)).unwrap();
    for ((name, topic), pages) in six.into_iter().zip(["100", "300"]) {
        let workspace = format!("crawl-{name}");
        let start = ["start", "bookmarks.html", &workspace, "--folder", name, "--web", &web];
        let said = check(folder.path(), &[&start[..], &["--pages", pages]].concat(), 0, "is marked good");
        assert!(said.contains(&format!("{topic} is marked good with the pages of /{name}")), "{said}");
        let database = folder.path().join(&workspace).join("porthole.db");
        let sql = "select url from crawl where state = 1";
        let rows = SqliteReader::open(database).unwrap().sql(sql, &QueryLimits::default()).unwrap().rows;
        let truth = of(topic);
        let right = rows.iter().filter(|row| truth.contains(&row[0].text())).count();
        assert!(right * 397 >= 2 * 41 * rows.len(), "{name}: {right} true pages of {}", rows.len());
    }
}
