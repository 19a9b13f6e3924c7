//! `porthole lab run`: strategies compared on a recorded web.

use std::sync::Mutex;

use anyhow::Context;
use comfy_table::{CellAlignment, Table, presets};
use porthole_lab::experiment::{self, Experiment, Outcome};

use crate::cli;
use crate::output::{self, Progress};

pub(crate) fn run(arguments: &cli::RunExperiment) -> anyhow::Result<()> {
    let experiment = Experiment::read(&arguments.file)?;
    let crawls = experiment.topics.len() * experiment.strategies.len() * experiment.samples as usize;
    output::say("reading the web and training the critic");
    let progress = Mutex::new(Progress::new("crawling", crawls as u64));
    let outcomes = experiment::run(&experiment, &|outcome| {
        let words = || format!("{} {}", outcome.strategy, outcome.topic);
        progress.lock().expect("no crawl has panicked").step(words);
    })?;
    progress.into_inner().expect("no crawl has panicked").finish();
    if let Some(folder) = &arguments.out {
        let file = folder.join("results.jsonl");
        let lines: Result<Vec<String>, _> = outcomes.iter().map(serde_json::to_string).collect();
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        std::fs::write(&file, lines?.join("\n") + "\n").with_context(|| file.display().to_string())?;
        output::say(&format!("wrote {}", file.display()));
    }
    if arguments.json {
        return output::print_json(&outcomes);
    }
    print(&experiment, &outcomes);
    Ok(())
}

/// Mean harvest of each topic and strategy, and over all topics.
fn print(experiment: &Experiment, outcomes: &[Outcome]) {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let mut header = vec!["harvest, mean of the samples".to_owned(), "strategy".to_owned()];
    header.extend(experiment.at.iter().map(|at| format!("at {at}")));
    table.set_header(header);
    for topic in experiment.topics.iter().map(Some).chain([None]) {
        for strategy in &experiment.strategies {
            let is_wanted = |outcome: &&Outcome| {
                outcome.strategy == *strategy && topic.is_none_or(|topic| outcome.topic == *topic)
            };
            let found: Vec<&Outcome> = outcomes.iter().filter(is_wanted).collect();
            let mean =
                |at: &u64| found.iter().map(|outcome| outcome.harvest[at]).sum::<f64>() / found.len() as f64;
            let mut row = vec![topic.map_or("all topics", String::as_str).to_owned(), strategy.clone()];
            row.extend(experiment.at.iter().map(|at| format!("{:.3}", mean(at))));
            table.add_row(row);
        }
    }
    for column in 2..2 + experiment.at.len() {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    output::print(&table.to_string());
}
