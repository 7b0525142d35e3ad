//! Keys and values of `[routing]` that an algorithm does not use.

use fabricsim_spec::{Algorithm, Experiment, LanePolicy, Load, PathChoice, SpecError, Via, name};
use fabricsim_topology::Graph;

use super::avoids_failed;
use crate::lanes::refuse_unfit;
use crate::service_levels::refuse;

/// Refuses keys that the algorithm has no use for.
pub(super) fn refuse_stray(
    experiment: &Experiment,
    algorithm: Algorithm,
    graph: &Graph,
    file: &str,
) -> Result<(), SpecError> {
    use Algorithm::{
        Dal, DimensionOrder, LookUpTables, Opensm, Par, Par62, Piggyback, Table, UgalG, UgalL,
        UpDownAdaptive, Valiant,
    };
    let routing = &experiment.routing;
    let keys: [(&str, bool, &[Algorithm]); 20] = [
        ("routing.order", routing.order.is_some(), &[DimensionOrder, LookUpTables]),
        ("routing.ties", routing.ties.is_some(), &[DimensionOrder]),
        ("routing.partitions", routing.partitions.is_some(), &[LookUpTables]),
        ("routing.tables", routing.tables.is_some(), &[Table]),
        ("routing.path_sls", routing.path_sls.is_some(), &[Table]),
        ("routing.sl2vl", routing.sl2vl.is_some(), &[Table]),
        ("routing.lmc", routing.lmc > 0, &[Table, Opensm]),
        ("routing.paths", routing.paths != PathChoice::First, &[Table, Opensm]),
        ("routing.engine", routing.engine.is_some(), &[Opensm]),
        ("routing.roots", routing.roots.is_some(), &[Opensm]),
        ("routing.via", routing.via.is_some(), &[Valiant, UgalL, UgalG, Piggyback, Par]),
        ("routing.threshold", routing.threshold.is_some(), &[UgalL, UgalG, Piggyback, Par, Par62, Dal]),
        ("routing.weights", routing.weights.is_some(), &[UgalL, UgalG, Piggyback]),
        ("routing.choices", routing.choices.is_some(), &[UpDownAdaptive]),
        ("routing.lookahead", routing.lookahead, &[UpDownAdaptive, UgalL, UgalG, Piggyback, Par, Par62, Dal]),
        ("routing.via", routing.via == Some(Via::Host), &[UgalL, UgalG, Piggyback]),
        ("routing.state_delay", routing.state_delay.is_some(), &[UgalG, Piggyback]),
        ("routing.congested", routing.congested.is_some(), &[Piggyback]),
        ("routing.trigger", routing.trigger.is_some(), &[Par62]),
        ("routing.ratio", routing.ratio.is_some(), &[Par62]),
    ];
    for (key, is_given, users) in keys {
        if is_given && !users.contains(&algorithm) {
            let users: Vec<String> = users.iter().map(|&user| format!("`{}`", name(&user))).collect();
            let message = format!("only for {}, not for `{}`", listed(&users), name(&algorithm));
            return Err(SpecError::at_key(file, key, message));
        }
    }
    refuse_policy(experiment, algorithm, graph, file)?;
    refuse_load(routing.load, algorithm, file)?;
    if algorithm == Opensm && experiment.subnet_manager.is_some() && !experiment.links.failed.is_empty() {
        let message = "a subnet manager discovers all links at the start: give `faults.plan` with failures at a time instead";
        return Err(SpecError::at_key(file, "links.failed", message));
    }
    if !experiment.links.failed.is_empty() && !avoids_failed(algorithm, graph) {
        let message = format!(
            "`{}` does not go around failed links: set `routing.algorithm` to \"shortest-path\" with `lane_policy = \"hops\"`, to \
             \"opensm\", or on a mesh, torus, grid or hypercube to \"look-up-tables\"",
            name(&algorithm)
        );
        return Err(SpecError::at_key(file, "links.failed", message));
    }
    Ok(())
}

/// Refuses a lane policy that does not fit the algorithm. Paths with service levels have the lanes of these.
fn refuse_policy(
    experiment: &Experiment,
    algorithm: Algorithm,
    graph: &Graph,
    file: &str,
) -> Result<(), SpecError> {
    let given = experiment.routing.lane_policy;
    refuse(experiment, algorithm, file)?;
    let (fitting, key) = if experiment.service_levels().is_some() {
        (LanePolicy::ServiceLevels, "SL2VL tables")
    } else if experiment.routing.path_sls.is_some() {
        (LanePolicy::Layers, "`routing.path_sls`")
    } else {
        return refuse_unfit(given, algorithm, graph, file);
    };
    match given {
        Some(other) if other != fitting => {
            let message = format!("\"{}\" does not fit {key}: use \"{}\"", name(&other), name(&fitting));
            Err(SpecError::at_key(file, "routing.lane_policy", message))
        }
        _ => Ok(()),
    }
}

/// Refuses the load of lanes alone for algorithms that do not read it: those that do not choose by load, those that read the loads
/// that others broadcast, which are of all lanes, and those on trees, where every lane is open to every packet.
fn refuse_load(load: Load, algorithm: Algorithm, file: &str) -> Result<(), SpecError> {
    use Algorithm::{Dal, Par, Par62, UgalL};
    let users = [UgalL, Par, Par62, Dal];
    if load != Load::CreditsOfLane || users.contains(&algorithm) {
        return Ok(());
    }
    let message = format!(
        "\"credits-of-lane\" is only for {}, not for `{}`: use \"waiting-and-credits\" or \"credits\"",
        listed(&users.map(|user| format!("`{}`", name(&user)))),
        name(&algorithm)
    );
    Err(SpecError::at_key(file, "routing.load", message))
}

/// "a", "a and b", "a, b and c".
fn listed(names: &[String]) -> String {
    match names {
        [all @ .., last] if !all.is_empty() => format!("{} and {last}", all.join(", ")),
        _ => names.join(""),
    }
}
