//! One module a command.

mod bench_classifier;
mod bench_critic;
mod bench_distiller;
mod bench_strategies;
mod broaden;
mod classify;
mod control;
mod crawl;
mod critics;
mod demo;
mod distill;
mod documents;
mod examples;
mod explain;
mod explore;
mod general;
mod grow;
mod import;
mod init;
mod lab_apprentice;
mod lab_compare;
mod lab_figures;
mod lab_record;
mod lab_run;
mod mark;
mod propose;
mod query;
mod report;
mod sites;
mod start;
mod status;
mod synth;
mod top;
mod topics;
mod toward;
mod train;
mod units;
mod web_stats;

use std::process::ExitCode;

use crate::cli::{Bench, Cli, Command, Lab};

pub(crate) async fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    let workspace = &cli.workspace;
    let done = match cli.command {
        Command::Crawl(arguments) => return crawl::run(workspace, &arguments).await,
        Command::Pause => control::run(workspace, &porthole_crawl::Command::Pause),
        Command::Resume => control::run(workspace, &porthole_crawl::Command::Resume),
        Command::Stop => control::run(workspace, &porthole_crawl::Command::Stop),
        Command::Set(arguments) => control::set(workspace, &arguments),
        Command::Start(arguments) => return start::run(workspace, &arguments).await,
        Command::Init(arguments) => init::run(&arguments).await,
        Command::Topics(arguments) => topics::run(workspace, &arguments),
        Command::Examples(arguments) => examples::run(workspace, &arguments).await,
        Command::Train(arguments) => train::run(workspace, &arguments),
        Command::Documents(arguments) => documents::run(workspace, &arguments),
        Command::Classify(arguments) => classify::run(workspace, &arguments),
        Command::Status(arguments) => status::run(workspace, &arguments),
        Command::Report(arguments) => report::run(workspace, &arguments),
        Command::Explain(arguments) => explain::run(workspace, &arguments),
        Command::Distill(arguments) => distill::run(workspace, &arguments),
        Command::Top(arguments) => top::run(workspace, &arguments),
        Command::Query(arguments) => query::run(workspace, &arguments).await,
        Command::Mark(arguments) => mark::run(workspace, &arguments),
        Command::Sites(arguments) => sites::run(workspace, &arguments),
        Command::Demo(arguments) => demo::run(arguments).await,
        Command::Lab(Lab::Bench(Bench::Classifier(arguments))) => bench_classifier::run(&arguments),
        Command::Lab(Lab::Bench(Bench::Critic(arguments))) => bench_critic::run(&arguments),
        Command::Lab(Lab::Bench(Bench::Distiller(arguments))) => bench_distiller::run(&arguments).await,
        Command::Lab(Lab::Bench(Bench::Strategies(arguments))) => bench_strategies::run(&arguments).await,
        Command::Lab(Lab::Apprentice(arguments)) => lab_apprentice::run(&arguments),
        Command::Lab(Lab::Critics(arguments)) => critics::run(&arguments),
        Command::Lab(Lab::General(arguments)) => general::run(&arguments),
        Command::Lab(Lab::Compare(arguments)) => lab_compare::run(&arguments),
        Command::Lab(Lab::Figures(arguments)) => lab_figures::run(&arguments),
        Command::Lab(Lab::Record(arguments)) => lab_record::run(workspace, &arguments),
        Command::Lab(Lab::Run(arguments)) => lab_run::run(&arguments),
        Command::Lab(Lab::Synth(arguments)) => synth::run(arguments).await,
        Command::Lab(Lab::WebStats(arguments)) => web_stats::run(arguments).await,
    };
    done.map(|()| ExitCode::SUCCESS)
}
