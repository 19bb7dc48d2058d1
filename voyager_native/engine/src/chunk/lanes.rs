//! Digits of many radices packed into few words.

use std::ops::Range;

use super::CodecError;
use super::bits::{BitReader, BitWriter};
use super::grid::CELLS;

/// Bits of the largest radix of one digit.
pub(super) const RADIX_BITS: u32 = 24;
/// Largest radix of one digit.
pub(super) const RADIX_LIMIT: u64 = 1 << RADIX_BITS;
/// A lane holds digits whose radices multiply to at most this.
const LANE_LIMIT: u64 = 1 << 32;

/// Neighbouring digits that are stored as one number: wide ones, then small ones.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    pub(super) wide: Range<usize>,
    pub(super) small: Range<usize>,
    pub(super) width: u32,
    /// The one radix and the first of neighbouring cells, if the small digits are so.
    even: Option<(u32, usize)>,
}

/// A digit of less than a byte.
#[derive(Clone, Copy, Debug)]
struct Small {
    /// Where its value is among the cells of a segment.
    cell: u8,
    radix: u16,
    inverse: u64,
}

/// How the digits of one segment are laid out in bits.
///
/// Wide ones and small ones whose radix is no power of two share lanes, in this order. Then come those whose
/// radix is a power of two, each in its own bits: a lane could not hold them in fewer.
///
/// The layout follows from the radices alone, so only they are stored: changing how it is found
/// changes the format.
#[derive(Debug)]
#[expect(
    clippy::struct_field_names,
    reason = "the lanes are made of lanes, and of what has none"
)]
pub(super) struct Lanes {
    wide: Vec<(u32, u64)>,
    small: Vec<Small>,
    lanes: Vec<Lane>,
    runs: Vec<Run>,
    width: u32,
}

/// The reciprocal by which a number below 2^32 is divided by a radix up to 2^24 exactly.
pub(super) const fn inverse(radix: u32) -> u64 {
    u64::MAX / radix as u64 + 1
}

/// Quotient and remainder.
#[inline]
pub(super) const fn divide(value: u64, radix: u32, inverse: u64) -> (u64, u64) {
    let quotient = ((value as u128 * inverse as u128) >> 64) as u64;
    (quotient, value - quotient * radix as u64)
}

/// The common radix and the first cell of digits, if they have one radix and neighbouring cells.
fn even(digits: &[Small]) -> Option<(u32, usize)> {
    let first = digits.first()?;
    let is_even = (u16::from(first.cell)..)
        .zip(digits)
        .all(|(cell, digit)| digit.radix == first.radix && u16::from(digit.cell) == cell);
    is_even.then_some((u32::from(first.radix), usize::from(first.cell)))
}

/// Neighbouring cells whose digits have one power of two as radix: up to eight are coded at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) cell: usize,
    pub(super) len: usize,
    /// Bits of a digit.
    pub(super) bits: u32,
    /// Every second of the digits, of their pairs, of their fours: where they stand in eight bytes.
    ones: u64,
    twos: u64,
    four: u64,
}

impl Run {
    const fn new(cell: usize, bits: u32) -> Self {
        let one = (1u64 << bits) - 1;
        let two = (1u64 << (2 * bits)) - 1;
        Self {
            cell,
            len: 1,
            bits,
            ones: one | one << 16 | one << 32 | one << 48,
            twos: two | two << 32,
            four: ((1u128 << (4 * bits)) - 1) as u64,
        }
    }

    /// Cells that are coded at once.
    const fn step(&self) -> usize {
        if self.bits <= 7 { 8 } else { 7 }
    }

    /// Moves the lowest bits of eight bytes together.
    #[inline]
    const fn gather(&self, bytes: u64) -> u64 {
        let bits = self.bits;
        let pairs = bytes & self.ones | (bytes >> 8 & self.ones) << bits;
        let fours = pairs & self.twos | (pairs >> 16 & self.twos) << (2 * bits);
        fours & self.four | (fours >> 32 & self.four) << (4 * bits)
    }

    /// Undoes [`Self::gather`].
    #[inline]
    const fn scatter(&self, joined: u64) -> u64 {
        let bits = self.bits;
        let fours = joined & self.four | (joined >> (4 * bits) & self.four) << 32;
        let pairs = fours & self.twos | (fours >> (2 * bits) & self.twos) << 16;
        pairs & self.ones | (pairs >> bits & self.ones) << 8
    }

    #[inline]
    fn put(&self, cells: &[u8; CELLS], writer: &mut BitWriter) {
        let (mut at, end) = (self.cell, self.cell + self.len);
        while at < end {
            let count = self.step().min(end - at);
            // Loaded whole and cut: putting single bytes together stalls.
            let bytes = match cells[at..].first_chunk::<8>() {
                Some(eight) => *eight,
                None => std::array::from_fn(|next| cells.get(at + next).copied().unwrap_or(0)),
            };
            let width = count as u32 * self.bits;
            let joined = self.gather(u64::from_le_bytes(bytes));
            writer.put(joined & ((1 << width) - 1), width);
            at += count;
        }
    }

    #[inline]
    fn take(&self, cells: &mut [u8; CELLS], reader: &mut BitReader<'_>) -> Result<(), CodecError> {
        let (mut at, end) = (self.cell, self.cell + self.len);
        while at < end {
            let count = self.step().min(end - at);
            let bytes = self
                .scatter(reader.take(count as u32 * self.bits)?)
                .to_le_bytes();
            if let (8, Some(eight)) = (count, cells[at..].first_chunk_mut::<8>()) {
                *eight = bytes;
            } else {
                for (cell, byte) in cells[at..at + count].iter_mut().zip(bytes) {
                    *cell = byte;
                }
            }
            at += count;
        }
        Ok(())
    }
}

/// Splits a number into digits of one radix and returns what is left of it.
#[inline]
fn spread(value: u64, radix: u32, cells: &mut [u8]) -> u64 {
    // Dividing by a constant is several times faster than by a variable: these are the common alphabets.
    match radix {
        10 => spread_by::<10>(value as u32, cells),
        26 => spread_by::<26>(value as u32, cells),
        36 => spread_by::<36>(value as u32, cells),
        52 => spread_by::<52>(value as u32, cells),
        _ => {
            let inverse = inverse(radix);
            cells.iter_mut().rev().fold(value, |value, cell| {
                let (quotient, rest) = divide(value, radix, inverse);
                *cell = rest as u8;
                quotient
            })
        }
    }
}

/// [`spread`] of a number below 2^32 by a constant.
#[inline]
fn spread_by<const RADIX: u32>(value: u32, cells: &mut [u8]) -> u64 {
    let mut value = value;
    // Two digits at a time: half the chain of divisions.
    let mut pairs = cells.rchunks_exact_mut(2);
    for pair in &mut pairs {
        let two = value % (RADIX * RADIX);
        value /= RADIX * RADIX;
        pair[0] = (two / RADIX) as u8;
        pair[1] = (two % RADIX) as u8;
    }
    for cell in pairs.into_remainder() {
        *cell = (value % RADIX) as u8;
        value /= RADIX;
    }
    u64::from(value)
}

/// Fills `costs[k]` with the fewest bits for the first `k` digits, and where the last lane of them starts.
pub(super) fn cheapest_lanes(radices: &[u32], costs: &mut Vec<(u32, usize)>) {
    costs.clear();
    costs.push((0, 0));
    for end in 1..=radices.len() {
        let mut best = (u32::MAX, 0);
        let mut product = 1;
        for start in (0..end).rev() {
            product *= u64::from(radices[start]);
            if product > LANE_LIMIT {
                break;
            }
            let bits = costs[start].0 + width_of(product);
            // Fewer lanes are faster, so an equally small longer one wins.
            if bits <= best.0 {
                best = (bits, start);
            }
        }
        costs.push(best);
    }
}

impl Lanes {
    /// Lays out wide digits with radices in 2..=[`RADIX_LIMIT`], and small ones with radices in 2..=256, each
    /// with the cell that holds it.
    pub(super) fn of(wide: &[u32], small: impl Iterator<Item = (u8, u16)>) -> Self {
        let wide: Vec<(u32, u64)> = wide.iter().map(|radix| (*radix, inverse(*radix))).collect();
        let mut runs: Vec<Run> = Vec::with_capacity(8);
        let mut lane_digits = Vec::with_capacity(32);
        for (cell, radix) in small {
            if !radix.is_power_of_two() {
                lane_digits.push(Small {
                    cell,
                    radix,
                    inverse: inverse(u32::from(radix)),
                });
                continue;
            }
            let (cell, bits) = (usize::from(cell), radix.trailing_zeros());
            match runs.last_mut() {
                Some(run) if run.bits == bits && run.cell + run.len == cell => run.len += 1,
                _ => runs.push(Run::new(cell, bits)),
            }
        }
        let small = lane_digits;
        let count = wide.len() + small.len();
        let radices: Vec<u32> = wide
            .iter()
            .map(|wide| wide.0)
            .chain(small.iter().map(|digit| u32::from(digit.radix)))
            .collect();
        let mut costs = Vec::with_capacity(count + 1);
        cheapest_lanes(&radices, &mut costs);
        let in_runs: u32 = runs.iter().map(|run| run.len as u32 * run.bits).sum();
        let width = costs[count].0 + in_runs;
        let mut lanes = Vec::with_capacity(8);
        let mut end = count;
        while end > 0 {
            let start = costs[end].1;
            let (of_wide, of_small) = (
                |at: usize| at.min(wide.len()),
                |at: usize| at.saturating_sub(wide.len()),
            );
            let digits = &small[of_small(start)..of_small(end)];
            lanes.push(Lane {
                wide: of_wide(start)..of_wide(end),
                small: of_small(start)..of_small(end),
                width: costs[end].0 - costs[start].0,
                even: even(digits),
            });
            end = start;
        }
        lanes.reverse();
        Self {
            wide,
            small,
            lanes,
            runs,
            width,
        }
    }

    /// Bits of one segment.
    pub(super) fn width(&self) -> u32 {
        self.width
    }

    /// The radices of the wide digits, with their reciprocals.
    pub(super) fn wide(&self) -> &[(u32, u64)] {
        &self.wide
    }

    /// The cells and the radices of the small digits that are in lanes.
    pub(super) fn small(&self) -> impl Iterator<Item = (u8, u16)> {
        self.small.iter().map(|digit| (digit.cell, digit.radix))
    }

    /// The lanes, which come first.
    pub(super) fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    /// The digits in their own bits.
    pub(super) fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Appends the wide digits and the cells of a segment, each below its radix.
    #[inline]
    pub(super) fn put(&self, wide: &[u32], cells: &[u8; CELLS], writer: &mut BitWriter) {
        for lane in &self.lanes {
            let mut value = 0;
            for (digit, (radix, _)) in wide[lane.wide.clone()]
                .iter()
                .zip(&self.wide[lane.wide.clone()])
            {
                value = value * u64::from(*radix) + u64::from(*digit);
            }
            let small = &self.small[lane.small.clone()];
            if let Some((radix, first)) = lane.even {
                for cell in &cells[first..first + small.len()] {
                    value = value * u64::from(radix) + u64::from(*cell);
                }
            } else {
                for digit in small {
                    let cell = cells[usize::from(digit.cell)];
                    value = value * u64::from(digit.radix) + u64::from(cell);
                }
            }
            writer.put(value, lane.width);
        }
        for run in &self.runs {
            run.put(cells, writer);
        }
    }

    /// Takes the wide digits and the cells of a segment.
    ///
    /// # Errors
    /// [`CodecError`] when bits are missing or a digit is not below its radix.
    #[inline]
    pub(super) fn take(
        &self,
        wide: &mut [u32],
        cells: &mut [u8; CELLS],
        reader: &mut BitReader<'_>,
    ) -> Result<(), CodecError> {
        if reader.left() < u64::from(self.width) {
            return Err(CodecError::Truncated);
        }
        let mut beyond = 0;
        for lane in &self.lanes {
            let mut value = reader.take(lane.width)?;
            let small = &self.small[lane.small.clone()];
            if let Some((radix, first)) = lane.even {
                value = spread(value, radix, &mut cells[first..first + small.len()]);
            } else {
                for digit in small.iter().rev() {
                    let (quotient, rest) = divide(value, u32::from(digit.radix), digit.inverse);
                    cells[usize::from(digit.cell)] = rest as u8;
                    value = quotient;
                }
            }
            for (digit, (radix, inverse)) in wide[lane.wide.clone()]
                .iter_mut()
                .zip(&self.wide[lane.wide.clone()])
                .rev()
            {
                let (quotient, rest) = divide(value, *radix, *inverse);
                *digit = rest as u32;
                value = quotient;
            }
            // What is left of a number below the product of its radices is 0.
            beyond |= value;
        }
        if beyond != 0 {
            return Err(CodecError::Malformed("a digit beyond its radix"));
        }
        self.runs.iter().try_for_each(|run| run.take(cells, reader))
    }
}

/// Bits that a number below `product` needs.
pub(super) const fn width_of(product: u64) -> u32 {
    64 - (product - 1).leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn digits_come_back(
            wide in prop::collection::vec((2u32..=1 << 24, any::<[u32; 3]>()), 0..8),
            small in prop::collection::vec((2u16..=256, any::<[u8; 3]>()), 0..60),
        ) {
            let radices: Vec<u32> = wide.iter().map(|column| column.0).collect();
            let lanes = Lanes::of(&radices, (0..).zip(small.iter().map(|column| column.0)));
            let mut writer = BitWriter::default();
            let rows: Vec<(Vec<u32>, [u8; CELLS])> = (0..3)
                .map(|row| {
                    let mut cells = [0; CELLS];
                    for (cell, (radix, values)) in cells.iter_mut().zip(&small) {
                        *cell = (u16::from(values[row]) % radix) as u8;
                    }
                    (wide.iter().map(|(radix, values)| values[row] % radix).collect(), cells)
                })
                .collect();
            for (digits, cells) in &rows {
                lanes.put(digits, cells, &mut writer);
            }
            let bytes = writer.finish().to_vec();
            let mut reader = BitReader::new(&bytes);
            for (digits, cells) in &rows {
                let mut taken = vec![0; digits.len()];
                let mut filled = [0; CELLS];
                prop_assert_eq!(lanes.take(&mut taken, &mut filled, &mut reader), Ok(()));
                prop_assert_eq!(&taken, digits);
                prop_assert_eq!(&filled, cells);
            }
        }
    }

    fn width(radix: u16, count: u8) -> u32 {
        Lanes::of(&[], (0..count).map(|cell| (cell, radix))).width()
    }

    #[test]
    fn letters_cost_little_more_than_their_entropy() {
        assert_eq!(width(26, 24), 114);
        assert_eq!(width(64, 20), 120);
        assert_eq!(width(16, 32), 128);
    }

    #[test]
    fn a_digit_beyond_its_radix_is_an_error() {
        let lanes = Lanes::of(&[], std::iter::once((0, 3)));
        let mut reader = BitReader::new(&[0b11]);
        assert!(lanes.take(&mut [], &mut [0; CELLS], &mut reader).is_err());
    }
}
