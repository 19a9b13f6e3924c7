//! `porthole lab bench critic`: how fast the native critic is from raw text.

use porthole_lab::critics::speed;

use crate::cli;
use crate::output;

pub(crate) fn run(arguments: &cli::BenchCritic) -> anyhow::Result<()> {
    let rounds = speed::measure(&arguments.corpora, arguments.rounds.into())?;
    if arguments.json {
        return output::print_json(&rounds);
    }
    let mut rows = Vec::new();
    for (number, round) in rounds.iter().enumerate() {
        let a_second =
            |documents: usize, seconds: f64| format!("{:.0}", documents as f64 / seconds.max(0.01));
        let of = |what: &str| format!("round {}: {what}", number + 1);
        rows.push((of("articles trained a CPU second"), a_second(round.trained, round.train_cpu_seconds)));
        rows.push((of("articles judged a CPU second"), a_second(round.judged, round.judge_cpu_seconds)));
        rows.push((of("accuracy"), format!("{:.4}", round.accuracy)));
    }
    output::print_rows(&rows);
    Ok(())
}
