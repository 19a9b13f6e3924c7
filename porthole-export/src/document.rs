//! Pages as documents: the main content of each page, as Markdown or plain text, under a short head.

use std::fmt::Write as _;
use std::path::Path;

use porthole_page::Extractor;
use porthole_store::StoredPage;
use porthole_topic::Taxonomy;

use crate::archive::ArchivedPages;
use crate::page_row::{rfc3339, topic_path};
use crate::{Result, RowWriter};

/// How the main content is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentFormat {
    /// Headings, lists, quotes, code, tables, emphasis and links.
    Markdown,
    /// A line for each heading, paragraph, list item or table cell.
    Text,
}

/// Pages as documents. A page that is not in the archive is left out.
pub struct DocumentPages<'a> {
    format: DocumentFormat,
    tree: &'a Taxonomy,
    archive: ArchivedPages,
    extractor: Extractor,
}

impl<'a> DocumentPages<'a> {
    /// Documents of an archive, with topics named after a tree.
    pub fn new(format: DocumentFormat, tree: &'a Taxonomy, archive: &Path) -> Self {
        let (archive, extractor) = (ArchivedPages::new(archive), Extractor::default());
        DocumentPages { format, tree, archive, extractor }
    }

    /// What is known about the page, as YAML. Strings are quoted as in JSON, which YAML contains.
    fn front_matter(&self, page: &StoredPage) -> String {
        let topic = page.best.and_then(|best| topic_path(self.tree, best));
        let texts = [
            ("url", Some(page.url.clone())),
            ("title", Some(page.title.clone()).filter(|title| !title.is_empty())),
            ("topic", topic),
            ("language", Some(page.language.clone()).filter(|language| !language.is_empty())),
            ("fetched", Some(rfc3339(page.at))),
        ];
        let mut head = "---\n".to_owned();
        for (name, text) in texts {
            if let Some(text) = text {
                let _ = writeln!(head, "{name}: {}", yaml_string(&text));
            }
        }
        if let Some(relevance) = page.relevance {
            let _ = writeln!(head, "relevance: {relevance}");
        }
        head + "---\n\n"
    }
}

/// A text as a YAML string: quoted as in JSON, without characters that YAML does not allow.
fn yaml_string(text: &str) -> String {
    let quoted = serde_json::Value::String(text.to_owned()).to_string();
    let mut out = String::with_capacity(quoted.len());
    for c in quoted.chars() {
        match c {
            '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            _ => out.push(c),
        }
    }
    out
}

impl RowWriter<StoredPage> for DocumentPages<'_> {
    fn name(&self) -> &'static str {
        match self.format {
            DocumentFormat::Markdown => "markdown",
            DocumentFormat::Text => "text",
        }
    }

    fn row(&mut self, page: &StoredPage, out: &mut Vec<u8>) -> Result<Option<String>> {
        let content = match self.archive.main_content(page, &mut self.extractor) {
            Ok(content) => content,
            Err(reason) => return Ok(Some(reason)),
        };
        let body = match self.format {
            DocumentFormat::Markdown => content.markdown,
            DocumentFormat::Text => content.text,
        };
        out.extend_from_slice(self.front_matter(page).as_bytes());
        for line in body.trim_end().split('\n') {
            // A line of the page must not look like the start of the next document.
            if line == "---" {
                out.push(b' ');
            }
            out.extend_from_slice(line.as_bytes());
            out.push(b'\n');
        }
        out.push(b'\n');
        Ok(None)
    }
}
