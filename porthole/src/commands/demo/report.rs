//! The comparison that the demo prints at its end.

use std::collections::BTreeSet;

use serde::Serialize;

use super::WEB_PAGES;
use super::lesson::DemoCritic;
use super::tally::DemoResult;
use crate::cli;
use crate::output::{self, Paint, grouped};

/// Both crawls, side by side.
#[derive(Serialize)]
pub(super) struct DemoReport {
    topic: String,
    seed: u64,
    web_pages: u32,
    topics: usize,
    examples: usize,
    starts: usize,
    training_seconds: f64,
    focused: DemoResult,
    unfocused: DemoResult,
    /// Pages about the topic of the focused crawl divided by those of the unfocused; `None` if the latter are 0.
    factor: Option<f64>,
}

const NAMES: [&str; 2] = ["focused", "unfocused"];

/// Width of a bar in characters: two of them with their labels fit into 80 columns.
const BAR: usize = 24;

impl DemoReport {
    pub(super) fn new(
        arguments: &cli::Demo,
        lesson: &DemoCritic,
        focused: DemoResult,
        unfocused: DemoResult,
    ) -> DemoReport {
        let found = |figures: &DemoResult| figures.about_topic as f64;
        DemoReport {
            topic: arguments.topic.clone(),
            seed: arguments.seed,
            web_pages: WEB_PAGES,
            topics: lesson.topics,
            examples: lesson.examples.len(),
            starts: lesson.starts.len(),
            training_seconds: lesson.seconds,
            factor: (unfocused.about_topic > 0).then(|| found(&focused) / found(&unfocused)),
            focused,
            unfocused,
        }
    }

    pub(super) fn print(&self) {
        self.print_harvest();
        self.print_figures();
        self.print_found();
        output::print(&format!("\n{}", Paint::Strong.on(&self.in_words())));
    }

    fn print_harvest(&self) {
        output::print(&format!("share of fetches that returned a page about {}:\n", self.topic));
        let width = BAR + 7;
        output::print(&format!("   after  {:<width$}  {}", NAMES[0], NAMES[1]));
        let marks: BTreeSet<u64> =
            self.crawls().iter().flat_map(|(_, figures)| figures.harvest.keys().copied()).collect();
        for at in marks {
            let [focused, unfocused] = self.crawls().map(|(paint, figures)| {
                let share = figures.harvest_at(at);
                format!("{} {:>6}", paint.on(&output::bar_of(share, BAR)), percent(share))
            });
            output::print(&format!("{:>8}  {focused}  {unfocused}", grouped(&at.to_string())));
        }
    }

    fn print_figures(&self) {
        let row = |what: &str, of: &dyn Fn(&DemoResult) -> String| {
            vec![what.to_owned(), of(&self.focused), of(&self.unfocused)]
        };
        let failed = |figures: &DemoResult| figures.failures.values().sum::<u64>().to_string();
        output::print("");
        output::print_table(
            &["", NAMES[0], NAMES[1]],
            &[
                row("fetches", &|figures| figures.fetches.to_string()),
                row("pages", &|figures| figures.pages.to_string()),
                row("failed fetches", &failed),
                row("hosts reached", &|figures| figures.hosts.to_string()),
                row("  new, with pages on topic", &|figures| figures.new_hosts.to_string()),
                row("links stored", &|figures| figures.links.to_string()),
                row("mean relevance (critic)", &|figures| format!("{:.3}", figures.mean_relevance)),
                row("accuracy of the critic", &|figures| percent(figures.agreement)),
                row("fetches per second", &|figures| format!("{:.0}", figures.rate())),
            ],
        );
    }

    /// Prints the numbers of pages about the topic, as bars.
    fn print_found(&self) {
        output::print("\npages about the topic:\n");
        let most = self.focused.about_topic.max(self.unfocused.about_topic).max(1) as f64;
        for ((paint, figures), name) in self.crawls().into_iter().zip(NAMES) {
            let bar = paint.on(&output::bar(figures.about_topic as f64 / most));
            output::print(&format!("{name:>11}  {bar} {:>7}", grouped(&figures.about_topic.to_string())));
        }
    }

    /// The conclusion as a sentence.
    fn in_words(&self) -> String {
        let [focused, unfocused] =
            self.crawls().map(|(_, figures)| grouped(&figures.about_topic.to_string()));
        let fetches = grouped(&self.focused.fetches.max(self.unfocused.fetches).to_string());
        let compared = match self.factor {
            None => format!("{focused} pages\nabout {}, the unfocused crawl none", self.topic),
            Some(factor) => {
                let times = format!("{factor:.1} times as many pages");
                format!("{times}\nabout {}: {focused} versus {unfocused}", self.topic)
            }
        };
        format!("With {fetches} fetches, the focused crawl found {compared}.")
    }

    fn crawls(&self) -> [(Paint, &DemoResult); 2] {
        [(Paint::Good, &self.focused), (Paint::Faint, &self.unfocused)]
    }
}

fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}
