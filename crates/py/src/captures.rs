//! Capture files.

use fabricsim_wire::dissect;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::bad_input;

/// Dissects the bytes of a capture file, which messages call `file`. Returns its records as JSON.
#[pyfunction]
pub(crate) fn dissect_capture(py: Python<'_>, bytes: PyBackedBytes, file: &str) -> PyResult<String> {
    py.detach(|| {
        let records = dissect::dissect(&bytes, file).map_err(bad_input)?;
        serde_json::to_string(&records).map_err(bad_input)
    })
}
