//! Oracles: strategies that know the labels and links of the whole web, as upper bounds. Only the lab can build them.

use std::collections::HashMap;
use std::sync::Arc;

use porthole_page::Link;
use porthole_strategy::{SourcePage, Strategy};
use porthole_types::UrlId;

use super::labelled::LabelledWeb;
use super::target::CrawlTarget;

/// Knows the value of a page before it is fetched.
pub(super) struct Oracle {
    name: &'static str,
    worth: Arc<HashMap<UrlId, f64>>,
}

/// Discount of a page's value per link.
const DISCOUNT: f64 = 0.8;

/// Number of links that the look-ahead oracle follows.
const STEPS: usize = 4;

/// Number of relevant pages behind a link at which its value is nearly saturated.
const ENOUGH: f64 = 4.0;

impl Oracle {
    /// Knows which links lead to pages about the topic.
    pub(super) fn one_step(web: &LabelledWeb, target: &CrawlTarget) -> Self {
        Oracle { name: "oracle", worth: Arc::new(leads_to_topic(web, target)) }
    }

    /// Knows the R that the guiding critic will give to a link's target: our critic with a perfect estimate of links.
    pub(super) fn foresight(web: &LabelledWeb, target: &CrawlTarget) -> Self {
        let relevance = |id: &UrlId| target.relevance(web.end(*id)).unwrap_or(0.0);
        let worth = web.links.keys().map(|id| (*id, relevance(id))).collect();
        Oracle { name: "foresight", worth: Arc::new(worth) }
    }

    /// Also knows the pages behind them: a page's links add to its value with a discount, and more relevant pages add
    /// more.
    pub(super) fn look_ahead(web: &LabelledWeb, target: &CrawlTarget) -> Self {
        let own = leads_to_topic(web, target);
        let mut worth = own.clone();
        for _ in 0..STEPS {
            let behind = |id: &UrlId| {
                let targets = web.links.get(id).into_iter().flatten();
                let sum: f64 = targets.filter_map(|target| worth.get(target)).sum();
                1.0 - (-sum / ENOUGH).exp()
            };
            let better = own.iter().map(|(id, own)| (*id, own + DISCOUNT * behind(id)));
            worth = better.collect();
        }
        Oracle { name: "look-ahead", worth: Arc::new(worth) }
    }
}

impl Strategy for Oracle {
    fn name(&self) -> &str {
        self.name
    }

    fn priority(&mut self, _: &SourcePage<'_>, link: &Link) -> Option<f64> {
        Some(self.worth.get(&link.target.id()).copied().unwrap_or(0.0))
    }
}

/// 1 for URLs that lead to a page about the topic, directly or through redirects, else 0.
fn leads_to_topic(web: &LabelledWeb, target: &CrawlTarget) -> HashMap<UrlId, f64> {
    web.links.keys().map(|id| (*id, f64::from(target.pages.contains(&web.end(*id))))).collect()
}
