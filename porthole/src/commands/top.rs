//! `porthole top`: the best pages, sites, hubs and authorities.

mod scored;

use std::path::Path;

use porthole_export::{csv_line, csv_row};
use porthole_store::{QueryAnswer, QueryLimits, SqlValue, StoreReader};
use porthole_topic::Taxonomy;
use porthole_types::TopicId;
use serde::Serialize;

use crate::cli::{self, TopWhat};
use crate::output::{self, Paint, misuse};
use crate::workspace::{self, Workspace, path_of};

pub(crate) fn run(root: &Path, arguments: &cli::Top) -> anyhow::Result<()> {
    let workspace = Workspace::open(root)?;
    let reader = workspace.reader()?;
    let tree = workspace::tree(&reader)?;
    let topic = tree.find(arguments.topic.as_deref().unwrap_or("/"))?.0.to_string();
    // Hubs are not in the order of relevance, so a threshold looks at all of them.
    let is_all = arguments.csv || arguments.min_relevance.is_some();
    let rows = if is_all { i64::MAX.to_string() } else { rows(arguments).to_string() };
    let limits = match is_all {
        true => QueryLimits { rows: usize::MAX, bytes: ALL_BYTES, ..QueryLimits::default() },
        false => QueryLimits::default(),
    };
    let parameters = [("topic", topic.as_str()), ("rows", rows.as_str())];
    let ask = |query: &str| reader.query(query, &parameters, &limits);
    match arguments.what {
        TopWhat::Pages | TopWhat::Sites if arguments.why => {
            Err(misuse("--why requires hubs or authorities; use `porthole explain URL` for a page"))
        }
        TopWhat::Pages => {
            show(&wanted(pages(&ask("top_pages")?, &tree), arguments), arguments, FROM_CRAWL, print_pages)
        }
        TopWhat::Sites => {
            show(&wanted(sites(&ask("top_sites")?), arguments), arguments, FROM_CRAWL, print_sites)
        }
        TopWhat::Hubs | TopWhat::Authorities => {
            let mut found = wanted(scored::scored(&ask(scored::query(arguments.what))?, &tree), arguments);
            if arguments.why && !found.is_empty() {
                let rho = workspace.settings.distill.ready()?.rho;
                scored::explain(&mut found, arguments.what, rho, &reader)?;
            }
            show(&found, arguments, FROM_DISTILLATION, scored::print)
        }
    }
}

/// Rows of a list for people.
const USUAL_ROWS: usize = 20;

/// Maximum size of a list of which all rows are read; more is an error.
const ALL_BYTES: usize = 512 << 20;

/// Messages for an empty list.
const FROM_CRAWL: &str = "none yet; `porthole status` shows the state of the crawl";
const FROM_DISTILLATION: &str = "none yet; run `porthole distill` after a crawl of some pages";
const BELOW: &str = "none has so much relevance";

/// Number of rows to show.
fn rows(arguments: &cli::Top) -> usize {
    let usual = if arguments.csv { usize::MAX } else { USUAL_ROWS };
    arguments.rows.map_or(usual, |rows| rows as usize)
}

/// An entry of a list.
trait TopEntry: Serialize {
    /// Names of the columns in CSV.
    const COLUMNS: &'static [&'static str];

    fn relevance(&self) -> f64;

    fn values(&self) -> Vec<SqlValue>;
}

/// The entries with enough relevance, at most as many as were asked for.
fn wanted<T: TopEntry>(found: Vec<T>, arguments: &cli::Top) -> Vec<T> {
    let least = arguments.min_relevance.unwrap_or(0.0);
    found.into_iter().filter(|entry| entry.relevance() >= least).take(rows(arguments)).collect()
}

fn show<T: TopEntry>(found: &[T], arguments: &cli::Top, none: &str, print: fn(&[T])) -> anyhow::Result<()> {
    if arguments.json {
        return output::print_json(&found);
    }
    if arguments.csv {
        let head = csv_line(T::COLUMNS.iter().map(|&name| name.to_owned()));
        let lines = std::iter::once(head).chain(found.iter().map(|entry| csv_row(&entry.values())));
        return Ok(output::print_lines(lines)?);
    }
    match (found.is_empty(), arguments.min_relevance) {
        (true, None) => output::say(none),
        (true, Some(_)) => output::say(BELOW),
        (false, _) => print(found),
    }
    Ok(())
}

fn text(text: &str) -> SqlValue {
    SqlValue::Text(text.to_owned())
}

#[derive(Serialize)]
struct TopPage {
    relevance: f64,
    /// The best topic.
    topic: String,
    title: String,
    url: String,
}

impl TopEntry for TopPage {
    const COLUMNS: &'static [&'static str] = &["relevance", "topic", "title", "url"];

    fn relevance(&self) -> f64 {
        self.relevance
    }

    fn values(&self) -> Vec<SqlValue> {
        vec![SqlValue::Real(self.relevance), text(&self.topic), text(&self.title), text(&self.url)]
    }
}

fn pages(answer: &QueryAnswer, tree: &Taxonomy) -> Vec<TopPage> {
    let page = |row: &Vec<SqlValue>| TopPage {
        relevance: row[0].real().unwrap_or_default(),
        topic: topic(tree, &row[1]).unwrap_or_default(),
        title: row[2].text().to_owned(),
        url: row[3].text().to_owned(),
    };
    answer.rows.iter().map(page).collect()
}

/// Path of a topic from its id.
fn topic(tree: &Taxonomy, kcid: &SqlValue) -> Option<String> {
    let kcid = u16::try_from(kcid.integer()?).ok()?;
    Some(path_of(tree, TopicId(kcid)))
}

fn print_pages(pages: &[TopPage]) {
    for page in pages {
        let title = if page.title.is_empty() { "(no title)" } else { &page.title };
        let title = Paint::Strong.on(&output::plain(title));
        output::print(&format!("{:.3}  {title}  {}", page.relevance, Paint::Faint.on(&page.topic)));
        output::print(&format!("       {}", output::plain(&page.url)));
    }
}

#[derive(Serialize)]
struct TopSite {
    host: String,
    /// Pages with a relevance of at least one half.
    relevant: i64,
    pages: i64,
    /// Mean relevance of the pages.
    relevance: f64,
    /// Number of URLs fetched from the site.
    serverload: i64,
}

impl TopEntry for TopSite {
    const COLUMNS: &'static [&'static str] = &["host", "relevant", "pages", "relevance", "serverload"];

    fn relevance(&self) -> f64 {
        self.relevance
    }

    fn values(&self) -> Vec<SqlValue> {
        vec![
            text(&self.host),
            SqlValue::Integer(self.relevant),
            SqlValue::Integer(self.pages),
            SqlValue::Real(self.relevance),
            SqlValue::Integer(self.serverload),
        ]
    }
}

fn sites(answer: &QueryAnswer) -> Vec<TopSite> {
    let number = |value: &SqlValue| value.integer().unwrap_or_default();
    let site = |row: &Vec<SqlValue>| TopSite {
        host: row[0].text().to_owned(),
        relevant: number(&row[1]),
        pages: number(&row[2]),
        relevance: row[3].real().unwrap_or_default(),
        serverload: number(&row[4]),
    };
    answer.rows.iter().map(site).collect()
}

fn print_sites(sites: &[TopSite]) {
    let row = |site: &TopSite| {
        vec![
            output::plain(&site.host),
            site.relevant.to_string(),
            site.pages.to_string(),
            format!("{:.3}", site.relevance),
            site.serverload.to_string(),
        ]
    };
    let rows: Vec<_> = sites.iter().map(row).collect();
    output::print_table(&["site", "relevant pages", "pages", "mean relevance", "fetched"], &rows);
}
