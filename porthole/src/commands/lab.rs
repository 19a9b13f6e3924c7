//! `porthole lab`: experiments on recorded and synthetic webs, and benchmarks of the parts.

mod apprentice;
mod bench_classifier;
mod bench_critic;
mod bench_distiller;
mod bench_strategies;
mod compare;
mod critics;
mod figures;
mod general;
mod record;
mod run;
mod synth;
mod upkeep;
mod web_stats;

use std::path::Path;

use crate::cli::{Bench, Lab};

pub(crate) async fn run(workspace: &Path, command: Lab) -> anyhow::Result<()> {
    match command {
        Lab::Apprentice(arguments) => apprentice::run(&arguments),
        Lab::Bench(Bench::Classifier(arguments)) => bench_classifier::run(&arguments),
        Lab::Bench(Bench::Critic(arguments)) => bench_critic::run(&arguments),
        Lab::Bench(Bench::Distiller(arguments)) => bench_distiller::run(&arguments).await,
        Lab::Bench(Bench::Strategies(arguments)) => bench_strategies::run(&arguments).await,
        Lab::Compare(arguments) => compare::run(&arguments),
        Lab::Critics(arguments) => critics::run(&arguments),
        Lab::Figures(arguments) => figures::run(&arguments),
        Lab::General(arguments) => general::run(&arguments),
        Lab::Record(arguments) => record::run(workspace, &arguments),
        Lab::Run(arguments) => run::run(&arguments),
        Lab::Synth(arguments) => synth::run(arguments).await,
        Lab::Upkeep(arguments) => upkeep::run(&arguments),
        Lab::WebStats(arguments) => web_stats::run(arguments).await,
    }
}
