//! The crawler: takes URLs from the frontier, fetches them through [`Fetch`], and stores the results.

mod alarms;
mod archive;
mod backlinks;
mod clock;
mod distill;
mod endpoint;
mod engine;
mod external;
mod fetch;
mod glob;
mod host;
mod http;
mod page_rules;
mod reading;
mod recent;
mod recovery;
mod result;
mod robots;
mod scope;
mod search_endpoint;
mod sitemap;
mod traps;
mod upkeep;

pub use alarms::{AlarmSettings, DiskSpace};
pub use archive::{Archive, ArchiveCompression, ArchiveError, Keep, read_page, segment_path};
pub use backlinks::BacklinkSettings;
pub use clock::SystemClock;
pub use distill::{
    DISTILLED, DISTILLED_BY, DistillError, DistillSettings, Distilled, Distiller, Engine, SiteBy, Snapshot,
    SqlInputs, neighbourhoods,
};
pub use endpoint::EndpointUrl;
pub use engine::{
    Command, Crawl, CrawlError, CrawlEvent, FetchedPage, Handle, Idle, Limits, NotStarted, Observer,
    PageFetcher, Refocus, Refocused, Seen, Stop, StoreRef, refresh_of, strategy_memory,
};
pub use external::ExternalCritic;
pub use fetch::{AddressesFuture, Fetch, FetchError, FetchFuture, Request, RequestPurpose, Response};
pub use host::{Flight, HostAnswer, Hosts, MAX_TROUBLED, Politeness, Turn, retry_after};
pub use http::{
    AllowedAddresses, HttpFetch, HttpSettings, HttpSettingsError, Proxies, Proxy, Resolve, ResolveFuture,
    SystemResolver,
};
pub use page_rules::{AGENT, NoFollowRule, NoIndexRule, PageRules};
pub use recovery::LostPages;
pub use result::Focus;
pub use robots::{
    RobotsCache, RobotsFetch, RobotsLook, RobotsPolicy, RobotsRules, RobotsStep, RobotsVerdict,
};
pub use scope::{MAX_TRUNCATIONS, Scope, ScopeError, ScopeSettings, Why, truncations};
pub use search_endpoint::{EndpointAnswer, EndpointHit, SearchEndpoint, SearchEndpointError};
pub use sitemap::{SitemapEnd, SitemapEntry, SitemapKind, read_sitemap};
pub use traps::{Trap, Traps};
pub use upkeep::{UpkeepSettings, VisitTiming};
