//! What a crawl has found: pages, hubs, authorities, sites, the graph between hubs and authorities, and what people say
//! of them.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use porthole_store::{PageListing, PageOrder, QueryLimits, StoreReader};
use porthole_topic::Taxonomy;
use porthole_types::{CanonicalUrl, TopicId, UrlId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::DashboardState;
use super::extract::{BodyOf, Named, PathOf, QueryOf, check_text, check_url};
use super::topics::{self, OperationOutcome};
use crate::error::{Answer, ApiError};
use crate::workspaces::ServedWorkspace;

/// Most pages of one answer.
const MOST_PAGES: u32 = 1_000;

/// A fetched page.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct PageRow {
    seq: u64,
    url: String,
    title: String,
    host: String,
    relevance: f64,
    /// Path of the best topic.
    topic: Option<String>,
    at: i64,
    language: String,
    /// Scores of the last distillation.
    hub: Option<f64>,
    authority: Option<f64>,
    /// Whether somebody found it useful.
    feedback: Option<bool>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct PagesQuery {
    /// relevance (the highest first), recent, or uncertain (nearest to 0.5 first, without those that were marked).
    order: Option<PageOrderWord>,
    /// Only pages about this topic and the topics below it.
    topic: Option<String>,
    /// Only pages of this host and the names below it.
    site: Option<String>,
    /// Least relevance.
    min: Option<f64>,
    /// Highest relevance.
    max: Option<f64>,
    /// Maximum number [default: 50].
    #[param(minimum = 1, maximum = 1_000)]
    limit: Option<u32>,
    /// Pages to leave out at the beginning.
    offset: Option<u32>,
}

#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PageOrderWord {
    Relevance,
    Recent,
    Uncertain,
}

/// Fetched and judged pages, without duplicates
#[utoipa::path(get, path = "/w/{w}/pages", operation_id = "list_pages", params(("w" = String, Path,), PagesQuery),
    responses((status = 200, body = Vec<PageRow>)))]
pub(crate) async fn pages(
    Named(workspace): Named,
    QueryOf(query): QueryOf<PagesQuery>,
) -> Answer<Json<Vec<PageRow>>> {
    workspace.read(move |workspace| page_rows(workspace, &query)).await.map(Json)
}

fn page_rows(workspace: &ServedWorkspace, query: &PagesQuery) -> Answer<Vec<PageRow>> {
    let reader = &workspace.reader;
    let tree = workspace.tree()?;
    let listing = PageListing {
        order: match query.order {
            None | Some(PageOrderWord::Relevance) => PageOrder::Relevance,
            Some(PageOrderWord::Recent) => PageOrder::Recent,
            Some(PageOrderWord::Uncertain) => PageOrder::Uncertain,
        },
        topics: match &query.topic {
            Some(path) => Some(tree.below(topics::find(&tree, path)?)),
            None => None,
        },
        sites: match &query.site {
            Some(host) => Some(reader.sites_below(host)?),
            None => None,
        },
        least: query.min.unwrap_or(0.0),
        most: query.max.unwrap_or(1.0),
        limit: query.limit.unwrap_or(50).clamp(1, MOST_PAGES) as usize,
        offset: query.offset.unwrap_or(0) as usize,
    };
    let row = |page: porthole_store::ListedPage| PageRow {
        seq: page.seq,
        url: page.url,
        title: page.title,
        host: page.host,
        relevance: page.relevance,
        topic: path_of(&tree, Some(page.best)),
        at: page.at.0,
        language: page.language,
        hub: page.hub,
        authority: page.authority,
        feedback: page.useful,
    };
    Ok(reader.list_pages(&listing)?.into_iter().map(row).collect())
}

fn path_of(tree: &Taxonomy, topic: Option<TopicId>) -> Option<String> {
    topic.filter(|&topic| tree.contains(topic)).map(|topic| tree.path(topic))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct TopQuery {
    /// Only pages about this topic and the topics below it.
    topic: Option<String>,
    /// Maximum number [default: 20].
    #[param(minimum = 1, maximum = 1_000)]
    limit: Option<u32>,
    /// Of hubs and authorities: with the links that contribute most.
    why: Option<bool>,
}

/// What to list.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TopKind {
    Pages,
    Sites,
    Hubs,
    Authorities,
}

/// The best pages, sites, hubs or authorities, as `porthole top KIND --json` prints them
#[utoipa::path(get, path = "/w/{w}/top/{kind}", params(("w" = String, Path,), ("kind" = TopKind, Path,), TopQuery),
    responses((status = 200, body = Vec<Object>)))]
pub(crate) async fn top(
    State(state): State<Arc<DashboardState>>,
    Named(workspace): Named,
    PathOf((_, kind)): PathOf<(String, TopKind)>,
    QueryOf(query): QueryOf<TopQuery>,
) -> Answer<Json<Value>> {
    query.topic.iter().try_for_each(|topic| check_text("topic", topic))?;
    let mut call = workspace.call(&["top", &format!("{kind:?}").to_lowercase()]).hidden("--json");
    call =
        call.optional("topic", query.topic).optional("rows", query.limit.map(|limit| limit.clamp(1, 1_000)));
    if query.why == Some(true) && matches!(kind, TopKind::Hubs | TopKind::Authorities) {
        call = call.word("--why");
    }
    match state.runner.succeed(&call).await?.json() {
        rows @ Value::Array(_) => Ok(Json(rows)),
        other => Err(ApiError::internal(format!("`{}` printed {other}", call.shown()))),
    }
}

/// The best hubs and authorities and the links between them.
#[derive(Default, Serialize, Deserialize, ToSchema)]
pub(crate) struct HubGraph {
    nodes: Vec<HubNode>,
    /// Pairs of places in `nodes`: from, to.
    links: Vec<(usize, usize)>,
}

/// A hub, an authority, or both.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct HubNode {
    /// Place in the list.
    id: usize,
    url: String,
    title: String,
    host: String,
    /// hub, authority or both.
    kind: String,
    /// The higher of its two scores.
    score: f64,
    relevance: f64,
    topic: Option<String>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct HubGraphQuery {
    /// Number of hubs, and of authorities [default: 50].
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// The best hubs and authorities with the links between them
#[utoipa::path(get, path = "/w/{w}/hubgraph", params(("w" = String, Path,), HubGraphQuery),
    responses((status = 200, body = HubGraph)))]
pub(crate) async fn hubgraph(
    Named(workspace): Named,
    QueryOf(query): QueryOf<HubGraphQuery>,
) -> Answer<Json<HubGraph>> {
    let limit = query.limit.unwrap_or(50).clamp(1, 500);
    workspace.read(move |workspace| graph(workspace, limit)).await.map(Json)
}

fn graph(workspace: &ServedWorkspace, limit: u32) -> Answer<HubGraph> {
    let reader = &workspace.reader;
    let tree = workspace.tree()?;
    let mut graph = HubGraph::default();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (query, kind) in [("top-hubs", "hub"), ("top-authorities", "authority")] {
        let found = reader.query(query, &[("rows", &limit.to_string())], &QueryLimits::default())?;
        for row in &found.rows {
            let (score, url) = (row[0].real().unwrap_or(0.0), row[3].text().to_owned());
            if let Some(&place) = places.get(&url) {
                let node = &mut graph.nodes[place];
                node.kind = "both".to_owned();
                node.score = node.score.max(score);
                continue;
            }
            places.insert(url.clone(), graph.nodes.len());
            let topic = row[1].integer().and_then(|id| u16::try_from(id).ok()).map(TopicId);
            let host = CanonicalUrl::parse(&url).map(|url| url.authority().to_owned()).unwrap_or_default();
            graph.nodes.push(HubNode {
                id: graph.nodes.len(),
                url,
                title: row[2].text().to_owned(),
                host,
                kind: kind.to_owned(),
                score,
                relevance: row[4].real().unwrap_or(0.0),
                topic: path_of(&tree, topic),
            });
        }
    }
    let id = |node: &HubNode| Some((CanonicalUrl::parse(&node.url).ok()?.id(), node.id));
    let place: HashMap<UrlId, usize> = graph.nodes.iter().filter_map(id).collect();
    let ids: Vec<UrlId> = place.keys().copied().collect();
    let links = reader.links_among(&ids)?.into_iter();
    graph.links = links.filter_map(|(from, to)| Some((*place.get(&from)?, *place.get(&to)?))).collect();
    Ok(graph)
}

/// What somebody says of a page, a hub or a site.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FeedbackRequest {
    /// The page; of a site, any page of it.
    url: Option<String>,
    /// Instead of the URL: the host of a site.
    host: Option<String>,
    kind: FeedbackWord,
    useful: bool,
    /// Topic of the page; without one, the critic chooses.
    topic: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum FeedbackWord {
    Page,
    Site,
    Hub,
}

/// Say that a page, hub or site is useful or useless; pages become examples
#[utoipa::path(post, path = "/w/{w}/feedback", params(("w" = String, Path,)), request_body = FeedbackRequest,
    responses((status = 200, body = OperationOutcome)))]
pub(crate) async fn feedback(
    State(state): State<Arc<DashboardState>>,
    Named(workspace): Named,
    BodyOf(request): BodyOf<FeedbackRequest>,
) -> Answer<Json<OperationOutcome>> {
    let url = match (&request.url, &request.host) {
        (Some(url), _) => check_url(url)?,
        (None, Some(host)) => check_url(&format!("http://{host}/"))?,
        (None, None) => return Err(ApiError::bad("`url` or `host` is needed")),
    };
    request.topic.iter().try_for_each(|topic| check_text("topic", topic))?;
    let call = workspace.call(&["mark"]);
    let call = match request.kind {
        FeedbackWord::Page => call.optional("topic", request.topic),
        FeedbackWord::Site => call.word("--site"),
        FeedbackWord::Hub => call.word("--hub"),
    };
    let verdict = if request.useful { "useful" } else { "useless" };
    topics::done(&state, &call.values([url.as_str(), verdict])).await
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct TeachQuery {
    /// Maximum number [default: 20].
    #[param(minimum = 1, maximum = 1_000)]
    limit: Option<u32>,
}

/// A page to ask about.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct TeachRow {
    url: String,
    title: String,
    /// The beginning of its text; empty if it is not archived.
    snippet: String,
    relevance: f64,
    /// Path of the most probable topic.
    topic: String,
    /// Path of the good topic that is asked about.
    about: String,
    /// Words that speak for it.
    #[serde(rename = "for")]
    words_for: Vec<String>,
    against: Vec<String>,
}

/// Pages to ask about, from all over the ranking; none that was answered before
#[utoipa::path(get, path = "/w/{w}/teach", params(("w" = String, Path,), TeachQuery),
    responses((status = 200, body = Vec<TeachRow>)))]
pub(crate) async fn teach(
    State(state): State<Arc<DashboardState>>,
    Named(workspace): Named,
    QueryOf(query): QueryOf<TeachQuery>,
) -> Answer<Json<Vec<TeachRow>>> {
    let limit = query.limit.unwrap_or(20).clamp(1, 1_000);
    let call = workspace.call(&["teach"]).hidden("--json").option("limit", &limit.to_string());
    let output = state.runner.finish(&call).await?;
    match serde_json::from_value(output.json()) {
        Ok(rows) => Ok(Json(rows)),
        Err(_) => Err(ApiError::failed(output.error())),
    }
}
