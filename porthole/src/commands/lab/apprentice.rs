//! `porthole lab apprentice`: how well link features predict the relevance of the target (A 3.4).

use porthole_lab::experiment::{Apprenticeship, CrawlPlan, Fields, PreparedExperiment, WebField};

use super::run::in_words;
use crate::cli;
use crate::output;

pub(super) fn run(arguments: &cli::LabApprentice) -> anyhow::Result<()> {
    let fields = Fields {
        web: Some(WebField::File(arguments.web.clone())),
        labels: arguments.labels.clone(),
        topics: Some(arguments.topic.clone()),
        strategies: Some(vec![arguments.strategy.clone()]),
        samples: Some(1),
        seed: Some(arguments.seed),
        at: Some(vec![arguments.pages]),
        ..Fields::default()
    };
    let experiment = fields.check("the command line").map_err(in_words)?;
    output::say("reading the web, training the critics, classifying the pages");
    let lab = PreparedExperiment::new(experiment.clone()).map_err(in_words)?;
    let mut learnt = Vec::new();
    for plan in experiment.plans() {
        learnt.push(lab.apprenticeship(&plan, arguments.reach).map_err(in_words)?);
        output::say(&format!("{plan}: done"));
    }
    if arguments.json {
        return output::print_json(&learnt);
    }
    learnt.iter().zip(experiment.plans()).for_each(|(one, plan)| print(one, &plan));
    Ok(())
}

fn print(learnt: &Apprenticeship, plan: &CrawlPlan) {
    let Apprenticeship { topic, pages, instances, cut, reach, features, offsets, queue, .. } = learnt;
    output::print(&format!(
        "\n{topic}: {instances} links between {pages} pages fetched by {}; high relevance: at least {cut:.2}\n",
        plan.strategy
    ));
    let rows: Vec<Vec<String>> = reach
        .iter()
        .map(|at| {
            let shares = [at.positive, at.negative, at.balanced(), at.average, at.window_balanced];
            [vec![at.d_max.to_string()], shares.map(|share| format!("{share:.3}")).to_vec()].concat()
        })
        .collect();
    let head = ["max offset", "accuracy, high", "low", "balanced", "all links", "balanced, without offsets"];
    output::print_table(&head, &rows);
    output::print("");
    let rows: Vec<Vec<String>> = features
        .iter()
        .map(|with| {
            let shares = [with.positive, with.negative, with.balanced(), with.average];
            [vec![with.features.clone()], shares.map(|share| format!("{share:.3}")).to_vec()].concat()
        })
        .collect();
    output::print_table(&["features", "accuracy, high", "low", "balanced", "all links"], &rows);
    output::print("");
    let rows: Vec<Vec<String>> = offsets
        .iter()
        .map(|at| {
            let gain = format!("{:.5}", at.information_gain);
            let shares = [at.theta, at.without_words, at.in_links].map(|share| format!("{share:.3}"));
            [vec![format!("{:+}", at.offset), gain], shares.to_vec()].concat()
        })
        .collect();
    let head = ["offset", "information gain", "sum of theta", "leaves without words", "in other links"];
    output::print_table(&head, &rows);
    let Some(queue) = queue else { return };
    output::print(&format!(
        "\n{} queued pages: mean relevance {:.3} as soft focus estimates it, {:.3} by a newly trained apprentice, \
         {:.3} in truth; rank correlation of the two orders {:.2}",
        queue.waiting, queue.mean_before, queue.mean_after, queue.mean_truth, queue.rank_correlation
    ));
}
