//! Compressed overview blocks to text.
//!
//! libdeflate wants room for the whole text at once, so the buffer is kept from block to block and
//! grown when it does not suffice.

use memchr::memchr;
use thiserror::Error;

use crate::deflate::{Decompressor, Failure, Wrapping};

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
    decompressor: Decompressor,
    /// Text bytes per block byte of the last block: how much room the next one will need.
    ratio: usize,
}

impl Inflater {
    /// Zero bytes that are kept after the text, so that wide loads may run over its end.
    pub const PADDING: usize = 64;
    /// No block inflates to more than this: 100,000 lines of 2,500 bytes.
    pub const MAX_TEXT: usize = 256 << 20;
    /// Blocks that inflate to less than this are never too large, whatever their ratio.
    const FREE_TEXT: usize = 16 << 20;
    /// Overview text shrinks to a fifth or a tenth; a hundredth would be no overview.
    const MAX_RATIO: usize = 128;

    /// A decompressor that has seen no block yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            decompressor: Decompressor::new(),
            ratio: 8,
        }
    }

    /// Puts the text of `block` at the start of `out`, followed by at least [`Self::PADDING`] zero bytes.
    ///
    /// The block may be zlib, gzip, raw deflate or plain text, or several streams one after the other,
    /// with the terminator inside or after it. `out` grows when needed and never shrinks; give the same
    /// vector again for the next block.
    ///
    /// # Errors
    /// [`InflateError`] when the block is no text and no whole stream, or too large; `out` holds nothing useful then.
    pub fn inflate(&mut self, block: &[u8], out: &mut Vec<u8>) -> Result<Framing, InflateError> {
        let (encoding, len, rest) = if begins_with_number(block) {
            plain(block, out)
        } else {
            match self.compressed(block, out) {
                Err(InflateError::Damaged) if is_printable(block) || holds_lines(block) => {
                    plain(block, out)
                }
                result => result?,
            }
        };
        let text_len = without_terminator(&out[..len]);
        let (trailing, after) = match rest.trim_ascii() {
            [] => (0, false),
            b"." => (0, true),
            _ => (rest.len(), false),
        };
        let terminator = match (text_len < len, after) {
            (true, _) => Terminator::Inside,
            (false, true) => Terminator::After,
            (false, false) => Terminator::Missing,
        };
        out[text_len..len + Self::PADDING].fill(0);
        Ok(Framing {
            encoding,
            text_len,
            terminator,
            trailing,
        })
    }

    /// Tries the kinds of stream that the first bytes allow; gives the text's length and what follows the stream.
    fn compressed<'a>(
        &mut self,
        block: &'a [u8],
        out: &mut Vec<u8>,
    ) -> Result<(Encoding, usize, &'a [u8]), InflateError> {
        let (encoding, wrapping) = match block {
            [0x1f, 0x8b, ..] => (Encoding::Gzip, Wrapping::Gzip),
            _ if is_zlib(block) => (Encoding::Zlib, Wrapping::Zlib),
            _ => return self.unwrapped(block, out),
        };
        match self.streams(wrapping, block, out) {
            Ok((len, rest)) => Ok((encoding, len, rest)),
            Err(InflateError::Damaged) => self.unwrapped(block, out),
            Err(error) => Err(error),
        }
    }

    /// Raw deflate has no checksum: it counts only when nothing but a terminator follows it.
    fn unwrapped<'a>(
        &mut self,
        block: &'a [u8],
        out: &mut Vec<u8>,
    ) -> Result<(Encoding, usize, &'a [u8]), InflateError> {
        let (len, rest) = self.streams(Wrapping::None, block, out)?;
        match rest.trim_ascii() {
            [] | b"." => Ok((Encoding::Deflate, len, rest)),
            _ => Err(InflateError::Damaged),
        }
    }

    /// Inflates the stream at the start of `block`, and others of its kind right after it.
    fn streams<'a>(
        &mut self,
        wrapping: Wrapping,
        block: &'a [u8],
        out: &mut Vec<u8>,
    ) -> Result<(usize, &'a [u8]), InflateError> {
        let limit = block
            .len()
            .saturating_mul(Self::MAX_RATIO)
            .clamp(Self::FREE_TEXT, Self::MAX_TEXT);
        let mut room = block
            .len()
            .saturating_mul(self.ratio + 1)
            .clamp(1 << 16, limit);
        let mut len = 0;
        let mut rest = block;
        loop {
            make_room(out, room);
            room = (out.len() - Self::PADDING).min(limit);
            match self
                .decompressor
                .inflate(wrapping, rest, &mut out[len..room])
            {
                Ok((taken, written)) => {
                    len += written;
                    rest = &rest[taken..];
                    let another = match wrapping {
                        Wrapping::Gzip => rest.starts_with(&[0x1f, 0x8b]),
                        Wrapping::Zlib => is_zlib(rest),
                        Wrapping::None => false,
                    };
                    if !another {
                        self.ratio = len / block.len().max(1);
                        return Ok((len, rest));
                    }
                }
                Err(Failure::BadData) => return Err(InflateError::Damaged),
                Err(Failure::NoRoom) if room >= limit => {
                    return Err(InflateError::TooLarge { limit });
                }
                Err(Failure::NoRoom) => room = (room * 2).min(limit),
            }
        }
    }
}

impl Default for Inflater {
    fn default() -> Self {
        Self::new()
    }
}

/// Copies text that is in no stream.
fn plain<'a>(block: &[u8], out: &mut Vec<u8>) -> (Encoding, usize, &'a [u8]) {
    make_room(out, block.len());
    out[..block.len()].copy_from_slice(block);
    (Encoding::Plain, block.len(), &[])
}

/// Gives `out` room for `len` bytes and the padding.
fn make_room(out: &mut Vec<u8>, len: usize) {
    let whole = len + Inflater::PADDING;
    if out.is_empty() {
        // Asked for as zeros, so that pages which no text reaches are never touched.
        *out = vec![0; whole];
    } else if out.len() < whole {
        out.resize(whole, 0);
    }
}

/// Whether a zlib stream can begin like this (RFC 1950 2.2), whatever its window and level.
const fn is_zlib(block: &[u8]) -> bool {
    const DICTIONARY: u8 = 0x20;
    match block {
        [method, flags, ..] => {
            *method & 0x0f == 8
                && *method >> 4 <= 7
                && *flags & DICTIONARY == 0
                && ((*method as u16) << 8 | *flags as u16).is_multiple_of(31)
        }
        _ => false,
    }
}

/// Whether a block begins as overview lines do: with a number and a tab.
///
/// Streams may begin with a digit (`8` is a zlib header), but not with a number and a tab.
fn begins_with_number(block: &[u8]) -> bool {
    // The longest number has 20 digits.
    let digits = block
        .iter()
        .take(21)
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    (1..=20).contains(&digits) && block.get(digits) == Some(&b'\t')
}

/// Whether a block that is no stream may be text: its first line is UTF-8 without odd bytes.
fn is_printable(block: &[u8]) -> bool {
    let line = memchr(b'\n', block).map_or(block, |end| &block[..end]);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let odd = |byte: &u8| byte.is_ascii_control() && *byte != b'\t';
    !line.iter().any(odd) && std::str::from_utf8(line).is_ok()
}

/// Whether a block that is no stream is text with odd bytes in it: half of its lines begin with a number.
///
/// Of the stretches between line feeds in compressed bytes one in thousands does.
fn holds_lines(block: &[u8]) -> bool {
    let lines = block
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    let (mut all, mut numbered) = (0usize, 0usize);
    for line in lines {
        all += 1;
        numbered += usize::from(begins_with_number(line));
    }
    numbered > 0 && numbered * 2 >= all
}

/// The length of `text` without a last line that is a lone dot.
fn without_terminator(text: &[u8]) -> usize {
    let line_end = |text: &[u8]| {
        text.strip_suffix(b"\n")
            .map(|text| text.strip_suffix(b"\r").unwrap_or(text).len())
    };
    let end = line_end(text).unwrap_or(text.len());
    match &text[..end] {
        [b'.'] | [.., b'\n', b'.'] => end - 1,
        _ => text.len(),
    }
}
