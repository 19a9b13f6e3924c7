//! `porthole lab figures`: the results of an experiment as one report.

use porthole_lab::experiment::Results;
use porthole_lab::figures;

use super::run::in_words;
use crate::cli;
use crate::output;

pub(super) fn run(arguments: &cli::Figures) -> anyhow::Result<()> {
    let results = Results::read(&arguments.folder).map_err(in_words)?;
    let path = figures::write(results).map_err(in_words)?;
    output::say(&format!(
        "the numbers behind each figure are in {}",
        arguments.folder.join("figures").display()
    ));
    output::print(&path.display().to_string());
    Ok(())
}
