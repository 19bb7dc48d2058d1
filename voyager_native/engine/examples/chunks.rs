//! Times chunks of releases: `cargo run --release --example chunks -- classic 400000 5`.
//!
//! Files of one poster and one head are taken as one release. Prints the least of the repetitions, and
//! its ratio to inflating the same lines alone.
#![allow(clippy::print_stdout)]

use std::collections::HashMap;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use voyager_engine::assemble::{Assembler, Config};
use voyager_engine::chunk::{ChunkEncoder, decode_chunk};
use voyager_engine::inflate::Inflater;
use voyager_engine::synthetic::{Generator, Mix, deflate};

fn main() {
    let mut args = std::env::args().skip(1);
    let name = args.next().unwrap_or_else(|| "classic".to_owned());
    let mut number = |otherwise: usize| {
        let arg = args.next().and_then(|arg| arg.parse().ok());
        arg.unwrap_or(otherwise)
    };
    let (lines, repeats) = (number(400_000), number(5));
    let Some(&(_, mix)) = Mix::ALL.iter().find(|mix| mix.0 == name) else {
        println!("no mix {name}");
        return;
    };
    let now = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default();
    let mut generator = Generator::new(mix, 1, 0.0);
    let mut assembler = Assembler::new(Config {
        group: mix.group().to_owned(),
        low: 0,
        high: 0,
        groups: mix.groups(),
        now: 2_000_000_000,
        keep_articles: false,
    });
    let mut inflate = Duration::ZERO;
    let mut inflater = Inflater::new();
    let (mut text, mut buffer) = (Vec::new(), Vec::new());
    for line in 1..=lines {
        generator.write_line(&mut text);
        if line % 100_000 == 0 || line == lines {
            let block = deflate(&text);
            let times = (0..repeats.max(1)).map(|_| {
                let start = now();
                let _: Result<_, _> = inflater.inflate(&block, &mut buffer);
                now().saturating_sub(start)
            });
            inflate += times.min().unwrap_or_default();
            assembler.add_text(&text);
            text.clear();
        }
    }
    let files = assembler.finish().files;
    let payloads: Vec<&[u8]> = files
        .payload
        .iter()
        .map(|at| files.payloads.get(*at))
        .collect();
    let mut releases: HashMap<(&str, &str), Vec<usize>> = HashMap::new();
    for row in 0..files.len() {
        let key = (files.poster.get(row), files.head.get(row));
        releases.entry(key).or_default().push(row);
    }
    let mut releases: Vec<Vec<usize>> = releases.into_values().collect();
    releases.sort();
    let mut least = [Duration::MAX; 2];
    let mut bytes = 0;
    for _ in 0..repeats {
        bytes = 0;
        let mut encoder = ChunkEncoder::new().expect("an encoder");
        let mut chunks = Vec::new();
        let start = now();
        for rows in &releases {
            let own: Vec<&[u8]> = rows.iter().map(|row| payloads[*row]).collect();
            let chunk = encoder.encode(&files, rows, &own).expect("a chunk");
            bytes += chunk.len();
            chunks.push(chunk);
        }
        least[0] = least[0].min(now().saturating_sub(start));
        let start = now();
        for chunk in &chunks {
            decode_chunk(chunk).expect("a chunk decodes");
        }
        least[1] = least[1].min(now().saturating_sub(start));
    }
    let in_inflate = |time: Duration| time.as_secs_f64() / inflate.as_secs_f64();
    println!(
        "{name}: {} files in {} chunks, {bytes} bytes; encode {:.3} s, {:.2} of inflate; decode {:.3} s, {:.2} of inflate",
        files.len(),
        releases.len(),
        least[0].as_secs_f64(),
        in_inflate(least[0]),
        least[1].as_secs_f64(),
        in_inflate(least[1]),
    );
}
