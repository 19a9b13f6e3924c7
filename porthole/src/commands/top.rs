//! `porthole top`: the best pages, sites, hubs and authorities.

mod scored;

use std::path::Path;

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
    let topic = tree.find(arguments.topic.as_deref().unwrap_or("/"))?;
    let (topic, rows) = (topic.0.to_string(), arguments.rows.to_string());
    let parameters = [("topic", topic.as_str()), ("rows", rows.as_str())];
    let ask = |query: &str| reader.query(query, &parameters, &QueryLimits::default());
    match arguments.what {
        TopWhat::Pages | TopWhat::Sites if arguments.why => {
            Err(misuse("--why requires hubs or authorities; use `porthole explain URL` for a page"))
        }
        TopWhat::Pages => show(&pages(&ask("top_pages")?, &tree), arguments.json, FROM_CRAWL, print_pages),
        TopWhat::Sites => show(&sites(&ask("top_sites")?), arguments.json, FROM_CRAWL, print_sites),
        TopWhat::Hubs | TopWhat::Authorities => {
            let mut found = scored::scored(&ask(scored::query(arguments.what))?, &tree);
            if arguments.why && !found.is_empty() {
                let rho = workspace.settings.distill.ready()?.rho;
                scored::explain(&mut found, arguments.what, rho, &reader)?;
            }
            show(&found, arguments.json, FROM_DISTILLATION, scored::print)
        }
    }
}

/// Messages for an empty list.
const FROM_CRAWL: &str = "none yet; `porthole status` shows the state of the crawl";
const FROM_DISTILLATION: &str = "none yet; run `porthole distill` after a crawl of some pages";

fn show<T: Serialize>(found: &[T], json: bool, none: &str, print: fn(&[T])) -> anyhow::Result<()> {
    if json {
        return output::print_json(&found);
    }
    if found.is_empty() {
        output::say(none);
    } else {
        print(found);
    }
    Ok(())
}

#[derive(Serialize)]
struct TopPage {
    relevance: f64,
    /// The best topic.
    topic: String,
    title: String,
    url: String,
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
