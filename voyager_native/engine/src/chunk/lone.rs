//! Records of one segment, without a search for what ids have in common.
//!
//! Such a record is one of the usual format: of its only family every id is the same text. There are many of
//! them, so both ways are short; a record of one segment that is written otherwise is read as any other.

use super::bits::{Reader, put_varint, unzigzag, zigzag};
use super::pieces::{LONGEST_ID, ONE_TEXT, read_text_head, write_text_head};
use super::segments::Segment;

/// One segment with consecutive parts, before its part number.
const ONE_SEGMENT: u8 = 1 << 2;
/// A column that lists nothing, before its only value.
const NOTHING_LISTED: u8 = 0;
/// A column of one value, and one family.
const ONE_VALUE_ONE_FAMILY: [u8; 2] = [1, 1];
/// The bit that every segment has.
pub(super) const BODY: [u8; 1] = [0];

/// Appends the header of the record of a segment.
pub(super) fn write(segment: &Segment<'_>, header: &mut Vec<u8>) {
    header.push(ONE_SEGMENT);
    put_varint(header, u64::from(segment.part));
    header.push(NOTHING_LISTED);
    put_varint(header, zigzag(i64::from(segment.size)));
    header.extend(ONE_VALUE_ONE_FAMILY);
    header.extend(ONE_TEXT);
    write_text_head(segment.id.len(), header);
    header.extend_from_slice(segment.id);
}

/// The segment of a record that [`write`] wrote, and nothing for any other record.
pub(super) fn read<'a>(header: &'a [u8], body: &[u8]) -> Option<Segment<'a>> {
    if *header.first()? != ONE_SEGMENT || *body != BODY {
        return None;
    }
    let mut reader = Reader::new(&header[1..]);
    let part = reader.varint32().ok()?;
    (reader.byte().ok()? == NOTHING_LISTED).then_some(())?;
    let size = u32::try_from(unzigzag(reader.varint().ok()?)).ok()?;
    (reader.bytes(2).ok()? == ONE_VALUE_ONE_FAMILY).then_some(())?;
    (reader.bytes(ONE_TEXT.len()).ok()? == ONE_TEXT).then_some(())?;
    let len = read_text_head(&mut reader)?;
    let id = reader.rest();
    ((1..=LONGEST_ID).contains(&len) && id.len() == len).then_some(Segment { part, size, id })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_of_any_length_comes_back() {
        for len in 1..=LONGEST_ID {
            let id = vec![b'x'; len];
            let segment = Segment {
                part: 7,
                size: u32::MAX,
                id: &id,
            };
            let mut header = Vec::new();
            write(&segment, &mut header);
            assert_eq!(read(&header, &BODY), Some(segment));
            assert_eq!(read(&header[..header.len() - 1], &BODY), None);
            assert_eq!(read(&header, &[]), None);
        }
    }
}
