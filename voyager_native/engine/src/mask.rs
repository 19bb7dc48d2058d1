//! Where the control bytes of a text are: the one inner loop that every byte goes through.
//!
//! One of the modules of the engine with `unsafe`: it calls functions compiled for instructions that
//! the machine was asked for before, loads vectors from arrays of their size, and writes positions where room
//! was found for them.
#![allow(
    unsafe_code,
    reason = "functions compiled for other instructions may only be called after asking"
)]

/// Bytes that one mask covers.
pub(crate) const WIDTH: usize = 64;

/// The greatest byte that counts as a control: NUL, TAB, LF, VT, FF and CR are all at or below it.
const LAST_CONTROL: u8 = b'\r';

/// Writes the positions of the bytes up to CR of `text` into `marks` and returns how many there are.
///
/// `marks` must be longer than `text` by [`WIDTH`]; else nothing is written.
#[cfg(target_arch = "x86_64")]
pub(crate) fn positions(text: &[u8], marks: &mut [u32]) -> usize {
    if is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("popcnt")
    {
        // SAFETY: the machine has the instructions that `x86::wide` is compiled for.
        unsafe { x86::wide(text, marks) }
    } else {
        // SAFETY: SSE2 is part of x86-64 itself.
        unsafe { x86::narrow(text, marks) }
    }
}

/// Writes the positions of the bytes up to CR of `text` into `marks` and returns how many there are.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn positions(text: &[u8], marks: &mut [u32]) -> usize {
    walk(text, marks, portable)
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        _mm_cmpeq_epi8, _mm_min_epu8, _mm_movemask_epi8, _mm_set_epi64x, _mm_set1_epi8,
        _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_min_epu8, _mm256_movemask_epi8,
        _mm256_set1_epi8,
    };

    use super::{LAST_CONTROL, WIDTH, walk};

    /// 32 bytes at a time.
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    pub(super) fn wide(text: &[u8], marks: &mut [u32]) -> usize {
        let last = _mm256_set1_epi8(LAST_CONTROL.cast_signed());
        walk(text, marks, |chunk| {
            let half = |half: &[u8]| {
                let bytes = half.first_chunk::<32>().map_or(last, |bytes| {
                    // SAFETY: as many bytes are loaded as there are; the load needs no alignment.
                    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
                });
                let mask =
                    _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(bytes, last), bytes));
                u64::from(mask.cast_unsigned())
            };
            half(chunk) | half(&chunk[32..]) << 32
        })
    }

    /// 16 bytes at a time.
    #[target_feature(enable = "sse2")]
    pub(super) fn narrow(text: &[u8], marks: &mut [u32]) -> usize {
        let last = _mm_set1_epi8(LAST_CONTROL.cast_signed());
        walk(text, marks, |chunk| {
            let quarter = |at: usize| {
                let bytes = _mm_set_epi64x(word(chunk, at + 8), word(chunk, at));
                let mask = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(bytes, last), bytes));
                u64::from(mask.cast_unsigned())
            };
            quarter(0) | quarter(16) << 16 | quarter(32) << 32 | quarter(48) << 48
        })
    }

    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "it must be compiled for the instructions of its caller"
    )]
    fn word(chunk: &[u8; WIDTH], at: usize) -> i64 {
        chunk[at..]
            .first_chunk()
            .map_or(0, |bytes| i64::from_le_bytes(*bytes))
    }
}

/// Gives every 64 bytes to `mask` and writes the positions of the bits that it sets.
#[inline(always)]
#[allow(
    clippy::inline_always,
    reason = "it must be compiled for the instructions of its caller"
)]
fn walk(text: &[u8], marks: &mut [u32], mask: impl Fn(&[u8; WIDTH]) -> u64) -> usize {
    if marks.len() < text.len() + WIDTH {
        return 0;
    }
    let mut count = 0;
    let mut base = 0_u32;
    let (chunks, rest) = text.as_chunks::<WIDTH>();
    for chunk in chunks {
        // SAFETY: no more positions than bytes were written, and `marks` has WIDTH more than `text` has bytes.
        count += unsafe { spread(mask(chunk), base, marks.as_mut_ptr().add(count)) };
        base += WIDTH as u32;
    }
    let mut last = [b' '; WIDTH];
    last[..rest.len()].copy_from_slice(rest);
    // SAFETY: as above; none of the bytes that were filled up is counted.
    count + unsafe { spread(mask(&last), base, marks.as_mut_ptr().add(count)) }
}

/// Writes the positions of the bits of `mask`: four whatever it has, since most chunks have no more.
///
/// # Safety
/// There must be room for [`WIDTH`] positions at `out`.
#[inline(always)]
#[allow(
    clippy::inline_always,
    reason = "it must be compiled for the instructions of its caller"
)]
unsafe fn spread(mut mask: u64, base: u32, out: *mut u32) -> usize {
    const FEW: usize = 4;
    let count = mask.count_ones() as usize;
    let mut put = |at: usize| {
        // SAFETY: `at` is below WIDTH: a mask has no more bits.
        unsafe { out.add(at).write(base + mask.trailing_zeros()) };
        mask &= mask.wrapping_sub(1);
    };
    for at in 0..FEW {
        put(at);
    }
    for at in FEW..count {
        put(at);
    }
    count
}

/// The mask eight bytes at a time, for every machine.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn portable(chunk: &[u8; WIDTH]) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    const FILL: u64 = 0x0101_0101_0101_0101 * (0x7f - LAST_CONTROL as u64);
    // Gathers the top bits of the eight bytes in their order.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    chunk
        .as_chunks::<8>()
        .0
        .iter()
        .rev()
        .fold(0, |mask, bytes| {
            let word = u64::from_le_bytes(*bytes);
            let greater = ((word & LOW) + FILL) | word;
            mask << 8 | ((!greater & !LOW) >> 7).wrapping_mul(GATHER) >> 56
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_each_way(text: &[u8]) -> Vec<Vec<u32>> {
        type Way = fn(&[u8], &mut [u32]) -> usize;
        let mut ways: Vec<Way> = vec![positions, |text, marks| walk(text, marks, portable)];
        #[cfg(target_arch = "x86_64")]
        // SAFETY: SSE2 is part of x86-64 itself.
        ways.push(|text, marks| unsafe { x86::narrow(text, marks) });
        ways.into_iter()
            .map(|way| {
                let mut marks = vec![0; text.len() + WIDTH];
                let count = way(text, &mut marks);
                marks.truncate(count);
                marks
            })
            .collect()
    }

    #[test]
    fn every_byte_value_is_classed_alike_by_every_way() {
        for byte in 0..=u8::MAX {
            for at in 0..WIDTH {
                let mut text = [b'x'; WIDTH];
                text[at] = byte;
                let want: Vec<u32> = if byte <= LAST_CONTROL {
                    vec![at as u32]
                } else {
                    vec![]
                };
                assert!(
                    by_each_way(&text).iter().all(|found| *found == want),
                    "byte {byte} at {at}"
                );
            }
        }
    }

    #[test]
    fn texts_of_every_length_give_all_their_positions() {
        for len in 0..200 {
            let text: Vec<u8> = (0..len)
                .map(|i| [0, 13, 14, 127, 128, 255, 9, 10][i * 7 % 8])
                .collect();
            let want: Vec<u32> = (0..len as u32)
                .filter(|i| text[*i as usize] <= 13)
                .collect();
            assert!(
                by_each_way(&text).iter().all(|found| *found == want),
                "length {len}"
            );
        }
    }

    #[test]
    fn too_little_room_writes_nothing_beyond_it() {
        let mut marks = [7; 10];
        assert_eq!(positions(&[0; 64], &mut marks), 0);
        assert_eq!(marks, [7; 10]);
    }
}
