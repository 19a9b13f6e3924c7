//! `porthole lab compare`: compares two strategies or two result folders.

use std::path::Path;

use anyhow::Context;
use porthole_lab::compare::{ComparedCrawls, Comparison, compare};
use porthole_lab::experiment::Results;

use super::run::in_words;
use crate::cli;
use crate::output::{self, Paint, misuse};

pub(super) fn run(arguments: &cli::Compare) -> anyhow::Result<()> {
    let compared = compared(arguments)?;
    if let Some(file) = &arguments.html {
        std::fs::write(file, compared.report().to_html()).with_context(|| file.display().to_string())?;
        output::say(&format!("wrote {}", file.display()));
    }
    if arguments.json {
        return output::print_json(&compared);
    }
    let table = compared.table();
    output::print_table(&table.head.iter().map(String::as_str).collect::<Vec<_>>(), &table.rows);
    output::print(&format!("\n{}", Paint::Strong.on(&compared.verdict)));
    Ok(())
}

fn compared(arguments: &cli::Compare) -> anyhow::Result<Comparison> {
    let cli::Compare { one, other, folder, strategy, .. } = arguments;
    let read = |path: &Path| Results::read(path).map_err(in_words);
    if let Some(folder) = folder {
        let results = read(folder)?;
        let [one, other] =
            [one, other].map(|name| ComparedCrawls { name: name.clone(), results: &results, strategy: name });
        return compare(&one, &other).map_err(in_words);
    }
    if !(Path::new(one).is_dir() && Path::new(other).is_dir()) {
        return Err(misuse(format!(
            "{one} and {other} are not both result folders; to compare two strategies, name their result folder with \
             --in DIR"
        )));
    }
    let (first, second) = (read(Path::new(one))?, read(Path::new(other))?);
    let [one, other] = [(one, &first), (other, &second)].map(|(name, results)| ComparedCrawls {
        name: name.clone(),
        results,
        strategy,
    });
    compare(&one, &other).map_err(in_words)
}
