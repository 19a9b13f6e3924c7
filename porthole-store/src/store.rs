//! The one interface to the database: work out, results in, questions answered.

use std::net::IpAddr;

use porthole_types::{
    CanonicalUrl, Event, Judgment, NewUrl, PageResult, Rank, SegmentSpan, SiteId, TermId, Timestamp, TopicId,
    TopicRow, UrlId, Work,
};

use crate::about::{About, Feedback, SiteFacts};
use crate::topics::{Collision, Example, Model, Terms};
use crate::{Answer, CommandRow, Limits, NamedQuery, Policy, Result, WorkspaceWriter};

/// A crawl's database. One store writes the frontier; any number of [`WorkspaceWriter`]s write beside it, and of
/// [`StoreReader`]s read meanwhile.
///
/// The tables are the truth: dropping a store, or killing its process, loses nothing but the work that was
/// taken and not yet committed, and that is queued again at the next open. A power cut may also lose the commits since
/// the last [`StoreReader::sync`].
pub trait Store: WorkspaceWriter {
    /// Adds start URLs, or raises what is believed of those that are known. Returns how many were new.
    fn add(&mut self, urls: &[NewUrl]) -> Result<usize>;

    /// Takes the best `n` queued URLs that are due by `now`, in the order of the policy. They are in flight
    /// until a result is committed, they are given back, or the store is opened again.
    ///
    /// Estimates are kept at single precision; ties go to the URL that was known first.
    fn take(&mut self, n: usize, now: Timestamp) -> Result<Vec<Work>>;

    /// Takes these URLs, in this order, for strategies that choose themselves. Those that are not queued, not
    /// due by `now`, in flight, or on a disabled site are left out.
    fn take_these(&mut self, oids: &[UrlId], now: Timestamp) -> Result<Vec<Work>>;

    /// Holds the best `n` sites, those with the best queued URLs by the policy: what is queued of them is taken by
    /// [`take_of`](Store::take_of) and by nothing else, until they are released or the store is opened again.
    fn hold_sites(&mut self, n: usize, now: Timestamp) -> Result<Vec<SiteId>>;

    /// Takes the best `n` queued URLs of a site that are due by `now`, in the order of the policy.
    fn take_of(&mut self, site: SiteId, n: usize, now: Timestamp) -> Result<Vec<Work>>;

    /// Where the best queued URL of a site stands in the order of the policy.
    fn best_of(&self, site: SiteId) -> Option<Rank>;

    /// The held sites that have a better URL than when this was last asked.
    fn improved_sites(&mut self) -> Vec<SiteId>;

    /// Nobody holds a site any more. It can be held again at once, or not before `until`.
    fn release_site(&mut self, site: SiteId, until: Option<Timestamp>);

    /// Gives back work that will not be done; it takes its old place in the order.
    fn give_back(&mut self, oids: &[UrlId]) -> Result<()>;

    /// Writes a batch, all of it or nothing.
    fn commit(&mut self, batch: &Batch<'_>) -> Result<Committed>;

    /// Queues URLs again that are done, for revisits and maintenance; how many they were. What is known of
    /// them stays, and `numtries` goes on counting; but for the order, and in [`Work::numtries`], tries
    /// count from 0 again, so that a revisit is not starved by URLs that were never tried (the policy key
    /// `visits` is for those who want that). Of the links of a page that comes again, only those are added
    /// that are not known of it; the first call makes an index for that.
    fn queue_again(&mut self, oids: &[UrlId]) -> Result<usize>;

    /// The kept pages of these URLs are gone: nothing says any more where they are, and those that are done are queued
    /// again, like [`queue_again`](Self::queue_again) does it. All or nothing.
    fn lose_pages(&mut self, oids: &[UrlId]) -> Result<()>;

    /// The order in which work is taken.
    fn policy(&self) -> &Policy;

    /// Changes the order in which work is taken, at once and until it is changed again, also for those who
    /// open the store later. It is kept as the setting `policy`.
    fn set_policy(&mut self, policy: &Policy) -> Result<()>;

    /// Lets at most so many URLs wait in the queue (MAX_BUFFER of P 2.2), now and after every write: the
    /// worst by the policy go. They keep what was believed of them, and are queued again when a link to
    /// them is seen, if they are good enough then. URLs in flight or on disabled sites do not count, and what
    /// is given back is not evicted before the next write. Kept as the setting `bound`.
    ///
    /// A write that is too much takes time in proportion to the bound: this is for small ones.
    fn bound(&mut self, most: Option<usize>) -> Result<()>;

    /// Disables sites, or enables them again, by the names of their hosts as `site` has them (W 4.2), at
    /// once. URLs of a disabled site stay queued and are not taken. Sites that are not known become so.
    fn switch_sites(&mut self, hosts: &[(&str, bool)]) -> Result<()>;

    /// Follows what was written beside this store: which sites are disabled, and the policy. Whether others
    /// wrote anything since the last look, or since the store was opened. Costs microseconds if not.
    fn look_again(&mut self) -> Result<bool>;

    /// When the next URL that waits for another try is due.
    fn next_due(&self) -> Option<Timestamp>;

    /// The current counts, from memory.
    fn counts(&self) -> Counts;

    /// Does a piece of what the tables have to catch up with, a few milliseconds long, if it is time for that: estimates
    /// of queued URLs are written there later and together. Whether there is more to do now.
    fn catch_up(&mut self) -> Result<bool>;

    /// Brings the tables wholly up to date for readers: until then, the estimates that they show of queued
    /// URLs may be older ones. For the end of a crawl, and before questions about the frontier.
    fn tidy(&mut self) -> Result<()>;
}

/// Reads a crawl's database while it is written. Each call sees one consistent state.
pub trait StoreReader: Send + Sync {
    /// The link graph as it is now.
    fn graph(&self) -> Result<Graph>;

    /// Events with an id above `after`, oldest first, at most `limit`.
    fn events(&self, after: u64, limit: usize) -> Result<Vec<(u64, Event)>>;

    /// Answers a named query; parameters that are not given have their defaults.
    fn query(&self, name: &str, parameters: &[(&str, &str)], limits: &Limits) -> Result<Answer>;

    /// Answers a question in SQL, which may read and nothing else.
    fn sql(&self, sql: &str, limits: &Limits) -> Result<Answer>;

    /// The named queries.
    fn queries(&self) -> &'static [NamedQuery];

    /// The tree of topics, by id; there is always the root.
    fn topics(&self) -> Result<Vec<TopicRow>>;

    /// The examples of a topic, or of all topics, in the order in which they came.
    fn examples(&self, topic: Option<TopicId>) -> Result<Vec<Example>>;

    /// Shows every example with its terms, in the order in which they came; for training.
    fn visit_examples(&self, visit: &mut dyn FnMut(&Example, &Terms)) -> Result<()>;

    /// A readable word for each term that has one. If several stems share the term, all their words, as
    /// `this/that`: which of them a page had is not known.
    fn words(&self, terms: &[TermId]) -> Result<Vec<Option<String>>>;

    /// The terms that stand for more than one stem, by id.
    fn collisions(&self) -> Result<Vec<Collision>>;

    /// The model of a name.
    fn model(&self, name: &str) -> Result<Option<Model>>;

    /// The value of a setting.
    fn setting(&self, name: &str) -> Result<Option<String>>;

    /// The counts as of the store's last write, in constant time; nothing is in flight there.
    fn counts(&self) -> Result<Counts>;

    /// Everything that is known of a URL; `None` if nothing is.
    fn about(&self, url: &CanonicalUrl) -> Result<Option<About>>;

    /// What its own row says of a URL: its links, rank, scores and feedback are left out.
    fn about_briefly(&self, url: &CanonicalUrl) -> Result<Option<About>>;

    /// What is known of a site, by the name of its host.
    fn site(&self, host: &str) -> Result<Option<SiteFacts>>;

    /// All known sites, in the order in which they became known.
    fn sites(&self) -> Result<Vec<Site>>;

    /// What people say of what was found: the last word on each, oldest first.
    fn feedback(&self) -> Result<Vec<Feedback>>;

    /// How relevant pages are after what their neighbours say, by their ids.
    fn neighbourhoods(&self) -> Result<Vec<Neighbourhood>>;

    /// How often each term occurs on pages that were fetched, by [`Tried::terms`]; nothing for a number that is not there.
    fn page_terms(&self, numbers: &[u64]) -> Result<Vec<Vec<(TermId, u32)>>>;

    /// Whether a store is open on the database now, here or in another process.
    fn is_crawled(&self) -> Result<bool>;

    /// A command to a running crawl, and its answer.
    fn command(&self, id: u64) -> Result<Option<CommandRow>>;

    /// What was tried behind the fetch of that number, in the order of the fetches, at most `limit`.
    fn tried(&self, after: Option<u64>, limit: usize) -> Result<Vec<Tried>>;

    /// Waits until everything that was committed before this call would survive a power cut. Commits themselves do not
    /// wait for that.
    fn sync(&self) -> Result<()>;

    /// Another handle on the same database.
    fn try_clone(&self) -> Box<dyn StoreReader>;
}

/// What is committed together.
#[derive(Clone, Copy, Debug, Default)]
pub struct Batch<'a> {
    /// What became of the work that was taken.
    pub results: &'a [PageResult],
    /// Pages that were judged again, because what is good has changed; applied after the results. Ignored for
    /// URLs that have no page.
    pub judgments: &'a [Rejudged],
    /// New beliefs about URLs, up or down; applied after the judgments. Ignored for URLs that are done.
    pub estimates: &'a [Estimate],
    /// What the pages that link to URLs say of them by now, up or down; applied after the estimates. Ignored for
    /// URLs that are done.
    pub refreshed: &'a [Refreshed],
    /// What is believed at least, as a link would say it: it counts where it is more than what is believed.
    /// Applied last. Ignored for URLs that are done.
    pub raised: &'a [Estimate],
    /// What the strategy says now of URLs that it spoke of before, up or down; what their relevance is
    /// estimated at stays. The last word on a URL counts. Applied after what is raised. Ignored for URLs that
    /// are not queued.
    pub priorities: &'a [(UrlId, f64)],
    /// URLs that were not met as links of a page; added like start URLs.
    pub urls: &'a [NewUrl],
    /// At which address sites were found. Ignored for sites that are not known.
    pub addresses: &'a [(SiteId, IpAddr)],
    /// A full queue makes room before a URL is added to it, as P Fig. 1 has it: the last one that this batch adds stays,
    /// however bad it is. Otherwise the worst go, whenever they were added.
    pub protect_newest: bool,
    /// Settings to write, so that what must agree with the results does.
    pub settings: &'a [(&'a str, &'a str)],
}

/// What a page is worth from now on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rejudged {
    /// The URL.
    pub oid: UrlId,
    /// The critic's new word.
    pub judgment: Judgment,
}

/// A URL that was tried, and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    /// The URL.
    pub oid: UrlId,
    /// Its text.
    pub url: String,
    /// The fetch's number in the crawl.
    pub seq: u64,
    /// When it was tried.
    pub at: Timestamp,
    /// How many links it is away from a start.
    pub depth: u32,
    /// The critic's word, if it is a page that was judged.
    pub judgment: Option<Judgment>,
    /// Simhash of its text.
    pub simhash: u64,
    /// Whether it is done: not queued for another try or visit.
    pub is_done: bool,
    /// The kind of the failure, if it failed.
    pub failure: Option<String>,
    /// Where the page is kept, if it is.
    pub span: Option<SegmentSpan>,
    /// Under which number [`StoreReader::page_terms`] has its words, if it has any.
    pub terms: Option<u64>,
    /// The page that it is a copy of.
    pub copy_of: Option<UrlId>,
}

/// What is believed of a queued URL from now on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The URL.
    pub oid: UrlId,
    /// Estimated relevance, in 0..=1.
    pub relevance: f64,
    /// The strategy's priority.
    pub priority: f64,
}

/// A queued URL of which the pages that link to it say something else by now. A priority that was no other than the
/// estimate moves with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Refreshed {
    /// The URL.
    pub oid: UrlId,
    /// The estimate that this was found to differ from: if there is another one by now, it stays.
    pub before: f64,
    /// The estimate from now on.
    pub relevance: f64,
}

/// What a commit did to the frontier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Committed {
    /// URLs that were not known before.
    pub new_urls: usize,
    /// Queued URLs of which something else is believed than before.
    pub believed: usize,
    /// URLs that had to go because the queue is bounded.
    pub evicted: usize,
}

/// How many of what a store holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// URLs, in any state.
    pub known: usize,
    /// URLs yet to be fetched, those in flight included.
    pub queued: usize,
    /// URLs that were taken and are not yet back.
    pub in_flight: usize,
    /// Pages.
    pub fetched: usize,
    /// URLs that led elsewhere.
    pub redirected: usize,
    /// URLs that failed for good.
    pub dead: usize,
    /// URLs that were left out on purpose.
    pub skipped: usize,
    /// URLs that had to go because the queue is bounded.
    pub evicted: usize,
    /// URLs that only links lead to which the strategy does not want followed.
    pub rejected: usize,
    /// Those of the queued URLs that are on disabled sites.
    pub parked: usize,
    /// Links.
    pub links: usize,
    /// Sites.
    pub sites: usize,
    /// Those of the pages that are copies of others.
    pub copies: usize,
}

/// Hub and authority scores, as a distiller finds them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scores<'a> {
    /// Hub scores.
    pub hubs: &'a [(UrlId, f64)],
    /// Authority scores.
    pub auth: &'a [(UrlId, f64)],
    /// What neighbours say of pages, for those of which it has changed: what is known of others stays.
    pub neighbourhoods: &'a [Neighbourhood],
}

/// How relevant a page is after what its neighbours say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbourhood {
    /// The page.
    pub oid: UrlId,
    /// Its relevance by its text and its neighbours.
    pub relevance: f64,
    /// R(d) that this was found with: by its text alone.
    pub own: f64,
    /// How many sites had neighbours that were judged.
    pub sites: u32,
    /// What R they had on average, each site once.
    pub evidence: f64,
}

/// A priority above this says that a URL was raised above all that strategies say of links, however they count.
pub const RAISED: f64 = 1e6;

/// A site, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The site.
    pub sid: SiteId,
    /// Host and, if it is not the default one, port.
    pub host: String,
    /// The address that a crawl found it at last.
    pub address: Option<IpAddr>,
}

/// The link graph at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// All known URLs, in the order in which they became known.
    pub nodes: Vec<Node>,
    /// All links, in the order in which they were found.
    pub edges: Vec<Edge>,
}

/// A URL in the link graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Node {
    /// The URL.
    pub oid: UrlId,
    /// Its site.
    pub sid: SiteId,
    /// R(d) if it was judged, else the estimate.
    pub relevance: f32,
    /// Whether its page was fetched.
    pub fetched: bool,
    /// Whether it was tried before, or left out on purpose.
    pub tried: bool,
    /// Whether it is yet to be fetched and what is believed of it comes from the pages that link to it: it is no start,
    /// and was not [raised above](RAISED) what they say.
    pub follows: bool,
}

/// A link. Kept small: there are some fifty a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Number of the linking page among the nodes.
    pub src: u32,
    /// Number of the target among the nodes.
    pub dst: u32,
}
