//! Files whose articles were encoded, and what is needed to open them again.

use std::borrow::Cow;

use super::log::{Facts, Head, Log};
use super::texts::Recent;
use crate::chunk::{self, CodecError, Encoder, Segment, decode};
use crate::hash::Secret;
use crate::tables::{ByteStore, Stored};

/// What the articles of a file add up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) found: u32,
    pub(super) lowest_part: u32,
    pub(super) highest_part: u32,
    /// Article number of the lowest part.
    pub(super) lowest_part_number: u64,
    pub(super) size_bytes: u64,
    pub(super) some_size_unknown: bool,
    pub(super) first_number: u64,
    pub(super) last_number: u64,
    /// 0 when no article is dated.
    pub(super) first_posted: u32,
    pub(super) last_posted: u32,
    /// From of the lowest part.
    pub(super) poster: u32,
    pub(super) poster_constant: bool,
}

/// An encoded file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sealed {
    pub(super) record: Stored,
    /// Message-id of the lowest part; nothing where the record has no other.
    first_id: Stored,
    pub(super) summary: Summary,
    side: Stored,
}

/// Where encoded files go.
#[derive(Debug)]
pub(super) struct Vault {
    pub(super) records: ByteStore,
    first_ids: ByteStore,
    pub(super) posters: Recent,
    sides: ByteStore,
    encoder: Encoder,
    bytes: Vec<u8>,
    segments: Vec<Segment<'static>>,
    columns: Columns,
    keep_rows: bool,
}

/// What is packed of the articles of a file, ascending by part.
#[derive(Debug, Default)]
struct Columns {
    numbers: Vec<u64>,
    posted: Vec<u32>,
    posters: Vec<u32>,
    rows: Vec<u32>,
}

impl Columns {
    /// Takes what is packed of articles in place of others, but for the rows.
    fn fill<'a>(&mut self, heads: impl Iterator<Item = &'a Head> + Clone) {
        self.numbers.clear();
        self.numbers.extend(heads.clone().map(|head| head.number));
        self.posted.clear();
        self.posted.extend(heads.clone().map(|head| head.posted));
        self.posters.clear();
        self.posters.extend(heads.map(|head| head.poster));
    }
}

impl Vault {
    pub(super) fn new(keep_rows: bool) -> Self {
        Self {
            records: ByteStore::default(),
            first_ids: ByteStore::default(),
            posters: Recent::new(),
            sides: ByteStore::default(),
            encoder: Encoder::default(),
            bytes: Vec::new(),
            segments: Vec::new(),
            columns: Columns::default(),
            keep_rows,
        }
    }

    /// Bytes that are held of encoded files and Froms.
    pub(super) const fn size(&self) -> usize {
        self.records.size() + self.first_ids.size() + self.posters.size() + self.sides.size()
    }

    /// Encodes articles, ascending by part and no part twice. There must be one.
    ///
    /// # Errors
    /// As [`Encoder::encode`]; no articles that come from the scanner can be refused.
    pub(super) fn seal(
        &mut self,
        log: &Log,
        order: impl ExactSizeIterator<Item = usize> + Clone,
    ) -> Result<Sealed, CodecError> {
        let mut segments = emptied(std::mem::take(&mut self.segments));
        let heads = order.map(|index| &log.heads[index]);
        segments.extend(heads.clone().map(|head| head.segment(&log.ids)));
        self.columns.fill(heads.clone());
        if self.keep_rows {
            self.columns.rows.clear();
            self.columns.rows.extend(heads.map(|head| head.row));
        }
        let sealed = self.encode(&segments).map(|(record, first_id)| {
            self.bytes.clear();
            let (packed, columns) = (&mut self.bytes, &self.columns);
            pack(packed, &columns.numbers);
            pack(packed, &columns.posted);
            pack(packed, &columns.posters);
            if self.keep_rows {
                pack(packed, &columns.rows);
            }
            Sealed {
                record,
                first_id,
                side: self.sides.push(packed),
                summary: self.summary(segments.iter().copied()),
            }
        });
        self.segments = emptied(segments);
        sealed
    }

    /// [`Self::seal`] of many articles, which cannot be opened again: most of what is held of them goes as soon as
    /// it is not needed any more.
    ///
    /// # Errors
    /// As [`Self::seal`].
    pub(super) fn seal_last(&mut self, log: Log, order: Vec<usize>) -> Result<Sealed, CodecError> {
        let Log { heads, ids } = log;
        self.columns.fill(order.iter().map(|index| &heads[*index]));
        let segments = order.iter().map(|index| heads[*index].segment(&ids));
        let summary = self.summary(segments.clone());
        self.columns = Columns::default();
        let segments: Vec<Segment<'_>> = segments.collect();
        drop((heads, order));
        let (record, first_id) = self.encode(&segments)?;
        Ok(Sealed {
            record,
            first_id,
            side: Stored::default(),
            summary,
        })
    }

    /// Stores the record of segments, and the first message-id.
    fn encode(&mut self, segments: &[Segment<'_>]) -> Result<(Stored, Stored), CodecError> {
        self.bytes.clear();
        self.encoder.encode(segments, &mut self.bytes)?;
        let first_id = match segments {
            [first, _, ..] => first.id,
            _ => &[],
        };
        let record = self.records.push(&self.bytes);
        Ok((record, self.first_ids.push(first_id)))
    }

    /// What segments and the columns add up to.
    fn summary<'a>(
        &self,
        mut segments: impl ExactSizeIterator<Item = Segment<'a>> + DoubleEndedIterator + Clone,
    ) -> Summary {
        let Columns {
            numbers,
            posted,
            posters,
            ..
        } = &self.columns;
        let poster = posters.first().copied().unwrap_or_default();
        // Undated is 0: it must not be the minimum.
        let first_posted = posted.iter().map(|posted| posted.wrapping_sub(1)).min();
        Summary {
            found: segments.len() as u32,
            lowest_part: segments.clone().next().map_or(0, |first| first.part),
            highest_part: segments.clone().next_back().map_or(0, |last| last.part),
            size_bytes: segments.clone().map(|each| u64::from(each.size)).sum(),
            some_size_unknown: segments.any(|each| each.size == 0),
            lowest_part_number: numbers.first().copied().unwrap_or_default(),
            first_number: numbers.iter().copied().min().unwrap_or(u64::MAX),
            last_number: numbers.iter().copied().max().unwrap_or_default(),
            first_posted: first_posted.unwrap_or(u32::MAX).wrapping_add(1),
            last_posted: posted.iter().copied().max().unwrap_or_default(),
            poster,
            poster_constant: posters
                .iter()
                .all(|other| self.posters.are_equal(poster, *other)),
        }
    }

    /// The message-id of the lowest part of a sealed file.
    pub(super) fn first_id(&self, sealed: &Sealed) -> Cow<'_, [u8]> {
        if sealed.first_id.len > 0 {
            return self.first_ids.get(sealed.first_id).into();
        }
        let record = self.records.get(sealed.record);
        if let Some(id) = chunk::lone_id(record) {
            return id;
        }
        let segments = decode(record).unwrap_or_default();
        let first = segments.iter().next();
        first.map_or_else(Cow::default, |first| first.id.to_vec().into())
    }

    /// Puts the articles of a sealed file back into a log.
    pub(super) fn open(&self, sealed: &Sealed, log: &mut Log) {
        // The record was compared with its articles when it was made, so it decodes.
        let segments = decode(self.records.get(sealed.record)).unwrap_or_default();
        let count = segments.len();
        let mut side = self.sides.get(sealed.side);
        let numbers = unpack(&mut side, count);
        let posted = unpack(&mut side, count);
        let posters = unpack(&mut side, count);
        let rows = if self.keep_rows {
            unpack(&mut side, count)
        } else {
            vec![0; count]
        };
        for (index, segment) in segments.iter().enumerate() {
            log.push(
                Facts {
                    number: numbers[index],
                    part: segment.part,
                    size: segment.size,
                    posted: posted[index] as u32,
                    poster: posters[index] as u32,
                    row: rows[index] as u32,
                },
                segment.id,
            );
        }
    }
}

/// An empty vector with the memory of another one.
fn emptied<'to>(mut segments: Vec<Segment<'_>>) -> Vec<Segment<'to>> {
    segments.clear();
    // Collected in place, since nothing changes but what the (no) segments borrow.
    let none = |_: Segment<'_>| Segment {
        part: 0,
        size: 0,
        id: &[],
    };
    segments.into_iter().map(none).collect()
}

/// Appends integers as their distances from the least, in as few whole bytes as the greatest needs.
fn pack<T: Copy + Ord + Into<u64>>(out: &mut Vec<u8>, values: &[T]) {
    let low = values.iter().min().map_or(0, |low| (*low).into());
    let high = values.iter().max().map_or(0, |high| (*high).into());
    let bytes_of = |value: u64| (u64::BITS - value.leading_zeros()).div_ceil(8);
    let (width, low_width) = (bytes_of(high - low), bytes_of(low));
    out.push((low_width << 4 | width) as u8);
    out.extend_from_slice(&low.to_le_bytes()[..low_width as usize]);
    let values = values.iter().map(|value| (*value).into() - low);
    match width {
        0 => {}
        1 => put::<1>(out, values),
        2 => put::<2>(out, values),
        3 => put::<3>(out, values),
        4 => put::<4>(out, values),
        5 => put::<5>(out, values),
        6 => put::<6>(out, values),
        7 => put::<7>(out, values),
        _ => put::<8>(out, values),
    }
}

/// Appends the lower bytes of integers.
fn put<const WIDTH: usize>(out: &mut Vec<u8>, values: impl ExactSizeIterator<Item = u64>) {
    let start = out.len();
    out.resize(start + values.len() * WIDTH, 0);
    let places = out[start..].as_chunks_mut::<WIDTH>().0;
    for (place, value) in places.iter_mut().zip(values) {
        place.copy_from_slice(&value.to_le_bytes()[..WIDTH]);
    }
}

/// Takes off what [`pack`] appended.
fn unpack(side: &mut &[u8], count: usize) -> Vec<u64> {
    let mut take = |len: usize| {
        let (head, rest) = side.split_at(len);
        *side = rest;
        head
    };
    let widths = usize::from(take(1)[0]);
    let mut value = |width: usize| {
        let mut bytes = [0; 8];
        bytes[..width].copy_from_slice(take(width));
        u64::from_le_bytes(bytes)
    };
    let low = value(widths >> 4);
    (0..count).map(|_| low + value(widths & 15)).collect()
}

/// A set of message-ids, to find those that come twice.
#[derive(Debug)]
pub(super) struct IdSet {
    secret: Secret,
    slots: Vec<(u32, u32)>,
    /// Places of articles by part.
    places: Vec<u32>,
}

impl IdSet {
    pub(super) fn new() -> Self {
        Self {
            secret: Secret::new(),
            slots: Vec::new(),
            places: Vec::new(),
        }
    }

    /// Frees what a large file took.
    pub(super) fn free(&mut self) {
        self.slots = Vec::new();
        self.places = Vec::new();
    }

    /// Empties the set and makes room for `count` ids.
    pub(super) fn reset(&mut self, count: usize) {
        self.slots.clear();
        self.slots
            .resize((count * 2).next_power_of_two(), (0, u32::MAX));
    }

    /// Adds the id of the article at `index`; false when it was there.
    #[inline]
    pub(super) fn insert(&mut self, log: &Log, index: u32) -> bool {
        let id = log.id(&log.heads[index as usize]);
        let hash = self.secret.of(id);
        let tag = (hash >> 32) as u32;
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let (found, other) = self.slots[slot];
            if other == u32::MAX {
                self.slots[slot] = (tag, index);
                return true;
            }
            if found == tag && log.id(&log.heads[other as usize]) == id {
                return false;
            }
            slot = (slot + 1) & mask;
        }
    }

    /// The articles ascending by part, if each part and each id is there once.
    pub(super) fn in_order(&mut self, log: &Log) -> Option<Vec<usize>> {
        /// Places that stay empty, as many times the articles, and some.
        const SPARSE: usize = 4;
        const SOME: usize = 1024;
        let count = log.heads.len();
        let last = log.heads.iter().map(|head| head.part).max()? as usize;
        if last > count.saturating_mul(SPARSE) + SOME {
            return None;
        }
        self.places.clear();
        self.places.resize(last + 1, u32::MAX);
        self.reset(count);
        for (at, head) in (0..).zip(&log.heads) {
            let place = &mut self.places[head.part as usize];
            if *place != u32::MAX {
                return None;
            }
            *place = at;
            if !self.insert(log, at) {
                return None;
            }
        }
        let mut order = Vec::with_capacity(count);
        let places = self.places.iter().filter(|place| **place != u32::MAX);
        order.extend(places.map(|place| *place as usize));
        Some(order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks beyond the first one that all ids take together, when they are put into a set.
    fn looks(ids: impl IntoIterator<Item = Vec<u8>>) -> (usize, usize) {
        let facts = Facts {
            number: 1,
            part: 1,
            size: 1,
            posted: 0,
            poster: 0,
            row: 0,
        };
        let mut log = Log::default();
        for id in ids {
            log.push(facts, &id);
        }
        let count = log.heads.len();
        let mut set = IdSet::new();
        set.reset(count);
        for at in 0..count {
            assert!(set.insert(&log, at as u32));
        }
        let mask = set.slots.len() - 1;
        let used = set.slots.iter().enumerate();
        let looks = used
            .filter(|(_, slot)| slot.1 != u32::MAX)
            .map(|(at, slot)| {
                let hash = set.secret.of(log.id(&log.heads[slot.1 as usize]));
                at.wrapping_sub(hash as usize) & mask
            });
        (looks.sum(), count)
    }

    #[test]
    fn ids_made_to_fall_into_one_place_do_not() {
        const KEYS: [u64; 4] = [
            0x243f_6a88_85a3_08d3,
            0xa409_3822_299f_31d0,
            0x4528_21e6_38d0_1377,
            0xc0ac_29b7_c97c_50dd,
        ];
        for key in KEYS {
            for at in [0, 8, 16, 24, 32, 40, 48, 56] {
                // A factor of 0, as it was with keys that are known: what it is multiplied by does not count.
                let made = (0..2000u64).map(|value| {
                    let mut id = vec![b'x'; 64];
                    id[at..at + 8].copy_from_slice(&key.to_le_bytes());
                    let other = at ^ 8;
                    id[other..other + 8].copy_from_slice(&(value + (1 << 40)).to_le_bytes());
                    id
                });
                let (looks, count) = looks(made);
                assert!(looks < 4 * count, "{key:x} at {at}: {looks}");
            }
        }
    }

    #[test]
    fn short_and_long_ids_of_which_known_hashes_are_alike_do_not_either() {
        for len in [12, 20, 31, 100] {
            let alike = (0u64..)
                .map(|value| format!("{value:0len$}").into_bytes())
                .filter(|id| xxhash_rust::xxh3::xxh3_64(id).is_multiple_of(1024));
            let (looks, count) = looks(alike.take(400));
            assert!(looks < 4 * count, "{len}: {looks}");
        }
    }
}
