//! The short way for lines in the usual form, which nearly all are.
//!
//! What a line says is compared with what other lines said before it was worked out for them: subjects but for
//! their part, dates but for their time, crossposts but for their numbers. Whatever is new or odd goes the long
//! way, [`Filer::add`], and both ways must file every line alike.
#![allow(
    clippy::inline_always,
    reason = "all of it must be compiled for the instructions of its caller"
)]

use super::Filer;
use super::file::{Place, TEXT_LIMIT, cut};
use super::known::{
    Begin, End, ID, LIST, Middle, Place as Part, SHORTEST_SUBJECT, TAB, Xref, half_word, word,
};
use super::log::Facts;
use super::rejects::Cause;
use crate::lines::{Line, Marks, Scanner, Sink, TABS, WINDOW, eight_digits};
use crate::subject;
use crate::wide::{self, Bytes, MARGIN, NUMBER, STEP, Work};
use crate::xref::Owner;

/// Text is asked for so many bytes ahead, for each line as much as most lines have.
const AHEAD: usize = WINDOW;
/// Label of the last field.
const LABEL: &[u8] = b"Xref: ";
const LABEL_WORD: u64 = u64::from_le_bytes(*b"Xref: \0\0");
/// Marks of the line end.
const CR: usize = TABS;
const LF: usize = TABS + 1;

/// Files the lines of a text.
pub(super) fn scan(filer: &mut Filer, scanner: &mut Scanner, text: &[u8]) {
    if filer.rows.is_some() {
        scanner.scan(text, &mut |line| filer.add(&line));
    } else {
        wide::run(Scan {
            filer,
            scanner,
            text,
        });
    }
}

struct Scan<'a> {
    filer: &'a mut Filer,
    scanner: &'a mut Scanner,
    text: &'a [u8],
}

impl Work for Scan<'_> {
    #[inline(always)]
    fn run(self, bytes: impl Bytes) {
        let mut takes = Takes {
            filer: self.filer,
            bytes,
        };
        self.scanner.scan_to(self.text, &mut takes);
    }
}

struct Takes<'a, B> {
    filer: &'a mut Filer,
    bytes: B,
}

impl<B: Bytes> Sink for Takes<'_, B> {
    #[inline(always)]
    fn take(&mut self, text: &[u8], base: usize, start: usize, marks: &Marks) -> usize {
        self.bytes.fetch(text, base + start + AHEAD);
        let Some(line) = Usual::new(self.bytes, text, base, start, marks) else {
            return 0;
        };
        match usual(self.filer, self.bytes, &line) {
            Some(()) => marks.len(),
            None => 0,
        }
    }

    #[inline]
    fn line(&mut self, line: Line<'_>) {
        self.filer.add(&line);
    }
}

/// A line in the usual form: where its control bytes are, and what was read of it.
struct Usual<'a> {
    text: &'a [u8],
    start: usize,
    at: [usize; TABS + 2],
    number: u64,
    size: u64,
    /// What stands around its tabs: looked at without asking each time whether the text has that many bytes.
    begin: &'a Begin,
    end: &'a End,
    middle: &'a Middle,
    list: &'a Xref,
}

/// What stands around a position of a text, so many bytes before it and the others from it on.
#[inline(always)]
fn around<const LEN: usize>(text: &[u8], at: usize, before: usize) -> Option<&[u8; LEN]> {
    text.get(at.wrapping_sub(before)..)?.first_chunk()
}

impl<'a> Usual<'a> {
    /// The line that begins at `start`, if it has eight tabs, CR and LF, plain numbers and enough bytes around it.
    #[inline(always)]
    fn new(
        bytes: impl Bytes,
        text: &'a [u8],
        base: usize,
        start: usize,
        marks: &Marks,
    ) -> Option<Self> {
        let at = marks.map(|mark| base + mark as usize);
        let start = base + start;
        // All that follows may look at so many bytes before and after a field.
        if text.len() < at[LF] + MARGIN || at[1] < start + STEP || start < STEP {
            return None;
        }
        let begin: &Begin = around(text, at[0], NUMBER)?;
        let end: &End = around(text, at[1], TAB)?;
        let middle: &Middle = around(text, at[3], STEP)?;
        let bytes_end: &[u8; NUMBER + 1] = around(text, at[6], NUMBER)?;
        let list: &Xref = around(text, at[7], 0)?;
        let mut other =
            (text[at[CR]] ^ b'\r') | (text[at[LF]] ^ b'\n') | u8::from(at[CR] + 1 != at[LF]);
        for tab in [
            begin[NUMBER],
            end[TAB],
            text[at[2]],
            middle[STEP],
            text[at[4]],
            text[at[5]],
            bytes_end[NUMBER],
            list[0],
        ] {
            other |= tab ^ b'\t';
        }
        if other != 0 {
            return None;
        }
        let digits = [at[0] - start, at[6] - at[5] - 1];
        if digits[0].wrapping_sub(1) >= NUMBER || digits[1].wrapping_sub(1) >= NUMBER {
            return None;
        }
        let ends = [begin.first_chunk()?, bytes_end.first_chunk()?];
        let [number, size] = bytes.numbers(ends, digits)?;
        Some(Self {
            text,
            start,
            at,
            number,
            size,
            begin,
            end,
            middle,
            list,
        })
    }

    /// Where field `i` begins and ends.
    #[inline(always)]
    fn field(&self, i: usize) -> (usize, usize) {
        (self.at[i - 1] + 1, self.at[i])
    }

    #[inline(always)]
    fn bytes(&self, (start, end): (usize, usize)) -> &'a [u8] {
        &self.text[start..end]
    }

    /// The whole line without its end.
    fn raw(&self) -> &'a [u8] {
        self.bytes((self.start, self.at[CR]))
    }

    /// Where the message-id begins and ends, if nothing is wrong with it.
    #[inline(always)]
    fn id(&self, bytes: impl Bytes) -> Option<(usize, usize)> {
        // With the angle brackets; see `lines`.
        const LONGEST: usize = 250;
        let (start, end) = self.field(4);
        let (id, last) = (start + 1, end.wrapping_sub(1));
        let len = last.wrapping_sub(id);
        if self.middle[ID - 1] != b'<' || !(1..=LONGEST - 2).contains(&len) {
            return None;
        }
        let is_id = if len <= 2 * STEP {
            bytes.is_id(self.middle, ID, ID + len)
        } else {
            bytes.is_id(self.text, id, last)
        };
        (is_id && self.text[last] == b'>').then_some((id, last))
    }

    /// Where the list of the Xref begins and ends, if it is long enough to be remembered.
    #[inline(always)]
    fn xref(&self) -> Option<(usize, usize)> {
        let (label, end) = self.field(8);
        let start = label + LABEL.len();
        let found = word(self.list, LIST - LABEL.len()) & ((1 << (8 * LABEL.len())) - 1);
        (end >= start + STEP && found == LABEL_WORD).then_some((start, end))
    }
}

/// Files a line in the usual form if everything about it is usual.
#[inline(always)]
fn usual(filer: &mut Filer, bytes: impl Bytes, line: &Usual<'_>) -> Option<()> {
    let text = line.text;
    let gate = &filer.set.gate;
    if line.number < gate.low || (gate.high > 0 && line.number > gate.high) {
        return None;
    }
    let id = line.id(bytes)?;
    let xref = line.xref()?;
    let (start, end) = line.field(1);
    let len = end - start;
    let part = part(bytes, line.end, len);
    let (slot, is_known) = match part {
        Some(part) => filer.known.subject(bytes, line.begin, line.end, len, part),
        None => (0, false),
    };
    let list = (text, xref.0, xref.1);
    let is_last = is_known && filer.known.is_crosspost(bytes, line.list, list, slot);
    let crosspost = if is_last {
        filer.known.last_crosspost(slot)
    } else {
        filer.known.crosspost(bytes, text, xref.0, xref.1)?
    };
    if let Owner::Other(owner) = filer.known.owner(crosspost) {
        filer.reject(line, Cause::Crosspost(owner));
        return Some(());
    }
    let Some(part) = part else {
        let kinds = bytes.kinds(text, start, end);
        // A single word has no counter and no name; only the message-id could tell the part.
        if kinds.odd
            || kinds.marks
            || half_word(line.middle, ID) | 0x2020_2020 == u32::from_le_bytes(*b"part")
        {
            return None;
        }
        let word = line.bytes((start, end));
        let reason = subject::uncounted::reason_of_word(word, line.bytes(id));
        filer.reject(line, Cause::Reason(reason));
        return Some(());
    };
    let index = if is_known {
        filer.known.index(slot)
    } else {
        filer.learn_subject(bytes, slot, line, part)?
    };
    if !is_last {
        filer.known.learn_crosspost(slot, crosspost);
    }
    if filer.set.is_twin(index, part.part) {
        return None;
    }
    let date = line.field(3);
    let moment = filer.known.moment(bytes, line.middle, date.1 - date.0);
    let moment = match moment {
        Some(moment) => Some(moment),
        None => filer.date(line.bytes(date)),
    };
    let from = line.field(2);
    let from_len = from.1 - from.0;
    let poster = if filer.known.is_poster(bytes, line.end, from_len, slot) {
        filer.known.poster(slot)
    } else {
        let number = filer.poster(index, line.bytes(from));
        filer.known.learn_poster(line.end, from_len, slot, number);
        number
    };
    filer.lines += 1;
    filer.bounds.block.note(line.number);
    if filer.set.is_lowest(index, part.part, line.number) {
        filer.take_texts(index, part.part, line, xref);
    }
    let facts = Facts {
        number: line.number,
        part: part.part,
        size: u32::try_from(line.size).unwrap_or(0),
        posted: filer.clamp(moment),
        poster,
        row: 0,
    };
    filer
        .set
        .push(index, facts, (text, id.0, id.1), filer.lines);
    Some(())
}

/// The part of a subject of so many bytes that ends with a counter: the digits between its last bracket and a stroke.
///
/// Whether it is the counter's is known only by comparing the rest.
#[inline(always)]
fn part(bytes: impl Bytes, end: &End, len: usize) -> Option<Part> {
    const MOST_DIGITS: u32 = 8;
    let tail = bytes.tail(end, TAB);
    let at = tail.opens.checked_ilog2()?;
    let open = TAB - STEP + at as usize;
    let digits = (!(u64::from(tail.digits) >> (at + 1))).trailing_zeros();
    let stroke = open + 1 + digits as usize;
    if open + len < TAB + SHORTEST_SUBJECT
        || !(1..=MOST_DIGITS).contains(&digits)
        || end[stroke] != b'/'
    {
        return None;
    }
    let part = eight_digits(word(end, stroke - 8), digits as usize)? as u32;
    (part > 0).then_some(Part { open, stroke, part })
}

impl Filer {
    /// Counts a line that is in no file.
    #[inline]
    fn reject(&mut self, line: &Usual<'_>, cause: Cause) {
        self.lines += 1;
        self.bounds.block.note(line.number);
        self.rejected += 1;
        self.tallies.add(cause, line.raw());
    }

    /// Takes the texts of a file from a line.
    #[inline(never)]
    fn take_texts(&mut self, index: u32, part: u32, line: &Usual<'_>, xref: (usize, usize)) {
        let groups = self.groups_of(line.bytes(xref));
        let beside = self.names.len() + cut(line.bytes(line.field(2)), TEXT_LIMIT).len();
        let subject = line.bytes(line.field(1));
        self.set
            .set_lowest(index, (part, line.number), subject, (groups, beside));
        self.set.grown(self.lines);
    }

    /// The file of a subject that is not remembered; from now on it is, unless it has to be decoded.
    #[inline(never)]
    fn learn_subject(
        &mut self,
        bytes: impl Bytes,
        slot: usize,
        line: &Usual<'_>,
        part: Part,
    ) -> Option<u32> {
        let (start, end) = line.field(1);
        let len = end - start;
        let first = half_word(line.text, start);
        let is_reply = (first & 0x00ff_ffff) | 0x2020 == u32::from_le_bytes(*b"re:\0");
        if first as u8 == b' '
            || is_reply
            || line.text[end - 1] == b' '
            || bytes.kinds(line.text, start, end).odd
        {
            return None;
        }
        let subject = line.bytes((start, end));
        let segment = subject::counter_at_end(subject)?;
        let cut = segment.cuts[0];
        let before = cut.start as usize;
        if before + TAB != len + part.open || segment.part != part.part {
            return None;
        }
        let key = self.keys.of(subject, &[cut], segment.total);
        let index = self.set.find(Place::Ordinary, key)?;
        let after = &subject[len - (TAB - part.stroke)..];
        self.known
            .learn_subject(slot, &subject[..before], after, index);
        Some(index)
    }

    /// The moment of a date whose form is new.
    #[inline(never)]
    fn date(&mut self, date: &[u8]) -> Option<i64> {
        let moment = self.dates.parse(date)?;
        if let Some((at, midnight)) = self.dates.midnight(date, moment) {
            self.known.learn_date(date, at, midnight);
        }
        Some(moment)
    }
}
