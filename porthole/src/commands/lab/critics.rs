//! `porthole lab critics`: accuracy and calibration of the critics.

use anyhow::Context;
use comfy_table::{CellAlignment, Table, presets};
use porthole_lab::critics::{self, CriticRow, CriticsReport};

use crate::cli;
use crate::output;

pub(super) fn run(arguments: &cli::Critics) -> anyhow::Result<()> {
    output::say("training and testing on three collections; this takes some minutes");
    let report = critics::measure(&arguments.corpora, |row| {
        output::say(&format!("  {}, {}, {}: {:.3}", row.collection, row.protocol, row.critic, row.accuracy));
    })?;
    if let Some(folder) = &arguments.out {
        let file = folder.join("critics.svg");
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        std::fs::write(&file, critics::reliability_svg(&report))
            .with_context(|| file.display().to_string())?;
        output::say(&format!("wrote {}", file.display()));
    }
    if arguments.json {
        return output::print_json(&report);
    }
    print(&report);
    Ok(())
}

fn print(report: &CriticsReport) {
    for rows in report.rows.chunk_by(|a, b| (a.collection, a.protocol) == (b.collection, b.protocol)) {
        let first = &rows[0];
        output::print(&format!(
            "\n{}, {}: {} documents classified",
            first.collection, first.protocol, first.documents
        ));
        output::print(&table(rows));
    }
    if let Some(proposals) = report.proposals {
        output::print(&format!(
            "\n{} held-out pages of each of {} topics: their topic is proposed first in {:.0}% of cases, among the \
             first three in {:.0}%",
            proposals.pages,
            proposals.topics,
            proposals.first * 100.0,
            proposals.among_three * 100.0,
        ));
    }
}

fn table(rows: &[CriticRow]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "critic",
        "accuracy",
        "log loss",
        "calibration error",
        "train s",
        "chosen on training pages",
    ]);
    for row in rows {
        table.add_row([
            row.critic.to_owned(),
            format!("{:.4}", row.accuracy),
            format!("{:.3}", row.log_loss),
            format!("{:.3}", row.calibration_error),
            format!("{:.1}", row.train_seconds),
            row.chosen.first().cloned().unwrap_or_default(),
        ]);
    }
    for column in 1..5 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.to_string()
}
