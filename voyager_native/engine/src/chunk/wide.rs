//! Chooses between the same code compiled for different processors.
//!
//! One of the modules of the engine with `unsafe`: it calls functions compiled for
//! instructions that not every processor has, after it has asked whether this one has them. The functions
//! themselves are safe code.
#![allow(
    unsafe_code,
    reason = "functions for some processors are unsafe to call"
)]

use std::ops::Range;

use super::CodecError;
use super::bits::BitWriter;
use super::rows::{Columns, Joined, Kernel, Texts};
use super::survey::{Bounds, Look, Texts as Surveyed};
use super::transpose::ROWS;

/// Whether this processor has the instructions of the wide versions.
#[cfg(target_arch = "x86_64")]
#[inline]
fn is_wide() -> bool {
    #[cfg(test)]
    if NARROW.get() {
        return false;
    }
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("popcnt")
        && is_x86_feature_detected!("lzcnt")
}

#[cfg(test)]
thread_local! {
    /// Set to run what is compiled for every processor.
    pub(super) static NARROW: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// [`Kernel::put`].
///
/// # Errors
/// As there.
pub(super) fn put(
    kernel: &Kernel,
    count: usize,
    texts: &Texts,
    digits: &[[u32; ROWS]],
    same: &[Range<usize>],
    columns: &mut Columns,
    writer: &mut BitWriter,
) -> Result<(), CodecError> {
    #[cfg(target_arch = "x86_64")]
    if is_wide() {
        // SAFETY: the processor has the instructions.
        return unsafe { x86::put(kernel, count, texts, digits, same, columns, writer) };
    }
    kernel.put(count, texts, digits, same, columns, writer)
}

/// [`Kernel::join`].
///
/// # Errors
/// As there.
pub(super) fn join(
    kernel: &Kernel,
    texts: &Texts,
    digits: &[[u32; ROWS]],
    same: &[Range<usize>],
    columns: &mut Columns,
    joined: &mut Joined,
) -> Result<(), CodecError> {
    #[cfg(target_arch = "x86_64")]
    if is_wide() {
        // SAFETY: the processor has the instructions.
        return unsafe { x86::join(kernel, texts, digits, same, columns, joined) };
    }
    kernel.join(texts, digits, same, columns, joined)
}

/// [`Kernel::take`].
///
/// # Errors
/// As there.
pub(super) fn take(
    kernel: &Kernel,
    joined: &Joined,
    texts: &mut Texts,
    columns: &mut Columns,
) -> Result<(), CodecError> {
    #[cfg(target_arch = "x86_64")]
    if is_wide() {
        // SAFETY: the processor has the instructions.
        return unsafe { x86::take(kernel, joined, texts, columns) };
    }
    kernel.take(joined, texts, columns)
}

/// [`Bounds::of`].
pub(super) fn bounds(texts: &Surveyed<'_>, look: Look) -> Bounds {
    #[cfg(target_arch = "x86_64")]
    if is_wide() {
        // SAFETY: the processor has the instructions.
        return unsafe { x86::bounds(texts, look) };
    }
    Bounds::of(texts, look)
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{
        BitWriter, Bounds, CodecError, Columns, Joined, Kernel, Look, ROWS, Range, Surveyed, Texts,
    };

    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    pub(super) fn put(
        kernel: &Kernel,
        count: usize,
        texts: &Texts,
        digits: &[[u32; ROWS]],
        same: &[Range<usize>],
        columns: &mut Columns,
        writer: &mut BitWriter,
    ) -> Result<(), CodecError> {
        kernel.put(count, texts, digits, same, columns, writer)
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    pub(super) fn join(
        kernel: &Kernel,
        texts: &Texts,
        digits: &[[u32; ROWS]],
        same: &[Range<usize>],
        columns: &mut Columns,
        joined: &mut Joined,
    ) -> Result<(), CodecError> {
        kernel.join(texts, digits, same, columns, joined)
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    pub(super) fn take(
        kernel: &Kernel,
        joined: &Joined,
        texts: &mut Texts,
        columns: &mut Columns,
    ) -> Result<(), CodecError> {
        kernel.take(joined, texts, columns)
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
    pub(super) fn bounds(texts: &Surveyed<'_>, look: Look) -> Bounds {
        Bounds::of(texts, look)
    }
}
