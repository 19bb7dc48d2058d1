//! Digits of many radices packed into few words.

use super::CodecError;
use super::bits::{BitReader, BitWriter};

/// Bits of the largest radix of one digit.
pub(super) const RADIX_BITS: u32 = 24;
/// Largest radix of one digit.
pub(super) const RADIX_LIMIT: u64 = 1 << RADIX_BITS;
/// A lane holds digits whose radices multiply to at most this.
const LANE_LIMIT: u64 = 1 << 32;

/// Neighbouring digits that are stored as one number.
#[derive(Clone, Copy, Debug)]
struct Lane {
    start: usize,
    end: usize,
    width: u32,
}

/// How the digits of one segment are laid out in bits.
///
/// The layout follows from the radices alone, so only they are stored: changing how it is found
/// changes the format.
#[derive(Debug)]
pub(super) struct Lanes {
    radices: Vec<u32>,
    inverses: Vec<u64>,
    lanes: Vec<Lane>,
    width: u32,
}

impl Lanes {
    /// Lays out digits of these radices, each in 2..=[`RADIX_LIMIT`].
    pub(super) fn of(radices: Vec<u32>) -> Self {
        let inverses = radices
            .iter()
            .map(|radix| u64::MAX / u64::from(*radix) + 1)
            .collect();
        // costs[k]: fewest bits for the first k digits, and where the last lane of them starts.
        let mut costs = vec![(0, 0)];
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
        let width = costs[radices.len()].0;
        let mut lanes = Vec::new();
        let mut end = radices.len();
        while end > 0 {
            let start = costs[end].1;
            lanes.push(Lane {
                start,
                end,
                width: costs[end].0 - costs[start].0,
            });
            end = start;
        }
        lanes.reverse();
        Self {
            radices,
            inverses,
            lanes,
            width,
        }
    }

    /// Bits of one segment.
    pub(super) fn width(&self) -> u32 {
        self.width
    }

    /// Appends digits, each below its radix.
    #[inline]
    pub(super) fn put(&self, digits: &[u32], writer: &mut BitWriter) {
        for lane in &self.lanes {
            let mut value = 0;
            for (digit, radix) in digits[lane.start..lane.end]
                .iter()
                .zip(&self.radices[lane.start..lane.end])
            {
                value = value * u64::from(*radix) + u64::from(*digit);
            }
            writer.put(value, lane.width);
        }
    }

    /// Takes the digits of one segment.
    ///
    /// # Errors
    /// [`CodecError`] when bits are missing or a digit is not below its radix.
    #[inline]
    pub(super) fn take(
        &self,
        digits: &mut [u32],
        reader: &mut BitReader<'_>,
    ) -> Result<(), CodecError> {
        for lane in &self.lanes {
            let mut value = reader.take(lane.width)?;
            let span = lane.start + 1..lane.end;
            for ((digit, radix), inverse) in digits[span.clone()]
                .iter_mut()
                .zip(&self.radices[span.clone()])
                .zip(&self.inverses[span])
                .rev()
            {
                // Exact for values below 2^32 and radices up to 2^24.
                let quotient = ((u128::from(value) * u128::from(*inverse)) >> 64) as u64;
                *digit = (value - quotient * u64::from(*radix)) as u32;
                value = quotient;
            }
            if value >= u64::from(self.radices[lane.start]) {
                return Err(CodecError::Malformed("a digit beyond its radix"));
            }
            digits[lane.start] = value as u32;
        }
        Ok(())
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
            columns in prop::collection::vec((2u32..=1 << 24, any::<[u32; 3]>()), 0..60)
        ) {
            let lanes = Lanes::of(columns.iter().map(|column| column.0).collect());
            let mut writer = BitWriter::default();
            let rows: Vec<Vec<u32>> = (0..3)
                .map(|row| columns.iter().map(|(radix, values)| values[row] % radix).collect())
                .collect();
            for row in &rows {
                lanes.put(row, &mut writer);
            }
            let bytes = writer.finish().to_vec();
            let mut reader = BitReader::new(&bytes);
            let mut digits = vec![0; columns.len()];
            for row in &rows {
                prop_assert_eq!(lanes.take(&mut digits, &mut reader), Ok(()));
                prop_assert_eq!(&digits, row);
            }
        }
    }

    #[test]
    fn letters_cost_little_more_than_their_entropy() {
        assert_eq!(Lanes::of(vec![26; 24]).width(), 114);
        assert_eq!(Lanes::of(vec![62; 20]).width(), 120);
        assert_eq!(Lanes::of(vec![16; 32]).width(), 128);
    }

    #[test]
    fn a_digit_beyond_its_radix_is_an_error() {
        let lanes = Lanes::of(vec![3]);
        let mut digits = [0];
        let mut reader = BitReader::new(&[0b11]);
        assert!(lanes.take(&mut digits, &mut reader).is_err());
    }
}
