//! Decimal numbers, eight digits at a time.

use super::CodecError;

const ZEROS: u64 = u64::from_le_bytes([b'0'; 8]);

/// The value of at most 18 decimal digits.
#[inline]
pub(super) fn value_of(digits: &[u8]) -> i64 {
    if let (9..=16, Some(first), Some(last)) = (
        digits.len(),
        digits.first_chunk::<8>(),
        digits.last_chunk::<8>(),
    ) {
        // The digits of the first half are moved to the end: before them come zeros.
        let lead = (16 - digits.len()) * 8;
        let first = (u64::from_le_bytes(*first) ^ ZEROS) << (lead % 64);
        let high = if lead == 64 { 0 } else { eight_of(first) };
        let low = eight_of(u64::from_le_bytes(*last) ^ ZEROS);
        return (high * 100_000_000 + low).cast_signed();
    }
    digits.iter().fold(0i64, |value, digit| {
        value
            .wrapping_mul(10)
            .wrapping_add(i64::from(digit.wrapping_sub(b'0')))
    })
}

/// The value of eight digits, the first of them in the lowest byte.
#[inline]
const fn eight_of(digits: u64) -> u64 {
    let digits = digits & 0x0f0f_0f0f_0f0f_0f0f;
    let pairs = (digits.wrapping_mul(10 << 8 | 1) >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100 << 16 | 1) >> 16) & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(10_000 << 32 | 1) >> 32
}

/// The digits of a number below 10^8, the first of them in the lowest byte.
#[inline]
const fn eight_to(value: u64) -> u64 {
    let fours = (value / 10_000) | ((value % 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let pairs = hundreds | (fours - hundreds * 100) << 16;
    let tens = ((pairs * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | (pairs - tens * 10) << 8
}

/// Fills `out`, of at most 18 bytes, with the decimal digits of `value`, with leading zeros.
///
/// # Errors
/// [`CodecError::Malformed`] when the number is negative or has more digits.
#[inline]
pub(super) fn write_padded(value: i64, out: &mut [u8]) -> Result<(), CodecError> {
    let mut rest = u64::try_from(value).map_err(|_| CodecError::Malformed("a negative number"))?;
    let len = out.len();
    if (8..=16).contains(&len) {
        let low = eight_to(rest % 100_000_000) | ZEROS;
        rest /= 100_000_000;
        let high = eight_to(rest % 100_000_000);
        let lead = (16 - len) * 8;
        rest = (rest / 100_000_000) | (high & ((1u128 << lead) - 1) as u64);
        let high = (u128::from(high) >> lead) as u64 | ZEROS;
        if let Some(place) = out.first_chunk_mut() {
            *place = high.to_le_bytes();
        }
        if let Some(place) = out.last_chunk_mut() {
            *place = low.to_le_bytes();
        }
    } else {
        for place in out.iter_mut().rev() {
            *place = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
    }
    if rest == 0 {
        Ok(())
    } else {
        Err(CodecError::Malformed("a number with too many digits"))
    }
}

/// Copies a short text; `to` has its length.
#[inline]
pub(super) fn copy(from: &[u8], to: &mut [u8]) {
    // In steps that may overlap: a call of the general copy costs more than most texts are long.
    match from.len() {
        33..=64 => {
            copy_start::<32>(from, to);
            copy_end::<32>(from, to);
        }
        17..=32 => {
            copy_start::<16>(from, to);
            copy_end::<16>(from, to);
        }
        8..=16 => {
            copy_start::<8>(from, to);
            copy_end::<8>(from, to);
        }
        4..=7 => {
            copy_start::<4>(from, to);
            copy_end::<4>(from, to);
        }
        0..=3 => {
            for (to, from) in to.iter_mut().zip(from) {
                *to = *from;
            }
        }
        _ => to.copy_from_slice(from),
    }
}

#[inline]
fn copy_start<const LEN: usize>(from: &[u8], to: &mut [u8]) {
    if let (Some(from), Some(to)) = (from.first_chunk::<LEN>(), to.first_chunk_mut()) {
        *to = *from;
    }
}

#[inline]
fn copy_end<const LEN: usize>(from: &[u8], to: &mut [u8]) {
    if let (Some(from), Some(to)) = (from.last_chunk::<LEN>(), to.last_chunk_mut()) {
        *to = *from;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_come_back(value in 0i64..1_000_000_000_000_000_000, len in 1usize..=18) {
            let mut out = vec![0; len];
            let wanted = value.to_string();
            if wanted.len() <= len {
                prop_assert_eq!(write_padded(value, &mut out), Ok(()));
                prop_assert_eq!(&out, &format!("{value:0len$}").into_bytes());
                prop_assert_eq!(value_of(&out), value);
            } else {
                prop_assert!(write_padded(value, &mut out).is_err());
                let short = value % 10i64.pow(len as u32);
                prop_assert_eq!(write_padded(short, &mut out), Ok(()));
                prop_assert_eq!(value_of(&out), short);
            }
            prop_assert!(write_padded(-value - 1, &mut out).is_err());
        }

        #[test]
        fn copies_are_equal(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let mut out = vec![0; bytes.len()];
            copy(&bytes, &mut out);
            prop_assert_eq!(out, bytes);
        }
    }

    #[test]
    fn every_group_of_eight_digits_near_a_carry_comes_back() {
        for value in (0..100_000_000u64)
            .step_by(9_999)
            .chain(99_990_000..100_000_000)
        {
            assert_eq!(eight_of(eight_to(value)), value);
        }
    }
}
