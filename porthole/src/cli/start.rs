//! Arguments of `porthole start`.

use clap::Args;

use super::{CandidateSources, Crawl};

#[derive(Debug, Args)]
pub(crate) struct Start {
    /// URLs of example pages, a list of them, or a bookmarks.html; last, the
    /// workspace folder. Without any, continue an interrupted start
    #[arg(value_name = "URL|bookmarks.html|DIR")]
    pub(crate) names: Vec<String>,
    /// Begin with words instead of examples: pages that are found with them are
    /// shown, and those that you say yes to become the examples
    #[arg(long, value_name = "WORDS", conflicts_with = "folder")]
    pub(crate) words: Option<String>,
    #[command(flatten)]
    pub(crate) candidates: CandidateSources,
    /// Create a topic of this name below the best match
    #[arg(long, visible_alias = "new", value_name = "NAME", conflicts_with = "topic")]
    pub(crate) name: Option<String>,
    /// Topic of the pages; created if missing
    #[arg(long, value_name = "PATH")]
    pub(crate) topic: Option<String>,
    /// Folders of the bookmarks to crawl for, by name or path; the others tell the
    /// critic what is not wanted
    #[arg(long, value_name = "NAME", num_args = 1.., conflicts_with_all = ["name", "topic"])]
    pub(crate) folder: Vec<String>,
    /// List the folders of the bookmarks as JSON and exit
    #[arg(long)]
    pub(crate) list_folders: bool,
    /// Keep folders of bookmarks apart from built-in topics that mean the same
    #[arg(long)]
    pub(crate) no_merge: bool,
    /// Ask nothing: use the best topic, or create one below it; of bookmarks, crawl
    /// for all folders; of the pages found by words, take those with a score of 50%
    /// or more, at most 10
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
    /// Address at which server operators can reach you; stored in porthole.toml
    #[arg(long, value_name = "MAIL|URL")]
    pub(crate) contact: Option<String>,
    /// Do everything except the crawl
    #[arg(long)]
    pub(crate) no_crawl: bool,
    #[command(flatten, next_help_heading = "Crawl options")]
    pub(crate) crawl: Crawl,
}
