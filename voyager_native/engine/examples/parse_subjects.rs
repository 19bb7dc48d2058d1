//! Reads subjects from standard input, one a line, and prints what the grammar makes of each.
#![allow(clippy::print_stdout, reason = "printing is what this program is for")]

use std::io::{self, BufRead};

use voyager_engine::subject::{self, Span32};
use voyager_engine::text;

fn main() -> io::Result<()> {
    let mut decoded = Vec::new();
    println!("part\ttotal\tindex\tof\tname\thead\ttail\trequest\tflags\tcut");
    for line in io::stdin().lock().split(b'\n') {
        text::decode_header(&line?, &mut decoded);
        let found = subject::parse(&decoded);
        let show = |span: Span32| String::from_utf8_lossy(span.of(&decoded)).into_owned();
        let number =
            |number: Option<u32>| number.map(|number| number.to_string()).unwrap_or_default();
        println!(
            "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{:b}\t{}",
            if found.counted {
                found.part.to_string()
            } else {
                String::new()
            },
            if found.counted {
                found.total.to_string()
            } else {
                String::new()
            },
            number(found.file_index),
            number(found.file_total),
            show(found.name),
            show(found.head),
            show(found.tail),
            show(found.request),
            found.flags,
            found.cuts.map(show).join(""),
        );
    }
    Ok(())
}
