//! Arguments of `porthole crawl`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use porthole_crawl::{Keep, VisitTiming};
use porthole_store::Policy;

use crate::settings::IdleWord;

/// Most concurrent fetches, as the running crawl accepts them.
pub(super) const MAX_WORKERS: i64 = 4_096;

/// Arguments of a crawl
#[derive(Clone, Debug, Args)]
pub(crate) struct Crawl {
    /// Replay a recorded web from WARC files; URLs outside them are 404
    #[arg(long, value_name = "FILE.warc.gz")]
    pub(crate) web: Vec<PathBuf>,
    /// Add a start URL to the examples of the good topics, or those of a file: a
    /// URL per line, or JSON lines with a url
    #[arg(long, value_name = "URL|FILE")]
    pub(crate) start: Vec<String>,
    /// Stop after N pages; redirects, refusals and failures do not count
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) pages: Option<u64>,
    /// Stop after this time: 90s, 15m, 2h
    #[arg(long, value_parser = duration)]
    pub(crate) time: Option<Duration>,
    #[arg(long, default_value = "porthole", help = strategies(), value_parser = porthole_strategy::checked)]
    pub(crate) strategy: String,
    /// Initialise the apprentice from the crawl of another workspace
    #[arg(long, value_name = "DIR")]
    pub(crate) lessons: Option<PathBuf>,
    /// Concurrent fetches [default: 64; 1 in a replay]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=MAX_WORKERS))]
    pub(crate) workers: Option<u16>,
    /// What free workers do while the sites with the best links rest
    /// [default: `idle` in porthole.toml]
    #[arg(long, value_enum)]
    pub(crate) idle: Option<IdleWord>,
    /// Fetch only URLs that match this pattern; * matches anything
    #[arg(long, value_name = "PATTERN")]
    pub(crate) include: Vec<String>,
    /// Skip URLs that match this pattern
    #[arg(long, value_name = "PATTERN")]
    pub(crate) exclude: Vec<String>,
    /// Fetch only from this domain and its subdomains
    #[arg(long, value_name = "DOMAIN")]
    pub(crate) domain: Vec<String>,
    /// Use only pages in this language, such as en
    #[arg(long, value_name = "CODE", value_parser = language)]
    pub(crate) language: Vec<String>,
    /// Fetch only URLs at most N links away from a start URL
    #[arg(long, value_name = "LINKS")]
    pub(crate) depth: Option<u32>,
    /// Fetch at most N pages from each site
    #[arg(long, value_name = "PAGES", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) site_pages: Option<u64>,
    /// Show how many queued URLs and fetched pages the rules above match, and
    /// do not crawl
    #[arg(long)]
    pub(crate) preview: bool,
    /// Order of the frontier: a policy's name, or keys such as
    /// `numtries asc, relevance desc, serverload asc`
    #[arg(long, value_name = "ORDER", value_parser = Policy::parse)]
    pub(crate) policy: Option<Policy>,
    /// Visit fetched pages again: all of them, the earliest due first, or by
    /// the schedule of [maintain] in porthole.toml; the policy is `upkeep`
    /// unless --policy names another
    #[arg(long, value_name = "now|schedule", num_args = 0..=1, default_missing_value = "now", require_equals = true)]
    pub(crate) maintain: Option<MaintainWord>,
    /// Do not compute hubs during the crawl, nor raise their links or revisit
    /// them; [distill] in porthole.toml has the settings
    #[arg(long)]
    pub(crate) no_hubs: bool,
    /// Compute hubs although porthole.toml switches them off
    #[arg(long, conflicts_with = "no_hubs")]
    pub(crate) hubs: bool,
    /// Query the [backlinks] endpoint of porthole.toml in a replay, too
    #[arg(long, requires = "web")]
    pub(crate) backlinks: bool,
    /// Also try the parent folders of good pages: /a/b/c adds /a/b/ and /a/
    #[arg(long)]
    pub(crate) truncate: bool,
    /// Judge pages with a program (JSON lines)
    #[arg(long, value_name = "COMMAND")]
    pub(crate) judge: Option<String>,
    /// Delays and robots.txt; off: loopback only
    #[arg(long, default_value = "on", value_name = "on|off", action = clap::ArgAction::Set, value_parser = on_or_off)]
    pub(crate) polite: bool,
    /// Random seed of the unfocused order
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Pages to archive; R: minimum relevance
    #[arg(long, default_value = "all", value_name = "all|none|R", value_parser = archived)]
    pub(crate) archive: Archived,
    /// Stop after this many bytes of pages: 500MB, 20GB
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) bytes: Option<u64>,
    /// Stop when the workspace reaches this size: 500MB, 20GB
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) disk: Option<u64>,
    /// Stop after N pages in a row that are not good; 0: never
    /// [default: 5000 if focused]
    #[arg(long, value_name = "PAGES")]
    pub(crate) patience: Option<u64>,
    /// Write one line of JSON per event (fetches, commands, distillations,
    /// answers of kept queries, the end) to a file, or to standard output
    #[arg(long, value_name = "FILE|-")]
    pub(crate) events: Option<PathBuf>,
    /// Serve Prometheus metrics at http://ADDR/metrics
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) metrics: Option<SocketAddr>,
    /// Serve the dashboard of this crawl. On a terminal it stays after the crawl,
    /// until Ctrl-C [default address: 127.0.0.1:7373, or the next free port]
    #[arg(long, value_name = "ADDR:PORT", num_args = 0..=1, require_equals = true)]
    pub(crate) serve: Option<Option<SocketAddr>>,
    /// Print the summary as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which pages a maintained crawl visits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MaintainWord {
    /// All pages, each once
    Now,
    /// Pages that are due; waits for the next one
    Schedule,
}

impl From<MaintainWord> for VisitTiming {
    fn from(word: MaintainWord) -> Self {
        match word {
            MaintainWord::Now => VisitTiming::Now,
            MaintainWord::Schedule => VisitTiming::Schedule,
        }
    }
}

fn on_or_off(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("expected on or off".to_owned()),
    }
}

/// Parses the code of a language that pages can have.
pub(super) fn language(text: &str) -> Result<String, String> {
    match porthole_page::language_name(&text.trim().to_ascii_lowercase()) {
        Some((code, _)) => Ok(code.to_owned()),
        None => Err("no page is recognised as this language; write an ISO 639-1 code, such as en".to_owned()),
    }
}

/// The pages that the archive keeps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Archived {
    None,
    Some(Keep),
}

impl Archived {
    pub(crate) fn keep(self) -> Option<Keep> {
        match self {
            Archived::None => None,
            Archived::Some(keep) => Some(keep),
        }
    }
}

fn archived(text: &str) -> Result<Archived, String> {
    match (text, text.parse::<f64>()) {
        ("all", _) => Ok(Archived::Some(Keep::All)),
        ("none", _) => Ok(Archived::None),
        (_, Ok(least)) if (0.0..=1.0).contains(&least) => Ok(Archived::Some(Keep::Above(least))),
        _ => Err("expected all, none, or a number between 0 and 1".to_owned()),
    }
}

/// Parses a size: `500MB`, `20 GB`, `1TiB`; a bare number is bytes.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
    let number: f64 = digits.parse().map_err(|_| "a number with MB or GB behind it is needed".to_owned())?;
    let unit: f64 = match text[digits.len()..].trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "kb" | "k" => 1e3,
        "mb" | "m" => 1e6,
        "gb" | "g" => 1e9,
        "tb" | "t" => 1e12,
        "kib" => 1024.0,
        "mib" => 1024.0 * 1024.0,
        "gib" => 1024.0 * 1024.0 * 1024.0,
        "tib" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        unit => return Err(format!("unknown unit {unit:?}: use kB, MB, GB or TB")),
    };
    if number < 1.0 || !number.is_finite() {
        return Err("the size must be at least 1 byte".to_owned());
    }
    #[expect(clippy::cast_sign_loss, reason = "it is at least one")]
    let bytes = (number * unit) as u64;
    Ok(bytes)
}

/// Parses a duration: `90s`, `15m`, `2h`; a bare number is seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: u64 =
        digits.parse().map_err(|_| "expected a number with a unit, such as 90s, 15m or 2h".to_owned())?;
    let seconds = match &text[digits.len()..] {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        unit => return Err(format!("unknown unit {unit:?}: use s, m, h or d")),
    };
    Ok(Duration::from_secs(number.saturating_mul(seconds)))
}

/// Help text of `--strategy`: all names, by group.
fn strategies() -> String {
    let group = |(title, names): &(&str, &[&str])| format!("\n{title}: {}", names.join(", "));
    let groups: String = porthole_strategy::GROUPS.iter().map(group).collect();
    format!(
        "Strategy that orders the links\nbest-N and fifo-M take any number; parameters\nfollow a colon: shark:delta=0.5,beta=0.8{groups}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_what_is_kept() {
        for (text, expected) in
            [("17", 17), ("500MB", 500_000_000), ("1.5 GB", 1_500_000_000), ("2KiB", 2048)]
        {
            assert_eq!(bytes(text), Ok(expected));
        }
        for text in ["", "MB", "-1", "0", "1XB", "inf"] {
            assert!(bytes(text).is_err(), "{text}");
        }
        assert_eq!(archived("0.5"), Ok(Archived::Some(Keep::Above(0.5))));
        assert!(archived("2").is_err() && archived("some").is_err());
    }

    #[test]
    fn languages() {
        assert_eq!((language("en"), language("DE")), (Ok("en".to_owned()), Ok("de".to_owned())));
        for text in ["", "xx", "klingon", "eng"] {
            assert!(language(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durations() {
        for (text, seconds) in [("90", 90), ("90s", 90), ("15m", 900), ("2h", 7_200), ("1d", 86_400)] {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)));
        }
        for text in ["", "h", "3x", "1.5h", "-1s"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
