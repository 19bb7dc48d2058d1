//! What the single stages of the header pass cost, each by the public functions of the engine alone.
//!
//! The normal path is not touched: the same text is gone over once for each stage, every pass doing what the one
//! before it did and one thing more.

use std::collections::HashMap;
use std::hint::black_box;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use voyager_engine::chunk::{Encoder, Segment, decode};
use voyager_engine::date::DateParser;
use voyager_engine::inflate::Inflater;
use voyager_engine::lines::{Line, Scanner};
use voyager_engine::subject;
use voyager_engine::words;
use voyager_engine::xref::Owners;

use crate::asked;
use crate::capsule;
use crate::clock::thread_ns;
use crate::intake::Intake;

/// What a pass does with each line; every stage includes those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Scan,
    Date,
    Subject,
    Xref,
}

const STAGES: [Stage; 4] = [Stage::Scan, Stage::Date, Stage::Subject, Stage::Xref];

/// CPU nanoseconds of the stages of each block, least of `repeats` times: inflating, and on the text of
/// the block the lines, with dates, with subjects, with owner groups.
#[pyfunction]
#[pyo3(signature = (blocks, group, *, groups, repeats=1))]
#[expect(clippy::needless_pass_by_value, reason = "Python gives them away")]
pub(crate) fn stages_ns(
    py: Python<'_>,
    blocks: Vec<Vec<u8>>,
    group: String,
    groups: HashMap<String, u32>,
    repeats: u32,
) -> PyResult<Vec<[u64; 5]>> {
    let mut groups: Vec<(String, u32)> = groups.into_iter().collect();
    groups.sort();
    py.detach(|| {
        let mut inflater = Inflater::new();
        let mut scanner = Scanner::new();
        let mut text = Vec::new();
        let mut least = vec![[u64::MAX; 5]; blocks.len()];
        for _ in 0..repeats {
            let mut owners = Owners::new(&group, &groups);
            let mut dates = DateParser::new();
            for (block, least) in blocks.iter().zip(&mut least) {
                let start = thread_ns();
                let framing = inflater
                    .inflate(block, &mut text)
                    .map_err(|error| PyValueError::new_err(error.to_string()))?;
                least[0] = least[0].min(thread_ns() - start);
                for (stage, least) in STAGES.into_iter().zip(&mut least[1..]) {
                    let start = thread_ns();
                    scanner.scan(&text[..framing.text_len], &mut |line: Line<'_>| {
                        black_box((line.number, line.size, line.message_id));
                        if stage >= Stage::Date {
                            black_box(dates.parse(line.date));
                        }
                        if stage >= Stage::Subject {
                            black_box(subject::segment(line.subject));
                        }
                        if stage >= Stage::Xref {
                            black_box(owners.owner(line.xref));
                        }
                    });
                    *least = (*least).min(thread_ns() - start);
                }
            }
        }
        Ok(least)
    })
}

/// CPU nanoseconds of encoding the records of a files table anew, without decoding them.
#[pyfunction]
pub(crate) fn records_ns(py: Python<'_>, files: &Bound<'_, PyAny>) -> PyResult<u64> {
    let intake = Intake::new(capsule::import(files)?);
    py.detach(|| {
        let mut encoder = Encoder::new();
        let mut record = Vec::new();
        let mut spent = 0;
        for payload in intake.bytes("payload")? {
            let segments =
                decode(payload).map_err(|error| PyValueError::new_err(error.to_string()))?;
            let segments: Vec<Segment<'_>> = segments.iter().collect();
            record.clear();
            let start = thread_ns();
            encoder
                .encode(&segments, &mut record)
                .map_err(|error| PyValueError::new_err(error.to_string()))?;
            spent += thread_ns() - start;
        }
        Ok(spent)
    })
}

/// The distinct words of a column of texts: runs of a-z in lower case, digits left out.
#[pyfunction]
pub(crate) fn distinct_words(
    py: Python<'_>,
    table: &Bound<'_, PyAny>,
    column: &str,
) -> PyResult<Vec<String>> {
    asked::of_texts(py, table, column, |texts| {
        Ok(words::distinct(texts.into_iter().map(str::as_bytes)))
    })
}
