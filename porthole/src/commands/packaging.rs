//! `completions` and `man`: what packages contain beside the program.

use std::io::Write;

use anyhow::Context;
use clap::CommandFactory;

use crate::cli::{Cli, Completions, ManPages};
use crate::output;

/// Prints the completions for a shell.
pub(crate) fn completions(args: &Completions) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "porthole", &mut script);
    output::note_failure(std::io::stdout().write_all(&script));
    Ok(())
}

/// Writes `porthole.1`, and a page such as `porthole-topics-mark.1` for each command.
pub(crate) fn man(args: &ManPages) -> anyhow::Result<()> {
    let failed = || format!("cannot write manual pages to {}", args.folder.display());
    std::fs::create_dir_all(&args.folder).with_context(failed)?;
    clap_mangen::generate_to(Cli::command(), &args.folder).with_context(failed)
}
