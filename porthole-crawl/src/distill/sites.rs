//! What counts as one site in the distiller. Links within a site carry no endorsement (V Fig. 4).

use std::collections::HashMap;

use porthole_store::SiteAddress;
use porthole_types::{CanonicalUrl, SiteId};

/// What counts as one site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SiteBy {
    /// Host and port, as everywhere else in the crawl.
    #[default]
    Host,
    /// The registrable domain: `bbc.co.uk` for `news.bbc.co.uk`.
    Domain,
    /// The resolved address of the host. A host without one counts as a site.
    Address,
}

impl SiteBy {
    /// The name in commands and settings.
    pub fn name(self) -> &'static str {
        match self {
            SiteBy::Host => "host",
            SiteBy::Domain => "domain",
            SiteBy::Address => "ip",
        }
    }

    /// Parses a name.
    pub fn named(name: &str) -> Option<SiteBy> {
        [SiteBy::Host, SiteBy::Domain, SiteBy::Address].into_iter().find(|by| by.name() == name)
    }

    /// Maps the sites that count as another one.
    pub(super) fn aliases(self, sites: &[SiteAddress]) -> HashMap<SiteId, SiteId> {
        let other = |site: &SiteAddress| match self {
            SiteBy::Host => None,
            SiteBy::Domain => {
                let url = CanonicalUrl::parse(&format!("http://{}/", site.host)).ok()?;
                Some(SiteId::of(url.domain()))
            }
            SiteBy::Address => Some(SiteId::of(&site.address?.to_string())),
        };
        sites.iter().filter_map(|site| Some((site.sid, other(site)?))).collect()
    }
}
