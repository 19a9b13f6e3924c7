//! Parses Retry-After: seconds, or a date in one of HTTP's three formats.

use std::time::Duration;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use porthole_types::Timestamp;

/// How long a server asks to wait, or `None` if the value is invalid. A date in the past means no wait.
pub fn retry_after(value: &str, now: Timestamp) -> Option<Duration> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number that overflows means very long.
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::from(u32::MAX))));
    }
    Some(http_date(value)?.since(now))
}

/// RFC 9110, 5.6.7: `Sun, 06 Nov 1994 08:49:37 GMT` and the obsolete `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov  6
/// 08:49:37 1994`. All contain the same five fields in a different order.
fn http_date(value: &str) -> Option<Timestamp> {
    let (mut day, mut month, mut year, mut time) = (None, None, None, None);
    for word in value.split([' ', ',', '-']).filter(|word| !word.is_empty()) {
        if let Some(clock) = clock_time(word) {
            time = Some(clock);
        } else if let Ok(number) = word.parse::<u32>() {
            match day {
                None => day = Some(i8::try_from(number).ok()?),
                Some(_) => year = Some(full_year(number, word.len())),
            }
        } else if month.is_none() {
            month = month_number(word);
        }
    }
    let (hour, minute, second) = time?;
    // A date at the end of the calendar means forever.
    let year = i16::try_from(year?).unwrap_or(LAST_YEAR).min(LAST_YEAR);
    let moment = DateTime::new(year, month?, day?, hour, minute, second, 0).ok()?;
    Some(Timestamp(moment.to_zoned(TimeZone::UTC).ok()?.timestamp().as_millisecond()))
}

fn clock_time(word: &str) -> Option<(i8, i8, i8)> {
    let mut parts = word.splitn(3, ':').map(|part| part.parse::<i8>().ok());
    let time = (parts.next()??, parts.next()??, parts.next()??);
    // A leap second is treated as the second before it.
    Some((time.0, time.1, time.2.min(59)))
}

/// The last year in which every time can be represented.
const LAST_YEAR: i16 = 9998;

fn full_year(number: u32, digits: usize) -> u32 {
    match number {
        _ if digits > 2 => number,
        0..70 => 2000 + number,
        _ => 1900 + number,
    }
}

fn month_number(word: &str) -> Option<i8> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let at = MONTHS.iter().position(|month| word.eq_ignore_ascii_case(month))?;
    i8::try_from(at + 1).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates() {
        // 1994-11-06T08:49:37Z.
        let now = Timestamp(784_111_777_000);
        let table = [
            ("120", Some(120)),
            (" 0 ", Some(0)),
            ("99999999999999999999999", Some(u64::from(u32::MAX))),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(0)),
            ("Sun, 06 Nov 1994 08:51:37 GMT", Some(120)),
            ("Sunday, 06-Nov-94 08:51:37 GMT", Some(120)),
            ("Sun Nov  6 08:51:37 1994", Some(120)),
            ("Mon, 07 Nov 1994 08:49:37 GMT", Some(86_400)),
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Fri, 31 Dec 1993 23:59:60 GMT", Some(0)),
            ("Fri, 31 Dec 9999 23:59:59 GMT", Some(252_586_653_022)),
            ("Fri, 31 Dec 99999 23:59:59 GMT", Some(252_586_653_022)),
            ("Sun, 31 Feb 1994 08:49:37 GMT", None),
            ("-5", None),
            ("1.5", None),
            ("soon", None),
            ("", None),
            ("6 Nov 1994", None),
        ];
        for (value, seconds) in table {
            assert_eq!(retry_after(value, now), seconds.map(Duration::from_secs), "{value:?}");
        }
    }
}
