//! The charset that an HTML page declares in a `meta`: the standard's prescan of a byte stream (13.2.3.2), and a
//! search after its 1,024 bytes for declarations that browsers find during tree construction.

use std::ops::ControlFlow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};

use crate::steps;
use crate::token::is_space;

/// Number of bytes of the standard's prescan.
const PRESCAN: usize = 1024;

/// Maximum number of bytes that are searched.
const LATE: usize = 64 << 10;

/// Elements with text content, in which a browser finds no `meta`.
const RAW: &[&[u8]] =
    &[b"script", b"style", b"title", b"textarea", b"xmp", b"iframe", b"noembed", b"noframes", b"noscript"];

/// The charset declared in the first 1,024 bytes.
pub(crate) fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    Prescan { bytes: &bytes[..bytes.len().min(PRESCAN)], at: 0 }.run(false)
}

/// The charset declared after them.
pub(crate) fn declared_late(bytes: &[u8]) -> Option<&'static Encoding> {
    (bytes.len() > PRESCAN).then(|| Prescan { bytes: &bytes[..bytes.len().min(LATE)], at: 0 }.run(true))?
}

struct Prescan<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// The attributes of a `meta` element that concern charsets.
#[derive(Default)]
struct MetaCharset {
    /// Names of the attributes so far: only the first of a name counts.
    has_charset: bool,
    has_content: bool,
    has_pragma: bool,
    is_content_type: bool,
    /// Whether the charset counts only with `http-equiv=content-type`.
    needs_pragma: bool,
    /// `None` for a label that is not a charset.
    charset: Option<&'static Encoding>,
}

impl<'a> Prescan<'a> {
    /// Searches to the end. With `skips_raw`, the contents of scripts and similar elements are skipped.
    fn run(&mut self, skips_raw: bool) -> Option<&'static Encoding> {
        while let Some(length) = steps::memchr(b'<', self.bytes.get(self.at..)?) {
            self.at += length;
            match self.tag(skips_raw) {
                Some(ControlFlow::Break(charset)) => return Some(charset),
                Some(ControlFlow::Continue(())) => {}
                // The input ends within a tag.
                None => return None,
            }
        }
        None
    }

    /// Skips the markup that starts with this `<`. `None` at the end of the input.
    fn tag(&mut self, skips_raw: bool) -> Option<ControlFlow<&'static Encoding>> {
        let rest = &self.bytes[self.at..];
        let next = *rest.get(1)?;
        if rest.starts_with(b"<!--") {
            // The dashes of the start may also be those of the end.
            self.at += 2 + memchr::memmem::find(&rest[2..], b"-->")? + 3;
            steps::add(self.at);
            return Some(ControlFlow::Continue(()));
        }
        if next == b'!' || next == b'?' || next == b'/' && !rest.get(2)?.is_ascii_alphabetic() {
            self.at += steps::memchr(b'>', rest)? + 1;
            return Some(ControlFlow::Continue(()));
        }
        if next != b'/' && !next.is_ascii_alphabetic() {
            self.at += 1;
            return Some(ControlFlow::Continue(()));
        }
        let name_start = self.at + 1;
        let ends = |&byte: &u8| is_space(byte) || matches!(byte, b'>' | b'/');
        self.at = name_start + 1 + self.bytes[name_start + 1..].iter().position(ends)?;
        let name = &self.bytes[name_start..self.at];
        let mut meta = MetaCharset::default();
        let is_meta = name.eq_ignore_ascii_case(b"meta");
        while let Some((name, value)) = self.attribute()? {
            if is_meta {
                meta.read(&name, &value);
            }
        }
        if let Some(charset) = meta.charset() {
            return Some(ControlFlow::Break(charset));
        }
        if skips_raw && let Some(raw) = RAW.iter().find(|raw| name.eq_ignore_ascii_case(raw)) {
            self.skip_to_end_of(raw)?;
        }
        Some(ControlFlow::Continue(()))
    }

    /// The next attribute of a tag, in lower case; `Some(None)` after the last one, `None` at the end of the input.
    fn attribute(&mut self) -> Option<Option<(Vec<u8>, Vec<u8>)>> {
        self.skip(|byte| is_space(byte) || byte == b'/')?;
        if self.byte()? == b'>' {
            self.at += 1;
            return Some(None);
        }
        let start = self.at;
        // A name may start with `=`.
        self.at += 1;
        self.skip(|byte| !is_space(byte) && !matches!(byte, b'=' | b'/' | b'>'))?;
        let name = self.bytes[start..self.at].to_ascii_lowercase();
        self.skip(is_space)?;
        if self.byte()? != b'=' {
            return Some(Some((name, Vec::new())));
        }
        self.at += 1;
        self.skip(is_space)?;
        let value = match self.byte()? {
            quote @ (b'"' | b'\'') => {
                let start = self.at + 1;
                self.at = start + steps::memchr(quote, &self.bytes[start..])? + 1;
                &self.bytes[start..self.at - 1]
            }
            _ => {
                let start = self.at;
                self.skip(|byte| !is_space(byte) && byte != b'>')?;
                &self.bytes[start..self.at]
            }
        };
        Some(Some((name, value.to_ascii_lowercase())))
    }

    fn byte(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip(&mut self, is_skipped: impl Fn(u8) -> bool) -> Option<()> {
        let rest = &self.bytes[self.at..];
        self.at += steps::passed(rest.iter().position(|&byte| !is_skipped(byte)), rest)?;
        Some(())
    }

    /// Skips the text of an element up to its end tag.
    fn skip_to_end_of(&mut self, name: &[u8]) -> Option<()> {
        loop {
            let length = steps::memchr(b'<', &self.bytes[self.at..])?;
            self.at += length + 1;
            let rest = self.bytes[self.at..].strip_prefix(b"/").unwrap_or_default();
            if rest.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)) {
                return Some(());
            }
        }
    }
}

impl MetaCharset {
    /// Processes an attribute, given in lower case.
    fn read(&mut self, name: &[u8], value: &[u8]) {
        match name {
            b"http-equiv" if !self.has_pragma => {
                self.has_pragma = true;
                self.is_content_type = value == b"content-type";
            }
            b"content" if !self.has_content => {
                self.has_content = true;
                let charset = label_in_content(value).and_then(Encoding::for_label);
                if charset.is_some() && self.charset.is_none() && !self.has_charset {
                    (self.charset, self.needs_pragma) = (charset, true);
                }
            }
            b"charset" if !self.has_charset => {
                self.has_charset = true;
                (self.charset, self.needs_pragma) = (Encoding::for_label(value), false);
            }
            _ => {}
        }
    }

    fn charset(&self) -> Option<&'static Encoding> {
        let charset = self.charset.filter(|_| self.is_content_type || !self.needs_pragma)?;
        Some(match charset {
            // A page whose `meta` is readable as ASCII is not in UTF-16, even if it declares that.
            _ if charset == UTF_16LE || charset == UTF_16BE => UTF_8,
            _ if charset == X_USER_DEFINED => WINDOWS_1252,
            _ => charset,
        })
    }
}

/// The label in `text/html; charset=…`, in lower case.
fn label_in_content(content: &[u8]) -> Option<&[u8]> {
    let mut rest = content;
    loop {
        let at = memchr::memmem::find(rest, b"charset")?;
        rest = rest[at + 7..].trim_ascii_start();
        if let Some(value) = rest.strip_prefix(b"=") {
            let value = value.trim_ascii_start();
            return match value.first()? {
                quote @ (b'"' | b'\'') => {
                    let end = memchr::memchr(*quote, &value[1..])?;
                    Some(&value[1..1 + end])
                }
                _ => {
                    let end = value.iter().position(|&byte| is_space(byte) || byte == b';');
                    Some(&value[..end.unwrap_or(value.len())])
                }
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(charset: Option<&'static Encoding>) -> &'static str {
        charset.map_or("", Encoding::name)
    }

    /// The cases of the standard's prescan.
    #[test]
    fn the_prescan_reads_attributes_as_the_standard_does() {
        for (html, charset) in [
            ("<meta charset=koi8-r>", "KOI8-R"),
            ("<META CHARSET = 'KOI8-R' />", "KOI8-R"),
            ("<meta/charset=koi8-r/>", ""),
            ("<meta/charset=koi8-r />", "KOI8-R"),
            ("<metacharset=koi8-r>", ""),
            ("<meta name='charset=koi8-r'>", ""),
            ("<meta name=x data-charset=koi8-r>", ""),
            ("<meta charset=nonsense><meta charset=euc-kr>", "EUC-KR"),
            ("<meta charset=koi8-r charset=euc-kr>", "KOI8-R"),
            ("<meta charset='utf-16'>", "UTF-8"),
            ("<meta charset=x-user-defined>", "windows-1252"),
            ("<meta content='text/html; charset=big5'>", ""),
            ("<meta http-equiv=refresh content='0; charset=big5'>", ""),
            ("<meta http-equiv=Content-Type content='text/html; charset=Shift_JIS'>", "Shift_JIS"),
            ("<meta content='text/html; charset=big5' http-equiv='CONTENT-TYPE'>", "Big5"),
            ("<meta http-equiv=content-type content='charset charset = \"big5\"; x'>", "Big5"),
            ("<meta http-equiv=content-type content='charset=\"big5; x'>", ""),
            ("<meta http-equiv=content-type content='charset=nonsense' charset=gbk>", "GBK"),
            ("<meta charset=gbk http-equiv=content-type content='charset=big5'>", "GBK"),
            ("<!-- <meta charset=big5> --><meta charset=gbk>", "GBK"),
            ("<!--><meta charset=big5>", "Big5"),
            ("<!-- > <meta charset=big5>", ""),
            ("<a title='<meta charset=big5>'><meta charset=gbk>", "GBK"),
            ("</a title='<meta charset=big5>'><meta charset=gbk>", "GBK"),
            ("<?xml encoding='big5' <meta charset=big5> ?><meta charset=gbk>", "GBK"),
            ("</ <meta charset=big5>><meta charset=gbk>", "GBK"),
            ("a < b <3 <meta charset=gbk>", "GBK"),
            ("<script>'<meta charset=big5>'</script>", "Big5"),
            ("<meta charset=gbk", ""),
            ("<meta charset='gbk>", ""),
            ("<meta charset", ""),
            ("<meta charset>", ""),
            ("<", ""),
            ("", ""),
        ] {
            assert_eq!(name(declared(html.as_bytes())), charset, "for {html}");
        }
    }

    #[test]
    fn a_late_meta_counts_unless_it_is_text() {
        let filler = format!("<style>{}</style>", "p { margin: 0 } ".repeat(100));
        for (html, charset) in [
            ("<meta charset=gbk>", "GBK"),
            ("<script>var a = '<meta charset=big5>'</script><meta charset=gbk>", "GBK"),
            ("<title><meta charset=big5></title></SCRIPT><meta charset=gbk>", "GBK"),
            ("<script>never ends <meta charset=gbk>", ""),
        ] {
            let html = format!("{filler}{html}");
            assert_eq!(name(declared(html.as_bytes())), "", "for {html}");
            assert_eq!(name(declared_late(html.as_bytes())), charset, "for {html}");
        }
        let far = format!("{}<meta charset=gbk>", " ".repeat(LATE));
        assert_eq!(name(declared_late(far.as_bytes())), "");
    }
}
