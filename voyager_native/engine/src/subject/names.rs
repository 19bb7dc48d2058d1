//! File names in subjects, in quotes or in the clear.

use super::Segment;
use super::counter::is_blank;
use super::extension::{extension_rank, rank_of};
use super::words::{trim, trim_size_back};

/// Quotes beyond this number belong to no name anybody posts.
const MAX_MARKS: usize = 16;

/// A name, and the text that it takes up with its quotes or brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub start: usize,
    pub end: usize,
    pub outer_start: usize,
    pub outer_end: usize,
    /// What [`extension_rank`] says.
    pub rank: u8,
}

impl Name {
    const fn clear(start: usize, end: usize, rank: u8) -> Self {
        Self {
            start,
            end,
            outer_start: start,
            outer_end: end,
            rank,
        }
    }

    const fn between(from: Mark, to: Mark) -> Self {
        Self {
            start: from.end,
            end: to.start,
            outer_start: from.start,
            outer_end: to.end,
            rank: 0,
        }
    }
}

/// A quotation mark or a run of them, and what is on either side.
#[derive(Clone, Copy, Default)]
struct Mark {
    start: usize,
    end: usize,
}

/// The marks of a subject that may begin or end a name, and whether empty quotes are there.
struct Marks {
    list: [Mark; MAX_MARKS],
    len: usize,
    empty: bool,
}

fn marks(s: &[u8]) -> Marks {
    let mut marks = Marks {
        list: [Mark::default(); MAX_MARKS],
        len: 0,
        empty: false,
    };
    let mut i = 0;
    while i < s.len() && marks.len < MAX_MARKS {
        let start = i;
        let mut run = 0;
        while let Some(step) = quote_at(s, i) {
            i += step;
            run += 1;
        }
        if run == 0 {
            i += 1;
        } else if run % 2 == 0 && is_edge(s, start.checked_sub(1)) && is_edge(s, Some(i)) {
            marks.empty = true;
        } else {
            marks.list[marks.len] = Mark { start, end: i };
            marks.len += 1;
        }
    }
    marks
}

/// The length of the quotation mark at `i`: straight, curly in UTF-8, or curly in Windows-1252.
fn quote_at(s: &[u8], i: usize) -> Option<usize> {
    match s.get(i)? {
        b'"' => Some(1),
        // An entity that lost its ampersand.
        b'#' => s[i..].starts_with(b"#34;").then_some(4),
        0xe2 => matches!(s.get(i + 1..i + 3)?, [0x80, 0x9c..=0x9e]).then_some(3),
        // Windows-1252, by itself or read as latin-1 and written as UTF-8.
        0x84 | 0x93 | 0x94 => (i == 0 || s[i - 1].is_ascii()).then_some(1),
        0xc2 => matches!(s.get(i + 1)?, 0x84 | 0x93 | 0x94).then_some(2),
        _ => None,
    }
}

/// Whether a word ends at position `i` (or the text does).
fn is_edge(s: &[u8], i: Option<usize>) -> bool {
    i.and_then(|i| s.get(i))
        .is_none_or(|byte| byte.is_ascii() && !byte.is_ascii_alphanumeric())
}

/// Whether the subject has a pair of quotes with nothing between them.
pub(super) fn has_empty_quotes(s: &[u8]) -> bool {
    memchr::memmem::find(s, b"\"\"").is_some() && marks(s).empty
}

/// The quoted file name: the last one with a known extension, else with any, else the last.
pub(super) fn quoted(s: &[u8], segment: &Segment) -> Option<Name> {
    if let Some(name) = only_pair(s, segment) {
        return Some(name);
    }
    let marks = marks(s);
    let pairs = pair(s, &marks);
    let list = &pairs.list[..pairs.len];
    let mut best: Option<Name> = None;
    for pair in list {
        let nested = list
            .iter()
            .any(|other| other.outer_start < pair.outer_start && pair.outer_end < other.outer_end);
        if nested {
            continue;
        }
        if let Some(name) = ranked(s, pair, segment)
            && best.is_none_or(|best| (name.rank, name.outer_start) > (best.rank, best.outer_start))
        {
            best = Some(name);
        }
    }
    best.or_else(|| unclosed(s, &pairs, segment))
}

/// The name when the subject has exactly one opening and one closing mark, as nearly all have.
fn only_pair(s: &[u8], segment: &Segment) -> Option<Name> {
    let first = memchr::memchr(b'"', s)?;
    let second = first + 1 + memchr::memchr(b'"', &s[first + 1..])?;
    if second == first + 1 || memchr::memchr(b'"', &s[second + 1..]).is_some() || !s.is_ascii() {
        return None;
    }
    let from = Mark {
        start: first,
        end: first + 1,
    };
    let to = Mark {
        start: second,
        end: second + 1,
    };
    let sides = Sides::of(s, from);
    if !sides.opens || sides.closes || !Sides::of(s, to).closes {
        return None;
    }
    ranked(s, &Name::between(from, to), segment)
}

/// The name between two marks; none when it is blank or the segment counter stands inside.
fn ranked(s: &[u8], pair: &Name, segment: &Segment) -> Option<Name> {
    let straddles = segment.cuts.iter().any(|cut| {
        !cut.is_empty() && pair.start < cut.end as usize && (cut.start as usize) < pair.end
    });
    let name = trim_blanks(s, pair);
    let rank = extension_rank(&s[name.start..name.end]);
    (!straddles && name.start < name.end).then_some(Name { rank, ..name })
}

/// What the neighbours of a mark say about it.
struct Sides {
    opens: bool,
    closes: bool,
}

impl Sides {
    fn of(s: &[u8], mark: Mark) -> Self {
        let before = mark.start.checked_sub(1);
        let blank_before = before.is_none_or(|i| is_blank(s[i]));
        let blank_after = s.get(mark.end).is_none_or(|byte| is_blank(*byte));
        Self {
            opens: is_edge(s, before) && !blank_after,
            closes: !blank_before && is_edge(s, Some(mark.end)),
        }
    }
}

struct Pairs {
    list: [Name; MAX_MARKS],
    len: usize,
    /// The last opening mark that nothing closed.
    open: Option<Mark>,
}

impl Pairs {
    fn keep(&mut self, from: Mark, to: Mark) {
        self.list[self.len] = Name::between(from, to);
        self.len += 1;
    }
}

/// Pairs opening with closing marks. A mark that can be either closes what is open.
fn pair(s: &[u8], marks: &Marks) -> Pairs {
    let mut pairs = Pairs {
        list: [Name::clear(0, 0, 0); MAX_MARKS],
        len: 0,
        open: None,
    };
    let mut open = [Mark::default(); MAX_MARKS];
    let mut depth = 0;
    let mut orphan: Option<Mark> = None;
    for mark in &marks.list[..marks.len] {
        let Sides { opens, closes } = Sides::of(s, *mark);
        let is_close = if opens == closes { depth > 0 } else { closes };
        if !is_close {
            open[depth] = *mark;
            depth += 1;
        } else if depth > 0 {
            depth -= 1;
            pairs.keep(open[depth], *mark);
        } else if let Some(last) = pairs.list[..pairs.len].last_mut() {
            // `"12" Vinyl.rar"`: the mark inside was no end.
            last.end = mark.start;
            last.outer_end = mark.end;
        } else if let Some(from) = orphan.replace(*mark) {
            // `words"(1) name.mp3"`: the first one was a beginning without a blank.
            pairs.keep(from, *mark);
        }
    }
    pairs.open = open[..depth].last().copied();
    pairs
}

/// A name whose closing quote is missing: it must have an extension to be one.
fn unclosed(s: &[u8], pairs: &Pairs, segment: &Segment) -> Option<Name> {
    let open = pairs.open?;
    let limit = super::segment::name_limit(s, open.end, segment);
    let name = clear(s, open.end, limit)?;
    Some(Name {
        outer_start: open.start,
        ..name
    })
}

/// The name without the blanks at its ends.
pub(super) fn trim_blanks(s: &[u8], name: &Name) -> Name {
    let (mut start, mut end) = (name.start, name.end);
    while start < end && is_blank(s[start]) {
        start += 1;
    }
    while start < end && is_blank(s[end - 1]) {
        end -= 1;
    }
    Name {
        start,
        end,
        ..*name
    }
}

/// The name in the clear in `from..to`: the whole text when it ends with an extension, else up to the last known one.
pub(super) fn clear(s: &[u8], from: usize, to: usize) -> Option<Name> {
    let (start, end) = trim(s, from, to);
    let end = trim_size_back(s, start, end);
    let (start, end) = match &s[start..end] {
        [b'\'', .., b'\''] => (start + 1, end - 1),
        _ => (start, end),
    };
    let text = &s[start..end];
    // In `need help with .wmv` the dot belongs to no name.
    let joined = |dot: usize| dot > 0 && !is_blank(text[dot - 1]);
    let mut at = text.len();
    while let Some(dot) = memchr::memrchr(b'.', &text[..at]) {
        let len = text[dot + 1..]
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric())
            .count();
        let after = dot + 1 + len;
        let whole = at == text.len() && after == at;
        if joined(dot) && (whole || text.get(after).is_some_and(|byte| is_blank(*byte))) {
            let rank = rank_of(&text[dot + 1..after]);
            if rank == 2 || (whole && rank > 0) {
                return Some(Name::clear(start, start + after, rank));
            }
        }
        at = dot;
    }
    None
}

/// Whether a name (in quotes or in the clear) ends before `at`, apart from separators and sizes.
pub(super) fn ends_name(s: &[u8], at: usize) -> bool {
    match memchr::memrchr(b'"', s) {
        Some(quote) => quote < at,
        None => clear(s, 0, at).is_some(),
    }
}

/// Where the quoted name before `at` begins; `at` when there is none.
pub(super) fn start_before(s: &[u8], at: usize) -> usize {
    memchr::memchr(b'"', &s[..at]).unwrap_or(at)
}
