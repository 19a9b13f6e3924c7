//! `porthole search`: full-text search over the pages of a crawl.

mod filling;

pub(crate) use self::filling::fill;

use std::path::Path;

use porthole_store::{FoundPage, IndexState, MARK_END, MARK_START, SearchAnswer, SearchRequest};
use porthole_topic::Taxonomy;
use serde::Serialize;

use crate::cli;
use crate::output::{self, Paint, misuse};
use crate::terminal;
use crate::workspace::{self, Workspace, path_of};

pub(crate) fn run(root: &Path, arguments: &cli::Search) -> anyhow::Result<()> {
    let workspace = Workspace::open(root)?;
    let reader = workspace.reader()?;
    let tree = workspace::tree(&reader)?;
    let request = request(arguments, &tree)?;
    if !arguments.no_update {
        fill(&workspace)?;
    }
    let Some(answer) = reader.search(&request)? else {
        return Err(misuse("there is no index yet; run `porthole search` without --no-update"));
    };
    let pages: Vec<SearchResult> = answer.pages.iter().map(|page| SearchResult::of(page, &tree)).collect();
    let state = answer.index;
    if arguments.json {
        let SearchAnswer { has_some_words_only, .. } = answer;
        return output::print_json(&SearchReport {
            pages,
            has_some_words_only,
            index: IndexReport::of(&state),
        });
    }
    if answer.has_some_words_only {
        output::say("no page has all of the words; these have some");
    }
    pages.iter().for_each(SearchResult::print);
    if pages.is_empty() {
        output::say(if state.indexed == 0 { NO_PAGES } else { "no page was found" });
    }
    report(&state);
    Ok(())
}

/// Message without any page.
const NO_PAGES: &str = "there are no pages yet; `porthole crawl` fetches some";

fn request(arguments: &cli::Search, tree: &Taxonomy) -> anyhow::Result<SearchRequest> {
    let words = SearchRequest::phrases(&arguments.words.join(" "));
    if words.is_empty() {
        return Err(misuse("nothing to search for; give at least one word"));
    }
    if !(0.0..=1.0).contains(&arguments.min_relevance) {
        return Err(misuse("--min-relevance must be between 0 and 1"));
    }
    let topics = match &arguments.topic {
        Some(path) => tree.below(tree.find(path)?),
        None => Vec::new(),
    };
    Ok(SearchRequest {
        words,
        topics,
        min_relevance: arguments.min_relevance,
        site: arguments.site.clone(),
        language: arguments.language.clone(),
        limit: arguments.limit as usize,
    })
}

/// Tells how far the index is.
fn report(state: &IndexState) {
    let indexed = output::grouped(&state.indexed.to_string());
    if state.behind > 0 {
        output::say(&format!(
            "index: {indexed} pages; {} not in it yet",
            output::count(state.behind as usize, "fetch").replace("fetchs", "fetches")
        ));
    }
    if state.without_text > 0 {
        output::say(&format!(
            "{} of {indexed} pages are not in the archive: only their titles and the anchor texts of links to them are \
             searched",
            output::grouped(&state.without_text.to_string())
        ));
    }
}

/// A page as it is printed.
#[derive(Serialize)]
struct SearchResult {
    url: String,
    title: String,
    /// Words of the search are in brackets.
    snippet: String,
    score: f64,
    relevance: f64,
    topic: Option<String>,
    authority: f64,
    language: String,
    #[serde(skip)]
    marked: String,
}

#[derive(Serialize)]
struct SearchReport {
    pages: Vec<SearchResult>,
    has_some_words_only: bool,
    index: IndexReport,
}

#[derive(Serialize)]
struct IndexReport {
    pages: u64,
    without_text: u64,
    fetches_behind: u64,
    links_behind: u64,
}

impl IndexReport {
    fn of(state: &IndexState) -> Self {
        IndexReport {
            pages: state.indexed,
            without_text: state.without_text,
            fetches_behind: state.behind,
            links_behind: state.links_behind,
        }
    }
}

impl SearchResult {
    fn of(page: &FoundPage, tree: &Taxonomy) -> Self {
        SearchResult {
            url: page.url.clone(),
            title: page.title.clone(),
            snippet: page.snippet.replace(MARK_START, "[").replace(MARK_END, "]"),
            score: page.score,
            relevance: page.relevance,
            topic: page.topic.map(|topic| path_of(tree, topic)),
            authority: page.authority,
            language: page.language.clone(),
            marked: page.snippet.clone(),
        }
    }

    fn print(&self) {
        let width = terminal::stdout_width().unwrap_or(80).clamp(20, 100) - 4;
        let title = if self.title.is_empty() { &self.url } else { &self.title };
        output::print(&output::fitted(&terminal::plain(title), Some(width + 4)));
        output::print(&format!("    {}", Paint::Faint.on(&terminal::plain(&self.url))));
        let topic = self.topic.as_ref().map(|topic| format!("  {topic}")).unwrap_or_default();
        output::print(&format!(
            "    {}",
            output::fitted(&format!("R {:.2}{topic}", self.relevance), Some(width))
        ));
        for line in terminal::wrapped(&self.with_marks(), width).lines() {
            output::print(&format!("    {line}"));
        }
        output::print("");
    }

    /// The snippet with the words of the search in bold, or in brackets where nothing can be bold.
    fn with_marks(&self) -> String {
        let mut out = String::new();
        for (index, part) in self.marked.split([MARK_START, MARK_END]).enumerate() {
            let part = terminal::plain(part);
            let bold = Paint::Strong.on(&part);
            match index % 2 {
                1 if bold == part => out.push_str(&format!("[{part}]")),
                1 => out.push_str(&bold),
                _ => out.push_str(&part),
            }
        }
        out
    }
}
