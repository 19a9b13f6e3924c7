//! Bookmarks as browsers export them: the Netscape format, a dialect of HTML that is often malformed.

use porthole_page::steps;

use super::markup::{Piece, Pieces, Tag};
use super::{ImportError, ImportProblem, ImportedExample, ImportedTaxonomy, names, shown, tidy, url};

/// Examples from a browser's `bookmarks.html`: each folder is a topic, each bookmark in it an example.
///
/// Folders that are not closed, closed twice, or have no name are handled leniently, as browsers do. Bookmarks nested
/// too deep are assigned to the deepest folder that can be a topic. Time is linear in the size.
///
/// Skipped with a problem: bookmarks without an http or https URL (`javascript:`, `place:`, `data:`, `file:`). An error
/// is returned for a file that neither declares bookmarks nor has a list (`<DL>`), that declares another kind of HTML,
/// or that ends inside a tag. Bytes that are not UTF-8 are replaced, and a problem is reported.
pub fn bookmarks(bytes: &[u8]) -> Result<ImportedTaxonomy<ImportedExample>, ImportError> {
    let text = String::from_utf8_lossy(bytes);
    let mut reading = BookmarkParser::default();
    if let Err(error) = str::from_utf8(bytes) {
        let line = 1 + memchr::memchr_iter(b'\n', &bytes[..error.valid_up_to()]).count() as u64;
        reading.problem(line, "not UTF-8 from here on: invalid bytes were replaced");
    }
    let mut pieces = Pieces::of(&text);
    for piece in pieces.by_ref() {
        match piece {
            Piece::Text(text) => reading.text(text),
            Piece::Tag(tag) => reading.tag(&tag)?,
            Piece::Cut(line) => {
                return Err(ImportError::broken(
                    line,
                    "the file ends inside this tag: it was cut; export it again",
                ));
            }
        }
    }
    reading.end(pieces.line())
}

/// State of the parser.
#[derive(Default)]
struct BookmarkParser {
    all: ImportedTaxonomy<ImportedExample>,
    /// Path of the open folders.
    path: names::TopicPath,
    /// For each open list, whether it added a name to the path.
    lists: Vec<bool>,
    /// The last heading, until its list opens.
    heading: Option<String>,
    /// The heading or link that the current text belongs to.
    open: Option<OpenFolder>,
    is_bookmarks: bool,
}

struct OpenFolder {
    what: PendingText,
    text: String,
    line: u64,
}

enum PendingText {
    Heading,
    /// A link, with its address if it has one.
    Link(Option<String>),
}

impl BookmarkParser {
    fn text(&mut self, text: &str) {
        if let Some(open) = &mut self.open {
            open.text.push_str(text);
        }
    }

    fn tag(&mut self, tag: &Tag<'_>) -> Result<(), ImportError> {
        match tag.name.to_ascii_lowercase().as_str() {
            "!doctype" => self.doctype(tag)?,
            "h3" => self.start(PendingText::Heading, tag.line),
            "a" => self.start(PendingText::Link(tag.attribute("href")), tag.line),
            "dl" => self.open_list(tag.line),
            "/dl" => self.close_list(tag.line),
            // A tag between two entries ends an entry that was left open.
            "/h3" | "/a" | "dt" | "dd" | "hr" => self.finish(),
            _ => {}
        }
        Ok(())
    }

    fn doctype(&mut self, tag: &Tag<'_>) -> Result<(), ImportError> {
        let kind = tag.attributes.trim().to_ascii_lowercase();
        if kind.starts_with("netscape-bookmark-file") {
            self.is_bookmarks = true;
        } else if !self.is_bookmarks {
            return Err(no_bookmarks(tag.line));
        }
        Ok(())
    }

    fn start(&mut self, what: PendingText, line: u64) {
        self.finish();
        self.open = Some(OpenFolder { what, text: String::new(), line });
    }

    fn finish(&mut self) {
        let Some(OpenFolder { what, text, line }) = self.open.take() else { return };
        steps::add(text.len());
        let text = tidy(&htmlize::unescape(text));
        match what {
            PendingText::Heading => self.heading = Some(names::make_valid(&text).into_owned()),
            PendingText::Link(None) => {
                self.problem(line, format!("the bookmark {} has no address", shown(&text)));
            }
            PendingText::Link(Some(address)) => match url(&address, line) {
                Ok(url) => {
                    self.all.found.push(ImportedExample { url, topic: self.path.topic(), title: text });
                }
                Err(problem) => self.all.problems.push(problem),
            },
        }
    }

    fn open_list(&mut self, line: u64) {
        self.finish();
        self.is_bookmarks = true;
        // The outermost list has no heading.
        let heading = self.heading.take();
        let is_named = heading.as_ref().is_some_and(|name| self.path.push(name));
        self.lists.push(is_named);
        if let Some(name) = heading.filter(|_| !is_named) {
            self.problem(
                line,
                format!("folder {} is nested too deep: it is merged into its parent folder", shown(&name)),
            );
        }
    }

    fn close_list(&mut self, line: u64) {
        self.finish();
        self.heading = None;
        match self.lists.pop() {
            Some(true) => self.path.pop(),
            Some(false) => {}
            None => self.problem(line, "a folder is closed that was not opened"),
        }
    }

    fn end(mut self, line: u64) -> Result<ImportedTaxonomy<ImportedExample>, ImportError> {
        self.finish();
        if !self.is_bookmarks {
            return Err(no_bookmarks(1));
        }
        if !self.lists.is_empty() {
            self.problem(line, "the file ends before all folders are closed: it may be truncated");
        }
        Ok(self.all)
    }

    fn problem(&mut self, line: u64, what: impl Into<String>) {
        self.all.problems.push(ImportProblem::new(line, what));
    }
}

fn no_bookmarks(line: u64) -> ImportError {
    let what = "no bookmarks: the file should start with <!DOCTYPE NETSCAPE-Bookmark-file-1>; \
                let the browser export its bookmarks as HTML";
    ImportError::broken(line, what)
}
