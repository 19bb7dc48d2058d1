//! Files whose articles were encoded, and what is needed to open them again.

use xxhash_rust::xxh3::xxh3_64;

use super::log::{Facts, Head, Log};
use crate::chunk::{CodecError, Encoder, Segment, decode};
use crate::tables::{ByteStore, Stored};

/// What the articles of a file add up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

impl Summary {
    /// Adds up articles, ascending by part. There must be one.
    pub(super) fn of<'a>(heads: impl Iterator<Item = &'a Head> + Clone) -> Self {
        let mut sum = Self {
            found: 0,
            lowest_part: 0,
            highest_part: 0,
            lowest_part_number: 0,
            size_bytes: 0,
            some_size_unknown: false,
            first_number: u64::MAX,
            last_number: 0,
            first_posted: u32::MAX,
            last_posted: 0,
            poster: 0,
            poster_constant: true,
        };
        if let Some(lowest) = heads.clone().next() {
            sum.lowest_part = lowest.part;
            sum.lowest_part_number = lowest.number;
            sum.poster = lowest.poster;
        }
        for head in heads {
            sum.found += 1;
            sum.highest_part = head.part;
            sum.size_bytes += u64::from(head.size);
            sum.some_size_unknown |= head.size == 0;
            sum.first_number = sum.first_number.min(head.number);
            sum.last_number = sum.last_number.max(head.number);
            // Undated is 0: it must not be the minimum.
            sum.first_posted = sum.first_posted.min(head.posted.wrapping_sub(1));
            sum.last_posted = sum.last_posted.max(head.posted);
            sum.poster_constant &= head.poster == sum.poster;
        }
        sum.first_posted = sum.first_posted.wrapping_add(1);
        sum
    }
}

/// An encoded file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sealed {
    pub(super) record: Stored,
    pub(super) first_id: Stored,
    pub(super) summary: Summary,
    side: Stored,
}

/// Where encoded files go.
#[derive(Debug, Default)]
pub(super) struct Vault {
    pub(super) records: ByteStore,
    pub(super) first_ids: ByteStore,
    sides: ByteStore,
    encoder: Encoder,
    bytes: Vec<u8>,
    keep_rows: bool,
}

impl Vault {
    pub(super) fn new(keep_rows: bool) -> Self {
        Self {
            keep_rows,
            ..Self::default()
        }
    }

    /// Encodes articles, ascending by part and no part twice. There must be one.
    ///
    /// # Errors
    /// As [`Encoder::encode`]; no articles that come from the scanner can be refused.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "an iterator is made to be used up"
    )]
    pub(super) fn seal(
        &mut self,
        log: &Log,
        order: impl ExactSizeIterator<Item = usize> + Clone,
    ) -> Result<Sealed, CodecError> {
        let heads = || order.clone().map(|index| &log.heads[index]);
        let segments: Vec<Segment<'_>> = heads()
            .map(|head| Segment {
                part: head.part,
                size: head.size,
                id: log.id(head),
            })
            .collect();
        self.bytes.clear();
        self.encoder.encode(&segments, &mut self.bytes)?;
        let record = self.records.push(&self.bytes);
        let first_id = self
            .first_ids
            .push(segments.first().map_or(&[], |segment| segment.id));
        let summary = Summary::of(heads());
        self.bytes.clear();
        let packed = &mut self.bytes;
        pack(packed, heads().map(|head| head.number));
        pack(packed, heads().map(|head| u64::from(head.posted)));
        pack(packed, heads().map(|head| u64::from(head.poster)));
        if self.keep_rows {
            pack(packed, heads().map(|head| u64::from(head.row)));
        }
        let side = self.sides.push(packed);
        Ok(Sealed {
            record,
            first_id,
            summary,
            side,
        })
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

/// Appends integers as their distances from the least, in as few whole bytes as the greatest needs.
fn pack(out: &mut Vec<u8>, values: impl Iterator<Item = u64> + Clone) {
    let low = values.clone().min().unwrap_or(0);
    let high = values.clone().max().unwrap_or(0);
    let width = (u64::BITS - (high - low).leading_zeros()).div_ceil(8) as u8;
    out.extend_from_slice(&low.to_le_bytes());
    out.push(width);
    match width {
        0 => {}
        1 => out.extend(values.map(|value| (value - low) as u8)),
        2 => values.for_each(|value| out.extend_from_slice(&((value - low) as u16).to_le_bytes())),
        _ => values.for_each(|value| {
            out.extend_from_slice(&(value - low).to_le_bytes()[..usize::from(width)]);
        }),
    }
}

/// Takes off what [`pack`] appended.
fn unpack(side: &mut &[u8], count: usize) -> Vec<u64> {
    let mut take = |len: usize| {
        let (head, rest) = side.split_at(len);
        *side = rest;
        head
    };
    let low = u64::from_le_bytes(take(8).try_into().unwrap_or_default());
    let width = usize::from(take(1)[0]);
    (0..count)
        .map(|_| {
            let mut bytes = [0; 8];
            bytes[..width].copy_from_slice(take(width));
            low + u64::from_le_bytes(bytes)
        })
        .collect()
}

/// A set of message-ids, to find those that come twice.
#[derive(Debug, Default)]
pub(super) struct IdSet {
    slots: Vec<(u32, u32)>,
}

impl IdSet {
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
        let hash = xxh3_64(id);
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
}
