//! `porthole distill`: hub and authority scores of the known link graph (W 3.2, V 2.2).

use std::path::Path;
use std::time::Instant;

use porthole_crawl::{DISTILLED_BY, Engine, SiteBy, Snapshot, neighbourhoods};
use porthole_store::{DistilledScores, SqlScores, SqliteReader, WorkspaceWriter};
use porthole_types::UrlId;
use serde::Serialize;

use crate::cli::{self, EngineWord};
use crate::output::{self, count};
use crate::workspace::Workspace;

pub(crate) fn run(root: &Path, arguments: &cli::Distill) -> anyhow::Result<()> {
    let workspace = Workspace::open(root)?;
    let reader = workspace.reader()?;
    let start = Instant::now();
    let by = arguments.site.unwrap_or(workspace.settings.distill.site).by();
    let snapshot = Snapshot::read_by(&reader, by)?;
    let read_seconds = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let rho = match arguments.rho {
        Some(rho) => rho,
        None => workspace.settings.distill.ready()?.rho,
    };
    let found = find(&snapshot, &reader, arguments.engine, rho)?;
    let seconds = start.elapsed().as_secs_f64();
    let neighbourhoods = store_scores(&workspace, &reader, &snapshot, &found, by)?;
    let facts = DistillFigures {
        pages: (0..snapshot.graph().pages() as u32).filter(|page| snapshot.graph().fetched(*page)).count(),
        urls: snapshot.graph().pages(),
        links: snapshot.graph().links(),
        hubs: found.hubs.len(),
        authorities: found.auth.len(),
        neighbourhoods,
        iterations: found.iterations,
        converged: found.converged,
        read_seconds,
        seconds,
    };
    if arguments.json {
        return output::print_json(&facts);
    }
    facts.print();
    Ok(())
}

/// Distils the graph of a small crawl when it ends, so that its hubs and authorities can be listed at once. The graph
/// of a large crawl has been distilled during the crawl.
pub(crate) fn after_crawl(workspace: &Workspace, links: usize) -> anyhow::Result<()> {
    if links > MAX_LINKS_AFTER_CRAWL {
        return Ok(());
    }
    let (reader, settings) = (workspace.reader()?, workspace.settings.distill.ready()?);
    let snapshot = Snapshot::read_by(&reader, settings.site)?;
    let found = find(&snapshot, &reader, EngineWord::Native, settings.rho)?;
    store_scores(workspace, &reader, &snapshot, &found, settings.site)?;
    Ok(())
}

/// A graph of this size is distilled in a fraction of a second.
const MAX_LINKS_AFTER_CRAWL: usize = 200_000;

/// Stores scores, and the evidence of the neighbours of pages. Returns the number of pages with changed neighbours.
fn store_scores(
    workspace: &Workspace,
    reader: &SqliteReader,
    snapshot: &Snapshot,
    found: &ComputedScores,
    by: SiteBy,
) -> anyhow::Result<usize> {
    let neighbourhoods = neighbourhoods(snapshot, reader)?;
    let scores = DistilledScores { hubs: &found.hubs, auth: &found.auth, neighbourhoods: &neighbourhoods };
    let mut writer = workspace.writer()?;
    writer.set_scores(&scores)?;
    writer.set_setting(DISTILLED_BY, by.name())?;
    Ok(neighbourhoods.len())
}

/// Scores in the form that the store takes.
struct ComputedScores {
    hubs: Vec<(UrlId, f64)>,
    auth: Vec<(UrlId, f64)>,
    iterations: usize,
    converged: bool,
}

fn find(
    snapshot: &Snapshot,
    reader: &SqliteReader,
    engine: EngineWord,
    rho: f64,
) -> anyhow::Result<ComputedScores> {
    let engine = match engine {
        EngineWord::Native => Engine::Native,
        EngineWord::Walk => Engine::Walk,
        EngineWord::Sql => {
            let SqlScores { hubs, authorities: auth, iterations, converged, .. } =
                snapshot.scores_by_sql(reader, rho)?;
            return Ok(ComputedScores { hubs, auth, iterations, converged });
        }
    };
    let scores = snapshot.scores(rho, engine)?;
    let (hubs, auth) = (snapshot.stored(&scores.hubs), snapshot.stored(&scores.authorities));
    Ok(ComputedScores { hubs, auth, iterations: scores.iterations, converged: scores.converged })
}

/// Figures of a distillation.
#[derive(Serialize)]
struct DistillFigures {
    /// Fetched pages.
    pages: usize,
    /// All URLs, including those known only from links.
    urls: usize,
    /// Distinct links.
    links: usize,
    /// Pages with a hub score.
    hubs: usize,
    /// Pages with an authority score.
    authorities: usize,
    /// Pages whose relevance by their neighbours has changed since the last distillation.
    neighbourhoods: usize,
    iterations: usize,
    /// Whether the scores had settled by the last iteration.
    converged: bool,
    /// Time to read the graph from the database.
    read_seconds: f64,
    /// Time to compute the scores.
    seconds: f64,
}

impl DistillFigures {
    fn print(&self) {
        output::print(&format!(
            "read {} ({} known) and {} in {:.2} s",
            count(self.pages, "page"),
            count(self.urls, "URL"),
            count(self.links, "link"),
            self.read_seconds
        ));
        let authorities = match self.authorities {
            1 => "1 authority".to_owned(),
            many => format!("{} authorities", output::grouped(&many.to_string())),
        };
        output::print(&format!(
            "computed {} and {authorities} in {}, {:.2} s",
            count(self.hubs, "hub"),
            count(self.iterations, "iteration"),
            self.seconds
        ));
        for line in self.remarks() {
            output::say(line);
        }
    }

    fn remarks(&self) -> Vec<&'static str> {
        let mut remarks = Vec::new();
        if !self.converged {
            remarks.push("warning: the scores have not converged; they are estimates");
        }
        if self.hubs == 0 {
            remarks.push(
                "no relevant page links to a relevant page of another site yet; `porthole status` shows the state of \
                the crawl",
            );
        }
        remarks.push(
            "list them with `porthole top hubs` and `porthole top authorities`; `--why` shows the links",
        );
        remarks
    }
}
