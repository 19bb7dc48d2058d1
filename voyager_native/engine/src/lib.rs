//! The Voyager engine: pure functions over header bytes.
//!
//! Nothing here does I/O, reads a clock or knows Python; keys of tables are drawn at random, and no result depends
//! on them. Bytes come in as a news server sent them; every byte sequence is accepted, and what is not understood
//! is counted under a [`reason::Reason`].
#![deny(unsafe_code)]

pub mod assemble;
pub mod chunk;
pub mod date;
mod deflate;
mod hash;
pub mod inflate;
pub mod lines;
mod mask;
pub mod message_id;
pub mod naming;
pub mod reason;
pub mod subject;
pub mod synthetic;
pub mod tables;
pub mod text;
mod wide;
pub mod words;
pub mod xref;

/// Version of the grammar and of the rules by which lines become files. Stored with every span.
pub const PARSER_VERSION: u32 = 3;
