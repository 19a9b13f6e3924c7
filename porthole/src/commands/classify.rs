//! `porthole classify`: the critic's judgment of pages, and the words that decide.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use porthole_store::{ExampleState, StoreReader, TermWord};
use porthole_topic::{Critic, Taxonomy};
use serde::Serialize;

use crate::cli;
use crate::documents::{DocumentReader, NamedDocument, TermDocument, find_document};
use crate::output::{self, Paint, count};
use crate::visiting::Visitor;
use crate::workspace::{self, WordLookup, Workspace, path_of};

/// Number of words shown for and against a topic.
const WORDS: usize = 8;

pub(crate) async fn run(root: &Path, arguments: &cli::Classify) -> anyhow::Result<()> {
    let workspace = Workspace::open(root)?;
    let reader = workspace.reader()?;
    let (critic, tree) = workspace::critic(&reader)?;
    warn_of_changes(&critic, &tree);
    let mut documents = ClassifiedDocuments::new(&workspace, &arguments.web);
    let mut judge = PageJudge { critic, tree, reader: &reader, all: arguments.all };
    let is_single = arguments.names.len() == 1;
    let (mut facts, mut failures) = (Vec::new(), 0);
    for name in &arguments.names {
        let document = documents.find(&reader, name).await;
        let judged = document
            .and_then(|document| judge.judge_document(name, document, &documents.documents.take_words()));
        match judged {
            Ok(judged) if arguments.json => facts.push(judged),
            Ok(judged) if is_single => judged.print(&judge.tree),
            Ok(judged) => judged.print_line(),
            Err(error) if is_single => return Err(error),
            // One file that cannot be read does not stop the others.
            Err(error) => {
                output::say(&format!("error: {}", output::in_words(&error)));
                failures += 1;
            }
        }
    }
    if arguments.json {
        output::print_json(&facts)?;
    }
    if failures > 0 {
        bail!("{failures} of {} could not be classified", arguments.names.len());
    }
    Ok(())
}

fn warn_of_changes(critic: &Critic, tree: &Taxonomy) {
    if critic.model().topics().any(|topic| !tree.contains(topic)) {
        output::say("warning: topics were removed after the critic was trained; run `porthole train`");
    }
}

/// The documents to classify. Pages that the workspace does not have are fetched.
struct ClassifiedDocuments<'a> {
    workspace: &'a Workspace,
    documents: DocumentReader,
    recordings: &'a [PathBuf],
    /// Made for the first page, and kept for the delays between requests to a site.
    visitor: Option<Visitor>,
}

impl<'a> ClassifiedDocuments<'a> {
    fn new(workspace: &'a Workspace, recordings: &'a [PathBuf]) -> Self {
        ClassifiedDocuments { workspace, documents: DocumentReader::new(), recordings, visitor: None }
    }

    async fn find(&mut self, reader: &dyn StoreReader, name: &str) -> anyhow::Result<TermDocument> {
        let url = match find_document(&mut self.documents, self.workspace, reader, name)? {
            NamedDocument::Read(document) => return Ok(document),
            NamedDocument::Unknown(url) => url,
        };
        let visitor = match &mut self.visitor {
            Some(visitor) => visitor,
            none => none.insert(Visitor::of(self.workspace, self.recordings)?),
        };
        output::say(&format!("{url} was not crawled yet; fetching it"));
        let page = visitor.visit(&url).await.with_context(|| format!("cannot fetch {url}"))?;
        Ok(self.documents.bytes(Some(&page.at), &page.response.headers, &page.response.body))
    }
}

/// Classifies documents and finds the words that decide.
pub(super) struct PageJudge<'a> {
    pub(super) critic: Critic,
    pub(super) tree: Taxonomy,
    pub(super) reader: &'a dyn StoreReader,
    /// Whether to compute the probability of every topic.
    pub(super) all: bool,
}

/// The judgment of a page.
#[derive(Serialize)]
pub(super) struct PageJudgment {
    name: String,
    title: String,
    language: String,
    /// Number of distinct terms.
    terms: usize,
    state: &'static str,
    detail: String,
    /// Relevance R(d); `None` if no topic is marked good.
    pub(super) relevance: Option<f64>,
    best: Best,
    path: Vec<PathStep>,
    #[serde(skip_serializing_if = "Option::is_none")]
    all: Option<Vec<Best>>,
}

#[derive(Serialize)]
struct Best {
    topic: String,
    probability: f64,
}

#[derive(Serialize)]
struct PathStep {
    topic: String,
    probability: f64,
    given_parent: f64,
    #[serde(rename = "for")]
    words_for: Vec<String>,
    /// What each of these words adds to the logarithm of the odds.
    for_weights: Vec<f64>,
    against: Vec<String>,
    against_weights: Vec<f64>,
}

impl PageJudge<'_> {
    /// Judges a document that is already read.
    pub(super) fn judge_document(
        &mut self,
        name: &str,
        document: TermDocument,
        words: &[TermWord],
    ) -> anyhow::Result<PageJudgment> {
        let TermDocument { title, language, terms, state } = document;
        let lexicon = WordLookup::new(self.reader, words);
        let has_good = self.tree.good().next().is_some();
        let relevance = has_good.then(|| self.critic.relevance(&terms));
        let (best, probability) = self.critic.best(&terms);
        let mut path = Vec::new();
        for step in self.critic.explain(&terms, WORDS) {
            path.push(PathStep {
                topic: path_of(&self.tree, step.topic),
                probability: step.probability,
                given_parent: step.given_parent,
                words_for: lexicon.words(&step.words_for)?,
                for_weights: step.words_for.iter().map(|(_, weight)| *weight).collect(),
                against: lexicon.words(&step.words_against)?,
                against_weights: step.words_against.iter().map(|(_, weight)| *weight).collect(),
            });
        }
        let all = self.all.then(|| {
            let mut all = self.critic.all(&terms);
            all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            let tree = &self.tree;
            all.into_iter()
                .map(|(topic, probability)| Best { topic: path_of(tree, topic), probability })
                .collect()
        });
        Ok(PageJudgment {
            name: name.to_owned(),
            title,
            language,
            terms: terms.len(),
            state: state.name(),
            detail: match state {
                ExampleState::Ok => String::new(),
                state => state.detail().to_owned(),
            },
            relevance,
            best: Best { topic: path_of(&self.tree, best), probability },
            path,
            all,
        })
    }
}

impl PageJudgment {
    /// Prints one line: relevance, the best leaf with its probability, the page.
    fn print_line(&self) {
        let relevance = self.relevance.map_or_else(|| "–".to_owned(), |relevance| format!("{relevance:.3}"));
        let problem = if self.state == "ok" { String::new() } else { format!("  [{}]", self.detail) };
        output::print(&format!(
            "{relevance:>5}  {:.3} {}  {}{problem}",
            self.best.probability,
            self.best.topic,
            output::plain(&self.name)
        ));
    }

    fn print(&self, tree: &Taxonomy) {
        let name = output::plain(&self.name);
        if !self.title.is_empty() {
            output::print(&Paint::Strong.on(&output::plain(&self.title)));
        }
        let language = if self.language.is_empty() { "unknown" } else { &self.language };
        let terms = count(self.terms, "distinct term");
        output::print(&Paint::Faint.on(&format!("{name}: {terms}, language {language}")));
        if self.state != "ok" {
            output::say(&format!("warning: {}; the result is the prior of any page", self.detail));
        }
        self.print_judgment(tree);
        self.print_all();
    }

    /// Prints the relevance and the path to the best topic.
    pub(super) fn print_judgment(&self, tree: &Taxonomy) {
        self.print_relevance(tree);
        self.print_path();
    }

    fn print_relevance(&self, tree: &Taxonomy) {
        let Some(relevance) = self.relevance else {
            return output::print(
                "\nrelevance  no topic is marked good: mark one with `porthole topics mark PATH`",
            );
        };
        let good: Vec<String> = tree.good().map(|id| tree.path(id)).collect();
        let line = format!("\nrelevance  {}  {}", percent(relevance), output::bar_of(relevance, BAR));
        output::print(&format!("{line}  about {}", Paint::Good.on(&good.join(", "))));
    }

    fn print_path(&self) {
        output::print(&format!(
            "best topic {}  {}\n",
            percent(self.best.probability),
            Paint::Strong.on(&self.best.topic)
        ));
        let names: Vec<String> =
            self.path.iter().enumerate().map(|(depth, step)| step_name(depth, &step.topic)).collect();
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        for (name, step) in names.iter().zip(&self.path) {
            let pad = " ".repeat(width - name.chars().count());
            output::print(&format!(
                "{name}{pad}  {}  {}",
                percent(step.probability),
                output::bar_of(step.probability, BAR)
            ));
            for (word, words) in [("for", &step.words_for), ("against", &step.against)] {
                if !words.is_empty() {
                    let words = output::plain(&words.join(", "));
                    output::print(&Paint::Faint.on(&format!("{:width$}  {word:>7}  {words}", "")));
                }
            }
        }
    }

    fn print_all(&self) {
        if let Some(all) = &self.all {
            output::print("\nall topics");
            for topic in all {
                output::print(&format!("  {}  {}", percent(topic.probability), topic.topic));
            }
        }
    }
}

/// Width of a bar in characters.
const BAR: usize = 20;

/// Label of a step: the last name of the path, indented; the whole path where a flat critic skips levels.
fn step_name(depth: usize, path: &str) -> String {
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_below_last = above.matches('/').count() == depth;
    format!("{}{}", "  ".repeat(depth), if is_below_last { name } else { path })
}

fn percent(share: f64) -> String {
    format!("{:5.1}%", 100.0 * share)
}
