//! `porthole mark`: feedback on pages, hubs and sites, as training data for the critic (W 2.1).
//!
//! A useful page becomes an example of a good topic. A useless page becomes an example of another topic, since the
//! critic is trained on topics only.

use std::path::Path;

use porthole_store::{
    ExampleChange, ExampleState, Feedback, FeedbackKind, NewExample, SqliteWorkspaceWriter, StoredExample,
    TopicChange, WorkspaceWriter,
};
use porthole_topic::{Critic, Taxonomy};
use porthole_types::{CanonicalUrl, Clock, TopicId};
use serde::Serialize;

use crate::cli::{self, Usefulness};
use crate::documents::{DocumentReader, TermDocument};
use crate::output::{self, misuse, plain};
use crate::sources::parse_url;
use crate::training::answers::SOURCE;
use crate::workspace::{self, Workspace};

/// Probability from which a topic that is not good takes a useless page. Below that the critic knows no suitable topic,
/// and the page would dilute the one it is put into.
const PLAUSIBLE: f64 = 0.1;

pub(crate) fn run(root: &Path, arguments: &cli::Mark) -> anyhow::Result<()> {
    let workspace = Workspace::open(root)?;
    let url = parse_url(&arguments.url)?;
    let mut writer = workspace.writer()?;
    let kind = match arguments {
        cli::Mark { site: true, .. } => FeedbackKind::Site,
        cli::Mark { hub: true, .. } => FeedbackKind::Hub,
        _ => FeedbackKind::Page,
    };
    let useful = arguments.verdict == Usefulness::Useful;
    let lesson = match kind {
        FeedbackKind::Site => {
            check_site(&writer, &url).map(|()| MarkEffect::None("the critic is not trained on sites"))?
        }
        FeedbackKind::Hub => {
            check_known(&writer, &url).map(|()| MarkEffect::None("the critic is not trained on links"))?
        }
        FeedbackKind::Page => mark_page(&workspace, &mut writer, &url, useful, arguments.topic.as_deref())?,
    };
    let name = if kind == FeedbackKind::Site { url.authority() } else { url.as_str() };
    if kind != FeedbackKind::Page {
        add_feedback(&mut writer, name, kind, useful)?;
    }
    let marked = Marked::of(name, kind, useful, &lesson);
    if arguments.json {
        return output::print_json(&marked);
    }
    marked.print();
    Ok(())
}

/// Marks a page: makes it an example and records the mark.
pub(crate) fn mark_page(
    workspace: &Workspace,
    writer: &mut SqliteWorkspaceWriter,
    url: &CanonicalUrl,
    useful: bool,
    topic: Option<&str>,
) -> anyhow::Result<MarkEffect> {
    let effect = FeedbackExample::new(workspace, writer, url, useful)?.teach(writer, topic)?;
    add_feedback(writer, url.as_str(), FeedbackKind::Page, useful)?;
    Ok(effect)
}

fn add_feedback(
    writer: &mut SqliteWorkspaceWriter,
    name: &str,
    kind: FeedbackKind,
    useful: bool,
) -> anyhow::Result<()> {
    let at = porthole_crawl::SystemClock.now();
    Ok(writer.add_feedback(&[Feedback { name: name.to_owned(), kind, useful, at }])?)
}

fn check_site(writer: &SqliteWorkspaceWriter, url: &CanonicalUrl) -> anyhow::Result<()> {
    match writer.reader().site(url.authority())? {
        Some(_) => Ok(()),
        None => Err(misuse(format!(
            "no page of {} is known; `porthole sites list` shows the known sites",
            plain(url.authority())
        ))),
    }
}

fn check_known(writer: &SqliteWorkspaceWriter, url: &CanonicalUrl) -> anyhow::Result<()> {
    match writer.reader().about_briefly(url)? {
        Some(_) => Ok(()),
        None => Err(unknown(url)),
    }
}

fn unknown(url: &CanonicalUrl) -> anyhow::Error {
    misuse(format!("{} is unknown; `porthole top pages` lists pages of the crawl", plain(url.as_str())))
}

/// The effect of a mark on the training data.
pub(crate) enum MarkEffect {
    /// The page is now an example of this topic.
    Example(String),
    /// The page was an example of this topic before.
    Known(String),
    /// No effect, with the reason.
    None(&'static str),
}

/// The result, for JSON.
#[derive(Serialize)]
struct Marked<'a> {
    name: &'a str,
    kind: &'static str,
    useful: bool,
    /// The topic of which the page is an example now.
    topic: Option<&'a str>,
    /// Whether it was one before.
    was_known: bool,
    /// Why the page is no example.
    why_not: Option<&'a str>,
}

impl<'a> Marked<'a> {
    fn of(name: &'a str, kind: FeedbackKind, useful: bool, lesson: &'a MarkEffect) -> Self {
        let (topic, why_not) = match lesson {
            MarkEffect::Example(topic) | MarkEffect::Known(topic) => (Some(topic.as_str()), None),
            MarkEffect::None(why) => (None, Some(*why)),
        };
        let was_known = matches!(lesson, MarkEffect::Known(_));
        Marked { name, kind: kind.name(), useful, topic, was_known, why_not }
    }

    fn print(&self) {
        let useful = if self.useful { "useful" } else { "useless" };
        let kind = if self.kind == "page" { String::new() } else { format!(" as a {}", self.kind) };
        output::print(&format!("marked {useful}{kind}: {}", plain(self.name)));
        match (self.topic, self.why_not) {
            (Some(topic), _) if self.was_known => {
                output::print(&format!("it was an example of {topic} already"));
            }
            (Some(topic), _) => output::print(&format!(
                "added as an example of {topic} (another one: `--topic PATH`); next: `porthole train`"
            )),
            (None, Some(why)) if self.kind == "page" => {
                output::say(&format!("not used as an example: {why}"));
            }
            _ if self.kind == "site" && !self.useful => output::print(
                "`porthole top sites` omits it; to stop fetching from it, run `porthole sites disable HOST`",
            ),
            _ => {}
        }
    }
}

/// Turns a marked page into an example.
struct FeedbackExample {
    url: CanonicalUrl,
    useful: bool,
    tree: Taxonomy,
    critic: Option<Critic>,
    /// Existing examples with this URL.
    examples: Vec<StoredExample>,
    document: Option<TermDocument>,
    words: Vec<porthole_store::TermWord>,
    /// Why there is no document.
    why_not: &'static str,
}

impl FeedbackExample {
    fn new(
        workspace: &Workspace,
        writer: &SqliteWorkspaceWriter,
        url: &CanonicalUrl,
        useful: bool,
    ) -> anyhow::Result<FeedbackExample> {
        let reader = writer.reader();
        let about = reader.about_briefly(url)?;
        let mut examples = reader.examples(None)?;
        examples.retain(|example| example.url == url.as_str());
        if about.is_none() && examples.is_empty() {
            return Err(unknown(url));
        }
        let mut documents = DocumentReader::new();
        let (document, why_not) = match about.as_ref().and_then(|about| about.span) {
            Some(span) => {
                let page = workspace.read_page(url, span)?;
                let document = documents.bytes(Some(url), &page.headers, &page.body);
                (
                    Some(document).filter(|document| document.state == ExampleState::Ok),
                    "the page has no words",
                )
            }
            None => (None, "the page was not fetched, or not archived"),
        };
        Ok(FeedbackExample {
            url: url.clone(),
            useful,
            tree: workspace::tree(&*reader)?,
            critic: workspace::critic(&*reader).ok().map(|(critic, _)| critic),
            examples,
            document,
            words: documents.take_words(),
            why_not,
        })
    }

    /// Writes the example and removes or moves those that contradict the mark.
    fn teach(mut self, writer: &mut SqliteWorkspaceWriter, path: Option<&str>) -> anyhow::Result<MarkEffect> {
        let topics_before = self.tree.len();
        let contrary: Vec<StoredExample> =
            self.examples.iter().filter(|example| self.is_contrary(example)).cloned().collect();
        if self.document.is_none() && contrary.is_empty() {
            return Ok(MarkEffect::None(self.why_not));
        }
        let Some(topic) = self.topic(path)? else {
            return Err(misuse("there is no critic yet to choose the topic; name it with --topic PATH"));
        };
        let is_known = |example: &StoredExample| example.topic == topic && example.state == ExampleState::Ok;
        let is_known = contrary.is_empty() && self.examples.iter().any(is_known);
        let changes: Vec<ExampleChange> = contrary
            .iter()
            .map(|example| match self.document {
                Some(_) => ExampleChange::Remove(example.id),
                None => ExampleChange::Move(example.id, topic),
            })
            .collect();
        let added: Vec<NewExample> =
            self.document.take().map(|document| self.example(topic, document)).into_iter().collect();
        let rows = self.tree.rows();
        writer.change_topics(&TopicChange {
            topics: (self.tree.len() > topics_before).then_some(&rows),
            examples: &changes,
            added: &added,
            terms: &self.words,
        })?;
        let path = self.tree.path(topic);
        Ok(if is_known { MarkEffect::Known(path) } else { MarkEffect::Example(path) })
    }

    fn example(&self, topic: TopicId, document: TermDocument) -> NewExample {
        NewExample {
            topic,
            url: self.url.as_str().to_owned(),
            title: document.title,
            source: SOURCE.to_owned(),
            language: document.language,
            state: document.state,
            terms: document.terms,
        }
    }

    /// Whether an example contradicts the mark. For a useful page, an example that the user put into another topic
    /// stays: the page can be about both.
    fn is_contrary(&self, example: &StoredExample) -> bool {
        match self.useful {
            true => example.source == SOURCE && !is_wanted(&self.tree, example.topic),
            false => is_wanted(&self.tree, example.topic),
        }
    }

    /// The topic for the page; `None` if it cannot be chosen.
    fn topic(&mut self, path: Option<&str>) -> anyhow::Result<Option<TopicId>> {
        if let Some(path) = path {
            return self.named(path).map(Some);
        }
        if self.tree.good().next().is_none() {
            return Err(misuse("no topic is marked good: mark one with `porthole topics mark PATH`"));
        }
        let (Some(critic), Some(document)) = (&mut self.critic, &self.document) else {
            return Ok(self.without_judgment());
        };
        let mut leaves = critic.all(&document.terms);
        leaves.retain(|(topic, _)| self.tree.contains(*topic) && self.tree.is_leaf(*topic));
        leaves.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let first =
            |wanted: bool| leaves.iter().copied().find(|(topic, _)| is_wanted(&self.tree, *topic) == wanted);
        let good = first(true).map(|(topic, _)| topic);
        if self.useful {
            return Ok(good.or_else(|| self.tree.good().next()));
        }
        match first(false) {
            Some((topic, probability)) if probability >= PLAUSIBLE => Ok(Some(topic)),
            other => {
                Ok(Some(self.other_than(good)?.or(other.map(|(topic, _)| topic)).unwrap_or(TopicId::ROOT)))
            }
        }
    }

    /// The topic that the user named, if it agrees with the mark.
    fn named(&self, path: &str) -> anyhow::Result<TopicId> {
        let topic = self.tree.find(path)?;
        match (self.useful, is_wanted(&self.tree, topic)) {
            (true, false) => Err(misuse(format!(
                "{path} is not good, but the page is useful; mark the topic good first with `porthole topics mark`, or \
                 name another topic"
            ))),
            (false, true) => {
                Err(misuse(format!("{path} is good, but the page is useless; name a topic that is not good")))
            }
            _ => Ok(topic),
        }
    }

    /// Chooses a topic without a judgment; for a useful page only possible if there is a single good topic.
    fn without_judgment(&mut self) -> Option<TopicId> {
        let good: Vec<TopicId> = self.tree.good().collect();
        match (self.useful, good.as_slice()) {
            (true, &[only]) => Some(only),
            (true, _) => None,
            (false, _) => {
                let topic = self
                    .examples
                    .iter()
                    .map(|example| example.topic)
                    .find(|&topic| is_wanted(&self.tree, topic));
                self.other_than(topic.or(good.first().copied())).ok().flatten()
            }
        }
    }

    /// The `Other` leaf beside a good topic, for pages that resemble it but are not about it (A 3.1); `None` if that
    /// leaf is good itself.
    fn other_than(&mut self, wanted: Option<TopicId>) -> anyhow::Result<Option<TopicId>> {
        let wanted = wanted.or_else(|| self.tree.good().next()).unwrap_or(TopicId::ROOT);
        let is_good = |id: &TopicId| self.tree.is_good(*id);
        let good = std::iter::once(wanted).chain(self.tree.ancestors(wanted)).find(is_good).unwrap_or(wanted);
        let other = self.tree.add_other(self.tree.parent(good))?;
        Ok(Some(other).filter(|&other| !is_wanted(&self.tree, other)))
    }
}

/// Whether a topic is good or below a good one.
fn is_wanted(tree: &Taxonomy, topic: TopicId) -> bool {
    tree.contains(topic) && std::iter::once(topic).chain(tree.ancestors(topic)).any(|id| tree.is_good(id))
}
