//! Recovery from a power cut or a damaged disk: the crawl continues and loses as little as possible.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex};

use porthole_store::{SqliteStore, TriedUrl};
use porthole_strategy::{CrawlGoal, named};
use porthole_types::{ManualClock, Mark, SegmentCompression};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::kill_tests::{Pages, STARTS, web};
use super::tests::{WordJudge, scratch};
use crate::engine::durability::Stage;
use std::ops::ControlFlow;
use std::time::Duration;

use porthole_store::WorkspaceWriter;
use porthole_types::{CanonicalUrl, Timestamp};

use super::crawl::*;
use crate::archive::{ArchiveCompression, Keep};
use crate::read_page;
use crate::recovery::LostPages;
use crate::result::Focus;

static CLOCK: LazyLock<ManualClock> = LazyLock::new(|| ManualClock::at(Timestamp(1_000)));

/// Small enough that the sixty pages fill several segments.
const SEGMENT_BYTES: u64 = 3_000;

fn open<'a>(web: &'a Pages, store: &'a mut SqliteStore, pages: &Path) -> Crawl<'a> {
    open_at(web, store, pages, (&CLOCK, ArchiveCompression::default()))
}

fn open_at<'a>(
    web: &'a Pages,
    store: &'a mut SqliteStore,
    pages: &Path,
    (clock, compression): (&'a ManualClock, ArchiveCompression),
) -> Crawl<'a> {
    let strategy = named("opic", &CrawlGoal::nothing(1)).unwrap();
    let focus = Focus { judge: Box::new(WordJudge("owl")), strategy, marks: vec![Mark::Path, Mark::Good] };
    let crawl = Crawl::new(web, store, clock).unwrap().focused(focus);
    let mut crawl = crawl.archived_as(pages, Keep::All, compression).unwrap();
    crawl.start(&STARTS.map(|url| CanonicalUrl::parse(url).unwrap())).unwrap();
    crawl
}

fn run(crawl: &mut Crawl<'_>, fetches: u64) -> Stop {
    let mut observe = |_: Seen<'_>| ControlFlow::Continue(());
    let limits = Limits { fetches, ..Limits::default() };
    pollster::block_on(crawl.run(limits, &mut observe)).unwrap()
}

fn tried(store: &SqliteStore) -> Vec<TriedUrl> {
    store.reader().tried(None, usize::MAX).unwrap()
}

/// Reads every archived page. Returns the URLs that were fetched, are lost, and have to be fetched again.
fn check_pages(store: &SqliteStore, pages: &Path) -> Vec<String> {
    let mut lost = Vec::new();
    for row in tried(store) {
        let url = CanonicalUrl::parse(&row.url).unwrap();
        match row.span {
            Some(span) => drop(read_page(pages, &url, span).unwrap()),
            None if row.judgment.is_some() => {
                assert!(!row.is_done, "{url} is lost and not queued");
                lost.push(row.url);
            }
            None => {}
        }
    }
    lost
}

/// The URLs whose pages are archived.
fn kept(store: &SqliteStore) -> BTreeSet<String> {
    tried(store).into_iter().filter(|row| row.span.is_some()).map(|row| row.url).collect()
}

/// The URLs that a crawl finds without a power cut.
fn undisturbed(web: &Pages) -> BTreeSet<String> {
    let (folder, mut store) = scratch();
    run(&mut open(web, &mut store, &folder.path().join("pages")), u64::MAX);
    kept(&store)
}

#[test]
fn a_truncated_segment_does_not_stop_the_crawl() {
    let (folder, mut store) = scratch();
    let (web, pages) = (web(), folder.path().join("pages"));
    let mut crawl = open(&web, &mut store, &pages);
    assert_eq!(run(&mut crawl, 20), Stop::Limit);
    crawl.writer.forget_memory().unwrap();
    drop(crawl);
    let segment = pages.join("00000.warc.gz");
    let bytes = fs::read(&segment).unwrap();
    fs::write(&segment, &bytes[..bytes.len() - 3_000]).unwrap();
    let before = kept(&store).len() as u64;
    let mut crawl = open(&web, &mut store, &pages);
    let lost = crawl.lost_pages().queued_again;
    assert!(lost > 3 && lost < before, "{lost} of {before}");
    assert_eq!(run(&mut crawl, u64::MAX), Stop::Exhausted);
    assert_eq!(crawl.lost_pages(), LostPages { queued_again: lost, unreadable: 0 });
    drop(crawl);
    assert!(check_pages(&store, &pages).is_empty());
    assert_eq!(kept(&store), undisturbed(&web));
    assert_eq!(fs::read(&segment).unwrap().len(), bytes.len() - 3_000, "no offset is used again");
}

#[test]
fn damage_and_a_torn_end_cost_no_other_page() {
    let (folder, mut store) = scratch();
    let (web, pages) = (web(), folder.path().join("pages"));
    let mut crawl = open(&web, &mut store, &pages);
    run(&mut crawl, u64::MAX);
    crawl.writer.forget_memory().unwrap();
    drop(crawl);
    let before = kept(&store).len();
    let segment = pages.join("00000.warc.gz");
    let mut bytes = fs::read(&segment).unwrap();
    bytes.truncate(bytes.len() - 100);
    bytes[1_000] ^= 1;
    fs::write(&segment, &bytes).unwrap();
    let mut crawl = open(&web, &mut store, &pages);
    assert_eq!(run(&mut crawl, 0), Stop::Limit);
    // The strategy, which sees everything again, misses the page with the flipped byte.
    assert_eq!(crawl.lost_pages(), LostPages { queued_again: 1, unreadable: 1 });
    assert_eq!(fs::read(&segment).unwrap(), bytes);
    drop(crawl);
    assert_eq!(kept(&store).len(), before - 1);
}

#[test]
fn the_same_crawl_writes_the_same_bytes() {
    let web = web();
    let written = |fetches| {
        let (folder, mut store) = scratch();
        let pages = folder.path().join("pages");
        while run(&mut open(&web, &mut store, &pages), fetches) != Stop::Exhausted {}
        fs::read(pages.join("00000.warc.gz")).unwrap()
    };
    let whole = written(u64::MAX);
    assert_eq!(written(u64::MAX), whole);
    assert_eq!(written(7), whole, "with stops");
}

/// The state of the files at one moment of a crawl.
#[derive(Clone, Debug)]
struct FileState {
    /// `None` for a commit.
    stage: Option<Stage>,
    /// Lengths of the database's log and of the segments.
    log: usize,
    segments: Vec<usize>,
}

/// The files of a crawl, and their states over time. The database file itself does not change.
struct Recording {
    database: Vec<u8>,
    log: Vec<u8>,
    segments: Vec<Vec<u8>>,
    compression: ArchiveCompression,
    states: Vec<FileState>,
}

fn segments(pages: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(pages).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn record(web: &Pages, workers: usize, compression: ArchiveCompression) -> Recording {
    let (folder, mut store) = scratch();
    let pages = folder.path().join("pages");
    let [database, log] = ["crawl.db", "crawl.db-wal"].map(|name| folder.path().join(name));
    let size = |path: &PathBuf| usize::try_from(fs::metadata(path).unwrap().len()).unwrap();
    let states = Arc::new(Mutex::new(Vec::new()));
    let note = {
        let (states, log, pages) = (states.clone(), log.clone(), pages.clone());
        move |stage| {
            // Before taking the lock, so that a sync does not seem to cover later writes.
            let segments = segments(&pages).iter().map(size).collect();
            let state = FileState { stage, log: size(&log), segments };
            states.lock().unwrap().push(state);
        }
    };
    let clock = ManualClock::at(Timestamp(1_000));
    let mut crawl = open_at(web, &mut store, &pages, (&clock, compression));
    crawl.writer.archive.as_mut().unwrap().0.segment_bytes = SEGMENT_BYTES;
    crawl.writer.syncing.pause = Duration::from_millis(5);
    note(None);
    let initial = fs::read(&database).unwrap();
    let watch = note.clone();
    crawl.writer.syncing.watch = Some(Arc::new(move |stage| {
        if stage != Stage::Begins {
            // Simulates a disk so slow that the crawl continues meanwhile.
            std::thread::sleep(Duration::from_millis(20));
        }
        watch(Some(stage));
    }));
    let mut observe = |_: Seen<'_>| {
        std::thread::sleep(Duration::from_millis(4));
        clock.advance(Duration::from_millis(4));
        note(None);
        ControlFlow::Continue(())
    };
    let limits = Limits { workers, ..Limits::default() };
    let stop = pollster::block_on(crawl.run(limits, &mut observe)).unwrap();
    assert_eq!(stop, Stop::Exhausted);
    drop(crawl);
    assert_eq!(fs::read(&database).unwrap(), initial, "the log was checkpointed");
    Recording {
        database: initial,
        log: fs::read(log).unwrap(),
        segments: segments(&pages).iter().map(|path| fs::read(path).unwrap()).collect(),
        compression,
        states: states.lock().unwrap().clone(),
    }
}

/// Random numbers.
struct RandomNumbers(SplitMix64);

impl RandomNumbers {
    fn between(&mut self, min: usize, most: usize) -> usize {
        min + (self.0.next_u64() % (most - min + 1) as u64) as usize
    }
}

impl Recording {
    /// The state at the start of the last sync that had reached `stage` by `cut`. The sync covers what was written
    /// until then.
    fn covered(&self, cut: usize, stage: Stage) -> &FileState {
        let mut covered = &self.states[0];
        let mut initial = covered;
        for state in &self.states[..=cut] {
            match state.stage {
                Some(Stage::Begins) => initial = state,
                Some(reached) if reached == stage => covered = initial,
                _ => {}
            }
        }
        covered
    }

    /// Writes what a power cut may leave: everything that was synced, and any part of the rest.
    fn cut_power(&self, cut: usize, random: &mut RandomNumbers, folder: &Path) {
        let now = &self.states[cut];
        // Often the worst case: the whole log, and nothing of the segments that was not synced.
        let log = random.between(self.covered(cut, Stage::DatabaseIsSynced).log, now.log);
        let log = if random.between(0, 1) == 0 { now.log } else { log };
        fs::write(folder.join("crawl.db"), &self.database).unwrap();
        fs::write(folder.join("crawl.db-wal"), &self.log[..log]).unwrap();
        let synced = &self.covered(cut, Stage::SegmentsAreSynced).segments;
        let pages = folder.join("pages");
        fs::create_dir(&pages).unwrap();
        for (number, &written) in now.segments.iter().enumerate() {
            let synced = synced.get(number).copied().unwrap_or(0);
            let mut bytes = self.segments[number][..written].to_vec();
            damage(&mut bytes, synced, random);
            fs::write(pages.join(self.compression.format.file_name(number as u32)), bytes).unwrap();
        }
    }
}

/// Damages any of the bytes that are not synced.
fn damage(bytes: &mut Vec<u8>, synced: usize, random: &mut RandomNumbers) {
    const BLOCK: usize = 512;
    let from = random.between(synced, bytes.len());
    let from = if random.between(0, 1) == 0 { synced } else { from };
    match random.between(0, 4) {
        0 => bytes.truncate(from),
        1 => bytes[from..].fill(0),
        2 => bytes[from..].iter_mut().for_each(|byte| *byte = random.between(0, 255) as u8),
        3 => {
            for start in (synced..bytes.len()).step_by(BLOCK) {
                if random.between(0, 1) == 0 {
                    let end = bytes.len().min(start + BLOCK);
                    bytes[start..end].fill(0);
                }
            }
        }
        _ => {}
    }
}

#[test]
fn a_power_cut_costs_no_page() {
    let web = web();
    let all = undisturbed(&web);
    let mut random = RandomNumbers(SplitMix64::seed_from_u64(7));
    let mut lost_pages = 0;
    let gzip = ArchiveCompression::default();
    let zstd = ArchiveCompression { format: SegmentCompression::Zstd, ..gzip };
    let ways = [(1, gzip), (4, gzip), (4, zstd)];
    for (workers, compression) in ways {
        let recording = record(&web, workers, compression);
        let syncs = recording.states.iter().filter(|state| state.stage == Some(Stage::DatabaseIsSynced));
        let (segments, syncs) = (recording.segments.len(), syncs.count());
        assert!(segments > 2 && syncs > 1, "the test is too easy: {segments} segments, {syncs} syncs");
        for _ in 0..100 {
            let cut = random.between(0, recording.states.len() - 1);
            let folder = tempfile::tempdir().unwrap();
            let pages = folder.path().join("pages");
            recording.cut_power(cut, &mut random, folder.path());
            let mut store = SqliteStore::open(folder.path().join("crawl.db")).unwrap();
            let again = (&*CLOCK, compression);
            let lost = open_at(&web, &mut store, &pages, again).lost_pages().queued_again;
            assert_eq!(check_pages(&store, &pages).len() as u64, lost);
            lost_pages += lost;
            let mut crawl = open_at(&web, &mut store, &pages, again);
            assert_eq!(crawl.lost_pages(), LostPages::default(), "a second open finds nothing");
            assert_eq!(run(&mut crawl, u64::MAX), Stop::Exhausted);
            assert_eq!(crawl.lost_pages(), LostPages::default());
            drop(crawl);
            assert!(check_pages(&store, &pages).is_empty());
            assert_eq!(kept(&store), all);
        }
    }
    assert!(lost_pages > 10, "the test is too easy: {lost_pages} pages lost");
}

#[test]
fn a_crawl_waits_for_a_disk_that_does_not_keep_up() {
    let (folder, mut store) = scratch();
    let web = web();
    let clock = ManualClock::at(Timestamp(1_000));
    let mut crawl =
        open_at(&web, &mut store, &folder.path().join("pages"), (&clock, ArchiveCompression::default()));
    crawl.writer.syncing.pause = Duration::from_millis(10);
    crawl.writer.syncing.at_risk = Duration::from_millis(50);
    // Pages committed, committed when the last sync began, and synced.
    let counts = Arc::new(Mutex::new((0, 0, 0)));
    let watched = counts.clone();
    crawl.writer.syncing.watch = Some(Arc::new(move |stage| match stage {
        Stage::Begins => {
            let mut counts = watched.lock().unwrap();
            counts.1 = counts.0;
        }
        Stage::SegmentsAreSynced => std::thread::sleep(Duration::from_millis(150)),
        Stage::DatabaseIsSynced => {
            let mut counts = watched.lock().unwrap();
            counts.2 = counts.1;
        }
    }));
    let mut most = 0;
    let mut observe = |_: Seen<'_>| {
        clock.advance(Duration::from_millis(5));
        let mut counts = counts.lock().unwrap();
        counts.0 += 1;
        most = most.max(counts.0 - counts.2);
        ControlFlow::Continue(())
    };
    pollster::block_on(crawl.run(Limits::default(), &mut observe)).unwrap();
    // A page takes 5 ms, so at most ten commits are at risk after 50 ms. Without waiting it would be nearly sixty.
    assert!((2..=10).contains(&most), "{most}");
}
