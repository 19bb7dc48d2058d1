//! Overview text to lines, lines to fields.
//!
//! Separators are found first, 64 bytes at a time, and fields are cut second. A line in the usual
//! form (eight tabs, CR LF) costs no look at its bytes besides that; everything else goes through [`irregular`].

use memchr::memchr;

use crate::mask;
use crate::reason::Reason;

/// One overview line, its fields as slices of the text.
///
/// Dot-stuffing is undone; NUL and CR are taken out of the fields (`raw` keeps them).
#[derive(Clone, Copy, Debug, Default)]
pub struct Line<'a> {
    /// The line as it came, without its line end.
    pub raw: &'a [u8],
    /// Article number; `None` when the field is no number in 1..2^64.
    pub number: Option<u64>,
    /// Subject, still encoded as posted. May hold tabs.
    pub subject: &'a [u8],
    /// From header.
    pub poster: &'a [u8],
    /// Date header.
    pub date: &'a [u8],
    /// Message-id without its angle brackets.
    pub message_id: &'a [u8],
    /// Size of the article in bytes; `None` when missing, 0, negative or above 2^63.
    pub size: Option<u64>,
    /// Number of lines of the article; `None` like `size`.
    pub lines: Option<u64>,
    /// Newsgroups and numbers, without the `Xref:` label; empty when missing.
    pub xref: &'a [u8],
    /// Why the line can be in no file, found from its form alone.
    pub reason: Option<Reason>,
}

/// Takes the lines of a text.
pub(crate) trait Sink {
    /// May take the line that begins at `start` and has its control bytes at `marks`, all counted from `base`:
    /// gives how many of the marks belong to it, or 0 to get it as a [`Line`].
    fn take(&mut self, text: &[u8], base: usize, start: usize, marks: &Marks) -> usize;
    /// Takes any other line.
    fn line(&mut self, line: Line<'_>);
}

/// The control bytes of a line in the usual form: eight tabs, CR and LF.
pub(crate) type Marks = [u32; TABS + 2];

impl<F: FnMut(Line<'_>)> Sink for F {
    #[inline]
    fn take(&mut self, _: &[u8], _: usize, _: usize, _: &Marks) -> usize {
        0
    }

    #[inline]
    fn line(&mut self, line: Line<'_>) {
        self(line);
    }
}

/// Text is scanned in windows of this many bytes, so that it and the positions stay in the first-level cache,
/// together with as much text that was asked for.
pub(crate) const WINDOW: usize = 4 * 1024;
/// Tabs of a line with Xref and nothing after it.
pub(crate) const TABS: usize = 8;

/// Splits text into overview lines; keeps its work buffers from block to block.
#[derive(Debug)]
pub struct Scanner {
    /// Positions of control bytes in the window.
    marks: Vec<u32>,
    /// A line without its NUL and CR.
    scratch: Vec<u8>,
}

impl Default for Scanner {
    fn default() -> Self {
        Self::new()
    }
}

impl Scanner {
    /// A scanner with empty buffers.
    #[must_use]
    pub fn new() -> Self {
        Self {
            marks: vec![0; WINDOW + mask::WIDTH],
            scratch: Vec::new(),
        }
    }

    /// Calls `sink` once for every line of `text`, in order. Blank lines and a lone `.` are no lines.
    pub fn scan(&mut self, text: &[u8], sink: &mut impl FnMut(Line<'_>)) {
        self.scan_to(text, sink);
    }

    /// [`Self::scan`] for a sink that may know better how to take a line apart.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "it must be compiled for the instructions of its caller"
    )]
    pub(crate) fn scan_to(&mut self, text: &[u8], sink: &mut impl Sink) {
        let mut start = 0;
        while start < text.len() {
            let end = (start + WINDOW).min(text.len());
            let window = &text[start..end];
            let count = mask::positions(window, &mut self.marks);
            let done = self.window(text, start, window, count, sink);
            if done > 0 {
                start += done;
                continue;
            }
            // The window holds no whole line: it is a very long one, or the last.
            let rest = &text[start..];
            let len = memchr(b'\n', rest).unwrap_or(rest.len());
            irregular(&rest[..len], &mut self.scratch, sink);
            start += len + 1;
        }
    }

    /// Hands out the whole lines of a window and returns their length with line ends.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "it must be compiled for the instructions of its caller"
    )]
    fn window(
        &mut self,
        text: &[u8],
        base: usize,
        window: &[u8],
        count: usize,
        sink: &mut impl Sink,
    ) -> usize {
        let mut start = 0;
        let mut marks = &self.marks[..count];
        loop {
            if let Some(next) = marks.first_chunk() {
                let mut used = sink.take(text, base, start, next);
                if used == 0 {
                    used = pass_usual(window, start, next, sink);
                }
                if used > 0 {
                    start = next[used - 1] as usize + 1;
                    marks = &marks[used..];
                    continue;
                }
            }
            let Some(newline) = marks.iter().position(|at| window[*at as usize] == b'\n') else {
                return start;
            };
            let end = marks[newline] as usize;
            irregular(&window[start..end], &mut self.scratch, sink);
            start = end + 1;
            marks = &marks[newline + 1..];
        }
    }
}

/// [`Scanner::scan`] with buffers of its own.
pub fn scan(text: &[u8], sink: &mut impl FnMut(Line<'_>)) {
    Scanner::new().scan(text, sink);
}

/// Hands out a line in the usual form and gives how many marks it uses; 0 for any other form.
#[inline(never)]
fn pass_usual(window: &[u8], start: usize, marks: &Marks, sink: &mut impl Sink) -> usize {
    match usual(window, start, marks) {
        Some((line, used)) => {
            sink.line(line);
            used
        }
        None => 0,
    }
}

/// A line of eight tabs and a line end, with everything in its place, and how many marks it uses.
#[inline(always)]
#[allow(
    clippy::inline_always,
    reason = "so that fields which the caller leaves alone are not computed"
)]
fn usual<'a>(window: &'a [u8], start: usize, marks: &Marks) -> Option<(Line<'a>, usize)> {
    let at = |i: usize| marks[i] as usize;
    for mark in &marks[..TABS] {
        if window[*mark as usize] != b'\t' {
            return None;
        }
    }
    let (end, used) = match (window[at(TABS)], window[at(TABS + 1)]) {
        (b'\r', b'\n') if marks[TABS] + 1 == marks[TABS + 1] => (at(TABS), TABS + 2),
        (b'\n', _) => (at(TABS), TABS + 1),
        _ => return None,
    };
    let number = decimal_in(window, start, at(0)).filter(|number| *number > 0)?;
    let message_id = message_id(&window[at(3) + 1..at(4)]).ok()?;
    let xref = &window[at(7) + 1..end];
    let xref = match xref.strip_prefix(b"Xref: ") {
        Some(list) => list.trim_ascii(),
        None => find_xref(window, &[(at(7) + 1, end)]),
    };
    let line = Line {
        raw: &window[start..end],
        number: Some(number),
        subject: &window[at(0) + 1..at(1)],
        poster: &window[at(1) + 1..at(2)],
        date: &window[at(2) + 1..at(3)],
        message_id,
        size: decimal_in(window, at(5) + 1, at(6)).and_then(counted),
        lines: decimal_in(window, at(6) + 1, at(7)).and_then(counted),
        xref,
        reason: None,
    };
    Some((line, used))
}

/// Any other line, without its LF.
#[cold]
fn irregular(raw: &[u8], scratch: &mut Vec<u8>, sink: &mut impl Sink) {
    let raw = raw.strip_suffix(b"\r").unwrap_or(raw);
    let clean = if raw.iter().any(|byte| matches!(byte, 0 | b'\r')) {
        scratch.clear();
        scratch.extend(raw.iter().filter(|byte| !matches!(byte, 0 | b'\r')));
        scratch.as_slice()
    } else {
        raw
    };
    if clean.is_empty() || clean == b"." {
        return;
    }
    // RFC 3977 3.1.1: a dot was put before a line that begins with one.
    let clean = if clean.starts_with(b"..") {
        &clean[1..]
    } else {
        clean
    };
    sink.line(Line {
        raw,
        ..fields(clean)
    });
}

/// Fields beyond this number are not looked at.
const MAX_FIELDS: usize = 64;

/// The fields of a line in any form.
fn fields(line: &[u8]) -> Line<'_> {
    let mut bounds = [(0, 0); MAX_FIELDS];
    let mut len = 0;
    let mut start = 0;
    while len < MAX_FIELDS && start <= line.len() {
        let end = memchr(b'\t', &line[start..]).map_or(line.len(), |i| start + i);
        bounds[len] = (start, end);
        len += 1;
        start = end + 1;
    }
    let bounds = &bounds[..len];
    let field = |i: usize| {
        bounds
            .get(i)
            .map_or(&[][..], |(start, end)| &line[*start..*end])
    };
    let number = number(field(0));
    let mut out = Line {
        number,
        subject: field(1),
        ..Line::default()
    };
    if len < 5 {
        out.reason = Some(Reason::BadLine);
        return out;
    }
    let Some(anchor) = find_anchor(line, bounds) else {
        out.reason = Some(Reason::NoMessageId);
        return out;
    };
    // A tab in the subject moves all that follows; it is the subject that is free text.
    out.subject = &line[bounds[1].0..bounds[anchor - 3].1];
    out.poster = field(anchor - 2);
    out.date = field(anchor - 1);
    out.size = count(field(anchor + 2));
    out.lines = count(field(anchor + 3));
    out.xref = find_xref(line, bounds.get(anchor + 4..).unwrap_or_default());
    match message_id(field(anchor)) {
        Ok(id) => out.message_id = id,
        Err(reason) => out.reason = Some(reason),
    }
    if number.is_none() {
        out.reason = out.reason.or(Some(Reason::BadNumber));
    }
    out
}

/// The field that is the message-id: the fifth, else the first later one that looks like it by its surroundings, else by itself.
fn find_anchor(line: &[u8], bounds: &[(usize, usize)]) -> Option<usize> {
    let field = |i: usize| {
        bounds
            .get(i)
            .map_or(&[][..], |(start, end)| &line[*start..*end])
    };
    let is_id = |i: usize| {
        let field = field(i).trim_ascii();
        field.len() > 2 && field[0] == b'<' && field[field.len() - 1] == b'>'
    };
    // A From may be `<a@b.c>` as well, but no number of bytes follows it two fields on.
    let fits = |i: usize| {
        let (references, bytes) = (field(i + 1).trim_ascii(), field(i + 2).trim_ascii());
        (references.is_empty() || references[0] == b'<')
            && bytes
                .iter()
                .all(|byte| byte.is_ascii_digit() || *byte == b'-')
    };
    let ids = || (4..bounds.len()).filter(|i| is_id(*i));
    if is_id(4) && (bounds.len() <= TABS + 1 || fits(4)) {
        return Some(4);
    }
    ids().find(|i| fits(*i)).or_else(|| ids().next())
}

/// The Xref among the fields after the line count: the labelled one, else a first one of the right form.
fn find_xref<'a>(line: &'a [u8], bounds: &[(usize, usize)]) -> &'a [u8] {
    let labelled = bounds
        .iter()
        .find_map(|(start, end)| without_label(&line[*start..*end]));
    let bare = || {
        let (start, end) = bounds.first()?;
        let field = &line[*start..*end];
        // An other header would have a label with a blank after its colon.
        let is_xref = !field.windows(2).any(|pair| pair == b": ") && field.contains(&b':');
        is_xref.then_some(field)
    };
    labelled.or_else(bare).unwrap_or_default().trim_ascii()
}

fn without_label(field: &[u8]) -> Option<&[u8]> {
    const LABEL: &[u8] = b"xref:";
    let (label, rest) = field.split_at_checked(LABEL.len())?;
    label
        .eq_ignore_ascii_case(LABEL)
        .then(|| rest.trim_ascii_start())
}

/// A message-id without its brackets.
#[inline]
fn message_id(field: &[u8]) -> Result<&[u8], Reason> {
    // RFC 3977 3.6: 3 to 250 octets with the brackets.
    const LONGEST: usize = 250;
    let field = match field {
        [b'<', .., b'>'] => field,
        _ => field.trim_ascii(),
    };
    match field {
        [b'<', id @ .., b'>'] if !id.is_empty() && field.len() <= LONGEST && is_id(id) => Ok(id),
        [] => Err(Reason::NoMessageId),
        _ => Err(Reason::BadMessageId),
    }
}

/// Whether a message-id may hold these bytes: anything visible but angle brackets; 8-bit bytes are in use.
#[inline]
fn is_id(id: &[u8]) -> bool {
    const WIDE: usize = 16;
    // Without an exit inside, so that sixteen bytes are looked at together.
    let bad = |bytes: &[u8]| {
        bytes.iter().fold(0, |bad, byte| {
            bad | u8::from(*byte <= b' ') | u8::from(*byte == 0x7f) | u8::from(*byte | 2 == b'>')
        })
    };
    let (chunks, rest) = id.as_chunks::<WIDE>();
    let middle = chunks.iter().fold(0, |any, chunk| any | bad(chunk));
    // The last bytes are looked at together with some of those before them.
    let end = id
        .last_chunk::<WIDE>()
        .map_or_else(|| bad(rest), |last| bad(last));
    middle | end == 0
}

/// A number in 1..2^64.
fn number(field: &[u8]) -> Option<u64> {
    decimal(field.trim_ascii()).filter(|number| *number > 0)
}

/// A number in 1..=2^63; anything else says nothing about an article.
fn count(field: &[u8]) -> Option<u64> {
    decimal(field.trim_ascii()).and_then(counted)
}

fn counted(number: u64) -> Option<u64> {
    (1..=1 << 63).contains(&number).then_some(number)
}

/// The decimal number in `text[start..end]`; up to sixteen digits are read eight at a time.
#[inline(always)]
#[allow(
    clippy::inline_always,
    reason = "so that a number which nobody asks for is not computed"
)]
fn decimal_in(text: &[u8], start: usize, end: usize) -> Option<u64> {
    const HALF: usize = 8;
    const UNIT: u64 = 100_000_000;
    let len = end - start;
    let last = |end: usize, len: usize| {
        let bytes = text[..end].last_chunk::<HALF>()?;
        eight_digits(u64::from_le_bytes(*bytes), len)
    };
    let fast = match len {
        0 => return None,
        1..=HALF => last(end, len),
        9..=16 => last(end, HALF)
            .zip(last(end - HALF, len - HALF))
            .map(|(low, high)| high * UNIT + low),
        _ => None,
    };
    fast.or_else(|| odd_decimal(&text[start..end]))
}

/// A number with blanks around it, of more digits, or none at all.
#[cold]
fn odd_decimal(field: &[u8]) -> Option<u64> {
    decimal(field.trim_ascii())
}

/// The value of the last `len` (1 to 8) of eight digits, the last one in the highest byte.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a call would cost more than the work")]
pub(crate) fn eight_digits(word: u64, len: usize) -> Option<u64> {
    const ZEROS: u64 = 0x3030_3030_3030_3030;
    const HIGH: u64 = 0xf0f0_f0f0_f0f0_f0f0;
    let keep = u64::MAX << (64 - 8 * len);
    let word = (word & keep) | (ZEROS & !keep);
    let digits = word & HIGH == ZEROS && (word + 0x0606_0606_0606_0606) & HIGH == ZEROS;
    // Pairs, then fours, then all: each step joins neighbours.
    let word = word - (word & HIGH);
    let word = (word * 10 + (word >> 8)) & 0x00ff_00ff_00ff_00ff;
    let word = (word * 100 + (word >> 16)) & 0x0000_ffff_0000_ffff;
    let word = (word * 10_000 + (word >> 32)) & 0xffff_ffff;
    digits.then_some(word)
}

/// A decimal number below 2^64.
fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    // Nineteen digits always fit; leading zeros are in use.
    let plain = digits.len() <= 19;
    let mut value = 0_u64;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = if plain {
            value * 10 + u64::from(digit)
        } else {
            value.checked_mul(10)?.checked_add(u64::from(digit))?
        };
    }
    Some(value)
}
