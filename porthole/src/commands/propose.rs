//! `porthole topics propose`: the topics that fit examples best, with the words that decide (W 2.1).

use porthole_store::{ExampleState, StoreReader};
use porthole_topic::{Proposal, Taxonomy, TermFrequencies};
use porthole_types::{TermId, TopicId};
use serde::Serialize;

use crate::cli;
use crate::documents::{DocumentReader, NamedDocument, find_document};
use crate::languages::{self, ForeignLanguage};
use crate::output::{self, Paint, count, misuse};
use crate::workspace::{self, WordLookup, Workspace, path_of};

/// Minimum probability of a proposal, except for the best topic of a page.
const MIN_PROBABILITY: f64 = 0.01;

/// Number of words shown per proposal.
const WORDS: usize = 8;

pub(crate) fn run(workspace: &Workspace, arguments: &cli::Propose) -> anyhow::Result<()> {
    let (proposals, subjects) = proposals(workspace, arguments)?;
    if arguments.json {
        return output::print_json(&proposals);
    }
    print(&proposals, subjects);
    if let Some(first) = proposals.first().filter(|first| !first.is_good) {
        output::print(&format!("\nnext: porthole topics mark {}", output::quoted(&first.topic)));
    }
    Ok(())
}

/// The proposals, best first, and the number of pages that they are for.
pub(crate) fn proposals(
    workspace: &Workspace,
    arguments: &cli::Propose,
) -> anyhow::Result<(Vec<TopicProposal>, usize)> {
    let reader = workspace.reader()?;
    let (mut critic, tree) = workspace::critic(&reader)?;
    let mut documents = DocumentReader::new();
    let subjects = subjects(workspace, &reader, &tree, &mut documents, arguments)?;
    let counts: Vec<&TermFrequencies> = subjects.iter().map(|(terms, _)| terms.as_slice()).collect();
    let mut proposals = critic.propose(&tree, &counts, arguments.most);
    proposals.retain(|proposal| proposal.examples > 0 || proposal.probability >= MIN_PROBABILITY);
    let spoken = subjects.iter().map(|(_, language)| language.as_str());
    if let Some(language) = ForeignLanguage::of(&reader, spoken)? {
        output::say(&language.no_topics_fit());
        let own = languages::topics_with_examples(&reader)?;
        proposals.retain(|proposal| own.contains(&proposal.topic));
    }
    let lexicon = WordLookup::new(&reader, &documents.take_words());
    let facts = proposals.iter().map(|proposal| TopicProposal::of(proposal, &tree, &lexicon));
    Ok((facts.collect::<anyhow::Result<Vec<_>>>()?, subjects.len()))
}

/// Term counts and language of a page.
type Subject = (Vec<(TermId, u32)>, String);

/// Term counts and languages of the named documents, of a topic's examples, or of the examples without a topic.
fn subjects(
    workspace: &Workspace,
    reader: &dyn StoreReader,
    tree: &Taxonomy,
    documents: &mut DocumentReader,
    arguments: &cli::Propose,
) -> anyhow::Result<Vec<Subject>> {
    if !arguments.names.is_empty() {
        let read = |name: &String| match find_document(documents, workspace, reader, name)? {
            NamedDocument::Read(document) => Ok((document.terms, document.language)),
            NamedDocument::Unknown(url) => Err(misuse(format!(
                "{url} is not an example and was not crawled; add it first: `porthole examples add / {url}`"
            ))),
        };
        return arguments.names.iter().map(read).collect();
    }
    let topics = match &arguments.topic {
        Some(path) => tree.below(tree.find(path)?),
        None => vec![TopicId::ROOT],
    };
    let (mut subjects, mut lacking) = (Vec::new(), 0);
    reader.visit_examples(&mut |example, terms| match example.state {
        _ if !topics.contains(&example.topic) => {}
        ExampleState::Ok => subjects.push((terms.to_vec(), example.language.clone())),
        _ => lacking += 1,
    })?;
    match (lacking, &arguments.topic) {
        _ if !subjects.is_empty() => Ok(subjects),
        (1.., _) => Err(misuse(format!(
            "none of {} has a page with words; `porthole examples list` shows the reasons",
            count(lacking, "example")
        ))),
        (0, Some(path)) => {
            let add = format!("porthole examples add {} FILE|URL…", output::quoted(path));
            Err(misuse(format!("{path} has no examples; add some with `{add}`")))
        }
        (0, None) if reader.examples(None)?.is_empty() => {
            Err(misuse("there are no examples; name files, or add some with `porthole examples import FILE`"))
        }
        (0, None) => Err(misuse("all examples have a topic; name files, or a topic with `--topic PATH`")),
    }
}

/// A proposal, for JSON.
#[derive(Serialize)]
pub(crate) struct TopicProposal {
    pub(crate) topic: String,
    score: f64,
    pub(crate) probability: f64,
    examples: usize,
    pub(crate) words: Vec<String>,
    is_good: bool,
}

impl TopicProposal {
    /// A proposal for tests.
    #[cfg(test)]
    pub(crate) fn sure_of(topic: &str) -> TopicProposal {
        let (topic, words) = (topic.to_owned(), Vec::new());
        TopicProposal { topic, score: 1.0, probability: 1.0, examples: 1, words, is_good: false }
    }

    fn of(proposal: &Proposal, tree: &Taxonomy, lexicon: &WordLookup<'_>) -> anyhow::Result<TopicProposal> {
        Ok(TopicProposal {
            topic: path_of(tree, proposal.topic),
            score: proposal.score,
            probability: proposal.probability,
            examples: proposal.examples,
            words: lexicon.words(&proposal.words)?,
            is_good: tree.is_good(proposal.topic),
        })
    }
}

/// The proposals for some documents in English, best first.
pub(crate) fn of_terms(
    workspace: &Workspace,
    documents: &[&TermFrequencies],
    most: usize,
) -> anyhow::Result<Vec<TopicProposal>> {
    let reader = workspace.reader()?;
    let (mut critic, tree) = workspace::critic(&reader)?;
    let mut proposals = critic.propose(&tree, documents, most);
    proposals.retain(|proposal| proposal.probability >= MIN_PROBABILITY);
    let lexicon = WordLookup::new(&reader, &[]);
    proposals.iter().map(|proposal| TopicProposal::of(proposal, &tree, &lexicon)).collect()
}

/// Prints the proposals for a number of pages.
pub(crate) fn print(proposals: &[TopicProposal], subjects: usize) {
    print_for(
        proposals,
        &match subjects {
            1 => "the page fits".to_owned(),
            more => format!("the {} fit", count(more, "page")),
        },
    );
}

/// Prints the proposals. `who_fits` is who and a verb: `the page fits`.
pub(crate) fn print_for(proposals: &[TopicProposal], who_fits: &str) {
    if proposals.is_empty() {
        return;
    }
    output::print(&format!("topics that {who_fits} best:"));
    for (number, proposal) in proposals.iter().enumerate() {
        let topic = match proposal.is_good {
            true => format!("{} {}", Paint::Good.on(&proposal.topic), Paint::Good.on("● good")),
            false => Paint::Strong.on(&proposal.topic),
        };
        output::print(&format!(
            "{:>3}. {} {:5.1}%  {topic}",
            number + 1,
            output::bar_of(proposal.probability, 10),
            100.0 * proposal.probability
        ));
        let words: Vec<String> = proposal.words.iter().take(WORDS).map(|word| output::plain(word)).collect();
        if !words.is_empty() {
            output::print(&format!("{:>25}{}", "", Paint::Faint.on(&words.join(", "))));
        }
    }
}
