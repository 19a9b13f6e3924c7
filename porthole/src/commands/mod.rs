//! The commands, one module each.

mod broaden;
mod classify;
mod control;
mod crawl;
mod demo;
mod distill;
mod documents;
mod examples;
mod explain;
mod explore;
mod grow;
mod import;
mod init;
#[cfg(feature = "lab")]
mod lab;
mod mark;
mod propose;
mod query;
mod report;
mod sites;
mod start;
mod status;
mod top;
mod topics;
mod toward;
mod train;
mod units;

use std::process::ExitCode;

use crate::cli::{Cli, Command};

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
        #[cfg(feature = "lab")]
        Command::Lab(arguments) => lab::run(workspace, arguments).await,
    };
    done.map(|()| ExitCode::SUCCESS)
}
