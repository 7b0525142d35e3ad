//! Traces of MPI programs.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use fabricsim_traces::loggp::{Outcome, Parameters, simulate};
use fabricsim_traces::{ANY, Format, Options, Schedule, goal, records};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use serde_json::json;

use crate::bad_input;

/// Operations, and the operations that wait for the end and for the start of each.
type RankOperations = (Vec<(u8, i64, i64, u64)>, Vec<Vec<u32>>, Vec<Vec<u32>>);

/// A trace that has been read.
#[pyclass(frozen, module = "fabricsim._native")]
pub(crate) struct Trace {
    schedule: Schedule,
    file: String,
}

#[pymethods]
impl Trace {
    /// Reads a trace; `format` is its name. Computations take their time multiplied by `compute_scale`, flops that of a
    /// processor with `flops_per_s`.
    #[new]
    fn new(py: Python<'_>, path: &str, format: &str, compute_scale: f64, flops_per_s: f64) -> PyResult<Self> {
        py.detach(|| {
            let format = Format::of(format).map_err(|error| bad_input(format!("--format: {error}")))?;
            if !(flops_per_s.is_finite() && flops_per_s > 0.0) {
                return Err(bad_input(format!("--flops {flops_per_s}: must be a number above 0")));
            }
            let schedule = format.read(Path::new(path), &Options { flops_per_s }).map_err(bad_input)?;
            Self::scaled(schedule, path, compute_scale)
        })
    }

    /// Number of ranks.
    #[getter]
    fn ranks(&self) -> usize {
        self.schedule.ranks.len()
    }

    /// Number of operations.
    #[getter]
    fn events(&self) -> u64 {
        self.schedule.events()
    }

    /// The same trace, in which each computation that takes time takes `ns`.
    fn with_computation(&self, ns: u64) -> Self {
        let mut schedule = self.schedule.clone();
        schedule.replace_computation(ns);
        Self { schedule, file: self.file.clone() }
    }

    /// Replays it on a LogGP network with parameters such as `L=1000,o=100,g=10,G=0`. A JSON object.
    fn replay_loggp(&self, py: Python<'_>, parameters: &str) -> PyResult<String> {
        py.detach(|| {
            let parameters = Parameters::parse(parameters)
                .map_err(|error| bad_input(format!("--network loggp:{parameters}: {error}")))?;
            let outcome = simulate(&self.schedule, &parameters)
                .map_err(|error| bad_input(format!("{}: {error}", self.file)))?;
            Ok(self.report(&outcome, &parameters).to_string())
        })
    }

    /// Operations of a rank, each with kind (1 send, 2 receive, 3 computation), peer, tag and bytes or ns, -1 for any; for
    /// each the numbers of the operations that wait for its end, and for its start.
    fn operations(&self, rank: usize) -> PyResult<RankOperations> {
        let Some(rank) = self.schedule.ranks.get(rank) else {
            return Err(bad_input(format!("rank {rank}: must be below {}", self.ranks())));
        };
        let or_any = |value: u32| if value == ANY { -1 } else { i64::from(value) };
        let all = rank.operations().iter();
        let all = all.map(|one| (one.kind as u8, or_any(one.peer), or_any(one.tag), one.size)).collect();
        let numbers = || 0..rank.operations().len() as u32;
        let ends = numbers().map(|number| rank.after_end(number).to_vec()).collect();
        let starts = numbers().map(|number| rank.after_start(number).to_vec()).collect();
        Ok((all, ends, starts))
    }

    /// Writes it as a GOAL schedule, text or `binary`, and replaces the file.
    fn write_goal(&self, py: Python<'_>, path: &str, binary: bool) -> PyResult<()> {
        py.detach(|| {
            let write = || {
                let mut out = BufWriter::new(File::create(path)?);
                if binary {
                    goal::write_binary(&self.schedule, &mut out)?;
                } else {
                    goal::write_text(&self.schedule, &mut out)?;
                }
                out.flush()
            };
            write().map_err(|error| bad_input(format!("{path}: cannot write: {error}")))
        })
    }
}

/// The trace of calls that a reader has collected: of each rank records of six 64-bit numbers (`fabricsim_traces::records`), and the ranks of
/// the communicators from 1 on.
#[pyfunction]
pub(crate) fn trace_of_calls(
    py: Python<'_>,
    file: &str,
    ranks: Vec<PyBackedBytes>,
    groups: BTreeMap<u32, Vec<u32>>,
    compute_scale: f64,
) -> PyResult<Trace> {
    py.detach(|| {
        let number = |bytes: &[u8]| bytes.try_into().map_or(0, i64::from_ne_bytes);
        let records: Vec<Vec<i64>> =
            ranks.iter().map(|bytes| bytes.chunks(size_of::<i64>()).map(number).collect()).collect();
        let schedule = records::read(file, &records, groups).map_err(bad_input)?;
        Trace::scaled(schedule, file, compute_scale)
    })
}

impl Trace {
    fn scaled(mut schedule: Schedule, file: &str, compute_scale: f64) -> PyResult<Self> {
        if !(compute_scale.is_finite() && compute_scale >= 0.0) {
            return Err(bad_input(format!("--compute-scale {compute_scale}: must be a number from 0")));
        }
        if compute_scale != 1.0 {
            schedule.scale_computation(compute_scale);
        }
        Ok(Self { schedule, file: file.to_owned() })
    }

    fn report(&self, outcome: &Outcome, parameters: &Parameters) -> serde_json::Value {
        json!({
            "ranks": self.ranks(),
            "events": self.events(),
            "end_ns": outcome.end_ns(),
            "ends_ns": outcome.ends_ns,
            "unmatched": outcome.unmatched,
            "unfinished": outcome.unfinished,
            "network": { "loggp": parameters },
        })
    }
}
