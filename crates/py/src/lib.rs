//! The Python module `fabricsim._native`: conversions only. Structured values cross the border as JSON text, columns
//! of numbers as bytes.

#![allow(clippy::needless_pass_by_value, reason = "PyO3 extracts arguments into owned values")]

mod captures;
mod checkpoints;
mod jobs;
mod mpi;
mod ordering;
mod outcome;
mod perftest;
mod processes;
mod programs;
mod session;
mod subnets;
mod traces;
mod verbs;

use std::path::Path;
use std::sync::{Arc, Mutex};

use fabricsim_engine::{PrepareError, Prepared};
use fabricsim_model::Table;
use fabricsim_routing::{ForwardingTables, fdbs};
use fabricsim_simulation::{self as simulation, CapturePlan, Phase};
use fabricsim_topology::Format;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use outcome::{Outcome, PyColumn, PyTable, values};

pyo3::create_exception!(_native, NativeError, pyo3::exceptions::PyValueError, "Bad input.");
pyo3::create_exception!(_native, CancelledError, pyo3::exceptions::PyException, "Cancelled before it ran.");

type Overrides = Vec<(String, String)>;

fn bad_input(error: impl std::fmt::Display) -> PyErr {
    NativeError::new_err(error.to_string())
}

fn prepare(text: &str, file: &str, base: &str, overrides: &[(String, String)]) -> PyResult<Prepared> {
    let unlimited = (None, None);
    prepare_watched((text, file, base), overrides, &simulation::Control::default(), unlimited)
}

/// The memory limit of a run: the given one, and the memory that is available.
fn memory_limit(given: Option<u64>) -> (Option<u64>, Option<u64>) {
    (given, simulation::available_memory())
}

/// As [`prepare`]; reports its steps to `control`, and ends before the next one if that is cancelled. A regular topology whose links need
/// more memory than the limit is refused before it is built.
fn prepare_watched(
    (text, file, base): (&str, &str, &str),
    overrides: &[(String, String)],
    control: &simulation::Control,
    (given, available): (Option<u64>, Option<u64>),
) -> PyResult<Prepared> {
    let experiment = fabricsim_spec::read(text, file, overrides).map_err(bad_input)?;
    let links = simulation::LinkMemory::new(&experiment, given, available);
    let begin = |step| {
        control.enter(Phase::from(step));
        !control.is_cancelled()
    };
    let check = |count| links.refuses(count);
    Prepared::observed((experiment, Path::new(base), file), begin, &check).map_err(|error| match error {
        PrepareError::Interrupted => CancelledError::new_err(error.to_string()),
        error => bad_input(error.located(text, overrides)),
    })
}

/// Version of the engine.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// JSON Schema of an experiment file.
#[pyfunction]
fn schema() -> String {
    fabricsim_spec::json_schema().to_string()
}

/// The experiment with all defaults filled in, as JSON. The error of a wrong one lists all mistakes, a line for each.
#[pyfunction]
fn check(py: Python<'_>, text: &str, file: &str, base: &str, overrides: Overrides) -> PyResult<String> {
    py.detach(|| {
        let prepared = prepare(text, file, base, &overrides).map_err(|first| {
            let all = fabricsim_spec::mistakes(text, file, &overrides);
            let mut lines: Vec<String> = all.iter().map(ToString::to_string).collect();
            if lines.is_empty() {
                lines = network_mistakes(text, file, base, &overrides);
            }
            if lines.len() > 1 { bad_input(lines.join("\n")) } else { first }
        })?;
        let lines: Vec<String> = recording_mistakes(&prepared, file)
            .map(|error| error.located(text, &overrides).to_string())
            .collect();
        if !lines.is_empty() {
            return Err(bad_input(lines.join("\n")));
        }
        serde_json::to_string(&prepared.experiment).map_err(bad_input)
    })
}

/// What is wrong in what a run is to record: its capture, and its packets hop by hop.
fn recording_mistakes<'a>(
    prepared: &'a Prepared,
    file: &'a str,
) -> impl Iterator<Item = fabricsim_spec::SpecError> + 'a {
    let found = [captures::plan(prepared, file).err(), simulation::check_packets(prepared, file).err()];
    found.into_iter().flatten()
}

/// What only the network shows to be wrong in an experiment, a line for each mistake.
fn network_mistakes(text: &str, file: &str, base: &str, overrides: &Overrides) -> Vec<String> {
    let Ok(experiment) = fabricsim_spec::read(text, file, overrides) else { return Vec::new() };
    let links = simulation::LinkMemory::new(&experiment, None, None);
    let check = |count| links.refuses(count);
    let (mut all, rest) = Prepared::mistakes((&experiment, Path::new(base), file), &check);
    if let Some(rest) = rest {
        all.extend(recording_mistakes(&rest, file).map(Into::into));
    }
    all.into_iter().map(|error| error.located(text, overrides).to_string()).collect()
}

/// Warnings about settings of an experiment that are allowed and probably not intended, a text for each. Builds the
/// network only if there is a transport, whose times depend on it, and reads it if it is in a file.
#[pyfunction]
fn warnings(
    py: Python<'_>,
    text: &str,
    file: &str,
    base: &str,
    overrides: Overrides,
) -> PyResult<Vec<String>> {
    py.detach(|| {
        let experiment = fabricsim_spec::read(text, file, &overrides).map_err(bad_input)?;
        if let Some(found) = simulation::early_warnings(&experiment, Path::new(base), file) {
            return Ok(found);
        }
        Ok(simulation::setting_warnings(&prepare(text, file, base, &overrides)?))
    })
}

/// Bytes of memory that this process may still allocate; none if the system does not report it.
#[pyfunction]
fn available_memory() -> Option<u64> {
    simulation::available_memory()
}

/// Facts about the network as JSON.
#[pyfunction]
fn describe(py: Python<'_>, text: &str, file: &str, base: &str, overrides: Overrides) -> PyResult<String> {
    py.detach(|| {
        let prepared = prepare(text, file, base, &overrides)?;
        Ok(simulation::describe(&prepared).json().to_string())
    })
}

/// The traffic at one time and the links that it crosses: a JSON object, and tables by name.
#[pyfunction]
fn demands<'py>(
    py: Python<'py>,
    text: &str,
    file: &str,
    base: &str,
    overrides: Overrides,
    at: Option<&str>,
) -> PyResult<(String, Vec<PyTable<'py>>)> {
    let found = py.detach(|| {
        let at = at.map(str::parse).transpose().map_err(|error| bad_input(format!("--at: {error}")))?;
        let prepared = prepare(text, file, base, &overrides)?;
        simulation::demands(&prepared, at, file).map_err(bad_input)
    })?;
    let columns =
        |table: &Table| table.columns.iter().map(|column| values(py, column)).collect::<PyResult<Vec<_>>>();
    let tables = found.tables.iter().map(|table| Ok((table.name, columns(table)?)));
    Ok((found.summary.to_string(), tables.collect::<PyResult<_>>()?))
}

/// The network or its forwarding tables as a file.
#[pyfunction]
fn export(
    py: Python<'_>,
    text: &str,
    file: &str,
    base: &str,
    overrides: Overrides,
    format: &str,
) -> PyResult<String> {
    py.detach(|| {
        let prepared = prepare(text, file, base, &overrides)?;
        let graph = &prepared.graph;
        let format = match format {
            "toml" => Format::Toml,
            "csv" => Format::Csv,
            "graphml" => Format::Graphml,
            "ned" => Format::Ned,
            "anynet" => Format::Anynet,
            "dot" => Format::Dot,
            "fdbs" => {
                let tables = ForwardingTables::of(&prepared.router, graph, file).map_err(bad_input)?;
                return fdbs::write(&tables, graph, fdbs::RowKeys::Names, file).map_err(bad_input);
            }
            "look-up-tables" => {
                return simulation::look_up_tables(&prepared, file).map_err(bad_input);
            }
            "opensm" => {
                let options = simulation::opensm(&prepared.experiment, graph, file);
                return options.map_err(|error| bad_input(error.located(text, &overrides)));
            }
            "ibnetdiscover" | "ibnetdiscover-ports" | "ibsim" | "opensm-subnet" => {
                let identity =
                    fabricsim_routing::identity_of(&prepared.experiment, graph).map_err(bad_input)?;
                return Ok(identity.subnet.to_text(subnets::format(format)?));
            }
            other => {
                let formats = [
                    "toml",
                    "csv",
                    "graphml",
                    "ned",
                    "anynet",
                    "dot",
                    "fdbs",
                    "look-up-tables",
                    "opensm",
                    "ibnetdiscover",
                    "ibnetdiscover-ports",
                    "ibsim",
                    "opensm-subnet",
                ];
                let hint = fabricsim_units::nearest(other, formats);
                let hint = hint.map(|name| format!("; did you mean \"{name}\"?")).unwrap_or_default();
                let list = formats.join(", ");
                return Err(bad_input(format!("\"{other}\" is not a format: expected one of {list}{hint}")));
            }
        };
        fabricsim_topology::export(graph, format).map_err(bad_input)
    })
}

/// Control and progress of a run for another thread, its construction included.
#[pyclass(frozen, module = "fabricsim._native")]
struct Control(Arc<simulation::Control>);

#[pymethods]
impl Control {
    #[new]
    fn new() -> Self {
        Self(Arc::default())
    }

    /// JSON with `simulated_s`, `total_s`, `packet_hops`, `phase`.
    fn progress(&self) -> String {
        serde_json::json!({
            "simulated_s": self.0.simulated().as_secs_f64(),
            "total_s": self.0.expected().as_secs_f64(),
            "packet_hops": self.0.packet_hops(),
            "phase": self.0.phase().name(),
        })
        .to_string()
    }

    /// Ends the construction with `CancelledError` before its next step; makes `Simulation.run` return soon with its
    /// results so far.
    fn cancel(&self) {
        self.0.cancel();
    }
}

/// One run of an experiment.
#[pyclass(frozen, module = "fabricsim._native")]
struct Simulation {
    prepared: Mutex<Option<(Prepared, Option<CapturePlan>)>>,
    control: Arc<simulation::Control>,
}

#[pymethods]
impl Simulation {
    #[new]
    #[pyo3(signature = (text, file, base, overrides, control=None, memory=None))]
    fn new(
        py: Python<'_>,
        text: &str,
        file: &str,
        base: &str,
        overrides: Overrides,
        control: Option<&Control>,
        memory: Option<u64>,
    ) -> PyResult<Self> {
        let control = control.map(|control| Arc::clone(&control.0)).unwrap_or_default();
        py.detach(|| {
            let prepared = prepare_watched((text, file, base), &overrides, &control, memory_limit(memory))?;
            control.enter(Phase::DeadlockCheck);
            simulation::permit(&prepared, memory, file).map_err(bad_input)?;
            let plan = captures::plan(&prepared, file);
            let plan = plan.map_err(|error| bad_input(error.located(text, &overrides)))?;
            Ok(Self { prepared: Mutex::new(Some((prepared, plan))), control })
        })
    }

    /// Runs to the end, until its control is cancelled, or until the network has stopped. Releases the interpreter lock.
    ///
    /// `capture`: the file that the experiment's capture is written to; by default none is. `only`: the run ends with the capture.
    /// `cores`: cores that it may use if the experiment does not say how many threads it has.
    #[pyo3(signature = (capture=None, only=false, cores=1))]
    fn run(&self, py: Python<'_>, capture: Option<&str>, only: bool, cores: u32) -> PyResult<Outcome> {
        let prepared = self.prepared.lock().ok().and_then(|mut prepared| prepared.take());
        let Some((mut prepared, plan)) = prepared else {
            return Err(PyRuntimeError::new_err("a Simulation runs once: make a new one"));
        };
        prepared.cores = cores;
        let (outcome, report) = py.detach(|| match plan.zip(capture) {
            None => Ok((simulation::simulate(&prepared, &self.control), None)),
            Some((plan, path)) => captures::run(&prepared, &self.control, &plan, (path, only)),
        })?;
        Ok(Outcome::new(outcome, &prepared).with_capture(report))
    }
}

/// The simulator's engine.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("NativeError", module.py().get_type::<NativeError>())?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(warnings, module)?)?;
    module.add_function(wrap_pyfunction!(describe, module)?)?;
    module.add_function(wrap_pyfunction!(demands, module)?)?;
    jobs::register(module)?;
    module.add_function(wrap_pyfunction!(export, module)?)?;
    module.add_function(wrap_pyfunction!(captures::dissect_capture, module)?)?;
    ordering::register(module)?;
    module.add_function(wrap_pyfunction!(subnets::import_subnet, module)?)?;
    module.add_function(wrap_pyfunction!(subnets::route_subnet, module)?)?;
    module.add_function(wrap_pyfunction!(subnets::opensm_options, module)?)?;
    module.add_function(wrap_pyfunction!(perftest::run_perftest, module)?)?;
    module.add_function(wrap_pyfunction!(available_memory, module)?)?;
    module.add("CancelledError", module.py().get_type::<CancelledError>())?;
    module.add_class::<Control>()?;
    module.add_class::<Simulation>()?;
    module.add_class::<checkpoints::SteppedRun>()?;
    module.add_class::<session::Session>()?;
    module.add_class::<programs::Programs>()?;
    module.add_class::<mpi::MpiPrograms>()?;
    module.add_function(wrap_pyfunction!(mpi::decode::decode_mpi, module)?)?;
    module.add_class::<verbs::VerbsAdapter>()?;
    module.add_class::<verbs::ConnectionAdapter>()?;
    module.add("VerbsCallError", module.py().get_type::<verbs::VerbsCallError>())?;
    module.add_function(wrap_pyfunction!(session::parse_time, module)?)?;
    module.add_function(wrap_pyfunction!(session::parse_size, module)?)?;
    module.add_class::<subnets::Routes>()?;
    module.add_class::<traces::Trace>()?;
    module.add_function(wrap_pyfunction!(traces::trace_of_calls, module)?)?;
    module.add_class::<Outcome>()
}
