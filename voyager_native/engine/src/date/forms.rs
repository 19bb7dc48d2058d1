//! The forms of dates.

use super::DAY;
use super::zone::{named_zone, offset, zone};

/// Parses a date header in any form.
pub(super) fn parse(bytes: &[u8]) -> Option<i64> {
    let bytes = bytes.trim_ascii();
    if bytes.iter().all(u8::is_ascii_digit) {
        return epoch(bytes);
    }
    iso(bytes).or_else(|| Words::default().read(bytes))
}

/// Epoch seconds (9 to 11 digits) or milliseconds (13 digits).
fn epoch(digits: &[u8]) -> Option<i64> {
    let unit = match digits.len() {
        9..=11 => 1,
        13 => 1000,
        _ => return None,
    };
    Some(
        digits
            .iter()
            .fold(0_i64, |sum, digit| sum * 10 + i64::from(digit - b'0'))
            / unit,
    )
}

/// ISO 8601: `2013-11-09T12:26:40Z`, `2013-11-09 12:26:40.5+01:00`, `20131109T122640Z`, `2013-11-09`.
fn iso(bytes: &[u8]) -> Option<i64> {
    let (date, rest) = iso_date(bytes)?;
    let rest = match rest {
        [] => return moment(date, 0, 0),
        [b'T' | b't' | b' ', rest @ ..] => rest,
        _ => return None,
    };
    let (time, rest) = time_of_day(rest).or_else(|| compact_time(rest))?;
    let rest = rest.trim_ascii_start();
    let zone = match rest {
        [] => 0,
        _ => zone(rest)?,
    };
    moment(date, time, zone)
}

type Date = (i64, i64, i64);

fn iso_date(bytes: &[u8]) -> Option<(Date, &[u8])> {
    let digits = |range: std::ops::Range<usize>| {
        let text = bytes.get(range)?;
        text.iter()
            .all(u8::is_ascii_digit)
            .then(|| text.iter().fold(0, |sum, d| sum * 10 + i64::from(d - b'0')))
    };
    let year = digits(0..4)?;
    match bytes.get(4)? {
        mark @ (b'-' | b'/' | b'.') if bytes.get(7) == Some(mark) => {
            Some(((year, digits(5..7)?, digits(8..10)?), &bytes[10..]))
        }
        b'0' | b'1' => Some(((year, digits(4..6)?, digits(6..8)?), &bytes[8..])),
        _ => None,
    }
}

/// `122640` or `1226`.
fn compact_time(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let len = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let pair = |i: usize| number(&bytes[i..i + 2]).map(|(value, _)| i64::from(value));
    let time = match len {
        4 => in_day(pair(0)?, pair(2)?, 0)?,
        6 => in_day(pair(0)?, pair(2)?, pair(4)?)?,
        _ => return None,
    };
    Some((time, &bytes[len..]))
}

/// A date written in words: `Sat, 09 Nov 2013 12:26:40 GMT`, `Nov 9, 2013 12:26 PM`, `09-Nov-13 12.26.40`.
#[derive(Default)]
struct Words {
    day: Option<i64>,
    month: Option<i64>,
    year: Option<i64>,
    time: Option<i64>,
    zone: Option<i64>,
}

impl Words {
    fn read(mut self, mut rest: &[u8]) -> Option<i64> {
        loop {
            rest = skip(rest);
            let Some(first) = rest.first() else { break };
            let after = match first {
                b'(' => rest
                    .iter()
                    .position(|byte| *byte == b')')
                    .map_or(&[][..], |end| &rest[end + 1..]),
                b'0'..=b'9' => self.number(rest)?,
                b'+' | b'-' => self.offset(rest)?,
                _ => self.word(rest),
            };
            rest = after;
        }
        let date = (self.year?, self.month?, self.day?);
        moment(date, self.time.unwrap_or(0), self.zone.unwrap_or(0))
    }

    /// A date, day, year, time or signless offset.
    fn number<'a>(&mut self, text: &'a [u8]) -> Option<&'a [u8]> {
        if let (None, None, None) = (self.day, self.month, self.year)
            && let Some(((year, month, day), after)) = day_first(text).or_else(|| iso_date(text))
        {
            (self.year, self.month, self.day) = (Some(year), Some(month), Some(day));
            return Some(after);
        }
        if self.time.is_none()
            && let Some((time, after)) = time_of_day(text)
        {
            self.time = Some(time);
            return Some(after);
        }
        let (value, after) = number(text)?;
        let digits = text.len() - after.len();
        if self.day.is_none() && digits <= 2 {
            self.day = Some(i64::from(value));
        } else if self.year.is_none() && (2..=4).contains(&digits) {
            self.year = Some(full_year(value, digits));
        } else if self.time.is_some() {
            if self.zone.is_none() && (3..=5).contains(&digits) {
                self.zone = Some(offset(&text[..digits]));
            }
        } else {
            return None;
        }
        Some(after)
    }

    /// An offset with a sign after the time; before it the sign is a mere dash.
    fn offset<'a>(&mut self, text: &'a [u8]) -> Option<&'a [u8]> {
        if self.time.is_none() || self.zone.is_some() {
            return Some(&text[1..]);
        }
        let len = text[1..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit() || **byte == b':')
            .count();
        self.zone = Some(zone(&text[..=len])?);
        Some(&text[len + 1..])
    }

    /// A month, a zone, AM or PM; any other word (weekdays, whatever their language) says nothing.
    fn word<'a>(&mut self, text: &'a [u8]) -> &'a [u8] {
        let ends = |byte: &u8| {
            matches!(
                *byte,
                b' ' | b'\t' | b',' | b'-' | b'+' | b'/' | b'(' | b'.'
            ) || byte.is_ascii_digit()
        };
        let len = text.iter().position(ends).unwrap_or(text.len()).max(1);
        let (word, after) = text.split_at(len);
        if self.month.is_none()
            && let Some(month) = month(word)
        {
            self.month = Some(month);
        } else if let Some(time) = self.time {
            if word.eq_ignore_ascii_case(b"pm") && time < DAY / 2 {
                self.time = Some(time + DAY / 2);
            } else if word.eq_ignore_ascii_case(b"am") && (DAY / 2..DAY / 2 + 3600).contains(&time)
            {
                self.time = Some(time - DAY / 2);
            } else if self.zone.is_none()
                && let Some(named) = named_zone(word)
            {
                // `GMT+0100` goes on.
                let goes_on = matches!(after.first(), Some(b'+' | b'-')) && named == 0;
                self.zone = (!goes_on).then_some(named);
            }
        }
        after
    }
}

/// The text after blanks and other separators.
fn skip(text: &[u8]) -> &[u8] {
    let len = text
        .iter()
        .take_while(|byte| matches!(**byte, b' ' | b'\t' | b',' | b'.' | b'/' | b';' | b'"'))
        .count();
    &text[len..]
}

/// `9.11.2013`: the day comes first wherever dots are written.
fn day_first(text: &[u8]) -> Option<(Date, &[u8])> {
    let (day, rest) = number(text)?;
    let (month, rest) = number(rest.strip_prefix(b".")?)?;
    let rest = rest.strip_prefix(b".")?;
    let (year, after) = number(rest)?;
    (rest.len() - after.len() == 4 && day <= 31 && month <= 12)
        .then(|| ((i64::from(year), i64::from(month), i64::from(day)), after))
}

/// `12:26:40`, `12:26`, `12.26.40`, `12:26:40.125`; hour 24 and second 60 belong to what follows.
fn time_of_day(text: &[u8]) -> Option<(i64, &[u8])> {
    let (hour, rest) = number(text).filter(|(_, rest)| text.len() - rest.len() <= 2)?;
    let mark = *rest.first().filter(|byte| matches!(byte, b':' | b'.'))?;
    let (minute, rest) = two_digits(&rest[1..])?;
    let (second, rest) = match rest {
        [next, tail @ ..] if *next == mark => two_digits(tail)?,
        _ if mark == b'.' => return None,
        _ => (0, rest),
    };
    let rest = match rest {
        [b'.' | b',', digits @ ..] if digits.first().is_some_and(u8::is_ascii_digit) => {
            let len = digits
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count();
            &digits[len..]
        }
        _ => rest,
    };
    Some((in_day(i64::from(hour), minute, second)?, rest))
}

fn two_digits(text: &[u8]) -> Option<(i64, &[u8])> {
    let (value, rest) = number(text)?;
    (text.len() - rest.len() == 2).then_some((i64::from(value), rest))
}

fn in_day(hour: i64, minute: i64, second: i64) -> Option<i64> {
    (hour <= 24 && minute < 60 && second <= 60).then_some(hour * 3600 + minute * 60 + second)
}

/// The number of at most nine digits at the start.
fn number(text: &[u8]) -> Option<(u32, &[u8])> {
    let len = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if !(1..=9).contains(&len) {
        return None;
    }
    let value = text[..len]
        .iter()
        .fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'));
    Some((value, &text[len..]))
}

/// Two digits are of 1970 to 2069, three count from 1900 (`113` is 2013).
fn full_year(value: u32, digits: usize) -> i64 {
    let century = match digits {
        2 if value < 70 => 2000,
        2 | 3 => 1900,
        _ => 0,
    };
    i64::from(value) + century
}

/// The number of an English month, by its name or the first three or more letters of it.
fn month(word: &[u8]) -> Option<i64> {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let at = MONTHS.iter().position(|month| {
        word.len() >= 3
            && month
                .as_bytes()
                .get(..word.len())
                .is_some_and(|month| month.eq_ignore_ascii_case(word))
    })?;
    i64::try_from(at + 1).ok()
}

/// The moment of a date, a time of day in seconds and an offset in seconds.
fn moment((year, month, day): Date, time: i64, zone: i64) -> Option<i64> {
    if !(1970..=9999).contains(&year)
        || !(1..=12).contains(&month)
        || !(1..=days_in(year, month)).contains(&day)
    {
        return None;
    }
    Some(days_since_epoch(year, month, day) * DAY + time - zone)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 in the Gregorian calendar, by counting from March.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    const TO_EPOCH: i64 = 719_468;
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - TO_EPOCH
}
