//! Exports that are cut anywhere continue without a missing or doubled row.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use porthole_export::{CsvPages, Error, ExportOutput, ExportPages, Exported, Result, RowWriter, export};
use porthole_store::{PageFilter, StoredPage};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::crawl::{MANY, many, tree};

/// Fails after some rows, as if the process had been killed.
struct Killed<W> {
    writer: W,
    rows_left: u64,
}

impl<W: RowWriter<StoredPage>> RowWriter<StoredPage> for Killed<W> {
    fn name(&self) -> &'static str {
        self.writer.name()
    }

    fn head(&mut self, file_name: &str, out: &mut Vec<u8>) -> Result<()> {
        self.writer.head(file_name, out)
    }

    fn row(&mut self, page: &StoredPage, out: &mut Vec<u8>) -> Result<Option<String>> {
        if self.rows_left == 0 {
            return Err(Error::Stream(std::io::Error::other("killed")));
        }
        self.rows_left -= 1;
        self.writer.row(page, out)
    }

    fn tail(&mut self, write: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.writer.tail(write)
    }
}

fn run(output: ExportOutput, filter: &PageFilter, rows_left: u64) -> Result<Exported> {
    let (crawl, tree) = (many(), tree());
    let reader = crawl.reader();
    let source = ExportPages::new(&reader, filter.clone(), crawl.folder.path());
    let mut writer = Killed { writer: CsvPages::new(&tree, &crawl.pages()), rows_left };
    export(&source, &mut writer, output.with_checkpoints_every(Duration::ZERO), None, &mut |_, _| {})
}

/// What a kill may leave behind the last checkpoint: part of a row.
fn tear(path: &Path, random: &mut Xoshiro256PlusPlus) {
    if let Ok(mut file) = OpenOptions::new().append(true).open(path) {
        file.write_all(&b"http://torn.test/,200,text"[..(random.next_u64() % 26) as usize]).unwrap();
    }
}

#[test]
fn a_file_is_the_same_however_often_it_was_cut() {
    let folder = tempfile::tempdir().unwrap();
    let filter = PageFilter { min_relevance: Some(0.1), ..PageFilter::default() };
    let whole = folder.path().join("whole.csv");
    let all = run(ExportOutput::file(&whole), &filter, u64::MAX).unwrap();
    assert_eq!((all.rows, all.resumed), (MANY / 100 * 90, 0));
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    for round in 0..4 {
        let path = folder.path().join(format!("cut{round}.csv"));
        let (mut cuts, mut resumed) = (0, 0);
        let done = loop {
            let rows_left = random.next_u64() % 20_000;
            match run(ExportOutput::file(&path), &filter, rows_left) {
                Ok(done) => break done,
                Err(_) => cuts += 1,
            }
            assert!(!path.exists(), "it has its name only when it is whole");
            tear(&path.with_added_extension("part"), &mut random);
        };
        resumed += done.resumed;
        assert!(cuts > 0 && resumed > 0, "{cuts} cuts");
        assert_eq!(done.rows, all.rows);
        assert!(fs::read(&path).unwrap() == fs::read(&whole).unwrap(), "round {round} differs");
    }
}

#[test]
fn a_folder_is_the_same_however_often_it_was_cut() {
    let folder = tempfile::tempdir().unwrap();
    let filter = PageFilter::default();
    let output = |name: &str| ExportOutput::folder(&folder.path().join(name), "csv", 500_000);
    let contents = |name: &str| {
        let mut files: Vec<_> =
            fs::read_dir(folder.path().join(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files.iter().map(|path| fs::read_to_string(path).unwrap()).collect::<Vec<_>>()
    };
    run(output("whole"), &filter, u64::MAX).unwrap();
    let whole = contents("whole");
    assert!(whole.len() > 5, "{} files", whole.len());
    assert!(whole.iter().all(|text| text.starts_with("url,")), "each has a head");
    assert_eq!(whole.iter().map(|text| text.lines().count() as u64 - 1).sum::<u64>(), MANY);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
    for round in 0..3 {
        let name = format!("cut{round}");
        while run(output(&name), &filter, random.next_u64() % 25_000).is_err() {
            let part = folder.path().join(format!("{name}.part"));
            let newest = fs::read_dir(&part).unwrap().map(|entry| entry.unwrap().path());
            let newest = newest.filter(|path| path.extension().is_some_and(|end| end == "csv")).max();
            newest.iter().for_each(|path| tear(path, &mut random));
        }
        assert!(contents(&name) == whole, "round {round} differs");
        let names = fs::read_dir(folder.path().join(&name)).unwrap().count();
        assert_eq!(names, whole.len(), "no checkpoint is left");
    }
    let again = run(output("whole"), &filter, u64::MAX);
    assert!(matches!(again, Err(Error::Exists(_))), "{again:?}");
}

#[test]
fn another_export_starts_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pages.csv");
    run(ExportOutput::file(&path), &PageFilter::default(), 20_000).unwrap_err();
    let good = PageFilter { min_relevance: Some(0.99), ..PageFilter::default() };
    let done = run(ExportOutput::file(&path), &good, u64::MAX).unwrap();
    assert_eq!((done.rows, done.resumed), (MANY / 100, 0));
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count() as u64, MANY / 100 + 1);
    // A checkpoint that is ahead of its file cannot be trusted.
    run(ExportOutput::file(&path), &PageFilter::default(), 20_000).unwrap_err();
    OpenOptions::new().write(true).open(path.with_added_extension("part")).unwrap().set_len(100).unwrap();
    let done = run(ExportOutput::file(&path), &PageFilter::default(), u64::MAX).unwrap();
    assert_eq!((done.rows, done.resumed), (MANY, 0));
}
