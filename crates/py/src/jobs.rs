//! Bounds on the time of jobs.

use fabricsim_simulation as simulation;
use pyo3::prelude::*;

use crate::{Overrides, bad_input, prepare};

/// Lower bounds on the time of each job as JSON, a list; `null` if the jobs send too many messages.
#[pyfunction]
fn job_bounds(py: Python<'_>, text: &str, file: &str, base: &str, overrides: Overrides) -> PyResult<String> {
    py.detach(|| {
        let prepared = prepare(text, file, base, &overrides)?;
        let found = simulation::job_bounds(&prepared);
        serde_json::to_string(&found).map_err(|error| bad_input(format!("{file}: jobs: {error}")))
    })
}

/// Adds the functions of this file.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(job_bounds, module)?)
}
