//! What only the network shows to be wrong in an experiment, all at once.

use std::path::Path;

use fabricsim_spec::Experiment;

use super::{PrepareError, SizeCheck, hosts, parts_of_fabric, routes};

/// [`Prepared::mistakes`](super::Prepared::mistakes).
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
    let parts = parts_of_fabric(experiment, &graph, file).filter_map(Result::err);
    let mut found: Vec<PrepareError> = parts.map(Into::into).collect();
    found.extend(routes((experiment, base, file), &graph).err());
    found.extend(fabricsim_workload::mistakes(experiment, &hosts(&graph), file).into_iter().map(Into::into));
    found
}
