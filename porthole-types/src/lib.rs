//! Types that all crates of Porthole share: canonical URLs, ids, the clock, HTTP headers, and the plain data that
//! passes between crates. Nothing here does I/O.

mod clock;
mod headers;
mod id;
mod live;
mod result;
mod terms;
mod topic;
mod upkeep;
mod url;

pub use clock::{Clock, ManualClock, Timestamp};
pub use headers::Headers;
pub use id::{SiteId, TermId, TopicId, UrlId};
pub use live::{ActiveAlarm, AlarmKind, AlarmNotice, AlarmRecord, FrontierSample, LiveCrawl};
pub use result::{
    Event, Failure, FailureKind, Judgment, LinkRow, NewUrl, Outcome, PageResult, Rank, SegmentCompression,
    SegmentSpan, Work, shortened,
};
pub use terms::{pack_terms, unpack_terms};
pub use topic::{Mark, TopicRow};
pub use upkeep::{ChangeHistory, NextVisit, PageChange, StoredCopy, Validators, fingerprint_of_terms};
pub use url::{CANON_COMPATIBLE, CANON_VERSION, CanonicalUrl, UrlError};
