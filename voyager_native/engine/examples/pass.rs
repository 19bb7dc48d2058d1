//! Times the header pass over a made-up overview: `cargo run --release --example pass -- boneless 400000 5`.
//!
//! Prints the least of the repetitions, per stage, and the ratio to inflating alone.
#![allow(clippy::print_stdout)]

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use voyager_engine::assemble::{Assembler, Config};
use voyager_engine::inflate::Inflater;
use voyager_engine::synthetic::{Generator, Mix, deflate};

fn main() {
    let mut args = std::env::args().skip(1);
    let name = args.next().unwrap_or_else(|| "boneless".to_owned());
    let lines: usize = args
        .next()
        .and_then(|arg| arg.parse().ok())
        .unwrap_or(400_000);
    let repeats: usize = args.next().and_then(|arg| arg.parse().ok()).unwrap_or(5);
    let Some(&(_, mix)) = Mix::ALL.iter().find(|mix| mix.0 == name) else {
        println!("no mix {name}");
        return;
    };
    let mut generator = Generator::new(mix, 1, 0.0);
    let mut text = Vec::new();
    let mut blocks = Vec::new();
    let mut text_bytes = 0;
    for line in 1..=lines {
        generator.write_line(&mut text);
        if line % 100_000 == 0 || line == lines {
            text_bytes += text.len();
            blocks.push(deflate(&text));
            text.clear();
        }
    }
    let block_bytes: usize = blocks.iter().map(Vec::len).sum();
    println!(
        "{name}: {lines} lines, {:.1} bytes of text and {:.1} of block a line",
        text_bytes as f64 / lines as f64,
        block_bytes as f64 / lines as f64
    );
    let now = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default();
    let least =
        |least: &mut Duration, start: Duration| *least = (*least).min(now().saturating_sub(start));
    let mut inflate = vec![Duration::MAX; blocks.len()];
    let mut assemble = vec![Duration::MAX; blocks.len()];
    let mut finish = Duration::MAX;
    let mut inflater = Inflater::new();
    let mut buffer = Vec::new();
    for repeat in 0..repeats {
        let mut assembler = Assembler::new(Config {
            group: mix.group().to_owned(),
            low: 0,
            high: 0,
            groups: mix.groups(),
            now: 2_000_000_000,
            keep_articles: false,
        });
        for (index, block) in blocks.iter().enumerate() {
            let start = now();
            let Ok(framing) = inflater.inflate(block, &mut buffer) else {
                return;
            };
            least(&mut inflate[index], start);
            let start = now();
            assembler.add_text(&buffer[..framing.text_len]);
            least(&mut assemble[index], start);
        }
        let start = now();
        let tables = assembler.finish();
        least(&mut finish, start);
        if repeat == 0 {
            let segments: u32 = tables.files.parts_found.iter().sum();
            let payload: u64 = tables
                .files
                .payload
                .iter()
                .map(|at| u64::from(at.len))
                .sum();
            println!(
                "{} files, {segments} segments, {:.2} bytes each; rejects {:?}",
                tables.files.len(),
                payload as f64 / f64::from(segments),
                tables
                    .rejects
                    .reason
                    .iter()
                    .zip(&tables.rejects.count)
                    .collect::<Vec<_>>()
            );
        }
    }
    let inflate: Duration = inflate.iter().sum();
    let assemble: Duration = assemble.iter().sum();
    let per_2m = 2_000_000.0 / lines as f64;
    println!(
        "a 2 M range: inflate {:.3} s, assemble {:.3} s, finish {:.3} s; total / inflate {:.2}",
        inflate.as_secs_f64() * per_2m,
        assemble.as_secs_f64() * per_2m,
        finish.as_secs_f64() * per_2m,
        (inflate + assemble + finish).as_secs_f64() / inflate.as_secs_f64()
    );
}
