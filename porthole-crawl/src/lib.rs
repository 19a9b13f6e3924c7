//! The crawl: work from the frontier, through [`Fetch`], page by page into the store.

mod again;
mod archive;
mod backlinks;
mod clock;
mod crawl;
mod distill;
mod external;
mod fetch;
mod glob;
mod host;
mod http;
mod memory;
mod reading;
mod recent;
mod recovery;
mod result;
mod robots;
mod scope;
mod sitemap;
mod traps;
mod window;

pub use archive::{Archive, ArchiveError, Keep, read_page};
pub use backlinks::BacklinkSettings;
pub use clock::SystemClock;
pub use crawl::{Crawl, CrawlError, Limits, Observer, Seen, Stop};
pub use distill::{
    DISTILLED, DISTILLED_BY, DistillError, DistillSettings, Distilled, Distiller, Engine, SiteBy, Snapshot,
    neighbourhoods,
};
pub use external::ExternalCritic;
pub use fetch::{AddressFuture, Fetch, FetchError, FetchFuture, Request, Response};
pub use host::{Flight, HostAnswer, Hosts, MAX_TROUBLED, Politeness, Turn, retry_after};
pub use http::{
    AllowedAddresses, HttpFetch, HttpSettings, HttpSettingsError, Proxy, Resolve, ResolveFuture,
    SystemResolver,
};
pub use memory::strategy_memory;
pub use recovery::LostPages;
pub use result::Focus;
pub use robots::{
    RobotsCache, RobotsFetch, RobotsLook, RobotsPolicy, RobotsRules, RobotsStep, RobotsVerdict,
};
pub use scope::{MAX_TRUNCATIONS, Scope, ScopeError, ScopeSettings, Why, truncations};
pub use sitemap::{SitemapEnd, SitemapEntry, SitemapKind, read_sitemap};
pub use traps::{Trap, Traps};
pub use window::Guest;
