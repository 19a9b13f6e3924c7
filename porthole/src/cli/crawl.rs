//! The command line of a crawl.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use porthole_crawl::Keep;
use porthole_store::Policy;

/// What a crawl is told.
#[derive(Clone, Debug, Args)]
pub(crate) struct Crawl {
    /// Replay a recorded web: only what these files hold exists, everything else is a 404
    #[arg(long, value_name = "FILE.warc.gz")]
    pub(crate) web: Vec<PathBuf>,
    /// Start here, besides the examples of the good topics
    #[arg(long, value_name = "URL")]
    pub(crate) start: Vec<String>,
    /// Stop after so many fetches
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) pages: Option<u64>,
    /// Stop after so long: 90s, 15m, 2h
    #[arg(long, value_parser = duration)]
    pub(crate) time: Option<Duration>,
    #[arg(long, default_value = "porthole", help = strategies(), value_parser = porthole_strategy::checked)]
    pub(crate) strategy: String,
    /// Let an apprentice begin with what one has learnt in this workspace
    #[arg(long, value_name = "DIR")]
    pub(crate) lessons: Option<PathBuf>,
    /// Fetches under way at once: 1 in a replay, where the order is then the same in every run, else 64
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) workers: Option<u16>,
    /// Only URLs like this one, with * for anything
    #[arg(long, value_name = "PATTERN")]
    pub(crate) include: Vec<String>,
    /// No URLs like this one
    #[arg(long, value_name = "PATTERN")]
    pub(crate) exclude: Vec<String>,
    /// Only this domain and the hosts below it
    #[arg(long, value_name = "DOMAIN")]
    pub(crate) domain: Vec<String>,
    /// Only pages in this language, such as en
    #[arg(long, value_name = "CODE")]
    pub(crate) language: Vec<String>,
    /// Only URLs that are at most so many links from a start
    #[arg(long, value_name = "LINKS")]
    pub(crate) depth: Option<u32>,
    /// At most so many pages of a site
    #[arg(long, value_name = "PAGES")]
    pub(crate) site_pages: Option<u64>,
    /// The order of the queue from now on, as in `numtries asc, relevance desc, serverload asc`; or its name
    #[arg(long, value_name = "ORDER", value_parser = Policy::parse)]
    pub(crate) policy: Option<Policy>,
    /// Find hubs and authorities meanwhile, fetch what great hubs link to sooner, and visit them again
    #[arg(long)]
    pub(crate) hubs: bool,
    /// In a replay, too, ask the endpoint under [backlinks] in porthole.toml who links to good pages
    #[arg(long, requires = "web")]
    pub(crate) backlinks: bool,
    /// Try the folders above good pages, too: /a/b/c leads to /a/b/ and /a/
    #[arg(long)]
    pub(crate) truncate: bool,
    /// Let a program judge instead of the critic: JSON lines in and out, see the README
    #[arg(long, value_name = "COMMAND")]
    pub(crate) judge: Option<String>,
    /// Pauses and robots.txt: off is for this machine alone, and then nothing else is fetched
    #[arg(long, default_value = "on", value_name = "on|off", action = clap::ArgAction::Set, value_parser = on_or_off)]
    pub(crate) polite: bool,
    /// Seed of the unfocused order
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Which pages are kept: all, none, or those with an R of at least so much
    #[arg(long, default_value = "all", value_name = "all|none|R", value_parser = archived)]
    pub(crate) archive: Archived,
    /// Stop after so many bytes of pages: 500MB, 20GB
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) bytes: Option<u64>,
    /// Stop when the workspace takes up so much: 500MB, 20GB
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) disk: Option<u64>,
    /// Stop after so many pages in a row that are not good, 0 for never [default: 5000 when focused]
    #[arg(long, value_name = "PAGES")]
    pub(crate) patience: Option<u64>,
    /// Write a line of JSON for every fetch to this file, or to standard output
    #[arg(long, value_name = "FILE|-")]
    pub(crate) events: Option<PathBuf>,
    /// Serve figures for Prometheus at http://ADDR/metrics
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) metrics: Option<SocketAddr>,
    /// Print the closing figures as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

fn on_or_off(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("on or off".to_owned()),
    }
}

/// Which pages are kept.
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
        _ => Err("all, none, or a number between 0 and 1".to_owned()),
    }
}

/// `500MB`, `20 GB`, `1TiB`; a bare number is bytes.
fn bytes(text: &str) -> Result<u64, String> {
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
        unit => return Err(format!("{unit:?} is no unit of size: use kB, MB, GB or TB")),
    };
    if number < 1.0 || !number.is_finite() {
        return Err("a size of at least one is needed".to_owned());
    }
    #[expect(clippy::cast_sign_loss, reason = "it is at least one")]
    let bytes = (number * unit) as u64;
    Ok(bytes)
}

/// `90s`, `15m`, `2h`; a bare number is seconds.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: u64 = digits.parse().map_err(|_| "a number with s, m or h behind it is needed".to_owned())?;
    let seconds = match &text[digits.len()..] {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        unit => return Err(format!("{unit:?} is no unit of time: use s, m, h or d")),
    };
    Ok(Duration::from_secs(number.saturating_mul(seconds)))
}

/// What there is to choose from, group by group.
fn strategies() -> String {
    let group = |(what, names): &(&str, &[&str])| format!("\n{what}: {}", names.join(", "));
    let groups: String = porthole_strategy::GROUPS.iter().map(group).collect();
    format!(
        "Which link next; best-N and fifo-M take any number, and parameters stand behind a colon, as in \
         shark:delta=0.5,beta=0.8{groups}\n"
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
    fn durations() {
        for (text, seconds) in [("90", 90), ("90s", 90), ("15m", 900), ("2h", 7_200), ("1d", 86_400)] {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)));
        }
        for text in ["", "h", "3x", "1.5h", "-1s"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
