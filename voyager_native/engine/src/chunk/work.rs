//! Codes the segments of one record, and proves that they come back.

use super::CodecError;
use super::bits::BitWriter;
use super::checked::Checked;
use super::coder::{Coder, Sink};
use super::lanes::width_of;
use super::layout::Scratch;
use super::mixed;
use super::pieces::Family;
use super::record::{Header, Parts, decode_some};
use super::segments::Segment;
use super::sizes::Sizes;

/// What a record is made of.
pub(super) struct Work<'a> {
    pub(super) segments: &'a [Segment<'a>],
    pub(super) sizes: &'a Sizes,
    pub(super) families: &'a [Family],
    pub(super) choices: &'a [u8],
}

impl<'a> Work<'a> {
    /// Codes the segments column by column, with the proof that they come back from the bits.
    pub(super) fn put_checked(
        &self,
        coders: &mut [Checked<'a>],
        scratch: &mut Scratch,
        writer: &mut BitWriter,
    ) -> Result<(), CodecError> {
        let widest = coders.iter().map(Checked::width).max().unwrap_or(0);
        writer.reserve(u64::from(widest) * self.segments.len() as u64);
        match coders {
            [] => Ok(()),
            [coder] => coder.put(self.segments, scratch, writer),
            _ => mixed::put_checked(coders, self.segments, self.choices, scratch, writer),
        }
    }

    /// Whether the header, read again, says how the segments were coded. `parts` must be empty.
    pub(super) fn is_described(&self, record: &Parts<'_>, parts: &mut Vec<u32>) -> bool {
        let Ok(header) = Header::read(record, usize::MAX, parts) else {
            return false;
        };
        let width = width_of(self.families.len().max(1) as u64);
        let mut found = header.choices;
        let mut is_choice = |choice: &u8| width == 0 || found.take(width) == Ok(u64::from(*choice));
        header.count == self.segments.len()
            && self.are_parts(parts)
            && (header.count == 0 || header.sizes == *self.sizes)
            && header.families.len() == self.families.len()
            && header
                .families
                .iter()
                .zip(self.families)
                .all(|(found, family)| found.is_like(family))
            && self.choices.iter().all(&mut is_choice)
    }

    fn are_parts(&self, parts: &[u32]) -> bool {
        parts.len() == self.segments.len()
            && parts
                .iter()
                .zip(self.segments)
                .all(|(part, segment)| *part == segment.part)
    }

    /// Codes the segments row by row.
    pub(super) fn put(
        &self,
        scratch: &mut Scratch,
        writer: &mut BitWriter,
    ) -> Result<(), CodecError> {
        let mut coders: Vec<Coder<'_>> = self
            .families
            .iter()
            .map(|family| Coder::by_rows(family, self.sizes.column(), scratch))
            .collect();
        let widest = coders.iter().map(Coder::width).max().unwrap_or(0);
        writer.reserve(u64::from(widest) * self.segments.len() as u64);
        match &mut coders[..] {
            [coder] => coder.put(self.segments, scratch, writer),
            coders => mixed::put(coders, self.segments, self.choices, scratch, writer),
        }
    }

    /// Whether the record decodes to the segments. `parts` must be empty.
    pub(super) fn comes_back(
        &self,
        record: &Parts<'_>,
        parts: &mut Vec<u32>,
        scratch: &mut Scratch,
    ) -> bool {
        let mut compare = Compare {
            rest: self.segments.first().map_or(&[], |segment| segment.id),
            segments: self.segments.iter(),
            is_same: true,
        };
        decode_some(record, usize::MAX, parts, scratch, &mut compare).is_ok()
            && compare.is_same
            && compare.segments.next().is_none()
            && self.are_parts(parts)
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
