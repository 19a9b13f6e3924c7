//! The lines of a robots.txt: bytes to (field, value). Everything that people write is read as they meant
//! it, as long as that is plain.

/// What a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RobotsField {
    UserAgent,
    Allow,
    Disallow,
    CrawlDelay,
    Sitemap,
}

/// What is beyond is not read: RFC 9309, 2.5.
pub(super) const MAX_BYTES: usize = 500 * 1024;

/// The lines that mean something, in order. `truncated` says that `body` is the beginning of something
/// longer, whose last line may have been cut.
pub(super) fn lines(body: &[u8], truncated: bool) -> impl Iterator<Item = (RobotsField, &[u8])> {
    let body = within_limit(body, truncated);
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    body.split(|&byte| is_line_end(byte)).filter_map(field_and_value)
}

/// The whole lines within the limit: half a rule may forbid or allow what the whole does not.
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

/// `Disallow /x`, a colon forgotten. With more than two words it is prose.
fn two_words(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = line.iter().position(u8::is_ascii_whitespace)?;
    let value = line[space..].trim_ascii();
    (!value.iter().any(u8::is_ascii_whitespace)).then_some((&line[..space], value))
}

/// The misspellings are those that Google's parser forgives: they are frequent enough to count.
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
