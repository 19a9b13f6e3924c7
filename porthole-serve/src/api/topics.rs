//! The topic tree, the examples of its topics, and the critic.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use porthole_store::{QueryLimits, StoreReader};
use porthole_topic::{Critic, CriticModel, Taxonomy};
use porthole_types::TopicId;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::DashboardState;
use super::extract::{BodyOf, Named, QueryOf, check_text, check_url};
use super::status::CRITIC;
use crate::error::{Answer, ApiError};
use crate::jobs::{JobReport, JobRequest};
use crate::program::ProgramCall;
use crate::workspaces::ServedWorkspace;

/// A topic with its figures.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = TopicNode)]
pub(crate) struct TopicFigures {
    id: u16,
    /// Id of its parent; the root's is itself.
    parent: u16,
    name: String,
    path: String,
    /// good, path (above a good topic), subsumed (below one) or null.
    mark: String,
    /// Examples of the topic itself.
    examples: usize,
    /// Pages whose best topic it is, without duplicates.
    pages: u64,
    mean_relevance: Option<f64>,
    /// The same with the topics below it.
    examples_below: usize,
    pages_below: u64,
    mean_relevance_below: Option<f64>,
}

/// The topic tree.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct TopicTree {
    nodes: Vec<TopicFigures>,
}

/// The topic tree with numbers of examples and pages
#[utoipa::path(get, path = "/w/{w}/topics", params(("w" = String, Path,)),
    responses((status = 200, body = TopicTree)))]
pub(crate) async fn topics(Named(workspace): Named) -> Answer<Json<TopicTree>> {
    workspace.read(|workspace| Ok(TopicTree { nodes: nodes(workspace)? })).await.map(Json)
}

/// Fetched pages by topic: the topics that have some, with the topics above them
#[utoipa::path(get, path = "/w/{w}/census", params(("w" = String, Path,)),
    responses((status = 200, body = TopicTree)))]
pub(crate) async fn census(Named(workspace): Named) -> Answer<Json<TopicTree>> {
    let read = workspace.read(|workspace| {
        let nodes = nodes(workspace)?.into_iter().filter(|node| node.pages_below > 0).collect();
        Ok(TopicTree { nodes })
    });
    read.await.map(Json)
}

/// Pages and the sum of their relevance, by topic.
type PagesByTopic = HashMap<TopicId, (u64, f64)>;

fn nodes(workspace: &ServedWorkspace) -> Answer<Vec<TopicFigures>> {
    let reader = &workspace.reader;
    let tree = workspace.tree()?;
    let mut examples: HashMap<TopicId, usize> = HashMap::new();
    for example in reader.examples(None)? {
        *examples.entry(example.topic).or_default() += 1;
    }
    let census = reader.query("census", &[("rows", "65536")], &QueryLimits::default())?;
    let mut pages = PagesByTopic::new();
    for row in &census.rows {
        let topic = row[0].integer().and_then(|id| u16::try_from(id).ok()).unwrap_or(0);
        let count = row[2].integer().unwrap_or(0).cast_unsigned();
        pages.insert(TopicId(topic), (count, row[3].real().unwrap_or(0.0) * count as f64));
    }
    let node = |row: &porthole_types::TopicRow| {
        let (count, sum) = pages.get(&row.id).copied().unwrap_or_default();
        let below = tree.below(row.id);
        let (count_below, sum_below) = below
            .iter()
            .filter_map(|id| pages.get(id))
            .fold((0, 0.0), |(pages, sum), &(more_pages, more)| (pages + more_pages, sum + more));
        let mean = |sum: f64, count: u64| (count > 0).then(|| sum / count as f64);
        TopicFigures {
            id: row.id.0,
            parent: row.parent.0,
            name: row.name.clone(),
            path: tree.path(row.id),
            mark: row.mark.name().to_owned(),
            examples: examples.get(&row.id).copied().unwrap_or(0),
            pages: count,
            mean_relevance: mean(sum, count),
            examples_below: below.iter().filter_map(|id| examples.get(id)).sum(),
            pages_below: count_below,
            mean_relevance_below: mean(sum_below, count_below),
        }
    };
    Ok(tree.rows().iter().map(node).collect())
}

/// A change of the topic tree.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TopicOperation {
    op: TopicWord,
    /// Path of the topic; of `toward`, it may be missing: only good topics are followed.
    path: Option<String>,
    /// Of `rename` the new name, of `move` the new parent, of `remove` the topic that gets the examples; of `toward` more
    /// paths.
    to: Option<String>,
    /// Of `remove`: also remove the examples.
    #[serde(default)]
    with_examples: bool,
}

#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum TopicWord {
    Mark,
    Unmark,
    Add,
    Rename,
    Move,
    Remove,
    Toward,
}

/// What a command said.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct OperationOutcome {
    outcome: String,
    /// The command, as a user would type it.
    command: String,
}

/// Runs a command that is done at once.
pub(super) async fn done(state: &DashboardState, call: &ProgramCall) -> Answer<Json<OperationOutcome>> {
    let output = state.runner.succeed(call).await?;
    Ok(Json(OperationOutcome { outcome: output.said(), command: call.shown().to_owned() }))
}

/// Change the topic tree; a running crawl follows
#[utoipa::path(post, path = "/w/{w}/topics", operation_id = "change_topics", params(("w" = String, Path,)),
    request_body = TopicOperation, responses((status = 200, body = OperationOutcome)))]
pub(crate) async fn change_topics(
    State(state): State<Arc<DashboardState>>,
    Named(workspace): Named,
    BodyOf(operation): BodyOf<TopicOperation>,
) -> Answer<Json<OperationOutcome>> {
    let TopicOperation { op, path, to, with_examples } = operation;
    for (what, text) in [("path", &path), ("to", &to)] {
        text.iter().try_for_each(|text| check_text(what, text))?;
    }
    let word = format!("{op:?}").to_lowercase();
    let call = workspace.call(&["topics", &word]);
    let needed = |name: &str| ApiError::bad(format!("`{word}` needs `{name}`"));
    let call = match (op, path) {
        (TopicWord::Toward, None) => call.word("--none"),
        (_, None) => return Err(needed("path")),
        (TopicWord::Mark | TopicWord::Unmark | TopicWord::Add, Some(path)) => call.values([path]),
        (TopicWord::Rename | TopicWord::Move, Some(path)) => {
            call.values([path, to.ok_or_else(|| needed("to"))?])
        }
        (TopicWord::Remove, Some(path)) => {
            let call = call.optional("move-examples", to);
            if with_examples { call.word("--with-examples") } else { call }.values([path])
        }
        (TopicWord::Toward, Some(path)) => call.values([path].into_iter().chain(to)),
    };
    done(&state, &call).await
}

/// An example of a topic.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct ExampleRow {
    id: u64,
    /// Its URL, or the name of a file.
    url: String,
    title: String,
    /// Path of its topic; `/`: it has none yet.
    topic: String,
    /// ok, missing or empty.
    state: String,
    /// Why it is missing or empty.
    detail: String,
    language: String,
    /// The best topic by the current critic.
    judged_as: Option<String>,
    /// Whether that is its topic, or below or above it.
    is_recognised: Option<bool>,
    /// R by the current critic.
    relevance: Option<f64>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ExamplesQuery {
    /// Only examples of this topic and the topics below it; `/` with `unplaced`: those without a topic.
    topic: Option<String>,
    /// Only examples without a topic.
    unplaced: Option<bool>,
    /// Maximum number [default: 1000].
    #[param(minimum = 1, maximum = 10_000)]
    limit: Option<u32>,
}

/// Examples, with what the critic says of them
#[utoipa::path(get, path = "/w/{w}/examples", params(("w" = String, Path,), ExamplesQuery),
    responses((status = 200, body = Vec<ExampleRow>)))]
pub(crate) async fn examples(
    Named(workspace): Named,
    QueryOf(query): QueryOf<ExamplesQuery>,
) -> Answer<Json<Vec<ExampleRow>>> {
    workspace.read(move |workspace| example_rows(workspace, &query)).await.map(Json)
}

fn example_rows(workspace: &ServedWorkspace, query: &ExamplesQuery) -> Answer<Vec<ExampleRow>> {
    let reader = &workspace.reader;
    let tree = workspace.tree()?;
    let limit = query.limit.unwrap_or(1_000).clamp(1, 10_000) as usize;
    let wanted: Option<HashSet<TopicId>> = match &query.topic {
        _ if query.unplaced == Some(true) => Some(HashSet::from([TopicId::ROOT])),
        Some(path) => Some(tree.below(find(&tree, path)?).into_iter().collect()),
        None => None,
    };
    let mut critic = critic(workspace, &tree)?;
    let mut rows = Vec::new();
    reader.visit_examples(&mut |example, terms| {
        let is_wanted = wanted.as_ref().is_none_or(|wanted| wanted.contains(&example.topic));
        if !is_wanted || rows.len() == limit {
            return;
        }
        let judged = match &mut critic {
            Some(critic) if !terms.is_empty() => Some(critic.judge(terms)),
            _ => None,
        };
        let best = judged.map(|judgment| judgment.best).filter(|&best| tree.contains(best));
        let is_near = |best: TopicId| {
            let mut path = std::iter::once(best).chain(tree.ancestors(best));
            path.any(|above| above == example.topic) || tree.below(best).contains(&example.topic)
        };
        rows.push(ExampleRow {
            id: example.id.0,
            url: example.url.clone(),
            title: example.title.clone(),
            topic: if tree.contains(example.topic) { tree.path(example.topic) } else { String::new() },
            state: example.state.name().to_owned(),
            detail: example.state.detail().to_owned(),
            language: example.language.clone(),
            is_recognised: best.filter(|_| example.topic != TopicId::ROOT).map(is_near),
            judged_as: best.map(|best| tree.path(best)),
            relevance: judged.map(|judgment| judgment.relevance),
        });
    })?;
    Ok(rows)
}

/// The current critic, if there is one that can be read.
fn critic(workspace: &ServedWorkspace, tree: &Taxonomy) -> Answer<Option<Critic>> {
    let stored = workspace.reader.model(CRITIC)?;
    let model = stored.and_then(|stored| CriticModel::from_bytes(&stored.bytes).ok());
    Ok(model.map(|model| Critic::new(model, tree)))
}

/// A topic by its path.
pub(super) fn find(tree: &Taxonomy, path: &str) -> Answer<TopicId> {
    tree.find(path).map_err(|error| ApiError::bad(error.to_string()))
}

/// A change of examples.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExampleOperation {
    op: ExampleWord,
    /// Path of the topic; of `move` the new one. `/`: without a topic.
    topic: Option<String>,
    /// URLs of the pages. Of `move` and `remove` also ids or names, as the list shows them.
    #[serde(default)]
    urls: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum ExampleWord {
    /// Fetch pages and add them.
    Add,
    /// Add pages that were found by `explore`.
    Accept,
    /// Move examples to another topic.
    Move,
    /// Remove examples from a topic.
    Remove,
    /// Fetch the pages of examples that have none.
    Fetch,
    /// Look for more examples near those of a topic.
    Explore,
}

/// What was done, or the job that does it.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum OutcomeOrJob {
    Job(JobReport),
    Outcome(OperationOutcome),
}

/// Change examples
///
/// `move` and `remove` are done at once; the others fetch pages and are jobs.
#[utoipa::path(post, path = "/w/{w}/examples", operation_id = "change_examples", params(("w" = String, Path,)),
    request_body = ExampleOperation, responses((status = 200, body = OutcomeOrJob)))]
pub(crate) async fn change_examples(
    State(state): State<Arc<DashboardState>>,
    Named(workspace): Named,
    BodyOf(operation): BodyOf<ExampleOperation>,
) -> Answer<Json<OutcomeOrJob>> {
    let ExampleOperation { op, topic, urls } = operation;
    topic.iter().try_for_each(|topic| check_text("topic", topic))?;
    let needed = || ApiError::bad("`topic` is needed");
    if urls.is_empty() && !matches!(op, ExampleWord::Fetch | ExampleWord::Explore) {
        return Err(ApiError::bad("`urls` is empty"));
    }
    if matches!(op, ExampleWord::Move | ExampleWord::Remove) {
        let topic = topic.ok_or_else(needed)?;
        urls.iter().try_for_each(|name| check_text("the name of an example", name))?;
        let call = match op {
            ExampleWord::Move => workspace.call(&["examples", "move"]).values(urls.iter().chain([&topic])),
            _ => workspace.call(&["examples", "remove"]).values([&topic].into_iter().chain(&urls)),
        };
        let Json(outcome) = done(&state, &call).await?;
        return Ok(Json(OutcomeOrJob::Outcome(outcome)));
    }
    // Names that are no URLs would be files.
    let urls = urls.iter().map(|url| check_url(url)).collect::<Answer<Vec<_>>>()?;
    let urls = urls.iter().map(porthole_types::CanonicalUrl::as_str);
    let (what, call) = match op {
        ExampleWord::Fetch => {
            ("examples", workspace.call(&["examples", "fetch"]).hidden("--json").values(topic))
        }
        ExampleWord::Explore => {
            let call = workspace.call(&["examples", "explore"]).hidden("--json");
            ("explore", call.values([topic.ok_or_else(needed)?]))
        }
        _ => {
            let topic = topic.ok_or_else(needed)?;
            let call = workspace.call(&["examples", "add"]).hidden("--json");
            ("examples", call.values([topic.as_str()].into_iter().chain(urls)))
        }
    };
    Ok(Json(OutcomeOrJob::Job(start(&state, &workspace, what, call)?)))
}

/// Starts a job of one command in a workspace.
pub(super) fn start(
    state: &DashboardState,
    workspace: &ServedWorkspace,
    what: &'static str,
    call: ProgramCall,
) -> Answer<JobReport> {
    state.jobs.start(JobRequest {
        what,
        workspace: Some(workspace.name.clone()),
        calls: vec![call],
        good_codes: &[],
        keep: None,
    })
}

/// Which pages to propose topics for.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ProposalRequest {
    /// Examples or crawled pages; without any, the examples without a topic.
    urls: Vec<String>,
}

/// A topic that fits some pages.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct ProposedTopic {
    path: String,
    /// Mean probability of the pages to be about it.
    probability: f64,
    /// Pages that it fits best.
    examples: usize,
    /// The words that decide.
    words: Vec<String>,
    is_good: bool,
}

/// What `porthole topics propose --json` prints.
#[derive(Deserialize)]
struct PrintedProposal {
    topic: String,
    probability: f64,
    examples: usize,
    words: Vec<String>,
    is_good: bool,
}

/// Topics that fit pages best, with the words that decide
#[utoipa::path(post, path = "/w/{w}/proposals", params(("w" = String, Path,)), request_body = ProposalRequest,
    responses((status = 200, body = Vec<ProposedTopic>)))]
pub(crate) async fn proposals(
    State(state): State<Arc<DashboardState>>,
    Named(workspace): Named,
    BodyOf(request): BodyOf<ProposalRequest>,
) -> Answer<Json<Vec<ProposedTopic>>> {
    let urls = request.urls.iter().map(|url| check_url(url)).collect::<Answer<Vec<_>>>()?;
    let call = workspace.call(&["topics", "propose"]).hidden("--json");
    let call = call.values(urls.iter().map(porthole_types::CanonicalUrl::as_str));
    let output = state.runner.succeed(&call).await?;
    let printed: Vec<PrintedProposal> = serde_json::from_value(output.json())
        .map_err(|error| ApiError::internal(format!("`{}`: {error}", call.shown())))?;
    let proposed = printed.into_iter().map(|proposal| ProposedTopic {
        path: proposal.topic,
        probability: proposal.probability,
        examples: proposal.examples,
        words: proposal.words,
        is_good: proposal.is_good,
    });
    Ok(Json(proposed.collect()))
}

/// A training.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TrainingRequest {
    /// Only show what would change; `train/accept` takes it over.
    preview: bool,
    /// Retune all parameters by cross-validation.
    cv: bool,
}

/// Train the critic; the result is what `porthole train --json` prints
#[utoipa::path(post, path = "/w/{w}/train", params(("w" = String, Path,)), request_body = TrainingRequest,
    responses((status = 200, body = JobReport)))]
pub(crate) async fn train(
    State(state): State<Arc<DashboardState>>,
    Named(workspace): Named,
    BodyOf(request): BodyOf<TrainingRequest>,
) -> Answer<Json<JobReport>> {
    let mut call = workspace.call(&["train"]).hidden("--json");
    for (is_wanted, option) in [(request.preview, "--preview"), (request.cv, "--cv")] {
        call = if is_wanted { call.word(option) } else { call };
    }
    start(&state, &workspace, "train", call).map(Json)
}

/// Take the previewed critic over
#[utoipa::path(post, path = "/w/{w}/train/accept", operation_id = "accept_training", params(("w" = String, Path,)),
    responses((status = 200, body = JobReport)))]
pub(crate) async fn accept_training(
    State(state): State<Arc<DashboardState>>,
    Named(workspace): Named,
) -> Answer<Json<JobReport>> {
    let call = workspace.call(&["train", "--accept"]).hidden("--json");
    start(&state, &workspace, "train", call).map(Json)
}
