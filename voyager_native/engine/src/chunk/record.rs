//! The segments of one file as bytes.
//!
//! ```text
//! record   version u8 · header length · header · body · checksum u32
//! header   segments << 2 | mode of the parts · first part · parts · sizes · families · choice of family per segment
//! body     per segment: digits of size and id in lanes, then characters of varying length
//! ```
//! Integers are little endian groups of seven bits. The header describes, the body holds what is random:
//! nothing in the body gets smaller by compression.

use xxhash_rust::xxh3::xxh3_64;

use super::bits::{BitReader, BitWriter, Reader, put_varint};
use super::coder::{Coder, Scratch, Sink};
use super::column::{Column, Listed};
use super::lanes::width_of;
use super::pieces::{Family, LONGEST_ID};
use super::plan::{Planner, shape_of};
use super::{CODEC_VERSION, CodecError};

/// One article of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'a> {
    /// Part number.
    pub part: u32,
    /// Size of the article in bytes as the overview gives it; 0 when unknown.
    pub size: u32,
    /// Message-id without angle brackets, 1 to 255 bytes.
    pub id: &'a [u8],
}

/// Segments in columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segments {
    parts: Vec<u32>,
    sizes: Vec<u32>,
    ids: Vec<u8>,
    ends: Vec<usize>,
}

impl Segments {
    /// Number of segments.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no segment.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The segment at `index`.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn get(&self, index: usize) -> Segment<'_> {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        Segment {
            part: self.parts[index],
            size: self.sizes[index],
            id: &self.ids[start..self.ends[index]],
        }
    }

    /// All segments in order.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Segment<'_>> {
        (0..self.len()).map(|index| self.get(index))
    }

    /// Appends a segment.
    pub fn push(&mut self, segment: Segment<'_>) {
        self.parts.push(segment.part);
        self.sizes.push(segment.size);
        self.ids.extend_from_slice(segment.id);
        self.ends.push(self.ids.len());
    }

    /// Takes all segments out and keeps the memory.
    pub fn clear(&mut self) {
        self.parts.clear();
        self.sizes.clear();
        self.ids.clear();
        self.ends.clear();
    }
}

/// Most families of one record.
const MOST_FAMILIES: usize = 16;
/// Families that are looked for before the rest is stored without knowledge.
const SOUGHT_FAMILIES: usize = 8;

const CONSECUTIVE: u64 = 0;
const BITMAP: u64 = 1;
const GAPS: u64 = 2;

/// Encodes files, one after the other, with the same work space.
#[derive(Debug, Default)]
pub struct Encoder {
    planner: Planner,
    writer: BitWriter,
    scratch: Option<Box<Scratch>>,
    header: Vec<u8>,
    sizes: Vec<i64>,
    sorted: Vec<i64>,
}

impl Encoder {
    /// An encoder with empty work space.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends the record of `segments`, ascending by part, to `out`.
    ///
    /// The record is decoded and compared before this returns.
    ///
    /// # Errors
    /// [`CodecError::Unsorted`] when the parts do not ascend, [`CodecError::IdLength`] when an id has no or
    /// more than 255 bytes, [`CodecError::Unfaithful`] when the record would not give the segments back.
    pub fn encode(
        &mut self,
        segments: &[Segment<'_>],
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        if !segments.is_sorted_by(|left, right| left.part < right.part) {
            return Err(CodecError::Unsorted);
        }
        if segments
            .iter()
            .any(|segment| !(1..=LONGEST_ID).contains(&segment.id.len()))
        {
            return Err(CodecError::IdLength);
        }
        let start = out.len();
        for is_exact in [false, true] {
            self.planner.is_exact = is_exact;
            let (families, choices) = self.families(segments);
            if self.write(segments, &families, &choices, out).is_ok()
                && Self::is_faithful(segments, &out[start..])
            {
                return Ok(());
            }
            out.truncate(start);
        }
        let family = self.planner.fallback(segments);
        self.write(segments, &[family], &[], out)?;
        if Self::is_faithful(segments, &out[start..]) {
            return Ok(());
        }
        out.truncate(start);
        Err(CodecError::Unfaithful)
    }

    /// Whether the record decodes to these segments.
    fn is_faithful(segments: &[Segment<'_>], record: &[u8]) -> bool {
        let Ok((header, body)) = split(record) else {
            return false;
        };
        let mut parts = Vec::with_capacity(segments.len());
        let mut compare = Compare {
            rest: segments.first().map_or(&[], |segment| segment.id),
            segments: segments.iter(),
            is_same: true,
        };
        decode_some(header, body, usize::MAX, &mut parts, &mut compare).is_ok()
            && compare.is_same
            && compare.segments.next().is_none()
            && parts.len() == segments.len()
            && parts
                .iter()
                .zip(segments)
                .all(|(part, segment)| *part == segment.part)
    }

    /// The families of the ids, and which of them each id belongs to: nothing when there is but one.
    fn families(&mut self, rows: &[Segment<'_>]) -> (Vec<Family>, Vec<u8>) {
        if rows.is_empty() {
            return (Vec::new(), Vec::new());
        }
        if let Some(family) = self.planner.family(rows) {
            return (vec![family], Vec::new());
        }
        let mut choices = vec![0; rows.len()];
        let mut groups: Vec<(u64, Vec<usize>)> = Vec::new();
        for (index, row) in rows.iter().enumerate() {
            let shape = shape_of(row.id);
            if let Some(group) = groups.iter_mut().find(|group| group.0 == shape) {
                group.1.push(index);
            } else if groups.len() < 4 * SOUGHT_FAMILIES {
                // Ids without any common form make groups of one each: more are not worth looking at.
                groups.push((shape, vec![index]));
            }
        }
        groups.sort_by_key(|(_, group)| (usize::MAX - group.len(), group[0]));
        let mut families = Vec::new();
        let mut settled = vec![false; rows.len()];
        for (_, group) in groups.iter().take(SOUGHT_FAMILIES) {
            let members: Vec<Segment<'_>> = group.iter().map(|index| rows[*index]).collect();
            if let (2.., Some(family)) = (members.len(), self.planner.family(&members)) {
                for index in group {
                    choices[*index] = families.len() as u8;
                    settled[*index] = true;
                }
                families.push(family);
            }
        }
        let rest: Vec<Segment<'_>> = rows
            .iter()
            .zip(&settled)
            .filter(|(_, settled)| !**settled)
            .map(|(row, _)| *row)
            .collect();
        if !rest.is_empty() {
            for (choice, settled) in choices.iter_mut().zip(&settled) {
                if !settled {
                    *choice = families.len() as u8;
                }
            }
            families.push(self.planner.fallback(&rest));
        }
        (families, choices)
    }

    fn write(
        &mut self,
        segments: &[Segment<'_>],
        families: &[Family],
        choices: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        self.sizes.clear();
        self.sizes
            .extend(segments.iter().map(|segment| i64::from(segment.size)));
        let (sizes, _) = Column::plan(&self.sizes, None, &mut self.sorted);
        self.header.clear();
        write_parts(segments, &mut self.header);
        if !segments.is_empty() {
            sizes.write(&mut self.header);
            put_varint(&mut self.header, families.len() as u64);
            for family in families {
                family.write(&mut self.header);
            }
            let width = width_of(families.len() as u64);
            if width > 0 {
                self.writer.clear();
                for choice in choices {
                    self.writer.put(u64::from(*choice), width);
                }
                self.header.extend_from_slice(self.writer.finish());
            }
        }
        self.writer.clear();
        let mut coders: Vec<Coder<'_>> = families
            .iter()
            .map(|family| Coder::new(family, &sizes))
            .collect();
        let widest = coders.iter().map(Coder::width).max().unwrap_or(0);
        self.writer
            .reserve(u64::from(widest) * segments.len() as u64);
        let scratch = self.scratch.get_or_insert_with(|| Box::new(Scratch::new()));
        if let [coder] = &mut coders[..] {
            coder.put(segments, scratch, &mut self.writer)?;
        } else {
            for (segment, choice) in segments.chunks(1).zip(choices) {
                coders[usize::from(*choice)].put(segment, scratch, &mut self.writer)?;
            }
        }
        join(&self.header, self.writer.finish(), out);
        Ok(())
    }
}

/// Which parts there are: the count and the first, then nothing, a bit each, or gaps, whatever is least.
fn write_parts(segments: &[Segment<'_>], out: &mut Vec<u8>) {
    let count = segments.len() as u64;
    let (Some(first), Some(last)) = (segments.first(), segments.last()) else {
        out.push(0);
        return;
    };
    let span = u64::from(last.part - first.part) + 1;
    let mut gaps = Vec::new();
    if span > count {
        for pair in segments.windows(2) {
            put_varint(&mut gaps, u64::from(pair[1].part - pair[0].part) - 1);
        }
    }
    let mode = if span == count {
        CONSECUTIVE
    } else if span.div_ceil(8) < gaps.len() as u64 {
        BITMAP
    } else {
        GAPS
    };
    put_varint(out, count << 2 | mode);
    put_varint(out, u64::from(first.part));
    match mode {
        BITMAP => {
            let mut bits = vec![0u8; span.div_ceil(8) as usize];
            for segment in segments {
                let at = (segment.part - first.part) as usize;
                bits[at / 8] |= 1 << (at % 8);
            }
            put_varint(out, bits.len() as u64);
            out.extend_from_slice(&bits);
        }
        GAPS => out.extend_from_slice(&gaps),
        _ => {}
    }
}

/// Reads what [`write_parts`] wrote, for at most `most` segments.
fn read_parts(
    reader: &mut Reader<'_>,
    most: usize,
    parts: &mut Vec<u32>,
) -> Result<usize, CodecError> {
    let head = reader.varint()?;
    let count = usize::try_from(head >> 2)
        .ok()
        .filter(|count| *count <= most)
        .ok_or(CodecError::Malformed("more segments than bits"))?;
    if count == 0 {
        return Ok(0);
    }
    let first = reader.varint32()?;
    let mut push = |distance: u64| {
        let part = u32::try_from(u64::from(first).saturating_add(distance))
            .map_err(|_| CodecError::Malformed("a part number of more than 32 bits"))?;
        parts.push(part);
        Ok(())
    };
    match head & 3 {
        CONSECUTIVE => (0..count as u64).try_for_each(push)?,
        BITMAP => {
            let len = reader.count(reader.rest().len())?;
            let bits = reader.bytes(len)?;
            let set: u64 = bits.iter().map(|byte| u64::from(byte.count_ones())).sum();
            if set != count as u64 {
                return Err(CodecError::Malformed(
                    "a count that is not that of its parts",
                ));
            }
            for (at, byte) in (0..).step_by(8).zip(bits) {
                (0..8)
                    .filter(|bit| byte >> bit & 1 == 1)
                    .try_for_each(|bit| push(at + bit))?;
            }
        }
        GAPS => {
            let mut distance = 0u64;
            push(distance)?;
            for _ in 1..count {
                distance = distance.saturating_add(reader.varint()?).saturating_add(1);
                push(distance)?;
            }
        }
        _ => return Err(CodecError::Malformed("an unknown mode of parts")),
    }
    Ok(count)
}

/// The segments of a record.
///
/// # Errors
/// [`CodecError`] when `record` is no whole record of a known version.
pub fn decode(record: &[u8]) -> Result<Segments, CodecError> {
    let mut segments = Segments::default();
    decode_into(record, &mut segments)?;
    Ok(segments)
}

/// [`decode`] that appends to `segments`; what was appended before an error is of no use.
pub(super) fn decode_into(record: &[u8], segments: &mut Segments) -> Result<(), CodecError> {
    let (header, body) = split(record)?;
    decode_parts(header, body, segments)
}

/// The header and the body of a record, once its version and checksum are right.
pub(super) fn split(record: &[u8]) -> Result<(&[u8], &[u8]), CodecError> {
    let (content, checksum) = record
        .split_last_chunk::<4>()
        .ok_or(CodecError::Truncated)?;
    if xxh3_64(content) as u32 != u32::from_le_bytes(*checksum) {
        return Err(CodecError::Checksum);
    }
    let mut reader = Reader::new(content);
    match reader.byte()? {
        CODEC_VERSION => {}
        other => return Err(CodecError::Version(other)),
    }
    let len = reader.count(content.len())?;
    Ok((reader.bytes(len)?, reader.rest()))
}

/// Appends the record that has this header and body.
pub(super) fn join(header: &[u8], body: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.push(CODEC_VERSION);
    put_varint(out, header.len() as u64);
    out.extend_from_slice(header);
    out.extend_from_slice(body);
    let checksum = xxh3_64(&out[start..]) as u32;
    out.extend_from_slice(&checksum.to_le_bytes());
}

/// Decodes a header and a body of the current version.
fn decode_parts(header: &[u8], body: &[u8], segments: &mut Segments) -> Result<(), CodecError> {
    decode_up_to(header, body, usize::MAX, segments)
}

/// Decodes the first segment of a header and a body, if there is one.
pub(super) fn decode_first(
    header: &[u8],
    body: &[u8],
    segments: &mut Segments,
) -> Result<(), CodecError> {
    decode_up_to(header, body, 1, segments)
}

fn decode_up_to(
    header: &[u8],
    body: &[u8],
    wanted: usize,
    segments: &mut Segments,
) -> Result<(), CodecError> {
    let Segments {
        parts,
        sizes,
        ids,
        ends,
    } = segments;
    let mut collect = Collect {
        sizes,
        ids,
        ends,
        is_beyond: false,
    };
    decode_some(header, body, wanted, parts, &mut collect)?;
    parts.truncate(collect.ends.len());
    if collect.is_beyond {
        return Err(CodecError::Malformed("a size of more than 32 bits"));
    }
    Ok(())
}

/// Keeps what is decoded.
struct Collect<'a> {
    sizes: &'a mut Vec<u32>,
    ids: &'a mut Vec<u8>,
    ends: &'a mut Vec<usize>,
    is_beyond: bool,
}

impl Sink for Collect<'_> {
    #[inline]
    fn push(&mut self, bytes: &[u8]) {
        self.ids.extend_from_slice(bytes);
    }

    #[inline]
    fn end(&mut self, size: i64) {
        let size = u32::try_from(size);
        self.is_beyond |= size.is_err();
        self.sizes.push(size.unwrap_or(0));
        self.ends.push(self.ids.len());
    }
}

/// Compares what is decoded with what it should be.
struct Compare<'a> {
    /// From the current segment on.
    segments: std::slice::Iter<'a, Segment<'a>>,
    /// What is left of the id of the current segment.
    rest: &'a [u8],
    is_same: bool,
}

impl Sink for Compare<'_> {
    #[inline]
    fn push(&mut self, bytes: &[u8]) {
        match self.rest.split_at_checked(bytes.len()) {
            Some((found, rest)) => {
                self.is_same &= found == bytes;
                self.rest = rest;
            }
            None => self.is_same = false,
        }
    }

    #[inline]
    fn end(&mut self, size: i64) {
        let is_right = |segment: &Segment<'_>| i64::from(segment.size) == size;
        self.is_same &= self.rest.is_empty() && self.segments.next().is_some_and(is_right);
        self.rest = self
            .segments
            .as_slice()
            .first()
            .map_or(&[], |segment| segment.id);
    }
}

/// Puts listed sizes in the place of coded ones.
struct Listing<'a, S> {
    sink: &'a mut S,
    listed: Listed<'a>,
    row: u32,
}

impl<S: Sink> Sink for Listing<'_, S> {
    #[inline]
    fn push(&mut self, bytes: &[u8]) {
        self.sink.push(bytes);
    }

    #[inline]
    fn end(&mut self, size: i64) {
        self.sink.end(self.listed.at(self.row).unwrap_or(size));
        self.row += 1;
    }
}

/// Gives at most `wanted` segments of a header and a body to `sink`; appends all part numbers to `parts`.
fn decode_some(
    header: &[u8],
    body: &[u8],
    wanted: usize,
    parts: &mut Vec<u32>,
    sink: &mut impl Sink,
) -> Result<(), CodecError> {
    let mut reader = Reader::new(header);
    // Every segment has at least one bit in the body, so the body bounds what is allocated.
    let most = body.len().saturating_mul(8);
    let start = parts.len();
    let count = read_parts(&mut reader, most, parts)?;
    if count == 0 {
        return Ok(());
    }
    let sizes = Column::read(&mut reader, count)?;
    let family_count = reader.count(MOST_FAMILIES)?;
    if family_count == 0 {
        return Err(CodecError::Malformed("segments without a family"));
    }
    let families = (0..family_count)
        .map(|_| Family::read(&mut reader, count))
        .collect::<Result<Vec<_>, _>>()?;
    let mut choices = BitReader::new(reader.rest());
    let width = width_of(family_count as u64);
    let mut coders: Vec<Coder<'_>> = families
        .iter()
        .map(|family| Coder::new(family, &sizes))
        .collect();
    let mut bits = BitReader::new(body);
    let mut scratch = Scratch::new();
    let wanted = &parts[start..start + count.min(wanted)];
    let mut sink = Listing {
        sink,
        listed: sizes.listed(),
        row: 0,
    };
    if let [coder] = &mut coders[..] {
        return coder.take(wanted, &mut scratch, &mut bits, &mut sink);
    }
    for part in wanted.chunks(1) {
        let coder = coders
            .get_mut(choices.take(width)? as usize)
            .ok_or(CodecError::Malformed("an unknown family"))?;
        coder.take(part, &mut scratch, &mut bits, &mut sink)?;
    }
    Ok(())
}

/// The record of the segments of several records of one file.
///
/// Of segments with one part number the one of the earlier record stays.
///
/// # Errors
/// [`CodecError`] when one of them is no whole record.
pub fn merge<'a>(records: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<u8>, CodecError> {
    let mut all = Segments::default();
    for record in records {
        decode_into(record, &mut all)?;
    }
    let mut segments: Vec<Segment<'_>> = all.iter().collect();
    // Stable: the segments of earlier records stay first.
    segments.sort_by_key(|segment| segment.part);
    segments.dedup_by_key(|segment| segment.part);
    let mut out = Vec::new();
    Encoder::new().encode(&segments, &mut out)?;
    Ok(out)
}
