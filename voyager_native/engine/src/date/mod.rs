//! Date headers to epoch seconds.
//!
//! What is in the wild: RFC 5322 and its ancestors, two- and three-digit years, zones by name, by
//! offset, without a sign or with a comment, ISO 8601, `asctime`, bare epoch seconds. A header that
//! names no moment (foreign month names, empty) gives `None`; nothing is guessed.

mod forms;
mod zone;

use forms::parse;
use zone::offset;

/// Day prefixes that are remembered: posters write in a handful of forms, and the day rarely changes.
const REMEMBERED: usize = 8;
/// The longest prefix that is remembered: `Wed, 17 Dec 2025 `.
const LONGEST_PREFIX: usize = 24;
/// Length of `19:34:49`.
pub(crate) const CLOCK: usize = 8;
const DAY: i64 = 86_400;

/// What precedes the time of day, and the midnight that it means.
#[derive(Clone, Copy, Debug, Default)]
struct Prefix {
    bytes: [u8; LONGEST_PREFIX],
    len: usize,
    midnight: i64,
}

/// Parses Date headers; remembers the day prefixes it met last.
#[derive(Debug, Default)]
pub struct DateParser {
    prefixes: [Prefix; REMEMBERED],
    /// The prefix that matched last: the first one to try.
    last: usize,
    /// The prefix to forget next.
    oldest: usize,
}

impl DateParser {
    /// A parser that has met no date yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The moment in seconds since 1970-01-01 UTC, or `None` when the header gives none.
    pub fn parse(&mut self, bytes: &[u8]) -> Option<i64> {
        if let Some(moment) = self.recall(self.last, bytes) {
            return Some(moment);
        }
        if let Some((i, moment)) = (0..REMEMBERED).find_map(|i| Some((i, self.recall(i, bytes)?))) {
            self.last = i;
            return Some(moment);
        }
        let moment = parse(bytes)?;
        self.remember(bytes, moment);
        Some(moment)
    }

    /// Where the time of day stands in a header that was parsed just now, and the moment at its midnight.
    ///
    /// Every header with the same bytes but for the digits of that time means that midnight as well.
    pub(crate) fn midnight(&self, bytes: &[u8], moment: i64) -> Option<(usize, i64)> {
        let at = self.prefixes[self.last].len;
        let time = clock(*bytes.get(at..)?.first_chunk::<CLOCK>()?)?;
        (self.recall(self.last, bytes) == Some(moment)).then_some((at, moment - time))
    }

    /// The moment by prefix `i`, when the header begins with it and goes on in the usual form.
    #[inline]
    fn recall(&self, i: usize, bytes: &[u8]) -> Option<i64> {
        let prefix = &self.prefixes[i];
        let (start, rest) = bytes.split_at_checked(prefix.len)?;
        if prefix.len == 0 || start != &prefix.bytes[..prefix.len] {
            return None;
        }
        let (time, zone) = rest.split_first_chunk::<CLOCK>()?;
        Some(prefix.midnight + clock(*time)? - usual_zone(zone)?)
    }

    /// Keeps what precedes the time of day in `bytes`, provided that it alone gives the day.
    fn remember(&mut self, bytes: &[u8], moment: i64) {
        let Some(colon) = bytes.iter().position(|byte| *byte == b':') else {
            return;
        };
        let Some(len) = colon
            .checked_sub(2)
            .filter(|len| (1..=LONGEST_PREFIX).contains(len))
        else {
            return;
        };
        let Some((time, zone)) = bytes[len..].split_first_chunk::<CLOCK>() else {
            return;
        };
        let (Some(time), Some(zone)) = (clock(*time), usual_zone(zone)) else {
            return;
        };
        let midnight = moment - time + zone;
        // Only a prefix with a year does not depend on what follows the time.
        let probe = [&bytes[..len], b"00:00:00 GMT"].concat();
        if parse(&probe) != Some(midnight) {
            return;
        }
        let prefix = &mut self.prefixes[self.oldest];
        prefix.bytes[..len].copy_from_slice(&bytes[..len]);
        prefix.len = len;
        prefix.midnight = midnight;
        self.last = self.oldest;
        self.oldest = (self.oldest + 1) % REMEMBERED;
    }
}

/// Seconds of `19:34:49`, up to 23:59:59.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a call would cost more than the work")]
pub(crate) fn clock(time: [u8; CLOCK]) -> Option<i64> {
    const ZEROS: u64 = u64::from_le_bytes(*b"00:00:00");
    const LOW: u64 = 0x0f0f_000f_0f00_0f0f;
    const SIXES: u64 = 0x0606_0006_0600_0606;
    let digits = u64::from_le_bytes(time) ^ ZEROS;
    // All below ten, and the colons where they belong.
    if (digits | digits.wrapping_add(SIXES)) & !LOW != 0 {
        return None;
    }
    let pairs = digits * 10 + (digits >> 8);
    let pair = |at: u32| (pairs >> at & 0xff).cast_signed();
    let (hour, minute, second) = (pair(0), pair(24), pair(48));
    (hour < 24 && minute < 60 && second < 60).then_some(hour * 3600 + minute * 60 + second)
}

/// Seconds east of Greenwich of ` GMT`, ` UTC`, ` +0100`, ` -0600`.
#[inline]
fn usual_zone(zone: &[u8]) -> Option<i64> {
    match zone {
        b" GMT" | b" UTC" | b" +0000" | b" -0000" => Some(0),
        [b' ', sign @ (b'+' | b'-'), digits @ ..]
            if digits.len() == 4 && digits.iter().all(u8::is_ascii_digit) =>
        {
            let offset = offset(digits);
            Some(if *sign == b'-' { -offset } else { offset })
        }
        _ => None,
    }
}
