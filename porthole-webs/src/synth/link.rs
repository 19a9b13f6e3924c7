//! A link and its target.

use super::sites::SyntheticPage;

/// One link of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SyntheticLink {
    pub(crate) target: LinkTarget,
    /// Whether it is part of the site's navigation rather than of the page's text.
    pub(crate) nav: bool,
    /// Random bits for the spelling of the link and its anchor.
    pub(crate) key: u64,
}

/// Target of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkTarget {
    Page(SyntheticPage),
    /// A page, through one redirect and `hops` more.
    Moved {
        to: SyntheticPage,
        hops: u32,
    },
    /// An endless redirect.
    Loop(SyntheticPage),
    /// A page number that the site does not have.
    Gone(SyntheticPage),
    /// A host number that the web does not have.
    NoHost(u32),
    Calendar {
        site: u32,
    },
    List {
        site: u32,
    },
}

impl SyntheticLink {
    /// Whether a link within a site is written without the host.
    pub(crate) fn relative(&self) -> bool {
        self.nav || self.key & 15 < 12
    }
}

impl LinkTarget {
    /// The page at the end of redirects, if there is one.
    pub(crate) fn page(self) -> Option<SyntheticPage> {
        match self {
            LinkTarget::Page(page) | LinkTarget::Moved { to: page, .. } => Some(page),
            _ => None,
        }
    }
}
