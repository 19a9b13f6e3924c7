#![doc = include_str!("../README.md")]

mod charset;
mod english;
mod extract;
mod gather;
mod hints;
mod language;
mod main_content;
mod main_text;
mod not_found;
mod outline;
mod packed;
mod page;
mod pdf;
mod prescan;
mod references;
mod scripts;
mod simhash;
#[doc(hidden)]
pub mod steps;
mod tag;
mod term_counts;
mod terms;
mod token;
mod tree;
mod words;

pub use extract::{ExtractLimits, Extractor, TermSpelling, TermSplitter};
pub use language::language_name;
pub use main_content::MainContent;
pub use page::{Cuts, Leaf, Link, LinkKind, Page, PageFormat, RobotsMeta, TagPath};
pub use simhash::simhash;
pub use terms::TERM_VERSION;
