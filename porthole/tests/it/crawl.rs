//! Crawls of a recorded web: started, stopped, interrupted and killed.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::thread::sleep;
use std::time::Duration;

use flate2::bufread::GzDecoder;
use porthole_store::{DatabaseLocation, QueryLimits, SqlValue, SqliteReader, StoreReader, TableReader};
use porthole_types::ManualClock;
use porthole_warc::{WarcReader, WarcRecord, unpack_record};
use porthole_webs::RecordedWeb;
use porthole_webs::synth::{SynthParams, SyntheticWeb};
use tempfile::TempDir;

use crate::recording::record;

/// The good topic.
pub(crate) const GOOD: &str = "/Recreation";

/// The message of a finished crawl.
pub(crate) const DONE: &str = "finished: no known URL is left to fetch";

/// Examples of each topic.
const EXAMPLES: usize = 4;

/// A recorded web, its true topics, and a workspace with a critic trained on examples from it.
pub(crate) struct Recording {
    folder: TempDir,
    /// URL to path of the topic.
    pub(crate) topics: HashMap<String, String>,
    whole: OnceLock<Whole>,
}

/// The result of an uninterrupted crawl.
pub(crate) struct Whole {
    pub(crate) urls: Vec<String>,
    pub(crate) archived: u64,
}

impl Recording {
    /// The instance that all tests share while any of them runs.
    pub(crate) fn get() -> Arc<Recording> {
        static SHARED: Mutex<Weak<Recording>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.upgrade().unwrap_or_else(|| {
            let made = Arc::new(Recording::make());
            *shared = Arc::downgrade(&made);
            made
        })
    }

    fn make() -> Recording {
        let folder = tempfile::tempdir().unwrap();
        let web = small_web();
        let topics = record(&web, &folder.path().join("web"));
        fs::write(folder.path().join("examples.tsv"), examples(&web)).unwrap();
        let recording = Recording { folder, topics, whole: OnceLock::new() };
        let file = recording.web();
        for arguments in [
            &["init", "ws"][..],
            &["-C", "ws", "examples", "import", "examples.tsv", "--web", file.to_str().unwrap()],
            &["-C", "ws", "train"],
            &["-C", "ws", "topics", "mark", GOOD],
        ] {
            let output = porthole(recording.folder.path(), arguments).output().unwrap();
            assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        }
        recording
    }

    pub(crate) fn web(&self) -> PathBuf {
        self.folder.path().join("web/00000.warc.gz")
    }

    fn is_good(&self, url: &str) -> bool {
        self.topics.get(url).is_some_and(|topic| topic.starts_with(GOOD))
    }
}

/// Pages of a few topics, independent of the time of day.
fn small_web() -> SyntheticWeb {
    let params = SynthParams {
        pages: 600,
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
    SyntheticWeb::new(params, Arc::new(ManualClock::default())).unwrap()
}

/// A list of examples of every leaf.
fn examples(web: &SyntheticWeb) -> String {
    let leaves = web.topics().iter().filter(|topic| topic.leaf);
    let lines = leaves.flat_map(|leaf| {
        web.examples(leaf.id, EXAMPLES, 1).into_iter().map(|url| format!("{url}\t{}\n", leaf.path))
    });
    lines.collect()
}

pub(crate) fn porthole(folder: &Path, arguments: &[&str]) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_porthole"));
    program.args(arguments).current_dir(folder).stdin(Stdio::null());
    program.stdout(Stdio::piped()).stderr(Stdio::piped());
    program
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A workspace to crawl in: a copy of the recording's.
pub(crate) struct Workspace {
    pub(crate) recording: Arc<Recording>,
    pub(crate) folder: TempDir,
}

/// A fetched URL and the location of its page: segment, offset, length.
#[derive(Debug, PartialEq)]
struct Fetched {
    url: String,
    /// Whether it led to a page or a redirect.
    has_response: bool,
    place: Option<(i64, usize, usize)>,
}

impl Workspace {
    pub(crate) fn new() -> Workspace {
        let (recording, folder) = (Recording::get(), tempfile::tempdir().unwrap());
        copy(&recording.folder.path().join("ws"), &folder.path().join("ws"));
        Workspace { recording, folder }
    }

    /// A workspace like the others whose tables are in the PostgreSQL database at a URL.
    pub(crate) fn on(url: &str) -> Workspace {
        let workspace = Workspace { recording: Recording::get(), folder: tempfile::tempdir().unwrap() };
        let examples = workspace.recording.folder.path().join("examples.tsv");
        let web = workspace.recording.web();
        check(&porthole(workspace.folder.path(), &["init", "ws", "--db", url]).output().unwrap(), 0, "");
        let (examples, web) = (examples.to_str().unwrap(), web.to_str().unwrap());
        workspace.ok(&["examples", "import", examples, "--web", web]);
        workspace.ok(&["train"]);
        workspace.ok(&["topics", "mark", GOOD]);
        workspace
    }

    /// A workspace without a crawl.
    fn untrained() -> Workspace {
        let workspace = Workspace { recording: Recording::get(), folder: tempfile::tempdir().unwrap() };
        check(&porthole(workspace.folder.path(), &["init", "ws"]).output().unwrap(), 0, "");
        workspace
    }

    /// The result of an uninterrupted crawl with one worker.
    pub(crate) fn whole(&self) -> &Whole {
        self.recording.whole.get_or_init(|| {
            let workspace = Workspace::new();
            workspace.check(&[], 0, DONE);
            workspace.check_archive();
            Whole { urls: workspace.urls(), archived: workspace.archived() }
        })
    }

    /// `porthole crawl` on the recorded web.
    pub(crate) fn crawl(&self, more: &[&str]) -> Command {
        let web = self.recording.web();
        let crawl = ["-C", "ws", "crawl", "--web", web.to_str().unwrap()];
        porthole(self.folder.path(), &[&crawl[..], more].concat())
    }

    /// Crawls to the end; returns the output.
    pub(crate) fn check(&self, more: &[&str], code: i32, words: &str) -> String {
        check(&self.crawl(more).output().unwrap(), code, words)
    }

    /// Runs another command, which must succeed.
    pub(crate) fn ok(&self, arguments: &[&str]) {
        let arguments = [&["-C", "ws"], arguments].concat();
        check(&porthole(self.folder.path(), &arguments).output().unwrap(), 0, "");
    }

    /// The fetched URLs, in order.
    fn fetched(&self) -> Vec<Fetched> {
        let database = DatabaseLocation::of_workspace(&self.folder.path().join("ws")).unwrap();
        let reader = TableReader::open_at(&database).unwrap();
        let sql = r#"select url, state, segment, "offset", length, seq from crawl where seq is not null order by seq"#;
        let rows = reader.sql(sql, &QueryLimits::default()).unwrap().rows;
        rows.iter().zip(0..).map(|(row, seq)| fetched(row, seq)).collect()
    }

    pub(crate) fn urls(&self) -> Vec<String> {
        self.fetched().into_iter().map(|fetched| fetched.url).collect()
    }

    /// Pages that were fetched.
    fn pages(&self) -> usize {
        let reader = SqliteReader::open(self.folder.path().join("ws/porthole.db")).unwrap();
        reader.counts().unwrap().fetched
    }

    /// Size of the archive in bytes.
    fn archived(&self) -> u64 {
        fs::metadata(self.segment()).map_or(0, |file| file.len())
    }

    fn segment(&self) -> PathBuf {
        porthole_crawl::segment_path(&self.folder.path().join("ws/pages"), 0)
    }

    /// Sets the compression of the archive.
    fn compressed_by(self, compression: &str) -> Workspace {
        let settings = format!("[archive]\ncompression = \"{compression}\"\n");
        fs::write(self.folder.path().join("ws/porthole.toml"), settings).unwrap();
        self
    }

    /// Checks that every page points to its record, and that the archive can be replayed.
    pub(crate) fn check_archive(&self) {
        let bytes = fs::read(self.segment()).unwrap();
        let fetched = self.fetched();
        for Fetched { url, has_response, place } in &fetched {
            // A redirect in a circle is kept and skipped.
            assert!(place.is_some() || !has_response, "{url}");
            if let Some((segment, offset, length)) = *place {
                assert_eq!(segment, 0);
                check_record(&bytes[offset..offset + length], url);
            }
        }
        let web = RecordedWeb::open(&[self.segment()]).unwrap();
        assert_eq!(web.len(), fetched.iter().filter(|fetched| fetched.place.is_some()).count());
        assert_eq!(web.problems().count, 0, "{:?}", web.problems());
    }

    /// Waits until the archive has this many bytes; false if the crawl ended before.
    fn wait_for(&self, bytes: u64, crawl: &mut Child) -> bool {
        while self.archived() < bytes {
            if crawl.try_wait().unwrap().is_some() {
                return false;
            }
            sleep(Duration::from_micros(200));
        }
        true
    }
}

/// A row of the crawl table; fetches are numbered without gaps.
fn fetched(row: &[SqlValue], expected_seq: i64) -> Fetched {
    let [SqlValue::Text(url), SqlValue::Integer(state), place @ .., SqlValue::Integer(seq)] = row else {
        panic!("{row:?}")
    };
    assert_eq!(*seq, expected_seq, "{url}");
    let place = match place {
        [SqlValue::Integer(segment), SqlValue::Integer(offset), SqlValue::Integer(length)] => {
            Some((*segment, usize::try_from(*offset).unwrap(), usize::try_from(*length).unwrap()))
        }
        _ => None,
    };
    Fetched { url: url.clone(), has_response: *state == 1 || *state == 2, place }
}

/// Checks that the bytes are one gzip member or zstd frame with one complete record of this URL.
fn check_record(bytes: &[u8], url: &str) {
    let record = if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut member = GzDecoder::new(bytes);
        let mut record = Vec::new();
        member.read_to_end(&mut record).unwrap_or_else(|error| panic!("{url}: {error}"));
        assert!(member.into_inner().is_empty(), "{url}: something behind the record");
        record
    } else {
        unpack_record(bytes, 0).unwrap_or_else(|error| panic!("{url}: {error}"))
    };
    let head = text(&record).split_inclusive("\r\n\r\n").next().unwrap().to_owned();
    let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    assert!(head.starts_with("WARC/1.1\r\n"), "{url}: {head}");
    assert_eq!((field("WARC-Type"), field("WARC-Target-URI")), (Some("response"), Some(url)));
    let block: usize = field("Content-Length").unwrap().parse().unwrap();
    assert_eq!(record.len(), head.len() + block + "\r\n\r\n".len(), "{url}");
}

pub(crate) fn check(output: &Output, code: i32, words: &str) -> String {
    let said = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(said.contains(words), "no {words:?} in {said}");
    said
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// Deterministic pseudo-random numbers (splitmix64).
pub(crate) struct Draw(pub(crate) u64);

impl Draw {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

/// Kills a crawl this many times, spread over all its pages, every fourth time while it starts. Returns how often it
/// was alive then.
pub(crate) fn kill_often(
    workspace: &Workspace,
    arguments: &[&str],
    all_bytes: u64,
    times: u64,
    draw: &mut Draw,
) -> u64 {
    let mut hits = 0;
    for time in 0..times {
        let mut crawl = workspace.crawl(arguments).spawn().unwrap();
        if time % 4 == 3 {
            sleep(Duration::from_millis(draw.below(80)));
        } else {
            let part = all_bytes / (times + 1);
            workspace.wait_for(part * time + draw.below(part), &mut crawl);
            sleep(Duration::from_micros(draw.below(3_000)));
        }
        // SIGKILL cannot be caught; an error means that the crawl is over.
        let _ = crawl.kill();
        hits += u64::from(crawl.wait().unwrap().signal() == Some(9));
    }
    hits
}

#[test]
fn events_on_standard_output_are_alone_there() {
    let workspace = Workspace::new();
    let output = workspace.crawl(&["--pages", "5", "--events", "-"]).output().unwrap();
    check(&output, 0, "reached --pages");
    let printed = text(&output.stdout);
    let events: Vec<serde_json::Value> =
        printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events.last().unwrap()["event"], "stopped", "{printed}");
    let said = workspace.check(&["--preview", "--domain", "elsewhere.test"], 0, "nothing was changed");
    assert!(
        said.contains("5 of 5 fetched pages would not be fetched under these rules; they stay"),
        "{said}"
    );
}

#[test]
fn a_crawl_that_is_killed_again_and_again_goes_the_same_way() {
    let workspace = Workspace::new();
    let whole = workspace.whole();
    let hits = kill_often(&workspace, &[], whole.archived, 20, &mut Draw(4));
    assert!(hits >= 15, "only {hits} of 20 moments were before the end");
    workspace.check(&[], 0, DONE);
    assert!(whole.urls.len() > 600);
    assert_eq!(workspace.urls(), whole.urls);
    workspace.check_archive();
}

#[test]
fn a_crawl_with_zstd_that_is_killed_has_a_whole_archive() {
    let workspace = Workspace::new().compressed_by("zstd");
    let whole = workspace.whole();
    let hits = kill_often(&workspace, &[], whole.archived, 8, &mut Draw(5));
    assert!(hits >= 4, "only {hits} of 8 moments were before the end");
    workspace.check(&[], 0, DONE);
    assert_eq!(workspace.urls(), whole.urls);
    workspace.check_archive();
    assert!(workspace.segment().to_string_lossy().ends_with("00000.warc.zst"));
    // What other programs read is gzip, record by record.
    workspace.ok(&["export", "warc", "-o", "all.warc.gz"]);
    let file = fs::read(workspace.folder.path().join("all.warc.gz")).unwrap();
    let mut responses = 0;
    for record in WarcReader::new(&file[..]).map(Result::unwrap).filter(WarcRecord::is_http_response) {
        let (start, end) =
            (record.place.offset as usize, (record.place.offset + record.place.length) as usize);
        check_record(&file[start..end], record.target().unwrap());
        responses += 1;
    }
    assert!(file.starts_with(&[0x1f, 0x8b]) && responses > 500, "{responses}");
    workspace.ok(&["export", "cdxj", "-o", "all.cdxj"]);
    let index = fs::read_to_string(workspace.folder.path().join("all.cdxj")).unwrap();
    assert_eq!((index.lines().count(), index.matches("00000.warc.zst").count()), (responses, responses));
    workspace.ok(&["lab", "record", "recorded"]);
    workspace.ok(&["lab", "web-stats", "recorded/web.warc.gz"]);
}

#[test]
fn many_workers_fetch_much_the_same_and_the_same_in_the_end() {
    let workspace = Workspace::new();
    let whole = workspace.whole();
    let set = |urls: &[String]| urls.iter().cloned().collect::<BTreeSet<_>>();
    // With an order that does not change with every page; what a learner does depends on the order of arrival.
    let early = |workers: &str| {
        let workspace = Workspace::new();
        workspace.check(&["--strategy", "soft", "--workers", workers, "--pages", "200"], 0, "");
        set(&workspace.urls())
    };
    let (early, early_of_one) = (early("8"), early("1"));
    let common = early.intersection(&early_of_one).count();
    assert!(common * 10 >= early.union(&early_of_one).count() * 8, "{common} of 200 in common");
    kill_often(&workspace, &["--workers", "8"], whole.archived, 4, &mut Draw(8));
    workspace.check(&["--workers", "8"], 0, DONE);
    assert_eq!(set(&workspace.urls()), set(&whole.urls));
    assert_eq!(workspace.urls().len(), whole.urls.len(), "something twice");
    workspace.check_archive();
}

#[test]
fn an_apprentice_begins_with_what_another_has_learnt() {
    let (watching, own, soft) = (Workspace::new(), Workspace::new(), Workspace::new());
    let folder = |workspace: &Workspace| workspace.folder.path().join("ws").display().to_string();
    let crawl = |workspace: &Workspace, more: &[&str], code| {
        let pages = ["--pages", "120", "--strategy"];
        workspace.check(&[&pages[..], more].concat(), code, "")
    };
    crawl(&watching, &["apprentice:train=0"], 0);
    crawl(&soft, &["soft"], 0);
    assert_eq!(watching.urls(), soft.urls(), "who watches follows soft focus");
    let taught = ["apprentice", "--lessons", &folder(&watching)];
    crawl(&own, &taught, 0);
    assert_ne!(own.urls(), soft.urls());
    assert!(
        crawl(&own, &["soft", "--lessons", &folder(&watching)], 4)
            .contains("--lessons requires --strategy apprentice")
    );
    assert!(
        crawl(&own, &["apprentice", "--lessons", &folder(&soft)], 4)
            .contains("no apprentice was trained in this workspace")
    );
}

#[test]
fn a_crawl_stops_for_a_reason_and_goes_on() {
    let parts = Workspace::new();
    let whole = parts.whole();
    for pages in [100, 200] {
        parts.check(&["--pages", "100"], 0, "reached --pages");
        assert_eq!(parts.pages(), pages, "redirects and failures come on top");
    }
    let before = parts.urls().len();
    parts.check(&["--time", "0s"], 15, "reached --time; run the same command to resume");
    let after_time = parts.urls().len();
    assert!((before..before + 10).contains(&after_time), "{after_time} fetches");
    for signal in ["-INT", "-TERM"] {
        interrupt(&parts, signal);
    }
    assert!(parts.urls().len() > after_time && parts.urls().len() < whole.urls.len());
    parts.check(&[], 0, DONE);
    assert_eq!(parts.urls(), whole.urls);
    parts.check(&["--pages", "5"], 0, DONE);
    parts.check_archive();
}

/// Interrupts a crawl in the middle, as Ctrl-C does.
fn interrupt(workspace: &Workspace, signal: &str) {
    let mut crawl = workspace.crawl(&[]).spawn().unwrap();
    assert!(workspace.wait_for(workspace.archived() + 50_000, &mut crawl));
    let sent = Command::new("kill").args([signal, &crawl.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = crawl.wait_with_output().unwrap();
    check(&output, 11, "interrupted; all fetched pages are stored; run the same command to resume");
}

/// Mounts a small disk that no other process sees, copies the workspace there, and crawls twice: without space for the
/// first page, and with some. Copies the result back to the workspace.
const ON_A_SMALL_DISK: &str = r#"
    mkdir small && mount -t tmpfs none small && cp -r ws small || exit
    room() { mount -o remount,size=$(($(du -sk small | cut -f1) + $1))k small; }
    for kilobytes in 40 1500; do
        room $kilobytes && (cd small && "$@"); echo "exit code $?"
    done
    rm -r ws && cp -r small/ws .
"#;

#[test]
fn a_full_disk_ends_a_crawl_that_goes_on_when_there_is_room() {
    let workspace = Workspace::new();
    let crawl = workspace.crawl(&[]);
    let mut small = Command::new("unshare");
    small.args(["--map-root-user", "--mount", "sh", "-c", ON_A_SMALL_DISK, "sh"]);
    small.arg(crawl.get_program()).args(crawl.get_args()).current_dir(workspace.folder.path());
    let output = match small.output() {
        Ok(output) if !output.stdout.is_empty() => output,
        refused => return eprintln!("skipped: no small disk can be mounted here: {refused:?}"),
    };
    let said = check(&output, 0, "the disk is full; free some space and run the same command to resume");
    assert_eq!(said.matches("exit code 16").count(), 2, "{said}");
    let (before, whole) = (workspace.urls().len(), workspace.whole());
    assert!(before > 0 && before < whole.urls.len(), "{before} fetches");
    workspace.check(&[], 0, DONE);
    assert_eq!(workspace.urls(), whole.urls);
    workspace.check_archive();
}

#[test]
fn hard_focus_runs_dry_and_says_what_it_found() {
    let workspace = Workspace::new();
    let said = workspace.check(&["--strategy", "hard"], 60, "stagnated");
    for words in ["most fetched pages are about", "  /Recreation/Cycling", "--strategy soft"] {
        assert!(said.contains(words), "no {words:?} in {said}");
    }
    let fetched = workspace.urls().len();
    assert!(fetched < 500, "{fetched}");
    // The advice is true.
    assert!(said.contains("`porthole crawl --strategy soft` continues with"), "{said}");
    workspace.check(&["--strategy", "soft", "--pages", "50"], 0, "reached --pages; run the same command");
    assert!(workspace.urls().len() > fetched, "soft focus follows links that hard focus did not");
}

#[test]
fn hubs_are_found_during_a_crawl_unless_that_is_switched_off() {
    let distillations = |more: &[&str], settings: &str| {
        let workspace = Workspace::new();
        let file = workspace.folder.path().join("ws/porthole.toml");
        fs::write(&file, format!("[distill]\n{settings}\n")).unwrap();
        workspace.check(&[&["--pages", "200"], more].concat(), 0, "");
        let reader = SqliteReader::open(workspace.folder.path().join("ws/porthole.db")).unwrap();
        let sql = "select (select count(*) from event where kind = 'distilled'), (select count(*) from hubs where score > 0)";
        let row = reader.sql(sql, &QueryLimits::default()).unwrap().rows.remove(0);
        (row[0].integer().unwrap(), row[1].integer().unwrap())
    };
    let (times, hubs) = distillations(&[], "least = 50\nrest = 60");
    assert!(times >= 2 && hubs > 0, "{times} {hubs}");
    let (times, hubs) = distillations(&[], "");
    assert!(times == 0 && hubs > 0, "not before 2,000 pages, but at the end: {times} {hubs}");
    assert_eq!(distillations(&["--no-hubs"], "least = 50"), (0, 0));
    assert_eq!(distillations(&[], "least = 50\nduring-crawl = false"), (0, 0));
    assert!(distillations(&["--hubs"], "least = 50\nduring-crawl = false").0 > 0);
}

#[test]
fn a_crawl_that_makes_no_sense_does_not_begin() {
    let workspace = Workspace::new();
    fs::write(workspace.folder.path().join("empty.txt"), "# nothing\n").unwrap();
    for (arguments, words) in [
        (&["--start", "no url"][..], "--start no url: no such file; a URL begins with https://"),
        (&["--start", "empty.txt"], "empty.txt: no URL in this file"),
        (&["--language", "xx"], "--language"),
        (&["--site-pages", "0"], "--site-pages"),
        (&["--strategy", "psychic"], "psychic"),
        (&["--pages", "0"], "--pages"),
        (&["--time", "soon"], "--time"),
        (&["--workers", "0"], "--workers"),
    ] {
        workspace.check(arguments, 4, words);
    }
    workspace.ok(&["topics", "unmark", GOOD]);
    workspace.check(&[], 4, "porthole topics mark");
    assert_eq!(workspace.urls(), [""; 0]);
}

#[test]
fn a_crawl_needs_a_critic_and_somewhere_to_start() {
    let workspace = Workspace::untrained();
    workspace.ok(&["topics", "add", "/Birds"]);
    workspace.ok(&["topics", "mark", "/Birds"]);
    workspace.check(&[], 4, "porthole train");
    for (topic, words) in
        [("/Birds", "owl robin nest beak feathers"), ("/Food", "soup onion bread oven salt")]
    {
        fs::write(workspace.folder.path().join("page.txt"), words.repeat(9)).unwrap();
        workspace.ok(&["examples", "add", topic, "page.txt"]);
    }
    workspace.ok(&["train"]);
    workspace.check(&[], 4, "crawl with `--start URL`");
    workspace.check(&["--start", "http://nowhere.test/"], 0, DONE);
}

#[test]
fn soft_focus_finds_more_of_the_good_topic() {
    let good = |strategy: &str| {
        let workspace = Workspace::new();
        workspace.check(&["--strategy", strategy, "--pages", "100"], 0, "");
        let urls = workspace.urls();
        urls.iter().filter(|url| workspace.recording.is_good(url)).count()
    };
    let (soft, unfocused) = (good("soft"), good("unfocused"));
    assert!(soft >= unfocused + 15, "soft {soft}, unfocused {unfocused}");
}
