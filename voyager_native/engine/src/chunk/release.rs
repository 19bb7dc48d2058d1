//! The files of one release of one span as bytes: a chunk.
//!
//! ```text
//! chunk    version u8 · length of description · description (zstd) · bodies of all records · checksum u64
//! ```
//! The description holds the columns of the files table, row after row of each, and the headers of the records.
//! The bodies are random and stay as they are. A chunk of version 2 says of each record which version it has, in the
//! lowest bit of the length of its header; those of a chunk of version 1 are of version 1.

use std::cell::RefCell;

use memchr::{memchr, memchr_iter, memmem};
use xxhash_rust::xxh3::xxh3_64;

use super::CodecError;
use super::bits::{Reader, put_varint, zigzag};
use super::description::{Before, Columns, Expected, Outline, PARTS, REPEATED, read};
use super::file_row::{FileRow, Numbers};
use super::first::FirstId;
use super::record::{Parts, Version, decode_first, split};
use super::segments::Segments;
use crate::tables::Files;
use crate::text::to_utf8;

/// Largest description in bytes.
const DESCRIPTION_LIMIT: u64 = 1 << 27;
/// A higher level costs more time and saves less than a thousandth of a chunk.
const ZSTD_LEVEL: i32 = 1;
/// For short descriptions: leaves single characters as they are, which needs no tables.
const SHORT_ZSTD_LEVEL: i32 = -1;
/// Length from which tables are worth their room and the time that they take.
const LEAST_FOR_TABLES: usize = 512;
/// Places of a first letter that are tried before a search is prepared.
const QUICK_PLACES: usize = 32;

/// Encodes chunks, one after the other, with the same work space.
pub struct ChunkEncoder {
    compressor: zstd::bulk::Compressor<'static>,
    for_short: zstd::bulk::Compressor<'static>,
    decompressor: zstd::bulk::Decompressor<'static>,
    description: Vec<u8>,
    compressed: Vec<u8>,
    /// The description as it comes back.
    back: Vec<u8>,
    ids: Ids,
}

impl ChunkEncoder {
    /// An encoder with empty work space.
    ///
    /// # Errors
    /// [`CodecError::Compression`] when there is no memory for a compressor.
    pub fn new() -> Result<Self, CodecError> {
        Ok(Self {
            compressor: compressor(ZSTD_LEVEL)?,
            for_short: compressor(SHORT_ZSTD_LEVEL)?,
            decompressor: zstd::bulk::Decompressor::new().map_err(|_| CodecError::Compression)?,
            description: Vec::new(),
            compressed: Vec::new(),
            back: Vec::new(),
            ids: Ids::default(),
        })
    }

    /// The chunk of these rows of `files`, whose records are `payloads` (one for each row of `rows`).
    ///
    /// # Errors
    /// As [`Self::encode_into`].
    pub fn encode(
        &mut self,
        files: &Files,
        rows: &[usize],
        payloads: &[&[u8]],
    ) -> Result<Vec<u8>, CodecError> {
        if rows.len() != payloads.len() {
            return Err(CodecError::Malformed("other numbers of files and payloads"));
        }
        let rows = rows.iter().zip(payloads);
        let rows: Vec<_> = rows
            .map(|(row, payload)| FileRow::of(files, *row, payload))
            .collect();
        let mut out = Vec::new();
        self.encode_into(&rows, &mut out)?;
        Ok(out)
    }

    /// Appends the chunk of these files.
    ///
    /// Before this returns the description is decoded and compared, and so are the headers and the bodies of
    /// all records; that a record is its segments was verified when it was made, and its checksum is looked
    /// at here.
    ///
    /// # Errors
    /// [`CodecError`] when a payload is no whole record, when there are too many files for one chunk, or when
    /// the chunk would not give them back. Then `out` is as it was.
    pub fn encode_into(
        &mut self,
        rows: &[FileRow<'_>],
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        let start = out.len();
        let result = self.write(rows, out);
        if result.is_err() {
            out.truncate(start);
        }
        result
    }

    fn write(&mut self, rows: &[FileRow<'_>], out: &mut Vec<u8>) -> Result<(), CodecError> {
        let parts = rows
            .iter()
            .map(|row| split(row.payload))
            .collect::<Result<Vec<_>, _>>()?;
        self.description.clear();
        let has_first = self.ids.find(rows, &parts)?;
        write_columns(rows, &has_first, &mut self.description);
        let is_old = |record: &Parts<'_>| record.version == Version::One;
        let version = if parts.iter().all(is_old) {
            Version::One
        } else {
            Version::Two
        };
        for record in &parts {
            Outline::of(record).write(version, &mut self.description);
        }
        for record in &parts {
            self.description.extend_from_slice(record.header);
        }
        if self.description.len() as u64 > DESCRIPTION_LIMIT {
            return Err(CodecError::Malformed("too many files for one chunk"));
        }
        self.compressed.clear();
        self.compressed
            .reserve(zstd::zstd_safe::compress_bound(self.description.len()));
        let compressor = if self.description.len() < LEAST_FOR_TABLES {
            &mut self.for_short
        } else {
            &mut self.compressor
        };
        compressor
            .compress_to_buffer(&self.description, &mut self.compressed)
            .map_err(|_| CodecError::Compression)?;
        let bodies: usize = parts.iter().map(|record| record.body.len()).sum();
        out.reserve(self.compressed.len() + bodies + 24);
        let start = out.len();
        out.push(version as u8);
        put_varint(out, self.compressed.len() as u64);
        let description = out.len();
        out.extend_from_slice(&self.compressed);
        let bodies = out.len();
        for record in &parts {
            out.extend_from_slice(record.body);
        }
        let checksum = xxh3_64(&out[start..]);
        self.back.clear();
        self.back.reserve(self.description.len());
        self.decompressor
            .decompress_to_buffer(&out[description..bodies], &mut self.back)
            .map_err(|_| CodecError::Compression)?;
        let mut expected = Expected {
            rows,
            records: &parts,
            has_first: &has_first,
            seen: 0,
            is_same: true,
        };
        let records = read(version, &self.back, &out[bodies..], &mut expected)?;
        let is_same = expected.is_same && expected.seen == rows.len();
        let is_joined =
            |(row, record): (&FileRow<'_>, &Parts<'_>)| row.payload.len() == record.len();
        if !(is_same && records.are(&parts)? && rows.iter().zip(&parts).all(is_joined)) {
            return Err(CodecError::Unfaithful);
        }
        out.extend_from_slice(&checksum.to_le_bytes());
        Ok(())
    }
}

fn compressor(level: i32) -> Result<zstd::bulk::Compressor<'static>, CodecError> {
    zstd::bulk::Compressor::new(level).map_err(|_| CodecError::Compression)
}

/// Tells whether a message-id is the first one of a record.
#[derive(Default)]
struct Ids {
    quick: FirstId,
    first: Segments,
}

impl Ids {
    /// Whether the first message-id of each row is that of its record, which is taken apart beside it.
    fn find(
        &mut self,
        rows: &[FileRow<'_>],
        records: &[Parts<'_>],
    ) -> Result<Vec<bool>, CodecError> {
        let rows = rows.iter().zip(records);
        rows.map(|(row, record)| self.is_first(record, row.first_message_id))
            .collect()
    }

    fn is_first(&mut self, record: &Parts<'_>, id: &str) -> Result<bool, CodecError> {
        // What `to_utf8` leaves as it is.
        let is_plain = memchr(0, id.as_bytes()).is_none();
        if is_plain && self.quick.is(record, id.as_bytes()) {
            return Ok(true);
        }
        self.first.clear();
        decode_first(record, &mut self.first)?;
        let first = if self.first.is_empty() {
            &[]
        } else {
            self.first.get(0).id
        };
        Ok(id == to_utf8(first))
    }
}

/// Appends the columns of files; where the record has the first message-id it is left out.
fn write_columns(rows: &[FileRow<'_>], has_first: &[bool], out: &mut Vec<u8>) {
    put_varint(out, rows.len() as u64);
    for row in rows {
        out.extend_from_slice(&row.file_key.to_le_bytes());
    }
    for row in rows {
        put_varint(out, row.base_key ^ row.file_key);
        put_varint(out, u64::from(row.generation));
    }
    for row in rows {
        write_text(row.subject, out);
    }
    for part in PARTS {
        for row in rows {
            write_part_of(part.of(row), row.subject, out);
        }
    }
    for column in REPEATED {
        let mut before = None;
        for row in rows {
            write_repeated(column.of(row), &mut before, out);
        }
    }
    for (row, has_first) in rows.iter().zip(has_first) {
        put_varint(out, u64::from(!has_first));
        if !has_first {
            write_text(row.first_message_id, out);
        }
    }
    let mut before = Before::default();
    for row in rows {
        write_numbers(&row.numbers, &mut before, out);
    }
}

fn write_numbers(numbers: &Numbers, before: &mut Before, out: &mut Vec<u8>) {
    let optional = |value: Option<u32>| value.map_or(0, |value| u64::from(value) + 1);
    put_varint(out, optional(numbers.file_index));
    put_varint(out, optional(numbers.file_total));
    put_varint(out, u64::from(numbers.parts_total));
    put_varint(out, u64::from(numbers.parts_found));
    put_varint(out, numbers.size_bytes);
    put_varint(out, u64::from(numbers.flags));
    let (first, last) = (numbers.first_posted_at, numbers.last_posted_at);
    put_varint(
        out,
        u64::from(numbers.poster_constant)
            | u64::from(numbers.is_fragment) << 1
            | u64::from(first.is_some()) << 2
            | u64::from(last.is_some()) << 3,
    );
    if let Some(first) = first {
        put_varint(out, zigzag(first.wrapping_sub(before.posted)));
        before.posted = first;
    }
    if let Some(last) = last {
        put_varint(out, zigzag(last.wrapping_sub(before.posted)));
    }
    let distance = |to: u64, from: u64| zigzag(to.wrapping_sub(from).cast_signed());
    let (first, last) = (numbers.first_number, numbers.last_number);
    put_varint(out, distance(first, before.number));
    before.number = first;
    put_varint(out, distance(last, first));
    put_varint(out, distance(first, numbers.reach_low));
    put_varint(out, distance(numbers.reach_high, last));
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    put_varint(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Writes a text as a place in another one if it is there.
fn write_part_of(text: &str, whole: &str, out: &mut Vec<u8>) {
    if text.is_empty() {
        out.push(0);
        return;
    }
    if let Some(at) = find(whole.as_bytes(), text.as_bytes()) {
        put_varint(out, (at as u64) << 1 | 1);
        put_varint(out, text.len() as u64);
    } else {
        put_varint(out, (text.len() as u64) << 1);
        out.extend_from_slice(text.as_bytes());
    }
}

/// The first place of a text that is not empty in another one.
fn find(whole: &[u8], text: &[u8]) -> Option<usize> {
    // Preparing a search costs more than searching a subject does.
    for (tries, at) in memchr_iter(*text.first()?, whole).enumerate() {
        if whole[at..].starts_with(text) {
            return Some(at);
        }
        if tries == QUICK_PLACES {
            return memmem::find(&whole[at..], text).map(|place| at + place);
        }
    }
    None
}

fn write_repeated<'a>(text: &'a str, before: &mut Option<&'a str>, out: &mut Vec<u8>) {
    if *before == Some(text) {
        out.push(0);
        return;
    }
    *before = Some(text);
    put_varint(out, text.len() as u64 + 1);
    out.extend_from_slice(text.as_bytes());
}

/// The files of a chunk; their records are in [`Files::payloads`].
///
/// # Errors
/// [`CodecError`] when `chunk` is no whole chunk of a known version.
pub fn decode_chunk(chunk: &[u8]) -> Result<Files, CodecError> {
    let (content, checksum) = chunk.split_last_chunk::<8>().ok_or(CodecError::Truncated)?;
    if xxh3_64(content) != u64::from_le_bytes(*checksum) {
        return Err(CodecError::Checksum);
    }
    let mut reader = Reader::new(content);
    let version = Version::of(reader.byte()?)?;
    let len = reader.count(content.len())?;
    let compressed = reader.bytes(len)?;
    let bodies = reader.rest();
    let description = decompress(compressed)?;
    let mut columns = Columns::default();
    let records = read(version, &description, bodies, &mut columns)?;
    records.join(&mut columns)?;
    Ok(columns.files)
}

thread_local! {
    /// Making one takes longer than most descriptions do.
    static DECOMPRESSOR: RefCell<Option<zstd::bulk::Decompressor<'static>>> =
        const { RefCell::new(None) };
}

fn decompress(compressed: &[u8]) -> Result<Vec<u8>, CodecError> {
    let size = zstd::zstd_safe::get_frame_content_size(compressed)
        .ok()
        .flatten()
        .filter(|size| *size <= DESCRIPTION_LIMIT)
        .ok_or(CodecError::Compression)?;
    // A description is some thousands of times larger at most: what a frame claims is no reason for more.
    let most = compressed.len().saturating_mul(1 << 15);
    let capacity = usize::try_from(size).map_or(most, |size| size.min(most));
    DECOMPRESSOR.with_borrow_mut(|kept| {
        let decompressor = match kept {
            Some(decompressor) => decompressor,
            None => {
                kept.insert(zstd::bulk::Decompressor::new().map_err(|_| CodecError::Compression)?)
            }
        };
        decompressor
            .decompress(compressed, capacity)
            .map_err(|_| CodecError::Compression)
    })
}
