//! `porthole lab bench critic`: speed of the critic, from raw text.

use porthole_lab::critics::speed;

use crate::cli;
use crate::output;

pub(super) fn run(arguments: &cli::BenchCritic) -> anyhow::Result<()> {
    let rounds = speed::measure(&arguments.corpora, arguments.rounds.into())?;
    let scaling = speed::scaling();
    if arguments.json {
        return output::print_json(&serde_json::json!({ "rounds": rounds, "scaling": scaling }));
    }
    let mut rows = Vec::new();
    for (number, round) in rounds.iter().enumerate() {
        let per_second =
            |documents: usize, seconds: f64| format!("{:.0}", documents as f64 / seconds.max(0.01));
        let of = |what: &str| format!("round {}: {what}", number + 1);
        rows.push((
            of("articles trained per CPU second"),
            per_second(round.trained, round.train_cpu_seconds),
        ));
        rows.push((
            of("articles classified per CPU second"),
            per_second(round.judged, round.judge_cpu_seconds),
        ));
        rows.push((of("accuracy"), format!("{:.4}", round.accuracy)));
    }
    for case in scaling {
        let what = format!(
            "{} topics, {} good: µs per page, {:.1} decisions",
            case.topics, case.good, case.decisions
        );
        rows.push((what, format!("{:.0}", case.micros)));
    }
    output::print_rows(&rows);
    Ok(())
}
