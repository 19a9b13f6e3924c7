//! Time and size of packing pages.
//!
//! `cargo bench -p porthole-warc -- [FILE.warc.gz …]`; without files, the recorded webs in `$CORPORA`, else in
//! `../shared/corpora`. Every page is packed by each method in turn, in several rounds; for each method and page the
//! fastest round counts, because it is the least disturbed.

use std::fs::File;
use std::hint::black_box;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use flate2::{Compress, Compression, FlushCompress};
use libdeflater::{CompressionLvl, Compressor};
use porthole_types::Headers;
use porthole_warc::{BLOCK_LIMIT, Digest, RecordFormat, WarcReader, WarcResponse, WarcWriter};

const ROUNDS: usize = 15;
const PAGES: usize = 400;

struct BenchPage {
    url: String,
    headers: Headers,
    body: Vec<u8>,
}

fn main() {
    let mut files: Vec<PathBuf> =
        std::env::args().skip(1).filter(|word| !word.starts_with('-')).map(PathBuf::from).collect();
    if files.is_empty() {
        let folder = std::env::var_os("CORPORA").map_or_else(
            || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpora"),
            PathBuf::from,
        );
        files = ["schools", "webkb"].map(|name| folder.join(format!("{name}.warc.gz"))).into();
    }
    for path in files {
        match File::open(&path) {
            Ok(file) => measure(&path, &read(file)),
            Err(error) => println!("{}: skipped, {error}", path.display()),
        }
    }
}

fn read(file: File) -> Vec<BenchPage> {
    let page = |record: porthole_warc::WarcRecord| {
        let answer = record.is_http_response().then(|| record.http(BLOCK_LIMIT))?.ok()?;
        Some(BenchPage { url: record.target()?.to_owned(), headers: answer.headers, body: answer.body })
    };
    let records = WarcReader::new(file).map(|record| record.expect("the file can be read"));
    records.filter_map(page).take(PAGES).collect()
}

fn measure(path: &Path, pages: &[BenchPage]) {
    let bytes: usize = pages.iter().map(|page| page.body.len()).sum();
    println!("{}: {} pages of {} bytes", path.display(), pages.len(), bytes / pages.len().max(1));
    let mut level_1 = Compress::new_gzip(Compression::new(1), 15);
    let writer = |level| WarcWriter::new(Vec::new(), RecordFormat::Gzip, 1).with_level(level);
    let (mut quick, mut packer) = (writer(1), writer(1));
    let file = tempfile::tempfile().expect("a file can be made");
    let mut segment = WarcWriter::new(BufferedFile { file, bytes: Vec::new() }, RecordFormat::Gzip, 1);
    let mut ways: Vec<Way<'_>> = vec![
        Way::new("SHA-1", Box::new(|page| (black_box(Digest::of(&page.body)), 0).1)),
        Way::new("zlib-rs, level 1", Box::new(move |page| deflate(&mut level_1, &page.body))),
        Way::new("record, level 1", Box::new(move |page| record(&mut quick, page).len())),
        Way::new(
            "record, level 1, and append",
            Box::new(move |page| {
                let packed = record(&mut packer, page);
                segment.append(&packed).expect("there is room for a page");
                packed.len()
            }),
        ),
    ];
    let levels = [
        (-7, "record, zstd level -7"),
        (-5, "record, zstd level -5"),
        (-3, "record, zstd level -3"),
        (-1, "record, zstd level -1"),
        (1, "record, zstd level 1"),
        (2, "record, zstd level 2"),
        (3, "record, zstd level 3"),
    ];
    for (level, name) in levels {
        let mut zstd = WarcWriter::new(Vec::new(), RecordFormat::Zstd, 1).with_level(level);
        ways.push(Way::new(name, Box::new(move |page| record(&mut zstd, page).len())));
    }
    let levels = [
        (1, "record, libdeflate level 1"),
        (2, "record, libdeflate level 2"),
        (3, "record, libdeflate level 3"),
    ];
    for (level, name) in levels {
        let mut plain = WarcWriter::new(Vec::new(), RecordFormat::Plain, 1);
        let mut libdeflate = Compressor::new(CompressionLvl::new(level).expect("a level that it has"));
        let pack = move |page: &BenchPage| gzip(&mut libdeflate, &record(&mut plain, page)).len();
        ways.push(Way::new(name, Box::new(pack)));
    }
    for _ in 0..ROUNDS {
        for (at, page) in pages.iter().enumerate() {
            ways.iter_mut().for_each(|way| way.run(at, page));
        }
    }
    for way in &ways {
        let micros = way.quickest.iter().sum::<Duration>().as_secs_f64() * 1e6;
        let ratio = way.packed.iter().sum::<usize>() as f64 / bytes as f64;
        println!("  {:<28} {:7.1} µs a page, ratio {ratio:.3}", way.name, micros / pages.len() as f64);
    }
}

/// A method of packing a page, which returns the packed bytes.
struct Way<'a> {
    name: &'static str,
    pack: Box<dyn FnMut(&BenchPage) -> usize + 'a>,
    quickest: Vec<Duration>,
    packed: Vec<usize>,
}

impl<'a> Way<'a> {
    fn new(name: &'static str, pack: Box<dyn FnMut(&BenchPage) -> usize + 'a>) -> Self {
        Way { name, pack, quickest: Vec::new(), packed: Vec::new() }
    }

    fn run(&mut self, at: usize, page: &BenchPage) {
        let start = Instant::now();
        let packed = black_box((self.pack)(page));
        let took = start.elapsed();
        match self.quickest.get_mut(at) {
            Some(quickest) => *quickest = took.min(*quickest),
            None => {
                self.quickest.push(took);
                self.packed.push(packed);
            }
        }
    }
}

fn deflate(deflate: &mut Compress, body: &[u8]) -> usize {
    let mut out = Vec::with_capacity(body.len() + body.len() / 10 + 100);
    deflate.reset();
    deflate.compress_vec(body, &mut out, FlushCompress::Finish).expect("deflate takes any bytes");
    out.len()
}

fn gzip(compressor: &mut Compressor, record: &[u8]) -> Vec<u8> {
    let mut out = vec![0; compressor.gzip_compress_bound(record.len())];
    let length = compressor.gzip_compress(record, &mut out).expect("there is room for any record");
    out.truncate(length);
    out
}

fn record(writer: &mut WarcWriter<Vec<u8>>, page: &BenchPage) -> Vec<u8> {
    writer.response(&WarcResponse::new(&page.url, &page.headers, &page.body)).expect("memory takes all");
    std::mem::take(writer.get_mut())
}

/// A file that is written in large pieces, as segments are.
struct BufferedFile {
    file: File,
    bytes: Vec<u8>,
}

impl Write for BufferedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() >= 256 << 10 {
            self.file.write_all(&self.bytes)?;
            self.bytes.clear();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
