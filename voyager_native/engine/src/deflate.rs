//! libdeflate's decompressor with what its safe wrapper leaves out: how much of the input a stream took.
//!
//! One of the modules of the engine with `unsafe`. Every call hands C the pointer and length of a
//! slice that outlives the call, and C keeps neither.
#![allow(unsafe_code, reason = "libdeflate is a C library")]

use std::ptr::NonNull;

use libdeflate_sys::{
    libdeflate_alloc_decompressor, libdeflate_decompressor, libdeflate_deflate_decompress_ex,
    libdeflate_free_decompressor, libdeflate_gzip_decompress_ex,
    libdeflate_result_LIBDEFLATE_INSUFFICIENT_SPACE, libdeflate_result_LIBDEFLATE_SUCCESS,
    libdeflate_zlib_decompress_ex,
};

/// The wrapping of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrapping {
    Zlib,
    Gzip,
    None,
}

/// Why a stream was not inflated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The input is no whole stream of this kind.
    BadData,
    /// The output does not fit.
    NoRoom,
}

/// Owns a decompressor of libdeflate.
pub(crate) struct Decompressor(NonNull<libdeflate_decompressor>);

// SAFETY: a decompressor is plain memory that belongs to its owner; it has no ties to a thread.
unsafe impl Send for Decompressor {}

impl Decompressor {
    /// A new decompressor.
    ///
    /// # Panics
    /// When the machine has no memory left, as every other allocation does.
    pub(crate) fn new() -> Self {
        // SAFETY: takes nothing; gives null or a decompressor that is ours to free.
        let raw = unsafe { libdeflate_alloc_decompressor() };
        Self(NonNull::new(raw).expect("memory for a decompressor"))
    }

    /// Inflates the stream at the start of `from` to the start of `to`; gives the bytes taken and written.
    pub(crate) fn inflate(
        &mut self,
        wrapping: Wrapping,
        from: &[u8],
        to: &mut [u8],
    ) -> Result<(usize, usize), Failure> {
        let function = match wrapping {
            Wrapping::Zlib => libdeflate_zlib_decompress_ex,
            Wrapping::Gzip => libdeflate_gzip_decompress_ex,
            Wrapping::None => libdeflate_deflate_decompress_ex,
        };
        let (mut taken, mut written) = (0, 0);
        // SAFETY: the decompressor is live and borrowed exclusively; `from` is read and `to` written
        // within their lengths; both counts are written before the call returns.
        let result = unsafe {
            function(
                self.0.as_ptr(),
                from.as_ptr().cast(),
                from.len(),
                to.as_mut_ptr().cast(),
                to.len(),
                &raw mut taken,
                &raw mut written,
            )
        };
        #[allow(non_upper_case_globals, reason = "the names are libdeflate's")]
        match result {
            libdeflate_result_LIBDEFLATE_SUCCESS => Ok((taken, written)),
            libdeflate_result_LIBDEFLATE_INSUFFICIENT_SPACE => Err(Failure::NoRoom),
            _ => Err(Failure::BadData),
        }
    }
}

impl Drop for Decompressor {
    fn drop(&mut self) {
        // SAFETY: the decompressor came from libdeflate and is freed once.
        unsafe { libdeflate_free_decompressor(self.0.as_ptr()) }
    }
}
