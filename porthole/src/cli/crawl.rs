//! The command line of a crawl.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

/// What a crawl is told.
#[derive(Debug, Args)]
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
    /// Which link next: soft, hard, unfocused or breadth
    #[arg(long, default_value = "soft", value_parser = porthole_strategy::NAMES)]
    pub(crate) strategy: String,
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
    /// Let a program judge instead of the critic: JSON lines in and out, see the README
    #[arg(long, value_name = "COMMAND")]
    pub(crate) judge: Option<String>,
    /// Pauses and robots.txt: off is for this machine alone, and then nothing else is fetched
    #[arg(long, default_value = "on", value_name = "on|off", action = clap::ArgAction::Set, value_parser = on_or_off)]
    pub(crate) polite: bool,
    /// Seed of the unfocused order
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Do not keep the pages
    #[arg(long)]
    pub(crate) no_archive: bool,
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

/// `90s`, `15m`, `2h`; a bare number is seconds.
fn duration(text: &str) -> Result<Duration, String> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
