//! Measures the parsers on made-up overview lines, a stage at a time: `cargo run --release --example parse_speed`.
//!
//! An argument gives the number of lines.
#![allow(clippy::print_stdout, reason = "printing is what this program is for")]

use std::fmt::Write;
use std::hint::black_box;
use std::time::Instant;

use voyager_engine::date::DateParser;
use voyager_engine::lines::{Line, Scanner};
use voyager_engine::subject;
use voyager_engine::text;
use voyager_engine::xref::{Owner, Owners};

const DEFAULT_LINES: u32 = 200_000;
const ROUNDS: u32 = 7;

/// A generator of numbers that look random (Steele and Vigna's `SplitMix64`).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn word(&mut self, len: usize) -> String {
        const LETTERS: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789ab";
        (0..len)
            .map(|_| char::from(LETTERS[(self.next() & 63) as usize]))
            .collect()
    }
}

/// Lines as 24 posters with six tools send them, interleaved.
fn overview(lines: u32) -> String {
    let mut numbers = Numbers(1);
    let names: Vec<String> = (0..24).map(|_| numbers.word(22)).collect();
    let mut out = String::new();
    for number in 33_856_000_000..33_856_000_000 + u64::from(lines) {
        let poster = (numbers.next() % 24) as usize;
        let (name, part, file) = (
            &names[poster],
            numbers.next() % 700 + 1,
            number / 7000 % 60 + 1,
        );
        let (size, second) = (739_000 + numbers.next() % 900, number / 40 % 60);
        let (subject, date, id) = match poster % 6 {
            0 => (
                format!(
                    "[{file:02}/60] - \"{name}.part{file:02}.rar\" yEnc ({part}/732) 524288000"
                ),
                format!("Wed, 17 Dec 25 19:34:{second:02} UTC"),
                format!("{}-1664075015{:03}@nyuu", numbers.word(24), part),
            ),
            1 => (
                format!("[{file:02}/60] \"{name}.mkv\" ({part}/2947)"),
                format!("Wed, 17 Dec 2025 19:34:{second:02} GMT"),
                format!("{}@ngPost", numbers.word(32)),
            ),
            2 => (
                numbers.word(32),
                format!("Wed, 17 Dec 2025 19:34:{second:02} GMT"),
                format!("{}@ngPost", numbers.word(32)),
            ),
            3 => (
                format!(
                    "[PRiVATE]-[WtFnZb]-[Harbour.Lights.{name}.mkv]-[1/8] - \"\" yEnc  5524123647 ({part}/7707)"
                ),
                format!("Wed, 17 Dec 2025 19:34:{second:02} +0000"),
                format!(
                    "{}@{}.{}",
                    numbers.word(32),
                    numbers.word(8),
                    numbers.word(3)
                ),
            ),
            4 => (
                format!(
                    "[400708]-[FULL]-[#a.b.port@EFNet]-[ Harbour.Lights.2017.720p.HDTV.x264-CREW ]-[{file}/60] - \"harbour.lights.{name}.r22\" yEnc ({part}/700)"
                ),
                format!("Wed, 17 Dec 2025 19:34:{second:02} GMT"),
                format!(
                    "part{part}of700.{}@camelsystem-powerpost.local",
                    numbers.word(20)
                ),
            ),
            _ => (
                format!("(18/60) \"Harbour {name}.part17.rar\" - 647,91 MB - yEnc ({part}/700)"),
                format!("17 Dec 2025 19:34:{second:02} GMT"),
                format!("{}_18o60@JBinUp.local", numbers.word(20)),
            ),
        };
        let cross = if numbers.next().is_multiple_of(5) {
            format!(" alt.binaries.misc:{}", number / 2)
        } else {
            String::new()
        };
        let _ = write!(
            out,
            "{number}\t{subject}\tposter{poster} <{name}@x.local>\t{date}\t<{id}>\t\t{size}\t5690\tXref: news.example.net alt.binaries.boneless:{number}{cross}\r\n"
        );
    }
    out
}

/// The best of some rounds over all lines, in nanoseconds a line.
fn measure(text: &str, lines: u32, mut each: impl FnMut(&Line<'_>) -> u64) -> f64 {
    let mut scanner = Scanner::new();
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let mut sum = 0_u64;
        scanner.scan(text.as_bytes(), &mut |line| {
            sum = sum.wrapping_add(each(&line));
        });
        black_box(sum);
        best = best.min(start.elapsed().as_secs_f64() * 1e9 / f64::from(lines));
    }
    best
}

fn main() {
    let lines = std::env::args()
        .nth(1)
        .and_then(|lines| lines.parse().ok())
        .unwrap_or(DEFAULT_LINES)
        .max(1);
    let text = overview(lines);
    println!("{lines} lines of {} bytes", text.len() / lines as usize);
    let groups = [
        ("alt.binaries.boneless".to_string(), 1),
        ("alt.binaries.misc".to_string(), 2),
    ];
    let base = measure(&text, lines, |line| {
        line.number.unwrap_or(0) ^ line.size.unwrap_or(0)
    });
    println!("scan {base:.0} ns");
    let mut dates = DateParser::new();
    let date = measure(&text, lines, |line| {
        dates.parse(line.date).unwrap_or(0).cast_unsigned()
    });
    println!("date {:.0} ns", date - base);
    let mut owners = Owners::new("alt.binaries.boneless", &groups);
    let owner = measure(&text, lines, |line| {
        u64::from(owners.owner(line.xref) == Owner::Own)
    });
    println!("owner {:.0} ns", owner - base);
    let decode = measure(&text, lines, |line| {
        u64::from(text::needs_decoding(line.subject))
    });
    println!("decoding check {:.0} ns", decode - base);
    let segment = measure(&text, lines, |line| {
        u64::from(subject::segment(line.subject).part)
    });
    println!("segment counter {:.0} ns", segment - base);
    let whole = measure(&text, lines, |line| {
        u64::from(subject::parse(line.subject).flags)
    });
    println!("whole subject {:.0} ns", whole - base);
    let all = measure(&text, lines, |line| {
        let part = u64::from(subject::segment(line.subject).part);
        part ^ dates.parse(line.date).unwrap_or(0).cast_unsigned()
            ^ u64::from(owners.owner(line.xref) == Owner::Own)
            ^ u64::from(text::needs_decoding(line.subject))
    });
    println!("all of it with the segment counter {all:.0} ns");
    let all = measure(&text, lines, |line| {
        let flags = u64::from(subject::parse(line.subject).flags);
        flags
            ^ dates.parse(line.date).unwrap_or(0).cast_unsigned()
            ^ u64::from(owners.owner(line.xref) == Owner::Own)
            ^ u64::from(text::needs_decoding(line.subject))
    });
    println!("all of it with the whole subject {all:.0} ns");
}
