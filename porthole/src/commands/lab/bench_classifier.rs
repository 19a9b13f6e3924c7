//! `porthole lab bench classifier`: time and page misses of the in-database classifier.

use std::fs;
use std::path::Path;

use anyhow::Context;
use porthole_lab::classifier_bench::{BenchSize, ClassifierFigures, ClassifierSetup};

use crate::cli::BenchClassifier;
use crate::output;

pub(super) fn run(arguments: &BenchClassifier) -> anyhow::Result<()> {
    let &BenchClassifier { nodes, documents, vocabulary, seed, .. } = arguments;
    let setup = ClassifierSetup { nodes, documents, vocabulary, seed };
    let figures = setup.run(arguments.db.clone(), &mut output::say)?;
    if let Some(out) = &arguments.out {
        write(out, &figures)?;
    }
    if arguments.json {
        return output::print_json(&figures);
    }
    print(&figures);
    Ok(())
}

fn write(out: &Path, figures: &ClassifierFigures) -> anyhow::Result<()> {
    fs::create_dir_all(out).with_context(|| format!("cannot create {}", out.display()))?;
    for (name, text) in
        [("classifier.svg", figures.svg()), ("classifier.json", serde_json::to_string_pretty(figures)?)]
    {
        let path = out.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn print(figures: &ClassifierFigures) {
    let BenchSize { nodes, path_nodes, stat_bytes, blob_bytes, cache_bytes, documents, terms } = figures.size;
    let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    output::print_rows(&[
        ("topics".into(), nodes.to_string()),
        ("nodes evaluated per document".into(), path_nodes.to_string()),
        ("STAT".into(), megabytes(stat_bytes)),
        ("BLOB".into(), megabytes(blob_bytes)),
        (format!("cache in (a), {} of STAT", figures.size.cache_share()), megabytes(cache_bytes)),
        ("documents in a batch".into(), documents.to_string()),
        ("distinct terms per document".into(), format!("{terms:.0}")),
        ("largest difference between the variants".into(), format!("{:.1e}", figures.disagreement)),
    ]);
    for table in figures.tables() {
        output::print(&format!("\n{}", table.title));
        output::print_table(&table.head, &table.rows);
    }
    if let Some(times) = figures.fewer_misses() {
        output::print(&format!(
            "\nBulkProbe has {times:.1} times fewer misses per document than SingleProbe"
        ));
    }
}
