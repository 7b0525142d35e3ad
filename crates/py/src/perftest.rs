//! Latency and bandwidth of verbs.

use fabricsim_engine::Prepared;
use fabricsim_simulation::perftest::{Options, expected, perftest};
use fabricsim_units::HostId;
use pyo3::prelude::*;
use serde_json::json;

use crate::{CancelledError, Control, Overrides, bad_input, prepare_watched};

/// Tests of latency or bandwidth between two hosts, named or by default the first two, one after the other: a JSON list of options. Returns a JSON list of
/// their figures, each with its closed form.
#[pyfunction]
pub(crate) fn run_perftest(
    py: Python<'_>,
    experiment: (String, String, String, Overrides),
    ends: (Option<String>, Option<String>),
    options: &str,
    control: &Control,
) -> PyResult<String> {
    let (text, file, base, overrides) = experiment;
    let (client, server) = ends;
    let options: Vec<Options> = serde_json::from_str(options).map_err(bad_input)?;
    py.detach(|| {
        let prepared = prepare_watched((&text, &file, &base), &overrides, &control.0, (None, None))?;
        let ends = (host(&prepared, client.as_deref(), 0)?, host(&prepared, server.as_deref(), 1)?);
        let mut rows = Vec::new();
        for options in &options {
            let figures = perftest(&prepared, ends, options, &mut |_| !control.0.is_cancelled());
            if control.0.is_cancelled() {
                return Err(CancelledError::new_err("interrupted"));
            }
            let form = expected(&prepared, ends, options);
            rows.push(json!({ "figures": figures.map_err(bad_input)?, "expected": form }));
        }
        Ok(json!(rows).to_string())
    })
}

fn host(prepared: &Prepared, name: Option<&str>, default: usize) -> PyResult<HostId> {
    let hosts = &prepared.graph.hosts;
    let Some(name) = name else {
        return match hosts.get(default) {
            Some(_) => Ok(HostId(default as u32)),
            None => Err(bad_input("the experiment has one host: a test needs two")),
        };
    };
    let found = hosts.iter().position(|host| host.name == name);
    let found = found.ok_or_else(|| {
        bad_input(format!("there is no host \"{name}\"; the first one is \"{}\"", hosts[0].name))
    })?;
    Ok(HostId(found as u32))
}
