//! `porthole export`: a crawl as files for other programs.

#[cfg(feature = "parquet")]
mod tables;
mod taxonomy;

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use porthole_crawl::SystemClock;
use porthole_export::{
    CdxPages, CsvPages, CsvSkipped, DocumentFormat, DocumentPages, ExportOutput, ExportPages, ExportSkipped,
    ExportSource, Exported, ExportedGraph, GraphFormat, JsonPages, JsonSkipped, RowWriter, WaczDescription,
    WarcDescription, WarcPages, export, export_graph, export_wacz,
};
use porthole_store::{PageFilter, SkippedUrl, SqliteReader, StoreReader, StoredPage};
use porthole_topic::Taxonomy;
use porthole_types::Clock;
use serde::Serialize;

use crate::cli::{
    self, ExportDocuments, ExportGraph, ExportSkippedUrls, ExportTo, ExportWacz, ExportWarc, PageSelection,
};
use crate::commands::units::moment;
use crate::output::{self, Progress, count, misuse};
use crate::terminal;
use crate::workspace::{self, Workspace};

pub(crate) fn run(root: &Path, arguments: &cli::Export) -> anyhow::Result<()> {
    let workspace = Workspace::open(root)?;
    let reader = workspace.reader()?;
    let tree = workspace::tree(&reader)?;
    let job = ExportJob { workspace: &workspace, reader: &reader, tree: &tree };
    match arguments {
        cli::Export::Jsonl(rows) => {
            job.pages(&rows.selection, &mut JsonPages::new(&tree, &workspace.pages()), &rows.to)
        }
        cli::Export::Csv(rows) => {
            job.pages(&rows.selection, &mut CsvPages::new(&tree, &workspace.pages()), &rows.to)
        }
        cli::Export::Warc(arguments) => job.warc(arguments),
        cli::Export::Cdxj(rows) => job.cdxj(&rows.selection, &rows.to),
        cli::Export::Wacz(arguments) => job.wacz(arguments),
        #[cfg(feature = "parquet")]
        cli::Export::Parquet(arguments) => job.parquet(arguments),
        #[cfg(feature = "parquet")]
        cli::Export::Tables(arguments) => tables::run(&workspace, &reader, arguments),
        cli::Export::Markdown(arguments) => job.documents(arguments, DocumentFormat::Markdown),
        cli::Export::Text(arguments) => job.documents(arguments, DocumentFormat::Text),
        cli::Export::Graph(arguments) => job.graph(arguments),
        cli::Export::Skipped(arguments) => job.skipped(arguments),
        cli::Export::Taxonomy(arguments) => taxonomy::run(&reader, &tree, arguments),
    }
}

/// Size of WARC files, unless the user says otherwise.
const WARC_BYTES: u64 = 1_000_000_000;

/// Size of a Parquet file unless told otherwise.
#[cfg(feature = "parquet")]
const PARQUET_BYTES: u64 = 256_000_000;

const SOFTWARE: &str = concat!("porthole/", env!("CARGO_PKG_VERSION"));

/// What every export needs.
struct ExportJob<'a> {
    workspace: &'a Workspace,
    reader: &'a SqliteReader,
    tree: &'a Taxonomy,
}

/// The result, for `--json`.
#[derive(Serialize)]
struct ExportSummary<'a> {
    format: &'a str,
    output: Option<&'a Path>,
    rows: u64,
    /// Rows that could not be exported.
    left_out: u64,
    /// Rows that an earlier, interrupted run had written.
    resumed: u64,
}

/// The result of a graph, for `--json`.
#[derive(Serialize)]
struct GraphSummary {
    format: &'static str,
    pages: u64,
    links: u64,
}

impl GraphSummary {
    fn of(format: &'static str, made: ExportedGraph) -> GraphSummary {
        GraphSummary { format, pages: made.pages, links: made.links }
    }
}

/// A file, or standard output for text.
fn text_output(to: &ExportTo) -> ExportOutput {
    match &to.output {
        Some(path) => ExportOutput::file(path),
        None => ExportOutput::stream(TextStdout::default()),
    }
}

/// Whether the output is a file with this ending, which then says the format.
fn is_named(to: &ExportTo, ending: &str) -> bool {
    let extension = to.output.as_ref().and_then(|path| path.extension());
    extension.is_some_and(|extension| extension.eq_ignore_ascii_case(ending))
}

/// One file if the name has this ending, otherwise a folder of files of this size.
fn file_or_folder(
    path: &Path,
    ending: &str,
    size: Option<u64>,
    default: u64,
) -> anyhow::Result<ExportOutput> {
    let name = path.to_string_lossy().to_ascii_lowercase();
    if !name.ends_with(&format!(".{ending}")) {
        return Ok(ExportOutput::folder(path, ending, size.unwrap_or(default)));
    }
    match size {
        None => Ok(ExportOutput::file(path)),
        Some(_) => Err(misuse(format!(
            "--size needs a folder for several files, and {} is one file",
            path.display()
        ))),
    }
}

impl ExportJob<'_> {
    /// Exports the selected pages, each as a row of text.
    fn pages(
        &self,
        selection: &PageSelection,
        writer: &mut dyn RowWriter<StoredPage>,
        to: &ExportTo,
    ) -> anyhow::Result<()> {
        let source = self.source(selection)?;
        self.write(&source, writer, text_output(to), selection.limit, to)
    }

    fn warc(&self, arguments: &ExportWarc) -> anyhow::Result<()> {
        let output = match &arguments.output {
            None if io::stdout().is_terminal() => {
                return Err(misuse("WARC is not for terminals: write it with `-o DIR`, or to a pipe"));
            }
            None => ExportOutput::stream(io::stdout()),
            Some(path) => file_or_folder(path, "warc.gz", arguments.size, WARC_BYTES)?,
        };
        let to = ExportTo { output: arguments.output.clone(), json: arguments.json };
        let source = self.records(&arguments.selection)?;
        self.write(
            &source,
            &mut self.warc_writer(&arguments.selection),
            output,
            arguments.selection.limit,
            &to,
        )
    }

    fn cdxj(&self, selection: &PageSelection, to: &ExportTo) -> anyhow::Result<()> {
        let output = text_output(to);
        let mut writer = CdxPages::new(&self.workspace.pages());
        self.write(&self.records(selection)?, &mut writer, output, selection.limit, to)
    }

    fn wacz(&self, arguments: &ExportWacz) -> anyhow::Result<()> {
        let good: Vec<String> = self.tree.good().map(|good| self.tree.path(good)).collect();
        let about = WaczDescription {
            title: arguments.title.clone().unwrap_or_else(|| good.join(", ")),
            description: in_words(&arguments.selection),
            software: SOFTWARE.to_owned(),
            made: SystemClock.now(),
        };
        let source = self.records(&arguments.selection)?;
        let mut writer = self.warc_writer(&arguments.selection);
        let sizes = (arguments.size, arguments.selection.limit);
        let exported =
            with_progress(|show| export_wacz(&source, &mut writer, &arguments.output, sizes, &about, show))?;
        say_exported(
            &exported,
            "wacz",
            &ExportTo { output: Some(arguments.output.clone()), json: arguments.json },
        )
    }

    #[cfg(feature = "parquet")]
    fn parquet(&self, arguments: &cli::ExportParquet) -> anyhow::Result<()> {
        let source = self.source(&arguments.selection)?;
        let output = file_or_folder(&arguments.output, "parquet", arguments.size, PARQUET_BYTES)?;
        let output = output.with_marker("_SUCCESS");
        let writer = porthole_export::ParquetPages::new(self.tree, &self.workspace.pages());
        let mut writer = if arguments.text { writer.with_texts() } else { writer };
        let to = ExportTo { output: Some(arguments.output.clone()), json: arguments.json };
        self.write(&source, &mut writer, output, arguments.selection.limit, &to)
    }

    fn documents(&self, arguments: &ExportDocuments, format: DocumentFormat) -> anyhow::Result<()> {
        let ending = match format {
            DocumentFormat::Markdown => "md",
            DocumentFormat::Text => "txt",
        };
        let output = match &arguments.output {
            // A file is full after its first page.
            Some(path) => ExportOutput::folder(path, ending, 1),
            None => ExportOutput::stream(TextStdout::default()),
        };
        let mut writer = DocumentPages::new(format, self.tree, &self.workspace.pages());
        let to = ExportTo { output: arguments.output.clone(), json: arguments.json };
        self.write(&self.source(&arguments.selection)?, &mut writer, output, arguments.selection.limit, &to)
    }

    fn graph(&self, arguments: &ExportGraph) -> anyhow::Result<()> {
        if arguments.selection.limit.is_some() {
            return Err(misuse("a graph has no first pages: select them by topic, relevance, site or time"));
        }
        let source = self.source(&arguments.selection)?;
        let (format, name) = match arguments.edges || is_named(&arguments.to, "tsv") {
            true => (GraphFormat::Edges, "edges"),
            false => (GraphFormat::GraphMl, "graphml"),
        };
        let output = text_output(&arguments.to);
        let made = with_progress(|show| export_graph(&source, self.reader, self.tree, format, output, show));
        let made = match made {
            Err(error) if error.is_closed_pipe() => return Ok(()),
            made => made?,
        };
        if arguments.to.json {
            return output::print_json(&GraphSummary::of(name, made));
        }
        let place =
            arguments.to.output.as_ref().map_or_else(String::new, |path| format!(" to {}", path.display()));
        let number = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let (pages, links) = (count(number(made.pages), "page"), count(number(made.links), "link"));
        output::say(&format!("exported {pages} and {links} between them{place}"));
        Ok(())
    }

    fn skipped(&self, arguments: &ExportSkippedUrls) -> anyhow::Result<()> {
        let source = ExportSkipped::new(self.reader, &self.workspace.identity());
        let writer: &mut dyn RowWriter<SkippedUrl> =
            if arguments.csv || is_named(&arguments.to, "csv") { &mut CsvSkipped } else { &mut JsonSkipped };
        self.write(&source, writer, text_output(&arguments.to), arguments.limit, &arguments.to)
    }

    fn warc_writer(&self, selection: &PageSelection) -> WarcPages<'_> {
        let about = WarcDescription {
            software: SOFTWARE.to_owned(),
            operator: self.workspace.settings.fetch.contact.clone(),
            description: in_words(selection),
            made: SystemClock.now(),
        };
        WarcPages::new(self.tree, &self.workspace.pages(), about)
    }

    /// The selected pages, with redirects unless the selection is by what only pages have.
    fn records(&self, selection: &PageSelection) -> anyhow::Result<ExportPages<'_>> {
        let redirects =
            selection.topic.is_empty() && selection.min_relevance.is_none() && selection.language.is_empty();
        let filter = PageFilter { redirects, ..filter(selection, self.reader, self.tree)? };
        Ok(ExportPages::new(self.reader, filter, &self.workspace.identity()))
    }

    fn source(&self, selection: &PageSelection) -> anyhow::Result<ExportPages<'_>> {
        let filter = filter(selection, self.reader, self.tree)?;
        Ok(ExportPages::new(self.reader, filter, &self.workspace.identity()))
    }

    /// Runs an export with a progress bar, and says what was written.
    fn write<S: ExportSource>(
        &self,
        source: &S,
        writer: &mut dyn RowWriter<S::Row>,
        output: ExportOutput,
        limit: Option<u64>,
        to: &ExportTo,
    ) -> anyhow::Result<()> {
        let format = writer.name();
        let exported = with_progress(|show| export(source, writer, output, limit, show));
        match exported {
            // Whoever reads it has enough.
            Err(error) if error.is_closed_pipe() => Ok(()),
            exported => say_exported(&exported?, format, to),
        }
    }
}

/// Runs an export with a progress bar.
fn with_progress<T>(run: impl FnOnce(&mut dyn FnMut(u64, u64)) -> T) -> T {
    let mut progress = None;
    let done = run(&mut |done, total| {
        let progress = progress.get_or_insert_with(|| Progress::new("reading rows", total));
        progress.set(done);
    });
    if let Some(progress) = progress {
        progress.finish();
    }
    done
}

/// What was selected, for those who find the files.
fn in_words(selection: &PageSelection) -> String {
    let mut words: Vec<String> = selection.topic.iter().map(|topic| format!("topic {topic}")).collect();
    words.extend(selection.min_relevance.map(|least| format!("relevance at least {least}")));
    words.extend(selection.site.iter().map(|site| format!("site {site}")));
    words.extend(selection.language.iter().map(|language| format!("language {language}")));
    words.extend(selection.since.map(|at| format!("since {}", moment(at))));
    words.extend(selection.until.map(|at| format!("until {}", moment(at))));
    words.extend(selection.limit.map(|limit| format!("the first {limit}")));
    if words.is_empty() {
        "all fetched pages".to_owned()
    } else {
        format!("fetched pages: {}", words.join(", "))
    }
}

/// Says what was written, and what could not be.
fn say_exported(exported: &Exported, format: &str, to: &ExportTo) -> anyhow::Result<()> {
    let number = |rows: u64| usize::try_from(rows).unwrap_or(usize::MAX);
    if exported.left_out > 0 {
        let reason = exported.first_reason.as_deref().unwrap_or("see the output of the first run");
        output::say(&format!(
            "{} could not be exported; the first: {reason}",
            count(number(exported.left_out), "row")
        ));
    }
    if to.json {
        return output::print_json(&ExportSummary {
            format,
            output: to.output.as_deref(),
            rows: exported.rows,
            left_out: exported.left_out,
            resumed: exported.resumed,
        });
    }
    let place = to.output.as_ref().map_or_else(String::new, |path| format!(" to {}", path.display()));
    let limited = if exported.is_limited { " (--limit)" } else { "" };
    let resumed = match exported.resumed {
        0 => String::new(),
        rows => format!(", {} of them before it was interrupted", output::grouped(&rows.to_string())),
    };
    output::say(&format!("exported {}{limited}{place}{resumed}", count(number(exported.rows), "row")));
    Ok(())
}

/// The filter that the arguments describe.
fn filter(
    selection: &PageSelection,
    reader: &dyn StoreReader,
    tree: &Taxonomy,
) -> anyhow::Result<PageFilter> {
    let mut topics = Vec::new();
    for path in &selection.topic {
        topics.extend(tree.below(tree.find(path)?));
    }
    let mut sites = Vec::new();
    for host in &selection.site {
        let found = reader.sites_below(&host.to_ascii_lowercase())?;
        if found.is_empty() {
            return Err(misuse(format!("--site {host}: no URL of this host is known")));
        }
        sites.extend(found);
    }
    topics.sort_unstable();
    topics.dedup();
    Ok(PageFilter {
        topics: (!selection.topic.is_empty()).then_some(topics),
        min_relevance: selection.min_relevance,
        sites: (!selection.site.is_empty()).then_some(sites),
        languages: (!selection.language.is_empty())
            .then(|| selection.language.iter().map(|language| language.to_ascii_lowercase()).collect()),
        since: selection.since,
        until: selection.until,
        redirects: false,
    })
}

/// Standard output for text of strangers: on a terminal, without characters that it would act on.
#[derive(Default)]
struct TextStdout {
    /// The start of a character that is not complete yet.
    rest: Vec<u8>,
}

impl Write for TextStdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut stdout = io::stdout();
        if !stdout.is_terminal() {
            return stdout.write(bytes);
        }
        self.rest.extend_from_slice(bytes);
        let end = match str::from_utf8(&self.rest) {
            Ok(text) => text.len(),
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => self.rest.len(),
        };
        let text: Vec<u8> = self.rest.drain(..end).collect();
        stdout.write_all(terminal::harmless(&String::from_utf8_lossy(&text)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush()
    }
}
