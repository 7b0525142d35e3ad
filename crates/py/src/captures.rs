//! Capture files.

use std::fs::File;
use std::io::BufWriter;

use fabricsim_engine::Prepared;
use fabricsim_simulation::{CapturePlan, Capturing, Control, Outcome, ProgramRun, simulate_captured};
use fabricsim_spec::SpecError;
use fabricsim_wire::{capture, dissect};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::bad_input;

/// Dissects the bytes of a capture file, which messages call `file`. Calls `take` with its records, up to `most` at a time, as JSON, so
/// that the memory for them does not grow with the file. A damaged file is refused before the first call.
#[pyfunction]
pub(crate) fn dissect_capture(
    py: Python<'_>,
    bytes: PyBackedBytes,
    file: &str,
    most: usize,
    take: Py<PyAny>,
) -> PyResult<()> {
    py.detach(|| {
        let capture = capture::read(&bytes, file).map_err(bad_input)?;
        let mut records = dissect::records(&capture);
        while records.len() > 0 {
            let part: Vec<_> = records.by_ref().take(most.max(1)).collect();
            let text = serde_json::to_string(&part).map_err(bad_input)?;
            Python::attach(|py| take.call1(py, (text,)))?;
        }
        Ok(())
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
