//! The rules of a robots.txt that apply to one crawler.

use std::borrow::Cow;
use std::collections::HashSet;
use std::time::Duration;

use super::lines::{RobotsField, decoded, lines};
use crate::glob;

/// The rules of all groups for our product token or, if there are none, of all groups for `*`. There is no limit on
/// the number of rules other than the size of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RobotsRules {
    /// The most specific first, and of two equal ones the one that allows: the first match decides.
    rules: Vec<Rule>,
    crawl_delay: Option<Duration>,
    sitemaps: Vec<Box<str>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    /// Normalised, without a final `$`, and with one `*` for each run of them, so that a run costs no time.
    pattern: Box<[u8]>,
    /// Specificity: the number of octets as written (RFC 9309, 2.2.2).
    octets: usize,
    /// The pattern ended with `$`: the path must end where the pattern does.
    whole: bool,
    allow: bool,
}

/// Maximum number of Sitemap lines. They may name other hosts, and large sites name hundreds.
const MAX_SITEMAPS: usize = 1_000;
/// Our URLs are at most 2,048 bytes long.
const MAX_SITEMAP_BYTES: usize = 2_048;

impl RobotsRules {
    /// Parses a robots.txt for the crawler `agent`: a product token, or a User-Agent that begins with one.
    /// `truncated` says that the body is incomplete.
    pub fn parse(agent: &str, body: &[u8], truncated: bool) -> Self {
        let mut parser = Parser::new(agent);
        for (field, value) in lines(&decoded(body), truncated) {
            parser.line(field, value);
        }
        parser.finish()
    }

    /// Whether the path and query (starting with `/`) may be fetched. `/robots.txt` always may.
    pub fn allows(&self, path_and_query: &str) -> bool {
        self.refusal(path_and_query).is_none()
    }

    /// The line that forbids a path and query, or `None` if it may be fetched.
    pub(super) fn refusal(&self, path_and_query: &str) -> Option<String> {
        match self.deciding(path_and_query).0 {
            Decision::NoRule => None,
            Decision::Rule(rule) => (!rule.allow).then(|| rule.line()),
            Decision::TooCostly => Some(TOO_COSTLY.to_owned()),
        }
    }

    /// The line that decides about a path and query, or `None` if no rule matches.
    pub fn rule_for(&self, path_and_query: &str) -> Option<String> {
        match self.deciding(path_and_query).0 {
            Decision::NoRule => None,
            Decision::Rule(rule) => Some(rule.line()),
            Decision::TooCostly => Some(TOO_COSTLY.to_owned()),
        }
    }

    /// The pause between two requests that the site asks for.
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.crawl_delay
    }

    /// The values of the Sitemap lines, which belong to no group.
    pub fn sitemaps(&self) -> impl Iterator<Item = &str> {
        self.sitemaps.iter().map(|sitemap| &**sitemap)
    }

    /// The rules as a robots.txt for all crawlers.
    pub(super) fn lines(&self) -> String {
        let mut lines = String::new();
        for rule in &self.rules {
            lines += &rule.full_line();
            lines.push('\n');
        }
        if let Some(delay) = self.crawl_delay {
            lines += &format!("Crawl-delay: {}.{:09}\n", delay.as_secs(), delay.subsec_nanos());
        }
        for sitemap in &self.sitemaps {
            lines += &format!("Sitemap: {sitemap}\n");
        }
        lines
    }

    /// Parses the output of `lines`.
    pub(super) fn of_lines(lines: &str) -> Self {
        RobotsRules::parse("*", format!("User-agent: *\n{lines}").as_bytes(), false)
    }

    /// Number of rules.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether there are no rules.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Memory that it occupies.
    pub(super) fn bytes(&self) -> usize {
        let rules: usize = self.rules.iter().map(|rule| size_of::<Rule>() + 16 + rule.pattern.len()).sum();
        let sitemaps: usize = self.sitemaps.iter().map(|sitemap| 16 + sitemap.len()).sum();
        size_of::<Self>() + rules + sitemaps
    }

    /// The deciding rule, and the number of bytes compared to find it.
    fn deciding(&self, path_and_query: &str) -> (Decision<'_>, usize) {
        if path_and_query.split('?').next() == Some("/robots.txt") {
            return (Decision::NoRule, 0);
        }
        let path = normalized(path_and_query.as_bytes(), Kind::Path);
        let mut compared = 0;
        for rule in self.rules.iter().filter(|rule| path.starts_with(rule.literal())) {
            compared += path.len() + rule.pattern.len();
            if compared > MAX_COMPARED {
                return (Decision::TooCostly, compared);
            }
            if glob::matches(&rule.pattern, &path, rule.whole) {
                return (Decision::Rule(rule), compared);
            }
        }
        (Decision::NoRule, compared)
    }

    /// Number of bytes of paths and patterns that a verdict compares.
    #[cfg(test)]
    pub(super) fn compared(&self, path_and_query: &str) -> usize {
        self.deciding(path_and_query).1
    }
}

/// The decision about a URL.
enum Decision<'r> {
    NoRule,
    Rule(&'r Rule),
    /// There are too many wildcard rules to check. The file is meant to keep crawlers busy, or out.
    TooCostly,
}

const TOO_COSTLY: &str = "too many wildcard rules to check";

/// Maximum number of bytes of paths and patterns compared per URL: a fraction of a millisecond, enough for three
/// thousand wildcard rules and a usual URL. Rules that differ from the path before their first wildcard do not count.
const MAX_COMPARED: usize = 512 << 10;

impl Rule {
    /// The part before the first wildcard.
    fn literal(&self) -> &[u8] {
        let end = memchr::memchr(b'*', &self.pattern).unwrap_or(self.pattern.len());
        &self.pattern[..end]
    }

    /// Parses a rule. `None` if it is not a path pattern: the value is empty, or starts with neither `/` nor `*`.
    fn parse(allow: bool, value: &[u8]) -> Option<Self> {
        if !matches!(value.first(), Some(b'/' | b'*')) {
            return None;
        }
        let (pattern, whole) = value.strip_suffix(b"$").map_or((value, false), |pattern| (pattern, true));
        let mut pattern = normalized(pattern, Kind::Pattern).into_owned();
        let octets = pattern.len() + usize::from(whole);
        pattern.dedup_by(|byte, before| (*byte, *before) == (b'*', b'*'));
        Some(Rule { pattern: pattern.into(), octets, whole, allow })
    }

    fn line(&self) -> String {
        self.line_with(&String::from_utf8_lossy(&self.pattern))
    }

    /// The line with as many octets as it was written with.
    fn full_line(&self) -> String {
        let missing = self.octets - self.pattern.len() - usize::from(self.whole);
        let pattern = String::from_utf8_lossy(&self.pattern);
        self.line_with(&pattern.replacen('*', &"*".repeat(missing + 1), 1))
    }

    fn line_with(&self, pattern: &str) -> String {
        let word = if self.allow { "Allow" } else { "Disallow" };
        let end = if self.whole { "$" } else { "" };
        format!("{word}: {pattern}{end}")
    }
}

/// Collects the groups for us and for all. Which of them counts is known only at the end of the file.
struct Parser<'a> {
    agent: &'a [u8],
    ours: Group,
    everyones: Group,
    sitemaps: Vec<Box<str>>,
    /// Whether the current group is for us.
    for_us: bool,
    for_all: bool,
    /// The group has rules, so the next agent line starts another group. Lines that RFC 9309 does not define do not
    /// end a run of agent lines (2.2.4).
    in_rules: bool,
}

#[derive(Default)]
struct Group {
    named: bool,
    rules: Vec<Rule>,
    crawl_delay: Option<Duration>,
}

impl<'a> Parser<'a> {
    fn new(agent: &'a str) -> Self {
        Parser {
            agent: product_token(agent.as_bytes()),
            ours: Group::default(),
            everyones: Group::default(),
            sitemaps: Vec::new(),
            for_us: false,
            for_all: false,
            in_rules: false,
        }
    }

    fn line(&mut self, field: RobotsField, value: &[u8]) {
        match field {
            RobotsField::UserAgent => self.user_agent(value),
            RobotsField::Allow => self.rule(true, value),
            RobotsField::Disallow => self.rule(false, value),
            RobotsField::CrawlDelay => {
                if let Some(delay) = seconds(value) {
                    self.current_groups()
                        .for_each(|group| group.crawl_delay = group.crawl_delay.max(Some(delay)));
                }
            }
            RobotsField::Sitemap => {
                if !value.is_empty() && value.len() <= MAX_SITEMAP_BYTES {
                    self.sitemaps.push(String::from_utf8_lossy(value).into());
                }
            }
        }
    }

    fn user_agent(&mut self, value: &[u8]) {
        if self.in_rules {
            (self.for_us, self.for_all, self.in_rules) = (false, false, false);
        }
        let token = product_token(value);
        if is_star(value) {
            self.for_all = true;
        } else if !token.is_empty() && token.eq_ignore_ascii_case(self.agent) {
            self.for_us = true;
            self.ours.named = true;
        }
    }

    fn rule(&mut self, allow: bool, value: &[u8]) {
        self.in_rules = true;
        if let Some(rule) = Rule::parse(allow, value) {
            self.current_groups().for_each(|group| group.rules.push(rule.clone()));
        }
    }

    /// The groups that the current lines belong to.
    fn current_groups(&mut self) -> impl Iterator<Item = &mut Group> {
        let (for_us, for_all) = (self.for_us, self.for_all);
        let ours = for_us.then_some(&mut self.ours);
        ours.into_iter().chain(for_all.then_some(&mut self.everyones))
    }

    fn finish(self) -> RobotsRules {
        let mut group = if self.ours.named { self.ours } else { self.everyones };
        group.rules.sort_by(|a, b| {
            let by_rank = (b.octets, b.allow).cmp(&(a.octets, a.allow));
            // Equal rules next to each other, so that duplicates can be removed.
            by_rank.then_with(|| (&a.pattern, a.whole).cmp(&(&b.pattern, b.whole)))
        });
        group.rules.dedup();
        group.rules.shrink_to_fit();
        let mut named = HashSet::new();
        let mut sitemaps = self.sitemaps;
        sitemaps.retain(|sitemap| named.len() < MAX_SITEMAPS && named.insert(sitemap.clone()));
        RobotsRules { rules: group.rules, crawl_delay: group.crawl_delay, sitemaps }
    }
}

/// The name before a version or comment. Digits are part of it, although RFC 9309 has none: `bot2` is not `bot`.
fn product_token(agent: &[u8]) -> &[u8] {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let end = agent.iter().position(|byte| !is_part(byte)).unwrap_or(agent.len());
    &agent[..end]
}

fn is_star(value: &[u8]) -> bool {
    value.first() == Some(&b'*') && value.get(1).is_none_or(u8::is_ascii_whitespace)
}

fn seconds(value: &[u8]) -> Option<Duration> {
    let seconds: f64 = std::str::from_utf8(value).ok()?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Path,
    Pattern,
}

/// Normalises the octets of paths and patterns (RFC 9309, 2.2.2): unreserved characters are not escaped, everything
/// that is not a URL character is, and escapes are upper case. Characters that have a meaning in patterns are
/// escaped. In a query `:`, `/`, `?` and `@` are never escaped, so that `?u=https%3A%2F%2Fx` and `?u=https://x` are
/// the same, as in the table of 2.2.2.
fn normalized(path: &[u8], kind: Kind) -> Cow<'_, [u8]> {
    let is_sign = |byte: u8| byte == b'$' || byte == b'*' && kind == Kind::Path;
    let is_plain = |&byte: &u8| byte != b'%' && is_url_character(byte) && !is_sign(byte);
    let Some(plain) = path.iter().position(|byte| !is_plain(byte)) else { return path.into() };
    let mut out = path[..plain].to_vec();
    let mut in_query = out.contains(&b'?');
    let mut at = plain;
    while at < path.len() {
        let (byte, escaped) = match escape(&path[at..]) {
            Some(byte) => (byte, true),
            None => (path[at], false),
        };
        at += if escaped { 3 } else { 1 };
        in_query |= byte == b'?' && !escaped;
        let literal = if escaped {
            is_unreserved(byte) || in_query && matches!(byte, b':' | b'/' | b'?' | b'@')
        } else {
            is_plain(&byte)
        };
        if literal {
            out.push(byte);
        } else {
            out.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
    }
    out.into()
}

/// The byte that an escape at the start of `text` denotes.
fn escape(text: &[u8]) -> Option<u8> {
    let &[b'%', high, low, ..] = text else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(high)? << 4 | digit(low)?)
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// RFC 3986: unreserved or reserved.
fn is_url_character(byte: u8) -> bool {
    is_unreserved(byte) || b":/?#[]@!$&'()*+,;=".contains(&byte)
}
