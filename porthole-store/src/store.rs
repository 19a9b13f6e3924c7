//! The interface to the database: takes work, commits results, answers queries.

use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::time::Duration;

use porthole_types::{
    CanonicalUrl, ChangeHistory, Event, Judgment, NewUrl, PageResult, Rank, SegmentSpan, SiteId, TermId,
    Timestamp, TopicId, TopicRow, UrlId, Work,
};

use crate::about::{About, Feedback, SiteFacts};
use crate::topics::{Collision, StoredExample, StoredModel, TermCounts};
use crate::{
    CommandRow, KeptQuery, KnownUrl, ListedPage, NamedQuery, PageFilter, PageListing, Policy, QueryAnswer,
    QueryLimits, Result, RowTable, SkippedUrl, SqlValue, StoredLink, StoredPage, WorkerLease, WorkerRow,
    WorkspaceWriter,
};

/// A crawl's database. One store writes the frontier; any number of [`WorkspaceWriter`]s and [`StoreReader`]s can be
/// open at the same time.
///
/// The tables are authoritative: dropping a store, or killing its process, loses only the work that was taken and not
/// committed, which is queued again at the next open. A power cut may also lose the commits since the last
/// [`StoreReader::sync`].
pub trait Store: WorkspaceWriter {
    /// Adds start URLs, or raises the estimates of known ones. Returns the number of new URLs.
    fn add(&mut self, urls: &[NewUrl]) -> Result<usize>;

    /// Takes the best `n` queued URLs that are due by `now`, in the order of the policy. They are in flight until a
    /// result is committed, they are given back, or the store is opened again.
    ///
    /// Estimates have single precision; ties go to the URL that was discovered first.
    fn take(&mut self, n: usize, now: Timestamp) -> Result<Vec<Work>>;

    /// Takes these URLs, in this order, for strategies that choose themselves. Skips URLs that are not queued, not due
    /// by `now`, in flight, or on a disabled site.
    fn take_these(&mut self, oids: &[UrlId], now: Timestamp) -> Result<Vec<Work>>;

    /// Holds the `n` sites with the best queued URLs by the policy. Until they are released or the store is opened
    /// again, only [`take_of`](Store::take_of) takes their URLs.
    fn hold_sites(&mut self, n: usize, now: Timestamp) -> Result<Vec<SiteId>>;

    /// Takes the best `n` queued URLs of a site that are due by `now`, in the order of the policy.
    fn take_of(&mut self, site: SiteId, n: usize, now: Timestamp) -> Result<Vec<Work>>;

    /// The rank of the best queued URL of a site in the order of the policy.
    fn best_of(&self, site: SiteId) -> Option<Rank>;

    /// The greatest `n` priorities of queued URLs, in descending order, with about the best `per_site` URLs of each site:
    /// those of all held sites and of the `n` sites that come first by the policy. Resting sites do not count.
    fn greatest_priorities(&self, n: usize, per_site: usize) -> Vec<f32>;

    /// The held sites that have a better URL than at the last call.
    fn improved_sites(&mut self) -> Vec<SiteId>;

    /// How many sites that are not held have queued URLs. Costs nothing for those that are available, and a few
    /// nanoseconds for each resting one.
    fn queued_sites(&self) -> QueuedSites;

    /// Releases a held site. It can be held again at once, or from `until` on.
    fn release_site(&mut self, site: SiteId, until: Option<Timestamp>);

    /// Gives back work that will not be done; the URLs return to their places in the order.
    fn give_back(&mut self, oids: &[UrlId]) -> Result<()>;

    /// Writes a batch in one transaction.
    fn commit(&mut self, batch: &Batch<'_>) -> Result<Committed>;

    /// Queues finished URLs again, for revisits and maintenance. Returns their number. Their data stays, and the column
    /// `numtries` continues to count; but for the order, and in [`Work::numtries`], tries start at 0 again, so that a
    /// revisit is not starved by URLs that were never tried (to order by the total, use the policy key `visits`). When
    /// such a page is fetched again, only its new links are added; the first call creates an index for that.
    fn queue_again(&mut self, oids: &[UrlId]) -> Result<usize>;

    /// Records that the archived pages of these URLs are lost: clears their locations and queues the finished ones
    /// again, as [`queue_again`](Self::queue_again) does. One transaction.
    fn lose_pages(&mut self, oids: &[UrlId]) -> Result<()>;

    /// Puts fetched pages that are not under maintenance there: their next visit is due `first` after the last one.
    /// Returns the number of pages under maintenance.
    fn maintain_pages(&mut self, first: Duration) -> Result<usize>;

    /// Pages under maintenance that are queued again, in the order of their rows; not those that were queued because their
    /// archived pages are lost.
    fn waiting_visits(&self) -> Result<Vec<UrlId>>;

    /// Finishes URLs again that were queued again and not visited, in their states before, and writes settings in the same
    /// transaction. Those that are in flight or not queued stay as they are.
    fn cancel_revisits(&mut self, oids: &[UrlId], settings: &[(&str, &str)]) -> Result<()>;

    /// Sets when pages under maintenance are due, from what is known of their changes, their hub scores and when they were
    /// last visited, and writes settings in the same transaction. Pages that are gone stay as they are.
    fn reschedule(
        &mut self,
        due: &mut dyn FnMut(&ChangeHistory, f64, Timestamp) -> Timestamp,
        settings: &[(&str, &str)],
    ) -> Result<()>;

    /// Pages under maintenance that are due, the earliest first. Pages that are queued or on disabled sites are not
    /// among them.
    fn due_pages(&self, due: DuePages) -> Result<Vec<UrlId>>;

    /// When the next page under maintenance is due; `None` if there is none.
    fn next_visit(&self) -> Result<Option<Timestamp>>;

    /// Whether no queued URL could be taken now: all are in flight, wait for a retry, or are on disabled sites.
    fn is_idle(&self) -> bool;

    /// The number of queued pages that were fetched before, including those in flight and without those that wait for
    /// another try.
    fn queued_revisits(&self) -> usize;

    /// The order in which work is taken.
    fn policy(&self) -> &Policy;

    /// Changes the order in which work is taken, at once and permanently. Stored as the setting `policy`.
    fn set_policy(&mut self, policy: &Policy) -> Result<()>;

    /// Limits the number of queued URLs (MAX_BUFFER of P 2.2), now and after every write: the worst by the policy are
    /// evicted and forgotten. When a link to one is seen again, it is queued like a new URL, with the estimate of that link
    /// alone and behind all URLs that are known by then. URLs in flight or on disabled sites do not count, and URLs that are given back are not evicted before the
    /// next write. Stored as the setting `bound`.
    ///
    /// A write that exceeds the bound takes time proportional to the bound, so it is meant for small bounds.
    fn bound(&mut self, most: Option<usize>) -> Result<()>;

    /// Disables or enables sites by host, as the table `site` has it (W 4.2), at once. URLs of a disabled site stay
    /// queued and are not taken. Unknown sites are added.
    fn switch_sites(&mut self, hosts: &[(&str, bool)]) -> Result<()>;

    /// Picks up changes of other writers: disabled sites and the policy. Returns whether anything was written since the
    /// last call or since the store was opened. Takes microseconds if not.
    fn follow_changes(&mut self) -> Result<bool>;

    /// When the next URL that waits for a retry is due.
    fn next_due(&self) -> Option<Timestamp>;

    /// The current counts, from memory.
    fn counts(&self) -> StoreCounts;

    /// The number of this worker, if several can share the crawl.
    fn worker(&self) -> Option<u32> {
        None
    }

    /// Whether a site is this worker's.
    fn owns(&self, site: SiteId) -> bool {
        let _ = site;
        true
    }

    /// Whether this worker does what one of all does: it answers commands and computes hubs.
    fn is_leader(&self) -> bool {
        true
    }

    /// Whether there are other workers now.
    fn has_others(&self) -> bool {
        false
    }

    /// Must be fresh when a request is sent.
    fn lease(&self) -> Option<WorkerLease> {
        None
    }

    /// Takes part in the work of all: reads links that others have found, takes and gives up sites as workers come and go.
    /// To be called about ten times a second. `busy` are the sites of which something is in flight or held. Returns those
    /// among them that another worker is to have: no more of their URLs are taken, and they are given up when they are not
    /// busy any more. `learn` is called with what others have shown ([`Batch::shown`]), in their order, and returns the
    /// priorities that URLs have then.
    fn share(&mut self, busy: &[SiteId], learn: &mut Learn<'_>) -> Result<Vec<SiteId>> {
        let _ = (busy, learn);
        Ok(Vec::new())
    }

    /// Whether other workers have told something since the last [`share`](Store::share). Costs nothing.
    fn has_news(&self) -> bool {
        false
    }

    /// Whether pages should be shown to the strategies of other workers.
    fn shows_pages(&self) -> bool {
        false
    }

    /// Asks the other workers for what their strategies have learnt, or does so no longer.
    fn ask_for_memory(&mut self, asks: bool) -> Result<()> {
        let _ = asks;
        Ok(())
    }

    /// The workers that have asked for what strategies have learnt, and that this worker is to answer. Nobody gives up sites
    /// for them before.
    fn memory_asked_by(&self) -> Vec<u32> {
        Vec::new()
    }

    /// Answers a worker. It is shown the bytes, if there are any, as it is shown pages ([`share`](Store::share)), before it gets
    /// sites of this worker.
    fn send_memory(&mut self, to: u32, memory: Option<&[u8]>) -> Result<()> {
        let _ = (to, memory);
        Ok(())
    }

    /// Sets how many URLs this worker takes at a time; 0 if it takes none for now. The others are told how good its best
    /// queued URLs are, with every commit and at least about once a second.
    fn announce(&mut self, slots: usize) {
        let _ = slots;
    }

    /// How many of the best `n` queued URLs are in their turn: as many others as all workers take at a time may be better,
    /// by their priorities. All of them if the policy has another order, or nobody else has told anything for two seconds.
    fn in_turn(&self, n: usize) -> usize {
        n
    }

    /// The priorities of the best queued URLs of the other workers, in descending order.
    fn best_of_others(&self) -> &[f32] {
        &[]
    }

    /// Reserves up to `most` more pages for this worker, of the `whole` that all workers together may fetch in a run.
    /// Returns how many: none if all are fetched or reserved by others. A run begins with the first worker.
    fn reserve_pages(&mut self, whole: u64, most: u64) -> Result<u64> {
        let _ = whole;
        Ok(most)
    }

    /// Whether no worker has anything left to fetch now, given that this one has not.
    fn is_over(&mut self) -> Result<bool> {
        Ok(true)
    }

    /// Does one slice of deferred writes, a few milliseconds long, if it is time: estimates of queued URLs are written
    /// to the tables later, in bulk. Returns whether there is more to do now.
    fn catch_up(&mut self) -> Result<bool>;

    /// Writes all deferred estimates to the tables. Until then readers may see older estimates of queued URLs. For the
    /// end of a crawl, and before queries on the frontier.
    fn tidy(&mut self) -> Result<()>;
}

/// What a worker does with something that another one has shown. Returns priorities of URLs; those that are not this
/// worker's are ignored.
pub type Learn<'a> = dyn FnMut(&[u8]) -> Vec<(UrlId, f64)> + 'a;

/// Reads a crawl's database while it is written. Each call sees one consistent state.
pub trait StoreReader: Send + Sync {
    /// The current link graph.
    fn graph(&self) -> Result<LinkGraph> {
        self.graph_after(Vec::new())
    }

    /// The current link graph. `known` are the edges of an earlier snapshot: links are only ever appended, so that only
    /// the newer ones are read.
    fn graph_after(&self, known: Vec<GraphEdge>) -> Result<LinkGraph>;

    /// Events with an id above `after`, oldest first, at most `limit`.
    fn events(&self, after: u64, limit: usize) -> Result<Vec<(u64, Event)>>;

    /// The last events of these kinds, newest first, at most `limit`.
    fn last_events(&self, kinds: &[&str], limit: usize) -> Result<Vec<(u64, Event)>>;

    /// Runs a named query; parameters that are not given have their defaults.
    fn query(&self, name: &str, parameters: &[(&str, &str)], limits: &QueryLimits) -> Result<QueryAnswer>;

    /// The figures of the pages of a crawl, by their present judgments. Reads all of them.
    fn progress(&self) -> Result<CrawlProgress> {
        let answer = self.query("progress", &[], &QueryLimits::default())?;
        let row = answer.rows.first().map_or(&[][..], Vec::as_slice);
        let count = |at: usize| row.get(at).and_then(SqlValue::integer).and_then(|n| usize::try_from(n).ok());
        Ok(CrawlProgress {
            pages: count(0).unwrap_or(0),
            relevant: count(1).unwrap_or(0),
            harvest: row.get(2).and_then(SqlValue::real),
            recent_harvest: row.get(3).and_then(SqlValue::real),
            last_page: row.get(4).and_then(SqlValue::integer).map(Timestamp),
        })
    }

    /// Runs a SQL statement that only reads.
    fn sql(&self, sql: &str, limits: &QueryLimits) -> Result<QueryAnswer>;

    /// The named queries.
    fn queries(&self) -> &'static [NamedQuery];

    /// The topic tree, by id; it always has the root.
    fn topics(&self) -> Result<Vec<TopicRow>>;

    /// The examples of a topic, or of all topics, in the order of insertion.
    fn examples(&self, topic: Option<TopicId>) -> Result<Vec<StoredExample>>;

    /// Visits every example with its terms, in the order of insertion; for training.
    fn visit_examples(&self, visit: &mut dyn FnMut(&StoredExample, &TermCounts)) -> Result<()>;

    /// A readable word for each term that has one. If several stems share the term, all their words, as `this/that`,
    /// since it is unknown which of them a page had.
    fn words(&self, terms: &[TermId]) -> Result<Vec<Option<String>>>;

    /// The terms that stand for more than one stem, by id.
    fn collisions(&self) -> Result<Vec<Collision>>;

    /// A stored model by name.
    fn model(&self, name: &str) -> Result<Option<StoredModel>>;

    /// When a model was trained; `None` if there is none.
    fn model_made(&self, name: &str) -> Result<Option<Timestamp>>;

    /// The value of a setting.
    fn setting(&self, name: &str) -> Result<Option<String>>;

    /// The kept queries, by name.
    fn kept_queries(&self) -> Result<Vec<KeptQuery>>;

    /// The counts as of the store's last write, in constant time; no URL counts as in flight.
    fn counts(&self) -> Result<StoreCounts>;

    /// Everything known about a URL; `None` if it is unknown.
    fn about(&self, url: &CanonicalUrl) -> Result<Option<About>>;

    /// The data in the URL's own row, without links, rank, scores and feedback.
    fn about_briefly(&self, url: &CanonicalUrl) -> Result<Option<About>>;

    /// Data of a site, by host.
    fn site(&self, host: &str) -> Result<Option<SiteFacts>>;

    /// All known sites, in the order of discovery.
    fn sites(&self) -> Result<Vec<SiteAddress>>;

    /// The robots.txt files that an earlier run knew and that need not be asked for again before `now`.
    fn known_robots(&self, now: Timestamp) -> Result<Vec<StoredRobots>>;

    /// The hosts that an earlier run knew.
    fn known_hosts(&self) -> Result<Vec<StoredHost>>;

    /// The latest feedback on each page, hub and site, oldest first.
    fn feedback(&self) -> Result<Vec<Feedback>>;

    /// Relevance of pages combined with that of their neighbours, by page id.
    fn neighbourhoods(&self) -> Result<Vec<NeighbourEvidence>>;

    /// Term counts of fetched pages, by [`TriedUrl::terms`]; empty for an unknown number.
    fn page_terms(&self, numbers: &[u64]) -> Result<Vec<Vec<(TermId, u32)>>>;

    /// Whether a store is open on the database, in this or another process.
    fn is_crawled(&self) -> Result<bool>;

    /// The workers that share the crawl, by number; none if it was never shared.
    fn workers(&self) -> Result<Vec<WorkerRow>>;

    /// A command to a running crawl, with its answer.
    fn command(&self, id: u64) -> Result<Option<CommandRow>>;

    /// The URLs tried after the fetch number `after`, in the order of the fetches, at most `limit`.
    fn tried(&self, after: Option<u64>, limit: usize) -> Result<Vec<TriedUrl>>;

    /// The results of the fetches after the fetch number `after`, in their order, at most `limit`: for charts. Of a URL
    /// that was fetched several times, only the last fetch is among them.
    fn fetch_points(&self, after: Option<u64>, limit: usize) -> Result<Vec<FetchPoint>>;

    /// The URL of a fetch with its title; `None` if there is no such fetch.
    fn fetched_url(&self, seq: u64) -> Result<Option<FetchedUrl>>;

    /// The last `limit` commands to crawls, the newest first.
    fn last_commands(&self, limit: usize) -> Result<Vec<CommandRow>>;

    /// The number of the last event; 0 if there is none.
    fn last_event_id(&self) -> Result<u64>;

    /// How a URL was found, and the first `limit` links of its page; `None` if it is unknown.
    fn link_story(&self, url: &CanonicalUrl, limit: usize) -> Result<Option<LinkStory>>;

    /// Visits every page under maintenance: what is known of its changes, and its hub score.
    fn visit_histories(&self, visit: &mut dyn FnMut(&ChangeHistory, f64)) -> Result<()>;

    /// The last row number of a table; 0 if it is empty.
    fn last_row(&self, table: RowTable) -> Result<u64>;

    /// The fetched pages in a range of rows of `crawl`, in their order. Callers ask for a few thousand rows at a time.
    fn pages(&self, rows: RangeInclusive<u64>, filter: &PageFilter) -> Result<Vec<StoredPage>>;

    /// The URLs in a range of rows of `crawl` that failed, were skipped, evicted or rejected, in their order.
    fn skipped(&self, rows: RangeInclusive<u64>) -> Result<Vec<SkippedUrl>>;

    /// The queued URLs and fetched pages in a range of rows of `crawl`, in their order.
    fn urls(&self, rows: RangeInclusive<u64>) -> Result<Vec<KnownUrl>>;

    /// The links in a range of rows of `edge`, in their order.
    fn links(&self, rows: RangeInclusive<u64>) -> Result<Vec<StoredLink>>;

    /// Judged pages that are no duplicates, as a list for people.
    fn list_pages(&self, wanted: &PageListing) -> Result<Vec<ListedPage>>;

    /// The links among some URLs, each once, as pairs of source and target.
    fn links_among(&self, oids: &[UrlId]) -> Result<Vec<(UrlId, UrlId)>>;

    /// The sites of a host and of all names below it, on any port.
    fn sites_below(&self, host: &str) -> Result<Vec<SiteId>>;

    /// Waits until everything committed before this call is on disk and survives a power cut. Commits do not wait for
    /// that.
    fn sync(&self) -> Result<()>;

    /// Another handle on the same database.
    fn try_clone(&self) -> Box<dyn StoreReader>;
}

/// Writes of one transaction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Batch<'a> {
    /// Results of the work that was taken.
    pub results: &'a [PageResult],
    /// Rescored pages, because the good topics have changed; applied after the results. Ignored for URLs without a
    /// page.
    pub judgments: &'a [Rejudged],
    /// New estimates of URLs, up or down; applied after the judgments. Ignored for finished URLs.
    pub estimates: &'a [Estimate],
    /// Estimates recomputed from the linking pages, up or down; applied after the estimates. Ignored for finished URLs.
    pub refreshed: &'a [Refreshed],
    /// Lower bounds of estimates, as a link would give them: used where they exceed the estimate. Applied last. Ignored
    /// for finished URLs.
    pub raised: &'a [Estimate],
    /// New priorities from the strategy, up or down; the estimated relevance stays. The last entry for a URL wins.
    /// Applied after `raised`. Ignored for URLs that are not queued.
    pub priorities: &'a [(UrlId, f64)],
    /// URLs that were not found as links; added like start URLs.
    pub urls: &'a [NewUrl],
    /// IP addresses of sites. Ignored for unknown sites.
    pub addresses: &'a [(SiteId, IpAddr)],
    /// What became known of robots.txt files.
    pub robots: &'a [StoredRobots],
    /// What became known of hosts.
    pub hosts: &'a [StoredHost],
    /// A full queue makes room before a link is added, as in P Fig. 1: the last link that this batch adds stays, however
    /// bad it is. Otherwise the worst URLs are evicted, whenever they were added.
    pub protect_newest: bool,
    /// Finished URLs to queue again, as [`Store::queue_again`] does; after the results.
    pub again: &'a [UrlId],
    /// Settings to write in the same transaction, so that they agree with the results.
    pub settings: &'a [(&'a str, &'a str)],
    /// The setting with the sequence number of the next fetch. Workers share it: the store gives the results the numbers
    /// from there on, in their order, and writes it. Ignored by a store that is alone.
    pub numbered_by: Option<&'a str>,
    /// What the strategies of other workers are to see of the results. Ignored by a store that is alone.
    pub shown: &'a [Vec<u8>],
}

/// Which pages under maintenance to visit; see [`Store::due_pages`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DuePages {
    /// Those that are due by then; `None`: all.
    pub until: Option<Timestamp>,
    /// Those that were last visited before.
    pub visited_before: Option<Timestamp>,
    /// Maximum number.
    pub most: usize,
}

/// A robots.txt as a crawl last knew it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRobots {
    /// Id of its URL.
    pub oid: UrlId,
    /// Its site.
    pub sid: SiteId,
    /// It is not asked for again before.
    pub until: Timestamp,
    /// Since when it is out of reach.
    pub since: Option<Timestamp>,
    /// Why it is out of reach.
    pub detail: Option<String>,
    /// The lines that apply to the crawl, if there are any.
    pub rules: Option<String>,
}

/// A host as a crawl last knew it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredHost {
    /// The site.
    pub sid: SiteId,
    /// When this was known.
    pub at: Timestamp,
    /// Whether its last answer came quickly.
    pub is_quick: bool,
    /// Failures in a row.
    pub trouble: u32,
    /// It is not asked earlier.
    pub not_before: Timestamp,
}

/// A new judgment of a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rejudged {
    /// The URL.
    pub oid: UrlId,
    /// The new judgment.
    pub judgment: Judgment,
}

/// A URL that was tried, with the result.
#[derive(Clone, Debug, PartialEq)]
pub struct TriedUrl {
    /// The URL.
    pub oid: UrlId,
    /// The URL as text.
    pub url: String,
    /// Sequence number of the fetch in the crawl.
    pub seq: u64,
    /// When it was tried.
    pub at: Timestamp,
    /// Number of links from a start URL.
    pub depth: u32,
    /// The critic's judgment of the page, if there is one.
    pub judgment: Option<Judgment>,
    /// Whether it is a fetched page, which may be queued for a revisit.
    pub is_page: bool,
    /// Simhash of the page's text.
    pub simhash: u64,
    /// Whether it is finished: not queued for a retry or revisit.
    pub is_done: bool,
    /// Kind of the failure, if it failed.
    pub failure: Option<String>,
    /// Location of the page in the archive.
    pub span: Option<SegmentSpan>,
    /// Key of the page's terms for [`StoreReader::page_terms`].
    pub terms: Option<u64>,
    /// The page of which this is a duplicate.
    pub copy_of: Option<UrlId>,
}

/// The figures of the pages of a crawl.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CrawlProgress {
    /// Fetched pages, with duplicates.
    pub pages: usize,
    /// Relevant pages: fetched, no duplicate, and with an R of at least one half.
    pub relevant: usize,
    /// Mean R; duplicates count as 0. `None` without pages.
    pub harvest: Option<f64>,
    /// The same of the last hundred pages.
    pub recent_harvest: Option<f64>,
    /// When the last page was visited.
    pub last_page: Option<Timestamp>,
}

/// The result of a fetch, as a chart shows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FetchPoint {
    /// Sequence number of the fetch.
    pub seq: u64,
    /// Row of the URL.
    pub row: u64,
    /// Whether the URL was finished before this fetch.
    pub is_revisit: bool,
    /// When it was made.
    pub at: Timestamp,
    /// What became of it.
    pub outcome: FetchOutcome,
    /// The critic's judgment of the page, if there is one.
    pub judgment: Option<Judgment>,
    /// R of the URL's page as it counts, 0 for a duplicate; `None` if it has none. A page that could not be visited again
    /// stays a page until that is tried again.
    pub credit: Option<f64>,
}

/// What became of a fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchOutcome {
    /// A page.
    Page,
    /// A redirect to another URL.
    Redirect,
    /// A permanent failure.
    Dead,
    /// Skipped on purpose.
    Skipped,
    /// A page that is a duplicate of another.
    Copy,
    /// A failure; another try follows.
    Retry,
}

/// A fetched URL with its title.
#[derive(Clone, Debug, PartialEq)]
pub struct FetchedUrl {
    /// The result.
    pub point: FetchPoint,
    /// The URL.
    pub url: String,
    /// The page's title; may be empty.
    pub title: String,
    /// Kind of the failure, if it failed.
    pub failure: Option<String>,
}

/// How a URL was found, and the links of its page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkStory {
    /// The pages from a start URL to the URL itself, each with the anchor text of the link to it; the first link that was
    /// found counts.
    pub found: Vec<StoryPage>,
    /// The targets of the links of its page, in the order of discovery.
    pub links: Vec<StoryPage>,
}

/// A page at an end of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct StoryPage {
    /// Its URL.
    pub url: String,
    /// Its title; empty if there is none or it was not fetched.
    pub title: String,
    /// R(d) if the page was judged, otherwise the estimate.
    pub relevance: f64,
    /// Its state.
    pub state: crate::UrlState,
    /// Anchor text of the link; empty if there is none.
    pub anchor: String,
}

/// A new estimate of a queued URL.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The URL.
    pub oid: UrlId,
    /// Estimated relevance, in 0..=1.
    pub relevance: f64,
    /// The strategy's priority.
    pub priority: f64,
}

/// A recomputed estimate of a queued URL, from the pages that link to it. A priority that was equal to the estimate
/// changes with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Refreshed {
    /// The URL.
    pub oid: UrlId,
    /// The estimate on which the change is based; if it has changed meanwhile, it stays.
    pub before: f64,
    /// The new estimate.
    pub relevance: f64,
}

/// Effect of a commit on the frontier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Committed {
    /// New URLs.
    pub new_urls: usize,
    /// Queued URLs whose estimate has changed.
    pub believed: usize,
    /// URLs evicted from the bounded queue.
    pub evicted: usize,
    /// URLs that other workers are told of.
    pub told: usize,
    /// The sequence number of the next fetch, if the store has numbered the results.
    pub next_seq: Option<u64>,
}

/// Row counts of a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreCounts {
    /// URLs, in any state.
    pub known: usize,
    /// URLs yet to be fetched, including those in flight.
    pub queued: usize,
    /// URLs that were taken and have no result yet.
    pub in_flight: usize,
    /// Fetched pages.
    pub fetched: usize,
    /// Redirected URLs.
    pub redirected: usize,
    /// URLs that failed permanently.
    pub dead: usize,
    /// URLs skipped on purpose.
    pub skipped: usize,
    /// URLs evicted from the bounded queue.
    pub evicted: usize,
    /// URLs reached only by links that the strategy does not follow.
    pub rejected: usize,
    /// Queued URLs on disabled sites.
    pub parked: usize,
    /// Links.
    pub links: usize,
    /// Sites.
    pub sites: usize,
    /// Pages that are duplicates of others.
    pub copies: usize,
}

/// Numbers of sites that have queued URLs and are not held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueuedSites {
    /// Sites that can be held now.
    pub available: usize,
    /// Sites that were released until a later time.
    pub resting: usize,
}

/// Result of a distillation.
#[derive(Clone, Copy, Debug, Default)]
pub struct DistilledScores<'a> {
    /// Hub scores.
    pub hubs: &'a [(UrlId, f64)],
    /// Authority scores.
    pub auth: &'a [(UrlId, f64)],
    /// Changed neighbourhoods; those of other pages stay.
    pub neighbourhoods: &'a [NeighbourEvidence],
}

/// Relevance of a page combined with that of its neighbours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NeighbourEvidence {
    /// The page.
    pub oid: UrlId,
    /// Relevance by text and neighbours.
    pub relevance: f64,
    /// R(d) by the text alone, from which this was computed.
    pub own: f64,
    /// Number of sites with judged neighbours.
    pub sites: u32,
    /// Mean relevance of the neighbours, averaged by site.
    pub evidence: f64,
}

/// Priorities above this mark URLs that were raised above all priorities of strategies.
pub const RAISED: f64 = 1e6;

/// A site and its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteAddress {
    /// The site.
    pub sid: SiteId,
    /// Host, with the port if it is not the default.
    pub host: String,
    /// IP address of the last crawl.
    pub address: Option<IpAddr>,
}

/// A snapshot of the link graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkGraph {
    /// All known URLs, in the order of discovery.
    pub nodes: Vec<GraphNode>,
    /// All links, in the order of discovery.
    pub edges: Vec<GraphEdge>,
}

/// A URL in the link graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GraphNode {
    /// The URL.
    pub oid: UrlId,
    /// Its site.
    pub sid: SiteId,
    /// R(d) if the page was judged, otherwise the estimate.
    pub relevance: f32,
    /// Whether the page was fetched.
    pub fetched: bool,
    /// Whether it was tried, or skipped on purpose.
    pub tried: bool,
    /// Whether it is unfetched and its estimate comes from the linking pages: it is no start URL, and was not
    /// [raised above](RAISED) them.
    pub follows: bool,
}

/// A link. Kept small, since a page has about fifty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphEdge {
    /// Index of the linking page in the nodes.
    pub src: u32,
    /// Index of the target in the nodes.
    pub dst: u32,
}
