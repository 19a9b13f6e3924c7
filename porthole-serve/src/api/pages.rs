//! A page's story.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::DashboardState;
use super::extract::{Named, QueryOf, check_url};
use crate::error::{Answer, ApiError};

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageQuery {
    /// URL of the page.
    url: String,
}

/// Everything known about a URL.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct PageStory {
    url: String,
    /// queued, fetched, redirected, dead, skipped, evicted, rejected, or unknown: no fetched page links to it.
    state: String,
    #[serde(flatten)]
    facts: PageFacts,
}

/// What the tables have on a URL; nothing on an unknown one.
#[derive(Default, Serialize, Deserialize, ToSchema)]
pub(crate) struct PageFacts {
    title: String,
    language: String,
    /// R of the page, or the estimate from the linking pages.
    relevance: f64,
    /// Path of the best topic.
    topic: Option<String>,
    host: String,
    /// Fetches from its site.
    site_fetched: u64,
    site_disabled: bool,
    /// Number of its last fetch.
    seq: Option<u64>,
    /// When it was last fetched.
    at: Option<i64>,
    tries: u32,
    /// HTTP status of the last answer; 0: there was none.
    status: Option<u16>,
    bytes: Option<u64>,
    failure: Option<PageFailure>,
    /// When a queued URL may be tried again.
    not_before: Option<i64>,
    /// Target of a redirect.
    leads_to: Option<String>,
    hub: Option<f64>,
    authority: Option<f64>,
    /// R together with that of the pages around it.
    with_neighbours: Option<f64>,
    /// Topics of which it is an example.
    examples: Vec<String>,
    feedback: Vec<PageFeedback>,
    /// The path from a start URL to the page.
    discovered: Vec<PathPage>,
    /// The most relevant pages that link to it.
    parents: Vec<PageParent>,
    links_in: u64,
    links_out: u64,
    /// The first links of the page.
    links: Vec<PathPage>,
    /// The current critic's judgment of the archived page.
    judgment: Option<PageVerdict>,
    /// The text as the critic saw it, at most 20,000 characters.
    text: Option<String>,
    priority: PagePriority,
    history: Vec<PageMoment>,
    archived: bool,
    /// The command that prints the same.
    command: String,
}

#[derive(Serialize, Deserialize, ToSchema)]
struct PageFailure {
    kind: String,
    detail: String,
}

#[derive(Serialize, Deserialize, ToSchema)]
struct PageFeedback {
    /// page, hub or site.
    kind: String,
    useful: bool,
    at: i64,
}

/// A page at the other end of a link.
#[derive(Serialize, Deserialize, ToSchema)]
struct PathPage {
    url: String,
    title: String,
    relevance: f64,
    state: String,
    /// Text of the link.
    anchor: String,
}

#[derive(Serialize, Deserialize, ToSchema)]
struct PageParent {
    url: String,
    relevance: f64,
    seq: Option<u64>,
    /// When the link was found.
    discovered: i64,
}

/// A judgment with the words that decide.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct PageVerdict {
    pub(crate) relevance: Option<f64>,
    /// Path of the best topic.
    pub(crate) topic: String,
    pub(crate) probability: f64,
    /// From the root to the best topic.
    pub(crate) steps: Vec<VerdictStep>,
}

/// A step of a judgment.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct VerdictStep {
    pub(crate) path: String,
    pub(crate) probability: f64,
    /// Probability given the parent.
    pub(crate) given_parent: f64,
    #[serde(rename = "for")]
    pub(crate) words_for: Vec<WeighedWord>,
    pub(crate) against: Vec<WeighedWord>,
}

/// A word and what it adds to the logarithm of the odds.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct WeighedWord {
    pub(crate) word: String,
    pub(crate) weight: f64,
}

/// Why the URL has its place in the queue.
#[derive(Default, Serialize, Deserialize, ToSchema)]
struct PagePriority {
    value: f64,
    /// Queued URLs before it, under the default policy.
    rank: Option<u64>,
    /// The strategy that gave it.
    strategy: Option<String>,
    /// The page whose link counts.
    on: Option<String>,
    parts: Vec<PriorityPart>,
}

#[derive(Serialize, Deserialize, ToSchema)]
struct PriorityPart {
    what: String,
    adds: f64,
}

#[derive(Serialize, Deserialize, ToSchema)]
struct PageMoment {
    at: i64,
    what: String,
}

/// A page's story: how it was found, why it scored, its links and its text
#[utoipa::path(get, path = "/w/{w}/page", params(("w" = String, Path,), PageQuery),
    responses((status = 200, body = PageStory)))]
pub(crate) async fn story(
    State(state): State<Arc<DashboardState>>,
    Named(workspace): Named,
    QueryOf(query): QueryOf<PageQuery>,
) -> Answer<Json<PageStory>> {
    let url = check_url(&query.url)?;
    let call = workspace.call(&["explain", "--story"]).hidden("--json").values([url.as_str()]);
    let output = state.runner.succeed(&call).await?;
    let explained: Explained = serde_json::from_value(output.json())
        .map_err(|error| ApiError::internal(format!("`{}`: {error}", call.shown())))?;
    let facts = explained.facts.map(|facts| facts.told(call.shown())).unwrap_or_default();
    Ok(Json(PageStory { url: explained.url, state: explained.state, facts }))
}

/// What `porthole explain --story --json` prints.
#[derive(Deserialize)]
struct Explained {
    url: String,
    state: String,
    #[serde(flatten)]
    facts: Option<ExplainedFacts>,
}

#[derive(Deserialize)]
struct ExplainedFacts {
    relevance: f64,
    priority: f64,
    numtries: u32,
    lastvisited: Option<i64>,
    seq: Option<u64>,
    topic: Option<String>,
    title: String,
    language: String,
    bytes: Option<u64>,
    status: Option<u16>,
    failure: Option<PageFailure>,
    not_before: Option<i64>,
    rank: Option<u64>,
    examples: Vec<String>,
    parents: Vec<PageParent>,
    links_in: u64,
    links_out: u64,
    leads_to: Option<String>,
    site: ExplainedHost,
    kept: Option<Value>,
    hub: Option<f64>,
    auth: Option<f64>,
    neighbourhood: Option<ExplainedNeighbourhood>,
    feedback: Vec<PageFeedback>,
    judged: Option<JudgedPage>,
    parts: Option<ExplainedParts>,
    story: Option<ExplainedLinks>,
}

#[derive(Deserialize)]
struct ExplainedHost {
    host: String,
    serverload: u64,
    disabled: bool,
}

#[derive(Deserialize)]
struct ExplainedNeighbourhood {
    relevance: f64,
}

/// A judgment as `porthole classify --json` prints it.
#[derive(Deserialize)]
pub(crate) struct JudgedPage {
    pub(crate) relevance: Option<f64>,
    best: JudgedTopic,
    path: Vec<JudgedStep>,
}

#[derive(Deserialize)]
struct JudgedTopic {
    topic: String,
    probability: f64,
}

#[derive(Deserialize)]
struct JudgedStep {
    topic: String,
    probability: f64,
    given_parent: f64,
    #[serde(rename = "for")]
    words_for: Vec<String>,
    for_weights: Vec<f64>,
    against: Vec<String>,
    against_weights: Vec<f64>,
}

#[derive(Deserialize)]
struct ExplainedParts {
    strategy: String,
    on: String,
    parts: Vec<PriorityPart>,
}

#[derive(Default, Deserialize)]
struct ExplainedLinks {
    found: Vec<PathPage>,
    links: Vec<PathPage>,
    text: Option<String>,
}

impl JudgedPage {
    pub(crate) fn verdict(self) -> PageVerdict {
        let weighed = |words: Vec<String>, weights: Vec<f64>| {
            words.into_iter().zip(weights).map(|(word, weight)| WeighedWord { word, weight }).collect()
        };
        let step = |step: JudgedStep| VerdictStep {
            path: step.topic,
            probability: step.probability,
            given_parent: step.given_parent,
            words_for: weighed(step.words_for, step.for_weights),
            against: weighed(step.against, step.against_weights),
        };
        PageVerdict {
            relevance: self.relevance,
            topic: self.best.topic,
            probability: self.best.probability,
            steps: self.path.into_iter().map(step).collect(),
        }
    }
}

impl ExplainedFacts {
    fn told(self, command: &str) -> PageFacts {
        let history = self.history();
        let story = self.story.unwrap_or_default();
        let (strategy, on, parts) = match self.parts {
            Some(parts) => (Some(parts.strategy), Some(parts.on), parts.parts),
            None => (None, None, Vec::new()),
        };
        PageFacts {
            title: self.title,
            language: self.language,
            relevance: self.relevance,
            topic: self.topic,
            host: self.site.host,
            site_fetched: self.site.serverload,
            site_disabled: self.site.disabled,
            seq: self.seq,
            at: self.lastvisited,
            tries: self.numtries,
            status: self.status,
            bytes: self.bytes,
            failure: self.failure,
            not_before: self.not_before,
            leads_to: self.leads_to,
            hub: self.hub,
            authority: self.auth,
            with_neighbours: self.neighbourhood.map(|found| found.relevance),
            examples: self.examples,
            feedback: self.feedback,
            discovered: story.found,
            parents: self.parents,
            links_in: self.links_in,
            links_out: self.links_out,
            links: story.links,
            judgment: self.judged.map(JudgedPage::verdict),
            text: story.text,
            priority: PagePriority { value: self.priority, rank: self.rank, strategy, on, parts },
            history,
            archived: self.kept.is_some(),
            command: command.to_owned(),
        }
    }

    /// What happened to the page, in order.
    fn history(&self) -> Vec<PageMoment> {
        let first = self.parents.iter().min_by_key(|parent| parent.discovered);
        let mut moments: Vec<PageMoment> = Vec::new();
        moments.extend(
            first
                .map(|parent| PageMoment { at: parent.discovered, what: format!("found on {}", parent.url) }),
        );
        let tried = match (&self.failure, self.status) {
            (Some(failure), _) => format!("tried: {} {}", failure.kind, failure.detail),
            (None, Some(status)) => format!("fetched: HTTP {status}"),
            (None, None) => "tried".to_owned(),
        };
        moments.extend(self.lastvisited.map(|at| PageMoment { at, what: tried }));
        moments.extend(self.feedback.iter().map(|word| {
            let useful = if word.useful { "useful" } else { "useless" };
            PageMoment { at: word.at, what: format!("marked {useful} as a {}", word.kind) }
        }));
        moments.sort_by_key(|moment| moment.at);
        moments
    }
}
