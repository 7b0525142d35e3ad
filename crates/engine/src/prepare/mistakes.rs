//! What only the network shows to be wrong in an experiment, all at once.

use std::path::Path;

use fabricsim_spec::Experiment;

use super::{PrepareError, Prepared, SizeCheck, hosts, parts_of_fabric, routes, subnet_plan};
use crate::fault_plan::{FaultPlan, failed_at_start, leave_out_failed};

/// [`Prepared::mistakes`](super::Prepared::mistakes).
pub(super) fn mistakes(
    (experiment, base, file): (&Experiment, &Path, &str),
    size_check: SizeCheck<'_>,
) -> (Vec<PrepareError>, Option<Prepared>) {
    let graph = match fabricsim_topology::build_checked(experiment, base, file, size_check) {
        Ok(graph) => graph,
        Err(error) => return (vec![error.into()], None),
    };
    if let Err(error) = fabricsim_topology::validate(&graph, experiment, file) {
        return (vec![error.into()], None);
    }
    let parts = parts_of_fabric(experiment, &graph, file).filter_map(Result::err);
    let mut found: Vec<PrepareError> = parts.map(Into::into).collect();
    let router = keep(routes((experiment, base, file), &graph), &mut found);
    let (traffic, workload) = fabricsim_workload::mistakes(experiment, &hosts(&graph), file);
    found.extend(traffic.into_iter().map(Into::into));
    let (Some(router), Some(mut workload)) = (router, workload) else { return (found, None) };
    // With a mistake in `links.failed` or `switches.failed` there are no routes.
    let Ok(failed) = failed_at_start(experiment, &graph, file) else { return (found, None) };
    let _ = keep(leave_out_failed(experiment, &graph, &mut workload, file), &mut found);
    let subnet = keep(subnet_plan(experiment, &graph, &workload, file), &mut found).flatten();
    let faults = FaultPlan::new(experiment, &graph, (&router, &workload.groups), file);
    let faults = keep(faults, &mut found).unwrap_or_default();
    let prepared = Prepared::of_parts(experiment.clone(), (graph, &failed), router, workload, subnet, faults);
    (found, Some(prepared))
}

/// What is right; a mistake is put to the others.
fn keep<T, E: Into<PrepareError>>(result: Result<T, E>, found: &mut Vec<PrepareError>) -> Option<T> {
    result.map_err(|error| found.push(error.into())).ok()
}
