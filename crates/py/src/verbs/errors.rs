//! Errors of calls of verbs as exceptions.

use fabricsim_verbs::VerbsError;
use pyo3::prelude::*;

pyo3::create_exception!(
    _native,
    VerbsCallError,
    pyo3::exceptions::PyException,
    "A call of verbs failed: `errno` and a sentence."
);

pub(super) fn failed(error: &VerbsError) -> PyErr {
    VerbsCallError::new_err((error.errno.number(), error.message.clone()))
}

/// An argument that the device never sees: `EINVAL`.
pub(super) fn invalid(text: String) -> PyErr {
    VerbsCallError::new_err((fabricsim_verbs::Errno::Inval.number(), text))
}
