//! The operations in plain Rust, for every machine.

use super::{Bytes, Form, Kinds, NUMBER, STEP, Tail};

/// Plain Rust, for every machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain;

const ODD: u8 = 1;
const MARK: u8 = 2;

/// Kinds of bytes.
const KINDS: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < table.len() {
        table[byte] = match byte as u8 {
            b'&' | b'=' | 0x80.. => ODD,
            b' ' | b'(' | b'[' | b'{' | b'<' | b'/' | b'|' | b'\\' | b'.' | b':' => MARK,
            _ => 0,
        };
        byte += 1;
    }
    table
};

impl Bytes for Plain {
    #[inline]
    fn kinds(self, text: &[u8], start: usize, end: usize) -> Kinds {
        let all = text[start..end]
            .iter()
            .fold(0, |all, byte| all | KINDS[usize::from(*byte)]);
        Kinds {
            odd: all & ODD != 0,
            marks: all & MARK != 0,
        }
    }

    #[inline]
    fn tail(self, text: &[u8], end: usize) -> Tail {
        let bits = |is: fn(u8) -> bool| {
            let bytes = text[end - STEP..end].iter().rev();
            bytes.fold(0, |bits, byte| bits << 1 | u32::from(is(*byte)))
        };
        Tail {
            digits: bits(|byte| byte.is_ascii_digit()),
            opens: bits(|byte| byte == b'('),
        }
    }

    #[inline]
    fn last_of(self, text: &[u8], end: usize, byte: u8) -> Option<usize> {
        let start = end - STEP;
        memchr::memrchr(byte, &text[start..end]).map(|at| start + at)
    }

    #[inline]
    fn is_id(self, text: &[u8], start: usize, end: usize) -> bool {
        let bad = |byte: &u8| {
            u8::from(*byte <= b' ') | u8::from(*byte == 0x7f) | u8::from(*byte | 2 == b'>')
        };
        text[start..end].iter().fold(0, |any, byte| any | bad(byte)) == 0
    }

    #[inline]
    fn begins<const LEN: usize>(
        self,
        text: &[u8],
        start: usize,
        other: &[u8; LEN],
        len: usize,
    ) -> bool {
        text[start..start + len] == other[..len]
    }

    #[inline]
    fn is_like<const STEPS: usize>(
        self,
        text: &[u8],
        start: usize,
        form: &[[Form; STEPS]],
    ) -> bool {
        let form = form.as_flattened();
        let found = &text[start..start + form.len() * STEP];
        form.iter()
            .zip(found.as_chunks::<STEP>().0)
            .all(|(form, found)| {
                let mut limits = form.least.iter().zip(&form.range).zip(found);
                limits.all(|((least, range), byte)| byte.wrapping_sub(*least) <= *range)
            })
    }

    #[inline]
    fn numbers(self, ends: [&[u8; NUMBER]; 2], digits: [usize; 2]) -> Option<[u64; 2]> {
        let number = |at: usize| {
            let found = ends[at].get(NUMBER.checked_sub(digits[at])?..)?;
            found.iter().try_fold(0, |value, byte| {
                let digit = byte.wrapping_sub(b'0');
                (digit <= 9).then(|| value * 10 + u64::from(digit))
            })
        };
        Some([number(0)?, number(1)?])
    }

    #[inline]
    fn fetch(self, _: &[u8], _: usize) {}
}
