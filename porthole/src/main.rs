//! The `porthole` program: commands, output and exit codes. Everything else is in the libraries.

mod asking;
mod cli;
mod commands;
mod document_counts;
mod documents;
mod importing;
mod languages;
mod output;
mod settings;
mod sources;
mod terminal;
mod training;
mod upgrade;
mod visiting;
mod workspace;

use std::io;
use std::process::ExitCode;

use clap::Parser;
use tokio::runtime::{Builder, Runtime};

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            if error.use_stderr() {
                let _ = error.print();
                return output::BAD_CONFIGURATION.into();
            }
            output::note_failure(error.print());
            return ended(Ok(ExitCode::SUCCESS));
        }
    };
    let runtime = match runtime(&cli.command) {
        Ok(runtime) => runtime,
        Err(error) => return output::failed(&anyhow::Error::new(error).context("cannot start the runtime")),
    };
    ended(runtime.block_on(commands::run(cli)))
}

/// The exit code of a command; lost output is an error.
fn ended(done: anyhow::Result<ExitCode>) -> ExitCode {
    done.and_then(|code| output::flush().map(|()| code)).unwrap_or_else(|error| output::failed(&error))
}

/// A crawl runs its loop on the thread that receives the responses, so that no other thread has to wake it; pages are
/// parsed on threads of their own. All other commands use all cores.
fn runtime(command: &cli::CliCommand) -> io::Result<Runtime> {
    match command {
        cli::CliCommand::Crawl(_) | cli::CliCommand::Start(_) => {
            Builder::new_current_thread().enable_all().build()
        }
        _ => Runtime::new(),
    }
}
