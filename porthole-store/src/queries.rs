//! The named queries: what people ask of a crawl again and again, V 3.7 first.
//!
//! The SQL keeps to what SQLite and PostgreSQL share.

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
}

/// A parameter of a named query.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name, without the colon.
    pub name: &'static str,
    /// What it means.
    pub description: &'static str,
    /// Its value unless another is given.
    pub default: &'static str,
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
    NamedQuery {
        name: "harvest",
        description: "pages and mean relevance by minute of the last hours of the crawl (V 3.7)",
        sql: "select lastvisited / 60000 as minute, count(*) as pages, avg(relevance) as harvest
              from crawl
              where state = 1
                and lastvisited > (select max(lastvisited) from crawl where state = 1) - :hours * 3600000
              group by lastvisited / 60000
              order by minute",
        parameters: &[Parameter {
            name: "hours",
            description: "how far back, from the last page",
            default: "1",
        }],
        indexes: &[Index {
            name: "crawl_harvest",
            sql: "create index if not exists crawl_harvest on crawl(lastvisited, relevance) where state = 1",
        }],
    },
    NamedQuery {
        name: "missed",
        description: "neighbours of great hubs on other sites that were never tried (V 3.7)",
        sql: "select url, relevance
              from crawl
              where oid in (select oid_dst from link
                            where oid_src in (select oid from hubs order by score desc
                                              limit (select (count(*) * (100 - :percentile) + 99) / 100
                                                     from hubs))
                              and sid_src <> sid_dst)
                and numtries = 0
              order by relevance desc, url
              limit :rows",
        parameters: &[
            Parameter {
                name: "percentile",
                description: "hub scores above this percentile are great",
                default: "90",
            },
            Parameter { name: "rows", description: "at most so many", default: "100" },
        ],
        indexes: &[],
    },
    NamedQuery {
        name: "census",
        description: "fetched pages by the topic that is best for each (V 3.7)",
        sql: "select crawl.kcid, taxonomy.name, count(*) as pages, avg(crawl.relevance) as relevance
              from crawl join taxonomy on taxonomy.kcid = crawl.kcid
              where crawl.state = 1
              group by crawl.kcid, taxonomy.name
              order by pages desc, crawl.kcid
              limit :rows",
        parameters: &[Parameter { name: "rows", description: "at most so many", default: "100" }],
        indexes: &[],
    },
    NamedQuery {
        name: "failures",
        description: "failed tries by kind, with how many URLs failed for good",
        sql: "select failure, count(*) as urls, sum(case when state = 3 then 1 else 0 end) as dead,
                     max(detail) as example
              from crawl
              where failure is not null
              group by failure
              order by urls desc, failure",
        parameters: &[],
        indexes: &[Index {
            name: "crawl_failure",
            sql: "create index if not exists crawl_failure on crawl(failure, state, detail)
                  where failure is not null",
        }],
    },
    NamedQuery {
        name: "sites",
        description: "sites by fetched pages",
        sql: "select host, serverload
              from site
              where serverload > 0
              order by serverload desc, host
              limit :rows",
        parameters: &[Parameter { name: "rows", description: "at most so many", default: "100" }],
        indexes: &[],
    },
    NamedQuery {
        name: "frontier",
        description: "URLs by state and number of tries",
        sql: "select case state when 0 then 'queued' when 1 then 'fetched' when 2 then 'redirected'
                                when 3 then 'dead' else 'skipped' end as state,
                     numtries, count(*) as urls
              from crawl
              group by crawl.state, numtries
              order by crawl.state, numtries",
        parameters: &[],
        indexes: &[],
    },
];

/// The query of that name.
pub(crate) fn find(name: &str) -> Option<&'static NamedQuery> {
    QUERIES.iter().find(|query| query.name == name)
}
