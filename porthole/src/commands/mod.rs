//! The commands, one module each.

mod broaden;
mod candidates;
mod classify;
mod control;
mod crawl;
mod demo;
mod distill;
mod documents;
mod examples;
mod explain;
mod explore;
mod export;
mod grow;
mod import;
mod init;
#[cfg(feature = "lab")]
mod lab;
mod mark;
mod packaging;
mod propose;
mod query;
mod report;
mod scope_preview;
mod search;
mod serve;
mod sites;
mod start;
mod status;
mod teach;
mod top;
mod topics;
mod toward;
mod train;
mod units;

use std::process::ExitCode;

use crate::cli::{Cli, CliCommand};

pub(crate) async fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    let workspace = &cli.workspace;
    let done = match cli.command {
        CliCommand::Crawl(arguments) => return crawl::run(workspace, &arguments).await,
        CliCommand::Pause => control::run(workspace, &porthole_crawl::Command::Pause),
        CliCommand::Resume => control::run(workspace, &porthole_crawl::Command::Resume),
        CliCommand::Stop => control::run(workspace, &porthole_crawl::Command::Stop),
        CliCommand::Set(arguments) => control::set(workspace, &arguments),
        CliCommand::Start(arguments) => return start::run(workspace, &arguments).await,
        CliCommand::Init(arguments) => init::run(&arguments).await,
        CliCommand::Topics(arguments) => topics::run(workspace, &arguments),
        CliCommand::Examples(arguments) => examples::run(workspace, &arguments).await,
        CliCommand::Train(arguments) => train::run(workspace, &arguments),
        CliCommand::Documents(arguments) => documents::run(workspace, &arguments),
        CliCommand::Classify(arguments) => classify::run(workspace, &arguments).await,
        CliCommand::Status(arguments) => status::run(workspace, &arguments),
        CliCommand::Report(arguments) => report::run(workspace, &arguments),
        CliCommand::Explain(arguments) => explain::run(workspace, &arguments),
        CliCommand::Distill(arguments) => distill::run(workspace, &arguments),
        CliCommand::Top(arguments) => top::run(workspace, &arguments),
        CliCommand::Search(arguments) => search::run(workspace, &arguments),
        CliCommand::Query(arguments) => query::run(workspace, &arguments).await,
        CliCommand::Export(arguments) => export::run(workspace, &arguments),
        CliCommand::Teach(arguments) => teach::run(workspace, &arguments).await,
        CliCommand::Mark(arguments) => mark::run(workspace, &arguments),
        CliCommand::Sites(arguments) => sites::run(workspace, &arguments),
        CliCommand::Serve(arguments) => serve::run(workspace, &arguments).await,
        CliCommand::Demo(arguments) => demo::run(arguments).await,
        CliCommand::Completions(arguments) => packaging::completions(&arguments),
        CliCommand::Man(arguments) => packaging::man(&arguments),
        #[cfg(feature = "lab")]
        CliCommand::Lab(arguments) => lab::run(workspace, arguments).await,
    };
    done.map(|()| ExitCode::SUCCESS)
}
