//! A naive Bayes model as rows for the database.

use porthole_store::{NodeRow, StatRow};
use porthole_topic::{CriticModel, TopicDecision};

/// Rows of TAXONOMY and STAT (V Fig. 1): the parameters of the native critic in the papers' form, at full precision.
/// They give the critic's results without calibration, for a model that counts every occurrence.
pub fn table_rows(model: &CriticModel) -> (Vec<NodeRow>, Vec<StatRow>) {
    let decisions = model.decisions();
    let nodes = decisions.iter().flat_map(|decision| &decision.classes);
    let nodes =
        nodes.map(|class| NodeRow { topic: class.topic, logprior: class.logprior, logdenom: class.logdenom });
    let mut stats = Vec::with_capacity(model.posting_count());
    for decision in &decisions {
        add_stats(decision, &mut stats);
    }
    (nodes.collect(), stats)
}

fn add_stats(decision: &TopicDecision, stats: &mut Vec<StatRow>) {
    let mut postings = decision.postings.iter();
    for feature in &decision.features {
        for &(class, gain) in postings.by_ref().take(feature.postings as usize) {
            let class = decision.classes[usize::from(class)];
            // A gain is logtheta + logdenom.
            let logtheta = f64::from(gain) - class.logdenom;
            stats.push(StatRow { parent: decision.node, topic: class.topic, term: feature.term, logtheta });
        }
    }
}
