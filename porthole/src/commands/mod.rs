//! One module a command.

mod bench_classifier;
mod demo;
mod synth;
mod web_stats;

use crate::cli::{Bench, Cli, Command, Lab};

pub(crate) async fn run(cli: Cli) -> anyhow::Result<()> {
    match cli.command {
        Command::Demo(arguments) => demo::run(arguments).await,
        Command::Lab(Lab::Bench(Bench::Classifier(arguments))) => bench_classifier::run(&arguments),
        Command::Lab(Lab::Synth(arguments)) => synth::run(arguments).await,
        Command::Lab(Lab::WebStats(arguments)) => web_stats::run(arguments).await,
    }
}
