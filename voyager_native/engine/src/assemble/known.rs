//! What was worked out for lines that came before, for lines that differ in nothing but numbers.
#![allow(
    clippy::inline_always,
    reason = "all of it must be compiled for the instructions of its caller"
)]

use crate::date::{CLOCK, clock};
use crate::wide::{self, Bytes, Form, MARGIN, NUMBER, STEP};
use crate::xref::Owner;

/// Subjects that are remembered: several for every upload that goes on at a time.
const SUBJECTS: usize = 1024;
/// Longest remembered subject before its counter.
const LONGEST_SUBJECT: usize = 2 * MARGIN;
/// Shortest one: what it is looked up by must lie inside.
pub(super) const SHORTEST_SUBJECT: usize = 8;
/// Longest remembered From.
const LONGEST_POSTER: usize = 2 * STEP;
/// Dates that are remembered: forms of headers, one day each.
const DATES: usize = 32;
/// Crossposts that are remembered.
const CROSSPOSTS: usize = 512;
/// Places for each crosspost.
const WAYS: usize = 4;
/// Longest remembered crosspost.
const LONGEST_CROSSPOST: usize = 1024;

/// What was worked out for lines that came before.
#[derive(Debug)]
pub(super) struct Known {
    subjects: Box<[Subject; SUBJECTS]>,
    dates: Box<[Date; DATES]>,
    crossposts: Box<[Crosspost; CROSSPOSTS]>,
}

/// A subject whose file is known.
#[derive(Clone, Debug)]
struct Subject {
    /// What stands before the counter.
    before: [u8; LONGEST_SUBJECT],
    /// What stands after the part, from its stroke.
    after: [u8; STEP],
    /// From of the article that came last, and what followed it.
    poster: [u8; LONGEST_POSTER],
    before_len: u32,
    after_len: u32,
    poster_len: u32,
    poster_number: u32,
    index: u32,
    /// The crosspost of the article that came last.
    crosspost: u32,
}

/// A Date header whose midnight is known.
#[derive(Clone, Debug)]
struct Date {
    form: Form,
    len: usize,
    /// Where the time of day stands.
    at: usize,
    midnight: i64,
}

/// An Xref whose owner is known.
#[derive(Clone, Debug)]
struct Crosspost {
    forms: Vec<[Form; 4]>,
    len: usize,
    owner: Owner,
}

/// What stands around the tab before a subject: the article number, and the subject after it.
pub(super) type Begin = [u8; NUMBER + 1 + LONGEST_SUBJECT];
/// Where the subject stands in it.
pub(super) const SUBJECT: usize = NUMBER + 1;
/// What stands around the tab after a subject: the end of the subject, and the From after it.
pub(super) type End = [u8; TAB + 1 + LONGEST_POSTER];
/// Where that tab stands in it.
pub(super) const TAB: usize = 2 * STEP;
/// Where the From stands in it.
pub(super) const FROM: usize = TAB + 1;
/// What stands around the tab after a date: the date, and the message-id after it.
pub(super) type Middle = [u8; STEP + 2 + 2 * STEP];
/// Where the message-id stands in it, without its bracket.
pub(super) const ID: usize = STEP + 2;
/// What stands from the tab before an Xref on.
pub(super) type Xref = [u8; LIST + MARGIN];
/// Where the list of newsgroups stands in it.
pub(super) const LIST: usize = 7;

/// Where the part of a counter at the end of a subject may stand in an [`End`], and what it says.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// The bracket before it.
    pub(super) open: usize,
    /// The stroke after it.
    pub(super) stroke: usize,
    pub(super) part: u32,
}

impl Known {
    pub(super) fn new() -> Self {
        let subject = Subject {
            before: [0; LONGEST_SUBJECT],
            after: [0; STEP],
            poster: [0; LONGEST_POSTER],
            before_len: 0,
            after_len: 0,
            poster_len: u32::MAX,
            poster_number: 0,
            index: 0,
            crosspost: 0,
        };
        let date = Date {
            form: Form::ANY,
            len: 0,
            at: 0,
            midnight: 0,
        };
        let crosspost = Crosspost {
            forms: Vec::new(),
            len: 0,
            owner: Owner::Own,
        };
        Self {
            subjects: boxed(&subject),
            dates: boxed(&date),
            crossposts: boxed(&crosspost),
        }
    }

    /// Remembers the owner of an article by its Xref without label.
    pub(super) fn learn_owner(&mut self, xref: &[u8], owner: Owner) {
        if !(STEP..=LONGEST_CROSSPOST).contains(&xref.len())
            || !xref.last().is_some_and(u8::is_ascii_digit)
        {
            return;
        }
        let Some(colon) = memchr::memrchr(b':', &xref[xref.len() - STEP..]) else {
            return;
        };
        let colon = xref.len() - STEP + colon;
        let slot = crosspost_slot(xref, 0, colon, xref.len());
        let fits = |known: &Crosspost| known.len == xref.len() && wide::fits(xref, &known.forms);
        let set = &mut self.crossposts[slot & !(WAYS - 1)..][..WAYS];
        if set.iter().any(fits) {
            return;
        }
        // The one that was met first is forgotten.
        set.rotate_right(1);
        let known = &mut set[0];
        known.forms = Form::steps(xref, |at| {
            // A digit of a number that goes from a colon to a blank or the end.
            let start = xref[..at].iter().rposition(|byte| !byte.is_ascii_digit());
            let end = xref[at..].iter().position(|byte| !byte.is_ascii_digit());
            xref[at].is_ascii_digit()
                && start.is_some_and(|start| xref[start] == b':')
                && end.is_none_or(|end| xref[at + end] == b' ')
        });
        known.len = xref.len();
        known.owner = owner;
    }

    /// Which crosspost the Xref at `start..end` is; [`STEP`] bytes at least.
    #[inline(always)]
    pub(super) fn crosspost(
        &self,
        bytes: impl Bytes,
        text: &[u8],
        start: usize,
        end: usize,
    ) -> Option<u32> {
        let colon = bytes.last_of(text, end, b':')?;
        let slot = crosspost_slot(text, start, colon, end) & !(WAYS - 1);
        for (at, known) in (slot as u32..).zip(&self.crossposts[slot..][..WAYS]) {
            if known.len == end - start && bytes.is_like(text, start, &known.forms) {
                return Some(at);
            }
        }
        None
    }

    /// Whether the Xref at `start..end`, which is at the start of `list`, is of the crosspost that came last with a
    /// remembered subject.
    #[inline(always)]
    pub(super) fn is_crosspost(
        &self,
        bytes: impl Bytes,
        list: &Xref,
        (text, start, end): (&[u8], usize, usize),
        slot: usize,
    ) -> bool {
        let known = &self.crossposts[self.subjects[slot].crosspost as usize % CROSSPOSTS];
        let Some((first, more)) = known.forms.split_first() else {
            return false;
        };
        known.len == end - start
            && bytes.is_like(list, LIST, std::slice::from_ref(first))
            && (more.is_empty() || bytes.is_like(text, start + MARGIN, more))
    }

    /// The owner of a remembered crosspost.
    #[inline(always)]
    pub(super) fn owner(&self, crosspost: u32) -> Owner {
        self.crossposts[crosspost as usize % CROSSPOSTS].owner
    }

    /// Remembers the crosspost of an article with a remembered subject.
    #[inline(always)]
    pub(super) fn learn_crosspost(&mut self, slot: usize, crosspost: u32) {
        self.subjects[slot].crosspost = crosspost;
    }

    /// The crosspost that came last with a remembered subject.
    #[inline(always)]
    pub(super) fn last_crosspost(&self, slot: usize) -> u32 {
        self.subjects[slot].crosspost
    }

    /// The moment of a Date header of so many bytes, if its form is known.
    #[inline(always)]
    pub(super) fn moment(&self, bytes: impl Bytes, middle: &Middle, len: usize) -> Option<i64> {
        let start = STEP.checked_sub(len)?;
        let known = &self.dates[date_slot(middle, start, STEP)];
        if known.len != len || !bytes.is_like(middle, start, &[[known.form]]) {
            return None;
        }
        let time = middle[start + known.at..].first_chunk::<CLOCK>()?;
        Some(known.midnight + clock(*time)?)
    }

    /// Where a subject of so many bytes is remembered, and whether it is.
    #[inline(always)]
    pub(super) fn subject(
        &self,
        bytes: impl Bytes,
        begin: &Begin,
        end: &End,
        len: usize,
        place: Place,
    ) -> (usize, bool) {
        let slot = subject_slot(begin, end, len, place);
        let known = &self.subjects[slot];
        let (before, after) = (len + place.open - TAB, TAB - place.stroke);
        let is_known = known.before_len as usize == before
            && known.after_len as usize == after
            && bytes.begins(begin, SUBJECT, &known.before, before)
            && bytes.begins(end, place.stroke, &known.after, after);
        (slot, is_known)
    }

    /// The file of a remembered subject.
    #[inline(always)]
    pub(super) fn index(&self, slot: usize) -> u32 {
        self.subjects[slot].index
    }

    /// The number of the From that came last with a remembered subject.
    #[inline(always)]
    pub(super) fn poster(&self, slot: usize) -> u32 {
        self.subjects[slot].poster_number
    }

    /// Remembers the file of a subject in place of another, by what stands before its counter and after its part.
    pub(super) fn learn_subject(&mut self, slot: usize, before: &[u8], after: &[u8], index: u32) {
        let known = &mut self.subjects[slot];
        known.before_len = 0;
        known.poster_len = u32::MAX;
        if before.len() <= LONGEST_SUBJECT && after.len() <= STEP {
            known.before[..before.len()].copy_from_slice(before);
            known.after[..after.len()].copy_from_slice(after);
            known.before_len = before.len() as u32;
            known.after_len = after.len() as u32;
            known.index = index;
        }
    }

    /// Whether a From of so many bytes is the last one.
    #[inline(always)]
    pub(super) fn is_poster(&self, bytes: impl Bytes, end: &End, len: usize, slot: usize) -> bool {
        let known = &self.subjects[slot];
        known.poster_len as usize == len && bytes.begins(end, FROM, &known.poster, len)
    }

    /// Remembers the number of a From of so many bytes.
    #[inline(always)]
    pub(super) fn learn_poster(&mut self, end: &End, len: usize, slot: usize, number: u32) {
        let known = &mut self.subjects[slot];
        known.poster_len = u32::MAX;
        if let Some(poster) = end[FROM..].first_chunk()
            && len <= LONGEST_POSTER
        {
            known.poster = *poster;
            known.poster_len = len as u32;
            known.poster_number = number;
        }
    }

    /// Remembers what a date without its time means.
    pub(super) fn learn_date(&mut self, date: &[u8], at: usize, midnight: i64) {
        if !(CLOCK..=STEP).contains(&date.len()) {
            return;
        }
        let is_free = |i: usize| {
            let i = i.wrapping_sub(at);
            i < CLOCK && !matches!(i, 2 | 5)
        };
        self.dates[date_slot(date, 0, date.len())] = Date {
            form: Form::new(date, is_free),
            len: date.len(),
            at,
            midnight,
        };
    }
}

/// So many of one value; never on the stack.
fn boxed<T: Clone, const COUNT: usize>(value: &T) -> Box<[T; COUNT]> {
    let all = vec![value.clone(); COUNT].into_boxed_slice();
    match all.try_into() {
        Ok(all) => all,
        Err(_) => unreachable!("a vector has the length that it was made with"),
    }
}

/// Spreads hashes: 2^64 divided by the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

#[inline(always)]
pub(super) fn word(text: &[u8], at: usize) -> u64 {
    text[at..]
        .first_chunk()
        .map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

#[inline(always)]
pub(super) fn half_word(text: &[u8], at: usize) -> u32 {
    text[at..]
        .first_chunk()
        .map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// Where a crosspost is remembered: by its length, the end of its last newsgroup and the letters further on.
#[inline(always)]
fn crosspost_slot(text: &[u8], start: usize, colon: usize, end: usize) -> usize {
    // Letters have this bit, digits, blanks and colons have not.
    const LETTER: u64 = 0x4040_4040_4040_4040;
    let letters = |before: usize| {
        let found = word(text, colon.saturating_sub(before).max(start));
        found & (((found & LETTER) >> 6) * 0xff)
    };
    let far = letters(40) ^ letters(48).rotate_left(21) ^ letters(56).rotate_left(42);
    let hash = (letters(8) ^ far.wrapping_mul(SPREAD).rotate_left(32) ^ (end - start) as u64)
        .wrapping_mul(SPREAD);
    (hash >> 40) as usize % CROSSPOSTS
}

/// Where a date is remembered: by its length and zone.
#[inline(always)]
fn date_slot(text: &[u8], start: usize, end: usize) -> usize {
    let zone = half_word(text, end - 4);
    let hash = (u64::from(zone) ^ ((end - start) as u64) << 32).wrapping_mul(SPREAD);
    (hash >> 40) as usize % DATES
}

/// Where the subject of so many bytes is remembered that has its counter there.
#[inline(always)]
fn subject_slot(begin: &Begin, end: &End, len: usize, place: Place) -> usize {
    // The end differs from file to file, but may be that of a size or a kind of file.
    let start = TAB.saturating_sub(len);
    let before = |count: usize| word(end, place.open.saturating_sub(count).max(start));
    let hash = (before(16) ^ word(begin, SUBJECT).rotate_left(29)).wrapping_mul(SPREAD);
    let total = half_word(end, place.stroke);
    let hash = (hash ^ hash >> 32 ^ before(24) ^ u64::from(total)).wrapping_mul(SPREAD);
    (hash >> 40) as usize % SUBJECTS
}
