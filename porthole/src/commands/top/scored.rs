//! Hubs and authorities with their scores, and the links that contribute most.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use porthole_crawl::{DISTILLED_BY, Engine, SiteBy, Snapshot};
use porthole_store::{QueryAnswer, QueryLimits, SqlValue, StoreReader};
use porthole_topic::Taxonomy;
use porthole_types::UrlId;
use serde::Serialize;

use super::{TopEntry, text};
use crate::cli::TopWhat;
use crate::output::{self, Paint};

/// Number of links shown per page.
const REASONS: usize = 5;

/// Number of top pages of the other kind among which contributing links are looked up.
const NAMED: usize = 50_000;

/// A page with a hub or authority score.
#[derive(Serialize)]
pub(super) struct ScoredPage {
    score: f64,
    relevance: f64,
    /// The best topic.
    topic: String,
    title: String,
    url: String,
    /// The links that contribute most to the score.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<Vec<ScoreReason>>,
}

impl TopEntry for ScoredPage {
    const COLUMNS: &'static [&'static str] = &["score", "relevance", "topic", "title", "url"];

    fn relevance(&self) -> f64 {
        self.relevance
    }

    fn values(&self) -> Vec<SqlValue> {
        let [topic, title, url] = [&self.topic, &self.title, &self.url].map(|cell| text(cell));
        vec![SqlValue::Real(self.score), SqlValue::Real(self.relevance), topic, title, url]
    }
}

/// A link that contributes to a score.
#[derive(Serialize)]
struct ScoreReason {
    /// The page at the other end.
    url: String,
    title: String,
    /// Its share of the score.
    share: f64,
}

/// The named query for hubs or authorities.
pub(super) fn query(what: TopWhat) -> &'static str {
    if what == TopWhat::Hubs { "top-hubs" } else { "top-authorities" }
}

pub(super) fn scored(answer: &QueryAnswer, tree: &Taxonomy) -> Vec<ScoredPage> {
    let scored = |row: &Vec<SqlValue>| ScoredPage {
        score: row[0].real().unwrap_or_default(),
        topic: super::topic(tree, &row[1]).unwrap_or_default(),
        title: row[2].text().to_owned(),
        url: row[3].text().to_owned(),
        relevance: row[4].real().unwrap_or_default(),
        why: None,
    };
    answer.rows.iter().map(scored).collect()
}

/// Adds the links that contribute most, by the current graph.
pub(super) fn explain(
    scored: &mut [ScoredPage],
    what: TopWhat,
    rho: f64,
    reader: &dyn StoreReader,
) -> anyhow::Result<()> {
    let by = reader.setting(DISTILLED_BY)?.and_then(|name| SiteBy::named(&name)).unwrap_or_default();
    let snapshot = Snapshot::read_by(reader, by)?;
    let (distiller, scores) = (snapshot.distiller(rho)?, snapshot.scores(rho, Engine::Native)?);
    let other = if what == TopWhat::Hubs { TopWhat::Authorities } else { TopWhat::Hubs };
    let mut names = names(other, reader)?;
    let pages: HashMap<UrlId, u32> =
        (0..snapshot.graph().pages() as u32).map(|page| (snapshot.node(page).oid, page)).collect();
    for found in scored {
        let Some(page) = pages.get(&UrlId::of(&found.url)) else { continue };
        let reasons = match what {
            TopWhat::Hubs => distiller.why_hub(&scores, *page, REASONS),
            _ => distiller.why_authority(&scores, *page, REASONS),
        };
        let mut why = Vec::new();
        for reason in reasons {
            let id = snapshot.node(reason.page).oid;
            // Scores may be stored for the best pages only.
            if let Entry::Vacant(unscored) = names.entry(id) {
                unscored.insert(name_of(id, reader)?);
            }
            let (url, title) = names[&id].clone();
            why.push(ScoreReason { url, title, share: reason.share });
        }
        found.why = Some(why);
    }
    Ok(())
}

/// URLs and titles of the pages with the highest scores.
fn names(what: TopWhat, reader: &dyn StoreReader) -> anyhow::Result<HashMap<UrlId, (String, String)>> {
    let limits = QueryLimits { bytes: 256 << 20, ..QueryLimits::default() };
    let answer = reader.query(query(what), &[("rows", &NAMED.to_string())], &limits)?;
    let name = |row: &Vec<SqlValue>| {
        let (title, url) = (row[2].text(), row[3].text());
        (UrlId::of(url), (url.to_owned(), title.to_owned()))
    };
    Ok(answer.rows.iter().map(name).collect())
}

/// URL and title of a page.
fn name_of(id: UrlId, reader: &dyn StoreReader) -> anyhow::Result<(String, String)> {
    let sql = format!("select url, coalesce(title, '') from crawl where oid = {}", id.0.cast_signed());
    let answer = reader.sql(&sql, &QueryLimits::default())?;
    let name = |row: &Vec<SqlValue>| (row[0].text().to_owned(), row[1].text().to_owned());
    Ok(answer.rows.first().map(name).unwrap_or_default())
}

pub(super) fn print(pages: &[ScoredPage]) {
    for page in pages {
        let title = Paint::Strong.on(&titled(&page.title));
        output::print(&format!("{:.5}  {title}  {}", page.score, Paint::Faint.on(&page.topic)));
        output::print(&format!("         {}", output::plain(&page.url)));
        for reason in page.why.iter().flatten() {
            let link = format!("{}  {}", titled(&reason.title), output::plain(&reason.url));
            output::print(&format!("         {:>5.1}%  {link}", 100.0 * reason.share));
        }
    }
}

fn titled(title: &str) -> String {
    output::plain(if title.is_empty() { "(no title)" } else { title })
}
