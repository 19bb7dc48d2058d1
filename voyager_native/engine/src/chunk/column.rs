//! Columns of integers: a frame of reference and a list of what lies outside it.

use super::CodecError;
use super::bits::{Reader, put_varint, unzigzag, zigzag};
use super::lanes::{RADIX_BITS, RADIX_LIMIT};

/// How a column of integers is stored: each as its distance from `low`, below `radix`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Column {
    /// The values are differences to the value before; this stands before the first.
    pub(super) start: Option<i64>,
    low: i64,
    radix: u64,
    /// Rows whose value is listed, ascending.
    exceptions: Vec<(u32, i64)>,
}

/// Bits that one listed value costs, roughly.
const EXCEPTION_COST: u64 = 40;

/// A column without values: what stands for the sizes of a record where these are coded apart.
pub(super) static NOTHING: Column = Column {
    start: None,
    low: 0,
    radix: 0,
    exceptions: Vec::new(),
};

impl Column {
    /// Sixteenths of a bit that one listed value costs.
    pub(super) const LISTED_COST: u64 = EXCEPTION_COST * 16;

    /// Values from `low` on, below `low + radix`; the others are listed.
    pub(super) fn framed(values: &[i64], low: i64, radix: u64) -> Self {
        let mut column = Self {
            start: None,
            low,
            radix,
            exceptions: Vec::new(),
        };
        let rows = (0..).zip(values);
        column.exceptions = rows
            .filter(|(_, value)| column.inside(**value).is_none())
            .map(|(row, value)| (row, *value))
            .collect();
        column
    }

    /// Whether this is [`NOTHING`].
    pub(super) const fn is_nothing(&self) -> bool {
        self.radix == 0
    }

    /// The lowest value that is not listed.
    pub(super) const fn low(&self) -> i64 {
        self.low
    }

    /// Number of listed values.
    pub(super) const fn listed_len(&self) -> usize {
        self.exceptions.len()
    }

    /// The cheapest way to store `values`, and its cost in sixteenths of a bit.
    ///
    /// `sorted` is work space. A column of values that are 2^62 apart or more can not be read again.
    pub(super) fn plan(values: &[i64], start: Option<i64>, sorted: &mut Vec<i64>) -> (Self, u64) {
        let (mut low, mut high) = bounds(values.iter().copied()).unwrap_or_default();
        let count = values.len() as u64;
        let full = cost16(high.abs_diff(low)) * count;
        let mut cost = full;
        // The last segment of a file is shorter than the others: look without it first.
        if let Some((&last, rest)) = values.split_last()
            && let Some((rest_low, rest_high)) = bounds(rest.iter().copied())
            && !(rest_low..=rest_high).contains(&last)
        {
            let without = cost16(rest_high.abs_diff(rest_low)) * count + EXCEPTION_COST * 16;
            if without < cost {
                (low, high, cost) = (rest_low, rest_high, without);
            }
        }
        if suspicious(values, low, high) {
            sorted.clear();
            sorted.extend_from_slice(values);
            sorted.sort_unstable();
            let mut outside = 1;
            while outside <= values.len() / 8 + 1 && outside < values.len() {
                let width = values.len() - outside;
                for window in sorted.windows(width) {
                    let (first, last) = (window[0], window[width - 1]);
                    let listed =
                        cost16(last.abs_diff(first)) * count + outside as u64 * EXCEPTION_COST * 16;
                    if listed < cost {
                        (low, high, cost) = (first, last, listed);
                    }
                }
                outside += 1 + outside / 4;
            }
        }
        let exceptions = (0..)
            .zip(values)
            .filter(|(_, value)| !(low..=high).contains(*value))
            .map(|(row, value)| (row, *value))
            .collect();
        (
            Self {
                start,
                low,
                radix: rounded(high.abs_diff(low).saturating_add(1)),
                exceptions,
            },
            cost,
        )
    }

    /// Radices of the digits of one value.
    pub(super) fn radices(&self) -> impl Iterator<Item = u32> + use<> {
        let mut rest = self.radix;
        std::iter::from_fn(move || {
            let radix = rest.min(RADIX_LIMIT);
            rest = rest.div_ceil(RADIX_LIMIT);
            (radix > 1).then_some(radix as u32)
        })
    }

    /// Whether every value has one digit, which is [`Self::distance`].
    pub(super) fn is_one_digit(&self) -> bool {
        (2..=RADIX_LIMIT).contains(&self.radix)
    }

    /// How far a value is from the lowest one; 0 where it is listed.
    #[inline]
    pub(super) fn distance(&self, value: i64) -> u64 {
        self.inside(value).unwrap_or(0)
    }

    /// How far a value is from the lowest one; none where it is listed.
    #[inline]
    pub(super) fn inside(&self, value: i64) -> Option<u64> {
        let distance = value.wrapping_sub(self.low).cast_unsigned();
        (distance < self.radix).then_some(distance)
    }

    /// Writes the digits of a value and returns how many they are; a listed value is written as 0.
    #[inline]
    pub(super) fn split(&self, value: i64, digits: &mut [u32]) -> usize {
        let mut distance = self.distance(value);
        if self.radix <= RADIX_LIMIT {
            // The usual case: one digit, or none.
            let is_some = self.radix > 1;
            if is_some {
                digits[0] = distance as u32;
            }
            return usize::from(is_some);
        }
        let mut rest = self.radix;
        let mut count = 0;
        while rest > 1 {
            digits[count] = (distance % RADIX_LIMIT) as u32;
            distance /= RADIX_LIMIT;
            rest = rest.div_ceil(RADIX_LIMIT);
            count += 1;
        }
        count
    }

    /// The value of the digits, and how many were used. Listed values are put in by [`Self::listed`].
    #[inline]
    pub(super) fn join(&self, digits: &[u32]) -> (i64, usize) {
        if self.radix <= RADIX_LIMIT {
            let is_some = self.radix > 1;
            let distance = if is_some { u64::from(digits[0]) } else { 0 };
            return (
                self.low.wrapping_add_unsigned(distance),
                usize::from(is_some),
            );
        }
        let mut distance = 0u64;
        let mut rest = self.radix;
        let mut count = 0u32;
        while rest > 1 {
            distance =
                distance.wrapping_add(u64::from(digits[count as usize]) << (RADIX_BITS * count));
            rest = rest.div_ceil(RADIX_LIMIT);
            count += 1;
        }
        (self.low.wrapping_add_unsigned(distance), count as usize)
    }

    /// Whether these values, which are no differences, come back from their digits and from what is listed.
    pub(super) fn gives_back(&self, values: &[i64]) -> bool {
        if self.exceptions.is_empty() && self.radix <= RADIX_LIMIT {
            // One digit, which is the distance.
            let beyond = |value: &i64| value.wrapping_sub(self.low).cast_unsigned() >= self.radix;
            return !values.iter().fold(false, |any, value| any | beyond(value));
        }
        let mut listed = self.listed();
        let mut digits = [0; 4];
        (0..).zip(values).all(|(row, value)| {
            self.split(*value, &mut digits);
            let joined = self.join(&digits).0;
            listed.at(row).unwrap_or(joined) == *value
        })
    }

    /// Puts the listed values in their rows, of those that are there.
    pub(super) fn put_listed(&self, values: &mut [i64]) {
        for (row, value) in &self.exceptions {
            if let Some(place) = values.get_mut(*row as usize) {
                *place = *value;
            }
        }
    }

    /// A cursor over the listed values, to be asked for every row in order.
    pub(super) fn listed(&self) -> Listed<'_> {
        Listed {
            exceptions: &self.exceptions,
        }
    }

    /// Appends the description of the column.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        put_varint(
            out,
            (self.exceptions.len() as u64) << 1 | u64::from(self.start.is_some()),
        );
        if let Some(start) = self.start {
            put_varint(out, zigzag(start));
        }
        put_varint(out, zigzag(self.low));
        put_varint(out, self.radix);
        self.write_exceptions(out);
    }

    /// Appends what is listed, and how much that is.
    pub(super) fn write_listed(&self, out: &mut Vec<u8>) {
        put_varint(out, self.exceptions.len() as u64);
        self.write_exceptions(out);
    }

    fn write_exceptions(&self, out: &mut Vec<u8>) {
        let mut before = 0;
        for (row, value) in &self.exceptions {
            put_varint(out, u64::from(row - before));
            put_varint(out, zigzag(value.wrapping_sub(self.low)));
            before = *row;
        }
    }

    /// Reads what [`Self::write`] wrote for a column of `rows` rows.
    ///
    /// # Errors
    /// [`CodecError`] when the bytes describe no such column.
    pub(super) fn read(reader: &mut Reader<'_>, rows: usize) -> Result<Self, CodecError> {
        let head = reader.count(rows * 2 + 1)?;
        let start = match head & 1 {
            1 => Some(unzigzag(reader.varint()?)),
            _ => None,
        };
        let low = unzigzag(reader.varint()?);
        let radix = reader.varint()?;
        if radix == 0 || radix > 1 << 62 {
            return Err(CodecError::Malformed("a radix beyond its bound"));
        }
        Ok(Self {
            start,
            low,
            radix,
            exceptions: read_exceptions(reader, head >> 1, rows, low)?,
        })
    }

    /// Reads what [`Self::write_listed`] wrote for a column of `rows` rows.
    ///
    /// # Errors
    /// [`CodecError`] when the bytes are no such list.
    pub(super) fn read_listed(
        reader: &mut Reader<'_>,
        rows: usize,
        low: i64,
        radix: u64,
    ) -> Result<Self, CodecError> {
        let count = reader.count(rows)?;
        Ok(Self {
            start: None,
            low,
            radix,
            exceptions: read_exceptions(reader, count, rows, low)?,
        })
    }
}

fn read_exceptions(
    reader: &mut Reader<'_>,
    count: usize,
    rows: usize,
    low: i64,
) -> Result<Vec<(u32, i64)>, CodecError> {
    let mut exceptions = Vec::new();
    let mut row = 0u64;
    for _ in 0..count {
        row = row.saturating_add(reader.varint()?);
        if row >= rows as u64 {
            return Err(CodecError::Malformed("a listed row beyond the last"));
        }
        let value = low.wrapping_add(unzigzag(reader.varint()?));
        exceptions.push((row as u32, value));
    }
    Ok(exceptions)
}

/// The listed values of a column, in order.
#[derive(Debug)]
pub(super) struct Listed<'a> {
    exceptions: &'a [(u32, i64)],
}

impl Listed<'_> {
    /// The listed value of `row`, if it has one. Rows must be asked for in order.
    #[inline]
    pub(super) fn at(&mut self, row: u32) -> Option<i64> {
        let (&(next, value), rest) = self.exceptions.split_first()?;
        (next == row).then(|| {
            self.exceptions = rest;
            value
        })
    }
}

/// A radix of few different ones that is at most a sixteenth larger, on average 0.04 bits: so files of one upload have
/// the same, and the layout of their digits is found once. No power of two lies between both.
const fn rounded(radix: u64) -> u64 {
    match radix.checked_ilog2() {
        Some(whole @ 5..60) => radix.next_multiple_of(1 << (whole - 4)),
        _ => radix,
    }
}

fn bounds(values: impl IntoIterator<Item = i64>) -> Option<(i64, i64)> {
    values.into_iter().fold(None, |found, value| match found {
        None => Some((value, value)),
        Some((low, high)) => Some((low.min(value), high.max(value))),
    })
}

/// Whether the range is so much wider than the usual distance that some values must lie far out.
fn suspicious(values: &[i64], low: i64, high: i64) -> bool {
    let range = high.abs_diff(low);
    if values.len() < 4 || range < 64 {
        return false;
    }
    let middle = values[values.len() / 2];
    if let (Ok(range), Ok(count)) = (u32::try_from(range), u32::try_from(values.len())) {
        // The same in 64 bits: neither side can be beyond them but where the answer is no.
        let spread = values
            .iter()
            .map(|value| {
                if (low..=high).contains(value) {
                    value.abs_diff(middle)
                } else {
                    0
                }
            })
            .fold(0u64, u64::saturating_add);
        return u64::from(range) * u64::from(count) > spread.saturating_mul(12);
    }
    let spread = values
        .iter()
        .filter(|value| (low..=high).contains(*value))
        .fold(0u128, |sum, value| sum + u128::from(value.abs_diff(middle)));
    // A uniform column has a mean distance of at least a quarter of its range, a normal one an eighth.
    u128::from(range) * values.len() as u128 > spread * 12
}

/// Sixteenths of a bit for a value in a range of `distance + 1`.
pub(super) fn cost16(distance: u64) -> u64 {
    if distance == 0 {
        return 0;
    }
    let whole = u64::from(distance.ilog2());
    // Linear between powers of two: close enough to choose by.
    let part = ((distance >> whole.saturating_sub(4)) & 15) * u64::from(whole >= 4);
    whole * 16 + part + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn round_trip(values: &[i64]) -> Column {
        let (column, _) = Column::plan(values, None, &mut Vec::new());
        let mut bytes = Vec::new();
        column.write(&mut bytes);
        let mut reader = Reader::new(&bytes);
        let column = Column::read(&mut reader, values.len()).expect("a written column is readable");
        assert!(reader.rest().is_empty());
        let mut listed = column.listed();
        let mut digits = [0; 4];
        for (row, value) in (0..).zip(values) {
            let count = column.split(*value, &mut digits);
            assert_eq!(count, column.radices().count());
            for (digit, radix) in digits.iter().zip(column.radices()) {
                assert!(*digit < radix);
            }
            let (joined, used) = column.join(&digits);
            assert_eq!(used, count);
            assert_eq!(listed.at(row).unwrap_or(joined), *value);
        }
        column
    }

    proptest! {
        #[test]
        fn values_come_back(values in prop::collection::vec(-(1i64 << 60)..1 << 60, 0..80)) {
            round_trip(&values);
        }

        #[test]
        fn near_values_come_back(values in prop::collection::vec(-70_000i64..700_000, 0..80)) {
            round_trip(&values);
        }

        #[test]
        fn any_values_come_back_or_can_not_be_read(
            values in prop::collection::vec(
                prop_oneof![any::<i64>(), Just(i64::MIN), Just(i64::MAX), -5i64..5],
                0..40,
            ),
        ) {
            let (column, _) = Column::plan(&values, None, &mut Vec::new());
            let mut bytes = Vec::new();
            column.write(&mut bytes);
            if let Ok(read) = Column::read(&mut Reader::new(&bytes), values.len()) {
                prop_assert_eq!(&read, &column);
                prop_assert!(read.gives_back(&values));
            }
        }
    }

    #[test]
    fn a_few_far_values_do_not_widen_the_frame() {
        let mut values: Vec<i64> = (0..200).map(|row| 740_000 + row * 7 % 500).collect();
        values[17] = 12;
        values[120] = 4_000_000_000;
        values[199] = 300_000;
        let column = round_trip(&values);
        assert!(column.radix <= 512);
        assert_eq!(column.exceptions.len(), 3);
    }

    #[test]
    fn damaged_descriptions_are_errors() {
        for bytes in [&[][..], &[0, 0, 0], &[2, 0, 5, 9, 0], &[3, 1]] {
            assert!(
                Column::read(&mut Reader::new(bytes), 5).is_err(),
                "{bytes:?}"
            );
        }
    }
}
