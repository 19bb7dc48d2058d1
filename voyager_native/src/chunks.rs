//! Chunks and records for Python.

use std::cmp::Ordering;

use arrow_array::ArrayRef;
use arrow_array::types::{UInt32Type, UInt64Type};
use arrow_schema::ArrowError;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyBytesMethods};
use voyager_engine::chunk::{self, ChunkEncoder, CodecError, Encoder, FileRow, Segment, Segments};
use voyager_engine::tables::{ByteStore, TextColumn};
use voyager_engine::text::to_utf8;

use crate::capsule::{self, ArrowStream};
use crate::frames::{self, numbers, texts};
use crate::intake::{FileTable, Intake};

pyo3::create_exception!(
    voyager_native,
    ChunkError,
    PyValueError,
    "Bytes that are no whole chunk or record, or files that cannot be one."
);

/// The one place where errors of the codec become exceptions.
fn raise(error: CodecError) -> PyErr {
    ChunkError::new_err(error.to_string())
}

#[expect(clippy::needless_pass_by_value, reason = "the shape of map_err")]
fn raise_arrow(error: ArrowError) -> PyErr {
    ChunkError::new_err(error.to_string())
}

/// A chunk taken apart.
#[pyclass(module = "voyager_native", frozen, get_all)]
pub(crate) struct DecodedChunk {
    files: Py<ArrowStream>,
    segments: Py<ArrowStream>,
}

/// The chunk of all rows of a files table.
#[pyfunction]
pub(crate) fn encode_chunk<'py>(
    py: Python<'py>,
    files: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    let intake = Intake::new(capsule::import(files)?);
    let chunk = py.detach(|| {
        let files = intake.files()?;
        let rows: Vec<_> = (0..files.len()).map(|row| files.row(row)).collect();
        let mut chunk = Vec::new();
        ChunkEncoder::new()
            .and_then(|mut encoder| encoder.encode_into(&rows, &mut chunk))
            .map_err(raise)?;
        Ok::<_, PyErr>(chunk)
    })?;
    Ok(PyBytes::new(py, &chunk))
}

/// A chunk for each value of the column `by` of a files table, whose rows may be in any order.
#[pyfunction]
#[pyo3(signature = (files, *, by="release_key"))]
pub(crate) fn encode_chunks(
    py: Python<'_>,
    files: &Bound<'_, PyAny>,
    by: &str,
) -> PyResult<ArrowStream> {
    let intake = Intake::new(capsule::import(files)?);
    py.detach(|| {
        let mut order: Vec<(u64, usize)> = (0..)
            .zip(intake.integers(by)?)
            .filter_map(|(row, key)| key.map(|key| (key, row)))
            .collect();
        order.sort_unstable();
        let (keys, chunks) = encode_runs(&intake.files()?, &order, |_| ())?;
        let batch = frames::batch(vec![
            (by, numbers::<UInt64Type>(keys), false),
            ("payload", chunks, false),
        ]);
        batch.map(ArrowStream::new).map_err(raise_arrow)
    })
}

/// A chunk for each release and session of a files table, with the files in the order of an NZB.
#[pyfunction]
pub(crate) fn encode_releases(py: Python<'_>, files: &Bound<'_, PyAny>) -> PyResult<ArrowStream> {
    let intake = Intake::new(capsule::import(files)?);
    py.detach(|| {
        let keys: Vec<u64> = intake.whole("release_key")?;
        let sessions: Vec<u32> = intake.whole("session")?;
        let mut order: Vec<((u64, u32), usize)> = keys.into_iter().zip(sessions).zip(0..).collect();
        order.sort_unstable();
        // The files of an NZB are in the order of their chunk; stable, so that it is always the same.
        let sort = |files: &mut Vec<FileRow<'_>>| files.sort_by(in_nzb);
        let (keys, chunks) = encode_runs(&intake.files()?, &order, sort)?;
        let (keys, sessions) = keys.into_iter().unzip();
        let batch = frames::batch(vec![
            ("release_key", numbers::<UInt64Type>(keys), false),
            ("session", numbers::<UInt32Type>(sessions), false),
            ("payload", chunks, false),
        ]);
        batch.map(ArrowStream::new).map_err(raise_arrow)
    })
}

/// The order of files of one release.
fn in_nzb(left: &FileRow<'_>, right: &FileRow<'_>) -> Ordering {
    let (of_left, of_right) = (&left.numbers, &right.numbers);
    of_left
        .file_index
        .cmp(&of_right.file_index)
        .then_with(|| left.name.cmp(right.name))
        .then_with(|| of_left.first_number.cmp(&of_right.first_number))
        .then_with(|| left.file_key.cmp(&right.file_key))
}

/// A chunk for each run of rows that have one key, in the order that `sort` gives them, and these keys.
fn encode_runs<'a, K: Copy + PartialEq>(
    files: &FileTable<'a>,
    order: &[(K, usize)],
    sort: impl Fn(&mut Vec<FileRow<'a>>),
) -> PyResult<(Vec<K>, ArrayRef)> {
    let mut encoder = ChunkEncoder::new().map_err(raise)?;
    let mut store = ByteStore::default();
    let (mut keys, mut stored) = (Vec::new(), Vec::new());
    let mut own = Vec::new();
    for run in order.chunk_by(|left, right| left.0 == right.0) {
        own.clear();
        own.extend(run.iter().map(|(_, row)| files.row(*row)));
        sort(&mut own);
        // What describes a file takes about as much room as its records leave free.
        let size = own.iter().map(|file| file.payload.len() + 64).sum();
        let append = |chunk: &mut Vec<u8>| encoder.encode_into(&own, chunk);
        stored.push(store.append(size, append).map_err(raise)?);
        keys.push(run[0].0);
    }
    let chunks = frames::byte_views(&stored, store).map_err(raise_arrow)?;
    Ok((keys, chunks))
}

/// The files and the segments of a chunk.
#[pyfunction]
pub(crate) fn decode_chunk(py: Python<'_>, payload: &[u8]) -> PyResult<DecodedChunk> {
    let (files, segments) = py.detach(|| {
        let files = chunk::decode_chunk(payload).map_err(raise)?;
        let mut table = SegmentTable::default();
        for (file, stored) in (0..).zip(&files.payload) {
            let segments = chunk::decode(files.payloads.get(*stored)).map_err(raise)?;
            table.push(file, &segments);
        }
        let segments = table.batch(true)?;
        let files = frames::files(files)
            .map(ArrowStream::new)
            .map_err(raise_arrow)?;
        Ok::<_, PyErr>((files, segments))
    })?;
    Ok(DecodedChunk {
        files: Py::new(py, files)?,
        segments: Py::new(py, segments)?,
    })
}

/// The segments of one record: part, message-id, size.
#[pyfunction]
pub(crate) fn decode_segments(py: Python<'_>, payload: &[u8]) -> PyResult<ArrowStream> {
    py.detach(|| {
        let mut table = SegmentTable::default();
        table.push(0, &chunk::decode(payload).map_err(raise)?);
        table.batch(false)
    })
}

/// The segment with the highest part of each record of a column: part, message-id, size.
#[pyfunction]
pub(crate) fn last_segments(
    py: Python<'_>,
    table: &Bound<'_, PyAny>,
    column: &str,
) -> PyResult<ArrowStream> {
    let intake = Intake::new(capsule::import(table)?);
    py.detach(|| {
        let mut table = SegmentTable::default();
        for payload in intake.bytes(column)? {
            let segments = chunk::decode(payload).map_err(raise)?;
            let last = segments.iter().max_by_key(|segment| segment.part);
            let last = last.ok_or_else(|| ChunkError::new_err("a record without segments"))?;
            table.push_one(0, &last);
        }
        table.batch(false)
    })
}

/// The record of segments; rows may be in any order.
#[pyfunction]
pub(crate) fn encode_segments<'py>(
    py: Python<'py>,
    segments: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    let intake = Intake::new(capsule::import(segments)?);
    let record = py.detach(|| {
        let parts: Vec<u32> = intake.whole("part")?;
        let sizes: Vec<u32> = intake.whole("size_bytes")?;
        let ids = intake.strings("message_id")?;
        let mut segments: Vec<Segment<'_>> = parts
            .iter()
            .zip(&sizes)
            .zip(&ids)
            .map(|((part, size), id)| Segment {
                part: *part,
                size: *size,
                id: id.as_bytes(),
            })
            .collect();
        segments.sort_by_key(|segment| segment.part);
        let mut record = Vec::new();
        Encoder::new()
            .encode(&segments, &mut record)
            .map_err(raise)?;
        Ok::<_, PyErr>(record)
    })?;
    Ok(PyBytes::new(py, &record))
}

/// The record of the segments of several records of one file; of one part the earlier record's segment stays.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "Python gives a list away")]
pub(crate) fn merge_records<'py>(
    py: Python<'py>,
    payloads: Vec<Bound<'py, PyBytes>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let records: Vec<&[u8]> = payloads.iter().map(PyBytesMethods::as_bytes).collect();
    let merged = py.detach(|| chunk::merge(records)).map_err(raise)?;
    Ok(PyBytes::new(py, &merged))
}

/// Segments of some files in columns.
#[derive(Default)]
struct SegmentTable {
    file: Vec<u32>,
    part: Vec<u32>,
    message_id: TextColumn,
    size: Vec<u32>,
}

impl SegmentTable {
    fn push(&mut self, file: u32, segments: &Segments) {
        for segment in segments.iter() {
            self.push_one(file, &segment);
        }
    }

    fn push_one(&mut self, file: u32, segment: &Segment<'_>) {
        self.file.push(file);
        self.part.push(segment.part);
        self.message_id.push(&to_utf8(segment.id));
        self.size.push(segment.size);
    }

    fn batch(self, with_file: bool) -> PyResult<ArrowStream> {
        let mut columns = Vec::new();
        if with_file {
            columns.push(("file", numbers::<UInt32Type>(self.file), false));
        }
        columns.push(("part", numbers::<UInt32Type>(self.part), false));
        let ids = texts(self.message_id).map_err(raise_arrow)?;
        columns.push(("message_id", ids, false));
        columns.push(("size_bytes", numbers::<UInt32Type>(self.size), false));
        frames::batch(columns)
            .map(ArrowStream::new)
            .map_err(raise_arrow)
    }
}
