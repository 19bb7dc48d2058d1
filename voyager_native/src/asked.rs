//! Texts of a column in, columns of answers out: what all rules of names have in common.

use arrow_schema::ArrowError;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use voyager_engine::naming::RulesError;

use crate::capsule::{self, ArrowStream};
use crate::frames::{self, Column};
use crate::intake::Intake;

/// What `work` makes of the texts of a column, while Python's lock is free.
pub(crate) fn of_texts<T: Send>(
    py: Python<'_>,
    table: &Bound<'_, PyAny>,
    column: &str,
    work: impl FnOnce(Vec<&str>) -> PyResult<T> + Send,
) -> PyResult<T> {
    let intake = Intake::new(capsule::import(table)?);
    py.detach(|| work(intake.strings(column)?))
}

/// Columns as a table for Python.
pub(crate) fn table(columns: Vec<Column<'_>>) -> PyResult<ArrowStream> {
    frames::batch(columns)
        .map(ArrowStream::new)
        .map_err(raise_arrow)
}

#[expect(clippy::needless_pass_by_value, reason = "the shape of map_err")]
pub(crate) fn raise(error: RulesError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

#[expect(clippy::needless_pass_by_value, reason = "the shape of map_err")]
pub(crate) fn raise_arrow(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}
