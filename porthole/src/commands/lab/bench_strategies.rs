//! `porthole lab bench strategies`: time per link of each strategy.

use anyhow::Context;
use porthole_lab::strategies_bench::{Reordering, StrategyBench, StrategyCost, reorder};
use porthole_strategy::NAMES;
use serde::Serialize;

use crate::cli::BenchStrategies;
use crate::output::{self, Progress, grouped};

#[derive(Serialize)]
struct StrategyBenchFigures {
    links: usize,
    strategies: Vec<StrategyCost>,
    reordering: Reordering,
}

pub(super) async fn run(arguments: &BenchStrategies) -> anyhow::Result<()> {
    let links = arguments.links;
    let all: Vec<String> = NAMES.iter().map(|name| (*name).to_owned()).collect();
    let names = if arguments.strategy.is_empty() { &all } else { &arguments.strategy };
    let bench = StrategyBench::new(arguments.seed).await?;
    let mut strategies = Vec::new();
    let mut progress = Progress::new("strategies", names.len() as u64);
    for name in names {
        strategies.push(bench.strategy(name, links)?);
        progress.step(|| name.clone());
    }
    progress.finish();
    let folder = tempfile::tempdir().context("cannot create a folder for the database")?;
    let reordering = reorder(&folder.path().join("crawl.db"), links)?;
    let figures = StrategyBenchFigures { links, strategies, reordering };
    if arguments.json {
        return output::print_json(&figures);
    }
    print(&figures);
    Ok(())
}

fn print(figures: &StrategyBenchFigures) {
    let row = |cost: &StrategyCost| {
        vec![
            cost.strategy.clone(),
            format!("{:.2}", cost.few),
            format!("{:.2}", cost.many),
            grouped(&cost.rescored.to_string()),
            format!("{:.3}", cost.rescoring),
        ]
    };
    let rows: Vec<_> = figures.strategies.iter().map(row).collect();
    let waiting = grouped(&figures.links.to_string());
    let many = format!("µs per link, {waiting} queued");
    let head = ["strategy", "µs per link, 1,000 queued", &many, "most rescored at once", "rescoring, s"];
    output::print_table(&head, &rows);
    let Reordering { urls, queue, table } = figures.reordering;
    output::print(&format!(
        "\nnew priorities for {} queued URLs: queue reordered after {queue:.2} s, table written after {table:.2} s",
        grouped(&urls.to_string())
    ));
}
