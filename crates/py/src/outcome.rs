//! Results of a run, for Python.

use fabricsim_engine::Prepared;
use fabricsim_model::{Column, Data, Table};
use fabricsim_simulation::{self as simulation, Status};
use fabricsim_units::Time;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

use crate::bad_input;

/// Results of a run.
#[pyclass(frozen, module = "fabricsim._native")]
pub(crate) struct Outcome {
    run: simulation::Outcome,
    summary: String,
    /// Report of the capture as JSON.
    capture: Option<String>,
}

impl Outcome {
    pub(crate) fn new(outcome: simulation::Outcome, prepared: &Prepared) -> Self {
        let experiment = &prepared.experiment;
        let summary = outcome.json(&experiment.title, experiment.seed).to_string();
        Self { summary, run: outcome, capture: None }
    }

    /// With the report of the capture, if there is one.
    pub(crate) fn with_capture(self, capture: Option<String>) -> Self {
        Self { capture, ..self }
    }
}

#[pymethods]
impl Outcome {
    /// "ok", "deadlock" or "interrupted".
    #[getter]
    fn status(&self) -> &'static str {
        match self.run.status {
            Status::Ok => "ok",
            Status::Deadlock => "deadlock",
            Status::Interrupted => "interrupted",
        }
    }

    /// Totals, latency, flows and invariants as JSON.
    fn summary(&self) -> &str {
        &self.summary
    }

    /// How the run was divided among threads and processes, as JSON: the fields of the engine's `Scaling` and `Exchanged`, with `lookahead_ns` (none
    /// without a link between partitions).
    fn scaling(&self) -> String {
        let of = self.run.scaling;
        serde_json::json!({
            "asked": of.asked,
            "partitions": of.partitions,
            "threads": of.threads,
            "broadcasts": of.broadcasts,
            "lookahead_ns": (of.lookahead < Time::MAX).then(|| of.lookahead.as_ns_f64()),
            "worth": of.worth,
            "windows": of.windows,
            "events": of.events,
            "shared": of.shared,
            "busiest": of.busiest,
            "processes": of.exchanged.processes,
            "exchanges": of.exchanged.windows,
            "letter_bytes": of.exchanged.letters,
            "shares": of.exchanged.shares,
            "state_bytes": of.exchanged.states,
        })
        .to_string()
    }

    /// Report of the capture as JSON; none without one.
    fn capture(&self) -> Option<&str> {
        self.capture.as_deref()
    }

    /// Names of the tables of results.
    fn tables(&self) -> Vec<&'static str> {
        self.run.tables.iter().map(|table| table.name).collect()
    }

    /// A table's columns: name, unit, description, type, values (little endian; names as a list).
    fn columns<'py>(&self, py: Python<'py>, table: &str) -> PyResult<Vec<PyColumn<'py>>> {
        let found = self.run.tables.iter().find(|t| t.name == table);
        let Some(Table { columns, .. }) = found else {
            return Err(bad_input(format!("there is no table \"{table}\"")));
        };
        columns.iter().map(|column| values(py, column)).collect()
    }
}

pub(crate) type PyColumn<'py> = (&'static str, &'static str, &'static str, &'static str, Bound<'py, PyAny>);

/// Name and columns.
pub(crate) type PyTable<'py> = (&'static str, Vec<PyColumn<'py>>);

pub(crate) fn values<'py>(py: Python<'py>, column: &Column) -> PyResult<PyColumn<'py>> {
    let (kind, data) = match &column.data {
        Data::Real(v) => ("f8", bytes(py, v.len(), v.iter().map(|x| x.to_le_bytes()))),
        Data::Whole(v) => ("i8", bytes(py, v.len(), v.iter().map(|x| x.to_le_bytes()))),
        Data::Text(v) => ("str", texts(py, v)?),
    };
    Ok((column.name, column.unit, column.description, kind, data))
}

fn bytes(py: Python<'_>, count: usize, values: impl Iterator<Item = [u8; 8]>) -> Bound<'_, PyAny> {
    let mut bytes = Vec::with_capacity(8 * count);
    for value in values {
        bytes.extend_from_slice(&value);
    }
    PyBytes::new(py, &bytes).into_any()
}

/// Texts as a list. Equal ones that follow each other are one object: a table over time names a flow once for each bin.
fn texts<'py>(py: Python<'py>, values: &[String]) -> PyResult<Bound<'py, PyAny>> {
    let list = PyList::empty(py);
    for same in values.chunk_by(|a, b| a == b) {
        let text = PyString::new(py, &same[0]);
        for _ in same {
            list.append(&text)?;
        }
    }
    Ok(list.into_any())
}
