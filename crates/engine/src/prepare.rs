//! Construction and validation of all parts of a run from an experiment.

mod mistakes;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use fabricsim_model::Observer;
use fabricsim_routing::{MulticastTables, Participants, Router, RoutingError, Verdict, check_with_multicast};
use fabricsim_spec::{Experiment, OrderingMode, SpecError};
use fabricsim_topology::{Graph, LinkClass, Shape, SizeCheck};
use fabricsim_units::{HostId, LinkId};
use fabricsim_verbs::Costs;
use fabricsim_workload::{
    HostGrid, Hosts, MulticastGroup, StreamEnd, StreamInfo, StreamKind, Workload, WorkloadError,
};

use crate::ages::AgingBuilder;
use crate::fault_plan::{FaultPlan, failed_at_start, first_routes, leave_out_failed, with_lanes};
use crate::subnet_plan::SubnetPlan;
use crate::{Assembly, Engine};

/// Reason why an experiment cannot be run.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PrepareError {
    /// Error in the file or in the topology.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// Error in the routing.
    #[error(transparent)]
    Routing(#[from] RoutingError),
    /// Error in the traffic.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The caller interrupted the construction.
    #[error("interrupted while the network was built")]
    Interrupted,
}

/// A step of the construction of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildStep {
    /// Switches, hosts and links.
    Topology,
    /// Routing algorithm and tables.
    Routing,
    /// Sources and streams of messages.
    Workload,
}

impl PrepareError {
    /// The error with the line on which `text`, the experiment, gives the key that it is about; see
    /// [`SpecError::located`].
    #[must_use]
    pub fn located(self, text: &str, overrides: &[(String, String)]) -> Self {
        let error = match self {
            Self::Spec(error) | Self::Routing(RoutingError::Experiment(error)) => error,
            Self::Workload(error) => error.into(),
            other @ (Self::Routing(_) | Self::Interrupted) => return other,
        };
        Self::Spec(error.located(text, overrides))
    }
}

/// An experiment with its fabric, routing and workload.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The experiment.
    pub experiment: Experiment,
    /// Its fabric.
    pub graph: Graph,
    /// Its routing.
    pub router: Arc<Router>,
    /// Forwarding tables of its multicast groups.
    pub multicast: Arc<MulticastTables>,
    /// Failures while it runs.
    pub faults: FaultPlan,
    /// Its subnet managers; none if forwarding tables are there from the start.
    pub subnet: Option<Arc<SubnetPlan>>,
    /// Its workload.
    pub workload: Workload,
    /// Hosts with programs that use verbs, in order, and the times of their adapters.
    pub devices: Vec<(HostId, Costs)>,
    /// Cores that a run may use if the experiment does not say how many threads it has.
    pub cores: u32,
    /// Processes that advance the run together. With several there are at least as many partitions, and a thread for each process.
    pub processes: u32,
}

impl Prepared {
    /// Builds and checks everything. `base` is the folder that the experiment's paths are relative to; `file` names
    /// the experiment in messages.
    pub fn new(experiment: Experiment, base: &Path, file: &str) -> Result<Self, PrepareError> {
        Self::observed((experiment, base, file), |_| true, &|_| None)
    }

    /// As [`Self::new`]; calls `on_step` before each step, and stops if it returns false. `size_check` may refuse the topology by
    /// its number of links, before it is built.
    ///
    /// # Errors
    ///
    /// The experiment cannot be run, `size_check` refuses it, or `on_step` returned false.
    pub fn observed(
        (experiment, base, file): (Experiment, &Path, &str),
        mut on_step: impl FnMut(BuildStep) -> bool,
        size_check: SizeCheck<'_>,
    ) -> Result<Self, PrepareError> {
        let mut begin = |step| if on_step(step) { Ok(()) } else { Err(PrepareError::Interrupted) };
        fabricsim_spec::check(&experiment, file)?;
        begin(BuildStep::Topology)?;
        let graph = fabricsim_topology::build_checked(&experiment, base, file, size_check)?;
        fabricsim_topology::validate(&graph, &experiment, file)?;
        parts_of_fabric(&experiment, &graph, file).collect::<Result<(), SpecError>>()?;
        begin(BuildStep::Routing)?;
        let router = routes((&experiment, base, file), &graph)?;
        begin(BuildStep::Workload)?;
        let mut workload = fabricsim_workload::build(&experiment, &hosts(&graph), file)?;
        leave_out_failed(&experiment, &graph, &mut workload, file)?;
        let subnet = subnet_plan(&experiment, &graph, &workload, file)?;
        let failed = failed_at_start(&experiment, &graph, file)?;
        let faults = FaultPlan::new(&experiment, &graph, (&router, &workload.groups), file)?;
        Ok(Self::of_parts(experiment, (graph, &failed), router, workload, subnet, faults))
    }

    /// Puts the checked parts together: a network with the links that have failed at the start, its routing, and the rest.
    fn of_parts(
        experiment: Experiment,
        (graph, failed): (Graph, &[LinkId]),
        router: Arc<Router>,
        workload: Workload,
        subnet: Option<Arc<SubnetPlan>>,
        faults: FaultPlan,
    ) -> Self {
        let multicast = trees(&graph, failed, &workload.groups);
        let devices = Vec::new();
        Self {
            experiment,
            graph,
            router,
            multicast,
            faults,
            subnet,
            workload,
            devices,
            cores: 1,
            processes: 1,
        }
    }

    /// What only the network shows to be wrong in an experiment that [`fabricsim_spec::check`] accepts: of its topology; where that is right, the first
    /// mistake of each part of the fabric, of its routing, of each entry of its traffic, group and job, of its failures and of its subnet management. And
    /// the experiment without these, if it can be built, to check what else depends on it; it is not to be run.
    pub fn mistakes(
        experiment: (&Experiment, &Path, &str),
        size_check: SizeCheck<'_>,
    ) -> (Vec<PrepareError>, Option<Self>) {
        mistakes::mistakes(experiment, size_check)
    }

    /// Gives hosts adapters for programs that use verbs. Their packets are a stream of its own, named `verbs`.
    #[must_use]
    pub fn with_devices(mut self, hosts: &BTreeMap<HostId, Costs>) -> Self {
        for group in &mut self.workload.groups {
            // Programs of members may send to it.
            let senders = group.members.iter().filter(|host| hosts.contains_key(host));
            group.senders.extend(senders.map(|&host| (0, host)));
            group.senders.sort_unstable();
            group.senders.dedup();
        }
        self.devices = hosts.iter().map(|(&host, &costs)| (host, costs)).collect();
        let rate = |host: HostId| {
            self.graph.links[self.graph.hosts[host.index()].link.index()].parameters.rate.as_gbps()
        };
        let ends = StreamEnd { hosts: hosts.len(), gbps: hosts.keys().map(|&host| rate(host)).sum() };
        self.workload.streams.push(StreamInfo {
            name: "verbs".to_owned(),
            key: "verbs".to_owned(),
            text: format!("programs that use verbs on {} hosts", hosts.len()),
            kind: StreamKind::Traffic,
            sources: ends,
            destinations: ends,
            mean_bytes: f64::NAN,
            service_class: 0,
            ordering: OrderingMode::None,
            partition: None,
            is_multicast: false,
        });
        self
    }

    /// The same fabric, routing and workload, with the failures of `experiment`, which differs from this one in `faults` only. `file` names
    /// it in messages.
    ///
    /// # Errors
    ///
    /// Its failures are invalid, or the routing has no routes around them.
    pub fn with_faults(&self, experiment: Experiment, file: &str) -> Result<Self, PrepareError> {
        fabricsim_spec::check(&experiment, file)?;
        let faults = FaultPlan::new(&experiment, &self.graph, (&self.router, &self.workload.groups), file)?;
        Ok(Self { experiment, faults, ..self.clone() })
    }

    /// A fabric ready to run; `observer` makes an observer for each partition.
    pub fn engine<B: Observer>(&self, observer: impl FnMut() -> B) -> Engine<B> {
        let assembly = Assembly {
            experiment: &self.experiment,
            graph: &self.graph,
            router: Arc::clone(&self.router),
            multicast: Arc::clone(&self.multicast),
            sources: self.workload.sources.clone(),
            streams: &self.workload.streams,
            devices: &self.devices,
            partitions: self.workload.partitions.clone(),
            cores: self.cores,
            processes: self.processes,
        };
        Engine::new(assembly, observer)
    }

    /// Name of the destination of a packet: of a host, or of a multicast group.
    pub fn destination_name(&self, destination: HostId) -> &str {
        match destination.group() {
            Some(group) => &self.workload.groups[usize::from(group)].name,
            None => &self.graph.hosts[destination.index()].name,
        }
    }

    /// True if programs use the adapter of a host.
    pub fn has_programs(&self, host: HostId) -> bool {
        self.devices.binary_search_by_key(&host, |&(host, _)| host).is_ok()
    }

    /// The deadlock check of all packets, those for multicast groups included.
    pub fn check_deadlock(&self) -> Verdict {
        let streams = self.workload.streams.iter().filter(|stream| !stream.is_multicast);
        let classes: Vec<u8> = streams.map(|stream| stream.service_class).collect();
        let groups: Vec<Participants<'_>> = self.workload.groups.iter().map(participants).collect();
        check_with_multicast(&self.router, &self.graph, (&self.multicast, &groups), &classes)
    }
}

/// A check of a part of the fabric; the text is the name of the file.
type Check = fn(&Experiment, &Graph, &str) -> Result<(), SpecError>;

/// The checks of parts of the fabric, one after the other.
fn parts_of_fabric<'a>(
    experiment: &'a Experiment,
    graph: &'a Graph,
    file: &'a str,
) -> impl Iterator<Item = Result<(), SpecError>> + 'a {
    let checks: [Check; 6] = [
        crate::congestion::check,
        crate::flow_control::check,
        crate::pause::check,
        crate::path_mtu::check,
        |experiment, graph, file| crate::adapter::check_queue_pairs(experiment, graph.hosts.len(), file),
        |experiment, graph, file| AgingBuilder::new(experiment, graph, file).map(|_| ()),
    ];
    checks.into_iter().map(move |check| check(experiment, graph, file))
}

/// The routes of the start.
fn routes(
    (experiment, base, file): (&Experiment, &Path, &str),
    graph: &Graph,
) -> Result<Arc<Router>, PrepareError> {
    let router = fabricsim_routing::build(experiment, graph, base, file)?;
    let router = with_lanes(experiment, graph, router, file)?;
    Ok(Arc::new(first_routes(experiment, graph, router, file)?))
}

/// The subnet managers, if there are any.
fn subnet_plan(
    experiment: &Experiment,
    graph: &Graph,
    workload: &Workload,
    file: &str,
) -> Result<Option<Arc<SubnetPlan>>, SpecError> {
    let plan = SubnetPlan::new(experiment, graph, &workload.groups, file)?;
    match (plan, &workload.partitions) {
        (Some(plan), Some(partitions)) => {
            plan.with_partitions((experiment, graph), partitions, file).map(Some)
        }
        (plan, _) => Ok(plan),
    }
}

/// Forwarding tables of multicast groups without failed links.
pub(crate) fn trees(graph: &Graph, failed: &[LinkId], groups: &[MulticastGroup]) -> Arc<MulticastTables> {
    Arc::new(MulticastTables::new(graph, failed, groups.iter().map(participants)))
}

fn participants(group: &MulticastGroup) -> Participants<'_> {
    Participants { members: &group.members, senders: &group.senders }
}

/// Returns the facts about the graph's hosts that the workload may use.
pub fn hosts(graph: &Graph) -> Hosts {
    let rate = |host: &fabricsim_topology::HostNode| graph.links[host.link.index()].parameters.rate;
    Hosts {
        names: graph.hosts.iter().map(|host| host.name.clone()).collect(),
        rates: graph.hosts.iter().map(rate).collect(),
        grid: grid(graph),
        group: match &graph.shape {
            Shape::Dragonfly(shape) => Some(shape.hosts * shape.routers),
            Shape::Megafly(shape) => Some(shape.hosts * shape.leaves),
            _ => None,
        },
    }
}

fn grid(graph: &Graph) -> Option<HostGrid> {
    let Shape::Grid(shape) = &graph.shape else { return None };
    let mut on_switch = vec![0; graph.switches.len()];
    let slot = graph.hosts.iter().map(|host| {
        let next = &mut on_switch[host.switch.index()];
        *next += 1;
        *next - 1
    });
    let slot = slot.collect();
    let coordinates =
        |host: &fabricsim_topology::HostNode| graph.switches[host.switch.index()].coordinates.clone();
    debug_assert!(graph.hosts.iter().all(|h| graph.links[h.link.index()].class == LinkClass::Host));
    Some(HostGrid {
        dimensions: shape.dimensions.clone(),
        coordinates: graph.hosts.iter().map(coordinates).collect(),
        slot,
    })
}

#[cfg(test)]
mod tests;
