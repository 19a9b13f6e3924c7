//! Speed of storing results while the frontier grows, and the size of a known URL.
//!
//! `cargo bench -p porthole-store -- [--urls N] [--steady]`. Each page has 53 links, 15 of them new and 38 to known
//! URLs, sampled uniformly. A link's estimate is the relevance of its page, so known URLs are raised whenever it
//! exceeds their estimate; with `--steady` links to known URLs never change anything.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use porthole_store::{Batch, SqliteStore, Store, WorkspaceWriter};
use porthole_types::{
    CanonicalUrl, Judgment, LinkRow, NewUrl, Outcome, PageResult, SegmentSpan, Timestamp, TopicId, UrlId,
    Work,
};

const NEW_LINKS: u64 = 15;
const KNOWN_LINKS: u64 = 38;
const TAKEN: usize = 1000;
const BATCH: usize = 500;
const MILLION: u64 = 1_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let after = |name: &str| arguments.iter().position(|a| a == name).and_then(|at| arguments.get(at + 1));
    if let Some(path) = after("--open") {
        return reopen(Path::new(path));
    }
    let urls = after("--urls").map_or(Ok(5 * MILLION), |n| n.parse())?;
    let steady = arguments.iter().any(|a| a == "--steady");
    // Beside the executable: a real disk, since the folder for temporary files may be in memory.
    let home = std::env::current_exe()?.parent().map(Path::to_path_buf).unwrap_or_default();
    let path = home.join(format!("store-bench-{}.db", std::process::id()));
    let outcome = run(&path, urls, steady).and_then(|()| {
        let status = Command::new(&arguments[0]).arg("--open").arg(&path).status()?;
        status.success().then_some(()).ok_or_else(|| "the store could not be opened again".into())
    });
    clean_up(&path);
    outcome
}

fn run(path: &Path, urls: u64, steady: bool) -> Result<(), Box<dyn Error>> {
    let mut store = SqliteStore::open(path)?;
    let mut web = Web::new(steady);
    let starts: Vec<NewUrl> = (0..1000).map(|_| web.new_url(0.5)).collect();
    store.add(&starts)?;
    let base = resident("VmRSS");
    println!("53 links a page, 15 new; batches of {BATCH} pages; {urls} URLs; steady: {steady}");
    let (mut whole, mut lap) = (Lap::default(), Lap::default());
    while (store.counts().known as u64) < urls {
        let before = store.counts().known as u64 / MILLION;
        lap.add(&step(&mut store, &mut web)?);
        let known = store.counts().known as u64;
        if known / MILLION > before || known >= urls {
            println!("{:>9} URLs: {}", known, lap.report());
            whole.add(&std::mem::take(&mut lap));
        }
    }
    println!("    whole run: {}", whole.report());
    let counts = store.counts();
    println!("memory: {} before, {} at the end, {} at most", base, resident("VmRSS"), resident("VmHWM"));
    println!("counts: {counts:?}");
    sizes(&store, path, counts.known, counts.links)?;
    Ok(())
}

/// Takes work, makes results for it, and commits them.
fn step(store: &mut SqliteStore, web: &mut Web) -> Result<Lap, Box<dyn Error>> {
    let mut lap = Lap::default();
    let (start, busy) = (Instant::now(), cpu());
    let work = store.take(TAKEN, Timestamp(web.seq))?;
    lap.take += start.elapsed();
    lap.cpu += cpu() - busy;
    for part in work.chunks(BATCH) {
        let start = Instant::now();
        let results: Vec<PageResult> = part.iter().map(|work| web.fetch(work)).collect();
        lap.make += start.elapsed();
        let (start, busy) = (Instant::now(), cpu());
        let done = store.commit(&Batch { results: &results, ..Batch::default() })?;
        lap.commit += start.elapsed();
        lap.cpu += cpu() - busy;
        lap.pages += results.len();
        lap.raised += done.believed;
    }
    Ok(lap)
}

#[derive(Default)]
struct Lap {
    pages: usize,
    raised: usize,
    take: Duration,
    commit: Duration,
    make: Duration,
    /// CPU time for taking and committing, which does not depend on other load.
    cpu: Duration,
}

impl Lap {
    fn add(&mut self, other: &Lap) {
        self.pages += other.pages;
        self.raised += other.raised;
        self.take += other.take;
        self.commit += other.commit;
        self.make += other.make;
        self.cpu += other.cpu;
    }

    fn report(&self) -> String {
        let pages = self.pages as f64;
        let store = (self.take + self.commit).as_secs_f64();
        format!(
            "{:>6.0} pages/s; a page: {:.1} us commit, {:.1} us take (of both {:.1} us on a processor), {:.1} URLs \
             raised; making the input {:.1} us",
            pages / store,
            self.commit.as_secs_f64() * 1e6 / pages,
            self.take.as_secs_f64() * 1e6 / pages,
            self.cpu.as_secs_f64() * 1e6 / pages,
            self.raised as f64 / pages,
            self.make.as_secs_f64() * 1e6 / pages,
        )
    }
}

/// A web without state: every URL is computed from its number.
struct Web {
    root: CanonicalUrl,
    text: String,
    urls: u64,
    random: u64,
    seq: i64,
    steady: bool,
}

impl Web {
    fn new(steady: bool) -> Self {
        let root = CanonicalUrl::parse("http://root.test/").expect("a URL");
        Web { root, text: String::new(), urls: 0, random: 1, seq: 0, steady }
    }

    fn fetch(&mut self, work: &Work) -> PageResult {
        self.seq += 1;
        let relevance = self.relevance();
        let links = (0..NEW_LINKS + KNOWN_LINKS).map(|at| self.link(at, relevance)).collect();
        PageResult {
            seq: self.seq.cast_unsigned(),
            oid: work.oid,
            sid: work.sid,
            at: Timestamp(1_790_000_000_000 + self.seq),
            status: 200,
            outcome: Outcome::Fetched,
            judgment: Some(Judgment { relevance, best: TopicId(300) }),
            title: "A page about something, with a title".into(),
            language: "en".into(),
            bytes: 37_000,
            simhash: self.next(),
            terms: Vec::new(),
            copy_of: None,
            validators: None,
            next_visit: None,
            span: Some(SegmentSpan { segment: 12, offset: self.seq.cast_unsigned() * 9_000, length: 9_000 }),
            links,
        }
    }

    fn link(&mut self, at: u64, relevance: f64) -> LinkRow {
        let new = at % 7 < 2 && at / 7 * 2 + at % 7 < NEW_LINKS;
        let target = if new { self.new_url(relevance) } else { self.known_url(relevance) };
        // An anchor text of two or three words.
        LinkRow { anchor: Some("a text of a link.".into()), ..LinkRow::to(target) }
    }

    fn new_url(&mut self, relevance: f64) -> NewUrl {
        self.urls += 1;
        self.url(self.urls - 1, relevance)
    }

    fn known_url(&mut self, relevance: f64) -> NewUrl {
        let number = self.next() % self.urls;
        self.url(number, if self.steady { 0.0 } else { relevance })
    }

    fn url(&mut self, number: u64, relevance: f64) -> NewUrl {
        self.text.clear();
        let site = number / 24;
        write!(self.text, "http://www.site{site}.example.org/articles/{}/page-{number}.html", number % 12)
            .expect("writing to a string");
        let url = self.root.join(&self.text).expect("a URL");
        NewUrl { url, relevance, priority: relevance, depth: 0 }
    }

    /// A third of the pages is about the topic.
    fn relevance(&mut self) -> f64 {
        let part = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        if self.next().is_multiple_of(3) { 0.8 + 0.2 * part } else { 0.2 * part }
    }

    fn next(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        UrlId(self.random ^ (self.random >> 31)).0.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 7
    }
}

/// Opens the store in a separate process, to measure its memory alone.
fn reopen(path: &Path) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let mut store = SqliteStore::open(path)?;
    let (opened, memory) = (start.elapsed(), resident("VmRSS"));
    let work = store.take(TAKEN, Timestamp(i64::MAX))?;
    println!(
        "opened again in {:.2} s, the first {} URLs taken {:.3} s later",
        opened.as_secs_f64(),
        work.len(),
        (start.elapsed() - opened).as_secs_f64()
    );
    println!("memory after opening: {memory}, at most {}", resident("VmHWM"));
    Ok(())
}

fn sizes(store: &SqliteStore, path: &Path, urls: usize, links: usize) -> Result<(), Box<dyn Error>> {
    let sql = "select name, sum(pgsize) from dbstat where aggregate = true group by name";
    let limits = porthole_store::QueryLimits { time: Duration::from_secs(600), ..Default::default() };
    let answer = store.reader().sql(sql, &limits)?;
    for row in &answer.rows {
        let [porthole_store::SqlValue::Text(name), porthole_store::SqlValue::Integer(bytes)] = row.as_slice()
        else {
            continue;
        };
        let per = |count: usize| *bytes as f64 / count as f64;
        match name.as_str() {
            "crawl" => println!("disk: crawl {bytes} bytes, {:.1} a URL", per(urls)),
            "edge" => println!("disk: edge {bytes} bytes, {:.1} a link", per(links)),
            _ => {}
        }
    }
    println!("disk: {} bytes in all", std::fs::metadata(path)?.len());
    Ok(())
}

/// CPU time of this thread.
fn cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or(0))
}

/// A line of the process's status file.
fn resident(name: &str) -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.map_or_else(|| "unknown".into(), |line| line.trim().to_owned())
}

fn clean_up(path: &Path) {
    for end in ["", "-wal", "-shm", "-lock"] {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        let _ = std::fs::remove_file(PathBuf::from(name));
    }
}
