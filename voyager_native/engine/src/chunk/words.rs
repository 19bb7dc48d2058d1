//! The digits of many segments as words of bits, and back.
#![expect(
    clippy::inline_always,
    reason = "what is inlined is compiled for the instructions of its caller"
)]

use std::ops::Range;

use super::bits::MOST_BITS;
use super::grid::CELLS;
use super::lanes::{Lanes, divide, inverse, width_of};
use super::transpose::{Column, ROWS};

/// Most words of a segment: of eight any usual message-id can be made.
pub(super) const MOST_WORDS: usize = 8;

/// A digit of less than a byte: its position, its radix, and how one divides by it.
#[derive(Debug)]
struct Digit {
    at: u8,
    by: Divisor,
    /// For dividing by this radix and that of the digit before at once.
    pair: Option<Pair>,
}

/// A number by which others are divided.
#[derive(Clone, Copy, Debug)]
struct Divisor {
    radix: u32,
    magic: u32,
    shift: u32,
    inverse: u64,
}

impl Divisor {
    const fn new(radix: u32) -> Self {
        // For so many bits a factor of 32 is exact: Granlund and Montgomery, 1994, theorem 4.2.
        let shift = 31 + width_of(radix as u64);
        Self {
            radix,
            magic: ((1u64 << shift) / radix as u64 + 1) as u32,
            shift,
            inverse: inverse(radix),
        }
    }

    /// Quotients of numbers of `width` bits, of which the rests stay.
    #[inline(always)]
    fn divide(self, values: &mut [u32; ROWS], width: u32) -> [u32; ROWS] {
        let mut quotients = [0; ROWS];
        if width < u32::BITS {
            let magic = u64::from(self.magic);
            for (quotient, value) in quotients.iter_mut().zip(&*values) {
                *quotient = ((u64::from(*value) * magic) >> self.shift) as u32;
            }
        } else {
            for (quotient, value) in quotients.iter_mut().zip(&*values) {
                *quotient = divide(u64::from(*value), self.radix, self.inverse).0 as u32;
            }
        }
        for (quotient, value) in quotients.iter().zip(values) {
            *value = value.wrapping_sub(quotient.wrapping_mul(self.radix));
        }
        quotients
    }
}

/// Divides by the product of two radices, and what is left by the second one.
#[derive(Clone, Copy, Debug)]
struct Pair {
    by: Divisor,
    small: u32,
}

/// What is left of a pair is multiplied by `small` and shifted by so many bits.
const PAIR_SHIFT: u32 = 22;

impl Pair {
    fn new(first: u32, second: u32) -> Option<Self> {
        // Exact for numbers below the product: the error of the factor is less than the divisor.
        (first * second * second < 1 << PAIR_SHIFT).then(|| Self {
            by: Divisor::new(first * second),
            small: (1 << PAIR_SHIFT) / second + 1,
        })
    }
}

impl Digit {
    fn new(at: u8, radix: u16, before: Option<u16>) -> Self {
        let radix = u32::from(radix);
        Self {
            at,
            by: Divisor::new(radix),
            pair: before.and_then(|before| Pair::new(u32::from(before), radix)),
        }
    }
}

/// Adds to `left` what is beyond a radix.
#[inline(always)]
fn add_beyond(values: &[u32; ROWS], radix: u32, left: &mut [u32; ROWS]) {
    for (left, value) in left.iter_mut().zip(values) {
        *left |= value.saturating_sub(radix - 1);
    }
}

/// Neighbouring bits of a segment, at most 32.
#[derive(Debug)]
pub(super) enum Field {
    /// Digits as one number: wide ones, then small ones.
    Lane {
        wide: Range<usize>,
        small: Range<usize>,
        width: u32,
    },
    /// Digits of neighbouring cells in their own bits.
    Bits { cell: usize, len: usize, bits: u32 },
}

impl Field {
    pub(super) fn width(&self) -> u32 {
        match self {
            Self::Lane { width, .. } => *width,
            Self::Bits { len, bits, .. } => *len as u32 * bits,
        }
    }
}

/// Fields that are put together.
#[derive(Debug)]
pub(super) struct Word {
    pub(super) fields: Range<usize>,
    pub(super) width: u32,
}

/// Where the digits of a segment stand in its bits, word by word.
#[derive(Debug)]
pub(super) struct Words {
    wide: Vec<(u32, u64)>,
    digits: Vec<Digit>,
    pub(super) fields: Vec<Field>,
    pub(super) list: Vec<Word>,
}

impl Words {
    /// Number of the wide digits.
    pub(super) fn wide_len(&self) -> usize {
        self.wide.len()
    }

    /// The words of a layout; none where they are too many.
    pub(super) fn of(lanes: &Lanes) -> Option<Self> {
        let mut fields = Vec::with_capacity(16);
        for lane in lanes.lanes() {
            fields.push(Field::Lane {
                wide: lane.wide.clone(),
                small: lane.small.clone(),
                width: lane.width,
            });
        }
        for run in lanes.runs() {
            let most = (32 / run.bits) as usize;
            for start in (0..run.len).step_by(most) {
                fields.push(Field::Bits {
                    cell: run.cell + start,
                    len: most.min(run.len - start),
                    bits: run.bits,
                });
            }
        }
        let mut list: Vec<Word> = Vec::with_capacity(8);
        for (number, field) in fields.iter().enumerate() {
            let width = field.width();
            match list.last_mut() {
                Some(word) if word.width + width <= MOST_BITS => {
                    word.fields.end = number + 1;
                    word.width += width;
                }
                _ => list.push(Word {
                    fields: number..number + 1,
                    width,
                }),
            }
        }
        (list.len() <= MOST_WORDS).then(|| Self {
            wide: lanes.wide().to_vec(),
            digits: lanes
                .small()
                .scan(None, |before, (cell, radix)| {
                    Some(Digit::new(cell, radix, before.replace(radix)))
                })
                .collect(),
            fields,
            list,
        })
    }

    /// The bits of a field in every row: from wide digits and from small ones, each a column.
    #[inline(always)]
    pub(super) fn join(
        &self,
        field: &Field,
        wide: &[[u32; ROWS]],
        bytes: &[Column; CELLS],
    ) -> [u32; ROWS] {
        let mut values = [0u32; ROWS];
        match field {
            Field::Lane {
                wide: some,
                small,
                width: _,
            } => {
                for (digits, radix) in wide[some.clone()].iter().zip(&self.wide[some.clone()]) {
                    for (value, digit) in values.iter_mut().zip(digits) {
                        *value = value.wrapping_mul(radix.0).wrapping_add(*digit);
                    }
                }
                let mut pairs = self.digits[small.clone()].chunks_exact(2);
                for pair in &mut pairs {
                    let (first, second) = (&pair[0], &pair[1]);
                    let radix = second.by.radix as u16;
                    let cells = bytes[usize::from(first.at)]
                        .iter()
                        .zip(&bytes[usize::from(second.at)]);
                    // Both are below 256, and so is what they are multiplied by: two bytes are enough.
                    let mut twos = [0u16; ROWS];
                    for (two, (first, second)) in twos.iter_mut().zip(cells) {
                        *two = u16::from(*first)
                            .wrapping_mul(radix)
                            .wrapping_add(u16::from(*second));
                    }
                    let radix = first.by.radix * second.by.radix;
                    for (value, two) in values.iter_mut().zip(twos) {
                        *value = value.wrapping_mul(radix).wrapping_add(u32::from(two));
                    }
                }
                for digit in pairs.remainder() {
                    let column = &bytes[usize::from(digit.at)];
                    for (value, cell) in values.iter_mut().zip(column) {
                        *value = value
                            .wrapping_mul(digit.by.radix)
                            .wrapping_add(u32::from(*cell));
                    }
                }
            }
            Field::Bits { cell, len, bits } => {
                let mut shift = 0;
                let mut pairs = bytes[*cell..*cell + *len].chunks_exact(2);
                for pair in &mut pairs {
                    let mut twos = [0u16; ROWS];
                    for (two, (first, second)) in twos.iter_mut().zip(pair[0].iter().zip(&pair[1]))
                    {
                        *two = u16::from(*first) | u16::from(*second) << bits;
                    }
                    for (value, two) in values.iter_mut().zip(twos) {
                        *value |= u32::from(two) << shift;
                    }
                    shift += 2 * bits;
                }
                for column in pairs.remainder() {
                    for (value, cell) in values.iter_mut().zip(column) {
                        *value |= u32::from(*cell) << shift;
                    }
                }
            }
        }
        values
    }

    /// Undoes [`Self::join`]; what numbers are beyond their radices is added to `left`.
    #[inline(always)]
    pub(super) fn split(
        &self,
        field: &Field,
        values: [u32; ROWS],
        wide: &mut [[u32; ROWS]],
        bytes: &mut [Column; CELLS],
        left: &mut [u32; ROWS],
    ) {
        let mut values = values;
        match field {
            Field::Lane {
                wide: some,
                small,
                width,
            } => {
                // The first digit of a lane is what the others leave: nothing has to be divided for it.
                let mut digits = &self.digits[small.clone()];
                while let Some((last, rest)) = digits.split_last() {
                    let (pair, rest) = match (&last.pair, rest.split_last()) {
                        (Some(pair), Some((before, rest))) => (Some((pair, before)), rest),
                        _ => (None, rest),
                    };
                    let by = pair.map_or(last.by, |(pair, _)| pair.by);
                    let mut digit = values;
                    if some.is_empty() && rest.is_empty() {
                        add_beyond(&values, by.radix, left);
                    } else {
                        values = by.divide(&mut digit, *width);
                    }
                    if let Some((pair, before)) = pair {
                        // Two digits at a time: half the long divisions.
                        let mut firsts = [0; ROWS];
                        for (first, two) in firsts.iter_mut().zip(&digit) {
                            *first = two.wrapping_mul(pair.small) >> PAIR_SHIFT;
                        }
                        for (digit, first) in digit.iter_mut().zip(&firsts) {
                            *digit = digit.wrapping_sub(first.wrapping_mul(last.by.radix));
                        }
                        let column = &mut bytes[usize::from(before.at)];
                        for (cell, first) in column.iter_mut().zip(&firsts) {
                            *cell = *first as u8;
                        }
                    }
                    let column = &mut bytes[usize::from(last.at)];
                    for (cell, digit) in column.iter_mut().zip(&digit) {
                        *cell = *digit as u8;
                    }
                    digits = rest;
                }
                for number in some.clone().rev() {
                    let (radix, inverse) = self.wide[number];
                    let digits = &mut wide[number];
                    if number == some.start {
                        *digits = values;
                        add_beyond(&values, radix, left);
                        continue;
                    }
                    for (value, digit) in values.iter_mut().zip(digits) {
                        let (quotient, rest) = divide(u64::from(*value), radix, inverse);
                        *digit = rest as u32;
                        *value = quotient as u32;
                    }
                }
            }
            Field::Bits { cell, len, bits } => {
                let mask = ((1u16 << bits) - 1) as u8;
                let mut shift = 0;
                let mut pairs = bytes[*cell..*cell + *len].chunks_exact_mut(2);
                for pair in &mut pairs {
                    let [first, second] = pair else { break };
                    let mut twos = [0u16; ROWS];
                    for (two, value) in twos.iter_mut().zip(&values) {
                        *two = (value >> shift) as u16;
                    }
                    for (cell, two) in first.iter_mut().zip(&twos) {
                        *cell = *two as u8 & mask;
                    }
                    for (cell, two) in second.iter_mut().zip(&twos) {
                        *cell = (two >> bits) as u8 & mask;
                    }
                    shift += 2 * bits;
                }
                for column in pairs.into_remainder() {
                    for (cell, value) in column.iter_mut().zip(&values) {
                        *cell = (value >> shift) as u8 & mask;
                    }
                }
            }
        }
    }
}
