//! The failures of an experiment in the order in which they happen, with the routes of each state of the fabric.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fabricsim_routing::{
    MulticastTables, Router, RoutingError, check_reroutes, reroute, with_lanes_for_states,
};
use fabricsim_spec::{Experiment, SpecError, WaitingPackets};
use fabricsim_topology::{Failing, Failure, Graph, failed_links, failed_switches, failures};
use fabricsim_units::{HostId, LinkId, SwitchId, Time};
use fabricsim_workload::{MulticastGroup, Workload};

use crate::prepare::trees;

/// Change of the fabric at a time.
#[derive(Clone, Debug)]
pub struct PlannedChange {
    /// Its time.
    pub at: Time,
    /// Its effect.
    pub change: FabricChange,
}

impl PlannedChange {
    /// True if the other change has the same time, and fails or restores the same. Of new routes only the time is compared.
    pub fn is_same(&self, other: &Self) -> bool {
        let is_same = match (&self.change, &other.change) {
            (FabricChange::Restore(one), FabricChange::Restore(another))
            | (FabricChange::Fail(one), FabricChange::Fail(another)) => one == another,
            (FabricChange::Route(_), FabricChange::Route(_)) => true,
            _ => false,
        };
        is_same && self.at == other.at
    }
}

/// Change of a fabric in operation.
#[derive(Clone, Debug)]
pub enum FabricChange {
    /// Something works again.
    Restore(Failing),
    /// Something fails.
    Fail(Failing),
    /// The routing is replaced.
    Route(Routes),
}

/// Routes of all packets.
#[derive(Clone, Debug)]
pub struct Routes {
    /// Those of packets for hosts.
    pub router: Arc<Router>,
    /// Those of packets for multicast groups.
    pub multicast: Arc<MulticastTables>,
}

/// The planned changes of an experiment, in order of time.
#[derive(Clone, Debug, Default)]
pub struct FaultPlan {
    /// Changes at the same time in the order restorations, failures, routes.
    pub changes: Arc<[PlannedChange]>,
    /// True if switches discard packets for failed links; else these wait.
    pub discards: bool,
}

impl FaultPlan {
    /// The plan of `experiment` on `graph`, whose routing is `router` at first, with multicast `groups`.
    ///
    /// # Errors
    ///
    /// A name that is not in the graph, or a state of the fabric for which the routing has no routes or not enough lanes. They name
    /// the experiment `file`.
    pub(crate) fn new(
        experiment: &Experiment,
        graph: &Graph,
        (router, groups): (&Arc<Router>, &[MulticastGroup]),
        file: &str,
    ) -> Result<Self, RoutingError> {
        let faults = &experiment.faults;
        let dead = failed_switches(graph, &experiment.switches.failed, file)?;
        let planned = failures(graph, &faults.plan, file)?;
        if let Some(number) = planned.iter().position(|of| dead.iter().any(|dead| dead.what == of.what)) {
            let message = "the switch has failed before the run: `switches.failed` has it as well";
            return Err(SpecError::at_key(file, &format!("faults.plan.{number}.switch"), message).into());
        }
        let mut changes: Vec<PlannedChange> = dead
            .iter()
            .map(|failure| PlannedChange { at: failure.at, change: FabricChange::Fail(failure.what.clone()) })
            .collect();
        for Failure { what, at, until } in &planned {
            changes.push(PlannedChange { at: *at, change: FabricChange::Fail(what.clone()) });
            if *until < Time::MAX {
                changes.push(PlannedChange { at: *until, change: FabricChange::Restore(what.clone()) });
            }
        }
        if let Some(after) = faults.reroute_after {
            check_reroutes(experiment, graph, router, file)?;
            let initially = failed_at_start(experiment, graph, file)?;
            let at_first = Routes { router: Arc::clone(router), multicast: trees(graph, &initially, groups) };
            let mut routes = BTreeMap::from([(initially.clone(), at_first)]);
            for at in change_times(&planned, after) {
                let failed = failed_at(graph, &planned, &initially, at);
                let of_state = match routes.get(&failed) {
                    Some(known) => known.clone(),
                    None => Routes {
                        router: Arc::new(reroute(experiment, graph, router, &failed, file)?),
                        multicast: trees(graph, &failed, groups),
                    },
                };
                routes.insert(failed, of_state.clone());
                changes.push(PlannedChange { at, change: FabricChange::Route(of_state) });
            }
        }
        changes.sort_by_key(|change| (change.at, change.change.rank()));
        Ok(Self { changes: changes.into(), discards: faults.waiting == WaitingPackets::Discard })
    }
}

impl FabricChange {
    fn rank(&self) -> u8 {
        match self {
            Self::Restore(_) => 0,
            Self::Fail(_) => 1,
            Self::Route(_) => 2,
        }
    }
}

/// `router` with virtual lanes for the routes of all states of the fabric that have routes of their own.
///
/// # Errors
///
/// There are not enough lanes, or a name is not in the graph. They name the experiment `file`.
pub(crate) fn with_lanes(
    experiment: &Experiment,
    graph: &Graph,
    router: Router,
    file: &str,
) -> Result<Router, SpecError> {
    let faults = &experiment.faults;
    if faults.reroute_after.is_none() && experiment.switches.failed.is_empty() {
        return Ok(router);
    }
    let initially = failed_at_start(experiment, graph, file)?;
    let mut states = BTreeSet::from([initially.clone()]);
    if let Some(after) = faults.reroute_after {
        let planned = failures(graph, &faults.plan, file)?;
        let times = change_times(&planned, after);
        states.extend(times.into_iter().map(|at| failed_at(graph, &planned, &initially, at)));
    }
    let states: Vec<Vec<LinkId>> = states.into_iter().collect();
    with_lanes_for_states(experiment, graph, router, &states, file)
}

/// When routes change: `after` each failure, and each end of one.
fn change_times(planned: &[Failure], after: Time) -> BTreeSet<Time> {
    let ends = planned.iter().map(|failure| failure.until).filter(|&until| until < Time::MAX);
    planned.iter().map(|failure| failure.at).chain(ends).map(|at| at + after).collect()
}

/// Links that do not work at the start, in order: those of `links.failed`, and those of the switches of `switches.failed`.
pub(crate) fn failed_at_start(
    experiment: &Experiment,
    graph: &Graph,
    file: &str,
) -> Result<Vec<LinkId>, SpecError> {
    let initially = failed_links(graph, &experiment.links, file)?;
    let dead = failed_switches(graph, &experiment.switches.failed, file)?;
    Ok(failed_at(graph, &dead, &initially, Time::ZERO))
}

/// The routes of the start: those that the routing finds around the switches of `switches.failed`.
pub(crate) fn first_routes(
    experiment: &Experiment,
    graph: &Graph,
    router: Router,
    file: &str,
) -> Result<Router, SpecError> {
    if experiment.switches.failed.is_empty() {
        return Ok(router);
    }
    let of_switches = |cause: SpecError| SpecError::at_key(file, "switches.failed", cause.message.clone());
    if experiment.subnet_manager.is_some() {
        let message = "a subnet manager discovers all switches at the start: give `faults.plan` with failures at a time instead";
        return Err(SpecError::at_key(file, "switches.failed", message));
    }
    let is_by_tables = matches!(router, Router::LookUpTables(_));
    if is_by_tables || check_reroutes(experiment, graph, &router, file).is_err() {
        let message = format!(
            "routing.algorithm = \"{}\" does not find routes around failed switches: set it to \"shortest-path\" with `lane_policy = \"hops\"`, \
             or to \"opensm\"",
            fabricsim_spec::name(&experiment.routing.algorithm)
        );
        return Err(SpecError::at_key(file, "switches.failed", message));
    }
    let failed = failed_at_start(experiment, graph, file)?;
    reroute(experiment, graph, &router, &failed, file).map_err(of_switches)
}

/// Leaves the hosts of failed switches out of the traffic; refuses jobs that have ranks on them.
pub(crate) fn leave_out_failed(
    experiment: &Experiment,
    graph: &Graph,
    workload: &mut Workload,
    file: &str,
) -> Result<(), SpecError> {
    let failed: BTreeSet<LinkId> = failed_switches(graph, &experiment.switches.failed, file)?
        .iter()
        .filter_map(|failure| if let Failing::Switch(switch) = failure.what { Some(switch) } else { None })
        .flat_map(|switch| graph.switches[switch.index()].ports.iter().copied())
        .collect();
    let hosts = graph.hosts.iter().zip(0..).filter(|(host, _)| failed.contains(&host.link));
    workload.leave_out(hosts.map(|(_, number)| HostId(number))).map_err(|(job, host)| {
        let message = format!(
            "job `{job}` has a rank on {}, whose switch has failed: give `jobs.hosts` without it",
            graph.hosts[host.index()].name
        );
        SpecError::at_key(file, "switches.failed", message)
    })
}

/// Links that do not work at `at`, in order: those of `initially`, those that have failed, and those of failed switches.
fn failed_at(graph: &Graph, failures: &[Failure], initially: &[LinkId], at: Time) -> Vec<LinkId> {
    let mut failed: BTreeSet<LinkId> = initially.iter().copied().collect();
    for failure in failures.iter().filter(|failure| failure.at <= at && at < failure.until) {
        match &failure.what {
            Failing::Links(links) => failed.extend(links),
            Failing::FlowControl(_) => {}
            Failing::Switch(SwitchId(switch)) => failed.extend(&graph.switches[*switch as usize].ports),
        }
    }
    failed.into_iter().collect()
}

#[cfg(test)]
mod tests;
