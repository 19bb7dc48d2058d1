//! Everything of a subject but its segment counter: name, file counter, free text.

use super::counter::{self, Counter, Mark};
use super::extension::extension_rank;
use super::names::{self, Name};
use super::words::{last_yenc, separator_at, trim, trim_filler, trim_size_back};
use super::{Segment, Span32, Subject, brackets, files, flags, request};

/// Counters of an unquoted subject that are tried for a name behind them.
const MAX_TRIES: usize = 8;
/// Numbers of an unquoted subject that are looked at for a counter without brackets.
const MAX_NUMBERS: usize = 32;

/// What was found, as positions.
#[derive(Default)]
struct Found {
    name: Option<Name>,
    file: Option<Counter>,
    /// Number of the file when it stands without a total.
    index: Option<u32>,
    folder: Span32,
    /// Whether the text around the name are tags of a tool.
    tagged: bool,
    flags: u32,
}

/// Parses what [`super::segment`] left; see [`super::details`].
pub(super) fn parse(s: &[u8], segment: &Segment) -> Subject {
    if !segment.counted && is_one_word(s) {
        return Subject {
            head: Span32::new(0, s.len()),
            ..Subject::default()
        };
    }
    let yenc = last_yenc(s);
    let mut subject = Subject {
        part: segment.part,
        total: segment.total,
        counted: segment.counted,
        cuts: segment.cuts,
        flags: segment_flags(segment),
        ..Subject::default()
    };
    if yenc.is_some() {
        subject.flags |= flags::YENC;
    }
    if is_index_spam(s) {
        subject.flags |= flags::INDEX_SPAM;
        return subject;
    }
    let mut found = match names::quoted(s, segment) {
        Some(name) => quoted(s, segment, name),
        None => unquoted(s, segment, yenc),
    };
    if segment.either {
        let at = segment.cuts[0].start as usize;
        found.file = counter::bracketed(s, at).or_else(|| counter::bare_at(s, at));
    }
    fill(s, segment, yenc, &found, &mut subject);
    subject
}

/// Whether the subject is a single word that cannot hold a name or counter: what random subjects are.
fn is_one_word(s: &[u8]) -> bool {
    let of_word = |byte: &u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'=' | b'+' | b'$' | b'@')
    };
    !s.is_empty() && s.iter().all(of_word)
}

fn segment_flags(segment: &Segment) -> u32 {
    let mut bits = 0;
    if segment.counted {
        if segment.total == 0 {
            bits |= flags::UNKNOWN_TOTAL;
        } else if segment.part == 0 {
            bits |= flags::PART_ZERO;
        } else if segment.part > segment.total {
            bits |= flags::PART_OVER_TOTAL;
        }
        if !segment.cuts[1].is_empty() {
            bits |= flags::DOUBLED;
        }
    }
    bits
}

/// Lists of other people's posts are themselves posted under this name with a serial number.
pub(super) fn is_index_spam(s: &[u8]) -> bool {
    const TITLE: &[u8] = b"usenet index post";
    let start = separators_from(s, 0);
    s.get(start..start + TITLE.len())
        .is_some_and(|text| text.eq_ignore_ascii_case(TITLE))
}

fn separators_from(s: &[u8], mut i: usize) -> usize {
    loop {
        match separator_at(s, i) {
            0 => return i,
            step => i += step,
        }
    }
}

fn quoted(s: &[u8], segment: &Segment, name: Name) -> Found {
    if name.rank == 0
        && let Some(file) = files::after_name(s, segment, name.outer_end)
    {
        // `"A title" - File 1 of 4 - name.nfo`
        let limit = super::segment::name_limit(s, file.end, segment);
        if let Some(name) = names::clear(s, file.end, limit).filter(|name| name.rank == 2) {
            return Found {
                name: Some(name),
                file: Some(file),
                ..Found::default()
            };
        }
    }
    let file = files::around(s, segment, name);
    Found {
        name: Some(name),
        file,
        flags: flags::QUOTED_NAME,
        ..Found::default()
    }
}

fn unquoted(s: &[u8], segment: &Segment, yenc: Option<(usize, usize)>) -> Found {
    let cut = if segment.counted {
        segment.cuts[0].start as usize
    } else {
        s.len()
    };
    let limit = yenc.map_or(cut, |(at, _)| at.min(cut));
    if names::has_empty_quotes(s)
        && let Some(found) = bracketed(s, segment, cut, u8::from(!is_private(s)))
    {
        return found;
    }
    let first = after_first_yenc(s, limit);
    if let Some(found) = in_the_clear(s, segment, first, limit) {
        return found;
    }
    if let Some((at, after)) = yenc.filter(|(_, after)| *after < cut)
        && let Some(name) = names::clear(s, after, cut)
    {
        let file = files::last_counter(s, segment, limit).or_else(|| files::bare_before(s, at));
        return Found {
            name: Some(name),
            file,
            ..Found::default()
        };
    }
    if let Some(found) = bracketed(s, segment, cut, if is_private(s) { 1 } else { 2 }) {
        return found;
    }
    let Some(file) = files::last_counter(s, segment, limit) else {
        return Found::default();
    };
    let (start, end) = trim(s, file.end, limit);
    let name = (!telling(s, start, end).is_empty()).then(|| Name {
        start,
        end,
        outer_start: start,
        outer_end: end,
        rank: extension_rank(&s[start..end]),
    });
    Found {
        name,
        file: Some(file),
        ..Found::default()
    }
}

/// Where text begins that is no leading `yEnc`.
fn after_first_yenc(s: &[u8], limit: usize) -> usize {
    let start = separators_from(s, 0);
    let word = s
        .get(start..start + 5)
        .filter(|word| word[..4].eq_ignore_ascii_case(b"yenc"));
    word.filter(|word| separator_at(word, 4) > 0)
        .map_or(0, |_| (start + 4).min(limit))
}

/// Tools that put the name into a bracket say so in the first one.
fn is_private(s: &[u8]) -> bool {
    const TAG: &[u8] = b"[private]";
    s.len() > TAG.len()
        && s.windows(TAG.len())
            .take(64)
            .any(|text| text.eq_ignore_ascii_case(TAG))
}

/// A name with an extension after a counter, before one, or alone.
fn in_the_clear(s: &[u8], segment: &Segment, first: usize, limit: usize) -> Option<Found> {
    let found = |name: Name, file| {
        Some(Found {
            name: Some(name),
            file,
            ..Found::default()
        })
    };
    let mut at = limit;
    for _ in 0..MAX_TRIES {
        let Some(file) = counter::last_before(s, at).filter(|file| file.start >= first) else {
            break;
        };
        let joined = s
            .get(file.end)
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'.');
        if !joined
            && !file.is_years()
            && !files::is_cut(segment, &file)
            && let Some(name) = names::clear(s, file.end, limit)
        {
            return found(name, Some(file));
        }
        at = file.start;
    }
    let file = files::last_counter(s, segment, limit).filter(|file| file.start >= first);
    if let Some(file) = file {
        return names::clear(s, first, file.start).and_then(|name| found(name, Some(file)));
    }
    if let Some((file, name)) =
        worded(s, first, limit).filter(|(file, _)| !files::is_cut(segment, file))
    {
        return found(name, Some(file));
    }
    names::clear(s, first, limit).and_then(|name| found(name, None))
}

/// The last `5 of 12` with a name after it.
fn worded(s: &[u8], first: usize, limit: usize) -> Option<(Counter, Name)> {
    let mut end = limit;
    for _ in 0..MAX_NUMBERS {
        let last = (first..end).rev().find(|i| s[*i].is_ascii_digit())?;
        if let Some(file) =
            counter::bare_ending_at(s, last + 1).filter(|file| file.mark != Mark::Stroke)
            && file.start >= first
            && separator_at(s, file.end) > 0
        {
            return names::clear(s, file.end, limit).map(|name| (file, name));
        }
        // On to the number before this one.
        end = s[..last]
            .iter()
            .rposition(|byte| !byte.is_ascii_digit())
            .map_or(first, |before| before + 1);
    }
    None
}

/// `[PRiVATE]-[WtFnZb]-[name.ext]-[1/10] - ""`.
fn bracketed(s: &[u8], segment: &Segment, limit: usize, least: u8) -> Option<Found> {
    let bracket = brackets::find(s, limit, least)?;
    let name = bracket.name;
    let file = files::after_name(s, segment, name.outer_end)
        .or_else(|| files::before_name(s, segment, name.outer_start));
    Some(Found {
        name: Some(name),
        file,
        index: bracket.index,
        folder: bracket.folder,
        tagged: is_private(s),
        flags: flags::BRACKET_NAME,
    })
}

fn fill(
    s: &[u8],
    segment: &Segment,
    yenc: Option<(usize, usize)>,
    found: &Found,
    subject: &mut Subject,
) {
    subject.flags |= found.flags;
    if let Some(name) = found.name {
        subject.name = Span32::new(name.start, name.end);
        if name.rank > 0 {
            subject.flags |= flags::EXTENSION;
        }
    }
    subject.file_index = found.index;
    if let Some(file) = found.file {
        subject.file_index = Some(file.index);
        subject.file_total = (file.total > 0).then_some(file.total);
        subject.file_counter = Span32::new(file.start, file.end);
        if file.total > 0 && file.index > file.total {
            subject.flags |= flags::INDEX_OVER_TOTAL;
        }
        let equal = segment.counted && file.index == segment.part && file.total == segment.total;
        if equal && segment.total != 1 {
            subject.flags |= flags::AMBIGUOUS;
        }
    }
    let region = head_region(s, segment, yenc, found);
    if found.tagged {
        subject.head = found.folder;
    } else {
        let (start, end) = trim(s, region.0, region.1);
        subject.head = telling(s, start, trim_size_back(s, start, end));
        subject.request = request::find(s, region.0, region.1);
    }
    if let Some(name) = found.name.filter(|_| !found.tagged) {
        subject.tail = between(s, yenc, found.file, name, region.1);
        if subject.tail.is_empty() {
            subject.tail = tail(s, segment, yenc, found.file, name);
        } else {
            subject.flags |= flags::TAIL_BETWEEN;
        }
    }
}

/// The text before the file counter or the name; the text between them when nothing is said before the counter.
fn head_region(
    s: &[u8],
    segment: &Segment,
    yenc: Option<(usize, usize)>,
    found: &Found,
) -> (usize, usize) {
    let cut = if segment.counted {
        segment.cuts[0].start as usize
    } else {
        s.len()
    };
    let limit = yenc.map_or(cut, |(at, _)| at.min(cut));
    let first = after_first_yenc(s, limit);
    let name = found.name.map_or(limit, |name| name.outer_start);
    let (from, to) = match found.file {
        Some(file) if file.start < name && !tells(s, first, file.start) => (file.end, name),
        Some(file) if file.start < name => (first, file.start),
        _ => (first, name),
    };
    // A name behind the segment counter leaves only the text before that.
    let first_cut = segment
        .cuts
        .iter()
        .filter(|cut| !cut.is_empty())
        .map(|cut| cut.start as usize)
        .find(|cut| (from..to).contains(cut));
    let to = first_cut.unwrap_or(to);
    (from, to.max(from))
}

/// Whether a letter or digit of any script is in `start..end`.
fn tells(s: &[u8], start: usize, end: usize) -> bool {
    s[start..end]
        .iter()
        .any(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii())
}

/// The stretch, provided that it says something.
fn telling(s: &[u8], start: usize, end: usize) -> Span32 {
    if tells(s, start, end) {
        Span32::new(start, end)
    } else {
        Span32::default()
    }
}

/// The free text between the file counter and the name, where the head stands before the counter.
fn between(
    s: &[u8],
    yenc: Option<(usize, usize)>,
    file: Option<Counter>,
    name: Name,
    head_end: usize,
) -> Span32 {
    let Some(file) = file.filter(|file| head_end <= file.start && file.end < name.outer_start)
    else {
        return Span32::default();
    };
    let from = match yenc {
        Some((at, after)) if at >= file.end && after <= name.outer_start => after,
        _ => file.end,
    };
    let (start, end) = trim_filler(s, from, name.outer_start);
    telling(s, start, end)
}

/// The first free text after the name: before `yEnc`, between it and the segment counter, after that.
fn tail(
    s: &[u8],
    segment: &Segment,
    yenc: Option<(usize, usize)>,
    file: Option<Counter>,
    name: Name,
) -> Span32 {
    let mut stops = [(s.len(), s.len()); 6];
    let cuts = segment
        .cuts
        .iter()
        .map(|cut| (cut.start as usize, cut.end as usize));
    let file = file.map(|file| (file.start, file.end));
    let known = cuts
        .chain(yenc)
        .chain(file)
        .filter(|(start, end)| start < end && *start >= name.outer_end);
    for (stop, known) in stops.iter_mut().zip(known) {
        *stop = known;
    }
    stops.sort_unstable();
    let mut from = name.outer_end;
    for (start, end) in stops {
        if from < start {
            let (start, end) = trim_filler(s, from, start);
            let text = telling(s, start, end);
            if !text.is_empty() {
                return text;
            }
        }
        from = from.max(end);
    }
    Span32::default()
}
