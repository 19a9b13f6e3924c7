//! A workspace: topics, examples, the critic.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use porthole_store::{SqliteStore, StoredModel, WorkspaceWriter};
use porthole_types::Timestamp;
use serde_json::Value;
use tempfile::TempDir;

/// A folder with a workspace `ws` and other files.
struct Bench {
    folder: TempDir,
}

impl Bench {
    fn new() -> Bench {
        let bench = Bench { folder: tempfile::tempdir().unwrap() };
        bench.ok(&["init", "ws"]);
        bench
    }

    /// With examples of three topics.
    fn with_examples() -> Bench {
        let bench = Bench::new();
        bench.write_documents();
        bench.ws(&["examples", "import", "documents"]);
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn write_documents(&self) {
        for (topic, words) in [("Birds", BIRDS), ("Sport/Cycling", CYCLING), ("Food", FOOD)] {
            for number in 0..8 {
                let page = format!("<title>{topic} {number}</title><p>{}", page(words, number));
                self.write(&format!("documents/{topic}/{number}.html"), page);
            }
        }
    }

    fn run(&self, arguments: &[&str], input: &str) -> Output {
        let mut program = Command::new(env!("CARGO_BIN_EXE_porthole"));
        program.args(arguments).current_dir(self.folder.path());
        let program = program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut running = program.spawn().unwrap();
        // A program that does not read its input closes it early, which is not an error.
        let _ = running.stdin.take().unwrap().write_all(input.as_bytes());
        running.wait_with_output().unwrap()
    }

    fn ok(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments, "");
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// Runs a command in the workspace.
    fn ws(&self, arguments: &[&str]) -> String {
        self.ok(&[&["-C", "ws"], arguments].concat())
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.ws(&[arguments, &["--json"]].concat());
        serde_json::from_str(&output).unwrap_or_else(|error| panic!("{error} in {output}"))
    }

    /// The message and exit code of a command that fails.
    fn fails(&self, arguments: &[&str]) -> (String, i32) {
        let output = self.run(&[&["-C", "ws"], arguments].concat(), "");
        assert!(!output.status.success(), "{arguments:?} should fail: {}", text(&output.stdout));
        (text(&output.stderr), output.status.code().unwrap())
    }

    fn check_fails(&self, arguments: &[&str], message: &str, code: i32) {
        let (said, exit) = self.fails(arguments);
        assert!(said.contains(message), "{arguments:?} says {said}, not {message}");
        assert_eq!(exit, code, "{arguments:?}: {said}");
    }

    fn paths(&self) -> Vec<String> {
        strings(&self.json(&["topics", "tree"]), "path")
    }

    fn examples(&self) -> Vec<String> {
        strings(&self.json(&["examples", "list"]), "name")
    }
}

const BIRDS: &str =
    "owl robin feathers wings nest beak plumage eggs migrate sparrow falcon heron perch flock song hatch";
const CYCLING: &str =
    "bicycle wheel pedal chain saddle race rider sprint climb tour gear brake helmet stage peloton tyre";
const FOOD: &str =
    "soup onion garlic bread oven pepper salt simmer roast butter recipe kitchen flour sauce spoon taste";

/// A page of words of a topic; all pages differ.
fn page(words: &str, number: usize) -> String {
    let words: Vec<&str> = words.split(' ').collect();
    let some = (0..24).map(|at| words[(at * (number + 3) + number * number) % words.len()]);
    format!("this is the page about {} and what it was", some.collect::<Vec<_>>().join(" and the "))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn strings(rows: &Value, field: &str) -> Vec<String> {
    rows.as_array().unwrap().iter().map(|row| row[field].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_workspace_is_made_once_and_in_an_empty_folder() {
    let bench = Bench::new();
    for name in ["porthole.toml", "porthole.db", "pages"] {
        assert!(bench.path("ws").join(name).exists(), "{name}");
    }
    bench.write("full/file.txt", "something");
    for (arguments, message) in [
        (&["init", "ws"][..], "is a workspace already"),
        (&["init", "full"], "is not empty"),
        (&["topics", "tree"], "porthole init DIR"),
        (&["-C", "nowhere", "train"], "nowhere is not a workspace"),
    ] {
        let output = bench.run(arguments, "");
        assert!(text(&output.stderr).contains(message), "{arguments:?}: {}", text(&output.stderr));
        assert_eq!(output.status.code(), Some(4), "{arguments:?}");
    }
    bench.write("ws/porthole.toml", "[train]\nshape = \"round\"\n");
    bench.check_fails(&["topics", "tree"], "line 2", 4);
    bench.write("ws/porthole.toml", "[train]\nfolds = 1\n");
    bench.check_fails(&["train"], "from 2 to 100", 4);
}

#[test]
fn a_workspace_can_start_with_topics() {
    let bench = Bench::new();
    bench.write("list.tsv", "http://a.test/\t/Birds\nhttp://b.test/\t/Sport/Cycling\n");
    bench.ok(&["init", "listed", "--taxonomy", "list.tsv"]);
    let tree = bench.ok(&["-C", "listed", "topics", "tree"]);
    assert_eq!(
        tree.lines().collect::<Vec<_>>(),
        [
            "                 examples",
            "/                       2",
            "├── Birds               1",
            "└── Sport               1",
            "    └── Cycling         1",
        ]
    );
    bench.write("broken.tsv", "http://a.test/\t/Birds\nno tab\n");
    let output = bench.run(&["init", "broken", "--taxonomy", "broken.tsv"], "");
    assert!(text(&output.stderr).contains("line 2"), "{}", text(&output.stderr));
    assert!(!bench.path("broken").exists(), "nothing is left of it");
}

#[test]
fn the_general_taxonomy_judges_and_proposes_at_once() {
    let bench = Bench::new();
    let made = bench.ok(&["init", "general", "--taxonomy", "general"]);
    assert!(made.contains("topics, trained from"), "{made}");
    bench.write(
        "owl.txt",
        "The owl is a bird of prey with feathers; birds like the owl have plumage, wings and a beak.",
    );
    let judged = bench.ok(&["-C", "general", "classify", "owl.txt", "--json"]);
    let judged: Value = serde_json::from_str(&judged).unwrap();
    assert_eq!(judged[0]["best"]["topic"], "/Science/Biology/Birds");
    assert!(judged[0]["relevance"].is_null(), "nothing is good yet");
    let proposed = bench.ok(&["-C", "general", "topics", "propose", "owl.txt", "--json"]);
    let proposed: Value = serde_json::from_str(&proposed).unwrap();
    assert!(strings(&proposed, "topic")[..3].contains(&"/Science/Biology/Birds".to_owned()), "{proposed}");
    // A topic below one of the taxonomy: the statistics of the parent are kept.
    bench.ok(&["-C", "general", "examples", "add", "/Science/Biology/Birds/Owls", "owl.txt"]);
    // Topics that came with the taxonomy and have no examples are not worth a warning; one that was added is.
    bench.ok(&["-C", "general", "topics", "add", "/Science/Biology/Brids"]);
    let said = text(&bench.run(&["-C", "general", "train"], "").stderr);
    let lines: Vec<&str> =
        said.lines().skip_while(|line| !line.contains("without examples")).skip(1).collect();
    assert_eq!(lines.first().map(|line| line.trim()), Some("/Science/Biology/Brids"), "{said}");
    assert!(!said.contains("/Art"), "{said}");
    let tree = bench.ok(&["-C", "general", "topics", "tree", "/Science/Biology/Birds", "--json"]);
    let tree: Value = serde_json::from_str(&tree).unwrap();
    assert_eq!(strings(&tree, "path").last().unwrap(), "/Science/Biology/Birds/Other");
    assert!(tree[2]["learnt_from"].as_u64() > Some(10), "{tree}");
}

#[test]
fn topics_are_added_moved_renamed_and_removed() {
    let bench = Bench::new();
    bench.ws(&["topics", "add", "/Sport/Cycling"]);
    bench.ws(&["topics", "add", "Leisure"]);
    bench.ws(&["topics", "move", "/Sport/Cycling", "/Leisure"]);
    bench.ws(&["topics", "rename", "/Leisure/Cycling", "Bicycles"]);
    assert_eq!(bench.paths(), ["/", "/Sport", "/Leisure", "/Leisure/Bicycles"]);
    bench.check_fails(&["topics", "move", "/Leisure", "/Leisure/Bicycles"], "which is a part of it", 4);
    bench.check_fails(&["topics", "rename", "/Leisure", "Sport"], "a topic /Sport already exists", 4);
    bench.check_fails(&["topics", "remove", "/Nowhere"], "no topic /Nowhere", 4);
    bench.ws(&["topics", "remove", "/Leisure"]);
    assert_eq!(bench.paths(), ["/", "/Sport"]);
}

#[test]
fn marks_keep_to_their_rules() {
    let bench = Bench::new();
    bench.ws(&["topics", "add", "/Sport/Cycling"]);
    bench.ws(&["topics", "add", "/Birds"]);
    assert!(bench.ws(&["topics", "mark", "/Sport/Cycling", "/Birds"]).contains("good topics: "));
    bench.check_fails(
        &["topics", "mark", "/Sport"],
        "/Sport/Cycling, below it, is good; unmark that first",
        4,
    );
    // In one transaction: the first of the two alone would be allowed.
    bench.ws(&["topics", "unmark", "/Birds"]);
    bench.check_fails(&["topics", "mark", "/Birds", "/Sport"], "unmark that first", 4);
    bench.check_fails(&["topics", "unmark", "/Birds"], "is not marked good", 4);
    let marks = strings(&bench.json(&["topics", "tree"]), "mark");
    assert_eq!(marks, ["path", "path", "good", "null"]);
    assert!(bench.ws(&["topics", "tree"]).contains("● good"));
}

#[test]
fn a_topic_with_examples_is_removed_only_if_that_is_meant() {
    let bench = Bench::with_examples();
    bench.check_fails(&["topics", "remove", "/Sport"], "8 examples", 4);
    bench.ws(&["topics", "remove", "/Sport", "--move-examples", "/Birds"]);
    assert_eq!(
        (bench.examples().len(), bench.paths()),
        (24, vec!["/".into(), "/Birds".into(), "/Food".into()])
    );
    bench.ws(&["topics", "remove", "/Birds", "--with-examples"]);
    assert_eq!(bench.examples().len(), 8);
}

#[test]
fn examples_are_added_listed_moved_and_removed() {
    let bench = Bench::new();
    bench.write("owl.html", "<title>Owls</title><p>feathers");
    bench.write("empty.txt", "");
    let added = bench.json(&["examples", "add", "/Birds", "owl.html", "empty.txt"]);
    assert_eq!(
        (added["topic"].as_str(), added["examples"][1]["state"].as_str()),
        (Some("/Birds"), Some("empty"))
    );
    bench.check_fails(&["examples", "add", "/More", "owl.html", "none.html"], "none.html", 1);
    assert_eq!(bench.paths(), ["/", "/Birds"], "nothing was added");

    let listed = bench.json(&["examples", "list"]);
    assert_eq!((listed[0]["title"].as_str(), listed[0]["state"].as_str()), (Some("Owls"), Some("ok")));
    assert!(bench.ws(&["examples", "list", "/Birds"]).contains("[empty: no words]"));
    bench.ws(&["topics", "add", "/Owls"]);
    bench.ws(&["examples", "move", "owl.html", "/Owls"]);
    assert_eq!(strings(&bench.json(&["examples", "list", "/Owls"]), "name"), ["owl.html"]);
    bench.check_fails(&["examples", "remove", "/Birds", "owl.html"], "is not an example of /Birds", 4);
    bench.ws(&["examples", "remove", "/Birds", "empty.txt"]);
    assert_eq!(bench.examples(), ["owl.html"]);

    bench.ws(&["examples", "add", "/Birds", "owl.html"]);
    bench.check_fails(&["examples", "move", "owl.html", "/Owls"], "use its number", 4);
    let id = bench.json(&["examples", "list", "/Birds"])[0]["id"].to_string();
    bench.ws(&["examples", "move", &id, "/Owls"]);
    assert_eq!(bench.examples(), ["owl.html"], "the same page in a topic is there once");
}

const BOOKMARKS: &str = "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<TITLE>Bookmarks</TITLE>\n<DL><p>\n\
    <DT><A HREF=\"http://a.test/\">Loose</A>\n\
    <DT><H3>Birds</H3>\n<DL><p>\n<DT><A HREF=\"http://a.test/two\">Owls</A>\n\
    <DT><A HREF=\"javascript:alert(1)\">Bookmarklet</A>\n\
    <DT><A HREF=\"http://nowhere.test/\">Gone</A>\n</DL><p>\n</DL>\n";

const CONTENT: &str = "<?xml version=\"1.0\"?>\n<RDF>\n<ExternalPage about=\"http://a.test/\">\n<topic>Top/Arts/Movies</topic>\n\
    </ExternalPage>\n<ExternalPage about=\"http://b.test/\">\n<topic>Top/Arts</topic>\n</ExternalPage>\n</RDF>\n";

const STRUCTURE: &str =
    "<RDF>\n<Topic r:id=\"Top/Arts\">\n<narrow r:resource=\"Top/Arts/Movies\"/>\n</Topic>\n</RDF>\n";

#[test]
fn each_format_is_imported() {
    for (file, content, topics, examples) in [
        ("bookmarks.html", BOOKMARKS, "/ /Birds", 3),
        ("list.tsv", "# mine\nhttp://a.test/\t/Birds\nhttp://a.test/\t/Food\n", "/ /Birds /Food", 2),
        ("urls.txt", "# mine\nhttp://a.test/\n\nhttps://b.test/page\n", "/", 2),
        ("content.rdf.u8", CONTENT, "/ /Arts /Arts/Movies", 2),
        ("structure.rdf.u8", STRUCTURE, "/ /Arts /Arts/Movies", 0),
    ] {
        let bench = Bench::new();
        bench.write(file, content);
        let report = bench.json(&["examples", "import", file]);
        assert_eq!((bench.paths().join(" ").as_str(), bench.examples().len()), (topics, examples), "{file}");
        assert_eq!(report["to_fetch"].as_u64(), Some(examples as u64), "{report}");
        // Repeating the import changes nothing.
        assert_eq!(bench.json(&["examples", "import", file])["new_topics"].as_u64(), Some(0));
        assert_eq!(bench.examples().len(), examples, "{file}");
    }
}

#[test]
fn a_list_of_urls_is_examples_of_a_topic_and_not_a_page() {
    let bench = Bench::new();
    bench.write("urls.txt", "http://a.test/\nhttp://b.test/\n");
    let refused = "`porthole examples import urls.txt --topic /Birds`";
    bench.check_fails(&["examples", "add", "/Birds", "urls.txt"], refused, 4);
    assert_eq!(bench.examples().len(), 0);
    bench.ws(&["examples", "import", "urls.txt", "--topic", "/Birds"]);
    let listed = bench.json(&["examples", "list", "/Birds"]);
    assert_eq!(strings(&listed, "name"), ["http://a.test/", "http://b.test/"]);
}

#[test]
fn a_broken_file_imports_nothing() {
    let bench = Bench::new();
    for (file, content, message) in [
        ("list.tsv", "http://a.test/\t/Birds\nhttp://b.test/ /Food\n", "list.tsv: line 2: no tab"),
        ("bookmarks.html", &BOOKMARKS[..BOOKMARKS.len() - 3], "was cut"),
        ("content.rdf.u8", &CONTENT[..CONTENT.len() - 40], "line "),
        ("structure.rdf.u8", &STRUCTURE[..STRUCTURE.len() - 9], "line "),
        ("page.html", "<p>something else", "porthole examples import --format"),
        ("empty.txt", "\n", "empty.txt is empty"),
        ("web.warc", "WARC/1.1\r\n", "--web web.warc"),
    ] {
        bench.write(file, content);
        let (said, _) = bench.fails(&["examples", "import", file]);
        assert!(said.contains(message), "{file}: {said}");
        assert_eq!((bench.paths().len(), bench.examples().len()), (1, 0), "{file}");
    }
    bench.check_fails(&["examples", "import", "none.tsv"], "none.tsv", 1);
    bench.check_fails(&["examples", "import", "page.html", "--format", "folder"], "is not a folder", 4);
}

#[test]
fn an_import_waits_for_no_pipe() {
    let bench = Bench::new();
    bench.write("folder/owl.txt", "the owl has feathers");
    for name in ["pipe", "folder/pipe"] {
        assert!(Command::new("mkfifo").arg(bench.path(name)).status().unwrap().success());
    }
    bench.check_fails(&["examples", "import", "pipe"], "must be a regular file", 1);
    bench.ws(&["examples", "import", "folder"]);
    assert_eq!(bench.examples(), ["folder/owl.txt"]);
}

#[test]
fn pages_come_from_a_recorded_web() {
    let bench = Bench::new();
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../porthole-warc/tests/fixtures/members.warc.gz");
    bench.write("bookmarks.html", BOOKMARKS);
    let import = ["examples", "import", "bookmarks.html", "--topic", "/Mine", "--web", web.to_str().unwrap()];
    let report = bench.json(&import);
    assert_eq!((report["examples"].as_u64(), report["read"].as_u64()), (Some(3), Some(2)), "{report}");
    assert_eq!(report["missing"]["first"][0]["name"], "http://nowhere.test/");
    assert_eq!(report["missing"]["count"].as_u64(), Some(1));
    assert!(report["left_out"]["first"][0].as_str().unwrap().starts_with("line 8"), "{report}");
    assert_eq!(bench.paths(), ["/", "/Mine", "/Mine/Birds"]);
    // Importing the list alone does not remove the pages.
    let again = bench.json(&["examples", "import", "bookmarks.html", "--topic", "/Mine"]);
    assert_eq!((again["known"].as_u64(), again["to_fetch"].as_u64()), (Some(2), Some(1)), "{again}");
    let said = text(&bench.run(&[&["-C", "ws"], &import[..]].concat(), "").stderr);
    assert!(said.contains("http://nowhere.test/: not in the recorded web"), "{said}");
}

#[test]
fn a_large_directory_is_pruned() {
    let bench = Bench::new();
    bench.write_documents();
    bench.write("documents/Birds/Owls/one.txt", "a rare owl");
    let report = bench.json(&["examples", "import", "documents", "--prune", "4"]);
    assert_eq!(report["pruned"]["topics_removed"].as_u64(), Some(1), "{report}");
    assert_eq!((bench.examples().len(), bench.paths().len()), (12, 5));
    assert_eq!(bench.fails(&["examples", "import", "documents", "--prune", "0"]).1, 4);
}

#[test]
fn training_chooses_and_reports() {
    let bench = Bench::with_examples();
    let report = bench.json(&["train"]);
    let root = &report["nodes"][0];
    assert_eq!((report["trained"].as_str(), root["node"].as_str()), (Some("all"), Some("/")), "{report}");
    assert_eq!(
        (root["examples"].as_u64(), root["classes"].as_u64()),
        (Some(24), Some(4)),
        "with the background"
    );
    assert_eq!(root["chosen_by"], "validation");
    assert!(root["validation"]["accuracy"].as_f64() > Some(0.9), "{root}");
    assert_eq!(report["undecided"][0], "/Sport", "only one topic is below it");
    let cv = bench.ws(&["train", "--cv"]);
    assert!(cv.contains("accuracy") && cv.contains("add-one"), "{cv}");
    assert_eq!(bench.json(&["train"])["trained"], "nothing");
    assert_eq!(bench.json(&["train", "--smoothing", "0.5"])["nodes"][0]["smoothing"].as_f64(), Some(0.5));
    bench.check_fails(&["train", "--smoothing", "0"], "more than 0", 4);
    bench.check_fails(&["train", "--shape", "round"], "two-class", 4);
    bench.check_fails(&["train", "--critic", "logistic", "--features", "9"], "requires naive Bayes", 4);
}

#[test]
fn only_what_changed_is_trained_again() {
    let bench = Bench::with_examples();
    bench.ws(&["train"]);
    bench.write("owl.txt", page(BIRDS, 20));
    bench.ws(&["examples", "add", "/Birds", "owl.txt"]);
    let report = bench.json(&["train"]);
    assert_eq!((report["trained"].as_str(), report["examples"].as_u64()), (Some("changed"), Some(25)));
    assert!(report["nodes"][0]["validation"]["accuracy"].is_number(), "what was found before is kept");
    let judged = bench.json(&["classify", "owl.txt", "--all"]);
    bench.ws(&["topics", "add", "/Empty"]);
    assert_eq!(bench.json(&["train"])["trained"], "nothing", "a topic without examples changes nothing");
    assert_eq!(judged, bench.json(&["classify", "owl.txt", "--all"]));
    for number in 30..36 {
        bench.write(&format!("more/{number}.txt"), page(BIRDS, number));
    }
    bench.ws(&["examples", "import", "more", "--topic", "/Birds"]);
    assert_eq!(bench.json(&["train"])["trained"], "all", "much is new, so the choices are made again");
}

#[test]
fn internal_topics_get_a_leaf_for_their_own_examples() {
    let bench = Bench::with_examples();
    bench.write("match.txt", "sport is a match and a race of riders");
    bench.ws(&["examples", "add", "/Sport", "match.txt"]);
    assert_eq!(bench.json(&["train"])["to_other"][0], "/Sport");
    assert_eq!(strings(&bench.json(&["examples", "list", "/Sport/Other"]), "name"), ["match.txt"]);
    assert!(bench.json(&["train"])["to_other"].as_array().unwrap().is_empty());
}

#[test]
fn what_cannot_be_learnt_is_said() {
    let bench = Bench::new();
    bench.check_fails(&["train"], "no examples to train on", 4);
    bench.check_fails(&["classify", "x.txt"], "there is no critic yet", 4);
    bench.check_fails(&["classify", "x.txt"], "porthole examples add TOPIC", 4);
    bench.check_fails(&["topics", "propose", "x.txt"], "there is no critic yet", 4);
    bench.write("loose/owl.txt", page(BIRDS, 1));
    bench.ws(&["examples", "import", "loose"]);
    bench.check_fails(&["train"], "have no topic yet", 4);
    bench.ws(&["topics", "add", "/Birds"]);
    bench.ws(&["examples", "move", "loose/owl.txt", "/Birds"]);
    bench.ws(&["topics", "add", "/Food"]);
    let said = text(&bench.run(&["-C", "ws", "train", "--background", "0"], "").stderr);
    assert!(said.contains("only one topic has examples") && said.contains("/Food"), "{said}");
    // All other pages are the background.
    let trained = bench.run(&["-C", "ws", "train"], "");
    assert!(!text(&trained.stderr).contains("only one topic has examples"), "{trained:?}");
    assert!(text(&trained.stdout).contains("counts of the general taxonomy"), "{trained:?}");
    bench.check_fails(&["train", "--shape", "two-class"], "no topic is marked good", 4);
}

#[test]
fn shapes_critics_and_tables() {
    let bench = Bench::with_examples();
    bench.ws(&["topics", "mark", "/Birds"]);
    let relevance =
        |bench: &Bench| bench.json(&["classify", "documents/Birds/0.html"])[0]["relevance"].as_f64();
    for arguments in [
        &["train", "--shape", "flat"][..],
        &["train", "--shape", "two-class"],
        &["train", "--critic", "logistic"],
        &["train", "--tables"],
    ] {
        bench.ws(arguments);
        assert!(relevance(&bench) > Some(0.5), "{arguments:?}: {:?}", relevance(&bench));
    }
    bench.ws(&["train", "--shape", "two-class"]);
    let said = text(&bench.run(&["-C", "ws", "topics", "mark", "/Food"], "").stderr);
    assert!(said.contains("porthole train"), "{said}");
    bench.check_fails(&["train", "--tables", "--shape", "flat"], "--tables", 4);
    bench.check_fails(&["train", "--tables", "--counting", "once"], "--tables", 4);
    let store = SqliteStore::open(bench.path("ws/porthole.db")).unwrap();
    let rows =
        store.reader().sql("select count(*) from stat", &porthole_store::QueryLimits::default()).unwrap();
    assert!(matches!(rows.rows[0][0], porthole_store::SqlValue::Integer(count) if count > 20), "{rows:?}");
}

#[test]
fn pages_are_judged_with_reasons() {
    let bench = Bench::with_examples();
    bench.ws(&["topics", "mark", "/Sport"]);
    bench.ws(&["train"]);
    let judged = bench.json(&["classify", "documents/Sport/Cycling/1.html"]);
    assert_eq!(judged[0]["best"]["topic"], "/Sport/Cycling");
    assert!(judged[0]["relevance"].as_f64() > Some(0.9), "{judged}");
    assert_eq!(strings(&judged[0]["path"], "topic"), ["/Sport", "/Sport/Cycling"]);
    let words = judged[0]["path"][0]["for"].to_string();
    assert!(CYCLING.split(' ').any(|word| words.contains(word)), "{words}");

    let input = format!("<p>{}", page(FOOD, 5));
    let output = bench.run(&["-C", "ws", "classify", "-"], &input);
    let said = text(&output.stdout);
    assert!(said.contains("relevance") && said.contains("/Food") && said.contains("for"), "{said}");
    assert!(!said.contains('\x1b'), "no colours in a pipe");
    assert!(bench.ws(&["classify", "documents/Birds/1.html", "--all"]).contains("all topics"));

    bench.write("empty.txt", "");
    let lines = bench.ws(&["classify", "documents/Birds/1.html", "documents/Food/1.html", "empty.txt"]);
    assert_eq!(lines.lines().count(), 3);
    assert!(lines.lines().next().unwrap().contains("/Birds  documents/Birds/1.html"), "{lines}");
    let output = bench.run(&["-C", "ws", "classify", "none.txt", "documents/Birds/1.html"], "");
    assert_eq!((output.status.code(), text(&output.stdout).lines().count()), (Some(1), 1));
    assert!(text(&output.stderr).contains("none.txt"));
    bench.check_fails(&["classify", "http://nowhere.test/"], "set `contact`", 4);
}

#[test]
fn topics_are_proposed_for_examples_without_one() {
    let empty = Bench::new();
    empty.ok(&["init", "general", "--taxonomy", "general"]);
    let said = text(&empty.run(&["-C", "general", "topics", "propose"], "").stderr);
    assert!(said.contains("there are no examples; name files"), "{said}");
    let bench = Bench::with_examples();
    bench.ws(&["train"]);
    bench.check_fails(&["topics", "propose"], "all examples have a topic", 4);
    bench.write("list.tsv", "http://a.test/\t/\n");
    bench.ws(&["examples", "import", "list.tsv"]);
    bench.check_fails(&["topics", "propose"], "none of 1 example has a page with words", 4);
    bench.write("loose/page.txt", page(CYCLING, 11));
    bench.ws(&["examples", "import", "loose"]);
    let proposed = bench.json(&["topics", "propose"]);
    assert!(strings(&proposed, "topic").contains(&"/Sport/Cycling".to_owned()), "{proposed}");
    assert!(proposed[0]["words"].as_array().is_some_and(|words| !words.is_empty()), "{proposed}");
    assert_eq!(bench.json(&["topics", "propose", "--topic", "/Food"])[0]["topic"], "/Food");
    assert!(bench.ws(&["topics", "propose", "loose/page.txt"]).contains("porthole topics mark"));
    assert_eq!(bench.json(&["train"])["unplaced"].as_u64(), Some(1));
}

#[test]
fn a_damaged_critic_is_refused_and_can_be_trained_again() {
    let bench = Bench::with_examples();
    bench.ws(&["train"]);
    let damage = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut store = SqliteStore::open(bench.path("ws/porthole.db")).unwrap();
        let mut bytes = store.reader().model("critic").unwrap().unwrap().bytes;
        change(&mut bytes);
        store.set_model("critic", &StoredModel { bytes, made: Timestamp(0) }).unwrap();
    };
    for (change, message) in [
        (
            &(|bytes: &mut Vec<u8>| bytes.truncate(bytes.len() / 2)) as &dyn Fn(&mut Vec<u8>),
            "damaged or truncated",
        ),
        (&|bytes: &mut Vec<u8>| bytes[8] = 99, "train again"),
        (&|bytes: &mut Vec<u8>| bytes.clear(), "this is no"),
    ] {
        damage(change);
        bench.check_fails(&["classify", "documents/Birds/0.html"], message, 1);
        assert_eq!(bench.json(&["train"])["trained"], "all");
        bench.ws(&["classify", "documents/Birds/0.html"]);
    }
}
