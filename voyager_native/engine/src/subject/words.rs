//! Words of subjects that are neither names nor counters: `yEnc`, sizes, separators.

use super::counter::is_blank;
use memchr::memrchr2;

/// Rounds after which trimming stops, so that hostile subjects cost no more than their length.
const MAX_ROUNDS: usize = 24;
/// A bracket closes within so many bytes, or it is not looked for.
const REACH: usize = 1024;

/// Where the last word `yEnc` (any letter case) begins and ends.
///
/// It counts as a word when no letter, digit or joined hyphen follows, so `yEnc(1/144)` has it and `yEnc-PP` has not.
pub(super) fn last_yenc(s: &[u8]) -> Option<(usize, usize)> {
    let mut end = s.len();
    while let Some(at) = memrchr2(b'y', b'Y', &s[..end]) {
        if is_yenc(s, at) {
            return Some((at, at + 4));
        }
        end = at;
    }
    None
}

/// Where the first word `yEnc` at or after `from` begins.
pub(super) fn first_yenc(s: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(found) = s
        .get(at..)
        .and_then(|rest| memchr::memchr2(b'y', b'Y', rest))
    {
        if is_yenc(s, at + found) {
            return Some(at + found);
        }
        at += found + 1;
    }
    None
}

fn is_yenc(s: &[u8], at: usize) -> bool {
    s.get(at + 1..at + 4)
        .is_some_and(|enc| enc.eq_ignore_ascii_case(b"enc"))
        && match s.get(at + 4) {
            None => true,
            Some(b'-' | b'.') => !s.get(at + 5).is_some_and(u8::is_ascii_alphanumeric),
            Some(byte) => !byte.is_ascii_alphanumeric() && *byte != b'_',
        }
}

/// The length of the separator at `i`, 0 when there is none: what only stands between names and counters.
pub(super) fn separator_at(s: &[u8], i: usize) -> usize {
    match s.get(i) {
        Some(
            b' ' | b'\t' | b'-' | b':' | b'|' | b'[' | b']' | b'(' | b')' | b'{' | b'}' | b'<'
            | b'>' | b'~' | b'*' | b'=' | b'_' | b'.' | b',' | b';' | b'"',
        ) => 1,
        Some(0xe2) => dash_at(s, i),
        _ => 0,
    }
}

/// The length of a dash or curly quote (`E2 80 xx` in UTF-8) at `i`, else 0.
fn dash_at(s: &[u8], i: usize) -> usize {
    match s.get(i..i + 3) {
        Some([0xe2, 0x80, 0x93 | 0x94 | 0x9c | 0x9d | 0x9e]) => 3,
        _ => 0,
    }
}

/// The position after the separators and sizes that begin at `i`: `- 1,45 GB (4.2 GB) 46101356 -`.
pub(super) fn skip_filler(s: &[u8], mut i: usize) -> usize {
    loop {
        let step = separator_at(s, i);
        if step > 0 {
            i += step;
        } else if let Some(end) = size_at(s, i) {
            i = end;
        } else {
            return i;
        }
    }
}

/// Whether nothing but separators and sizes stands in `from..to`.
pub(super) fn only_filler(s: &[u8], from: usize, to: usize) -> bool {
    from >= to || s.get(..to).is_some_and(|s| skip_filler(s, from) == to)
}

/// Whether nothing but separators stands in `from..to`.
pub(super) fn only_separators(s: &[u8], from: usize, to: usize) -> bool {
    let mut i = from;
    while i < to {
        match separator_at(s, i) {
            0 => return false,
            step => i += step,
        }
    }
    true
}

/// The end of the size that begins at `i`: digits with points and commas, then perhaps a unit.
fn size_at(s: &[u8], i: usize) -> Option<usize> {
    s.get(i).filter(|byte| byte.is_ascii_digit())?;
    let mut end = i;
    while s
        .get(end)
        .is_some_and(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b','))
    {
        end += 1;
    }
    let unit = s[end..]
        .iter()
        .position(|byte| !is_blank(*byte))
        .unwrap_or(0);
    if unit <= 2
        && let Some(end) = unit_at(s, end + unit)
    {
        return Some(end);
    }
    // Without a unit it must be a whole number that stands alone.
    let whole = s[i..end].iter().all(u8::is_ascii_digit);
    (whole
        && !s
            .get(end)
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'/'))
    .then_some(end)
}

/// The end of a unit of size at `i`: `kB`, `MiB`, `G`, `bytes`.
fn unit_at(s: &[u8], i: usize) -> Option<usize> {
    const UNITS: [&[u8]; 14] = [
        b"bytes", b"byte", b"kib", b"mib", b"gib", b"tib", b"kb", b"mb", b"gb", b"tb", b"k", b"m",
        b"g", b"b",
    ];
    UNITS
        .iter()
        .map(|unit| (i + unit.len(), unit))
        .find_map(|(end, unit)| {
            let here = s.get(i..end)?.eq_ignore_ascii_case(unit);
            (here && !s.get(end).is_some_and(u8::is_ascii_alphanumeric)).then_some(end)
        })
}

/// `from..to` without the separators and sizes at both of its ends.
pub(super) fn trim_filler(s: &[u8], from: usize, to: usize) -> (usize, usize) {
    let (from, to) = trim(s, skip_filler(s, from).min(to), to);
    (from, trim_size_back(s, from, to))
}

/// `to` moved before sizes that end there.
pub(super) fn trim_size_back(s: &[u8], from: usize, mut to: usize) -> usize {
    for _ in 0..MAX_ROUNDS {
        let Some(start) = size_start(s, from, to) else {
            break;
        };
        to = trim(s, from, start).1;
    }
    to
}

/// Where the size begins that ends at `to`; it must stand after a separator and not be the whole text.
fn size_start(s: &[u8], from: usize, to: usize) -> Option<usize> {
    // "1.234.567,89 bytes" is the longest size in use.
    const LONGEST: usize = 20;
    let low = to.saturating_sub(LONGEST).max(from);
    let mut start = None;
    for i in (low..to).rev() {
        let begins = i == from
            || !(s[i - 1].is_ascii_alphanumeric() || matches!(s[i - 1], b'.' | b',' | b'/'));
        if s[i].is_ascii_digit() && begins && size_at(&s[..to], i) == Some(to) {
            start = Some(i);
        }
    }
    // A number without a unit at the end of a title is part of the title.
    start.filter(|i| *i > from && !s[*i..to].iter().all(u8::is_ascii_digit))
}

/// `from..to` without the separators at both of its ends; brackets that pair up inside stay.
pub(super) fn trim(s: &[u8], mut from: usize, mut to: usize) -> (usize, usize) {
    to = to.min(s.len());
    for _ in 0..MAX_ROUNDS {
        while from < to && edge_at(s, from) > 0 {
            from += edge_at(s, from);
        }
        while from < to && edge_before(s, to) > 0 {
            to -= edge_before(s, to);
        }
        if from >= to {
            return (from, from);
        }
        let inner = &s[from..to];
        if let Some(word) = lone_marks(inner) {
            to -= word;
        } else if let Some(word) = lone_marks_front(inner) {
            from += word;
        } else if encloses(inner) {
            (from, to) = (from + 1, to - 1);
        } else if is_open(inner[0]) && closing_of(inner, 0).is_none() {
            from += 1;
        } else if is_close(inner[inner.len() - 1]) && opening_of(inner, inner.len() - 1).is_none() {
            to -= 1;
        } else if is_close(inner[0]) {
            from += 1;
        } else if is_open(inner[inner.len() - 1]) {
            to -= 1;
        } else {
            break;
        }
    }
    (from, to)
}

/// The length of what means nothing at the start of a text.
fn edge_at(s: &[u8], i: usize) -> usize {
    if is_edge(s[i]) { 1 } else { dash_at(s, i) }
}

/// The length of what means nothing at the end of a text that ends at `to`.
fn edge_before(s: &[u8], to: usize) -> usize {
    if is_edge(s[to - 1]) {
        1
    } else {
        to.checked_sub(3).map_or(0, |i| dash_at(s, i))
    }
}

/// Whether `byte` means nothing at the edge of a text.
const fn is_edge(byte: u8) -> bool {
    matches!(
        byte,
        b' ' | b'\t'
            | b'-'
            | b'_'
            | b':'
            | b'|'
            | b'~'
            | b'*'
            | b'='
            | b','
            | b';'
            | b'<'
            | b'>'
            | b'"'
            | b'.'
    )
}

/// The length of a last word made of exclamation marks and the like, with the blank before it.
fn lone_marks(text: &[u8]) -> Option<usize> {
    let word = text
        .iter()
        .rev()
        .take_while(|byte| !is_blank(**byte))
        .count();
    (word < text.len() && text[text.len() - word..].iter().all(|byte| is_mark(*byte)))
        .then_some(word)
}

fn lone_marks_front(text: &[u8]) -> Option<usize> {
    let word = text.iter().take_while(|byte| !is_blank(**byte)).count();
    (word < text.len() && text[..word].iter().all(|byte| is_mark(*byte))).then_some(word)
}

const fn is_mark(byte: u8) -> bool {
    matches!(byte, b'!' | b'+' | b'#' | b'?' | b'^' | b'@') || is_edge(byte)
}

const fn is_open(byte: u8) -> bool {
    matches!(byte, b'(' | b'[' | b'{')
}

const fn is_close(byte: u8) -> bool {
    matches!(byte, b')' | b']' | b'}')
}

/// Whether the first bracket closes with the last byte.
fn encloses(text: &[u8]) -> bool {
    is_open(text[0]) && closing_of(text, 0) == Some(text.len() - 1)
}

/// Where the bracket that opens at `at` closes; brackets of one kind nest.
pub(super) fn closing_of(text: &[u8], at: usize) -> Option<usize> {
    let open = text[at];
    let close = match open {
        b'(' => b')',
        b'[' => b']',
        _ => b'}',
    };
    let mut depth = 0_usize;
    text.iter()
        .enumerate()
        .skip(at)
        .take(REACH)
        .find_map(|(i, byte)| {
            if *byte == open {
                depth += 1;
            } else if *byte == close {
                depth -= 1;
            }
            (depth == 0).then_some(i)
        })
}

fn opening_of(text: &[u8], at: usize) -> Option<usize> {
    let close = text[at];
    let open = match close {
        b')' => b'(',
        b']' => b'[',
        _ => b'{',
    };
    let mut depth = 0_usize;
    text[..=at]
        .iter()
        .enumerate()
        .rev()
        .take(REACH)
        .find_map(|(i, byte)| {
            if *byte == close {
                depth += 1;
            } else if *byte == open {
                depth -= 1;
            }
            (depth == 0).then_some(i)
        })
}
