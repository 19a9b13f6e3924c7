//! The state of a workspace and its crawl.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use porthole_store::{CommandRow, StoreCounts, StoreReader};
use porthole_topic::Taxonomy;
use porthole_types::{LiveCrawl, TopicId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::DashboardState;
use super::extract::Named;
use crate::error::Answer;
use crate::jobs::JobBoard;
use crate::trace::{AlarmRow, now};
use crate::workspaces::ServedWorkspace;

/// Setting: why the last crawl ended.
pub(super) const LAST_STOP: &str = "crawl.last_stop";
/// Setting: strategy of the last crawl that has ended.
const STRATEGY: &str = "crawl.strategy";
/// Setting: ids of topics whose pages are followed, too.
const TOWARD: &str = "crawl.toward";
/// Setting: the order of the queue.
const POLICY: &str = "policy";
/// Name of the critic among the models.
pub(super) const CRITIC: &str = "critic";

/// The state of a workspace and its crawl.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = WorkspaceStatus)]
pub(crate) struct DashboardStatus {
    /// Whether a crawl is running, of this or another process.
    is_running: bool,
    /// Whether it was started here.
    started_here: bool,
    is_paused: bool,
    /// Name of the strategy, of the running or the last crawl.
    strategy: Option<String>,
    /// Order of the queue; null: the default.
    policy: Option<String>,
    critic: Option<CriticFacts>,
    good: Vec<TopicRef>,
    /// Topics whose pages are followed although they are not good.
    toward: Vec<TopicRef>,
    counts: UrlCounts,
    /// Mean relevance of all pages; duplicates count as 0.
    harvest: Option<f64>,
    /// The same of the last hundred pages.
    harvest_recent: Option<f64>,
    /// Relevant pages: fetched, no copies of others, with a present R of at least 0.5.
    relevant: u64,
    /// Why the last crawl ended.
    last_stop: Option<String>,
    /// When the last run began.
    started_at: Option<i64>,
    /// The server's time.
    now: i64,
    first_fetch_at: Option<i64>,
    last_fetch_at: Option<i64>,
    disk: DiskUse,
    /// What only the running crawl knows.
    live: Option<LiveFacts>,
    /// The last alarms, oldest first.
    alarms: Vec<AlarmRow>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
struct CriticFacts {
    trained_at: i64,
}

/// A topic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct TopicRef {
    pub(crate) id: u16,
    pub(crate) path: String,
}

/// Numbers of URLs by state, and of links and sites.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
struct UrlCounts {
    known: usize,
    queued: usize,
    fetched: usize,
    redirected: usize,
    dead: usize,
    skipped: usize,
    evicted: usize,
    rejected: usize,
    parked: usize,
    links: usize,
    sites: usize,
    copies: usize,
}

/// Sizes in bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
struct DiskUse {
    database: u64,
    pages: u64,
    /// Free space on the disk.
    free: Option<u64>,
}

/// What a running crawl says of itself, about once a second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
struct LiveFacts {
    /// When this was true.
    at: i64,
    is_paused: bool,
    strategy: String,
    /// Most requests at once.
    workers: usize,
    /// Workers that wait for resting sites with good links.
    workers_idle: usize,
    /// Resting sites that they wait for.
    sites_awaited: usize,
    /// Sites that may be requested now.
    ready: usize,
    /// Sites that must not be requested yet.
    resting: usize,
    /// Sites with a request in flight.
    busy: usize,
    /// Sites that failed so often that they are no longer requested.
    given_up: usize,
    /// Why the crawl is held up.
    held_up: Option<String>,
    /// Page limit of this run.
    budget_pages: Option<u64>,
}

/// The state of a workspace and its crawl
#[utoipa::path(get, path = "/w/{w}/status", params(("w" = String, Path,)),
    responses((status = 200, body = DashboardStatus)))]
pub(crate) async fn status(
    State(state): State<Arc<DashboardState>>,
    Named(workspace): Named,
) -> Answer<Json<DashboardStatus>> {
    workspace.read(move |workspace| of(workspace, &state.jobs)).await.map(Json)
}

impl DashboardStatus {
    /// Whether nothing has changed but the time.
    pub(crate) fn is_same(&self, other: &DashboardStatus) -> bool {
        let timeless = |status: &DashboardStatus| {
            let mut status = status.clone();
            (status.now, status.disk.free) = (0, None);
            if let Some(live) = &mut status.live {
                live.at = 0;
            }
            status
        };
        timeless(self) == timeless(other)
    }
}

/// Reads the state; takes time for the new rows only.
pub(crate) fn of(workspace: &ServedWorkspace, jobs: &JobBoard) -> Answer<DashboardStatus> {
    let reader = &workspace.reader;
    let is_running = reader.is_crawled()?;
    let tree = workspace.tree()?;
    let (totals, started, alarms) = {
        let trace = workspace.trace()?;
        (trace.totals(), trace.started.clone(), trace.alarms.clone())
    };
    let live = match reader.setting(LiveCrawl::SETTING)? {
        Some(text) if is_running => serde_json::from_str::<LiveFacts>(&text).ok(),
        _ => None,
    };
    let started_at = started.as_ref().map(|(at, _)| *at);
    let (database, pages, free) = workspace.disk();
    let toward = reader.setting(TOWARD)?.unwrap_or_default();
    let toward = toward.split_whitespace().filter_map(|id| id.parse().ok()).map(TopicId);
    Ok(DashboardStatus {
        is_running,
        started_here: jobs.is_running(&workspace.name, "crawl"),
        is_paused: match &live {
            Some(live) => live.is_paused,
            None => is_running && is_paused_since(&reader.last_commands(50)?, started_at),
        },
        strategy: match &live {
            Some(live) => Some(live.strategy.clone()),
            None => strategy(is_running, started.as_ref(), reader.setting(STRATEGY)?),
        },
        policy: reader.setting(POLICY)?,
        critic: reader.model_made(CRITIC)?.map(|made| CriticFacts { trained_at: made.0 }),
        good: tree.good().map(|id| topic_ref(&tree, id)).collect(),
        toward: toward.filter(|&id| tree.contains(id)).map(|id| topic_ref(&tree, id)).collect(),
        counts: UrlCounts::of(reader.counts()?),
        harvest: totals.harvest,
        harvest_recent: totals.harvest_recent,
        relevant: totals.relevant,
        last_stop: reader.setting(LAST_STOP)?.filter(|_| !is_running),
        started_at,
        now: now().0,
        first_fetch_at: totals.first_at,
        last_fetch_at: totals.last_at,
        disk: DiskUse { database, pages, free },
        live,
        alarms,
    })
}

pub(super) fn topic_ref(tree: &Taxonomy, id: TopicId) -> TopicRef {
    TopicRef { id: id.0, path: tree.path(id) }
}

/// Whether the last of the commands that pause or resume since the start paused the crawl. The newest command is first.
fn is_paused_since(commands: &[CommandRow], started: Option<i64>) -> bool {
    let since = |command: &&CommandRow| started.is_none_or(|started| command.at.0 >= started);
    let is_done = |command: &&CommandRow| command.answer.as_ref().is_some_and(|answer| !answer.failed);
    let last = commands.iter().filter(since).filter(is_done);
    let last = last.map(|command| command.what.as_str()).find(|what| ["pause", "resume"].contains(what));
    last == Some("pause")
}

/// The strategy of the running crawl, from the event of its start (`strategy NAME, …`), or of the last one.
fn strategy(is_running: bool, started: Option<&(i64, String)>, last: Option<String>) -> Option<String> {
    let running = started.filter(|_| is_running).and_then(|(_, detail)| detail.strip_prefix("strategy "));
    let running = running.and_then(|detail| detail.rsplitn(3, ", ").nth(2)).map(str::to_owned);
    running.or(last)
}

impl UrlCounts {
    fn of(counts: StoreCounts) -> UrlCounts {
        UrlCounts {
            known: counts.known,
            queued: counts.queued,
            fetched: counts.fetched,
            redirected: counts.redirected,
            dead: counts.dead,
            skipped: counts.skipped,
            evicted: counts.evicted,
            rejected: counts.rejected,
            parked: counts.parked,
            links: counts.links,
            sites: counts.sites,
            copies: counts.copies,
        }
    }
}

#[cfg(test)]
mod tests {
    use porthole_store::CommandAnswer;
    use porthole_types::Timestamp;

    use super::*;

    #[test]
    fn the_last_pause_or_resume_of_this_run_counts() {
        let command = |at: i64, what: &str, failed: bool| CommandRow {
            id: 1,
            at: Timestamp(at),
            what: what.to_owned(),
            parameters: String::new(),
            answer: Some(CommandAnswer { at: Timestamp(at), failed, outcome: String::new() }),
        };
        let cases = [
            (vec![command(20, "pause", false)], true),
            (vec![command(30, "workers", false), command(20, "pause", false)], true),
            (vec![command(30, "resume", false), command(20, "pause", false)], false),
            (vec![command(30, "resume", true), command(20, "pause", false)], true),
            (vec![command(5, "pause", false)], false),
        ];
        for (commands, expected) in cases {
            assert_eq!(is_paused_since(&commands, Some(10)), expected, "{commands:?}");
        }
    }

    #[test]
    fn the_strategy_of_a_running_crawl_may_contain_commas() {
        let started = (1, "strategy shark:delta=0.5,beta=0.8, 64 workers, no page limit".to_owned());
        assert_eq!(strategy(true, Some(&started), None).as_deref(), Some("shark:delta=0.5,beta=0.8"));
        assert_eq!(strategy(false, Some(&started), Some("soft".into())).as_deref(), Some("soft"));
    }
}
