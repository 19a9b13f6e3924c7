//! `porthole lab general`: trains the general taxonomy that comes with the program.

use anyhow::Context;
use porthole_lab::general;

use crate::cli;
use crate::output;

pub(super) fn run(arguments: &cli::General) -> anyhow::Result<()> {
    output::say("reading the collection and tuning by cross-validation; this takes about half a minute");
    let (made, tuned) = general::make(&arguments.corpora)?;
    let bytes = made.to_bytes();
    std::fs::write(&arguments.out, &bytes).with_context(|| arguments.out.display().to_string())?;
    let mut rows = vec![
        ("topics".to_owned(), (made.tree.len() - 1).to_string()),
        ("pages counted".to_owned(), made.statistics.documents().to_string()),
        ("terms".to_owned(), made.words.len().to_string()),
        ("bytes".to_owned(), bytes.len().to_string()),
    ];
    let accuracy = |node, found: &porthole_topic::Tuned| {
        (format!("accuracy at {}", made.tree.path(node)), format!("{:.3}", found.chosen.accuracy))
    };
    rows.extend(tuned.nodes.iter().map(|(&node, found)| accuracy(node, found)));
    output::print_rows(&rows);
    Ok(())
}
