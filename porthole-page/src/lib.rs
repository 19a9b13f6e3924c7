//! Extracts a [`Page`] from bytes: charset, title, visible text as numbered DOM leaves, links with their positions
//! among them, terms, language, fingerprint. Streaming, pure, and linear in the size of the input.
//!
//! ```
//! use porthole_page::Extractor;
//! use porthole_types::{CanonicalUrl, Headers};
//!
//! let url = CanonicalUrl::parse("http://example.com/birds/").unwrap();
//! let html = b"<title>Birds</title><p>The <a href=owl.html>snowy owl</a> lives in the north.";
//! let page = Extractor::default().extract(&url, &Headers::new(), html);
//!
//! let link = &page.links[0];
//! assert_eq!(link.target.as_str(), "http://example.com/birds/owl.html");
//! assert_eq!(page.anchor_text(link), "snowy owl");
//! let around: Vec<_> = page.around(link, 1).map(|(offset, leaf)| (offset, page.leaf(leaf).unwrap().text)).collect();
//! assert_eq!(around, [(-1, "The"), (0, "snowy owl"), (1, "lives in the north.")]);
//! ```
//!
//! [`Extractor::main_content`] gives the text of a page without navigation, footers and menus, and Markdown of it:
//!
//! ```
//! # use porthole_page::Extractor;
//! # use porthole_types::{CanonicalUrl, Headers};
//! # let url = CanonicalUrl::parse("http://example.com/birds/").unwrap();
//! let html = b"<title>Birds</title><h1>Owls</h1><p>The <a href=owl.html>snowy owl</a> lives in the <b>north</b>.";
//! let main = Extractor::default().main_content(&url, &Headers::new(), html);
//! assert_eq!(main.text, "Owls\nThe snowy owl lives in the north.");
//! assert_eq!(main.markdown, "# Owls\n\nThe [snowy owl](http://example.com/birds/owl.html) lives in the **north**.");
//! ```

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
