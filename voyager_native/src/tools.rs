//! Single functions of the engine, for tools and tests.

use std::collections::BTreeMap;

use arrow_array::builder::LargeStringBuilder;
use arrow_array::types::UInt64Type;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::Arc;
use voyager_engine::date::DateParser;
use voyager_engine::inflate::Inflater;
use voyager_engine::lines::scan;
use voyager_engine::reason::Reason;
use voyager_engine::subject::{self, Span32};
use voyager_engine::tables::{TextColumn, flags};
use voyager_engine::text::{decode_header, to_utf8};

use crate::capsule::ArrowStream;
use crate::clock::thread_ns;
use crate::frames;

/// The text of a block: zlib, gzip, raw deflate or plain; its terminator line is taken off.
#[pyfunction]
pub(crate) fn inflate<'py>(py: Python<'py>, block: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let mut text = Vec::new();
    let framing = py
        .detach(|| Inflater::new().inflate(block, &mut text))
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(PyBytes::new(py, &text[..framing.text_len]))
}

/// CPU nanoseconds that inflating each block alone takes, least of `repeats` times, with one buffer that is reused.
#[pyfunction]
#[pyo3(signature = (blocks, *, repeats=1))]
#[expect(clippy::needless_pass_by_value, reason = "Python gives a list away")]
pub(crate) fn inflate_ns(py: Python<'_>, blocks: Vec<Vec<u8>>, repeats: u32) -> PyResult<Vec<u64>> {
    py.detach(|| {
        let mut inflater = Inflater::new();
        let mut text = Vec::new();
        let mut least = vec![u64::MAX; blocks.len()];
        for _ in 0..repeats {
            for (block, least) in blocks.iter().zip(&mut least) {
                let start = thread_ns();
                inflater
                    .inflate(block, &mut text)
                    .map_err(|error| PyValueError::new_err(error.to_string()))?;
                *least = (*least).min(thread_ns() - start);
            }
        }
        Ok(least)
    })
}

/// What the grammar finds in one subject.
#[pyfunction]
pub(crate) fn parse_subject<'py>(
    py: Python<'py>,
    subject: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let raw: Vec<u8> = match subject.extract::<String>() {
        Ok(text) => text.into_bytes(),
        Err(_) => subject.extract()?,
    };
    let mut text = Vec::new();
    decode_header(&raw, &mut text);
    let parsed = subject::parse(&text);
    let part = |span: Span32| to_utf8(span.of(&text)).into_owned();
    let out = PyDict::new(py);
    out.set_item("subject", to_utf8(&text))?;
    out.set_item("part", parsed.counted.then_some(parsed.part))?;
    out.set_item("total", parsed.counted.then_some(parsed.total))?;
    out.set_item("name", part(parsed.name))?;
    out.set_item("file_index", parsed.file_index)?;
    out.set_item("file_total", parsed.file_total)?;
    out.set_item("ambiguous", parsed.flags & subject::flags::AMBIGUOUS != 0)?;
    out.set_item("head", part(parsed.head))?;
    out.set_item("tail", part(parsed.tail))?;
    out.set_item("request", part(parsed.request))?;
    out.set_item("flags", parsed.flags)?;
    Ok(out)
}

/// The fields of every line of an overview text, as the scanner gives them.
#[pyfunction]
pub(crate) fn parse_lines(py: Python<'_>, text: &[u8]) -> PyResult<ArrowStream> {
    let batch = py.detach(|| {
        let mut dates = DateParser::new();
        let (mut numbers, mut sizes, mut lines) = (Vec::new(), Vec::new(), Vec::new());
        let mut posted = Vec::new();
        let mut fields: [TextColumn; 4] = Default::default();
        let mut reasons = LargeStringBuilder::new();
        scan(text, &mut |line| {
            numbers.push(line.number);
            let raw = [line.subject, line.poster, line.message_id, line.xref];
            for (column, field) in fields.iter_mut().zip(raw) {
                column.push(&to_utf8(field));
            }
            posted.push(dates.parse(line.date));
            sizes.push(line.size);
            lines.push(line.lines);
            reasons.append_option(line.reason.map(Reason::as_str));
        });
        let [subject, poster, message_id, xref] = fields;
        frames::batch(vec![
            ("number", frames::optional::<UInt64Type>(numbers), true),
            ("subject", frames::texts(subject)?, false),
            ("poster", frames::texts(poster)?, false),
            ("posted_at", frames::times(posted), true),
            ("message_id", frames::texts(message_id)?, false),
            ("size_bytes", frames::optional::<UInt64Type>(sizes), true),
            ("lines", frames::optional::<UInt64Type>(lines), true),
            ("xref", frames::texts(xref)?, false),
            ("reason", Arc::new(reasons.finish()), true),
        ])
    });
    batch
        .map(ArrowStream::new)
        .map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The bits of the column `flags` of the files table by name.
pub(crate) fn file_flags() -> BTreeMap<&'static str, u32> {
    use subject::flags as grammar;
    let of_subjects = [
        ("ambiguous", grammar::AMBIGUOUS),
        ("unknown_total", grammar::UNKNOWN_TOTAL),
        ("part_over_total", grammar::PART_OVER_TOTAL),
        ("index_over_total", grammar::INDEX_OVER_TOTAL),
        ("part_zero", grammar::PART_ZERO),
        ("index_spam", grammar::INDEX_SPAM),
        ("doubled", grammar::DOUBLED),
        ("quoted_name", grammar::QUOTED_NAME),
        ("bracket_name", grammar::BRACKET_NAME),
        ("yenc", grammar::YENC),
        ("extension", grammar::EXTENSION),
        ("tail_between", grammar::TAIL_BETWEEN),
    ];
    of_subjects.into_iter().chain(flags::NAMES).collect()
}

/// The names of all reasons.
pub(crate) fn reject_reasons() -> Vec<&'static str> {
    Reason::ALL.iter().map(|reason| reason.as_str()).collect()
}
