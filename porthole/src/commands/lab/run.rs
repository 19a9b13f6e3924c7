//! `porthole lab run`: compares strategies on a web with known labels.

use std::sync::Mutex;

use porthole_lab::experiment::{
    CrawlSummary, Experiment, ExperimentError, Fields, Folder, PreparedExperiment, SITE_CAPS, WebField,
    listed,
};
use porthole_report::summary::mean;

use crate::cli;
use crate::output::{self, Progress, misuse};

pub(super) fn run(arguments: &cli::RunExperiment) -> anyhow::Result<()> {
    let experiment = experiment(arguments).map_err(in_words)?;
    // Checked first: the folder may hold another experiment.
    let folder = arguments.out.as_deref().map(|path| Folder::open(path, &experiment)).transpose();
    let folder = folder.map_err(in_words)?;
    output::say("reading the web, training the critics, classifying the pages");
    let lab = PreparedExperiment::new(experiment.clone()).map_err(in_words)?;
    let progress = Mutex::new(Progress::new("crawling", experiment.plans().len() as u64));
    let cores = || std::thread::available_parallelism().map_or(1, Into::into);
    let outcomes = lab.run(folder.as_ref(), arguments.threads.unwrap_or_else(cores), &|outcome| {
        let words = || format!("{} {}", outcome.strategy, outcome.topic);
        progress.lock().expect("no crawl has panicked").step(words);
    })?;
    progress.into_inner().expect("no crawl has panicked").finish();
    match &folder {
        Some(folder) => lab.study(folder, &mut output::say)?,
        None if experiment.studies.is_empty() => {}
        None => output::say("warning: studies are skipped without --out DIR"),
    }
    if let Some(folder) = &arguments.out {
        output::say(&format!("wrote {}", folder.join("results.jsonl").display()));
    }
    if arguments.json {
        return output::print_json(&outcomes);
    }
    print(&experiment, &outcomes);
    if let Some(folder) = &arguments.out {
        output::say(&format!("next: porthole lab figures {}", folder.display()));
    }
    Ok(())
}

fn experiment(arguments: &cli::RunExperiment) -> Result<Experiment, ExperimentError> {
    let strategies = arguments.strategies.as_deref().map(listed).transpose();
    let strategies =
        strategies.map_err(|what| ExperimentError::Wrong { from: "--strategies".to_owned(), what })?;
    let flags = Fields {
        web: arguments.web.clone().map(WebField::File),
        labels: arguments.labels.clone(),
        topics: arguments.topics.clone(),
        strategies,
        samples: arguments.samples,
        start: arguments.start,
        train: arguments.train,
        seed: arguments.seed,
        at: arguments.at.clone(),
        servers: arguments.servers,
        general: arguments.general,
        shape: arguments.shape.clone(),
        studies: arguments.studies.clone(),
        pace: None,
    };
    match &arguments.file {
        Some(file) => flags.or(Fields::read(file)?).check(&file.display().to_string()),
        None => flags.check("the command line"),
    }
}

/// Maps configuration errors to usage errors.
pub(super) fn in_words(error: ExperimentError) -> anyhow::Error {
    match &error {
        ExperimentError::Crawl { .. } | ExperimentError::Scratch(_) | ExperimentError::Web(_) => error.into(),
        _ => misuse(error.to_string()),
    }
}

/// Prints the harvest rate by topic and strategy, then recall, relevance and CPU time by strategy.
fn print(experiment: &Experiment, outcomes: &[CrawlSummary]) {
    let at = &experiment.at;
    let mut head = vec!["harvest rate, mean of samples".to_owned(), "strategy".to_owned()];
    head.extend(at.iter().map(|at| format!("at {at}")));
    let mut rows = Vec::new();
    for topic in experiment.topics.iter().map(Some).chain([None]) {
        for strategy in &experiment.strategies {
            let is_wanted = |outcome: &&CrawlSummary| {
                outcome.strategy == *strategy && topic.is_none_or(|topic| outcome.topic == *topic)
            };
            let found: Vec<&CrawlSummary> = outcomes.iter().filter(is_wanted).collect();
            let of = |at: &u64| mean(found.iter().map(|outcome| outcome.harvest[at]));
            let mut row = vec![topic.map_or("all topics", String::as_str).to_owned(), strategy.clone()];
            row.extend(at.iter().map(|at| format!("{:.3}", of(at))));
            rows.push(row);
        }
    }
    output::print_table(&head.iter().map(String::as_str).collect::<Vec<_>>(), &rows);
    output::print("");
    let budget = experiment.budget();
    let row = |strategy: &String| {
        let own: Vec<&CrawlSummary> =
            outcomes.iter().filter(|outcome| outcome.strategy == *strategy).collect();
        let of = |value: &dyn Fn(&CrawlSummary) -> f64| {
            format!("{:.3}", mean(own.iter().map(|outcome| value(outcome))))
        };
        let recall = of(&|outcome| outcome.recall[&budget]);
        let (guide, other) =
            (of(&|outcome| outcome.relevance[&budget]), of(&|outcome| outcome.independent[&budget]));
        let lost = format!("{:.1}", mean(own.iter().map(|outcome| outcome.lost(budget))));
        let cpu = of(&|outcome| outcome.cpu_ms / outcome.fetched.max(1) as f64);
        vec![strategy.clone(), recall, of(&|outcome| outcome.area), guide, lost, other, cpu]
    };
    let at = format!("all topics, at {budget}");
    let head = [
        at.as_str(),
        "recall",
        "area under curve",
        "mean relevance",
        "loss",
        "other critic",
        "CPU ms per fetch",
    ];
    output::print_table(&head, &experiment.strategies.iter().map(row).collect::<Vec<_>>());
    output::print("");
    print_sites(experiment, outcomes);
    print_times(experiment, outcomes);
}

/// Prints the harvest with few pages a site, and the sites found, at the end of the budget.
fn print_sites(experiment: &Experiment, outcomes: &[CrawlSummary]) {
    let budget = experiment.budget();
    let mut head = vec![format!("harvest at {budget}"), "any".to_owned()];
    head.extend(SITE_CAPS.map(|cap| format!("at most {cap} a site")));
    head.push("relevant sites".to_owned());
    let row = |strategy: &String| {
        let own: Vec<&CrawlSummary> =
            outcomes.iter().filter(|outcome| outcome.strategy == *strategy).collect();
        let of = |value: &dyn Fn(&CrawlSummary) -> f64| mean(own.iter().map(|outcome| value(outcome)));
        let mut row = vec![strategy.clone(), format!("{:.3}", of(&|outcome| outcome.harvest[&budget]))];
        row.extend(SITE_CAPS.map(|cap| format!("{:.3}", of(&|outcome| outcome.capped_harvest(cap, budget)))));
        let sites = |outcome: &CrawlSummary| outcome.sites.get(&budget).copied().unwrap_or(0) as f64;
        row.push(format!("{:.1}", of(&sites)));
        row
    };
    let rows: Vec<Vec<String>> = experiment.strategies.iter().map(row).collect();
    output::print_table(&head.iter().map(String::as_str).collect::<Vec<_>>(), &rows);
}

/// Prints how long crawls in simulated time took, in the median.
fn print_times(experiment: &Experiment, outcomes: &[CrawlSummary]) {
    let row = |strategy: &String| {
        let own = outcomes.iter().filter(|outcome| outcome.strategy == *strategy && outcome.is_timed());
        let own: Vec<&CrawlSummary> = own.collect();
        let middle = |of: &dyn Fn(&CrawlSummary) -> Option<f64>| {
            let mut seconds: Vec<f64> =
                own.iter().map(|outcome| of(outcome).unwrap_or(f64::INFINITY)).collect();
            seconds.sort_by(f64::total_cmp);
            let seconds = seconds[seconds.len() / 2];
            if seconds.is_finite() { format!("{seconds:.1}") } else { "-".to_owned() }
        };
        let to = |pages: u64| middle(&|outcome| outcome.seconds_to.get(&pages).copied());
        let all = |own: &CrawlSummary| Some(own.seconds);
        (!own.is_empty()).then(|| vec![strategy.clone(), to(10), to(50), to(100), to(200), middle(&all)])
    };
    let rows: Vec<Vec<String>> = experiment.strategies.iter().filter_map(row).collect();
    if !rows.is_empty() {
        output::print("");
        let head = ["seconds to so many pages of the topic, median", "10", "50", "100", "200", "to the end"];
        output::print_table(&head, &rows);
    }
}
