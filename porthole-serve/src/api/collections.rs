//! Clusters of similar pages, and suggestions for the topic tree.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use porthole_report::clusters::clusters;
use porthole_store::{PageListing, PageOrder, QueryLimits, StoreReader};
use porthole_types::{CanonicalUrl, TermId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::DashboardState;
use super::extract::Named;
use crate::error::Answer;
use crate::workspaces::ServedWorkspace;

/// Relevant pages that are clustered; takes about a second.
const MOST_CLUSTERED: usize = 2_000;
/// Examples of a cluster.
const EXAMPLES: usize = 5;

/// Pages with words in common.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct PageCluster {
    /// Its words; without common words, the title of the page nearest to its centre, or the host of that page.
    label: String,
    /// The words that distinguish it from the others.
    words: Vec<String>,
    pages: usize,
    /// The pages nearest to its centre.
    examples: Vec<ClusterPage>,
}

#[derive(Clone, Serialize, Deserialize, ToSchema)]
struct ClusterPage {
    url: String,
    title: String,
    relevance: f64,
}

/// Clusters of the most relevant pages, by their words
#[utoipa::path(get, path = "/w/{w}/clusters", operation_id = "list_clusters", params(("w" = String, Path,)),
    responses((status = 200, body = Vec<PageCluster>)))]
pub(crate) async fn list(Named(workspace): Named) -> Answer<Json<Vec<PageCluster>>> {
    workspace.read(cluster).await.map(Json)
}

fn cluster(workspace: &ServedWorkspace) -> Answer<Vec<PageCluster>> {
    let reader = &workspace.reader;
    let pages = reader.list_pages(&PageListing {
        order: PageOrder::Relevance,
        topics: None,
        sites: None,
        least: 0.5,
        most: 1.0,
        limit: MOST_CLUSTERED,
        offset: 0,
    })?;
    let numbers: Vec<u64> = pages.iter().map(|page| page.terms.unwrap_or(u64::MAX)).collect();
    let found = clusters(&reader.page_terms(&numbers)?);
    let terms: Vec<TermId> = found.iter().flat_map(|cluster| cluster.terms.clone()).collect();
    let words: HashMap<TermId, String> =
        terms.iter().zip(reader.words(&terms)?).filter_map(|(term, word)| Some((*term, word?))).collect();
    let example = |&number: &usize| {
        let page = &pages[number];
        ClusterPage { url: page.url.clone(), title: page.title.clone(), relevance: page.relevance }
    };
    let told = found.iter().map(|cluster| {
        let words: Vec<String> = cluster.terms.iter().filter_map(|term| words.get(term).cloned()).collect();
        let examples: Vec<ClusterPage> = cluster.pages.iter().take(EXAMPLES).map(example).collect();
        PageCluster { label: label(&words, &examples), words, pages: cluster.pages.len(), examples }
    });
    Ok(told.collect())
}

/// Words in a label.
const LABEL_WORDS: usize = 4;

fn label(words: &[String], examples: &[ClusterPage]) -> String {
    let Some(first) = examples.first().filter(|_| words.is_empty()) else {
        return words[..words.len().min(LABEL_WORDS)].join(", ");
    };
    match first.title.trim() {
        "" => CanonicalUrl::parse(&first.url).map(|url| url.host().to_owned()).unwrap_or_default(),
        title => title.to_owned(),
    }
}

/// What could be added to the topics.
#[derive(Default, Serialize, Deserialize, ToSchema)]
pub(crate) struct Suggestions {
    /// Topics that occur together with the good ones.
    broaden: Vec<BroaderTopic>,
    /// Sites that are mostly about the good topics; `topics grow` takes examples from them.
    specialty_sites: Vec<SpecialtySite>,
}

#[derive(Serialize, Deserialize, ToSchema)]
struct BroaderTopic {
    #[serde(alias = "topic")]
    path: String,
    /// The good topics that it occurs together with.
    good: Vec<String>,
    /// Whether it is above them.
    is_above: bool,
    /// Pages about it and no good topic.
    pages: u64,
    /// Their mean relevance.
    relevance: f64,
    /// Pages about those good topics.
    good_pages: u64,
    /// The command that accepts it.
    command: String,
}

#[derive(Serialize, Deserialize, ToSchema)]
struct SpecialtySite {
    host: String,
    pages: u64,
    relevant: u64,
    /// Share of its pages that are relevant.
    share: f64,
}

/// Suggestions for the topic tree, from what the crawl has found
#[utoipa::path(get, path = "/w/{w}/suggestions", params(("w" = String, Path,)),
    responses((status = 200, body = Suggestions)))]
pub(crate) async fn suggestions(
    State(state): State<Arc<DashboardState>>,
    Named(workspace): Named,
) -> Answer<Json<Suggestions>> {
    let call = workspace.call(&["topics", "broaden"]).hidden("--json");
    // Fails without good topics.
    let printed = state.runner.finish(&call).await?;
    let broaden = serde_json::from_value(printed.json()).unwrap_or_default();
    let read = workspace.read(|workspace| {
        let found = workspace.reader.query("specialty-sites", &[], &QueryLimits::default())?;
        let count = |value: &porthole_store::SqlValue| value.integer().unwrap_or(0).cast_unsigned();
        let site = |row: &Vec<porthole_store::SqlValue>| SpecialtySite {
            host: row[0].text().to_owned(),
            relevant: count(&row[1]),
            pages: count(&row[2]),
            share: row[3].real().unwrap_or(0.0),
        };
        Ok(found.rows.iter().map(site).collect())
    });
    Ok(Json(Suggestions { broaden, specialty_sites: read.await? }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_without_words_is_named_after_its_first_page() {
        let page = |title: &str| {
            vec![ClusterPage { url: "http://a.test/x".into(), title: title.into(), relevance: 1.0 }]
        };
        let words = ["owl", "nest", "egg", "wing", "beak"].map(String::from);
        assert_eq!(label(&words, &page("Owls")), "owl, nest, egg, wing");
        assert_eq!(label(&[], &page(" Owls ")), "Owls");
        assert_eq!(label(&[], &page("")), "a.test");
        assert_eq!(label(&[], &[]), "");
    }
}
