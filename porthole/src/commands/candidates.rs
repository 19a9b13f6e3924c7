//! Candidates for examples: pages with some words, from a search endpoint, from the full-text index of a workspace, or
//! named by the user. They are fetched like pages of a crawl and ranked by the words.

mod choosing;
mod ranking;

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use porthole_crawl::{HttpFetch, SearchEndpoint};
use porthole_store::{ExampleState, MARK_END, MARK_START, SearchRequest, StoreReader};
use porthole_types::{CanonicalUrl, UrlId, shortened};
use serde::Serialize;

pub(crate) use self::choosing::CandidateChoice;
use self::ranking::{WordRanking, WordScore};
use crate::cli;
use crate::commands::examples::add::NewExamplePage;
use crate::commands::search::fill;
use crate::documents::{DocumentReader, NamedDocument, TermDocument, find_document};
use crate::output::{self, count, misuse, quoted};
use crate::settings::RawSettings;
use crate::visiting::Visitor;
use crate::workspace::Workspace;

/// How long candidates are fetched. Those of one site come one after another, with its delay.
const FETCH_TIME: Duration = Duration::from_secs(180);

/// Maximum length of the words and of the description in characters.
const MAX_WORDS: usize = 200;
const MAX_DESCRIPTION: usize = 10_000;

/// Length of a snippet in bytes, and of the part before the word.
const SNIPPET: usize = 240;
const BEFORE: usize = 80;

/// What is looked for, and where.
pub(crate) struct CandidateQuery<'a> {
    pub(crate) words: &'a str,
    pub(crate) sources: &'a cli::CandidateSources,
    /// Pages that the user named, with titles where they are known.
    pub(crate) given: Vec<(CanonicalUrl, String)>,
    /// Recorded webs to fetch from.
    pub(crate) web: &'a [PathBuf],
}

/// The candidates, best first.
#[derive(Serialize)]
pub(crate) struct CandidateList {
    pub(crate) words: String,
    pub(crate) found: Vec<Candidate>,
    /// Pages that could not be fetched or read.
    pub(crate) failed: Vec<FailedCandidate>,
    /// Number of pages with none of the words.
    pub(crate) without_words: usize,
    #[serde(skip)]
    pub(crate) is_interrupted: bool,
}

/// A page that may become an example.
#[derive(Serialize)]
pub(crate) struct Candidate {
    pub(crate) url: String,
    pub(crate) title: String,
    /// Some of its text, with one of the words.
    pub(crate) snippet: String,
    /// Where it was found.
    source: String,
    /// Share of the highest possible BM25 of the words, from 0 to 1.
    pub(crate) score: f64,
    /// Similarity to the description.
    similarity: Option<f64>,
    /// Whether `--yes` may take it.
    pub(crate) fits: bool,
    #[serde(skip)]
    rank: f64,
    #[serde(skip)]
    document: TermDocument,
}

/// A page without an answer, or without words.
#[derive(Serialize)]
pub(crate) struct FailedCandidate {
    url: String,
    why: String,
}

/// A page before it is fetched.
struct Lead {
    url: CanonicalUrl,
    title: String,
    snippet: String,
    source: String,
    /// The page, where it is in the archive of a workspace.
    document: Option<TermDocument>,
}

impl CandidateQuery<'_> {
    /// Finds, fetches and ranks the candidates. Examples of the workspace are none.
    pub(crate) async fn find(
        self,
        workspace: &Workspace,
        documents: &mut DocumentReader,
    ) -> anyhow::Result<CandidateList> {
        self.check(documents)?;
        let leads = self.leads(workspace, documents).await?;
        let (leads, is_interrupted) = self.fetched(leads, workspace, documents).await?;
        let mut ranking = WordRanking::new(self.words, self.sources.description.as_deref())?;
        Ok(ranked(leads, is_interrupted, self.words, &mut ranking, documents))
    }

    /// Checks the words, and for a workspace that is to be created, that there is something to find pages in.
    pub(crate) fn check_before_creation(&self, is_new: bool) -> anyhow::Result<()> {
        self.check(&mut DocumentReader::new())?;
        let endpoint = RawSettings::default().search_endpoint(self.sources.search_url.as_deref())?;
        for folder in &self.sources.search_in {
            Workspace::open(folder)?;
        }
        if is_new && self.given.is_empty() && endpoint.is_none() && self.sources.search_in.is_empty() {
            return Err(misuse(NO_SOURCE));
        }
        Ok(())
    }

    fn check(&self, documents: &mut DocumentReader) -> anyhow::Result<()> {
        if self.words.trim().is_empty() {
            return Err(misuse("there are no words to look for; write some, such as 'barn owl nesting'"));
        }
        // Stop words are no terms.
        if documents.words_of(self.words, "en").is_empty() {
            return Err(misuse(format!("nothing to look for in {}; use other words", quoted(self.words))));
        }
        let lengths = [
            ("words", self.words, MAX_WORDS),
            ("--description", self.sources.description.as_deref().unwrap_or_default(), MAX_DESCRIPTION),
        ];
        match lengths.into_iter().find(|(_, text, most)| text.chars().count() > *most) {
            Some((name, _, most)) => Err(misuse(format!("{name}: more than {}", count(most, "character")))),
            None => Ok(()),
        }
    }

    /// Where the candidates are, each once.
    async fn leads(
        &self,
        workspace: &Workspace,
        documents: &mut DocumentReader,
    ) -> anyhow::Result<Vec<Lead>> {
        let mut leads: Vec<Lead> = self.given.iter().map(Lead::given).collect();
        let endpoint = workspace.settings.search_endpoint(self.sources.search_url.as_deref())?;
        let indexes = self.indexes(workspace)?;
        if leads.is_empty() && endpoint.is_none() && indexes.is_empty() {
            return Err(misuse(NO_SOURCE));
        }
        let mut found = Vec::new();
        for index in &indexes {
            found.extend(self.indexed(index, documents)?);
        }
        if let Some(endpoint) = endpoint {
            match self.asked(workspace, &endpoint).await {
                Ok(asked) => found.extend(asked),
                Err(error) if leads.is_empty() && found.is_empty() => return Err(error),
                Err(error) => output::say(&format!("warning: {}", output::in_words(&error))),
            }
        }
        leads.extend(found);
        let examples = workspace.reader()?.examples(None)?;
        let read = examples.iter().filter(|example| example.state == ExampleState::Ok);
        let mut known: HashSet<UrlId> =
            read.filter_map(|example| CanonicalUrl::parse(&example.url).ok()).map(|url| url.id()).collect();
        leads.retain(|lead| known.insert(lead.url.id()));
        if leads.is_empty() {
            return Err(misuse(format!(
                "no page with {} was found that is not an example already; try other words, or name pages by their URLs",
                quoted(self.words)
            )));
        }
        Ok(leads)
    }

    /// The workspaces to search: those that were named, and the own one if it has pages.
    fn indexes(&self, workspace: &Workspace) -> anyhow::Result<Vec<Workspace>> {
        let named = self.sources.search_in.iter().map(|folder| Workspace::open(folder));
        let mut indexes = named.collect::<anyhow::Result<Vec<_>>>()?;
        let is_named = indexes.iter().any(|index| index.identity() == workspace.identity());
        if !is_named && workspace.reader()?.counts()?.fetched > 0 {
            indexes.push(Workspace::open(workspace.root())?);
        }
        Ok(indexes)
    }

    /// Pages of a workspace with the words, from its archive.
    fn indexed(&self, index: &Workspace, documents: &mut DocumentReader) -> anyhow::Result<Vec<Lead>> {
        let folder = index.root().display().to_string();
        // Whoever may not write the index can still read it.
        if let Err(error) = fill(index) {
            output::say(&format!("warning: {folder}: {}", output::in_words(&error)));
        }
        let reader = index.reader()?;
        let request = SearchRequest {
            words: SearchRequest::phrases(self.words),
            limit: self.sources.candidates,
            ..SearchRequest::default()
        };
        let Some(answer) = reader.search(&request)? else { return Ok(Vec::new()) };
        output::say(&format!("{} in the index of {folder}", count(answer.pages.len(), "page")));
        let mut leads = Vec::new();
        for page in answer.pages {
            let Ok(url) = CanonicalUrl::parse(&page.url) else { continue };
            let document = match find_document(documents, index, &reader, &page.url)? {
                NamedDocument::Read(document) if document.state == ExampleState::Ok => Some(document),
                _ => None,
            };
            let snippet = page.snippet.replace([MARK_START, MARK_END], "");
            leads.push(Lead {
                url,
                title: page.title,
                snippet,
                source: format!("index of {folder}"),
                document,
            });
        }
        Ok(leads)
    }

    /// What the endpoint finds.
    async fn asked(&self, workspace: &Workspace, endpoint: &SearchEndpoint) -> anyhow::Result<Vec<Lead>> {
        let settings = workspace.settings.fetch.ready_for_endpoint()?;
        let web = HttpFetch::new(settings).map_err(|error| misuse(error.to_string()))?;
        let answer = endpoint.search(&web, self.words, self.sources.candidates).await;
        let answer = answer.map_err(|error| misuse(error.to_string()))?;
        let left_out = match answer.left_out {
            0 => String::new(),
            more => format!(", {} more left out", output::grouped(&more.to_string())),
        };
        output::say(&format!(
            "{} from {}{left_out}",
            count(answer.hits.len(), "page"),
            endpoint.url.as_str()
        ));
        let lead = |hit: porthole_crawl::EndpointHit| Lead {
            url: hit.url,
            title: hit.title,
            snippet: hit.content,
            source: "search endpoint".to_owned(),
            document: None,
        };
        Ok(answer.hits.into_iter().map(lead).collect())
    }

    /// The leads with their pages. Those of archives are not fetched again.
    async fn fetched(
        &self,
        mut leads: Vec<Lead>,
        workspace: &Workspace,
        documents: &mut DocumentReader,
    ) -> anyhow::Result<(Vec<Lead>, bool)> {
        let missing: Vec<usize> =
            (0..leads.len()).filter(|&number| leads[number].document.is_none()).collect();
        if missing.is_empty() {
            return Ok((leads, false));
        }
        let urls: Vec<CanonicalUrl> = missing.iter().map(|&number| leads[number].url.clone()).collect();
        let visitor = Visitor::of(workspace, self.web).context("cannot fetch the candidates")?;
        let visitor = visitor.for_at_most(FETCH_TIME);
        let is_interrupted = visitor.visit_all(&urls, |number, fetched| {
            let lead = &mut leads[missing[number]];
            lead.document = Some(match fetched {
                Err(error) => TermDocument::missing(output::in_words(&error)),
                Ok(fetched) => {
                    let response = &fetched.response;
                    let (document, page) =
                        documents.page(Some(&fetched.at), &response.headers, &response.body);
                    lead.snippet =
                        snippet(&page.text, self.words).unwrap_or(std::mem::take(&mut lead.snippet));
                    document
                }
            });
        });
        let is_interrupted = is_interrupted.await;
        Ok((leads, is_interrupted))
    }
}

/// What to do where there is nothing to search in.
const NO_SOURCE: &str = "there is nothing to find pages in: name a search endpoint (`--search-url URL`, or `url` under \
     [search] in porthole.toml), a workspace with pages (`--search-in DIR`), or some pages by their URLs";

impl Lead {
    fn given((url, title): &(CanonicalUrl, String)) -> Lead {
        Lead {
            url: url.clone(),
            title: title.clone(),
            snippet: String::new(),
            source: "given".to_owned(),
            document: None,
        }
    }
}

/// Orders the pages by their scores.
fn ranked(
    leads: Vec<Lead>,
    is_interrupted: bool,
    words: &str,
    ranking: &mut WordRanking,
    documents: &mut DocumentReader,
) -> CandidateList {
    let (mut read, mut failed) = (Vec::new(), Vec::new());
    for mut lead in leads {
        match lead.document.take().unwrap_or_else(TermDocument::unread) {
            document if document.state == ExampleState::Ok => read.push((lead, document)),
            document => {
                let why = document.state.detail().to_owned();
                failed.push(FailedCandidate { url: lead.url.to_string(), why });
            }
        }
    }
    let pages: Vec<&TermDocument> = read.iter().map(|(_, document)| document).collect();
    let scores = ranking.scores(documents, &pages);
    let all = read.len();
    let with_words = read.into_iter().zip(scores).filter(|(_, score)| score.words > 0.0);
    let mut found: Vec<Candidate> =
        with_words.map(|((lead, page), score)| Candidate::of(lead, page, score)).collect();
    // Equal scores keep the order of the search.
    found.sort_by(|a, b| b.rank.total_cmp(&a.rank));
    let without_words = all - found.len();
    CandidateList { words: words.to_owned(), found, failed, without_words, is_interrupted }
}

impl Candidate {
    fn of(lead: Lead, document: TermDocument, score: WordScore) -> Candidate {
        let title = if document.title.is_empty() { lead.title } else { document.title.clone() };
        Candidate {
            url: lead.url.to_string(),
            title,
            snippet: shortened(lead.snippet, SNIPPET),
            source: lead.source,
            score: score.words,
            similarity: score.description,
            fits: score.words >= choosing::FITS,
            rank: score.rank(),
            document,
        }
    }

    /// The candidate as an example.
    pub(crate) fn example(&self, source: &str) -> NewExamplePage {
        NewExamplePage {
            fallback_title: self.title.clone(),
            ..NewExamplePage::new(self.url.clone(), source, self.document.clone())
        }
    }
}

/// The part of a text around the first of the words, in any case.
fn snippet(text: &str, words: &str) -> Option<String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // Both have the same positions, unlike with other letters than those of ASCII.
    let (lower, words) = (text.to_ascii_lowercase(), words.to_ascii_lowercase());
    let words = words.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 2);
    let at = words.filter_map(|word| lower.find(word)).min()?;
    let start = text.floor_char_boundary(at.saturating_sub(BEFORE));
    // From a word on, not from the middle of one.
    let start =
        if start == 0 { 0 } else { text[start..at].find(' ').map_or(start, |space| start + space + 1) };
    let end = text.floor_char_boundary((start + SNIPPET).min(text.len()));
    Some(format!("{}{}", if start > 0 { "…" } else { "" }, &text[start..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snippet_begins_shortly_before_the_first_word() {
        let filler = "one two three ".repeat(30);
        let text = format!("{filler}\n  the Owl of äöü {filler}");
        let found = snippet(&text, "barn owl").unwrap();
        assert!(found.starts_with('…') && found.contains("the Owl of äöü") && found.len() < 260, "{found}");
        assert_eq!(snippet("An owl.", "owl of it").as_deref(), Some("An owl."));
        assert_eq!(snippet("nothing", "owl"), None);
    }
}
