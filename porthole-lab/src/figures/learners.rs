//! Comparison of learners for the apprentice (A 2.3), and their training times (A 3.4).

use super::evidence::{Points, TracedResults, cell, percent, with_error};
use super::links::chart;
use super::{ClaimVerdict, Figure};
use crate::experiment::{Learners, Learnt, Pass, Training};
use porthole_report::html::HtmlTable;
use porthole_report::summary::mean;
use porthole_report::svg::{Axis, Chart, Marks, Scale, Series};

/// Results of the study, read from the folder.
fn found(evidence: &TracedResults) -> Option<Learners> {
    let found: Learners = evidence.results.study("learners").ok().flatten()?;
    (!found.crawls.is_empty()).then_some(found)
}

/// Display names of the learners.
const NAMES: [(&str, &str); 3] = [
    ("bayes", "naive Bayes"),
    ("regression", "linear, by the delta rule"),
    ("perceptron", "linear, with a threshold"),
];

/// Passes of a learner over the links of all crawls.
struct Passes<'a>(Vec<&'a [Pass]>);

impl<'a> Passes<'a> {
    fn of(found: &'a Learners, learner: &str) -> Self {
        let of = |crawl: &'a Learnt| crawl.learners.iter().find(|tried| tried.learner == learner);
        Passes(found.crawls.iter().filter_map(of).map(|tried| tried.passes.as_slice()).collect())
    }

    fn count(&self) -> usize {
        self.0.iter().map(|passes| passes.len()).min().unwrap_or(0)
    }

    fn at(&self, pass: usize, value: fn(&Pass) -> f64) -> f64 {
        mean(self.0.iter().map(|passes| value(&passes[pass])))
    }

    fn points(&self, value: fn(&Pass) -> f64) -> Points {
        (0..self.count()).map(|pass| (pass as f64 + 1.0, self.at(pass, value))).collect()
    }

    /// First pass after which the accuracy on training links stays within 0.01 of its final value.
    fn converged(&self) -> usize {
        let last = self.count() - 1;
        let end = self.at(last, |pass| pass.learnt);
        let is_far = |pass: &usize| (self.at(*pass, |pass| pass.learnt) - end).abs() > 0.01;
        (0..last).rev().find(is_far).map_or(1, |pass| pass + 2)
    }
}

fn balanced(pass: &Pass) -> f64 {
    (pass.positive + pass.negative) / 2.0
}

/// A 2.3: naive Bayes versus error-driven learners.
pub(super) fn kinds(evidence: &TracedResults) -> Option<Figure> {
    let found = found(evidence)?;
    let passes = NAMES.map(|(learner, _)| Passes::of(&found, learner));
    if passes.iter().any(|passes| passes.count() == 0) {
        return None;
    }
    let mut table = HtmlTable::new(&[
        "learner",
        "passes",
        "positive",
        "negative",
        "average",
        "mean of both kinds",
        "of what it learnt",
    ]);
    for ((_, name), passes) in NAMES.iter().zip(&passes) {
        for pass in 0..passes.count() {
            let values: [fn(&Pass) -> f64; 5] =
                [|one| one.positive, |one| one.negative, |one| one.average, balanced, |one| one.learnt];
            let cells = values.map(|value| cell(passes.at(pass, value)));
            table.rows.push([(*name).to_owned(), (pass + 1).to_string()].into_iter().chain(cells).collect());
        }
    }
    let last = passes[1].count();
    let series = |value: fn(&Pass) -> f64| {
        let of = |((_, name), passes): (&(&str, &str), &Passes<'_>)| match passes.points(value)[..] {
            // Naive Bayes needs one pass.
            [(first, only)] => Series::line(name, vec![(first, only), (last as f64, only)]),
            ref points => Series::line(name, points.to_vec()),
        };
        NAMES.iter().zip(&passes).map(of).collect::<Vec<Series>>()
    };
    let [bayes, delta, perceptron] = &passes;
    let (first, end) = (|value| delta.at(0, value), |value| delta.at(last - 1, value));
    let own = bayes.at(0, |pass| pass.average);
    let medians = [0, 1].map(|half| mean(found.crawls.iter().map(|crawl| crawl.medians[half])));
    let ms = |learner: &str| {
        mean(found.crawls.iter().flat_map(|crawl| {
            crawl
                .learners
                .iter()
                .filter(|tried| tried.learner == learner)
                .map(|tried| tried.cpu_ms)
                .collect::<Vec<_>>()
        }))
    };
    Some(Figure {
        id: "apprentice-learners",
        title: "Learners for the apprentice",
        paper: "A 2.3",
        there: "a linear perceptron by the delta rule converges too slowly to learn online and its error stays high, naive \
                Bayes works very well; the medians of low and high relevance are near 0 and 1",
        here: format!(
            "about links whose targets it has not seen, naive Bayes is right in {} of cases ({} in the mean of both kinds) after its \
             one pass of {:.0} ms; the delta rule in {} ({}) after one pass of {:.0} ms and in {} ({}) after {last}; with a threshold \
             in {} ({}) and {} ({}). What it is right about of what it learns from changes by less than a point after {} passes, with \
             a threshold after {}. The medians of R are {:.3} and {:.3}.",
            percent(own),
            percent(bayes.at(0, balanced)),
            ms("bayes"),
            percent(first(|pass| pass.average)),
            percent(first(balanced)),
            ms("regression"),
            percent(end(|pass| pass.average)),
            percent(end(balanced)),
            percent(perceptron.at(0, |pass| pass.average)),
            percent(perceptron.at(0, balanced)),
            percent(perceptron.at(last - 1, |pass| pass.average)),
            percent(perceptron.at(last - 1, balanced)),
            delta.converged(),
            perceptron.converged(),
            medians[0],
            medians[1],
        ),
        verdict: ClaimVerdict::of_parts(&[
            ("the delta rule converges slowly", delta.converged() > 1),
            ("after one pass it is behind naive Bayes", first(|pass| pass.average) < own),
            ("its error stays higher", end(|pass| pass.average) < own),
            ("the medians are near 0 and 1", medians[0] < 0.1 && medians[1] > 0.9),
        ]),
        charts: vec![
            chart("all topics", "passes through all links", RIGHT, series(|pass| pass.average)),
            chart(
                "all topics, the mean of both kinds of links",
                "passes through all links",
                RIGHT,
                series(balanced),
            ),
        ],
        table,
        ..Figure::default()
    })
}

const RIGHT: (&str, Scale) = ("share of links predicted correctly", Scale::Close);

/// A 3.4: training time.
pub(super) fn training(evidence: &TracedResults) -> Option<Figure> {
    let found = found(evidence)?;
    let sizes = found.crawls[0].training.len();
    let all = |value: fn(&Training) -> f64, size: usize| -> (f64, f64) {
        with_error(
            &found
                .crawls
                .iter()
                .filter_map(|crawl| crawl.training.get(size).map(value))
                .collect::<Vec<f64>>(),
        )
    };
    let mut table = HtmlTable::new(&[
        "",
        "pages",
        "links",
        "features a link",
        "describing, ms of CPU",
        "learning, ms of CPU",
    ]);
    let mut row = |what: &str, of: &dyn Fn(&Learnt) -> Option<Training>| {
        let some: Vec<Training> = found.crawls.iter().filter_map(of).collect();
        let mean_of = |value: fn(&Training) -> f64| cell(mean(some.iter().map(value)));
        let values: [fn(&Training) -> f64; 5] = [
            |one| one.pages as f64,
            |one| one.links as f64,
            |one| one.features,
            |one| one.describe_cpu_ms,
            |one| one.learn_cpu_ms,
        ];
        table.rows.push([what.to_owned()].into_iter().chain(values.map(mean_of)).collect());
    };
    for size in 0..sizes {
        row("from scratch", &|crawl| crawl.training.get(size).copied());
    }
    row("the last tenth of the links", &|crawl| Some(crawl.last_tenth));
    row("with all terms of the page", &|crawl| Some(crawl.all_terms));
    let critic = &found.critic;
    for (what, ms) in [("the critic", critic.cpu_ms), ("the critic, tuned", critic.tuned_cpu_ms)] {
        table.rows.push(vec![
            what.to_owned(),
            critic.pages.to_string(),
            String::new(),
            String::new(),
            String::new(),
            cell(ms),
        ]);
    }
    let points: Points =
        (0..sizes).map(|size| (all(|one| one.pages as f64, size).0, all(Training::cpu_ms, size).0)).collect();
    let errors = (0..sizes).map(|size| all(Training::cpu_ms, size).1).collect();
    let of = |value: fn(&Learnt) -> f64| mean(found.crawls.iter().map(value));
    let (pages, ms) = *points.last()?;
    let [tenth, far] = [of(|crawl| crawl.last_tenth.cpu_ms()), of(|crawl| crawl.all_terms.cpu_ms())];
    let a_page = |ms: f64, pages: f64| ms / pages.max(1.0);
    let grown = |value: fn(&Training) -> f64| all(value, sizes - 1).0 / all(value, 0).0.max(1e-9);
    Some(Figure {
        id: "apprentice-training",
        title: "The time to train an apprentice",
        paper: "A 3.4, 2.2",
        there: "an apprentice is trained from scratch in 3 to 10 minutes, the critic in hours; more instances are learnt at a \
                small additional cost; with all terms of the page it would be as slow to train as the critic",
        here: format!(
            "from {pages:.0} pages with {:.0} links between them an apprentice is trained in {ms:.0} ms of CPU, {:.0} of them to \
             describe the links ({:.2} ms a page); the critic from {} pages in {:.0} ms ({:.2} ms a page), tuned in {:.0} ms. When \
             pages are {:.0} times as many, links are {:.1} times as many and it takes {:.1} times as long. The last tenth of the \
             links is learnt in {tenth:.0} ms. With all terms of the page it takes {far:.0} ms.",
            all(|one| one.links as f64, sizes - 1).0,
            all(|one| one.describe_cpu_ms, sizes - 1).0,
            a_page(ms, pages),
            critic.pages,
            critic.cpu_ms,
            a_page(critic.cpu_ms, critic.pages as f64),
            critic.tuned_cpu_ms,
            grown(|one| one.pages as f64),
            grown(|one| one.links as f64),
            grown(Training::cpu_ms),
        ),
        verdict: ClaimVerdict::of_parts(&[
            ("a tenth of the critic's time", 10.0 * ms <= critic.cpu_ms),
            ("more is learnt at a small cost", tenth < ms / 2.0),
            ("with all terms as slow as the critic", far >= critic.cpu_ms),
        ]),
        charts: vec![Chart {
            title:
                "training from scratch, on the first pages of a crawl, with standard errors over the topics"
                    .to_owned(),
            x: Axis { label: "pages of the crawl".to_owned(), scale: Scale::Linear },
            y: Axis { label: "ms of CPU".to_owned(), scale: Scale::Linear },
            marks: Marks::Points(vec![Series::with_errors("apprentice", points, errors)]),
        }],
        table,
        ..Figure::default()
    })
}
