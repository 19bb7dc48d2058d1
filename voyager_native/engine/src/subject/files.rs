//! The places where a subject may have its file counter.

use super::Segment;
use super::counter::{self, Counter, Mark};
use super::names::Name;
use super::segment::name_limit;
use super::words::{first_yenc, only_filler, only_separators, separator_at, skip_filler};

/// Separators and sizes that may stand between a file counter and the name it belongs to.
const MAX_GAP: usize = 32;

/// The file counter of a quoted name, from the surest place to the least.
pub(super) fn around(s: &[u8], segment: &Segment, name: Name) -> Option<Counter> {
    let free = |found: &Counter| !is_cut(segment, found);
    before_name(s, segment, name.outer_start)
        .or_else(|| after_name(s, segment, name.outer_end))
        .or_else(|| leading(s, name.outer_start).filter(free))
        .or_else(|| bare_before(s, name.outer_start).filter(free))
        .or_else(|| before_limit(s, segment, name.outer_end))
        .or_else(|| at_the_end(s, segment))
        .or_else(|| apart(s, segment, name.outer_start))
}

/// The counter right before a name.
pub(super) fn before_name(s: &[u8], segment: &Segment, name: usize) -> Option<Counter> {
    counter::last_before(s, name).filter(|found| {
        name - found.end <= MAX_GAP
            && between_counter_and_name(s, found.end, name)
            && !found.is_years()
            && !is_cut(segment, found)
    })
}

/// Whether only separators, sizes and perhaps a `yEnc` stand in `from..to`.
fn between_counter_and_name(s: &[u8], from: usize, to: usize) -> bool {
    let yenc = first_yenc(s, from).filter(|at| at + 4 <= to);
    only_filler(s, from, yenc.unwrap_or(to)) && yenc.is_none_or(|at| only_filler(s, at + 4, to))
}

/// The counter right after a name, or after the sizes that follow it.
pub(super) fn after_name(s: &[u8], segment: &Segment, name: usize) -> Option<Counter> {
    let limit = (name + MAX_GAP).min(s.len());
    let mut i = name;
    while i < limit {
        if counter::opens(s[i])
            && let Some(found) = counter::bracketed(s, i)
        {
            if is_cut(segment, &found) {
                i = found.end;
                continue;
            }
            return Some(found).filter(|found| !found.is_years());
        }
        let step = separator_at(s, i);
        if step > 0 {
            i += step;
            continue;
        }
        if let Some(found) = counter::bare_at(s, i) {
            let apart = found.mark != Mark::Stroke || s[name..i].ends_with(b"< ");
            return Some(found)
                .filter(|found| apart && !is_cut(segment, found) && found.index <= found.total);
        }
        let after = skip_filler(s, i);
        if after == i {
            return None;
        }
        i = after;
    }
    None
}

/// The counter that begins the subject.
fn leading(s: &[u8], limit: usize) -> Option<Counter> {
    let mut i = 0;
    while i < limit {
        if counter::opens(s[i])
            && let Some(found) = counter::bracketed(s, i)
        {
            return Some(found).filter(|found| found.end <= limit && !found.is_years());
        }
        match separator_at(s, i) {
            0 => return None,
            step => i += step,
        }
    }
    None
}

/// A counter before the name with a description between them: `Title (44/54) - Words - "…`.
///
/// It must look made by a tool, so that `Docu [1/2] Collectors Edition` has none.
fn apart(s: &[u8], segment: &Segment, name: usize) -> Option<Counter> {
    counter::last_before(s, name).filter(|found| {
        let rest = s[found.end..name].trim_ascii_start();
        let made = rest.first() == Some(&b'-') || s[found.start + 1] == b'0';
        made && found.mark == Mark::Stroke
            && found.index <= found.total.saturating_add(1)
            && !found.is_years()
            && !is_cut(segment, found)
    })
}

/// `File 5 of 12 - "…`, and counters whose opening bracket is lost: `Breed00/27] - "…`.
pub(super) fn bare_before(s: &[u8], name: usize) -> Option<Counter> {
    let gap = s[..name]
        .iter()
        .rev()
        .take(MAX_GAP)
        .take_while(|byte| !byte.is_ascii_alphanumeric())
        .count();
    let end = name - gap;
    let found = counter::bare_ending_at(s, end).filter(|_| only_separators(s, end, name))?;
    let closed = s[end..name]
        .iter()
        .copied()
        .find(|byte| !counter::is_blank(*byte))
        .is_some_and(counter::closes);
    ((found.mark != Mark::Stroke || closed)
        && found.index <= found.total.saturating_add(1)
        && !found.is_years())
    .then_some(found)
}

/// The counter right before `yEnc` or the segment counter, with other text between it and the name.
fn before_limit(s: &[u8], segment: &Segment, name: usize) -> Option<Counter> {
    let limit = name_limit(s, name, segment);
    counter::last_before(s, limit).filter(|found| {
        found.start >= name
            && only_filler(s, found.end, limit)
            && !found.is_years()
            && !is_cut(segment, found)
    })
}

/// A counter after the segment counter that ends the subject.
fn at_the_end(s: &[u8], segment: &Segment) -> Option<Counter> {
    let last_cut = segment.cuts.iter().map(|cut| cut.end as usize).max()?;
    counter::last_before(s, s.len()).filter(|found| {
        segment.counted
            && found.start >= last_cut
            && only_filler(s, last_cut, found.start)
            && only_filler(s, found.end, s.len())
            && !found.is_years()
    })
}

/// Whether a counter is the segment's, or part of it.
pub(super) fn is_cut(segment: &Segment, found: &Counter) -> bool {
    segment
        .cuts
        .iter()
        .any(|cut| found.start < cut.end as usize && (cut.start as usize) < found.end)
}

/// The last counter before `limit` that may be the file's.
pub(super) fn last_counter(s: &[u8], segment: &Segment, limit: usize) -> Option<Counter> {
    counter::last_before(s, limit).filter(|file| !file.is_years() && !is_cut(segment, file))
}
