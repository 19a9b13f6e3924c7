//! The named queries: what people ask of a crawl again and again. [`monitor`] asks how it is doing, [`standing`]
//! and [`communities`] what it found out about topics, their pages and the links between them.
//!
//! The SQL keeps to what SQLite and PostgreSQL share.

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
    /// Indexes it needs to be quick, made when it is first asked. The hot path pays for them from then on,
    /// so they cover few rows and grow at their end.
    pub indexes: &'static [Index],
    /// Whether it looks for links by their ends. For large tables the indexes for that are made, unless a crawl
    /// runs: it would pay for them at every link, and takes them away when it begins.
    pub follows_links: bool,
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

/// An index that a query wants.
#[derive(Clone, Copy, Debug)]
pub struct Index {
    /// Its name.
    pub name: &'static str,
    /// The statement that makes it.
    pub sql: &'static str,
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

/// With these, counting URLs by state reads only those that were dealt with.
pub(crate) const COUNTS: &[Index] = &[
    monitor::HARVEST,
    monitor::FAILURE,
    Index {
        name: "crawl_redirected",
        sql: "create index if not exists crawl_redirected on crawl(state) where state = 2",
    },
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
