//! `porthole start --words`: a topic without an example. Pages that are found with the words are shown; those that the
//! user says yes to are the examples, and the crawl also starts from those that were neither confirmed nor rejected.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use porthole_store::{ExampleState, StoreReader, StoredExample};
use porthole_topic::{TermFrequencies, have_equal_names, same_topic};
use porthole_types::TopicId;

use super::request::StartRequest;
use super::{Fetching, FirstCrawl, below};
use crate::asking;
use crate::cli;
use crate::commands::candidates::{CandidateChoice, CandidateList, CandidateQuery};
use crate::commands::examples::add;
use crate::commands::propose::{self, TopicProposal};
use crate::documents::DocumentReader;
use crate::output::{self, count, misuse, quoted};
use crate::workspace::{self, Workspace};

/// File in the workspace with the candidates that a crawl also starts from.
const STARTS: &str = "candidates.txt";

/// Maximum length of a topic's name in bytes, so that paths stay readable.
const MAX_NAME: usize = 60;

/// Topics that are shown for the words alone.
const TOPICS: usize = 3;

/// Checks the words and where pages are looked for, before anything is created.
pub(super) fn check(arguments: &cli::Start, request: &StartRequest) -> anyhow::Result<()> {
    let Some(words) = &arguments.words else { return Ok(()) };
    query(words, arguments, request).check_before_creation(!Workspace::is_at(&request.folder))
}

fn query<'a>(words: &'a str, arguments: &'a cli::Start, request: &StartRequest) -> CandidateQuery<'a> {
    CandidateQuery {
        words,
        sources: &arguments.candidates,
        given: request.pages.iter().map(|page| (page.url.clone(), page.title.clone())).collect(),
        web: &arguments.crawl.web,
    }
}

impl FirstCrawl<'_> {
    /// Finds pages with the words, and stores those that the user confirms as examples without a topic. Does nothing if
    /// that was done before.
    pub(super) async fn find_examples(
        &self,
        words: &str,
        request: &StartRequest,
    ) -> anyhow::Result<Fetching> {
        let reader = self.workspace.reader()?;
        if reader.examples(None)?.iter().any(|example| is_found_by(example, words)) {
            return Ok(Fetching::Nothing);
        }
        let mut documents = DocumentReader::new();
        self.show_topics(words, &mut documents)?;
        let query = query(words, self.arguments, request);
        let candidates = query.find(&self.workspace, &mut documents).await?;
        if candidates.is_interrupted {
            return Ok(Fetching::Interrupted);
        }
        candidates.say_left_out();
        let choice = self.chosen(&candidates, request).await?;
        let of = |&number: &usize| candidates.found[number].example(&source(words));
        let examples: Vec<_> = choice.examples.iter().map(of).collect();
        let added = add::keep(&self.workspace, "/", examples, &mut documents)?;
        let starts: Vec<&str> =
            choice.starts.iter().map(|&number| candidates.found[number].url.as_str()).collect();
        self.write_starts(&starts)?;
        let what = format!(
            "{} about {} of {}",
            count(added.read(), "page"),
            quoted(words),
            count(candidates.found.len(), "candidate")
        );
        self.step(&what, &self.command(&format!("examples search / {}", quoted(words))));
        Ok(Fetching::Some)
    }

    /// Prints which topics the words alone fit.
    fn show_topics(&self, words: &str, documents: &mut DocumentReader) -> anyhow::Result<()> {
        let terms = documents.words_of(words, "en").into_iter().map(|(term, _)| (term, 1));
        let mut terms: Vec<_> = terms.collect();
        terms.sort_unstable();
        let proposals = propose::of_terms(&self.workspace, &[&terms], TOPICS)?;
        if !self.arguments.crawl.json {
            propose::print_for(&proposals, &format!("{} fits", quoted(words)));
        }
        Ok(())
    }

    async fn chosen(
        &self,
        candidates: &CandidateList,
        request: &StartRequest,
    ) -> anyhow::Result<CandidateChoice> {
        let best = candidates.best();
        if self.arguments.yes {
            return best.map_err(misuse);
        }
        if candidates.found.is_empty() {
            return Err(misuse("no page has any of the words; try others, or name pages by their URLs"));
        }
        if asking::is_possible() {
            let choice = candidates.ask().await;
            return match choice.examples.is_empty() {
                true => {
                    Err(misuse("no page is about the words: there is nothing to learn from; try other words"))
                }
                false => Ok(choice),
            };
        }
        output::say(&candidates.lines());
        let folder = request.folder.display().to_string();
        let take = match best {
            Ok(best) => format!("run the same command with `--yes` to take the best {}", best.examples.len()),
            Err(why) => why,
        };
        Err(misuse(format!(
            "say which pages are about {}: {take}; at a terminal you are asked; or name them: `porthole start URL… {} \
             --name {}`",
            quoted(&candidates.words),
            quoted(&folder),
            quoted(&topic_name(&candidates.words))
        )))
    }

    fn write_starts(&self, urls: &[&str]) -> anyhow::Result<()> {
        if urls.is_empty() {
            return Ok(());
        }
        let file = self.starts_file();
        let lines: String = urls.iter().map(|url| format!("{url}\n")).collect();
        fs::write(&file, lines).with_context(|| format!("cannot write {}", file.display()))
    }

    fn starts_file(&self) -> PathBuf {
        self.workspace.root().join(STARTS)
    }

    /// The candidates that the crawl also starts from, as an argument of `crawl --start`.
    pub(super) fn further_starts(&self) -> Option<String> {
        let file = self.starts_file();
        let is_there = self.arguments.words.is_some() && file.is_file();
        is_there.then(|| file.display().to_string())
    }

    /// Topic of the words if the user says nothing else: the topic of the tree with the same name, if pages agree, or a
    /// new one below the best proposal.
    pub(super) fn topic_of_words(&self, words: &str, best: &TopicProposal) -> anyhow::Result<String> {
        let name = topic_name(words);
        if !self.arguments.no_merge {
            let reader = self.workspace.reader()?;
            let (mut critic, tree) = workspace::critic(&reader)?;
            let mut pages = Vec::new();
            reader.visit_examples(&mut |example, terms| {
                if is_found_by(example, words) {
                    pages.push(terms.to_vec());
                }
            })?;
            let counts: Vec<&TermFrequencies> = pages.iter().map(Vec::as_slice).collect();
            let same = same_topic(Some(&mut critic), &tree, &name, &counts);
            if let Some(same) = same.filter(|same| have_equal_names(&name, tree.name(same.topic))) {
                return Ok(tree.path(same.topic));
            }
        }
        Ok(below(best, &name))
    }

    /// Whether examples that were found by the words have no topic yet.
    pub(super) fn has_unplaced_words(&self, words: &str) -> anyhow::Result<bool> {
        let unplaced = self.workspace.reader()?.examples(Some(TopicId::ROOT))?;
        Ok(unplaced.iter().any(|example| is_found_by(example, words)))
    }
}

/// Whether an example was found by these words.
pub(super) fn is_found_by(example: &StoredExample, words: &str) -> bool {
    example.state == ExampleState::Ok && example.source == source(words)
}

/// What the examples that were found by words have as their source.
fn source(words: &str) -> String {
    format!("words: {words}")
}

/// A name for a topic about words: `Barn_owl_nesting`.
fn topic_name(words: &str) -> String {
    let words: Vec<&str> =
        words.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let name = words.join("_");
    let mut letters = name.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    let mut name = first + letters.as_str();
    name.truncate(name.floor_char_boundary(MAX_NAME));
    name
}

#[cfg(test)]
mod tests {
    use porthole_topic::Taxonomy;

    use super::*;

    #[test]
    fn words_are_names_of_topics() {
        for (words, name) in [
            ("barn owl nesting", "Barn_owl_nesting"),
            ("  \"snowy owl\" / habitat! ", "Snowy_owl_habitat"),
            ("éclairs", "Éclairs"),
        ] {
            assert_eq!(topic_name(words), name);
            assert!(Taxonomy::new().add_path(&format!("/{}", topic_name(words))).is_ok());
        }
        assert!(Taxonomy::new().add_path(&format!("/{}", topic_name(&"ü".repeat(900)))).is_ok());
    }
}
