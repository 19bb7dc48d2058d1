//! Files as bytes: records of segments, and chunks of whole releases.
//!
//! A [`record`] holds the segments of one file. Message-ids of one posting tool are built alike, so a
//! record describes the form once and stores only what varies, in the fewest bits: see [`plan`].
//! Most of that is random, so nothing is compressed but what describes.

mod alphabet;
mod bell;
mod bits;
mod checked;
mod coder;
mod column;
mod decimal;
mod description;
mod file_row;
mod first;
mod grid;
mod joined;
mod lanes;
mod layout;
mod lone;
mod mixed;
mod parts;
mod pieces;
mod plan;
mod record;
mod release;
mod rows;
mod segments;
mod shape;
mod sizes;
mod survey;
mod transpose;
mod wide;
mod words;
mod work;

use thiserror::Error;

pub use file_row::{FileRow, Numbers};
pub(crate) use record::lone_id;
pub use record::{Encoder, decode, decode_into, merge};
pub use release::{ChunkEncoder, decode_chunk};
pub use segments::{Segment, Segments};

/// Newest version of what is written: records and chunks are of the one in which they are smaller. Every version ever
/// written can be read.
pub const CODEC_VERSION: u8 = 2;

/// Why bytes are no record or no chunk, or why segments cannot be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CodecError {
    /// The bytes end too early.
    #[error("the bytes end too early")]
    Truncated,
    /// The checksum is not that of the bytes.
    #[error("the checksum is not that of the bytes")]
    Checksum,
    /// Written by a version that this one does not know.
    #[error("version {0} of the format is unknown")]
    Version(u8),
    /// The bytes describe nothing that could have been written.
    #[error("the bytes hold {0}")]
    Malformed(&'static str),
    /// The parts of a file do not ascend.
    #[error("the parts of a file do not ascend")]
    Unsorted,
    /// A message-id is empty or longer than 255 bytes.
    #[error("a message-id is empty or longer than 255 bytes")]
    IdLength,
    /// zstd failed.
    #[error("the description can not be compressed or decompressed")]
    Compression,
    /// What was written would not give back what was to be written.
    #[error("the segments do not come back as they were")]
    Unfaithful,
}
