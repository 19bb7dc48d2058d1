//! Looks at many bytes of a line at once.
//!
//! One of the modules of the engine with `unsafe`, all of it in `x86`.
#![allow(clippy::inline_always, reason = "a call would cost more than the work")]

mod plain;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(crate) use plain::Plain;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86::Avx2;

/// Most digits of a number.
pub(crate) const NUMBER: usize = 16;

/// Bytes that are looked at together.
pub(crate) const STEP: usize = 32;

/// What kinds of bytes a subject holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kinds {
    /// `&`, `=` or a byte beyond ASCII: the subject may have to be decoded.
    pub(crate) odd: bool,
    /// Besides those: blanks, brackets, strokes, dots and colons. Without them a subject is one word.
    pub(crate) marks: bool,
}

/// Which of 32 bytes are of a kind; the first byte is the lowest bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tail {
    pub(crate) digits: u32,
    /// `(`
    pub(crate) opens: u32,
}

/// Whether a text has the form of these steps.
pub(crate) fn fits<const STEPS: usize>(text: &[u8], form: &[[Form; STEPS]]) -> bool {
    let mut padded = text.to_vec();
    padded.resize(form.len() * STEPS * STEP, 0);
    text.len() <= padded.len() && Plain.is_like(&padded, 0, form)
}

/// What is compiled once for each way of looking at bytes; `run` must be inlined for that.
pub(crate) trait Work {
    fn run(self, bytes: impl Bytes);
}

/// Does the work in the widest way that this machine has.
pub(crate) fn run(work: impl Work) {
    #[cfg(target_arch = "x86_64")]
    if let Some(avx2) = Avx2::new() {
        avx2.run(work);
        return;
    }
    work.run(Plain);
}

/// What a text must go on for after the bytes that are looked at: the number of steps is the same for all
/// short texts, so that there is nothing to mispredict.
pub(crate) const MARGIN: usize = 4 * STEP;

/// Bytes that are asked for together: those of most lines.
pub(crate) const FETCH: usize = 6 * 2 * STEP;

/// Operations on the bytes `start..end` of a text, which must begin [`STEP`] bytes or more before `end`
/// and go on for [`MARGIN`] bytes or more after `end`.
pub(crate) trait Bytes: Copy {
    /// The kinds of bytes in `start..end`, none of which may be a control.
    fn kinds(self, text: &[u8], start: usize, end: usize) -> Kinds;
    /// The kinds of the last 32 bytes before `end`.
    fn tail(self, text: &[u8], end: usize) -> Tail;
    /// Where the last of the 32 bytes before `end` that is `byte` stands.
    fn last_of(self, text: &[u8], end: usize, byte: u8) -> Option<usize>;
    /// Whether a message-id may hold these bytes: anything visible but angle brackets.
    fn is_id(self, text: &[u8], start: usize, end: usize) -> bool;
    /// Whether the text at `start` begins with the first `len` bytes of `other`.
    fn begins<const LEN: usize>(
        self,
        text: &[u8],
        start: usize,
        other: &[u8; LEN],
        len: usize,
    ) -> bool;
    /// Whether the text at `start` has the form of these steps.
    fn is_like<const STEPS: usize>(self, text: &[u8], start: usize, form: &[[Form; STEPS]])
    -> bool;
    /// Two numbers: of so many digits each, 1 to 16, at the end of these bytes.
    fn numbers(self, ends: [&[u8; NUMBER]; 2], digits: [usize; 2]) -> Option<[u64; 2]>;
    /// Asks for the [`FETCH`] bytes of the text at `at`, which will be looked at soon.
    fn fetch(self, text: &[u8], at: usize);
}

/// A step of a text some bytes of which may be any digits.
///
/// A byte fits if it is at most `range` above `least`: nothing else may be, any digit may be, or any byte.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    least: [u8; STEP],
    range: [u8; STEP],
}

impl Form {
    /// The form of all texts.
    pub(crate) const ANY: Self = Self {
        least: [0; STEP],
        range: [u8::MAX; STEP],
    };

    /// The form of a text of at most 32 bytes; `is_free` says at which positions any digit may be.
    pub(crate) fn new(text: &[u8], is_free: impl Fn(usize) -> bool) -> Self {
        let mut form = Self::ANY;
        for (at, byte) in text.iter().enumerate().take(STEP) {
            (form.least[at], form.range[at]) = if is_free(at) { (b'0', 9) } else { (*byte, 0) };
        }
        form
    }

    /// The forms of the steps of a longer text, a few together.
    pub(crate) fn steps<const STEPS: usize>(
        text: &[u8],
        is_free: impl Fn(usize) -> bool,
    ) -> Vec<[Self; STEPS]> {
        let mut forms = vec![[Self::ANY; STEPS]; text.len().div_ceil(STEPS * STEP)];
        for (step, bytes) in text.chunks(STEP).enumerate() {
            forms[step / STEPS][step % STEPS] = Self::new(bytes, |at| is_free(step * STEP + at));
        }
        forms
    }
}
