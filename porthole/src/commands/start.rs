//! `porthole start`: from a few pages to a running crawl. Every step is a command of its own, and is named.

mod contact;
mod request;

use std::path::Path;
use std::process::ExitCode;

use porthole_store::{Example, ExampleChange, ExampleState, StoreReader, TopicChange, WorkspaceWriter};
use porthole_topic::Taxonomy;
use porthole_types::{CanonicalUrl, TermId, TopicId};

use self::request::Request;
use crate::asking::{self, INTERRUPTED};
use crate::cli;
use crate::commands::examples::add::{self, Shown};
use crate::commands::propose::{self, Facts as Proposed};
use crate::commands::{crawl, init};
use crate::documents::DocumentReader;
use crate::output::{self, Paint, Spinner, count, misuse, quoted};
use crate::settings::RawTrain;
use crate::training::train_workspace;
use crate::visiting::Visitor;
use crate::workspace::{self, Workspace};

pub(crate) async fn run(root: &Path, arguments: &cli::Start) -> anyhow::Result<ExitCode> {
    let request = Request::of(root, arguments)?;
    let contact = contact::needed(&request.folder, arguments).await?;
    let start = Start::open(arguments, &request)?;
    if let Some(contact) = contact {
        contact::write(&request.folder, &contact)?;
        let file = request.folder.join("porthole.toml");
        start.step(
            "your contact goes along with every request",
            &format!("{}: [fetch] contact", file.display()),
        );
    }
    // The settings may have changed.
    let start = Start { workspace: Workspace::open(&request.folder)?, ..start };
    let fetched = match start.fetch(&request).await? {
        Fetching::Interrupted => {
            output::say("interrupted; run the same command to resume");
            return Ok(INTERRUPTED.into());
        }
        Fetching::Nothing => false,
        Fetching::Some => true,
    };
    if fetched || start.tree()?.good().next().is_none() || start.has_unplaced(&request)? {
        let path = start.choose().await?;
        start.mark(&path, &request)?;
    }
    start.train()?;
    if arguments.no_crawl {
        start.step("everything is ready for the crawl", &format!("{} crawl", start.program));
        return Ok(ExitCode::SUCCESS);
    }
    start.step("crawling; Ctrl-C stops it, the same command resumes it", &format!("{} crawl", start.program));
    crawl::run(&request.folder, &arguments.crawl).await
}

/// A start under way.
struct Start<'a> {
    arguments: &'a cli::Start,
    workspace: Workspace,
    /// What the program is called with, to do a step alone.
    program: String,
}

/// What became of the pages that were named.
enum Fetching {
    /// All were known.
    Nothing,
    Some,
    Interrupted,
}

impl<'a> Start<'a> {
    /// Makes the workspace, with the general taxonomy, or takes up the one that is there.
    fn open(arguments: &'a cli::Start, request: &Request) -> anyhow::Result<Start<'a>> {
        let folder = &request.folder;
        let shown = folder.display().to_string();
        let program = match shown.as_str() {
            "." => "porthole".to_owned(),
            folder => format!("porthole -C {}", quoted(folder)),
        };
        let is_new = !Workspace::is_at(folder);
        let workspace = if is_new { Workspace::create(folder)? } else { Workspace::open(folder)? };
        let start = Start { arguments, workspace, program };
        if start.tree()?.len() == 1 {
            let spinner = Spinner::new("making the general taxonomy");
            init::give_general_topics(&start.workspace)?;
            spinner.finish();
        }
        let topics = count(start.tree()?.len() - 1, "topic");
        if is_new {
            start.step(
                &format!("made a workspace in {shown}, with the {topics} of a general taxonomy"),
                &format!("porthole init {} --taxonomy general", quoted(&shown)),
            );
        } else {
            start.step(&format!("the workspace in {shown} has {topics}"), &start.command("topics tree"));
        }
        Ok(start)
    }

    /// Says what was done, and which command does it alone.
    fn step(&self, what: &str, command: &str) {
        let lines = format!("{} {what}\n  {}", Paint::Good.on("•"), Paint::Faint.on(command));
        // Facts for a program are alone on standard output.
        if self.arguments.crawl.json { output::say(&lines) } else { output::print(&lines) }
    }

    fn command(&self, what: &str) -> String {
        format!("{} {what}", self.program)
    }

    fn tree(&self) -> anyhow::Result<Taxonomy> {
        workspace::tree(&self.workspace.reader()?)
    }

    /// Fetches the pages that are no examples yet. They have no topic at first.
    async fn fetch(&self, request: &Request) -> anyhow::Result<Fetching> {
        let examples = self.workspace.reader()?.examples(None)?;
        let is_known = |url: &CanonicalUrl| {
            examples.iter().any(|known| known.state == ExampleState::Ok && known.url == url.as_str())
        };
        let wanted: Vec<_> = request.pages.iter().filter(|page| !is_known(&page.url)).collect();
        if wanted.is_empty() {
            return Ok(Fetching::Nothing);
        }
        let visitor = Visitor::of(&self.workspace, &self.arguments.crawl.web)?;
        let mut documents = DocumentReader::new();
        let urls: Vec<CanonicalUrl> = wanted.iter().map(|page| page.url.clone()).collect();
        let tour = visitor.read_all(&mut documents, &urls).await;
        let shown = wanted.iter().zip(tour.documents).map(|(page, document)| Shown {
            called: page.called.clone(),
            ..Shown::new(page.url.to_string(), &page.source, document)
        });
        let added = add::keep(&self.workspace, "/", shown.collect(), &mut documents)?;
        added.say_lacking();
        if tour.is_interrupted {
            return Ok(Fetching::Interrupted);
        }
        if added.read() == 0 {
            return Err(misuse("none of the pages could be read; name others"));
        }
        let what = format!("fetched {} of {}", added.read(), count(urls.len(), "page"));
        self.step(&what, &self.command("examples add / URL…"));
        Ok(Fetching::Some)
    }

    /// Whether pages that were named have no topic yet. That of bookmarks some stay without one is no reason to ask again.
    fn has_unplaced(&self, request: &Request) -> anyhow::Result<bool> {
        let unplaced = self.workspace.reader()?.examples(Some(TopicId::ROOT))?;
        let is_named = |example: &Example| request.pages.iter().any(|page| page.url.as_str() == example.url);
        Ok(!request.is_mixed && unplaced.iter().any(is_named))
    }

    /// The topic that the pages are about.
    async fn choose(&self) -> anyhow::Result<String> {
        if let Some(path) = &self.arguments.topic {
            return Ok(path.clone());
        }
        let asked = cli::Propose { names: Vec::new(), topic: None, most: 5, json: false };
        let (proposals, pages) = propose::proposals(&self.workspace, &asked)?;
        let Some(best) = proposals.first() else {
            return Err(misuse("the pages fit no topic; say what they are about with --topic PATH"));
        };
        if !self.arguments.crawl.json {
            propose::print(&proposals, pages);
            output::print(&format!("  {}", Paint::Faint.on(&self.command("topics propose"))));
        }
        let default = self.own_or(best)?;
        match &self.arguments.name {
            Some(name) => Ok(below(best, name)),
            None if self.arguments.yes => Ok(default),
            None if asking::is_possible() => {
                let question = format!(
                    "\nwhich is it? A number of the list, or the name of a topic of your own, to be made below {}\n\
                     [Enter: {default}]",
                    best.topic
                );
                let answer = asking::ask(&question).await.unwrap_or_default();
                match answer.parse::<usize>() {
                    _ if answer.is_empty() => Ok(default),
                    Ok(number) => proposals
                        .get(number.wrapping_sub(1))
                        .map(|proposal| proposal.topic.clone())
                        .ok_or_else(|| misuse(format!("there is no number {number} in the list"))),
                    Err(_) => Ok(below(best, &answer)),
                }
            }
            None => Err(misuse(format!(
                "say what the pages are about, and run the same command again: `--name NAME` makes a topic of your own \
                 below {}, `--topic PATH` takes any, `--yes` takes {default}",
                best.topic
            ))),
        }
    }

    /// The topic that fits best, if it is no wider than the pages; else one of their own below it, named by the words
    /// that speak for it.
    fn own_or(&self, best: &Proposed) -> anyhow::Result<String> {
        let tree = self.tree()?;
        let is_narrow = tree.find(&best.topic).is_ok_and(|topic| tree.is_leaf(topic));
        let words: Vec<&str> = best.words.iter().take(2).map(String::as_str).collect();
        if words.is_empty() || (is_narrow && best.probability >= SQUARE) {
            return Ok(best.topic.clone());
        }
        Ok(below(best, &words.join("_").replace('/', "_")))
    }

    /// Gives the pages to the topic, and marks it good.
    fn mark(&self, path: &str, request: &Request) -> anyhow::Result<()> {
        let mut store = self.workspace.writer()?;
        let mut tree = workspace::tree(&*store.reader())?;
        let before = tree.len();
        let topic = tree.add_path(path)?;
        if topic == TopicId::ROOT {
            return Err(misuse("everything is no topic to crawl for; name one"));
        }
        let is_good_above = tree.ancestors(topic).any(|above| tree.is_good(above));
        if !is_good_above {
            tree.mark(topic)?;
        }
        let moved = self.fitting(&*store.reader(), &tree, topic, request)?;
        let changes: Vec<ExampleChange> =
            moved.iter().map(|example| ExampleChange::Move(example.id, topic)).collect();
        let rows = tree.rows();
        store.change_topics(&TopicChange {
            topics: Some(&rows),
            examples: &changes,
            ..TopicChange::default()
        })?;
        let path = tree.path(topic);
        let new = if tree.len() > before { ", a new topic," } else { "" };
        self.step(
            &format!("{path}{new} is good, with {}", count(changes.len(), "more example")),
            &format!(
                "{} && {}",
                self.command(&format!("examples move URL… {}", quoted(&path))),
                self.command(&format!("topics mark {}", quoted(&path)))
            ),
        );
        Ok(())
    }

    /// The examples without a topic that belong to it: all, if somebody said so; of a browser's bookmarks, which are
    /// about many things, those that fit.
    fn fitting(
        &self,
        reader: &dyn StoreReader,
        tree: &Taxonomy,
        topic: TopicId,
        request: &Request,
    ) -> anyhow::Result<Vec<Example>> {
        let is_said = self.arguments.topic.is_some() || self.arguments.name.is_some();
        let mut examples: Vec<(Example, Vec<(TermId, u32)>)> = Vec::new();
        reader.visit_examples(&mut |example, terms| {
            if example.topic == TopicId::ROOT {
                examples.push((example.clone(), terms.to_vec()));
            }
        })?;
        if !is_said && request.is_mixed {
            let (mut critic, known) = workspace::critic(reader)?;
            // A topic that is new is unknown to the critic: the one above it stands for it.
            let topic = std::iter::once(topic).chain(tree.ancestors(topic)).find(|&id| known.contains(id));
            let wide = known.below(topic.unwrap_or(TopicId::ROOT));
            examples.retain(|(_, terms)| !terms.is_empty() && wide.contains(&critic.best(terms).0));
        }
        Ok(examples.into_iter().map(|(example, _)| example).collect())
    }

    /// Trains, and looks whether the critic knows its own examples.
    fn train(&self) -> anyhow::Result<()> {
        let examples = count(self.train_with(&self.workspace.settings.train)?, "example");
        let known = self.recognised()?;
        let what = format!("the critic has learnt from {examples}, those that came with the topics included");
        self.step(&what, &self.command("train"));
        if known < SQUARE {
            output::say(&format!(
                "warning: it does not know its own examples yet (mean R {known:.2}); show it more, as with \
                 `{} examples explore TOPIC`, or mark the topic above good",
                self.program
            ));
        }
        Ok(())
    }

    /// The number of examples that it was trained on.
    fn train_with(&self, settings: &RawTrain) -> anyhow::Result<usize> {
        let spinner = Spinner::new("training");
        let report = train_workspace(&mut self.workspace.writer()?, &settings.ready()?, false);
        spinner.finish();
        Ok(report?.examples as usize)
    }

    /// The mean R of the examples of good topics; 1 if there are none.
    fn recognised(&self) -> anyhow::Result<f64> {
        let reader = self.workspace.reader()?;
        let (mut critic, tree) = workspace::critic(&reader)?;
        let good: Vec<TopicId> = tree.good().flat_map(|good| tree.below(good)).collect();
        let (mut sum, mut judged) = (0.0, 0);
        reader.visit_examples(&mut |example, terms| {
            if example.state == ExampleState::Ok && good.contains(&example.topic) {
                sum += critic.relevance(terms);
                judged += 1;
            }
        })?;
        Ok(if judged == 0 { 1.0 } else { sum / f64::from(judged) })
    }
}

/// More probable, and the pages are about just that topic.
const SQUARE: f64 = 0.5;

/// Less probable, and a topic of one's own has nothing to do with it.
const RELATED: f64 = 0.25;

/// The path of a topic of one's own: below the one that fits best, if that fits.
fn below(best: &Proposed, name: &str) -> String {
    let name = name.trim_matches('/');
    if best.probability < RELATED { format!("/{name}") } else { format!("{}/{name}", best.topic) }
}
