//! One module a command.

mod demo;
mod synth;
mod web_stats;

use crate::cli::{Cli, Command, Lab};

pub(crate) async fn run(cli: Cli) -> anyhow::Result<()> {
    match cli.command {
        Command::Demo(arguments) => demo::run(arguments).await,
        Command::Lab(Lab::Synth(arguments)) => synth::run(arguments).await,
        Command::Lab(Lab::WebStats(arguments)) => web_stats::run(arguments).await,
    }
}
