//! Commands to a running crawl: rows of the table `command`, which the crawl answers.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use porthole_store::{CommandRow, StoreReader, WorkspaceWriter};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::Instant;
use utoipa::{IntoParams, ToSchema};

use super::DashboardState;
use super::extract::{BodyOf, Named, QueryOf, check_text, check_url};
use crate::error::{Answer, ApiError};
use crate::program::ProgramCall;
use crate::trace::now;
use crate::workspaces::ServedWorkspace;

/// A command with its answer.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct CommandReport {
    id: u64,
    at: i64,
    what: String,
    parameters: String,
    /// When it was answered; null until then.
    answered: Option<i64>,
    failed: bool,
    /// What was done, or why it failed.
    outcome: Option<String>,
}

impl CommandReport {
    pub(crate) fn of(row: &CommandRow) -> CommandReport {
        CommandReport {
            id: row.id,
            at: row.at.0,
            what: row.what.clone(),
            parameters: row.parameters.clone(),
            answered: row.answer.as_ref().map(|answer| answer.at.0),
            failed: row.answer.as_ref().is_some_and(|answer| answer.failed),
            outcome: row.answer.as_ref().map(|answer| answer.outcome.clone()),
        }
    }
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct CommandsQuery {
    /// Maximum number [default: 50].
    #[param(minimum = 1, maximum = 1_000)]
    limit: Option<u32>,
}

/// The last commands to crawls, the newest first
#[utoipa::path(get, path = "/w/{w}/commands", params(("w" = String, Path,), CommandsQuery),
    responses((status = 200, body = Vec<CommandReport>)))]
pub(crate) async fn commands(
    Named(workspace): Named,
    QueryOf(query): QueryOf<CommandsQuery>,
) -> Answer<Json<Vec<CommandReport>>> {
    let limit = query.limit.unwrap_or(50).clamp(1, 1_000) as usize;
    let read = workspace.read(move |workspace| {
        Ok(workspace.reader.last_commands(limit)?.iter().map(CommandReport::of).collect())
    });
    read.await.map(Json)
}

/// A command to the running crawl.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CrawlCommand {
    what: CommandWord,
    #[serde(default)]
    parameters: CommandParameters,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum CommandWord {
    Pause,
    Resume,
    Stop,
    Policy,
    Strategy,
    Workers,
    Budget,
    Scope,
    Start,
    Disable,
    Enable,
    Raise,
    Lower,
    Distil,
    Refocus,
}

/// Parameters of a command; each is for the command of the same name, unless it says otherwise.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct CommandParameters {
    /// Name of a policy, or keys such as `numtries asc, relevance desc`.
    policy: Option<String>,
    /// Name of a strategy, with parameters: `shark:delta=0.5`.
    strategy: Option<String>,
    #[schema(minimum = 1, maximum = 4096)]
    workers: Option<u32>,
    /// Of `budget`: the page limit of this run.
    pages: Option<u64>,
    /// Of `scope`: it replaces the current one.
    scope: Option<ScopeBody>,
    /// Of `start`.
    #[serde(default)]
    urls: Vec<String>,
    /// Of `disable` and `enable`, as `sites` shows it.
    host: Option<String>,
    /// Of `raise` and `lower`.
    url: Option<String>,
}

/// Rules that decide which URLs belong to the crawl.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ScopeBody {
    /// Only URLs that match one of these patterns.
    pub(super) include: Vec<String>,
    /// No URLs that match one of these.
    pub(super) exclude: Vec<String>,
    /// Only these domains and their subdomains.
    pub(super) domains: Vec<String>,
    /// Only pages in these languages.
    pub(super) languages: Vec<String>,
    /// Most links from a start URL.
    pub(super) max_depth: Option<u32>,
    /// Most pages of a site.
    pub(super) max_pages_a_site: Option<u64>,
}

impl ScopeBody {
    pub(super) fn check(&self) -> Answer<()> {
        let texts = [&self.include, &self.exclude, &self.domains, &self.languages];
        texts.into_iter().flatten().try_for_each(|text| check_text("a pattern", text))
    }

    /// Adds the rules as options of a command.
    pub(super) fn options(&self, mut call: ProgramCall) -> ProgramCall {
        for (name, values) in [
            ("include", &self.include),
            ("exclude", &self.exclude),
            ("domain", &self.domains),
            ("language", &self.languages),
        ] {
            call = values.iter().fold(call, |call, value| call.option(name, value));
        }
        call.optional("depth", self.max_depth).optional("site-pages", self.max_pages_a_site)
    }
}

/// What became of a command.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct CommandAnswered {
    /// Number of the row in the table `command`; null if no crawl was needed.
    id: Option<u64>,
    failed: bool,
    outcome: String,
    /// The same as a command of the program, where there is one.
    command: Option<String>,
}

/// Command the running crawl
///
/// Requests in flight finish under the old settings. `disable` and `enable` also work without a running crawl.
#[utoipa::path(post, path = "/w/{w}/commands", params(("w" = String, Path,)), request_body = CrawlCommand,
    responses((status = 200, body = CommandAnswered)))]
pub(crate) async fn command(
    State(state): State<Arc<DashboardState>>,
    Named(workspace): Named,
    BodyOf(command): BodyOf<CrawlCommand>,
) -> Answer<Json<CommandAnswered>> {
    let (parameters, shown) = command.row(&workspace)?;
    if !workspace.reader.is_crawled()? {
        let (CommandWord::Disable | CommandWord::Enable) = command.what else {
            return Err(ApiError::conflict("no crawl is running").remedy("start one"));
        };
        let word = command.word();
        let call = workspace.call(&["sites", &word]).hidden("--json").values([&parameters]);
        state.runner.succeed(&call).await?;
        return Ok(Json(CommandAnswered {
            id: None,
            failed: false,
            outcome: format!("{parameters} is {word}d"),
            command: shown,
        }));
    }
    let word = command.word();
    let append = workspace
        .clone()
        .read(move |workspace| Ok(workspace.writer()?.append_command(&word, &parameters, now())?));
    let id = append.await?;
    let row = answer(&workspace, id).await?;
    Ok(Json(match row.answer {
        Some(answer) => {
            CommandAnswered { id: Some(id), failed: answer.failed, outcome: answer.outcome, command: shown }
        }
        None => CommandAnswered {
            id: Some(id),
            failed: true,
            outcome: "the crawl has not answered yet".to_owned(),
            command: shown,
        },
    }))
}

/// Waits for the answer to a command.
async fn answer(workspace: &Arc<ServedWorkspace>, id: u64) -> Answer<CommandRow> {
    const PATIENCE: Duration = Duration::from_secs(10);
    const BETWEEN_LOOKS: Duration = Duration::from_millis(30);
    let began = Instant::now();
    loop {
        let look = workspace.clone().read(move |workspace| {
            // Before the answer is read: a stopping crawl answers before it ends.
            let is_running = workspace.reader.is_crawled()?;
            Ok((is_running, workspace.reader.command(id)?))
        });
        let (is_running, row) = look.await?;
        let Some(row) = row else { return Err(ApiError::internal("the command was lost")) };
        if row.answer.is_some() || !is_running || began.elapsed() > PATIENCE {
            return Ok(row);
        }
        tokio::time::sleep(BETWEEN_LOOKS).await;
    }
}

impl CrawlCommand {
    /// Name in the table.
    fn word(&self) -> String {
        format!("{:?}", self.what).to_lowercase()
    }

    /// The parameters as in the table, and the same as a command of the program.
    fn row(&self, workspace: &ServedWorkspace) -> Answer<(String, Option<String>)> {
        let given = &self.parameters;
        let word = self.word();
        let needed = |name: &str| ApiError::bad(format!("`{word}` needs the parameter `{name}`"));
        let text = |name: &str, value: &Option<String>| -> Answer<String> {
            let value = value.clone().ok_or_else(|| needed(name))?;
            check_text(name, &value)?;
            Ok(value)
        };
        let plain = || workspace.call(&[&word]);
        let set = |value: &str| workspace.call(&["set", &word]).values([value]);
        let shown = |call: ProgramCall| Some(call.shown().to_owned());
        Ok(match self.what {
            CommandWord::Pause | CommandWord::Resume | CommandWord::Stop => (String::new(), shown(plain())),
            CommandWord::Distil | CommandWord::Refocus => (String::new(), None),
            CommandWord::Policy => {
                let policy = text("policy", &given.policy)?;
                (policy.clone(), shown(set(&policy)))
            }
            CommandWord::Strategy => {
                let strategy = text("strategy", &given.strategy)?;
                (strategy.clone(), shown(set(&strategy)))
            }
            CommandWord::Workers => {
                let workers = given.workers.ok_or_else(|| needed("workers"))?.to_string();
                (workers.clone(), shown(set(&workers)))
            }
            CommandWord::Budget => {
                let pages = given.pages.ok_or_else(|| needed("pages"))?.to_string();
                (pages.clone(), shown(set(&pages)))
            }
            CommandWord::Scope => {
                let scope = given.scope.as_ref().ok_or_else(|| needed("scope"))?;
                scope.check()?;
                (json!(scope).to_string(), shown(scope.options(workspace.call(&["set", "scope"]))))
            }
            CommandWord::Start => {
                if given.urls.is_empty() {
                    return Err(needed("urls"));
                }
                let urls = given.urls.iter().map(|url| check_url(url)).collect::<Answer<Vec<_>>>()?;
                (urls.iter().map(porthole_types::CanonicalUrl::as_str).collect::<Vec<_>>().join(" "), None)
            }
            CommandWord::Disable | CommandWord::Enable => {
                let host = text("host", &given.host)?;
                (host.clone(), shown(workspace.call(&["sites", &word]).values([&host])))
            }
            CommandWord::Raise | CommandWord::Lower => {
                (check_url(&text("url", &given.url)?)?.as_str().to_owned(), None)
            }
        })
    }
}
