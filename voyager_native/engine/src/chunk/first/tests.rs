use super::*;
use crate::chunk::record::{Encoder, Parts, Version, decode_first, split};
use crate::chunk::segments::{Segment, Segments};
use proptest::prelude::*;

/// A size in a range, or one near the middle of it: such sizes make a record of version 2.
fn size_of(part: u32, near: bool) -> u32 {
    let draw = |turn: u32| part.wrapping_mul(0x9e37_79b9).rotate_left(turn) % 750;
    if near {
        740_000 + [3, 9, 17, 26].map(draw).iter().sum::<u32>()
    } else {
        740_000 + part % 1000 * 7919 % 3000
    }
}

/// Whether the first of these ids is found, and no other one is.
fn is_found(ids: &[String], parts: impl Iterator<Item = u32>, first: &mut FirstId) -> bool {
    let count = ids.len();
    let segments: Vec<Segment<'_>> = ids
        .iter()
        .zip(parts)
        .map(|(id, part)| Segment {
            part,
            size: size_of(part, count > 60),
            id: id.as_bytes(),
        })
        .collect();
    let mut record = Vec::new();
    Encoder::new()
        .encode(&segments, &mut record)
        .expect("segments are a record");
    let parts = split(&record).expect("a record is whole");
    for id in &ids[1..] {
        assert!(*id == ids[0] || !first.is(&parts, id.as_bytes()));
    }
    first.is(&parts, ids[0].as_bytes())
}

/// Message-ids of a form of posting tools.
fn ids(form: usize, count: u64, seed: u64) -> Vec<String> {
    let mixed = |at: u64| (seed + at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let letters = |at: u64, len: u32, symbols: &str| -> String {
        let radix = symbols.len() as u64;
        let of = |place: u32| mixed(at * 31 + u64::from(place)).rotate_left(17) % radix;
        (0..len)
            .map(|place| char::from(symbols.as_bytes()[of(place) as usize]))
            .collect()
    };
    let small = "abcdefghijklmnopqrstuvwxyz";
    let form_of = |at: u64| match form {
        0 => format!(
            "{}-{}@nyuu",
            letters(at, 24, small),
            1_700_000_000_123 + at * 900
        ),
        1 => format!("{:016x}{:016x}@ngPost", mixed(at), mixed(at + 999)),
        2 => format!(
            "part{}of{count}.{}@x.local",
            at + 1,
            letters(7, 20, "aB3$&")
        ),
        3 => format!("{:x}${}$1$9@host", 0x5f00_0000 + at, mixed(at) % 100_000),
        4 => format!("{}.{}@a.b", 1_500_000_000 + at, mixed(at) % 10_000_000),
        5 => format!("{}@{}", letters(at, 20, "!?#09aZ"), letters(at, 8, "xyz.")),
        6 if at.is_multiple_of(2) => format!("{}@even", letters(at, 12, small)),
        6 => format!("{:08x}-{:04x}@odd", mixed(at) >> 32, mixed(at) & 0xffff),
        _ => format!("{}@constant", letters(0, 300 % 97, small)),
    };
    (0..count).map(form_of).collect()
}

const FORMS: usize = 8;

#[test]
fn first_ids_of_usual_forms_are_found() {
    let mut first = FirstId::default();
    for form in 0..FORMS {
        for count in [1, 2, 3, 7, 60, 200] {
            let ids = ids(form, count, 5);
            // What is alone in its form has none that is known.
            let is_odd = form == 6 && count < 7;
            assert!(is_found(&ids, 1.., &mut first) || is_odd, "{form} {count}");
            // With other part numbers those in the ids are numbers of their own length.
            let with_gaps = is_found(&ids, (3..).step_by(3), &mut first);
            assert!(
                with_gaps || is_odd || form == 2,
                "{form} {count}, parts with gaps"
            );
        }
    }
}

/// What is found of a record of version 1, which must be what decoding gives.
fn found(header: &[u8], body: &[u8]) -> Option<Vec<u8>> {
    found_of(Version::One, header, body)
}

fn found_of(version: Version, header: &[u8], body: &[u8]) -> Option<Vec<u8>> {
    let mut first = FirstId::default();
    let parts = Parts {
        version,
        header,
        body,
    };
    first.find(&parts)?;
    let mut segments = Segments::default();
    let decoded = decode_first(&parts, &mut segments);
    assert_eq!(decoded, Ok(()), "{header:?} {body:?}");
    let ids: Vec<&[u8]> = segments.iter().map(|segment| segment.id).collect();
    assert_eq!(ids, [&first.id[..]], "{header:?} {body:?}");
    Some(first.id)
}

/// A header of segments of one size; `parts` stands before what is said of sizes, `families` behind.
fn header(parts: &[u8], families: &[u8]) -> Vec<u8> {
    [parts, &[0, 10, 1], families].concat()
}

#[test]
fn what_decoding_refuses_is_not_found() {
    let (two, part) = ([2 << 2, 1], [1, 2, FIXED, 1, TEXT | 1 << 5, b'x', PART, 0]);
    let text = |len: u8| {
        [
            &[1, 1, FIXED, 1, TEXT, len][..],
            &vec![b'x'; usize::from(len)],
        ]
        .concat()
    };
    let listed = |symbols: &[u8]| {
        let head = [1, 1, FIXED, 1, LISTED | 1 << 5, symbols.len() as u8];
        [&head, symbols].concat()
    };
    for (name, header, body, id) in [
        ("as it should be", header(&two, &part), &[0][..], Some("x1")),
        ("no families", header(&two, &[0]), &[0], None),
        (
            "more segments than bits",
            header(&[9 << 2, 1], &part),
            &[0],
            None,
        ),
        (
            "as many segments as bits",
            header(&[8 << 2, 1], &part),
            &[0],
            Some("x1"),
        ),
        (
            "a first bit that is not set",
            header(&[2 << 2 | 1, 1, 1, 0b110], &part),
            &[0],
            Some("x2"),
        ),
        (
            "more bits than parts",
            header(&[2 << 2 | 1, 1, 1, 0b111], &part),
            &[0],
            None,
        ),
        (
            "a part of more than 32 bits",
            header(&[2 << 2, 255, 255, 255, 255, 15], &part),
            &[0],
            None,
        ),
        (
            "an item of no length",
            header(&two, &[1, 1, FIXED, 1, TEXT, 0]),
            &[0],
            None,
        ),
        (
            "a long item",
            header(&two, &text(127)),
            &[0],
            Some(&"x".repeat(127)[..]),
        ),
        ("an alphabet", header(&two, &listed(b"ab")), &[1], Some("b")),
        (
            "an alphabet out of order",
            header(&two, &listed(b"ba")),
            &[1],
            None,
        ),
        ("one symbol", header(&two, &listed(b"a")), &[1], None),
        (
            "a listed size",
            [&two[..], &[2, 10, 1, 0, 4], &part].concat(),
            &[0],
            Some("x1"),
        ),
        (
            "a listed row beyond the last",
            [&two[..], &[2, 10, 1, 2, 4], &part].concat(),
            &[0],
            None,
        ),
        (
            "a size below 0",
            [&two[..], &[0, 1, 1], &part].concat(),
            &[0],
            None,
        ),
        (
            "an id that is too long",
            header(&two, &[&[1, 26][..], &[PART, 0].repeat(26)].concat()),
            &[0],
            Some(&"1".repeat(26)[..]),
        ),
    ] {
        let found = found(&header, body);
        let wanted = id.map(|id| id.as_bytes().to_vec());
        assert_eq!(found, wanted, "{name}");
    }
}

#[test]
fn what_is_too_long_is_not_found() {
    // Twenty-six part numbers of ten digits, and too many items.
    let parts = header(
        &[1 << 2, 255, 255, 255, 255, 15],
        &[&[1, 26][..], &[PART, 0].repeat(26)].concat(),
    );
    assert_eq!(found(&parts, &[0]), None);
    let many = [&[1, 1, FIXED, 243, 1][..], &[DIGITS | 1 << 5].repeat(243)].concat();
    assert_eq!(found(&header(&[2 << 2, 1], &many), &[0; 200]), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn what_is_found_is_what_decoding_gives(
        form in 0..FORMS,
        count in 1u64..30,
        seed in any::<u32>(),
        with_gaps in any::<bool>(),
        near in any::<bool>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4), 0..4),
    ) {
        let ids = ids(form, count, u64::from(seed));
        let segments: Vec<Segment<'_>> = (1..)
            .step_by(if with_gaps { 3 } else { 1 })
            .zip(&ids)
            .map(|(part, id)| Segment { part, size: size_of(part, near), id: id.as_bytes() })
            .collect();
        let mut record = Vec::new();
        Encoder::new().encode(&segments, &mut record).expect("segments are a record");
        let parts = split(&record).expect("a record is whole");
        let (mut header, mut body) = (parts.header.to_vec(), parts.body.to_vec());
        for (at, byte, how) in changes {
            let place = at.index(header.len());
            match how {
                0 => header[place] = byte,
                1 => header[place] ^= 1 << (byte % 8),
                2 => header.insert(place, byte),
                _ if body.is_empty() => {}
                _ => {
                    let place = at.index(body.len());
                    body[place] = byte;
                }
            }
        }
        found_of(parts.version, &header, &body);
        body.truncate(1);
        found_of(parts.version, &header, &body);
    }

    #[test]
    fn what_is_found_of_anything_is_what_decoding_gives(
        header in prop::collection::vec(prop_oneof![0u8..4, 16u8..20, any::<u8>()], 0..40),
        body in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        found(&header, &body);
        found_of(Version::Two, &header, &body);
    }
}

proptest! {
    #[test]
    fn no_other_id_is_taken_for_the_first(
        ids in prop::collection::vec("[ -~]{1,60}", 1..40),
        seed in any::<u32>(),
        form in 0..FORMS,
    ) {
        let mut first = FirstId::default();
        is_found(&ids, 1.., &mut first);
        is_found(&self::ids(form, 1 + u64::from(seed % 50), u64::from(seed)), 4.., &mut first);
    }

    #[test]
    fn any_header_is_no_panic(header in prop::collection::vec(any::<u8>(), 0..200), body in prop::collection::vec(any::<u8>(), 0..40)) {
        for version in [Version::One, Version::Two] {
            let (header, body) = (&header, &body);
            FirstId::default().is(&Parts { version, header, body }, b"x");
        }
    }
}
