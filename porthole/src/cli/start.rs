//! The command line of a first crawl.

use clap::Args;

use super::Crawl;

#[derive(Debug, Args)]
pub(crate) struct Start {
    /// Pages about what you care about, or a browser's bookmarks.html; last, a folder for the workspace. Without any,
    /// a start that was broken off goes on
    #[arg(value_name = "URL|bookmarks.html|DIR")]
    pub(crate) names: Vec<String>,
    /// Make a topic of this name for the pages, below the one that they fit best
    #[arg(long, visible_alias = "new", value_name = "NAME", conflicts_with = "topic")]
    pub(crate) name: Option<String>,
    /// The topic that the pages are about; it is made if there is none
    #[arg(long, value_name = "PATH")]
    pub(crate) topic: Option<String>,
    /// Ask nothing: take the topic that fits best, or make one below it if it is wider than the pages
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
    /// How the people who run servers reach you; it goes to porthole.toml
    #[arg(long, value_name = "MAIL|URL")]
    pub(crate) contact: Option<String>,
    /// Do everything but the crawl
    #[arg(long)]
    pub(crate) no_crawl: bool,
    #[command(flatten, next_help_heading = "The crawl")]
    pub(crate) crawl: Crawl,
}
