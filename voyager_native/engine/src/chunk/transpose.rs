//! Sixteen rows of sixteen bytes as sixteen columns.
//!
//! One of the modules of the engine with `unsafe`: instructions that every processor of this kind
//! has, on registers that are loaded from and stored to whole arrays.
#![allow(
    unsafe_code,
    reason = "instructions are unsafe to call outside of functions for them"
)]
#![expect(
    clippy::inline_always,
    reason = "what is inlined is compiled for the instructions of its caller"
)]

/// Rows that are worked on together.
pub(super) const ROWS: usize = 16;

/// One byte of each row.
pub(super) type Column = [u8; ROWS];

/// The columns of rows: byte `column` of `rows[row]` becomes byte `row` of the column.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn transpose(rows: [&Column; ROWS]) -> [Column; ROWS] {
    use std::arch::x86_64::{
        __m128i, _mm_loadu_si128, _mm_storeu_si128, _mm_unpackhi_epi8, _mm_unpacklo_epi8,
    };

    /// Interleaves the first half of the rows with the second. Written out: as a loop it is not unrolled, and
    /// what is in registers then goes through memory.
    #[inline(always)]
    fn step(rows: [__m128i; ROWS]) -> [__m128i; ROWS] {
        // SAFETY: SSE2 is part of x86-64.
        let low = |left, right| unsafe { _mm_unpacklo_epi8(left, right) };
        // SAFETY: as above.
        let high = |left, right| unsafe { _mm_unpackhi_epi8(left, right) };
        [
            low(rows[0], rows[8]),
            high(rows[0], rows[8]),
            low(rows[1], rows[9]),
            high(rows[1], rows[9]),
            low(rows[2], rows[10]),
            high(rows[2], rows[10]),
            low(rows[3], rows[11]),
            high(rows[3], rows[11]),
            low(rows[4], rows[12]),
            high(rows[4], rows[12]),
            low(rows[5], rows[13]),
            high(rows[5], rows[13]),
            low(rows[6], rows[14]),
            high(rows[6], rows[14]),
            low(rows[7], rows[15]),
            high(rows[7], rows[15]),
        ]
    }

    // SAFETY: SSE2 is part of x86-64, and the load is of a whole array of 16 bytes; it needs no alignment.
    let load = |row: &Column| unsafe { _mm_loadu_si128(row.as_ptr().cast()) };
    // After four steps every byte is in its place.
    let registers = step(step(step(step(rows.map(load)))));
    registers.map(|register| {
        let mut column = [0; ROWS];
        // SAFETY: SSE2 is part of x86-64, and the store is to a whole array of 16 bytes; it needs no alignment.
        unsafe { _mm_storeu_si128(column.as_mut_ptr().cast(), register) };
        column
    })
}

/// The columns of rows: byte `column` of `rows[row]` becomes byte `row` of the column.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(super) fn transpose(rows: [&Column; ROWS]) -> [Column; ROWS] {
    std::array::from_fn(|column| std::array::from_fn(|row| rows[row][column]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_changes_row_and_column() {
        let rows: [Column; ROWS] =
            std::array::from_fn(|row| std::array::from_fn(|column| (row * 16 + column) as u8));
        let columns = transpose(rows.each_ref());
        for (row, bytes) in rows.iter().enumerate() {
            for (column, byte) in bytes.iter().enumerate() {
                assert_eq!(columns[column][row], *byte);
            }
        }
        assert_eq!(transpose(columns.each_ref()), rows);
    }
}
