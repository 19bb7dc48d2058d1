//! Times the codec of segments and weighs its bytes: `cargo run --release --example codec -- 137 200 9`.
//!
//! Arguments: segments a file, files, repetitions, and the number of the only form if not all. Without
//! repetitions (0) everything runs once and no clock is read, for counting instructions. Each row is one form of message-ids: nanoseconds a segment
//! to encode (with the verification that belongs to it) and to decode, bytes a segment of a record alone, what it
//! takes in a chunk of twenty files, the entropy of what is random in ids and sizes, and the ratio of the last two.
#![allow(clippy::print_stdout)]

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use voyager_engine::chunk::{
    ChunkEncoder, Encoder, FileRow, Numbers, Segment, Segments, decode_into,
};

/// A small generator with a fixed seed.
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

const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const HEX: &str = "0123456789abcdef";
const UPPER_HEX: &str = "0123456789ABCDEF";
const BASE36: &str = "0123456789abcdefghijklmnopqrstuvwxyz";
const ALNUM: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const POWER: &str = "$&0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

const FAMILIES: [&str; 12] = [
    "nyuu: 24 letters, ms",
    "ngPost: uuid v4",
    "PowerPost: token a file",
    "Yenc-PP: part, GUID v4",
    "JBinUp: 20 of 62",
    "JBinUp: ms, 12 base 36",
    "24 base 36",
    "hex$time$const$dec",
    "32@8.3 of 62",
    "seconds.dec.part@host",
    "varying lengths",
    "two tools",
];

/// The entropy of `mean` steps of time, which are even between 2 and 2 * mean.
fn steps(dice: &mut Dice, time: &mut u64) -> f64 {
    *time += 2 + dice.below(128);
    7.0
}

/// The id of a part, and its entropy in bits.
fn id(
    family: usize,
    part: u32,
    total: u32,
    seed: u64,
    dice: &mut Dice,
    time: &mut u64,
) -> (String, f64) {
    let bits = |radix: usize, count: usize| (radix as f64).log2() * count as f64;
    match family {
        0 => {
            let entropy = steps(dice, time);
            let letters: String = (0..12)
                .map(|_| dice.text(UPPER, 1) + &dice.text(LOWER, 1))
                .collect();
            (format!("{letters}-{time}@nyuu"), bits(26, 24) + entropy)
        }
        1 => {
            let mut id = dice.text(HEX, 32);
            id.replace_range(12..13, "4");
            id.replace_range(16..17, &dice.text("89ab", 1));
            (format!("{id}@ngPost"), 122.0)
        }
        2 => {
            let token = Dice(seed | 1).text(POWER, 20);
            let id = format!("part{part}of{total}.{token}@camelsystem-powerpost.local");
            (id, 120.0 / f64::from(total))
        }
        3 => {
            let mut guid = dice.text(UPPER_HEX, 32);
            guid.replace_range(12..13, "4");
            guid.replace_range(16..17, &dice.text("89AB", 1));
            let id = format!(
                "Part{part}of{total}.{guid}@{}.local",
                1_400_000_000 + seed % 1_000_000
            );
            (id, 122.0)
        }
        4 => (
            format!("{}_{part}o{total}@JBinUp.local", dice.text(ALNUM, 20)),
            bits(62, 20),
        ),
        5 => {
            let entropy = steps(dice, time);
            (
                format!("{time}.{}@JBinUp", dice.text(BASE36, 12)),
                bits(36, 12) + entropy,
            )
        }
        6 => (format!("{}@example", dice.text(BASE36, 24)), bits(36, 24)),
        7 => {
            let id = format!(
                "{:05x}${:x}$d979c5b1${:05}@news.example.com",
                dice.below(1 << 20),
                1_400_000_000 + seed % 1_000_000,
                dice.below(32768)
            );
            (id, 35.0)
        }
        8 => (
            format!(
                "{}@{}.{}",
                dice.text(ALNUM, 32),
                dice.text(ALNUM, 8),
                dice.text(ALNUM, 3)
            ),
            bits(62, 43),
        ),
        9 => {
            let seconds = 1_400_000_000 + u64::from(part) / 7;
            let id = format!(
                "{seconds}.{:05}.{part}@reader.example.nl",
                dice.below(100_000)
            );
            (id, 100_000f64.log2() + 0.6)
        }
        10 => {
            let (local, tail) = (14 + dice.below(6) as usize, 12 + dice.below(6) as usize);
            let id = format!("{}@{}", dice.text(ALNUM, local), dice.text(ALNUM, tail));
            (id, bits(62, local + tail) + 2.0 * 6f64.log2())
        }
        _ => {
            let (family, entropy) = if dice.below(2) == 0 {
                (1, 1.0)
            } else {
                (4, 1.0)
            };
            let (id, bits) = id(family, part, total, seed, dice, time);
            (id, bits + entropy)
        }
    }
}

struct File {
    rows: Vec<(u32, u32, String)>,
    bits: f64,
}

fn file(family: usize, seed: u64, count: u32) -> File {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut time = 1_700_000_000_000 + dice.below(1_000_000_000);
    let mut bits = 0.0;
    let rows = (1..=count)
        .map(|part| {
            let (id, entropy) = id(family, part, count, seed, &mut dice, &mut time);
            // Sum of twelve draws: nearly normal with a deviation of 106, whose entropy is 8.77 bits.
            let noise: u64 = (0..12).map(|_| dice.below(107)).sum();
            bits += entropy + 8.77;
            (part, 740_000 + noise as u32, id)
        })
        .collect();
    File { rows, bits }
}

fn encode(encoder: &mut Encoder, segments: &[Segment<'_>]) -> Vec<u8> {
    let mut record = Vec::new();
    encoder
        .encode(segments, &mut record)
        .expect("segments encode");
    record
}

/// Bytes of chunks of twenty files with these records and first message-ids.
fn chunks(records: &[Vec<u8>], ids: &[String], count: u32) -> usize {
    let mut encoder = ChunkEncoder::new().expect("an encoder");
    let mut dice = Dice(1);
    let mut out = Vec::new();
    for (number, (records, ids)) in records.chunks(20).zip(ids.chunks(20)).enumerate() {
        let names: Vec<String> = (1..=records.len())
            .map(|at| format!("example.release.{number}.part{at:02}.rar"))
            .collect();
        let subjects: Vec<String> = (1..)
            .zip(&names)
            .map(|(at, name)| format!("[{at:02}/20] - \"{name}\" yEnc"))
            .collect();
        let rows: Vec<FileRow<'_>> = (0..records.len())
            .map(|at| {
                let first = 1_000_000_000 + number as u64 * 3000 + at as u64 * u64::from(count);
                let key = dice.next();
                let posted = i64::try_from(at * 9).unwrap_or_default();
                FileRow {
                    file_key: key,
                    base_key: key,
                    generation: 0,
                    subject: &subjects[at],
                    name: &names[at],
                    head: &names[at][..names[at].len() - 11],
                    tail: "",
                    request: "",
                    poster: "someone <someone@example.com>",
                    group: "alt.binaries.example",
                    groups: "",
                    first_message_id: &ids[at],
                    numbers: Numbers {
                        file_index: Some(at as u32 + 1),
                        file_total: Some(20),
                        parts_total: count,
                        parts_found: count,
                        size_bytes: 740_000 * u64::from(count) + dice.below(20_000),
                        flags: 0,
                        poster_constant: true,
                        is_fragment: false,
                        first_posted_at: Some(1_700_000_000 + posted),
                        last_posted_at: Some(1_700_000_009 + posted),
                        first_number: first,
                        last_number: first + u64::from(count) - 1,
                        reach_low: first,
                        reach_high: first + u64::from(count) - 1,
                    },
                    payload: &records[at],
                }
            })
            .collect();
        encoder.encode_into(&rows, &mut out).expect("a chunk");
    }
    out.len()
}

fn main() {
    let mut args = std::env::args().skip(1);
    let mut number = |otherwise: u32| {
        let arg = args.next().and_then(|arg| arg.parse().ok());
        arg.unwrap_or(otherwise)
    };
    let (count, files, repeats) = (number(137), number(200), number(9));
    let only = number(u32::MAX);
    let now = || match repeats {
        0 => Duration::ZERO,
        _ => Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default(),
    };
    println!(
        "{files} files of {count} segments            encode ns  decode ns  alone  bytes  floor  ratio"
    );
    for (family, name) in FAMILIES.iter().enumerate() {
        if only != u32::MAX && only as usize != family {
            continue;
        }
        let files: Vec<File> = (1..=u64::from(files))
            .map(|seed| file(family, seed, count))
            .collect();
        let segments: Vec<Vec<Segment<'_>>> = files
            .iter()
            .map(|file| {
                file.rows
                    .iter()
                    .map(|(part, size, id)| Segment {
                        part: *part,
                        size: *size,
                        id: id.as_bytes(),
                    })
                    .collect()
            })
            .collect();
        let mut encoder = Encoder::new();
        let mut decoded = Segments::default();
        let mut least = [Duration::MAX; 2];
        let mut records = vec![Vec::new(); segments.len()];
        for _ in 0..repeats.max(1) {
            let start = now();
            for (record, rows) in records.iter_mut().zip(&segments) {
                record.clear();
                encoder.encode(rows, record).expect("segments encode");
            }
            least[0] = least[0].min(now().saturating_sub(start));
            let start = now();
            for record in &records {
                decoded.clear();
                decode_into(record, &mut decoded).expect("a record decodes");
            }
            least[1] = least[1].min(now().saturating_sub(start));
        }
        let total = (segments.len() * count as usize) as f64;
        let alone = records.iter().map(Vec::len).sum::<usize>() as f64 / total;
        let empty = vec![encode(&mut encoder, &[]); records.len()];
        let ids: Vec<String> = files.iter().map(|file| file.rows[0].2.clone()).collect();
        let none = vec![String::new(); files.len()];
        let in_chunks = chunks(&records, &ids, count) - chunks(&empty, &none, count);
        let bytes = in_chunks as f64 / total;
        let floor = files.iter().map(|file| file.bits).sum::<f64>() / 8.0 / total;
        println!(
            "{name:32}{:12.1}{:11.1}{alone:7.2}{bytes:7.2}{floor:7.2}{:7.3}",
            least[0].as_secs_f64() * 1e9 / total,
            least[1].as_secs_f64() * 1e9 / total,
            bytes / floor
        );
    }
}
