//! Records of segments: what goes in comes out, and damage is told.
use std::fmt::Write;

use proptest::prelude::*;
use voyager_engine::chunk::{CodecError, Encoder, Segment, Segments, decode};
use xxhash_rust::xxh3::xxh3_64;

type Owned = (u32, u32, Vec<u8>);

fn encode(rows: &[Owned]) -> Vec<u8> {
    let segments: Vec<Segment<'_>> = rows
        .iter()
        .map(|(part, size, id)| Segment {
            part: *part,
            size: *size,
            id,
        })
        .collect();
    let mut out = Vec::new();
    Encoder::new()
        .encode(&segments, &mut out)
        .expect("segments encode");
    out
}

fn assert_round_trip(rows: &[Owned]) -> usize {
    let record = encode(rows);
    let decoded = decode(&record).expect("a record decodes");
    let back: Vec<Owned> = decoded
        .iter()
        .map(|segment| (segment.part, segment.size, segment.id.to_vec()))
        .collect();
    assert_eq!(back, rows);
    record.len()
}

/// A small generator, so that a seed is a whole file.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 20) % bound
    }

    fn text(&mut self, symbols: &str, len: usize) -> String {
        let symbols = symbols.as_bytes();
        (0..len)
            .map(|_| symbols[self.below(symbols.len() as u64) as usize] as char)
            .collect()
    }
}

const HEX: &str = "0123456789abcdef";
const UPPER_HEX: &str = "0123456789ABCDEF";
const ALL: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const POWER: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789$&";

/// Ids of one posting tool, and the entropy of one of them in bits (ids only).
fn style(number: usize, dice: &mut Dice, count: u32) -> (Vec<String>, f64) {
    let total = count;
    let token = dice.text(POWER, 20);
    let mut time = 1_700_000_000_000;
    let stamp = 1_400_000_000 + dice.below(1_000_000);
    let mut ids = Vec::new();
    let mut bits = 0.0;
    for part in 1..=count {
        time += 2 + dice.below(240);
        let (id, entropy) = match number {
            0 => {
                let letters: String = (0..24)
                    .map(|at| {
                        let letter = dice.below(26) as u8;
                        char::from(if at % 2 == 0 { b'A' } else { b'a' } + letter)
                    })
                    .collect();
                (
                    format!("{letters}-{time}@nyuu"),
                    24.0 * 26f64.log2() + 240f64.log2(),
                )
            }
            1 => {
                let mut id = dice.text(HEX, 32);
                id.replace_range(12..13, "4");
                id.replace_range(16..17, &dice.text("89ab", 1));
                (format!("{id}@ngPost"), 122.0)
            }
            2 => (
                format!("part{part}of{total}.{token}@camelsystem-powerpost.local"),
                0.0,
            ),
            3 => (
                format!(
                    "Part{part}of{total}.{}@{stamp}.local",
                    dice.text(UPPER_HEX, 32)
                ),
                128.0,
            ),
            4 => (
                format!("{}_{part}o{total}@JBinUp.local", dice.text(ALL, 20)),
                20.0 * 62f64.log2(),
            ),
            5 => (
                format!(
                    "{}@{}.{}",
                    dice.text(ALL, 32),
                    dice.text(ALL, 8),
                    dice.text(ALL, 3)
                ),
                43.0 * 62f64.log2(),
            ),
            6 => {
                let fraction = dice.below(100_000);
                (
                    format!(
                        "{}.{fraction:05}.{part}@reader.example.nl",
                        stamp + u64::from(part) / 7
                    ),
                    100_000f64.log2() + 0.6,
                )
            }
            7 => {
                let local = 14 + dice.below(6) as usize;
                let tail = 12 + dice.below(6) as usize;
                let fraction = dice.below(30_000);
                (
                    format!(
                        "{}@{stamp}.{fraction:05}{}",
                        dice.text(ALL, local),
                        dice.text(ALL, tail)
                    ),
                    (local + tail) as f64 * 62f64.log2() + 30_000f64.log2() + 2.0 * 6f64.log2(),
                )
            }
            _ => (
                format!(
                    "{:05x}${stamp:x}$d979c5b1${:05}@news.example.com",
                    dice.below(1 << 20),
                    dice.below(32768)
                ),
                35.0,
            ),
        };
        ids.push(id);
        bits += entropy;
    }
    (ids, bits / f64::from(count))
}

const STYLES: usize = 9;

fn file(number: usize, seed: u64, count: u32) -> (Vec<Owned>, f64) {
    let mut dice = Dice(seed | 1);
    let (ids, bits) = style(number, &mut dice, count);
    let rows = (1..)
        .zip(ids)
        .map(|(part, id)| {
            // Sum of twelve draws: nearly normal with a deviation of 106.
            let noise: u64 = (0..12).map(|_| dice.below(107)).sum();
            (part, 740_000 + noise as u32, id.into_bytes())
        })
        .collect();
    (rows, bits)
}

#[test]
fn bytes_beyond_an_alphabet_that_comes_in_turn_come_back() {
    let ids: [&[u8]; 9] = [
        b"rpos", b"rp\0s", b"rlos", b"ortp", b"rpos", b"rpos", b"rpos", b"rpos", b".abc",
    ];
    let rows: Vec<Owned> = (1..)
        .zip(ids)
        .map(|(part, id)| (part, 5, id.to_vec()))
        .collect();
    assert_round_trip(&rows);
}

#[test]
fn every_style_comes_back_near_its_entropy() {
    for number in 0..STYLES {
        let mut bytes = 0;
        let mut floor = 0.0;
        for seed in 1..20 {
            let (mut rows, bits) = file(number, seed, 137);
            rows[136].1 = 212_345;
            bytes += assert_round_trip(&rows);
            // 8.8 bits: the entropy of the sizes.
            floor += (bits + 8.8) / 8.0 * 137.0;
        }
        let ratio = bytes as f64 / floor;
        // The token style has next to nothing to store but its description.
        let bound = match number {
            2 => 1.6,
            6 | 8 => 1.22,
            7 => 1.1,
            _ => 1.06,
        };
        assert!(ratio < bound, "style {number}: {ratio}");
    }
}

#[test]
fn a_single_segment_is_small() {
    for number in 0..STYLES {
        let (rows, _) = file(number, 7, 1);
        let len = assert_round_trip(&rows);
        assert!(len <= rows[0].2.len() + 24);
    }
}

#[test]
fn an_empty_file_has_a_record() {
    assert_round_trip(&[]);
}

#[test]
fn two_tools_in_one_file_stay_small() {
    let (mut rows, first) = file(0, 3, 200);
    let (others, second) = file(3, 4, 200);
    for at in 0..200 {
        if at % 3 == 0 {
            rows[at].2.clone_from(&others[at].2);
        }
    }
    let floor = (first * 2.0 / 3.0 + second / 3.0 + 8.8) / 8.0 * 200.0;
    let len = assert_round_trip(&rows) as f64;
    assert!(len < floor * 1.12, "{len} against {floor}");
}

#[test]
fn lost_parts_cost_little() {
    let (rows, _) = file(1, 5, 1000);
    let whole = assert_round_trip(&rows);
    let left: Vec<Owned> = rows.into_iter().filter(|row| row.0 % 97 != 0).collect();
    let cut = assert_round_trip(&left);
    assert!(cut < whole, "{cut} of {whole}");
}

#[test]
fn impossible_input_is_refused() {
    let id = |len: usize| vec![b'x'; len];
    let mut out = Vec::new();
    let mut encode = |rows: &[Owned]| {
        let segments: Vec<Segment<'_>> = rows
            .iter()
            .map(|(part, size, id)| Segment {
                part: *part,
                size: *size,
                id,
            })
            .collect();
        Encoder::new().encode(&segments, &mut out)
    };
    assert_eq!(encode(&[(1, 1, id(0))]), Err(CodecError::IdLength));
    assert_eq!(encode(&[(1, 1, id(256))]), Err(CodecError::IdLength));
    assert_eq!(
        encode(&[(2, 1, id(3)), (2, 1, id(4))]),
        Err(CodecError::Unsorted)
    );
    assert!(out.is_empty());
    assert_round_trip(&[(u32::MAX, u32::MAX, id(255))]);
}

/// Records that were written when the version of the format was new, with what they hold.
#[test]
fn records_of_every_version_are_read_for_ever() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).expect("the samples are there") {
        let path = entry.expect("a sample").path();
        if path
            .extension()
            .is_none_or(|extension| extension != "record")
        {
            continue;
        }
        let record = std::fs::read(&path).expect("a record");
        let table = std::fs::read_to_string(path.with_extension("tsv")).expect("its segments");
        let decoded = decode(&record).expect("an old record decodes");
        let mut lines = String::new();
        for segment in decoded.iter() {
            let id = std::str::from_utf8(segment.id).expect("an id");
            let _: std::fmt::Result = writeln!(lines, "{}\t{}\t{id}", segment.part, segment.size);
        }
        assert_eq!(lines, table, "{}", path.display());
        seen += 1;
    }
    assert!(seen >= 37);
}

/// Every bit of the record is flipped, and every shorter record is tried.
#[test]
fn no_flipped_bit_and_no_cut_gives_segments() {
    for number in 0..STYLES {
        for count in [1, 2, 12] {
            let whole = encode(&file(number, 11, count).0);
            let mut record = whole.clone();
            for bit in 0..record.len() * 8 {
                record[bit / 8] ^= 1 << (bit % 8);
                assert!(decode(&record).is_err(), "style {number}, bit {bit}");
                record[bit / 8] ^= 1 << (bit % 8);
            }
            for len in 0..whole.len() {
                assert!(
                    decode(&whole[..len]).is_err(),
                    "style {number}, cut to {len}"
                );
            }
        }
    }
}

/// With a right checksum a flipped bit must be an error or other segments, never a panic.
#[test]
fn no_flipped_bit_under_a_right_checksum_is_a_panic() {
    for number in 0..STYLES {
        for count in [1, 12, 40] {
            let mut record = encode(&file(number, 12, count).0);
            for bit in 0..(record.len() - 4) * 8 {
                record[bit / 8] ^= 1 << (bit % 8);
                sign(&mut record);
                let _: Result<Segments, CodecError> = decode(&record);
                record[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }
}

#[test]
fn one_segment_of_any_size_comes_back() {
    for len in 1..=255 {
        for (part, size) in [(0, 0), (1, 740_000), (u32::MAX, u32::MAX)] {
            let rows = [(part, size, vec![b'x'; len])];
            assert!(assert_round_trip(&rows) <= len + 28);
        }
    }
}

/// Puts a right checksum under damaged bytes, so that the damage reaches the parser.
fn sign(record: &mut [u8]) {
    let Some((content, checksum)) = record.split_last_chunk_mut::<4>() else {
        return;
    };
    *checksum = (xxh3_64(content) as u32).to_le_bytes();
}

fn any_id() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(33u8..127, 1..60),
        prop::collection::vec(any::<u8>(), 1..=255),
        "[a-zA-Z0-9]{1,30}@[a-z]{1,8}(\\.[a-z]{2,3})?".prop_map(String::into_bytes),
        "[0-9]{1,20}\\.[0-9]{1,5}@x".prop_map(String::into_bytes),
    ]
}

fn any_rows() -> impl Strategy<Value = Vec<Owned>> {
    prop::collection::btree_map(any::<u32>(), (any::<u32>(), any_id()), 0..40).prop_map(|rows| {
        rows.into_iter()
            .map(|(part, (size, id))| (part, size, id))
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_segments_come_back(rows in any_rows()) {
        assert_round_trip(&rows);
    }

    #[test]
    fn mixed_styles_come_back(
        seed in any::<u64>(),
        count in 1u32..80,
        styles in prop::collection::vec(0..STYLES, 1..5),
        holes in any::<u64>(),
        odd in prop::collection::vec((0usize..80, any_id()), 0..3),
    ) {
        let files: Vec<Vec<Owned>> = styles.iter().map(|number| file(*number, seed, count).0).collect();
        let mut dice = Dice(seed | 1);
        let mut rows: Vec<Owned> = (0..count as usize)
            .filter(|at| holes >> (at % 64) & 1 == 1)
            .map(|at| files[dice.below(files.len() as u64) as usize][at].clone())
            .collect();
        for (at, id) in odd {
            if let Some(row) = rows.get_mut(at) {
                row.2 = id;
            }
        }
        assert_round_trip(&rows);
    }

    /// Work space is kept: neither what is written nor what is read may show what was there before.
    #[test]
    fn files_do_not_depend_on_those_before(
        forms in prop::collection::vec((0..STYLES, any::<u64>(), 1u32..70, "[a-z.]{0,90}"), 1..12),
    ) {
        let mut encoder = Encoder::new();
        for (number, seed, count, tail) in forms {
            // The same form before longer and shorter constant ends.
            let mut rows = file(number, seed, count).0;
            for row in &mut rows {
                row.2.extend_from_slice(tail.as_bytes());
            }
            let segments: Vec<Segment<'_>> = rows
                .iter()
                .map(|(part, size, id)| Segment { part: *part, size: *size, id })
                .collect();
            let mut record = Vec::new();
            prop_assert_eq!(encoder.encode(&segments, &mut record), Ok(()));
            prop_assert_eq!(&record, &encode(&rows));
            let decoded = decode(&record).expect("a record decodes");
            prop_assert!(decoded.iter().eq(segments.iter().copied()));
        }
    }

    #[test]
    fn what_is_digits_only_where_it_is_looked_at_comes_back(
        count in 48u32..100,
        digits in prop_oneof![5usize..17, 17usize..19],
        before in any::<prop::sample::Index>(),
        odd in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..9),
        with_part in any::<bool>(),
        step in any::<u64>(),
    ) {
        // Long numbers, which stand around the part number: only some ids are looked at before they are coded.
        let before = before.index(digits + 1);
        let mut rows: Vec<Owned> = (1..=count)
            .map(|part| {
                let number = step.wrapping_mul(u64::from(part)) % 10u64.pow(digits as u32);
                let number = format!("{number:0digits$}");
                let middle = if with_part { part.to_string() } else { String::new() };
                let id = format!("{}{middle}{}@x", &number[..before], &number[before..]);
                (part, 700_000, id.into_bytes())
            })
            .collect();
        for (at, byte) in odd {
            let row = &mut rows[at.index(count as usize)];
            let len = row.2.len();
            row.2[..before].fill(byte);
            row.2[len - 2 - (digits - before)..len - 2].fill(byte);
        }
        assert_round_trip(&rows);
    }

    #[test]
    fn ids_of_other_lengths_where_nobody_looks_come_back(
        count in 48u32..130,
        (before, after) in ("[a-z]{0,40}", "[a-z@.]{0,40}"),
        odd in prop::collection::vec((any::<prop::sample::Index>(), "[a-z0-9]{1,6}"), 1..6),
        base in 0u32..2,
    ) {
        // Only some ids are looked at before they are coded; the others need not have the part where these have it.
        let mut rows: Vec<Owned> = (1..=count)
            .map(|part| (part, 700_000, format!("{before}{}{after}", part - base).into_bytes()))
            .collect();
        for (at, id) in odd {
            rows[at.index(count as usize)].2 = id.into_bytes();
        }
        assert_round_trip(&rows);
    }

    #[test]
    fn long_ids_of_other_kinds_at_each_place_come_back(
        count in 2u32..200,
        kinds in prop::collection::vec(prop::sample::select(vec!["0123456789", "abcdef", "XYZUVW", "g$&_", ".-", ".\u{7f}\u{1}"]), 1..9),
        len in 1usize..=255,
        seed in 1u64..,
    ) {
        let mut dice = Dice(seed);
        let rows: Vec<Owned> = (1..=count)
            .map(|part| {
                let id: String = kinds.iter().cycle().take(len).map(|kind| dice.text(kind, 1)).collect();
                (part, 700_000, id.into_bytes())
            })
            .collect();
        assert_round_trip(&rows);
    }

    #[test]
    fn long_ids_of_few_symbols_at_each_place_come_back(
        count in 16u32..80,
        len in 1usize..=255,
        symbols in "[a-zA-Z0-9$_.]{2,4}",
        seed in 1u64..,
        with_part in any::<bool>(),
    ) {
        let mut dice = Dice(seed);
        let rows: Vec<Owned> = (1..=count)
            .map(|part| {
                let part_number = if with_part { part.to_string() } else { String::new() };
                let id = dice.text(&symbols, len - part_number.len().min(len - 1)) + &part_number;
                (part, 700_000, id.into_bytes())
            })
            .collect();
        assert_round_trip(&rows);
    }

    #[test]
    fn damage_is_an_error_and_no_panic(
        number in 0..STYLES,
        seed in any::<u64>(),
        count in 1u32..40,
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
        signed in any::<bool>(),
    ) {
        let mut record = encode(&file(number, seed, count).0);
        let whole = record.clone();
        for (at, value) in flips {
            let at = at.index(record.len());
            record[at] ^= value;
        }
        if seed % 3 == 0 {
            record.truncate(cut.index(record.len()));
        }
        if signed {
            sign(&mut record);
            if let Ok(segments) = decode(&record) {
                prop_assert!(segments.len() <= record.len() * 8);
            }
        } else if record != whole {
            prop_assert!(decode(&record).is_err());
        }
    }

    #[test]
    fn any_bytes_with_a_checksum_are_no_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Some(first) = bytes.first_mut() {
            *first = 1;
        }
        sign(&mut bytes);
        let _: Result<Segments, CodecError> = decode(&bytes);
    }
}
