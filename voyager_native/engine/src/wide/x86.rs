//! The operations for machines with AVX2.
//!
//! The functions are compiled for instructions that the machine was asked for before, and load vectors from
//! slices whose length was checked in the same line.
#![allow(
    unsafe_code,
    reason = "functions compiled for other instructions may only be called after asking"
)]

use std::arch::x86_64::{
    __m256i, _MM_HINT_T0, _mm_loadu_si128, _mm_prefetch, _mm256_and_si256, _mm256_andnot_si256,
    _mm256_cmpeq_epi8, _mm256_cmpgt_epi8, _mm256_extract_epi64, _mm256_loadu_si256,
    _mm256_madd_epi16, _mm256_maddubs_epi16, _mm256_min_epu8, _mm256_movemask_epi8,
    _mm256_or_si256, _mm256_packus_epi32, _mm256_set_m128i, _mm256_set1_epi8, _mm256_set1_epi16,
    _mm256_set1_epi32, _mm256_setr_epi64x, _mm256_setzero_si256, _mm256_shuffle_epi8,
    _mm256_srli_epi16, _mm256_sub_epi8, _mm256_testz_si256,
};

use super::{Bytes, FETCH, Form, Kinds, MARGIN, NUMBER, STEP, Tail, Work};

/// Zeros and ones: a window into it keeps the last bytes of a number.
const EDGE: [u8; 2 * NUMBER] = {
    let mut edge = [0; 2 * NUMBER];
    let mut at = NUMBER;
    while at < 2 * NUMBER {
        edge[at] = u8::MAX;
        at += 1;
    }
    edge
};

/// The positions of bytes, each less 128: signed bytes are compared.
const PLACES: [u8; MARGIN] = {
    let mut places = [0; MARGIN];
    let mut at = 0;
    while at < MARGIN {
        places[at] = at as u8 ^ 0x80;
        at += 1;
    }
    places
};

/// For machines with AVX2, BMI1, BMI2, LZCNT and POPCNT. Only [`Avx2::new`] makes one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

impl Avx2 {
    /// Proof that this machine has the instructions.
    #[inline]
    pub(crate) fn new() -> Option<Self> {
        (is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt"))
        .then_some(Self(()))
    }

    /// Does the work compiled for these instructions.
    pub(crate) fn run(self, work: impl Work) {
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        fn inner(avx2: Avx2, work: impl Work) {
            work.run(avx2);
        }
        // SAFETY: there is an `Avx2` only where the machine has the instructions.
        unsafe { inner(self, work) }
    }
}

// SAFETY: of all the blocks in here: there is an `Avx2` only where the machine has the instructions.
impl Bytes for Avx2 {
    #[inline(always)]
    fn kinds(self, text: &[u8], start: usize, end: usize) -> Kinds {
        unsafe { kinds(text, start, end) }
    }

    #[inline(always)]
    fn tail(self, text: &[u8], end: usize) -> Tail {
        unsafe { tail(text, end) }
    }

    #[inline(always)]
    fn last_of(self, text: &[u8], end: usize, byte: u8) -> Option<usize> {
        unsafe { last_of(text, end, byte) }
    }

    #[inline(always)]
    fn is_id(self, text: &[u8], start: usize, end: usize) -> bool {
        unsafe { is_id(text, start, end) }
    }

    #[inline(always)]
    fn begins<const LEN: usize>(
        self,
        text: &[u8],
        start: usize,
        other: &[u8; LEN],
        len: usize,
    ) -> bool {
        unsafe { begins(text, start, other, len) }
    }

    #[inline(always)]
    fn is_like<const STEPS: usize>(
        self,
        text: &[u8],
        start: usize,
        form: &[[Form; STEPS]],
    ) -> bool {
        unsafe { is_like(text, start, form) }
    }

    #[inline(always)]
    fn numbers(self, ends: [&[u8; NUMBER]; 2], digits: [usize; 2]) -> Option<[u64; 2]> {
        unsafe { numbers(ends, digits) }
    }

    #[inline(always)]
    fn fetch(self, text: &[u8], at: usize) {
        if let Some(ahead) = text.get(at..at + FETCH) {
            for step in (0..FETCH).step_by(2 * STEP) {
                // A hint: nothing is read.
                unsafe { _mm_prefetch::<_MM_HINT_T0>((&raw const ahead[step]).cast()) }
            }
        }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(text: &[u8], at: usize) -> __m256i {
    let bytes = &text[at..at + STEP];
    // SAFETY: the slice has as many bytes as are loaded; the load needs no alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

/// Keeps of the step at `at` what belongs to the first `len` bytes; neither may be beyond the margin.
#[inline]
#[target_feature(enable = "avx2")]
fn first(len: usize, at: usize) -> __m256i {
    _mm256_cmpgt_epi8(each(len as u8 ^ 0x80), load(&PLACES, at))
}

#[inline]
#[target_feature(enable = "avx2")]
fn each(byte: u8) -> __m256i {
    _mm256_set1_epi8(byte.cast_signed())
}

#[inline]
#[target_feature(enable = "avx2")]
fn bits(bytes: __m256i) -> u32 {
    _mm256_movemask_epi8(bytes).cast_unsigned()
}

#[inline]
#[target_feature(enable = "avx2")]
fn is_zero(bytes: __m256i) -> bool {
    _mm256_testz_si256(bytes, bytes) == 1
}

/// All ones where a byte is at most `most`.
#[inline]
#[target_feature(enable = "avx2")]
fn at_most(bytes: __m256i, most: u8) -> __m256i {
    _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, each(most)), bytes)
}

#[inline]
#[target_feature(enable = "avx2")]
fn are_digits(bytes: __m256i) -> __m256i {
    at_most(_mm256_sub_epi8(bytes, each(b'0')), 9)
}

#[inline]
#[target_feature(enable = "avx2")]
fn numbers(ends: [&[u8; NUMBER]; 2], digits: [usize; 2]) -> Option<[u64; 2]> {
    const UNIT: u64 = 100_000_000;
    let both = |low: &[u8; NUMBER], high: &[u8; NUMBER]| {
        // SAFETY: as many bytes are loaded as the arrays have; the loads need no alignment.
        let (low, high) = unsafe {
            (
                _mm_loadu_si128(low.as_ptr().cast()),
                _mm_loadu_si128(high.as_ptr().cast()),
            )
        };
        _mm256_set_m128i(high, low)
    };
    // Ones in the last bytes.
    let keep = |at: usize| EDGE.get(digits[at]..)?.first_chunk();
    let values = _mm256_and_si256(
        _mm256_sub_epi8(both(ends[0], ends[1]), each(b'0')),
        both(keep(0)?, keep(1)?),
    );
    if bits(at_most(values, 9)) != u32::MAX {
        return None;
    }
    // Tens and ones, then hundreds and so on: each step joins neighbours.
    let pairs = _mm256_maddubs_epi16(values, _mm256_set1_epi16(0x010a));
    let fours = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x0001_0064));
    let fours = _mm256_packus_epi32(fours, fours);
    let eights = _mm256_madd_epi16(fours, _mm256_set1_epi32(0x0001_2710));
    let number = |word: i64| {
        let word = word.cast_unsigned();
        (word & 0xffff_ffff) * UNIT + (word >> 32)
    };
    Some([
        number(_mm256_extract_epi64::<0>(eights)),
        number(_mm256_extract_epi64::<2>(eights)),
    ])
}

/// Bits of the kinds of a byte by its halves: both must agree on one.
mod kind {
    /// ` (/`
    pub(super) const BLANK: i8 = 1;
    /// `<`
    pub(super) const ANGLE: i8 = 1 << 1;
    /// `[\{|`
    pub(super) const SQUARE: i8 = 1 << 2;
    /// `&`
    pub(super) const AND: i8 = 1 << 3;
    /// `=`
    pub(super) const EQUALS: i8 = 1 << 4;
    /// Beyond ASCII.
    pub(super) const HIGH: i8 = 1 << 5;
    /// `.`
    pub(super) const DOT: i8 = 1 << 6;
    /// `:`
    pub(super) const COLON: i8 = i8::MIN;
    pub(super) const ODD: i8 = AND | EQUALS | HIGH;
}

#[inline]
#[target_feature(enable = "avx2")]
fn kinds_of(bytes: __m256i) -> __m256i {
    use kind::{AND, ANGLE, BLANK, COLON, DOT, EQUALS, HIGH, SQUARE};
    let both = |half: [i8; 16]| {
        let word =
            |at: usize| i64::from_le_bytes(std::array::from_fn(|i| half[at + i].cast_unsigned()));
        _mm256_setr_epi64x(word(0), word(8), word(0), word(8))
    };
    let h = HIGH;
    let by_low = both([
        BLANK | h,
        h,
        h,
        h,
        h,
        h,
        AND | h,
        h,
        BLANK | h,
        h,
        COLON | h,
        SQUARE | h,
        SQUARE | ANGLE | h,
        EQUALS | h,
        DOT | h,
        BLANK | h,
    ]);
    let by_high = both([
        0,
        0,
        BLANK | AND | DOT,
        ANGLE | EQUALS | COLON,
        0,
        SQUARE,
        0,
        SQUARE,
        h,
        h,
        h,
        h,
        h,
        h,
        h,
        h,
    ]);
    let half = each(0x0f);
    let low = _mm256_and_si256(bytes, half);
    let high = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), half);
    _mm256_and_si256(
        _mm256_shuffle_epi8(by_low, low),
        _mm256_shuffle_epi8(by_high, high),
    )
}

#[inline]
#[target_feature(enable = "avx2")]
fn kinds(text: &[u8], start: usize, end: usize) -> Kinds {
    let mut all = _mm256_setzero_si256();
    let mut start = start;
    while end - start > MARGIN {
        all = _mm256_or_si256(all, kinds_of(load(text, start)));
        start += STEP;
    }
    let rest = &text[start..start + MARGIN];
    for at in [0, STEP, 2 * STEP, 3 * STEP] {
        let bytes = _mm256_and_si256(load(rest, at), first(end - start, at));
        all = _mm256_or_si256(all, kinds_of(bytes));
    }
    let odd = each(kind::ODD.cast_unsigned());
    Kinds {
        odd: _mm256_testz_si256(all, odd) == 0,
        marks: _mm256_testz_si256(all, each(!kind::ODD.cast_unsigned())) == 0,
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn tail(text: &[u8], end: usize) -> Tail {
    let bytes = load(text, end - STEP);
    Tail {
        digits: bits(are_digits(bytes)),
        opens: bits(_mm256_cmpeq_epi8(bytes, each(b'('))),
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn last_of(text: &[u8], end: usize, byte: u8) -> Option<usize> {
    let found = bits(_mm256_cmpeq_epi8(load(text, end - STEP), each(byte)));
    (found != 0).then(|| end - 1 - found.leading_zeros() as usize)
}

#[inline]
#[target_feature(enable = "avx2")]
fn is_id(text: &[u8], start: usize, end: usize) -> bool {
    let bad = |bytes: __m256i| {
        let control = at_most(bytes, b' ');
        let delete = _mm256_cmpeq_epi8(bytes, each(0x7f));
        let angle = _mm256_cmpeq_epi8(_mm256_or_si256(bytes, each(2)), each(b'>'));
        _mm256_or_si256(control, _mm256_or_si256(delete, angle))
    };
    let mut any = _mm256_setzero_si256();
    let mut start = start;
    while end - start > 2 * STEP {
        any = _mm256_or_si256(any, bad(load(text, start)));
        start += STEP;
    }
    let rest = &text[start..start + 2 * STEP];
    for at in [0, STEP] {
        let found = _mm256_and_si256(bad(load(rest, at)), first(end - start, at));
        any = _mm256_or_si256(any, found);
    }
    is_zero(any)
}

#[inline]
#[target_feature(enable = "avx2")]
fn begins<const LEN: usize>(text: &[u8], start: usize, other: &[u8; LEN], len: usize) -> bool {
    let mut difference = _mm256_setzero_si256();
    let mut differ = |found: __m256i, known: __m256i, keep: __m256i| {
        let step = _mm256_andnot_si256(_mm256_cmpeq_epi8(found, known), keep);
        difference = _mm256_or_si256(difference, step);
    };
    let found = &text[start..start + LEN.min(MARGIN)];
    let short = len.min(MARGIN);
    for at in (0..LEN.min(MARGIN)).step_by(STEP) {
        differ(load(found, at), load(other, at), first(short, at));
    }
    let mut at = MARGIN;
    while LEN > MARGIN && at < len {
        let keep = first((len - at).min(STEP), 0);
        differ(load(text, start + at), load(other, at), keep);
        at += STEP;
    }
    is_zero(difference)
}

#[inline]
#[target_feature(enable = "avx2")]
fn is_like<const STEPS: usize>(text: &[u8], start: usize, form: &[[Form; STEPS]]) -> bool {
    let mut fits = each(u8::MAX);
    let mut start = start;
    for steps in form {
        let found = &text[start..start + STEPS * STEP];
        for (step, form) in steps.iter().enumerate() {
            let above = _mm256_sub_epi8(load(found, step * STEP), load(&form.least, 0));
            let least = _mm256_min_epu8(above, load(&form.range, 0));
            fits = _mm256_and_si256(fits, _mm256_cmpeq_epi8(above, least));
        }
        start += STEPS * STEP;
    }
    bits(fits) == u32::MAX
}
