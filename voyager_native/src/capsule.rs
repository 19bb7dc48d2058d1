//! Arrow streams in Python capsules: the Arrow `PyCapsule` interface in both directions.
//!
//! The only unsafe code of the binding is here. A capsule named `arrow_array_stream` holds one
//! `ArrowArrayStream` of the Arrow C stream interface, which the consumer moves out or releases.
#![allow(unsafe_code)]

use std::ffi::CStr;

use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::SchemaRef;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

const STREAM: &CStr = c"arrow_array_stream";

/// A table that any Arrow consumer can take, once.
#[pyclass(module = "voyager_native", frozen)]
pub(crate) struct ArrowStream {
    schema: SchemaRef,
    rows: usize,
    batches: std::sync::Mutex<Option<Vec<RecordBatch>>>,
}

impl ArrowStream {
    /// A stream of one batch.
    pub(crate) fn new(batch: RecordBatch) -> Self {
        Self {
            schema: batch.schema(),
            rows: batch.num_rows(),
            batches: std::sync::Mutex::new(Some(vec![batch])),
        }
    }
}

#[pymethods]
impl ArrowStream {
    /// Hands the table over as a capsule; `requested_schema` is not followed.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface allows a producer to ignore it; the consumer casts.
        drop(requested_schema);
        let batches = self.batches.lock().map(|mut batches| batches.take());
        let batches = batches.ok().flatten().ok_or_else(|| {
            PyValueError::new_err("the table was taken before; a stream can be read only once")
        })?;
        let reader = RecordBatchIterator::new(batches.into_iter().map(Ok), self.schema.clone());
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        // Dropping an unread stream with the capsule releases it: the struct's Drop does so.
        PyCapsule::new_with_value(py, Exported(stream), STREAM)
    }

    fn __len__(&self) -> usize {
        self.rows
    }

    fn __repr__(&self) -> String {
        format!(
            "ArrowStream({} rows, {} columns)",
            self.rows,
            self.schema.fields().len()
        )
    }
}

/// The stream struct at the address that the capsule points to.
#[repr(transparent)]
struct Exported(FFI_ArrowArrayStream);

// SAFETY: the stream owns a reader over record batches, which are immutable and `Send`; the capsule is the only
// holder, and a consumer reads the stream on one thread at a time by the rules of the interface.
unsafe impl Send for Exported {}

/// All batches of anything that has `__arrow_c_stream__`.
pub(crate) fn import(table: &Bound<'_, PyAny>) -> PyResult<Vec<RecordBatch>> {
    let method = table
        .getattr("__arrow_c_stream__")
        .map_err(|_| PyTypeError::new_err("expected a table with __arrow_c_stream__"))?;
    let capsule = method.call0()?;
    let capsule = capsule
        .cast::<PyCapsule>()
        .map_err(|_| PyTypeError::new_err("__arrow_c_stream__ gave no capsule"))?;
    let pointer = capsule.pointer_checked(Some(STREAM))?;
    // SAFETY: by its name the capsule holds a valid ArrowArrayStream; `from_raw` moves it out and leaves a
    // released one behind, which is what the capsule's destructor expects.
    let reader = unsafe {
        RecordBatchStreamReader::from_raw(pointer.cast::<FFI_ArrowArrayStream>().as_ptr())
    };
    let reader = reader.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let _ = reader.schema();
    reader
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| PyValueError::new_err(error.to_string()))
}
