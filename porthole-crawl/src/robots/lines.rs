//! Splits a robots.txt into (field, value) lines. Common mistakes are accepted if their meaning is clear.

use std::borrow::Cow;

/// The field of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RobotsField {
    UserAgent,
    Allow,
    Disallow,
    CrawlDelay,
    Sitemap,
}

/// Maximum size that is parsed (RFC 9309, 2.5).
pub(super) const MAX_BYTES: usize = 500 * 1024;

/// Converts a robots.txt to an ASCII-compatible encoding, without a byte order mark. Remains of a damaged mark are
/// removed as well, because they would hide the first line.
pub(super) fn decoded(body: &[u8]) -> Cow<'_, [u8]> {
    let is_mark = |byte: &u8| matches!(byte, 0xef | 0xbb | 0xbf | 0xfe | 0xff);
    let marks = body.iter().take(3).take_while(|byte| is_mark(byte)).count();
    // Two bytes of a mark keep the pairs of UTF-16 aligned.
    let body = &body[marks..];
    let Some(high) = high_byte_of_utf16(body) else { return body.into() };
    let most = body.len().min(2 * MAX_BYTES + 2);
    let unit = |pair: &[u8]| u16::from_be_bytes([pair[high], pair[1 - high]]);
    let text: String = char::decode_utf16(body[..most].chunks_exact(2).map(unit))
        .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect();
    text.into_bytes().into()
}

/// Which byte of each pair is the high one, if this is UTF-16. It is nearly always 0 there, and never in other
/// encodings.
fn high_byte_of_utf16(body: &[u8]) -> Option<usize> {
    const SAMPLE: usize = 64;
    let pairs = body.len().min(SAMPLE) / 2;
    let zeros = |at: usize| body.chunks_exact(2).take(pairs).filter(|pair| pair[at] == 0).count();
    [0, 1].into_iter().find(|&high| pairs > 0 && zeros(high) * 4 >= pairs * 3 && zeros(1 - high) == 0)
}

/// The meaningful lines, in order. `truncated` says that `body` is incomplete, so its last line may be cut.
pub(super) fn lines(body: &[u8], truncated: bool) -> impl Iterator<Item = (RobotsField, &[u8])> {
    let body = within_limit(body, truncated);
    body.split(|&byte| is_line_end(byte)).filter_map(field_and_value)
}

/// The complete lines within the limit. A partial rule could forbid or allow something else.
fn within_limit(body: &[u8], truncated: bool) -> &[u8] {
    if body.len() <= MAX_BYTES && !truncated {
        return body;
    }
    let last_end = body.iter().take(MAX_BYTES + 1).rposition(|&byte| is_line_end(byte));
    &body[..last_end.unwrap_or(0)]
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

fn field_and_value(line: &[u8]) -> Option<(RobotsField, &[u8])> {
    let end = line.iter().position(|&byte| byte == b'#').unwrap_or(line.len());
    let line = line[..end].trim_ascii();
    let (name, value) = match line.iter().position(|&byte| byte == b':') {
        Some(colon) => (line[..colon].trim_ascii(), line[colon + 1..].trim_ascii()),
        None => two_words(line)?,
    };
    Some((field(name)?, value))
}

/// `Disallow /x`, without the colon. Lines with more than two words are prose.
fn two_words(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = line.iter().position(u8::is_ascii_whitespace)?;
    let value = line[space..].trim_ascii();
    (!value.iter().any(u8::is_ascii_whitespace)).then_some((&line[..space], value))
}

/// Includes the misspellings that Google's parser accepts, which are frequent.
fn field(name: &[u8]) -> Option<RobotsField> {
    const NAMES: [(&str, RobotsField); 14] = [
        ("user-agent", RobotsField::UserAgent),
        ("useragent", RobotsField::UserAgent),
        ("user agent", RobotsField::UserAgent),
        ("allow", RobotsField::Allow),
        ("disallow", RobotsField::Disallow),
        ("dissallow", RobotsField::Disallow),
        ("dissalow", RobotsField::Disallow),
        ("disalow", RobotsField::Disallow),
        ("diasllow", RobotsField::Disallow),
        ("disallaw", RobotsField::Disallow),
        ("crawl-delay", RobotsField::CrawlDelay),
        ("crawldelay", RobotsField::CrawlDelay),
        ("sitemap", RobotsField::Sitemap),
        ("site-map", RobotsField::Sitemap),
    ];
    NAMES.iter().find(|(known, _)| name.eq_ignore_ascii_case(known.as_bytes())).map(|&(_, field)| field)
}
