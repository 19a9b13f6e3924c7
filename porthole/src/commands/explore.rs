//! `porthole examples explore`: finds further examples: pages near the examples of a topic whose titles share its most
//! distinctive words (W 2.1).

mod neighbours;
mod words;

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use porthole_store::{StoreReader, StoredExample};
use porthole_types::{CanonicalUrl, TermId, UrlId};
use serde::Serialize;

use self::neighbours::{Neighbour, NeighbourFinder, NeighbourList};
use self::words::Distinctive;
use crate::asking;
use crate::cli;
use crate::commands::examples::add::{self, AddedExamples, NewExamplePage};
use crate::documents::DocumentReader;
use crate::output::{self, Paint, count, grouped, misuse, plain};
use crate::visiting::Visitor;
use crate::workspace::{self, WordLookup, Workspace};

/// Number of words shown of a topic.
const WORDS: usize = 12;

/// The result, for JSON.
#[derive(Serialize)]
struct Exploration {
    topic: String,
    words: Vec<String>,
    examples: usize,
    /// Pages near the examples.
    neighbours: usize,
    /// Neighbours with a known title.
    titles: usize,
    /// Pages that could not be fetched.
    failed: usize,
    found: Vec<ExploredPage>,
    added: Option<AddedExamples>,
}

/// A page that may become an example.
#[derive(Serialize)]
struct ExploredPage {
    title: String,
    url: String,
    /// Distinctive words of the title, the strongest first.
    words: Vec<String>,
    score: f64,
    linked_by: usize,
    links_to: usize,
    #[serde(skip)]
    neighbour: Neighbour,
}

pub(crate) async fn run(workspace: &Workspace, arguments: &cli::Explore) -> anyhow::Result<()> {
    let reader = workspace.reader()?;
    let tree = workspace::tree(&reader)?;
    let topic = tree.find(&arguments.topic)?;
    let (topics, path) = (tree.below(topic), tree.path(topic));
    let all = reader.examples(None)?;
    let own: Vec<&StoredExample> = all.iter().filter(|example| topics.contains(&example.topic)).collect();
    let examples: Vec<CanonicalUrl> = own.iter().filter_map(|example| url_of(example)).collect();
    if examples.is_empty() {
        return Err(misuse(format!(
            "no example of {path} has a URL; add some with `porthole examples add {} URL…`",
            output::quoted(&path)
        )));
    }
    let distinctive = Distinctive::of(workspace, &topics, &path)?;
    let language = common_language(&own);
    let visitor = visitor(workspace, &reader, arguments)?;
    let known: HashSet<UrlId> = all.iter().filter_map(url_of).map(|url| url.id()).collect();
    let mut documents = DocumentReader::new();
    let mut surroundings = NeighbourFinder {
        workspace,
        reader: &reader,
        visitor: visitor.as_ref(),
        documents: &mut documents,
        fetches: arguments.pages,
        failed: 0,
        is_interrupted: false,
    };
    let mut near = surroundings.neighbours_of(&examples, &known).await?;
    fetch_most_promising(&mut surroundings, &mut near, &distinctive, &language).await;
    let titles = near.all.iter().filter(|neighbour| !neighbour.title.is_empty()).count();
    let neighbours = near.all.len();
    let mut found = rank(surroundings.documents, near, &distinctive, &language);
    found.truncate(arguments.most);
    let mut found = Exploration {
        topic: path,
        words: spelled(&reader, &distinctive.ordered)?,
        examples: examples.len(),
        neighbours,
        titles,
        failed: surroundings.failed,
        found,
        added: None,
    };
    if !arguments.json {
        found.print();
    }
    let accepted = found.accepted(arguments).await;
    if !accepted.is_empty() {
        let mut shown = Vec::new();
        for number in accepted {
            let candidate = &mut found.found[number];
            let document = surroundings.document(&mut candidate.neighbour).await?;
            shown.push(NewExamplePage {
                fallback_title: candidate.title.clone(),
                ..NewExamplePage::new(candidate.url.clone(), "explored", document)
            });
        }
        found.added = Some(add::keep(workspace, &arguments.topic, shown, &mut documents)?);
    }
    if arguments.json {
        return output::print_json(&found);
    }
    match &found.added {
        Some(added) => added.print(),
        None => found.say_how_to_accept(),
    }
    Ok(())
}

fn url_of(example: &StoredExample) -> Option<CanonicalUrl> {
    CanonicalUrl::parse(&example.url).ok().filter(|_| example.url.contains("://"))
}

/// Access to the web; `None` without a contact address, if a crawl has pages to use instead.
fn visitor(
    workspace: &Workspace,
    reader: &dyn StoreReader,
    arguments: &cli::Explore,
) -> anyhow::Result<Option<Visitor>> {
    match Visitor::of(workspace, &arguments.web) {
        Ok(visitor) => Ok(Some(visitor.for_at_most(arguments.time))),
        Err(error) if arguments.web.is_empty() && reader.counts()?.known > 0 => {
            output::say(&format!("using crawled pages only: {}", output::in_words(&error)));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The language of most examples. Titles are too short to detect theirs.
fn common_language(examples: &[&StoredExample]) -> String {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let known = examples.iter().map(|example| example.language.as_str()).filter(|code| !code.is_empty());
    known.for_each(|code| *counts.entry(code).or_default() += 1);
    let most = counts.into_iter().max_by_key(|&(code, count)| (count, Reverse(code)));
    most.map_or("en", |(code, _)| code).to_owned()
}

/// Fetches neighbours without a known title: first those whose anchor texts match the topic best, then those that
/// most examples link to.
async fn fetch_most_promising(
    surroundings: &mut NeighbourFinder<'_>,
    near: &mut NeighbourList,
    distinctive: &Distinctive,
    language: &str,
) {
    let documents = &mut *surroundings.documents;
    let mut promise = |neighbour: &Neighbour| {
        distinctive.matched(documents.words_of(&neighbour.anchors.join(" "), language)).0
    };
    let unknown = near.all.iter_mut().filter(|neighbour| neighbour.title.is_empty());
    let mut unknown: Vec<_> = unknown.map(|neighbour| (promise(neighbour), neighbour)).collect();
    unknown.sort_by(|(a, left), (b, right)| b.total_cmp(a).then(right.linked_by.cmp(&left.linked_by)));
    let mut unknown: Vec<&mut Neighbour> = unknown.into_iter().map(|(_, neighbour)| neighbour).collect();
    surroundings.fetch(&mut unknown).await;
}

/// The neighbours whose titles share words with the topic, the best first.
fn rank(
    documents: &mut DocumentReader,
    near: NeighbourList,
    distinctive: &Distinctive,
    language: &str,
) -> Vec<ExploredPage> {
    let mut found = Vec::new();
    for neighbour in near.all {
        let language = match &neighbour.document {
            Some(document) if !document.language.is_empty() => &document.language,
            _ => language,
        };
        let (score, words) = distinctive.matched(documents.words_of(&neighbour.title, language));
        if !words.is_empty() {
            found.push(ExploredPage {
                title: neighbour.title.clone(),
                url: neighbour.url.to_string(),
                words,
                score,
                linked_by: neighbour.linked_by,
                links_to: neighbour.links_to,
                neighbour,
            });
        }
    }
    // Equal titles on one site are mostly the same page.
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.linked_by.cmp(&a.linked_by)));
    let mut titles = HashSet::new();
    found.retain(|candidate| titles.insert((candidate.title.clone(), candidate.neighbour.url.site())));
    found
}

fn spelled(reader: &dyn StoreReader, terms: &[(TermId, f64)]) -> anyhow::Result<Vec<String>> {
    WordLookup::new(reader, &[]).words(&terms[..terms.len().min(WORDS)])
}

impl Exploration {
    fn print(&self) {
        output::print(&format!(
            "{} near {} of {}, {} with known titles",
            count(self.neighbours, "page"),
            count(self.examples, "example"),
            self.topic,
            count(self.titles, "page")
        ));
        let words: Vec<String> = self.words.iter().map(|word| plain(word)).collect();
        output::print(&format!("distinctive words: {}", words.join(", ")));
        if self.failed > 0 {
            output::say(&format!("{} could not be fetched", count(self.failed, "page")));
        }
        for (number, candidate) in self.found.iter().enumerate() {
            output::print(&candidate.lines(number + 1));
        }
        if self.found.is_empty() {
            output::print("no title contains any of them; add examples, or fetch more with `--pages N`");
        }
    }

    /// The candidates to add: as the arguments say, or those that the user confirms.
    async fn accepted(&self, arguments: &cli::Explore) -> Vec<usize> {
        let all = 0..self.found.len();
        if arguments.accept_all {
            return all.collect();
        }
        if let Some(best) = arguments.accept {
            return all.take(best).collect();
        }
        let mut accepted = Vec::new();
        if arguments.json || !asking::is_possible() || self.found.is_empty() {
            return accepted;
        }
        output::say("");
        for number in all {
            let candidate = &self.found[number];
            let question =
                format!("{}\nadd it as an example of {}? [y/n/q]", candidate.lines(number + 1), self.topic);
            match asking::ask_until(&question, verdict).await.unwrap_or(Verdict::Quit) {
                Verdict::Yes => accepted.push(number),
                Verdict::No => {}
                Verdict::Quit => break,
            }
        }
        accepted
    }

    fn say_how_to_accept(&self) {
        if !self.found.is_empty() {
            output::print(&format!(
                "\nadd the best as examples: porthole examples explore {} --accept {}",
                output::quoted(&self.topic),
                self.found.len().min(5)
            ));
        }
    }
}

/// The answer to the question whether a page becomes an example.
#[derive(Clone, Copy)]
enum Verdict {
    Yes,
    No,
    Quit,
}

fn verdict(answer: &str) -> Result<Verdict, String> {
    match answer.to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(Verdict::Yes),
        "" | "n" | "no" => Ok(Verdict::No),
        "q" | "quit" => Ok(Verdict::Quit),
        _ => Err("answer y, n, or q to quit".to_owned()),
    }
}

impl ExploredPage {
    fn lines(&self, number: usize) -> String {
        let words: Vec<String> = self.words.iter().map(|word| plain(word)).collect();
        let links = [("linked by", self.linked_by), ("links to", self.links_to)];
        let links = links.iter().filter(|(_, number)| *number > 0);
        let links: Vec<String> =
            links.map(|(how, number)| format!("{how} {}", grouped(&number.to_string()))).collect();
        format!(
            "{number:>4}. {}  {}\n      {}",
            Paint::Strong.on(&plain(&self.title)),
            Paint::Good.on(&words.join(", ")),
            Paint::Faint.on(&format!("{}  {}", self.url, links.join(", ")))
        )
    }
}
