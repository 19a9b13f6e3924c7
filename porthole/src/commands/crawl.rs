//! `porthole crawl`: crawls from the examples of the good topics, best URL first.

mod broadening;
mod events;
mod metrics;
mod summary;
mod watch;
mod webhook;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use porthole_crawl::{
    AGENT, AlarmSettings, Crawl, CrawlError, ExternalCritic, Focus, HttpFetch, HttpSettings, Limits,
    LostPages, NotStarted, Observer, Refocus, Refocused, Scope, ScopeSettings, Stop, SystemClock,
    strategy_memory,
};
use porthole_store::{FleetSettings, Policy, Store, StoreReader, TableStore, WorkspaceWriter};
use porthole_strategy::Selection;
use porthole_strategy::apprentice::Lessons;
use porthole_topic::{Critic, RelevanceJudge, Taxonomy};
use porthole_types::CanonicalUrl;
use porthole_webs::RecordedWeb;

use self::broadening::Broadener;
use self::events::Events;
use self::metrics::Board;
use self::summary::{Summary, explain_stagnation};
use self::watch::{EndConditions, EndReason, SharedWatch, Watch};
use crate::cli;
use crate::commands::serve::CrawlDashboard;
use crate::commands::{distill, scope_preview, toward};
use crate::output::{self, Progress, misuse, plain};
use crate::settings::{BroadenWord, RawBacklinks};
use crate::sources;
use crate::training;
use crate::workspace::{self, Workspace};

/// Exit codes of a crawl; 0 means that it finished or reached its fetch limit.
const INTERRUPTED: u8 = 11;
const SIZE_LIMIT: u8 = 14;
const TIME_LIMIT: u8 = 15;
const DISK_FULL: u8 = 16;
const STAGNATED: u8 = 60;

/// Time between two tries to reach a database that is away.
const BETWEEN_TRIES: Duration = Duration::from_millis(500);

/// Default of `--patience`: pages in a row without a good one before the crawl stops as stagnated.
const PATIENCE_PAGES: u64 = 5_000;

pub(crate) async fn run(root: &Path, arguments: &cli::Crawl) -> anyhow::Result<ExitCode> {
    if arguments.preview {
        scope_preview::run(root, &scope_settings(arguments, arguments.domain.clone()), arguments.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    let dashboard = match arguments.serve {
        None => None,
        Some(listen) => {
            Workspace::open(root)?;
            Some(CrawlDashboard::start(root, listen)?)
        }
    };
    let code = crawl(root, arguments).await?;
    if let Some(dashboard) = dashboard {
        dashboard.end(code == INTERRUPTED).await?;
    }
    Ok(code.into())
}

/// Crawls to the end. Returns the exit code.
async fn crawl(root: &Path, arguments: &cli::Crawl) -> anyhow::Result<u8> {
    let ends = EndConditions::listen(arguments.time).context("cannot listen for Ctrl-C")?;
    let workspace = Workspace::open(root)?;
    let (store, aim, starts) = loop {
        match open(&workspace, arguments) {
            Err(error) if workspace.can_be_shared() && is_coming_or_going(&error) => {
                output::say(&format!("{}; waiting for the database", output::in_words(&error)));
                if !wait_for_database(&workspace, &ends).await? {
                    return Ok(INTERRUPTED);
                }
            }
            opened => break opened?,
        }
    };
    if starts.is_empty() && store.counts().known == 0 {
        return Err(misuse(
            "no start URL: no good topic has an example with a URL; add one with `porthole examples add TOPIC URL`, or \
             crawl with `--start URL`",
        ));
    }
    let watch = watch(&workspace, arguments, ends, aim.tree.clone()).await?;
    if workspace.settings.crawl.broaden == BroadenWord::Yes {
        Broadener::start(Workspace::open(root)?, watch.clone()).context("cannot start a thread")?;
    }
    let mut next = (store, aim);
    loop {
        let (store, aim) = next;
        let ended = crawl_once(&workspace, arguments, &watch, store, aim, &starts).await;
        match ended {
            Err(error) if workspace.can_be_shared() && is_connection_lost(&error) => {
                output::say(&format!("{}; waiting for the database", output::in_words(&error)));
            }
            ended => {
                if ended.is_err() {
                    watch.lock().finish("failed");
                }
                return ended;
            }
        }
        next = match reopen(&workspace, arguments, &watch).await? {
            Some(next) => next,
            None => return Ok(INTERRUPTED),
        };
        output::say("the database is there again: the crawl goes on");
    }
}

/// Opens the database, and reads what the crawl looks for and where it starts.
fn open(
    workspace: &Workspace,
    arguments: &cli::Crawl,
) -> anyhow::Result<(TableStore, CurrentFocus, Vec<CanonicalUrl>)> {
    let reader = workspace.reader()?;
    let aim = CurrentFocus::now(&reader, arguments, &arguments.strategy)?;
    let starts = starts(&reader, &aim.tree, &arguments.start)?;
    drop(reader);
    Ok((open_store(workspace, arguments, &aim.focus, false)?, aim, starts))
}

/// Crawls until the crawl ends, or the database is lost. Returns the exit code.
async fn crawl_once(
    workspace: &Workspace,
    arguments: &cli::Crawl,
    watch: &SharedWatch,
    mut store: TableStore,
    aim: CurrentFocus,
    starts: &[CanonicalUrl],
) -> anyhow::Result<u8> {
    set_policy(&mut store, arguments)?;
    let reader = store.reader();
    let (name, workers) = (aim.name, workers(arguments));
    // Workers share the limit of pages, so that what was fetched before is known.
    let fetched = if store.worker().is_some() { 0 } else { watch.lock().fetched };
    let crawl = match prepare(workspace, arguments, Box::new(store), aim.focus) {
        Err(error) if error.downcast_ref().is_some_and(CrawlError::is_disk_full) => {
            output::print(summary::DISK_IS_FULL);
            return Ok(DISK_FULL);
        }
        crawl => crawl?,
    };
    // Errors from here on may be caused by a full disk; `ending` tells them apart.
    let (mut crawl, stop) = match begin(crawl, &name, starts) {
        Err(not_started) => (not_started.crawl, Err(not_started.error)),
        // The workspace may have reached its size before the first fetch.
        Ok(crawl) if watch.clone().waiting().is_break() => (crawl, Ok(Stop::Asked)),
        Ok(crawl) => {
            let limits = Limits {
                pages: arguments.pages.map_or(u64::MAX, |pages| pages.saturating_sub(fetched)),
                bytes: arguments.bytes.map_or(u64::MAX, |bytes| bytes.saturating_sub(watch.lock().bytes)),
                workers,
                idle: arguments.idle.unwrap_or(workspace.settings.crawl.idle).into(),
                wanted_pages: arguments.pages,
                wanted_time: arguments.time,
                ..Limits::default()
            };
            let refocus = Refocuser { arguments: arguments.clone(), watch: watch.clone() };
            match crawl.spawn(limits, Box::new(watch.clone()), Box::new(refocus)) {
                Err(not_started) => (not_started.crawl, Err(not_started.error)),
                Ok(handle) => tokio::task::spawn_blocking(|| handle.join()).await?,
            }
        }
    };
    say_unreadable(crawl.lost_pages());
    let mut watch = watch.lock();
    let (ending, code) = ending(stop, arguments, watch.ended)?;
    let store = crawl.store();
    if code != DISK_FULL {
        let seed = arguments.seed.to_string();
        store.set_settings(&[(LAST_STOP, ending), (STRATEGY, &watch.strategy), (SEED, &seed)])?;
        store.tidy()?;
    }
    let (counts, is_last) = (store.counts(), !store.has_others());
    if code != DISK_FULL && is_last && computes_hubs(workspace, arguments) {
        distill::after_crawl(workspace, counts.links)?;
    }
    watch.finish(ending);
    let summary = Summary::new(&watch, ending, counts, reader.progress()?.relevant);
    if arguments.json {
        output::print_json(&summary)?;
    } else if arguments.events.as_deref() == Some(Path::new("-")) {
        // Standard output has only events; the last one has the numbers.
        output::say(summary.in_words());
    } else {
        summary.print();
        if code == STAGNATED {
            let may_propose = workspace.settings.crawl.broaden != BroadenWord::No;
            explain_stagnation(&*reader, watch.tree(), watch.strategy == "hard", may_propose)?;
        }
    }
    Ok(code)
}

/// Opens the database: as one of several workers where that is possible, otherwise for this crawl alone. Strategies that
/// choose URLs by themselves, and maintenance, need the whole frontier. `comes_back` is true if the crawl goes on.
fn open_store(
    workspace: &Workspace,
    arguments: &cli::Crawl,
    focus: &Focus,
    comes_back: bool,
) -> anyhow::Result<TableStore> {
    let is_best = focus.strategy.discipline().selection == Selection::Best;
    if !workspace.can_be_shared() || !is_best || arguments.maintain.is_some() {
        return workspace.store();
    }
    let is_polite = arguments.web.is_empty() && arguments.polite;
    let (longest, pause) = match is_polite {
        true => (
            http_settings(workspace, arguments)?.longest_request(),
            workspace.settings.polite.ready()?.max_delay,
        ),
        false => (Duration::ZERO, Duration::ZERO),
    };
    let fleet = &workspace.settings.fleet;
    let settings = fleet.ready(workspace.worker()?, &workspace.worker_name(), longest, pause)?;
    workspace.shared_store(&FleetSettings { comes_back, ..settings })
}

/// Whether a crawl ended because the database could not be reached, or because the worker was not heard of for too long.
fn is_connection_lost(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref().is_some_and(CrawlError::is_connection_lost)
            || cause.downcast_ref().is_some_and(porthole_store::Error::is_connection_lost)
    })
}

/// Waits until the database can be used again. `None` if the crawl is to end.
async fn reopen(
    workspace: &Workspace,
    arguments: &cli::Crawl,
    watch: &SharedWatch,
) -> anyhow::Result<Option<(TableStore, CurrentFocus)>> {
    loop {
        tokio::time::sleep(BETWEEN_TRIES).await;
        if watch.clone().waiting().is_break() {
            return Ok(None);
        }
        let strategy = watch.lock().strategy.clone();
        let opened = workspace.reader().and_then(|reader| {
            let aim = CurrentFocus::now(&reader, arguments, &strategy)?;
            Ok((open_store(workspace, arguments, &aim.focus, true)?, aim))
        });
        match opened {
            Ok(opened) => return Ok(Some(opened)),
            // Its own session may still be there for a while.
            Err(error) if is_connection_lost(&error) || is_in_use(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Whether the server is there, but is being stopped or started. A server that is not there at all at the beginning is
/// rather a wrong address than one to wait for.
fn is_coming_or_going(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.downcast_ref().is_some_and(porthole_store::Error::is_restarting))
}

/// Waits until the database can be reached. Returns false if the crawl is to end instead.
async fn wait_for_database(workspace: &Workspace, ends: &EndConditions) -> anyhow::Result<bool> {
    loop {
        tokio::time::sleep(BETWEEN_TRIES).await;
        if ends.is_over() {
            return Ok(false);
        }
        match workspace.reader() {
            Ok(_) => return Ok(true),
            Err(error) if is_connection_lost(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

fn is_in_use(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(porthole_store::Error::InUse(_)))
}

/// Sets the order of the queue. That of a maintained crawl, unless it was asked for, is for this crawl only: the next one
/// without maintenance has the former order.
fn set_policy(store: &mut TableStore, arguments: &cli::Crawl) -> anyhow::Result<()> {
    let is_upkeep = store.policy().name() == Some("upkeep");
    match &arguments.policy {
        Some(policy) => {
            store.set_setting(FORMER_POLICY, "")?;
            store.set_policy(policy)?;
        }
        None if arguments.maintain.is_some() && !is_upkeep => {
            let former = store.policy().to_string();
            store.set_setting(FORMER_POLICY, &former)?;
            store.set_policy(&Policy::parse("upkeep")?)?;
        }
        None if arguments.maintain.is_none() && is_upkeep => {
            if let Some(former) = store.setting(FORMER_POLICY)?.filter(|former| !former.is_empty()) {
                store.set_policy(&Policy::parse(&former)?)?;
            }
        }
        None => {}
    }
    Ok(())
}

/// Builds the crawl from the workspace's settings and the arguments.
fn prepare(
    workspace: &Workspace,
    arguments: &cli::Crawl,
    store: Box<dyn Store>,
    focus: Focus,
) -> anyhow::Result<Crawl<'static>> {
    if arguments.maintain.is_some() && focus.strategy.discipline().selection == Selection::Own {
        let why = "chooses its pages itself and visits none again; use another --strategy with --maintain";
        return Err(misuse(format!("{} {why}", focus.strategy.name())));
    }
    let mut crawl = visit(workspace, arguments, store)?.focused(focus).truncating(arguments.truncate);
    if computes_hubs(workspace, arguments) {
        crawl = crawl.distilling(workspace.settings.distill.ready()?)?;
    }
    if let Some(settings) = workspace.settings.alarms.ready()? {
        let settings = AlarmSettings { watches_relevance: is_focused(arguments), ..settings };
        crawl = crawl.watched(settings, workspace.disk_space());
    }
    if let Some(word) = arguments.maintain {
        crawl = crawl.maintaining(workspace.settings.maintain.ready(word.into())?);
    }
    let backlinks =
        workspace.settings.backlinks.as_ref().filter(|_| arguments.web.is_empty() || arguments.backlinks);
    if let Some(settings) = backlinks.map(RawBacklinks::ready).transpose()? {
        crawl = crawl.asking_backlinks(settings)?;
    }
    if let Some(keep) = arguments.archive.keep() {
        let compression = workspace.settings.archive.compression()?;
        crawl = crawl
            .archived_as(&workspace.pages(), keep, compression)?
            .describing_archive(about_crawl(workspace, arguments));
        // A replay sends nothing.
        if arguments.web.is_empty() && workspace.settings.archive.requests.unwrap_or(true) {
            crawl = crawl.recording_requests(http_settings(workspace, arguments)?.request_headers());
        }
        say_lost(crawl.lost_pages());
    }
    Ok(crawl)
}

fn computes_hubs(workspace: &Workspace, arguments: &cli::Crawl) -> bool {
    !arguments.no_hubs && (arguments.hubs || workspace.settings.distill.during_crawl.unwrap_or(true))
}

/// What the archive says of a crawl: who crawls, and whether robots.txt is obeyed.
fn about_crawl(workspace: &Workspace, arguments: &cli::Crawl) -> Vec<(&'static str, String)> {
    let mut about = Vec::new();
    if arguments.web.is_empty() {
        about.extend(workspace.settings.fetch.contact.clone().map(|contact| ("operator", contact)));
        about.push(("robots", if arguments.polite { "obey" } else { "ignore" }.to_owned()));
    } else {
        about.push(("description", "replay of a recorded web".to_owned()));
    }
    about
}

/// Rescores the archived pages if critic, topics or strategy have changed, and adds the start URLs.
fn begin(
    mut crawl: Crawl<'static>,
    critic: &str,
    starts: &[CanonicalUrl],
) -> Result<Crawl<'static>, Box<NotStarted>> {
    let mut progress = None;
    let step = |_| {
        let progress = progress.get_or_insert_with(|| Progress::new("rescoring", 0));
        progress.step(String::new);
    };
    let judged = crawl.rejudge_if_changed(critic, step);
    if let Some(progress) = progress {
        progress.finish();
    }
    let started = judged.and_then(|pages| crawl.start(starts).map(|_| pages));
    // Replaced at the end; a crawl that is killed cannot do that.
    let started = started.and_then(|pages| {
        crawl.store().set_setting(LAST_STOP, ABORTED)?;
        Ok(pages)
    });
    match started {
        Err(error) => Err(Box::new(NotStarted { crawl, error })),
        Ok(pages) => {
            if pages > 0 {
                let pages = output::count(usize::try_from(pages).unwrap_or(usize::MAX), "page");
                output::say(&format!("topics, critic or strategy have changed: {pages} rescored"));
            }
            Ok(crawl)
        }
    }
}

/// Rebuilds critic and strategy when topics, marks, the critic or the strategy change during the crawl.
struct Refocuser {
    arguments: cli::Crawl,
    watch: SharedWatch,
}

impl Refocus for Refocuser {
    fn focus(&mut self, reader: &dyn StoreReader, strategy: Option<&str>) -> Result<Refocused, String> {
        let mut watch = self.watch.lock();
        let strategy = strategy.unwrap_or(&watch.strategy).to_owned();
        let aim = CurrentFocus::now(reader, &self.arguments, &strategy)
            .map_err(|error| output::in_words(&error))?;
        watch.follow(aim.tree, strategy);
        Ok(Refocused { focus: aim.focus, critic: aim.name })
    }
}

fn say_lost(lost: LostPages) {
    if lost.queued_again > 0 {
        let pages = output::count(usize::try_from(lost.queued_again).unwrap_or(usize::MAX), "page");
        output::say(&format!("{pages} missing or damaged in the archive; they will be fetched again"));
    }
}

fn say_unreadable(lost: LostPages) {
    if lost.unreadable > 0 {
        let pages = output::count(usize::try_from(lost.unreadable).unwrap_or(usize::MAX), "archived page");
        output::say(&format!("{pages} could not be read and were skipped"));
    }
}

/// Setting: why the last run ended.
pub(crate) const LAST_STOP: &str = "crawl.last_stop";

/// Value of [`LAST_STOP`] while a crawl runs, and after one that was killed or has failed.
pub(crate) const ABORTED: &str = "aborted";

/// Setting: the policy before the crawl was maintained; empty if it was set since.
const FORMER_POLICY: &str = "upkeep.former_policy";

/// Settings: strategy and random seed of the last run.
pub(crate) const STRATEGY: &str = "crawl.strategy";
pub(crate) const SEED: &str = "crawl.seed";

/// Critic and strategy according to the current state of the workspace.
struct CurrentFocus {
    focus: Focus,
    tree: Taxonomy,
    /// Identifies the combination of critic, marks and strategy; archived pages are rescored when it changes.
    name: String,
}

impl CurrentFocus {
    fn now(reader: &dyn StoreReader, arguments: &cli::Crawl, strategy: &str) -> anyhow::Result<CurrentFocus> {
        let tree = workspace::tree(reader)?;
        if tree.good().next().is_none() {
            return Err(misuse("no topic is marked good: mark one with `porthole topics mark PATH`"));
        }
        let wide = toward::wider(reader, &tree)?;
        let (judge, critic, name) = judge(reader, &tree, wide.as_ref(), arguments.judge.as_deref())?;
        let followed = wide.as_ref().unwrap_or(&tree);
        let mut aim = porthole_strategy::CrawlGoal::new(followed, critic, arguments.seed);
        aim.lessons = arguments.lessons.as_deref().map(|folder| lessons(folder, strategy)).transpose()?;
        let strategy =
            porthole_strategy::named(strategy, &aim).map_err(|unknown| misuse(unknown.to_string()))?;
        let paths = |tree: &Taxonomy| tree.good().map(|good| tree.path(good)).collect::<Vec<_>>().join(" ");
        let toward = wide.as_ref().map_or_else(String::new, |wide| format!(" toward {}", paths(wide)));
        let name = format!("{name}: {}{toward}; {}", paths(&tree), strategy.name());
        Ok(CurrentFocus { focus: Focus { judge, strategy, marks: followed.marks() }, name, tree })
    }
}

/// The training data of the apprentice that crawled in another workspace.
fn lessons(folder: &Path, strategy: &str) -> anyhow::Result<Lessons> {
    if !strategy.starts_with("apprentice") {
        return Err(misuse(format!("--lessons requires --strategy apprentice, not {strategy}")));
    }
    let none = || {
        misuse(format!(
            "{}: no apprentice was trained in this workspace; `porthole crawl --strategy apprentice:train=0` \
            trains one during a soft-focus crawl",
            folder.display()
        ))
    };
    let memory = strategy_memory(&Workspace::open(folder)?.reader()?)?;
    let (_, memory) = memory.filter(|(name, _)| name.starts_with("apprentice")).ok_or_else(none)?;
    Lessons::of_memory(&memory)?.ok_or_else(none)
}

/// Whether the crawl looks for good pages. Pages that are visited again say nothing of whether there are more.
fn is_focused(arguments: &cli::Crawl) -> bool {
    !matches!(arguments.strategy.as_str(), "unfocused" | "breadth") && arguments.maintain.is_none()
}

async fn watch(
    workspace: &Workspace,
    arguments: &cli::Crawl,
    ends: EndConditions,
    tree: Taxonomy,
) -> anyhow::Result<SharedWatch> {
    let patience =
        arguments.patience.or(is_focused(arguments).then_some(PATIENCE_PAGES)).filter(|&pages| pages > 0);
    let ends = ends.at_size(arguments.disk, workspace.sizes()).when_stagnant(patience);
    let mut events = Vec::new();
    events.extend(arguments.events.as_deref().map(Events::open).transpose()?);
    let webhook = workspace.settings.events.ready(&workspace.settings.fetch)?;
    events.extend(webhook.as_ref().map(Events::posted).transpose()?);
    let board = match arguments.metrics {
        Some(address) => {
            let board = Board::default();
            metrics::serve(address, board.clone()).await?;
            Some(board)
        }
        None => None,
    };
    Ok(SharedWatch::new(Watch::new(tree, &arguments.strategy, arguments.pages, ends, events, board)))
}

/// Default number of concurrent fetches on the open web.
const WORKERS: u16 = 64;

fn workers(arguments: &cli::Crawl) -> usize {
    arguments.workers.unwrap_or(if arguments.web.is_empty() { WORKERS } else { 1 }).into()
}

fn scope_settings(arguments: &cli::Crawl, domains: Vec<String>) -> ScopeSettings {
    ScopeSettings {
        include: arguments.include.clone(),
        exclude: arguments.exclude.clone(),
        domains,
        languages: arguments.language.clone(),
        max_depth: arguments.depth,
        max_pages_a_site: arguments.site_pages,
    }
}

/// Opens the web that the arguments name, with its scope and politeness rules.
fn visit(
    workspace: &Workspace,
    arguments: &cli::Crawl,
    store: Box<dyn Store>,
) -> anyhow::Result<Crawl<'static>> {
    let is_impolite = !arguments.polite && arguments.web.is_empty();
    let mut domains = arguments.domain.clone();
    if is_impolite && workspace.settings.fetch.proxy.is_some() {
        confine(&mut domains)?;
    }
    let scope = Scope::new(&scope_settings(arguments, domains));
    let scope = scope.map_err(|error| misuse(error.to_string()))?;
    let scope = scope.with_page_rules(workspace.settings.pages.rules());
    if !arguments.web.is_empty() {
        return Ok(Crawl::new(RecordedWeb::open(&arguments.web)?, store, SystemClock)?.within(scope));
    }
    let settings = http_settings(workspace, arguments)?;
    if let Some(warning) = workspace.settings.fetch.unused_proxy(arguments.polite) {
        output::say(&warning);
    }
    let mut web = HttpFetch::new(settings).map_err(|error| misuse(error.to_string()))?;
    if let Some(lease) = store.lease() {
        web = web.asking_first(move || lease.is_fresh());
    }
    let crawl = Crawl::new(web, store, SystemClock)?.within(scope);
    Ok(match arguments.polite {
        true => crawl.polite(workspace.settings.polite.ready()?, AGENT),
        false => crawl.avoiding_traps(),
    })
}

fn http_settings(workspace: &Workspace, arguments: &cli::Crawl) -> anyhow::Result<HttpSettings> {
    let fetch = &workspace.settings.fetch;
    if arguments.polite { fetch.ready() } else { fetch.ready_for_loopback() }
}

/// Top-level domains that never exist on the open web (RFC 2606).
const RESERVED: [&str; 4] = ["test", "localhost", "example", "invalid"];

/// Restricts a crawl through a proxy to reserved names: the proxy may lead to other machines, which a crawl without
/// politeness must not reach.
fn confine(domains: &mut Vec<String>) -> anyhow::Result<()> {
    if domains.is_empty() {
        domains.extend(RESERVED.map(str::to_owned));
    }
    let is_reserved = |domain: &String| RESERVED.contains(&domain.rsplit('.').next().unwrap_or_default());
    match domains.iter().find(|domain| !is_reserved(domain)) {
        None => Ok(()),
        Some(domain) => Err(misuse(format!(
            "--domain {domain}: `--polite off` with a proxy fetches only reserved names, below {}",
            RESERVED.join(", ")
        ))),
    }
}

/// Timeout of one judgment by an external program.
const PATIENCE: Duration = Duration::from_secs(30);

/// The judge (the trained critic or an external program), the critic if there is one, and a name that identifies it.
fn judge(
    reader: &dyn StoreReader,
    tree: &Taxonomy,
    wide: Option<&Taxonomy>,
    program: Option<&str>,
) -> anyhow::Result<(Box<dyn RelevanceJudge>, Option<Critic>, String)> {
    match program {
        None => {
            let critic = workspace::critic(reader)?.0;
            training::refuse_untrained(reader, tree, critic.model())?;
            let (mut judge, mut link_critic) = (critic.clone(), critic);
            if let Some(wide) = wide {
                judge = judge.toward(wide.marks());
                link_critic.update_marks(wide);
            }
            let made = reader.model(workspace::CRITIC)?.map_or(0, |model| model.made.0);
            Ok((Box::new(judge), Some(link_critic), format!("trained {made}")))
        }
        Some(program) => {
            if wide.is_some() {
                output::say(
                    "warning: --judge ignores `topics toward`: only links toward the good topics are followed",
                );
            }
            let command = ["sh", "-c", program].map(str::to_owned);
            let critic = ExternalCritic::start(&command, tree.clone(), PATIENCE)?;
            Ok((Box::new(critic), None, program.to_owned()))
        }
    }
}

/// Start URLs: the arguments and the examples of the good topics (V 1.1).
fn starts(reader: &dyn StoreReader, tree: &Taxonomy, more: &[String]) -> anyhow::Result<Vec<CanonicalUrl>> {
    let mut starts = Vec::new();
    for text in more {
        if !text.contains("://") && Path::new(text).is_file() {
            starts.extend(sources::start_urls(Path::new(text))?);
            continue;
        }
        if !text.contains("://") {
            return Err(misuse(format!(
                "--start {}: no such file; a URL begins with https:// or http://",
                plain(text)
            )));
        }
        starts.push(sources::parse_url(text)?);
    }
    for topic in tree.good().flat_map(|good| tree.below(good)) {
        let examples = reader.examples(Some(topic))?;
        starts.extend(examples.iter().filter_map(|example| CanonicalUrl::parse(&example.url).ok()));
    }
    Ok(starts)
}

/// Why the crawl ended, as one word, and the exit code.
fn ending(
    stop: Result<Stop, CrawlError>,
    arguments: &cli::Crawl,
    ended: Option<EndReason>,
) -> anyhow::Result<(&'static str, u8)> {
    let stop = match stop {
        Ok(stop) => stop,
        Err(error) if error.is_disk_full() => {
            output::say(&format!("error: {error}"));
            return Ok(("disk full", DISK_FULL));
        }
        Err(error) => return Err(error.into()),
    };
    Ok(match (stop, ended) {
        (Stop::Asked, None | Some(EndReason::Interrupted)) => ("interrupted", INTERRUPTED),
        (Stop::Asked, Some(EndReason::Time)) => ("time", TIME_LIMIT),
        (Stop::Asked, Some(EndReason::Disk)) => ("disk", SIZE_LIMIT),
        (Stop::Asked, Some(EndReason::Stagnated)) => ("stagnated", STAGNATED),
        (Stop::Limit, _) => ("limit", 0),
        (Stop::Bytes, _) => ("size", SIZE_LIMIT),
        (Stop::Exhausted, _) if arguments.strategy == "hard" => ("stagnated", STAGNATED),
        (Stop::Exhausted, _) => ("exhausted", 0),
        (Stop::Waiting(_), _) => ("waiting", 0),
    })
}
