//! Character references in text: `&amp;`, `&#8212;`, and the other two thousand.

use std::borrow::Cow;

use crate::steps::{self, memchr};

/// A text with its character references resolved.
pub(crate) fn resolved(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    each_piece(text, |piece| out.push_str(piece));
    out
}

/// Calls `found` with the pieces of a text, with character references resolved.
#[inline]
pub(crate) fn each_piece(text: &str, mut found: impl FnMut(&str)) {
    let mut rest = text;
    while let Some(at) = memchr(b'&', rest.as_bytes()) {
        if at > 0 {
            found(&rest[..at]);
        }
        rest = &rest[at..];
        let length = reference_length(rest);
        match frequent(&rest[..length]) {
            Some(c) => found(c.encode_utf8(&mut [0; 4])),
            None => found(&htmlize::unescape(&rest[..length])),
        }
        rest = &rest[length..];
    }
    if !rest.is_empty() {
        found(rest);
    }
}

/// An attribute value with character references resolved; the rules differ slightly from text.
pub(crate) fn resolved_attribute(value: &str) -> Cow<'_, str> {
    match memchr(b'&', value.as_bytes()) {
        Some(_) => {
            steps::add(value.len());
            htmlize::unescape_attribute(value)
        }
        None => Cow::Borrowed(value),
    }
}

/// Number of bytes from the `&` on that can belong to the reference.
fn reference_length(text: &str) -> usize {
    let name = text.bytes().skip(1).take_while(|b| b.is_ascii_alphanumeric() || *b == b'#').count();
    steps::add(name);
    1 + name + usize::from(text.as_bytes().get(1 + name) == Some(&b';'))
}

/// Fast path for the most frequent references; all others need the full table.
fn frequent(reference: &str) -> Option<char> {
    let name = reference.strip_prefix('&')?.strip_suffix(';')?;
    if let Some(digits) = name.strip_prefix('#') {
        let number: u32 = digits.parse().ok().filter(|_| digits.len() < 6)?;
        // Excluded are controls, numbers that stand for Windows characters, and surrogates.
        return if matches!(number, 0x20..0x7f | 0xa0..0xd800) { char::from_u32(number) } else { None };
    }
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "nbsp" => '\u{a0}',
        "mdash" => '\u{2014}',
        "ndash" => '\u{2013}',
        "bull" => '\u{2022}',
        "rsquo" => '\u{2019}',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::resolved;

    #[test]
    fn references_as_they_are_written() {
        for (text, expected) in [
            ("a &amp; b", "a & b"),
            ("&lt;p&gt; &quot;x&quot;", "<p> \"x\""),
            ("&nbsp;&mdash;&ndash;&bull;&rsquo;", "\u{a0}\u{2014}\u{2013}\u{2022}\u{2019}"),
            ("&#39;&#032;&#126;&#127;&#31;", "'\u{20}~\u{7f}\u{1f}"),
            ("&#233;&#xe9;&eacute;&eacute", "\u{e9}\u{e9}\u{e9}\u{e9}"),
            ("&#150;&#0;&#55296;&#1114112;", "\u{2013}\u{fffd}\u{fffd}\u{fffd}"),
            ("&notit; &notin; &ampx AT&T & &; &&", "\u{ac}it; \u{2209} &x AT&T & &; &&"),
            ("&#;&#x;&#", "&#;&#x;&#"),
        ] {
            assert_eq!(resolved(text), expected, "for {text}");
        }
    }

    proptest! {
        #[test]
        fn piece_by_piece_equals_at_once(text in "([&#;a-zA-Z0-9 é]|&amp;|&#[0-9]{1,7};|&[a-z]{2,6};?){0,30}") {
            prop_assert_eq!(resolved(&text), htmlize::unescape(text.as_str()));
        }
    }
}
