//! Capture files.

use std::fs::File;
use std::io::BufWriter;

use fabricsim_engine::Prepared;
use fabricsim_simulation::{CapturePlan, Capturing, Control, Outcome, ProgramRun, simulate_captured};
use fabricsim_spec::SpecError;
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

/// The capture of an experiment, if it has one.
pub(crate) fn plan(prepared: &Prepared, file: &str) -> Result<Option<CapturePlan>, SpecError> {
    let capture = prepared.experiment.capture.as_ref();
    capture.map(|capture| CapturePlan::new(capture, prepared, file)).transpose()
}

/// Bytes that are collected before they are written to a capture file.
const BUFFER: usize = 1 << 20;

fn create(path: &str) -> PyResult<BufWriter<File>> {
    let file = File::create(path).map_err(|error| failed(path, &error))?;
    Ok(BufWriter::with_capacity(BUFFER, file))
}

fn failed(path: &str, error: &std::io::Error) -> PyErr {
    bad_input(format!("{path}: the capture cannot be written: {error}"))
}

/// Begins the capture of a run with programs, to the file `path`.
pub(crate) fn start(run: &mut ProgramRun, plan: &CapturePlan, path: &str) -> PyResult<()> {
    run.start_capture(plan, Box::new(create(path)?)).map_err(|error| failed(path, &error))
}

/// Ends the capture of a run with programs, if it has one. Returns the capture's report as JSON.
pub(crate) fn end(run: &mut ProgramRun, path: &str) -> PyResult<Option<String>> {
    let Some(report) = run.end_capture() else { return Ok(None) };
    let report = report.map_err(|error| failed(path, &error))?;
    serde_json::to_string(&report).map(Some).map_err(bad_input)
}

/// Runs an experiment with its capture. Returns the capture's report as JSON. `path` is the file; with `only` the run ends with
/// the capture.
pub(crate) fn run(
    prepared: &Prepared,
    control: &Control,
    plan: &CapturePlan,
    (path, only): (&str, bool),
) -> PyResult<(Outcome, Option<String>)> {
    let failed = |error| failed(path, &error);
    let file = create(path)?;
    let how = if only { Capturing::Only } else { Capturing::WholeRun };
    let (outcome, report) = simulate_captured(prepared, control, plan, file, how).map_err(failed)?;
    Ok((outcome, Some(serde_json::to_string(&report).map_err(bad_input)?)))
}
