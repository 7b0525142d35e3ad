//! Warnings about settings that are allowed and probably not intended.

use std::path::Path;

use fabricsim_engine::Prepared;
use fabricsim_spec::{CongestionAlgorithm, Experiment, FlowControlBy, OrderingMode, Topology};
use fabricsim_workload::JobInfo;

/// Warnings about settings that are allowed and probably not intended.
pub fn setting_warnings(prepared: &Prepared) -> Vec<String> {
    let mut found = fabricsim_spec::warnings(&prepared.experiment);
    found.extend(fabricsim_topology::overruled(&prepared.graph, &prepared.experiment));
    found.extend(fabricsim_engine::warnings(prepared));
    found.extend(fabricsim_engine::pause_warning(prepared));
    found.extend(fabricsim_engine::dcqcn_warning(prepared));
    found.extend(prepared.workload.jobs.iter().filter_map(unmet_after));
    found
}

fn unmet_after(job: &JobInfo) -> Option<String> {
    let (name, before) = (&job.name, job.unmet_after.as_ref()?);
    Some(format!(
        "jobs.{name}.after has no effect: no rank of \"{name}\" is on a host of \"{before}\", and ranks begin at `start`"
    ))
}

/// The same for an experiment of which no network is built: one in a graph file is read. `None` if they depend on the network, since there is an
/// ordering protocol, pauses, DCQCN, or a job after another. A wrong experiment has an error, and no warnings beside it.
pub fn early_warnings(experiment: &Experiment, base: &Path, file: &str) -> Option<Vec<String>> {
    let has_pauses = experiment.switch.flow_control == FlowControlBy::Pause;
    let has_dcqcn = experiment.congestion_control.algorithm == CongestionAlgorithm::Dcqcn;
    let has_order = experiment.jobs.iter().any(|job| !job.after.is_empty());
    if has_pauses || has_dcqcn || has_order || experiment.transport.mode != OrderingMode::None {
        return None;
    }
    if fabricsim_spec::check(experiment, file).is_err() {
        return Some(Vec::new());
    }
    let mut found = fabricsim_spec::warnings(experiment);
    if matches!(experiment.topology, Topology::File { .. } | Topology::Inline { .. })
        && let Ok(graph) = fabricsim_topology::build(experiment, base, file)
    {
        found.extend(fabricsim_topology::overruled(&graph, experiment));
    }
    Some(found)
}
