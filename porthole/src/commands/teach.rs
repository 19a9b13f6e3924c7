//! `porthole teach`: asks about pages of which an answer teaches most; each answer is a mark (`porthole mark`).
//!
//! Which pages: fetched pages that are neither examples nor marked, evenly spaced in the ranking of those that may be
//! relevant. With few examples a critic is certain and wrong about many of them, and the answers have to show what
//! distinguishes these from the others; pages that it is uncertain about are asked about where there are no more. At most
//! [`MOST_OF_A_SITE`](choice::MOST_OF_A_SITE) pages of a site are asked about, and no two with nearly the same text.

mod choice;

use std::path::Path;

use porthole_page::{ExtractLimits, Extractor};
use porthole_store::StoreReader;
use porthole_topic::{Critic, Taxonomy};
use porthole_types::{CanonicalUrl, TermId, TopicId, shortened};
use serde::Serialize;

use self::choice::{AskedPage, pages_to_ask};
use super::mark;
use crate::asking;
use crate::cli;
use crate::output::{self, Paint, count, misuse, plain};
use crate::workspace::{self, WordLookup, Workspace, path_of};

/// Number of words for and against the topic.
const WORDS: usize = 6;

/// Length of a snippet in bytes.
const SNIPPET: usize = 320;

pub(crate) async fn run(root: &Path, arguments: &cli::Teach) -> anyhow::Result<()> {
    let workspace = Workspace::open(root)?;
    let reader = workspace.reader()?;
    let (critic, tree) = workspace::critic(&reader)?;
    if tree.good().next().is_none() {
        return Err(misuse("no topic is marked good: mark one with `porthole topics mark PATH`"));
    }
    let pages = pages_to_ask(&workspace, &reader, critic.clone(), arguments.limit as usize)?;
    let mut questions = QuestionMaker { workspace: &workspace, reader: &reader, critic, tree };
    let questions: Vec<TeachQuestion> =
        pages.iter().map(|page| questions.question(page)).collect::<anyhow::Result<_>>()?;
    if arguments.json {
        return output::print_json(&questions);
    }
    if questions.is_empty() {
        output::print("there is no page to ask about: crawl first, or all pages are examples or marked");
        return Ok(());
    }
    if !asking::is_possible() {
        questions.iter().for_each(TeachQuestion::print);
        output::say("answer with `porthole mark URL useful|useless`, or run `porthole teach` at a terminal");
        return Ok(());
    }
    let answered = ask_all(&workspace, &questions).await?;
    if answered > 0 {
        output::print(&format!(
            "{}; next: `porthole train --preview` shows what they change, `porthole train --accept` takes it over",
            count(answered, "answer")
        ));
    }
    Ok(())
}

/// Asks one question after the other. Every answer is stored at once. Returns their number.
async fn ask_all(workspace: &Workspace, questions: &[TeachQuestion]) -> anyhow::Result<usize> {
    let mut writer = workspace.writer()?;
    let mut answered = 0;
    for (number, question) in questions.iter().enumerate() {
        question.print();
        let what =
            format!("{} of {}: is it about {}? [y/n/s/q]", number + 1, questions.len(), question.about);
        let answer = match asking::ask_until(&what, understood).await {
            None | Some(TeachAnswer::Quit) => break,
            Some(TeachAnswer::Skip) => continue,
            Some(TeachAnswer::Yes) => true,
            Some(TeachAnswer::No) => false,
        };
        let url = CanonicalUrl::parse(&question.url)?;
        mark::mark_page(workspace, &mut writer, &url, answer, None)?;
        answered += 1;
    }
    Ok(answered)
}

/// An answer at the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TeachAnswer {
    Yes,
    No,
    Skip,
    Quit,
}

fn understood(answer: &str) -> Result<TeachAnswer, String> {
    match answer.to_lowercase().as_str() {
        "y" | "yes" => Ok(TeachAnswer::Yes),
        "n" | "no" => Ok(TeachAnswer::No),
        "s" | "skip" | "" => Ok(TeachAnswer::Skip),
        "q" | "quit" => Ok(TeachAnswer::Quit),
        _ => Err("y: yes, n: no, s: skip this page, q: quit".to_owned()),
    }
}

/// A page to ask about.
#[derive(Serialize)]
struct TeachQuestion {
    url: String,
    title: String,
    snippet: String,
    relevance: f64,
    /// The most probable topic.
    topic: String,
    /// The good topic that is asked about.
    about: String,
    /// Words that speak for and against it.
    #[serde(rename = "for")]
    words_for: Vec<String>,
    against: Vec<String>,
}

impl TeachQuestion {
    fn print(&self) {
        let title = if self.title.is_empty() { &self.url } else { &self.title };
        output::print(&format!("\n{}", Paint::Strong.on(&plain(title))));
        output::print(&Paint::Faint.on(&plain(&self.url)));
        if !self.snippet.is_empty() {
            output::print(&plain(&self.snippet));
        }
        output::print(&format!("R {:.2}, most probably {}", self.relevance, self.topic));
        for (what, words) in [("for", &self.words_for), ("against", &self.against)] {
            if !words.is_empty() {
                output::print(&Paint::Faint.on(&format!("{what:>7}  {}", plain(&words.join(", ")))));
            }
        }
    }
}

/// Makes questions of pages.
struct QuestionMaker<'a> {
    workspace: &'a Workspace,
    reader: &'a dyn StoreReader,
    critic: Critic,
    tree: Taxonomy,
}

impl QuestionMaker<'_> {
    fn question(&mut self, page: &AskedPage) -> anyhow::Result<TeachQuestion> {
        let AskedPage { url, relevance, best, terms, .. } = page;
        let about = self.reader.about_briefly(url)?;
        let title = about.as_ref().map(|about| about.title.clone()).unwrap_or_default();
        // A page that cannot be read has no snippet.
        let snippet = about
            .and_then(|about| self.workspace.read_page(url, about.span?).ok())
            .map(|page| {
                let mut extractor = Extractor::new(ExtractLimits::default());
                let content = extractor.main_content(url, &page.headers, &page.body);
                let words: Vec<&str> = content.text.split_whitespace().collect();
                shortened(words.join(" "), SNIPPET)
            })
            .unwrap_or_default();
        let (good, steps) = self.good_topic(terms);
        let lexicon = WordLookup::new(self.reader, &[]);
        let (words_for, against) = match steps {
            Some((words_for, against)) => (lexicon.words(&words_for)?, lexicon.words(&against)?),
            None => (Vec::new(), Vec::new()),
        };
        Ok(TeachQuestion {
            url: url.as_str().to_owned(),
            title,
            snippet,
            relevance: *relevance,
            topic: path_of(&self.tree, *best),
            about: path_of(&self.tree, good),
            words_for,
            against,
        })
    }

    /// The most probable good topic, with the words for and against it where it is decided.
    #[allow(clippy::type_complexity)]
    fn good_topic(
        &mut self,
        terms: &[(TermId, u32)],
    ) -> (TopicId, Option<(Vec<(TermId, f64)>, Vec<(TermId, f64)>)>) {
        let good: Vec<TopicId> = self.tree.good().collect();
        let mut paths: Vec<_> =
            good.iter().map(|&topic| (topic, self.critic.explain_topic(topic, terms, WORDS))).collect();
        let probability = |path: &(TopicId, Vec<porthole_topic::DescentStep>)| {
            path.1.last().map_or(0.0, |step| step.probability)
        };
        paths.sort_by(|a, b| probability(b).total_cmp(&probability(a)).then(a.0.cmp(&b.0)));
        let (topic, steps) = paths.into_iter().next().unwrap_or((TopicId::ROOT, Vec::new()));
        // The step that is least certain decides.
        let doubt = steps.into_iter().min_by(|a, b| a.given_parent.total_cmp(&b.given_parent));
        (topic, doubt.map(|step| (step.words_for, step.words_against)))
    }
}
