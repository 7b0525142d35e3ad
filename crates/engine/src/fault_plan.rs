//! The failures of an experiment in the order in which they happen, with the routes of each state of the fabric.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fabricsim_routing::{MulticastTables, Router, RoutingError, check_reroutes, reroute};
use fabricsim_spec::{Experiment, WaitingPackets};
use fabricsim_topology::{Failing, Failure, Graph, failed_links, failures};
use fabricsim_units::{LinkId, SwitchId, Time};
use fabricsim_workload::MulticastGroup;

use crate::prepare::trees;

/// Change of the fabric at a time.
#[derive(Clone, Debug)]
pub struct PlannedChange {
    /// Its time.
    pub at: Time,
    /// Its effect.
    pub change: FabricChange,
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
        let found = failures(graph, &faults.plan, file)?;
        let mut changes = Vec::new();
        for Failure { what, at, until } in &found {
            changes.push(PlannedChange { at: *at, change: FabricChange::Fail(what.clone()) });
            if *until < Time::MAX {
                changes.push(PlannedChange { at: *until, change: FabricChange::Restore(what.clone()) });
            }
        }
        if let Some(after) = faults.reroute_after {
            check_reroutes(experiment, graph, router, file)?;
            let times: BTreeSet<Time> = changes.iter().map(|change| change.at + after).collect();
            let initially = failed_links(graph, &experiment.links, file)?;
            let at_first = Routes { router: Arc::clone(router), multicast: trees(graph, &initially, groups) };
            let mut routes = BTreeMap::from([(initially.clone(), at_first)]);
            for at in times {
                let failed = failed_at(graph, &found, &initially, at);
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
