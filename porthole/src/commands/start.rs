//! `porthole start`: the first crawl, from a few pages. Prints, for each step, the command that does the same.

mod choice;
pub(super) mod contact;
mod folders;
mod request;
mod words;

use std::path::Path;
use std::process::ExitCode;

use porthole_store::{ExampleChange, ExampleState, StoreReader, StoredExample, TopicChange, WorkspaceWriter};
use porthole_topic::{Taxonomy, TaxonomyError};
use porthole_types::{CanonicalUrl, TermId, TopicId};

use self::choice::chosen_topic;
use self::request::{NamedPage, StartRequest};
use self::words::is_found_by;
use crate::asking::{self, INTERRUPTED};
use crate::cli;
use crate::commands::examples::add::{self, NewExamplePage};
use crate::commands::propose::{self, TopicProposal};
use crate::commands::{crawl, init, train};
use crate::documents::DocumentReader;
use crate::languages::{self, ForeignLanguage};
use crate::output::{self, Paint, Spinner, count, misuse, quoted};
use crate::training::train_workspace;
use crate::visiting::Visitor;
use crate::workspace::{self, Workspace};

pub(crate) async fn run(root: &Path, arguments: &cli::Start) -> anyhow::Result<ExitCode> {
    let mut request = StartRequest::of(root, arguments)?;
    if arguments.list_folders {
        return folders::list(&request).map(|()| ExitCode::SUCCESS);
    }
    words::check(arguments, &request)?;
    let wanted = folders::wanted(&request.folders, arguments).await?;
    folders::limited(&mut request, &wanted);
    let contact = contact::needed(&request.folder, arguments).await?;
    let start = FirstCrawl::open(arguments, &request)?;
    if let Some(contact) = contact {
        contact::write(&request.folder, &contact)?;
        let file = request.folder.join("porthole.toml");
        start.step(
            "your contact address is sent with every request",
            &format!("{}: [fetch] contact", file.display()),
        );
    }
    // The contact may have changed the settings.
    let start = FirstCrawl { workspace: Workspace::open(&request.folder)?, ..start };
    let Some(has_new_folders) = start.fetch_folders(&request).await?.is_some() else { return interrupted() };
    if has_new_folders || !request.folders.is_empty() && start.tree()?.good().next().is_none() {
        start.place_folders(&request, &wanted).await?;
    }
    let fetched = match &arguments.words {
        Some(words) => start.find_examples(words, &request).await?,
        None => start.fetch(&request).await?,
    };
    let Some(has_new_pages) = fetched.is_some() else { return interrupted() };
    if has_new_pages || start.tree()?.good().next().is_none() || start.has_unplaced(&request)? {
        let path = start.choose().await?;
        start.mark(&path, &request)?;
    }
    start.train()?;
    let mut crawl = arguments.crawl.clone();
    let starts = start.further_starts();
    let from = starts.as_ref().map(|file| format!(" --start {}", quoted(file))).unwrap_or_default();
    crawl.start.extend(starts);
    let command = format!("{} crawl{from}", start.program);
    if arguments.no_crawl {
        start.step("ready to crawl", &command);
        return Ok(ExitCode::SUCCESS);
    }
    start.step("crawling; Ctrl-C stops, the same command resumes", &command);
    crawl::run(&request.folder, &crawl).await
}

fn interrupted() -> anyhow::Result<ExitCode> {
    output::say("interrupted; run the same command to resume");
    Ok(INTERRUPTED.into())
}

/// A start in progress.
struct FirstCrawl<'a> {
    arguments: &'a cli::Start,
    workspace: Workspace,
    /// The program with its `-C` option, for the commands that are printed.
    program: String,
}

/// Result of fetching the named pages.
enum Fetching {
    /// All pages are examples already.
    Nothing,
    Some,
    Interrupted,
}

impl Fetching {
    /// Whether there are new pages; `None` if it was interrupted.
    fn is_some(&self) -> Option<bool> {
        match self {
            Fetching::Nothing => Some(false),
            Fetching::Some => Some(true),
            Fetching::Interrupted => None,
        }
    }
}

impl<'a> FirstCrawl<'a> {
    /// Creates the workspace with the general taxonomy, or opens the existing one.
    fn open(arguments: &'a cli::Start, request: &StartRequest) -> anyhow::Result<FirstCrawl<'a>> {
        let folder = &request.folder;
        let shown = folder.display().to_string();
        let program = match shown.as_str() {
            "." => "porthole".to_owned(),
            folder => format!("porthole -C {}", quoted(folder)),
        };
        let is_new = !Workspace::is_at(folder);
        let workspace = if is_new { Workspace::create(folder)? } else { Workspace::open(folder)? };
        let start = FirstCrawl { arguments, workspace, program };
        if start.tree()?.len() == 1 {
            let spinner = Spinner::new("loading the general taxonomy");
            init::give_general_topics(&start.workspace)?;
            spinner.finish();
        }
        let topics = count(start.tree()?.len() - 1, "topic");
        if is_new {
            start.step(
                &format!("created a workspace in {shown} with {topics} (general taxonomy)"),
                &format!("porthole init {} --taxonomy general", quoted(&shown)),
            );
        } else {
            start.step(&format!("the workspace in {shown} has {topics}"), &start.command("topics tree"));
        }
        Ok(start)
    }

    /// Prints a finished step and the command that does the same.
    fn step(&self, what: &str, command: &str) {
        let lines = format!("{} {what}\n  {}", Paint::Good.on("•"), Paint::Faint.on(command));
        // With --json, standard output is for JSON alone.
        if self.arguments.crawl.json { output::say(&lines) } else { output::print(&lines) }
    }

    fn command(&self, what: &str) -> String {
        format!("{} {what}", self.program)
    }

    fn tree(&self) -> anyhow::Result<Taxonomy> {
        workspace::tree(&self.workspace.reader()?)
    }

    /// Fetches the pages that are not examples yet, as examples without a topic.
    async fn fetch(&self, request: &StartRequest) -> anyhow::Result<Fetching> {
        self.fetch_pages("/", &request.pages.iter().collect::<Vec<_>>()).await
    }

    /// Fetches the pages that are not examples yet, as examples of a topic.
    async fn fetch_pages(&self, topic: &str, pages: &[&NamedPage]) -> anyhow::Result<Fetching> {
        let examples = self.workspace.reader()?.examples(None)?;
        let is_known = |url: &CanonicalUrl| {
            examples.iter().any(|known| known.state == ExampleState::Ok && known.url == url.as_str())
        };
        let wanted: Vec<_> = pages.iter().filter(|page| !is_known(&page.url)).collect();
        if wanted.is_empty() {
            return Ok(Fetching::Nothing);
        }
        let visitor = Visitor::of(&self.workspace, &self.arguments.crawl.web)?;
        let mut documents = DocumentReader::new();
        let urls: Vec<CanonicalUrl> = wanted.iter().map(|page| page.url.clone()).collect();
        let tour = visitor.read_all(&mut documents, &urls).await;
        let shown = wanted.iter().zip(tour.documents).map(|(page, document)| NewExamplePage {
            fallback_title: page.title.clone(),
            ..NewExamplePage::new(page.url.to_string(), &page.source, document)
        });
        let added = add::keep(&self.workspace, topic, shown.collect(), &mut documents)?;
        added.say_lacking();
        if tour.is_interrupted {
            return Ok(Fetching::Interrupted);
        }
        if added.read() == 0 && topic == "/" {
            return Err(misuse("none of the pages could be fetched and read; give other URLs"));
        }
        let of = if topic == "/" { String::new() } else { format!(" of {topic}") };
        let what = format!("fetched {} of {}{of}", added.read(), count(urls.len(), "page"));
        self.step(&what, &self.command(&format!("examples add {} URL…", quoted(topic))));
        Ok(Fetching::Some)
    }

    /// Whether some of the named pages have no topic yet. Bookmarks do not count: some of them stay without one.
    fn has_unplaced(&self, request: &StartRequest) -> anyhow::Result<bool> {
        if let Some(words) = &self.arguments.words {
            return self.has_unplaced_words(words);
        }
        let unplaced = self.workspace.reader()?.examples(Some(TopicId::ROOT))?;
        let is_named =
            |example: &StoredExample| request.pages.iter().any(|page| page.url.as_str() == example.url);
        Ok(!request.is_mixed && unplaced.iter().any(is_named))
    }

    /// Chooses the topic of the pages: by the arguments, by asking, or the best proposal.
    async fn choose(&self) -> anyhow::Result<String> {
        if let Some(path) = &self.arguments.topic {
            if let Err(unknown @ TaxonomyError::Unknown { .. }) = self.tree()?.find(path)
                && unknown.has_similar()
            {
                output::say(&format!(
                    "warning: creating {path}, although there is a topic like it: {unknown}"
                ));
            }
            return Ok(path.clone());
        }
        let asked = cli::Propose { names: Vec::new(), topic: None, most: 5, json: false };
        let (proposals, pages) = propose::proposals(&self.workspace, &asked)?;
        let Some(best) = proposals.first() else { return self.name_topic().await };
        if !self.arguments.crawl.json {
            propose::print(&proposals, pages);
            output::print(&format!("  {}", Paint::Faint.on(&self.command("topics propose"))));
        }
        let default = match &self.arguments.words {
            Some(words) => self.topic_of_words(words, best)?,
            None => self.own_or(best)?,
        };
        match &self.arguments.name {
            Some(name) => Ok(below(best, name)),
            None if self.arguments.yes => Ok(default),
            None if asking::is_possible() => {
                let question = format!(
                    "\nchoose a number, or type a name for a new topic below {}\n\
                    [Enter: {default}]",
                    best.topic
                );
                let tree = self.tree()?;
                let chosen = |answer: &str| chosen_topic(answer, &proposals, &default, &tree);
                Ok(asking::ask_until(&question, chosen).await.unwrap_or(default.clone()))
            }
            None => Err(misuse(format!(
                "choose a topic and run the same command again: `--name NAME` creates one below {}, `--topic PATH` \
                 uses any, `--yes` uses {default}",
                best.topic
            ))),
        }
    }

    /// The path of a new topic, where no topic of the tree fits.
    async fn name_topic(&self) -> anyhow::Result<String> {
        let default = match ForeignLanguage::of_unplaced(&self.workspace.reader()?)? {
            None => return Err(misuse("the pages fit no topic; name one with --topic PATH")),
            Some(language) => format!("/Topic_in_{}", language.name.replace(' ', "_")),
        };
        let path = |name: &str| format!("/{}", name.trim_matches('/'));
        match &self.arguments.name {
            Some(name) => Ok(path(name)),
            None if self.arguments.yes => Ok(default),
            None if asking::is_possible() => {
                let question = format!("\ntype a name for a new topic [Enter: {default}]");
                let answer = asking::ask(&question).await.unwrap_or_default();
                Ok(if answer.is_empty() { default } else { path(&answer) })
            }
            None => Err(misuse(format!(
                "name the topic and run the same command again: `--name NAME` or `--topic PATH`; `--yes` uses {default}"
            ))),
        }
    }

    /// The best proposal if it is a leaf that fits well; otherwise a new topic below it, named after the two words that
    /// decide.
    fn own_or(&self, best: &TopicProposal) -> anyhow::Result<String> {
        let tree = self.tree()?;
        let is_narrow = tree.find(&best.topic).is_ok_and(|topic| tree.is_leaf(topic));
        let words: Vec<&str> = best.words.iter().take(2).map(String::as_str).collect();
        if words.is_empty() || (is_narrow && best.probability >= GOOD_FIT) {
            return Ok(best.topic.clone());
        }
        Ok(below(best, &words.join("_").replace('/', "_")))
    }

    /// Moves the pages to the topic and marks it good.
    fn mark(&self, path: &str, request: &StartRequest) -> anyhow::Result<()> {
        let mut store = self.workspace.writer()?;
        let mut tree = workspace::tree(&*store.reader())?;
        let before = tree.len();
        let topic = tree.add_path(path)?;
        if topic == TopicId::ROOT {
            return Err(misuse("cannot crawl for the root topic; name a topic below it"));
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
        let with_pages = moved.iter().filter(|example| example.state == ExampleState::Ok).count();
        let new = if tree.len() > before { ", a new topic," } else { "" };
        self.step(
            &format!("{path}{new} is marked good, with {}", count(with_pages, "more example")),
            &format!(
                "{} && {}",
                self.command(&format!("examples move URL… {}", quoted(&path))),
                self.command(&format!("topics mark {}", quoted(&path)))
            ),
        );
        Ok(())
    }

    /// The examples without a topic that go to the chosen one: all if the user named it; of bookmarks, which cover many
    /// topics, those that the critic assigns to it.
    fn fitting(
        &self,
        reader: &dyn StoreReader,
        tree: &Taxonomy,
        topic: TopicId,
        request: &StartRequest,
    ) -> anyhow::Result<Vec<StoredExample>> {
        let is_named = self.arguments.topic.is_some() || self.arguments.name.is_some();
        let mut examples: Vec<(StoredExample, Vec<(TermId, u32)>)> = Vec::new();
        reader.visit_examples(&mut |example, terms| {
            let is_meant = self.arguments.words.as_ref().is_none_or(|words| is_found_by(example, words));
            if example.topic == TopicId::ROOT && is_meant {
                examples.push((example.clone(), terms.to_vec()));
            }
        })?;
        if !is_named && request.is_mixed {
            let (mut critic, known) = workspace::critic(reader)?;
            // The critic does not know a new topic: its closest known ancestor is used instead.
            let topic = std::iter::once(topic).chain(tree.ancestors(topic)).find(|&id| known.contains(id));
            let wide = known.below(topic.unwrap_or(TopicId::ROOT));
            examples.retain(|(_, terms)| !terms.is_empty() && wide.contains(&critic.best(terms).0));
        }
        Ok(examples.into_iter().map(|(example, _)| example).collect())
    }

    /// Trains the critic, and warns of examples that it does not recognise.
    fn train(&self) -> anyhow::Result<()> {
        let spinner = Spinner::new("training");
        let settings = self.workspace.settings.train.ready()?;
        let report = train_workspace(&mut self.workspace.writer()?, &settings, false);
        spinner.finish();
        let report = report?;
        let examples = count(report.examples as usize, "example");
        let what = format!("trained the critic on {examples}, including those of the taxonomy");
        self.step(&what, &self.command("train"));
        train::warn_of_misjudged(&report.check);
        let reader = self.workspace.reader()?;
        if let Some(language) = ForeignLanguage::of_good(&reader)?
            && !languages::has_background(&reader, language)?
        {
            output::say(&language.no_background());
        }
        if !report.check.lost.is_empty() {
            output::say(&format!(
                "add more with `{} examples explore TOPIC`, or mark the parent topic as good",
                self.program
            ));
        }
        Ok(())
    }
}

/// Probability from which the pages are about exactly the proposed topic, and critic and examples agree.
const GOOD_FIT: f64 = 0.5;

/// Probability below which a new topic is put at the top level instead of below the best proposal.
const RELATED: f64 = 0.25;

/// Path of a new topic: below the best proposal if that is related.
fn below(best: &TopicProposal, name: &str) -> String {
    let name = name.trim_matches('/');
    if best.probability < RELATED { format!("/{name}") } else { format!("{}/{name}", best.topic) }
}
