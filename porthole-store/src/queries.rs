//! The named queries. [`monitor`] is about the state of a crawl, [`standing`] and [`communities`] about topics, their
//! pages and the links between them.
//!
//! The SQL is limited to what SQLite, PostgreSQL and Spark share: whole numbers are divided only where nothing remains.
//! `rowid` is the number of a row of `crawl`, a column of this name in PostgreSQL.

mod communities;
mod monitor;
mod parts;
mod scored;
mod standing;
mod values;

pub(crate) use self::values::values;

/// A query with a name.
#[derive(Clone, Copy, Debug)]
pub struct NamedQuery {
    /// Name.
    pub name: &'static str,
    /// One-line description.
    pub description: &'static str,
    /// The SQL; parameters are written `:name`.
    pub sql: &'static str,
    /// The parameters.
    pub parameters: &'static [Parameter],
    /// Columns that identify a row across runs; empty means all.
    pub key: &'static [&'static str],
}

/// A parameter of a named query.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Name, without the colon.
    pub name: &'static str,
    /// What it means.
    pub description: &'static str,
    /// Type of its values.
    pub kind: ParameterKind,
    /// Default value; `None` if it is required.
    pub default: Option<&'static str>,
}

/// Type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// A whole number.
    Whole,
    /// Any number.
    Number,
    /// Path of a topic, `/` for the root, or its id. The query includes the topics below it.
    Topic,
}

/// All named queries.
pub const QUERIES: &[NamedQuery] = &[
    standing::CITATION_SOCIOLOGY,
    standing::SPAM_FILTER,
    standing::TYPED_LINK,
    standing::COMMUNITY_EVOLUTION,
    standing::TOPIC_LINKS,
    communities::SPECIALTY_SITES,
    communities::COMMUNITY_CULTURE,
    communities::TIMESCALES,
    monitor::HARVEST_BY_MINUTE,
    monitor::CENSUS,
    monitor::CENSUS_UP,
    monitor::MISSED,
    monitor::PROGRESS,
    monitor::FAILURES,
    monitor::SKIPPED,
    monitor::FRONTIER,
    monitor::SITES,
    monitor::SITE_LIST,
    monitor::TOP_PAGES,
    monitor::TOP_SITES,
    scored::TOP_HUBS,
    scored::TOP_AUTHORITIES,
];

const TOPIC: Parameter = Parameter {
    name: "topic",
    description: "topic of the pages; /: all topics",
    kind: ParameterKind::Topic,
    default: Some("/"),
};

/// The parameter `rows`: maximum number of rows.
const fn rows(default: &'static str) -> Parameter {
    Parameter {
        name: "rows",
        description: "maximum number of rows",
        kind: ParameterKind::Whole,
        default: Some(default),
    }
}

/// Finds a query by name; `_` is accepted for `-`.
pub(crate) fn find(name: &str) -> Option<&'static NamedQuery> {
    QUERIES.iter().find(|query| query.name == name.replace('_', "-"))
}
