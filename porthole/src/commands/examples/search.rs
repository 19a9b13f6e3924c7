//! `porthole examples search`: finds further examples of a topic by words.

use serde::Serialize;

use super::add::{self, AddedExamples};
use crate::asking;
use crate::cli;
use crate::commands::candidates::{CandidateChoice, CandidateList, CandidateQuery};
use crate::documents::DocumentReader;
use crate::output::{self, misuse, quoted};
use crate::workspace::Workspace;

/// The result, for JSON.
#[derive(Serialize)]
struct ExampleSearch {
    topic: String,
    #[serde(flatten)]
    candidates: CandidateList,
    added: Option<AddedExamples>,
}

pub(super) async fn run(workspace: &Workspace, arguments: &cli::SearchExamples) -> anyhow::Result<()> {
    add::check_topic(workspace, &arguments.topic)?;
    let words = arguments.words.join(" ");
    let query =
        CandidateQuery { words: &words, sources: &arguments.sources, given: Vec::new(), web: &arguments.web };
    let mut documents = DocumentReader::new();
    let candidates = query.find(workspace, &mut documents).await?;
    let choice = choose(&candidates, arguments).await?;
    let examples: Vec<_> =
        choice.examples.iter().map(|&number| candidates.found[number].example("search")).collect();
    let added = match examples.is_empty() {
        true => None,
        false => Some(add::keep(workspace, &arguments.topic, examples, &mut documents)?),
    };
    if arguments.json {
        return output::print_json(&ExampleSearch { topic: arguments.topic.clone(), candidates, added });
    }
    candidates.say_left_out();
    match added {
        Some(added) => added.print(),
        None if candidates.found.is_empty() => output::print("no page has any of the words"),
        None => output::print(&format!(
            "\nadd the best as examples: porthole examples search {} {} --accept {}",
            quoted(&arguments.topic),
            quoted(&words),
            candidates.found.len().min(5)
        )),
    }
    Ok(())
}

/// The candidates to add: as the arguments say, or those that the user confirms.
async fn choose(
    candidates: &CandidateList,
    arguments: &cli::SearchExamples,
) -> anyhow::Result<CandidateChoice> {
    if arguments.yes {
        return candidates.best().map_err(misuse);
    }
    if let Some(best) = arguments.accept {
        return Ok(candidates.taking((0..candidates.found.len()).take(best).collect()));
    }
    if arguments.json || candidates.found.is_empty() {
        return Ok(CandidateChoice::default());
    }
    if asking::is_possible() {
        return Ok(candidates.ask().await);
    }
    output::print(&candidates.lines());
    Ok(CandidateChoice::default())
}
