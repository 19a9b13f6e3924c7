//! `porthole lab figures`: writes a report of an experiment's results.

use porthole_lab::experiment::Results;
use porthole_lab::figures;

use super::run::in_words;
use crate::cli;
use crate::output;

pub(super) fn run(arguments: &cli::Figures) -> anyhow::Result<()> {
    let results = Results::read(&arguments.folder).map_err(in_words)?;
    let path = figures::write(results).map_err(in_words)?;
    output::say(&format!("data of the figures: {}", arguments.folder.join("figures").display()));
    output::print(&path.display().to_string());
    Ok(())
}
