//! Chunks of releases: what goes in comes out, and damage is told.
use proptest::prelude::*;
use voyager_engine::assemble::{Assembler, Config};
use voyager_engine::chunk::{ChunkEncoder, CodecError, FileRow, decode, decode_chunk};
use voyager_engine::synthetic::{Generator, Mix};
use voyager_engine::tables::{ByteStore, Files};
use xxhash_rust::xxh3::xxh3_64;

fn files(mix: Mix, seed: u64, lines: usize) -> Files {
    let mut generator = Generator::new(mix, seed, 0.05);
    let mut text = Vec::new();
    for _ in 0..lines {
        generator.write_line(&mut text);
    }
    let mut assembler = Assembler::new(Config {
        group: mix.group().to_owned(),
        low: 1,
        high: 0,
        groups: mix.groups(),
        now: 1_900_000_000,
        keep_articles: false,
    });
    assembler.add_text(&text);
    assembler.finish().files
}

fn encode(files: &Files) -> Vec<u8> {
    let rows: Vec<usize> = (0..files.len()).collect();
    let payloads: Vec<&[u8]> = files
        .payload
        .iter()
        .map(|at| files.payloads.get(*at))
        .collect();
    ChunkEncoder::new()
        .and_then(|mut encoder| encoder.encode(files, &rows, &payloads))
        .expect("files are a chunk")
}

/// Everything but where the records are stored.
fn columns(files: &Files) -> Files {
    Files {
        payload: Vec::new(),
        payloads: ByteStore::default(),
        ..files.clone()
    }
}

/// Puts a right checksum under damaged bytes, so that the damage reaches the parser.
fn sign(chunk: &mut [u8]) {
    if let Some((content, checksum)) = chunk.split_last_chunk_mut::<8>() {
        *checksum = xxh3_64(content).to_le_bytes();
    }
}

#[test]
fn files_and_their_records_come_back() {
    for (_, mix) in Mix::ALL {
        let files = files(mix, 5, 3_000);
        let decoded = decode_chunk(&encode(&files)).expect("a chunk decodes");
        assert_eq!(columns(&decoded), columns(&files));
        for (left, right) in decoded.payload.iter().zip(&files.payload) {
            assert_eq!(decoded.payloads.get(*left), files.payloads.get(*right));
        }
    }
}

#[test]
fn some_rows_are_a_chunk_of_their_own() {
    let files = files(Mix::Ath, 6, 2_000);
    let rows = [3, 0, 7];
    let payloads = rows.map(|row: usize| files.payloads.get(files.payload[row]));
    let mut encoder = ChunkEncoder::new().expect("an encoder");
    let chunk = encoder.encode(&files, &rows, &payloads).expect("a chunk");
    let decoded = decode_chunk(&chunk).expect("a chunk decodes");
    assert_eq!(decoded.file_key, rows.map(|row| files.file_key[row]));
    assert!(encoder.encode(&files, &rows, &payloads[..2]).is_err());
    let damaged = [&payloads[0][1..], payloads[1], payloads[2]];
    assert_eq!(
        encoder.encode(&files, &rows, &damaged),
        Err(CodecError::Checksum)
    );
}

#[test]
fn chunks_are_appended_and_a_refused_one_leaves_nothing() {
    let files = files(Mix::Modern, 3, 2_000);
    let mut encoder = ChunkEncoder::new().expect("an encoder");
    let mut all = Vec::new();
    let mut ends = vec![0];
    for rows in [[0, 1], [2, 3], [1, 4]] {
        let payloads = rows.map(|row: usize| files.payloads.get(files.payload[row]));
        let damaged = [payloads[0], &payloads[1][..payloads[1].len() - 1]];
        let rows_with = |payloads: [_; 2]| {
            let pairs = rows.into_iter().zip(payloads);
            pairs
                .map(|(row, payload)| FileRow::of(&files, row, payload))
                .collect::<Vec<_>>()
        };
        assert!(encoder.encode_into(&rows_with(damaged), &mut all).is_err());
        assert_eq!(Some(&all.len()), ends.last());
        encoder
            .encode_into(&rows_with(payloads), &mut all)
            .expect("a chunk");
        let alone = encoder.encode(&files, &rows, &payloads);
        assert_eq!(alone.as_deref(), Ok(&all[ends[ends.len() - 1]..]));
        ends.push(all.len());
    }
    assert!(
        ends.windows(2)
            .all(|ends| decode_chunk(&all[ends[0]..ends[1]]).is_ok())
    );
}

#[test]
fn texts_come_back_wherever_they_stand_in_their_subject() {
    let mut files = files(Mix::Classic, 2, 300);
    let rows: Vec<usize> = (0..files.len()).collect();
    let subjects = ["a".repeat(300) + "b", "a".repeat(20) + "ab", String::new()];
    let names = ["a".repeat(40) + "b", "ab".to_owned(), "ab".to_owned()];
    files.subject.clear();
    files.name.clear();
    files.first_message_id.clear();
    for row in &rows {
        files.subject.push(&subjects[row % 3]);
        files.name.push(&names[row % 3]);
        // Neither of them is that of the record.
        files.first_message_id.push(["", "other@id"][row % 2]);
    }
    let decoded = decode_chunk(&encode(&files)).expect("a chunk decodes");
    assert_eq!(columns(&decoded), columns(&files));
}

#[test]
fn a_later_version_is_said_to_be_unknown() {
    let mut chunk = encode(&files(Mix::Classic, 1, 50));
    chunk[0] = 200;
    sign(&mut chunk);
    assert_eq!(decode_chunk(&chunk), Err(CodecError::Version(200)));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn damage_is_an_error_and_no_panic(
        seed in 1u64..50,
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        is_signed in any::<bool>(),
    ) {
        let whole = encode(&files(Mix::Boneless, seed, 60));
        let mut chunk = whole.clone();
        for (at, value) in flips {
            let at = at.index(chunk.len());
            chunk[at] ^= value;
        }
        if is_signed {
            sign(&mut chunk);
            if let Ok(files) = decode_chunk(&chunk) {
                for at in &files.payload {
                    let _: Result<_, CodecError> = decode(files.payloads.get(*at));
                }
            }
        } else if chunk != whole {
            prop_assert!(decode_chunk(&chunk).is_err());
        }
    }

    #[test]
    fn any_description_is_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), bodies in prop::collection::vec(any::<u8>(), 0..50)) {
        let compressed = zstd::bulk::compress(&bytes, 1).expect("bytes compress");
        let mut chunk = vec![1, compressed.len() as u8 & 0x7f | 0x80, (compressed.len() >> 7) as u8];
        chunk.extend(compressed);
        chunk.extend(bodies);
        chunk.extend([0; 8]);
        sign(&mut chunk);
        let _: Result<Files, CodecError> = decode_chunk(&chunk);
    }
}
