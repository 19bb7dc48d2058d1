//! Bits and variable-length integers in byte strings.

use super::CodecError;

/// Most bits that are put or taken at once.
pub(super) const MOST_BITS: u32 = 56;

/// Appends bits, the lowest first.
#[derive(Debug, Default)]
pub(super) struct BitWriter {
    out: Vec<u8>,
    /// Bytes of `out` that are full.
    full: usize,
    pending: u64,
    filled: u32,
}

impl BitWriter {
    /// Empties the writer and keeps its memory.
    pub(super) fn clear(&mut self) {
        self.full = 0;
        self.pending = 0;
        self.filled = 0;
    }

    /// Makes room for `bits` more bits.
    pub(super) fn reserve(&mut self, bits: u64) {
        let wanted = self.full + usize::try_from(bits / 8).unwrap_or(0) + 16;
        if self.out.len() < wanted {
            self.out.resize(wanted, 0);
        }
    }

    /// Appends the lowest `width` bits of `value`, which has no higher bit set. `width` is at most [`MOST_BITS`].
    #[inline]
    pub(super) fn put(&mut self, value: u64, width: u32) {
        debug_assert!(width <= MOST_BITS && value >> width == 0);
        self.pending |= value << self.filled;
        self.filled += width;
        if self.out.len() < self.full + 8 {
            self.reserve(u64::from(MOST_BITS) * 16);
        }
        if let Some(place) = self.out.get_mut(self.full..self.full + 8) {
            place.copy_from_slice(&self.pending.to_le_bytes());
        }
        self.full += (self.filled / 8) as usize;
        self.pending >>= self.filled & !7;
        self.filled &= 7;
    }

    /// Appends many rows of values, as [`Self::put`] does: `columns` holds the values of each width.
    #[expect(
        clippy::inline_always,
        reason = "it is compiled for the instructions of its caller"
    )]
    #[inline(always)]
    pub(super) fn put_rows<const ROWS: usize>(
        &mut self,
        count: usize,
        widths: &[u32],
        columns: &[[u64; ROWS]],
    ) {
        let bits: u32 = widths.iter().sum();
        self.reserve(u64::from(bits) * count as u64);
        let (mut pending, mut filled, mut at) = (self.pending, self.filled, self.full);
        let out = &mut self.out[..];
        for row in 0..count.min(ROWS) {
            for (width, column) in widths.iter().zip(columns) {
                debug_assert!(*width <= MOST_BITS && column[row] >> width == 0);
                pending |= column[row] << filled;
                filled += width;
                // There is room: it was reserved.
                if let Some(place) = out.get_mut(at..at + 8) {
                    place.copy_from_slice(&pending.to_le_bytes());
                }
                at += (filled / 8) as usize;
                // At most seven bytes are full, and eight were there.
                pending >>= filled & !7;
                filled &= 7;
            }
        }
        (self.pending, self.filled, self.full) = (pending, filled, at);
    }

    /// Appends a row of values.
    #[inline]
    pub(super) fn put_row(&mut self, widths: &[u32], row: &[u64]) {
        self.put_rows::<1>(1, widths, row.as_chunks().0);
    }

    /// Where the rows of values end whose bits stand from `start` on, as [`Self::put_rows`] takes them; none where
    /// others stand there.
    #[expect(
        clippy::inline_always,
        reason = "it is compiled for the instructions of its caller"
    )]
    #[inline(always)]
    pub(super) fn end_of_rows<const ROWS: usize>(
        &self,
        start: u64,
        count: usize,
        widths: &[u32],
        columns: &[[u64; ROWS]],
    ) -> Option<u64> {
        let (mut at, mut different) = (start as usize, 0);
        for row in 0..count.min(ROWS) {
            for (width, column) in widths.iter().zip(columns) {
                // What is not full yet was stored as well.
                let word = self.out.get(at / 8..at / 8 + 8)?.first_chunk()?;
                different |=
                    (u64::from_le_bytes(*word) >> (at % 8) ^ column[row]) & ((1 << width) - 1);
                at += *width as usize;
            }
        }
        (different == 0).then_some(at as u64)
    }

    /// [`Self::end_of_rows`] of one row.
    #[inline]
    pub(super) fn end_of_row(&self, start: u64, widths: &[u32], row: &[u64]) -> Option<u64> {
        self.end_of_rows::<1>(start, 1, widths, row.as_chunks().0)
    }

    /// Number of bits written so far.
    pub(super) fn len(&self) -> u64 {
        self.full as u64 * 8 + u64::from(self.filled)
    }

    /// The bytes written so far; the last one is filled up with zero bits.
    pub(super) fn finish(&mut self) -> &[u8] {
        if self.filled > 0 {
            self.put(0, 8 - self.filled);
        }
        &self.out[..self.full]
    }
}

/// Takes bits out of a byte string, the lowest first.
#[derive(Clone, Copy, Debug)]
pub(super) struct BitReader<'a> {
    bytes: &'a [u8],
    at: u64,
}

impl<'a> BitReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Number of bits that are left.
    pub(super) fn left(&self) -> u64 {
        self.bytes.len() as u64 * 8 - self.at
    }

    /// Takes `width` bits, at most [`MOST_BITS`].
    ///
    /// # Errors
    /// [`CodecError::Truncated`] when fewer are left.
    #[inline]
    pub(super) fn take(&mut self, width: u32) -> Result<u64, CodecError> {
        debug_assert!(width <= MOST_BITS);
        if u64::from(width) > self.left() {
            return Err(CodecError::Truncated);
        }
        let byte = (self.at / 8) as usize;
        let word = if let Some(word) = self.bytes[byte..].first_chunk::<8>() {
            u64::from_le_bytes(*word)
        } else {
            let mut word = [0; 8];
            let rest = &self.bytes[byte..];
            word[..rest.len()].copy_from_slice(rest);
            u64::from_le_bytes(word)
        };
        let value = (word >> (self.at % 8)) & ((1 << width) - 1);
        self.at += u64::from(width);
        Ok(value)
    }
}

/// Appends `value` in groups of seven bits, the lowest first.
pub(super) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Number of bytes that [`put_varint`] appends.
pub(super) const fn varint_len(value: u64) -> usize {
    (64 - (value | 1).leading_zeros()).div_ceil(7) as usize
}

/// Maps small numbers of either sign to small numbers.
pub(super) const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

/// Undoes [`zigzag`].
pub(super) const fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}

/// Takes fields off the front of a byte string.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// What has not been taken.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    /// # Errors
    /// [`CodecError::Truncated`] when fewer bytes are left.
    pub(super) fn bytes(&mut self, count: usize) -> Result<&'a [u8], CodecError> {
        let (head, tail) = self
            .bytes
            .split_at_checked(count)
            .ok_or(CodecError::Truncated)?;
        self.bytes = tail;
        Ok(head)
    }

    /// # Errors
    /// [`CodecError::Truncated`] at the end.
    pub(super) fn byte(&mut self) -> Result<u8, CodecError> {
        Ok(self.bytes(1)?[0])
    }

    /// # Errors
    /// [`CodecError::Truncated`] at the end, [`CodecError::Malformed`] above 64 bits.
    pub(super) fn varint(&mut self) -> Result<u64, CodecError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            if shift == 63 && byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(CodecError::Malformed("an integer of more than 64 bits"))
    }

    /// A [`Self::varint`] that is at most `most`.
    ///
    /// # Errors
    /// As [`Self::varint`], and [`CodecError::Malformed`] above `most`.
    pub(super) fn count(&mut self, most: usize) -> Result<usize, CodecError> {
        let value = self.varint()?;
        usize::try_from(value)
            .ok()
            .filter(|count| *count <= most)
            .ok_or(CodecError::Malformed("a count beyond its bound"))
    }

    /// # Errors
    /// As [`Self::varint`], and [`CodecError::Malformed`] above 32 bits.
    pub(super) fn varint32(&mut self) -> Result<u32, CodecError> {
        u32::try_from(self.varint()?)
            .map_err(|_| CodecError::Malformed("an integer of more than 32 bits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bits_come_back(values in prop::collection::vec((any::<u64>(), 0u32..=56), 0..200)) {
            let mut writer = BitWriter::default();
            let cut = |value: u64, width: u32| value & ((1u64 << width) - 1);
            let (single, many) = values.split_at(values.len() / 2);
            for &(value, width) in single {
                writer.put(cut(value, width), width);
            }
            let start = writer.len();
            let widths: Vec<u32> = many.iter().map(|(_, width)| *width).collect();
            let column: Vec<[u64; 2]> = many.iter().map(|&(value, width)| [cut(value, width); 2]).collect();
            writer.put_rows(1, &widths, &column);
            prop_assert_eq!(writer.end_of_rows(start, 1, &widths, &column), Some(writer.len()));
            let row: Vec<u64> = column.iter().map(|column| column[0]).collect();
            prop_assert_eq!(writer.end_of_row(start, &widths, &row), Some(writer.len()));
            let end = writer.len();
            writer.put_row(&widths, &row);
            prop_assert_eq!(writer.end_of_row(end, &widths, &row), Some(writer.len()));
            prop_assert_eq!(writer.end_of_row(start, &widths, &row), Some(end));
            let bytes = writer.finish().to_vec();
            let mut reader = BitReader::new(&bytes);
            for &(value, width) in values.iter().chain(many) {
                prop_assert_eq!(reader.take(width), Ok(cut(value, width)));
            }
            prop_assert!(reader.left() < 8);
            prop_assert_eq!(reader.take(8), Err(CodecError::Truncated));
        }

        #[test]
        fn varints_come_back(value in any::<u64>(), signed in any::<i64>()) {
            let mut out = Vec::new();
            put_varint(&mut out, value);
            prop_assert_eq!(out.len(), varint_len(value));
            put_varint(&mut out, zigzag(signed));
            let mut reader = Reader::new(&out);
            prop_assert_eq!(reader.varint(), Ok(value));
            prop_assert_eq!(reader.varint().map(unzigzag), Ok(signed));
            prop_assert!(reader.rest().is_empty());
        }
    }

    #[test]
    fn an_endless_varint_is_an_error() {
        assert!(Reader::new(&[0xff; 20]).varint().is_err());
        assert_eq!(Reader::new(&[0x80]).varint(), Err(CodecError::Truncated));
    }
}
