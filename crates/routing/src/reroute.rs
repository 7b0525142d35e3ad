//! Routes around links that have failed while the fabric is in operation.

use fabricsim_spec::{Algorithm, Experiment, SpecError};
use fabricsim_topology::{Graph, Shape};
use fabricsim_units::LinkId;

use crate::build::goes_around;
use crate::lanes::LanePolicy;
use crate::look_up_tables::table_request;
use crate::shortest_path::{longest_path, shortest_paths_or};
use crate::{LookUpTables, PortRouting, Router, RoutingError};

const KEY: &str = "faults.reroute_after";

/// The routing of `experiment` while the links `failed`, which are in ascending order, do not work; `router` is that of the fabric at
/// the start. Hosts that cannot be reached keep their routes of the start, which end at a failed link.
///
/// # Errors
///
/// The algorithm does not go around failed links or, for `look-up-tables`, not around these; or the routes are too long for the
/// lanes. They name the experiment `file`.
pub fn reroute(
    experiment: &Experiment,
    graph: &Graph,
    router: &Router,
    failed: &[LinkId],
    file: &str,
) -> Result<Router, SpecError> {
    let error = |message: String| SpecError::at_key(file, KEY, message);
    match router {
        Router::TableRouting(tables) if experiment.routing.algorithm == Algorithm::Opensm => {
            crate::opensm::around(experiment, graph, failed, Some(tables), file).map_err(|cause| {
                let cause = match cause {
                    RoutingError::Experiment(cause) => cause.message,
                    cause => cause.to_string(),
                };
                error(format!("with {}: {cause}", named(graph, failed)))
            })
        }
        Router::TableRouting(tables) if goes_around(experiment, graph) => {
            let around = shortest_paths_or(graph, failed, Some(tables.tables()), file)?;
            let rerouted = tables.with_tables(around, longest_path(graph, failed));
            let rerouted = rerouted.map_err(|(needed, lanes)| {
                error(format!(
                    "with {} the longest route has {needed} links between switches, and the lanes of \"hops\" were divided among \
                     {lanes} as the run began: give a failure with as long routes in the `faults.plan` from which it begins",
                    named(graph, failed)
                ))
            })?;
            Ok(rerouted.into())
        }
        Router::LookUpTables(tables) => {
            let Shape::Grid(shape) = &graph.shape else { return Ok(router.clone()) };
            let lanes = tables.lanes().clone();
            let tables = LookUpTables::new(graph, shape, table_request(experiment, failed), lanes, file);
            Ok(tables
                .map_err(|cause| error(format!("with {}: {}", named(graph, failed), cause.message)))?
                .into())
        }
        _ => Err(unable(file)),
    }
}

/// `router` with virtual lanes for the longest routes of all `states`, each the links that do not work, in ascending order: with lanes by
/// hops, a packet keeps its lanes when the routes change while it travels.
///
/// # Errors
///
/// There are not enough lanes. It names the experiment `file`.
pub fn with_lanes_for_states(
    experiment: &Experiment,
    graph: &Graph,
    router: Router,
    states: &[Vec<LinkId>],
    file: &str,
) -> Result<Router, SpecError> {
    let Router::TableRouting(mut tables) = router else { return Ok(router) };
    if !tables.lanes().divides_by_hops() || !goes_around(experiment, graph) {
        return Ok(tables.into());
    }
    for failed in states {
        tables = tables.with_lanes_for(longest_path(graph, failed)).map_err(|(needed, lanes)| {
            let message = format!(
                "\"hops\" needs {needed} virtual lanes in each service class, the links of the longest route with {}, and there are \
                 {lanes}",
                named(graph, failed)
            );
            SpecError::at_key(file, "routing.lane_policy", message)
        })?;
    }
    Ok(tables.into())
}

/// Refuses to change the routes of an algorithm that does not find routes around failed links; the error names the experiment
/// `file`.
pub fn check_reroutes(
    experiment: &Experiment,
    graph: &Graph,
    router: &Router,
    file: &str,
) -> Result<(), SpecError> {
    match router {
        Router::LookUpTables(_) => Ok(()),
        Router::TableRouting(_) if goes_around(experiment, graph) => Ok(()),
        _ => Err(unable(file)),
    }
}

fn unable(file: &str) -> SpecError {
    let message = format!(
        "the routing algorithm does not find routes around failed links: leave `{KEY}` out, or set `routing.algorithm` to \
         \"shortest-path\" with `lane_policy = \"hops\"`, to \"opensm\", or on a mesh, torus, grid or hypercube to \
         \"look-up-tables\""
    );
    SpecError::at_key(file, KEY, message)
}

/// Some of the failed links, for messages.
fn named(graph: &Graph, failed: &[LinkId]) -> String {
    const SHOWN: usize = 3;
    let names: Vec<String> = failed.iter().take(SHOWN).map(|&link| graph.link_name(link)).collect();
    let more = if failed.len() > SHOWN { ", ..." } else { "" };
    let plural = if failed.len() == 1 { "" } else { "s" };
    format!("{} failed link{plural} ({}{more})", failed.len(), names.join(", "))
}
