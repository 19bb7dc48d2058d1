//! The segments of one file as bytes.
//!
//! ```text
//! record   version u8 · header length · header · body · checksum u32
//! header   segments << 2 | mode of the parts · first part · parts · sizes · families · choice of family per segment
//! body     per segment: digits of size and id in lanes, then characters of varying length
//! ```
//! Integers are little endian groups of seven bits. The header describes, the body holds what is random:
//! nothing in the body gets smaller by compression.
//!
//! In version 1 sizes are digits of their segments; in version 2 they are coded by how often they are, after all
//! segments and backwards. A record is of version 2 where that is smaller.

use std::borrow::Cow;
use std::cell::RefCell;

use xxhash_rust::xxh3::xxh3_64;

use super::CodecError;
use super::bell::Bell;
use super::bits::{BitReader, BitWriter, Reader, put_varint, varint_len};
use super::checked::Checked;
use super::coder::{Coder, Sink};
use super::column::Column;
use super::lanes::width_of;
use super::layout::Scratch;
use super::lone;
use super::mixed;
use super::parts::{read_parts, write_parts};
use super::pieces::{Family, LONGEST_ID};
use super::plan::Planner;
use super::segments::{Segment, Segments};
use super::shape::shape_of;
use super::sizes::Sizes;
use super::survey::{LEAST_FOR_SOME, Look};
use super::work::Work;

/// Most families of one record.
pub(super) const MOST_FAMILIES: usize = 16;
/// Families that are looked for before the rest is stored without knowledge.
const SOUGHT_FAMILIES: usize = 8;

/// A version of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// Sizes stand with their ids.
    One = 1,
    /// Sizes stand apart.
    Two = 2,
}

impl Version {
    /// # Errors
    /// [`CodecError::Version`] when there is no such version.
    pub(super) const fn of(number: u8) -> Result<Self, CodecError> {
        match number {
            1 => Ok(Self::One),
            2 => Ok(Self::Two),
            other => Err(CodecError::Version(other)),
        }
    }
}

/// A record, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parts<'a> {
    pub(super) version: Version,
    pub(super) header: &'a [u8],
    pub(super) body: &'a [u8],
}

impl Parts<'_> {
    /// Length of the record.
    pub(super) const fn len(&self) -> usize {
        1 + varint_len(self.header.len() as u64) + self.header.len() + self.body.len() + 4
    }
}

/// Encodes files, one after the other, with the same work space.
#[derive(Debug, Default)]
pub struct Encoder {
    planner: Planner,
    writer: BitWriter,
    scratch: Option<Box<Scratch>>,
    /// Writes sizes that are coded apart.
    tail: BitWriter,
    header: Vec<u8>,
    body: Vec<u8>,
    sizes: Vec<i64>,
    sorted: Vec<i64>,
    /// Sizes as they come back.
    sizes_back: Vec<i64>,
    /// Part numbers as they come back.
    parts: Vec<u32>,
}

impl Encoder {
    /// An encoder with empty work space.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends the record of `segments`, ascending by part, to `out`.
    ///
    /// Before this returns it is proven that the record gives the segments back: its header is read again and
    /// compared, and so are the segments as their bits give them.
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
        if let [segment] = segments {
            self.header.clear();
            self.body.clear();
            let version = lone::write(segment, &mut self.header, &mut self.body);
            let parts = Parts {
                version,
                header: &self.header,
                body: &self.body,
            };
            join(&parts, out);
            let (record, mut id) = (split(&out[start..]), Vec::new());
            if record.is_ok_and(|parts| lone::read(&parts, &mut id) == Some(*segment)) {
                return Ok(());
            }
            out.truncate(start);
        }
        for look in [Look::Some, Look::All, Look::Exact] {
            if look == Look::Some && segments.len() < LEAST_FOR_SOME {
                continue;
            }
            self.planner.look = look;
            let (families, choices) = self.families(segments);
            if self.write(segments, &families, &choices, out).is_ok() {
                return Ok(());
            }
        }
        let family = self.planner.fallback(segments);
        self.write(segments, &[family], &[], out)
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

    /// Appends the record with these families, once it is proven to give the segments back.
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
        let sizes = match Bell::plan(&self.sizes) {
            Some(bell) => Sizes::Bell(bell),
            None => Sizes::Column(Column::plan(&self.sizes, None, &mut self.sorted).0),
        };
        let version = sizes.version();
        let work = Work {
            segments,
            sizes: &sizes,
            families,
            choices,
        };
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
        let scratch = self.scratch.get_or_insert_with(|| Box::new(Scratch::new()));
        let checked: Option<Vec<Checked<'_>>> = families
            .iter()
            .map(|family| Checked::new(family, sizes.column(), scratch))
            .collect();
        let is_checked = if let Some(mut coders) = checked {
            work.put_checked(&mut coders, scratch, &mut self.writer)?;
            true
        } else {
            work.put(scratch, &mut self.writer)?;
            false
        };
        self.body.clear();
        self.body.extend_from_slice(self.writer.finish());
        if let Sizes::Bell(bell) = &sizes {
            self.tail.clear();
            bell.put(&self.sizes, &mut self.tail);
            self.body.extend(self.tail.finish().iter().rev());
        }
        let parts = Parts {
            version,
            header: &self.header,
            body: &self.body,
        };
        self.parts.clear();
        let is_faithful = if is_checked {
            sizes.give_back(&self.sizes, &self.body, &mut self.sizes_back)
                && work.is_described(&parts, &mut self.parts)
        } else {
            work.comes_back(&parts, &mut self.parts, scratch)
        };
        if !is_faithful {
            return Err(CodecError::Unfaithful);
        }
        join(&parts, out);
        Ok(())
    }
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
///
/// # Errors
/// As [`decode`].
pub fn decode_into(record: &[u8], segments: &mut Segments) -> Result<(), CodecError> {
    decode_up_to(&split(record)?, usize::MAX, segments)
}

/// The message-id of a record of one segment; none of other records, and maybe none of some of these.
pub(crate) fn lone_id(record: &[u8]) -> Option<Cow<'_, [u8]>> {
    let parts = split(record).ok()?;
    lone::id(&parts)
}

/// Takes a record apart, once its version and checksum are right.
pub(super) fn split(record: &[u8]) -> Result<Parts<'_>, CodecError> {
    let (content, checksum) = record
        .split_last_chunk::<4>()
        .ok_or(CodecError::Truncated)?;
    if xxh3_64(content) as u32 != u32::from_le_bytes(*checksum) {
        return Err(CodecError::Checksum);
    }
    let mut reader = Reader::new(content);
    let version = Version::of(reader.byte()?)?;
    let len = reader.count(content.len())?;
    Ok(Parts {
        version,
        header: reader.bytes(len)?,
        body: reader.rest(),
    })
}

/// Appends the record that consists of these parts.
pub(super) fn join(parts: &Parts<'_>, out: &mut Vec<u8>) {
    let start = out.len();
    out.push(parts.version as u8);
    put_varint(out, parts.header.len() as u64);
    out.extend_from_slice(parts.header);
    out.extend_from_slice(parts.body);
    let checksum = xxh3_64(&out[start..]) as u32;
    out.extend_from_slice(&checksum.to_le_bytes());
}

/// Decodes the first segment of a record, if there is one.
pub(super) fn decode_first(parts: &Parts<'_>, segments: &mut Segments) -> Result<(), CodecError> {
    decode_up_to(parts, 1, segments)
}

thread_local! {
    /// Work space of decoding: clearing it for every record would take longer than a short record does.
    static SCRATCH: RefCell<Box<Scratch>> = RefCell::new(Box::new(Scratch::new()));
}

fn decode_up_to(
    record: &Parts<'_>,
    wanted: usize,
    segments: &mut Segments,
) -> Result<(), CodecError> {
    let mut id = Vec::new();
    if let (1.., Some(segment)) = (wanted, lone::read(record, &mut id)) {
        segments.push(segment);
        return Ok(());
    }
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
    SCRATCH.with_borrow_mut(|scratch| decode_some(record, wanted, parts, scratch, &mut collect))?;
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

/// Puts sizes in the place of those that stand with the ids.
struct Replacing<'a, S, F> {
    sink: &'a mut S,
    /// The size of the next segment, from what stands with its id.
    size_of: F,
}

impl<S: Sink, F: FnMut(i64) -> i64> Sink for Replacing<'_, S, F> {
    #[inline]
    fn push(&mut self, bytes: &[u8]) {
        self.sink.push(bytes);
    }

    #[inline]
    fn end(&mut self, size: i64) {
        self.sink.end((self.size_of)(size));
    }
}

/// What the header of a record says, but for the parts.
pub(super) struct Header<'a> {
    pub(super) count: usize,
    pub(super) sizes: Sizes,
    pub(super) families: Vec<Family>,
    pub(super) choices: BitReader<'a>,
}

impl<'a> Header<'a> {
    /// Reads a header; appends at least the first `wanted` part numbers to `parts`.
    pub(super) fn read(
        record: &Parts<'a>,
        wanted: usize,
        parts: &mut Vec<u32>,
    ) -> Result<Self, CodecError> {
        let mut reader = Reader::new(record.header);
        // Every segment has at least one bit in the body, so the body bounds what is allocated.
        let most = record.body.len().saturating_mul(8);
        let count = read_parts(&mut reader, most, wanted, parts)?;
        if count == 0 {
            return Ok(Self {
                count,
                sizes: Sizes::Column(Column::default()),
                families: Vec::new(),
                choices: BitReader::new(&[]),
            });
        }
        if record.version == Version::Two && count == 1 {
            return Err(CodecError::Malformed("one segment in another form"));
        }
        let sizes = Sizes::read(record.version, &mut reader, count)?;
        let family_count = reader.count(MOST_FAMILIES)?;
        if family_count == 0 {
            return Err(CodecError::Malformed("segments without a family"));
        }
        Ok(Self {
            count,
            sizes,
            families: (0..family_count)
                .map(|_| Family::read(&mut reader, count))
                .collect::<Result<_, _>>()?,
            choices: BitReader::new(reader.rest()),
        })
    }
}

/// Gives at most `wanted` segments of a record to `sink`; appends at least their part numbers to `parts`.
pub(super) fn decode_some(
    record: &Parts<'_>,
    wanted: usize,
    parts: &mut Vec<u32>,
    scratch: &mut Scratch,
    sink: &mut impl Sink,
) -> Result<(), CodecError> {
    let start = parts.len();
    let Header {
        count,
        sizes,
        families,
        mut choices,
    } = Header::read(record, wanted, parts)?;
    if count == 0 {
        return Ok(());
    }
    let family_count = families.len();
    let width = width_of(family_count as u64);
    let mut coders: Vec<Coder<'_>> = families
        .iter()
        .map(|family| {
            let column = sizes.column();
            Coder::new(family, column, count.min(wanted), family_count, scratch)
        })
        .collect();
    let mut bits = BitReader::new(record.body);
    let wanted = &parts[start..start + count.min(wanted)];
    let choose = || choices.take(width).map(|choice| choice as u8);
    match &sizes {
        Sizes::Column(column) => {
            let (mut listed, mut rows) = (column.listed(), 0..);
            let size_of = |size| rows.next().and_then(|row| listed.at(row)).unwrap_or(size);
            let mut sink = Replacing { sink, size_of };
            take(&mut coders, wanted, choose, scratch, &mut bits, &mut sink)
        }
        Sizes::Bell(bell) => {
            let mut apart = std::mem::take(&mut scratch.sizes);
            let result = bell
                .take(wanted.len(), record.body, &mut apart)
                .and_then(|()| {
                    let mut rest = apart.iter();
                    let size_of = |size| rest.next().copied().unwrap_or(size);
                    let mut sink = Replacing { sink, size_of };
                    take(&mut coders, wanted, choose, scratch, &mut bits, &mut sink)
                });
            scratch.sizes = apart;
            result
        }
    }
}

/// Takes segments with the only coder, or each with that of its choice.
fn take(
    coders: &mut [Coder<'_>],
    parts: &[u32],
    choose: impl FnMut() -> Result<u8, CodecError>,
    scratch: &mut Scratch,
    bits: &mut BitReader<'_>,
    sink: &mut impl Sink,
) -> Result<(), CodecError> {
    match coders {
        [coder] => coder.take(parts, scratch, bits, sink),
        coders => mixed::take(coders, parts, choose, scratch, bits, sink),
    }
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
