//! Made-up overviews for Python.

use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::BTreeMap;
use voyager_engine::synthetic::{Generator, Mix, deflate};

use crate::capsule::ArrowStream;
use crate::frames::{batch, numbers, optional};

/// A made-up overview and where each of its lines belongs.
#[pyclass(module = "voyager_native", frozen, get_all)]
pub(crate) struct SyntheticOverview {
    group: &'static str,
    groups: BTreeMap<String, u32>,
    blocks: Vec<Py<PyBytes>>,
    truth: Py<ArrowStream>,
}

/// Makes up an overview of one of the kinds `classic`, `modern`, `boneless`, `ath`.
#[pyfunction]
#[pyo3(signature = (mix, lines, *, seed=1, block_lines=100_000, lost=0.0))]
pub(crate) fn synthesize_overview(
    py: Python<'_>,
    mix: &str,
    lines: usize,
    seed: u64,
    block_lines: usize,
    lost: f64,
) -> PyResult<SyntheticOverview> {
    let Some((_, mix)) = Mix::ALL.into_iter().find(|known| known.0 == mix) else {
        let known = Mix::ALL.map(|known| known.0).join(", ");
        return Err(PyValueError::new_err(format!(
            "no mix {mix}: known are {known}"
        )));
    };
    if block_lines == 0 || !(0.0..1.0).contains(&lost) {
        return Err(PyValueError::new_err(
            "block_lines must be at least 1, and lost at least 0 and below 1",
        ));
    }
    let (blocks, truth) = py.detach(|| {
        let mut generator = Generator::new(mix, seed, lost);
        let (mut text, mut blocks) = (Vec::new(), Vec::new());
        let (mut number, mut upload) = (Vec::new(), Vec::new());
        let (mut file, mut part, mut bits) = (Vec::new(), Vec::new(), Vec::new());
        for line in 1..=lines {
            let origin = generator.write_line(&mut text);
            number.push(origin.number);
            upload.push(origin.upload);
            file.push(origin.place.map(|place| place.0));
            part.push(origin.place.map(|place| place.1));
            bits.push(origin.bits);
            if line % block_lines == 0 || line == lines {
                blocks.push(deflate(&text));
                text.clear();
            }
        }
        let truth = batch(vec![
            ("number", numbers::<UInt64Type>(number), false),
            ("upload", optional::<UInt64Type>(upload), true),
            ("file", optional::<UInt64Type>(file), true),
            ("part", optional::<UInt32Type>(part), true),
            ("entropy_bits", numbers::<Float64Type>(bits), false),
        ]);
        (blocks, truth)
    });
    let truth = truth.map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(SyntheticOverview {
        group: mix.group(),
        groups: mix.groups().into_iter().collect(),
        blocks: blocks
            .iter()
            .map(|block| PyBytes::new(py, block).unbind())
            .collect(),
        truth: Py::new(py, ArrowStream::new(truth))?,
    })
}
