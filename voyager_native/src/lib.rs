//! Python binding of the Voyager engine.
use pyo3::prelude::*;

/// The compiled half of `voyager_native`.
#[pymodule]
fn _native(_m: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(())
}
