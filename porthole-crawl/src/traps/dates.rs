//! Months in URLs that are far from now, as endless calendars have them.

use porthole_types::{CanonicalUrl, Timestamp};

/// A month far from now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Month {
    /// Years times twelve, plus the month from 0.
    count: i32,
    pub(super) is_future: bool,
}

/// There were no pages before the web. Earlier dates are about the past.
const BEFORE_THE_WEB: i32 = 1990 * 12;
/// How far in advance events are announced, in months.
const ANNOUNCED: i32 = 24;

impl Month {
    pub(super) fn year(self) -> i32 {
        self.count / 12
    }

    pub(super) fn month(self) -> i32 {
        self.count % 12 + 1
    }
}

/// The month in a URL, if it is far from now.
pub(super) fn far_month(url: &CanonicalUrl, now: Timestamp) -> Option<Month> {
    let count = month_of_path(url.path()).or_else(|| url.query().and_then(month_of_query))?;
    let is_future = count > month_of(now) + ANNOUNCED;
    (is_future || count < BEFORE_THE_WEB).then_some(Month { count, is_future })
}

/// Approximate: whole months of average length since 1970.
fn month_of(now: Timestamp) -> i32 {
    const MONTH_MILLIS: i64 = 2_629_746_000;
    i32::try_from(now.0.div_euclid(MONTH_MILLIS)).map_or(i32::MAX / 2, |months| 1970 * 12 + months)
}

/// `/2031/07/`, or a segment `2031-07` or `2031-07-15`.
fn month_of_path(path: &str) -> Option<i32> {
    let mut before = "";
    for segment in path.split('/') {
        let month = written_date(segment).or_else(|| month(before, segment));
        if month.is_some() {
            return month;
        }
        before = segment;
    }
    None
}

/// `date=2031-07-15`, `day=20310715`, `year=2031&month=7`.
fn month_of_query(query: &str) -> Option<i32> {
    let (mut year, mut month_number) = (None, "1");
    for parameter in query.split('&') {
        let Some((name, value)) = parameter.split_once('=') else { continue };
        let name = name.to_ascii_lowercase();
        let date = written_date(value).or_else(|| packed_date(&name, value));
        if date.is_some() {
            return date;
        }
        match name.as_str() {
            "year" | "yr" | "y" | "cal_year" | "jahr" => year = Some(value),
            "month" | "mon" | "m" | "cal_month" | "monat" => month_number = value,
            _ => {}
        }
    }
    month(year?, month_number)
}

fn written_date(text: &str) -> Option<i32> {
    let mut parts = text.splitn(3, '-');
    let month = month(parts.next()?, parts.next()?)?;
    let day = parts.next().unwrap_or("1");
    let is_day = matches!(day.len(), 1 | 2) && day.bytes().all(|byte| byte.is_ascii_digit());
    is_day.then_some(month)
}

/// Eight digits are a date only if the parameter's name says so.
fn packed_date(name: &str, value: &str) -> Option<i32> {
    let is_date = ["date", "day", "month", "cal"].iter().any(|word| name.contains(word));
    let is_packed = matches!(value.len(), 6 | 8) && value.bytes().all(|byte| byte.is_ascii_digit());
    if is_date && is_packed { month(&value[..4], &value[4..6]) } else { None }
}

fn month(year: &str, month: &str) -> Option<i32> {
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if year.len() != 4 || !matches!(month.len(), 1 | 2) || !is_number(year) || !is_number(month) {
        return None;
    }
    let (year, month): (i32, i32) = (year.parse().ok()?, month.parse().ok()?);
    ((1..=12).contains(&month) && year >= 1000).then_some(year * 12 + month - 1)
}
