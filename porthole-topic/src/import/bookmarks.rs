//! Bookmarks as browsers export them: the Netscape format, an HTML of its own that is never quite in order.

use porthole_page::steps;

use super::markup::{Piece, Pieces, Tag};
use super::{Found, Import, ImportError, Problem, names, shown, tidy, url};

/// Examples from a browser's `bookmarks.html`: each folder a topic, each bookmark in it an example.
///
/// Folders that are not closed, or closed twice, or have no name are taken as well as they can be, as browsers do.
/// What is nested too deep goes to the deepest folder that can be a topic. Time is linear in the size.
///
/// Left out one by one: what is no http or https URL (`javascript:`, `place:`, `data:`, `file:`). A file that does not
/// say that it holds bookmarks and has no list (`<DL>`), one that says that it is another kind of HTML, and one that
/// ends inside a tag are broken. Bytes that are not UTF-8 are replaced, and that is told.
pub fn bookmarks(bytes: &[u8]) -> Result<Import<Found>, ImportError> {
    let text = String::from_utf8_lossy(bytes);
    let mut reading = Reading::default();
    if let Err(error) = str::from_utf8(bytes) {
        let line = 1 + memchr::memchr_iter(b'\n', &bytes[..error.valid_up_to()]).count() as u64;
        reading.problem(line, "not UTF-8 from here on: what cannot be read was replaced");
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

/// How far reading came.
#[derive(Default)]
struct Reading {
    all: Import<Found>,
    /// The folders that are open.
    path: names::TopicPath,
    /// For each open list, whether it added a name to the path.
    lists: Vec<bool>,
    /// The last heading, until its list opens.
    heading: Option<String>,
    /// The heading or link that the text belongs to.
    open: Option<Open>,
    is_bookmarks: bool,
}

struct Open {
    what: What,
    text: String,
    line: u64,
}

enum What {
    Heading,
    /// With its address, if it has one.
    Link(Option<String>),
}

impl Reading {
    fn text(&mut self, text: &str) {
        if let Some(open) = &mut self.open {
            open.text.push_str(text);
        }
    }

    fn tag(&mut self, tag: &Tag<'_>) -> Result<(), ImportError> {
        match tag.name.to_ascii_lowercase().as_str() {
            "!doctype" => self.doctype(tag)?,
            "h3" => self.start(What::Heading, tag.line),
            "a" => self.start(What::Link(tag.attribute("href")), tag.line),
            "dl" => self.open_list(tag.line),
            "/dl" => self.close_list(tag.line),
            // Whatever stands between two entries ends one that was left open.
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

    fn start(&mut self, what: What, line: u64) {
        self.finish();
        self.open = Some(Open { what, text: String::new(), line });
    }

    fn finish(&mut self) {
        let Some(Open { what, text, line }) = self.open.take() else { return };
        steps::add(text.len());
        let text = tidy(&htmlize::unescape(text));
        match what {
            What::Heading => self.heading = Some(names::legal(&text).into_owned()),
            What::Link(None) => self.problem(line, format!("the bookmark {} has no address", shown(&text))),
            What::Link(Some(address)) => match url(&address, line) {
                Ok(url) => self.all.found.push(Found { url, topic: self.path.topic(), title: text }),
                Err(problem) => self.all.problems.push(problem),
            },
        }
    }

    fn open_list(&mut self, line: u64) {
        self.finish();
        self.is_bookmarks = true;
        // The outermost list has no heading of its own.
        let heading = self.heading.take();
        let is_named = heading.as_ref().is_some_and(|name| self.path.push(name));
        self.lists.push(is_named);
        if let Some(name) = heading.filter(|_| !is_named) {
            self.problem(
                line,
                format!("folder {} is too deep: it is merged with the one around it", shown(&name)),
            );
        }
    }

    fn close_list(&mut self, line: u64) {
        self.finish();
        self.heading = None;
        match self.lists.pop() {
            Some(true) => self.path.pop(),
            Some(false) => {}
            None => self.problem(line, "a folder is closed here that was not opened"),
        }
    }

    fn end(mut self, line: u64) -> Result<Import<Found>, ImportError> {
        self.finish();
        if !self.is_bookmarks {
            return Err(no_bookmarks(1));
        }
        if !self.lists.is_empty() {
            self.problem(line, "the file ends before all folders are closed: is it whole?");
        }
        Ok(self.all)
    }

    fn problem(&mut self, line: u64, what: impl Into<String>) {
        self.all.problems.push(Problem::new(line, what));
    }
}

fn no_bookmarks(line: u64) -> ImportError {
    let what = "no bookmarks: the file should start with <!DOCTYPE NETSCAPE-Bookmark-file-1>; \
                let the browser export its bookmarks as HTML";
    ImportError::broken(line, what)
}
