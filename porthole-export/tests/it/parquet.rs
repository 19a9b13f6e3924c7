//! Parquet files, read back by the same library.

use std::fs::{self, File};

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use porthole_export::{ExportOutput, ExportPages, ParquetPages, export};
use porthole_store::PageFilter;
use porthole_types::PageResult;

use crate::crawl::{DAY, MANY, TestCrawl, archive, many, name, page, tree};

#[test]
fn all_rows_are_in_the_files() {
    let (crawl, tree) = (many(), tree());
    let reader = crawl.reader();
    let source = ExportPages::new(&reader, PageFilter::default(), crawl.folder.path());
    let path = crawl.path("pages.parquet");
    let output = ExportOutput::folder(&path, "parquet", 400_000).with_marker("_SUCCESS");
    let mut writer = ParquetPages::new(&tree, &crawl.pages());
    assert_eq!(export(&source, &mut writer, output, None, &mut |_, _| {}).unwrap().rows, MANY);
    let mut files: Vec<_> = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.remove(0).file_name().unwrap(), "_SUCCESS");
    assert!(files.len() > 1, "{files:?}");
    let mut number = 0;
    for file in &files {
        let reader = SerializedFileReader::new(File::open(file).unwrap()).unwrap();
        for row in reader.get_row_iter(None).unwrap() {
            let row = row.unwrap();
            number += 1;
            let url = format!("http://{}", name(number));
            assert_eq!(
                (row.get_string(1).unwrap(), row.get_timestamp_millis(8).unwrap()),
                (&url, DAY * number as i64)
            );
            assert_eq!(row.get_double(17).unwrap(), (number % 100) as f64 / 100.0);
        }
    }
    assert_eq!(number, MANY);
}

#[test]
fn main_texts_are_there_on_demand() {
    let (crawl, tree) = (TestCrawl::new(), tree());
    let text = "Owls hunt at night, and they sleep during the day in old barns. ".repeat(5);
    let spans = archive(&crawl.pages(), 0, &[("a.test/", &format!("<nav>Menu</nav><p>{text}</p>"))]);
    let kept = PageResult { span: Some(spans[0]), ..page(1, "a.test/", 0.5, 1) };
    crawl.commit(&[kept, page(2, "lost.test/", 0.5, 1)], &["a.test/", "lost.test/"]);
    let reader = crawl.reader();
    let source = ExportPages::new(&reader, PageFilter::default(), crawl.folder.path());
    let path = crawl.path("pages.parquet");
    let mut writer = ParquetPages::new(&tree, &crawl.pages()).with_texts();
    let output = ExportOutput::folder(&path, "parquet", 400_000);
    export(&source, &mut writer, output, None, &mut |_, _| {}).unwrap();
    let file = File::open(path.join("pages.parquet-00000.parquet")).unwrap();
    let rows: Vec<_> = SerializedFileReader::new(file).unwrap().into_iter().map(Result::unwrap).collect();
    assert!(rows[0].get_string(25).unwrap().ends_with(text.trim()));
    assert!(rows[1].get_string(25).is_err(), "it is not in the archive");
}
