//! Chunks and records for Python.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::LargeBinaryArray;
use arrow_array::types::{UInt32Type, UInt64Type};
use arrow_schema::ArrowError;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyBytesMethods};
use voyager_engine::chunk::{self, ChunkEncoder, CodecError, Encoder, Segment, Segments};
use voyager_engine::tables::TextColumn;
use voyager_engine::text::to_utf8;

use crate::capsule::{self, ArrowStream};
use crate::frames::{self, numbers, texts};
use crate::intake::Intake;

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
        let payloads = intake.bytes("payload")?;
        let rows: Vec<usize> = (0..payloads.len()).collect();
        ChunkEncoder::new()
            .and_then(|mut encoder| encoder.encode(&files, &rows, &payloads))
            .map_err(raise)
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
        let files = intake.files()?;
        let payloads = intake.bytes("payload")?;
        let mut releases: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (row, key) in intake.integers(by)?.into_iter().enumerate() {
            if let Some(key) = key {
                releases.entry(key).or_default().push(row);
            }
        }
        let mut encoder = ChunkEncoder::new().map_err(raise)?;
        let mut chunks = Vec::with_capacity(releases.len());
        for rows in releases.values() {
            let own: Vec<&[u8]> = rows.iter().map(|row| payloads[*row]).collect();
            chunks.push(encoder.encode(&files, rows, &own).map_err(raise)?);
        }
        let keys = releases.into_keys().collect();
        let chunks = LargeBinaryArray::from_iter_values(chunks);
        let batch = frames::batch(vec![
            (by, numbers::<UInt64Type>(keys), false),
            ("payload", Arc::new(chunks), false),
        ]);
        batch.map(ArrowStream::new).map_err(raise_arrow)
    })
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
        let ids = intake.texts("message_id")?;
        let mut segments: Vec<Segment<'_>> = parts
            .iter()
            .zip(&sizes)
            .zip(ids.iter())
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
            self.file.push(file);
            self.part.push(segment.part);
            self.message_id.push(&to_utf8(segment.id));
            self.size.push(segment.size);
        }
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
