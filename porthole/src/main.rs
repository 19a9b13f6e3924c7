//! Porthole's program: commands, what they print, and exit codes. Everything else is in the libraries.

mod asking;
mod cli;
mod commands;
mod documents;
mod importing;
mod output;
mod settings;
mod sources;
mod training;
mod visiting;
mod workspace;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { output::BAD_CONFIGURATION.into() } else { ExitCode::SUCCESS };
        }
    };
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return output::failed(&anyhow::Error::new(error).context("cannot start the runtime")),
    };
    match runtime.block_on(commands::run(cli)) {
        Ok(code) => code,
        Err(error) => output::failed(&error),
    }
}
