//! Statistics of the nodes of the topic tree, and documents to classify with them, as plain data (V Fig. 1).

use porthole_types::{TermId, TopicId, UrlId};

/// A row of STAT: probability of a term in a topic. Only terms that occur in the topic have a row (V 2.1.1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StatRow {
    /// The parent node, c0.
    pub parent: TopicId,
    /// The child, ci.
    pub topic: TopicId,
    /// A term of F(c0).
    pub term: TermId,
    /// log theta(ci, t).
    pub logtheta: f64,
}

/// The statistics of a topic in TAXONOMY; the root has none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeRow {
    /// The topic, ci.
    pub topic: TopicId,
    /// log Pr[ci | c0].
    pub logprior: f64,
    /// Minus the log of theta(ci, t) for terms that do not occur in ci.
    pub logdenom: f64,
}

/// A document as its distinct terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentRow {
    /// The page.
    pub did: UrlId,
    /// Term counts. A document without terms has no rows and no judgment.
    pub terms: Vec<(TermId, u32)>,
}
