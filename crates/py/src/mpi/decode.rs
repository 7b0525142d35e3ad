//! Headers of messages of MPI.

use pyo3::prelude::*;

use crate::bad_input;

/// The headers at the beginning of a message of MPI, as text.
#[pyfunction]
pub(crate) fn decode_mpi(bytes: &[u8]) -> PyResult<String> {
    let decoded = fabricsim_mpi::header::decode(bytes).map_err(bad_input)?;
    Ok(format!("{} data {}", decoded.header, bytes.len() - decoded.size))
}
