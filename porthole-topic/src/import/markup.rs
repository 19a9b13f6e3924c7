//! A minimal HTML tokenizer for bookmarks: tags and the text between them, as slices of the input.

use porthole_page::steps;

/// A tag or the text between two.
pub(super) enum Piece<'a> {
    Text(&'a str),
    Tag(Tag<'a>),
    /// A tag or comment truncated by the end of the input; the line that it starts on.
    Cut(u64),
}

pub(super) struct Tag<'a> {
    /// Name as written, with the slash of an end tag.
    pub(super) name: &'a str,
    pub(super) attributes: &'a str,
    /// Line that the tag starts on.
    pub(super) line: u64,
}

/// Splits a text into pieces, in linear time for any input.
pub(super) struct Pieces<'a> {
    rest: &'a str,
    line: u64,
}

impl<'a> Pieces<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        Pieces { rest: text, line: 1 }
    }

    /// Line that the next piece starts on.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    fn take(&mut self, size: usize) -> &'a str {
        let (piece, rest) = self.rest.split_at(size);
        self.line += memchr::memchr_iter(b'\n', piece.as_bytes()).count() as u64;
        self.rest = rest;
        steps::add(1 + size);
        piece
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let line = self.line;
        if !starts_tag(self.rest) {
            let next = steps::memchr(b'<', &self.rest.as_bytes()[1..]);
            let size = next.map_or(self.rest.len(), |at| at + 1);
            return Some(Piece::Text(self.take(size)));
        }
        let Some(size) = tag_size(self.rest) else {
            self.take(self.rest.len());
            return Some(Piece::Cut(line));
        };
        let inside = &self.take(size)[1..];
        let inside = inside.strip_suffix('>').unwrap_or(inside);
        // `<br/>` is a `br`, `</a>` an end tag.
        let end =
            inside[1..].find(|c: char| c.is_ascii_whitespace() || c == '/').map_or(inside.len(), |at| at + 1);
        let (name, attributes) = inside.split_at(end);
        Some(Piece::Tag(Tag { name, attributes, line }))
    }
}

impl Tag<'_> {
    /// Value of an attribute, with its references resolved.
    pub(super) fn attribute(&self, wanted: &str) -> Option<String> {
        let mut rest = self.attributes;
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
            if rest.is_empty() {
                return None;
            }
            // The first character always belongs to the name, so that there is progress.
            let ends = |c: char| c.is_ascii_whitespace() || c == '=' || c == '/';
            let first = rest.chars().next().map_or(0, char::len_utf8);
            let end = rest[first..].find(ends).map_or(rest.len(), |at| at + first);
            let (name, after) = rest.split_at(end);
            let (value, after) = value(after);
            steps::add(rest.len() - after.len());
            if name.eq_ignore_ascii_case(wanted) {
                return Some(htmlize::unescape_attribute(value).into_owned());
            }
            rest = after;
        }
    }
}

/// Value after an attribute's name, and the rest.
fn value(after_name: &str) -> (&str, &str) {
    let Some(after) = after_name.trim_ascii_start().strip_prefix('=') else { return ("", after_name) };
    let after = after.trim_ascii_start();
    match after.chars().next() {
        Some(quote @ ('"' | '\'')) => after[1..].split_once(quote).unwrap_or((&after[1..], "")),
        _ => after.split_at(after.find(|c: char| c.is_ascii_whitespace()).unwrap_or(after.len())),
    }
}

fn starts_tag(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next() == Some(b'<')
        && bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'/' | b'!' | b'?'))
}

/// Length of the tag or comment at the start; `None` if it does not end.
fn tag_size(text: &str) -> Option<usize> {
    if text.starts_with("<!--") {
        // `<!-->` is complete.
        return steps::passed(text[2..].find("-->"), text.as_bytes()).map(|at| 2 + at + 3);
    }
    let bytes = text.as_bytes();
    let mut at = 1;
    loop {
        at += steps::passed(memchr::memchr3(b'>', b'"', b'\'', &bytes[at..]), &bytes[at..])?;
        if bytes[at] == b'>' {
            return Some(at + 1);
        }
        // A quote counts only at the start of a value: `title=it's` has none.
        let before = bytes[..at].trim_ascii_end();
        steps::add(at - before.len());
        let quote = bytes[at];
        at += 1;
        if before.ends_with(b"=") {
            at += steps::memchr(quote, &bytes[at..])? + 1;
        }
    }
}
