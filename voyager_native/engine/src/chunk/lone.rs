//! Records of one segment, without a search for what ids have in common.
//!
//! There are many of them, so both ways are short. In version 1 such a record is one of the usual format: of its
//! only family every id is the same text; a record of one segment that is written otherwise is read as any other.
//! Version 2 has a format for them alone, in which words that look random are in the body:
//!
//! ```text
//! header   one segment · part · size · items: texts, and lengths of words with their alphabets
//! body     the characters of the words
//! ```

use std::borrow::Cow;

use super::CodecError;
use super::alphabet::{ALPHABETS, COST16, DIGITS, RANKS, SMALLEST, kind, kind_of};
use super::bits::{BitReader, BitWriter, Reader, put_varint, unzigzag, zigzag};
use super::coder::{Sink, put_characters, take_characters};
use super::pieces::{
    LONGEST_ID, ONE_TEXT, TEXT, read_head, read_text_head, write_head, write_text_head,
};
use super::record::{Parts, Version};
use super::segments::Segment;
use super::shape::word_len;

/// One segment with consecutive parts, before its part number.
const ONE_SEGMENT: u8 = 1 << 2;
/// A column that lists nothing, before its only value.
const NOTHING_LISTED: u8 = 0;
/// A column of one value, and one family.
const ONE_VALUE_ONE_FAMILY: [u8; 2] = [1, 1];
/// The bit that every segment has.
const BODY: [u8; 1] = [0];
/// Bytes that version 2 must save.
const LEAST_SAVED: usize = 4;
/// Bytes of a record of version 1 that is one text, without part, size and that text.
const TEXT_COST: usize = 2 + ONE_VALUE_ONE_FAMILY.len() + ONE_TEXT.len() + BODY.len();
/// Bits that it takes to describe a word and the text behind it.
const WORD_COST: u64 = 24;
/// Digits from which a number looks random.
const LONG_NUMBER: usize = 8;

/// Fills in the header and the body of the record of a segment, which are empty.
pub(super) fn write(segment: &Segment<'_>, header: &mut Vec<u8>, body: &mut Vec<u8>) -> Version {
    header.push(ONE_SEGMENT);
    put_varint(header, u64::from(segment.part));
    let start = header.len();
    put_varint(header, u64::from(segment.size));
    let id_start = header.len();
    let as_words = write_words(segment.id, header, body);
    let as_text = TEXT_COST + segment.id.len();
    if as_words.is_ok() && header.len() - id_start + body.len() + LEAST_SAVED <= as_text {
        return Version::Two;
    }
    header.truncate(start);
    body.clear();
    body.extend(BODY);
    header.push(NOTHING_LISTED);
    put_varint(header, zigzag(i64::from(segment.size)));
    header.extend(ONE_VALUE_ONE_FAMILY);
    header.extend(ONE_TEXT);
    write_text_head(segment.id.len(), header);
    header.extend_from_slice(segment.id);
    Version::One
}

/// Writes an id as texts and words.
fn write_words(id: &[u8], header: &mut Vec<u8>, body: &mut Vec<u8>) -> Result<(), CodecError> {
    let mut writer = BitWriter::default();
    let (mut from, mut at) = (0, 0);
    let text = |range: &[u8], header: &mut Vec<u8>| {
        if !range.is_empty() {
            write_text_head(range.len(), header);
            header.extend_from_slice(range);
        }
    };
    while at < id.len() {
        let end = at + word_len(&id[at..]);
        if let Some(alphabet) = random_word(&id[at..end]) {
            text(&id[from..at], header);
            write_head(alphabet, end - at, header);
            let number = usize::from(alphabet);
            put_characters(&RANKS[number], ALPHABETS[number], &id[at..end], &mut writer)?;
            from = end;
        }
        // A word ends at the end, or before something else.
        at = end + 1;
    }
    text(&id[from..], header);
    body.extend_from_slice(writer.finish());
    Ok(())
}

/// The alphabet of a word of letters and digits that looks random and is worth being told apart.
fn random_word(word: &[u8]) -> Option<u8> {
    /// Digits, capitals, small letters.
    const fn class_of(kinds: u8) -> u8 {
        match kinds {
            kind::DIGIT => 0,
            kind::UPPER | kind::UPPER_HEX => 1,
            _ => 2,
        }
    }
    let (mut kinds, mut turns, mut before) = (0, 0, u8::MAX);
    for byte in word {
        let kind = kind_of(*byte);
        let class = class_of(kind);
        kinds |= kind;
        turns += usize::from(class != before);
        before = class;
    }
    let alphabet = SMALLEST[usize::from(kinds)];
    let is_random = if alphabet == DIGITS {
        word.len() >= LONG_NUMBER
    } else {
        turns * 4 > word.len()
    };
    let bits = COST16[ALPHABETS[usize::from(alphabet)].len()] * word.len() as u64 / 16;
    (is_random && bits + WORD_COST < word.len() as u64 * 8).then_some(alphabet)
}

/// The segment of a record that [`write`] wrote, and nothing for any other record. `id` is work space.
pub(super) fn read<'a>(record: &Parts<'a>, id: &'a mut Vec<u8>) -> Option<Segment<'a>> {
    match record.version {
        Version::One => read_text(record),
        Version::Two => {
            let (part, size) = read_words(record, id)?;
            Some(Segment { part, size, id })
        }
    }
}

/// The message-id of a record that [`write`] wrote.
pub(super) fn id<'a>(record: &Parts<'a>) -> Option<Cow<'a, [u8]>> {
    match record.version {
        Version::One => read_text(record).map(|segment| segment.id.into()),
        Version::Two => {
            let mut id = Vec::new();
            read_words(record, &mut id)?;
            Some(id.into())
        }
    }
}

fn read_text<'a>(record: &Parts<'a>) -> Option<Segment<'a>> {
    let Parts { header, body, .. } = *record;
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

/// Part and size of a record of version 2; its id is put in `id`.
fn read_words(record: &Parts<'_>, id: &mut Vec<u8>) -> Option<(u32, u32)> {
    let mut reader = Reader::new(record.header);
    (reader.byte().ok()? == ONE_SEGMENT).then_some(())?;
    let part = reader.varint32().ok()?;
    let size = reader.varint32().ok()?;
    let mut bits = BitReader::new(record.body);
    id.clear();
    while !reader.rest().is_empty() {
        let (kind, len) = read_head(&mut reader).ok()?;
        if len == 0 || id.len() + len > LONGEST_ID {
            return None;
        }
        if kind == TEXT {
            id.extend_from_slice(reader.bytes(len).ok()?);
        } else {
            let symbols = ALPHABETS.get(usize::from(kind))?;
            take_characters(symbols, len, &mut bits, id).ok()?;
        }
    }
    (!id.is_empty() && bits.left() < 8).then_some((part, size))
}

impl Sink for Vec<u8> {
    fn push(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    fn end(&mut self, _: i64) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The header and the body of the record of an id.
    fn round_trip(id: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let segment = Segment {
            part: 7,
            size: u32::MAX,
            id,
        };
        let (mut header, mut body) = (Vec::new(), Vec::new());
        let version = write(&segment, &mut header, &mut body);
        let mut found = Vec::new();
        let record = |header, body| Parts {
            version,
            header,
            body,
        };
        let whole = record(&header, &body);
        assert_eq!(read(&whole, &mut found), Some(segment));
        assert_eq!(super::id(&whole).as_deref(), Some(id));
        if let Some((_, cut)) = body.split_last() {
            assert_eq!(read(&record(&header, cut), &mut Vec::new()), None);
        }
        let mut other = Vec::new();
        let longer = [&body[..], &[0]].concat();
        assert_eq!(read(&record(&header, &longer), &mut other), None);
        (header, body)
    }

    #[test]
    fn a_segment_of_any_length_comes_back() {
        for len in 1..=LONGEST_ID {
            round_trip(&vec![b'x'; len]);
        }
    }

    #[test]
    fn what_looks_random_takes_fewer_bytes() {
        for (id, most) in [
            ("ce97419771834dc98636539b75252d3e@ngPost", 33),
            ("PcCcBqQpSgFeSdMlOfJmCmAl-1757000000023@nyuu", 42),
            ("eoC9TE1951ZhHsdZfyiWN1M2hk@4kciF3Zt.Pix", 45),
            (
                "Part1of1.293E75B5F01F4B0CBCC917B680EFA249@1380000017.local",
                52,
            ),
            ("0d5e7c1f-8a34-4c21-9b0d-6f2e7a1c3d58@host.example", 54),
        ] {
            let (header, body) = round_trip(id.as_bytes());
            let len = header.len() + body.len();
            assert!(len <= most, "{id}: {len}");
        }
    }

    #[test]
    fn what_can_be_read_stays_text() {
        for id in [
            "camelsystem-powerpost.local",
            "some.words.in.a.row@news.example.com",
            "a1@b2",
            "part1of1@example.com",
        ] {
            let (header, _) = round_trip(id.as_bytes());
            assert!(header.ends_with(id.as_bytes()), "{id}");
        }
    }

    proptest! {
        #[test]
        fn any_id_comes_back(id in prop::collection::vec(any::<u8>(), 1..=LONGEST_ID)) {
            round_trip(&id);
        }

        #[test]
        fn words_come_back(id in "[a-zA-Z0-9]{0,40}[.@$ -]{0,2}[a-f0-9]{0,40}[0-9.]{0,20}@[a-zA-Z0-9]{1,30}") {
            round_trip(id.as_bytes());
        }

        #[test]
        fn damage_is_no_panic(
            header in prop::collection::vec(prop_oneof![Just(4u8), 0u8..32, any::<u8>()], 0..30),
            body in prop::collection::vec(any::<u8>(), 0..30),
        ) {
            let header = [&[ONE_SEGMENT, 1], &header[..]].concat();
            let record = Parts { version: Version::Two, header: &header, body: &body };
            let _: Option<Segment<'_>> = read(&record, &mut Vec::new());
        }
    }
}
