//! Which parts of a file a record has.

use super::CodecError;
use super::bits::{Reader, put_varint};
use super::segments::Segment;

const CONSECUTIVE: u64 = 0;
const BITMAP: u64 = 1;
const GAPS: u64 = 2;

const TOO_HIGH: CodecError = CodecError::Malformed("a part number of more than 32 bits");

/// Which parts there are: the count and the first, then nothing, a bit each, or gaps, whatever is least.
pub(super) fn write_parts(segments: &[Segment<'_>], out: &mut Vec<u8>) {
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

/// Reads what [`write_parts`] wrote, for at most `most` segments; appends at least the first `wanted` parts and
/// returns how many there are.
///
/// # Errors
/// [`CodecError`] when the bytes are no parts, or more of them.
pub(super) fn read_parts(
    reader: &mut Reader<'_>,
    most: usize,
    wanted: usize,
    parts: &mut Vec<u32>,
) -> Result<usize, CodecError> {
    let (count, mode) = read_head(reader, most)?;
    if count == 0 {
        return Ok(0);
    }
    let first = reader.varint32()?;
    let mut push = |distance: u64| {
        parts.push(part_at(first, distance)?);
        Ok(())
    };
    match mode {
        CONSECUTIVE => {
            let last = last_of(first, count)?;
            parts.extend((first..=last).take(wanted));
        }
        BITMAP => {
            let bits = read_bitmap(reader, count)?;
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

/// The first part of what [`read_parts`] reads, and how many there are; none where that is an error or reads
/// nothing.
pub(super) fn read_first(reader: &mut Reader<'_>, most: usize) -> Option<(usize, u32)> {
    let (count, mode) = read_head(reader, most).ok()?;
    if count == 0 {
        return None;
    }
    let first = reader.varint32().ok()?;
    match mode {
        CONSECUTIVE => {
            last_of(first, count).ok()?;
            Some((count, first))
        }
        BITMAP => {
            let bits = read_bitmap(reader, count).ok()?;
            let at =
                |place: usize, bit: u32| part_at(first, place as u64 * 8 + u64::from(bit)).ok();
            let last = bits.iter().rposition(|byte| *byte != 0)?;
            at(last, bits[last].ilog2())?;
            let start = bits.iter().position(|byte| *byte != 0)?;
            Some((count, at(start, bits[start].trailing_zeros())?))
        }
        GAPS => {
            let mut distance = 0u64;
            for _ in 1..count {
                distance = distance
                    .saturating_add(reader.varint().ok()?)
                    .saturating_add(1);
            }
            part_at(first, distance).ok()?;
            Some((count, first))
        }
        _ => None,
    }
}

/// How many parts there are, and how they are stored.
fn read_head(reader: &mut Reader<'_>, most: usize) -> Result<(usize, u64), CodecError> {
    let head = reader.varint()?;
    let count = usize::try_from(head >> 2)
        .ok()
        .filter(|count| *count <= most)
        .ok_or(CodecError::Malformed("more segments than bits"))?;
    Ok((count, head & 3))
}

/// The last of `count` parts without a gap, which are one at least.
fn last_of(first: u32, count: usize) -> Result<u32, CodecError> {
    let more = count.checked_sub(1).map(u32::try_from);
    let last = more.and_then(|more| first.checked_add(more.ok()?));
    last.ok_or(TOO_HIGH)
}

/// The part so many above the first.
fn part_at(first: u32, distance: u64) -> Result<u32, CodecError> {
    u32::try_from(u64::from(first).saturating_add(distance)).map_err(|_| TOO_HIGH)
}

/// A bit for each part, `count` of which are set.
fn read_bitmap<'a>(reader: &mut Reader<'a>, count: usize) -> Result<&'a [u8], CodecError> {
    let len = reader.count(reader.rest().len())?;
    let bits = reader.bytes(len)?;
    let set: u64 = bits.iter().map(|byte| u64::from(byte.count_ones())).sum();
    if set == count as u64 {
        Ok(bits)
    } else {
        Err(CodecError::Malformed(
            "a count that is not that of its parts",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(bytes: &[u8], most: usize, wanted: usize) -> Option<(usize, Vec<u32>)> {
        let mut parts = Vec::new();
        let count = read_parts(&mut Reader::new(bytes), most, wanted, &mut parts).ok()?;
        Some((count, parts))
    }

    #[test]
    fn more_parts_than_32_bits_tell_are_an_error() {
        for (count, first) in [
            (1 << 32, 1),
            (1 << 32, u64::from(u32::MAX)),
            ((1 << 32) + 1, 0),
            (1 << 40, 1),
            (2, u64::from(u32::MAX)),
        ] {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, count << 2 | CONSECUTIVE);
            put_varint(&mut bytes, first);
            assert_eq!(read(&bytes, usize::MAX, 1), None, "{count} from {first}");
            let first = read_first(&mut Reader::new(&bytes), usize::MAX);
            assert_eq!(first, None);
        }
    }

    #[test]
    fn the_first_part_is_that_of_the_lowest_bit_that_is_set() {
        let bytes = [2 << 2 | BITMAP as u8, 10, 2, 0b1000, 0b1];
        assert_eq!(read(&bytes, 9, 1), Some((2, vec![13, 18])));
        assert_eq!(read_first(&mut Reader::new(&bytes), 9), Some((2, 13)));
    }

    proptest! {
        #[test]
        fn parts_come_back(gaps in prop::collection::vec(0u32..40, 1..60), first in any::<u16>()) {
            let mut part = u32::from(first);
            let segments: Vec<Segment<'_>> = gaps
                .iter()
                .map(|gap| {
                    part += gap + 1;
                    Segment { part, size: 1, id: b"x" }
                })
                .collect();
            let wanted: Vec<u32> = segments.iter().map(|segment| segment.part).collect();
            let mut bytes = Vec::new();
            write_parts(&segments, &mut bytes);
            prop_assert_eq!(read(&bytes, wanted.len(), usize::MAX), Some((wanted.len(), wanted.clone())));
            prop_assert_eq!(read(&bytes, wanted.len() - 1, usize::MAX), None);
            let first = read_first(&mut Reader::new(&bytes), wanted.len());
            prop_assert_eq!(first, Some((wanted.len(), wanted[0])));
        }

        #[test]
        fn the_first_part_is_the_first_of_all(
            count in 0u64..40,
            mode in 0u64..4,
            first in prop_oneof![0u64..20, u64::from(u32::MAX) - 20..u64::from(u32::MAX) + 3],
            rest in prop::collection::vec(any::<u8>(), 0..30),
        ) {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, count << 2 | mode);
            put_varint(&mut bytes, first);
            if mode == BITMAP {
                put_varint(&mut bytes, rest.len() as u64);
            }
            bytes.extend_from_slice(&rest);
            let (mut reader, mut again) = (Reader::new(&bytes), Reader::new(&bytes));
            let mut parts = Vec::new();
            let all = read_parts(&mut again, 30, 1, &mut parts).ok().filter(|count| *count > 0);
            let found = read_first(&mut reader, 30);
            prop_assert_eq!(found, all.map(|count| (count, parts[0])));
            if found.is_some() {
                prop_assert_eq!(reader.rest(), again.rest());
            }
        }
    }
}
