//! What was learnt about the nodes of the tree, and the documents to judge by it, as plain data (V Fig. 1).

use porthole_types::{TermId, TopicId, UrlId};

/// A row of STAT: how probable a term is in a topic. There is one only where the term was seen (V 2.1.1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StatRow {
    /// The node at whose children it is looked: c0.
    pub parent: TopicId,
    /// The child: ci.
    pub topic: TopicId,
    /// A term of F(c0).
    pub term: TermId,
    /// log theta(ci, t).
    pub logtheta: f64,
}

/// What TAXONOMY holds of a topic that is not the root.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeRow {
    /// The topic: ci.
    pub topic: TopicId,
    /// log Pr[ci | c0].
    pub logprior: f64,
    /// Minus the log of theta(ci, t) for a term that was not seen in ci.
    pub logdenom: f64,
}

/// A document as its terms, each once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Whose terms they are.
    pub did: UrlId,
    /// The terms with how often each occurs. A document without any has no rows, and nothing is said of it.
    pub terms: Vec<(TermId, u32)>,
}
