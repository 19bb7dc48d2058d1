//! What is seen at each position of message-ids of equal length.

use super::alphabet::{kind, kind_of};
use super::grid::{CELLS, STEP};
use super::record::Segment;

/// With fewer texts a listed alphabet is not worth its description.
const LEAST_FOR_FEW: usize = 16;
/// In so many texts a random character takes more than four values nearly always.
const FIRST_LOOK: usize = 8;

/// Kinds that are neither letters nor digits.
pub(super) const MARKS: u8 = kind::OTHER | kind::DASH | kind::DOLLAR;

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
    #[inline]
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

/// What is seen at each position of texts.
pub(super) struct Columns {
    len: usize,
    pub(super) kinds: [u8; CELLS],
    pub(super) varies: [bool; CELLS],
    /// Whether the first texts have at most four different characters there.
    pub(super) few: [bool; CELLS],
}

impl Columns {
    pub(super) fn of(texts: &Texts<'_>) -> Self {
        let mut text = [0; CELLS];
        let fill = |text: &mut [u8; CELLS], row: usize| {
            let (first, second) = texts.halves(row);
            text[..first.len()].copy_from_slice(first);
            text[first.len()..first.len() + second.len()].copy_from_slice(second);
            first.len() + second.len()
        };
        let len = fill(&mut text, 0);
        let width = len.next_multiple_of(STEP).min(CELLS);
        let (mut least, mut most, mut any, mut all) = (text, text, text, text);
        for row in 1..texts.count() {
            fill(&mut text, row);
            // Whole steps of simple arithmetic: the compiler does many positions at once.
            for at in 0..width {
                let byte = text[at];
                least[at] = least[at].min(byte);
                most[at] = most[at].max(byte);
                any[at] |= byte;
                all[at] &= byte;
            }
        }
        let mut columns = Self {
            len,
            kinds: [0; CELLS],
            varies: [false; CELLS],
            few: [false; CELLS],
        };
        if texts.count() >= LEAST_FOR_FEW {
            // One bit for each code; some codes share one, which the exact look tells apart.
            let mut seen = [0u64; CELLS];
            for row in 0..FIRST_LOOK {
                fill(&mut text, row);
                for (seen, byte) in seen[..len].iter_mut().zip(&text) {
                    *seen |= 1 << (byte & 63);
                }
            }
            for (few, seen) in columns.few.iter_mut().zip(&seen[..len]) {
                *few = seen.count_ones() <= 4;
            }
        }
        for at in 0..len {
            columns.varies[at] = any[at] != all[at];
            columns.kinds[at] = guess(least[at], most[at], any[at], all[at]);
        }
        columns
    }

    /// Finds the kinds of every character, where a guess was wrong.
    pub(super) fn look_at_all(&mut self, texts: &Texts<'_>) {
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
