//! Which counter of a subject is the segment's.

use super::counter::{self, Counter, Mark};
use super::words::{first_yenc, last_yenc, only_filler, only_separators};
use super::{Segment, Span32, names};

/// Finds the segment counter; see [`super::segment`].
pub(super) fn find(s: &[u8]) -> Segment {
    at_end(s).unwrap_or_else(|| general(s))
}

/// The usual form, read from the end: `… (3/40)` or `… (3/40) 15728640`.
///
/// Nothing that follows could be a `yEnc`, so this is the last counter by every rule of [`general`]. Subjects that
/// differ in nothing but their part have it alike.
pub(super) fn at_end(s: &[u8]) -> Option<Segment> {
    let close = back_over_number(s, s.len());
    if close == 0 || s[close - 1] != b')' {
        return None;
    }
    let (total, i) = digits_back(s, close - 1)?;
    if i == 0 || s[i - 1] != b'/' {
        return None;
    }
    let (part, i) = digits_back(s, i - 1)?;
    if i == 0 || s[i - 1] != b'(' {
        return None;
    }
    let open = i - 1;
    // A copy of the counter may stand before it, but not between it and the `yEnc` or the name.
    let before = &s[..back_over_number(s, open)];
    // A quote after the `yEnc` may be open still, with the counter in it.
    let alone = (before.last() == Some(&b'"') && last_yenc(before).is_none())
        || before
            .last_chunk::<4>()
            .is_some_and(|word| word.eq_ignore_ascii_case(b"yenc"))
        || !before.iter().any(|byte| counter::closes(*byte));
    if !alone {
        return None;
    }
    Some(Segment {
        part,
        total,
        counted: true,
        either: false,
        cuts: [
            Span32::new(open, close),
            Span32::default(),
            Span32::default(),
        ],
    })
}

/// The position before the blanks and digits that end at `i`.
fn back_over_number(s: &[u8], mut i: usize) -> usize {
    while i > 0 && (counter::is_blank(s[i - 1]) || s[i - 1].is_ascii_digit()) {
        i -= 1;
    }
    i
}

/// The number of one to nine digits that ends at `end`, and its first position.
fn digits_back(s: &[u8], end: usize) -> Option<(u32, usize)> {
    let mut i = end;
    let mut value = 0;
    let mut unit = 1;
    while i > 0 && s[i - 1].is_ascii_digit() {
        if end - i == 9 {
            return None;
        }
        i -= 1;
        value += u32::from(s[i] - b'0') * unit;
        unit = unit.wrapping_mul(10);
    }
    (i < end).then_some((value, i))
}

/// Every other form, by the order of the rules.
pub(super) fn general(s: &[u8]) -> Segment {
    if !s.iter().any(|byte| COUNTER_BYTES[usize::from(*byte)]) {
        return Segment::default();
    }
    let yenc = last_yenc(s);
    yenc.and_then(|(_, after)| after_yenc(s, after))
        .or_else(|| before_end(s))
        .or_else(|| after_name(s, yenc.map(|(at, _)| at)))
        .or_else(|| before_name(s))
        .or_else(|| bare(s, yenc))
        .unwrap_or_default()
}

/// Bytes one of which every counter has: a stroke, a bracket, a blank.
const COUNTER_BYTES: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < table.len() {
        let of = byte as u8;
        table[byte] =
            counter::is_blank(of) || counter::opens(of) || matches!(of, b'/' | b'|' | b'\\');
        byte += 1;
    }
    table
};

/// The last round counter after the last `yEnc`, else the last other counter there.
fn after_yenc(s: &[u8], from: usize) -> Option<Segment> {
    let mut found: Option<Counter> = None;
    for each in counters_outside_quotes(s, from) {
        if found.is_none_or(|found| found.open != b'(' || each.open == b'(') {
            found = Some(each);
        }
    }
    if let Some(found) = found {
        let from =
            memchr::memrchr(b'"', &s[..found.start]).map_or(from, |quote| from.max(quote + 1));
        let same = counters_outside_quotes(s, from).filter(|each| each.same_numbers(&found));
        return Some(counted(&found, same));
    }
    // `yEnc 5/42`
    let start = (from..s.len()).find(|i| s[*i].is_ascii_digit())?;
    let bare = counter::bare_at(s, start)?;
    // `yEnc (12/14` is cut, and its total with it.
    let free =
        only_separators(s, from, start) && !s[from..start].iter().copied().any(counter::opens);
    (free && only_filler(s, bare.end, s.len())).then(|| counted(&bare, std::iter::once(bare)))
}

/// The counters in `from..` that stand in no quotes opened there.
fn counters_outside_quotes(s: &[u8], from: usize) -> impl Iterator<Item = Counter> {
    let mut at = from;
    let mut quoted = false;
    std::iter::from_fn(move || {
        while let Some(byte) = s.get(at) {
            if *byte == b'"' {
                quoted = !quoted;
            } else if !quoted
                && counter::opens(*byte)
                && let Some(found) = counter::bracketed(s, at)
                && found.mark != Mark::Underscore
            {
                at = found.end;
                return Some(found);
            }
            at += 1;
        }
        None
    })
}

/// The last counter of the subject, when only separators and sizes follow it.
fn before_end(s: &[u8]) -> Option<Segment> {
    let last = last_stroke(s, s.len()).filter(|found| only_filler(s, found.end, s.len()))?;
    // `"f.rar" (1/8) [3/12]`: as after `yEnc`, the round one is the segment's.
    let round = last_stroke(s, last.start).filter(|round| {
        last.open != b'('
            && round.open == b'('
            && only_filler(s, round.end, last.start)
            && names::ends_name(s, round.start)
    });
    let found = round.unwrap_or(last);
    let mut segment = with_copy(s, &found);
    segment.either = found.open != b'(' && names::ends_name(s, found.start) && is_alone(s, &found);
    settled(segment)
}

/// A counter between the name and `yEnc`, or the name and other words: `"f.nzb" (1/1) yEnc`.
fn after_name(s: &[u8], yenc: Option<usize>) -> Option<Segment> {
    let found = last_stroke(s, yenc.unwrap_or(s.len()))?;
    if !names::ends_name(s, found.start) {
        return None;
    }
    let mut segment = with_copy(s, &found);
    segment.either = is_alone(s, &found);
    settled(segment)
}

/// Two counters before the name and none after it: `[003/120] [03/140] "f.r03"` gives the segment second.
fn before_name(s: &[u8]) -> Option<Segment> {
    let name = memchr::memchr(b'"', s)?;
    let found = last_stroke(s, name).filter(|found| only_separators(s, found.end, name))?;
    let file =
        last_stroke(s, found.start).filter(|file| only_separators(s, file.end, found.start))?;
    (file.open == found.open && !found.is_years()).then(|| counted(&found, std::iter::once(found)))
}

/// The segment of a counter before which a copy of it may stand.
fn with_copy(s: &[u8], found: &Counter) -> Segment {
    let copy = counter::last_before(s, found.start).filter(|copy| {
        copy.same_numbers(found)
            && copy.open == found.open
            && s[copy.end..found.start]
                .iter()
                .all(|byte| counter::is_blank(*byte))
    });
    counted(found, copy.into_iter().chain(std::iter::once(*found)))
}

/// A lone `[00/40]` can only be the file's: parts begin at 1.
fn settled(segment: Segment) -> Option<Segment> {
    (!segment.either || segment.part > 0).then_some(segment)
}

/// `5 of 42 yEnc`, `pic.jpg 05/42`: no brackets at all.
fn bare(s: &[u8], yenc: Option<(usize, usize)>) -> Option<Segment> {
    let limit = match yenc {
        Some((at, after)) if only_filler(s, after, s.len()) => at,
        Some(_) => return None,
        None => s.len(),
    };
    let end = (0..limit).rev().find(|i| s[*i].is_ascii_digit())? + 1;
    let found = counter::bare_ending_at(s, end).filter(|found| {
        only_separators(s, end, limit) && !(found.start > 0 && counter::opens(s[found.start - 1]))
    })?;
    let named = names::ends_name(s, found.start);
    let led = s[found.start].is_ascii_alphabetic();
    // `name.epub - File 1 of 4 - yEnc` counts files; without a name it is all there is.
    let is_segment = if named {
        !led || found.total == 1
    } else {
        found.mark == Mark::Word && (led || yenc.is_some())
    };
    let mut segment = counted(&found, std::iter::once(found));
    segment.either = named;
    is_segment.then_some(segment).and_then(settled)
}

/// The last bracketed counter before `end` whose mark a segment counter may have.
fn last_stroke(s: &[u8], end: usize) -> Option<Counter> {
    counter::last_before(s, end).filter(|found| found.mark != Mark::Underscore)
}

/// Whether no other bracketed counter stands before the name that `found` follows.
fn is_alone(s: &[u8], found: &Counter) -> bool {
    counter::last_before(s, names::start_before(s, found.start)).is_none()
}

fn counted(found: &Counter, same: impl Iterator<Item = Counter>) -> Segment {
    let mut cuts = [Span32::default(); 3];
    let mut used = 0;
    for copy in same {
        let cut = Span32::new(copy.start, copy.end);
        if used < cuts.len() && !cuts[..used].contains(&cut) {
            cuts[used] = cut;
            used += 1;
        }
    }
    // The counter itself is always cut, however many copies stand before it.
    let own = Span32::new(found.start, found.end);
    if !cuts.contains(&own) {
        cuts[2] = own;
    }
    Segment {
        part: found.index,
        total: found.total,
        counted: true,
        either: false,
        cuts,
    }
}

/// Where the text that may hold a name ends: before the segment counter or a `yEnc` after `from`.
pub(super) fn name_limit(s: &[u8], from: usize, segment: &Segment) -> usize {
    let cut = segment
        .cuts
        .iter()
        .filter(|cut| !cut.is_empty() && cut.start as usize >= from)
        .map(|cut| cut.start as usize)
        .min();
    let yenc = first_yenc(s, from);
    cut.into_iter().chain(yenc).min().unwrap_or(s.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_usual_form_is_read_alike_by_the_rules(
            before in "[ -~]{0,12}",
            inner in prop::sample::select(vec![
                "", "yEnc", "yEnc ", "\"a.rar\" yEnc", "(1/5)", "(1/5) ", "[1/5] - ", "yEnc (3/7) (", "yEnc (1/5) 12 ", "\"", "yEnc \"",
            ]),
            (part, total) in (0..20_u32, 0..20_u32),
            after in prop::sample::select(vec!["", " ", " 15728640", "15728640 ", "  0  12 "]),
        ) {
            let subject = format!("{before}{inner} ({part}/{total}){after}");
            if let Some(found) = at_end(subject.as_bytes()) {
                prop_assert_eq!(found, general(subject.as_bytes()), "{}", subject);
            }
        }
    }

    #[test]
    fn the_usual_form_takes_the_short_way() {
        for subject in [
            "\"a\" yEnc (1/5)",
            "\"a\" yEnc (1/5) 15728640",
            "[a.bin] - \"\" yEnc 55 (1/5)",
            "(1/5)",
        ] {
            assert!(at_end(subject.as_bytes()).is_some(), "{subject}");
        }
    }
}
