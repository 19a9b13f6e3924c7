//! The named queries: what people ask of a crawl again and again. [`monitor`] asks how it is doing, [`standing`]
//! and [`communities`] what it found out about topics, their pages and the links between them.
//!
//! The SQL keeps to what SQLite and PostgreSQL share, but for `rowid`, the number of a row of `crawl`.

mod communities;
mod monitor;
mod parts;
mod scored;
mod standing;
mod values;

pub(crate) use self::values::values;

/// A question that has a name.
#[derive(Clone, Copy, Debug)]
pub struct NamedQuery {
    /// Its name, as it is asked for.
    pub name: &'static str,
    /// What it tells, in a line.
    pub description: &'static str,
    /// The statement; parameters are written `:name`.
    pub sql: &'static str,
    /// The parameters.
    pub parameters: &'static [Parameter],
    /// The columns by which a row is known again in a later answer; all if there are none.
    pub key: &'static [&'static str],
}

/// A parameter of a named query.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name, without the colon.
    pub name: &'static str,
    /// What it means.
    pub description: &'static str,
    /// What it can be.
    pub kind: Kind,
    /// Its value unless another is given; without one it has to be given.
    pub default: Option<&'static str>,
}

/// What a parameter can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number.
    Whole,
    /// Any number.
    Number,
    /// The path of a topic, `/` for the root, or its number. The query takes the topics below it, too.
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
    description: "what pages are about; /: anything",
    kind: Kind::Topic,
    default: Some("/"),
};

/// How many rows there may be.
const fn rows(default: &'static str) -> Parameter {
    Parameter { name: "rows", description: "at most so many", kind: Kind::Whole, default: Some(default) }
}

/// The query of that name; `_` will do for `-`.
pub(crate) fn find(name: &str) -> Option<&'static NamedQuery> {
    QUERIES.iter().find(|query| query.name == name.replace('_', "-"))
}
