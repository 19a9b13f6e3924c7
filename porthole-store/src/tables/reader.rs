//! Reads the database while it is written. No transaction outlives its query: in WAL mode it would keep the log from
//! being truncated. A reader never writes to the crawl's database: the crawl would take the write for a change to
//! follow.

use std::ops::RangeInclusive;
use std::path::Path;

use crate::sql::{Connection, Row, params};
use porthole_types::{
    CanonicalUrl, ChangeHistory, Event, SiteId, TermId, Timestamp, TopicId, TopicRow, UrlId,
};

use super::full_text::{self, FullText};
use super::reader_pool::{PooledReader, ReaderPool};
use super::{
    DatabaseLocation, about, commands, counts, graph, hosts, kept, link_story, listing, points, rows, search,
    text_index, topics, tried, upkeep, workspace_writer,
};
use crate::about::{About, Feedback, SiteFacts};
use crate::queries::{self, NamedQuery, QUERIES};
use crate::search::{IndexState, SearchAnswer, SearchRequest};
use crate::{
    Collision, CommandRow, Error, FetchPoint, FetchedUrl, GraphEdge, KeptQuery, KnownUrl, LinkGraph,
    LinkStory, ListedPage, NeighbourEvidence, PageFilter, PageListing, QueryAnswer, QueryLimits, Result,
    RowTable, SiteAddress, SkippedUrl, SqlValue, StoreCounts, StoreReader, StoredExample, StoredHost,
    StoredLink, StoredModel, StoredPage, StoredRobots, TermCounts, TriedUrl, WorkerRow, postgres, sqlite,
};

/// A handle for reading the tables of a crawl. Its clones share a few read-only connections.
#[derive(Clone, Debug)]
pub struct TableReader {
    pool: ReaderPool,
    /// Connections of another role for SQL of users, if there is one.
    questions: Option<ReaderPool>,
    /// Receives messages about long operations.
    tell: fn(&str),
    /// Tables with more rows are indexed for lookups.
    large: i64,
}

impl TableReader {
    /// Opens a SQLite database that another process may write to.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        TableReader::open_at(&path.as_ref().into())
    }

    /// Opens a database that another process may write to.
    pub fn open_at(location: &DatabaseLocation) -> Result<Self> {
        let reader = TableReader::at(location.clone());
        reader.pool.get()?;
        Ok(reader)
    }

    pub(super) fn at(location: DatabaseLocation) -> Self {
        TableReader { pool: ReaderPool::new(location), questions: None, tell: |_| {}, large: sqlite::LARGE }
    }

    /// Where the database is.
    pub(super) fn location(&self) -> &DatabaseLocation {
        self.pool.location()
    }

    /// A connection that reads.
    pub(super) fn connection(&self) -> Result<PooledReader> {
        self.pool.get()
    }

    /// The file, for what there is only with SQLite.
    pub(crate) fn file(&self, what: &'static str) -> Result<&Path> {
        self.pool.location().file(what)
    }

    /// Sets the URL by which SQL of users is asked: the same PostgreSQL database, as a role that can only read.
    pub fn asking_by(self, location: Option<DatabaseLocation>) -> Self {
        TableReader { questions: location.map(ReaderPool::new), ..self }
    }

    /// Sets a function that receives a message when an operation takes long.
    pub fn telling(self, tell: fn(&str)) -> Self {
        TableReader { tell, ..self }
    }

    /// Sets the number of rows from which tables are indexed for lookups of single URLs, in a database beside the
    /// crawl's. The default is 20 million. Only with SQLite.
    pub fn indexing_from(self, rows: u32) -> Self {
        TableReader { large: rows.into(), ..self }
    }

    /// Runs one SQL statement that only reads on several databases at once, given with their names: tables and views are
    /// those of all of them, with the name in a column `workspace`; those of one are `NAME.TABLE`. Only with SQLite.
    pub fn sql_across(
        databases: &[(String, TableReader)],
        sql: &str,
        limits: &QueryLimits,
    ) -> Result<QueryAnswer> {
        let path = |(name, reader): &'_ (String, TableReader)| {
            Ok((name.clone(), reader.file("SQL across several workspaces")?.to_owned()))
        };
        let paths = databases.iter().map(path).collect::<Result<Vec<_>>>()?;
        let paths: Vec<(&str, &Path)> = paths.iter().map(|(name, path)| (name.as_str(), &**path)).collect();
        sqlite::answer(sqlite::open_across(&paths)?, sql, &[], limits)
    }

    /// Searches the full-text index; `None` if there is none yet.
    pub fn search(&self, request: &SearchRequest) -> Result<Option<SearchAnswer>> {
        self.with_text_index(|db, index| search::answer(db, index, request))
    }

    /// How far the full-text index is; `None` if there is none yet.
    pub fn index_state(&self) -> Result<Option<IndexState>> {
        self.with_text_index(|db, index| text_index::state(db, db, index))
    }

    /// Size of the database in bytes, with its log.
    pub fn database_bytes(&self) -> Result<u64> {
        match self.pool.location() {
            DatabaseLocation::File(path) => {
                let size = |end: &str| {
                    let mut name = path.clone().into_os_string();
                    name.push(end);
                    std::fs::metadata(name).map_or(0, |file| file.len())
                };
                Ok(size("") + size("-wal"))
            }
            DatabaseLocation::Postgres(_) => {
                let sql = "select pg_database_size(current_database())";
                Ok(self.pool.get()?.query_row(sql, (), |row| row.get::<i64>(0))?.cast_unsigned())
            }
        }
    }

    /// Whether the connection to a server is encrypted; there is no connection to a file.
    pub fn is_encrypted(&self) -> Result<bool> {
        match self.pool.location() {
            DatabaseLocation::File(_) => Ok(false),
            DatabaseLocation::Postgres(_) => {
                let sql = "select count(*) > 0 from pg_stat_ssl where ssl and pid = pg_backend_pid()";
                self.pool.get()?.query_row(sql, (), |row| row.get(0))
            }
        }
    }

    /// Answers a named query, given with its values, or SQL of a user.
    fn answer(
        &self,
        named: Option<(&NamedQuery, &[(String, SqlValue)])>,
        sql: &str,
        limits: &QueryLimits,
    ) -> Result<QueryAnswer> {
        match self.pool.location() {
            DatabaseLocation::File(path) => {
                let db = sqlite::reader(path)?;
                sqlite::attach_existing(&db, path);
                sqlite::answer(db, sql, named.map_or(&[], |(_, values)| values), limits)
            }
            DatabaseLocation::Postgres(_) => {
                if let Some((query, values)) = named {
                    return postgres::answer_named(&*self.pool.get()?, query.sql, values, limits);
                }
                postgres::answer(&*self.questions.as_ref().unwrap_or(&self.pool).get()?, sql, limits)
            }
        }
    }

    /// Asks a connection with the full-text index; `None` if there is no index.
    fn with_text_index<T>(
        &self,
        ask: impl FnOnce(&Connection, &dyn FullText) -> Result<T>,
    ) -> Result<Option<T>> {
        // An idle connection knows the schema already.
        let pooled = self.pool.get()?;
        let (Some(db), DatabaseLocation::File(path)) = (pooled.sqlite(), self.pool.location()) else {
            let has_index = postgres::has_text_index(&pooled)?;
            return has_index.then(|| ask(&pooled, &*full_text::of_reader(&pooled)?)).transpose();
        };
        if !sqlite::attach_existing(db, path) {
            return Ok(None);
        }
        let sql = "select 1 from readers.sqlite_schema where name = 'page_text'";
        let answer = match db.prepare(sql)?.exists([])? {
            true => full_text::of_reader(&pooled).and_then(|index| ask(&pooled, &*index)).map(Some),
            false => Ok(None),
        };
        db.flush_prepared_statement_cache();
        if db.execute("detach database readers", []).is_err() {
            pooled.discard();
        }
        answer
    }

    /// A connection with the indexes on large tables.
    fn with_indexes(&self) -> Result<Connection> {
        let db = self.pool.location().reader()?;
        if let (Some(sqlite), DatabaseLocation::File(path)) = (db.sqlite(), self.pool.location()) {
            sqlite::attach(sqlite, path, self.large, self.tell)?;
        }
        Ok(db)
    }
}

fn event(row: &Row<'_>) -> Result<(u64, Event)> {
    let event = Event { at: Timestamp(row.get(1)?), kind: row.get(2)?, detail: row.get(3)? };
    Ok((row.get::<i64>(0)?.cast_unsigned(), event))
}

impl StoreReader for TableReader {
    fn graph_after(&self, known: Vec<GraphEdge>) -> Result<LinkGraph> {
        graph::read(&*self.pool.get()?, known)
    }

    fn neighbourhoods(&self) -> Result<Vec<NeighbourEvidence>> {
        graph::neighbourhoods(&*self.pool.get()?)
    }

    fn sites(&self) -> Result<Vec<SiteAddress>> {
        graph::sites(&*self.pool.get()?)
    }

    fn events(&self, after: u64, limit: usize) -> Result<Vec<(u64, Event)>> {
        let db = self.pool.get()?;
        let mut read =
            db.prepare("select id, at, kind, detail from event where id > ?1 order by id limit ?2")?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let events = read.query_map(params![i64::try_from(after).unwrap_or(i64::MAX), limit], event)?;
        Ok(events)
    }

    fn last_events(&self, kinds: &[&str], limit: usize) -> Result<Vec<(u64, Event)>> {
        let db = self.pool.get()?;
        let mut read =
            db.prepare("select id, at, kind, detail from event where kind = ?1 order by id desc limit ?2")?;
        let most = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut last = Vec::new();
        for kind in kinds {
            last.extend(read.query_map(params![*kind, most], event)?);
        }
        last.sort_unstable_by_key(|(id, _)| std::cmp::Reverse(*id));
        last.dedup_by_key(|(id, _)| *id);
        last.truncate(limit);
        Ok(last)
    }

    fn query(&self, name: &str, parameters: &[(&str, &str)], limits: &QueryLimits) -> Result<QueryAnswer> {
        let query = queries::find(name).ok_or_else(|| Error::UnknownQuery(name.to_owned()))?;
        let values = queries::values(query, parameters, || self.topics())?;
        self.answer(Some((query, &values)), query.sql, limits)
    }

    fn sql(&self, sql: &str, limits: &QueryLimits) -> Result<QueryAnswer> {
        self.answer(None, sql, limits)
    }

    fn queries(&self) -> &'static [NamedQuery] {
        QUERIES
    }

    fn topics(&self) -> Result<Vec<TopicRow>> {
        topics::read_topics(&*self.pool.get()?)
    }

    fn examples(&self, topic: Option<TopicId>) -> Result<Vec<StoredExample>> {
        topics::read_examples(&*self.pool.get()?, topic)
    }

    fn visit_examples(&self, visit: &mut dyn FnMut(&StoredExample, &TermCounts)) -> Result<()> {
        topics::visit_examples(&*self.pool.get()?, visit)
    }

    fn words(&self, terms: &[TermId]) -> Result<Vec<Option<String>>> {
        topics::read_words(&*self.pool.get()?, terms)
    }

    fn collisions(&self) -> Result<Vec<Collision>> {
        topics::read_collisions(&*self.pool.get()?)
    }

    fn model(&self, name: &str) -> Result<Option<StoredModel>> {
        topics::read_model(&*self.pool.get()?, name)
    }

    fn model_made(&self, name: &str) -> Result<Option<Timestamp>> {
        topics::read_model_time(&*self.pool.get()?, name)
    }

    fn setting(&self, name: &str) -> Result<Option<String>> {
        workspace_writer::read_setting(&*self.pool.get()?, name)
    }

    fn kept_queries(&self) -> Result<Vec<KeptQuery>> {
        kept::read(&*self.pool.get()?)
    }

    fn command(&self, id: u64) -> Result<Option<CommandRow>> {
        commands::read(&*self.pool.get()?, id)
    }

    fn counts(&self) -> Result<StoreCounts> {
        counts::read(&*self.pool.get()?)
    }

    fn about(&self, url: &CanonicalUrl) -> Result<Option<About>> {
        about::read(&self.with_indexes()?, url)
    }

    fn about_briefly(&self, url: &CanonicalUrl) -> Result<Option<About>> {
        let db = self.with_indexes()?;
        let tx = db.read_transaction()?;
        Ok(about::read_row(&tx, url)?.map(|(_, about)| about))
    }

    fn site(&self, host: &str) -> Result<Option<SiteFacts>> {
        about::read_site(&*self.pool.get()?, host)
    }

    fn known_robots(&self, now: Timestamp) -> Result<Vec<StoredRobots>> {
        hosts::read_robots(&*self.pool.get()?, now)
    }

    fn known_hosts(&self) -> Result<Vec<StoredHost>> {
        hosts::read_hosts(&*self.pool.get()?)
    }

    fn feedback(&self) -> Result<Vec<Feedback>> {
        about::read_feedback(&*self.pool.get()?, &[])
    }

    fn tried(&self, after: Option<u64>, limit: usize) -> Result<Vec<TriedUrl>> {
        tried::read(&*self.pool.get()?, after, limit)
    }

    fn fetch_points(&self, after: Option<u64>, limit: usize) -> Result<Vec<FetchPoint>> {
        points::read(&*self.pool.get()?, after, limit)
    }

    fn fetched_url(&self, seq: u64) -> Result<Option<FetchedUrl>> {
        points::url(&*self.pool.get()?, seq)
    }

    fn last_commands(&self, limit: usize) -> Result<Vec<CommandRow>> {
        commands::last(&*self.pool.get()?, limit)
    }

    fn last_event_id(&self) -> Result<u64> {
        points::last_event_id(&*self.pool.get()?)
    }

    fn link_story(&self, url: &CanonicalUrl, limit: usize) -> Result<Option<LinkStory>> {
        link_story::read(&self.with_indexes()?, url, limit)
    }

    fn page_terms(&self, numbers: &[u64]) -> Result<Vec<Vec<(TermId, u32)>>> {
        tried::page_terms(&*self.pool.get()?, numbers)
    }

    fn visit_histories(&self, visit: &mut dyn FnMut(&ChangeHistory, f64)) -> Result<()> {
        upkeep::histories(&*self.pool.get()?, visit)
    }

    fn last_row(&self, table: RowTable) -> Result<u64> {
        rows::last(&*self.pool.get()?, table)
    }

    fn pages(&self, rows: RangeInclusive<u64>, filter: &PageFilter) -> Result<Vec<StoredPage>> {
        rows::pages(&*self.pool.get()?, rows, filter)
    }

    fn skipped(&self, rows: RangeInclusive<u64>) -> Result<Vec<SkippedUrl>> {
        rows::skipped(&*self.pool.get()?, rows)
    }

    fn urls(&self, rows: RangeInclusive<u64>) -> Result<Vec<KnownUrl>> {
        rows::urls(&*self.pool.get()?, rows)
    }

    fn links(&self, rows: RangeInclusive<u64>) -> Result<Vec<StoredLink>> {
        rows::links(&*self.pool.get()?, rows)
    }

    fn list_pages(&self, wanted: &PageListing) -> Result<Vec<ListedPage>> {
        listing::pages(&*self.pool.get()?, wanted)
    }

    fn links_among(&self, oids: &[UrlId]) -> Result<Vec<(UrlId, UrlId)>> {
        listing::links_among(&self.with_indexes()?, oids)
    }

    fn sites_below(&self, host: &str) -> Result<Vec<SiteId>> {
        rows::sites_below(&*self.pool.get()?, host)
    }

    fn is_crawled(&self) -> Result<bool> {
        match self.pool.location() {
            DatabaseLocation::File(path) => sqlite::is_locked(path),
            DatabaseLocation::Postgres(_) => postgres::is_crawled(&*self.pool.get()?),
        }
    }

    fn workers(&self) -> Result<Vec<WorkerRow>> {
        match self.pool.location() {
            DatabaseLocation::File(_) => Ok(Vec::new()),
            DatabaseLocation::Postgres(_) => postgres::workers(&*self.pool.get()?),
        }
    }

    fn sync(&self) -> Result<()> {
        match self.pool.location() {
            DatabaseLocation::File(path) => sqlite::sync_log(path),
            DatabaseLocation::Postgres(_) => postgres::sync(&*self.pool.get()?),
        }
    }

    fn try_clone(&self) -> Box<dyn StoreReader> {
        Box::new(self.clone())
    }
}
