//! Compressed overview blocks to text.

use thiserror::Error;

/// How the bytes of a block were wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Text as it is.
    Plain,
    /// RFC 1950.
    Zlib,
    /// RFC 1952.
    Gzip,
    /// RFC 1951 without any wrapper.
    Deflate,
}

/// Where the terminating line `.` of the reply was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terminator {
    /// The text does not end with a terminator and none follows the stream.
    Missing,
    /// The last line of the text.
    Inside,
    /// After the compressed stream.
    After,
}

/// What was found out about a block while it was inflated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// The wrapping of the block.
    pub encoding: Encoding,
    /// Length of the text in bytes, without its terminator line: the text is `out[..text_len]`.
    pub text_len: usize,
    /// Where the terminator was.
    pub terminator: Terminator,
    /// Bytes after the compressed stream that are neither another stream nor a terminator.
    pub trailing: usize,
}

/// Why a block gives no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InflateError {
    /// The stream is cut, damaged or of no known kind.
    #[error("the block is neither a whole compressed stream nor text")]
    Damaged,
    /// The stream grows beyond what an overview block can be.
    #[error("the block inflates to more than {limit} bytes")]
    TooLarge {
        /// The bound in bytes that applied to this block.
        limit: usize,
    },
}

/// Inflates block after block with one decompressor.
pub struct Inflater {
    decompressor: libdeflater::Decompressor,
}

impl Inflater {
    /// Zero bytes that are kept after the text, so that wide loads may run over its end.
    pub const PADDING: usize = 64;

    /// A decompressor that has seen no block yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            decompressor: libdeflater::Decompressor::new(),
        }
    }

    /// Puts the text of `block` at the start of `out`, followed by at least [`Self::PADDING`] zero bytes.
    ///
    /// `out` grows when needed and never shrinks; give the same vector again for the next block.
    ///
    /// # Errors
    /// [`InflateError`] when the block is no text and no whole stream, or too large; `out` holds nothing useful then.
    pub fn inflate(&mut self, block: &[u8], out: &mut Vec<u8>) -> Result<Framing, InflateError> {
        out.resize(block.len() * 40 + 4096, 0);
        let n = self
            .decompressor
            .zlib_decompress(block, out)
            .map_err(|_| InflateError::Damaged)?;
        out.resize(n + Self::PADDING, 0);
        Ok(Framing {
            encoding: Encoding::Zlib,
            text_len: n,
            terminator: Terminator::Missing,
            trailing: 0,
        })
    }
}

impl Default for Inflater {
    fn default() -> Self {
        Self::new()
    }
}
