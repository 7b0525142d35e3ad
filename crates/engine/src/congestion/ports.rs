//! Output ports to which the exceptions of an experiment apply.

use fabricsim_spec::{CongestionAlgorithm, Experiment, PortCongestion, SpecError};
use fabricsim_topology::Graph;
use fabricsim_units::nearest;

/// Checks that every exception names ports and lanes that exist.
pub(crate) fn check(experiment: &Experiment, graph: &Graph, file: &str) -> Result<(), SpecError> {
    let control = &experiment.congestion_control;
    if control.algorithm != CongestionAlgorithm::Infiniband || control.infiniband.ports.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = (0..2 * graph.links.len() as u32).flat_map(|port| names(graph, port)).collect();
    for (i, exception) in control.infiniband.ports.iter().enumerate() {
        let key = |name: &str| format!("congestion_control.infiniband.ports.{i}.{name}");
        for pattern in &exception.ports {
            if !names.iter().any(|name| fabricsim_workload::matches(pattern, name)) {
                let hint = nearest(pattern, names.iter().map(String::as_str))
                    .map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
                let message = format!(
                    "no port `{pattern}`: write the direction of a link, `from->to`, with `*` for anything{hint}"
                );
                return Err(SpecError::at_key(file, &key("ports"), message));
            }
        }
        let lanes = experiment.switch.virtual_lanes;
        if let Some(lane) = exception.lanes.iter().flatten().find(|&&lane| lane >= lanes) {
            let message = format!("no lane {lane}: must be 0 to {}", lanes - 1);
            return Err(SpecError::at_key(file, &key("lanes"), message));
        }
    }
    Ok(())
}

/// Names by which an exception may call a sending port: its own, and the one that parallel cables have in common.
pub(super) fn names(graph: &Graph, port: u32) -> [String; 2] {
    [graph.port_name(port), graph.ends_name(port)]
}

/// True if the exception applies to the port with these names, and to this lane.
pub(super) fn is_about(exception: &PortCongestion, port: &[impl AsRef<str>], lane: u8) -> bool {
    let matches =
        |pattern: &String| port.iter().any(|name| fabricsim_workload::matches(pattern, name.as_ref()));
    exception.lanes.as_ref().is_none_or(|lanes| lanes.contains(&lane)) && exception.ports.iter().any(matches)
}
