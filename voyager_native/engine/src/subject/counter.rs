//! Counters: `[3/25]`, `(1|12)`, `{05 of 12}`, `Datei 5 von 12`.

/// The digits a number of a counter may have; more of them are sizes or serial numbers.
const MAX_DIGITS: usize = 9;
/// Blanks tolerated at each place inside a counter.
const MAX_BLANKS: usize = 4;

/// What stands between the two numbers of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// `/` or `\`.
    Stroke,
    /// `|`.
    Bar,
    /// `of` and its translations.
    Word,
    /// `_`, which tools write where a file system forbids `/`.
    Underscore,
}

/// Two numbers that count something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counter {
    /// First byte, with bracket and leading word (`File`).
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    pub index: u32,
    pub total: u32,
    /// The opening bracket, or 0 for a counter without one.
    pub open: u8,
    pub mark: Mark,
}

impl Counter {
    /// Whether both numbers count the same as `other`.
    pub(super) const fn same_numbers(&self, other: &Self) -> bool {
        self.index == other.index && self.total == other.total
    }

    /// Whether this reads as a range of years (`[2009/2010]`), which titles have.
    pub(super) const fn is_years(&self) -> bool {
        const FIRST: u32 = 1900;
        const LAST: u32 = 2100;
        self.index >= FIRST && self.index < self.total && self.total <= LAST
    }
}

/// Whether `byte` opens a counter.
pub(super) const fn opens(byte: u8) -> bool {
    matches!(byte, b'(' | b'[' | b'{' | b'<')
}

/// Whether `byte` closes a counter.
pub(super) const fn closes(byte: u8) -> bool {
    matches!(byte, b')' | b']' | b'}' | b'>')
}

/// Whether `byte` is a blank.
pub(super) const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// The bracketed counter that begins at `at`; the brackets need not match (`(01/20]` is posted).
pub(super) fn bracketed(s: &[u8], at: usize) -> Option<Counter> {
    let open = *s.get(at).filter(|byte| opens(**byte))?;
    let mut i = skip_blanks(s, at + 1);
    if s.get(i).is_some_and(u8::is_ascii_alphabetic) {
        i = skip_lead_word(s, i)?;
    }
    let (index, i) = digits(s, i)?;
    let (mark, i) = mark(s, skip_blanks(s, i))?;
    let (total, i) = digits(s, skip_blanks(s, i))?;
    let i = skip_blanks(s, i);
    s.get(i).filter(|byte| closes(**byte))?;
    Some(Counter {
        start: at,
        end: i + 1,
        index,
        total,
        open,
        mark,
    })
}

/// The last bracketed counter that ends at or before `end`.
pub(super) fn last_before(s: &[u8], end: usize) -> Option<Counter> {
    let mut at = end.min(s.len());
    while let Some(open) = s[..at].iter().rposition(|byte| opens(*byte)) {
        if let Some(counter) = bracketed(s, open).filter(|counter| counter.end <= end) {
            return Some(counter);
        }
        at = open;
    }
    None
}

/// The counter without brackets whose last digit is at `end - 1`.
///
/// Words need blanks around them (`5 of 12`); strokes and bars must not have any (`05/12`).
pub(super) fn bare_ending_at(s: &[u8], end: usize) -> Option<Counter> {
    if s.get(end).is_some_and(u8::is_ascii_alphanumeric) {
        return None;
    }
    let (total, i) = digits_back(s, end)?;
    let (mark, i) = mark_back(s, i)?;
    let (index, i) = digits_back(s, i)?;
    let fresh =
        i == 0 || !(s[i - 1].is_ascii_alphanumeric() || matches!(s[i - 1], b'.' | b'/' | b','));
    // `Breed00/27]` has lost its opening bracket together with the blank before it.
    let cut = mark == Mark::Stroke && s.get(end).is_some_and(|byte| closes(*byte));
    if !(fresh || cut) || (mark == Mark::Word && counts_other_things(s, i)) {
        return None;
    }
    Some(Counter {
        start: lead_word_start(s, i),
        end,
        index,
        total,
        open: 0,
        mark,
    })
}

/// The counter without brackets that begins at `at`.
pub(super) fn bare_at(s: &[u8], at: usize) -> Option<Counter> {
    let mut i = at;
    if s.get(i).is_some_and(u8::is_ascii_alphabetic) {
        i = skip_lead_word(s, i)?;
    }
    let (_, after_index) = digits(s, i)?;
    let (_, after_mark) = mark(s, skip_blanks(s, after_index))?;
    let (_, end) = digits(s, skip_blanks(s, after_mark))?;
    bare_ending_at(s, end).map(|counter| Counter {
        start: at,
        ..counter
    })
}

fn skip_blanks(s: &[u8], mut i: usize) -> usize {
    let limit = (i + MAX_BLANKS).min(s.len());
    while i < limit && is_blank(s[i]) {
        i += 1;
    }
    i
}

/// The number of at most [`MAX_DIGITS`] digits at `i`, and the position after it.
fn digits(s: &[u8], i: usize) -> Option<(u32, usize)> {
    let mut end = i;
    let mut value = 0;
    while let Some(digit) = s.get(end).filter(|byte| byte.is_ascii_digit()) {
        if end - i == MAX_DIGITS {
            return None;
        }
        value = value * 10 + u32::from(digit - b'0');
        end += 1;
    }
    (end > i).then_some((value, end))
}

/// The number of at most [`MAX_DIGITS`] digits that ends at `end`, and its first position.
fn digits_back(s: &[u8], end: usize) -> Option<(u32, usize)> {
    let mut start = end;
    while start > 0 && s[start - 1].is_ascii_digit() {
        if end - start == MAX_DIGITS {
            return None;
        }
        start -= 1;
    }
    digits(s, start).map(|(value, _)| (value, start))
}

/// `of` in the languages of the posters.
const WORDS: [&[u8]; 6] = [b"of", b"von", b"van", b"de", b"di", b"sur"];

fn mark(s: &[u8], i: usize) -> Option<(Mark, usize)> {
    match s.get(i)? {
        b'/' | b'\\' => Some((Mark::Stroke, i + 1)),
        b'|' => Some((Mark::Bar, i + 1)),
        b'_' => Some((Mark::Underscore, i + 1)),
        _ => WORDS.iter().find_map(|word| {
            let end = i + word.len();
            s.get(i..end)
                .filter(|text| text.eq_ignore_ascii_case(word))
                .map(|_| (Mark::Word, end))
        }),
    }
}

fn mark_back(s: &[u8], end: usize) -> Option<(Mark, usize)> {
    match s[..end].last()? {
        b'/' => return Some((Mark::Stroke, end - 1)),
        b'|' => return Some((Mark::Bar, end - 1)),
        _ => {}
    }
    // Only the words that are no common part of titles stand without brackets.
    let i = blanks_back(s, end)?;
    let word = WORDS[..2].iter().find(|word| {
        i.checked_sub(word.len())
            .is_some_and(|start| s[start..i].eq_ignore_ascii_case(word))
    })?;
    blanks_back(s, i - word.len()).map(|i| (Mark::Word, i))
}

/// The position before the blanks that end at `end`; `None` without any.
fn blanks_back(s: &[u8], end: usize) -> Option<usize> {
    let blanks = s[..end]
        .iter()
        .rev()
        .take(MAX_BLANKS)
        .take_while(|byte| is_blank(**byte))
        .count();
    (blanks > 0).then_some(end - blanks)
}

/// Words that introduce a counter.
const LEADS: [&[u8]; 4] = [b"file", b"datei", b"part", b"teil"];

fn skip_lead_word(s: &[u8], i: usize) -> Option<usize> {
    LEADS.iter().find_map(|word| {
        let end = i + word.len();
        s.get(i..end)
            .filter(|text| text.eq_ignore_ascii_case(word))
            .map(|_| skip_blanks(s, end))
    })
}

/// Whether the word before `i` says that no files are counted: `Disc 2 of 3`.
fn counts_other_things(s: &[u8], i: usize) -> bool {
    const OTHERS: [&[u8]; 12] = [
        b"disc", b"disk", b"cd", b"dvd", b"vol", b"volume", b"season", b"series", b"episode",
        b"book", b"chapter", b"day",
    ];
    let before = s[..i].trim_ascii_end();
    OTHERS.iter().any(|word| {
        before.len().checked_sub(word.len()).is_some_and(|start| {
            before[start..].eq_ignore_ascii_case(word)
                && (start == 0 || !before[start - 1].is_ascii_alphanumeric())
        })
    })
}

/// Where the word that introduces a counter begins, or `i` when there is none.
fn lead_word_start(s: &[u8], i: usize) -> usize {
    let Some(end) = blanks_back(s, i) else {
        return i;
    };
    LEADS
        .iter()
        .filter_map(|word| end.checked_sub(word.len()).map(|start| (start, word)))
        .find(|(start, word)| {
            s[*start..end].eq_ignore_ascii_case(word)
                && (*start == 0 || !s[start - 1].is_ascii_alphanumeric())
        })
        .map_or(i, |(start, _)| start)
}
