//! Codes segments whose ids are of fixed length but for part numbers, and compares at once what comes back.
//!
//! Sixteen rows go through each step together. What their words give back is compared with what went in while it
//! is at hand, column by column, which saves putting every id together again: the columns are the ids, turned.

use std::ops::Range;
use std::sync::Arc;

use super::CodecError;
use super::bits::BitWriter;
use super::coder::{Progress, write_decimal};
use super::column::Column;
use super::decimal;
use super::grid::CELLS;
use super::layout::Scratch;
use super::pieces::{Family, Piece};
use super::rows::{Joined, Kernel};
use super::segments::Segment;
use super::transpose::ROWS;
use super::wide;

/// Digits of one value of a column, at most.
const MOST_DIGITS: usize = 4;

/// Codes segments of one family, in order, and proves that they come back.
#[derive(Debug)]
pub(super) struct Checked<'a> {
    steps: Vec<Step>,
    sizes: &'a Column,
    numbers: Vec<Number<'a>>,
    template: Vec<u8>,
    /// Positions that are compared as columns: all but those of numbers.
    same: Vec<Range<usize>>,
    kernel: Arc<Kernel>,
    row: u32,
}

/// What an id is made of.
#[derive(Clone, Copy, Debug)]
enum Step {
    Fixed { len: usize },
    Part { base: u32, counter: Counter },
}

/// A number at fixed positions.
#[derive(Debug)]
struct Number<'a> {
    /// Among the characters of all fixed pieces.
    range: Range<usize>,
    coded: Progress<'a>,
    found: Progress<'a>,
}

impl<'a> Checked<'a> {
    /// A coder of the segments of a family; none where they can not be coded column by column.
    pub(super) fn new(
        family: &'a Family,
        sizes: &'a Column,
        scratch: &mut Scratch,
    ) -> Option<Self> {
        let mut steps = Vec::with_capacity(family.pieces.len());
        for piece in &family.pieces {
            steps.push(match piece {
                Piece::Fixed(fixed) => Step::Fixed {
                    len: fixed.template.len(),
                },
                Piece::Part { base } => Step::Part {
                    base: *base,
                    counter: Counter::new(),
                },
                Piece::Counted(_) | Piece::Variable { .. } => return None,
            });
        }
        let kernel = scratch.layout(family, sizes).kernel(family)?;
        let mut template = Vec::with_capacity(64);
        let mut numbers = Vec::new();
        let mut same = Vec::with_capacity(4);
        let mut begin = 0;
        for fixed in family.fixed() {
            let start = template.len();
            template.extend_from_slice(&fixed.template);
            for number in &fixed.numbers {
                let range = start + number.at..start + number.at + number.len;
                same.push(begin..range.start);
                begin = range.end;
                numbers.push(Number {
                    range,
                    coded: Progress::of(&number.column),
                    found: Progress::of(&number.column),
                });
            }
        }
        same.push(begin..template.len());
        // What is beyond the columns would not be compared.
        (template.len() <= kernel.width()).then_some(Self {
            steps,
            sizes,
            numbers,
            template,
            same,
            kernel,
            row: 0,
        })
    }

    /// Bits of the digits of one segment.
    pub(super) fn width(&self) -> u32 {
        self.kernel.widths().iter().sum()
    }

    /// Widths of the words of a segment.
    pub(super) fn widths(&self) -> &[u32] {
        self.kernel.widths()
    }

    /// Appends segments.
    ///
    /// # Errors
    /// [`CodecError::Unfaithful`] when an id is not of this family, or would not come back.
    pub(super) fn put(
        &mut self,
        segments: &[Segment<'_>],
        scratch: &mut Scratch,
        writer: &mut BitWriter,
    ) -> Result<(), CodecError> {
        self.begin(scratch);
        for batch in segments.chunks(ROWS) {
            self.fill(batch.iter(), scratch)?;
            let Scratch {
                texts,
                digits,
                columns,
                ..
            } = &mut *scratch;
            wide::put(
                &self.kernel,
                batch.len(),
                texts,
                digits,
                &self.same,
                columns,
                writer,
            )?;
        }
        Ok(())
    }

    /// Prepares work space that another coder used.
    pub(super) fn begin(&self, scratch: &mut Scratch) {
        scratch.columns.begin(&self.template);
        scratch.digits.clear();
        scratch.digits.resize(self.kernel.digits_len(), [0; ROWS]);
    }

    /// The words of at most sixteen segments.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub(super) fn join<'s>(
        &mut self,
        batch: impl ExactSizeIterator<Item = &'s Segment<'s>> + Clone,
        scratch: &mut Scratch,
        joined: &mut Joined,
    ) -> Result<(), CodecError> {
        self.fill(batch, scratch)?;
        let Scratch {
            texts,
            digits,
            columns,
            ..
        } = scratch;
        wide::join(&self.kernel, texts, digits, &self.same, columns, joined)
    }

    /// Puts the characters and digits of at most sixteen segments in their places; the last one fills the rest.
    fn fill<'s>(
        &mut self,
        batch: impl ExactSizeIterator<Item = &'s Segment<'s>> + Clone,
        scratch: &mut Scratch,
    ) -> Result<(), CodecError> {
        let count = batch.len();
        let Scratch { texts, digits, .. } = scratch;
        for (place, segment) in batch.clone().enumerate() {
            self.take_apart(segment, &mut texts[place])?;
        }
        let values = batch.map(|segment| i64::from(segment.size));
        match &mut digits[..] {
            [first, ..] if self.sizes.is_one_digit() => {
                for (digit, value) in first.iter_mut().zip(values) {
                    *digit = self.sizes.distance(value) as u32;
                }
            }
            digits => {
                for (place, value) in values.enumerate() {
                    let mut some = [0; MOST_DIGITS];
                    let used = self.sizes.split(value, &mut some);
                    for (digits, digit) in digits.iter_mut().zip(&some[..used]) {
                        digits[place] = *digit;
                    }
                }
            }
        }
        let mut used = self.sizes.radices().count();
        for number in &mut self.numbers {
            used += number.fill(&texts[..count], &mut digits[used..], self.row)?;
        }
        self.row += count as u32;
        let last = count.saturating_sub(1);
        let width = self.kernel.width();
        for place in count..ROWS {
            let (filled, rest) = texts.split_at_mut(place);
            rest[0][..width].copy_from_slice(&filled[last][..width]);
        }
        for digits in digits {
            let digit = digits[last];
            digits[count..].fill(digit);
        }
        Ok(())
    }

    /// Finds the characters of an id at fixed positions.
    #[inline]
    fn take_apart(
        &mut self,
        segment: &Segment<'_>,
        text: &mut [u8; CELLS],
    ) -> Result<(), CodecError> {
        let id = segment.id;
        let (mut at, mut filled) = (0, 0);
        for step in &mut self.steps {
            match step {
                Step::Fixed { len } => {
                    let (from, to) = (at..at + *len, filled..filled + *len);
                    let (Some(from), Some(to)) = (id.get(from), text.get_mut(to)) else {
                        return Err(CodecError::Unfaithful);
                    };
                    decimal::copy(from, to);
                    at += *len;
                    filled += *len;
                }
                Step::Part { base, counter } => {
                    let number = counter.digits(segment.part.wrapping_sub(*base));
                    let Some(found) = id.get(at..at + number.len()) else {
                        return Err(CodecError::Unfaithful);
                    };
                    let is_other = found.iter().zip(number).any(|(left, right)| left != right);
                    if is_other || segment.part < *base {
                        return Err(CodecError::Unfaithful);
                    }
                    at += number.len();
                }
            }
        }
        if at == id.len() {
            Ok(())
        } else {
            Err(CodecError::Unfaithful)
        }
    }
}

impl Number<'_> {
    /// Finds the digits of a number in every row, proves that they give it back, and returns how many they are.
    fn fill(
        &mut self,
        texts: &[[u8; CELLS]],
        digits: &mut [[u32; ROWS]],
        row: u32,
    ) -> Result<usize, CodecError> {
        let mut used = 0;
        for ((place, text), row) in texts.iter().enumerate().zip(row..) {
            let text = &text[self.range.clone()];
            let mut some = [0; MOST_DIGITS];
            used = self.coded.split(decimal::value_of(text), &mut some);
            for (digits, digit) in digits.iter_mut().zip(&some[..used]) {
                digits[place] = *digit;
            }
            let mut back = [0; 18];
            let back = back.get_mut(..text.len()).ok_or(CodecError::Unfaithful)?;
            decimal::write_padded(self.found.join(row, &some).0, back)
                .map_err(|_| CodecError::Unfaithful)?;
            if back != text {
                return Err(CodecError::Unfaithful);
            }
        }
        Ok(used)
    }
}

/// The decimal digits of numbers that mostly follow one another.
#[derive(Clone, Copy, Debug)]
struct Counter {
    value: u32,
    digits: [u8; 10],
    start: usize,
}

impl Counter {
    const fn new() -> Self {
        Self {
            value: 0,
            digits: [b'0'; 10],
            start: 9,
        }
    }

    /// The digits of a number.
    #[inline]
    fn digits(&mut self, value: u32) -> &[u8] {
        let last = &mut self.digits[9];
        if Some(value) == self.value.checked_add(1) && *last < b'9' {
            *last += 1;
        } else if value != self.value {
            self.start = 10 - write_decimal(value, &mut self.digits).len();
        }
        self.value = value;
        &self.digits[self.start..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_counts() {
        let mut counter = Counter::new();
        for value in (0..2000).chain([5, 5, 6, 99, 100, 9, 10, u32::MAX, 0, 1]) {
            assert_eq!(counter.digits(value), value.to_string().as_bytes());
        }
    }
}
