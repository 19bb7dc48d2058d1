//! File names in subjects: in quotes, in the brackets of a tool, or in the clear.

use super::counter::{self, is_blank};
use super::words::{closing_of, trim, trim_size_back};
use super::{Segment, Span32};

/// Quotes and brackets beyond this number are no name anybody posts.
const MAX_MARKS: usize = 32;

/// A name, and the text that it takes up with its quotes or brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub start: usize,
    pub end: usize,
    pub outer_start: usize,
    pub outer_end: usize,
}

impl Name {
    const fn clear(start: usize, end: usize) -> Self {
        Self {
            start,
            end,
            outer_start: start,
            outer_end: end,
        }
    }
}

/// How much a text looks like a file name: 2 = a known extension, 1 = some extension, 0 = none.
pub(super) fn extension_rank(name: &[u8]) -> u8 {
    let Some(dot) = memchr::memrchr(b'.', name) else {
        return 0;
    };
    rank_of(&name[dot + 1..])
}

fn rank_of(extension: &[u8]) -> u8 {
    const LONGEST: usize = 8;
    if extension.is_empty() || extension.len() > LONGEST {
        return 0;
    }
    let mut lower = [0; LONGEST];
    for (to, from) in lower.iter_mut().zip(extension) {
        if !from.is_ascii_alphanumeric() {
            return 0;
        }
        *to = from.to_ascii_lowercase();
    }
    let lower = &lower[..extension.len()];
    if is_known(lower) {
        2
    } else if lower.iter().all(u8::is_ascii_digit) {
        u8::from(lower.len() <= 5)
    } else {
        u8::from((2..=4).contains(&lower.len()))
    }
}

/// Extensions (lower case) of files that are commonly posted, by length.
const KNOWN_2: &[u8] = b"7zdbgzrmtsxz";
const KNOWN_3: &[u8] = b"\
    3ds3gpaacac3aceapeapkarjasfassaviazwbinbmpbupbz2cabcbrcbzccdchmciacsscsv\
    cuedatdebdmgdocdtsevoexeflvgcmghogifhtmidxifoimgisojarjpglitloglzhm2vm3u\
    m4am4bm4vmd5mdfmdsmidmkvmovmp3mp4mpcmpgmsindsnfonrgnspnzboggogmparpdbpdf\
    phppkgpngpptprcpsdrarrpmrtfsfvsitsqxsrrsrssrtsubswftartgztifttftxturlvdi\
    vobvttwavwmawmvxcixlsxmlxpszip";
const KNOWN_4: &[u8] = b"\
    aiffazw3bdmvclpidivxdjvudocxepubflacheichtmljpegjsonm2tsm3u8mobimpegmpls\
    opuspar2pptxrmvbtemptiffvmdkwbfswebmwebpxlsxxvid";

/// Whether files with this extension (lower case) are commonly posted.
fn is_known(extension: &[u8]) -> bool {
    match extension {
        // Volumes: r00, s00 … z01, and 001.
        [b'r'..=b'z' | b'0'..=b'9', a, b] if a.is_ascii_digit() && b.is_ascii_digit() => true,
        [_, _] => KNOWN_2.chunks_exact(2).any(|known| known == extension),
        [_, _, _] => KNOWN_3.chunks_exact(3).any(|known| known == extension),
        [_, _, _, _] => KNOWN_4.chunks_exact(4).any(|known| known == extension),
        _ => matches!(extension, b"torrent" | b"appimage"),
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
    let marks = marks(s);
    let pairs = pair(s, &marks);
    let mut best: Option<(u8, Name)> = None;
    for (i, pair) in pairs.list[..pairs.len].iter().enumerate() {
        let nested = pairs.list[..pairs.len]
            .iter()
            .enumerate()
            .any(|(j, other)| {
                i != j && other.outer_start <= pair.outer_start && pair.outer_end <= other.outer_end
            });
        let straddles = segment.cuts.iter().any(|cut| {
            !cut.is_empty() && pair.start < cut.end as usize && (cut.start as usize) < pair.end
        });
        let name = trim_blanks(s, pair);
        if nested || straddles || name.start >= name.end {
            continue;
        }
        let rank = extension_rank(&s[name.start..name.end]);
        let better = best.is_none_or(|(best_rank, best_name)| {
            (rank, name.outer_start) > (best_rank, best_name.outer_start)
        });
        if better {
            best = Some((rank, name));
        }
    }
    best.map(|(_, name)| name)
        .or_else(|| unclosed(s, &pairs, segment))
}

struct Pairs {
    list: [Name; MAX_MARKS],
    len: usize,
    /// The last opening mark that nothing closed.
    open: Option<Mark>,
}

/// Pairs opening with closing marks. A mark that can be either closes what is open.
fn pair(s: &[u8], marks: &Marks) -> Pairs {
    let mut pairs = Pairs {
        list: [Name::clear(0, 0); MAX_MARKS],
        len: 0,
        open: None,
    };
    let mut open = [Mark::default(); MAX_MARKS];
    let mut depth = 0;
    let mut orphan: Option<Mark> = None;
    for mark in &marks.list[..marks.len] {
        let before = mark.start.checked_sub(1);
        let blank_before = before.is_none_or(|i| is_blank(s[i]));
        let blank_after = s.get(mark.end).is_none_or(|byte| is_blank(*byte));
        let opens = is_edge(s, before) && !blank_after;
        let closes = !blank_before && is_edge(s, Some(mark.end));
        let is_close = if opens == closes { depth > 0 } else { closes };
        if !is_close {
            open[depth] = *mark;
            depth += 1;
        } else if depth > 0 {
            depth -= 1;
            let from = open[depth];
            pairs.list[pairs.len] = Name {
                start: from.end,
                end: mark.start,
                outer_start: from.start,
                outer_end: mark.end,
            };
            pairs.len += 1;
        } else if let Some(last) = pairs.list[..pairs.len].last_mut() {
            // `"12" Vinyl.rar"`: the mark inside was no end.
            last.end = mark.start;
            last.outer_end = mark.end;
        } else if let Some(from) = orphan.replace(*mark) {
            // `words"(1) name.mp3"`: the first one was a beginning without a blank.
            pairs.list[pairs.len] = Name {
                start: from.end,
                end: mark.start,
                outer_start: from.start,
                outer_end: mark.end,
            };
            pairs.len += 1;
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

fn trim_blanks(s: &[u8], name: &Name) -> Name {
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
    if extension_rank(text) > 0 {
        return Some(Name::clear(start, end));
    }
    let mut at = text.len();
    while let Some(dot) = memchr::memrchr(b'.', &text[..at]).filter(|dot| *dot > 0) {
        let len = text[dot + 1..]
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric())
            .count();
        let after = dot + 1 + len;
        if rank_of(&text[dot + 1..after]) == 2
            && text.get(after).is_some_and(|byte| is_blank(*byte))
        {
            return Some(Name::clear(start, start + after));
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

/// A name in square brackets, as `[PRiVATE]-[WtFnZb]-[name.ext]-[1/10] - ""` has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct BracketName {
    pub name: Name,
    /// The number in `[12/name.ext]`.
    pub index: Option<u32>,
    /// The folder in `[/Folder-WtF[nZb]/name.ext]`; empty without one.
    pub folder: Span32,
}

/// The bracket of `..to` with the best name; `least` is the least [`extension_rank`] it must have.
pub(super) fn in_brackets(s: &[u8], to: usize, least: u8) -> Option<BracketName> {
    let mut best: Option<(u8, usize, usize)> = None;
    let mut at = 0;
    for _ in 0..MAX_MARKS {
        let Some(open) = s
            .get(at..to)
            .and_then(|rest| memchr::memchr(b'[', rest))
            .map(|i| at + i)
        else {
            break;
        };
        let Some(close) = closing_of(&s[..to], open) else {
            at = open + 1;
            continue;
        };
        let rank = extension_rank(s[open + 1..close].trim_ascii());
        if rank >= least
            && best.is_none_or(|(best, ..)| rank >= best)
            && counter::bracketed(s, open).is_none()
        {
            best = Some((rank, open, close));
        }
        at = close + 1;
    }
    best.map(|(_, open, close)| inside(s, open, close))
}

/// The parts of a bracket's content: `12/name`, `/Folder/name`, `name`.
fn inside(s: &[u8], open: usize, close: usize) -> BracketName {
    let whole = trim_blanks(
        s,
        &Name {
            start: open + 1,
            end: close,
            outer_start: open,
            outer_end: close + 1,
        },
    );
    let text = &s[whole.start..whole.end];
    let mut found = BracketName {
        name: whole,
        index: None,
        folder: Span32::default(),
    };
    let Some(slash) = memchr::memrchr(b'/', text) else {
        return found;
    };
    found.name.start = whole.start + slash + 1;
    let path = &text[..slash];
    if (1..=5).contains(&path.len()) && path.iter().all(u8::is_ascii_digit) {
        found.index = Some(
            path.iter()
                .fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0')),
        );
        return found;
    }
    let last = memchr::memrchr(b'/', path).map_or(0, |slash| slash + 1);
    let folder = without_tag(&path[last..]);
    let start = whole.start + last;
    found.folder = Span32::new(start, start + folder.len());
    // A single file is posted in a folder that bears its name; the file itself may be renamed.
    if extension_rank(folder) == 2 {
        found.name.start = start;
        found.name.end = start + folder.len();
    }
    found
}

/// A folder name without the poster's tag (`-WtF[nZb]`) at its end.
fn without_tag(folder: &[u8]) -> &[u8] {
    const TAG: &[u8] = b"-wtf[nzb]";
    match folder.len().checked_sub(TAG.len()) {
        Some(start) if folder[start..].eq_ignore_ascii_case(TAG) => &folder[..start],
        _ => folder,
    }
}
