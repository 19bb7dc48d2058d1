//! What `benches/instructions.py` counts the instructions of.
//!
//! `instructions write MIX LINES FILE` makes an overview up, `instructions run MIX FILE` goes the way of the header
//! pass over it. Each stage is a function of its own name, by which the counts are told apart.
#![allow(
    clippy::print_stderr,
    reason = "this is how a program for the command line complains"
)]

use std::hint::black_box;
use std::io::{Error, Result};

use voyager_engine::assemble::{Assembler, Config};
use voyager_engine::chunk::ChunkEncoder;
use voyager_engine::inflate::Inflater;
use voyager_engine::synthetic::{Generator, Mix, deflate};
use voyager_engine::tables::Tables;

/// About as many files as a release has.
const CHUNK_FILES: usize = 40;
const BLOCK_LINES: usize = 25_000;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["write", mix, lines, file] => {
            let lines = lines
                .parse()
                .map_err(|_| Error::other("no number of lines"))?;
            write(named(mix)?, lines, file)
        }
        ["run", mix, file] => run(named(mix)?, &std::fs::read(file)?),
        _ => Err(Error::other("write MIX LINES FILE, or run MIX FILE")),
    }
}

fn named(name: &str) -> Result<Mix> {
    let known = Mix::ALL.into_iter().find(|mix| mix.0 == name);
    known
        .map(|mix| mix.1)
        .ok_or_else(|| Error::other("no such mix"))
}

/// Blocks, each after its length.
fn write(mix: Mix, lines: usize, file: &str) -> Result<()> {
    let mut generator = Generator::new(mix, 1, 0.0);
    let (mut text, mut out) = (Vec::new(), Vec::new());
    for line in 1..=lines {
        generator.write_line(&mut text);
        if line % BLOCK_LINES == 0 || line == lines {
            let block = deflate(&text);
            out.extend_from_slice(&(block.len() as u64).to_le_bytes());
            out.extend_from_slice(&block);
            text.clear();
        }
    }
    std::fs::write(file, out)
}

fn run(mix: Mix, mut rest: &[u8]) -> Result<()> {
    let mut assembler = Assembler::new(Config {
        group: mix.group().to_owned(),
        low: 0,
        high: 0,
        groups: mix.groups(),
        now: 2_000_000_000,
        keep_articles: false,
    });
    let mut inflater = Inflater::new();
    let mut text = Vec::new();
    while let Some((len, tail)) = rest.split_first_chunk() {
        let (block, tail) = tail.split_at(u64::from_le_bytes(*len) as usize);
        let len = counted_inflate(&mut inflater, block, &mut text)?;
        counted_lines(&mut assembler, &text[..len]);
        rest = tail;
    }
    let tables = counted_finish(assembler);
    counted_chunks(&tables)
}

#[inline(never)]
fn counted_inflate(inflater: &mut Inflater, block: &[u8], text: &mut Vec<u8>) -> Result<usize> {
    let framing = inflater.inflate(block, text).map_err(Error::other)?;
    Ok(framing.text_len)
}

#[inline(never)]
fn counted_lines(assembler: &mut Assembler, text: &[u8]) {
    black_box(assembler.add_text(text));
}

#[inline(never)]
fn counted_finish(assembler: Assembler) -> Tables {
    assembler.finish()
}

#[inline(never)]
fn counted_chunks(tables: &Tables) -> Result<()> {
    let files = &tables.files;
    let mut encoder = ChunkEncoder::new().map_err(Error::other)?;
    let rows: Vec<usize> = (0..files.len()).collect();
    for rows in rows.chunks(CHUNK_FILES) {
        let records: Vec<&[u8]> = rows
            .iter()
            .map(|row| files.payloads.get(files.payload[*row]))
            .collect();
        black_box(
            encoder
                .encode(files, rows, &records)
                .map_err(Error::other)?,
        );
    }
    Ok(())
}
