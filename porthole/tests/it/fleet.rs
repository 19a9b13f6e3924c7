//! Several worker processes on one PostgreSQL: the same pages as one, also when they are killed or stopped.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Child, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};

use porthole_store::StoreReader;

use crate::crawl::{Workspace, check, porthole};
use crate::postgres::server::PgPlace;

/// Settings under which a worker that is gone is soon missed.
const QUICK: &str = "[fleet]\nsession = \"5s\"\ntakeover = \"1s\"\n";

/// A worker, which is killed if the test fails: it would wait for the database.
struct Worker(Option<Child>);

impl Worker {
    fn child(&mut self) -> &mut Child {
        self.0.as_mut().unwrap()
    }

    fn is_over(&mut self) -> bool {
        self.child().try_wait().unwrap().is_some()
    }

    fn kill(&mut self) {
        self.child().kill().unwrap();
        self.child().wait().unwrap();
    }

    fn signal(&mut self, name: &str) {
        let kill = std::process::Command::new("kill").args([name, &self.child().id().to_string()]).status();
        assert!(kill.unwrap().success());
    }

    fn output(mut self) -> Output {
        self.0.take().unwrap().wait_with_output().unwrap()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The folders of several workers on one database.
struct Fleet {
    place: PgPlace,
    workspace: Workspace,
    folders: Vec<String>,
}

impl Fleet {
    fn new(workers: usize) -> Option<Fleet> {
        let place = PgPlace::new()?;
        let workspace = Workspace::on(&place.url());
        let folder = workspace.folder.path();
        let mut folders = vec!["ws".to_owned()];
        for worker in 1..workers {
            let name = format!("worker{worker}");
            let joined = porthole(folder, &["init", &name, "--db", &place.url(), "--join"]).output().unwrap();
            check(&joined, 0, &format!("worker {worker}"));
            folders.push(name);
        }
        for name in &folders {
            fs::write(folder.join(name).join("porthole.toml"), QUICK).unwrap();
        }
        Some(Fleet { place, workspace, folders })
    }

    fn start(&self, worker: usize) -> Worker {
        self.start_with(worker, &[])
    }

    fn start_with(&self, worker: usize, more: &[&str]) -> Worker {
        let web = self.workspace.recording.web();
        let arguments =
            ["-C", &self.folders[worker], "crawl", "--web", web.to_str().unwrap(), "--workers", "2"];
        Worker(Some(porthole(self.workspace.folder.path(), &[&arguments, more].concat()).spawn().unwrap()))
    }

    fn fetched(&self) -> u64 {
        self.place.sql("select count(*) from \"fetch\"").parse().unwrap()
    }

    /// Waits until this many URLs are fetched; false if nothing runs any more.
    fn wait_for(&self, fetched: u64, crawls: &mut [Worker]) -> bool {
        while self.fetched() < fetched {
            if crawls.iter_mut().all(Worker::is_over) {
                return false;
            }
            sleep(Duration::from_millis(5));
        }
        true
    }

    /// Waits until all crawls have ended, as they should.
    fn finish(&self, crawls: Vec<Worker>) {
        for crawl in crawls {
            let output = crawl.output();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{said}");
        }
    }

    /// Checks that what was fetched is what one worker fetches, each URL once.
    fn check(&self) {
        let whole: BTreeSet<String> = self.workspace.whole().urls.iter().cloned().collect();
        let tried = self.place.reader().tried(None, usize::MAX).unwrap();
        let fetched: BTreeSet<String> = tried.iter().map(|tried| tried.url.clone()).collect();
        assert_eq!(fetched.symmetric_difference(&whole).collect::<Vec<_>>(), Vec::<&String>::new());
        assert_eq!(tried.len(), fetched.len(), "a URL was fetched twice");
        assert_eq!(self.place.sql("select count(*) from crawl where numtries > 1"), "0");
        assert_eq!(self.place.sql("select count(*) - max(rowid) from crawl"), "0");
        assert_eq!(self.place.sql("select count(*) - max(rowid) from edge"), "0");
        assert_eq!(self.place.sql("select count(*) from crawl where state = 0"), "0");
        let counted = "select known, queued, fetched, redirected, dead, skipped, links, sites from counts";
        let states =
            [0, 1, 2, 3, 4].map(|state| format!("(select count(*) from crawl where state = {state})"));
        let count = format!(
            "select (select count(*) from crawl), {}, (select count(*) from edge), (select count(*) from site)",
            states.join(", ")
        );
        assert_eq!(self.place.sql(counted), self.place.sql(&count));
    }
}

#[test]
fn workers_together_fetch_what_one_fetches() {
    for workers in [2, 4] {
        let Some(fleet) = Fleet::new(workers) else { return };
        let crawls: Vec<Worker> = (0..workers).map(|worker| fleet.start(worker)).collect();
        fleet.finish(crawls);
        fleet.check();
        let folder = fleet.workspace.folder.path();
        let status = porthole(folder, &["-C", "worker1", "status"]).output().unwrap();
        check(&status, 0, "no crawl is running");
        // Pages are where their workers put them.
        let segments =
            fleet.place.sql("select count(distinct segment >> 20) from crawl where segment is not null");
        assert!(segments.parse::<usize>().unwrap() > 1, "one worker fetched everything");
    }
}

#[test]
fn workers_share_a_limit_of_pages() {
    let Some(fleet) = Fleet::new(2) else { return };
    let pages = || fleet.place.sql("select count(*) from crawl where state = 1");
    // A new run has a limit of its own.
    for total in ["70", "140"] {
        fleet.finish((0..2).map(|worker| fleet.start_with(worker, &["--pages", "70"])).collect());
        assert_eq!(pages(), total);
    }
    assert_eq!(fleet.place.sql("select count(*) from crawl where numtries > 1"), "0");
}

#[test]
fn a_killed_worker_is_replaced_and_comes_back() {
    let Some(fleet) = Fleet::new(3) else { return };
    let mut crawls: Vec<Worker> = (0..3).map(|worker| fleet.start(worker)).collect();
    for (at, victim) in [(60, 1), (140, 0), (220, 2)] {
        if !fleet.wait_for(at, &mut crawls) {
            break;
        }
        crawls[victim].kill();
        if victim != 1 {
            crawls[victim] = fleet.start(victim);
        }
    }
    drop(crawls.remove(1));
    fleet.finish(crawls);
    fleet.check();
}

#[test]
fn a_worker_that_was_asleep_writes_nothing_and_joins_again() {
    let Some(fleet) = Fleet::new(2) else { return };
    let mut crawls: Vec<Worker> = (0..2).map(|worker| fleet.start(worker)).collect();
    assert!(fleet.wait_for(60, &mut crawls), "the crawl was over too early");
    crawls[1].signal("-STOP");
    let shards = || fleet.place.sql("select count(*) from shard where owner = 1");
    let began = Instant::now();
    while shards() != "0" {
        assert!(began.elapsed() < Duration::from_secs(60), "its shards were not taken over");
        sleep(Duration::from_millis(50));
    }
    crawls[1].signal("-CONT");
    fleet.finish(crawls);
    fleet.check();
}

#[test]
fn workers_wait_for_a_database_that_is_away() {
    let Some(fleet) = Fleet::new(2) else { return };
    let mut crawls: Vec<Worker> = (0..2).map(|worker| fleet.start(worker)).collect();
    assert!(fleet.wait_for(60, &mut crawls), "the crawl was over too early");
    fleet.place.cut();
    sleep(Duration::from_secs(3));
    assert!(!crawls.iter_mut().any(Worker::is_over), "a worker gave up");
    fleet.place.restore();
    let ended: Vec<_> = crawls.into_iter().map(Worker::output).collect();
    for output in &ended {
        check(output, 0, "waiting for the database");
        check(output, 0, "the crawl goes on");
    }
    fleet.check();
}

#[test]
fn commands_reach_all_workers() {
    let Some(fleet) = Fleet::new(2) else { return };
    let folder = fleet.workspace.folder.path();
    let web = fleet.workspace.recording.web();
    // Slow enough to be there when it is spoken to.
    let judge = "while read line; do sleep 0.02; echo '{\"relevance\": 0.9}'; done";
    let start = |name: &str| {
        let arguments = [
            "-C",
            name,
            "crawl",
            "--web",
            web.to_str().unwrap(),
            "--judge",
            judge,
            "--patience",
            "0",
            "--workers",
            "2",
        ];
        Worker(Some(porthole(folder, &arguments).spawn().unwrap()))
    };
    let mut crawls = vec![start("ws"), start("worker1")];
    assert!(fleet.wait_for(20, &mut crawls), "the crawls ended");
    let began = Instant::now();
    while fleet.place.sql("select count(distinct owner) from shard where owner is not null") != "2" {
        assert!(began.elapsed() < Duration::from_secs(60), "the second worker got no shards");
        sleep(Duration::from_millis(50));
    }
    let status = porthole(folder, &["-C", "worker1", "status"]).output().unwrap();
    let said = check(&status, 0, "worker 0");
    assert!(said.contains("worker 1"), "{said}");
    let ask = |arguments: &[&str]| {
        let output = porthole(folder, &[&["-C", "worker1"], arguments].concat()).output().unwrap();
        check(&output, 0, "running crawl")
    };
    ask(&["pause"]);
    // What was under way is judged and stored; then nothing happens any more.
    let mut paused = fleet.fetched();
    loop {
        sleep(Duration::from_millis(1_000));
        let now = fleet.fetched();
        if now == paused {
            break;
        }
        paused = now;
    }
    assert!(!crawls.iter_mut().any(Worker::is_over), "a worker went on to the end");
    ask(&["resume"]);
    assert!(fleet.wait_for(paused + 5, &mut crawls));
    ask(&["stop"]);
    for crawl in crawls {
        let output = crawl.output();
        assert_eq!(output.status.code(), Some(11), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(fleet.place.sql("select count(*) from command where answered is null"), "0");
}
