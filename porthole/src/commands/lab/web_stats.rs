//! `porthole lab web-stats`: prints figures of a recorded web.

use porthole_webs::{RecordedWeb, RecordedWebStats};

use crate::cli;
use crate::output::{self, Progress};

pub(super) async fn run(arguments: cli::WebStats) -> anyhow::Result<()> {
    let web = RecordedWeb::open(&arguments.files)?;
    let mut progress = Progress::new("reading", web.len() as u64);
    let stats = RecordedWebStats::of(&web, || progress.step(String::new)).await;
    progress.finish();
    if arguments.json {
        return output::print_json(&stats);
    }
    let mut rows = stats.rows();
    rows.extend(output::memory_row());
    output::print_rows(&rows);
    for example in &web.problems().examples {
        output::print(&format!("  {example}"));
    }
    Ok(())
}
