//! The tokenizer: splits text into tags and text, as slices of the input, after section 13.2.5 of the HTML standard.
//!
//! Nothing is copied, and character references are not resolved here. Every byte is read a bounded number of times, for
//! any input.

use crate::steps::{self, memchr, memchr2};
use crate::tag::TagName;

/// One token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Token<'a> {
    /// White space between tags.
    Blank,
    /// Character data with more than white space; references are unresolved.
    Text(&'a str),
    /// Character data without references (CDATA).
    Literal(&'a str),
    /// A start tag; its attributes are in [`Tokenizer::attributes`].
    Start { name: TagName, self_closing: bool },
    /// An end tag.
    End(TagName),
    /// A doctype, from after the keyword to before the `>`.
    Doctype(&'a str),
    /// The end of the input.
    Eof,
}

/// Name and value of one attribute, references unresolved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attribute<'a> {
    pub(crate) name: &'a str,
    pub(crate) value: &'a str,
}

/// Reads tokens from a text.
pub(crate) struct Tokenizer<'a> {
    text: &'a str,
    at: usize,
    /// Whether the last text has a `&`.
    pub(crate) has_references: bool,
    attributes: Vec<Attribute<'a>>,
    /// Start of the attributes of the last tag.
    attributes_start: usize,
    most_attributes: usize,
    /// Number of attributes that were dropped because a tag had too many.
    pub(crate) attributes_cut: u32,
}

impl<'a> Tokenizer<'a> {
    pub(crate) fn new(text: &'a str, most_attributes: usize) -> Self {
        Tokenizer {
            text,
            at: 0,
            has_references: false,
            attributes: Vec::with_capacity(16),
            attributes_start: 0,
            most_attributes,
            attributes_cut: 0,
        }
    }

    /// The attributes of the last start tag.
    pub(crate) fn attributes(&self) -> &[Attribute<'a>] {
        &self.attributes
    }

    /// The attributes of the last tag, as written.
    pub(crate) fn attributes_text(&self) -> &'a str {
        &self.text[self.attributes_start..self.at]
    }

    /// The white space of the last token, which was [`Token::Blank`].
    pub(crate) fn last_blank(&self) -> &'a str {
        let read = &self.text[..self.at];
        &read[read.trim_ascii_end().len()..]
    }

    /// The value of an attribute of the last start tag; of duplicates the first.
    pub(crate) fn attribute(&self, name: &str) -> Option<&'a str> {
        let found = self.attributes.iter().position(|a| a.name.eq_ignore_ascii_case(name));
        steps::passed(found, &self.attributes).map(|at| self.attributes[at].value)
    }

    /// The next token. `foreign` tells whether the current element is SVG or MathML, where CDATA exists.
    pub(crate) fn next(&mut self, foreign: bool) -> Token<'a> {
        loop {
            steps::add(1);
            let rest = &self.text.as_bytes()[self.at..];
            match rest {
                [] => return Token::Eof,
                [b'<', b'/', letter, ..] if letter.is_ascii_alphabetic() => {
                    if let Some(token) = self.tag(2) {
                        return token;
                    }
                }
                [b'<', letter, ..] if letter.is_ascii_alphabetic() => {
                    if let Some(token) = self.tag(1) {
                        return token;
                    }
                }
                [b'<', b'!', ..] => {
                    if let Some(token) = self.markup_declaration(foreign) {
                        return token;
                    }
                }
                [b'<', b'?', ..] => self.skip_past(b'>'),
                [b'<', b'/', b'>', ..] => self.at += 3,
                [b'<', b'/', _, ..] => self.skip_past(b'>'),
                _ => return self.text_run(),
            }
        }
    }

    /// The content of a text-only element; consumes its end tag.
    pub(crate) fn raw_text(&mut self, name: TagName) -> &'a str {
        let start = self.at;
        let end = if name == TagName::SCRIPT { self.script_end() } else { self.end_tag_from(start, name) };
        self.at = end;
        if end < self.text.len() {
            // Consume the end tag; its attributes do not matter.
            self.tag(2);
        }
        &self.text[start..end]
    }

    /// The rest of the input as text: the content of `<plaintext>`.
    pub(crate) fn rest(&mut self) -> &'a str {
        let start = std::mem::replace(&mut self.at, self.text.len());
        &self.text[start..]
    }

    /// The text that starts here; its first byte belongs to it even if it is a `<`.
    fn text_run(&mut self) -> Token<'a> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut from = start;
        // Most texts are short white space between two tags.
        while from < bytes.len() && is_space(bytes[from]) {
            from += 1;
        }
        steps::add(from - start);
        if from == bytes.len() || from > start && bytes[from] == b'<' && opens_markup(bytes.get(from + 1)) {
            self.at = from;
            return Token::Blank;
        }
        self.has_references = bytes[from] == b'&';
        from += 1;
        loop {
            let rest = &bytes[from..];
            match if self.has_references { memchr(b'<', rest) } else { memchr2(b'<', b'&', rest) } {
                None => from = bytes.len(),
                Some(at) if rest[at] == b'&' => {
                    self.has_references = true;
                    from += at + 1;
                    continue;
                }
                // A `<` that opens no markup is text.
                Some(at) if !opens_markup(rest.get(at + 1)) => {
                    from += at + 1;
                    continue;
                }
                Some(at) => from += at,
            }
            self.at = from;
            return Token::Text(&self.text[start..from]);
        }
    }

    /// A start or end tag whose name starts after `skip` bytes; `None` if the input ends within it.
    fn tag(&mut self, skip: usize) -> Option<Token<'a>> {
        let bytes = self.text.as_bytes();
        let start = self.at + skip;
        let at = start + name_length(&bytes[start..], ends_name);
        let name = TagName::at(bytes, start, at - start);
        self.at = at;
        let self_closing = if bytes.get(at) == Some(&b'>') {
            // Most tags have no attributes.
            self.attributes.clear();
            (self.attributes_start, self.at) = (at, at + 1);
            false
        } else {
            self.read_attributes()?
        };
        Some(if skip == 2 { Token::End(name) } else { Token::Start { name, self_closing } })
    }

    /// Reads attributes, and consumes the `>`. Returns whether the tag is self-closing; `None` at the end of the input.
    fn read_attributes(&mut self) -> Option<bool> {
        let bytes = self.text.as_bytes();
        self.attributes.clear();
        self.attributes_start = self.at;
        let mut at = self.at;
        loop {
            while at < bytes.len() && is_space(bytes[at]) {
                at += 1;
                steps::add(1);
            }
            steps::add(1);
            match bytes.get(at) {
                None => break,
                Some(b'>') => {
                    self.at = at + 1;
                    return Some(false);
                }
                Some(b'/') if bytes.get(at + 1) == Some(&b'>') => {
                    self.at = at + 2;
                    return Some(true);
                }
                Some(b'/') => at += 1,
                Some(_) => at = self.attribute_at(at)?,
            }
        }
        self.at = bytes.len();
        None
    }

    /// Reads one attribute, and returns the position after it; `None` at the end of the input.
    fn attribute_at(&mut self, start: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let at = start + 1 + name_length(&bytes[start + 1..], |byte| ends_name(byte) || byte == b'=');
        let name = &self.text[start..at];
        let mut after = at;
        while after < bytes.len() && is_space(bytes[after]) {
            after += 1;
        }
        steps::add(after - at);
        if bytes.get(after) != Some(&b'=') {
            self.keep(Attribute { name, value: "" });
            return Some(after);
        }
        after += 1;
        while after < bytes.len() && is_space(bytes[after]) {
            after += 1;
            steps::add(1);
        }
        let (value, end) = match bytes.get(after) {
            Some(&quote @ (b'"' | b'\'')) => {
                let Some(length) = memchr(quote, &bytes[after + 1..]) else {
                    self.at = bytes.len();
                    return None;
                };
                (after + 1..after + 1 + length, after + 2 + length)
            }
            _ => {
                let mut end = after;
                while end < bytes.len() && bytes[end] != b'>' && !is_space(bytes[end]) {
                    end += 1;
                }
                steps::add(end - after);
                (after..end, end)
            }
        };
        self.keep(Attribute { name, value: &self.text[value] });
        Some(end)
    }

    fn keep(&mut self, attribute: Attribute<'a>) {
        if self.attributes.len() < self.most_attributes {
            self.attributes.push(attribute);
        } else {
            self.attributes_cut += 1;
        }
    }

    /// `<!…`: a doctype or CDATA is a token, a comment is skipped.
    fn markup_declaration(&mut self, foreign: bool) -> Option<Token<'a>> {
        let rest = &self.text[self.at + 2..];
        if rest.starts_with("--") {
            self.comment();
            return None;
        }
        if foreign && let Some(content) = rest.strip_prefix("[CDATA[") {
            let length = content.find("]]>").unwrap_or(content.len());
            steps::add(length);
            self.at = (self.text.len() - content.len() + length + 3).min(self.text.len());
            return Some(Token::Literal(&content[..length]));
        }
        let start = self.at + 2;
        self.skip_past(b'>');
        let word = self.text.as_bytes().get(start..start + 7)?;
        if !word.eq_ignore_ascii_case(b"doctype") {
            return None;
        }
        let end = if self.text[..self.at].ends_with('>') { self.at - 1 } else { self.at };
        Some(Token::Doctype(&self.text[(start + 7).min(end)..end]))
    }

    /// Skips a comment: `<!-->` and `<!--->` are complete, others end with `-->` or `--!>`.
    fn comment(&mut self) {
        let bytes = self.text.as_bytes();
        let open = self.at + 4;
        if bytes[open..].starts_with(b">") || bytes[open..].starts_with(b"->") {
            self.at = open;
            return self.skip_past(b'>');
        }
        let mut from = open;
        while let Some(length) = memchr(b'>', &bytes[from..]) {
            let body = &bytes[open..from + length];
            from += length + 1;
            if body.ends_with(b"--") || body.ends_with(b"--!") {
                self.at = from;
                return;
            }
        }
        self.at = bytes.len();
    }

    fn skip_past(&mut self, byte: u8) {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += memchr(byte, rest).map_or(rest.len(), |length| length + 1);
    }

    /// Position of `</name` followed by a delimiter; else the end.
    fn end_tag_from(&self, mut from: usize, name: TagName) -> usize {
        let bytes = self.text.as_bytes();
        while let Some(length) = memchr(b'<', &bytes[from..]) {
            from += length;
            if self.is_end_tag(from, name) {
                return from;
            }
            from += 1;
        }
        bytes.len()
    }

    /// The end of a script, which may hide its end tag in `<!-- <script> … -->`.
    fn script_end(&self) -> usize {
        let bytes = self.text.as_bytes();
        let mut state = Script::Plain;
        let mut from = self.at;
        while let Some(length) = memchr2(b'<', b'-', &bytes[from..]) {
            from += length;
            let rest = &bytes[from..];
            match state {
                _ if rest.starts_with(b"-->") => state = Script::Plain,
                Script::Plain if rest.starts_with(b"<!--") => {
                    state = Script::Hidden;
                    // The dashes may already be those of `-->`.
                    from += 1;
                }
                Script::Hidden if self.is_tag(from, 1, TagName::SCRIPT) => state = Script::Nested,
                Script::Nested if self.is_end_tag(from, TagName::SCRIPT) => state = Script::Hidden,
                Script::Plain | Script::Hidden if self.is_end_tag(from, TagName::SCRIPT) => return from,
                _ => {}
            }
            from += 1;
        }
        bytes.len()
    }

    fn is_end_tag(&self, at: usize, name: TagName) -> bool {
        self.text.as_bytes().get(at + 1) == Some(&b'/') && self.is_tag(at, 2, name)
    }

    fn is_tag(&self, at: usize, skip: usize, name: TagName) -> bool {
        const LONGEST: usize = 10;
        let rest = &self.text.as_bytes()[(at + skip).min(self.text.len())..];
        let rest = &rest[..rest.len().min(LONGEST)];
        rest.iter().position(|&b| ends_name(b)).is_some_and(|length| TagName::of(&rest[..length]) == name)
    }
}

/// Length of a tag or attribute name at the start.
#[inline(always)]
fn name_length(bytes: &[u8], ends_name: impl Fn(u8) -> bool) -> usize {
    // Names are short and of unpredictable length: eight bytes at once are cheaper than a loop.
    if let Some(window) = bytes.first_chunk::<8>() {
        let length = first_sign(u64::from_le_bytes(*window));
        if window.get(length).is_some_and(|&byte| ends_name(byte)) {
            steps::add(1);
            return length;
        }
    }
    steps::passed(bytes.iter().position(|&byte| ends_name(byte)), bytes).unwrap_or(bytes.len())
}

/// Index of the first of eight bytes that is below `0`, a `>` or a `=`: not a letter or digit, and possibly the end of
/// a name.
#[inline(always)]
fn first_sign(bytes: u64) -> usize {
    const fn repeated(byte: u8) -> u64 {
        u64::from_le_bytes([byte; 8])
    }
    // Sets the top bit of every byte below `limit`; borrows only affect bytes after the first.
    let below = |bytes: u64, limit: u8| bytes.wrapping_sub(repeated(limit)) & !bytes & repeated(0x80);
    let signs = below(bytes, b'0') | below(bytes ^ repeated(b'>'), 1) | below(bytes ^ repeated(b'='), 1);
    signs.trailing_zeros() as usize / 8
}

/// State inside a script's text.
enum Script {
    Plain,
    Hidden,
    Nested,
}

fn opens_markup(next: Option<&u8>) -> bool {
    next.is_some_and(|b| b.is_ascii_alphabetic() || matches!(b, b'/' | b'!' | b'?'))
}

#[inline(always)]
pub(crate) fn is_space(byte: u8) -> bool {
    CLASS[byte as usize] & SPACE != 0
}

/// Whether a byte ends the name of a tag or an attribute.
#[inline(always)]
fn ends_name(byte: u8) -> bool {
    CLASS[byte as usize] != 0
}

const SPACE: u8 = 1;
const END: u8 = 2;

static CLASS: [u8; 256] = {
    let mut class = [0; 256];
    class[b' ' as usize] = SPACE;
    class[b'\n' as usize] = SPACE;
    class[b'\t' as usize] = SPACE;
    class[b'\r' as usize] = SPACE;
    class[0x0c] = SPACE;
    class[b'/' as usize] = END;
    class[b'>' as usize] = END;
    class
};

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> String {
        let mut tokenizer = Tokenizer::new(text, 8);
        let mut out = Vec::new();
        loop {
            out.push(match tokenizer.next(false) {
                Token::Blank => "_".to_owned(),
                Token::Text(text) | Token::Literal(text) => format!("{text:?}"),
                Token::Start { name, self_closing } => {
                    let tag = crate::tag::spelling(name.path_byte());
                    let attributes: Vec<_> =
                        tokenizer.attributes().iter().map(|a| format!(" {}={:?}", a.name, a.value)).collect();
                    format!("<{tag}{}{}>", attributes.concat(), if self_closing { "/" } else { "" })
                }
                Token::End(name) => format!("</{}>", crate::tag::spelling(name.path_byte())),
                Token::Doctype(doctype) => format!("<!{}>", doctype.trim()),
                Token::Eof => return out.join(" "),
            });
        }
    }

    #[test]
    fn tags_text_and_other_markup() {
        for (input, expected) in [
            ("a<B>c</b >d", r#""a" <b> "c" </b> "d""#),
            ("a < b <3 c", r#""a < b <3 c""#),
            ("<a href=x y='1 2' Z=\"3>4\" w>", r#"<a href="x" y="1 2" Z="3>4" w="">"#),
            ("<br/><br / ><img a=b/>", r#"<br/> <br> <img a="b/">"#),
            ("<a =x><p a = b>", r#"<a =x=""> <p a="b">"#),
            ("x<!-- a > b -->y<!-->z<!--->w<!-- --!>v", r#""x" "y" "z" "w" "v""#),
            ("x<!bogus>y<?php ?>z</>w</ x>v", r#""x" "y" "z" "w" "v""#),
            ("<!DOCTYPE html>x", r#"<!html> "x""#),
            ("x<a href='never ends>y", r#""x""#),
            ("x<!-- never ends", r#""x""#),
            ("x</", r#""x" "</""#),
            ("<![CDATA[x]]>y", r#""y""#),
            (" <b>\n</b> \t", "_ <b> _ </b> _"),
            (" < <b> x ", r#"" < " <b> " x ""#),
        ] {
            assert_eq!(tokens(input), expected, "for {input}");
        }
    }

    #[test]
    fn name_length_equals_a_bytewise_scan() {
        for byte in 0..=255u8 {
            for place in 0..12 {
                let mut bytes = *b"abcdefghijkl>";
                bytes[place] = byte;
                let position = |ends: fn(u8) -> bool| bytes.iter().position(|&b| ends(b)).unwrap();
                for ends in [ends_name, |byte| ends_name(byte) || byte == b'='] {
                    assert_eq!(name_length(&bytes, ends), position(ends), "{byte} at {place}");
                }
            }
        }
    }

    #[test]
    fn raw_text_ends_at_its_own_end_tag() {
        for (input, content, rest) in [
            ("a</b></SCRIPT >x", "a</b>", "x"),
            ("<!--</script>x", "<!--", "x"),
            ("<!--<script></script>--></script>x", "<!--<script></script>-->", "x"),
            ("<!-- a <script> b </script> c </script>x", "<!-- a <script> b </script> c ", "x"),
            ("<!--><script></script>x", "<!--><script>", "x"),
            ("</scriptx>never", "</scriptx>never", ""),
        ] {
            let mut tokenizer = Tokenizer::new(input, 8);
            assert_eq!(tokenizer.raw_text(TagName::SCRIPT), content, "for {input}");
            assert_eq!(tokenizer.rest(), rest, "for {input}");
        }
    }

    #[test]
    fn attributes_are_limited_and_dropped_ones_counted() {
        let tag = format!("<p{}>", " a=1".repeat(20));
        let mut tokenizer = Tokenizer::new(&tag, 8);
        tokenizer.next(false);
        assert_eq!((tokenizer.attributes().len(), tokenizer.attributes_cut), (8, 12));
    }
}
