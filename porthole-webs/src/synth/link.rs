//! A link, and what can be at its other end.

use super::sites::Page;

/// One link of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) target: Target,
    /// Part of the site's navigation, not of what the page says.
    pub(crate) nav: bool,
    /// What the spelling of the link and its anchor are drawn from.
    pub(crate) key: u64,
}

/// Where a link leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Page(Page),
    /// A page, over one redirect and `hops` more.
    Moved {
        to: Page,
        hops: u32,
    },
    /// Redirects without end.
    Loop(Page),
    /// A page number that the site does not have.
    Gone(Page),
    /// A host number that the web does not have.
    NoHost(u32),
    Calendar {
        site: u32,
    },
    List {
        site: u32,
    },
}

impl Link {
    /// Whether a link within a site is written without the host.
    pub(crate) fn relative(&self) -> bool {
        self.nav || self.key & 15 < 12
    }
}

impl Target {
    /// The page that a reader ends on, if there is one.
    pub(crate) fn page(self) -> Option<Page> {
        match self {
            Target::Page(page) | Target::Moved { to: page, .. } => Some(page),
            _ => None,
        }
    }
}
