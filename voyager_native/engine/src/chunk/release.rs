//! The files of one release of one span as bytes: a chunk.
//!
//! ```text
//! chunk    version u8 · length of description · description (zstd) · bodies of all records · checksum u64
//! ```
//! The description holds the columns of the files table, row after row of each, and the headers of the records.
//! The bodies are random and stay as they are.

use std::io::Read;

use memchr::memmem;
use xxhash_rust::xxh3::xxh3_64;

use super::bits::{Reader, put_varint, unzigzag, zigzag};
use super::record::{Segments, decode_first, join, split};
use super::{CODEC_VERSION, CodecError};
use crate::tables::{Files, TextColumn};

/// Largest description in bytes.
const DESCRIPTION_LIMIT: u64 = 1 << 27;
const ZSTD_LEVEL: i32 = 6;

/// Encodes chunks, one after the other, with the same work space.
pub struct ChunkEncoder {
    compressor: zstd::bulk::Compressor<'static>,
    description: Vec<u8>,
    headers: Vec<u8>,
}

impl ChunkEncoder {
    /// An encoder with empty work space.
    ///
    /// # Errors
    /// [`CodecError::Compression`] when there is no memory for a compressor.
    pub fn new() -> Result<Self, CodecError> {
        Ok(Self {
            compressor: zstd::bulk::Compressor::new(ZSTD_LEVEL)
                .map_err(|_| CodecError::Compression)?,
            description: Vec::new(),
            headers: Vec::new(),
        })
    }

    /// The chunk of these rows of `files`, whose records are `payloads` (one for each row of `rows`).
    ///
    /// The chunk is decoded and compared before this returns.
    ///
    /// # Errors
    /// [`CodecError`] when a payload is no whole record, when there are too many files for one chunk, or when
    /// the chunk would not give them back.
    pub fn encode(
        &mut self,
        files: &Files,
        rows: &[usize],
        payloads: &[&[u8]],
    ) -> Result<Vec<u8>, CodecError> {
        if rows.len() != payloads.len() {
            return Err(CodecError::Malformed("other numbers of files and payloads"));
        }
        let parts = payloads
            .iter()
            .map(|payload| split(payload))
            .collect::<Result<Vec<_>, _>>()?;
        self.description.clear();
        self.headers.clear();
        write_columns(files, rows, &parts, &mut self.description)?;
        for (header, body) in &parts {
            put_varint(&mut self.description, header.len() as u64);
            put_varint(&mut self.description, body.len() as u64);
            self.headers.extend_from_slice(header);
        }
        self.description.extend_from_slice(&self.headers);
        if self.description.len() as u64 > DESCRIPTION_LIMIT {
            return Err(CodecError::Malformed("too many files for one chunk"));
        }
        let compressed = self
            .compressor
            .compress(&self.description)
            .map_err(|_| CodecError::Compression)?;
        let bodies: usize = parts.iter().map(|(_, body)| body.len()).sum();
        let mut out = Vec::with_capacity(compressed.len() + bodies + 16);
        out.push(CODEC_VERSION);
        put_varint(&mut out, compressed.len() as u64);
        out.extend_from_slice(&compressed);
        for (_, body) in &parts {
            out.extend_from_slice(body);
        }
        let checksum = xxh3_64(&out);
        out.extend_from_slice(&checksum.to_le_bytes());
        let decoded = decode_chunk(&out)?;
        if is_equal(&decoded, files, rows, payloads) {
            Ok(out)
        } else {
            Err(CodecError::Unfaithful)
        }
    }
}

fn write_columns(
    files: &Files,
    rows: &[usize],
    parts: &[(&[u8], &[u8])],
    out: &mut Vec<u8>,
) -> Result<(), CodecError> {
    put_varint(out, rows.len() as u64);
    for &row in rows {
        out.extend_from_slice(&files.file_key[row].to_le_bytes());
    }
    for &row in rows {
        put_varint(out, files.base_key[row] ^ files.file_key[row]);
        put_varint(out, u64::from(files.generation[row]));
    }
    for &row in rows {
        write_text(files.subject.get(row), out);
    }
    for column in [&files.name, &files.head, &files.tail, &files.request] {
        for &row in rows {
            write_part_of(column.get(row), files.subject.get(row), out);
        }
    }
    for column in [&files.poster, &files.group, &files.groups] {
        let mut before = None;
        for &row in rows {
            write_repeated(column.get(row), &mut before, out);
        }
    }
    let mut id = Segments::default();
    for (&row, (header, body)) in rows.iter().zip(parts) {
        id.clear();
        decode_first(header, body, &mut id)?;
        let first = if id.is_empty() { &[] } else { id.get(0).id };
        let text = crate::text::to_utf8(first);
        let own = files.first_message_id.get(row);
        put_varint(out, u64::from(own != text));
        if own != text {
            write_text(own, out);
        }
    }
    let mut before = Before::default();
    for &row in rows {
        let optional = |value: Option<u32>| value.map_or(0, |value| u64::from(value) + 1);
        put_varint(out, optional(files.file_index[row]));
        put_varint(out, optional(files.file_total[row]));
        put_varint(out, u64::from(files.parts_total[row]));
        put_varint(out, u64::from(files.parts_found[row]));
        put_varint(out, files.size_bytes[row]);
        put_varint(out, u64::from(files.flags[row]));
        let (first, last) = (files.first_posted_at[row], files.last_posted_at[row]);
        put_varint(
            out,
            u64::from(files.poster_constant[row])
                | u64::from(files.is_fragment[row]) << 1
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
        put_varint(out, distance(files.first_number[row], before.number));
        before.number = files.first_number[row];
        put_varint(
            out,
            distance(files.last_number[row], files.first_number[row]),
        );
        put_varint(out, distance(files.first_number[row], files.reach_low[row]));
        put_varint(out, distance(files.reach_high[row], files.last_number[row]));
    }
    Ok(())
}

/// What numbers of a row are told from: those of the row before.
#[derive(Default)]
struct Before {
    posted: i64,
    number: u64,
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
    if let Some(at) = memmem::find(whole.as_bytes(), text.as_bytes()) {
        put_varint(out, (at as u64) << 1 | 1);
        put_varint(out, text.len() as u64);
    } else {
        put_varint(out, (text.len() as u64) << 1);
        out.extend_from_slice(text.as_bytes());
    }
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
    match reader.byte()? {
        CODEC_VERSION => {}
        other => return Err(CodecError::Version(other)),
    }
    let len = reader.count(content.len())?;
    let compressed = reader.bytes(len)?;
    let bodies = reader.rest();
    let mut description = Vec::new();
    zstd::stream::read::Decoder::with_buffer(compressed)
        .and_then(|decoder| {
            decoder
                .single_frame()
                .take(DESCRIPTION_LIMIT)
                .read_to_end(&mut description)
        })
        .map_err(|_| CodecError::Compression)?;
    read_files(&description, bodies)
}

fn read_files(description: &[u8], bodies: &[u8]) -> Result<Files, CodecError> {
    let mut reader = Reader::new(description);
    // A row takes at least the eight bytes of its key.
    let rows = reader.count(description.len() / 8)?;
    let mut files = Files::default();
    for key in reader.bytes(rows * 8)?.chunks_exact(8) {
        files
            .file_key
            .push(u64::from_le_bytes(key.try_into().unwrap_or_default()));
    }
    for row in 0..rows {
        files.base_key.push(reader.varint()? ^ files.file_key[row]);
        let generation = u16::try_from(reader.varint()?)
            .map_err(|_| CodecError::Malformed("a generation of more than 16 bits"))?;
        files.generation.push(generation);
    }
    for _ in 0..rows {
        files.subject.push(read_text(&mut reader)?);
    }
    let subject = std::mem::take(&mut files.subject);
    for column in [
        &mut files.name,
        &mut files.head,
        &mut files.tail,
        &mut files.request,
    ] {
        for row in 0..rows {
            column.push(read_part_of(&mut reader, subject.get(row))?);
        }
    }
    files.subject = subject;
    for column in [&mut files.poster, &mut files.group, &mut files.groups] {
        let mut before = None;
        for _ in 0..rows {
            column.push(read_repeated(&mut reader, &mut before)?);
        }
    }
    let mut ids: Vec<Option<&str>> = Vec::new();
    for _ in 0..rows {
        ids.push(match reader.varint()? {
            0 => None,
            _ => Some(read_text(&mut reader)?),
        });
    }
    let mut before = Before::default();
    for _ in 0..rows {
        read_numbers(&mut reader, &mut files, &mut before)?;
    }
    let mut lengths = Vec::new();
    for _ in 0..rows {
        lengths.push((
            reader.count(description.len())?,
            reader.count(bodies.len())?,
        ));
    }
    read_records(&mut files, &lengths, &ids, reader, Reader::new(bodies))?;
    Ok(files)
}

fn read_records(
    files: &mut Files,
    lengths: &[(usize, usize)],
    ids: &[Option<&str>],
    mut headers: Reader<'_>,
    mut bodies: Reader<'_>,
) -> Result<(), CodecError> {
    let mut record = Vec::new();
    let mut first = Segments::default();
    for ((header_len, body_len), id) in lengths.iter().zip(ids) {
        let header = headers.bytes(*header_len)?;
        let body = bodies.bytes(*body_len)?;
        record.clear();
        join(header, body, &mut record);
        files.payload.push(files.payloads.push(&record));
        if let Some(id) = id {
            files.first_message_id.push(id);
            continue;
        }
        first.clear();
        decode_first(header, body, &mut first)?;
        let id = if first.is_empty() {
            &[]
        } else {
            first.get(0).id
        };
        files.first_message_id.push(&crate::text::to_utf8(id));
    }
    if headers.rest().is_empty() && bodies.rest().is_empty() {
        Ok(())
    } else {
        Err(CodecError::Malformed("more than its files"))
    }
}

fn read_numbers(
    reader: &mut Reader<'_>,
    files: &mut Files,
    before: &mut Before,
) -> Result<(), CodecError> {
    let mut optional = || -> Result<Option<u32>, CodecError> {
        match reader.varint()?.checked_sub(1) {
            None => Ok(None),
            Some(value) => u32::try_from(value)
                .map(Some)
                .map_err(|_| CodecError::Malformed("an integer of more than 32 bits")),
        }
    };
    files.file_index.push(optional()?);
    files.file_total.push(optional()?);
    files.parts_total.push(reader.varint32()?);
    files.parts_found.push(reader.varint32()?);
    files.size_bytes.push(reader.varint()?);
    files.flags.push(reader.varint32()?);
    let bits = reader.varint()?;
    files.poster_constant.push(bits & 1 != 0);
    files.is_fragment.push(bits & 2 != 0);
    let mut first = None;
    if bits & 4 != 0 {
        before.posted = before.posted.wrapping_add(unzigzag(reader.varint()?));
        first = Some(before.posted);
    }
    files.first_posted_at.push(first);
    files.last_posted_at.push(match bits & 8 {
        0 => None,
        _ => Some(before.posted.wrapping_add(unzigzag(reader.varint()?))),
    });
    let mut distance = || reader.varint().map(|value| unzigzag(value).cast_unsigned());
    before.number = before.number.wrapping_add(distance()?);
    let last = before.number.wrapping_add(distance()?);
    files.first_number.push(before.number);
    files.last_number.push(last);
    files
        .reach_low
        .push(before.number.wrapping_sub(distance()?));
    files.reach_high.push(last.wrapping_add(distance()?));
    Ok(())
}

fn read_text<'a>(reader: &mut Reader<'a>) -> Result<&'a str, CodecError> {
    let len = reader.count(reader.rest().len())?;
    text(reader.bytes(len)?)
}

fn read_part_of<'b, 'a: 'b>(
    reader: &mut Reader<'a>,
    whole: &'b str,
) -> Result<&'b str, CodecError> {
    let code = reader.varint()?;
    if code & 1 == 0 {
        let len = usize::try_from(code >> 1).map_err(|_| CodecError::Truncated)?;
        return text(reader.bytes(len)?);
    }
    let len = reader.count(whole.len())?;
    usize::try_from(code >> 1)
        .ok()
        .and_then(|at| whole.get(at..at.checked_add(len)?))
        .ok_or(CodecError::Malformed("a place outside its subject"))
}

fn read_repeated<'a>(
    reader: &mut Reader<'a>,
    before: &mut Option<&'a str>,
) -> Result<&'a str, CodecError> {
    let code = reader.varint()?;
    if let Some(len) = code.checked_sub(1) {
        let len = usize::try_from(len).map_err(|_| CodecError::Truncated)?;
        *before = Some(text(reader.bytes(len)?)?);
    }
    before.ok_or(CodecError::Malformed("a repetition of nothing"))
}

fn text(bytes: &[u8]) -> Result<&str, CodecError> {
    std::str::from_utf8(bytes).map_err(|_| CodecError::Malformed("a text that is not UTF-8"))
}

/// Whether `decoded` is exactly these rows.
fn is_equal(decoded: &Files, files: &Files, rows: &[usize], payloads: &[&[u8]]) -> bool {
    fn same<T: PartialEq>(decoded: &[T], column: &[T], rows: &[usize]) -> bool {
        decoded.len() == rows.len()
            && decoded
                .iter()
                .zip(rows)
                .all(|(value, row)| *value == column[*row])
    }
    let same_text = |decoded: &TextColumn, column: &TextColumn| {
        decoded.len() == rows.len()
            && decoded
                .iter()
                .zip(rows)
                .all(|(value, row)| value == column.get(*row))
    };
    same(&decoded.file_key, &files.file_key, rows)
        && same(&decoded.base_key, &files.base_key, rows)
        && same(&decoded.generation, &files.generation, rows)
        && same_text(&decoded.subject, &files.subject)
        && same_text(&decoded.name, &files.name)
        && same_text(&decoded.head, &files.head)
        && same_text(&decoded.tail, &files.tail)
        && same_text(&decoded.request, &files.request)
        && same(&decoded.file_index, &files.file_index, rows)
        && same(&decoded.file_total, &files.file_total, rows)
        && same(&decoded.parts_total, &files.parts_total, rows)
        && same(&decoded.parts_found, &files.parts_found, rows)
        && same(&decoded.size_bytes, &files.size_bytes, rows)
        && same_text(&decoded.poster, &files.poster)
        && same(&decoded.poster_constant, &files.poster_constant, rows)
        && same_text(&decoded.group, &files.group)
        && same_text(&decoded.groups, &files.groups)
        && same(&decoded.first_posted_at, &files.first_posted_at, rows)
        && same(&decoded.last_posted_at, &files.last_posted_at, rows)
        && same(&decoded.first_number, &files.first_number, rows)
        && same(&decoded.last_number, &files.last_number, rows)
        && same_text(&decoded.first_message_id, &files.first_message_id)
        && same(&decoded.flags, &files.flags, rows)
        && same(&decoded.is_fragment, &files.is_fragment, rows)
        && same(&decoded.reach_low, &files.reach_low, rows)
        && same(&decoded.reach_high, &files.reach_high, rows)
        && decoded
            .payload
            .iter()
            .zip(payloads)
            .all(|(stored, payload)| decoded.payloads.get(*stored) == *payload)
}
