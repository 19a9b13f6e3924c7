//! `porthole lab bench distiller`: compares the distiller implementations on the link graph of a crawl.

use std::fs;
use std::path::Path;

use anyhow::Context;
use porthole_lab::distiller_bench::{DistillerFigures, DistillerSetup, DistillerVariant};

use crate::cli::BenchDistiller;
use crate::output;

pub(super) async fn run(arguments: &BenchDistiller) -> anyhow::Result<()> {
    let &BenchDistiller { pages, rounds, seed, .. } = arguments;
    let setup = DistillerSetup { pages, rounds, seed };
    let figures = setup.run(arguments.db.clone(), &mut output::say).await?;
    if let Some(out) = &arguments.out {
        write(out, &figures)?;
    }
    if arguments.json {
        return output::print_json(&figures);
    }
    print(&figures);
    Ok(())
}

fn write(out: &Path, figures: &DistillerFigures) -> anyhow::Result<()> {
    fs::create_dir_all(out).with_context(|| format!("cannot create {}", out.display()))?;
    for (name, text) in
        [("distiller.svg", figures.svg()), ("distiller.json", serde_json::to_string_pretty(figures)?)]
    {
        let path = out.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn print(figures: &DistillerFigures) {
    output::print_rows(&[
        ("pages".into(), figures.pages.to_string()),
        ("URLs".into(), figures.urls.to_string()),
        ("links".into(), figures.links.to_string()),
        ("largest difference between the variants".into(), format!("{:.1e}", figures.disagreement)),
    ]);
    output::print("");
    let fastest = figures.variants.iter().map(DistillerVariant::total).fold(f64::INFINITY, f64::min);
    let row = |variant: &DistillerVariant| {
        vec![
            variant.name.to_owned(),
            format!("{:.1}", variant.reading),
            format!("{:.1}", variant.finding),
            variant.iterations.to_string(),
            format!("{:.1}", variant.total()),
            format!("{:.1}", variant.total() / fastest),
        ]
    };
    let rows: Vec<_> = figures.variants.iter().map(row).collect();
    let head = ["variant", "reading, ms", "computing, ms", "iterations", "total, ms", "times the fastest"];
    output::print_table(&head, &rows);
    if let Some(times) = figures.join_over_walk() {
        // V 3.8 reports a factor of 3.
        output::print(&format!(
            "\nwith link weights given, joins are {times:.1} times as fast as the edge walk (the original paper: 3)"
        ));
    }
}
