//! `porthole report`: the results of a crawl as one HTML page.

mod gather;
mod next;

use std::path::Path;

use anyhow::Context;
use porthole_report::html::{HtmlReport, HtmlTable, Section, escaped};
use porthole_report::summary;
use porthole_report::svg::{Axis, Chart, ChartBar, Marks, Scale, Series};
use porthole_store::{QueryAnswer, QueryLimits, SqlValue, StoreReader};
use porthole_topic::Taxonomy;
use porthole_types::TopicId;

use self::gather::CrawlData;
use crate::cli;
use crate::output::{self, grouped, misuse};
use crate::workspace::{self, Workspace, path_of};

pub(crate) fn run(root: &Path, arguments: &cli::CrawlReport) -> anyhow::Result<()> {
    let workspace = Workspace::open(root)?;
    let reader = workspace.reader()?;
    let tree = workspace::tree(&reader)?;
    let gathered = CrawlData::of(&workspace, &reader)?;
    if gathered.relevance.is_empty() {
        return Err(misuse("nothing has been crawled yet; run `porthole crawl` first"));
    }
    let report = report(&reader, &tree, &gathered)?;
    let path = arguments.out.clone().unwrap_or_else(|| root.join("report.html"));
    std::fs::write(&path, report.to_html()).with_context(|| path.display().to_string())?;
    output::print(&path.display().to_string());
    Ok(())
}

fn report(reader: &dyn StoreReader, tree: &Taxonomy, gathered: &CrawlData) -> anyhow::Result<HtmlReport> {
    let good: Vec<String> = tree.good().map(|id| tree.path(id)).collect();
    let counts = reader.counts()?;
    let progress = reader.progress()?;
    let number = |number: usize| grouped(&number.to_string());
    let lead = format!(
        "<p>A crawl for <strong>{}</strong>: {} pages from {} sites, of which {} are relevant (R of at least 0.5, no \
         duplicates); mean relevance {:.3}. {} URLs are known, {} of them are queued.</p>",
        escaped(&good.join(", ")),
        number(counts.fetched),
        number(counts.sites),
        number(progress.relevant),
        progress.harvest.unwrap_or(0.0),
        number(counts.known),
        number(counts.queued),
    );
    let mut sections = vec![next::section(reader, tree, gathered)?, harvest(gathered), relevance(gathered)];
    let ask = |query: &str| reader.query(query, &[("rows", "25")], &QueryLimits::default());
    for (id, title, query) in [
        ("pages", "The most relevant pages", "top-pages"),
        ("authorities", "Authorities: relevant pages that good hubs link to", "top-authorities"),
        ("hubs", "Hubs: pages with many links to authorities", "top-hubs"),
    ] {
        sections.push(pages(id, title, &ask(query)?, query == "top-pages", tree));
    }
    sections.push(sites(&ask("top-sites")?));
    sections.push(gathered.communities());
    sections.push(census(&ask("census")?, tree));
    let ask = |query: &str| reader.query(query, &[], &QueryLimits::default());
    sections.push(reasons(
        "errors",
        "Failed URLs",
        ["failure", "URLs", "permanent", "example"],
        &ask("failures")?,
    ));
    let head = ["reason", "URLs", "not fetched", "example"];
    sections.push(reasons("skipped", "URLs skipped on purpose", head, &ask("skipped")?));
    sections.retain(|section| {
        !section.table.rows.is_empty() || !section.charts.is_empty() || !section.words.is_empty()
    });
    Ok(HtmlReport { title: format!("Crawl report: {}", good.join(", ")), lead, sections })
}

/// Relevance of the fetched pages over time.
fn harvest(gathered: &CrawlData) -> Section {
    let all = &gathered.relevance;
    let window = (all.len() / 20).clamp(20, 1_000);
    let moving = summary::moving(all, window);
    let loss = summary::loss(all.iter().copied());
    let step = (all.len() / 200).max(1);
    let some = |values: &[f64]| -> Vec<(f64, f64)> {
        let at = (0..values.len()).filter(|at| (at + 1) % step == 0);
        at.map(|at| ((at + 1) as f64, values[at])).collect()
    };
    let mean: Vec<f64> = loss.iter().map(|loss| 1.0 - loss).collect();
    let mut table = HtmlTable::new(&["pages fetched", "mean relevance, last", "mean relevance, all"]);
    for (last, all) in some(&moving).into_iter().zip(some(&mean)) {
        table.rows.push(vec![last.0.to_string(), format!("{:.4}", last.1), format!("{:.4}", all.1)]);
    }
    Section {
        id: "harvest".to_owned(),
        title: "Harvest".to_owned(),
        words: vec![format!(
            "Mean relevance of the last {window} pages: {:.3}; of all pages: {:.3}.",
            moving.last().copied().unwrap_or(0.0),
            mean.last().copied().unwrap_or(0.0)
        )],
        charts: vec![Chart {
            title: "relevance of the fetched pages (critic)".to_owned(),
            x: Axis { label: "pages fetched".to_owned(), scale: Scale::Linear },
            y: Axis { label: "mean relevance".to_owned(), scale: Scale::Linear },
            marks: Marks::Points(vec![
                Series::curve(&format!("last {window}"), some(&moving)),
                Series::curve("all so far", some(&mean)),
            ]),
        }],
        table,
        ..Section::default()
    }
}

fn relevance(gathered: &CrawlData) -> Section {
    const PARTS: usize = 10;
    let counts = summary::histogram(gathered.relevance.iter().copied(), PARTS);
    let bar = |(part, count): (usize, &u64)| ChartBar {
        name: format!("{:.1}", part as f64 / PARTS as f64),
        parts: vec![*count as f64],
        note: grouped(&count.to_string()),
    };
    let mut table = HtmlTable::new(&["relevance from", "pages"]);
    let row =
        |(part, count): (usize, &u64)| vec![format!("{:.1}", part as f64 / PARTS as f64), count.to_string()];
    table.rows.extend(counts.iter().enumerate().map(row));
    Section {
        id: "relevance".to_owned(),
        title: "Distribution of relevance".to_owned(),
        charts: vec![Chart {
            title: "pages by relevance".to_owned(),
            x: Axis { label: "relevance, from".to_owned(), scale: Scale::Linear },
            y: Axis { label: "pages".to_owned(), scale: Scale::Linear },
            marks: Marks::Bars {
                parts: vec!["pages".to_owned()],
                bars: counts.iter().enumerate().map(bar).collect(),
            },
        }],
        table,
        ..Section::default()
    }
}

/// A table of pages; the first column is the relevance or the score.
fn pages(id: &str, title: &str, answer: &QueryAnswer, is_by_relevance: bool, tree: &Taxonomy) -> Section {
    let first = if is_by_relevance { "relevance" } else { "score" };
    let mut table = HtmlTable::new(&[first, "title", "topic", "URL"]);
    for row in &answer.rows {
        let score = row[0].real().unwrap_or_default();
        let title = if row[2].text().is_empty() { "(no title)" } else { row[2].text() };
        table.rows.push(vec![
            format!("{score:.4}"),
            title.to_owned(),
            topic(tree, &row[1]),
            row[3].text().to_owned(),
        ]);
    }
    let words =
        if answer.rows.is_empty() { vec!["None yet; run porthole distill.".to_owned()] } else { Vec::new() };
    Section {
        id: id.to_owned(),
        title: title.to_owned(),
        words,
        table,
        table_first: true,
        ..Section::default()
    }
}

fn topic(tree: &Taxonomy, kcid: &SqlValue) -> String {
    let id = kcid.integer().and_then(|kcid| u16::try_from(kcid).ok());
    id.map_or_else(String::new, |id| path_of(tree, TopicId(id)))
}

fn sites(answer: &QueryAnswer) -> Section {
    let mut table = HtmlTable::new(&["site", "relevant pages", "pages", "mean relevance", "fetched"]);
    for row in &answer.rows {
        let whole = |at: usize| row[at].integer().unwrap_or_default().to_string();
        let mean = format!("{:.3}", row[3].real().unwrap_or_default());
        table.rows.push(vec![row[0].text().to_owned(), whole(1), whole(2), mean, whole(4)]);
    }
    Section { id: "sites".into(), title: "Sites".into(), table, table_first: true, ..Section::default() }
}

// The census of V 3.7.
fn census(answer: &QueryAnswer, tree: &Taxonomy) -> Section {
    let mut table = HtmlTable::new(&["best topic", "pages", "mean relevance"]);
    for row in &answer.rows {
        let pages = row[2].integer().unwrap_or_default().to_string();
        table.rows.push(vec![
            topic(tree, &row[0]),
            pages,
            format!("{:.3}", row[3].real().unwrap_or_default()),
        ]);
    }
    Section {
        id: "census".into(),
        title: "Census: topics of the pages".into(),
        words: vec!["Pages by their best topic, good or not.".to_owned()],
        table,
        table_first: true,
        ..Section::default()
    }
}

/// URLs by why they brought no page.
fn reasons(id: &str, title: &str, head: [&str; 4], answer: &QueryAnswer) -> Section {
    let mut table = HtmlTable::new(&head);
    for row in &answer.rows {
        let whole = |at: usize| row[at].integer().unwrap_or_default().to_string();
        table.rows.push(vec![row[0].text().to_owned(), whole(1), whole(2), row[3].text().to_owned()]);
    }
    Section { id: id.to_owned(), title: title.to_owned(), table, table_first: true, ..Section::default() }
}
