//! What only the network shows to be wrong in an experiment, all at once.

use std::path::Path;

use fabricsim_spec::{Experiment, SpecError};

use super::{PrepareError, SizeCheck, hosts};
use crate::ages::AgingBuilder;
use crate::fault_plan::{first_routes, with_lanes};

/// The mistakes of an experiment that [`fabricsim_spec::check`] accepts: of its topology; where that is right, the first of each part of the fabric, of
/// its routing, and of each entry of its traffic, group and job.
pub(super) fn mistakes(
    (experiment, base, file): (&Experiment, &Path, &str),
    size_check: SizeCheck<'_>,
) -> Vec<PrepareError> {
    let graph = match fabricsim_topology::build_checked(experiment, base, file, size_check) {
        Ok(graph) => graph,
        Err(error) => return vec![error.into()],
    };
    if let Err(error) = fabricsim_topology::validate(&graph, experiment, file) {
        return vec![error.into()];
    }
    let parts: [Result<(), SpecError>; 6] = [
        crate::congestion::check(experiment, &graph, file),
        crate::flow_control::check(experiment, &graph, file),
        crate::pause::check(experiment, &graph, file),
        crate::path_mtu::check(experiment, &graph, file),
        crate::adapter::check_queue_pairs(experiment, graph.hosts.len(), file),
        AgingBuilder::new(experiment, &graph, file).map(|_| ()),
    ];
    let routing = || -> Result<(), PrepareError> {
        let router = fabricsim_routing::build(experiment, &graph, base, file)?;
        let router = with_lanes(experiment, &graph, router, file)?;
        first_routes(experiment, &graph, router, file)?;
        Ok(())
    };
    let mut found: Vec<PrepareError> = parts.into_iter().filter_map(Result::err).map(Into::into).collect();
    found.extend(routing().err());
    found.extend(fabricsim_workload::mistakes(experiment, &hosts(&graph), file).into_iter().map(Into::into));
    found
}
