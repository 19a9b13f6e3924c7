//! Formats times, durations and sizes.

use porthole_types::{Clock, Timestamp};

/// Formats a time to the second, in UTC.
pub(crate) fn moment(at: Timestamp) -> String {
    match jiff::Timestamp::from_millisecond(at.0) {
        Ok(at) => at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
        Err(_) => format!("{} ms since 1970", at.0),
    }
}

/// Hour and minute in UTC.
pub(crate) fn clock_time(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.0)
        .map_or_else(|_| "–".to_owned(), |at| at.strftime("%H:%M").to_string())
}

/// A time with its distance from now.
pub(crate) fn moment_and_age(at: Timestamp) -> String {
    let now = porthole_crawl::SystemClock.now();
    let distance = if at > now {
        format!("in {}", span(at.since(now).as_secs()))
    } else {
        format!("{} ago", span(now.since(at).as_secs()))
    };
    format!("{} ({distance})", moment(at))
}

/// Formats a duration in the largest fitting unit.
fn span(seconds: u64) -> String {
    let (number, unit) = match seconds {
        0..120 => (seconds, "second"),
        120..7_200 => (seconds / 60, "minute"),
        7_200..172_800 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    crate::output::count(usize::try_from(number).unwrap_or(usize::MAX), unit)
}

/// Formats a size in the largest fitting unit.
pub(crate) fn size(bytes: u64) -> String {
    let units = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let bytes_f = bytes as f64;
    match units.iter().find(|(unit, _)| bytes_f >= *unit) {
        Some((unit, name)) => format!("{:.1} {name}", bytes_f / unit),
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_use_the_unit_that_fits() {
        for (bytes, said) in
            [(0, "0 bytes"), (999, "999 bytes"), (1_500, "1.5 kB"), (2_000_000_000, "2.0 GB")]
        {
            assert_eq!(size(bytes), said);
        }
        for (seconds, said) in [
            (1, "1 second"),
            (90, "90 seconds"),
            (600, "10 minutes"),
            (7_200, "2 hours"),
            (400_000, "4 days"),
        ] {
            assert_eq!(span(seconds), said);
        }
        assert_eq!(moment(Timestamp(0)), "1970-01-01 00:00:00 UTC");
        assert_eq!(clock_time(Timestamp(3_600_000 + 120_000)), "01:02");
        assert!(moment(Timestamp(i64::MAX)).contains("since 1970"));
    }
}
