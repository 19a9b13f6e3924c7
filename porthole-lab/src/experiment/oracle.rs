//! Strategies that know what nobody can: bounds for the others. They come in through a door of their own, which only
//! the lab can open: they are made from the labels and the links of the whole web.

use std::collections::HashMap;
use std::sync::Arc;

use porthole_page::Link;
use porthole_strategy::{Source, Strategy};
use porthole_types::UrlId;

use super::labelled::LabelledWeb;
use super::target::Target;

/// Knows what a page is worth before it is fetched.
pub(super) struct Oracle {
    name: &'static str,
    worth: Arc<HashMap<UrlId, f64>>,
}

/// How much less a page counts for every link that it is away.
const DISCOUNT: f64 = 0.8;

/// How far the look-ahead oracle sees.
const STEPS: usize = 4;

/// So many pages behind a link are worth nearly as much as any number.
const ENOUGH: f64 = 4.0;

impl Oracle {
    /// Knows which links lead to pages about the topic.
    pub(super) fn one_step(web: &LabelledWeb, target: &Target) -> Self {
        Oracle { name: "oracle", worth: Arc::new(at_the_end(web, target)) }
    }

    /// Knows what lies behind them, too: what a page links to counts less with every step, and many pages behind it
    /// count more than one.
    pub(super) fn look_ahead(web: &LabelledWeb, target: &Target) -> Self {
        let own = at_the_end(web, target);
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

    fn priority(&mut self, _: &Source<'_>, link: &Link) -> Option<f64> {
        Some(self.worth.get(&link.target.id()).copied().unwrap_or(0.0))
    }
}

/// 1 for what leads to a page about the topic, directly or by redirects, else 0.
fn at_the_end(web: &LabelledWeb, target: &Target) -> HashMap<UrlId, f64> {
    web.links.keys().map(|id| (*id, f64::from(target.pages.contains(&web.end(*id))))).collect()
}
