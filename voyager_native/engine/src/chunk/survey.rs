//! What is seen at each position of message-ids of equal length.
#![expect(
    clippy::inline_always,
    reason = "what is inlined is compiled for the instructions of its caller"
)]

use std::ops::Range;

use super::alphabet::{kind, kind_of};
use super::grid::{CELLS, STEP};
use super::segments::Segment;
use super::{decimal, wide};

/// With fewer texts a listed alphabet is not worth its description.
const LEAST_FOR_FEW: usize = 16;
/// In so many texts a random character takes more than four values nearly always.
const FIRST_LOOK: usize = 8;
/// Of so many texts or more it is enough to look at some.
pub(super) const LEAST_FOR_SOME: usize = 48;
/// About so many of them.
const SOME: usize = 16;

/// Kinds that are neither letters nor digits.
pub(super) const MARKS: u8 = kind::OTHER | kind::DASH | kind::DOLLAR;

/// How many of the texts are looked at before coding them shows whether all are so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Look {
    /// Some of them, if they are many: of random characters that is as good as all.
    Some,
    /// The bounds of all.
    #[default]
    All,
    /// Every character of all.
    Exact,
}

impl Look {
    /// Of `count` rows every so many are looked at, the first and the last in any case.
    pub(super) const fn step(self, count: usize) -> usize {
        match self {
            Self::Some if count >= LEAST_FOR_SOME => count / SOME,
            _ => 1,
        }
    }

    /// About so many of `count` rows are looked at.
    pub(super) const fn looked(self, count: u64) -> u64 {
        match self {
            Self::Some if count >= LEAST_FOR_SOME as u64 => SOME as u64,
            _ => count,
        }
    }
}

/// Texts of equal length, as they are looked at position by position.
pub(super) enum Texts<'a> {
    /// The whole ids.
    Whole(&'a [Segment<'a>]),
    /// The ids without what stands after `before` bytes and before the last `after` bytes.
    Around {
        rows: &'a [Segment<'a>],
        before: usize,
        after: usize,
    },
    /// Parts of the ids.
    Fields(&'a [&'a [u8]]),
}

impl<'a> Texts<'a> {
    pub(super) fn count(&self) -> usize {
        match self {
            Self::Whole(rows) | Self::Around { rows, .. } => rows.len(),
            Self::Fields(fields) => fields.len(),
        }
    }

    /// The two halves of a text.
    #[inline(always)]
    fn halves(&self, row: usize) -> (&'a [u8], &'a [u8]) {
        match self {
            Self::Whole(rows) => (rows[row].id, &[]),
            Self::Around {
                rows,
                before,
                after,
            } => {
                let id = rows[row].id;
                (&id[..*before], &id[id.len() - after..])
            }
            Self::Fields(fields) => (fields[row], &[]),
        }
    }

    /// Copies a text and returns its length.
    #[inline(always)]
    pub(super) fn fill(&self, text: &mut [u8; CELLS], row: usize) -> usize {
        let (first, second) = self.halves(row);
        decimal::copy(first, &mut text[..first.len()]);
        decimal::copy(second, &mut text[first.len()..first.len() + second.len()]);
        first.len() + second.len()
    }

    /// The characters of a text at some positions, where they stand together.
    #[inline]
    pub(super) fn slice(&self, row: usize, range: Range<usize>) -> Option<&'a [u8]> {
        let (first, second) = self.halves(row);
        match range.start.checked_sub(first.len()) {
            None => first.get(range),
            Some(start) => second.get(start..range.end - first.len()),
        }
    }

    /// The character of a text at a position.
    #[inline]
    pub(super) fn byte(&self, row: usize, at: usize) -> u8 {
        let (first, second) = self.halves(row);
        match at.checked_sub(first.len()) {
            None => first[at],
            Some(at) => second[at],
        }
    }
}

/// The least and the greatest character at each position, and the bits that any and all of them have.
pub(super) struct Bounds {
    len: usize,
    least: [u8; CELLS],
    most: [u8; CELLS],
    any: [u8; CELLS],
    all: [u8; CELLS],
    /// Whether the first texts have at most four different characters there.
    few: [bool; CELLS],
}

impl Bounds {
    #[inline(always)]
    pub(super) fn of(texts: &Texts<'_>, look: Look) -> Self {
        let mut text = [0; CELLS];
        let len = texts.fill(&mut text, 0);
        let width = len.next_multiple_of(STEP).min(CELLS);
        let mut bounds = Self {
            len,
            least: text,
            most: text,
            any: text,
            all: text,
            few: [false; CELLS],
        };
        let Self {
            least,
            most,
            any,
            all,
            ..
        } = &mut bounds;
        let last = texts.count() - 1;
        let step = look.step(texts.count());
        for row in (step..last).step_by(step).chain([last]) {
            texts.fill(&mut text, row);
            // Whole steps of simple arithmetic: the compiler does many positions at once.
            for at in 0..width {
                let byte = text[at];
                least[at] = least[at].min(byte);
                most[at] = most[at].max(byte);
                any[at] |= byte;
                all[at] &= byte;
            }
        }
        if texts.count() >= LEAST_FOR_FEW {
            // One bit for each code; some codes share one, which the exact look tells apart.
            let mut seen = [0u64; CELLS];
            for row in 0..FIRST_LOOK {
                texts.fill(&mut text, row);
                for (seen, byte) in seen[..width].iter_mut().zip(&text) {
                    *seen |= 1 << (byte & 63);
                }
            }
            for (few, seen) in bounds.few[..len].iter_mut().zip(&seen) {
                *few = seen.count_ones() <= 4;
            }
        }
        bounds
    }
}

/// What is seen at each position of texts.
pub(super) struct Columns {
    len: usize,
    pub(super) kinds: [u8; CELLS],
    pub(super) varies: [bool; CELLS],
    /// Whether the first texts have at most four different characters there.
    pub(super) few: [bool; CELLS],
}

impl Columns {
    pub(super) fn of(texts: &Texts<'_>, look: Look) -> Self {
        let bounds = wide::bounds(texts, look);
        let Bounds {
            len,
            least,
            most,
            any,
            all,
            few: _,
        } = &bounds;
        let len = *len;
        let mut columns = Self {
            len,
            kinds: [0; CELLS],
            varies: [false; CELLS],
            few: [false; CELLS],
        };
        columns.few = bounds.few;
        for at in 0..len {
            columns.varies[at] = any[at] != all[at];
            columns.kinds[at] = guess(least[at], most[at], any[at], all[at]);
        }
        if look == Look::Exact {
            columns.look_at_all(texts);
        }
        columns
    }

    /// Finds the kinds of every character, where a guess was wrong.
    fn look_at_all(&mut self, texts: &Texts<'_>) {
        for row in 0..texts.count() {
            for at in 0..self.len {
                self.kinds[at] |= kind_of(texts.byte(row, at));
            }
        }
    }

    /// In one to three ids much is equal by chance: long words of letters and digits count as varying.
    pub(super) fn mark_tokens(&mut self) {
        let mut at = 0;
        while at < self.len {
            let is_word = |at: &usize| self.kinds[*at] & MARKS == 0;
            let len = (at..self.len).take_while(is_word).count();
            if len >= 8 {
                self.varies[at..at + len].fill(true);
            }
            at += len.max(1);
        }
    }
}

/// The kinds of a column, guessed from its bounds and bits: capitals lack the bit of small letters and digits.
///
/// What the guess leaves out is found when the characters are coded.
fn guess(least: u8, most: u8, any: u8, all: u8) -> u8 {
    if any == all {
        return kind_of(least);
    }
    let mut kinds = kind_of(least) | kind_of(most);
    if kinds & MARKS != 0 {
        return kind::OTHER;
    }
    let has_small = most >= b'a';
    if has_small && most > b'f' {
        kinds |= kind::LOWER;
    }
    if all & 0x20 == 0 && (has_small || least <= b'9') {
        kinds |= kind::UPPER_HEX;
        kinds |= if has_small || most > b'F' {
            kind::UPPER
        } else {
            0
        };
    }
    kinds
}
