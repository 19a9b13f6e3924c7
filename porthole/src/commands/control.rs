//! `porthole pause`, `resume`, `stop` and `set`: commands for a running crawl.

use std::path::Path;

use porthole_crawl::{Command, ScopeSettings};

use super::scope_preview;
use crate::cli::{self, Set};
use crate::output::misuse;
use crate::workspace::Workspace;

/// Sends a command to the crawl that runs on the workspace.
pub(crate) fn run(root: &Path, command: &Command) -> anyhow::Result<()> {
    if Workspace::open(root)?.tell_crawl(command)? {
        return Ok(());
    }
    Err(misuse("no crawl is running on this workspace; start one with `porthole crawl`"))
}

/// Changes a setting of the running crawl.
pub(crate) fn set(root: &Path, set: &Set) -> anyhow::Result<()> {
    if let Set::Scope(scope) = set
        && scope.preview
    {
        return scope_preview::run(root, &settings(scope), scope.json);
    }
    let command = match set {
        Set::Policy { policy } => Command::Policy(policy.clone()),
        Set::Strategy { name } => Command::Strategy(name.clone()),
        Set::Workers { workers } => Command::Workers(usize::from(*workers)),
        Set::Budget { pages } => Command::Budget(*pages),
        Set::Scope(scope) => Command::Scope(settings(scope)),
    };
    run(root, &command)
}

fn settings(scope: &cli::SetScope) -> ScopeSettings {
    ScopeSettings {
        include: scope.include.clone(),
        exclude: scope.exclude.clone(),
        domains: scope.domain.clone(),
        languages: scope.language.clone(),
        max_depth: scope.depth,
        max_pages_a_site: scope.site_pages,
    }
}
