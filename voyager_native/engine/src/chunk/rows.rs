//! Codes the digits and characters of many segments at once.
//!
//! What stands at one position of sixteen segments is one column of bytes, so that each step is the same
//! arithmetic on whole columns and the compiler does all of one at once. The bits are those of [`Lanes`].
#![expect(
    clippy::inline_always,
    reason = "what is inlined is compiled for the instructions of its caller"
)]

use std::ops::Range;

use super::CodecError;
use super::alphabet::NO_RANK;
use super::bits::{BitReader, BitWriter};
use super::grid::{CELLS, stretches_of};
use super::lanes::Lanes;
use super::pieces::Family;
use super::transpose::{Column, ROWS, transpose};
use super::words::{MOST_WORDS, Words};

/// Bytes of two columns, which are worked on together.
const PAIR: usize = 2 * ROWS;

/// The words of a batch of rows, word after word.
pub(super) type Joined = [[u64; ROWS]; MOST_WORDS];

/// Words before they are filled.
pub(super) const NO_WORDS: Joined = [[0; ROWS]; MOST_WORDS];

/// Texts row after row.
pub(super) type Texts = [[u8; CELLS]; ROWS];

/// The wide digits of a batch of rows, digit after digit.
pub(super) type Digits = Vec<[u32; ROWS]>;

/// Work space for the columns of a batch of rows.
#[derive(Debug)]
pub(super) struct Columns {
    /// Characters that go in, by position.
    texts: [Column; CELLS],
    /// Their ranks.
    ranks: [Column; CELLS],
    /// Ranks that come back, then their characters.
    found: [Column; CELLS],
    /// Wide digits that come back.
    digits: Digits,
    fields: Vec<[u32; ROWS]>,
}

impl Columns {
    pub(super) const fn new() -> Self {
        Self {
            texts: [[0; ROWS]; CELLS],
            ranks: [[0; ROWS]; CELLS],
            found: [[0; ROWS]; CELLS],
            digits: Vec::new(),
            fields: Vec::new(),
        }
    }

    /// Has the constant characters come back, for one family after another one.
    pub(super) fn begin(&mut self, template: &[u8]) {
        for (column, byte) in self.found.iter_mut().zip(template) {
            *column = [*byte; ROWS];
        }
    }

    /// The wide digits that came back.
    pub(super) fn digits(&self) -> &[[u32; ROWS]] {
        &self.digits
    }
}

/// Neighbouring varying positions of one alphabet, or of two in turn, that consist of stretches.
#[derive(Debug)]
struct Run {
    at: usize,
    len: usize,
    // For each byte of two columns: the greatest rank, the offset of digits, what has to be changed in it for
    // capitals, and in that for small letters; and the ranks at which capitals and small letters begin.
    most: [u8; PAIR],
    digits: [u8; PAIR],
    to_capitals: [u8; PAIR],
    to_small: [u8; PAIR],
    capitals_at: [u8; PAIR],
    small_at: [u8; PAIR],
}

/// A varying position of an alphabet that is no stretches.
#[derive(Debug)]
struct Listed {
    at: usize,
    ranks: Box<[u8; 256]>,
    symbols: Vec<u8>,
}

/// Codes many rows of one family at once.
#[derive(Debug)]
pub(super) struct Kernel {
    runs: Vec<Run>,
    listed: Vec<Listed>,
    words: Words,
    /// Positions, rounded up to whole columns.
    width: usize,
    /// Widths of the words of a segment.
    widths: [u32; MOST_WORDS],
}

impl Kernel {
    /// The kernel of a family with this layout of its digits; none where a segment has too many words.
    pub(super) fn of(family: &Family, lanes: &Lanes) -> Option<Self> {
        let words = Words::of(lanes)?;
        let (mut runs, mut listed) = (Vec::with_capacity(8), Vec::new());
        let mut start = 0;
        for fixed in family.fixed() {
            let mut spots = &fixed.spots[..];
            while let Some((first, rest)) = spots.split_first() {
                let (at, alphabet) = *first;
                if stretches_of(alphabet, family.symbols(alphabet)).is_none() {
                    listed.push(Listed {
                        at: start + usize::from(at),
                        ranks: Box::new(*family.ranks(alphabet)),
                        symbols: family.symbols(alphabet).to_vec(),
                    });
                    spots = rest;
                    continue;
                }
                let (run, len) = Run::of(family, spots, start);
                runs.push(run);
                spots = &spots[len..];
            }
            start += fixed.template.len();
        }
        let mut widths = [0; MOST_WORDS];
        for (width, word) in widths.iter_mut().zip(&words.list) {
            *width = word.width;
        }
        Some(Self {
            runs,
            listed,
            words,
            width: start.next_multiple_of(ROWS).min(CELLS),
            widths,
        })
    }

    /// Positions of a row that are used, rounded up to whole columns.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Widths of the words of a segment.
    #[inline]
    pub(super) fn widths(&self) -> &[u32] {
        &self.widths[..self.words.list.len()]
    }

    /// Number of the wide digits of a row.
    pub(super) fn digits_len(&self) -> usize {
        self.words.wide_len()
    }

    /// Appends the first `count` rows, as [`Self::join`] does, and reads them again.
    ///
    /// # Errors
    /// As [`Self::join`].
    #[inline(always)]
    pub(super) fn put(
        &self,
        count: usize,
        texts: &Texts,
        digits: &[[u32; ROWS]],
        same: &[Range<usize>],
        columns: &mut Columns,
        writer: &mut BitWriter,
    ) -> Result<(), CodecError> {
        let mut joined = NO_WORDS;
        self.join(texts, digits, same, columns, &mut joined)?;
        let start = writer.len();
        writer.put_rows(count, self.widths(), &joined);
        let end = writer.end_of_rows(start, count, self.widths(), &joined);
        if end == Some(writer.len()) {
            Ok(())
        } else {
            Err(CodecError::Unfaithful)
        }
    }

    /// The words of rows from their texts and their wide digits.
    ///
    /// Every row must be of this family. The words are taken apart again and compared with what went in, the
    /// texts at the positions of `same`.
    ///
    /// # Errors
    /// [`CodecError::Unfaithful`] when a row would not come back as it is.
    #[inline(always)]
    pub(super) fn join(
        &self,
        texts: &Texts,
        digits: &[[u32; ROWS]],
        same: &[Range<usize>],
        columns: &mut Columns,
        joined: &mut Joined,
    ) -> Result<(), CodecError> {
        let blocks = columns.texts.as_chunks_mut().0;
        for (number, block) in blocks.iter_mut().enumerate().take(self.width / ROWS) {
            *block = transpose(texts.each_ref().map(|text| &text.as_chunks().0[number]));
        }
        let mut beyond = [0; PAIR];
        for run in &self.runs {
            run.ranks(&columns.texts, &mut columns.ranks, &mut beyond);
        }
        for spot in &self.listed {
            let ranks = &mut columns.ranks[spot.at];
            for (rank, byte) in ranks.iter_mut().zip(&columns.texts[spot.at]) {
                *rank = spot.ranks[usize::from(*byte)];
                beyond[0] |= mask(*rank == NO_RANK && spot.symbols.len() < 256);
            }
        }
        if beyond != [0; PAIR] {
            return Err(CodecError::Unfaithful);
        }
        let fields = &mut columns.fields;
        fields.clear();
        for field in &self.words.fields {
            fields.push(self.words.join(field, digits, &columns.ranks));
        }
        for (word, joined) in self.words.list.iter().zip(&mut *joined) {
            *joined = [0; ROWS];
            let mut shift = 0;
            for (field, values) in self.words.fields[word.fields.clone()]
                .iter()
                .zip(&fields[word.fields.clone()])
            {
                for (joined, value) in joined.iter_mut().zip(values) {
                    *joined |= u64::from(*value) << shift;
                }
                shift += field.width();
            }
        }
        self.split(joined, columns)
            .map_err(|_| CodecError::Unfaithful)?;
        let is_same = same.iter().all(|range| {
            columns.texts[range.clone()].as_flattened()
                == columns.found[range.clone()].as_flattened()
        });
        if is_same && columns.digits == digits {
            Ok(())
        } else {
            Err(CodecError::Unfaithful)
        }
    }

    /// Takes the words of `count` rows; the others become 0.
    ///
    /// # Errors
    /// [`CodecError::Truncated`] when bits are missing.
    #[inline(always)]
    pub(super) fn read(
        &self,
        count: usize,
        reader: &mut BitReader<'_>,
    ) -> Result<Joined, CodecError> {
        let mut joined = NO_WORDS;
        for row in 0..count {
            for (width, joined) in self.widths().iter().zip(&mut joined) {
                joined[row] = reader.take(*width)?;
            }
        }
        Ok(joined)
    }

    /// The texts of the rows of these words; the wide digits are left in `columns`.
    ///
    /// [`Columns::begin`] must have been told the template of the family.
    ///
    /// # Errors
    /// As [`Self::split`].
    #[inline(always)]
    pub(super) fn take(
        &self,
        joined: &Joined,
        texts: &mut Texts,
        columns: &mut Columns,
    ) -> Result<(), CodecError> {
        self.split(joined, columns)?;
        let blocks = columns.found.as_chunks().0;
        for (number, block) in blocks.iter().enumerate().take(self.width / ROWS) {
            for (text, row) in texts.iter_mut().zip(transpose(block.each_ref())) {
                text.as_chunks_mut().0[number] = row;
            }
        }
        Ok(())
    }

    /// Finds characters and wide digits of rows from their words.
    ///
    /// # Errors
    /// [`CodecError`] when a digit or a character is not below its radix.
    #[inline(always)]
    fn split(&self, joined: &Joined, columns: &mut Columns) -> Result<(), CodecError> {
        let Columns {
            found,
            digits,
            fields,
            ..
        } = columns;
        fields.resize(self.words.fields.len(), [0; ROWS]);
        digits.resize(self.digits_len(), [0; ROWS]);
        for (word, joined) in self.words.list.iter().zip(joined) {
            let mut shift = 0;
            for number in word.fields.clone() {
                let width = self.words.fields[number].width();
                let mask = ((1u64 << width) - 1) as u32;
                for (value, joined) in fields[number].iter_mut().zip(joined) {
                    *value = (*joined >> shift) as u32 & mask;
                }
                shift += width;
            }
        }
        let mut left = [0; ROWS];
        for (field, values) in self.words.fields.iter().zip(&*fields) {
            self.words.split(field, *values, digits, found, &mut left);
        }
        if left != [0; ROWS] {
            return Err(CodecError::Malformed("a digit beyond its radix"));
        }
        let mut beyond = [0; PAIR];
        for run in &self.runs {
            run.characters(found, &mut beyond);
        }
        for spot in &self.listed {
            for rank in &mut found[spot.at] {
                let symbol = spot.symbols.get(usize::from(*rank));
                beyond[0] |= mask(symbol.is_none());
                *rank = symbol.copied().unwrap_or_default();
            }
        }
        if beyond == [0; PAIR] {
            Ok(())
        } else {
            Err(CodecError::Malformed("a character beyond its alphabet"))
        }
    }
}

/// All ones or all zeros.
#[inline(always)]
const fn mask(is_set: bool) -> u8 {
    (is_set as u8).wrapping_neg()
}

impl Run {
    /// The longest run at the start of `spots`, of which the first has stretches, and its length.
    fn of(family: &Family, spots: &[(u8, u8)], start: usize) -> (Self, usize) {
        let (at, first) = spots[0];
        let has_stretches =
            |alphabet: u8| stretches_of(alphabet, family.symbols(alphabet)).is_some();
        let is_next = |number: usize, (next, alphabet): (u8, u8)| {
            usize::from(next) == usize::from(at) + number
                && match number {
                    0 => true,
                    1 => has_stretches(alphabet),
                    _ => alphabet == spots[number % 2].1,
                }
        };
        let len = spots
            .iter()
            .enumerate()
            .take_while(|(number, spot)| is_next(*number, **spot))
            .count();
        let second = if len > 1 { spots[1].1 } else { first };
        let mut run = Self {
            at: start + usize::from(at),
            len,
            most: [0; PAIR],
            digits: [0; PAIR],
            to_capitals: [0; PAIR],
            to_small: [0; PAIR],
            capitals_at: [u8::MAX; PAIR],
            small_at: [u8::MAX; PAIR],
        };
        for (alphabet, half) in [(first, 0..ROWS), (second, ROWS..PAIR)] {
            let symbols = family.symbols(alphabet);
            run.most[half.clone()].fill((symbols.len() - 1) as u8);
            if let Some(stretches) = stretches_of(alphabet, symbols) {
                let [digits, to_capitals, to_small] = stretches.steps();
                run.digits[half.clone()].fill(digits);
                run.to_capitals[half.clone()].fill(to_capitals);
                run.to_small[half.clone()].fill(to_small);
                run.capitals_at[half.clone()].fill(stretches.begins[0]);
                run.small_at[half].fill(stretches.begins[1]);
            }
        }
        (run, len)
    }

    /// Finds the ranks of characters.
    #[inline(always)]
    fn ranks(&self, texts: &[Column; CELLS], ranks: &mut [Column; CELLS], beyond: &mut [u8; PAIR]) {
        let range = self.at..self.at + self.len;
        let (pairs, rest) = texts[range.clone()].as_flattened().as_chunks();
        let (to_pairs, to_rest) = ranks[range].as_flattened_mut().as_chunks_mut();
        for (from, to) in pairs.iter().zip(to_pairs) {
            self.ranks_of::<PAIR>(from, to, beyond);
        }
        if let (Some(from), Some(to)) = (rest.first_chunk(), to_rest.first_chunk_mut()) {
            self.ranks_of::<ROWS>(from, to, beyond);
        }
    }

    #[inline(always)]
    fn ranks_of<const LEN: usize>(
        &self,
        from: &[u8; LEN],
        to: &mut [u8; LEN],
        beyond: &mut [u8; PAIR],
    ) {
        for at in 0..LEN {
            let byte = from[at];
            let offset = self.digits[at]
                ^ (self.to_capitals[at] & mask(byte > b'9'))
                ^ (self.to_small[at] & mask(byte > b'Z'));
            let rank = byte.wrapping_sub(offset);
            beyond[at] |= rank.saturating_sub(self.most[at]);
            to[at] = rank;
        }
    }

    /// Puts characters in the place of ranks.
    #[inline(always)]
    fn characters(&self, found: &mut [Column; CELLS], beyond: &mut [u8; PAIR]) {
        let found = &mut found[self.at..self.at + self.len];
        let (pairs, rest) = found.as_flattened_mut().as_chunks_mut();
        for pair in pairs {
            self.characters_of::<PAIR>(pair, beyond);
        }
        if let Some(rest) = rest.first_chunk_mut() {
            self.characters_of::<ROWS>(rest, beyond);
        }
    }

    #[inline(always)]
    fn characters_of<const LEN: usize>(&self, found: &mut [u8; LEN], beyond: &mut [u8; PAIR]) {
        for at in 0..LEN {
            let rank = found[at];
            beyond[at] |= rank.saturating_sub(self.most[at]);
            let offset = self.digits[at]
                ^ (self.to_capitals[at] & mask(rank >= self.capitals_at[at]))
                ^ (self.to_small[at] & mask(rank >= self.small_at[at]));
            found[at] = rank.wrapping_add(offset);
        }
    }
}
